"""What a depsgraph says has changed."""

from __future__ import annotations

import bpy


def find_changes(depsgraph: bpy.types.Depsgraph) -> set[bpy.types.ID]:
    """Meshes and armatures whose weights, rest shape or bones may have changed.

    A mesh whose keys are animated or driven is updated at every frame, too. Its Key then is in its geometry alone; a
    change of the mesh itself, be it by hand or by a brush, updates all there is of the Key.
    """
    moved, changed = set(), set()
    for update in depsgraph.updates:
        data = update.id
        if isinstance(data, bpy.types.Mesh | bpy.types.Armature):
            changed.add(data.original)
        elif isinstance(data, bpy.types.Key) and not update.is_updated_transform:
            moved.add(data.original)
    return {data for data in changed if not (isinstance(data, bpy.types.Mesh) and data.shape_keys in moved)}
