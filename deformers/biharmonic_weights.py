"""Automatic weights that are as smooth as can be in the solid: bounded biharmonic weights (Jacobson 2011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .biharmonic import TOLERANCE, minimize
from .bone_claims import claim_nodes, find_nearby_seeds, find_seeds, share_ties
from .neighbors import find_nearest
from .solid import find_islands
from .solid_cells import Cells, link_cells
from .solid_heat import NO_BONE_INSIDE, Level, check_shape, cut_part, find_fine_parts, finish, read_solid
from .weighting import Solution

MOST_FINE = 20_000
"""Cells that are made by cutting a part, about half of them in the solid; where there were more, they are larger."""

NEED = 2.0
"""Times finer cells that a part has to need to be cut."""

TRIES = 3
"""How often the side of a cell is changed to come near to the number of cells."""


@dataclass(frozen=True)
class Params:
    """How finely the solid is cut, and how exact the weights are.

    Attributes
    ----------
    cells : int
        About how many there are.
    detail : int
        Cells along the side of a cell where bones are dense, as in hands and faces; 1: nowhere.
    tolerance : float
        The energy is proved to be above the least one by at most this share of it.
    """

    cells: int = 5000
    detail: int = 6
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
    params, tell = params or Params(), progress or (lambda _share: None)
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
        note = NO_BONE_INSIDE
    usable = np.unique(bones)
    coarse = _minimize(cells, _hold(cells, seeds, bones, len(heads)), params.tolerance, lambda share: tell(0.4 * share))
    weights = cells.read(coarse, points)

    claims = claim_nodes(cells, seeds, bones, heads, tails)
    given = share_ties(cells, claims, usable, heads, tails)
    level = Level(cells, claims.owner, claims.distance, usable, given, coarse, note)
    parts = find_fine_parts(level, heads, tails, params.detail, MOST_FINE, NEED)
    for number, (chosen, factor) in enumerate(parts):
        tell(0.4 + 0.6 * number / len(parts))
        fine, rim = cut_part(surface, cells, chosen, factor)
        held = _hold(fine, *find_seeds(fine, heads, tails), len(heads))
        around = cells.interpolate(coarse, fine.centers[rim]).astype(np.float64)
        held[rim] = around / around.sum(axis=1, keepdims=True)
        inside = np.flatnonzero(fine.vertex_nodes < fine.count)
        weights[inside] = fine.read(_minimize(fine, held, params.tolerance), points[inside], fine.vertex_nodes[inside])
    tell(1.0)
    return finish(weights, surface, cells.vertex_nodes == cells.count, usable, note)


def _hold(cells: Cells, seeds: np.ndarray, bones: np.ndarray, bone_count: int) -> np.ndarray:
    """Weights of the nodes that bones run through, float64, shape (N, B): shared by several, 0 elsewhere."""
    held = np.zeros((cells.count, bone_count))
    held[seeds, bones] = 1.0
    return held / np.maximum(held.sum(axis=1, keepdims=True), 1.0)


def _minimize(
    cells: Cells, held: np.ndarray, tolerance: float, progress: Callable[[float], None] | None = None
) -> np.ndarray:
    """The smoothest weights of nodes, float32, shape (N, B), where some are held; of what none reach, the nearest."""
    fixed = np.any(held, axis=1)
    links = _cut_links(cells, fixed)
    parts = _find_parts(links)
    reached = np.isin(parts, parts[fixed])
    place = np.append(np.where(reached, np.cumsum(reached) - 1, reached.sum()), reached.sum())
    weights = np.zeros(held.shape, np.float32)
    weights[reached] = minimize(place[links[reached]], fixed[reached], held[reached], tolerance, progress)
    lost, found = np.flatnonzero(~reached), np.flatnonzero(reached)
    if lost.size:
        weights[lost] = weights[found[find_nearest(cells.centers[lost], cells.centers[found], 1)[0][:, 0]]]
    return weights


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
