"""Polar decomposition of all joints at once."""

from __future__ import annotations

import numpy as np

RIGID = 4e-6
"""Largest entry of `A.T @ A - I` at which a matrix counts as a rotation: single-precision noise of a posed chain."""

SINGULAR = 1e-6
"""Singular values below this part of the largest count as zero: the matrix does not determine a rotation there."""


CLEAR = 1e-3
"""Scales above this part of the largest are found from their squares with ten digits."""


def find_rigid(linear: np.ndarray) -> np.ndarray:
    """Tell which matrices are rotations.

    Parameters
    ----------
    linear : float array, shape (B, 3, 3)

    Returns
    -------
    bool array, shape (B,)
    """
    error = np.abs(linear.transpose(0, 2, 1) @ linear - np.eye(3)).max(axis=(1, 2))
    return (error < RIGID) & (determinants(linear) > 0)


def determinants(linear: np.ndarray) -> np.ndarray:
    """Determinants of 3 x 3 matrices, shape (B, 3, 3) to (B,)."""
    (a, b, c), (d, e, f), (g, h, i) = linear.transpose(1, 2, 0)
    return a * (e * i - f * h) - b * (d * i - f * g) + c * (d * h - e * g)


def decompose_polar(linear: np.ndarray, parents: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Split each matrix into a rotation and a stretch, `linear = rotation @ stretch` (eq 12).

    Where the matrix leaves the rotation open, the parent's rotation is continued: a scale of zero turns as the parent
    does about what is left, and a mirrored matrix keeps a proper rotation, the one of those possible that is nearest
    to the parent's, with the mirror in the stretch. Joints below keep that mirror.

    Parameters
    ----------
    linear : float64 array, shape (B, 3, 3)
    parents : int array, shape (B,)
        Joint that each is joined to, -1 for a root (which continues the identity).

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
            is_open = (scales[:, 2] <= SINGULAR * scales[:, 0]) | (determinants(rotation[unclear]) < 0)
            _choose_by_parent(rotation, linear, parents, unclear[is_open])
    return rotation, rotation.transpose(0, 2, 1) @ linear


def _remove_stretches(linear: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations `M (M.T M)^(-1/2)`, and where they are exact: two thirds of the time that singular values take."""
    squares, axes = np.linalg.eigh(linear.transpose(0, 2, 1) @ linear)
    scales = np.sqrt(np.maximum(squares, 1e-30))
    rotations = (linear @ axes / scales[:, None]) @ axes.transpose(0, 2, 1)
    return rotations, (scales[:, 0] > CLEAR * scales[:, 2]) & (determinants(linear) > 0)


def _choose_by_parent(rotation: np.ndarray, linear: np.ndarray, parents: np.ndarray, which: np.ndarray) -> None:
    """Fill in `rotation[which]`, each after its parent. A loop, as each needs its parent's; such joints are few.

    A joint below a mirrored one keeps that mirror, so that what turns along a mirrored chain turns in the rotations.
    Its stretch then need not be symmetric, which does no harm (end of section 3.2).
    """
    waiting = {int(joint) for joint in which}
    mirrors: dict[int, np.ndarray] = {}
    while waiting:
        ready = [joint for joint in waiting if parents[joint] not in waiting]
        for joint in ready:
            parent = int(parents[joint])
            toward = rotation[parent] if parent >= 0 else np.eye(3)
            left, scales, right = np.linalg.svd(linear[joint])
            singular = scales[2] <= SINGULAR * scales[0]
            if parent in mirrors:
                mirrors[joint] = mirrors[parent]
            elif not singular:
                mirrors[joint] = _find_mirror(left @ right, scales, right, toward)
            rotation[joint] = _continue_rotation(linear[joint] @ mirrors.get(joint, np.eye(3)), toward)
        waiting.difference_update(ready)


def _continue_rotation(matrix: np.ndarray, toward: np.ndarray) -> np.ndarray:
    """The rotation of a matrix that is not mirrored; where it was scaled to nothing, what `toward` does there."""
    left, scales, right = np.linalg.svd(matrix)
    empty = scales <= SINGULAR * scales[0]
    if not empty.any():
        return left @ right
    u, _, v = np.linalg.svd(left[:, empty].T @ toward @ right[empty].T)
    rotation = left[:, ~empty] @ right[~empty] + left[:, empty] @ u @ v @ right[empty]
    return rotation if np.linalg.det(rotation) > 0 else rotation @ _mirror(v[-1] @ right[empty])


def _find_mirror(turned: np.ndarray, scales: np.ndarray, right: np.ndarray, toward: np.ndarray) -> np.ndarray:
    """The mirror, of the planes of the stretch or the point, whose rotation `turned @ mirror` is nearest to `toward`.

    Scales that differ by less than the noise of a pose count as equal; among their planes the second term picks.
    """
    levels = np.cumsum(np.diff(scales, prepend=scales[0]) < -1e-4 * scales[0])
    preference = turned.T @ toward
    normals = np.linalg.eigh(right.T @ np.diag(levels) @ right + 1e-9 * (preference + preference.T))[1].T
    mirrors = [_mirror(normal) for normal in normals] + [-np.eye(3)]
    return max(mirrors, key=lambda mirror: float(np.sum(turned @ mirror * toward)))


def _mirror(normal: np.ndarray) -> np.ndarray:
    return np.eye(3) - 2 * np.outer(normal, normal)
