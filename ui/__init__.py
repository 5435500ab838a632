"""Panels: they draw, and nothing else."""

from . import bones, character, panels, patterns, weights

PARTS = (weights, character, panels, patterns, bones)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
