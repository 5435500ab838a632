"""Painted regions of skin that become flesh: shares of the vertices, and the bone of the region."""

from __future__ import annotations

import numpy as np


def soften_region(points: np.ndarray, edges: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Let a painted region, shares (V,), fade to 0 at its border, by the distance along edges (E, 2) of points (V, 3).

    A region without a border keeps its shares. The result is float64, shape (V,).
    """
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    distances = np.where(group > 0.0, np.inf, 0.0)
    while True:
        before = distances.copy()
        for start, end in (edges.T, edges.T[::-1]):
            np.minimum.at(distances, end, distances[start] + lengths)
        if np.array_equal(before, distances):
            break
    inside = distances[np.isfinite(distances) & (group > 0.0)]
    share = np.minimum(distances / max(inside.max(initial=0.0), 1e-12), 1.0)
    return group * share * share * (3.0 - 2.0 * share)


def share_weights(weights: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Move a share, (V,), of a bone's weights, float32, (V,), to flesh, so that both parts add up to the last bit.

    The weights of the flesh are whole multiples of the last digit of each weight.
    """
    max_share = 0.95  # the bone keeps its entries, so that all weights can be given back
    digits = np.spacing(np.maximum(weights, np.finfo(np.float32).tiny))
    return (np.floor(max_share * shares * weights / digits) * digits).astype(np.float32)


def place_bone(
    points: np.ndarray, shares: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Place a region's bone: head on the line of the carrying bone, tail in the middle of the region, shape (3,) each.

    The region has points (V, 3) and shares (V,). The carrying bone leads from `start` to `end`, (3,).
    """
    middle = shares @ points / shares.sum()
    along = end - start
    share = np.clip((middle - start) @ along / max(along @ along, 1e-12), 0.0, 1.0)
    return start + share * along, middle
