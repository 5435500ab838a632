"""The volume inside a skin, and moves that bring it back."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import Surface

LEAST_VOLUME = 1e-4
"""Volume, in cubes of the surface's size, below which a mesh holds none."""

VOLUME_TOLERANCE = 2e-4
"""Share of the volume that may be lacking."""

MOST_SWELLING = 1.0
"""Largest move in a step, in what a vertex may move."""


class VolumeKeeper:
    """Finds what gives a posed skin its volume again.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    surface : Surface
        Of the same vertices, in any shape.
    """

    def __init__(self, points: np.ndarray, surface: Surface) -> None:
        self._surface, self._corners = surface, np.ascontiguousarray(surface.triangles.T)
        self.volume = self.measure(points)
        size = float(np.ptp(points, axis=0).max(initial=0.0))
        self.holds_volume = abs(self.volume) > LEAST_VOLUME * size**3

    def with_points(self, points: np.ndarray) -> VolumeKeeper:
        """The same for another shape of the same vertices, `points` of shape (V, 3)."""
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
        """Moves of posed points along their normals that bring the volume back, by Newton's method.

        Parameters
        ----------
        points : float array, shape (V, 3)
        first, spare : float arrays, shape (V,)
            How far each may move, beside the others, in one step; `spare` where `first` is not enough.

        Returns
        -------
        float32 array, shape (V, 3)
        """
        welded, moves = self._surface.welded, np.zeros((len(points), 3), np.float32)
        corners, whole = welded[self._corners], welded == np.arange(len(points))
        for amounts in (first, first, spare, spare):
            volume, normals = self._measure(points + moves)
            lack = self.volume - volume
            if abs(lack) <= VOLUME_TOLERANCE * abs(self.volume):
                break
            sums = np.empty((3, len(points)))
            for axis in range(3):  # the gradient of the volume is a sixth of these: of twice the areas at a vertex
                sums[axis] = sum(np.bincount(corner, normals[axis], len(points)) for corner in corners)
            sums, amounts = sums[:, welded], amounts[welded]  # vertices at one position stay together
            lengths = np.sqrt((sums * sums).sum(axis=0))
            slope = max(float((amounts * lengths)[whole].sum()) / 6.0, abs(lack) / MOST_SWELLING)
            moves += (sums * (amounts * (lack / slope) / np.maximum(lengths, 1e-300))).T.astype(np.float32)
        return moves
