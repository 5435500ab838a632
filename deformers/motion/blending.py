"""Join channels of two motions without a jump in position or speed.

Kovar et al. 2002, section 3.3, blend the frames around a seam by weights that rise smoothly from 0 to 1. Unlike there,
a motion need not have frames beyond the seam: its offset from the other motion is extrapolated.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..algebra.rotations import conjugate, from_matrices, from_vectors, make_continuous, multiply, to_vectors, unroll
from ..geometry.vectors import smooth_step
from .similarity import go_on


@dataclass(frozen=True, eq=False)
class Clip:
    """Channels of nodes (bones or objects) in successive frames.

    Attributes
    ----------
    locations : float array, shape (F, N, 3)
    rotations : float array, shape (F, N, 4)
        Unit quaternions (w, x, y, z).
    scales : float array, shape (F, N, 3)
    values : float array, shape (F, M)
        Other channels.
    jumps : bool array, shape (M,)
        Which of the other channels are not blended, such as switches.
    """

    locations: np.ndarray
    rotations: np.ndarray
    scales: np.ndarray
    values: np.ndarray
    jumps: np.ndarray

    def __len__(self) -> int:
        return len(self.locations)

    def cut(self, start: int, end: int) -> Clip:
        """Frames from `start` to before `end`."""
        frames = slice(start, end)
        return Clip(
            self.locations[frames], self.rotations[frames], self.scales[frames], self.values[frames], self.jumps
        )

    def followed_by(self, other: Clip) -> Clip:
        """Append another clip of the same channels."""
        return Clip(
            np.concatenate([self.locations, other.locations]),
            make_continuous(np.concatenate([self.rotations, other.rotations])),
            np.concatenate([self.scales, other.scales]),
            np.concatenate([self.values, other.values]),
            self.jumps,
        )

    def moved(self, nodes: np.ndarray, transforms: np.ndarray) -> Clip:
        """Move nodes, int, shape (n,), by rigid transforms, shape (n, 4, 4) or (F, n, 4, 4), of the channels' space."""
        locations = self.locations.copy()
        turned = np.matmul(transforms[..., :3, :3], locations[:, nodes, :, None])[..., 0]
        locations[:, nodes] = turned + transforms[..., :3, 3]
        return replace(self.turned(nodes, transforms[..., :3, :3]), locations=locations)

    def turned(self, nodes: np.ndarray, turns: np.ndarray) -> Clip:
        """Rotate nodes, int, shape (n,), about their locations by matrices, shape (n, 3, 3) or (F, n, 3, 3)."""
        rotations = self.rotations.copy()
        rotations[:, nodes] = multiply(from_matrices(turns), rotations[:, nodes])
        return replace(self, rotations=make_continuous(rotations))


@dataclass(frozen=True, eq=False)
class Seam:
    """Frames at which a motion passes into another.

    Attributes
    ----------
    pair : (int, int)
        The similar frame of each motion, from 0.
    before, after : int
        Number of frames of the result that are blended before and after the pair.
    """

    pair: tuple[int, int]
    before: int
    after: int

    @property
    def steps(self) -> np.ndarray:
        """Blended frames, counted from the seam, int array, shape (n,)."""
        return np.arange(-self.before, self.after + 1)


def plan_seam(first_count: int, second_count: int, pair: tuple[int, int], reach: int) -> Seam:
    """Limit the blended frames of a seam to at most `reach` on each side, and to the frames of both motions."""
    return Seam(pair, max(0, min(reach, pair[0], first_count - 1)), max(0, min(reach, second_count - 1 - pair[1])))


def join(first: Clip, second: Clip, seam: Seam) -> Clip:
    """Join two clips of the same channels: the first up to its frame of the pair, then the second after its own frame.

    `second` must have been moved to where it is to go on.
    """
    head = first.cut(0, seam.pair[0] - seam.before)
    tail = second.cut(seam.pair[1] + seam.after + 1, len(second))
    return head.followed_by(_blend(first, second, seam)).followed_by(tail)


def close(clip: Clip, moved: Clip, seam: Seam, back: Callable[[Clip], Clip]) -> Clip:
    """Make one cycle of a motion. Its last frame is the moved first frame.

    Parameters
    ----------
    clip, moved : Clip
        The motion in its first and second cycle.
    seam : Seam
        Its pair is the last and the first frame of the cycle. It must not blend more than half of the cycle.
    back : callable
        Moves a clip from the second cycle to the first.
    """
    last, first = seam.pair
    joined = join(clip, moved, seam)
    start = back(joined.cut(last, last + seam.after + 1))
    return start.followed_by(joined.cut(first + seam.after + 1, last + 1))


def _blend(first: Clip, second: Clip, seam: Seam) -> Clip:
    """Blend the frames around a seam."""
    count = seam.before + seam.after
    shares = smooth_step((seam.steps + seam.before) / count) if count else np.zeros(1)
    stepped = _blend_numbers(first.values, second.values, seam, np.where(seam.steps <= 0, 0.0, 1.0))
    return Clip(
        _blend_numbers(first.locations, second.locations, seam, shares),
        _blend_rotations(first.rotations, second.rotations, seam, shares),
        _blend_numbers(first.scales, second.scales, seam, shares),
        np.where(first.jumps, stepped, _blend_numbers(first.values, second.values, seam, shares)),
        first.jumps,
    )


def _blend_numbers(first: np.ndarray, second: np.ndarray, seam: Seam, shares: np.ndarray) -> np.ndarray:
    """Blend channels, shape (F, ...), around a seam. `shares`, shape (n,), belong to the second motion."""
    share = shares.reshape(-1, *[1] * (first.ndim - 1))
    one, two = (_continue(values, seam, side) for side, values in enumerate((first, second)))
    offsets = _extend(two - one, seam)
    inner = seam.steps.reshape(share.shape) <= 0
    return np.where(inner, one + share * offsets, two - (1.0 - share) * offsets)


def _continue(values: np.ndarray, seam: Seam, side: int) -> np.ndarray:
    """Channels of a motion in the blended frames, extrapolated by one frame beyond its ends and NaN farther out."""
    frames = seam.pair[side] + seam.steps
    result = np.full((len(frames), *values.shape[1:]), np.nan)
    is_in = (frames >= 0) & (frames < len(values))
    result[is_in] = values[frames[is_in]]
    result[frames == -1] = go_on(values[:3][::-1])
    result[frames == len(values)] = go_on(values[-3:])
    return result


def _extend(offsets: np.ndarray, seam: Seam) -> np.ndarray:
    """Extrapolate offsets, shape (n, ...), into their NaN ends, ever slower."""
    result, slowing = offsets.copy(), 0.5 * max(seam.before, seam.after, 1)
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
            distance = slowing * (1.0 - np.exp(-abs(row - end) / slowing))
            result[row] = offsets[end] + slope * np.sign(row - end) * distance
    return result


def _blend_rotations(first: np.ndarray, second: np.ndarray, seam: Seam, shares: np.ndarray) -> np.ndarray:
    """Blend rotations, shape (F, N, 4), around a seam along the shortest arcs."""
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
    """Continue rotations as `_continue` does, so that a rotating node keeps rotating."""
    result = _continue(values, seam, side)
    frames = seam.pair[side] + seam.steps
    for beyond, near in ((-1, values[:3][::-1]), (len(values), values[-3:])):
        turns = [multiply(after, conjugate(before)) for before, after in pairwise(near)]
        following = near[-1]
        if len(turns) == 2:
            following = multiply(multiply(turns[1], conjugate(turns[0])), following)
        result[frames == beyond] = multiply(turns[-1], following) if turns else following
    return result
