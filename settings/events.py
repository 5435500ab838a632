"""Changes of settings: listeners are called, unless they are muted, and views are redrawn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import bpy

# Called with an object after a change of its settings
listeners: list[Callable[[bpy.types.Object], None]] = []

# Called with an object after a change of its patterns
pattern_listeners: list[Callable[[bpy.types.Object], None]] = []

# Called with an armature's data after a change of *Spread Twist* of a bone
bone_listeners: list[Callable[[bpy.types.Armature], None]] = []

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
    """Pass on a change, and let the depsgraph run: the live preview compares settings with the bound ones."""
    settings.id_data.update_tag()
    _call(listeners, settings)


def show_pattern(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Pass on a change of a pattern."""
    _call(pattern_listeners, settings)


def show_bones(settings: bpy.types.PropertyGroup, _context: bpy.types.Context) -> None:
    """Pass on a change of a bone's setting."""
    settings.id_data.update_tag()  # skeletons are compared where an armature has changed
    _call(bone_listeners, settings)


def _call(called: list[Any], settings: bpy.types.PropertyGroup) -> None:
    for listener in () if _muted else called:
        listener(settings.id_data)


# Values of properties that say what the window draws, by name
_on: dict[str, int] = {}


def unsaved(name: str, off: int = 0) -> dict[str, Any]:
    """Functions that read and write a property of the window: no file stores it, and it is off at the start."""

    def read(_owner: Any) -> Any:
        return _on.get(name, off)

    def write(_owner: Any, value: Any) -> None:
        _on[name] = value

    return {"get": read, "set": write}


def draw_nothing() -> None:
    """Turn off all drawings in the window, such as when another file is opened."""
    _on.clear()


def redraw(manager: bpy.types.WindowManager, _context: bpy.types.Context) -> None:
    """Redraw all 3D Views."""
    for window in manager.windows:
        for area in window.screen.areas:
            if area.type == "VIEW_3D":
                area.tag_redraw()
