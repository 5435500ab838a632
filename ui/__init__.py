"""Panels and menus: they draw, and nothing else."""

from . import bones, character, checks, corrections, engine_copy, menus, motion, panels, patterns, tools, weights

PARTS = (corrections, weights, character, panels, checks, engine_copy, motion, patterns, bones, menus, tools)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
