"""Bounded biharmonic weights over the cells of a solid: the smoothest weights within 0 and 1 that sum to 1.

Jacobson, Baran, Popovic, Sorkine: Bounded Biharmonic Weights for Real-Time Deformation, 2011: minimize, over all
bones, half the integral of (laplacian of w)^2 with w given on the bones, 0 <= w <= 1 and sum 1.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..algebra.block_tridiagonal import assemble, count_links, factorize
from ..errors import SkinningError
from ..geometry.solid import find_islands

# Energy above the minimum, as a share of it
TOLERANCE = 1e-3

# After as many steps the best weights so far are taken.
MAX_STEPS = 1000


def minimize(
    neighbors: np.ndarray,
    fixed: np.ndarray,
    given: np.ndarray,
    tolerance: float = TOLERANCE,
    progress: Callable[[float], None] | None = None,
    counted: np.ndarray | None = None,
) -> np.ndarray:
    """Find the smoothest weights of cells within the bounds, for all bones at once.

    Raises SkinningError if arrays do not fit, or a part of the solid has no fixed cell.

    Parameters
    ----------
    neighbors : int array, shape (N, K)
        Linked cells, padded with N. Links go both ways and are one cell long.
    fixed : bool array, shape (N,)
        Cells with given weights: at least one in each part of the solid.
    given : float array, shape (N, B)
        Weights of the fixed cells: not negative, sum 1. Other rows are not read. Bones without any get none anywhere.
    tolerance : float
        The energy is proved to exceed the minimum by at most this share.
    progress : callable, optional
        Called with the finished share.
    counted : bool array, shape (N,), optional
        Cells whose Laplacian is part of the energy, including the free ones; by default all.

    Returns
    -------
    float32 array, shape (N, B)
        Not negative, rows sum to 1.

    Notes
    -----
    The paper solves for each bone alone and divides by the sum at the end, which is not the optimum of its problem.
    Here all bones are solved together by ADMM: a step minimizes the energy with a penalty for leaving the last weights
    within bounds, then moves each cell's weights to the nearest ones within bounds (a projection onto the simplex). The
    penalty falls with the squared distance from the fixed cells, since weights turn less sharply there.

    The energy is convex: the tangent plane at any weights x is below it everywhere, so the least value of the plane
    within bounds (in each cell: all weight on the bone with the least slope) is below the least energy. Together with
    the energy of the best weights so far it encloses the optimum. The steps end when the two are close enough, or after
    `MAX_STEPS`. Double precision is needed: the energy of a long smooth part is too small for float32.
    """
    neighbors, fixed = np.asarray(neighbors, np.intp), np.asarray(fixed)
    given = np.array(given, np.float64, ndmin=2)
    _check(neighbors, fixed, given)
    given[~fixed] = 0.0
    given[fixed] /= given[fixed].sum(axis=1, keepdims=True)
    counted = np.ones(len(neighbors), bool) if counted is None else counted | ~fixed
    result = given.astype(np.float32)
    done = size = 0

    def report(share: float) -> None:
        if progress:
            progress((done + share * size) / len(neighbors))

    positions = np.empty(len(neighbors) + 1, np.intp)
    min_tolerance = 1e-10  # Rounding hides smaller differences from the minimum.
    for cells in find_parts(neighbors, fixed):
        bones, size = np.flatnonzero(given[cells].any(axis=0)), len(cells)
        if len(bones) == 1:
            result[cells, bones] = 1.0
        elif not fixed[cells].all():
            positions[cells], positions[-1] = np.arange(size), size
            part = np.ix_(cells, bones)
            area = Area(positions[neighbors[cells]], fixed[cells], counted[cells])
            result[part] = _solve(area, given[part], max(tolerance, min_tolerance), report)
        done += size
    if progress:
        progress(1.0)
    return result


def _apply_laplacian(neighbors: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Degree minus adjacency times values, shape (N, B), with zero slope across the boundary."""
    count = len(values)
    padded = np.concatenate([values, np.zeros((1, values.shape[1]))])
    result = (neighbors < count).sum(axis=1)[:, None] * values
    for column in neighbors.T:
        result -= padded[column]
    return result


def _check(neighbors: np.ndarray, fixed: np.ndarray, given: np.ndarray) -> None:
    count = len(neighbors)
    if neighbors.ndim != 2 or fixed.shape != (count,) or fixed.dtype != bool or len(given) != count:
        shapes = f"{neighbors.shape}, {fixed.shape} and {given.shape}"
        raise SkinningError(
            f"The shapes of neighbors, fixed and given do not match ({shapes}): make them from the same cells"
        )
    if neighbors.size and (neighbors.min() < 0 or neighbors.max() > count):
        raise SkinningError(f"There are {count} cells, but neighbors from {neighbors.min()} to {neighbors.max()}")
    cells = np.broadcast_to(np.arange(count)[:, None], neighbors.shape)[neighbors < count]
    ends = neighbors[neighbors < count]
    if (np.sort(cells * count + ends) != np.sort(ends * count + cells)).any():
        raise SkinningError("A cell has a link to another cell with no link back: make all links go both ways")
    own = given[fixed]
    if not (np.isfinite(own).all() and (own >= 0).all() and (np.abs(own.sum(axis=1) - 1.0) < 1e-5).all()):
        raise SkinningError("Weights of fixed cells are negative or do not sum to 1: normalize them")


