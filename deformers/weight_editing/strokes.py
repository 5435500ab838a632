"""Strokes of a brush over vertices, as shares of an edit."""

from __future__ import annotations

import numpy as np


def add_dab(shares: np.ndarray, points: np.ndarray, center: np.ndarray, radius: float, strength: float) -> np.ndarray:
    """Increase the shares of an edit under a brush: float array, (V,).

    Parameters
    ----------
    shares : float array, shape (V,)
        Share of the edit of each vertex, 0 to 1.
    points, center : float arrays, shapes (V, 3) and (3,)
        Vertices and brush, in one space.
    radius : float
        Of the brush, in that space.
    strength : float
        Part of the missing share that a vertex at the center gains; farther vertices gain less, smoothly.
    """
    near = np.maximum(1.0 - ((points - center) ** 2).sum(axis=1) / max(radius, 1e-12) ** 2, 0.0)
    return 1.0 - (1.0 - shares) * (1.0 - strength * near**2)
