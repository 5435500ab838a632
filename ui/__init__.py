"""Panels: they draw, and nothing else."""

from . import panels, patterns, weights

PARTS = (weights, panels, patterns)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
