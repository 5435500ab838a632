"""Strokes of a brush over vertices: how much of an edit each of them has."""

from __future__ import annotations

import numpy as np


def add_dab(shares: np.ndarray, points: np.ndarray, center: np.ndarray, radius: float, strength: float) -> np.ndarray:
    """Bring the edit nearer to whole where a brush touches.

    Parameters
    ----------
    shares : float array, shape (V,)
        How much of the edit each vertex has, 0 to 1.
    points, center : float arrays, shapes (V, 3) and (3,)
        Of the vertices and of the brush, in any one space.
    radius : float
        Of the brush, in the same space.
    strength : float
        What a vertex at the center gains, as a share of what it lacks; farther vertices gain less, smoothly.

    Returns
    -------
    float array, shape (V,)
    """
    near = np.maximum(1.0 - ((points - center) ** 2).sum(axis=1) / max(radius, 1e-12) ** 2, 0.0)
    return 1.0 - (1.0 - shares) * (1.0 - strength * near**2)
