"""The Check panel: faults of the character in a list, what can be done about them, and heat on the skin."""

from __future__ import annotations

import bpy

from ..settings.character import find_armature
from ..settings.checks import check_settings
from ..settings.objects import settings_of
from ..translations import translate
from .buttons import draw_button
from .panels import SupplePanel, shown_settings
from .reports import draw_message


def read_dismissed(context: bpy.types.Context) -> set[str]:
    """Keys of the faults that were dismissed."""
    armature = find_armature(context)
    return set() if armature is None else set(settings_of(armature).dismissed.split("\n")) - {""}


class SUPPLE_UL_findings(bpy.types.UIList):
    """The faults of a character, the worst first"""

    def draw_item(
        self,
        context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.PropertyGroup,
        item: bpy.types.PropertyGroup,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
        index: int,
    ) -> None:
        row = layout.row(align=True)
        row.active = item.key not in read_dismissed(context)
        parts = row.split(factor=0.34, align=True)
        icon = "CHECKMARK" if item.is_mended else "WPAINT_HLT" if item.is_of_weights else "POSE_HLT"
        parts.label(text=item.bone or item.mesh, icon=icon, translate=False)
        parts.alignment = "LEFT"
        parts.operator("supple.check_show", text=translate(item.text), translate=False, emboss=False).number = index

    def filter_items(
        self, context: bpy.types.Context, data: bpy.types.PropertyGroup, name: str
    ) -> tuple[list[int], list[int]]:
        settings, dismissed = check_settings(context), read_dismissed(context)
        flags = []
        for item in getattr(data, name):
            is_chosen = settings.shown == "ALL" or item.is_of_weights == (settings.shown == "WEIGHTS")
            is_shown = is_chosen and (settings.shows_dismissed or item.key not in dismissed)
            flags.append(self.bitflag_filter_item if is_shown else 0)
        return flags, []


class VIEW3D_PT_supple_check(SupplePanel, bpy.types.Panel):
    """Faults of the character"""

    bl_label = "Check"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return shown_settings(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, check_settings(context)
        row = layout.row(align=True)
        row.prop(settings, "use_actions", toggle=True)
        row.prop(settings, "use_bends", toggle=True)
        if settings.use_bends:
            layout.prop(settings, "angle")
        draw_button(layout, "supple.check")
        armature = find_armature(context)
        if armature is None or settings.armature != armature.name:
            return
        if not settings.findings:
            layout.label(text="No faults found", icon="CHECKMARK")
            return
        row = layout.row(align=True)
        row.prop(settings, "shown", expand=True)
        row.prop(settings, "shows_dismissed", text="", icon="HIDE_OFF" if settings.shows_dismissed else "HIDE_ON")
        layout.template_list(SUPPLE_UL_findings.__name__, "", settings, "findings", settings, "active", rows=5)
        self.draw_active(context, settings.findings[min(settings.active, len(settings.findings) - 1)])

    def draw_active(self, context: bpy.types.Context, line: bpy.types.PropertyGroup) -> None:
        """The active fault, and what can be done about it."""
        draw_message(self.layout, context, line.details, icon="INFO")
        row = self.layout.row(align=True)
        draw_button(row, "supple.check_show", text="Show")
        fix = row.row(align=True)
        fix.enabled = line.can_fix
        draw_button(fix, "supple.check_fix")
        is_dismissed = line.key in read_dismissed(context)
        draw_button(row, "supple.check_dismiss", text="Restore" if is_dismissed else "Dismiss")
        row = self.layout.row(align=True)
        draw_button(row, "supple.check_fix_all")
        draw_button(row, "supple.check_close")


class VIEW3D_PT_supple_heat(SupplePanel, bpy.types.Panel):
    """Heat on the skin"""

    bl_label = "Heat"
    bl_parent_id = "VIEW3D_PT_supple_check"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, check_settings(context)
        layout.use_property_decorate = False
        layout.row().prop(settings, "heat", expand=True)
        layout.use_property_split = True
        if settings.heat == "DIFFERENCE":
            layout.prop(settings, "other")
        if settings.heat in ("DIFFERENCE", "OVERLAP", "COPY"):
            layout.prop(settings, "full")


register, unregister = bpy.utils.register_classes_factory(
    (SUPPLE_UL_findings, VIEW3D_PT_supple_check, VIEW3D_PT_supple_heat)
)
