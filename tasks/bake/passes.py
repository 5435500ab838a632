"""Which objects can be baked in one pass over the frames, with the same result as each alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import bpy

from ...bridge.files.blend_files import find_uses
from ..subject.character import modifiers_above
from ..subject.stack import find_supple_modifier

# Modifiers that may take in any object of the scene, without naming it
PHYSICS = {"CLOTH", "SOFT_BODY", "FLUID", "DYNAMIC_PAINT", "PARTICLE_SYSTEM", "PARTICLE_INSTANCE", "EXPLODE"}

# Data-blocks that refer to all objects, or have no points
NEITHER = bpy.types.Scene, bpy.types.Material

# Properties of animation and modifiers that name no data-blocks
NO_PARTS = {"rna_type", "keyframe_points", "sampled_points", "point_caches"}


def list_passes(objects: Sequence[bpy.types.Object]) -> list[list[bpy.types.Object]]:
    """Divide objects among as few passes as their dependencies allow; in each they are in the order given.

    In a pass, modifiers below Supple are off. So an object that another one's shape depends on has a pass of its own:
    alone, it is as the viewport shows it while the other is baked.
    """
    if len(objects) == 1:
        return [list(objects)]
    used = find_uses()
    needed = {obj: _find_needed(obj, used, set(objects)) for obj in objects}
    passes: list[list[bpy.types.Object]] = []
    for obj in objects:
        for others in passes:
            if not any(other in needed[obj] or obj in needed[other] for other in others):
                others.append(obj)
                break
        else:
            passes.append([obj])
    return passes


def _find_needed(
    obj: bpy.types.Object, used: dict[bpy.types.ID, set[bpy.types.ID]], objects: set[bpy.types.Object]
) -> set[bpy.types.Object]:
    """Which of the objects the points of one, as it is baked, may depend on."""
    above = modifiers_above(obj, find_supple_modifier(obj))
    if any(modifier.type in PHYSICS for modifier in above):
        return objects - {obj}
    seen: set[bpy.types.ID] = {obj}
    found = _find_used_above(obj, above, used)
    while found:
        data = found.pop()
        if not isinstance(data, NEITHER):
            seen.add(data)
            found |= used.get(data, set()) - seen
    return objects.intersection(seen) - {obj}


def _find_used_above(
    obj: bpy.types.Object, above: Sequence[bpy.types.Modifier], used: dict[bpy.types.ID, set[bpy.types.ID]]
) -> set[bpy.types.ID]:
    """Data-blocks an object depends on, except those used only by modifiers after Supple and by its parent's shape."""
    needing = [*above, *obj.constraints, obj.animation_data]
    needed = {data for part in needing for data in _list_named(part)}
    below = obj.modifiers[obj.modifiers.find(find_supple_modifier(obj).name) + 1 :]
    unneeded = {data for modifier in below if modifier.type != "ARMATURE" for data in _list_named(modifier)}
    found = used.get(obj, set()) - (unneeded - needed)
    if obj.parent is not None and obj.parent_type == "OBJECT" and obj.parent not in needed:
        found = (found - {obj.parent}) | used.get(obj.parent, set())
    return found


def _list_named(part: Any) -> Iterator[bpy.types.ID]:
    """Data-blocks that a part of a data-block refers to, in all its parts."""
    if isinstance(part, bpy.types.ID):
        yield part
        return
    if isinstance(part, bpy.types.NodesModifier) and not hasattr(part, "properties"):  # inputs of nodes before 5.2
        yield from (value for value in part.values() if isinstance(value, bpy.types.ID))
    for found in part.bl_rna.properties if part is not None else ():
        if found.identifier in NO_PARTS:
            continue
        if found.type == "POINTER":
            yield from _list_named(getattr(part, found.identifier))
        elif found.type == "COLLECTION":
            for each in getattr(part, found.identifier):
                yield from _list_named(each)
