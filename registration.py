"""What Supple adds to Blender, in order."""

from __future__ import annotations

from . import cli, operators, outlines, overlay, preview, properties, ui, weight_overlay, weight_properties

PARTS = (properties, weight_properties, operators, ui, preview, overlay, weight_overlay, outlines, cli)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
