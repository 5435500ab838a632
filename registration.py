"""What Supple adds to Blender, in order."""

from __future__ import annotations

from . import cli, operators, outlines, overlay, preview, properties, ui

PARTS = (properties, operators, ui, preview, overlay, outlines, cli)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
