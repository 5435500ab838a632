"""How weight lines and their handles are drawn in 3D Views while they are moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from ..deformers.weight_editing.line_picking import project_points
from .drawing import bind_line_shader, build_disc, drawing_state, shift_toward_eye

HIDDEN_OPACITY = 0.1
"""Of lines behind the skin."""

INACTIVE_OPACITY = 0.45
"""Of lines of joints that are not under the mouse."""

COLORS = ((1.0, 1.0, 1.0), (0.25, 0.55, 1.0), (1.0, 0.4, 0.2))
"""Of a line itself, and of those beside it towards the parent and towards the child."""

WIDTHS = (3.0, 1.8, 1.8)
"""Of the same lines, pixels."""

RADII = (6.5, 4.5, 4.5)
"""Of their handles, pixels."""

HIGHLIGHT = (1.0, 0.85, 0.1)
"""Color of the handle under the mouse."""


@dataclass
class Drawing:
    """What is drawn of one joint.

    Attributes
    ----------
    lines : list of 3 float32 arrays, shape (S, 2, 3)
        Segments of the line and of the two beside it, world space.
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
    """Draws lines and handles, from when it is made until `remove`.

    Attributes
    ----------
    update : callable
        Called before each drawing: brings what follows up to date.
    is_in_sight : callable
        Whether a view of a region shows a point in world space: takes the region, its view and the point.
    path : float32 array, shape (S, 2, 3)
        The path that a handle is dragged on, world space.
    highlighted : tuple of (joint, line, handle) or None
        Which handle is under the mouse.
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
        points, colors = [], []
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
                        disc, tints = build_disc(pixel, size, (*fill, 1.0 if drawing.is_active else INACTIVE_OPACITY))
                        points.append(disc)
                        colors.append(tints)
        if not points:
            return
        shader = gpu.shader.from_builtin("SMOOTH_COLOR")
        data = {"pos": np.concatenate(points).astype(np.float32), "color": np.concatenate(colors).astype(np.float32)}
        with drawing_state():
            batch_for_shader(shader, "TRIS", data).draw(shader)


def _draw_joint(shader: gpu.types.GPUShader, drawing: Drawing, opacity: float) -> None:
    alpha = opacity * (1.0 if drawing.is_active else INACTIVE_OPACITY)
    for line in (1, 2, 0):
        _draw_segments(shader, drawing.lines[line], (0.0, 0.0, 0.0, 0.6 * alpha), WIDTHS[line] + 2.0)
        _draw_segments(shader, drawing.lines[line], (*COLORS[line], alpha), WIDTHS[line])


def _draw_segments(shader: gpu.types.GPUShader, segments: np.ndarray, color: tuple, width: float) -> None:
    if not len(segments):
        return
    shader.uniform_float("color", color)
    shader.uniform_float("lineWidth", width * bpy.context.preferences.system.ui_scale)
    batch_for_shader(shader, "LINES", {"pos": segments.reshape(-1, 3)}).draw(shader)


def project(region: bpy.types.Region, view: bpy.types.RegionView3D, points: np.ndarray) -> np.ndarray:
    """Pixels of a region, shape (..., 2), at which it shows points, shape (..., 3), world space; infinite if behind."""
    return project_points(points, np.array(view.perspective_matrix), (region.width, region.height))
