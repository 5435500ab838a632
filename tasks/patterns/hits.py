"""Patterns placed by hand: what lies under the mouse, and strokes on the skin."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Vector

from ...bridge.rays import PosedSkin, read_posed_skin, telling_rest
from ...deformers import SkinningError
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.patterns.charts import SMOOTH
from ...deformers.patterns.strokes import trace_stroke
from ...deformers.patterns.surface_points import Place, locate_point, locate_uv, surface_frame
from ...settings.events import muted
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from ..character import has_armature_modifier
from .display import update
from .placing import Outline, find_place, find_sides, make_chart, outline_of

CENTER = np.array([0.5, 0.5])
"""Of a pattern's picture."""

EDGE = 1e-6
"""How far beside a triangle a point may lie, in shares of its height, and still be on it."""

MOST_STROKE_POINTS = 24

PLACING = ("space", "placed_in", "location", "uv", "turn", "size", "flip")
"""Settings that say where a pattern lies, besides its stroke."""


@dataclass(frozen=True)
class Hit:
    """Where a ray meets the skin.

    Attributes
    ----------
    point : float64 array, shape (3,)
        On the skin as it is shown, object space.
    normal : float64 array, shape (3,)
        Of its triangle, unit length, object space.
    rest : float64 array, shape (3,)
        The same place at rest, object space.
    """

    point: np.ndarray
    normal: np.ndarray
    rest: np.ndarray


@dataclass(frozen=True)
class Shown:
    """Where a place of a pattern's picture is shown.

    Attributes
    ----------
    point : float64 array, shape (3,)
        Object space.
    sides : float64 array, shape (2, 3)
        The picture's lower and left side there, object space.
    """

    point: np.ndarray
    sides: np.ndarray


