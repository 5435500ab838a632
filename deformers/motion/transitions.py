"""Where a motion can pass into another: the least differences of a table of frames."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

AS_GOOD = 1.25
"""Loops that close, for how far they get in between, at most so many times as badly as the best: the longest wins."""

AS_GOOD_BY = 0.02
"""Or so much worse."""


@dataclass(frozen=True)
class Transition:
    """Frames to pass from one motion to the other.

    Attributes
    ----------
    first, second : int
        Frame of each, from 0.
    difference : float
        Of the table.
    """

    first: int
    second: int
    difference: float


def find_minima(table: np.ndarray) -> np.ndarray:
    """Entries that are no larger than their up to eight neighbors, bool, shape (FA, FB), of a table of that shape."""
    padded = np.pad(table, 1, constant_values=np.inf)
    is_least = np.ones(table.shape, bool)
    rows, columns = table.shape
    for row in range(3):
        for column in range(3):
            is_least &= table <= padded[row : row + rows, column : column + columns]
    return is_least


def weigh_losses(table: np.ndarray) -> np.ndarray:
    """How bad joins are, float array, shape (FA, FB): differences, and more where half of a motion or more is lost.

    Parameters
    ----------
    table : float array, shape (FA, FB)
        Differences of frames.
    """
    costs, later, earlier = table + table.max(), table.shape[0] // 2, (table.shape[1] + 1) // 2
    costs[later:, :earlier] = table[later:, :earlier]
    return costs


def list_transitions(
    table: np.ndarray, count: int, apart: int, shortest: int = 0, costs: np.ndarray | None = None
) -> list[Transition]:
    """The best transitions, the best first.

    Parameters
    ----------
    table : float array, shape (FA, FB)
        Differences of frames.
    count : int
        Most that are listed.
    apart : int
        Frames, of either motion, within which only the best is listed.
    shortest : int
        Least frames of a loop, where the table is of a motion with itself; 0 where it is not.
    costs : float array, shape (FA, FB), optional
        What is best by; the table if not given.
    """
    costs = table if costs is None else costs
    rows, columns = np.nonzero(find_minima(costs))
    if shortest:
        is_loop = rows - columns >= shortest
        rows, columns = rows[is_loop], columns[is_loop]
    found: list[Transition] = []
    taken = np.zeros(table.shape, bool)
    for entry in np.argsort(costs[rows, columns], kind="stable"):
        row, column = int(rows[entry]), int(columns[entry])
        if not taken[row, column]:
            found.append(Transition(row, column, float(table[row, column])))
            taken[max(0, row - apart) : row + apart + 1, max(0, column - apart) : column + apart + 1] = True
        if len(found) == count:
            break
    return found


def choose_loop(table: np.ndarray, shortest: int) -> Transition | None:
    """The loop to make of a motion: of those that close as well as any, the longest; None where it is too short.

    How well a loop closes is its difference beside the largest between its first frame and one in between: where the
    body hardly moves, all frames are alike, and no loop.

    Parameters
    ----------
    table : float array, shape (F, F)
        Of a motion with itself.
    shortest : int
        Least frames of a loop.
    """
    is_loop = np.tril(np.ones(table.shape, bool), -shortest)
    if not is_loop.any():
        return None
    ranges = np.maximum.accumulate(np.tril(table), axis=0)
    gaps = np.full(table.shape, np.inf)
    np.divide(table, np.maximum(ranges, 1e-12), out=gaps, where=is_loop)
    least = float(gaps.min())
    is_good = is_loop & find_minima(gaps) & (gaps <= max(AS_GOOD * least, least + AS_GOOD_BY))
    rows, columns = np.nonzero(is_good)
    best = np.lexsort((gaps[rows, columns], columns - rows))[0]
    row, column = int(rows[best]), int(columns[best])
    return Transition(row, column, float(table[row, column]))
