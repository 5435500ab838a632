"""Operators: each reads its settings, calls one task, reports."""

from . import (
    bake,
    base,
    bind,
    character,
    check,
    corrections,
    corrections_from,
    drag_skin,
    engine_copy,
    example,
    farm,
    fit,
    handles,
    layers,
    motion,
    pattern_maps,
    pattern_strokes,
    patterns,
    place_patterns,
    reports,
    side_by_side,
    swing,
    weight_brush,
    weight_edits,
    weight_lines,
    weights,
)

PARTS = (
    bind,
    character,
    bake,
    reports,
    side_by_side,
    check,
    corrections,
    corrections_from,
    engine_copy,
    example,
    fit,
    farm,
    motion,
    swing,
    patterns,
    place_patterns,
    pattern_strokes,
    pattern_maps,
    weights,
    weight_edits,
    weight_lines,
    weight_brush,
    drag_skin,
    handles,
    layers,
)


def register() -> None:
    for part in PARTS:
        part.register()


def unregister() -> None:
    base.unregister()
    for part in reversed(PARTS):
        part.unregister()
