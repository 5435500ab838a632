"""Which meshes have changed: Blender also reports those that undo, or the slider of a key, has left as they were."""

from __future__ import annotations

from collections.abc import Collection

import bpy

from ...bridge.meshes.data import digest_mesh, mesh_of
from ...bridge.per_object import PerObject
from ...settings.objects import settings_of
from ..subject.stack import armature_modifiers
from .by_python import RESHAPING_MODES

# Choices of Armature modifiers
CHOSEN = (
    "vertex_group",
    "invert_vertex_group",
    "use_vertex_groups",
    "use_bone_envelopes",
    "show_viewport",
    "show_render",
)

# Meshes as they were when last looked at: see `_read`
_seen: PerObject[tuple] = PerObject()

# Meshes whose weights have been painted, and that other meshes have not yet followed (`is_one_changed`)
_painted: PerObject[bool] = PerObject()


def read_state(obj: bpy.types.Object) -> tuple:
    """An object's mesh as it is, for `note_followed`."""
    is_alone = mesh_of(obj).users == 1
    return _read([obj] if is_alone else [other for other in bpy.data.objects if other.data == obj.data])


def note_followed(obj: bpy.types.Object, state: tuple) -> None:
    """Note the state of an object's mesh that Bind has followed."""
    _seen.keep(mesh_of(obj), state)


def leave_out_same(reported: set[bpy.types.ID], bound: Collection[bpy.types.Object]) -> set[bpy.types.ID]:
    """The reported changes, without meshes of bound characters that are unchanged at rest.

    Parameters
    ----------
    reported : set of ID
        From `find_changes`.
    bound : Objects
        All that are bound. Meshes of other armatures are not looked at, since to read weights takes long.
    """
    meshes: dict[bpy.types.Mesh, list[bpy.types.Object]] = {}
    if bound and any(isinstance(data, bpy.types.Mesh) for data in reported):
        armatures = {modifier.object for obj in bound for modifier in armature_modifiers(obj)}
        for obj in bpy.data.objects:
            if obj.type != "MESH" or obj.data not in reported:
                continue
            if any(modifier.object in armatures for modifier in armature_modifiers(obj)):
                meshes.setdefault(mesh_of(obj), []).append(obj)
    same = {mesh: users for mesh, users in meshes.items() if _is_same(mesh, users)}
    return reported - same.keys()


def _is_same(mesh: bpy.types.Mesh, users: list[bpy.types.Object]) -> bool:
    """Whether a mesh is as it was when last looked at, and all have followed it."""
    modes = {obj.mode for obj in users}
    if modes & RESHAPING_MODES:
        _seen.forget(mesh)  # it is followed when that ends
        return False
    before, was_painted = _seen.find(mesh), _painted.find(mesh) is not None
    is_same = _seen.keep(mesh, _read(users)) == before
    if "WEIGHT_PAINT" not in modes:
        _painted.forget(mesh)
        is_same = is_same and not was_painted
    elif not is_same:
        _painted.keep(mesh, True)
    return is_same and not any(settings_of(obj).message for obj in users)


def _read(users: list[bpy.types.Object]) -> tuple:
    """The state of a mesh, and the options of its objects' Armature modifiers, whose changes Blender reports as the
    mesh's.
    """
    chosen = [
        (obj.session_uid, tuple(getattr(modifier, name) for name in CHOSEN))
        for obj in users
        for modifier in armature_modifiers(obj)
    ]
    return digest_mesh(users[0]), chosen
