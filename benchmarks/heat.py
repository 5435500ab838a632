"""Smooth weights for bodies that have none: heat that flows from the bones over the surface (Baran & Popovic 2007)."""

from __future__ import annotations

import numpy as np


def distances_to_bones(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Distances (V, B) of points (V, 3) from segments, shapes (B, 3)."""
    result = np.empty((len(points), len(heads)))
    for bone, (head, tail) in enumerate(zip(heads, tails, strict=True)):
        axis = tail - head
        along = np.clip((points - head) @ axis / (axis @ axis), 0.0, 1.0)
        result[:, bone] = np.linalg.norm(points - head - along[:, None] * axis, axis=1)
    return result


def nearest_bone_weights(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Weights (V, B) that are 1 for the nearest bone; bones equally near share."""
    distances = distances_to_bones(points, heads, tails)
    nearest = distances.min(axis=1, keepdims=True)
    weights = (distances <= nearest * (1.0 + 1e-6)).astype(float)
    return weights / weights.sum(axis=1, keepdims=True)


def heat_weights(points: np.ndarray, triangles: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Weights (V, B) where heat comes to rest: (L + A / d^2) W = (A / d^2) P.

    L is the Laplacian by cotangents, A the area of each vertex, d its distance from the nearest bone, P its nearest
    bones. As Blender's automatic weights, but that bones are not hidden from a vertex by other skin. The system is
    solved by conjugate gradients, all bones at once, to 1e-7.
    """
    rows, columns, cotangents, areas = _laplacian(points, triangles)
    starts = np.searchsorted(rows, np.arange(len(points)))
    distances = distances_to_bones(points, heads, tails)
    heat = areas / np.maximum(distances.min(axis=1), 1e-9) ** 2
    diagonal = np.add.reduceat(cotangents, starts) + heat

    def apply(values: np.ndarray) -> np.ndarray:
        return diagonal[:, None] * values - np.add.reduceat(cotangents[:, None] * values[columns], starts)

    given = nearest_bone_weights(points, heads, tails)
    weights = given.copy()
    error = heat[:, None] * given - apply(weights)
    step = error / diagonal[:, None]
    product = np.sum(error * step, axis=0)
    for _ in range(2000):
        if np.abs(error / diagonal[:, None]).max() < 1e-7:
            break
        image = apply(step)
        length = product / np.maximum(np.sum(step * image, axis=0), 1e-300)
        weights += length * step
        error -= length * image
        conditioned = error / diagonal[:, None]
        following = np.sum(error * conditioned, axis=0)
        step = conditioned + following / np.maximum(product, 1e-300) * step
        product = following
    weights = np.maximum(weights, 0.0)
    weights[weights < 1e-3] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)


def _laplacian(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Entries (row, column, cotangent) off the diagonal, ordered by row, and each vertex's third of the areas."""
    rows, columns, values = [], [], []
    areas = np.zeros(len(points))
    for corner in range(3):
        a, b, c = (triangles[:, (corner + offset) % 3] for offset in range(3))
        left, right = points[b] - points[a], points[c] - points[a]
        double = np.linalg.norm(np.cross(left, right), axis=1)
        cotangent = np.maximum(np.sum(left * right, axis=1) / np.maximum(double, 1e-30), 1e-4) / 2.0
        rows += [b, c]
        columns += [c, b]
        values += [cotangent, cotangent]
        areas += np.bincount(a, double / 6.0, len(points))
    keys, places = np.unique(np.concatenate(rows) * len(points) + np.concatenate(columns), return_inverse=True)
    return keys // len(points), keys % len(points), np.bincount(places.reshape(-1), np.concatenate(values)), areas
