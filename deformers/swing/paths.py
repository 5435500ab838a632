"""Paths of points as a body would move along them: without cuts to elsewhere, and through poses that are held."""

from __future__ import annotations

import numpy as np

STILL = 1e-6
"""Parts of the size that a point moves in a step at most while a pose is held."""

HELD = 10
"""Steps for which a pose is held at most so that the motion goes on through it: a longer rest is one."""

SUDDEN = 8.0
"""How much longer a step is than its neighbors where it is a cut to elsewhere."""

CUT = 0.25
"""Parts of the size that a cut is long at least."""

BESIDE = (-5, -4, -3, 3, 4, 5)
"""Steps that a step is compared with: those between may belong to the same cut, which is keyed from frame to frame."""


def smooth_paths(paths: np.ndarray, size: float, is_cyclic: bool) -> np.ndarray:
    """Paths through held poses, and without cuts.

    Parameters
    ----------
    paths : float array, shape (F, N, 3)
        Of N points that belong together, half a frame from row to row.
    size : float
        Of the character.

    Returns
    -------
    float64 array, shape (F, N, 3)
        In another place after a cut.
    """
    return _remove_cuts(_move_through_holds(paths, size, is_cyclic), size, is_cyclic)


def _find_lengths(paths: np.ndarray) -> np.ndarray:
    """How far the point moves that moves most, in each step, shape (F - 1,)."""
    return np.linalg.norm(np.diff(paths, axis=0), axis=2).max(axis=1)


def _move_through_holds(paths: np.ndarray, size: float, is_cyclic: bool) -> np.ndarray:
    """Paths through the frames that change, where more than half of the steps of a motion repeat the pose."""
    moves = np.flatnonzero(_find_lengths(paths) > STILL * size)
    gaps = np.diff(moves) - 1
    held = gaps[gaps <= HELD].sum()
    if len(moves) < 2 or held <= len(moves):
        return paths
    starts = np.append(gaps, moves[0]) > HELD
    knots = np.unique(np.concatenate([[0, len(paths) - 1], moves + 1, np.roll(moves, -1)[starts]]))
    values, times = paths[knots], knots.astype(np.float64)
    if not is_cyclic and moves[-1] + 1 < len(paths) - 1 <= moves[-1] + HELD:  # the next pose is not there
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
    """Paths whose cuts to elsewhere are steps like those around them."""
    steps, lengths = np.diff(paths, axis=0), _find_lengths(paths)
    count = len(steps)
    if count < 2 * max(BESIDE):
        return paths
    rows = np.arange(count)[:, None] + np.array(BESIDE)
    is_inside = np.full(rows.shape, True) if is_cyclic else (rows >= 0) & (rows < count)
    beside = np.where(is_inside, lengths[rows % count], 0.0)
    together = np.convolve(np.pad(lengths, 1, mode="wrap" if is_cyclic else "constant"), np.ones(3), "valid")
    is_cut = (lengths > SUDDEN * beside.max(axis=1)) & (together > CUT * size) & (lengths > STILL * size)
    if not is_cut.any():
        return paths
    calm = is_inside & ~is_cut[rows % count]
    means = np.einsum("nk,nkpi->npi", calm, steps[rows % count]) / np.maximum(calm.sum(axis=1), 1)[:, None, None]
    steps = np.where(is_cut[:, None, None], means, steps)
    return np.concatenate([paths[:1], paths[:1] + np.cumsum(steps, axis=0)])
