"""Nearest points of surfaces without a tree: each point against each triangle that may be the nearest."""

import numpy as np


def find_nearest(
    points: np.ndarray, surface_points: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `bridge.meshes.nearest.find_nearest_surface`: triangles (N,), weights (N, 3) and distances (N,)."""
    parts = np.array_split(points, max(1, len(points) * len(triangles) // 1_000_000))
    found = [_find_nearest(part, surface_points[triangles].astype(float)) for part in parts]
    owners, weights, distances = map(np.concatenate, zip(*found, strict=True))
    return owners, weights, distances


def _find_nearest(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    centers = triangles.mean(axis=1)
    radii = np.linalg.norm(triangles - centers[:, None], axis=2).max(axis=1)
    away = np.linalg.norm(points[:, None] - centers, axis=2)
    rows, owners = np.nonzero(away - radii <= away.min(axis=1, keepdims=True) * (1.0 + 1e-9) + 1e-9 * radii.max())
    corners, offsets = triangles[owners], points[rows]
    candidates = np.stack([_project(offsets, corners), *(_clamp(offsets, corners, side) for side in range(3))], axis=1)
    gaps = np.linalg.norm(candidates @ corners - offsets[:, None], axis=2)
    best, pairs = gaps.argmin(axis=1), np.arange(len(rows))
    weights, gaps = candidates[pairs, best], gaps[pairs, best]
    first = np.lexsort((owners, gaps, rows))[np.searchsorted(rows, np.arange(len(points)))]
    return owners[first], weights[first], gaps[first]


def _project(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Barycentric weights of the foot of the perpendicular, or of a corner if that is outside."""
    u, v, offsets = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0], points - corners[:, 0]
    uu, uv, vv, pu, pv = ((a * b).sum(axis=1) for a, b in ((u, u), (u, v), (v, v), (offsets, u), (offsets, v)))
    area = np.maximum(uu * vv - uv * uv, 1e-300)
    second, third = (vv * pu - uv * pv) / area, (uu * pv - uv * pu) / area
    inside = np.stack([1.0 - second - third, second, third], axis=1)
    return np.where((inside >= 0).all(axis=1, keepdims=True), inside, np.eye(3)[0])


def _clamp(points: np.ndarray, corners: np.ndarray, side: int) -> np.ndarray:
    """Barycentric weights of the nearest point of a side."""
    start, along = corners[:, side], corners[:, (side + 1) % 3] - corners[:, side]
    share = ((points - start) * along).sum(axis=1) / np.maximum((along * along).sum(axis=1), 1e-300)
    share = np.clip(share, 0.0, 1.0)[:, None]
    return (1.0 - share) * np.eye(3)[side] + share * np.eye(3)[(side + 1) % 3]
