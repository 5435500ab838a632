"""Inverses of many small matrices at once.

NumPy hands each one to LAPACK by itself, which in some of its builds starts threads for every one of them: on a busy
machine that takes ten times as long.
"""

from __future__ import annotations

import numpy as np

from .polar import determinants


def invert_three(matrices: np.ndarray) -> np.ndarray:
    """Invert 3 x 3 matrices by their cofactors; those without a determinant become 0: float array, (N, 3, 3).

    `matrices`, float array, shape (N, 3, 3).
    """
    first, second, third = matrices[:, :, 0], matrices[:, :, 1], matrices[:, :, 2]
    rows = np.stack([_cross(second, third), _cross(third, first), _cross(first, second)], axis=1)
    sizes = determinants(matrices)
    return rows * np.where(sizes != 0.0, 1.0 / np.where(sizes != 0.0, sizes, 1.0), 0.0)[:, None, None]


def _cross(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Cross products of vectors, shape (N, 3), much faster than NumPy's."""
    (a, b, c), (d, e, f) = first.T, second.T
    return np.stack([b * f - c * e, c * d - a * f, a * e - b * d], axis=1)


def invert_definite(matrices: np.ndarray) -> np.ndarray:
    """Invert symmetric positive definite matrices: float array, (N, C, C).

    `matrices`, float array, shape (N, C, C).

    Notes
    -----
    Each row in turn is eliminated from all others, without a search for the largest pivot, as such matrices need none.
    """
    inverses, size = np.array(matrices, np.float64), matrices.shape[1]
    chunk_numbers = 65_536  # Numbers to compute at a time: they stay in the processor's cache.
    length = max(1, chunk_numbers // max(1, size * size))
    for start in range(0, len(inverses), length):
        chunk = inverses[start : start + length]
        for row in range(size):
            pivots = 1.0 / chunk[:, row, row]
            column = chunk[:, :, row] * pivots[:, None]
            column[:, row] = 0.0
            pivot_row = chunk[:, row].copy()
            chunk -= column[:, :, None] * pivot_row[:, None]
            chunk[:, row] = pivot_row * pivots[:, None]
            chunk[:, :, row] = -column
            chunk[:, row, row] = pivots
    return inverses
