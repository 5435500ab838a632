"""How alike frames of two motions are: Kovar et al. 2002, "Motion graphs", section 3.1.

Points are joints in world space, z up. Before two windows of frames are compared, the second is turned about the
vertical and shifted on the ground so that it lies on the first as well as can be.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra.products import multiply_rows

BLOCK = 256
"""Rows of the table that are computed at a time."""

BEYOND = 1
"""Frames by which a motion is continued at its ends, so that its speed there counts."""


@dataclass(frozen=True, eq=False)
class Motion:
    """Points of a body in successive frames.

    Attributes
    ----------
    points : float array, shape (F, N, 3)
        World space, z up.
    weights : float array, shape (N,)
        How much each counts; their sum is 1.
    """

    points: np.ndarray
    weights: np.ndarray

    def continued(self) -> Motion:
        """The same with `BEYOND` frames before and after, in which each point goes on as it did."""
        before, after = go_on(self.points[::-1]), go_on(self.points)
        return Motion(np.concatenate([before[None], self.points, after[None]]), self.weights)


def go_on(values: np.ndarray) -> np.ndarray:
    """The frame after the last, shape (...), of numbers of successive frames, shape (F, ...).

    It lies on the parabola through the last three: what swings goes on swinging.
    """
    if len(values) < 3:
        return 2.0 * values[-1] - values[-2] if len(values) == 2 else values[-1].copy()
    return 3.0 * (values[-1] - values[-2]) + values[-3]


def compare_frames(
    first: Motion, second: Motion, radius: int, progress: Callable[[float], None] = lambda share: None
) -> np.ndarray:
    """Compare each frame of a motion with each of another.

    Parameters
    ----------
    first, second : Motion
        Of the same points, FA and FB frames.
    radius : int
        Frames before and after that belong to the window about a frame.
    progress : callable
        Told the share that is done.

    Returns
    -------
    float32 array, shape (FA, FB)
        Root of the mean square distance between the points of both windows, in the unit of the points.

    Notes
    -----
    Kovar's sum over a window and the points splits into products of two frames, which are summed along diagonals:
    three matrix products, and a difference of running sums for each of the seven sums that the best turn needs.
    At the ends of a motion the window has what frames there are, and `BEYOND` more.
    """
    one, two = first.continued(), second.continued()
    one, two = _place_over_origin(one), _place_over_origin(two)
    radius = max(radius, BEYOND)
    table = np.empty((len(first.points), len(second.points)), np.float32)
    for start in range(0, len(table), BLOCK):
        rows = np.arange(start, min(start + BLOCK, len(table)))
        low = rows[0] + BEYOND - radius
        taken = np.arange(max(0, low), min(rows[-1] + BEYOND + radius + 1, len(one.points)))
        sums = [
            _sum_diagonals(values, taken[0] - low, len(rows), table.shape[1], radius)
            for values in _multiply_frames(one, two, taken)
        ]
        table[rows] = np.sqrt(np.maximum(_find_least(*sums), 0.0))
        progress(float(rows[-1] + 1) / len(table))
    return table


def _place_over_origin(motion: Motion) -> Motion:
    """The same shifted on the ground, which changes no difference, to where numbers are small."""
    middle = motion.points.reshape(-1, 3).mean(axis=0) * (1.0, 1.0, 0.0)
    return Motion(motion.points - middle, motion.weights)


def _multiply_frames(first: Motion, second: Motion, rows: np.ndarray) -> list[np.ndarray]:
    """What the best turn needs of each pair of frames: eight arrays of shape (rows, frames of the second).

    Sums over the points of x x' + y y' and x y' - y x', of squares less twice z z', of x, y, x' and y', and 1.
    """
    weighted = first.points[rows] * first.weights[:, None]
    (wx, wy, wz), (x, y, z) = np.moveaxis(weighted, 2, 0), np.moveaxis(second.points, 2, 0)
    ones = np.ones((len(rows), len(x)))
    own = np.einsum("fnk,fnk->f", weighted, first.points[rows])
    other = np.einsum("fnk,fnk,n->f", second.points, second.points, second.weights)
    return [
        multiply_rows(wx, x.T) + multiply_rows(wy, y.T),
        multiply_rows(wx, y.T) - multiply_rows(wy, x.T),
        own[:, None] + other - 2.0 * multiply_rows(wz, z.T),
        wx.sum(axis=1)[:, None] * ones,
        wy.sum(axis=1)[:, None] * ones,
        (x @ second.weights) * ones,
        (y @ second.weights) * ones,
        ones,
    ]


def _sum_diagonals(values: np.ndarray, offset: int, rows: int, columns: int, radius: int) -> np.ndarray:
    """Sums over the window about each pair of frames, shape (rows, columns), along the diagonal; 0 beyond the values.

    Parameters
    ----------
    values : float array, shape (n, columns + 2 BEYOND)
    offset : int
        Rows that are missing before the first.
    """
    padded = np.zeros((rows + 2 * radius + 1, columns + 2 * radius + 1))
    aside = radius - BEYOND
    padded[1 + offset : 1 + offset + len(values), 1 + aside : 1 + aside + values.shape[1]] = values
    for row in range(1, len(padded)):
        padded[row, 1:] += padded[row - 1, :-1]
    width = 2 * radius + 1
    sums = padded[width:, width:].copy()
    sums -= padded[: len(sums), : sums.shape[1]]
    return sums[:rows, :columns]


def _find_least(
    along: np.ndarray,
    across: np.ndarray,
    squares: np.ndarray,
    x: np.ndarray,
    y: np.ndarray,
    other_x: np.ndarray,
    other_y: np.ndarray,
    total: np.ndarray,
) -> np.ndarray:
    """Mean square distance after the best turn and shift, from the sums of `_multiply_frames`: arrays of one shape."""
    along = along - (x * other_x + y * other_y) / total
    across = across - (x * other_y - y * other_x) / total
    spread = squares - (x * x + y * y + other_x * other_x + other_y * other_y) / total
    return (spread - 2.0 * np.hypot(along, across)) / total


def align(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """The turn about the vertical, and the shift on the ground, that bring points closest to others.

    Parameters
    ----------
    first, second : float arrays, shape (F, N, 3)
        The second is moved.
    weights : float array, shape (N,)

    Returns
    -------
    float array, shape (4, 4)

    Notes
    -----
    Kovar et al. 2002, equations 1 to 4, with z for the vertical.
    """
    middle, other_middle = (np.einsum("fnk,n->k", points, weights) / len(points) for points in (first, second))
    one, two = first - middle / weights.sum(), second - other_middle / weights.sum()
    along = np.einsum("fnk,fnk,n->", one[..., :2], two[..., :2], weights)
    across = np.einsum("fn,fn,n->", two[..., 0], one[..., 1], weights)
    across -= np.einsum("fn,fn,n->", two[..., 1], one[..., 0], weights)
    angle = np.arctan2(across, along)
    matrix = np.eye(4)
    matrix[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    matrix[:2, 3] = (middle / weights.sum())[:2] - matrix[:2, :2] @ (other_middle / weights.sum())[:2]
    return matrix


def align_frames(first: Motion, second: Motion, pair: tuple[int, int], radius: int) -> np.ndarray:
    """The transform that brings a motion's window about a frame onto that of another.

    Parameters
    ----------
    pair : (int, int)
        A frame of each, from 0.
    radius : int
        As of `compare_frames`, which finds the same turn and shift.

    Returns
    -------
    float array, shape (4, 4)
        Of the second.
    """
    radius = max(radius, BEYOND)
    one, two = first.continued().points, second.continued().points
    before = min(radius, pair[0] + BEYOND, pair[1] + BEYOND)
    after = min(radius, len(one) - 1 - BEYOND - pair[0], len(two) - 1 - BEYOND - pair[1])
    taken = [slice(frame + BEYOND - before, frame + BEYOND + after + 1) for frame in pair]
    return align(one[taken[0]], two[taken[1]], first.weights)
