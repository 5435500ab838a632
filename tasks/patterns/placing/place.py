"""Patterns moved, rotated and scaled on the skin, and laid along strokes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import bpy
import numpy as np

from ....deformers import SkinningError
from ....deformers.patterns.chart_mesh import ChartMesh
from ....deformers.patterns.charts import STROKE_SMOOTHING
from ....deformers.patterns.strokes import measure_line, resample, trace_stroke
from ....deformers.patterns.surface_points import SurfacePoint, locate_point, locate_uv, surface_frame
from ....settings.events import muted
from ....settings.patterns import PatternSettings
from ..layout import charts_of, find_center, find_sides, make_chart
from ..show import update

LAYOUT_SETTINGS = ("space", "placed_in", "location", "uv", "turn", "size", "flip")
"""Settings that say where a pattern lies, besides its stroke."""


def read_layout(pattern: PatternSettings) -> tuple:
    """Where a pattern lies, for `write_layout`."""
    values = (getattr(pattern, name) for name in LAYOUT_SETTINGS)
    plain = tuple(value if isinstance(value, str | float | bool) else tuple(value) for value in values)
    return plain, tuple(tuple(point.location) for point in pattern.stroke)


def write_layout(pattern: PatternSettings, layout: tuple) -> None:
    """Lay a pattern where it was; it is not shown there before `update`."""
    with muted():
        for name, value in zip(LAYOUT_SETTINGS, layout[0], strict=True):
            setattr(pattern, name, value)
        _write_stroke(pattern, layout[1])


def rotate_and_scale(
    pattern: PatternSettings,
    layout: tuple,
    angle: float | None = None,
    factors: Sequence[float] | np.ndarray = (1.0, 1.0),
) -> None:
    """Rotate and scale a pattern from where it was; it is not shown so before `update`.

    Parameters
    ----------
    layout : tuple
        What `read_layout` gave before.
    angle : float, optional
        Counter-clockwise, radians; a pattern that is rotated leaves its stroke.
    factors : sequence of 2 floats
        Of its width and height.
    """
    before = dict(zip(LAYOUT_SETTINGS, layout[0], strict=True))
    with muted():
        if angle is not None:
            pattern.stroke.clear()
            pattern.turn = before["turn"] + angle
        pattern.size = np.array(before["size"]) * factors


def _write_stroke(pattern: PatternSettings, points: Sequence[Sequence[float]] | np.ndarray) -> None:
    pattern.stroke.clear()
    for point in points:
        pattern.stroke.add().location = point


def put(pattern: PatternSettings, center: SurfacePoint) -> None:
    """Move a pattern's center to a surface point; it is not shown there before `update`."""
    if pattern.space == "UV" and center.uv is None:
        raise SkinningError("The mesh has no UV map: unwrap it first, or set Place On to Surface")
    with muted():
        pattern.stroke.clear()
        pattern.location = center.position
        if center.uv is not None:
            pattern.uv = center.uv


def place_pattern(
    obj: bpy.types.Object,
    pattern: PatternSettings,
    location: Sequence[float] | None = None,
    uv: Sequence[float] | None = None,
    angle: float | None = None,
    size: Sequence[float] | None = None,
) -> None:
    """Move a pattern's center, or rotate and scale the pattern where it is; its space stays as it is.

    Parameters
    ----------
    location : sequence of 3 floats, optional
        Position on the mesh at rest, object space: the skin nearest to it.
    uv : sequence of 2 floats, optional
        Position in the UV map; where islands overlap, the point nearest to `location`.
    angle : float, optional
        Rotation, counter-clockwise, radians.
    size : sequence of 2 floats, optional
        Width and height, in the space's units.

    Raises
    ------
    SkinningError
        Where the mesh has no such point, or the pattern can not lie there; nothing is changed then.
    """
    if location is None and uv is None and angle is None and size is None:
        raise SkinningError("No location was given: pass location=(x, y, z) on the mesh at rest, or uv=(u, v)")
    charts, before = charts_of(obj), read_layout(pattern)
    near = np.array(pattern.location if location is None else location)
    try:
        if uv is not None:
            put(pattern, locate_uv(charts.mesh, uv, near))
        elif location is not None:
            put(pattern, locate_point(charts.mesh, near))
        with muted():
            pattern.turn = pattern.turn if angle is None else angle
            pattern.size = pattern.size if size is None else size
        make_chart(charts, pattern)
    except SkinningError:
        write_layout(pattern, before)
        raise
    update(obj)


def measure_aspect(mesh: ChartMesh, pattern: PatternSettings) -> float:
    """Height over width of a pattern as it lies on the skin."""
    try:
        width, height = np.linalg.norm(find_sides(mesh, find_center(mesh, pattern), pattern), axis=1)
    except SkinningError:  # it lies nowhere yet
        width, height = pattern.size
    return float(height / width) if width > 0 and height > 0 else 1.0


def lay_along(
    obj: bpy.types.Object, pattern: PatternSettings, points: Sequence[Sequence[float]] | np.ndarray, width: float = 0.0
) -> None:
    """Lay a pattern on the surface along a stroke, from end to end.

    Parameters
    ----------
    points : sequence of at least 2 points
        On the mesh at rest, object space.
    width : float
        Extent across the stroke, object units; 0 keeps the ratio of the pattern's sides.

    Raises
    ------
    SkinningError
        Where the stroke can not be followed; nothing is changed then.
    """
    if len(points) < 2:
        raise SkinningError(
            "A stroke needs at least 2 points: draw a stroke on the skin, or pass points on the mesh at rest"
        )
    charts, before = charts_of(obj), read_layout(pattern)
    mesh = charts.mesh
    line = resample(np.array(points, np.float32))
    width = width or measure_line(line) * measure_aspect(mesh, pattern)
    stroke = trace_stroke(
        line, STROKE_SMOOTHING * width, mesh.points, mesh.triangle_points, mesh.normals, mesh.centers, mesh.radii
    )
    middle, step = stroke.find_middle()
    center = locate_point(mesh, middle)
    along = surface_frame(center) @ step
    try:
        with muted():
            pattern.space = pattern.placed_in = "SURFACE"
            put(pattern, center)
            pattern.turn = math.atan2(along[1], along[0])  # how it lies once it leaves the stroke
            pattern.size = stroke.length, width
            _write_stroke(pattern, line)
        make_chart(charts, pattern)
    except SkinningError:
        write_layout(pattern, before)
        raise
    update(obj)
