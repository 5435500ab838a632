"""The Laplacian of a surface by cotangents, kept an M-matrix on any triangles."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from .solid import area_vectors

LARGEST_COTANGENT = 100.0
"""Of an angle; about half a degree. Slivers would else tie points together more firmly than float64 can tell."""

LEAST_STRENGTH = 1e-4
"""Of an edge: where angles over 90 degrees would have it negative, heat still passes."""

LEAST_AREA = 1e-6
"""Area of a vertex as a share of the mean: one that has slivers alone does not drop out."""


@dataclass(frozen=True)
class Laplacian:
    """L of a surface: L[i, i] is the sum of the strengths of i's edges, L[i, j] the strength of edge ij, negative.

    Attributes
    ----------
    edges : int array, shape (E, 2)
        Each once, the smaller vertex first, ascending.
    strengths : float64 array, shape (E,)
        Positive, no unit.
    areas : float64 array, shape (V,)
        Each vertex's third of the areas of its triangles, positive, in the square of the points' unit.
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
    """The triangles, shape (T, 3), whose three corners differ."""
    return triangles[(triangles != np.roll(triangles, 1, axis=1)).all(axis=1)]


def check_faces(*triangles: np.ndarray) -> None:
    """See that a welded mesh has faces whose corners differ.

    Parameters
    ----------
    *triangles : int arrays, shape (T, 3)
        What is left of them.

    Raises
    ------
    SkinningError
        Where none is.
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
    """The Laplacian of a surface.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
        Any unit.
    triangles : int array, shape (T, 3)
        Corners that differ; corners at one position are one vertex. Slivers, triangles without area and edges of more
        than two triangles are fine.

    Notes
    -----
    Pinkall & Polthier 1993: the strength of an edge is half the sum of the cotangents across it. Deviation: cotangents
    are at most `LARGEST_COTANGENT` either way, and strengths at least `LEAST_STRENGTH`. So no entry off the diagonal
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
        least = np.maximum(doubled, np.abs(products) / LARGEST_COTANGENT)
        cotangents[:, corner] = np.divide(products, least, out=np.zeros(len(least)), where=least > 0)
    edges, sides = find_edges(triangles)
    strengths = np.bincount(sides.ravel(), 0.5 * cotangents.ravel(), minlength=len(edges))
    areas = np.bincount(triangles.ravel(), np.repeat(doubled / 6.0, 3), minlength=len(points))
    mean = float(areas.mean()) or float(np.ptp(points, axis=0).max(initial=0.0)) ** 2 or 1.0
    return Laplacian(edges, np.maximum(strengths, LEAST_STRENGTH), np.maximum(areas, LEAST_AREA * mean))
