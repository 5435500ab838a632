"""Bones whose segments roll with a twist: straight B-Bones, as Blender's Armature modifier blends them.

A rolled bone of n segments has n + 1 more joints, the ends of its segments, after the B joints of bones. They move with
the bone, and roll about its line by a share of the twist of another joint, evenly from its head to its tail.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations
from ..algebra.polar import decompose_polar, determinants, find_rigid


@dataclass(frozen=True, eq=False)
class Rolls:
    """R bones whose segments roll with a twist. Two are equal only if they are the same object.

    Attributes
    ----------
    joints : int array, shape (R,)
        The rolled bones' joints, each once.
    sources : int array, shape (R,)
        Joints whose twist rolls them: often the joint below, or the bone itself.
    axes : float64 array, shape (R, 3)
        Axes of the twist at rest: unit vectors, armature space.
    shares : float64 array, shape (R, 2)
        Shares of the twist at the bone's head and tail.
    counts : int array, shape (R,)
        Segments.
    """

    joints: np.ndarray
    sources: np.ndarray
    axes: np.ndarray
    shares: np.ndarray
    counts: np.ndarray

    @property
    def end_count(self) -> int:
        """E: number of ends of all segments."""
        return int((self.counts + 1).sum())

    @cached_property
    def rows(self) -> np.ndarray:
        """The rolled bone of each end, int array, shape (E,)."""
        return np.repeat(np.arange(len(self.counts)), self.counts + 1)

    @cached_property
    def first_ends(self) -> np.ndarray:
        """The end at each bone's head, int array, shape (R,)."""
        return np.cumsum(self.counts + 1) - self.counts - 1

    @cached_property
    def positions(self) -> np.ndarray:
        """Position of each end along its bone: 0 at the head, 1 at the tail, shape (E,)."""
        return (np.arange(self.end_count) - self.first_ends[self.rows]) / self.counts[self.rows]

    @cached_property
    def end_shares(self) -> np.ndarray:
        """The share of the twist at each end, shape (E,)."""
        head, tail = self.shares[self.rows].T
        return head + self.positions * (tail - head)


def join_ends(rolls: Rolls, parents: np.ndarray) -> np.ndarray:
    """Parents of joints and ends, int array, shape (B + E,).

    The first end of a bone is joined to its joint, each further one to the one before, and the joint's children to the
    last: signs of quaternions agree along this chain, so that a bone may roll by more than 180 degrees.

    Parameters
    ----------
    parents : int array, shape (B,)
        Of the joints.
    """
    count = len(parents)
    last_ends = np.append(np.arange(count), -1)  # and that of no joint
    last_ends[rolls.joints] = count + rolls.first_ends + rolls.counts
    of_ends = count + np.arange(rolls.end_count) - 1
    of_ends[rolls.first_ends] = rolls.joints
    return np.concatenate([last_ends[parents], of_ends])


def pose_rolls(
    rolls: Rolls,
    parents: np.ndarray,
    frames: np.ndarray,
    matrices: np.ndarray,
    hints: np.ndarray | None = None,
) -> np.ndarray:
    """Posed transforms of the ends of rolled segments: float64 array, (E, 4, 4).

    Parameters
    ----------
    parents : int array, shape (B,)
        Of the joints.
    frames : float array, shape (R, 4, 4)
        Rolled bones at rest, armature space: their axes, y along the bone, and their heads.
    matrices : float array, shape (B, 4, 4)
        Of the joints, from rest to pose, armature space.
    hints : float array, shape (B,), or None
        As in `Pose`.

    Notes
    -----
    M S^-1 R(roll) S about the bone's line, S the bone's scale along its own axes: as in Blender, a bone with unequal
    widths keeps them, and its skin rolls within.
    """
    matrices = np.asarray(matrices, np.float64)
    twists = measure_twists(rolls, parents, matrices[:, :3, :3], hints)
    posed = (matrices[rolls.joints] @ frames)[rolls.rows]
    turns = _roll(rolls.end_shares * twists[rolls.rows], _compare_widths(posed[:, :3, [0, 2]]))
    return posed @ turns @ np.linalg.inv(frames)[rolls.rows]


def measure_twists(
    rolls: Rolls, parents: np.ndarray, linear: np.ndarray, hints: np.ndarray | None = None
) -> np.ndarray:
    """Twists of the sources, radians, shape (R,).

    Parameters
    ----------
    parents : int array, shape (B,)
    linear : float64 array, shape (B, 3, 3)
        From rest to pose.
    hints : float array, shape (B,), or None
        As in `Pose`.

    Notes
    -----
    With the rotation (w, v) of a source relative to its parent, the twist is 2 atan2(v . a, w) + whole turns, a its
    axis. The farther the source swings, the less its twist is defined, at half a turn not at all: the twist fades from
    all of it at a swing of 90 degrees to none at 120 degrees.
    """
    above = parents[rolls.sources]
    toward = np.where((above >= 0)[:, None, None], linear[above], np.eye(3))
    quaternions = quaternions_from_rotations(_rotate_against(toward, linear[rolls.sources]))
    quaternions = np.where(quaternions[:, :1] < 0.0, -quaternions, quaternions)
    w, along = quaternions[:, 0], np.einsum("ri,ri->r", quaternions[:, 1:], rolls.axes)
    twists = 2.0 * np.arctan2(along, w)
    if hints is not None:
        twists = twists + 2.0 * np.pi * np.rint((hints[rolls.sources] - twists) / (2.0 * np.pi))
    return np.clip(4.0 * (w * w + along * along) - 1.0, 0.0, 1.0) * twists


def _rotate_against(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Rotations of inv(first) second, shape (R, 3, 3), from a multiple of it that is finite for flat matrices."""
    if find_rigid(np.concatenate([first, second])).all():
        return first.transpose(0, 2, 1) @ second
    adjugates = np.cross(first[:, :, [1, 2, 0]], first[:, :, [2, 0, 1]], axis=1).transpose(0, 2, 1)
    against = np.sign(determinants(first))[:, None, None] * adjugates @ second
    sizes = np.linalg.norm(against, axis=(1, 2), keepdims=True)
    return decompose_polar(against / np.where(sizes > 0.0, sizes, 1.0), np.full(len(first), -1))[0]


def find_frames(axes: np.ndarray) -> np.ndarray:
    """Rotations with their y along given directions, shape (N, 3) to (N, 3, 3)."""
    across = np.cross(axes, np.eye(3)[np.abs(axes).argmin(axis=1)])
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    return np.stack([across, axes, np.cross(across, axes)], axis=2)


def _compare_widths(across: np.ndarray) -> np.ndarray:
    """Scale along z relative to x, shape (E,), from posed axes, shape (E, 3, 2)."""
    x, z = np.linalg.norm(across, axis=1).T
    min_width = 1e-6  # A smaller scale across a bone does not tell the ratio of its widths.
    is_clear = np.minimum(x, z) > min_width
    return np.where(is_clear, z, 1.0) / np.where(is_clear, x, 1.0)


def _roll(angles: np.ndarray, ratios: np.ndarray) -> np.ndarray:
    """Rotations about y by angles, shape (E, 4, 4), in a space scaled by `ratios`, (E,), along z relative to x."""
    turns = np.tile(np.eye(4), (len(angles), 1, 1))
    turns[:, 0, 0] = turns[:, 2, 2] = np.cos(angles)
    turns[:, 0, 2], turns[:, 2, 0] = np.sin(angles) * ratios, -np.sin(angles) / ratios
    return turns
