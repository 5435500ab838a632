"""Fractional joints: a joint stands for a short chain of partial rotations, so that it may twist without end.

A fraction is one more joint, after the B that bones make. Those *at a joint* go from the bone above, by equal shares of
twist and swing, to the bone below. Those of *Spread Twist* go along the bones above, by shares of the twist alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ..algebra.dual_quaternions import multiply_quaternions, quaternions_from_rotations, rotations_from_quaternions
from ..algebra.polar import decompose_polar, find_rigid

if TYPE_CHECKING:
    from .rest import Joints

MOST = 5
"""Fractions of a joint, at most."""

LARGEST_STEP = np.radians(75.0)
"""Twist between neighbors, at most, where the number of fractions is free."""

LEAST_TWIST = np.radians(90.0)
"""Twist from which on a joint has fractions, where that is free."""

LEAST_SPREAD = 4
"""Fractions of Spread Twist, where the number is free: of a twist by 170 degrees, neighbors differ by 43."""

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
    base : int array, shape (F,)
        The joint that a fraction moves with, but for its share.
    first, last : int arrays, shape (F,)
        The joints above and below: the rotation of the last against the first is what is shared.
    twists : float array, shape (F,)
        Share of the twist, 0 to 1.
    swings : float array, shape (F,)
        Share of the swing, of the translation and of the stretch, 0 to 1; 0 with Spread Twist.
    axes : float array, shape (F, 3)
        What the twist is about: the bone of `last` at rest, or the line of the bones that it is spread along. Unit
        vectors, armature space.
    centers : float array, shape (F, 3)
        About which a fraction turns: the center of `last` at rest.
    lengths : float array, shape (F,)
        Of the bones that a twist is spread along, up to `centers`; 0 for fractions at a joint.
    """

    parents: np.ndarray
    base: np.ndarray
    first: np.ndarray
    last: np.ndarray
    twists: np.ndarray
    swings: np.ndarray
    axes: np.ndarray
    centers: np.ndarray
    lengths: np.ndarray

    @property
    def count(self) -> int:
        """F."""
        return len(self.base)

    @property
    def joint_count(self) -> int:
        """B."""
        return len(self.parents) - self.count

    @property
    def joint_parents(self) -> np.ndarray:
        """What the B joints are joined to without fractions, shape (B,)."""
        parents, count = self.parents[: self.joint_count], self.joint_count
        return np.where(parents >= count, self.first[np.maximum(parents - count, 0)], parents)

    @property
    def is_spread(self) -> np.ndarray:
        """Which belong to Spread Twist, bool array, shape (F,)."""
        return self.lengths > 0.0

    def mix(self, values: np.ndarray) -> np.ndarray:
        """Values of the joints, shape (B, ...), mixed by the fractions' swings: shape (F, ...)."""
        shares = self.swings.reshape(-1, *(1,) * (values.ndim - 1))
        return values[self.base] + shares * (values[self.last] - values[self.base])


def count_fractions(twist: float) -> int:
    """How many fractions a joint takes that twists by so many radians, at most; 0 where it needs none."""
    return 0 if twist <= LEAST_TWIST else int(min(np.ceil(twist / LARGEST_STEP) - 1, MOST))


def plan_fractions(joints: Joints, levels: np.ndarray, spread: np.ndarray) -> Fractions | None:
    """The fractions of some joints; None where there are none.

    Parameters
    ----------
    joints : Joints
    levels : int array, shape (B,)
        How many fractions each joint has.
    spread : int array, shape (B,)
        Along how many of the bones before it each joint's twist runs; 0 for none: its fractions are at the joint.

    Notes
    -----
    A bone has the twist of one joint spread along it: of several, the first.
    """
    plan, taken = _Plan(joints), set()
    for joint in np.flatnonzero((levels > 0) & (joints.parents >= 0)).tolist():
        line = _list_before(joints, joint, int(spread[joint]))
        if line and taken.isdisjoint(line) and plan.spread(joint, line, int(levels[joint])):
            taken.update(line)
        else:
            plan.split(joint, int(levels[joint]))
    return plan.finish()


