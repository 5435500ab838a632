"""Supple in Blender's menus, and so in its menu search (F3): a sub-menu for each panel, which panels open, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import bpy

from ..settings.character import find_pattern_mesh
from ..settings.checks import check_settings
from ..settings.objects import settings_of
from ..settings.patterns import PatternSettings
from . import buttons
from .buttons import draw_button
from .panels import is_whole
from .tools import DragSkin

# Left, right, below, above, then the corners
PIE = (
    *("supple.bind", "supple.unbind", "supple.make", "supple.flip", "supple.side_by_side"),
    *("supple.check", "supple.bake_cache"),
)

# Operators with a property for all ticked meshes of a character
WHOLE = {"supple.bind", "supple.unbind", *buttons.BAKES, "supple.send_to_farm"}


def draw_operators(layout: bpy.types.UILayout, names: Iterable[str], whole: bool = False) -> None:
    """Draw operators of a menu, with their dialogs."""
    layout.operator_context = "INVOKE_DEFAULT"
    for name in names:
        button = draw_button(layout, name)
        if name in WHOLE:
            button.whole = whole


def is_of_whole(context: bpy.types.Context) -> bool:
    """Whether a menu is for all ticked meshes of a character."""
    return context.active_object is not None and is_whole(context)


class VIEW3D_MT_supple_fine_tune(bpy.types.Menu):
    """Bind and unbind meshes with their own settings"""

    bl_label = "Fine Tune"

    def draw(self, context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.FINE_TUNE, is_of_whole(context))
        self.layout.menu("VIEW3D_MT_supple_layers", icon="MOD_CLOTH")


class VIEW3D_MT_supple_layers(bpy.types.Menu):
    """Clothes that stay outside of the body, and of each other"""

    bl_label = "Stay Outside"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.LAYERS)


class VIEW3D_MT_supple_check(bpy.types.Menu):
    """Faults of the character"""

    bl_label = "Check"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.CHECKS)


class VIEW3D_MT_supple_check_options(bpy.types.Menu):
    """What is checked, and which faults are listed"""

    bl_label = "Check Options"

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, check_settings(context)
        draw_operators(layout, ("supple.check_fix_all", "supple.check_close"))
        layout.separator()
        layout.prop(settings, "use_actions")
        layout.prop(settings, "use_bends")
        layout.separator()
        layout.prop(settings, "shown", expand=True)
        layout.prop(settings, "shows_dismissed")


class VIEW3D_MT_supple_weights_edit(bpy.types.Menu):
    """Change weights: of selected vertices in Edit Mode or with a paint mask, otherwise of all vertices"""

    bl_label = "Edit Weights"

    def draw(self, _context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        draw_button(layout, "supple.weights_smooth", text="Smooth Surface").method = "SURFACE"
        layout.operator("supple.weights_smooth", text="Smooth Solid", icon="META_BALL").method = "SOLID"
        draw_operators(layout, buttons.WEIGHT_EDITS)
        layout.separator()
        draw_operators(layout, buttons.HANDLES)
        layout.separator()
        layout.menu("VIEW3D_MT_supple_weights_check", icon="VIEWZOOM")


class VIEW3D_MT_supple_weights_check(bpy.types.Menu):
    """Mistakes in weights, reported or selected"""

    bl_label = "Check Weights"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_button(self.layout, "supple.weights_check")
        self.layout.separator()
        self.layout.operator_enum("supple.weights_select", "kind")


class VIEW3D_MT_supple_weights(bpy.types.Menu):
    """Supple's tools for weights"""

    bl_label = "Supple Weights"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.WEIGHTS)
        self.layout.menu("VIEW3D_MT_supple_weights_edit", icon="GREASEPENCIL")


class VIEW3D_MT_supple_pattern(bpy.types.Menu):
    """More for the active pattern, and for all"""

    bl_label = "Pattern"

    def draw(self, context: bpy.types.Context) -> None:
        layout, active = self.layout, find_pattern(context)
        draw_operators(layout, buttons.PATTERNS)
        chosen = context.window_manager.supple_preset
        if chosen.startswith("USER_"):
            layout.operator("supple.pattern_forget", icon="TRASH").preset = chosen
        if active is not None:
            layout.separator()
            layout.prop(active, "flip")
            for name in ("space", "kind", "law"):
                layout.prop_menu_enum(active, name)
            layout.separator()
            layout.prop(active.id_data.supple, "pattern_full")


