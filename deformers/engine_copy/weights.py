"""Solve for sparse convex weights of many vertices at once."""

from __future__ import annotations

import numpy as np

from ..algebra.small_inverses import invert_definite


def solve_weights(products: np.ndarray, allowed: np.ndarray, influences: int) -> np.ndarray:
    """Find weights w >= 0 that sum to 1, few of them not zero, with the least w A w.

    Parameters
    ----------
    products : float array, shape (N, C, C)
        A, symmetric and positive definite.
    allowed : bool array, shape (N, C)
        At least one of each row.
    influences : int
        Largest number of weights of a row that are not 0.

    Returns
    -------
    float64 array, shape (N, C)

    Notes
    -----
    Without the bounds, w is A^-1 1 divided by its sum. Negative weights are removed first, the worst first, then the
    weights whose removal costs least: without weight i, w A w grows by w_i^2 / (A^-1)_ii. Removing a row and column of
    the matrix subtracts one outer product from its inverse. At last, the best of the removed bones is tried again.
    """
    products = np.asarray(products, np.float64)
    values = _eliminate(products, allowed, influences)
    for _ in range(2):
        gains = np.einsum("nij,nj->ni", products, values)
        cost = np.einsum("ni,ni->n", gains, values)
        gains = np.where(allowed & (values == 0.0), gains - cost[:, None], 0.0)
        rows = np.flatnonzero(gains.min(axis=1) < 0.0)
        if not rows.size:
            break
        tried = values[rows] > 0.0
        tried[np.arange(len(rows)), gains[rows].argmin(axis=1)] = True
        found = _eliminate(products[rows], tried, influences)
        better = np.einsum("ni,nij,nj->n", found, products[rows], found) < cost[rows]
        values[rows[better]] = found[better]
    return values


def _eliminate(products: np.ndarray, allowed: np.ndarray, influences: int) -> np.ndarray:
    """Solve as `solve_weights` does, by elimination alone."""
    count, size = allowed.shape
    both = allowed[:, :, None] & allowed[:, None]
    inverse = invert_definite(np.where(both, products, np.eye(size))) * both
    left, rows = allowed.copy(), np.arange(count)
    values = np.zeros(allowed.shape)
    for _ in range(size):
        sums = inverse[rows].sum(axis=2)
        values[rows] = sums / sums.sum(axis=1, keepdims=True)
        excess = left[rows].sum(axis=1) > influences
        is_negative = (values[rows] < 0.0) & left[rows]
        going = excess | is_negative.any(axis=1)
        rows, is_negative = rows[going], is_negative[going]
        if not rows.size:
            break
        diagonal = np.einsum("nii->ni", inverse[rows])
        costs = np.square(values[rows]) / np.where(left[rows], diagonal, 1.0)
        costs = np.where(is_negative, -1.0 - costs, costs)  # negative ones first, the worst of them
        worst = np.where(left[rows], costs, np.inf).argmin(axis=1)
        column = inverse[rows, :, worst]
        pivot = column[np.arange(len(rows)), worst]
        inverse[rows] -= column[:, :, None] * (column / pivot[:, None])[:, None]
        inverse[rows, worst], inverse[rows, :, worst] = 0.0, 0.0
        left[rows, worst] = False
        values[rows, worst] = 0.0
    return np.maximum(values, 0.0) / np.maximum(values, 0.0).sum(axis=1, keepdims=True)
