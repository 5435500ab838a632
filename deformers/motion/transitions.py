"""Choose frames at which a motion can pass into another: minima of a table of differences."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Transition:
    """Frames to pass from one motion to the other.

    Attributes
    ----------
    first, second : int
        Frame of each motion, from 0.
    difference : float
        Entry of the table.
    """

    first: int
    second: int
    difference: float


def find_minima(table: np.ndarray) -> np.ndarray:
    """Find local minima of a table, shape (FA, FB), among up to eight neighbors: bool, shape (FA, FB)."""
    padded = np.pad(table, 1, constant_values=np.inf)
    is_least = np.ones(table.shape, bool)
    rows, columns = table.shape
    for row in range(3):
        for column in range(3):
            is_least &= table <= padded[row : row + rows, column : column + columns]
    return is_least


def weigh_losses(table: np.ndarray) -> np.ndarray:
    """Add a penalty to differences, shape (FA, FB), of joins that lose half of a motion or more."""
    costs, later, earlier = table + table.max(), table.shape[0] // 2, (table.shape[1] + 1) // 2
    costs[later:, :earlier] = table[later:, :earlier]
    return costs


def list_transitions(
    table: np.ndarray, count: int, apart: int, shortest: int = 0, costs: np.ndarray | None = None
) -> list[Transition]:
    """List the best transitions, starting with the best.

    Parameters
    ----------
    table, costs : float arrays, shape (FA, FB)
        Differences of frames, and costs by which transitions are chosen, by default the same.
    count : int
        Largest number of transitions.
    apart : int
        Only the best is listed within so many frames of both motions.
    shortest : int
        Smallest number of frames of a loop, for a table of a motion with itself, otherwise 0.
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
    """Choose the longest loop that closes about as well as the best, or None if the motion is too short.

    The gap of a loop is its difference, in a table (F, F), relative to the largest difference between its first frame
    and one in between. So frames in which the body hardly moves do not make a loop, which has at least `shortest`
    frames.
    """
    is_loop = np.tril(np.ones(table.shape, bool), -shortest)
    if not is_loop.any():
        return None
    ranges = np.maximum.accumulate(np.tril(table), axis=0)
    gaps = np.full(table.shape, np.inf)
    np.divide(table, np.maximum(ranges, 1e-12), out=gaps, where=is_loop)
    least = float(gaps.min())
    is_good = is_loop & find_minima(gaps) & (gaps <= max(1.25 * least, least + 0.02))
    rows, columns = np.nonzero(is_good)
    best = np.lexsort((gaps[rows, columns], columns - rows))[0]
    row, column = int(rows[best]), int(columns[best])
    return Transition(row, column, float(table[row, column]))
