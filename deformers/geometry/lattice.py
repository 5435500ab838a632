"""Hexagonal close packing: the densest way to stack equal spheres."""

from __future__ import annotations

import numpy as np

# Volume that a sphere of radius 1 occupies in a close packing
SPHERE_SPACE = 4.0 * np.sqrt(2.0)


def hexagonal_packing(low: np.ndarray, high: np.ndarray, radius: float) -> np.ndarray:
    """Centers of close-packed spheres in a box, the first at its low corner.

    Parameters
    ----------
    low, high : float arrays, shape (3,)
        Corners of the box.
    radius : float
        Radius of the spheres, in the unit of the corners.

    Returns
    -------
    float64 array, shape (N, 3)
        Layer by layer from low to high along the last axis. An inner sphere touches 12 others.
    """
    steps = radius * np.array([2.0, np.sqrt(3.0), np.sqrt(8.0 / 3.0)])
    counts = np.floor((np.asarray(high, float) - low) / steps + 1e-9).astype(int) + 1
    column, row, layer = np.meshgrid(*(np.arange(count) for count in counts), indexing="ij")
    odd = layer % 2
    positions = np.stack([column + 0.5 * ((row + layer) % 2), row + odd / 3.0, layer.astype(float)], axis=-1)
    return low + positions.transpose(2, 1, 0, 3).reshape(-1, 3) * steps
