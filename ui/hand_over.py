"""The Hand Over panel: bakes, farms, engine copies, and characters that do without Supple."""

from __future__ import annotations

from typing import Any

import bpy

from ..settings.character import find_armature
from ..settings.checks import check_settings
from ..settings.engine_copy import copy_settings, find_source
from ..settings.objects import BAKE_ITEMS, needs_supple, settings_of
from ..tasks.reports import farm_reports
from ..tasks.subject.actions import list_seen_actions
from ..translations import translate
from .buttons import draw_button
from .lists import SuppleList
from .menus import VIEW3D_MT_supple_bake
from .panels import PartPanel, is_whole, list_shown, shown_settings
from .reports import draw_hint, draw_message

HINT = "For renders, other machines, game engines, and colleagues without Supple"


def is_with_supple(obj: bpy.types.Object) -> bool:
    """Whether there is something of a mesh to hand over."""
    return settings_of(obj).is_bound or settings_of(obj).bake != "NONE"


class VIEW3D_PT_supple_hand_over(PartPanel, bpy.types.Panel):
    """Give the character to a farm, a game engine, or someone who does not have Supple"""

    bl_label = "Hand Over"
    bl_order = 5
    page = "engine-copy.html"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        if find_source(context) != find_armature(context):  # of an engine copy
            return True
        return super().poll(context) and any(map(is_with_supple, list_shown(context)))

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.start(), shown_settings(context)
        draw_hint(layout, context, HINT)
        whole = is_whole(context)
        column = layout.column(align=True)
        column.menu(VIEW3D_MT_supple_bake.__name__, icon="FILE_CACHE")
        draw_button(column, "supple.send_to_farm", text="Write Farm Job...").whole = whole
        if settings is not None:
            self.draw_bake(context, settings)
        self.draw_copy(context)
        if settings is not None and settings.is_bound and not needs_supple(settings):
            draw_button(layout, "supple.make_independent")

    def draw_bake(self, context: bpy.types.Context, settings: bpy.types.PropertyGroup) -> None:
        """Draw the bake that plays instead of Supple, and the farm job."""
        layout = self.layout
        report = farm_reports.find(settings.id_data)
        if report:
            draw_message(layout, context, report, icon="INFO", closes=(settings.id_data, "farm"))
        if settings.bake != "NONE":
            kinds = {kind: label for kind, label, _ in BAKE_ITEMS}
            kind = kinds.get(settings.bake, "a bake unknown to this version")
            layout.label(text=translate(f"Deformed by: {kind}"))
            draw_button(layout, "supple.clear_bake").whole = is_whole(context)

    def draw_copy(self, context: bpy.types.Context) -> None:
        """The copy for game engines, and how close it is."""
        layout, armature = self.layout, find_source(context)
        row = layout.row(align=True)
        draw_button(row, "supple.engine_copy", text="Engine Copy...")
        if armature is None or not copy_settings(armature).report:
            return
        draw_button(row, "supple.engine_copy_export", text="")
        is_shown = check_settings(context).heat == "COPY"
        draw_button(row, "supple.engine_copy_show", text="", depress=is_shown)
        draw_button(row, "supple.engine_copy_frame", text="")
        draw_message(layout, context, copy_settings(armature).report, icon="INFO")


class SUPPLE_UL_actions(SuppleList, bpy.types.UIList):
    """The actions of a character, ticked where its copy shall have them"""

    def draw_row(self, _context: bpy.types.Context, layout: bpy.types.UILayout, action: Any, _index: int) -> None:
        layout.use_property_split = False
        row = layout.row(align=True)
        row.prop(action, "supple_is_copied", text="")
        row.label(text=action.name, icon="ACTION", translate=False)

    def filter_items(
        self, context: bpy.types.Context, data: bpy.types.BlendData, name: str
    ) -> tuple[list[int], list[int]]:
        armature = find_source(context)
        shown = set(list_seen_actions(armature)) if armature is not None else set()
        return [self.bitflag_filter_item if action in shown else 0 for action in getattr(data, name)], []


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_actions, VIEW3D_PT_supple_hand_over))
