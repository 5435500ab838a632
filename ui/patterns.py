"""The Patterns panel: the list, the library, and the active pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import bpy

from ..settings.character import find_pattern_mesh, is_mixed, list_ticked
from ..settings.objects import ObjectSettings, settings_of
from ..settings.patterns import PatternSettings, driving_armature
from ..tasks.patterns.read import describe_visibility
from .buttons import draw_button
from .lists import SuppleList
from .menus import VIEW3D_MT_supple_pattern
from .panels import PartPanel, draw_setting, split_names
from .reports import draw_message

KIND_ICONS: dict[str, Any] = {"WRINKLE": "MOD_NOISE", "BULGE": "SPHERECURVE", "BONE": "BONE_DATA"}


def find_settings(context: bpy.types.Context) -> ObjectSettings | None:
    """Find the settings of the mesh whose patterns are edited."""
    obj = find_pattern_mesh(context)
    return None if obj is None else settings_of(obj)


def find_shading(context: bpy.types.Context) -> str:
    """Return the shading of the 3D View that has the panel."""
    space = context.space_data
    return space.shading.type if isinstance(space, bpy.types.SpaceView3D) else ""


class SUPPLE_UL_patterns(SuppleList, bpy.types.UIList):
    """Patterns of an object"""

    def draw_row(self, _context: bpy.types.Context, layout: bpy.types.UILayout, item: Any, _index: int) -> None:
        split = layout.split(factor=0.6)
        split.prop(item, "name", text="", emboss=False, icon=KIND_ICONS.get(item.kind, "QUESTION"))
        row = split.row(align=True)
        bone = row.row()
        bone.active = False
        bone.label(text=item.bone, translate=False)
        if item.note:
            row.label(icon="ERROR")
        row.prop(item, "show", text="", emboss=False, icon="HIDE_OFF" if item.show else "HIDE_ON")


class VIEW3D_PT_supple_patterns(PartPanel, bpy.types.Panel):
    """Height maps on the skin, driven by joints, and the library of patterns"""

    bl_label = "Patterns"
    bl_order = 3
    page = "patterns.html"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return super().poll(context) and find_settings(context) is not None

    def draw(self, context: bpy.types.Context) -> None:
        layout, settings = self.layout, cast(ObjectSettings, find_settings(context))
        obj = cast(bpy.types.Object, settings.id_data)
        if obj != context.active_object:
            layout.label(text=obj.name, icon="OUTLINER_OB_MESH", translate=False)
        layout.template_icon_view(context.window_manager, "supple_preset", show_labels=True, scale=4.0, scale_popup=4.0)
        row = layout.row(align=True)
        draw_button(row, "supple.pattern_add", text="Add").preset = context.window_manager.supple_preset
        row.operator_menu_enum("supple.pattern_set_add", "region", text="Add Set", icon="PRESET")
        if not settings.patterns:
            return
        row = layout.row()
        row.template_list("SUPPLE_UL_patterns", "", settings, "patterns", settings, "active_pattern", rows=3, maxrows=8)
        column = row.column(align=True)
        draw_button(column, "supple.pattern_remove", text="")
        column.menu(VIEW3D_MT_supple_pattern.__name__, text="", icon="DOWNARROW_HLT")
        self.draw_shown(context, settings)
        if 0 <= settings.active_pattern < len(settings.patterns):
            self.draw_active(context, settings.patterns[settings.active_pattern])

    def draw_shown(self, context: bpy.types.Context, settings: ObjectSettings) -> None:
        """Draw how the patterns of a mesh are shown, and why the active pattern is not visible."""
        layout, obj = self.layout, cast(bpy.types.Object, settings.id_data)
        if 0 <= settings.active_pattern < len(settings.patterns):
            pattern = settings.patterns[settings.active_pattern]
            for hint in describe_visibility(obj, pattern, find_shading(context)):
                draw_message(layout, context, hint, icon="INFO")
        if settings.pattern_message:
            draw_message(layout, context, settings.pattern_message, closes=(obj, "pattern_message"))
        column = split_names(layout.column())
        several = len(list_ticked(context)) > 1
        store = context.scene.supple_character if several else settings
        draw_setting(column, store, "pattern_display", several and is_mixed(context, "pattern_display"))
        level = column.row()
        level.active = store.pattern_display != "BUMP"
        draw_setting(level, store, "pattern_level", several and is_mixed(context, "pattern_level"))

    def draw_active(self, context: bpy.types.Context, pattern: PatternSettings) -> None:
        """Draw a part of the active pattern's settings."""
        manager = context.window_manager
        self.layout.row(align=True).prop(manager, "supple_pattern_part", expand=True)
        PARTS[manager.supple_pattern_part](split_names(self.layout.column()), context, pattern)


