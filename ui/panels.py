"""The Supple tab of the 3D View's sidebar."""

from __future__ import annotations

import textwrap
from typing import Literal

import bpy

from ..properties import NODES_PROBLEM, ObjectSettings, settings_of


class SupplePanel:
    """Mix-in: where Supple's panels are."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Supple"


def active_settings(context: bpy.types.Context) -> ObjectSettings | None:
    """Settings of the active object where it is a mesh."""
    obj = context.active_object
    return settings_of(obj) if obj is not None and obj.type == "MESH" else None


def draw_message(
    layout: bpy.types.UILayout, context: bpy.types.Context, text: str, icon: Literal["ERROR", "INFO"] = "ERROR"
) -> None:
    """Draw a text over as many lines as the sidebar's width needs."""
    width = max(20, int(context.region.width / (7.0 * context.preferences.system.ui_scale)) - 6)
    column = layout.box().column(align=True)
    for number, line in enumerate(textwrap.wrap(text, width)):
        column.label(text=line, icon="NONE" if number else icon)


def draw_evaluate(layout: bpy.types.UILayout, context: bpy.types.Context, settings: ObjectSettings) -> None:
    """Nodes or Python, and why not nodes."""
    row = layout.row()
    row.enabled = settings.id_data.mode != "EDIT" and (not NODES_PROBLEM or settings.evaluate == "NODES")
    row.prop(settings, "evaluate", expand=True)
    problem = NODES_PROBLEM or (settings.evaluate_problem if settings.evaluate == "PYTHON" else "")
    if problem:
        draw_message(layout, context, problem, icon="INFO")


class VIEW3D_PT_supple_skin(SupplePanel, bpy.types.Panel):
    """Method and Bind"""

    bl_label = "Skin"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.use_property_split = True
        layout.use_property_decorate = False
        settings = active_settings(context)
        if settings is None:
            self.draw_without_mesh(context)
            return
        column = layout.column()
        column.prop(settings, "method")
        if settings.method == "DLBNT":
            column.prop(settings, "order")
        draw_evaluate(column, context, settings)
        column.prop_search(settings, "linear_group", context.active_object, "vertex_groups")
        row = layout.row(align=True)
        row.scale_y = 1.4
        row.operator(
            "supple.bind", text="Bind Again" if settings.is_bound else "Bind", icon="LINKED"
        ).method = settings.method
        if settings.is_bound:
            row.operator("supple.unbind", text="", icon="UNLINKED")
            if settings.evaluate == "NODES":
                layout.operator("supple.make_independent", icon="DUPLICATE")
        if settings.message:
            draw_message(layout, context, settings.message)

    def draw_without_mesh(self, context: bpy.types.Context) -> None:
        """An armature stands for the meshes it deforms; for anything else, say what to select."""
        column = self.layout.column(align=True)
        obj = context.active_object
        if obj is None or obj.type != "ARMATURE":
            column.label(text="Select a mesh that has")
            column.label(text="an Armature modifier")
            return
        column.label(text="All meshes of this armature:")
        row = column.row(align=True)
        row.scale_y = 1.4
        row.operator("supple.bind", icon="LINKED")
        row.operator("supple.unbind", text="", icon="UNLINKED")


class VIEW3D_PT_supple_bake(SupplePanel, bpy.types.Panel):
    """Bakes"""

    bl_label = "Bake"
    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        settings = active_settings(context)
        return settings is not None and settings.is_bound

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        settings = active_settings(context)
        column = layout.column(align=True)
        column.operator("supple.bake_cache", icon="FILE_CACHE")
        column.operator("supple.bake_shape_keys", icon="SHAPEKEY_DATA")
        if settings.bake != "NONE":
            layout.label(text=f"Deformed by: {settings.bl_rna.properties['bake'].enum_items[settings.bake].name}")
            layout.operator("supple.clear_bake", icon="LOOP_BACK")


register, unregister = bpy.utils.register_classes_factory((VIEW3D_PT_supple_skin, VIEW3D_PT_supple_bake))
