"""The Engine Copy panel: what a copy is made by, which actions it shows, and how close it is."""

from __future__ import annotations

from typing import cast

import bpy

from ..options import CopyOptions, rows_of
from ..settings.checks import check_settings
from ..settings.engine_copy import copy_settings, find_source
from ..tasks.subject.actions import list_actions
from .buttons import draw_button
from .panels import SupplePanel
from .reports import draw_hint, draw_message

HINT = "glTF, FBX and USD blend linearly. A copy with more bones, fitted weights and corrective keys keeps the shape"
MOST_ROWS = 6
DRAWN_ALONE = ("target", "use_bends", "angle")


class SUPPLE_UL_actions(bpy.types.UIList):
    """The actions of a character, ticked where its copy shall have them"""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.BlendData,
        action: bpy.types.Action,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
    ) -> None:
        layout.use_property_split = False
        row = layout.row(align=True)
        row.prop(action, "supple_is_copied", text="")
        row.label(text=action.name, icon="ACTION", translate=False)

    def filter_items(
        self, context: bpy.types.Context, data: bpy.types.BlendData, name: str
    ) -> tuple[list[int], list[int]]:
        armature = find_source(context)
        shown = set(list_actions(armature)) if armature is not None else set()
        return [self.bitflag_filter_item if action in shown else 0 for action in getattr(data, name)], []


class VIEW3D_PT_supple_engine_copy(SupplePanel, bpy.types.Panel):
    """A copy of the character for game engines"""

    bl_label = "Engine Copy"
    bl_order = 3
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return find_source(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout, armature = self.layout, cast(bpy.types.Object, find_source(context))
        settings = copy_settings(armature)
        draw_hint(layout, context, HINT)
        layout.row().prop(settings, "target", expand=True)
        layout.use_property_split = True
        layout.use_property_decorate = False
        column = layout.column(align=True)
        for option in rows_of(CopyOptions):
            if option.name not in DRAWN_ALONE:
                place = column.row() if option.items else column
                place.prop(settings, option.name, expand=bool(option.items))
        self.draw_motion(armature, settings)
        row = layout.row(align=True)
        row.scale_y = 1.4
        text = "Update Engine Copy" if settings.report else "Make Engine Copy"
        draw_button(row, "supple.engine_copy", text=text)
        draw_button(row, "supple.engine_copy_export", text="")
        self.draw_report(context, settings)

    def draw_motion(self, armature: bpy.types.Object, settings: bpy.types.PropertyGroup) -> None:
        """What the copy is fitted to: the actions that it has, and bends of each joint."""
        layout, actions = self.layout, list_actions(armature)
        if actions:
            rows = min(max(len(actions), 2), MOST_ROWS)
            layout.template_list(
                SUPPLE_UL_actions.__name__, "", bpy.data, "actions", settings, "active", rows=rows, maxrows=MOST_ROWS
            )
        else:
            layout.label(text="No action moves its bones", icon="INFO")
        row = layout.row(align=True, heading="Range of Motion")
        row.prop(settings, "use_bends", text="")
        angle = row.row(align=True)
        angle.enabled = settings.use_bends
        angle.prop(settings, "angle", text="")

    def draw_report(self, context: bpy.types.Context, settings: bpy.types.PropertyGroup) -> None:
        """What the copy was measured to be."""
        if not settings.report:
            return
        row = self.layout.row(align=True)
        is_shown = check_settings(context).heat == "COPY"
        draw_button(row, "supple.engine_copy_show", depress=is_shown)
        draw_button(row, "supple.engine_copy_frame")
        draw_message(self.layout, context, settings.report, icon="INFO")


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_actions, VIEW3D_PT_supple_engine_copy))
