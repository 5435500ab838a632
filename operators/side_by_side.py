"""Show other methods beside the character."""

from __future__ import annotations

import bpy

from ..settings.events import redraw
from ..settings.side_by_side import find_compared, has_ghosts, hide_ghosts, show_ghosts
from ..tasks.compare.ghosts import prepare_ghosts
from ..translations import translate


class SUPPLE_OT_side_by_side(bpy.types.Operator):
    """Show the chosen methods as ghosts beside the character, in the same pose; press again to have them gone"""

    bl_idname = "supple.side_by_side"
    bl_label = "Side by Side"
    bl_options = {"REGISTER"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if find_compared(context) is None and not has_ghosts():
            cls.poll_message_set(translate("Select a mesh that has an Armature modifier, or its armature"))
            return False
        return True

    def execute(self, context: bpy.types.Context) -> set[str]:
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
        return {"FINISHED"}


register, unregister = bpy.utils.register_classes_factory((SUPPLE_OT_side_by_side,))
