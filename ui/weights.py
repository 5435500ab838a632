"""The Weights panel: automatic weights, their report, and menus that edit and check weights."""

from __future__ import annotations

import bpy

from ..options import WeightOptions, rows_of
from ..settings.objects import settings_of
from ..settings.properties import draw_option
from ..settings.weights import CHOICES, METHODS, WeightSettings
from ..tasks.subject.corrected import list_under_way
from .buttons import draw_button
from .menus import VIEW3D_MT_supple_weights_edit
from .panels import PartPanel
from .reports import draw_hint, draw_message


def find_skinned(context: bpy.types.Context) -> bpy.types.Object | None:
    """The active object if it is a mesh or an armature."""
    obj = context.active_object
    return obj if obj is not None and obj.type in ("MESH", "ARMATURE") else None


def settings_of_scene(context: bpy.types.Context) -> WeightSettings:
    """The settings of automatic weights."""
    return context.scene.supple_weights


class VIEW3D_PT_supple_weights(PartPanel, bpy.types.Panel):
    """Automatic weights, their report, and tools to edit them"""

    bl_label = "Weights"
    bl_order = 2
    page = "weights.html"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        has_meshes = super().poll(context) or bool(bpy.ops.supple.make.poll())
        return has_meshes and find_skinned(context) is not None and not list_under_way(context)

    def draw(self, context: bpy.types.Context) -> None:
        layout, obj, settings = self.start(), find_skinned(context), settings_of_scene(context)
        if obj is None:
            return
        self.draw_options(context, settings)
        row = layout.row()
        row.scale_y = 1.2
        operator = draw_button(row, "supple.weights_auto")
        for name in (*(option.name for option in rows_of(WeightOptions) if option.label), *CHOICES):
            if getattr(settings, name) != "":
                setattr(operator, name, getattr(settings, name))
        if settings_of(obj).weights_report:
            report = settings_of(obj).weights_report
            draw_message(layout, context, report, icon="INFO", closes=(obj, "weights_report"))
        draw_button(layout, "supple.weight_lines")
        layout.menu(VIEW3D_MT_supple_weights_edit.__name__, text="Edit and Check", icon="GREASEPENCIL")
        column = layout.column()
        column.prop(context.window_manager, "supple_show_weights")
        if context.window_manager.supple_show_weights:
            column.prop(context.window_manager, "supple_weight_colors", text="Colors")

    def draw_options(self, context: bpy.types.Context, settings: WeightSettings) -> None:
        """How weights are made."""
        column = self.layout.column()
        column.prop(settings, "method")
        method = METHODS.get(settings.method)  # a later version may have stored another
        if method is None:
            draw_message(column, context, "Choose a method: the method in the file is unknown to this version")
        else:
            draw_hint(column, context, method.tooltip)
        row = column.row()
        row.use_property_split = False
        row.prop(settings, "mode", expand=True)
        column.prop(settings, "only_selected_bones")
        rows = {option.name: option for option in rows_of(WeightOptions)}
        for option in (rows["limit"], rows["prune"], *(() if method is None else method.choices)):
            draw_option(column, settings, option)


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_supple_weights,))
