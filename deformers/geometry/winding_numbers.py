"""Winding numbers of a surface: about 1 inside, 0 outside, and in between near the holes of an open surface."""

from __future__ import annotations

import numpy as np

from .neighbors import group_points
from .solid import area_vectors
from .vectors import list_ranges

# Triangles farther away than this, in radii of their group, count as one dipole: errors stay below .03.
MIN_DIPOLE_DISTANCE = 2.5


def find_winding_numbers(positions: np.ndarray, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Find the winding number of a surface around positions, float64, shape (N,).

    Parameters
    ----------
    positions : float array, shape (N, 3)
    points : float array, shape (V, 3)
        In the same space.
    triangles : int array, shape (T, 3)
        Counter-clockwise from outside.

    Notes
    -----
    Sum of the solid angles of the triangles (Jacobson et al. 2013, "Robust inside-outside segmentation using
    generalized winding numbers"), with groups of far triangles as dipoles (Barill et al. 2018, "Fast winding numbers
    for soups and clouds").
    """
    if not len(positions) or not len(triangles):
        return np.zeros(len(positions))
    corners, vectors = np.asarray(points, np.float64)[triangles], area_vectors(points, triangles)
    middles = corners.mean(axis=1)
    dipole_size = 64
    groups = group_points(middles, dipole_size)
    order, sizes = np.concatenate(groups), np.array([len(group) for group in groups])
    starts = np.cumsum(sizes) - sizes
    areas = np.linalg.norm(vectors[order], axis=1) + 1e-300
    centers = np.add.reduceat(areas[:, None] * middles[order], starts) / np.add.reduceat(areas, starts)[:, None]
    spread = np.linalg.norm(corners[order] - np.repeat(centers, sizes, axis=0)[:, None], axis=2).max(axis=1)
    radii = np.maximum.reduceat(spread, starts)
    sums = np.add.reduceat(vectors[order], starts)
    result, positions = np.empty(len(positions)), np.asarray(positions, np.float64)
    chunk = 500  # More positions at a time would need hundreds of megabytes.
    for start in range(0, len(positions), chunk):
        some = positions[start : start + chunk]
        offsets = centers - some[:, None]
        distances = np.sqrt(np.einsum("ngi,ngi->ng", offsets, offsets))
        is_far = distances > MIN_DIPOLE_DISTANCE * radii
        dipoles = np.einsum("ngi,gi->ng", offsets, sums) / np.maximum(distances, 1e-30) ** 3
        rows, near = np.nonzero(~is_far)
        pairs, members = list_ranges(starts[near], sizes[near])
        which, rows = order[members], rows[pairs]
        exact = _measure_solid_angles(corners[which] - some[rows][:, None])
        angles = np.where(is_far, dipoles, 0.0).sum(axis=1) + np.bincount(rows, exact, len(some))
        result[start : start + chunk] = angles / (4.0 * np.pi)
    return result


def _measure_solid_angles(corners: np.ndarray) -> np.ndarray:
    """Solid angles of triangles, shape (N, 3, 3), seen from the origin: shape (N,) (Van Oosterom & Strackee 1983)."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    lengths = np.sqrt(np.einsum("nci,nci->nc", corners, corners))
    volumes = np.einsum("ni,ni->n", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("ni,ni->n", x, y) for x, y in ((a, b), (b, c), (c, a)))
    below = lengths.prod(axis=1) + ab * lengths[:, 2] + bc * lengths[:, 0] + ca * lengths[:, 1]
    return 2.0 * np.arctan2(volumes, below)
