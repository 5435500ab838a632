"""The Weights panel: automatic weights, the report on them, and tools that edit and check weights."""

from __future__ import annotations

import bpy

from ..options import WeightOptions, rows_of
from ..settings.objects import settings_of
from ..settings.weights import CHOICES, METHODS, WeightSettings
from .buttons import draw_button
from .panels import SupplePanel
from .reports import draw_hint, draw_message


def find_skinned(context: bpy.types.Context) -> bpy.types.Object | None:
    """The active object if it is a mesh or an armature."""
    obj = context.active_object
    return obj if obj is not None and obj.type in ("MESH", "ARMATURE") else None


def settings_of_scene(context: bpy.types.Context) -> WeightSettings:
    """The settings of automatic weights."""
    return context.scene.supple_weights


class WeightsSubpanel(SupplePanel):
    """Mix-in: a subpanel of the Weights panel that is closed at first."""

    bl_parent_id = "VIEW3D_PT_supple_weights"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return find_skinned(context) is not None


class VIEW3D_PT_supple_weights(SupplePanel, bpy.types.Panel):
    """Automatic weights, and the report on them"""

    bl_label = "Weights"
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        obj = find_skinned(context)
        if obj is None:
            draw_hint(layout, context, "Select a mesh and its armature")
            return
        settings = settings_of_scene(context)
        column = layout.column()
        column.prop(settings, "method")
        method = METHODS.get(settings.method)  # a later version may have stored another
        if method is None:
            draw_message(column, context, "Choose a method: the method in the file is unknown to this version")
        else:
            draw_hint(column, context, method.tooltip)
        row = column.row()
        row.use_property_split = False
        row.prop(settings, "mode", expand=True)
        row = layout.row()
        row.scale_y = 1.4
        operator = draw_button(row, "supple.weights_auto")
        for name in (*(option.name for option in rows_of(WeightOptions) if option.label), *CHOICES):
            if getattr(settings, name) != "":
                setattr(operator, name, getattr(settings, name))
        if settings_of(obj).weights_report:
            report = settings_of(obj).weights_report
            draw_message(layout, context, report, icon="INFO", closes=(obj, "weights_report"))
        column = layout.column()
        column.prop(context.window_manager, "supple_show_weights")
        if context.window_manager.supple_show_weights:
            column.prop(context.window_manager, "supple_weight_colors", text="Colors")


class VIEW3D_PT_supple_weights_options(WeightsSubpanel, bpy.types.Panel):
    """More options for automatic weights"""

    bl_label = "Options"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = settings_of_scene(context)
        column = layout.column()
        column.prop(settings, "only_selected_bones")
        obj = find_skinned(context)
        if obj is not None and obj.type == "MESH":
            column.prop(obj, "use_mesh_mirror_x", text="Mirror")
        column.prop(settings, "limit")
        column.prop(settings, "prune")
        for choice in METHODS[settings.method].choices if settings.method in METHODS else ():
            column.prop(settings, choice.property_name)


class VIEW3D_PT_supple_handles(WeightsSubpanel, bpy.types.Panel):
    """Points and cages that move the skin along with the bones"""

    bl_label = "Points and Cages"

    def draw(self, context: bpy.types.Context) -> None:
        row = self.layout.row(align=True)
        draw_button(row, "supple.handles_add")
        draw_button(row, "supple.handles_remove")


class VIEW3D_PT_supple_weights_edit(WeightsSubpanel, bpy.types.Panel):
    """Tools that change weights: of selected vertices in Edit Mode or with a paint mask, otherwise of all vertices"""

    bl_label = "Edit"

    def draw(self, context: bpy.types.Context) -> None:
        row = self.layout.row()
        row.scale_y = 1.2
        draw_button(row, "supple.weight_lines")
        column = self.layout.column(align=True)
        row = column.row(align=True)
        draw_button(row, "supple.weights_smooth", text="Smooth Surface").method = "SURFACE"
        row.operator("supple.weights_smooth", text="Smooth Solid", icon="META_BALL").method = "SOLID"
        row = column.row(align=True)
        draw_button(row, "supple.weights_sharpen")
        draw_button(row, "supple.weights_normalize")
        row = column.row(align=True)
        draw_button(row, "supple.weights_limit")
        draw_button(row, "supple.weights_prune")
        draw_button(column, "supple.weights_stiffen")
        column = self.layout.column(align=True)
        row = column.row(align=True)
        draw_button(row, "supple.weights_mirror")
        draw_button(row, "supple.weights_transfer")
        draw_button(column, "supple.weights_clean")


class VIEW3D_PT_supple_weights_check(WeightsSubpanel, bpy.types.Panel):
    """Mistakes in weights, reported or selected"""

    bl_label = "Check"

    def draw(self, context: bpy.types.Context) -> None:
        row = self.layout.row(align=True)
        draw_button(row, "supple.weights_check")
        row.operator_menu_enum("supple.weights_select", "kind", icon="RESTRICT_SELECT_OFF")


register, unregister = bpy.utils.register_classes_factory(
    (
        VIEW3D_PT_supple_weights,
        VIEW3D_PT_supple_weights_options,
        VIEW3D_PT_supple_handles,
        VIEW3D_PT_supple_weights_edit,
        VIEW3D_PT_supple_weights_check,
    )
)
