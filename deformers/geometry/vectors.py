"""Operations on many vectors or triangles at once, and sums and ranges of groups."""

from __future__ import annotations

import numpy as np


def measure_lengths(vectors: np.ndarray) -> np.ndarray:
    """Lengths of vectors, shape (N, D): float array, shape (N,)."""
    return np.sqrt(np.einsum("ni,ni->n", vectors, vectors))


def measure_edges(points: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Lengths of edges, int array, shape (E, 2), between points, shape (V, 3): float64 array, shape (E,)."""
    return np.linalg.norm(np.asarray(points, np.float64)[edges[:, 1]] - points[edges[:, 0]], axis=1)


def normalize(vectors: np.ndarray) -> np.ndarray:
    """Scale vectors, shape (..., 3), to unit length; zero vectors stay zero."""
    lengths = np.sqrt(np.square(vectors).sum(axis=-1, keepdims=True))
    return vectors / np.where(lengths > 0, lengths, 1.0)


def carry(tangents: np.ndarray, normals: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Rotate tangents to other tangent planes, by the smallest rotation.

    Parameters
    ----------
    tangents : float array, shape (..., 3)
    normals, others : float arrays, shape (..., 3)
        Unit normals of the planes before and after.
    """
    both = normals + others
    share = np.sum(tangents * others, axis=-1, keepdims=True)
    return tangents - both * share / np.maximum(1.0 + np.sum(normals * others, axis=-1, keepdims=True), 1e-9)


def sum_by(owners: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Sum rows of `values`, shape (N,) or (N, C), by their owners, int array, shape (N,): (count,) or (count, C)."""
    if values.ndim == 1:
        return np.bincount(owners, values, count)
    return np.stack([np.bincount(owners, column, count) for column in values.T], axis=1)


def list_ranges(starts: np.ndarray | int, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """List the elements of ranges, given by starts and counts, shape (N,): the range and the element of each."""
    rows = np.repeat(np.arange(len(counts)), counts)
    return rows, np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts - starts, counts)


def smooth_step(values: np.ndarray) -> np.ndarray:
    """Step smoothly from 0 for values, shape (...), below 0 to 1 above 1."""
    values = np.clip(values, 0.0, 1.0)
    return values * values * (3.0 - 2.0 * values)


def smooth_ramp(values: np.ndarray, low: float, high: float) -> np.ndarray:
    """0 below `low`, 1 above `high`, and smooth between; values and result of the same shape (...)."""
    return smooth_step((values - low) / (high - low))


def transform_points(matrix: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Apply an affine transform, shape (4, 4), to points, shape (N, 3)."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]


def nearest_weights(shapes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Barycentric coordinates of the triangle points that are nearest to other points: float array, (N, 3).

    Parameters
    ----------
    shapes : float array, shape (N, 3 corners, D)
    points : float array, shape (N, D) or (D,)
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
