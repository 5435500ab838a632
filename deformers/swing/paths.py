"""Smooth paths of points in actions that are cut or animated on twos: without jumps, and moving through held poses."""

from __future__ import annotations

import numpy as np

# A point is still if it moves less than this in a step, in sizes of the character.
MIN_MOVE = 1e-6


def smooth_paths(paths: np.ndarray, size: float, is_cyclic: bool) -> np.ndarray:
    """Move paths on through held poses, and remove cuts: float64, shape (F, N, 3).

    Paths, (F, N, 3), of N points of a part are sampled every half frame. Positions after a cut differ from theirs.
    """
    return _remove_cuts(_move_through_holds(paths, size, is_cyclic), size, is_cyclic)


def _find_lengths(paths: np.ndarray) -> np.ndarray:
    """Largest movement of a point in each step, shape (F - 1,)."""
    return np.linalg.norm(np.diff(paths, axis=0), axis=2).max(axis=1)


def _move_through_holds(paths: np.ndarray, size: float, is_cyclic: bool) -> np.ndarray:
    """Interpolate the frames that change, if more than half of the steps of the motion repeat the pose."""
    max_hold = 10  # steps: a longer rest belongs to the motion
    moves = np.flatnonzero(_find_lengths(paths) > MIN_MOVE * size)
    gaps = np.diff(moves) - 1
    held = gaps[gaps <= max_hold].sum()
    if len(moves) < 2 or held <= len(moves):
        return paths
    starts = np.append(gaps, moves[0]) > max_hold
    knots = np.unique(np.concatenate([[0, len(paths) - 1], moves + 1, np.roll(moves, -1)[starts]]))
    values, times = paths[knots], knots.astype(np.float64)
    if not is_cyclic and moves[-1] + 1 < len(paths) - 1 <= moves[-1] + max_hold:  # the action ends before the next pose
        values[-1] += (values[-2] - values[-3]) * (times[-1] - times[-2]) / (times[-2] - times[-3])
    secants = np.diff(values, axis=0) / np.diff(times)[:, None, None]
    around = np.concatenate([secants[-1:] if is_cyclic else secants[:1], secants,
                             secants[:1] if is_cyclic else secants[-1:]])  # fmt: skip
    slopes = 0.5 * (around[1:] + around[:-1])
    at = np.clip(np.searchsorted(knots, np.arange(len(paths)), side="right") - 1, 0, len(knots) - 2)
    width = (times[at + 1] - times[at])[:, None, None]
    share = (np.arange(len(paths)) - times[at])[:, None, None] / width
    first, last = values[at], values[at + 1]
    bend_in, bend_out = slopes[at] * width - (last - first), (last - first) - slopes[at + 1] * width
    return first + share * (last - first) + share * (1 - share) * ((1 - share) * bend_in + share * bend_out)


def _remove_cuts(paths: np.ndarray, size: float, is_cyclic: bool) -> np.ndarray:
    """Replace cuts by the mean of the steps around them."""
    min_ratio, min_length = 8.0, 0.25 * size  # of a cut, to its neighbors, and alone
    neighbors = np.array([-5, -4, -3, 3, 4, 5])  # nearer steps may belong to the same cut, keyed from frame to frame
    steps, lengths = np.diff(paths, axis=0), _find_lengths(paths)
    count = len(steps)
    if count < 2 * max(neighbors):
        return paths
    rows = np.arange(count)[:, None] + neighbors
    is_inside = np.full(rows.shape, True) if is_cyclic else (rows >= 0) & (rows < count)
    beside = np.where(is_inside, lengths[rows % count], 0.0)
    together = np.convolve(np.pad(lengths, 1, mode="wrap" if is_cyclic else "constant"), np.ones(3), "valid")
    is_cut = (lengths > min_ratio * beside.max(axis=1)) & (together > min_length) & (lengths > MIN_MOVE * size)
    if not is_cut.any():
        return paths
    calm = is_inside & ~is_cut[rows % count]
    means = np.einsum("nk,nkpi->npi", calm, steps[rows % count]) / np.maximum(calm.sum(axis=1), 1)[:, None, None]
    steps = np.where(is_cut[:, None, None], means, steps)
    return np.concatenate([paths[:1], paths[:1] + np.cumsum(steps, axis=0)])
