"""Symmetric sparse systems solved exactly in NumPy: nested dissection of the points, dense algebra on the pieces."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

LEAF = 96
"""Unknowns that are not cut any further."""


@dataclass(frozen=True)
class Piece:
    """Unknowns that are eliminated together, counted in the order of elimination.

    Attributes
    ----------
    start, end : int
        They are `start` to `end - 1`.
    children : tuple of int
        Pieces that have to be eliminated before.
    """

    start: int
    end: int
    children: tuple[int, ...]


@dataclass(frozen=True)
class Front:
    """What is left of a piece once it is eliminated.

    Attributes
    ----------
    start, end : int
        As in `Piece`.
    later : int array, shape (M,)
        Unknowns outside that it is tied to.
    inverse : float array, shape (N, N)
        Of its own block.
    carry : float array, shape (N, M)
        `inverse` times its block against `later`.
    """

    start: int
    end: int
    later: np.ndarray
    inverse: np.ndarray
    carry: np.ndarray


@dataclass(frozen=True)
class Factor:
    """A factorized system.

    Attributes
    ----------
    order : int array, shape (V,)
        Unknowns in the order of elimination.
    fronts : tuple of Front
    """

    order: np.ndarray
    fronts: tuple[Front, ...]

    def solve(self, sides: np.ndarray) -> np.ndarray:
        """Solutions for right-hand sides, shape (V, N), in the precision of the factor: shape (V, N)."""
        values = sides.astype(self.fronts[0].inverse.dtype, copy=False)[self.order]
        for front in self.fronts:
            if len(front.later):
                values[front.later] -= front.carry.T @ values[front.start : front.end]
        for front in reversed(self.fronts):
            own = front.inverse @ values[front.start : front.end]
            if len(front.later):
                own -= front.carry @ values[front.later]
            values[front.start : front.end] = own
        result = np.empty_like(values)
        result[self.order] = values
        return result


class _Cutter:
    """Cuts points into pieces: `order` and `pieces` grow, children before what parts them."""

    def __init__(self, points: np.ndarray) -> None:
        self.order: list[np.ndarray] = []
        self.pieces: list[Piece] = []
        self._points = points
        self._upper = np.zeros(len(points), bool)
        self._walled = np.zeros(len(points), bool)

    def cut(self, group: np.ndarray, pairs: np.ndarray) -> int:
        """Cut a group, shape (N,), with the pairs inside it, shape (E, 2): the index of its piece."""
        if len(group) <= LEAF:
            return self._place(group, ())
        wall, high = min((self._halve(group, pairs, axis) for axis in range(3)), key=lambda found: len(found[0]))
        self._upper[group] = high
        self._walled[wall] = True
        free = ~self._walled[group]
        inner = ~self._walled[pairs].any(axis=1)
        above = self._upper[pairs[:, 0]]
        halves = [(group[free & (high == side)], pairs[inner & (above == side)]) for side in (False, True)]
        return self._place(wall, tuple(self.cut(*half) for half in halves if len(half[0])))

    def _halve(self, group: np.ndarray, pairs: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
        """Which of a group part its halves along an axis, and who is in the upper half, bool, shape (N,)."""
        high = np.zeros(len(group), bool)
        high[np.argpartition(self._points[group, axis], len(group) // 2)[len(group) // 2 :]] = True
        self._upper[group] = high
        sides = self._upper[pairs]
        crossing = sides[:, 0] != sides[:, 1]
        ends, above = pairs[crossing].ravel(), sides[crossing].ravel()
        return min((np.unique(ends[above]), np.unique(ends[~above])), key=len), high

    def _place(self, group: np.ndarray, children: tuple[int, ...]) -> int:
        start = self.pieces[-1].end if self.pieces else 0
        self.pieces.append(Piece(start, start + len(group), children))
        self.order.append(group)
        return len(self.pieces) - 1


def dissect(points: np.ndarray, pairs: np.ndarray) -> tuple[np.ndarray, list[Piece]]:
    """Cut points into halves again and again; those that part two halves are eliminated after both.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Say where to cut: anything is correct, but where ties are short, little is left between the halves.
    pairs : int array, shape (E, 2)
        Which are tied to each other.

    Returns
    -------
    order : int array, shape (V,)
    pieces : list of Piece
        Children first.
    """
    cutter = _Cutter(points)
    cutter.cut(np.arange(len(points)), pairs)
    return np.concatenate(cutter.order), cutter.pieces


def factorize(
    points: np.ndarray,
    pairs: np.ndarray,
    values: np.ndarray,
    diagonal: np.ndarray,
    precision: type[np.floating] = np.float64,
    progress: Callable[[float], None] | None = None,
) -> Factor:
    """Factorize a symmetric positive definite matrix.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Where the unknowns are.
    pairs : int array, shape (E, 2)
        Entries off the diagonal, each pair once.
    values : float array, shape (E,)
        Of these entries.
    diagonal : float array, shape (V,)
    precision : type
        What the factor is kept in; it is computed in float64. Where no entry off the diagonal is positive and no side
        negative, nothing cancels out in the solving, and float32 gives each value to 6 digits.
    progress : callable, optional
        Called with 0..1.

    Notes
    -----
    George 1973 (nested dissection) with the fronts of Duff & Reid 1983. On a surface some 30 V log V numbers are kept,
    and a right-hand side takes as many multiplications. Deviation: a front keeps the inverse of its own block, as
    NumPy solves no triangular systems.
    """
    order, pieces = dissect(points, pairs)
    place = np.empty(len(order), np.intp)
    place[order] = np.arange(len(order))
    ends = np.sort(place[pairs], axis=1)
    by_row = np.lexsort((ends[:, 1], ends[:, 0]))
    rows, columns, values = ends[by_row, 0], ends[by_row, 1], values[by_row]
    starts = np.searchsorted(rows, np.arange(len(order) + 1))
    diagonal = diagonal[order]

    fronts: list[Front] = []
    updates: dict[int, np.ndarray] = {}  # by piece: what it changes among its `later`
    for index, piece in enumerate(pieces):
        entries = slice(starts[piece.start], starts[piece.end])
        reach = np.concatenate([columns[entries], *(fronts[child].later for child in piece.children)])
        own = np.arange(piece.start, piece.end)
        members = np.concatenate([own, np.unique(reach[reach >= piece.end])])
        block = np.zeros((len(members), len(members)))
        into = rows[entries] - piece.start, np.searchsorted(members, columns[entries])
        block[into] = block[into[::-1]] = values[entries]
        block[own - piece.start, own - piece.start] = diagonal[own]
        for child in piece.children:
            spots = np.searchsorted(members, fronts[child].later)
            block[spots[:, None], spots] += updates.pop(child)
        count = len(own)
        inverse = np.linalg.inv(block[:count, :count])
        carry = inverse @ block[:count, count:]
        updates[index] = block[count:, count:] - block[count:, :count] @ carry
        kept = inverse.astype(precision), carry.astype(precision)
        fronts.append(Front(piece.start, piece.end, members[count:], *kept))
        if progress is not None:
            progress((index + 1) / len(pieces))
    return Factor(order, tuple(fronts))
