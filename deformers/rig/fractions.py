"""Fractional joints: a joint stands for a short chain of partial rotations, so that it may twist without end.

A fraction is one more joint, after the B that bones make. Those of a joint go from the bone above, by equal shares of
twist and swing, to the bone below.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra.dual_quaternions import multiply_quaternions, quaternions_from_rotations, rotations_from_quaternions
from ..algebra.polar import decompose_polar, find_rigid

HALF_TURN = 1e-6
"""Cosine of half a swing below which it is by 180 degrees: there is no telling a twist from it."""


@dataclass(frozen=True, eq=False)
class Fractions:
    """Joints between joints. F of them, with the indices B to B + F - 1 after the B joints that bones make.

    Two are equal only if they are the same object.

    Attributes
    ----------
    parents : int array, shape (B + F,)
        What comes before each joint on its path, -1 for a root: signs of quaternions agree along it, so that a path
        may turn by more than 180 degrees.
    first, last : int arrays, shape (F,)
        The joints above and below: the rotation of the last against the first is what is shared.
    shares : float array, shape (F,)
        Of the twist, the swing, the translation and the stretch, 0 to 1.
    axes : float array, shape (F, 3)
        What the twist is about: the bone of `last` at rest. Unit vectors, armature space.
    centers : float array, shape (F, 3)
        About which a fraction turns: the center of `last` at rest.
    """

    parents: np.ndarray
    first: np.ndarray
    last: np.ndarray
    shares: np.ndarray
    axes: np.ndarray
    centers: np.ndarray

    @property
    def count(self) -> int:
        """F."""
        return len(self.first)

    @property
    def joint_count(self) -> int:
        """B."""
        return len(self.parents) - self.count

    @cached_property
    def joint_parents(self) -> np.ndarray:
        """What the B joints are joined to without fractions, shape (B,)."""
        parents, count = self.parents[: self.joint_count], self.joint_count
        return np.where(parents >= count, self.first[np.maximum(parents - count, 0)], parents)

    @cached_property
    def joints(self) -> np.ndarray:
        """The joints that fractions follow, each once."""
        return np.unique([self.first, self.last])

    def mix(self, values: np.ndarray) -> np.ndarray:
        """Values of the joints, shape (B, ...), mixed by the fractions' shares: shape (F, ...)."""
        shares = self.shares.reshape(-1, *(1,) * (values.ndim - 1))
        return values[self.first] + shares * (values[self.last] - values[self.first])


def pose_fractions(fractions: Fractions, matrices: np.ndarray, hints: np.ndarray | None = None) -> np.ndarray:
    """Where the fractions go.

    Parameters
    ----------
    matrices : float array, shape (B, 4, 4)
        Of the joints, from rest to pose, armature space.
    hints : float array, shape (B,), or None
        Twist of each joint that is asked for, radians: how many whole turns it makes. None: 0.

    Returns
    -------
    float64 array, shape (F, 4, 4)

    Notes
    -----
    With M = R S of the joints, r = R_first^-1 R_last = s t: t is the twist about the axis by the angle alpha, in whole
    turns as near to the hint as can be, s the swing, the short way. A fraction has the linear part
    R_first s^share t(share alpha) ((1 - share) S_first + share S_last), and takes its center to
    (1 - share) M_first center + share M_last center.
    """
    linear = np.asarray(matrices[:, :3, :3], np.float64)
    rotations, stretches = linear, None
    if not find_rigid(linear[fractions.joints]).all():
        rotations, stretches = decompose_polar(linear, fractions.joint_parents)
    turns = rotations[fractions.first].transpose(0, 2, 1) @ rotations[fractions.last]
    asked = np.zeros(fractions.count) if hints is None else np.asarray(hints, np.float64)[fractions.last]
    swings, twists = split_turns(quaternions_from_rotations(turns), fractions.axes, asked)
    shared = multiply_quaternions(
        _share_swings(swings, fractions.shares), _twist_about(fractions.axes, fractions.shares * twists)
    )
    posed = rotations[fractions.first] @ rotations_from_quaternions(shared)
    if stretches is not None:
        posed = posed @ fractions.mix(stretches)
    ends = np.stack([matrices[fractions.first], matrices[fractions.last]])
    above, below = np.einsum("kfij,fj->kfi", ends[:, :, :3, :3], fractions.centers) + ends[:, :, :3, 3]
    centers = above + fractions.shares[:, None] * (below - above)
    result = np.tile(np.eye(4), (fractions.count, 1, 1))
    result[:, :3, :3] = posed
    result[:, :3, 3] = centers - np.einsum("fij,fj->fi", posed, fractions.centers)
    return result


def split_turns(turns: np.ndarray, axes: np.ndarray, hints: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotations as a twist about an axis, and then a swing, whose axis is at right angles to it.

    Parameters
    ----------
    turns : float array, shape (N, 4)
        Unit quaternions.
    axes : float array, shape (N, 3)
        Unit vectors, or zero: there is no twist then.
    hints : float array, shape (N,)
        Radians: twists are in whole turns as near to these as can be.

    Returns
    -------
    swings : float array, shape (N, 4)
        Unit quaternions with w >= 0: the short way.
    twists : float array, shape (N,)
        Radians.
    """
    w, r = turns[:, 0], turns[:, 1:]
    along = np.einsum("ni,ni->n", r, axes)
    norms = np.hypot(w, along)
    clear = norms > HALF_TURN
    cosines = np.where(clear, w, 1.0) / np.where(clear, norms, 1.0)
    sines = np.where(clear, along, 0.0) / np.where(clear, norms, 1.0)
    backward = np.concatenate([cosines[:, None], -sines[:, None] * axes], axis=1)
    twists = 2.0 * np.arctan2(sines, cosines)
    return multiply_quaternions(turns, backward), twists + 2.0 * np.pi * np.rint((hints - twists) / (2.0 * np.pi))


def _share_swings(swings: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Swings, shape (N, 4), by shares of their angles."""
    sines = np.sqrt(np.square(swings[:, 1:]).sum(axis=1))
    halves = shares * np.arctan2(sines, swings[:, 0])
    axes = swings[:, 1:] / np.where(sines > 0.0, sines, 1.0)[:, None]
    return np.concatenate([np.cos(halves)[:, None], np.sin(halves)[:, None] * axes], axis=1)


def _twist_about(axes: np.ndarray, angles: np.ndarray) -> np.ndarray:
    return np.concatenate([np.cos(0.5 * angles)[:, None], np.sin(0.5 * angles)[:, None] * axes], axis=1)
