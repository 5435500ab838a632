"""Steps within limits: the least of a quadratic function in a box."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SHARES = (1.0, 0.5, 0.25, 0.1, 0.0)
"""Of second derivatives that are tried: far from the best pose they may lead uphill."""

LEAST_SHIFT = 1e-9
"""First multiple of the mean of the diagonal that is added to it, where nothing else helps."""

ROUNDS = 12
"""How often unknowns are fixed to their limits, or let go again."""


def add_definite(matrix: np.ndarray, bent: np.ndarray) -> np.ndarray:
    """Add as much of a matrix to another as leaves it positive definite.

    Parameters
    ----------
    matrix, bent : float64 arrays, shape (N, N)
        Symmetric; the second may have eigenvalues of any sign.

    Returns
    -------
    float64 array, shape (N, N)
    """
    shift = LEAST_SHIFT * float(np.trace(matrix)) / len(matrix)
    for share in SHARES:
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
    """Find x of the least `x H x / 2 + g x` between limits.

    Parameters
    ----------
    hessian : float64 array, shape (N, N)
        Positive definite.
    gradient : float64 array, shape (N,)
    lower, upper : float64 arrays, shape (N,)
        Not above 0, and not below.

    Returns
    -------
    solution : float64 array, shape (N,)
    solve : callable
        Solves with the same matrix, those unknowns that were fixed left at 0: (N,) to (N,).

    Notes
    -----
    An active set: what would break its limit is fixed there, and what would go back from its limit is let go, until
    neither happens or `ROUNDS` are over.
    """
    fixed = ((lower >= 0.0) & (gradient > 0.0)) | ((upper <= 0.0) & (gradient < 0.0)) | (upper - lower <= 0.0)
    solution, inverse, free = np.zeros(len(gradient)), np.zeros((0, 0)), np.flatnonzero(~fixed)
    for _ in range(ROUNDS):
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
