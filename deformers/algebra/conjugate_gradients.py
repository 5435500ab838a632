"""Conjugate gradients for one system, or for several with the same matrix at once."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Maps values to an array of their shape and dtype
Operator = Callable[[np.ndarray], np.ndarray]


def solve(
    apply: Operator,
    right: np.ndarray,
    start: np.ndarray,
    precondition: Operator,
    is_done: Callable[[int, np.ndarray, np.ndarray], bool],
    most_steps: int,
) -> np.ndarray:
    """Solve A x = b by preconditioned conjugate gradients: float array, (N,) or (N, K).

    Parameters
    ----------
    apply : callable
        Multiplies A, symmetric and positive definite, by values, shape (N,) or (N, K).
    right : float array, shape (N,) or (N, K)
        b; each column is a system of its own.
    start : float array, shape (N,) or (N, K)
        First x; its dtype is that of all steps.
    precondition : callable
        Multiplies an approximate inverse of A by a residual, shape (N,) or (N, K).
    is_done : callable
        Stop rule, called before each step with its number, the preconditioned residual, shape (N,) or (N, K), and the
        residual's product with it, float64, shape () or (K,). It may report progress.

    Notes
    -----
    Hestenes & Stiefel 1952.
    """
    values = start.copy()
    residual = right - apply(values)
    change = precondition(residual)
    direction, product = change, _multiply(residual, change)
    for step in range(most_steps):
        if is_done(step, change, product):
            break
        image = apply(direction)
        length = _divide(product, _multiply(direction, image)).astype(values.dtype)
        values += length * direction
        residual -= length * image
        change = precondition(residual)
        following = _multiply(residual, change)
        direction = change + _divide(following, product).astype(values.dtype) * direction
        product = following
    return values


def _multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Inner products of the columns: float64, shape () or (K,)."""
    return np.asarray(first @ second if first.ndim == 1 else np.einsum("nk,nk->k", first, second), np.float64)


def _divide(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Quotients; 0 by 0 is 0, for columns that are solved exactly."""
    return np.asarray(first / np.maximum(second, 1e-300))
