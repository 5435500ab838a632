"""Polar decomposition of all joints at once."""

from __future__ import annotations

import numpy as np

# Largest entry of `A.T @ A - I` of a rotation: single-precision noise of a posed chain is 7e-6 on a MakeHuman rig. A
# stretch of half of it, which is then left out, moves nothing by 1e-5 of a character's size.
MAX_RIGID_ERROR = 1e-5

# Smaller singular values also count as zero: single precision stores a scale to 1e-9, and so a rotation with this scale
# to 1e-4.
MIN_SCALE = 1e-5


def move_rigidly(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """Move points by the rigid motion that fits them best to others, shape (n, 3) each (Kabsch 1976)."""
    points = np.asarray(points, np.float64)
    before, after = points.mean(axis=0), others.mean(axis=0, dtype=np.float64)
    left, _, right = np.linalg.svd((points - before).T @ (others - after))
    left[:, 2] *= np.sign(np.linalg.det(left @ right))
    return (points - before) @ (left @ right) + after


def find_rigid(linear: np.ndarray, tolerance: float = MAX_RIGID_ERROR) -> np.ndarray:
    """Whether each matrix is a rotation: bool array, (B,). `linear`, float array, shape (B, 3, 3)."""
    entries = np.ascontiguousarray(linear.transpose(1, 2, 0))  # all joints beside each other
    error = np.abs((entries[:, :, None] * entries[:, None]).sum(axis=0) - np.eye(3)[:, :, None]).max(axis=(0, 1))
    return (error < tolerance) & (determinants(entries.transpose(2, 0, 1)) > 0)


def determinants(linear: np.ndarray) -> np.ndarray:
    """Determinants of 3 x 3 matrices, shape (B, 3, 3) to (B,)."""
    (a, b, c), (d, e, f), (g, h, i) = linear.transpose(1, 2, 0)
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def decompose_polar(linear: np.ndarray, parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split each matrix into a rotation and a stretch, `linear = rotation @ stretch` (eq 12).

    If the matrix does not define the rotation, it continues the parent's: with a scale of zero, the rotation about the
    remaining axis is the parent's; a mirrored matrix keeps a proper rotation, the possible one nearest to the parent's,
    with the mirror in the stretch. Joints below keep that mirror.

    Parameters
    ----------
    linear : float64 array, shape (B, 3, 3)
    parents : int array, shape (B,)
        -1 for a root (which continues the identity).

    Returns
    -------
    rotation, stretch : float64 arrays, shape (B, 3, 3)
        `det(rotation) = +1`. The stretch is symmetric, negative along a mirrored direction; below a mirrored joint it
        is a symmetric one times the mirror.

    Notes
    -----
    Kurihara & Nishita, eq 12. The paper does not treat mirrored and singular matrices.
    """
    rotation = linear.copy()
    bent = np.flatnonzero(~find_rigid(linear))
    if bent.size:
        rotation[bent], is_clear = _remove_stretches(linear[bent])
        unclear = bent[~is_clear]
        if unclear.size:
            left, scales, right = np.linalg.svd(linear[unclear])
            rotation[unclear] = left @ right
            is_open = _find_zeros(scales)[:, 2] | (determinants(rotation[unclear]) < 0)
            _choose_by_parent(rotation, linear, parents, unclear[is_open])
    return rotation, rotation.transpose(0, 2, 1) @ linear


def _remove_stretches(linear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations `M (M.T M)^(-1/2)`, and whether each is exact: a third faster than singular values."""
    squares, axes = np.linalg.eigh(linear.transpose(0, 2, 1) @ linear)
    scales = np.sqrt(np.maximum(squares, 1e-30))
    rotations = (linear @ axes / scales[:, None]) @ axes.transpose(0, 2, 1)
    # Scales that are larger, relative to the largest, follow from their squares with ten digits.
    min_clear_ratio = 1e-3
    is_clear = scales[:, 0] > np.maximum(min_clear_ratio * scales[:, 2], MIN_SCALE)
    return rotations, is_clear & (determinants(linear) > 0)


def _find_zeros(scales: np.ndarray) -> np.ndarray:
    """Whether singular values count as zero, shape (n, 3) of descending ones to bool (n, 3)."""
    # Smaller singular values, relative to the largest, count as zero: the rotation is undefined there.
    min_singular_ratio = 1e-6
    return scales <= np.maximum(min_singular_ratio * scales[:, :1], MIN_SCALE)


def _choose_by_parent(rotation: np.ndarray, linear: np.ndarray, parents: np.ndarray, which: np.ndarray) -> None:
    """Fill in `rotation[which]` from each parent, in a loop over the levels of such joints, which are few.

    A joint below a mirrored one keeps that mirror, so that rotations along a mirrored chain stay rotations. Its stretch
    then need not be symmetric, which does no harm (end of section 3.2).
    """
    waiting = np.zeros(len(parents), bool)
    waiting[which] = True
    mirrors = np.zeros_like(rotation)
    has_mirror = np.zeros(len(parents), bool)
    while waiting.any():
        ready = np.flatnonzero(waiting & ~((parents >= 0) & waiting[parents]))
        above = parents[ready]
        toward = np.where((above >= 0)[:, None, None], rotation[above], np.eye(3))
        left, scales, right = np.linalg.svd(linear[ready])
        agreement = left.transpose(0, 2, 1) @ toward @ right.transpose(0, 2, 1)
        inherits = (above >= 0) & has_mirror[above]
        has_mirror[ready] = inherits | ~_find_zeros(scales)[:, 2]
        found = right.transpose(0, 2, 1) @ _find_mirrors(agreement, scales) @ right
        mirrors[ready] = np.where(inherits[:, None, None], mirrors[above], found)
        mirrored = linear[ready] @ np.where(has_mirror[ready, None, None], mirrors[ready], np.eye(3))
        rotation[ready] = _continue_rotations(mirrored, toward)
        waiting[ready] = False


def _find_mirrors(agreement: np.ndarray, scales: np.ndarray) -> np.ndarray:
    """Mirrors, of the planes of the stretch or the point, with which each rotation is nearest to the parent's.

    Parameters
    ----------
    agreement : float64 array, shape (n, 3, 3)
        Parent's rotation, relative to the left and right singular vectors.
    scales : float64 array, shape (n, 3)
        Singular values, descending. Between equal ones the agreement chooses the planes.

    Returns
    -------
    float64 array, shape (n, 3, 3)
        In the basis of the right singular vectors.
    """
    symmetric = 0.5 * (agreement + agreement.transpose(0, 2, 1))
    max_scale_noise = 1e-4  # Relative difference of singular values that is only noise of a pose
    levels = np.cumsum(-np.diff(scales, prepend=scales[:, :1]) > max_scale_noise * scales[:, :1], axis=1)
    alike = levels[:, :, None] == levels[:, None]
    # Added to a matrix of rotations between unequal scales, so that its eigenvectors do not mix them
    scale_separation = 10.0
    apart = scale_separation * levels[:, None] * np.eye(3)
    normals = np.linalg.eigh(np.where(alike, symmetric, 0.0) + apart)[1].transpose(0, 2, 1)
    trace = np.einsum("nii->n", agreement)
    nearness = trace[:, None] - 2.0 * np.einsum("nai,nij,naj->na", normals, symmetric, normals)
    best = normals[np.arange(len(normals)), nearness.argmax(axis=1)]
    planes = np.eye(3) - 2.0 * best[:, :, None] * best[:, None]
    return np.where((nearness.max(axis=1) >= -trace)[:, None, None], planes, -np.eye(3))


def _continue_rotations(matrices: np.ndarray, toward: np.ndarray) -> np.ndarray:
    """Rotations of matrices that are not mirrored, shape (n, 3, 3); those of `toward` along axes scaled to zero.

    In the basis of the singular vectors, `toward` fills the block that the matrix leaves undefined, followed by the
    nearest rotation of the whole (Kabsch). The known part weighs more, so that a wrong sign is corrected in that block.
    """
    left, scales, right = np.linalg.svd(matrices)
    is_open = _find_zeros(scales)
    agreement = left.transpose(0, 2, 1) @ toward @ right.transpose(0, 2, 1)
    filled = np.where(is_open[:, :, None] & is_open[:, None], agreement, 0.0)
    known_weight = 4.0  # Weight of a defined direction; entries of the others are at most 1.
    filled += known_weight * ~is_open[:, None] * np.eye(3)
    inner_left, _, inner_right = np.linalg.svd(filled)
    left, right = left @ inner_left, inner_right @ right
    left[:, :, 2] *= np.sign(determinants(left) * determinants(right))[:, None]
    return left @ right
