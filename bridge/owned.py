"""Marks: custom properties by which Supple finds in a file what it has put there, and sees what it was made from.

No other module reads or writes a custom property of Supple's. A mark is a tag with a value: True, the name of what
something was made for, or a digest of what it was made from (`digest`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, TypeVar, cast

import bpy
import numpy as np

T = TypeVar("T")


class Tag(StrEnum):
    """Names of the custom properties. Files have them: a name stays as it is, and none is used for anything else."""

    # On objects and meshes that are hidden, and on the bone collections of hidden bones
    HIDDEN = "supple_hidden"
    LIMBS = "supple_limbs"
    ASIDE = "supple_aside"
    JOINTS = "supple_joints"
    PROBE = "supple_probe"  # joints objects of earlier versions
    STRETCH = "supple_stretch"
    STRETCH_ORDER = "supple_stretch_order"
    STRETCH_MADE = "supple_stretch_made"
    DEPTHS = "supple_depths"

    # On armatures and bones
    STRETCH_ARMATURE = "supple_stretch_armature"
    RIGID_ARMATURE = "supple_rigid_armature"
    SEGMENTS = "supple_segments"
    TURNS = "supple_turns"
    SHAPES = "supple_shapes"  # of the skin, picked for the joint

    # On actions: a digest of what the swing was computed from, "" if nothing swings; the linked action behind a copy
    SWING = "supple_swing"
    COPIED_FROM = "supple_copied_from"

    # On collections, objects and actions of engine copies: the original, and for which engine
    COPY_OF = "supple_copy_of"
    COPY_FOR = "supple_copy_for"

    # On node groups, materials and images of patterns
    PATTERNS = "supple_patterns"
    COMPRESSION = "supple_compression"
    SIGNATURE = "supple_signature"
    MADE = "supple_made"
    PRESET = "supple_preset"

    # On scenes
    LOCKED = "supple_locked_interface"


def mark(owner: Any, tag: Tag, value: Any = True) -> None:
    """Mark a data-block, bone, collection or modifier."""
    owner[tag] = value


def read_mark(owner: Any, tag: Tag, otherwise: Any = None) -> Any:
    """The value of a mark, or another value if there is no such mark."""
    return owner.get(tag, otherwise)


def is_marked(owner: Any, tag: Tag) -> bool:
    """Whether a mark is there, whatever its value."""
    return tag in owner


def unmark(owner: Any, tag: Tag) -> None:
    """Remove a mark, if it is there."""
    if tag in owner:
        del owner[tag]


def list_marked(owners: Iterable[T], tag: Tag) -> list[T]:
    """The data-blocks, bones or collections that have a mark."""
    return [owner for owner in owners if is_marked(owner, tag)]


def digest(*parts: Any) -> str:
    """A digest of what something is made from, in hexadecimal: bytes, arrays, and anything else by its `repr`."""
    found = hashlib.blake2b(digest_size=16)
    for part in parts:
        if isinstance(part, np.ndarray):
            part = part.tobytes()
        found.update(part if isinstance(part, bytes) else repr(part).encode())
    return found.hexdigest()


def remove_unused(objects: Iterable[bpy.types.Object]) -> None:
    """Remove objects of this file that nothing uses, and their meshes."""
    own = {obj for obj in objects if obj.library is None}
    # Looked for: Blender 5.2 goes on counting users that were inputs of a removed modifier
    users = cast(Any, bpy.data).user_map(subset=own) if own else {}
    for obj in [obj for obj in own if not users[obj]]:
        mesh: Any = obj.data
        bpy.data.objects.remove(obj)
        if mesh.library is None and not mesh.users:
            bpy.data.meshes.remove(mesh)
