"""Mirror corrections to the other side of a character: offsets, for any topology, and rotations of bones."""

from __future__ import annotations

import numpy as np

from ..geometry.neighbors import FindNearest, read_nearest

# Mirroring at the plane x = 0 of the armature
MIRROR = np.array([-1.0, 1.0, 1.0])


def mirror_offsets(
    offsets: np.ndarray, points: np.ndarray, triangles: np.ndarray, find_nearest: FindNearest
) -> np.ndarray:
    """Mirror offsets at rest. Vertices without a surface near their mirrored position get none.

    Parameters
    ----------
    offsets, points : float arrays, shape (V, 3)
        At rest, in armature space.
    triangles : int array, shape (T, 3)

    Returns
    -------
    float32 array, shape (V, 3)
        In armature space.
    """
    points, size = np.asarray(points, np.float64), float(np.linalg.norm(np.ptp(points, axis=0))) or 1.0
    same, max_distance = 1e-4 * size, 0.02 * size  # the mirrored position is a vertex; it has a surface near
    found, distances = read_nearest(points * MIRROR, offsets, points, triangles, find_nearest, same)
    return np.where(distances[:, None] <= max_distance, found * MIRROR, 0.0).astype(np.float32)


def mirror_rotation(rotation: np.ndarray, axes: np.ndarray, mirrored_axes: np.ndarray) -> np.ndarray:
    """Mirror the rotation of a bone at x = 0 to the bone on the other side, whatever the rolls of both.

    Parameters
    ----------
    rotation : float array, shape (4,)
        Unit quaternion (w, x, y, z) of a bone relative to its rest and its parent, in its own axes.
    axes, mirrored_axes : float arrays, shape (3, 3)
        Columns are the rest axes of the bone, and of the bone on the other side, in armature space.

    Returns
    -------
    float array, shape (4,)
        In the axes of the bone on the other side.
    """
    # A rotation's vector is an axial vector: its mirror image is the negative of a point's.
    vector = mirrored_axes.T @ (-MIRROR * (axes @ np.asarray(rotation, np.float64)[1:]))
    return np.concatenate([rotation[:1], vector])
