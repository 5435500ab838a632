"""Vertices that spread twists turn at rest, in the order of a binding's blocks, and where they are turned in a pose."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..rig.rest import Rest, normalize_weights
from ..rig.spread_twists import SpreadTwists, split_twists
from ..rig.twist_shares import TwistShares, find_turns, find_twist_shares
from .stages import Scratch

WHOLE = 1.0 - 1e-5
"""Weight below a twist from which on a vertex is turned by what does not go through the blend alone."""


@dataclass(frozen=True)
class TurnedRows:
    """Vertices as they are turned in a pose: U of them.

    Attributes
    ----------
    ranks : int array, shape (U,)
        Ascending.
    columns : float32 array, shape (3, C, U)
        What was turned, armature space.
    """

    ranks: np.ndarray
    columns: np.ndarray

    def put(self, first: int, last: int, chosen: slice, rows: np.ndarray, memory: Scratch) -> np.ndarray:
        """Rows of a run with those of the vertices that are turned.

        Parameters
        ----------
        first, last : int
            The run.
        chosen : slice
            Which of the columns.
        rows : float32 array, shape (5, c, n or 1)
            Wrapped, as they are at rest.

        Returns
        -------
        float32 array, shape (5, c, n or 1)
            The same object where no vertex of the run is turned.
        """
        own = slice(*np.searchsorted(self.ranks, (first, last)))
        if own.start == own.stop:
            return rows
        result, where = memory.take(5, rows.shape[1], last - first), self.ranks[own] - first
        result[:3] = rows[:3]
        for axis in range(3):
            for column, turned in zip(result[axis], self.columns[axis, chosen, own], strict=True):
                column[where] = turned
        result[3:] = result[:2]
        return result


@dataclass(frozen=True)
class TwistRows:
    """What vertices take of spread twists.

    Attributes
    ----------
    followed : bool array, shape (L, B + F + 1)
        The joints that vertices follow that a twist turns.
    every, blended : _Entries
        All, and without those that are turned by what does not go through the blend alone.
    """

    spread: SpreadTwists
    followed: np.ndarray
    every: _Entries
    blended: _Entries

    def find_entries(self, twists: np.ndarray) -> _Entries:
        """Those that are turned in a pose, by the twists of its joints, radians, shape (L,)."""
        _, beyond = split_twists(twists, self.spread.most_blended)
        return self.every if beyond.any() else self.blended


@dataclass(frozen=True)
class _Entries:
    """N entries, ordered by pass and rank.

    Attributes
    ----------
    ranks : int array, shape (U,)
        Of the vertices, ascending.
    rows : tuple of slices or int arrays
        Which of these vertices each pass turns.
    starts : int array
        Where each pass begins, and the last ends.
    axes, ends : float32 arrays, shape (3, N)
        The line that each is turned about: its direction, and where it ends.
    """

    shares: TwistShares
    ranks: np.ndarray
    rows: tuple[slice | np.ndarray, ...]
    starts: np.ndarray
    axes: np.ndarray
    ends: np.ndarray

    @classmethod
    def of(cls, shares: TwistShares, spread: SpreadTwists, ranks: np.ndarray) -> _Entries:
        shares = shares.ordered_by(np.lexsort((ranks[shares.vertices], shares.passes)))
        of_entries = ranks[shares.vertices]
        starts = np.searchsorted(shares.passes, np.arange(int(shares.passes.max(initial=-1)) + 2))
        own = of_entries[: starts[1]] if len(starts) > 1 else of_entries  # a vertex has an entry in the first pass
        parts = [of_entries[start:stop] for start, stop in pairwise(starts)]
        rows = [slice(None) if len(part) == len(own) else np.searchsorted(own, part) for part in parts]
        axes, ends = (lines[shares.twists].T.astype(np.float32) for lines in (spread.axes, spread.ends))
        return cls(shares, own, tuple(rows), starts, np.ascontiguousarray(axes), np.ascontiguousarray(ends))

    def turn(self, twists: np.ndarray, most_blended: float, columns: np.ndarray, is_point: np.ndarray) -> TurnedRows:
        """Turn columns of the vertices about the lines of the twists.

        Parameters
        ----------
        twists : float array, shape (L,)
            Of the joints, radians.
        columns : float32 array, shape (3, C, U)
            Armature space; changed.
        is_point : bool array, shape (C,)
            Which are points; others are vectors.
        """
        cosines, sines = find_turns(self.shares, twists, most_blended)
        lost, at_points = 1.0 - cosines, is_point[:, None].astype(np.float32)
        for rows, (start, stop) in zip(self.rows, pairwise(self.starts), strict=True):
            x, y, z = axes = self.axes[:, start:stop]
            offsets = columns[:, :, rows] - self.ends[:, None, start:stop] * at_points
            along = x * offsets[0] + y * offsets[1] + z * offsets[2]
            moves = np.empty_like(offsets)
            np.subtract(y * offsets[2], z * offsets[1], out=moves[0])
            np.subtract(z * offsets[0], x * offsets[2], out=moves[1])
            np.subtract(x * offsets[1], y * offsets[0], out=moves[2])
            moves *= sines[start:stop]
            offsets -= axes[:, None] * along
            offsets *= lost[start:stop]
            moves -= offsets
            columns[:, :, rows] += moves
        return TurnedRows(self.ranks, columns)


def bind_twists(rest: Rest, ranks: np.ndarray) -> TwistRows | None:
    """What a character's vertices take of its spread twists; None where there are none.

    Parameters
    ----------
    ranks : int array, shape (V,)
        Index of each vertex in the order of the blocks.
    """
    spread, fractions, count = rest.joints.spread, rest.joints.fractions, len(rest.joints.parents)
    if spread is None:
        return None
    weights = normalize_weights(rest.weights, len(rest.points), count)
    shares = find_twist_shares(weights, rest.armature_points, spread)
    if not len(shares.vertices):
        return None
    followed = spread.along | spread.below
    if fractions is not None:
        followed = np.append(followed, followed[:, fractions.first] | followed[:, fractions.last], axis=1)
    followed = np.append(followed, np.zeros((len(followed), 1), bool), axis=1)
    blended = shares.only(shares.is_turned)
    return TwistRows(spread, followed, _Entries.of(shares, spread, ranks), _Entries.of(blended, spread, ranks))
