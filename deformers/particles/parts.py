"""Which parts of a mesh are flesh: teeth, buckles and belts go with their bones, and need no particles."""

from __future__ import annotations

import numpy as np

from ..geometry.solid import Surface, area_vectors, signed_volumes

LEAST_WEIGHT = 1e-3
"""Weights below count as none, and so do differences of weights."""

SHORT = 0.5
"""Share of a bone's length: a part of two bones that reaches less far along either sits at their joint."""

THIN = 0.05
"""Share of the bones' mean length: a part that is thinner has nothing inside that could give way."""


def find_flesh(surface: Surface, weights: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Find the islands that bend as flesh does.

    Parameters
    ----------
    weights : float array, shape (V, B)
        Of the vertices for the joints.
    heads, tails : float arrays, shape (B, 3)
        Of the joints' bones, in the surface's space; tails may be infinite.

    Returns
    -------
    bool array, shape (N,)
        False for islands that one bone moves, or always the same mix of bones; that two bones hold and that are short
        along both; that are thin all over.
    """
    count = len(surface.solid)
    order = np.argsort(surface.islands, kind="stable")
    order = order[np.searchsorted(surface.islands[order], 0) :]
    starts = np.searchsorted(surface.islands[order], np.arange(count))
    if not count:
        return np.zeros(0, bool)
    most = np.maximum.reduceat(weights[order], starts)
    least = np.minimum.reduceat(weights[order], starts)
    bends = (most - least).max(axis=1, initial=0.0) > LEAST_WEIGHT
    held = most > LEAST_WEIGHT
    lengths = np.linalg.norm(tails - heads, axis=1)
    lengths = np.where(np.isfinite(lengths), lengths, 0.0)
    flesh = bends & ~_find_thin(surface, np.add.reduceat(weights[order], starts), lengths)
    for island in np.flatnonzero(flesh & (held.sum(axis=1) == 2)):
        joints = np.flatnonzero(held[island])
        if lengths[joints].min() > 0.0:
            axes = (tails[joints] - heads[joints]) / lengths[joints, None]
            own = surface.points[surface.islands == island]
            flesh[island] = (np.ptp(own @ axes.T, axis=0) >= SHORT * lengths[joints]).any()
    return flesh


def _find_thin(surface: Surface, weights: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Which islands are thin against the bones that hold them, by their weights (N, B): bool (N,).

    Twice the volume, divided by the area, is the radius of a tube and the thickness of a sheet.
    """
    owners = surface.islands[surface.triangles[:, 0]]
    volumes = np.bincount(owners, signed_volumes(surface.points, surface.triangles), minlength=len(weights))
    areas = np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1)
    areas = np.bincount(owners, areas, minlength=len(weights))
    known = weights * (lengths > 0.0)
    means = known @ lengths / np.maximum(known.sum(axis=1), 1e-12)
    return surface.solid & (2.0 * np.abs(volumes) < THIN * means * areas)
