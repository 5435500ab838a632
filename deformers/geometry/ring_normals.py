"""Fast normals of a moving mesh: for each vertex from four of its neighbors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .solid import vertex_normals
from .vectors import normalize


@dataclass(frozen=True)
class Rings:
    """Four neighbors of each vertex, whose diagonals span its tangent plane.

    Attributes
    ----------
    corners : int array, shape (4, V)
        In order around the vertex; the vertex itself if it has too few neighbors.
    signs : float32 array, shape (V,)
        1, or -1 if the cross product of the diagonals points inward.
    """

    corners: np.ndarray
    signs: np.ndarray


def find_rings(points: np.ndarray, triangles: np.ndarray) -> Rings:
    """Choose the neighbors from which normals are estimated.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    triangles : int array, shape (T, 3)
        Counter-clockwise from outside.
    """
    normals = vertex_normals(points.astype(np.float64), triangles)
    begins, ends = _list_edges(triangles, len(points))
    angles = _measure_angles(points[ends] - points[begins], normals[begins])
    order = np.lexsort((angles, begins))
    ends, counts = ends[order], np.bincount(begins, minlength=len(points))
    firsts = np.cumsum(counts) - counts
    itself = np.arange(len(points))
    corners = np.stack([itself, itself, itself, itself])
    for quarter in range(4):
        steps = counts * quarter // 4
        many = counts > 2
        corners[quarter, many] = ends[(firsts + steps)[many]]
    two = counts == 2
    corners[2, two], corners[3, two] = ends[firsts[two]], ends[firsts[two] + 1]
    plain = Rings(corners, np.ones(len(points), np.float32))
    is_inner = np.einsum("vi,vi->v", estimate_normals(plain, points), normals) < 0.0
    return Rings(corners, np.where(is_inner, -1.0, 1.0).astype(np.float32))


def estimate_normals(rings: Rings, points: np.ndarray) -> np.ndarray:
    """Normals of all vertices of a posed mesh.

    Parameters
    ----------
    rings : Rings
        Of the mesh at rest.
    points : float array, shape (V, 3)

    Returns
    -------
    float32 array, shape (V, 3)
        Of any length, outward; 0 for a vertex without faces.
    """
    rows = np.ascontiguousarray(points.T, np.float32)
    first, second, third, fourth = (rows.take(corners, axis=1) for corners in rings.corners)
    along, across = (third - first) * rings.signs, fourth - second
    normals = np.empty((len(points), 3), np.float32)
    normals[:, 0] = along[1] * across[2] - along[2] * across[1]
    normals[:, 1] = along[2] * across[0] - along[0] * across[2]
    normals[:, 2] = along[0] * across[1] - along[1] * across[0]
    return normals


def _list_edges(triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Start and end vertices of all edges, each in both directions, once."""
    pairs = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]]).astype(np.int64)
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    return np.divmod(np.unique(pairs[:, 0] * count + pairs[:, 1]), count)


def _measure_angles(offsets: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """Angles of edges about normals, both of shape (E, 3), from a direction that depends on the normal only."""
    normals = normalize(normals)
    across = np.eye(3)[np.abs(normals).argmin(axis=1)]
    right = np.cross(across, normals)
    up = np.cross(normals, right)
    return np.arctan2(np.einsum("ei,ei->e", offsets, up), np.einsum("ei,ei->e", offsets, right))
