"""Corrective smoothing: a posed skin, smoothed, with the details that it has at rest.

Blender's modifier of the name in numbers, for its defaults (Simple, no pinned boundary): flesh is chosen among its
results too, and needs them in poses that the file does not show.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.vectors import measure_lengths, normalize, sum_by

# The modifier's own defaults
FACTOR, ITERATIONS = 0.5, 5


@dataclass(frozen=True, eq=False)
class Smoothing:
    """A mesh and its details at rest.

    Attributes
    ----------
    edges : int array, shape (E, 2)
    corners : int array, shape (3, C)
        Of each corner of the faces: the vertex before, its own, and the vertex after.
    details : float array, shape (C, 3)
        From smoothed to unsmoothed rest, in the axes of the corner.
    factors : float array, shape (V,)
        By how much a vertex goes to the middle of its neighbors in an iteration; 0 keeps it.
    """

    edges: np.ndarray
    corners: np.ndarray
    details: np.ndarray
    factors: np.ndarray

    @classmethod
    def of(cls, points: np.ndarray, edges: np.ndarray, corners: np.ndarray, factors: np.ndarray) -> Smoothing:
        """Of a mesh at rest, points (V, 3); `factors` (V,) are shares of the modifier's own factor."""
        neighbors = np.bincount(edges.ravel(), minlength=len(points))
        factors = FACTOR * factors / np.maximum(neighbors, 1)
        low = _smooth(points, edges, factors)
        details = np.einsum("cij,ci->cj", _find_axes(low, corners)[0], (points - low)[corners[1]])
        return cls(edges, corners, details, factors)

    def apply(self, posed: np.ndarray) -> np.ndarray:
        """A posed skin (V, 3), smoothed."""
        low = _smooth(posed, self.edges, self.factors)
        axes, angles = _find_axes(low, self.corners)
        own = self.corners[1]
        moves = angles[:, None] * np.einsum("cij,cj->ci", axes, self.details)
        sums = sum_by(own, moves, len(low))
        return low + sums / np.maximum(np.bincount(own, angles, len(low)), 1e-12)[:, None]


def _smooth(points: np.ndarray, edges: np.ndarray, factors: np.ndarray) -> np.ndarray:
    first, second = edges.T
    for _ in range(ITERATIONS):
        ways = points[second] - points[first]
        sums = sum_by(first, ways, len(points)) - sum_by(second, ways, len(points))
        points = points + factors[:, None] * sums
    return points


def _find_axes(points: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Axes of corners (C, 3, 3), columns: along their middle, across it, normal; and their angles (C,)."""
    before, own, after = points[corners]
    before, after = normalize(own - before), normalize(after - own)
    normals = normalize(np.cross(before, after))
    middles = normalize(before + after)
    angles = np.arccos(np.clip((before * after).sum(axis=1), -1.0, 1.0))
    angles[measure_lengths(normals) < 0.5] = 0.0
    return np.stack([middles, np.cross(normals, middles), normals], axis=2), angles


def list_corners(vertices: np.ndarray, firsts: np.ndarray) -> np.ndarray:
    """Corners of faces, each as the vertex before, its own and the one after: int array, shape (3, C).

    Parameters
    ----------
    vertices, firsts : int arrays, shapes (C,), (F,)
        Vertices of all corners, and each face's first corner.
    """
    counts = np.diff(firsts, append=len(vertices))
    starts, places = np.repeat(firsts, counts), np.arange(len(vertices)) - np.repeat(firsts, counts)
    counts = np.repeat(counts, counts)
    return vertices[[starts + (places - 1) % counts, starts + places, starts + (places + 1) % counts]]
