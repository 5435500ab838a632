"""Compare frames of two motions: Kovar et al. 2002, "Motion graphs", section 3.1.

Points are joints in world space, z up. Before two windows of frames are compared, the second is rotated about the
vertical and moved on the ground to fit the first best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..algebra.products import multiply_rows

# Rows of the table that are computed at a time
BLOCK = 256

# Motions are extrapolated by this number of frames at their ends, so that their speed counts there.
BEYOND = 1


@dataclass(frozen=True, eq=False)
class Motion:
    """Points of a body in successive frames.

    Attributes
    ----------
    points : float array, shape (F, N, 3)
        In world space, z up.
    weights : float array, shape (N,)
        Their sum is 1.
    """

    points: np.ndarray
    weights: np.ndarray

    def continued(self) -> Motion:
        """Extrapolate by `BEYOND` frames before and after."""
        before, after = go_on(self.points[::-1]), go_on(self.points)
        return Motion(np.concatenate([before[None], self.points, after[None]]), self.weights)


def go_on(values: np.ndarray) -> np.ndarray:
    """Extrapolate values of successive frames, shape (F, ...), by a frame, on the parabola through the last three."""
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
        FA and FB frames of the same points.
    radius : int
        The window around a frame contains so many frames before and after it.
    progress : callable
        Called with the finished share.

    Returns
    -------
    float32 array, shape (FA, FB)
        Root mean square distance between the points of both windows, in the unit of the points.

    Notes
    -----
    Kovar's sum over a window and the points splits into products of two frames, which are summed along diagonals:
    three matrix products, and a difference of running sums for each of the seven sums that the best fit needs.
    At the ends of a motion, the window is cut off `BEYOND` frames after the end.
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
        table[rows] = np.sqrt(np.maximum(_find_least(sums), 0.0))
        progress(float(rows[-1] + 1) / len(table))
    return table


def _place_over_origin(motion: Motion) -> Motion:
    """Move a motion over the origin, which does not change differences and keeps numbers small."""
    middle = motion.points.reshape(-1, 3).mean(axis=0) * (1.0, 1.0, 0.0)
    return Motion(motion.points - middle, motion.weights)


def _multiply_frames(first: Motion, second: Motion, rows: np.ndarray) -> list[np.ndarray]:
    """Sums for the best fit of each pair of frames: eight arrays of shape (rows, frames of the second).

    They are sums over the points of x x' + y y' and x y' - y x', of squares minus 2 z z', of x, y, x' and y', and 1.
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
    """Sum values along the diagonal over the window around each pair of frames, shape (rows, columns).

    Parameters
    ----------
    values : float array, shape (n, columns + 2 BEYOND)
    offset : int
        Number of rows missing before the first. They count as 0.
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


def _find_least(sums: Sequence[np.ndarray]) -> np.ndarray:
    """Mean square distances after the best fit, from the sums of `_multiply_frames`."""
    along, across, squares, x, y, other_x, other_y, total = sums
    along = along - (x * other_x + y * other_y) / total
    across = across - (x * other_y - y * other_x) / total
    spread = squares - (x * x + y * y + other_x * other_x + other_y * other_y) / total
    return (spread - 2.0 * np.hypot(along, across)) / total


def align(first: np.ndarray, second: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Find the rotation about the vertical and the shift on the ground that move points closest to others, (4, 4).

    Parameters
    ----------
    first, second : float arrays, shape (F, N, 3)
        The second is moved.
    weights : float array, shape (N,)

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
    """Find the transform, (4, 4), that moves the second motion's window around a frame onto that of the first.

    It is the fit of `compare_frames`. `pair` has a frame of each motion, from 0.
    """
    radius = max(radius, BEYOND)
    one, two = first.continued().points, second.continued().points
    before = min(radius, pair[0] + BEYOND, pair[1] + BEYOND)
    after = min(radius, len(one) - 1 - BEYOND - pair[0], len(two) - 1 - BEYOND - pair[1])
    taken = [slice(frame + BEYOND - before, frame + BEYOND + after + 1) for frame in pair]
    return align(one[taken[0]], two[taken[1]], first.weights)
