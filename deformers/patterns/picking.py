"""The posed skin under a ray, and where on it patterns are seen: what lies under the mouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from .chart_mesh import ChartMesh
from .charts import Chart
from .surface_points import SurfacePoint

CENTER = np.array([0.5, 0.5])
"""Middle of a height map, (s, t)."""

EDGE_TOLERANCE = 1e-6
"""How far beside a triangle a point may lie, as a fraction of the triangle's height, and still be on it."""


@dataclass(frozen=True)
class PosedSkin:
    """A mesh after all modifiers that are shown.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Object space.
    triangles : int array, shape (T, 3)
        Vertices, counter-clockwise seen from outside.
    corners : int array, shape (T, 3)
        The triangles' corners, as indices of the mesh's corners.
    charts : tuple of float32 arrays, shape (C, 3)
        Layers of charts: (s, t) of each corner and the pattern's number.
    rest : float64 array, shape (V, 3), or None
        Positions at rest, object space; None where modifiers do not keep them.
    """

    points: np.ndarray
    triangles: np.ndarray
    corners: np.ndarray
    charts: tuple[np.ndarray, ...]
    rest: np.ndarray | None


@dataclass(frozen=True)
class SkinHit:
    """Where a ray meets the skin.

    Attributes
    ----------
    point : float64 array, shape (3,)
        On the posed skin, object space.
    normal : float64 array, shape (3,)
        Of its triangle, unit length, object space.
    rest : float64 array, shape (3,)
        The same point at rest, object space.
    """

    point: np.ndarray
    normal: np.ndarray
    rest: np.ndarray


@dataclass(frozen=True)
class ShownPoint:
    """Where a point of a pattern's height map is seen on the posed skin.

    Attributes
    ----------
    point : float64 array, shape (3,)
        Object space.
    sides : float64 array, shape (2, 3)
        The height map's lower and left side there, object space.
    """

    point: np.ndarray
    sides: np.ndarray


