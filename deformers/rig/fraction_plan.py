"""Which fractions joints get: by what users chose, by how much a joint twists, and by which bones are long."""

from __future__ import annotations

import numpy as np

from .fractions import Fractions
from .rest import Joints

MOST = 5
"""Fractions of a joint, at most."""

LARGEST_STEP = np.radians(75.0)
"""Twist between neighbors, at most, where the number of fractions is free."""

LEAST_TWIST = np.radians(90.0)
"""Twist from which on a joint has fractions, where that is free."""

LEAST_SPREAD = 4
"""Fractions of Spread Twist, where the number is free: of a twist by 170 degrees, neighbors differ by 43."""


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
