"""Patterns under the mouse: found on the skin, moved, rotated, scaled, and laid along strokes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import bpy
import numpy as np

from ...bridge.meshes.rays import read_posed_skin
from ...deformers import SkinningError
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.patterns.charts import STROKE_SMOOTHING
from ...deformers.patterns.picking import PosedSkin, covers
from ...deformers.patterns.strokes import measure_line, resample, trace_stroke
from ...deformers.patterns.surface_points import SurfacePoint, locate_point, locate_uv, surface_frame
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from ..subject.character import list_deformed
from .read import MeshCharts, charts_of, find_center, find_sides, make_chart, set_center
from .write import update

LAYOUT_SETTINGS = ("space", "placed_in", "location", "uv", "turn", "size", "flip")  # without the stroke


def find_patterned(active: bpy.types.Object | None, layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """Find objects with patterns: the active mesh, or the meshes that the active armature deforms."""
    if active is None or active.type not in ("MESH", "ARMATURE"):
        return []
    if active.type == "MESH":
        return [active] if settings_of(active).patterns else []
    return [obj for obj in list_deformed(layer, active) if settings_of(obj).patterns]


def read_skin(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> PosedSkin:
    """Read an object's skin in a depsgraph, with the charts of its patterns."""
    return read_posed_skin(obj, depsgraph, settings_of(obj).pattern_key)


def find_covering(obj: bpy.types.Object, charts: MeshCharts, point: SurfacePoint) -> int:
    """Find the index of the pattern that covers a surface point, the active pattern first; -1 if there is none."""
    settings = settings_of(obj)
    order = sorted(range(len(settings.patterns)), key=lambda index: index != settings.active_pattern)
    for index in order:
        pattern = settings.patterns[index]
        try:
            if pattern.show and covers(charts.mesh, make_chart(charts, pattern), point):
                return index
        except SkinningError:
            continue  # it is not on the mesh, and the panel explains why
    return -1


def read_layout(pattern: PatternSettings) -> tuple:
    """Read a pattern's layout for `write_layout`."""
    values = (getattr(pattern, name) for name in LAYOUT_SETTINGS)
    plain = tuple(value if isinstance(value, str | float | bool) else tuple(value) for value in values)
    return plain, tuple(tuple(point.location) for point in pattern.stroke)


def write_layout(pattern: PatternSettings, layout: tuple) -> None:
    """Restore a pattern's layout. `update` shows it."""
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
    """Rotate and scale a pattern relative to a layout from `read_layout`. `update` shows it.

    Parameters
    ----------
    angle : float, optional
        Counter-clockwise, radians. A pattern that is rotated leaves its stroke.
    factors : sequence of 2 floats
        Factors of width and height.
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


@contextmanager
def _changed_layout(obj: bpy.types.Object, pattern: PatternSettings) -> Iterator[ChartMesh]:
    """Change a pattern's layout and show it, or restore the layout if the pattern cannot lie there."""
    charts, before = charts_of(obj), read_layout(pattern)
    try:
        with muted():
            yield charts.mesh
        make_chart(charts, pattern)
    except SkinningError:
        write_layout(pattern, before)
        raise
    update(obj)


def put(pattern: PatternSettings, center: SurfacePoint) -> None:
    """Move a pattern's center to a surface point. `update` shows it."""
    if pattern.space == "UV" and center.uv is None:
        raise SkinningError("The mesh has no UV map: unwrap it first, or set Place On to Surface")
    with muted():
        pattern.stroke.clear()
        set_center(pattern, center)


def place_pattern(
    obj: bpy.types.Object,
    pattern: PatternSettings,
    location: Sequence[float] | None = None,
    uv: Sequence[float] | None = None,
    angle: float | None = None,
    size: Sequence[float] | None = None,
) -> None:
    """Move a pattern's center in its space, or rotate and scale it.

    Raises SkinningError if the mesh has no such point, or the pattern cannot lie there. Nothing changes then.

    Parameters
    ----------
    location : sequence of 3 floats, optional
        Position on the mesh at rest, object space; the nearest skin counts.
    uv : sequence of 2 floats, optional
        Position in the UV map. If islands overlap there, the point nearest to `location` counts.
    angle : float, optional
        Rotation, counter-clockwise, radians.
    size : sequence of 2 floats, optional
        Width and height, in units of the space.
    """
    if location is None and uv is None and angle is None and size is None:
        raise SkinningError("No location was given: pass location=(x, y, z) on the mesh at rest, or uv=(u, v)")
    near = np.array(pattern.location if location is None else location)
    with _changed_layout(obj, pattern) as mesh:
        if uv is not None:
            put(pattern, locate_uv(mesh, uv, near))
        elif location is not None:
            put(pattern, locate_point(mesh, near))
        pattern.turn = pattern.turn if angle is None else angle
        pattern.size = pattern.size if size is None else size


def measure_aspect(mesh: ChartMesh, pattern: PatternSettings) -> float:
    """Measure height over width of a pattern on the skin."""
    try:
        width, height = np.linalg.norm(find_sides(mesh, find_center(mesh, pattern), pattern), axis=1)
    except SkinningError:  # it is not on the mesh yet
        width, height = pattern.size
    return float(height / width) if width > 0 and height > 0 else 1.0


def lay_along(
    obj: bpy.types.Object, pattern: PatternSettings, points: Sequence[Sequence[float]] | np.ndarray, width: float = 0.0
) -> None:
    """Lay a pattern on the surface along a stroke, from end to end.

    Raises SkinningError if the stroke cannot be followed. Nothing changes then.

    Parameters
    ----------
    points : sequence of at least 2 points
        On the mesh at rest, object space.
    width : float
        Extent across the stroke, object units; 0 keeps the ratio of the pattern's sides.
    """
    if len(points) < 2:
        raise SkinningError(
            "A stroke needs at least 2 points: draw a stroke on the skin, or pass points on the mesh at rest"
        )
    line = resample(np.array(points, np.float32))  # in the precision of the stored stroke
    with _changed_layout(obj, pattern) as mesh:
        width = width or measure_line(line) * measure_aspect(mesh, pattern)
        stroke = trace_stroke(mesh, line, STROKE_SMOOTHING * width)
        middle, step = stroke.find_middle()
        center = locate_point(mesh, middle)
        along = surface_frame(center) @ step
        pattern.space = pattern.placed_in = "SURFACE"
        put(pattern, center)
        pattern.turn = math.atan2(along[1], along[0])  # used once the pattern leaves the stroke
        pattern.size = stroke.length, width
        _write_stroke(pattern, line)
