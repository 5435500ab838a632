"""The character in the tab, and the list of its meshes: which are ticked, how they are deformed, how fast."""

from __future__ import annotations

import os
from typing import Any, Literal

import bpy

from ..settings.character import find_armature, find_shown, list_meshes
from ..settings.choices import METHODS
from ..settings.objects import settings_of
from ..tasks.reports import pose_times
from ..tasks.subject.stack import is_former, read_milliseconds
from ..translations import translate
from .lists import SuppleList

MOST_ROWS = 8


class SUPPLE_UL_meshes(SuppleList, bpy.types.UIList):
    """The meshes of the character, among all objects of the file"""

    def draw_row(self, context: bpy.types.Context, layout: bpy.types.UILayout, obj: Any, _index: int) -> None:
        layout.use_property_split = False
        row = layout.row(align=True)
        row.prop(settings_of(obj), "is_ticked", text="")
        parts = row.split(factor=0.5, align=True)
        parts.label(text=shorten_name(context, obj), icon=find_icon(obj), translate=False)
        parts.label(text=describe_mesh(context, obj), translate=False)

    def filter_items(
        self, context: bpy.types.Context, data: bpy.types.BlendData, name: str
    ) -> tuple[list[int], list[int]]:
        objects = getattr(data, name)
        shown = {obj.name for obj in list_meshes(context)}
        flags = [self.bitflag_filter_item if obj.name in shown else 0 for obj in objects]
        return flags, []


def shorten_name(context: bpy.types.Context, obj: bpy.types.Object) -> str:
    """An object's name without the words that all names of the character begin with: the list is narrow."""
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
    """Milliseconds of the latest pose, the method if meshes differ in it, or why there is neither."""
    settings = settings_of(obj)
    if not settings.is_bound:
        return translate("earlier version" if is_former(obj) else "not bound")
    if settings.bake != "NONE":
        return translate("baked")
    if settings.is_muted:
        return translate("as Blender")
    method = METHODS.get(settings.method)
    label = translate(method.label if method is not None else settings.method)
    differs = len({settings_of(other).method for other in list_meshes(context)}) > 1
    taken = read_time(context, obj)
    return label if differs or taken is None else f"{taken:.1f} ms"


def find_trouble(meshes: list[bpy.types.Object]) -> str:
    """The message of the first mesh that has a problem; "" if none has."""
    return next((settings_of(obj).message for obj in meshes if settings_of(obj).message), "")


def describe_character(context: bpy.types.Context) -> str:
    """A line such as "rig: 4 meshes, 3.1 ms"; without a character, the name of the extension."""
    armature, meshes = find_armature(context), list_meshes(context)
    shown = find_shown(context)
    if armature is None or not meshes:
        bound = shown is not None and settings_of(shown).is_bound
        return shown.name if shown is not None and bound else "Supple"
    count = "1 mesh" if len(meshes) == 1 else f"{len(meshes)} meshes"
    times = [taken for obj in meshes if settings_of(obj).is_bound and (taken := read_time(context, obj)) is not None]
    total = sum(times)
    words = [translate(count), *([f"{total:.{int(total < 10.0)}f} ms"] if times else [])]
    return f"{armature.name}: {', '.join(words)}"


def read_time(context: bpy.types.Context, obj: bpy.types.Object) -> float | None:
    """Milliseconds of a bound mesh in its latest pose; None if it was not shown."""
    taken = read_milliseconds(obj, context.view_layer.depsgraph)
    return None if taken is None else taken + (pose_times.find(obj) or 0.0)


def draw_meshes(layout: bpy.types.UILayout, context: bpy.types.Context, count: int) -> None:
    """Draw the list of so many meshes."""
    character = context.scene.supple_character
    rows = min(max(count, 2), MOST_ROWS)
    layout.template_list(
        SUPPLE_UL_meshes.__name__, "", bpy.data, "objects", character, "index", rows=rows, maxrows=MOST_ROWS
    )


register, unregister = bpy.utils.register_classes_factory((SUPPLE_UL_meshes,))
