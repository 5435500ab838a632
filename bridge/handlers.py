"""Blender's application handlers: installed in the order of a table, removed in reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import bpy

# Names of lists in `bpy.app.handlers`, and the function that each is given
Handlers = Sequence[tuple[str, Callable[..., Any]]]


def install(handlers: Handlers) -> None:
    """Append each handler to its list."""
    for name, handler in handlers:
        getattr(bpy.app.handlers, name).append(handler)


def uninstall(handlers: Handlers) -> None:
    """Remove each handler from its list, the last first."""
    for name, handler in reversed(handlers):
        getattr(bpy.app.handlers, name).remove(handler)
