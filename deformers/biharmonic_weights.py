"""Automatic weights that are as smooth as can be in the solid: bounded biharmonic weights (Jacobson 2011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .biharmonic import TOLERANCE, minimize
from .bone_claims import find_nearby_seeds, find_seeds
from .neighbors import find_nearest
from .solid import find_islands
from .solid_cells import Cells, link_cells
from .solid_heat import check_shape, finish, read_solid
from .weighting import Solution

TRIES = 3
"""How often the side of a cell is changed to come near to the number of cells."""


@dataclass(frozen=True)
class Params:
    """How finely the solid is cut, and how exact the weights are.

    Attributes
    ----------
    cells : int
        About how many there are.
    tolerance : float
        The energy is proved to be above the least one by at most this share of it.
    """

    cells: int = 5000
    tolerance: float = TOLERANCE


def solve(
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    params: Params | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Weights of all bones for all vertices; as `solid_heat.solve`.

    Notes
    -----
    The paper cuts the volume into tetrahedra whose corners lie on the bones; here cells that a bone runs through are
    the bone's, and bones that share a cell share its weight. Parts that overlap and have bones of their own do not feel
    each other, as with heat.
    """
    params = params or Params()
    points, heads, tails = (np.asarray(values, np.float64) for values in (points, heads, tails))
    step = check_shape(points, triangles) / params.cells ** (1.0 / 3.0)
    surface, cells, _ = read_solid(points, triangles, heads, tails, step)
    for _ in range(TRIES):
        step *= (cells.count / params.cells) ** (1.0 / 3.0)
        cells = link_cells(surface, step)
    seeds, bones = find_seeds(cells, heads, tails)
    note = ""
    if not seeds.size:
        seeds, bones = find_nearby_seeds(cells, heads, tails)
        note = "No bone is inside the mesh: each place follows the bones beside it."
    given = np.zeros((cells.count, len(heads)))
    given[seeds, bones] = 1.0
    given /= np.maximum(given.sum(axis=1, keepdims=True), 1.0)
    fixed = given.any(axis=1)
    links = _cut_links(cells, fixed)
    parts = _find_parts(links)
    reached = np.isin(parts, parts[fixed])
    place = np.append(np.cumsum(reached) - 1, -1)
    place[:-1][~reached] = -1
    place[place < 0] = reached.sum()
    weights = np.zeros((cells.count, len(heads)), np.float32)
    weights[reached] = minimize(place[links[reached]], fixed[reached], given[reached], params.tolerance, progress)
    lost, found = np.flatnonzero(~reached), np.flatnonzero(reached)
    if lost.size:
        weights[lost] = weights[found[find_nearest(cells.centers[lost], cells.centers[found], 1)[0][:, 0]]]
    is_loose = cells.vertex_nodes == cells.count
    return finish(cells.read(weights, points), surface, is_loose, np.unique(bones), note)


def _cut_links(cells: Cells, fixed: np.ndarray) -> np.ndarray:
    """The cells' links, int array of shape (N, K), less those between shells of skin that both have bones."""
    within = np.where(cells.find_shared_shells(), cells.neighbors, cells.count)
    parts = _find_parts(within)
    has_bones = np.append(np.isin(parts, parts[fixed]), False)
    apart = has_bones[cells.neighbors] & has_bones[:-1, None] & (within == cells.count)
    return np.where(apart, cells.count, cells.neighbors)


def _find_parts(links: np.ndarray) -> np.ndarray:
    """Number the parts that links, shape (N, K), connect: int array, shape (N,)."""
    pairs = np.stack([np.repeat(np.arange(len(links)), links.shape[1]), links.ravel()], axis=1)
    return find_islands(pairs[pairs[:, 1] < len(links)], len(links))
