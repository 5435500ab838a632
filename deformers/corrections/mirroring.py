"""Offsets carried to the other side of a character, for any topology."""

from __future__ import annotations

import numpy as np

from ..geometry.neighbors import FindNearest, read_nearest

TOLERANCE = 1e-4
"""Distance, as a share of the mesh's diagonal, within which a mirrored vertex is another."""

FAR_SHARE = 0.02
"""The same from which on a mirrored vertex has no surface near it: it gets no offset."""

MIRROR = np.array([-1.0, 1.0, 1.0])
"""Across the plane x = 0 of the armature."""


def mirror_offsets(
    offsets: np.ndarray, points: np.ndarray, triangles: np.ndarray, find_nearest: FindNearest
) -> np.ndarray:
    """Offsets as they are on the other side.

    Parameters
    ----------
    offsets : float array, shape (V, 3)
        At rest, armature space.
    points : float array, shape (V, 3)
        The same.
    triangles : int array, shape (T, 3)

    Returns
    -------
    float32 array, shape (V, 3)
        Armature space.
    """
    points, size = np.asarray(points, np.float64), float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    found, distances = read_nearest(points * MIRROR, offsets, points, triangles, find_nearest, TOLERANCE * size)
    return np.where(distances[:, None] <= FAR_SHARE * size, found * MIRROR, 0.0).astype(np.float32)
