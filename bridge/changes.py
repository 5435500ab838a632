"""Changes reported by a depsgraph."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

# Held here, because each step asks for them, and Blender looks each up by its name
MESHES, ARMATURES, KEYS, OBJECTS = bpy.types.Mesh, bpy.types.Armature, bpy.types.Key, bpy.types.Object

# The data-block that a depsgraph has updated, and what it says of it
Update = tuple[bpy.types.ID, bpy.types.DepsgraphUpdate]


def list_updates(depsgraph: bpy.types.Depsgraph) -> list[Update]:
    """The updates of a depsgraph, read once: there is one for each moving object."""
    return [(update.id, update) for update in depsgraph.updates]


def moves_meshes(updates: Iterable[Update]) -> bool:
    """Whether mesh objects are moved, rather than deformed, or carried by a bone."""
    objects = ((data, update) for data, update in updates if isinstance(data, OBJECTS))
    return any(
        update.is_updated_transform and data.type == "MESH" and data.parent_type != "BONE" for data, update in objects
    )


def find_changes(updates: Iterable[Update], is_posing: bool = False) -> set[bpy.types.ID]:
    """Meshes and armatures whose weights, rest shape or bones may have changed.

    Blender reports an armature at each pose that a user drags its bones to (`is_posing`). It has changed only if he
    edits it.

    A mesh whose keys are animated or driven is updated at every frame, too. Its Key then is in its geometry alone; a
    change of the mesh itself, be it by hand or by a brush, updates all there is of the Key.
    """
    moved, changed = set(), set()
    for data, update in updates:
        if isinstance(data, MESHES) or (isinstance(data, ARMATURES) and (data.is_editmode or not is_posing)):
            changed.add(data.original)
        elif isinstance(data, KEYS) and not update.is_updated_transform:
            moved.add(data.original)
    return {data for data in changed if not (isinstance(data, MESHES) and data.shape_keys in moved)}
