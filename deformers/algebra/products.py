"""Matrix products in pieces that are fastest on one thread."""

from __future__ import annotations

import numpy as np

# Multiplications in one matrix product: OpenBLAS distributes larger ones over threads, whose start costs more than they
# save (and many times that on a busy machine).
MAX_PRODUCT_SIZE = 250_000


def multiply_rows(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Multiply matrices, shapes (N, M) and (M, K), in pieces of rows that BLAS multiplies in one thread: (N, K)."""
    if left.size * right.shape[1] <= MAX_PRODUCT_SIZE:
        return left @ right
    result = np.empty((len(left), right.shape[1]), np.result_type(left, right))
    rows = max(16, MAX_PRODUCT_SIZE // max(1, right.size))
    for start in range(0, len(left), rows):
        np.matmul(left[start : start + rows], right, out=result[start : start + rows])
    return result


def multiply_columns(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Multiply matrices in pieces of columns that BLAS multiplies in one thread.

    Parameters
    ----------
    left, right : float arrays, shapes (N, M) and (M, K)
    out : float array, shape (N, K)
        The result.
    """
    columns = max(16, MAX_PRODUCT_SIZE // max(1, left.size))
    for start in range(0, right.shape[1], columns):
        np.matmul(left, right[:, start : start + columns], out=out[:, start : start + columns])
