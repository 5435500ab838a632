"""Distances between two methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.vectors import measure_lengths

# In a meter, Blender's unit unless the scene has another scale
MILLIMETERS = 1000.0


@dataclass(frozen=True)
class Difference:
    """Distances between the vertices of two methods in one pose, in millimeters."""

    largest: float
    rms: float


def measure_difference(first: np.ndarray, second: np.ndarray, millimeters: float = MILLIMETERS) -> Difference:
    """Measure distances between two methods in a pose.

    Parameters
    ----------
    first, second : float arrays, shape (V, 3)
        Posed vertices, in one space that is not scaled relative to the world.
    millimeters : float
        In one of its units.

    Returns
    -------
    Difference
        0 for a mesh without vertices.
    """
    if first.shape != second.shape:
        raise ValueError(f"The points have shapes {first.shape} and {second.shape}: measure the same vertices")
    if not len(first):
        return Difference(0.0, 0.0)
    apart = millimeters * measure_lengths(np.asarray(first, np.float64) - second)
    return Difference(float(apart.max()), float(np.sqrt(np.mean(apart**2))))
