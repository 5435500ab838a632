"""Rotations that pass into each other: quaternions (w, x, y, z) and rotation vectors."""

from __future__ import annotations

import numpy as np

from ..algebra.dual_quaternions import (
    multiply_quaternions,
    quaternions_from_rotations,
    rotations_from_quaternions,
)

SMALL = 1e-8
"""Sine of half an angle below which a rotation vector is twice the quaternion's vector."""


def multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Products of quaternions, shapes (..., 4) that broadcast: the rotation by the second, then by the first."""
    first, second = np.broadcast_arrays(first, second)
    return multiply_quaternions(first.reshape(-1, 4), second.reshape(-1, 4)).reshape(first.shape)


def conjugate(quaternions: np.ndarray) -> np.ndarray:
    """Inverses of unit quaternions, shape (..., 4)."""
    return quaternions * np.array([1.0, -1.0, -1.0, -1.0])


def to_vectors(quaternions: np.ndarray) -> np.ndarray:
    """Rotation vectors, radians, shape (..., 3), no longer than pi, of unit quaternions, shape (..., 4)."""
    quaternions = np.where(quaternions[..., :1] < 0.0, -quaternions, quaternions)
    sines = np.linalg.norm(quaternions[..., 1:], axis=-1, keepdims=True)
    angles = 2.0 * np.arctan2(sines, quaternions[..., :1])
    return quaternions[..., 1:] * np.where(sines > SMALL, angles / np.maximum(sines, SMALL), 2.0)


def from_vectors(vectors: np.ndarray) -> np.ndarray:
    """Unit quaternions, shape (..., 4), of rotation vectors, radians, shape (..., 3)."""
    halves = 0.5 * np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.concatenate([np.cos(halves), 0.5 * np.sinc(halves / np.pi) * vectors], axis=-1)


def make_continuous(quaternions: np.ndarray) -> np.ndarray:
    """Quaternions, shape (F, N, 4), each of the sign that is nearer to that of the frame before."""
    turns = (quaternions[1:] * quaternions[:-1]).sum(axis=-1) < 0.0
    signs = np.cumprod(np.concatenate([np.ones_like(quaternions[:1, ..., 0]), np.where(turns, -1.0, 1.0)]), axis=0)
    return quaternions * signs[..., None]


def unroll(vectors: np.ndarray, start: int) -> np.ndarray:
    """Rotation vectors of successive frames without jumps by a whole turn.

    Parameters
    ----------
    vectors : float array, shape (F, N, 3)
        Radians.
    start : int
        Frame whose vectors stay: the others are those of the same rotations that are nearest to their neighbors.

    Returns
    -------
    float array, shape (F, N, 3)
    """
    result = vectors.copy()
    for order in (range(start + 1, len(vectors)), range(start - 1, -1, -1)):
        for frame in order:
            before = result[frame + (1 if frame < start else -1)]
            angles = np.linalg.norm(vectors[frame], axis=-1, keepdims=True)
            axes = vectors[frame] / np.maximum(angles, SMALL)
            along = (before * axes).sum(axis=-1, keepdims=True)
            turns = np.where(angles > SMALL, np.round((along - angles) / (2.0 * np.pi)), 0.0)
            result[frame] = vectors[frame] + 2.0 * np.pi * turns * axes
    return result


def to_matrices(quaternions: np.ndarray) -> np.ndarray:
    """Rotation matrices, shape (..., 3, 3), of unit quaternions, shape (..., 4)."""
    return rotations_from_quaternions(quaternions.reshape(-1, 4)).reshape(*quaternions.shape[:-1], 3, 3)


def from_matrices(rotations: np.ndarray) -> np.ndarray:
    """Unit quaternions, shape (..., 4), of rotation matrices, shape (..., 3, 3)."""
    return quaternions_from_rotations(rotations.reshape(-1, 3, 3)).reshape(*rotations.shape[:-2], 4)
