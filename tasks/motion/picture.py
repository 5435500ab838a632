"""A comparison of actions as an image."""

from __future__ import annotations

import bpy

from ...bridge.images import show_picture
from ...deformers.motion.picture import draw_table
from .compare import Comparison


def show_table(comparison: Comparison) -> bpy.types.Image:
    """Draw a comparison into an image, named for its actions: their transitions are marked, the best in blue."""
    starts = comparison.starts
    marks = [(one.first - starts[0], one.second - starts[1]) for one in comparison.transitions]
    return show_picture(f"{comparison.first} / {comparison.second}", draw_table(comparison.table, marks))
