"""What nodes can not deform: found out before anything is changed."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...deformers import METHODS, SkinningError
from ...settings.objects import needs_supple, settings_of
from ..subject.character import object_to_armature, uses_envelopes
from ..subject.stack import SkinnedObject, check_armature, find_deforming_modifier
from ..subject.twist import read_choice, with_twists

LOSES_ATTRIBUTES = {"MESH_TO_VOLUME", "REMESH", "SKIN", "VOLUME_TO_MESH"}
"""Modifiers above which no weight survives."""

MOVED = 1e-5
"""Largest difference of an entry of the object's transform in its armature before it counts as moved."""

COPIES = {"ARRAY", "MIRROR", "SCREW"}
"""Modifiers that add vertices away from the faces they come from."""

MERGES = {"DECIMATE", "WELD"}
"""Modifiers that average vertices of different faces: their slots may name different joints."""


def check_mesh(obj: bpy.types.Object) -> None:
    """Raise SkinningError where a mesh can not hold influences."""
    mesh = mesh_of(obj)
    if mesh.library is not None:
        raise SkinningError(
            f"The mesh of '{obj.name}' is linked, but nodes need to store attributes on it: evaluate by Python, "
            "or make it local"
        )
    if mesh.is_editmode:
        raise SkinningError(f"The mesh of '{obj.name}' is in Edit Mode with another object: leave Edit Mode first")


def check_bones(skinned: SkinnedObject, skeleton: Skeleton) -> None:
    """Raise SkinningError where bones divide vertices as nodes can not."""
    if (skeleton.curved & (skeleton.segment_counts > 1)).any():
        raise SkinningError(
            f"B-Bones of '{skinned.armature.name}' divide their vertices along the curve, which nodes cannot do: "
            "evaluate by Python, or set their Vertex Mapping to Straight"
        )
    if uses_envelopes(skinned.replaced, skeleton):
        raise SkinningError(
            f"'{skinned.obj.name}' is deformed by bone envelopes, which depend on its position in the armature: "
            "evaluate by Python, or turn the envelopes off"
        )


def _list_sharers(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Other objects of this file with the same mesh."""
    if mesh_of(obj).users < 2:
        return []
    return [other for other in bpy.data.objects if other.data == obj.data and other != obj and other.is_editable]


def list_sharing_armatures(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Armatures of other objects with the same mesh."""
    return [armature for armature in map(_find_armature, _list_sharers(obj)) if armature]


def list_sharing_nodes(obj: bpy.types.Object) -> list[bpy.types.Object]:
    """Other objects with the same mesh that nodes deform."""
    bound = [other for other in _list_sharers(obj) if settings_of(other).is_bound]
    return [other for other in bound if not needs_supple(settings_of(other))]


def check_sharers(obj: bpy.types.Object, skeleton: Skeleton) -> None:
    """Raise SkinningError where objects with other bones share the mesh: it holds one set of influences."""
    skeletons = [skeleton, *map(read_skeleton, list_sharing_armatures(obj))]
    if len({each.fingerprint for each in skeletons}) > 1:
        raise SkinningError(
            f"'{obj.name}' shares its mesh with objects whose armatures have different bones or bone positions: make "
            "the mesh single-user, or evaluate by Python"
        )


def check_twists(skinned: SkinnedObject, skeleton: Skeleton) -> None:
    """Raise SkinningError where objects that share the mesh have other fractions, or lines about which vertices twist.

    Parameters
    ----------
    skeleton : Skeleton
        With the fractions of the object.
    """
    obj, armatures = skinned.obj, [skinned.armature, *list_sharing_armatures(skinned.obj)]
    for other in list_sharing_nodes(obj):
        settings = settings_of(other)
        choice = read_choice(settings, settings.method)
        if with_twists(skeleton, armatures[0], choice, armatures[1:]) is not skeleton:
            raise SkinningError(
                f"'{obj.name}' shares its mesh with '{other.name}', which has a different Twist: use the same Twist "
                "for both, make the mesh single-user, or evaluate by Python"
            )
        if skeleton.joints.spread is not None and _is_elsewhere(obj, skinned.armature, other):
            raise SkinningError(
                f"'{obj.name}' shares its mesh with '{other.name}', which has a different location in its armature: "
                "make the mesh single-user, or evaluate by Python"
            )


def _is_elsewhere(obj: bpy.types.Object, armature: bpy.types.Object, other: bpy.types.Object) -> bool:
    """Whether another object is elsewhere in its armature."""
    spaces = object_to_armature(obj, armature), object_to_armature(other, _find_armature(other) or armature)
    return bool(np.abs(np.array(spaces[0]) - np.array(spaces[1])).max() >= MOVED)


def check_centers(skinned: SkinnedObject, above: list[bpy.types.Modifier], params: Any) -> None:
    """Raise SkinningError where the centers of a mesh can not be kept with its vertices.

    Parameters
    ----------
    above : list of Modifier
        Those above that are on.
    params : Params
        Of Centers.
    """
    obj, armature = skinned.obj, skinned.armature
    for modifier in above:
        if modifier.type in COPIES:
            raise SkinningError(
                f"Modifier '{modifier.name}' of '{obj.name}' adds vertices away from the mesh, which have no "
                "rotation centers: apply it, move it below, or choose another method"
            )
    for other in _list_sharers(obj):
        settings = settings_of(other)
        if not settings.is_bound or not METHODS[settings.method].sees_all_meshes:
            continue
        if settings.sharpness != params.sharpness or _is_elsewhere(obj, armature, other):
            raise SkinningError(
                f"'{obj.name}' shares its mesh with '{other.name}', which has a different sharpness or location in "
                "its armature: make the mesh single-user, or evaluate by Python"
            )


def _find_armature(obj: bpy.types.Object) -> bpy.types.Object | None:
    with suppress(SkinningError):
        modifier = find_deforming_modifier(obj)
        return check_armature(obj, modifier)
    return None


def check_modifiers_above(skinned: SkinnedObject, modifiers: list[bpy.types.Modifier]) -> None:
    """Raise SkinningError where modifiers above lose or merge influences."""
    obj, below = skinned.obj, skinned.deforming.name
    for above in modifiers:
        if above.type in LOSES_ATTRIBUTES:
            raise SkinningError(
                f"Modifier '{above.name}' of '{obj.name}' is above '{below}' and makes a new mesh without weights: "
                "move it below, or apply it"
            )
        if above.type in MERGES:
            raise SkinningError(
                f"Modifier '{above.name}' of '{obj.name}' is above '{below}' and merges vertices, whose joints nodes "
                "cannot average: move it below, or apply it"
            )
        if above.type == "MIRROR" and above.use_mirror_vertex_groups and _has_sides(obj):
            raise SkinningError(
                f"Modifier '{above.name}' of '{obj.name}' is above '{below}' and swaps left and right vertex groups, "
                "which nodes cannot follow: apply it, or move it below"
            )


def _has_sides(obj: bpy.types.Object) -> bool:
    """Whether vertex groups are named in pairs of left and right."""
    names = {group.name for group in obj.vertex_groups}
    return any(bpy.utils.flip_name(name) in names - {name} for name in names)
