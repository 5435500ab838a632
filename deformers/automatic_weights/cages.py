"""Weights inside closed cages, of skin and air: only cages and points have weights there, no bones."""

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

# Distance of samples of a skin or a cage, in its sizes
SPACING = 1.0 / 48.0


@dataclass(frozen=True)
class Enclosed:
    """Weights inside a closed cage. `weights`, float32 array, shape (N, B)."""

    cells: Cells
    weights: np.ndarray

    def find(self, points: np.ndarray) -> np.ndarray:
        """Whether points, shape (P, 3), are inside: bool array."""
        return self.cells.find_nodes(points) < self.cells.count


def read_closed(cage: Cage) -> Surface | None:
    """The closed part of a cage, or None."""
    if not len(cage.triangles):
        return None
    surface = read_surface(cage.points, cage.triangles)
    return surface if len(surface.triangles) else None


def solve_enclosed(
    handles: Handles, heads: np.ndarray, count: int, tolerance: float, progress: Callable[[float], None]
) -> list[Enclosed]:
    """Find the weights in all closed cages, the largest first: in nested cages, the last counts.

    Parameters
    ----------
    heads : float64 array, shape (B, 3)
        In the space of the cages.
    count : int
        Approximate number of cells of each.
    tolerance : float
        See `minimize`.
    progress : callable
        Called with the finished share.

    Notes
    -----
    The Laplacian of the cells of the faces, with given weights, does not count: weights may have a slope there.
    Otherwise they would be flat at the faces, and a squashed cage would squash only its middle. So without points
    inside, weights are harmonic: linear if the cage is (Joshi et al. 2007, "Harmonic coordinates").
    """
    closed = [surface for cage in handles.cages if (surface := read_closed(cage)) is not None]
    found = []
    for surface in sorted(closed, key=lambda surface: -surface.volume):
        step = (surface.volume / count) ** (1.0 / 3.0)
        cells = approach_count(surface, link_cells(surface, step), step, count)
        held = hold_lines(cells, handles.cages, len(heads)).under(hold_points(cells, handles, heads))
        fixed, given = np.zeros(cells.count, bool), np.zeros((cells.count, len(heads)))
        fixed[held.nodes], given[held.nodes] = True, held.weights
        weights = minimize(cells.neighbors, fixed, given, tolerance, counted=~cells.is_skin)
        found.append(Enclosed(cells, weights))
        progress(len(found) / len(closed))
    return found


def approach_count(surface: Surface, cells: Cells, step: float, count: int) -> Cells:
    """Cut a surface anew, so that it has about `count` cells; it has `cells` with cells of side `step`."""
    trials = 3  # How often the side of a cell is changed to approach the number of cells
    for _ in range(trials):
        step *= (cells.count / count) ** (1.0 / 3.0)
        cells = link_cells(surface, step)
    return cells


def hold_enclosed(cells: Cells, enclosed: Sequence[Enclosed], bone_count: int) -> Held:
    """The nodes of a solid inside closed cages, with their weights. `cells`: of the solid."""
    held = Held(np.empty(0, np.intp), np.empty((0, bone_count)))
    for one in enclosed:
        nodes = np.flatnonzero(one.find(cells.centers))
        held = held.under(Held.gather(nodes, one.cells.interpolate(one.weights, cells.centers[nodes])))
    return held


def measure_gaps(points: np.ndarray, triangles: np.ndarray, positions: np.ndarray) -> np.ndarray:
    """Distances of positions from a skin: 0 inside.

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
    samples, _ = sample_triangles(points, triangles, spacing)
    gaps = find_nearest(positions, samples, 1)[1][:, 0]
    surface = read_surface(points, triangles)
    if len(surface.triangles):
        grid = fill_grid(surface, spacing)
        gaps[grid.inside[grid.cells(positions)]] = 0.0
    return gaps


def measure_cage_gap(points: np.ndarray, triangles: np.ndarray, cage: Cage) -> float:
    """Smallest distance of a cage, or of its inside, from a skin.

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
