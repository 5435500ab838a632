"""The Patterns panel: the list, the library, and the active pattern."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..settings.character import find_pattern_mesh, is_mixed, list_ticked
from ..settings.objects import ObjectSettings, settings_of
from ..settings.patterns import PatternSettings, driving_armature
from ..tasks.patterns.hints import describe_visibility
from .buttons import draw_button
from .panels import SupplePanel, draw_setting
from .reports import draw_message

KIND_ICONS: dict[str, Any] = {"WRINKLE": "MOD_NOISE", "BULGE": "SPHERECURVE", "BONE": "BONE_DATA"}


def find_settings(context: bpy.types.Context) -> ObjectSettings | None:
    """Settings of the mesh whose patterns are edited."""
    obj = find_pattern_mesh(context)
    return None if obj is None else settings_of(obj)


def find_shading(context: bpy.types.Context) -> str:
    """How the 3D View is shaded that the panel is in."""
    space = context.space_data
    return space.shading.type if isinstance(space, bpy.types.SpaceView3D) else ""


class SUPPLE_UL_patterns(bpy.types.UIList):
    """Patterns of an object"""

    def draw_item(
        self,
        _context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: ObjectSettings,
        item: PatternSettings,
        _icon: int,
        _active: ObjectSettings,
        _active_name: str,
    ) -> None:
        split = layout.split(factor=0.6)
        split.prop(item, "name", text="", emboss=False, icon=KIND_ICONS.get(item.kind, "QUESTION"))
        row = split.row(align=True)
        bone = row.row()
        bone.active = False
        bone.label(text=item.bone, translate=False)
        if item.note:
            row.label(icon="ERROR")
        row.prop(item, "show", text="", emboss=False, icon="HIDE_OFF" if item.show else "HIDE_ON")


class VIEW3D_PT_supple_patterns(SupplePanel, bpy.types.Panel):
    """Height maps on the skin, driven by joints, and the library of patterns"""

    bl_label = "Patterns"
    bl_order = 1
    bl_options = {"DEFAULT_CLOSED"}

    def draw(self, context: bpy.types.Context) -> None:
        layout = self.layout
        settings = find_settings(context)
        if settings is None:
            layout.label(text="Select a mesh that has an armature")
            return
        obj = cast(bpy.types.Object, settings.id_data)
        if obj != context.active_object:
            layout.label(text=obj.name, icon="OUTLINER_OB_MESH", translate=False)
        layout.template_icon_view(context.window_manager, "supple_preset", show_labels=True, scale=5.0, scale_popup=4.0)
        row = layout.row(align=True)
        row.scale_y = 1.2
        draw_button(row, "supple.pattern_add").preset = context.window_manager.supple_preset
        if context.window_manager.supple_preset.startswith("USER_"):
            forget = row.operator("supple.pattern_forget", text="", icon="TRASH")
            forget.preset = context.window_manager.supple_preset
        layout.operator_menu_enum("supple.pattern_set_add", "region", icon="PRESET")
        if not settings.patterns:
            return
        row = layout.row()
        row.template_list("SUPPLE_UL_patterns", "", settings, "patterns", settings, "active_pattern", rows=4, maxrows=8)
        column = row.column(align=True)
        draw_button(column, "supple.pattern_remove", text="")
        column.separator()
        draw_button(column, "supple.pattern_mirror", text="")
        draw_button(column, "supple.pattern_save", text="")
        column.separator()
        draw_button(column, "supple.pattern_remove_all", text="")
        if 0 <= settings.active_pattern < len(settings.patterns):
            pattern = settings.patterns[settings.active_pattern]
            for hint in describe_visibility(obj, pattern, find_shading(context)):
                draw_message(layout, context, hint, icon="INFO")
        if settings.pattern_message:
            draw_message(layout, context, settings.pattern_message, closes=(obj, "pattern_message"))
        column = layout.column()
        column.use_property_split = True
        column.use_property_decorate = False
        column.prop(settings, "pattern_full")
        several = len(list_ticked(context)) > 1
        store = context.scene.supple_character if several else settings
        draw_setting(column, store, "pattern_display", several and is_mixed(context, "pattern_display"))
        level = column.row()
        level.active = store.pattern_display != "BUMP"
        draw_setting(level, store, "pattern_level", several and is_mixed(context, "pattern_level"))
        draw_button(layout, "supple.pattern_maps")


class ActivePatternPanel(SupplePanel):
    """Mix-in: part of the active pattern's settings."""

    bl_parent_id = "VIEW3D_PT_supple_patterns"

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return cls.find_pattern(context) is not None

    @staticmethod
    def find_pattern(context: bpy.types.Context) -> PatternSettings | None:
        """The active pattern."""
        settings = find_settings(context)
        if settings is None or not 0 <= settings.active_pattern < len(settings.patterns):
            return None
        return settings.patterns[settings.active_pattern]

    def start(self) -> bpy.types.UILayout:
        """The layout, with names and values in two columns."""
        self.layout.use_property_split = True
        self.layout.use_property_decorate = False
        return self.layout