class VIEW3D_MT_supple_patterns(bpy.types.Menu):
    """Skin patterns"""

    bl_label = "Patterns"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.PLACES)
        self.layout.separator()
        draw_operators(self.layout, buttons.PATTERNS)


class VIEW3D_MT_supple_correct(bpy.types.Menu):
    """A new correction: sculpted, edited, from Particles or from another mesh"""

    bl_label = "New Correction"

    def draw(self, _context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        draw_button(layout, "supple.correct_pose", text="Sculpt This Pose").mode = "SCULPT"
        layout.operator("supple.correct_pose", text="Edit This Pose", icon="EDITMODE_HLT").mode = "EDIT"
        layout.operator("supple.correct_pose", text="Copy This Pose", icon="OBJECT_DATAMODE").mode = "OBJECT"
        layout.separator()
        draw_button(layout, "supple.corrections_from", text="From Particles...")
        layout.operator("supple.corrections_from", text="From Mesh...", icon="OUTLINER_OB_MESH").source = ""
        layout.separator()
        draw_operators(layout, buttons.FLESH)


class VIEW3D_MT_supple_corrections(bpy.types.Menu):
    """Shape keys driven by poses"""

    bl_label = "Corrections"

    def draw(self, _context: bpy.types.Context) -> None:
        self.layout.menu("VIEW3D_MT_supple_correct", icon="ADD")
        self.layout.separator()
        draw_operators(self.layout, buttons.CORRECTIONS)


class VIEW3D_MT_supple_bake(bpy.types.Menu):
    """Bakes play without Supple, the same in every render"""

    bl_label = "Bake"

    def draw(self, context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.BAKES, is_of_whole(context))


class VIEW3D_MT_supple_hand_over(bpy.types.Menu):
    """Bakes, farms, engine copies, and characters independent of Supple"""

    bl_label = "Hand Over"

    def draw(self, context: bpy.types.Context) -> None:
        self.layout.menu("VIEW3D_MT_supple_bake", icon="FILE_CACHE")
        draw_operators(self.layout, buttons.OTHERS, is_of_whole(context))
        self.layout.separator()
        draw_operators(self.layout, buttons.COPIES)


class VIEW3D_MT_supple_swing(bpy.types.Menu):
    """Tails, ears and hair that lag behind the actions, and settle"""

    bl_label = "Swing"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.SWINGS)


class VIEW3D_MT_supple_motion(bpy.types.Menu):
    """Loops and joins of actions, and parts that swing"""

    bl_label = "Motion"

    def draw(self, _context: bpy.types.Context) -> None:
        draw_operators(self.layout, buttons.MOTIONS)
        self.layout.menu("VIEW3D_MT_supple_swing", icon="FORCE_HARMONIC")


class VIEW3D_MT_supple_pie(bpy.types.Menu):
    """Supple's main actions in a pie menu. Its key is chosen in the add-on's preferences"""

    bl_label = "Supple"

    def draw(self, context: bpy.types.Context) -> None:
        pie = self.layout.menu_pie()
        draw_operators(pie, PIE, is_of_whole(context))
        pie.menu("VIEW3D_MT_supple_weights", icon="WPAINT_HLT")


class VIEW3D_MT_supple(bpy.types.Menu):
    """How Supple deforms the selected characters"""

    bl_label = "Supple"

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        layout.operator_context = "INVOKE_DEFAULT"
        draw_button(layout, "supple.make")
        layout.operator_menu_enum("supple.make", "look", text="Look", icon="OUTLINER_OB_ARMATURE")
        draw_operators(layout, [name for name in buttons.FIRST if name != "supple.make"])
        draw_button(layout, "supple.fit_skeleton")
        layout.operator_menu_enum("supple.fit_skeleton", "rig", text="Rig", icon="BONE_DATA")
        draw_button(layout, "supple.correct_pose")
        if context.mode == "POSE":
            layout.operator("wm.tool_set_by_id", text="Drag Skin", icon="VIEW_PAN").name = DragSkin.bl_idname
        draw_button(layout, "supple.clear_pins")
        layout.separator()
        for menu in PARTS:
            layout.menu(menu)
        layout.separator()
        layout.operator("wm.call_menu_pie", text="Pie Menu").name = VIEW3D_MT_supple_pie.__name__


