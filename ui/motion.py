"""The Motion panel: actions that are compared, the transitions between them, loops and joins; and swing."""

from __future__ import annotations

from typing import Any

import bpy

from ..options import MotionOptions, rows_of
from ..settings.character import find_armature
from ..settings.motion import find_names, find_transition, motion_settings
from ..settings.properties import draw_option
from ..tasks.features import SWING
from ..tasks.subject.corrected import list_under_way
from ..translations import translate
from .buttons import draw_button
from .lists import SuppleList
from .panels import PartPanel, has_armature
from .reports import draw_hint, draw_message, draw_notice

HINT = "Find similar frames, make actions loop, join them without pops or sliding feet, and make tails and ears swing"


class SUPPLE_UL_transitions(SuppleList, bpy.types.UIList):
    """Frames to pass from one action to the other, the best first"""

    def draw_row(self, _context: bpy.types.Context, layout: bpy.types.UILayout, item: Any, _index: int) -> None:
        columns = layout.split(factor=0.7)
        columns.label(text=translate(f"Frame {item.first} to {item.second}"), icon="ACTION_TWEAK", translate=False)
        difference = columns.row()
        difference.alignment = "RIGHT"
        difference.label(text=f"{item.difference:.0f} mm", translate=False)


class VIEW3D_PT_supple_motion(PartPanel, bpy.types.Panel):
    """Loops and joins of actions, and parts that swing"""

    bl_label = "Motion"
    bl_order = 6
    page = "motions.html"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return has_armature(context) and not list_under_way(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings, armature = self.start(), motion_settings(context), find_armature(context)
        draw_hint(layout, context, HINT)
        column = layout.column(align=True)
        column.prop_search(settings, "first", bpy.data, "actions", icon="ACTION")
        column.prop_search(settings, "second", bpy.data, "actions", icon="ACTION")
        draw_button(layout, "supple.motion_compare")
        if armature is not None and find_transition(context, armature) is not None:
            layout.template_list(
                SUPPLE_UL_transitions.__name__, "", settings, "transitions", settings, "active", rows=4
            )
        column = layout.column(align=True)
        for option in rows_of(MotionOptions):
            draw_option(column, settings, option)
        first, second = find_names(context, armature) if armature is not None else ("", "")
        draw_button(layout, "supple.motion_loop" if first == second else "supple.motion_join")
        if settings.report:
            draw_message(layout, context, settings.report, icon="INFO")
        layout.menu("VIEW3D_MT_supple_swing", icon="FORCE_HARMONIC")
        draw_notice(layout, context, SWING)


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_transitions, VIEW3D_PT_supple_motion))
