"""Signs of dual quaternions chosen for each vertex, as in Blender's Preserve Volume."""

from __future__ import annotations

import numpy as np

from .blocks import NO_SLOT, Block


def choose_signs(block: Block, coefficients: np.ndarray, sums: np.ndarray) -> None:
    """Sum the coefficients of a block with signs that its vertices choose, if that matters.

    Parameters
    ----------
    coefficients : float32 array, shape (b, rows)
        Of the block's joints; the first four are a quaternion.
    sums : float32 array, shape (rows, n)
        With the signs of the joints. Overwritten for vertices that joints with opposite signs influence.

    Notes
    -----
    A joint of a vertex is negated if it disagrees with the sum of those before it, in the order of the vertex's groups.
    """
    quaternions = coefficients[:, :4]
    is_opposite = quaternions @ quaternions.T < 0.0
    if not is_opposite.any():
        return
    has = (block.slots != NO_SLOT).astype(np.float32)
    columns = np.flatnonzero(((is_opposite.astype(np.float32) @ has) * has).any(axis=0))
    if columns.size:
        sums[:, columns] = coefficients.T @ _sign(block.weights[:, columns], block.slots[:, columns], quaternions)


def _sign(weights: np.ndarray, slots: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """Weights, shape (b, m), with the signs of their quaternions."""
    order, columns = np.argsort(slots, axis=0), np.arange(weights.shape[1])
    signed, sums = weights.copy(), np.zeros((weights.shape[1], 4), np.float32)
    for joints in order[: int((slots != NO_SLOT).sum(axis=0).max())]:
        own = quaternions[joints]
        disagrees = np.einsum("mi,mi->m", own, sums) < 0.0
        signed[joints, columns] *= np.where(disagrees, -1.0, 1.0)
        sums += signed[joints, columns, None] * own
    return signed