def draw_placement(layout: bpy.types.UILayout, _context: bpy.types.Context, pattern: PatternSettings) -> None:
    """Draw location, rotation and size of a pattern."""
    row = layout.row(align=True)
    draw_button(row, "supple.pattern_place")
    draw_button(row, "supple.pattern_stroke")
    is_in_uv = pattern.space == "UV"
    layout.prop(pattern, "uv" if is_in_uv else "location")
    layout.prop(pattern, "turn")
    layout.prop(pattern, "uv_size" if is_in_uv else "size")


def draw_driver(layout: bpy.types.UILayout, context: bpy.types.Context, pattern: PatternSettings) -> None:
    """Draw the driver of a pattern: the rotation of a bone, the compression of the skin, or a limb in it."""
    if pattern.note:
        draw_message(layout, context, pattern.note)
    layout.prop(pattern, "driver")
    if pattern.driver == "DEPTH":
        draw_limbs(layout.column(), pattern)
        draw_range(layout, pattern, "Depth")
        return
    if pattern.driver in ("ANGLE", "BOTH"):
        draw_joint(layout.column(), pattern)
    if pattern.driver in ("ANGLE", "BOTH"):
        column = layout.column(align=True)
        column.prop(pattern, "start")
        column.prop(pattern, "full" if pattern.law == "RANGE" else "gain")
    if pattern.driver != "ANGLE":
        draw_compression(layout, pattern)


def draw_limbs(column: bpy.types.UILayout, pattern: PatternSettings) -> None:
    """Draw the bones whose limbs drive a pattern."""
    armature = driving_armature(pattern.id_data)
    for name in ("bone", "first_bone", "other_bone"):
        if armature is not None:
            column.prop_search(pattern, name, armature.data, "bones")
        else:
            column.prop(pattern, name)


def draw_range(layout: bpy.types.UILayout, pattern: PatternSettings, heading: str) -> None:
    """Draw the range of measured values over which a pattern appears."""
    column = layout.column(align=True, heading=heading)
    column.prop(pattern, "compression_start")
    column.prop(pattern, "compression_full" if pattern.law == "RANGE" else "compression_gain")


def draw_joint(column: bpy.types.UILayout, pattern: PatternSettings) -> None:
    """Draw the joint whose rotation drives a pattern."""
    armature = driving_armature(pattern.id_data)
    if armature is not None:
        column.prop_search(pattern, "bone", armature.data, "bones")
    else:
        column.prop(pattern, "bone")
    column.row().prop(pattern, "axis", expand=True)
    if armature is not None:
        second = "other_bone" if pattern.axis == "BETWEEN" else "first_bone"
        column.prop_search(pattern, second, armature.data, "bones")
    column.row().prop(pattern, "direction", expand=True)


def draw_compression(layout: bpy.types.UILayout, pattern: PatternSettings) -> None:
    """Draw the settings of compression or stretch."""
    draw_range(layout, pattern, "Stretch" if pattern.driver == "STRETCH" else "Compression")
    layout.prop(pattern, "compression_angle")
    layout.row().prop(pattern, "compression_spread", expand=True)
    smoothing = layout.row()
    smoothing.active = pattern.compression_spread == "VERTEX"
    smoothing.prop(pattern, "compression_smoothing")


def draw_relief(layout: bpy.types.UILayout, _context: bpy.types.Context, pattern: PatternSettings) -> None:
    """Draw the height map of a pattern, and its effect on the skin."""
    layout.prop(pattern, "image")
    column = layout.column(align=True)
    column.prop(pattern, "strength")
    column.prop(pattern, "softness")
    if pattern.kind == "BONE":
        column.prop(pattern, "depth")


# By `window_manager.supple_pattern_part`
PARTS: dict[str, Callable[[bpy.types.UILayout, bpy.types.Context, PatternSettings], None]] = {
    "PLACEMENT": draw_placement,
    "DRIVER": draw_driver,
    "RELIEF": draw_relief,
}

register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_patterns, VIEW3D_PT_supple_patterns))
