"""What a change of a setting sets off: listeners are told, and views are drawn again."""

from __future__ import annotations

from collections.abc import Callable

import bpy

listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose settings were changed."""

pattern_listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose patterns were changed."""


def show_change(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Pass a change on, and have the depsgraph run: the live preview compares settings with those it has bound."""
    settings.id_data.update_tag()
    for listener in listeners:
        listener(settings.id_data)


def show_pattern(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    for listener in pattern_listeners:
        listener(settings.id_data)


def redraw(manager: bpy.types.WindowManager, _context: bpy.types.Context) -> None:
    for window in manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
