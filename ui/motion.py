"""The Motion panel: actions that are compared, the transitions between them, loops and joins."""

from __future__ import annotations

import bpy

from ..settings.character import find_armature
from ..settings.motion import find_names, find_transition, motion_settings
from ..translations import translate
from .buttons import draw_button
from .panels import SupplePanel
from .reports import draw_hint, draw_message

HINT = "Find similar frames, make actions loop, and join actions without pops or sliding feet"


class SUPPLE_UL_transitions(bpy.types.UIList):
    """Frames to pass from one action to the other, the best first"""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.PropertyGroup,
        item: bpy.types.PropertyGroup,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
    ) -> None:
        columns = layout.split(factor=0.7)
        columns.label(text=translate(f"Frame {item.first} to {item.second}"), icon="ACTION_TWEAK", translate=False)
        difference = columns.row()
        difference.alignment = "RIGHT"
        difference.label(text=f"{item.difference:.0f} mm", translate=False)


class VIEW3D_PT_supple_motion(SupplePanel, bpy.types.Panel):
    """Loops and joins of actions"""

    bl_label = "Motion"
    bl_order = 4
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        armature = find_armature(context)
        return armature is not None and armature.type == "ARMATURE"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings, armature = self.layout, motion_settings(context), find_armature(context)
        draw_hint(layout, context, HINT)
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(align=True)
        column.prop_search(settings, "first", bpy.data, "actions", icon="ACTION")
        column.prop_search(settings, "second", bpy.data, "actions", icon="ACTION")
        draw_button(layout, "supple.motion_compare")
        if armature is not None and find_transition(context, armature) is not None:
            layout.template_list(
                SUPPLE_UL_transitions.__name__, "", settings, "transitions", settings, "active", rows=4
            )
        column = layout.column(align=True)
        column.prop(settings, "blend")
        column.prop(settings, "holds_feet")
        first, second = find_names(context, armature) if armature is not None else ("", "")
        draw_button(layout, "supple.motion_loop")
        row = layout.row()
        row.enabled = first != second
        draw_button(row, "supple.motion_join")
        if settings.report:
            draw_message(layout, context, settings.report, icon="INFO")


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_transitions, VIEW3D_PT_supple_motion))