def _list_before(joints: Joints, joint: int, count: int) -> list[int]:
    """So many bones before a joint, from the first to that above it; fewer at a root."""
    line: list[int] = []
    while len(line) < count and joints.parents[joint] >= 0:
        joint = int(joints.parents[joint])
        line.insert(0, joint)
    return line


class _Plan:
    """Fractions while they are listed."""

    def __init__(self, joints: Joints) -> None:
        self._joints = joints
        self._centers = np.asarray(joints.centers, np.float64)
        self._parents = [int(parent) for parent in joints.parents]
        self._rows: list[tuple] = []

    def split(self, joint: int, level: int) -> None:
        """Fractions at a joint."""
        parent, axis = int(self._joints.parents[joint]), self._joints.axes[joint]
        before = parent
        for number in range(1, level + 1):
            share = number / (level + 1)
            before = self._add(before, parent, parent, joint, share, share, axis, 0.0)
        self._parents[joint] = before

    def spread(self, joint: int, line: list[int], level: int) -> bool:
        """Fractions of Spread Twist along a line of bones; False where that has no length."""
        end = self._centers[joint]
        offset = end - self._centers[line[0]]
        length = float(np.linalg.norm(offset))
        if length <= 1e-6:
            return False
        axis, before = offset / length, line[0]
        starts = np.clip((self._centers[line] - self._centers[line[0]]) @ axis / length, 0.0, 1.0)
        for bone, start, stop in zip(line, starts, [*starts[1:], 1.0], strict=True):
            lowest, highest = int(np.floor(start * level + 1e-6)), int(np.ceil(stop * level - 1e-6))
            before = bone if lowest == 0 else before
            for number in range(max(lowest, 1), max(highest, 1) + 1):
                before = self._add(before, bone, line[-1], joint, number / level, 0.0, axis, length)
        self._parents[joint] = before
        return True

    def _add(
        self,
        before: int,
        base: int,
        first: int,
        joint: int,
        twist: float,
        swing: float,
        axis: np.ndarray,
        length: float,
    ) -> int:
        self._parents.append(before)
        self._rows.append((base, first, joint, twist, swing, axis, self._centers[joint], length))
        return len(self._parents) - 1

    def finish(self) -> Fractions | None:
        """All that were listed."""
        if not self._rows:
            return None
        base, first, last, twists, swings, axes, centers, lengths = (
            np.array(rows) for rows in zip(*self._rows, strict=True)
        )
        return Fractions(np.array(self._parents), base, first, last, twists, swings, axes, centers, lengths)


def pose_fractions(fractions: Fractions, matrices: np.ndarray, hints: np.ndarray | None = None) -> np.ndarray:
    """Where the fractions go.

    Parameters
    ----------
    fractions : Fractions
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
    R_base s^swing t(twist alpha) ((1 - swing) S_base + swing S_last), and takes its center to
    (1 - swing) M_base center + swing M_last center.
    """
    linear = np.asarray(matrices[:, :3, :3], np.float64)
    rotations, stretches = linear, None
    if not find_rigid(linear).all():
        rotations, stretches = decompose_polar(linear, fractions.joint_parents)
    turns = rotations[fractions.first].transpose(0, 2, 1) @ rotations[fractions.last]
    asked = np.zeros(fractions.count) if hints is None else np.asarray(hints, np.float64)[fractions.last]
    swings, twists = split_turns(quaternions_from_rotations(turns), fractions.axes, asked)
    shared = multiply_quaternions(
        _share_swings(swings, fractions.swings), _twist_about(fractions.axes, fractions.twists * twists)
    )
    posed = rotations[fractions.base] @ rotations_from_quaternions(shared)
    if stretches is not None:
        posed = posed @ fractions.mix(stretches)
    ends = np.stack([matrices[fractions.base], matrices[fractions.last]])
    above, below = np.einsum("kfij,fj->kfi", ends[:, :, :3, :3], fractions.centers) + ends[:, :, :3, 3]
    centers = above + fractions.swings[:, None] * (below - above)
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
