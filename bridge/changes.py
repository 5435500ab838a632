"""Changes reported by a depsgraph, and what the user is doing meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import bpy

# Held here, because each step asks for them, and Blender looks each up by its name
MESHES, ARMATURES, KEYS, OBJECTS = bpy.types.Mesh, bpy.types.Armature, bpy.types.Key, bpy.types.Object

# Starts of the names of operators that move bones, or paint weights, with the mouse
DRAGGING_OPERATORS = ("TRANSFORM_OT_", "POSE_OT_", "PAINT_OT_weight_")

# The data-block that a depsgraph has updated, and what it says of it
Update = tuple[bpy.types.ID, bpy.types.DepsgraphUpdate]

_is_without_changes = False


class Changes:
    """Changes of one update of a depsgraph, found once for all features.

    Attributes
    ----------
    depsgraph : Depsgraph
        Of the viewport or of the render.
    updates : list of Update
        All that it reports.
    data : set of ID
        From `find_changes`.
    is_frame : bool
        Whether another frame is shown; otherwise something was edited.
    is_render : bool
        Whether the depsgraph is that of a render.
    is_dragging : bool
        Whether a user waits for each step of the mouse.
    is_motion : bool
        Whether this is another frame, or a user drags bones.
    """

    def __init__(self, depsgraph: bpy.types.Depsgraph, is_frame: bool) -> None:
        self.depsgraph, self.updates = depsgraph, list_updates(depsgraph)
        self.is_frame, self.is_render = is_frame, depsgraph.mode == "RENDER"
        self.is_dragging = not self.is_render and is_dragging()
        is_posing = self.is_dragging and not _moves_meshes(self.updates)
        self.is_motion = is_frame or is_posing
        self.data = set() if _is_without_changes else find_changes(self.updates, is_posing)


@contextmanager
def without_changes() -> Iterator[None]:
    """Follow poses alone meanwhile: Blender reports a mesh as changed when a modifier of it is switched on or off."""
    global _is_without_changes
    before, _is_without_changes = _is_without_changes, True
    try:
        yield
    finally:
        _is_without_changes = before


def is_dragging() -> bool:
    """Whether the user is moving something: an operator that follows the mouse runs in one of the windows."""
    running = (operator for window in bpy.context.window_manager.windows for operator in window.modal_operators)
    # An operator whose class is unregistered while it runs is None until its window drops it.
    return any(operator is not None and operator.bl_idname.startswith(DRAGGING_OPERATORS) for operator in running)


def list_updates(depsgraph: bpy.types.Depsgraph) -> list[Update]:
    """The updates of a depsgraph, read once: there is one for each moving object."""
    return [(update.id, update) for update in depsgraph.updates]


def _moves_meshes(updates: Iterable[Update]) -> bool:
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
