"""Points and cages read with the skin that they are to carry, and refused if they cannot be points or cages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_edges, read_evaluated_points, read_triangles
from ...bridge.rigs.armatures import read_pose, read_skeleton
from ...bridge.rigs.rest_bones import at_rest
from ...deformers import SkinningError
from ...deformers.automatic_weights.handles import Cage
from ...settings.objects import settings_of
from ..installed.feature import Subject
from ..subject.character import changes_topology, has_armature_modifier
from ..weights.parts import WeightedSkin, check_own_space, check_points, find_deforming_armature, read_part
from .plan import Handle, HandlesSource

# Each vertex of a cage becomes a bone
MAX_VERTICES = 200

# In sizes of the skeleton, and of entries of rotations: an armature whose bones are no farther from rest is at rest
MAX_AT_REST = 1e-3


def read_handles(subject: Subject, objects: Sequence[bpy.types.Object], parents: bool) -> HandlesSource:
    """Read objects that are to be points and cages of meshes; without an armature, in the space of the first mesh.

    Raises SkinningError if something does not fit.

    Parameters
    ----------
    parents : bool
        Whether objects without a parent are to go along with the skin.
    """
    armature, meshes = subject.armature, subject.meshes
    check_objects(meshes, objects, armature)
    if armature is not None:
        check_armature(armature)
    owner = armature or meshes[0]
    with _resting(armature, objects):
        check_own_space(owner, owner.matrix_world)
        bones, heads, tails = (), np.empty((0, 3)), np.empty((0, 3))
        taken = {group.name for mesh in meshes for group in mesh.vertex_groups}
        skeleton = read_skeleton(armature) if armature is not None else None
        if skeleton is not None:
            own = ~skeleton.handles
            bones = tuple(np.array(skeleton.names, object)[own])
            heads, tails = skeleton.envelopes.heads[own], skeleton.envelopes.tails[own]
            taken |= set(cast(Any, owner.data).bones.keys())
        skin = WeightedSkin(owner, cast(Any, skeleton), tuple(read_part(mesh, owner, bones) for mesh in meshes))
        if not len(skin.triangles):
            raise SkinningError(f"'{meshes[0].name}' has no faces: add faces first")
        to_armature = np.linalg.inv(np.array(owner.matrix_world, np.float64))
        handles = tuple(_read_handle(obj, to_armature, parents) for obj in objects)
    return HandlesSource(
        meshes[0].name, skin.points, skin.triangles, bones, heads, tails, skin.weights, frozenset(taken), handles
    )


def find_armature(meshes: Sequence[bpy.types.Object], given: bpy.types.Object | None) -> bpy.types.Object | None:
    """The armature of meshes; None if they have none. A prop on a bone is carried, not deformed."""
    found = {
        find_deforming_armature(mesh, given)
        if has_armature_modifier(mesh) or (mesh.parent is not None and mesh.parent_type == "ARMATURE")
        else given
        for mesh in meshes
    }
    if len(found) > 1:
        names = ", ".join(sorted(f"'{one.name}'" if one else "none" for one in found))
        raise SkinningError(f"The meshes are deformed by different armatures ({names}): select meshes of one armature")
    return found.pop()


@contextmanager
def _resting(armature: bpy.types.Object | None, objects: Sequence[bpy.types.Object]) -> Iterator[None]:
    """Have an armature at rest meanwhile, so that objects on its bones are where they are at rest.

    Raises SkinningError if the armature is posed, and an object would stay next to the posed skin.
    """
    bpy.context.view_layer.update()
    if armature is None or armature.data.pose_position == "REST":
        yield
        return
    loose = [obj for obj in objects if obj.parent is None]
    if loose and _is_posed(armature):
        raise SkinningError(
            f"'{armature.name}' is posed: choose Rest Position in the armature's properties, and place "
            f"'{loose[0].name}' at the skin in that position"
        )
    with at_rest(armature):
        yield


def _is_posed(armature: bpy.types.Object) -> bool:
    skeleton = read_skeleton(armature)
    if not skeleton.names:
        return False
    change = read_pose(armature.evaluated_get(bpy.context.evaluated_depsgraph_get()), skeleton).rest_to_pose - np.eye(4)
    size = float(np.ptp(skeleton.joints.centers, axis=0).max()) or 1.0
    return bool((np.abs(change[:, :3]) > MAX_AT_REST * np.array([1.0, 1.0, 1.0, size])).any())


def _read_handle(obj: bpy.types.Object, to_armature: np.ndarray, parents: bool) -> Handle:
    """A point or a cage; `to_armature`, shape (4, 4), is from world space."""
    matrix = to_armature @ np.array(obj.matrix_world, np.float64)
    check_own_space(obj, matrix)
    is_loose = parents and obj.parent is None
    if obj.type != "MESH":
        return Handle(obj.name, None, matrix[None, :3, 3], is_loose)
    points = read_evaluated_points(obj, bpy.context.evaluated_depsgraph_get()).astype(np.float64)
    positions = points @ matrix[:3, :3].T + matrix[:3, 3]
    check_points(obj, positions)
    mesh = mesh_of(obj)
    cage = Cage(np.arange(len(positions)), positions, read_edges(mesh), read_triangles(mesh))
    return Handle(obj.name, cage, positions, is_loose)


def check_objects(
    meshes: Sequence[bpy.types.Object], objects: Sequence[bpy.types.Object], armature: bpy.types.Object | None
) -> None:
    """Raise SkinningError if objects cannot be points or cages of meshes that an armature deforms, if any."""
    if not objects:
        names = ", ".join(f"'{mesh.name}'" for mesh in meshes)
        raise SkinningError(f"Nothing is selected to move {names}: also select empties for points, or meshes for cages")
    skins = {mesh.data for mesh in meshes}
    for obj in objects:
        name = obj.name
        if obj in meshes or obj.data in skins:
            raise SkinningError(f"'{name}' is the skin itself: select another mesh as a cage")
        if obj.type not in ("EMPTY", "MESH"):
            raise SkinningError(
                f"'{name}' is neither an empty nor a mesh: only empties can be points, and only meshes can be cages"
            )
        if obj.library is not None:
            raise SkinningError(f"'{name}' is linked from another file: make it local first")
        if settings_of(obj).is_handle:
            raise SkinningError(f"'{name}' is already a handle: remove it first")
        if carried := [one.name for one in (armature, *meshes) if one in obj.children_recursive]:
            raise SkinningError(
                f"'{name}' carries '{carried[0]}', which is to follow it: clear the parent of '{carried[0]}', or leave "
                f"'{name}' out"
            )
        if obj.type == "MESH":
            _check_cage(obj)


def _check_cage(obj: bpy.types.Object) -> None:
    name, mesh = obj.name, mesh_of(obj)
    if obj.mode == "EDIT":
        raise SkinningError(f"'{name}' is in Edit Mode: leave it first")
    if mesh.is_editmode:
        raise SkinningError(f"The mesh of '{name}' is in Edit Mode with another object: leave Edit Mode first")
    if has_armature_modifier(obj):
        raise SkinningError(f"'{name}' is deformed by an armature: remove its Armature modifier to make it a cage")
    if mesh.library is not None or mesh.override_library is not None:
        raise SkinningError(f"The mesh of '{name}' is linked from another file: make it local first")
    if not mesh.vertices:
        raise SkinningError(f"'{name}' has no vertices: a cage needs at least one")
    if len(mesh.vertices) > MAX_VERTICES:
        raise SkinningError(
            f"'{name}' has {len(mesh.vertices)} vertices, and each would become a bone: use a cage with "
            f"{MAX_VERTICES} vertices or fewer"
        )
    changing = [modifier for modifier in obj.modifiers if changes_topology(modifier) and modifier.show_viewport]
    if changing:
        raise SkinningError(
            f"Modifier '{changing[0].name}' of '{name}' changes the number of vertices: apply or remove it"
        )


def check_armature(armature: bpy.types.Object) -> None:
    """Raise SkinningError if an armature cannot have more bones."""
    data = armature.data
    if not (armature.is_editable and data.is_editable) or armature.override_library or data.override_library:
        raise SkinningError(
            f"'{armature.name}' is linked from another file, so bones cannot be added: add handles in its own file, "
            "or make it local"
        )
    if armature.mode == "EDIT":
        raise SkinningError(f"'{armature.name}' is in Edit Mode: leave it first")