def find_barycentric(shapes: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Barycentric coordinates of a point of the plane, shape (2,), in triangles, shape (T, 3, 2): shape (T, 3)."""
    offsets = shapes - point
    first, second = np.roll(offsets, -1, axis=1), np.roll(offsets, -2, axis=1)
    areas = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return areas / areas.sum(axis=1, keepdims=True)


def cast_ray(skin: PosedSkin, origin: np.ndarray, direction: np.ndarray) -> SkinHit | None:
    """Find where a ray first meets the skin.

    Parameters
    ----------
    origin, direction : float arrays, shape (3,)
        Of the ray, object space. The direction may have any length but 0.

    Returns
    -------
    SkinHit, or None where the ray passes by

    Raises
    ------
    SkinningError
        Where positions at rest are not known.
    """
    crossed = cross_triangles(skin.points, skin.triangles, origin, direction)
    if crossed is None:
        return None
    if skin.rest is None:
        raise SkinningError(
            "A modifier makes a new mesh with unknown rest positions: disable it while you place patterns"
        )
    ends, weights = crossed
    shape = skin.points[ends]
    normal = np.cross(shape[1] - shape[0], shape[2] - shape[0])
    return SkinHit(weights @ shape, normal / np.linalg.norm(normal), weights @ skin.rest[ends])


def cross_triangles(
    points: np.ndarray, triangles: np.ndarray, origin: np.ndarray, direction: np.ndarray
) -> tuple[np.ndarray, np.ndarray] | None:
    """Find where a ray first meets triangles.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    origin, direction : float arrays, shape (3,)
        Of the ray, in the space of the points. The direction may have any length but 0.

    Returns
    -------
    ends : int array, shape (3,)
        Vertices of the triangle.
    weights : float64 array, shape (3,)
        Barycentric coordinates in it.
    None where the ray passes by.

    Notes
    -----
    All triangles are tested at once. The skin changes between most rays, as a pattern that is dragged displaces it, and
    a tree of its triangles takes longer to build than this: see `bridge.meshes.rays`.
    """
    direction = np.asarray(direction, np.float64) / np.linalg.norm(direction)
    axis = np.eye(3)[np.abs(direction).argmin()]
    first = np.cross(direction, axis) / np.linalg.norm(np.cross(direction, axis))
    seen = (points - origin) @ np.stack([first, np.cross(direction, first), direction], axis=1)
    x, y = (seen[:, axis][triangles] for axis in range(2))
    around = (x.min(axis=1) <= 0) & (x.max(axis=1) >= 0) & (y.min(axis=1) <= 0) & (y.max(axis=1) >= 0)
    near = np.flatnonzero(around)
    weights = find_barycentric(seen[triangles[near], :2], np.zeros(2))
    inside = (weights >= -EDGE_TOLERANCE).all(axis=1)
    near, weights = near[inside], weights[inside]
    distances = (weights * seen[triangles[near], 2]).sum(axis=1)
    if not (distances > 0).any():
        return None
    best = int(np.where(distances > 0, distances, np.inf).argmin())
    return triangles[near[best]], weights[best]


def cast_ray_at_rest(mesh: ChartMesh, origin: np.ndarray, direction: np.ndarray) -> SkinHit | None:
    """Find where a ray first meets a mesh at rest: see `cast_ray`.

    Parameters
    ----------
    origin, direction : float arrays, shape (3,)
        Object space.
    """
    return cast_ray(PosedSkin(mesh.points, mesh.triangle_points, mesh.triangles, (), mesh.points), origin, direction)


def carry_ray(to_object: np.ndarray, origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Bring a ray from world to object space.

    Parameters
    ----------
    to_object : float array, shape (4, 4)
        From world to object space.
    origin, direction : float arrays, shape (3,)
        World space.

    Returns
    -------
    origin, direction : float64 arrays, shape (3,)
        Object space; the direction keeps no length.
    """
    return to_object[:3, :3] @ np.asarray(origin) + to_object[:3, 3], to_object[:3, :3] @ np.asarray(direction)


def find_pattern_triangles(skin: PosedSkin, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the triangles of the posed skin that a pattern lies on.

    Parameters
    ----------
    number : int
        Of the pattern.

    Returns
    -------
    triangles : int array, shape (N,)
    shapes : float64 array, shape (N, 3, 2)
        (s, t) of their corners.
    """
    for layer in skin.charts:
        owned = np.abs(layer[:, 2] - number) < 0.5
        if owned.any():
            found = np.flatnonzero(owned[skin.corners].all(axis=1))
            return found, layer[skin.corners[found], :2].astype(np.float64)
    return np.empty(0, np.intp), np.empty((0, 3, 2))


def find_shown(skin: PosedSkin, number: int, where: Sequence[float] | np.ndarray = CENTER) -> list[ShownPoint]:
    """Find where a point of a pattern's height map is seen.

    Parameters
    ----------
    number : int
        Of the pattern.
    where : float array, shape (2,)
        (s, t) in the height map.

    Returns
    -------
    list of ShownPoint
        One, or more under modifiers that multiply the mesh; none where the pattern does not lie on it.
    """
    triangles, shapes = find_pattern_triangles(skin, number)
    weights = find_barycentric(shapes, np.asarray(where))
    inside = (weights >= -EDGE_TOLERANCE).all(axis=1)
    found = []
    for triangle, shape, weight in zip(triangles[inside], shapes[inside], weights[inside], strict=True):
        ends = skin.points[skin.triangles[triangle]]
        sides = np.linalg.solve(shape[1:] - shape[0], ends[1:] - ends[0])
        found.append(ShownPoint(weight @ ends, sides))
    return found


def covers(mesh: ChartMesh, chart: Chart, point: SurfacePoint) -> bool:
    """Whether a surface point lies within the height map that a chart lays on the mesh.

    Parameters
    ----------
    point : SurfacePoint
        Of the same mesh.
    """
    corners = mesh.triangles[point.triangle]
    index = np.minimum(np.searchsorted(chart.corners, corners), len(chart.corners) - 1)
    if (chart.corners[index] != corners).any():
        return False
    where = point.weights @ chart.coordinates[index]
    return bool(((where >= 0) & (where <= 1)).all())
