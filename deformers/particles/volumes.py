"""Measure and restore the volume inside a skin."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import Surface


class VolumeKeeper:
    """Finds moves that restore the volume of a posed skin.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    surface : Surface
        Surface of the same vertices, in any shape.
    """

    def __init__(self, points: np.ndarray, surface: Surface) -> None:
        self._surface, self._corners = surface, np.ascontiguousarray(surface.triangles.T)
        self.volume = self.measure(points)
        size = float(np.ptp(points, axis=0).max(initial=0.0))
        self.holds_volume = abs(self.volume) > 1e-4 * size**3

    def with_points(self, points: np.ndarray) -> VolumeKeeper:
        """Replace the rest shape of the vertices by points (V, 3)."""
        return VolumeKeeper(points, self._surface)

    def measure(self, points: np.ndarray) -> float:
        """Volume inside posed points, shape (V, 3)."""
        return self._measure(points)[0]

    def _measure(self, points: np.ndarray) -> tuple[float, np.ndarray]:
        """Volume, and twice the area vectors of the triangles, shape (3, T)."""
        rows = np.ascontiguousarray((points - points.mean(axis=0)).T)
        a, b, c = (np.take(rows, corner, axis=1) for corner in self._corners)
        u, v = b - a, c - a
        normals = np.stack([u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]])
        lids = self._surface.rims.find_lids(rows.T)
        lid_volume = np.einsum("ri,ri->", lids[:, 0], np.cross(lids[:, 1], lids[:, 2]))
        return (float((a * normals).sum(dtype=float)) + float(lid_volume)) / 6.0, normals

    def find_swelling(self, points: np.ndarray, first: np.ndarray, spare: np.ndarray) -> np.ndarray:
        """Find moves of posed points, shape (V, 3), along their normals that restore the volume, float32, shape (V, 3).

        `first` and `spare`, shape (V,), are relative and largest moves of each point in a step of Newton's method.
        `spare` is used if `first` is not enough.
        """
        welded, moves = self._surface.welded, np.zeros((len(points), 3), np.float32)
        corners, whole = welded[self._corners], welded == np.arange(len(points))
        for amounts in (first, first, spare, spare):
            volume, normals = self._measure(points + moves)
            lack = self.volume - volume
            if abs(lack) <= 2e-4 * abs(self.volume):
                break
            sums = np.empty((3, len(points)))
            for axis in range(3):  # the gradient of the volume is a sixth of twice the areas at a vertex
                sums[axis] = sum(np.bincount(corner, normals[axis], len(points)) for corner in corners)
            sums, amounts = sums[:, welded], amounts[welded]  # vertices at one position stay together
            lengths = np.sqrt((sums * sums).sum(axis=0))
            slope = max(float((amounts * lengths)[whole].sum()) / 6.0, abs(lack))
            moves += (sums * (amounts * (lack / slope) / np.maximum(lengths, 1e-300))).T.astype(np.float32)
        return moves
