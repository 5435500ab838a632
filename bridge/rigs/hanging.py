"""What hangs on a bone: hats, staffs, eyes, which a bone moves as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import bpy

HOLDING = {"ARMATURE", "CHILD_OF", "COPY_LOCATION", "COPY_TRANSFORMS"}
"""Constraints by which an object goes along with a bone."""


def find_holder(obj: bpy.types.Object) -> bpy.types.Object | None:
    """The armature of the bone that an object hangs on, by its parent or a constraint, also by an object between."""
    seen = set[bpy.types.Object]()
    above: bpy.types.Object | None = obj
    while above is not None and above not in seen:
        seen.add(above)
        for holder, bone in _list_holders(above):
            if bone and holder is not None and holder.type == "ARMATURE":
                return holder
        above = above.parent
    return None


def _list_holders(obj: bpy.types.Object) -> Iterator[tuple[bpy.types.Object | None, str]]:
    if obj.parent_type == "BONE":
        yield obj.parent, obj.parent_bone
    for constraint in obj.constraints:
        own: Any = constraint
        if constraint.type in HOLDING and constraint.enabled and constraint.influence > 0.0:
            for target in own.targets if constraint.type == "ARMATURE" else (own,):
                yield target.target, target.subtarget
