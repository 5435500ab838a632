"""Channels of two motions joined: position and speed go on across the seam.

Kovar et al. 2002, section 3.3, blend the frames about a seam by weights that rise from 0 to 1 without a jump of their
speed. Unlike there, a motion need not have frames beyond the seam: what it is away from the other one goes on as it
does at its end.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from .rotations import conjugate, from_matrices, from_vectors, make_continuous, multiply, to_vectors, unroll
from .similarity import go_on


@dataclass(frozen=True, eq=False)
class Clip:
    """Channels of nodes, which are bones or objects, in successive frames.

    Attributes
    ----------
    locations : float array, shape (F, N, 3)
    rotations : float array, shape (F, N, 4)
        Unit quaternions (w, x, y, z).
    scales : float array, shape (F, N, 3)
    values : float array, shape (F, M)
        Other numbers.
    jumps : bool array, shape (M,)
        Those of them that are not blended, such as switches.
    """

    locations: np.ndarray
    rotations: np.ndarray
    scales: np.ndarray
    values: np.ndarray
    jumps: np.ndarray

    def __len__(self) -> int:
        return len(self.locations)

    def cut(self, start: int, end: int) -> Clip:
        """Frames from `start` to `end`, without that one."""
        frames = slice(start, end)
        return Clip(
            self.locations[frames], self.rotations[frames], self.scales[frames], self.values[frames], self.jumps
        )

    def followed_by(self, other: Clip) -> Clip:
        """Append another clip.

        Parameters
        ----------
        other : Clip
            Of the same channels.
        """
        return Clip(
            np.concatenate([self.locations, other.locations]),
            make_continuous(np.concatenate([self.rotations, other.rotations])),
            np.concatenate([self.scales, other.scales]),
            np.concatenate([self.values, other.values]),
            self.jumps,
        )

    def moved(self, nodes: np.ndarray, transforms: np.ndarray) -> Clip:
        """The same, with some nodes moved by rigid transforms.

        Parameters
        ----------
        nodes : int array, shape (n,)
        transforms : float array, shape (n, 4, 4) or (F, n, 4, 4)
            Of the space that locations and rotations are in.
        """
        locations = self.locations.copy()
        turned = np.matmul(transforms[..., :3, :3], locations[:, nodes, :, None])[..., 0]
        locations[:, nodes] = turned + transforms[..., :3, 3]
        return replace(self.turned(nodes, transforms[..., :3, :3]), locations=locations)

    def turned(self, nodes: np.ndarray, turns: np.ndarray) -> Clip:
        """The same, with some nodes rotated where they are.

        Parameters
        ----------
        nodes : int array, shape (n,)
        turns : float array, shape (n, 3, 3) or (F, n, 3, 3)
            Of the space that rotations are in.
        """
        rotations = self.rotations.copy()
        rotations[:, nodes] = multiply(from_matrices(turns), rotations[:, nodes])
        return replace(self, rotations=make_continuous(rotations))


@dataclass(frozen=True, eq=False)
class Seam:
    """Where a motion passes into another.

    Attributes
    ----------
    pair : (int, int)
        The frame of each that is alike, from 0.
    before, after : int
        Frames of the result before and after it that are blended.
    """

    pair: tuple[int, int]
    before: int
    after: int

    @property
    def steps(self) -> np.ndarray:
        """Blended frames, counted from the seam, int array, shape (n,)."""
        return np.arange(-self.before, self.after + 1)


SLOWING = 0.5
"""Part of the frames to a side of a seam within which an offset that is continued comes to rest."""


def rise(shares: np.ndarray) -> np.ndarray:
    """From 0 at 0 to 1 at 1, shape (n,), with no speed at both ends."""
    shares = np.clip(shares, 0.0, 1.0)
    return shares * shares * (3.0 - 2.0 * shares)


def plan_seam(first_count: int, second_count: int, pair: tuple[int, int], reach: int) -> Seam:
    """The frames to blend.

    Parameters
    ----------
    first_count, second_count : int
        Frames of both motions.
    pair : (int, int)
        Frame of each that is alike, from 0.
    reach : int
        Most frames to each side.
    """
    return Seam(pair, max(0, min(reach, pair[0], first_count - 1)), max(0, min(reach, second_count - 1 - pair[1])))


def join(first: Clip, second: Clip, seam: Seam) -> Clip:
    """Pass from a motion to another.

    Parameters
    ----------
    first, second : Clip
        Of the same channels, the second moved to where it shall go on.

    Returns
    -------
    Clip
        The first up to its frame of the pair, then the second from the frame after its own.
    """
    head = first.cut(0, seam.pair[0] - seam.before)
    tail = second.cut(seam.pair[1] + seam.after + 1, len(second))
    return head.followed_by(_blend(first, second, seam)).followed_by(tail)


def close(clip: Clip, moved: Clip, seam: Seam, back: Callable[[Clip], Clip]) -> Clip:
    """Make a motion go on, at a frame, with an earlier one.

    Parameters
    ----------
    clip, moved : Clip
        The motion, and the same moved to where it goes on after one cycle.
    seam : Seam
        Its pair is the last frame of the cycle, and the first; it blends no more than half of the cycle.
    back : callable
        Moves a clip from where the second cycle is to where the first one is.

    Returns
    -------
    Clip
        One cycle; its last frame is its first one, moved.
    """
    last, first = seam.pair
    joined = join(clip, moved, seam)
    start = back(joined.cut(last, last + seam.after + 1))
    return start.followed_by(joined.cut(first + seam.after + 1, last + 1))


def _blend(first: Clip, second: Clip, seam: Seam) -> Clip:
    """The frames about a seam."""
    count = seam.before + seam.after
    shares = rise((seam.steps + seam.before) / count) if count else np.zeros(1)
    stepped = _blend_numbers(first.values, second.values, seam, np.where(seam.steps <= 0, 0.0, 1.0))
    return Clip(
        _blend_numbers(first.locations, second.locations, seam, shares),
        _blend_rotations(first.rotations, second.rotations, seam, shares),
        _blend_numbers(first.scales, second.scales, seam, shares),
        np.where(first.jumps, stepped, _blend_numbers(first.values, second.values, seam, shares)),
        first.jumps,
    )


def _blend_numbers(first: np.ndarray, second: np.ndarray, seam: Seam, shares: np.ndarray) -> np.ndarray:
    """Numbers, shape (F, ...), about a seam; `shares`, shape (n,), are those of the second motion."""
    share = shares.reshape(-1, *[1] * (first.ndim - 1))
    one, two = (_continue(values, seam, side) for side, values in enumerate((first, second)))
    offsets = _extend(two - one, seam)
    inner = seam.steps.reshape(share.shape) <= 0
    return np.where(inner, one + share * offsets, two - (1.0 - share) * offsets)


def _continue(values: np.ndarray, seam: Seam, side: int) -> np.ndarray:
    """A motion's numbers in the blended frames; one frame beyond its ends as it goes on, NaN further out."""
    frames = seam.pair[side] + seam.steps
    result = np.full((len(frames), *values.shape[1:]), np.nan)
    is_in = (frames >= 0) & (frames < len(values))
    result[is_in] = values[frames[is_in]]
    result[frames == -1] = go_on(values[:3][::-1])
    result[frames == len(values)] = go_on(values[-3:])
    return result


