"""Weights in what closed cages enclose, skin or air: there, cages and points carry all, and bones nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import find_nearest
from ..geometry.solid import Surface, fill_grid, measure_size, read_surface
from ..geometry.solid_cells import Cells, link_cells
from ..geometry.solid_skin import sample_triangles
from .biharmonic_energy import minimize
from .handles import Cage, Handles, Held, hold_lines, hold_points, sample_cage

TRIALS = 3
"""How often the side of a cell is changed to come near to the number of cells."""

SPACING = 1.0 / 48.0
"""Samples of a skin or a cage that are measured, as a share of its size."""


@dataclass(frozen=True)
class Enclosed:
    """Weights of what a closed cage encloses.

    Attributes
    ----------
    weights : float32 array, shape (N, B)
    """

    cells: Cells
    weights: np.ndarray

    def find(self, points: np.ndarray) -> np.ndarray:
        """Which points, shape (P, 3), it holds: bool array."""
        return self.cells.find_nodes(points) < self.cells.count


def read_closed(cage: Cage) -> Surface | None:
    """The closed part of a cage; None where it has none."""
    if not len(cage.triangles):
        return None
    surface = read_surface(cage.points, cage.triangles)
    return surface if len(surface.triangles) else None


def solve_enclosed(
    handles: Handles, heads: np.ndarray, count: int, tolerance: float, progress: Callable[[float], None]
) -> list[Enclosed]:
    """Find the weights in all closed cages, the largest first: of cages in each other, the last counts.

    Parameters
    ----------
    heads : float64 array, shape (B, 3)
        In the space of the cages.
    count : int
        About how many cells each is cut into.
    tolerance : float
        As of `minimize`.
    progress : callable
        Called with the share that is done.

    Notes
    -----
    The Laplacian of the cells of the faces, where weights are given, does not count: weights may have a slope there.
    With it they would be flat at the faces, and what is in a cage that is squashed would be squashed in the middle
    alone. So without points in it, weights are harmonic: they are linear where the cage is (Joshi et al. 2007,
    "Harmonic coordinates").
    """
    closed = [surface for cage in handles.cages if (surface := read_closed(cage)) is not None]
    found = []
    for surface in sorted(closed, key=lambda surface: -surface.volume):
        cells = _cut(surface, count)
        held = hold_lines(cells, handles.cages, len(heads)).under(hold_points(cells, handles, heads))
        fixed, given = np.zeros(cells.count, bool), np.zeros((cells.count, len(heads)))
        fixed[held.nodes], given[held.nodes] = True, held.weights
        weights = minimize(cells.neighbors, fixed, given, tolerance, counted=~cells.is_skin)
        found.append(Enclosed(cells, weights))
        progress(len(found) / len(closed))
    return found


def _cut(surface: Surface, count: int) -> Cells:
    """About so many cells."""
    step = (surface.volume / count) ** (1.0 / 3.0)
    cells = link_cells(surface, step)
    for _ in range(TRIALS):
        step *= (cells.count / count) ** (1.0 / 3.0)
        cells = link_cells(surface, step)
    return cells


def hold_enclosed(cells: Cells, enclosed: Sequence[Enclosed], bone_count: int) -> Held:
    """The nodes of a solid that closed cages hold, with the weights there.

    Parameters
    ----------
    cells : Cells
        Of the solid.
    """
    held = Held(np.empty(0, np.intp), np.empty((0, bone_count)))
    for one in enclosed:
        nodes = np.flatnonzero(one.find(cells.centers))
        held = held.under(Held.gather(nodes, one.cells.interpolate(one.weights, cells.centers[nodes])))
    return held


def measure_gaps(points: np.ndarray, triangles: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Measure how far positions are from a skin: 0 in the solid.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
    positions : float64 array, shape (P, 3)

    Returns
    -------
    float64 array, shape (P,)
    """
    spacing = SPACING * measure_size(points, triangles)
    samples = sample_triangles(points, triangles, spacing).points
    gaps = find_nearest(positions, samples, 1)[1][:, 0]
    surface = read_surface(points, triangles)
    if len(surface.triangles):
        grid = fill_grid(surface, spacing)
        gaps[grid.inside[grid.cells(positions)]] = 0.0
    return gaps


def measure_cage_gap(points: np.ndarray, triangles: np.ndarray, cage: Cage) -> float:
    """Measure how far the nearest of a cage, or of what it encloses, is from a skin.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
    """
    surface = read_closed(cage)
    if surface is not None:
        grid = fill_grid(surface, SPACING * measure_size(cage.points, cage.triangles))
        if grid.inside[grid.cells(points)].any():
            return 0.0
    spacing = SPACING * float(np.ptp(cage.points, axis=0).max(initial=0.0)) or 1.0
    return float(measure_gaps(points, triangles, sample_cage(cage, spacing)[0]).min())
