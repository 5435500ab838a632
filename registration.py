"""What Supple adds to Blender, in order."""

from __future__ import annotations

from . import cli, operators, preview, settings, ui, viewport

PARTS = (settings, operators, ui, preview, viewport, cli)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
