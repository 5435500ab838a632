"""Show other methods next to the character."""

from __future__ import annotations

from typing import Any

import bpy

from ...settings.events import redraw
from ...settings.side_by_side import find_compared, has_ghosts, hide_ghosts, show_ghosts
from ...tasks.side_by_side.ghosts import prepare_ghosts
from ...tasks.steps import Steps
from ..computing import ComputingOperator


def needs_compared(context: bpy.types.Context) -> str:
    is_there = find_compared(context) is not None or has_ghosts()
    return "" if is_there else "Select a mesh that has an Armature modifier, or its armature"


class SUPPLE_OT_side_by_side(ComputingOperator, bpy.types.Operator):
    """Show the chosen methods as ghosts next to the character, in the same pose; press again to remove the ghosts"""

    bl_label = "Side by Side"
    bl_options = {"REGISTER"}
    requires = (needs_compared,)

    subject = "the ghosts"
    canceled = "Side by Side canceled"

    def run(self, context: bpy.types.Context) -> Any:
        armature = find_compared(context)
        if armature is not None and not has_ghosts(armature):
            return self.take(context, self.bind_ghosts(context, armature))
        hide_ghosts()
        redraw(context.window_manager, context)
        return {"FINISHED"}

    def bind_ghosts(self, context: bpy.types.Context, armature: bpy.types.Object) -> Steps[bpy.types.Object]:
        """Bind the ghosts; returns their armature. They are shown once all of them are bound."""
        yield from prepare_ghosts(armature, context)
        return armature

    def finish(self, context: bpy.types.Context, armature: bpy.types.Object) -> None:
        """Show the ghosts."""
        show_ghosts(armature)
        redraw(context.window_manager, context)
