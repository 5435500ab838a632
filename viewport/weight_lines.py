"""How lines of weight and their handles are drawn in 3D Views while they are moved."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import bpy
import gpu
import numpy as np
from gpu_extras.batch import batch_for_shader

from .outlines import come_nearer

HIDDEN = 0.1
"""How much of a line is seen through the body."""

OTHERS = 0.45
"""How much is seen of the lines of joints that are not under the mouse."""

COLORS = ((1.0, 1.0, 1.0), (0.25, 0.55, 1.0), (1.0, 0.4, 0.2))
"""Of the line itself, and of those beside it towards the parent and towards the child."""

WIDTHS = (3.0, 1.8, 1.8)
"""Of the same lines, pixels."""

RADII = (6.5, 4.5, 4.5)
"""Of their handles, pixels."""

LIT = (1.0, 0.85, 0.1)
"""Of the handle under the mouse."""

CORNERS = 24
"""Of a handle."""


@dataclass
class Drawing:
    """What is drawn of one joint.

    Attributes
    ----------
    lines : list of 3 float32 arrays, shape (S, 2, 3)
        Pieces of the line and of the two beside it, world space.
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
    sees : callable
        Tells of a region, its view and a place in world space whether the place is in sight.
    drawings : list of Drawing
    rail : float32 array, shape (S, 2, 3)
        The way that a handle is dragged on, world space.
    lit : tuple of (joint, line, handle) or None
        Which handle is under the mouse.
    """

    update: Callable[[], None]
    sees: Callable[[Any, Any, np.ndarray], bool]
    drawings: list[Drawing] = field(default_factory=list)
    rail: np.ndarray = field(default_factory=lambda: np.empty((0, 2, 3), np.float32))
    lit: tuple[int, int, int] | None = None

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
        before = gpu.state.depth_test_get(), gpu.state.depth_mask_get(), gpu.state.blend_get()
        gpu.state.depth_mask_set(False)
        gpu.state.blend_set("ALPHA")
        shader = gpu.shader.from_builtin("POLYLINE_UNIFORM_COLOR")
        shader.bind()
        shader.uniform_float("viewportSize", gpu.state.viewport_get()[2:])
        try:
            with gpu.matrix.push_pop():
                come_nearer(bpy.context.region_data)
                for depth, seen in (("GREATER", HIDDEN), ("LESS_EQUAL", 1.0)):
                    gpu.state.depth_test_set(depth)
                    for drawing in self.drawings:
                        _draw_joint(shader, drawing, seen)
                    _draw_pieces(shader, self.rail, (*LIT, 0.9 * seen), 1.2)
        finally:
            gpu.state.depth_test_set(before[0])
            gpu.state.depth_mask_set(before[1])
            gpu.state.blend_set(before[2])

    def _draw_handles(self) -> None:
        region, view = bpy.context.region, bpy.context.region_data
        scale = bpy.context.preferences.system.ui_scale
        points, colors = [], []
        for joint, drawing in enumerate(self.drawings):
            for line in (1, 2, 0):
                if not drawing.is_active and line:
                    continue
                places = project(region, view, drawing.handles[line])
                for handle, (place, world) in enumerate(zip(places, drawing.handles[line], strict=True)):
                    is_lit = self.lit == (joint, line, handle)
                    if not np.isfinite(place).all() or not (is_lit or self.sees(region, view, world)):
                        continue
                    color = LIT if is_lit else COLORS[line]
                    radius = scale * RADII[line] * (1.25 if is_lit else 1.0)
                    for one, size in (((0.0, 0.0, 0.0), radius + 1.5 * scale), (color, radius)):
                        disc, tints = _build_disc(place, size, (*one, 1.0 if drawing.is_active else OTHERS))
                        points.append(disc)
                        colors.append(tints)
        if not points:
            return
        before = gpu.state.blend_get()
        gpu.state.blend_set("ALPHA")
        shader = gpu.shader.from_builtin("SMOOTH_COLOR")
        data = {"pos": np.concatenate(points).astype(np.float32), "color": np.concatenate(colors).astype(np.float32)}
        batch_for_shader(shader, "TRIS", data).draw(shader)
        gpu.state.blend_set(before)


def _draw_joint(shader: gpu.types.GPUShader, drawing: Drawing, seen: float) -> None:
    alpha = seen * (1.0 if drawing.is_active else OTHERS)
    for line in (1, 2, 0):
        _draw_pieces(shader, drawing.lines[line], (0.0, 0.0, 0.0, 0.6 * alpha), WIDTHS[line] + 2.0)
        _draw_pieces(shader, drawing.lines[line], (*COLORS[line], alpha), WIDTHS[line])


def _draw_pieces(shader: gpu.types.GPUShader, pieces: np.ndarray, color: tuple, width: float) -> None:
    if not len(pieces):
        return
    shader.uniform_float("color", color)
    shader.uniform_float("lineWidth", width * bpy.context.preferences.system.ui_scale)
    batch_for_shader(shader, "LINES", {"pos": pieces.reshape(-1, 3)}).draw(shader)


def _build_disc(center: np.ndarray, radius: float, color: tuple) -> tuple[np.ndarray, np.ndarray]:
    """A disc with a soft rim, as triangles: places (N, 2) and colors (N, 4)."""
    angles = np.linspace(0.0, 2.0 * math.pi, CORNERS + 1)
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    inner, outer = center + (radius - 0.6) * ring, center + (radius + 0.6) * ring
    middle = np.broadcast_to(center, inner[:-1].shape)
    points = np.stack(
        [middle, inner[:-1], inner[1:], inner[:-1], outer[:-1], outer[1:], inner[:-1], outer[1:], inner[1:]], axis=1
    )
    tints = np.tile(np.array(color, float), (*points.shape[:2], 1))
    tints[:, [4, 5, 7], 3] = 0.0
    return points.reshape(-1, 2), tints.reshape(-1, 4)


def project(region: bpy.types.Region, view: bpy.types.RegionView3D, points: np.ndarray) -> np.ndarray:
    """Where in a region points, shape (N, 3), world space, are seen: pixels, (N, 2); infinite behind the eye."""
    matrix = np.array(view.perspective_matrix)
    clip = np.concatenate([points, np.ones((len(points), 1))], axis=1) @ matrix.T
    depth = np.where(clip[:, 3:] > 1e-9, clip[:, 3:], np.nan)
    places = 0.5 * (1.0 + clip[:, :2] / depth) * (region.width, region.height)
    return np.where(np.isnan(places), np.inf, places)
