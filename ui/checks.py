"""The list of the character's faults with their buttons, a part of the first panel."""

from __future__ import annotations

from typing import Any

import bpy

from ..settings.character import find_armature
from ..settings.checks import check_settings
from ..settings.objects import settings_of
from ..translations import translate
from .buttons import draw_button
from .lists import SuppleList
from .reports import draw_message


def read_dismissed(context: bpy.types.Context) -> set[str]:
    """Keys of the faults that were dismissed."""
    armature = find_armature(context)
    return set() if armature is None else set(settings_of(armature).dismissed.split("\n")) - {""}


class SUPPLE_UL_findings(SuppleList, bpy.types.UIList):
    """The faults of a character, the worst first"""

    def draw_row(self, context: bpy.types.Context, layout: bpy.types.UILayout, item: Any, index: int) -> None:
        row = layout.row(align=True)
        row.active = item.key not in read_dismissed(context)
        parts = row.split(factor=0.42, align=True)
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


def has_check(context: bpy.types.Context) -> bool:
    """Whether the list is of the active character."""
    armature = find_armature(context)
    return armature is not None and check_settings(context).armature == armature.name


def count_faults(context: bpy.types.Context) -> str:
    """How many faults the list has, but for those that are mended or dismissed."""
    dismissed = read_dismissed(context)
    left = [line for line in check_settings(context).findings if not line.is_mended and line.key not in dismissed]
    return "No Faults" if not left else "1 Fault" if len(left) == 1 else f"{len(left)} Faults"


def draw_check(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Check Character; once that is done, how many faults there are, which opens their list."""
    if has_check(context):
        settings = check_settings(context)
        icon = "DISCLOSURE_TRI_DOWN" if settings.is_open else "DISCLOSURE_TRI_RIGHT"
        layout.prop(settings, "is_open", text=translate(count_faults(context)), icon=icon, toggle=True)
    else:
        draw_button(layout, "supple.check", text="Check")


def draw_findings(layout: bpy.types.UILayout, context: bpy.types.Context) -> None:
    """Draw the list of faults, buttons for the active fault, and the check again; if the list is open."""
    settings = check_settings(context)
    if not has_check(context) or not settings.is_open:
        return
    box = layout.box()
    if settings.findings:
        box.template_list(SUPPLE_UL_findings.__name__, "", settings, "findings", settings, "active", rows=5)
        draw_active(box, context, settings.findings[min(settings.active, len(settings.findings) - 1)])
    else:
        box.label(text="No faults found", icon="CHECKMARK")
    if settings.use_bends:
        box.prop(settings, "angle")
    row = box.row(align=True)
    draw_button(row, "supple.check", text="Check Again")
    row.menu("VIEW3D_MT_supple_check_options", text="", icon="DOWNARROW_HLT")


def draw_active(layout: bpy.types.UILayout, context: bpy.types.Context, line: bpy.types.PropertyGroup) -> None:
    """Draw the active fault and its buttons."""
    draw_message(layout, context, line.details, icon="INFO")
    row = layout.row(align=True)
    fix = row.row(align=True)
    fix.enabled = line.can_fix
    draw_button(fix, "supple.check_fix")
    is_dismissed = line.key in read_dismissed(context)
    draw_button(row, "supple.check_dismiss", text="Restore" if is_dismissed else "Dismiss")


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_findings,))
