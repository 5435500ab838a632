"""Surface points: found at a UV or as the nearest to a position, and the directions of u, v and "up" there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.vectors import measure_lengths, nearest_weights, normalize
from .chart_mesh import ChartMesh

MAX_WALL_NORMAL_Z = 0.95  # on steeper surfaces Z is up; on a level one Z has no direction, and Y is up


@dataclass(frozen=True)
class SurfacePoint:
    """A point of the skin.

    Attributes
    ----------
    triangle : int
        Index in `ChartMesh.triangles`.
    weights : float64 array, shape (3,)
        Barycentric coordinates in the triangle.
    position : float64 array, shape (3,)
        Object space.
    normal : float64 array, shape (3,)
        Unit length, smooth across faces, object space.
    uv : float64 array, shape (2,), or None
    island : int
        UV island, -1 without a UV map.
    overlaps : int
        Number of other UV islands that have a face at this UV.
    """

    face: int
    triangle: int
    weights: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    uv: np.ndarray | None = None
    island: int = -1
    overlaps: int = 0


def find_barycentric(shapes: np.ndarray, point: np.ndarray) -> np.ndarray:
    """Find barycentric coordinates of a point of the plane, shape (2,), in triangles, shape (T, 3, 2): shape (T, 3).

    They are not finite for triangles without an area.
    """
    offsets = shapes - point
    first, second = np.roll(offsets, -1, axis=1), np.roll(offsets, -2, axis=1)
    areas = first[..., 0] * second[..., 1] - first[..., 1] * second[..., 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        return areas / areas.sum(axis=1, keepdims=True)


def locate_uv(mesh: ChartMesh, uv: Sequence[float] | np.ndarray, near: np.ndarray | None = None) -> SurfacePoint:
    """Find the surface point at a UV.

    Raises SkinningError if the mesh has no UV map, or no face at this UV.

    Parameters
    ----------
    uv : float array, shape (2,)
    near : float array, shape (3,), or None
        Position, object space: if islands overlap at the UV, the nearest surface point is returned. None: the first.
    """
    uv = _check_numbers(uv, (2,), "UV")
    found, weights = _find_at_uv(mesh, uv)
    if not len(found):
        raise SkinningError(f"There is no face at UV ({uv[0]:.3f}, {uv[1]:.3f}): choose a UV on an island")
    best = 0
    if near is not None:
        near = _check_numbers(near, (3,), "position")
        points = np.einsum("nc,nci->ni", weights, mesh.points[mesh.triangle_points[found]])
        best = int(np.square(points - near).sum(axis=1).argmin())
    return _make_point(mesh, int(found[best]), weights[best], found)


def locate_point(mesh: ChartMesh, position: Sequence[float] | np.ndarray) -> SurfacePoint:
    """Find the surface point nearest to a position, float array, shape (3,), object space."""
    position = _check_numbers(position, (3,), "position")
    distances = measure_lengths(mesh.centers - position)
    near = np.flatnonzero(distances - mesh.radii <= (distances + mesh.radii).min() * (1 + 1e-9))
    shapes = mesh.points[mesh.triangle_points[near]]
    weights = nearest_weights(shapes, position)
    best = int(np.square(np.einsum("nc,nci->ni", weights, shapes) - position).sum(axis=1).argmin())
    point = _make_point(mesh, int(near[best]), weights[best], near[best : best + 1])
    if point.uv is None:
        return point
    return replace(point, overlaps=_count_others(mesh, _find_at_uv(mesh, point.uv)[0], point.island))


def _find_at_uv(mesh: ChartMesh, uv: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the triangles at a UV, int array, shape (N,), and its barycentric coordinates in them, shape (N, 3)."""
    uv_map = mesh.need_uv_map()
    near = np.flatnonzero(uv_map.meet_box(uv, uv))
    weights = find_barycentric(uv_map.corners[mesh.triangles[near]], uv)
    hit = (weights >= -1e-9).all(axis=1)
    return near[hit], np.clip(weights[hit], 0.0, 1.0)


def _make_point(mesh: ChartMesh, triangle: int, weights: np.ndarray, overlapping: np.ndarray) -> SurfacePoint:
    ends, face = mesh.triangle_points[triangle], int(mesh.triangle_faces[triangle])
    point = SurfacePoint(face, triangle, weights, weights @ mesh.points[ends], normalize(weights @ mesh.normals[ends]))
    if mesh.uv_map is None:
        return point
    uv, island = weights @ mesh.uv_map.corners[mesh.triangles[triangle]], int(mesh.uv_map.islands[face])
    return replace(point, uv=uv, island=island, overlaps=_count_others(mesh, overlapping, island))


def _count_others(mesh: ChartMesh, triangles: np.ndarray, island: int) -> int:
    islands = mesh.need_uv_map().islands
    return len(set(islands[mesh.triangle_faces[triangles]].tolist()) - {island})


def _check_numbers(values: Sequence[float] | np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if values.shape != shape or find_unusable(values).any():
        raise SkinningError(
            f"A {name} of {shape[0]} numbers was expected, not {values.tolist()}: place the pattern again"
        )
    return values


def uv_frame(mesh: ChartMesh, point: SurfacePoint) -> np.ndarray:
    """Find the directions of u and v on the surface about a point, and their lengths there.

    Raises SkinningError if the mesh has no UV map, or it has no area there.

    Returns
    -------
    float64 array, shape (2, 3)
        dP/du and dP/dv, object units for one UV unit. Each component is the median over the triangles of the island
        that touch the face of the point, so that one badly mapped triangle does not matter.
    """
    uv_map = mesh.need_uv_map()
    used = np.zeros(len(mesh.points), bool)
    used[mesh.corner_points[mesh.corners_of(np.array([point.face]))]] = True
    near = used[mesh.triangle_points].any(axis=1) & (uv_map.islands[mesh.triangle_faces] == point.island)
    flat, shapes = uv_map.corners[mesh.triangles[near]], mesh.points[mesh.triangle_points[near]]
    flat_edges, edges = flat[:, 1:] - flat[:, :1], shapes[:, 1:] - shapes[:, :1]
    areas = flat_edges[:, 0, 0] * flat_edges[:, 1, 1] - flat_edges[:, 0, 1] * flat_edges[:, 1, 0]
    whole = np.abs(areas) > 1e-12 * np.square(flat_edges).sum(axis=(1, 2))
    if not whole.any():
        raise SkinningError("The UV map has no area here: unwrap the mesh again")
    return np.median(np.linalg.solve(flat_edges[whole], edges[whole]), axis=0)


def surface_frame(point: SurfacePoint) -> np.ndarray:
    """Find how a height map that is not rotated lies on the surface.

    Returns a float64 array, shape (2, 3): unit tangents seen from outside: to the right, and up (toward object +Z, or
    +Y on a level surface).
    """
    normal = point.normal
    up = np.array([0.0, 0.0, 1.0] if abs(normal[2]) <= MAX_WALL_NORMAL_Z else [0.0, 1.0, 0.0])
    up = normalize(up - normal * (up @ normal))
    return np.stack([np.cross(up, normal), up])
