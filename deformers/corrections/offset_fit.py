"""Fit offsets of corrections to many poses by least squares."""

from __future__ import annotations

import numpy as np

from ..geometry.vectors import smooth_step


def find_mask(offsets: np.ndarray) -> np.ndarray:
    """Smooth mask, 0 to 1, shape (V,), of vertices with offsets, shape (K, V, 3), that matter beside the largest."""
    sizes = np.sqrt(np.square(offsets).sum(axis=2)).max(axis=0)
    low, high = 0.01, 0.04
    return smooth_step((sizes / max(float(sizes.max(initial=0.0)), 1e-30) - low) / (high - low))


class OffsetFit:
    """Offsets of all corrections of a mesh, which add up by their values.

    Parameters
    ----------
    masks : float array, shape (K, V)
        Share of each correction that a vertex takes.

    Notes
    -----
    For each vertex: min sum_f w_f |sum_k v_kf d_k - e_f|^2 over the offsets d_k of the corrections that reach it, with
    values v and wanted offsets e of example f. The examples must include each correction's own pose, or the system is
    singular.
    """

    def __init__(self, masks: np.ndarray) -> None:
        self.masks = np.asarray(masks, np.float32)
        self.rows = np.flatnonzero(self.masks.any(axis=0))
        count = len(self.masks)
        self._gram = np.zeros((count, count))
        self._products = np.zeros((count, len(self.rows), 3), np.float32)

    def add(self, values: np.ndarray, offsets: np.ndarray, weight: float = 1.0) -> None:
        """Add an example.

        Parameters
        ----------
        values : float array, shape (K,)
            Values of the corrections.
        offsets : float array, shape (n, 3)
            Wanted offsets of the vertices `rows`.
        """
        self._gram += weight * np.outer(values, values)
        for number in np.flatnonzero(values):
            self._products[number] += np.float32(weight * values[number]) * offsets.astype(np.float32)

    def solve(self) -> np.ndarray:
        """Solve for the offsets, float32, shape (K, V, 3)."""
        found = np.zeros((*self.masks.shape, 3), np.float32)
        if not len(self.rows):
            return found
        reached = self.masks[:, self.rows] > 0.0
        patterns, which = np.unique(reached, axis=1, return_inverse=True)
        which = which.reshape(-1)  # NumPy 2.0 alone gives it another shape
        for number, pattern in enumerate(patterns.T):
            keys, rows = np.flatnonzero(pattern), np.flatnonzero(which == number)
            wanted = self._products[np.ix_(keys, rows)].reshape(len(keys), -1)
            solved = np.linalg.solve(self._gram[np.ix_(keys, keys)], wanted.astype(np.float64))
            found[np.ix_(keys, self.rows[rows])] = solved.reshape(len(keys), -1, 3)
        found *= self.masks[:, :, None]
        return found
