"""Spread Twist: the skin of a long bone is turned at rest by its share of the twist of the joint at the bone's end.

A hand that is twisted by alpha turns the skin next to the wrist by all of it, and that of the forearm by less, the
nearer it is to the elbow. So each vertex is turned about the end of the limb's line before it follows its joints: by
its share of the twist, and by what makes up for what the blend of both bones will give of it by itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra.dual_quaternions import multiply_quaternions, quaternions_from_rotations
from ..algebra.polar import decompose_polar, find_rigid

CONJUGATE = np.array([1.0, -1.0, -1.0, -1.0])


@dataclass(frozen=True, eq=False)
class SpreadTwists:
    """Joints whose twist is spread along the bones before them: L of them, of B joints.

    Two are equal only if they are the same object.

    Attributes
    ----------
    joints : int array, shape (L,)
        Ascending.
    parents : int array, shape (B,)
        Of all joints.
    along : bool array, shape (L, B)
        The bones that a twist is spread along. A bone is among those of one joint.
    below : bool array, shape (L, B)
        The joint and all below it.
    axes : float array, shape (L, 3)
        Of the line of these bones at rest, to the joint: unit vectors, armature space.
    ends : float array, shape (L, 3)
        Where the line ends: the joint's center at rest.
    lengths : float array, shape (L,)
    """

    joints: np.ndarray
    parents: np.ndarray
    along: np.ndarray
    below: np.ndarray
    axes: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray

    @cached_property
    def depths(self) -> np.ndarray:
        """How many of these joints there are down to each, with itself, int array, shape (L,)."""
        return self.below.sum(axis=0)[self.joints]


@dataclass(frozen=True)
class SpreadTurns:
    """How the joints of `SpreadTwists` are turned in a pose.

    Attributes
    ----------
    turns : float array, shape (L, 4)
        r: each joint's rotation against that above it, by the axes at rest, as a unit quaternion, w >= 0.
    swings : float array, shape (L, 4)
        s: what is left of it without the twist that is spread, w >= 0.
    twists : float array, shape (L,)
        alpha: that twist, radians.
    """

    turns: np.ndarray
    swings: np.ndarray
    twists: np.ndarray

    @cached_property
    def rows(self) -> np.ndarray:
        """All of it, shape (L, 9)."""
        return np.concatenate([self.turns, self.swings, self.twists[:, None]], axis=1)


def measure_turns(spread: SpreadTwists, matrices: np.ndarray, hints: np.ndarray | None = None) -> SpreadTurns:
    """How joints are turned.

    Parameters
    ----------
    matrices : float array, shape (B, 4, 4)
        From rest to pose, armature space.
    hints : float array, shape (B,), or None
        Twists that are asked for, radians: the whole turns nearest to these are taken. None: 0.

    Notes
    -----
    With r = (w, v) the twist is alpha = 2 atan2(v . a, w) + whole turns, a the axis of the line, and s = r t(-alpha).
    The more a joint swings, the less is known of its twist, and of half a turn nothing. So what is spread goes down
    from all of it, where the joint swings by 90 degrees, to none, by 120 degrees; what is left stays at the joint.
    """
    rotations, joints = np.asarray(matrices[:, :3, :3], np.float64), spread.joints
    above = spread.parents[joints]
    if not find_rigid(rotations[np.append(joints, above)]).all():
        rotations, _ = decompose_polar(rotations, spread.parents)
    turns = quaternions_from_rotations(rotations[above].transpose(0, 2, 1) @ rotations[joints])
    turns = np.where(turns[:, :1] < 0.0, -turns, turns)
    w, along = turns[:, 0], np.einsum("li,li->l", turns[:, 1:], spread.axes)
    twists = 2.0 * np.arctan2(along, w)
    if hints is not None:
        twists = twists + 2.0 * np.pi * np.rint((hints[joints] - twists) / (2.0 * np.pi))
    twists = np.clip(4.0 * (w * w + along * along) - 1.0, 0.0, 1.0) * twists
    swings = multiply_quaternions(turns, twist_about(spread.axes, -twists))
    return SpreadTurns(turns, np.where(swings[:, :1] < 0.0, -swings, swings), twists)


def twist_about(axes: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Unit quaternions, shape (N, 4), that turn by angles about unit vectors, shape (N, 3)."""
    return np.concatenate([np.cos(0.5 * angles)[:, None], np.sin(0.5 * angles)[:, None] * axes], axis=1)
