"""Tools in Blender's toolbars."""

from __future__ import annotations

from typing import Any

import bpy
from gpu_extras.presets import draw_circle_2d

SETTINGS = "scene.supple_weights.brush_"
WHITE = (1.0, 1.0, 1.0, 0.8)


class SmoothThroughBody(bpy.types.WorkSpaceTool):
    """The tool; Blender shows `bl_description`."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "PAINT_WEIGHT"
    bl_idname = "supple.smooth_through_body"
    bl_label = "Smooth Through Body"
    bl_description = (
        "Smooth weights under the brush, through the volume inside the skin: across a limb, and between parts that "
        "touch"
    )
    bl_icon = "ops.mesh.vertices_smooth"
    bl_keymap = (
        ("supple.weights_brush", {"type": "LEFTMOUSE", "value": "PRESS"}, None),
        (
            "wm.radial_control",
            {"type": "F", "value": "PRESS"},
            {"properties": [("data_path_primary", f"{SETTINGS}radius")]},
        ),
        (
            "wm.radial_control",
            {"type": "F", "value": "PRESS", "shift": True},
            {"properties": [("data_path_primary", f"{SETTINGS}strength")]},
        ),
    )

    @staticmethod
    def draw_settings(context: bpy.types.Context, layout: bpy.types.UILayout, _tool: Any) -> None:
        settings = context.scene.supple_weights
        for name in ("radius", "strength", "repeats"):
            layout.prop(settings, f"brush_{name}")

    @staticmethod
    def draw_cursor(context: bpy.types.Context, _tool: Any, position: tuple[int, int]) -> None:
        draw_circle_2d(position, WHITE, context.scene.supple_weights.brush_radius, segments=40)


class DragSkin(bpy.types.WorkSpaceTool):
    """The tool of Pose Mode; Blender shows `bl_description`."""

    bl_space_type = "VIEW_3D"
    bl_context_mode = "POSE"
    bl_idname = "supple.drag_skin"
    bl_label = "Drag Skin"
    bl_description = "Drag any point of the skin: the bones follow. Click a point to pin or unpin it"
    bl_icon = "brush.uv_sculpt.grab"
    bl_keymap = (
        ("supple.drag_skin", {"type": "LEFTMOUSE", "value": "PRESS"}, None),
        ("supple.clear_pins", {"type": "LEFTMOUSE", "value": "PRESS", "alt": True}, None),
    )

    @staticmethod
    def draw_settings(context: bpy.types.Context, layout: bpy.types.UILayout, _tool: Any) -> None:
        settings = context.scene.supple_drag
        layout.prop(settings, "solver")
        if settings.solver == "CHAIN":
            layout.prop(settings, "chain_length")
        else:
            layout.prop(settings, "iterations")
            layout.prop(settings, "move_root")
            layout.prop(settings, "hold_rotation")
        layout.operator("supple.clear_pins", icon="X")


def register() -> None:
    bpy.utils.register_tool(SmoothThroughBody, separator=True)
    bpy.utils.register_tool(DragSkin, separator=True)


def unregister() -> None:
    bpy.utils.unregister_tool(DragSkin)
    bpy.utils.unregister_tool(SmoothThroughBody)
