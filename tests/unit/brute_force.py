"""Nearest points of surfaces without a tree: each point against each triangle."""

import numpy as np


def find_nearest(
    points: np.ndarray, surface_points: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """As `bridge.meshes.nearest.find_nearest_surface`: the best of each triangle's inside and its three sides."""
    corners = surface_points[triangles].astype(float)
    origin, u, v = corners[:, 0], corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    uu, uv, vv = (np.einsum("ti,ti->t", a, b) for a, b in ((u, u), (u, v), (v, v)))
    offsets = points[:, None] - origin
    pu, pv = np.einsum("nti,ti->nt", offsets, u), np.einsum("nti,ti->nt", offsets, v)
    area = np.maximum(uu * vv - uv * uv, 1e-300)
    shares = np.stack([(vv * pu - uv * pv) / area, (uu * pv - uv * pu) / area], axis=2)
    inside = np.concatenate([1.0 - shares.sum(axis=2, keepdims=True), shares], axis=2)
    candidates = [np.where((inside >= 0).all(axis=2, keepdims=True), inside, np.eye(3)[0])]
    for corner in range(3):
        start, along = corners[:, corner], corners[:, (corner + 1) % 3] - corners[:, corner]
        share = np.einsum("nti,ti->nt", points[:, None] - start, along) / np.maximum(
            (along * along).sum(axis=1), 1e-300
        )
        share = np.clip(share, 0.0, 1.0)[..., None]
        candidates.append((1.0 - share) * np.eye(3)[corner] + share * np.eye(3)[(corner + 1) % 3])
    weights = np.stack(candidates, axis=2)  # (N, T, 4, 3)
    gaps = np.linalg.norm(np.einsum("ntkc,tci->ntki", weights, corners) - points[:, None, None], axis=3)
    best = gaps.reshape(len(points), -1).argmin(axis=1)
    rows = np.arange(len(points))
    return best // 4, weights.reshape(len(points), -1, 3)[rows, best], gaps.reshape(len(points), -1)[rows, best]
