"""Limits of bones' rotations as Euler angles in the bone's own order, as in Blender's Limit Rotation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError

# An angle may exceed a limit by so many radians, and the limits of a locked axis may differ by it.
SAME_ANGLE = 1e-9


@dataclass(frozen=True, eq=False)
class RotationLimits:
    """Lowest and highest Euler angles of the bones' local rotations.

    Attributes
    ----------
    orders : int array, shape (B, 3)
        Order of the axes: (0, 1, 2) is Blender's "XYZ", `Rz @ Ry @ Rx`.
    lowest, highest : float arrays, shape (B, 3)
        Radians about X, Y and Z; -inf and inf for a free axis, both the present angle for a locked axis.
    """

    orders: np.ndarray
    lowest: np.ndarray
    highest: np.ndarray

    def __post_init__(self) -> None:
        if not (self.lowest <= self.highest).all():
            bone = int(np.argwhere(~(self.lowest <= self.highest))[0, 0])
            raise SkinningError(f"The minimum angle of bone {bone} is above its maximum: correct its limits")

    @classmethod
    def none(cls, count: int) -> RotationLimits:
        """No limits for so many bones."""
        infinite = np.full((count, 3), np.inf)
        return cls(np.tile(np.arange(3), (count, 1)), -infinite, infinite)

    @property
    def limited(self) -> np.ndarray:
        """Whether bones have a limit on any axis, bool (B,)."""
        return np.asarray((np.isfinite(self.lowest) | np.isfinite(self.highest)).any(axis=1))

    @property
    def locked(self) -> np.ndarray:
        """Whether axes are locked, bool (B, 3)."""
        return self.highest - self.lowest <= SAME_ANGLE

    def take(self, bones: np.ndarray | Sequence[int]) -> RotationLimits:
        """Limits of some bones, int, shape (N,)."""
        return RotationLimits(self.orders[bones], self.lowest[bones], self.highest[bones])


@dataclass(frozen=True)
class Hinge:
    """A joint that bends to one side, such as an elbow.

    Attributes
    ----------
    bone : int
        The lower of the two joined bones.
    axis : int
        Index of the Euler angle that bends it.
    sign : float
        1 if this angle grows with the bend, otherwise -1.
    straight : float
        Angle times sign at which it is straight, radians.
    least : float
        It resists bending less than this, radians, because a straight limb locks.
    """

    bone: int
    axis: int
    sign: float
    straight: float
    least: float = float(np.radians(5.0))

    def flexion(self, angles: np.ndarray) -> float:
        """Bend for Euler angles (3,), radians, negative on the other side."""
        return float(self.sign * angles[self.axis] - self.straight)

    def angle(self, flexion: float) -> float:
        """Euler angle of a bend."""
        return self.sign * (flexion + self.straight)

    def begun(self, angles: np.ndarray) -> Hinge:
        """Let a limb that is straight at the start of a drag, at Euler angles (3,), stay straight."""
        return replace(self, least=min(self.least, self.flexion(angles)))


def rotate_about_axes(angles: np.ndarray) -> np.ndarray:
    """Rotations about X, Y and Z by angles (N, 3): shape (N, 3, 3, 3), the second index is the axis."""
    cos, sin = np.cos(angles), np.sin(angles)
    rotations = np.zeros((len(angles), 3, 3, 3))
    for axis in range(3):
        one, two = (axis + 1) % 3, (axis + 2) % 3
        rotations[:, axis, axis, axis] = 1.0
        rotations[:, axis, one, one] = rotations[:, axis, two, two] = cos[:, axis]
        rotations[:, axis, two, one] = sin[:, axis]
        rotations[:, axis, one, two] = -sin[:, axis]
    return rotations


def rotations_from_angles(angles: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Convert Euler angles about X, Y and Z, radians, shape (N, 3), in orders (N, 3) to rotations, (N, 3, 3)."""
    rows, turns = np.arange(len(angles)), rotate_about_axes(angles)
    first, second, third = (turns[rows, orders[:, place]] for place in range(3))
    return third @ second @ first


def axes_of_angles(angles: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Axes of Euler angles in orders, shape (N, 3) each: float64, shape (N, 3, 3).

    Column a is the unit vector of axis a, in the space of the rotated vectors.
    """
    rows, turns = np.arange(len(angles)), rotate_about_axes(angles)
    third = turns[rows, orders[:, 2]]
    outer = third @ turns[rows, orders[:, 1]]
    axes = np.empty((len(angles), 3, 3))
    axes[rows, :, orders[:, 0]] = outer[rows, :, orders[:, 0]]
    axes[rows, :, orders[:, 1]] = third[rows, :, orders[:, 1]]
    axes[rows, :, orders[:, 2]] = np.eye(3)[orders[:, 2]]
    return axes


def angles_from_rotations(rotations: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Find both triples of Euler angles of rotations (N, 3, 3) in orders (N, 3): float64, shape (2, N, 3).

    They are from -pi to pi, the second triple up to 2 pi. In gimbal lock, the last angle of the first triple is 0.
    """
    rows = np.arange(len(rotations))
    i, j, k = orders.T
    sign = np.where((j - i) % 3 == 1, 1.0, -1.0)

    def entry(row: np.ndarray, column: np.ndarray) -> np.ndarray:
        return rotations[rows, row, column]

    cosine = np.hypot(entry(i, i), entry(j, i))
    locked = cosine < 1e-6
    first = np.where(locked, np.arctan2(-sign * entry(j, k), entry(j, j)), np.arctan2(sign * entry(k, j), entry(k, k)))
    second = np.arctan2(-sign * entry(k, i), cosine)
    third = np.where(locked, 0.0, np.arctan2(sign * entry(j, i), entry(i, i)))
    angles = np.empty((2, len(rotations), 3))
    for axis, (one, other) in zip(
        (i, j, k), ((first, first + np.pi), (second, np.pi - second), (third, third + np.pi)), strict=True
    ):
        angles[0, rows, axis], angles[1, rows, axis] = one, other
    return angles


def nearest_angles(rotations: np.ndarray, orders: np.ndarray, near: np.ndarray) -> np.ndarray:
    """Find the Euler angles of rotations (N, 3, 3) in orders (N, 3) nearest to other angles (N, 3), with full turns."""
    both = angles_from_rotations(rotations, orders)
    both += 2.0 * np.pi * np.round((near - both) / (2.0 * np.pi))
    return both[np.abs(both - near).sum(axis=2).argmin(axis=0), np.arange(len(rotations))]


def angles_within(rotations: np.ndarray, limits: RotationLimits) -> np.ndarray:
    """Find the Euler angles of rotations (N, 3, 3) that exceed the limits of N bones least, and then the smallest."""
    both = angles_from_rotations(rotations, limits.orders)
    both -= 2.0 * np.pi * np.round(both / (2.0 * np.pi))
    turns = 2.0 * np.pi * np.array([0.0, -1.0, 1.0])[:, None, None, None]
    excess = np.abs(both + turns - np.clip(both + turns, limits.lowest, limits.highest))
    # The least excess counts. A full turn is added only if it reduces the excess.
    best = (np.round(excess, 12) + 1e-7 * np.abs(turns)).argmin(axis=0)
    both = both + turns[best, 0, 0, 0]
    excess = np.abs(both - np.clip(both, limits.lowest, limits.highest))
    cost = np.round(excess.sum(axis=2), 9) * 1e3 + 1e-3 * np.abs(both).sum(axis=2)
    return both[cost.argmin(axis=0), np.arange(len(rotations))]