# The sub-menus, in the order of the panels
PARTS = (
    "VIEW3D_MT_supple_check", "VIEW3D_MT_supple_fine_tune", "VIEW3D_MT_supple_weights", "VIEW3D_MT_supple_patterns",
    "VIEW3D_MT_supple_corrections", "VIEW3D_MT_supple_hand_over", "VIEW3D_MT_supple_motion",
)  # fmt: skip


def find_pattern(context: bpy.types.Context) -> PatternSettings | None:
    """The active pattern of the mesh whose patterns are edited."""
    obj = find_pattern_mesh(context)
    settings = None if obj is None else settings_of(obj)
    if settings is None or not 0 <= settings.active_pattern < len(settings.patterns):
        return None
    return settings.patterns[settings.active_pattern]


def _draw_bakes(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    if context.active_object is not None and settings_of(context.active_object).is_bound:
        menu.layout.separator()
        draw_operators(menu.layout, (*buttons.BAKES, "supple.send_to_farm"), is_of_whole(context))


def _draw_correcting(menu: bpy.types.Menu, context: bpy.types.Context) -> None:
    if context.active_object is not None and settings_of(context.active_object).corrected is not None:
        menu.layout.separator()
        draw_operators(menu.layout, ("supple.correction_keep", "supple.correction_discard"))


def _separated(draw: Callable[[bpy.types.UILayout], Any]) -> Callable[[bpy.types.Menu, bpy.types.Context], None]:
    """Draw something below a separator in a menu of Blender."""

    def draw_end(menu: bpy.types.Menu, _context: bpy.types.Context) -> None:
        menu.layout.separator()
        draw(menu.layout)

    return draw_end


_draw_supple = _separated(lambda layout: layout.menu("VIEW3D_MT_supple"))

# Blender's menus, and the function that draws at the end of each
PLACES_IN_BLENDER = (
    ("VIEW3D_MT_object", _draw_supple),
    ("VIEW3D_MT_pose", _draw_supple),
    ("VIEW3D_MT_sculpt", _draw_correcting),
    ("VIEW3D_MT_edit_mesh", _draw_correcting),
    ("VIEW3D_MT_paint_weight", _separated(lambda layout: layout.menu("VIEW3D_MT_supple_weights"))),
    ("VIEW3D_MT_object_parent", _separated(lambda layout: layout.operator("supple.make", text="With Supple"))),
    ("VIEW3D_MT_object_animation", _draw_bakes),
    ("VIEW3D_MT_armature_add", _separated(lambda layout: draw_button(layout, "supple.example_add"))),
    (
        "MESH_MT_shape_key_context_menu",
        _separated(lambda layout: draw_operators(layout, ("supple.bake_shape_keys", "supple.correct_pose"))),
    ),
)

_register_classes, _unregister_classes = bpy.utils.register_classes_factory(
    (
        VIEW3D_MT_supple_fine_tune,
        VIEW3D_MT_supple_layers,
        VIEW3D_MT_supple_check,
        VIEW3D_MT_supple_check_options,
        VIEW3D_MT_supple_weights_edit,
        VIEW3D_MT_supple_weights_check,
        VIEW3D_MT_supple_weights,
        VIEW3D_MT_supple_pattern,
        VIEW3D_MT_supple_patterns,
        VIEW3D_MT_supple_correct,
        VIEW3D_MT_supple_corrections,
        VIEW3D_MT_supple_bake,
        VIEW3D_MT_supple_hand_over,
        VIEW3D_MT_supple_swing,
        VIEW3D_MT_supple_motion,
        VIEW3D_MT_supple,
        VIEW3D_MT_supple_pie,
    )
)


def register() -> None:
    _register_classes()
    for menu, draw in PLACES_IN_BLENDER:
        getattr(bpy.types, menu).append(draw)


def unregister() -> None:
    for menu, draw in reversed(PLACES_IN_BLENDER):
        getattr(bpy.types, menu).remove(draw)
    _unregister_classes()
