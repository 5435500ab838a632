"""Lengths and directions of many vectors, and the points of triangles that are nearest to others; a smooth step."""

from __future__ import annotations

import numpy as np


def measure_lengths(vectors: np.ndarray) -> np.ndarray:
    """Lengths of vectors, shape (N, D): float array, shape (N,)."""
    return np.sqrt(np.einsum("ni,ni->n", vectors, vectors))


def normalize(vectors: np.ndarray) -> np.ndarray:
    """Vectors of unit length, shape (..., 3); zero where they are zero."""
    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    return vectors / np.where(lengths > 0, lengths, 1.0)


def carry(tangents: np.ndarray, normals: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Rotate tangents to other tangent planes, by the smallest rotation.

    Parameters
    ----------
    tangents : float array, shape (..., 3)
    normals, others : float arrays, shape (..., 3)
        Unit normals of the planes that they are in, and of those that they come to.
    """
    both = normals + others
    share = np.sum(tangents * others, axis=-1, keepdims=True)
    return tangents - both * share / np.maximum(1.0 + np.sum(normals * others, axis=-1, keepdims=True), 1e-9)


def smooth_step(values: np.ndarray) -> np.ndarray:
    """0 below 0, 1 above 1, and smooth between; values and result of the same shape (...)."""
    values = np.clip(values, 0.0, 1.0)
    return values * values * (3.0 - 2.0 * values)


def nearest_weights(shapes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Barycentric coordinates of the points of triangles that are nearest to other points.

    Parameters
    ----------
    shapes : float array, shape (N, 3 corners, D)
    points : float array, shape (N, D) or (D,)

    Returns
    -------
    float array, shape (N, 3)
    """
    first, second = shapes[:, 1] - shapes[:, 0], shapes[:, 2] - shapes[:, 0]
    offset = points - shapes[:, 0]
    a, b, c = (np.einsum("ni,ni->n", x, y) for x, y in ((first, first), (first, second), (second, second)))
    d, e = np.einsum("ni,ni->n", first, offset), np.einsum("ni,ni->n", second, offset)
    area = a * c - b * b
    with np.errstate(divide="ignore", invalid="ignore"):
        v, w = (c * d - b * e) / area, (a * e - b * d) / area
    inside = np.stack([1.0 - v - w, v, w], axis=1)
    outside = np.flatnonzero(~(inside >= 0).all(axis=1))
    shapes, points = shapes[outside], np.broadcast_to(points, offset.shape)[outside]
    best = np.full(len(outside), np.inf)
    for corner in range(3):
        start, side = shapes[:, corner], shapes[:, (corner + 1) % 3] - shapes[:, corner]
        square = np.maximum(np.einsum("ni,ni->n", side, side), 1e-300)
        along = np.clip(np.einsum("ni,ni->n", points - start, side) / square, 0.0, 1.0)
        distance = np.square(points - start - along[:, None] * side).sum(axis=1)
        nearer = distance < best
        best = np.where(nearer, distance, best)
        rows, along = outside[nearer], along[nearer]
        inside[rows, corner], inside[rows, (corner + 1) % 3], inside[rows, (corner + 2) % 3] = 1 - along, along, 0.0
    return inside
