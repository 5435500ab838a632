"""Shared by the panels of the Supple tab: their location, their mesh, and how settings are drawn."""

from __future__ import annotations

from collections.abc import Container
from itertools import groupby
from typing import Any

import bpy

from ..settings.character import find_armature, find_shown, list_meshes, list_ticked
from ..settings.choices import Method
from ..settings.objects import ObjectSettings, settings_of
from ..tasks.subject.corrected import list_under_way
from ..translations import translate
from .manual import find_page
from .reports import draw_message

# Endings of the names of a choice's properties: a moment may have a value of its own.
MOMENTS = ("", "_dragging", "_bake")


class SupplePanel:
    """Mix-in: where Supple's panels are, and the page that explains each."""

    bl_space_type = "VIEW_3D"
    bl_region_type = "UI"
    bl_category = "Supple"
    page = "overview.html#first-result"

    def draw_header_preset(self, _context: bpy.types.Context) -> None:
        button = self.layout.operator("wm.url_open", text="", icon="QUESTION", emboss=False)
        button.url = find_page(self.page)


class PartPanel(SupplePanel):
    """Mix-in: a panel below the first one: closed, for a character, and away while a pose of it is corrected."""

    bl_options = {"DEFAULT_CLOSED"}

    @classmethod
    def poll(cls, context: bpy.types.Context) -> bool:
        return bool(list_shown(context)) and not list_under_way(context)

    def start(self) -> bpy.types.UILayout:
        """The layout, with names and values in two columns."""
        return split_names(self.layout)


def split_names(layout: bpy.types.UILayout) -> bpy.types.UILayout:
    """Draw names and values of a layout in two columns."""
    layout.use_property_split = True
    layout.use_property_decorate = False
    return layout


def shown_settings(context: bpy.types.Context) -> ObjectSettings | None:
    """Settings of the mesh that is shown: the active one, or that of the active armature's list."""
    obj = find_shown(context)
    return settings_of(obj) if obj is not None else None


def list_shown(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes of the active character, and a mesh that is bound, or has patterns, without an armature."""
    meshes, shown = list_meshes(context), find_shown(context)
    if not meshes and shown is not None and (settings_of(shown).is_bound or settings_of(shown).patterns):
        return [shown]
    return meshes


def list_chosen(context: bpy.types.Context) -> list[bpy.types.Object]:
    """The meshes that buttons and settings are for: the ticked ones, or the only one."""
    return list_ticked(context) if is_whole(context) else list_shown(context)


def is_whole(context: bpy.types.Context) -> bool:
    """Whether the panels are for all ticked meshes of a character, instead of one mesh."""
    active = context.active_object
    return len(list_meshes(context)) > 1 or (active is not None and active.type == "ARMATURE")


def is_any_bound(meshes: list[bpy.types.Object]) -> bool:
    return any(settings_of(obj).is_bound for obj in meshes)


def has_armature(context: bpy.types.Context) -> bool:
    armature = find_armature(context)
    return armature is not None and armature.type == "ARMATURE"


def draw_choices(
    layout: bpy.types.UILayout, store: bpy.types.PropertyGroup, method: Method, mixed: Container[str] = ()
) -> None:
    """Draw the choices of a method in its order, a column for each group; choices in `mixed` are marked."""
    for group, choices in groupby(method.choices, key=lambda choice: choice.group):
        column = layout.column(align=True) if group else layout
        for choice in choices:
            row = column.row() if choice.overruled_by else column
            if choice.overruled_by:
                row.enabled = getattr(store, choice.overruled_by) == 0
            for moment in MOMENTS:
                name = choice.name + moment
                if hasattr(store, name):
                    draw_setting(row, store, name, name in mixed)


# Labels and icons of buttons, by `SkinningError.remedy`
REMEDIES: dict[str, tuple[str, Any]] = {
    "WEIGHTS": ("Automatic Weights", "MOD_VERTEX_WEIGHT"),
    "SWITCH_ON": ("Enable", "HIDE_OFF"),
    "OBJECT_MODE": ("Object Mode", "OBJECT_DATAMODE"),
    "UPDATE": ("Update", "FILE_REFRESH"),
}


def draw_problem(layout: bpy.types.UILayout, context: bpy.types.Context, obj: bpy.types.Object) -> None:
    """Draw the problem of a mesh, and the button that fixes it."""
    settings = settings_of(obj)
    if not settings.message:
        return
    draw_message(layout, context, settings.message, closes=None if settings.is_bound else (obj, "message"))
    if settings.remedy in REMEDIES:
        label, icon = REMEDIES[settings.remedy]
        layout.operator("supple.remedy", text=translate(f"{label}, and Bind"), icon=icon).mesh = obj.name


def draw_setting(layout: bpy.types.UILayout, store: bpy.types.PropertyGroup, name: str, is_mixed: bool) -> None:
    """Draw a setting, and whether the ticked meshes differ in it."""
    label = store.bl_rna.properties[name].name
    layout.prop(store, name, text=translate(f"{label} (mixed)") if is_mixed else label)


def count_meshes(meshes: list[bpy.types.Object]) -> str:
    return f"{len(meshes)} Mesh" if len(meshes) == 1 else f"{len(meshes)} Meshes"
