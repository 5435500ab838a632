"""Minimize quadratic functions within limits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def add_definite(matrix: np.ndarray, bent: np.ndarray) -> np.ndarray:
    """Add as much of `bent` to `matrix`, symmetric, shape (N, N), as keeps the sum positive definite."""
    shift = 1e-9 * float(np.trace(matrix)) / len(matrix)
    # Far from the best pose, second derivatives may lead uphill.
    for share in (1.0, 0.5, 0.25, 0.1, 0.0):
        if _is_definite(matrix + share * bent):
            return matrix + share * bent
    while not _is_definite(matrix):
        matrix = matrix + shift * np.eye(len(matrix))
        shift *= 10.0
    return matrix


def _is_definite(matrix: np.ndarray) -> bool:
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def solve_in_box(
    hessian: np.ndarray, gradient: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, Callable[[np.ndarray], np.ndarray]]:
    """Find the x between limits that minimizes `x H x / 2 + g x`.

    Parameters
    ----------
    hessian : float64 array, shape (N, N)
        Positive definite.
    gradient : float64 array, shape (N,)
    lower, upper : float64 arrays, shape (N,)
        At most 0, and at least 0.

    Returns
    -------
    solution : float64 array, shape (N,)
    solve : callable
        Solves with the same matrix, (N,) to (N,), with fixed unknowns at 0.

    Notes
    -----
    Active set: unknowns beyond a limit are fixed to it, and unknowns that would leave their limit inward are freed,
    until neither happens or after 12 rounds.
    """
    fixed = ((lower >= 0.0) & (gradient > 0.0)) | ((upper <= 0.0) & (gradient < 0.0)) | (upper - lower <= 0.0)
    solution, inverse, free = np.zeros(len(gradient)), np.zeros((0, 0)), np.flatnonzero(~fixed)
    for _ in range(12):
        free = np.flatnonzero(~fixed)
        inverse = np.linalg.inv(hessian[np.ix_(free, free)])
        held = np.where(fixed, solution, 0.0)
        solution = held.copy()
        solution[free] = -inverse @ (gradient[free] + hessian[free] @ held)
        outside = (solution < lower) | (solution > upper)
        if outside[free].any():
            solution = np.clip(solution, lower, upper)
            fixed |= outside
            continue
        slopes = hessian @ solution + gradient
        inward = fixed & (upper > lower) & np.where(solution <= lower, slopes < 0.0, slopes > 0.0)
        if not inward.any():
            break
        fixed &= ~(inward & (np.abs(slopes) == np.abs(slopes[inward]).max()))
    solution = np.clip(solution, lower, upper)

    def solve(right: np.ndarray) -> np.ndarray:
        result = np.zeros(len(gradient))
        result[free] = inverse @ right[free]
        return result

    return solution, solve
