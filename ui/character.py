"""The list of a character's meshes in the Skin panel: which are ticked, how each is deformed, and what it takes."""

from __future__ import annotations

import os
from typing import Literal

import bpy

from ..settings.character import list_meshes
from ..settings.choices import METHODS
from ..settings.objects import EVALUATIONS, settings_of
from ..tasks.reports import pose_times
from ..tasks.subject.stack import find_independent, is_flipped, read_milliseconds
from ..translations import translate

MOST_ROWS = 8


class SUPPLE_UL_meshes(bpy.types.UIList):
    """The meshes of the character, among all objects of the file"""

    def draw_item(
        self,
        context: bpy.types.Context,
        layout: bpy.types.UILayout,
        _data: bpy.types.BlendData,
        obj: bpy.types.Object,
        _icon: int,
        _active_data: bpy.types.PropertyGroup,
        _active_property: str,
    ) -> None:
        layout.use_property_split = False
        row = layout.row(align=True)
        row.prop(settings_of(obj), "is_ticked", text="")
        parts = row.split(factor=0.42, align=True)
        parts.label(text=shorten_name(context, obj), icon=find_icon(obj), translate=False)
        is_live = settings_of(obj).is_bound and settings_of(obj).bake == "NONE"
        chosen = EVALUATIONS.get(settings_of(obj).evaluate)
        icon = chosen.icon if is_live and chosen is not None else "NONE"
        parts.label(text=describe_mesh(context, obj), icon=icon, translate=False)

    def filter_items(
        self, context: bpy.types.Context, data: bpy.types.BlendData, name: str
    ) -> tuple[list[int], list[int]]:
        objects = getattr(data, name)
        shown = {obj.name for obj in list_meshes(context)}
        flags = [self.bitflag_filter_item if obj.name in shown else 0 for obj in objects]
        return flags, []


def shorten_name(context: bpy.types.Context, obj: bpy.types.Object) -> str:
    """Its name without what the names of all meshes of the character begin with, up to a mark: the list is narrow."""
    names = [other.name for other in list_meshes(context)]
    common = os.path.commonprefix(names) if len(names) > 1 else ""  # noqa: RUF071  characters are what is meant
    end = max(common.rfind(mark) for mark in "_-. ") + 1
    return obj.name[end:] or obj.name


def find_icon(obj: bpy.types.Object) -> Literal["ERROR", "RADIOBUT_OFF", "FILE_CACHE", "CHECKMARK"]:
    """Whether a mesh is bound, is not, or something is wrong with it."""
    settings = settings_of(obj)
    if settings.message:
        return "ERROR"
    if not settings.is_bound:
        return "RADIOBUT_OFF"
    return "FILE_CACHE" if settings.bake != "NONE" else "CHECKMARK"


def describe_mesh(context: bpy.types.Context, obj: bpy.types.Object) -> str:
    """Method and milliseconds of the latest pose, such as "Centers 2.1 ms"; or why there are none."""
    settings = settings_of(obj)
    if not settings.is_bound:
        return translate("independent" if find_independent(obj) is not None else "not bound")
    if settings.bake != "NONE":
        return translate("baked")
    if is_flipped(obj):
        return translate("flipped")
    method = METHODS.get(settings.method)
    words = [translate(method.label if method is not None else settings.method)]
    taken = read_milliseconds(obj, context.view_layer.depsgraph)
    if taken is not None:
        words.append(f"{taken + (pose_times.find(obj) or 0.0):.1f} ms")
    return " ".join(words)


def draw_meshes(layout: bpy.types.UILayout, context: bpy.types.Context, count: int) -> None:
    """Draw the list of so many meshes."""
    character = context.scene.supple_character
    rows = min(max(count, 2), MOST_ROWS)
    layout.template_list(
        SUPPLE_UL_meshes.__name__, "", bpy.data, "objects", character, "index", rows=rows, maxrows=MOST_ROWS
    )


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_meshes,))
