"""Panels and menus: they draw, and nothing else."""

from . import (
    bones,
    character,
    checks,
    compare,
    corrections,
    fine_tune,
    first,
    hand_over,
    manual,
    menus,
    motion,
    patterns,
    preferences,
    tools,
    weights,
)

PARTS = (
    manual,
    menus,
    character,
    checks,
    compare,
    first,
    fine_tune,
    weights,
    patterns,
    corrections,
    hand_over,
    motion,
    bones,
    tools,
    preferences,
)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    for part in reversed(PARTS):
        part.unregister()
