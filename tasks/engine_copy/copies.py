"""The engine copies that a file has: found by their marks, read, and removed."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import bpy

from ...bridge.held import find_all_again
from ...bridge.owned import Tag, is_marked, read_mark
from ...bridge.rigs.actions import list_frames
from ...deformers import SkinningError
from .source import Clip
from .targets import TARGETS


@dataclass(frozen=True, eq=False)
class Copy:
    """A copy; `originals` are the names of the copied armature and meshes, which files use."""

    collection: bpy.types.Collection
    armature: bpy.types.Object
    meshes: list[bpy.types.Object]
    originals: list[str]

    @property
    def objects(self) -> list[bpy.types.Object]:
        """The armature, and then the meshes."""
        return [self.armature, *self.meshes]


def find_copy(armature: bpy.types.Object, target: str) -> bpy.types.Collection | None:
    """The collection of the copy of a character that was made for a target before."""
    for collection in bpy.data.collections:
        if read_mark(collection, Tag.COPY_OF) == armature and read_mark(collection, Tag.COPY_FOR) == target:
            return collection if collection.is_editable else None
    return None


def list_copies(armature: bpy.types.Object) -> list[bpy.types.Collection]:
    """The collections of all copies of a character."""
    return [copy for target in TARGETS if (copy := find_copy(armature, target)) is not None]


def is_copy(obj: bpy.types.Object) -> bool:
    """Whether an object is part of a copy."""
    return any(is_marked(collection, Tag.COPY_OF) for collection in obj.users_collection)


def read_copy(armature: bpy.types.Object, target: str) -> tuple[Copy, tuple[Clip, ...]]:
    """The copy of a character, and the actions that it has; raises SkinningError if there is none.

    `armature` is the original's, `target` a key of `TARGETS`.
    """
    collection = find_copy(armature, target)
    objects = sorted(collection.objects, key=lambda obj: obj.name) if collection is not None else []
    found = [obj for obj in objects if obj.type == "ARMATURE"]
    if collection is None or not found:
        raise SkinningError(
            f"'{armature.name}' has no engine copy for {TARGETS[target]}, or it was deleted: make the copy first"
        )
    meshes = [obj for obj in objects if obj.type == "MESH"]
    names = [str(read_mark(obj, Tag.COPY_OF, obj.name)) for obj in (found[0], *meshes)]
    clips, first = [], 0
    for track, action in list_baked(found[0]):
        frames = list_frames(action)  # the strip itself is not shorter than a frame
        clips.append(Clip(track, frames, first))
        first += len(frames)
    return Copy(collection, found[0], meshes, names), tuple(clips)


def list_baked(obj: bpy.types.Object) -> list[tuple[str, bpy.types.Action]]:
    """The actions of an object of a copy, with the names of their tracks."""
    tracks = obj.animation_data.nla_tracks if obj.animation_data is not None else ()
    return [(track.name, strip.action) for track in tracks for strip in track.strips if strip.action is not None]


def remove_copies(armature: bpy.types.Object) -> list[str]:
    """Remove all copies of a character: a sentence on them."""
    copies = list_copies(armature)
    names = [copy.name for copy in copies]
    for copy in copies:
        remove_parts(read_parts(copy))
    return [f"Removed {', '.join(names)}"] if names else []


def read_parts(collection: bpy.types.Collection) -> dict[int, str]:
    """All that a copy is made of, its collection first: names by `session_uid`, by which it is found again."""
    objects = list(collection.objects)
    actions = [action for obj in objects for _, action in list_baked(obj)]
    parts = [collection, *objects, *(obj.data for obj in objects if obj.data is not None), *actions]
    return {part.session_uid: part.name for part in parts}


def remove_parts(uids: Collection[int]) -> None:
    """Remove parts of a copy, by `session_uid`, as far as they are still there, and nothing else uses their data."""
    found = find_all_again(uids).values()
    bpy.data.batch_remove([other for other in found if isinstance(other, bpy.types.Object | bpy.types.Collection)])
    bpy.data.batch_remove([other for other in find_all_again(uids).values() if not other.users])
