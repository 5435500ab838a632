"""Data that a long command holds between two steps: Blender frees it when somebody edits the file."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import bpy

from .per_object import count_undone


def find_again(uid: int) -> bpy.types.Object | None:
    """The object with a `session_uid`, as the file has it now; None if it was deleted."""
    return next((obj for obj in bpy.data.objects if obj.session_uid == uid), None)


def find_all_again(uids: Collection[int]) -> dict[int, bpy.types.ID]:
    """The objects, meshes, armatures, actions and collections with a `session_uid` of these, without the deleted."""
    data = bpy.data
    found = (*data.objects, *data.meshes, *data.armatures, *data.actions, *data.collections)
    return {other.session_uid: other for other in found if other.session_uid in uids}


class Held:
    """All data that a command may hold: meshes, armatures and their parts, actions, scenes.

    Posing, playing and moving the view change none of it, nor do additions to the file.
    """

    def __init__(self) -> None:
        self.note()

    def note(self) -> None:
        """Take the file as it is."""
        self._parts, self._undone = _read_parts(), count_undone()

    def is_changed(self) -> bool:
        """Whether something of it was deleted, replaced or edited since it was noted."""
        return count_undone() != self._undone or not self._parts.items() <= _read_parts().items()


def _read_parts() -> dict[int, tuple]:
    """By `session_uid`, which is unique: the address of each data-block, and of its parts."""
    data = bpy.data
    objects = [obj for obj in data.objects if obj.type in ("MESH", "ARMATURE")]
    parts: dict[int, tuple] = {other.session_uid: (other.as_pointer(),) for other in (*data.actions, *data.scenes)}
    return parts | {obj.session_uid: (obj.as_pointer(), *_read_object(obj)) for obj in objects}


def _read_object(obj: bpy.types.Object) -> tuple:
    own: Any = obj.data
    modifiers = tuple(modifier.as_pointer() for modifier in obj.modifiers if modifier.type == "ARMATURE")
    if obj.type == "MESH":
        keys = own.shape_keys
        counts = len(own.vertices), len(keys.key_blocks) if keys is not None else 0, len(obj.vertex_groups)
        return own.session_uid, own.is_editmode, modifiers, counts
    bones = obj.pose.bones if obj.pose is not None else ()
    return own.session_uid, own.is_editmode, len(own.bones), tuple(bone.as_pointer() for bone in bones[:1])
