"""Which lines of sight a surface crosses, by Blender's tree."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from mathutils.bvhtree import BVHTree


def make_crossing_test(points: np.ndarray, triangles: np.ndarray) -> Callable[[np.ndarray, np.ndarray], np.ndarray]:
    """Prepare a surface for tests of visibility.

    Parameters
    ----------
    points : float array, shape (V, 3)
        In any unit: they are scaled, because mathutils computes in single precision with fixed tolerances.
    triangles : int array, shape (T, 3)

    Returns
    -------
    callable
        Takes starts and ends of segments, shapes (N, 3), in the space of the points; gives, as bool array of shape
        (N,), which of them the surface crosses.
    """
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    scale = 2.0 / (float((high - low).max()) or 1.0)
    tree = BVHTree.FromPolygons(((points - middle) * scale).tolist(), triangles.tolist(), all_triangles=True)

    def find_crossed(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
        rays = (ends - starts) * scale
        lengths = np.linalg.norm(rays, axis=1)
        lines = zip(((starts - middle) * scale).tolist(), rays.tolist(), lengths.tolist(), strict=True)
        cast = tree.ray_cast  # takes one ray
        return np.fromiter((cast(*line)[0] is not None for line in lines), bool, len(starts))

    return find_crossed