def find_parts(neighbors: np.ndarray, fixed: np.ndarray) -> list[np.ndarray]:
    """Find the connected cells of each part of a solid, int arrays: bones have no weight in other parts.

    Raises SkinningError if a part has no fixed cell.

    Parameters
    ----------
    neighbors : int array, shape (N, K)
    fixed : bool array, shape (N,)
    """
    count = len(neighbors)
    cells, columns = np.nonzero(neighbors < count)
    islands = find_islands(np.column_stack([cells, neighbors[cells, columns]]), count)
    sizes = np.bincount(islands)
    apart = np.bincount(islands, fixed)[islands] == 0
    if apart.any():
        raise SkinningError(
            f"{apart.sum()} of {count} cells are in parts of the solid without a bone (the first is cell "
            f"{apart.argmax()}): fix a cell in each part, or leave the part out"
        )
    return np.split(np.argsort(islands, kind="stable"), np.cumsum(sizes)[:-1])


@dataclass(frozen=True)
class Area:
    """Cells of a part of a solid; see `minimize`.

    Attributes
    ----------
    neighbors : int array, shape (N, K)
    fixed, counted : bool arrays, shape (N,)
    """

    neighbors: np.ndarray
    fixed: np.ndarray
    counted: np.ndarray

    def bend(self, values: np.ndarray) -> np.ndarray:
        """The Laplacian of values, shape (N, B), of cells that count; else 0."""
        return np.where(self.counted[:, None], _apply_laplacian(self.neighbors, values), 0.0)


def _solve(area: Area, given: np.ndarray, tolerance: float, progress: Callable[[float], None]) -> np.ndarray:
    """Weights of the cells of a part, shape (N, B), some of which are free; each bone has a fixed one."""
    neighbors = area.neighbors
    matrix = assemble(neighbors, ~area.fixed, area.counted)
    free = matrix.cells
    bounds = Bounds(area, free, given)
    pull = _apply_laplacian(neighbors, area.bend(given))[free]
    first_penalty = 2.0  # First penalty for leaving the bounds, one cell away from a fixed cell
    penalty = first_penalty / count_links(neighbors, np.flatnonzero(area.fixed))[free, None] ** 2.0
    scale = np.sqrt(penalty)

    start = factorize(matrix, np.zeros(len(free))).solve(-pull)  # without bounds
    weights, shifts = project_rows(start, np.zeros((len(free), 1)))
    factor = factorize(matrix, penalty[:, 0])
    excess = np.zeros_like(weights)  # scaled multipliers
    first_gap = 0.0
    steps_between_checks = 5
    relaxation = 1.8  # Steps go this far; 1 ends at their minimum.
    max_imbalance = 5.0  # If residuals differ by more, the penalty changes, by at most this factor.
    for step in range(MAX_STEPS):
        smooth = factor.solve(penalty * (weights - excess) - pull)
        before = weights
        target = relaxation * smooth + (1.0 - relaxation) * before + excess
        weights, shifts = project_rows(target, shifts)
        excess = target - weights
        if step % steps_between_checks:
            continue
        gap = bounds.tighten(smooth, weights)
        if gap <= tolerance:
            break
        first_gap = first_gap or gap
        progress(max(step / MAX_STEPS, float(np.log(first_gap / gap) / np.log(first_gap / tolerance))))
        primal = _norm(scale * (smooth - weights)) / _norm(scale * weights)
        dual = _norm(scale * (weights - before)) / _norm(scale * excess)
        ratio = np.sqrt(primal / dual)
        if step and not 1.0 / max_imbalance < ratio < max_imbalance:
            change = np.clip(ratio, 1.0 / max_imbalance, max_imbalance)
            penalty *= change
            scale *= np.sqrt(change)
            excess /= change
            factor = factorize(matrix, penalty[:, 0])
    return bounds.best


def _norm(values: np.ndarray) -> float:
    return max(float(np.linalg.norm(values)), 1e-30)


def project_rows(values: np.ndarray, shifts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nearest rows to those of `values`, shape (F, B), that are not negative and sum to 1.

    They are `max(values - highest - shift, 0)`. The shifts, shape (F, 1), are found by Newton's method from the given
    ones: the sum is convex and piecewise linear, and each step but the first leaves out a bone or is the last.
    """
    values = values - values.max(axis=1, keepdims=True)
    shifts = np.clip(shifts, -1.0, -1.0 / values.shape[1])
    result = values
    sum_precision = 1e-10
    for _ in range(values.shape[1] + 2):
        result = np.maximum(values - shifts, 0.0)
        changes = (result.sum(axis=1, keepdims=True) - 1.0) / np.count_nonzero(result, axis=1)[:, None]
        if np.abs(changes).max() < sum_precision:
            break
        shifts = np.maximum(shifts + changes, -1.0)
    return result, shifts


class Bounds:
    """Bounds of the least energy: the best weights found, and a bound from below. `best`, float array, shape (N, B)."""

    def __init__(self, area: Area, free: np.ndarray, given: np.ndarray) -> None:
        self.best = given
        self._area = area
        self._free = free
        self.lower, self.upper = 0.0, np.inf

    def tighten(self, smooth: np.ndarray, weights: np.ndarray) -> float:
        """Try weights of the free cells, (F, B), of any value and within the bounds; return the gap as a share of the
        energy.
        """
        all_weights = self.best.copy()
        all_weights[self._free] = smooth
        curvature = self._area.bend(all_weights)
        slopes = _apply_laplacian(self._area.neighbors, curvature)[self._free]
        lower = 0.5 * (curvature**2).sum() - ((slopes * smooth).sum(axis=1) - slopes.min(axis=1)).sum()
        self.lower = max(self.lower, lower)
        all_weights[self._free] = weights
        upper = 0.5 * float((self._area.bend(all_weights) ** 2).sum())
        if upper < self.upper:
            self.upper, self.best = upper, all_weights
        energy_rounding = 1e-14  # Energy of a cell that counts as zero
        above = self.upper - self.lower - energy_rounding * len(self.best)
        return max(above, 0.0) / max(self.upper, 1e-300)
