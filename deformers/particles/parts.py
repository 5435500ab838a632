"""Find the parts of a mesh that are flesh. Teeth, buckles and belts follow their bones without particles."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import Surface, area_vectors, signed_volumes

# Smaller weights, and smaller differences of weights, count as 0.
MIN_WEIGHT = 1e-3


def find_flesh(surface: Surface, weights: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Find the islands that bend like flesh.

    Parameters
    ----------
    weights : float array, shape (V, B)
        Weights of the joints.
    heads, tails : float arrays, shape (B, 3)
        Ends of the joints' bones, in the surface's space. Tails may be infinite.

    Returns
    -------
    bool array, shape (N,)
        False for islands that are thin, that one bone or one mix of bones moves, or that two bones move and that are
        short along both.
    """
    min_length = 0.5  # share of a bone: a shorter part of two bones sits at their joint
    count = len(surface.solid)
    order = np.argsort(surface.islands, kind="stable")
    order = order[np.searchsorted(surface.islands[order], 0) :]
    starts = np.searchsorted(surface.islands[order], np.arange(count))
    if not count:
        return np.zeros(0, bool)
    most = np.maximum.reduceat(weights[order], starts)
    least = np.minimum.reduceat(weights[order], starts)
    bends = (most - least).max(axis=1, initial=0.0) > MIN_WEIGHT
    held = most > MIN_WEIGHT
    lengths = np.linalg.norm(tails - heads, axis=1)
    lengths = np.where(np.isfinite(lengths), lengths, 0.0)
    flesh = bends & ~_find_thin(surface, np.add.reduceat(weights[order], starts), lengths)
    for island in np.flatnonzero(flesh & (held.sum(axis=1) == 2)):
        joints = np.flatnonzero(held[island])
        if lengths[joints].min() > 0.0:
            axes = (tails[joints] - heads[joints]) / lengths[joints, None]
            own = surface.points[surface.islands == island]
            flesh[island] = (np.ptp(own @ axes.T, axis=0) >= min_length * lengths[joints]).any()
    return flesh


def _find_thin(surface: Surface, weights: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Find the islands that are thin relative to their bones, by the weights (N, B) of these: bool, shape (N,).

    Twice the volume divided by the area is the radius of a tube, or the thickness of a sheet.
    """
    min_thickness = 0.05  # share of the bones' mean length
    owners = surface.islands[surface.triangles[:, 0]]
    volumes = np.bincount(owners, signed_volumes(surface.points, surface.triangles), minlength=len(weights))
    areas = np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1)
    areas = np.bincount(owners, areas, minlength=len(weights))
    known = weights * (lengths > 0.0)
    means = known @ lengths / np.maximum(known.sum(axis=1), 1e-12)
    return surface.solid & (2.0 * np.abs(volumes) < min_thickness * means * areas)
