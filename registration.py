"""The parts of Supple that Blender registers, in order."""

from __future__ import annotations

from . import cli, live, operators, settings, translations, ui, viewport

PARTS = (translations, settings, operators, ui, live, viewport, cli)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
