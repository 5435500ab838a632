"""Rotations as quaternions (w, x, y, z), rigid transforms as dual quaternions (real part, then dual part)."""

from __future__ import annotations

import numpy as np


def quaternions_from_rotations(rotations: np.ndarray) -> np.ndarray:
    """Unit quaternions of rotation matrices.

    Parameters
    ----------
    rotations : float array, shape (B, 3, 3)

    Returns
    -------
    float array, shape (B, 4)
        (w, x, y, z), each with the sign that its largest component is positive.

    Notes
    -----
    The four rows built here are the quaternion times four times each of its own components. The row with the largest
    diagonal is the best conditioned.
    """
    (a, b, c), (d, e, f), (g, h, i) = rotations.transpose(1, 2, 0)
    rows = np.array(
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    )
    best = rows[[0, 1, 2, 3], [0, 1, 2, 3]].argmax(axis=0)
    quaternions = rows[best, :, np.arange(len(rotations))]
    return quaternions / np.sqrt((quaternions * quaternions).sum(axis=1, keepdims=True))


def dual_quaternions_from_rigid(rotations: np.ndarray, translations: np.ndarray) -> np.ndarray:
    """Unit dual quaternions `(1 + eps/2 t) r` of rigid transforms (eq 4).

    Parameters
    ----------
    rotations : float array, shape (B, 3, 3)
    translations : float array, shape (B, 3)

    Returns
    -------
    float array, shape (B, 8)
    """
    real = quaternions_from_rotations(rotations)
    w, x, y, z = real.T
    a, b, c = 0.5 * translations.T
    dual = (-a * x - b * y - c * z, a * w + b * z - c * y, b * w + c * x - a * z, c * w + a * y - b * x)
    return np.concatenate([real, np.stack(dual, axis=1)], axis=1)
