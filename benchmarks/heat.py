"""Smooth weights for bodies that have none: heat, or none but the nearest bone's."""

from __future__ import annotations

import numpy as np

from deformers.automatic_weights.surface_heat import CrossingTest, Params, solve
from deformers.rig.skeleton import distances_to_bones


def nearest_bone_weights(points: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Weights (V, B) that are 1 for the nearest bone; bones equally near share."""
    distances = distances_to_bones(points[:, None], heads, tails)
    nearest = distances.min(axis=1, keepdims=True)
    weights = (distances <= nearest * (1.0 + 1e-6)).astype(float)
    return weights / weights.sum(axis=1, keepdims=True)


def heat_weights(points: np.ndarray, triangles: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> np.ndarray:
    """Weights (V, B) where heat comes to rest on the surface.

    As the product's surface heat, but that bones are not hidden by skin, and spread as far as in the paper: what is
    measured on them stays comparable.
    """
    params = Params(heat=1.0, inward=False)

    def see_all(_points: np.ndarray, _triangles: np.ndarray) -> CrossingTest:
        return lambda starts, _ends: np.zeros(len(starts), bool)

    return solve(points, triangles, heads, tails, make_crossing_test=see_all, params=params).weights.astype(float)
