"""Bones for points and cages, so that they carry skin as bones do: checked, made, and parented."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.rigs.armatures import read_pose, read_skeleton
from ...bridge.rigs.handles import (
    add_handle_bones,
    follow_object,
    follow_vertex,
    parent_to_bone,
    parent_to_object,
)
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..left_out import describe_left_out
from ..subject.character import has_armature_modifier
from ..weights.parts import add_armature_modifier, find_deforming_armature, own_meshes
from ..weights.reports import end_sentence
from .checks import check_armature, check_objects
from .read import Handle, read_handle, read_skin

POSED = 1e-3
"""How far a bone may be from its rest for the armature to count as at rest: in sizes, and of a rotation's entries."""

BONE_LENGTH = 0.03
"""Length of the bones, in sizes of the skin."""


def add_handles(
    meshes: Iterable[bpy.types.Object],
    objects: Sequence[bpy.types.Object],
    armature: bpy.types.Object | None = None,
    parent: bool = True,
) -> list[str]:
    """Make empties points, and meshes cages: each point, and each vertex of a cage, gets a bone that follows it.

    Parameters
    ----------
    meshes : Objects
        The skin: all of it is deformed by one armature, or none of it by any.
    objects : sequence of Object
        Empties and meshes, at the skin while the armature is at rest.
    armature : Object, optional
        Armature of meshes that have none. Without it, they get one of their own.
    parent : bool
        Whether objects without a parent are parented to the bone that carries the skin there.

    Returns
    -------
    list of str
        Sentences on what was done.

    Raises
    ------
    SkinningError
        Where something does not fit; nothing is changed then.
    """
    meshes, left_out = own_meshes(meshes)
    rig = _find_armature(meshes, armature)
    check_objects(meshes, objects, rig)
    if rig is not None:
        check_armature(rig)
    with _resting(rig, objects):
        skeleton = read_skeleton(rig) if rig is not None else None
        skin = read_skin(meshes, rig, skeleton)
        handles: list[Handle] = []
        for obj in objects:
            handles.append(read_handle(obj, skin, [name for other in handles for name in other.names]))
        with ExitStack() as undo:
            if rig is None:
                rig = _new_armature(meshes[0], undo)
            _make_bones(rig, handles, skin.size)
            undo.pop_all()
        if skeleton is None:
            for mesh in meshes:
                add_armature_modifier(mesh, rig)
        parented = [handle for handle in handles if parent and handle.obj.parent is None]
        for handle in parented:
            _parent(handle, rig, meshes[0])
    return [*_describe(rig, meshes[0], handles, parented), *map(end_sentence, describe_left_out(left_out))]


def _find_armature(meshes: Sequence[bpy.types.Object], given: bpy.types.Object | None) -> bpy.types.Object | None:
    """The armature of meshes; None where they have none. A prop on a bone is carried, not deformed."""
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
    """Have an armature in its rest position meanwhile: what is parented to its bones is where it is at rest.

    Raises
    ------
    SkinningError
        Where the armature is posed, and an object would stay beside the posed skin.
    """
    layer = bpy.context.view_layer
    layer.update()
    if armature is None or armature.data.pose_position == "REST":
        yield
        return
    loose = [obj for obj in objects if obj.parent is None]
    if loose and _is_posed(armature):
        raise SkinningError(
            f"'{armature.name}' is posed: choose Rest Position in the armature's properties, and place "
            f"'{loose[0].name}' at the skin in that position"
        )
    data = cast(Any, armature.data)
    data.pose_position = "REST"
    layer.update()
    try:
        yield
    finally:
        data.pose_position = "POSE"
        layer.update()


def _is_posed(armature: bpy.types.Object) -> bool:
    skeleton = read_skeleton(armature)
    if not skeleton.names:
        return False
    change = read_pose(armature.evaluated_get(bpy.context.evaluated_depsgraph_get()), skeleton).rest_to_pose - np.eye(4)
    size = float(np.ptp(skeleton.joints.centers, axis=0).max()) or 1.0
    return bool((np.abs(change[:, :3, :3]) > POSED).any() or (np.abs(change[:, :3, 3]) > POSED * size).any())


def _new_armature(mesh: bpy.types.Object, undo: ExitStack) -> bpy.types.Object:
    """An armature of a mesh's own, that goes where the mesh goes."""
    data = bpy.data.armatures.new(f"{mesh.name} Handles")
    undo.callback(bpy.data.armatures.remove, data)  # and its object
    armature = bpy.data.objects.new(data.name, data)
    for collection in mesh.users_collection:
        collection.objects.link(armature)
    armature.parent = mesh
    settings_of(armature).is_handle = True
    bpy.context.view_layer.update()
    return armature


def _make_bones(armature: bpy.types.Object, handles: Sequence[Handle], size: float) -> None:
    names = [name for handle in handles for name in handle.names]
    add_handle_bones(armature, names, np.concatenate([handle.positions for handle in handles]), BONE_LENGTH * size)
    for handle in handles:
        settings_of(handle.obj).is_handle = True
        if handle.obj.type != "MESH":
            follow_object(armature, handle.names[0], handle.obj)
            continue
        for vertex, name in enumerate(handle.names):
            follow_vertex(armature, name, handle.obj, vertex)


def _parent(handle: Handle, armature: bpy.types.Object, mesh: bpy.types.Object) -> None:
    """Have a point or a cage go along with the skin."""
    if handle.carrier:
        parent_to_bone(handle.obj, armature, handle.carrier)
    else:
        parent_to_object(handle.obj, mesh)
    settings_of(handle.obj).is_parented_by_supple = True


def _describe(
    armature: bpy.types.Object, mesh: bpy.types.Object, handles: Sequence[Handle], parented: Sequence[Handle]
) -> list[str]:
    bones = sum(len(handle.names) for handle in handles)
    lines = [f"'{armature.name}' has {bones} more bones, which follow handles: use Automatic Weights on the skin."]
    lines += [f"'{handle.obj.name}' was parented to '{handle.carrier or mesh.name}'." for handle in parented]
    return lines
