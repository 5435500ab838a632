"""Vertices that spread twists turn at rest, in the order of a binding's blocks, and where they are turned in a pose."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..rig.rest import Rest, normalize_weights
from ..rig.spread_twists import SpreadTurns, SpreadTwists
from ..rig.twist_shares import TwistShares, find_twist_shares, turn_vertices
from .stages import Scratch


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
    """What vertices take of spread twists: N entries of U vertices, ordered by pass and rank.

    Attributes
    ----------
    followed : bool array, shape (L, B + F + 1)
        The joints that vertices follow that a twist turns.
    ranks : int array, shape (U,)
        Of the vertices, ascending.
    rows : tuple of slices or int arrays
        Which of these vertices each pass turns.
    starts : int array
        Where each pass begins, and the last ends.
    ends : float32 array, shape (3, N)
        About what each is turned.
    """

    spread: SpreadTwists
    followed: np.ndarray
    shares: TwistShares
    ranks: np.ndarray
    rows: tuple[slice | np.ndarray, ...]
    starts: np.ndarray
    ends: np.ndarray

    def turn(self, turns: SpreadTurns, columns: np.ndarray, is_point: np.ndarray) -> TurnedRows:
        """Turn columns of the vertices.

        Parameters
        ----------
        turns : SpreadTurns
            Of the joints.
        columns : float32 array, shape (3, C, U)
            Armature space; changed.
        is_point : bool array, shape (C,)
            Which are points; others are vectors.

        Notes
        -----
        By a quaternion (w, u): v + 2 w (u x v) + 2 u x (u x v).
        """
        w, *axis = turn_vertices(self.shares, self.spread, turns).T
        at_points = is_point[:, None].astype(np.float32)
        for rows, (start, stop) in zip(self.rows, pairwise(self.starts), strict=True):
            u = [component[start:stop] for component in axis]
            offsets = columns[:, :, rows] - self.ends[:, None, start:stop] * at_points
            crossed = _cross(u, offsets)
            moves = _cross(u, crossed)
            moves += w[start:stop] * crossed
            moves *= 2.0
            columns[:, :, rows] += moves
        return TurnedRows(self.ranks, columns)


def _cross(first: list[np.ndarray], second: np.ndarray) -> np.ndarray:
    """Cross products of three rows, shape (n,), with columns, shape (3, C, n)."""
    (x, y, z), result = first, np.empty_like(second)
    np.subtract(y * second[2], z * second[1], out=result[0])
    np.subtract(z * second[0], x * second[2], out=result[1])
    np.subtract(x * second[1], y * second[0], out=result[2])
    return result


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
    shares = shares.ordered_by(np.lexsort((ranks[shares.vertices], shares.passes)))
    of_entries = ranks[shares.vertices]
    starts = np.searchsorted(shares.passes, np.arange(int(shares.passes.max()) + 2))
    own = of_entries[: starts[1]]  # a vertex has an entry in the first pass
    parts = [of_entries[start:stop] for start, stop in pairwise(starts)]
    rows = [slice(None) if len(part) == len(own) else np.searchsorted(own, part) for part in parts]
    ends = np.ascontiguousarray(spread.ends[shares.twists].T, np.float32)
    return TwistRows(spread, followed, shares, own, tuple(rows), starts, ends)
