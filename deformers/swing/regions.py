"""Regions of skin that become flesh: how far each vertex belongs to one, and the bone that carries it."""

from __future__ import annotations

import numpy as np

MOST = 0.95
"""Of a weight that flesh takes: the bone keeps its entries, so that all of it can be given back."""


def soften_region(points: np.ndarray, edges: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Shares that rise from 0 at the border of a region to what was painted, by the distance along edges.

    Parameters
    ----------
    points : float array, shape (V, 3)
    edges : int array, shape (E, 2)
    group : float array, shape (V,)
        As it was painted; a region without a border keeps it.

    Returns
    -------
    float64 array, shape (V,)
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
    """The part of a bone's weights that flesh takes; with what is left, it adds up to them to the last bit.

    Parameters
    ----------
    weights : float32 array, shape (V,)
    shares : float array, shape (V,)

    Returns
    -------
    float32 array, shape (V,)
        Whole multiples of the last digit of each weight.
    """
    digits = np.spacing(np.maximum(weights, np.finfo(np.float32).tiny))
    return (np.floor(MOST * shares * weights / digits) * digits).astype(np.float32)


def place_bone(
    points: np.ndarray, shares: np.ndarray, start: np.ndarray, end: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Head and tail of a region's bone, shape (3,) each: from the line of the bone that carries it to its middle.

    Parameters
    ----------
    points : float array, shape (V, 3)
    shares : float array, shape (V,)
    start, end : float arrays, shape (3,)
        Of the bone that carries it.
    """
    middle = shares @ points / shares.sum()
    along = end - start
    share = np.clip((middle - start) @ along / max(along @ along, 1e-12), 0.0, 1.0)
    return start + share * along, middle
