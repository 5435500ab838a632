"""Rotations as quaternions (w, x, y, z), rigid transforms as dual quaternions (real part, then dual part)."""

from __future__ import annotations

import numpy as np

from .products import multiply_rows


def _list_rows(rotation: np.ndarray) -> np.ndarray:
    """Four times the products of each two components of a rotation's quaternion, affine in the matrix: (16,)."""
    (a, b, c), (d, e, f), (g, h, i) = rotation
    return np.array(
        [
            [1 + a + e + i, h - f, c - g, d - b],
            [h - f, 1 + a - e - i, b + d, c + g],
            [c - g, b + d, 1 - a + e - i, f + h],
            [d - b, c + g, f + h, 1 - a - e + i],
        ]
    ).ravel()


def _list_products(translation: np.ndarray, real: np.ndarray) -> np.ndarray:
    """The quaternion product of (0, translation) and `real`, linear in both: (4,)."""
    (a, b, c), (w, x, y, z) = translation, real
    return np.array([-a * x - b * y - c * z, a * w + b * z - c * y, b * w + c * x - a * z, c * w + a * y - b * x])


# `_list_rows` is `entries @ SLOPES + OFFSETS`: one product for all joints instead of thirty calls.
OFFSETS = _list_rows(np.zeros((3, 3)))
SLOPES = np.stack([_list_rows(entry) for entry in np.eye(9).reshape(9, 3, 3)]) - OFFSETS

# `_list_products` is the products of each two entries, times this.
PRODUCTS = np.stack([_list_products(t, r) for t in np.eye(3) for r in np.eye(4)])


def quaternions_from_rotations(rotations: np.ndarray) -> np.ndarray:
    """Unit quaternions of rotation matrices.

    `rotations`, float array, shape (B, 3, 3). Returns a float array, shape (B, 4): (w, x, y, z), with positive largest
    components.

    Notes
    -----
    The four rows are the quaternion times four times each of its components. The row with the largest diagonal is the
    best conditioned.
    """
    rows = (multiply_rows(rotations.reshape(-1, 9), SLOPES) + OFFSETS).reshape(-1, 4, 4)
    best = rows.reshape(-1, 16)[:, ::5].argmax(axis=1)
    quaternions = rows[np.arange(len(rows)), best]
    return quaternions / np.sqrt((quaternions * quaternions).sum(axis=1, keepdims=True))


def rotations_from_quaternions(quaternions: np.ndarray) -> np.ndarray:
    """Rotation matrices, shape (N, 3, 3), of unit quaternions, shape (N, 4)."""
    w, x, y, z = quaternions.T
    rows = [
        [1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
        [2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)],
        [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)],
    ]
    return np.array(rows).transpose(2, 0, 1)


def multiply_quaternions(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Products of quaternions, shape (N, 4): the rotation by the second, then by the first."""
    (a, b, c, d), (w, x, y, z) = first.T, second.T
    rows = [
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    ]
    return np.stack(rows, axis=1)


def dual_quaternions_from_rigid(rotations: np.ndarray, translations: np.ndarray) -> np.ndarray:
    """Unit dual quaternions `(1 + eps/2 t) r` of rigid transforms (eq 4): float array, (B, 8).

    Parameters
    ----------
    rotations : float array, shape (B, 3, 3)
    translations : float array, shape (B, 3)
    """
    real = quaternions_from_rotations(rotations)
    return np.concatenate([real, translate_quaternions(translations, real)], axis=1)


def translate_quaternions(translations: np.ndarray, quaternions: np.ndarray) -> np.ndarray:
    """Dual parts 1/2 t q of rotations that translations follow, shape (N, 4).

    Parameters
    ----------
    translations : float array, shape (N, 3)
    quaternions : float array, shape (N, 4)
    """
    return multiply_rows((0.5 * translations[:, :, None] * quaternions[:, None]).reshape(-1, 12), PRODUCTS)
