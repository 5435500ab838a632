"""The posed skin under the mouse: the point that a ray hits, and the positions of patterns on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from .chart_mesh import ChartMesh
from .charts import Chart
from .surface_points import SurfacePoint, find_barycentric

EDGE_TOLERANCE = 1e-6  # of the height of a triangle: a point on an edge must be in one of the two triangles


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
        The same triangles as corners of the mesh.
    charts : tuple of float32 arrays, shape (C, 3)
        Layers of charts: (s, t) and the number of the pattern at each corner.
    rest : float64 array, shape (V, 3), or None
        Positions at rest, object space; None if a modifier does not keep them.
    """

    points: np.ndarray
    triangles: np.ndarray
    corners: np.ndarray
    charts: tuple[np.ndarray, ...]
    rest: np.ndarray | None


@dataclass(frozen=True)
class SkinHit:
    """The point in which a ray meets the skin: float64 arrays, shape (3,), object space.

    Attributes
    ----------
    point : array
        On the posed skin.
    normal : array
        Unit normal of the triangle.
    rest : array
        The point at rest.
    """

    point: np.ndarray
    normal: np.ndarray
    rest: np.ndarray


@dataclass(frozen=True)
class ShownPoint:
    """A point of a pattern's height map on the posed skin.

    Attributes
    ----------
    point : float64 array, shape (3,)
        Object space.
    sides : float64 array, shape (2, 3)
        Lower and left side of the height map as they would be there, object space.
    """

    point: np.ndarray
    sides: np.ndarray


def cast_ray(skin: PosedSkin, origin: np.ndarray, direction: np.ndarray) -> SkinHit | None:
    """Find the first point in which a ray meets the skin; None if it misses.

    Raises SkinningError if positions at rest are unknown.

    Parameters
    ----------
    origin, direction : float arrays, shape (3,)
        The ray, object space. The direction may have any length but 0.
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
    """Find the first of some triangles, int array, shape (T, 3), that a ray meets; None if it misses all.

    Parameters
    ----------
    points : float array, shape (V, 3)
    origin, direction : float arrays, shape (3,)
        The ray, in the space of the points. The direction may have any length but 0.

    Returns
    -------
    ends : int array, shape (3,)
        Vertices of the triangle.
    weights : float64 array, shape (3,)
        Barycentric coordinates of the point in it.

    Notes
    -----
    All triangles are tested at once. The skin changes between most rays, because a dragged pattern displaces it, and
    building a tree of its triangles takes longer than this test: see `bridge.meshes.rays`.
    """
    # seen along the ray, the triangles that it crosses contain the origin
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
    """Find the first point in which a ray meets a mesh at rest, as `cast_ray` does.

    `origin` and `direction`, float arrays, shape (3,): the ray, object space.
    """
    return cast_ray(PosedSkin(mesh.points, mesh.triangle_points, mesh.triangles, (), mesh.points), origin, direction)


def carry_ray(to_object: np.ndarray, origin: np.ndarray, direction: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Transform a ray by the matrix from world to object space, shape (4, 4); the length of its direction changes."""
    return to_object[:3, :3] @ np.asarray(origin) + to_object[:3, 3], to_object[:3, :3] @ np.asarray(direction)


def find_pattern_triangles(skin: PosedSkin, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the triangles under the pattern of a number, int array, shape (N,), and their (s, t), shape (N, 3, 2)."""
    for layer in skin.charts:
        owned = np.abs(layer[:, 2] - number) < 0.5
        if owned.any():
            found = np.flatnonzero(owned[skin.corners].all(axis=1))
            return found, layer[skin.corners[found], :2].astype(np.float64)
    return np.empty(0, np.intp), np.empty((0, 3, 2))


def find_shown(skin: PosedSkin, number: int, at: Sequence[float] = (0.5, 0.5)) -> list[ShownPoint]:
    """Find a point of a pattern's height map on the posed skin.

    Parameters
    ----------
    number : int
        The pattern's number.
    at : sequence of 2 floats
        (s, t) in the height map.

    Returns
    -------
    list of ShownPoint
        Several under modifiers that multiply the mesh, none if the pattern is not on it.
    """
    triangles, shapes = find_pattern_triangles(skin, number)
    weights = find_barycentric(shapes, np.asarray(at))
    inside = (weights >= -EDGE_TOLERANCE).all(axis=1)
    found = []
    for triangle, shape, weight in zip(triangles[inside], shapes[inside], weights[inside], strict=True):
        ends = skin.points[skin.triangles[triangle]]
        sides = np.linalg.solve(shape[1:] - shape[0], ends[1:] - ends[0])
        found.append(ShownPoint(weight @ ends, sides))
    return found


def covers(mesh: ChartMesh, chart: Chart, point: SurfacePoint) -> bool:
    """Whether a surface point of the mesh is within the height map that a chart lays on it."""
    corners = mesh.triangles[point.triangle]
    index = np.minimum(np.searchsorted(chart.corners, corners), len(chart.corners) - 1)
    if (chart.corners[index] != corners).any():
        return False
    coordinates = point.weights @ chart.coordinates[index]
    return bool(((coordinates >= 0) & (coordinates <= 1)).all())