def read_skin(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> PosedSkin:
    """An object's skin as a depsgraph has it, with the charts of its patterns."""
    return read_posed_skin(obj, depsgraph, settings_of(obj).pattern_key)


def find_patterned(active: bpy.types.Object | None, layer: bpy.types.ViewLayer) -> list[bpy.types.Object]:
    """The objects whose patterns are worked on: the active one, or those that the active armature deforms."""
    if active is None or active.type not in ("MESH", "ARMATURE"):
        return []
    if active.type == "MESH":
        return [active] if settings_of(active).patterns else []
    meshes = [one for one in layer.objects if one.type == "MESH" and settings_of(one).patterns]
    return [one for one in meshes if has_armature_modifier(one, active)]


def cast_ray(skin: PosedSkin, origin: np.ndarray, direction: np.ndarray) -> Hit | None:
    """The first place where a ray, object space, meets the skin; None where it passes by.

    Raises
    ------
    SkinningError
        Where modifiers do not tell where the place is at rest.
    """
    direction = np.asarray(direction, np.float64) / np.linalg.norm(direction)
    aside = np.eye(3)[np.abs(direction).argmin()]
    first = np.cross(direction, aside) / np.linalg.norm(np.cross(direction, aside))
    seen = (skin.points - origin) @ np.stack([first, np.cross(direction, first), direction], axis=1)
    x, y = (seen[:, axis][skin.triangles] for axis in range(2))
    around = (x.min(axis=1) <= 0) & (x.max(axis=1) >= 0) & (y.min(axis=1) <= 0) & (y.max(axis=1) >= 0)
    near = np.flatnonzero(around)
    weights = find_weights(seen[skin.triangles[near], :2], np.zeros(2))
    inside = (weights >= -EDGE).all(axis=1)
    near, weights = near[inside], weights[inside]
    away = (weights * seen[skin.triangles[near], 2]).sum(axis=1)
    if not (away > 0).any():
        return None
    if skin.rest is None:
        raise SkinningError(
            "A modifier makes a new mesh, of which no place at rest is known: switch it off while you place patterns"
        )
    best = int(np.where(away > 0, away, np.inf).argmin())
    ends = skin.triangles[near[best]]
    shape = skin.points[ends]
    normal = np.cross(shape[1] - shape[0], shape[2] - shape[0])
    return Hit(weights[best] @ shape, normal / np.linalg.norm(normal), weights[best] @ skin.rest[ends])


def find_hit(
    obj: bpy.types.Object,
    depsgraph: bpy.types.Depsgraph,
    origin: Sequence[float] | Vector,
    direction: Sequence[float] | Vector,
) -> Hit | None:
    """Where a ray, world space, first meets an object's skin; what the hit tells is in object space.

    `depsgraph` is evaluated where the object's modifiers do not tell places at rest yet: keep `telling_rest` on while
    casting many rays.
    """
    with telling_rest(obj):
        depsgraph.update()
        skin = read_skin(obj, depsgraph)
        to_object = np.array(obj.evaluated_get(depsgraph).matrix_world.inverted_safe())
    return cast_ray(skin, *to_object_space(to_object, origin, direction))


def to_object_space(
    to_object: np.ndarray, origin: Sequence[float] | Vector, direction: Sequence[float] | Vector
) -> tuple[np.ndarray, np.ndarray]:
    """A ray in object space: `to_object`, shape (4, 4), takes it there."""
    return to_object[:3, :3] @ np.asarray(origin) + to_object[:3, 3], to_object[:3, :3] @ np.asarray(direction)


def find_weights(shapes: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Barycentric coordinates, shape (N, 3), of a point of the plane in triangles, shape (N, 3, 2)."""
    ways = shapes - point
    first, second = np.roll(ways, -1, axis=1), np.roll(ways, -2, axis=1)
    shares = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return shares / shares.sum(axis=1, keepdims=True)


def find_chart_triangles(skin: PosedSkin, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Triangles on which a pattern of this number lies, int array of shape (N,), and their (s, t), shape (N, 3, 2)."""
    for layer in skin.charts:
        owned = np.abs(layer[:, 2] - number) < 0.5
        if owned.any():
            found = np.flatnonzero(owned[skin.corners].all(axis=1))
            return found, layer[skin.corners[found], :2].astype(np.float64)
    return np.empty(0, np.intp), np.empty((0, 3, 2))


def find_shown(skin: PosedSkin, number: int, where: Sequence[float] | np.ndarray = CENTER) -> list[Shown]:
    """Where a place of a pattern's picture is shown: once, or more often under modifiers that multiply the mesh.

    `where` is (s, t); the middle if not given.
    """
    triangles, shapes = find_chart_triangles(skin, number)
    weights = find_weights(shapes, np.asarray(where))
    inside = (weights >= -EDGE).all(axis=1)
    found = []
    for triangle, shape, weight in zip(triangles[inside], shapes[inside], weights[inside], strict=True):
        ends = skin.points[skin.triangles[triangle]]
        sides = np.linalg.solve(shape[1:] - shape[0], ends[1:] - ends[0])
        found.append(Shown(weight @ ends, sides))
    return found


def covers(outline: Outline, pattern: PatternSettings, place: Place) -> bool:
    """Whether a place lies within a pattern's picture."""
    try:
        chart = make_chart(outline, pattern)
    except SkinningError:
        return False
    corners = outline.mesh.triangles[place.triangle]
    index = np.minimum(np.searchsorted(chart.corners, corners), len(chart.corners) - 1)
    if (chart.corners[index] != corners).any():
        return False
    where = place.weights @ chart.coordinates[index]
    return bool(((where >= 0) & (where <= 1)).all())


def find_covering(obj: bpy.types.Object, outline: Outline, place: Place) -> int:
    """Index of the pattern that lies at a place, the active one before others; -1 where there is none."""
    settings = settings_of(obj)
    order = sorted(range(len(settings.patterns)), key=lambda index: index != settings.active_pattern)
    shown = (index for index in order if settings.patterns[index].show)
    return next((index for index in shown if covers(outline, settings.patterns[index], place)), -1)


def read_state(pattern: PatternSettings) -> tuple:
    """Where a pattern lies, for `write_state`."""
    values = (getattr(pattern, name) for name in PLACING)
    plain = tuple(value if isinstance(value, str | float | bool) else tuple(value) for value in values)
    return plain, tuple(tuple(one.location) for one in pattern.stroke)


def write_state(pattern: PatternSettings, state: tuple) -> None:
    """Lay a pattern where it was; it is not shown there before `update`."""
    with muted():
        for name, value in zip(PLACING, state[0], strict=True):
            setattr(pattern, name, value)
        _write_stroke(pattern, state[1])


def _write_stroke(pattern: PatternSettings, points: Sequence[Sequence[float]] | np.ndarray) -> None:
    pattern.stroke.clear()
    for point in points:
        pattern.stroke.add().location = point


def put(pattern: PatternSettings, place: Place) -> None:
    """Take the center of a pattern to a place; it is not shown there before `update`."""
    if pattern.space == "UV" and place.uv is None:
        raise SkinningError("The mesh has no UV map: unwrap it first, or set Place In to Surface")
    with muted():
        pattern.stroke.clear()
        pattern.location = place.point
        if place.uv is not None:
            pattern.uv = place.uv


def place_pattern(
    obj: bpy.types.Object,
    pattern: PatternSettings,
    location: Sequence[float] | None = None,
    uv: Sequence[float] | None = None,
    angle: float | None = None,
    size: Sequence[float] | None = None,
) -> None:
    """Take the center of a pattern to a place, or turn and scale it where it is; in which space stays as it is.

    Parameters
    ----------
    obj : Object
    pattern : PatternSettings
    location : sequence of 3 floats, optional
        Place on the mesh at rest, object space: the skin nearest to it.
    uv : sequence of 2 floats, optional
        Place in the UV map; where islands overlap, the one nearest to `location`.
    angle : float, optional
        Turned counter-clockwise by, radians.
    size : sequence of 2 floats, optional

    Raises
    ------
    SkinningError
        Where there is no such place, or the pattern can not lie there; nothing is changed then.
    """
    if location is None and uv is None and angle is None and size is None:
        raise SkinningError("No place was given: give location=(x, y, z) on the mesh at rest, or uv=(u, v)")
    outline, before = outline_of(obj), read_state(pattern)
    near = np.array(pattern.location if location is None else location)
    try:
        if uv is not None:
            put(pattern, locate_uv(outline.mesh, uv, near))
        elif location is not None:
            put(pattern, locate_point(outline.mesh, near))
        with muted():
            pattern.turn = pattern.turn if angle is None else angle
            pattern.size = pattern.size if size is None else size
        make_chart(outline, pattern)
    except SkinningError:
        write_state(pattern, before)
        raise
    update(obj)


def resample(points: np.ndarray, count: int = MOST_STROKE_POINTS) -> np.ndarray:
    """Points at even distances along a line of points, shape (K, n), the first three numbers of which are places.

    Returns
    -------
    float64 array, shape (count, n)
        Fewer where there were fewer.
    """
    points = np.asarray(points, np.float64)
    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1))])
    stops = np.linspace(0.0, ways[-1], min(count, len(points)))
    return np.stack([np.interp(stops, ways, column) for column in points.T], axis=1)


