"""How weight lines and their handles are drawn in 3D Views while they are moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bpy
import gpu
import numpy as np

from ..deformers.weight_editing.line_picking import project_points
from .drawing import (
    bind_line_shader,
    build_disc,
    draw_discs,
    draw_lines,
    drawing_state,
    make_line_batch,
    shift_toward_eye,
)

HIDDEN_OPACITY = 0.1

# Lines of joints that are not under the mouse are fainter.
INACTIVE_OPACITY = 0.45

# A joint has three lines: the line itself, and its falloff toward the parent and toward the child.
COLORS = ((1.0, 1.0, 1.0), (0.25, 0.55, 1.0), (1.0, 0.4, 0.2))

WIDTHS = (3.0, 1.8, 1.8)

# Pixels
RADII = (6.5, 4.5, 4.5)

HIGHLIGHT = (1.0, 0.85, 0.1)


@dataclass
class Drawing:
    """Lines and handles of one joint.

    Attributes
    ----------
    lines : list of 3 float32 arrays, shape (S, 2, 3)
        Segments of the line and of the two lines of its falloff, world space.
    handles : list of 3 float64 arrays, shape (H, 3)
        World space.
    is_active : bool
        Whether the mouse is at this joint.
    """

    lines: list[np.ndarray]
    handles: list[np.ndarray]
    is_active: bool = False


@dataclass
class LineDrawings:
    """Draws lines and handles until `remove`.

    Attributes
    ----------
    update : callable
        Called before each redraw, to update the attributes below.
    is_in_sight : callable
        Takes a region, its view and a point in world space, and returns whether the view shows the point.
    path : float32 array, shape (S, 2, 3)
        The path that a handle is dragged on, world space.
    highlighted : tuple of (joint, line, handle) or None
        The handle under the mouse.
    """

    update: Callable[[], None]
    is_in_sight: Callable[[Any, Any, np.ndarray], bool]
    drawings: list[Drawing] = field(default_factory=list)
    path: np.ndarray = field(default_factory=lambda: np.empty((0, 2, 3), np.float32))
    highlighted: tuple[int, int, int] | None = None

    def __post_init__(self) -> None:
        add = bpy.types.SpaceView3D.draw_handler_add
        self._handles = [
            add(self._draw_lines, (), "WINDOW", "POST_VIEW"),
            add(self._draw_handles, (), "WINDOW", "POST_PIXEL"),
        ]

    def remove(self) -> None:
        while self._handles:
            bpy.types.SpaceView3D.draw_handler_remove(self._handles.pop(), "WINDOW")

    def _draw_lines(self) -> None:
        self.update()
        shader = bind_line_shader()
        with gpu.matrix.push_pop():
            shift_toward_eye(bpy.context.region_data)
            for depth, opacity in (("GREATER", HIDDEN_OPACITY), ("LESS_EQUAL", 1.0)):
                with drawing_state(depth, mask=False):
                    for drawing in self.drawings:
                        _draw_joint(shader, drawing, opacity)
                    _draw_segments(shader, self.path, (*HIGHLIGHT, 0.9 * opacity), 1.2)

    def _draw_handles(self) -> None:
        region, view = bpy.context.region, bpy.context.region_data
        scale = bpy.context.preferences.system.ui_scale
        discs = []
        for joint, drawing in enumerate(self.drawings):
            for line in (1, 2, 0):
                if not drawing.is_active and line:
                    continue
                pixels = project(region, view, drawing.handles[line])
                for handle, (pixel, point) in enumerate(zip(pixels, drawing.handles[line], strict=True)):
                    is_highlighted = self.highlighted == (joint, line, handle)
                    if not np.isfinite(pixel).all() or not (is_highlighted or self.is_in_sight(region, view, point)):
                        continue
                    color = HIGHLIGHT if is_highlighted else COLORS[line]
                    radius = scale * RADII[line] * (1.25 if is_highlighted else 1.0)
                    for fill, size in (((0.0, 0.0, 0.0), radius + 1.5 * scale), (color, radius)):
                        opacity = 1.0 if drawing.is_active else INACTIVE_OPACITY
                        discs.append(build_disc(pixel, size, (*fill, opacity)))
        if discs:
            draw_discs(discs, ((None, 1.0),), mask=None)


def _draw_joint(shader: gpu.types.GPUShader, drawing: Drawing, opacity: float) -> None:
    alpha = opacity * (1.0 if drawing.is_active else INACTIVE_OPACITY)
    for line in (1, 2, 0):
        _draw_segments(shader, drawing.lines[line], (0.0, 0.0, 0.0, 0.6 * alpha), WIDTHS[line] + 2.0)
        _draw_segments(shader, drawing.lines[line], (*COLORS[line], alpha), WIDTHS[line])


def _draw_segments(shader: gpu.types.GPUShader, segments: np.ndarray, color: tuple, width: float) -> None:
    if len(segments):
        draw_lines(shader, make_line_batch(segments), color, width * bpy.context.preferences.system.ui_scale)


def project(region: bpy.types.Region, view: bpy.types.RegionView3D, points: np.ndarray) -> np.ndarray:
    """Pixels of a region, shape (..., 2), at which it shows points, shape (..., 3), world space; infinite if behind."""
    return project_points(points, np.array(view.perspective_matrix), (region.width, region.height))
