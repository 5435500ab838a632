"""What collapses, in numbers: volume, cross-section and edge stretch of a mesh. Pure functions, NumPy only.

Points are (V, 3) in any one unit; triangles are (T, 3) vertex indices, wound so that normals look outward.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]
Indices = NDArray[np.int64]


@dataclass(frozen=True)
class Contour:
    """Where a plane cuts a mesh: one segment for each triangle that it crosses, as points on the triangles' edges.

    It is tied to the mesh and not to a position in space, so it can follow the mesh into a pose.

    Attributes
    ----------
    edges : ndarray, shape (S, 2, 2)
        For both ends of each segment, the two vertices of the edge that the end lies on.
    fractions : ndarray, shape (S, 2)
        Where on its edge each end lies: 0 at the first vertex, 1 at the second.
    """

    edges: Indices
    fractions: Array


def triangulate(quads: Indices) -> Indices:
    """Return the triangles (2 * F, 3) of quads (F, 4)."""
    return np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def mesh_volume(points: Array, triangles: Indices) -> float:
    """Return the volume inside a closed mesh: the sum of the signed tetrahedra over its triangles.

    The unit is the cube of the points' unit. Where the mesh overlaps itself, the overlap counts twice.
    """
    corners = points[triangles] - points.mean(axis=0)
    return float(np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0)


def slice_mesh(points: Array, triangles: Indices, origin: Array, normal: Array) -> Contour:
    """Return the contour that the plane through `origin` (3,) with `normal` (3,) cuts from a mesh.

    A vertex that lies exactly in the plane counts as in front of it, so that a closed mesh gives closed contours.
    """
    heights = (points - origin) @ normal
    front = heights >= 0.0
    sides = front[triangles]
    crossed = triangles[(sides.sum(axis=1) == 1) | (sides.sum(axis=1) == 2)]
    sides = front[crossed]
    lonely = np.argmax(sides == (sides.sum(axis=1) == 1)[:, None], axis=1)
    rows = np.arange(len(crossed))
    apex, following, last = (crossed[rows, (lonely + step) % 3] for step in range(3))
    leaves = np.where(front[apex], 1, 0)[:, None, None]
    ends = np.stack([np.stack([apex, following], axis=1), np.stack([apex, last], axis=1)], axis=1)
    edges = np.where(leaves, ends, ends[:, ::-1])
    first, second = heights[edges[..., 0]], heights[edges[..., 1]]
    return Contour(edges, first / (first - second))


def contour_area(points: Array, contour: Contour) -> float:
    """Return the area inside a contour for points (V, 3): the length of its vector area, half the sum of p x q.

    The unit is the square of the points' unit. A contour that a pose has bent out of its plane counts with the largest
    area of its shadow; parts that are turned over count negative.
    """
    starts, ends = points[contour.edges[..., 0]], points[contour.edges[..., 1]]
    segments = starts + contour.fractions[..., None] * (ends - starts)
    segments = segments - segments.mean(axis=(0, 1)) if len(segments) else segments
    return float(np.linalg.norm(np.cross(segments[:, 0], segments[:, 1]).sum(axis=0)) / 2.0)


def cross_section_area(points: Array, triangles: Indices, origin: Array, normal: Array) -> float:
    """Return the area (unit squared) that a plane through `origin` (3,) with `normal` (3,) cuts from a closed mesh."""
    return contour_area(points, slice_mesh(points, triangles, origin, normal))


def smallest_section(
    rest_points: Array, posed_points: Array, triangles: Indices, start: Array, end: Array, count: int = 60
) -> tuple[float, float]:
    """Return how much of its cross-section a limb keeps in a pose, where it keeps least.

    The rest shape is sliced by `count` planes across the limb's axis, from `start` (3,) to `end` (3,) in rest space.
    Each contour follows the skin into the pose, where its area is compared with that at rest.

    Returns
    -------
    smallest : float
        Posed area over rest area, 1 where nothing is lost.
    position : float
        Where it was found: 0 at `start`, 1 at `end`.
    """
    positions = np.linspace(0.0, 1.0, count)
    ratios = np.empty(count)
    for number, position in enumerate(positions):
        contour = slice_mesh(rest_points, triangles, start + position * (end - start), end - start)
        ratios[number] = contour_area(posed_points, contour) / contour_area(rest_points, contour)
    smallest = int(np.argmin(ratios))
    return float(ratios[smallest]), float(positions[smallest])


def mesh_edges(faces: Indices) -> Indices:
    """Return the unique edges (E, 2) of faces (F, N) with N corners each."""
    sides = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=2).reshape(-1, 2), axis=1)
    return np.unique(sides, axis=0)


def largest_edge_stretch(rest_points: Array, posed_points: Array, edges: Indices) -> float:
    """Return the largest ratio of an edge's posed length to its rest length, for edges (E, 2)."""
    rest, posed = (
        np.linalg.norm(points[edges[:, 1]] - points[edges[:, 0]], axis=1) for points in (rest_points, posed_points)
    )
    return float((posed / rest).max())
