"""What a change of a setting sets off: listeners are called, unless they are muted, and views are drawn again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import bpy

listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose settings were changed."""

pattern_listeners: list[Callable[[bpy.types.Object], None]] = []
"""Called with an object whose patterns were changed."""

bone_listeners: list[Callable[[bpy.types.Armature], None]] = []
"""Called with an armature's data where it was chosen for a bone whether its twist is spread."""

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


def show_bones(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Pass a change of what is chosen for a bone on."""
    settings.id_data.update_tag()  # skeletons are compared where an armature has changed
    _call(bone_listeners, settings)


def _call(called: list[Any], settings: bpy.types.PropertyGroup) -> None:
    for listener in () if _muted else called:
        listener(settings.id_data)


_on: dict[str, int] = {}
"""What is drawn in the window, by property."""


def unsaved(name: str, off: int = 0) -> dict[str, Any]:
    """What reads and writes a property that says what is drawn: no file holds it, and nothing is drawn once enabled."""

    def read(_owner: Any) -> Any:
        return _on.get(name, off)

    def write(_owner: Any, value: Any) -> None:
        _on[name] = value

    return {"get": read, "set": write}


def draw_nothing() -> None:
    """Switch off what is drawn, as when another file is opened."""
    _on.clear()


def redraw(manager: bpy.types.WindowManager, _context: bpy.types.Context) -> None:
    """Draw all 3D Views again."""
    for window in manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
