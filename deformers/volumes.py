"""Keeping the volume inside a skin."""

from __future__ import annotations

import numpy as np

LEAST_VOLUME = 1e-4
"""Volume, in cubes of the surface's size, below which a mesh holds none."""

MOST_SWELLING = 1.0
"""Largest move for the volume's sake, in moves that the particles have made."""


class VolumeKeeper:
    """Finds what gives a posed skin its volume again.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    triangles : int array, shape (T, 3)
        Of the closed parts.
    """

    def __init__(self, points: np.ndarray, triangles: np.ndarray) -> None:
        self._corners = np.ascontiguousarray(triangles.T)
        self.volume = self.measure(points)
        size = float(np.ptp(points, axis=0).max(initial=0.0))
        self.holds_volume = abs(self.volume) > LEAST_VOLUME * size**3

    def with_points(self, points: np.ndarray) -> VolumeKeeper:
        """The same for another shape of the same vertices."""
        return VolumeKeeper(points, self._corners.T)

    def measure(self, points: np.ndarray) -> float:
        """Volume inside posed points, shape (V, 3)."""
        return self._measure(points)[0]

    def _measure(self, points: np.ndarray) -> tuple[float, np.ndarray]:
        """Volume, and twice the area vectors of the triangles, shape (3, T)."""
        rows = np.ascontiguousarray((points - points.mean(axis=0)).T)
        a, b, c = (np.take(rows, corner, axis=1) for corner in self._corners)
        u, v = b - a, c - a
        normals = np.stack([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
        return float((a * normals).sum(dtype=float)) / 6.0, normals

    def find_swelling(self, points: np.ndarray, amounts: np.ndarray) -> np.ndarray:
        """Moves of posed points along their normals that bring the volume back: one Newton step.

        Parameters
        ----------
        points : float array, shape (V, 3)
        amounts : float array, shape (V,)
            How far each may move, beside the others.

        Returns
        -------
        float32 array, shape (V, 3)
        """
        volume, normals = self._measure(points)
        sums = np.empty((3, len(points)))
        for axis in range(3):  # the gradient of the volume is a third of the areas at a vertex
            sums[axis] = sum(np.bincount(corner, normals[axis], len(points)) for corner in self._corners)
        lengths = np.sqrt((sums * sums).sum(axis=0))
        slope = float((amounts * lengths).sum()) / 6.0
        lack = self.volume - volume
        if slope <= abs(lack) / MOST_SWELLING:
            slope = max(abs(lack) / MOST_SWELLING, 1e-300)
        moves = sums * (amounts * (lack / slope) / np.maximum(lengths, 1e-300))
        return moves.T.astype(np.float32)
