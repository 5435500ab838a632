"""Cotangent Laplacian of a surface, an M-matrix for any triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from .solid import area_vectors

# About half a degree: slivers would otherwise tie points together more firmly than float64 resolves.
MAX_COTANGENT = 100.0

# Edges across from angles over 90 degrees would be negative. With this strength, heat still passes.
MIN_STRENGTH = 1e-4


@dataclass(frozen=True)
class Laplacian:
    """L of a surface: L[i, i] is the sum of the strengths of i's edges, L[i, j] the negative strength of edge ij.

    Attributes
    ----------
    edges : int array, shape (E, 2)
        Each once, the smaller vertex first, ascending.
    strengths : float64 array, shape (E,)
        Positive, no unit.
    areas : float64 array, shape (V,)
        A third of the areas of each vertex's triangles, positive, in the square of the points' unit.
    """

    edges: np.ndarray
    strengths: np.ndarray
    areas: np.ndarray

    @property
    def diagonal(self) -> np.ndarray:
        """L[i, i], shape (V,)."""
        both = np.concatenate([self.strengths, self.strengths])
        return np.bincount(self.edges.T.ravel(), both, minlength=len(self.areas))


def drop_degenerate(triangles: np.ndarray) -> np.ndarray:
    """Leave out triangles, shape (T, 3), of less than three different corners."""
    return triangles[(triangles != np.roll(triangles, 1, axis=1)).all(axis=1)]


def check_faces(*triangles: np.ndarray) -> None:
    """Raise an error if a welded mesh has no faces.

    Raises SkinningError if all are empty.

    Parameters
    ----------
    *triangles : int arrays, shape (T, 3)
        Without degenerate triangles.
    """
    if not any(map(len, triangles)):
        raise SkinningError(
            "All faces of the mesh have zero area: repair the faces, or bring back vertices far from the others"
        )


def find_edges(triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The edges of triangles, shape (T, 3), whose corners differ.

    Returns
    -------
    edges : int array, shape (E, 2)
        Each once, the smaller vertex first, ascending.
    sides : int array, shape (T, 3)
        The edge across from each corner.
    """
    count = int(triangles.max(initial=-1)) + 1
    across = np.sort(triangles[:, [[1, 2], [2, 0], [0, 1]]], axis=2).astype(np.int64)
    keys, sides = np.unique(across[..., 0] * count + across[..., 1], return_inverse=True)
    return np.stack(np.divmod(keys, max(count, 1)), axis=1), sides.reshape(-1, 3)


def make_laplacian(points: np.ndarray, triangles: np.ndarray) -> Laplacian:
    """Make the Laplacian of a surface.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
        Any unit.
    triangles : int array, shape (T, 3)
        Three different corners each; corners at one position must be one vertex. Slivers, triangles without area and
        edges of more than two triangles are allowed.

    Notes
    -----
    Pinkall & Polthier 1993: the strength of an edge is half the sum of the cotangents across it. Deviation: cotangents
    are bounded by `MAX_COTANGENT` either way, and strengths are at least `MIN_STRENGTH`. So no entry off the diagonal
    is positive, and weights that solve (L + D) w = D p stay between the least and the largest p (maximum principle).
    """
    corners = points[triangles]
    normals = area_vectors(points, triangles)
    doubled = 2.0 * np.linalg.norm(normals, axis=1)
    cotangents = np.empty(triangles.shape)
    for corner in range(3):
        left, right = (corners[:, (corner + step) % 3] - corners[:, corner] for step in (1, 2))
        products = np.einsum("ti,ti->t", left, right)
        # Where the area is too small to divide by, only the sign counts.
        least = np.maximum(doubled, np.abs(products) / MAX_COTANGENT)
        cotangents[:, corner] = np.divide(products, least, out=np.zeros(len(least)), where=least > 0)
    edges, sides = find_edges(triangles)
    strengths = np.bincount(sides.ravel(), 0.5 * cotangents.ravel(), minlength=len(edges))
    areas = np.bincount(triangles.ravel(), np.repeat(doubled / 6.0, 3), minlength=len(points))
    mean = float(areas.mean()) or float(np.ptp(points, axis=0).max(initial=0.0)) ** 2 or 1.0
    min_area = 1e-6  # In mean vertex areas: a vertex with slivers only does not drop out.
    return Laplacian(edges, np.maximum(strengths, MIN_STRENGTH), np.maximum(areas, min_area * mean))
