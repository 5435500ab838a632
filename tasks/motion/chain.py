"""A joined motion as it plays: by itself, or as the cycles of a loop, one after the other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...deformers.motion.feet import MIN_STEP, HeldFoot, hold_foot, measure_slide
from ...deformers.motion.seams import Smoothness, measure_seam

# Cycles of a loop that are computed together: held feet repeat from the fourth on
CYCLES = 5


# Difference of matrices up to which nothing is moved
SAME = 1e-9


@dataclass(frozen=True, eq=False)
class MotionChain:
    """The seams of a motion, and the offset between its cycles.

    Attributes
    ----------
    count : int
        Frames; of a loop the last is the first of the next cycle.
    seam, before, after : int
        Frame of the seam, and blended frames before and after it; a loop's is where a cycle ends.
    transform : float array, shape (4, 4), or None
        From a cycle of a loop to the next one, world space; None for a join.
    """

    count: int
    seam: int
    before: int
    after: int
    transform: np.ndarray | None = None

    @property
    def starts(self) -> list[int]:
        """First frames of the cycles, in frames of all of them."""
        return [0] if self.transform is None else [cycle * (self.count - 1) for cycle in range(CYCLES)]

    @property
    def base(self) -> int:
        """First frame of the cycle that is used."""
        return 0 if self.transform is None else self.starts[-2]

    @property
    def blended(self) -> tuple[int, int]:
        """First and last blended frame of the seam that is looked at, in frames of all cycles."""
        seam = self.seam if self.transform is None else self.base
        return seam - self.before, seam + self.after

    @property
    def all_blended(self) -> list[tuple[int, int]]:
        """Blended frames of all seams."""
        if self.transform is None:
            return [self.blended]
        return [(start - self.before, start + self.after) for start in self.starts[1:]]

    def unroll(self, points: np.ndarray) -> np.ndarray:
        """Points of the motion, shape (F, N, 3), in all cycles."""
        if self.transform is None:
            return points
        parts, current = [], points
        for _ in self.starts:
            parts.append(current[:-1])
            current = current @ self.transform[:3, :3].T + self.transform[:3, 3]
        return np.concatenate([*parts, current[:1]])

    def unroll_flags(self, flags: np.ndarray) -> np.ndarray:
        """Flags of the motion, shape (F,), in all cycles."""
        if self.transform is None:
            return flags
        return np.concatenate([np.tile(flags[:-1], CYCLES), flags[:1]])

    @property
    def is_closed(self) -> bool:
        """Whether all cycles are in the same place."""
        return self.transform is not None and bool(np.abs(self.transform - np.eye(4)).max() < SAME)

    def hold(self, points: np.ndarray, planted: np.ndarray, height: float, is_late: bool) -> HeldFoot:
        """How a foot is to be shifted in the frames of the motion, shape (F, 3), and when it is planted in all cycles.

        Parameters
        ----------
        points : float array, shape (n, 3)
            Of the foot, in all cycles.
        planted : bool array, shape (n,)
            The same.
        height : float
            Of the body.
        is_late : bool
            As `hold_foot` takes it.
        """
        held = HeldFoot(np.zeros_like(points), planted)
        if self.is_closed and planted.all() and np.ptp(points[:, :2], axis=0).max() < MIN_STEP * height:
            held.shifts[:, :2] = (points[self.base] - points)[:, :2]
        else:
            for blended in self.all_blended:
                further = hold_foot(points + held.shifts, held.is_planted, blended, height, is_late)
                held = HeldFoot(held.shifts + further.shifts, further.is_planted)
        shifts = held.shifts[self.base : self.base + self.count]
        if self.transform is not None:
            shifts = shifts @ np.linalg.matrix_power(self.transform[:3, :3], len(self.starts) - 2)
        return HeldFoot(shifts, held.is_planted)

    def measure_slides(self, points: np.ndarray, planted: np.ndarray) -> float:
        """How far a foot slides at the seam while it is planted; both in all cycles, shapes (n, 3) and (n,)."""
        return measure_slide(points, planted, self.blended)

    def measure(self, points: np.ndarray, own: list[np.ndarray]) -> Smoothness:
        """How smooth the seam is: points in all cycles, shape (n, N, 3), and those of the motions that are joined."""
        return measure_seam(points, self.blended, own)
