"""A direct solver for a constant, symmetric, sparse matrix over points: small dense inverses, applied by BLAS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import group_points
from .products import multiply_rows

WHOLE = 900
"""Points up to which one dense inverse is fastest."""

PART = 256
"""Points in a part."""


@dataclass(frozen=True)
class Part:
    """The inside of a part: points that have neighbors in it and among the separators only.

    Attributes
    ----------
    members : int array, shape (n,)
    rim : int array, shape (s,)
        The separators that it touches, as places among them.
    inverse : float32 array, shape (n, n)
    reach : float32 array, shape (n, s)
        `inverse` times the part's entries in the columns of the rim.
    """

    members: np.ndarray
    rim: np.ndarray
    inverse: np.ndarray
    reach: np.ndarray


class Solver:
    """Solves A x = b for many b, where A is symmetric and positive definite.

    The points are cut into parts that lie together. Points with a neighbor in an earlier part separate the parts; what
    is inside a part depends on others through them alone. So A is inverted part by part, and once for the separators
    (the Schur complement): for 3600 points a sixth of the numbers of the whole inverse, whose reading is what a
    product costs.

    Parameters
    ----------
    points : float array, shape (P, 3)
    pairs : int array, shape (E, 2)
        Each off-diagonal entry once.
    values : float array, shape (E,)
    diagonal : float array, shape (P,)
    """

    def __init__(self, points: np.ndarray, pairs: np.ndarray, values: np.ndarray, diagonal: np.ndarray) -> None:
        count = len(points)
        groups = [np.arange(count)] if count <= WHOLE else group_points(points, PART)
        owner = np.empty(count, np.intp)
        for number, group in enumerate(groups):
            owner[group] = number
        ends = owner[pairs]
        separates = np.zeros(count, bool)
        separates[pairs[:, 0][ends[:, 0] > ends[:, 1]]] = True
        separates[pairs[:, 1][ends[:, 1] > ends[:, 0]]] = True

        rows, columns = np.concatenate([pairs, pairs[:, ::-1]]).T
        entries = np.concatenate([values, values])
        self._separators = np.flatnonzero(separates)
        place = np.cumsum(separates) - 1
        between = separates[rows] & separates[columns]
        complement = np.diag(diagonal[self._separators])
        np.add.at(complement, (place[rows[between]], place[columns[between]]), entries[between])
        self._parts = []
        for number, group in enumerate(groups):
            members = np.sort(group[~separates[group]])
            own = (owner[rows] == number) & ~separates[rows]
            part = _make_part(members, rows[own], columns[own], entries[own], diagonal, separates, place)
            self._parts.append(part[0])
            complement[np.ix_(part[0].rim, part[0].rim)] -= part[1]
        self._inverse = np.linalg.inv(complement.astype(np.float32))

    def solve(self, right: np.ndarray) -> np.ndarray:
        """The solution for right-hand sides, float32, shape (P, C): the same shape."""
        result = np.empty_like(right)
        rest = right[self._separators]
        for part in self._parts:
            own = right[part.members]
            result[part.members] = multiply_rows(part.inverse, own)
            rest[part.rim] -= multiply_rows(part.reach.T, own)
        rest = multiply_rows(self._inverse, rest)
        for part in self._parts:
            result[part.members] -= multiply_rows(part.reach, rest[part.rim])
        result[self._separators] = rest
        return result


def _make_part(
    members: np.ndarray,
    rows: np.ndarray,
    columns: np.ndarray,
    entries: np.ndarray,
    diagonal: np.ndarray,
    separates: np.ndarray,
    place: np.ndarray,
) -> tuple[Part, np.ndarray]:
    """A part, and what it takes from the separators' own matrix."""
    local = np.searchsorted(members, rows)
    inner = ~separates[columns]
    block = np.diag(diagonal[members])
    np.add.at(block, (local[inner], np.searchsorted(members, columns[inner])), entries[inner])
    rim, rim_place = np.unique(place[columns[~inner]], return_inverse=True)
    link = np.zeros((len(members), len(rim)))
    np.add.at(link, (local[~inner], rim_place.ravel()), entries[~inner])
    inverse = np.linalg.inv(block.astype(np.float32))
    reach = inverse @ link.astype(np.float32)
    return Part(members, rim, inverse, reach), link.T @ reach
