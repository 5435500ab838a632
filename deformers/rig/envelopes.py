"""Weights from bone envelopes, as Blender defines them."""

from __future__ import annotations

import numpy as np


def envelope_weights(
    points: np.ndarray, head: np.ndarray, tail: np.ndarray, head_radius: float, tail_radius: float, distance: float
) -> np.ndarray:
    """Influence of a bone's envelope on each point.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Armature space.
    head, tail : float arrays, shape (3,)
        Ends of the bone at rest, armature space.
    head_radius, tail_radius, distance : float
        Radii of the bone's capsule, and width of the falloff outside.

    Returns
    -------
    float64 array, shape (V,)
        1 within the capsule, then falling to 0 by a parabola.
    """
    axis = tail - head
    length = float(np.linalg.norm(axis))
    axis = axis / length if length > 0 else np.zeros(3)
    along = np.clip((points - head) @ axis, 0.0, length)
    radius = head_radius + (tail_radius - head_radius) * (along / length if length > 0 else 0.0)
    outside = np.maximum(np.linalg.norm(points - head - along[:, None] * axis, axis=1) - radius, 0.0)
    if distance <= 0:
        return (outside == 0).astype(np.float64)
    return np.maximum(1.0 - (outside / distance) ** 2, 0.0)
