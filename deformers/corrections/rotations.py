"""Rotations of bones as they are on the other side of a character."""

from __future__ import annotations

import numpy as np

TURNED = np.array([1.0, -1.0, -1.0])
"""What mirroring at x = 0 does to the vector of a quaternion."""


def mirror_rotation(rotation: np.ndarray, axes: np.ndarray, mirrored_axes: np.ndarray) -> np.ndarray:
    """The rotation of the bone on the other side, mirrored at x = 0, whatever the rolls of both.

    Parameters
    ----------
    rotation : float array, shape (4,)
        Unit quaternion (w, x, y, z) of a bone against its rest and its parent, in its own axes.
    axes, mirrored_axes : float arrays, shape (3, 3)
        Columns are the axes of the bone, and of that on the other side, at rest, armature space.

    Returns
    -------
    float array, shape (4,)
        In the axes of the bone on the other side.
    """
    vector = mirrored_axes.T @ (TURNED * (axes @ np.asarray(rotation, np.float64)[1:]))
    return np.concatenate([rotation[:1], vector])
