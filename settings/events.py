"""What a change of a setting sets off: listeners are called, unless they are muted, and views are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import bpy

listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose settings were changed."""

pattern_listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose patterns were changed."""

_muted = False


@contextmanager
def muted() -> Iterator[None]:
    """Change settings, of objects and of patterns, without calling the listeners."""
    global _muted
    before, _muted = _muted, True
    try:
        yield
    finally:
        _muted = before


def are_muted() -> bool:
    """Whether Supple itself is changing settings."""
    return _muted


def show_change(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Pass a change on, and have the depsgraph run: the live preview compares settings with those it has bound."""
    settings.id_data.update_tag()
    _call(listeners, settings)


def show_pattern(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Pass a change of a pattern on."""
    _call(pattern_listeners, settings)


def _call(called: list[Callable[[bpy.types.Object], None]], settings: bpy.types.PropertyGroup) -> None:
    for listener in () if _muted else called:
        listener(settings.id_data)


def redraw(manager: bpy.types.WindowManager, _context: bpy.types.Context) -> None:
    """Draw all 3D Views again."""
    for window in manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
