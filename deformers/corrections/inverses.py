"""Bring offsets that were sculpted on a posed skin back to rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra.small_inverses import invert_three

# Offsets are damped in directions flattened below this share of the largest stretch. Otherwise a sculpted millimeter
# would become centimeters at rest, which show in all poses nearby.
MIN_STRETCH = 0.1


@dataclass(frozen=True)
class PulledBack:
    """Offsets at rest.

    Attributes
    ----------
    offsets : float64 array, shape (V, 3)
    is_damped : bool array, shape (V,)
        Vertices that move less far than wanted, because their skin is flattened or something holds them.
    """

    offsets: np.ndarray
    is_damped: np.ndarray


def pull_back(linear: np.ndarray, offsets: np.ndarray) -> PulledBack:
    """Find the offsets at rest that move posed points by given offsets.

    Parameters
    ----------
    linear : float array, shape (V, 3, 3)
        Linear part A of the pose at each vertex: x = A (v + d) + t.
    offsets : float array, shape (V, 3)
        Offsets of posed points.

    Notes
    -----
    d = A^-1 offset. Where A flattens space, as linear blending does in a wrung joint, its inverse would tear: there
    A = U diag(s) V^T is inverted by V diag(s / max(s, e)^2) U^T, with e = `MIN_STRETCH` times the largest s.
    """
    linear, offsets = np.asarray(linear, np.float64), np.asarray(offsets, np.float64)
    result, is_damped = np.zeros_like(offsets), np.zeros(len(offsets), bool)
    moved = np.flatnonzero(offsets.any(axis=1))
    matrices, wanted = linear[moved], offsets[moved]
    inverses = invert_three(matrices)
    sizes = np.sqrt(np.square(matrices).sum(axis=(1, 2)) * np.square(inverses).sum(axis=(1, 2)))
    # `sizes` are upper bounds of the ratios of the stretches, and spare most vertices the SVD.
    flat = np.flatnonzero(~((sizes > 0.0) & (sizes < 1.0 / MIN_STRETCH)))
    if flat.size:
        left, stretches, right = np.linalg.svd(matrices[flat])
        least = MIN_STRETCH * stretches[:, :1]
        factors = stretches / np.maximum(np.maximum(stretches, least) ** 2, 1e-300)
        inverses[flat] = np.einsum("vji,vj,vkj->vik", right, factors, left)
        is_damped[moved[flat[(stretches < least).any(axis=1) | (stretches[:, 0] == 0.0)]]] = True
    result[moved] = np.einsum("vij,vj->vi", inverses, wanted)
    return PulledBack(result, is_damped)


def pull_back_by_steps(
    linear: np.ndarray, target: np.ndarray, points: np.ndarray, deform: Callable[[np.ndarray], np.ndarray], size: float
) -> PulledBack:
    """Find offsets at rest as `pull_back` does, for a deformation that is only partly affine, by repeated correction.

    Parameters
    ----------
    linear : float array, shape (V, 3, 3)
    target, points : float arrays, shape (V, 3)
        Wanted and present posed points.
    deform : callable
        Computes posed points from offsets at rest, shape (V, 3).
    size : float
        Size of the mesh.

    Notes
    -----
    A vertex keeps a step if it is nearer to its target than before. Its next step is scaled by how far the last one
    brought it.
    """
    max_steps, min_gain, max_gain = 16, 0.25, 8.0
    min_left, max_left = 1e-6 * size, 1e-4 * size  # good enough to stop; too far to call the target reached
    is_changed = (target != points).any(axis=1)
    total, is_damped, gains = np.zeros((len(target), 3)), np.zeros(len(target), bool), np.ones((len(target), 1))
    left = np.where(is_changed[:, None], target - np.asarray(points, np.float64), 0.0)
    squares = np.square(left).sum(axis=1)
    for _ in range(max_steps):
        step = pull_back(linear, gains * left)
        is_damped |= step.is_damped
        tried = total + step.offsets
        missing = np.where(is_changed[:, None], target - np.asarray(deform(tried), np.float64), 0.0)
        reached = ((left - missing) * left).sum(axis=1) / np.maximum(squares, 1e-30)
        gains = (gains.ravel() / np.clip(reached, min_gain, max_gain))[:, None].clip(min_gain, max_gain)
        now = np.square(missing).sum(axis=1)
        better = now < squares
        total[better], left[better] = tried[better], missing[better]
        before, squares = squares, np.minimum(now, squares)
        if squares.max(initial=0.0) <= min_left**2 or squares.sum() > 0.999 * before.sum():
            break
    return PulledBack(total, is_damped | (squares > max_left**2))
