"""Show other methods beside the character."""

from __future__ import annotations

import bpy

from ..settings.events import redraw
from ..settings.side_by_side import find_compared, has_ghosts, hide_ghosts, show_ghosts
from ..tasks.side_by_side.ghosts import prepare_ghosts
from .base import SuppleOperator


def needs_compared(context: bpy.types.Context) -> str:
    is_there = find_compared(context) is not None or has_ghosts()
    return "" if is_there else "Select a mesh that has an Armature modifier, or its armature"


class SUPPLE_OT_side_by_side(SuppleOperator, bpy.types.Operator):
    """Show the chosen methods as ghosts next to the character, in the same pose; press again to remove the ghosts"""

    bl_idname = "supple.side_by_side"
    bl_label = "Side by Side"
    bl_options = {"REGISTER"}
    requires = (needs_compared,)

    def run(self, context: bpy.types.Context) -> None:
        armature = find_compared(context)
        if armature is None or has_ghosts(armature):
            hide_ghosts()
        else:
            show_ghosts(armature)
            manager = context.window_manager
            manager.progress_begin(0.0, 1.0)
            prepare_ghosts(armature, context, manager.progress_update)
            manager.progress_end()
        redraw(context.window_manager, context)


register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_side_by_side,))