def _extend(offsets: np.ndarray, seam: Seam) -> np.ndarray:
    """Offsets, shape (n, ...), whose ends are NaN: these go on as the offsets do at the frames before, ever less."""
    result, slowing = offsets.copy(), SLOWING * max(seam.before, seam.after, 1)
    known = np.flatnonzero(~np.isnan(offsets.reshape(len(offsets), -1)).any(axis=1)) if offsets.size else np.arange(0)
    if not known.size:
        return np.nan_to_num(result)
    low, high = known[0], known[-1]
    for end, inner, rows in (
        (low, min(low + 1, high), range(low)),
        (high, max(high - 1, low), range(high + 1, len(result))),
    ):
        slope = 0.0 if end == inner else (offsets[end] - offsets[inner]) / (end - inner)
        for row in rows:
            result[row] = offsets[end] + slope * np.sign(row - end) * slowing * (
                1.0 - np.exp(-abs(row - end) / slowing)
            )
    return result


def _blend_rotations(first: np.ndarray, second: np.ndarray, seam: Seam, shares: np.ndarray) -> np.ndarray:
    """Rotations, shape (F, N, 4), about a seam, each turned toward the other's along the shortest arc."""
    one, two = (_continue_rotations(values, seam, side) for side, values in enumerate((first, second)))
    known = ~np.isnan(one[..., 0] + two[..., 0]).any(axis=1)
    vectors = np.full((*one.shape[:2], 3), np.nan)
    start = int(np.flatnonzero(np.flatnonzero(known) == seam.before)[0])
    vectors[known] = unroll(to_vectors(multiply(conjugate(one[known]), two[known])), start)
    vectors, share = _extend(vectors, seam), shares[:, None, None]
    from_first = multiply(np.nan_to_num(one), from_vectors(share * vectors))
    from_second = multiply(np.nan_to_num(two), from_vectors(-(1.0 - share) * vectors))
    return np.where(seam.steps[:, None, None] <= 0, from_first, from_second)


def _continue_rotations(values: np.ndarray, seam: Seam, side: int) -> np.ndarray:
    """As `_continue`: what rotates goes on rotating."""
    result = _continue(values, seam, side)
    frames = seam.pair[side] + seam.steps
    for beyond, near in ((-1, values[:3][::-1]), (len(values), values[-3:])):
        turns = [multiply(after, conjugate(before)) for before, after in pairwise(near)]
        following = near[-1]
        if len(turns) == 2:
            following = multiply(multiply(turns[1], conjugate(turns[0])), following)
        result[frames == beyond] = multiply(turns[-1], following) if turns else following
    return result
