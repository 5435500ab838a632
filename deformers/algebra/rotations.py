"""Rotations of successive frames: quaternions (w, x, y, z) and rotation vectors."""

from __future__ import annotations

import numpy as np

from .dual_quaternions import (
    multiply_quaternions,
    quaternions_from_rotations,
    rotations_from_quaternions,
)

# Below this sine of half the angle, a rotation vector is twice the quaternion's vector.
SMALL = 1e-8


def multiply(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Multiply quaternions, shapes (..., 4) that broadcast: the second rotation is applied first."""
    first, second = np.broadcast_arrays(first, second)
    return multiply_quaternions(first.reshape(-1, 4), second.reshape(-1, 4)).reshape(first.shape)


def conjugate(quaternions: np.ndarray) -> np.ndarray:
    """Inverses of unit quaternions, shape (..., 4)."""
    return quaternions * np.array([1.0, -1.0, -1.0, -1.0])


def to_vectors(quaternions: np.ndarray) -> np.ndarray:
    """Convert unit quaternions, shape (..., 4), to rotation vectors, radians, shape (..., 3), at most pi long."""
    quaternions = np.where(quaternions[..., :1] < 0.0, -quaternions, quaternions)
    sines = np.linalg.norm(quaternions[..., 1:], axis=-1, keepdims=True)
    angles = 2.0 * np.arctan2(sines, quaternions[..., :1])
    return quaternions[..., 1:] * np.where(sines > SMALL, angles / np.maximum(sines, SMALL), 2.0)


def from_vectors(vectors: np.ndarray) -> np.ndarray:
    """Convert rotation vectors, radians, shape (..., 3), to unit quaternions, shape (..., 4)."""
    halves = 0.5 * np.linalg.norm(vectors, axis=-1, keepdims=True)
    return np.concatenate([np.cos(halves), 0.5 * np.sinc(halves / np.pi) * vectors], axis=-1)


def make_continuous(quaternions: np.ndarray) -> np.ndarray:
    """Choose the signs of quaternions, shape (F, N, 4), so that each is near the frame before."""
    turns = (quaternions[1:] * quaternions[:-1]).sum(axis=-1) < 0.0
    signs = np.cumprod(np.concatenate([np.ones_like(quaternions[:1, ..., 0]), np.where(turns, -1.0, 1.0)]), axis=0)
    return quaternions * signs[..., None]


def unroll(vectors: np.ndarray, start: int) -> np.ndarray:
    """Remove jumps by full turns from rotation vectors of successive frames, radians, shape (F, N, 3).

    Frame `start` stays. Each of the others becomes the vector of its rotation that is nearest to its neighbor.
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
    """Convert unit quaternions, shape (..., 4), to rotation matrices, shape (..., 3, 3)."""
    return rotations_from_quaternions(quaternions.reshape(-1, 4)).reshape(*quaternions.shape[:-1], 3, 3)


def from_matrices(rotations: np.ndarray) -> np.ndarray:
    """Convert rotation matrices, shape (..., 3, 3), to unit quaternions, shape (..., 4)."""
    return quaternions_from_rotations(rotations.reshape(-1, 3, 3)).reshape(*rotations.shape[:-2], 4)


def matrices_from_vectors(vectors: np.ndarray) -> np.ndarray:
    """Convert rotation vectors, radians, shape (..., 3), to rotation matrices, shape (..., 3, 3)."""
    return to_matrices(from_vectors(vectors))


def scale_rotations(rotations: np.ndarray, share: float) -> np.ndarray:
    """Rotations, shape (B, 3, 3), about the same axes by a share of their angles."""
    return matrices_from_vectors(share * to_vectors(from_matrices(rotations)))
