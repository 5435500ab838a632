"""Supple in Blender's menus, and so in its menu search (F3)."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ..settings.objects import settings_of
from .buttons import (
    BAKES,
    CHARACTER,
    CHECKS,
    COPIES,
    CORRECTIONS,
    MOTIONS,
    PATTERNS,
    WEIGHTS,
    draw_button,
)
from .panels import is_whole
from .tools import DragSkin

PIE = (
    *("supple.bind", "supple.unbind", "supple.make", "supple.flip", "supple.side_by_side"),
    *("supple.check", "supple.bake_cache"),
)
"""What the pie menu holds: left, right, below, above, then the corners."""


def draw_operators(layout: bpy.types.UILayout, names: Iterable[str]) -> None:
    """Draw operators of a menu, which ask what they have to ask."""
    layout.operator_context = "INVOKE_DEFAULT"
    for name in names:
        draw_button(layout, name)


class VIEW3D_MT_supple_weights(bpy.types.Menu):
    """Supple's tools for weights"""

    bl_label = "Supple Weights"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, WEIGHTS)
        self.layout.operator_menu_enum("supple.weights_select", "kind", icon="RESTRICT_SELECT_OFF")


class VIEW3D_MT_supple_corrections(bpy.types.Menu):
    """Shape keys driven by poses"""

    bl_label = "Supple Corrections"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, CORRECTIONS)


WHOLE = {"supple.bind", "supple.unbind", "supple.bake_cache"}
"""Operators that are for all ticked meshes of a character, where there are several."""


class VIEW3D_MT_supple_pie(bpy.types.Menu):
    """Supple's main actions in a pie menu. Assign a key to open it"""

    bl_label = "Supple"

    def draw(self, context: bpy.types.Context) -> None:
        pie = self.layout.menu_pie()
        pie.operator_context = "INVOKE_DEFAULT"
        whole = context.active_object is not None and is_whole(context)
        for name in PIE:
            button = draw_button(pie, name)
            if name in WHOLE:
                button.whole = whole
        pie.menu("VIEW3D_MT_supple_weights", icon="WPAINT_HLT")


class VIEW3D_MT_supple(bpy.types.Menu):
    """How Supple deforms the selected characters"""

    bl_label = "Supple"

    def draw(self, context: bpy.types.Context) -> None:
        for buttons in (CHARACTER, CHECKS, BAKES, COPIES, MOTIONS, PATTERNS):
            draw_operators(self.layout, buttons)
            self.layout.separator()
        if context.mode == "POSE":
            self.layout.operator("wm.tool_set_by_id", text="Drag Skin", icon="VIEW_PAN").name = DragSkin.bl_idname
        self.layout.operator("supple.clear_pins", icon="UNPINNED")
        self.layout.separator()
        self.layout.menu("VIEW3D_MT_supple_corrections", icon="SHAPEKEY_DATA")
        self.layout.menu("VIEW3D_MT_supple_weights", icon="WPAINT_HLT")
        self.layout.operator("wm.call_menu_pie", text="Pie Menu").name = VIEW3D_MT_supple_pie.__name__


def _draw_supple(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
    menu.layout.separator()
    menu.layout.menu("VIEW3D_MT_supple")


def _draw_weights(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
    menu.layout.separator()
    menu.layout.menu("VIEW3D_MT_supple_weights")


def _draw_parent(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
    menu.layout.separator()
    menu.layout.operator("supple.make", text="With Supple")


def _draw_bakes(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    if context.active_object is not None and settings_of(context.active_object).is_bound:
        menu.layout.separator()
        draw_operators(menu.layout, BAKES)


def _draw_keys(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
    menu.layout.separator()
    draw_operators(menu.layout, ("supple.bake_shape_keys", "supple.correct_pose"))


def _draw_correcting(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    if context.active_object is not None and settings_of(context.active_object).corrected is not None:
        menu.layout.separator()
        draw_operators(menu.layout, ("supple.correction_keep", "supple.correction_discard"))


PLACES = (
    ("VIEW3D_MT_object", _draw_supple),
    ("VIEW3D_MT_pose", _draw_supple),
    ("VIEW3D_MT_sculpt", _draw_correcting),
    ("VIEW3D_MT_edit_mesh", _draw_correcting),
    ("VIEW3D_MT_paint_weight", _draw_weights),
    ("VIEW3D_MT_object_parent", _draw_parent),
    ("VIEW3D_MT_object_animation", _draw_bakes),
    ("MESH_MT_shape_key_context_menu", _draw_keys),
)
"""Blender's menus, and what is added to the end of each."""

_register_classes, _unregister_classes = bpy.utils.register_classes_factory(
    (VIEW3D_MT_supple_weights, VIEW3D_MT_supple_corrections, VIEW3D_MT_supple, VIEW3D_MT_supple_pie)
)


def register() -> None:
    _register_classes()
    for menu, draw in PLACES:
        getattr(bpy.types, menu).append(draw)


def unregister() -> None:
    for menu, draw in reversed(PLACES):
        getattr(bpy.types, menu).remove(draw)
    _unregister_classes()
