"""Spread Twist: the skin of a long bone is turned at rest by its share of the twist of the joint at the bone's end.

A hand that is twisted by alpha turns the skin next to the wrist by all of it, and that of the forearm by less, the
nearer it is to the elbow. So each vertex is turned about the limb's line before it follows its joints, whatever these
are blended by. What the blend will give of the twist by itself is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations
from ..algebra.polar import decompose_polar
from .fractions import split_turns

MOST_BLENDED = 0.0
"""Radians of a twist that go through the blend of both bones, at most: none, as a blend of a twist bends what swings at
the same time to another side, and narrows what it blends linearly. What is beyond is left out of the pose of the joints,
and vertices are turned by it at rest."""


@dataclass(frozen=True, eq=False)
class SpreadTwists:
    """Joints whose twist is spread along the bones before them: L of them, of B joints.

    Two are equal only if they are the same object.

    Attributes
    ----------
    joints : int array, shape (L,)
        Ascending.
    along : bool array, shape (L, B)
        The bones that a twist is spread along. A bone is among those of one joint.
    below : bool array, shape (L, B)
        The joint and all below it.
    axes : float array, shape (L, 3)
        Of the line of these bones at rest, to the joint: unit vectors, armature space.
    ends : float array, shape (L, 3)
        Where the line ends: the joint's center at rest.
    lengths : float array, shape (L,)
    most_blended : float
        Radians of a twist that go through the blend, at most. 0 for linear blending, which would narrow the limb.
    """

    joints: np.ndarray
    along: np.ndarray
    below: np.ndarray
    axes: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray
    most_blended: float = MOST_BLENDED

    @cached_property
    def depths(self) -> np.ndarray:
        """How many of these joints there are down to each, with itself, int array, shape (L,)."""
        return self.below.sum(axis=0)[self.joints]

    @cached_property
    def innermost(self) -> np.ndarray:
        """Of the twists that each joint is below, that which is farthest down; L for none: int array, shape (B,)."""
        return self._find_innermost(self.below)

    @cached_property
    def above(self) -> np.ndarray:
        """The same of the twists that each of these joints is below, but for its own: int array, shape (L,)."""
        return self._find_innermost(self.below[:, self.joints] & ~np.eye(len(self.joints), dtype=bool))

    def _find_innermost(self, below: np.ndarray) -> np.ndarray:
        depths = self.depths[:, None] * below
        return np.where(below.any(axis=0), depths.argmax(axis=0), len(depths))


def measure_twists(
    spread: SpreadTwists, matrices: np.ndarray, parents: np.ndarray, axes: np.ndarray, hints: np.ndarray | None = None
) -> np.ndarray:
    """How far joints twist against those above them, radians, shape (L,).

    Parameters
    ----------
    matrices : float array, shape (B, 4, 4)
        From rest to pose, armature space.
    parents : int array, shape (B,)
        Of the joints.
    axes : float array, shape (B, 3)
        The joints' bones at rest, about which they twist.
    hints : float array, shape (L,), or None
        Twists that are asked for, radians: the whole turns nearest to these are taken. None: 0.

    Notes
    -----
    The more a joint swings, the less is known of its twist, and of half a turn nothing. So what is spread goes down
    from all of it, where the joint swings by 90 degrees, to none, by 120 degrees; what is left stays at the joint.
    """
    rotations, _ = decompose_polar(np.asarray(matrices[:, :3, :3], np.float64), parents)
    turns = rotations[parents[spread.joints]].transpose(0, 2, 1) @ rotations[spread.joints]
    asked = np.zeros(len(spread.joints)) if hints is None else np.asarray(hints, np.float64)
    swings, twists = split_turns(quaternions_from_rotations(turns), axes[spread.joints], asked)
    return clear_twists(2.0 * np.arccos(np.clip(swings[:, 0], -1.0, 1.0)), twists, asked)


def clear_twists(swings: np.ndarray, twists: np.ndarray, hints: np.ndarray) -> np.ndarray:
    """What is spread of twists, radians, shape (N,): see `measure_twists`.

    Parameters
    ----------
    swings, twists : float arrays, shape (N,)
        By what angle each joint swings, and then twists about its bone, radians.
    hints : float array, shape (N,)
        Twists that are asked for, radians: the whole turns nearest to these are taken.
    """
    turns = np.rint((hints - twists) / (2.0 * np.pi))
    return np.clip(1.0 + 2.0 * np.cos(swings), 0.0, 1.0) * (twists + 2.0 * np.pi * turns)


def split_twists(twists: np.ndarray, most_blended: float) -> tuple[np.ndarray, np.ndarray]:
    """Twists, radians, shape (L,), as what goes through the blend of both bones, so much at most, and what does not."""
    blended = np.clip(twists, -most_blended, most_blended)
    return blended, twists - blended


def find_turns_beyond(spread: SpreadTwists, twists: np.ndarray) -> np.ndarray | None:
    """By what joints are turned at rest, for what does not go through the blend of the twists above them.

    Parameters
    ----------
    twists : float array, shape (L,)
        Of the joints, radians.

    Returns
    -------
    float array, shape (L + 1, 4, 4), or None
        For the joints below each twist, but for those below a further one; the last for those below none. They are
        turned by T(e) where a twist is beyond by e and T turns about its line: as vertices, first by the twist that is
        farthest down. None where there is nothing to be turned by.
    """
    _, beyond = split_twists(twists, spread.most_blended)
    if not beyond.any():
        return None
    turns = np.concatenate([turn_about(spread.axes, spread.ends, beyond), np.eye(4)[None]])
    for number in np.argsort(spread.depths, kind="stable").tolist():
        if spread.above[number] < len(beyond):
            turns[number] = turns[spread.above[number]] @ turns[number]
    return turns


def turn_about(axes: np.ndarray, points: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """The matrices, (N, 4, 4), that turn by angles about lines: unit vectors and points on them, shape (N, 3)."""
    cosines, sines = np.cos(angles)[:, None, None], np.sin(angles)[:, None, None]
    crosses = np.cross(np.eye(3), axes[:, None])  # a x v as a row for each v
    matrices = np.tile(np.eye(4), (len(angles), 1, 1))
    outer = axes[:, :, None] * axes[:, None]
    linear = matrices[:, :3, :3] = cosines * np.eye(3) + (1.0 - cosines) * outer + sines * crosses
    matrices[:, :3, 3] = points - np.einsum("nij,nj->ni", linear, points)
    return matrices
