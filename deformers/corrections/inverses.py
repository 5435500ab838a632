"""What was sculpted on a posed skin, brought back to rest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra.small_inverses import invert_three

FLATTEST = 0.1
"""Share of the largest stretch from which on a direction counts as flattened: offsets in it are damped.

Else a sculpted millimeter would become centimeters at rest, which show in all poses nearby.
"""

STEPS = 16
"""Most corrections of what is left, where a deformation is not affine."""

SHORTEST, LONGEST = 0.25, 8.0
"""Of such a step, in parts of what would do if the deformation were affine."""

REACHED = 1e-6
"""Share of the size of the mesh that may be left."""

STUCK = 0.999
"""Share of the squares of what was left that is still left after a step that is the last: no further one helps."""

MISSED = 1e-4
"""The same from which on a vertex counts as one that can not be brought there."""


@dataclass(frozen=True)
class PulledBack:
    """Offsets at rest.

    Attributes
    ----------
    offsets : float64 array, shape (V, 3)
    is_damped : bool array, shape (V,)
        Vertices that come less far than was asked for: their skin is flattened, or something keeps them.
    """

    offsets: np.ndarray
    is_damped: np.ndarray


def pull_back(linear: np.ndarray, offsets: np.ndarray) -> PulledBack:
    """Find what has to be added at rest for posed points to move by offsets.

    Parameters
    ----------
    linear : float array, shape (V, 3, 3)
        What the pose does to vectors at each vertex: x = A (v + d) + t.
    offsets : float array, shape (V, 3)
        Of posed points.

    Notes
    -----
    d = A^-1 offset. Where A flattens space, as linear blending does in a wrung joint, its inverse would tear: there
    A = U diag(s) V^T is inverted by V diag(s / max(s, e)^2) U^T, with e a share `FLATTEST` of the largest s.
    """
    linear, offsets = np.asarray(linear, np.float64), np.asarray(offsets, np.float64)
    result, is_damped = np.zeros_like(offsets), np.zeros(len(offsets), bool)
    moved = np.flatnonzero(offsets.any(axis=1))
    matrices, wanted = linear[moved], offsets[moved]
    inverses = invert_three(matrices)
    sizes = np.sqrt(np.square(matrices).sum(axis=(1, 2)) * np.square(inverses).sum(axis=(1, 2)))
    flat = np.flatnonzero(~((sizes > 0.0) & (sizes < 1.0 / FLATTEST)))  # not more than the ratio of the stretches
    if flat.size:
        left, stretches, right = np.linalg.svd(matrices[flat])
        least = FLATTEST * stretches[:, :1]
        factors = stretches / np.maximum(np.maximum(stretches, least) ** 2, 1e-300)
        inverses[flat] = np.einsum("vji,vj,vkj->vik", right, factors, left)
        is_damped[moved[flat[(stretches < least).any(axis=1) | (stretches[:, 0] == 0.0)]]] = True
    result[moved] = np.einsum("vij,vj->vi", inverses, wanted)
    return PulledBack(result, is_damped)


def pull_back_by_steps(
    linear: np.ndarray, target: np.ndarray, points: np.ndarray, deform: Callable[[np.ndarray], np.ndarray], size: float
) -> PulledBack:
    """The same for a deformation that is affine in part: what is left is pulled back in turn.

    Parameters
    ----------
    linear : float array, shape (V, 3, 3)
    target, points : float arrays, shape (V, 3)
        Posed points as they shall be, and as they are.
    deform : callable
        Takes offsets at rest, shape (V, 3), and gives the posed points.
    size : float
        Of the mesh.

    Notes
    -----
    A vertex keeps what a step has brought it if it is nearer than before. How far a step has brought it says how long
    its next one is.
    """
    is_changed = (target != points).any(axis=1)
    total, is_damped, gains = np.zeros((len(target), 3)), np.zeros(len(target), bool), np.ones((len(target), 1))
    left = np.where(is_changed[:, None], target - np.asarray(points, np.float64), 0.0)
    squares = np.square(left).sum(axis=1)
    for _ in range(STEPS):
        step = pull_back(linear, gains * left)
        is_damped |= step.is_damped
        tried = total + step.offsets
        missing = np.where(is_changed[:, None], target - np.asarray(deform(tried), np.float64), 0.0)
        reached = ((left - missing) * left).sum(axis=1) / np.maximum(squares, 1e-30)
        gains = (gains.ravel() / np.clip(reached, SHORTEST, LONGEST))[:, None].clip(SHORTEST, LONGEST)
        now = np.square(missing).sum(axis=1)
        better = now < squares
        total[better], left[better] = tried[better], missing[better]
        before, squares = squares, np.minimum(now, squares)
        if squares.max(initial=0.0) <= (REACHED * size) ** 2 or squares.sum() > STUCK * before.sum():
            break
    return PulledBack(total, is_damped | (squares > (MISSED * size) ** 2))
