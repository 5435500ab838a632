"""Points of the skin: found by UV or as the nearest to a position, and the directions of u, v and "up" there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError, find_unusable
from ..geometry.vectors import measure_lengths, nearest_weights, normalize
from .chart_mesh import ChartMesh, meet_uv_box

UPRIGHT = 0.95
"""Where a unit normal's Z is at most this, the surface is a wall, on which Z is up; elsewhere, Y is."""


@dataclass(frozen=True)
class SurfacePoint:
    """A point of the skin.

    Attributes
    ----------
    triangle : int
        Of `ChartMesh.triangles`.
    weights : float64 array, shape (3,)
        Barycentric coordinates in the triangle.
    position : float64 array, shape (3,)
        Object space.
    normal : float64 array, shape (3,)
        Unit length, smooth across faces, object space.
    uv : float64 array, shape (2,), or None
    island : int
        The UV island; -1 without a UV map.
    overlaps : int
        Other UV islands that have a face at this UV.
    """

    face: int
    triangle: int
    weights: np.ndarray
    position: np.ndarray
    normal: np.ndarray
    uv: np.ndarray | None = None
    island: int = -1
    overlaps: int = 0


def locate_uv(mesh: ChartMesh, uv: Sequence[float] | np.ndarray, near: np.ndarray | None = None) -> SurfacePoint:
    """Find the surface point at a UV.

    Parameters
    ----------
    uv : float array, shape (2,)
    near : float array, shape (3,), or None
        Where islands overlap, the surface point nearest to this position, object space, is taken; None: the first.

    Returns
    -------
    SurfacePoint

    Raises
    ------
    SkinningError
        Where the mesh has no UV map, or no face at this UV.
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
    """Find the surface point that is nearest to a position, float array, shape (3,), object space."""
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
    """The triangles at a UV, int array of shape (N,), and its barycentric coordinates in them, shape (N, 3)."""
    near = np.flatnonzero(meet_uv_box(mesh, uv, uv))
    x, y = np.moveaxis(mesh.uv[mesh.triangles[near]] - uv, 2, 0)  # type: ignore[index]
    areas = np.roll(x, -1, axis=1) * np.roll(y, -2, axis=1) - np.roll(x, -2, axis=1) * np.roll(y, -1, axis=1)
    total = areas.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        weights = areas / total
    hit = (weights >= -1e-9).all(axis=1)
    return near[hit], np.clip(weights[hit], 0.0, 1.0)


def _make_point(mesh: ChartMesh, triangle: int, weights: np.ndarray, overlapping: np.ndarray) -> SurfacePoint:
    corners = mesh.triangles[triangle]
    ends = mesh.triangle_points[triangle]
    face = int(mesh.triangle_faces[triangle])
    island = -1 if mesh.islands is None else int(mesh.islands[face])
    return SurfacePoint(
        face=face,
        triangle=triangle,
        weights=weights,
        position=weights @ mesh.points[ends],
        normal=normalize(weights @ mesh.normals[ends]),
        uv=None if mesh.uv is None else weights @ mesh.uv[corners],
        island=island,
        overlaps=_count_others(mesh, overlapping, island),
    )


def _count_others(mesh: ChartMesh, triangles: np.ndarray, island: int) -> int:
    if mesh.islands is None:
        return 0
    return len(set(mesh.islands[mesh.triangle_faces[triangles]].tolist()) - {island})


def _check_numbers(values: Sequence[float] | np.ndarray, shape: tuple[int, ...], name: str) -> np.ndarray:
    values = np.asarray(values, np.float64)
    if values.shape != shape or find_unusable(values).any():
        raise SkinningError(
            f"A {name} of {shape[0]} numbers was expected, not {values.tolist()}: place the pattern again"
        )
    return values


def uv_frame(mesh: ChartMesh, point: SurfacePoint) -> np.ndarray:
    """Find the directions of u and v on the surface about a point, and how long they are there.

    Returns
    -------
    float64 array, shape (2, 3)
        dP/du and dP/dv, object units for one UV unit: of each component the median over the triangles of the island
        that touch the point's face, so that one badly mapped triangle does not matter.

    Raises
    ------
    SkinningError
        Where the mesh has no UV map, or it has no area there.
    """
    if mesh.uv is None or mesh.islands is None:
        raise SkinningError("The mesh has no UV map: unwrap it, or place the pattern on the surface")
    used = np.zeros(len(mesh.points), bool)
    used[mesh.corner_points[mesh.corners_of(np.array([point.face]))]] = True
    near = used[mesh.triangle_points].any(axis=1) & (mesh.islands[mesh.triangle_faces] == point.island)
    corners = mesh.triangles[near]
    flat, shapes = mesh.uv[corners], mesh.points[mesh.triangle_points[near]]
    flat_edges, edges = flat[:, 1:] - flat[:, :1], shapes[:, 1:] - shapes[:, :1]
    areas = flat_edges[:, 0, 0] * flat_edges[:, 1, 1] - flat_edges[:, 0, 1] * flat_edges[:, 1, 0]
    whole = np.abs(areas) > 1e-12 * np.square(flat_edges).sum(axis=(1, 2))
    if not whole.any():
        raise SkinningError("The UV map has no area here: unwrap the mesh again")
    return np.median(np.linalg.solve(flat_edges[whole], edges[whole]), axis=0)


def surface_frame(point: SurfacePoint) -> np.ndarray:
    """Find how a height map that is not rotated lies on the surface.

    Returns
    -------
    float64 array, shape (2, 3)
        Unit tangents: to the right, and up as far as the surface goes (object +Z; +Y where the surface is level), seen
        from outside.
    """
    normal = point.normal
    up = np.array([0.0, 0.0, 1.0] if abs(normal[2]) <= UPRIGHT else [0.0, 1.0, 0.0])
    up = normalize(up - normal * (up @ normal))
    return np.stack([np.cross(up, normal), up])