def measure_line(points: np.ndarray) -> float:
    """Length of a line of points, shape (K, 3), as a stroke: the trembling of a hand does not make it longer."""
    return float(np.linalg.norm(np.diff(resample(points), axis=0), axis=1).sum())


def measure_aspect(mesh: ChartMesh, pattern: PatternSettings) -> float:
    """Height over width of a pattern's picture as it lies on the skin."""
    try:
        width, height = np.linalg.norm(find_sides(mesh, find_place(mesh, pattern), pattern), axis=1)
    except SkinningError:  # it lies nowhere yet
        width, height = pattern.size
    return float(height / width) if width > 0 and height > 0 else 1.0


def lay_along(
    obj: bpy.types.Object, pattern: PatternSettings, points: Sequence[Sequence[float]] | np.ndarray, width: float = 0.0
) -> None:
    """Lay a pattern on the surface along a stroke, from end to end.

    Parameters
    ----------
    obj : Object
    pattern : PatternSettings
    points : sequence of at least 2 points
        On the mesh at rest, object space.
    width : float
        Extent across the stroke, object units; 0 keeps the ratio of the picture's sides.

    Raises
    ------
    SkinningError
        Where the stroke can not be followed; nothing is changed then.
    """
    if len(points) < 2:
        raise SkinningError("A stroke has at least 2 points: draw one on the skin, or give points on the mesh at rest")
    outline, before = outline_of(obj), read_state(pattern)
    mesh = outline.mesh
    line = resample(np.array(points, np.float32))
    width = width or measure_line(line) * measure_aspect(mesh, pattern)
    stroke = trace_stroke(
        line, SMOOTH * width, mesh.points, mesh.triangle_points, mesh.normals, mesh.centers, mesh.radii
    )
    half = [np.interp(0.5 * stroke.length, stroke.lengths, stroke.points[:, axis]) for axis in range(3)]
    middle = locate_point(mesh, np.array(half))
    segment = np.clip(np.searchsorted(stroke.lengths, 0.5 * stroke.length) - 1, 0, len(stroke.points) - 2)
    along = surface_frame(middle) @ (stroke.points[segment + 1] - stroke.points[segment])
    try:
        with muted():
            pattern.space = pattern.placed_in = "SURFACE"
            put(pattern, middle)
            pattern.turn = math.atan2(along[1], along[0])  # how it lies should it be taken off the stroke
            pattern.size = stroke.length, width
            _write_stroke(pattern, line)
        make_chart(outline, pattern)
    except SkinningError:
        write_state(pattern, before)
        raise
    update(obj)
