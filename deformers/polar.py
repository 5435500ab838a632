"""Polar decomposition of all joints at once."""

from __future__ import annotations

import numpy as np

RIGID = 4e-6
"""Largest entry of `A.T @ A - I` at which a matrix still counts as a rotation: single-precision noise of a posed chain."""

SINGULAR = 1e-9
"""Singular values below this part of the largest count as zero: the matrix does not determine a rotation there."""


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
    """Split each matrix into a rotation and a symmetric stretch, `linear = rotation @ stretch` (eq 12).

    Where the matrix leaves the rotation open, the parent's rotation is continued: a scale of zero turns as the parent
    does about what is left, and a mirrored matrix keeps a proper rotation, the one of those possible that is nearest
    to the parent's, with the reflection in the stretch.

    Parameters
    ----------
    linear : float64 array, shape (B, 3, 3)
    parents : int array, shape (B,)
        Joint that each is joined to, -1 for a root (which continues the identity).

    Returns
    -------
    rotation, stretch : float64 arrays, shape (B, 3, 3)
        `det(rotation) = +1`; the stretch is symmetric, negative along a mirrored direction.

    Notes
    -----
    Kurihara & Nishita, eq 12. The paper does not treat mirrored and singular matrices.
    """
    rotation = linear.copy()
    bent = np.flatnonzero(~find_rigid(linear))
    if bent.size:
        left, scales, right = np.linalg.svd(linear[bent])
        rotation[bent] = left @ right
        open_to_choice = (scales[:, 2] <= SINGULAR * scales[:, 0]) | (determinants(rotation[bent]) < 0)
        if open_to_choice.any():
            _choose_by_parent(rotation, linear, parents, bent[open_to_choice])
    stretch = rotation.transpose(0, 2, 1) @ linear
    return rotation, 0.5 * (stretch + stretch.transpose(0, 2, 1))


def _choose_by_parent(rotation: np.ndarray, linear: np.ndarray, parents: np.ndarray, which: np.ndarray) -> None:
    """Fill in `rotation[which]`, each after its parent. A loop, as each needs its parent's; such joints are few."""
    waiting = {int(joint) for joint in which}
    while waiting:
        ready = [joint for joint in waiting if parents[joint] not in waiting]
        for joint in ready:
            toward = rotation[parents[joint]] if parents[joint] >= 0 else np.eye(3)
            rotation[joint] = _nearest_rotation(linear[joint], toward)
        waiting.difference_update(ready)


def _nearest_rotation(matrix: np.ndarray, toward: np.ndarray) -> np.ndarray:
    """Of the rotations R for which `R.T @ matrix` is symmetric, the one nearest to `toward` (both shape (3, 3))."""
    left, scales, right = np.linalg.svd(matrix)
    empty = scales <= SINGULAR * scales[0]
    if empty.any():
        # Directions that were scaled to nothing: take what `toward` does there, and mirror one of them if need be.
        u, _, v = np.linalg.svd(left[:, empty].T @ toward @ right[empty].T)
        filled = left[:, ~empty] @ right[~empty] + left[:, empty] @ u @ v @ right[empty]
        mirrors = [_mirror(v[-1] @ right[empty])]
    else:
        filled = left @ right
        # Mirror planes must be planes of the stretch; where two scales are equal the small term picks among them.
        preference = filled.T @ toward
        stretch = right.T @ np.diag(scales) @ right + 1e-9 * scales[0] * (preference + preference.T)
        mirrors = [_mirror(normal) for normal in np.linalg.eigh(stretch)[1].T] + [-np.eye(3)]
    if np.linalg.det(filled) > 0:
        return filled
    return max((filled @ mirror for mirror in mirrors), key=lambda candidate: float(np.sum(candidate * toward)))


def _mirror(normal: np.ndarray) -> np.ndarray:
    return np.eye(3) - 2 * np.outer(normal, normal)
