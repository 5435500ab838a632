"""The popover next to Side by Side: the methods to show, heat on the skin, and measures of this pose."""

from __future__ import annotations

import bpy

from ..settings.character import find_shown
from ..settings.checks import check_settings
from ..tasks.reports import measure_reports
from .buttons import draw_button
from .panels import split_names
from .reports import draw_message

# Width of the popover, in heights of a button
WIDTH = 15


class VIEW3D_PT_supple_compare(bpy.types.Panel):
    """Methods to show next to the character, heat on its skin, and measures of its pose"""

    bl_label = "Compare"
    bl_space_type = "VIEW_3D"
    bl_region_type = "HEADER"  # it opens from a button only
    bl_ui_units_x = WIDTH

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, check_settings(context)
        layout.label(text="Side by Side")
        layout.column(align=True).prop(context.window_manager, "supple_ghosts", expand=True)
        column = split_names(layout.column())
        column.prop(settings, "heat")
        if settings.heat == "DIFFERENCE":
            column.prop(settings, "other")
        if settings.heat in ("DIFFERENCE", "OVERLAP", "COPY"):
            column.prop(settings, "full")
        draw_button(layout, "supple.measure")
        obj = find_shown(context)
        report = measure_reports.find(obj) if obj is not None else None
        if obj is not None and report:
            draw_message(layout, context, report, icon="INFO", closes=(obj, "measure"))


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_supple_compare,))