class VIEW3D_PT_supple_pattern_place(ActivePatternPanel, bpy.types.Panel):
    """Location, rotation and size of the active pattern"""

    bl_label = "Placement"

    def draw(self, context: bpy.types.Context) -> None:
        layout, pattern = self.start(), self.find_pattern(context)
        row = layout.row(align=True)
        row.scale_y = 1.2
        draw_button(row, "supple.pattern_place")
        draw_button(row, "supple.pattern_stroke")
        layout.row().prop(pattern, "space", expand=True)
        is_in_uv = pattern.space == "UV"
        layout.prop(pattern, "uv" if is_in_uv else "location")
        layout.prop(pattern, "turn")
        layout.prop(pattern, "uv_size" if is_in_uv else "size")
        layout.prop(pattern, "flip")


class VIEW3D_PT_supple_pattern_joint(ActivePatternPanel, bpy.types.Panel):
    """What drives the active pattern: the rotation of a bone, or the compression of the skin"""

    bl_label = "Driver"

    def draw(self, context: bpy.types.Context) -> None:
        layout, pattern = self.start(), cast(PatternSettings, self.find_pattern(context))
        if pattern.note:
            draw_message(layout, context, pattern.note)
        layout.prop(pattern, "driver")
        if pattern.driver in ("ANGLE", "BOTH"):
            draw_joint(layout.column(), pattern)
        layout.prop(pattern, "law")
        if pattern.driver in ("ANGLE", "BOTH"):
            column = layout.column(align=True)
            column.prop(pattern, "start")
            column.prop(pattern, "full" if pattern.law == "RANGE" else "gain")
        if pattern.driver != "ANGLE":
            draw_compression(layout, pattern)


def draw_joint(column: bpy.types.UILayout, pattern: PatternSettings) -> None:
    """Draw which bone's rotation brings a pattern out."""
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
    """Draw how compression, or stretch, brings a pattern out."""
    column = layout.column(align=True, heading="Stretch" if pattern.driver == "STRETCH" else "Compression")
    column.prop(pattern, "compression_start")
    column.prop(pattern, "compression_full" if pattern.law == "RANGE" else "compression_gain")
    layout.prop(pattern, "compression_angle")
    layout.row().prop(pattern, "compression_spread", expand=True)
    smoothing = layout.row()
    smoothing.active = pattern.compression_spread == "VERTEX"
    smoothing.prop(pattern, "compression_smoothing")


class VIEW3D_PT_supple_pattern_relief(ActivePatternPanel, bpy.types.Panel):
    """Height map of the active pattern, and its effect on the skin"""

    bl_label = "Relief"

    def draw(self, context: bpy.types.Context) -> None:
        layout, pattern = self.start(), self.find_pattern(context)
        layout.prop(pattern, "kind")
        layout.prop(pattern, "image")
        column = layout.column(align=True)
        column.prop(pattern, "strength")
        column.prop(pattern, "softness")
        if pattern.kind == "BONE":
            column.prop(pattern, "depth")


register, unregister = bpy.utils.register_classes_factory(
    (
        SUPPLE_UL_patterns,
        VIEW3D_PT_supple_patterns,
        VIEW3D_PT_supple_pattern_place,
        VIEW3D_PT_supple_pattern_joint,
        VIEW3D_PT_supple_pattern_relief,
    )
)
