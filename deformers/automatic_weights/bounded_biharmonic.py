"""Automatic weights that are as smooth as can be in the solid: bounded biharmonic weights (Jacobson 2011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.solid_cells import Cells, link_cells
from .biharmonic_energy import TOLERANCE, minimize
from .bone_claims import claim_nodes, find_nearby_seeds, find_seeds, share_ties
from .solid_heat import (
    NO_BONE_INSIDE,
    Level,
    check_shape,
    cut_part,
    dress,
    find_fine_parts,
    find_rim_seeds,
    finish,
    read_solid,
    tell_no_bone,
)
from .solution import Solution

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
    if not seeds.size:
        raise SkinningError(tell_no_bone(len(heads)))
    usable = np.unique(bones)
    level = _solve_level(cells, seeds, bones, heads, tails, params.tolerance, lambda share: tell(0.4 * share))
    weights = cells.read(level.weights, points)
    parts = find_fine_parts(level, heads, tails, params.detail, MOST_FINE, NEED)
    for number, (chosen, factor) in enumerate(parts):
        tell(0.4 + 0.6 * number / len(parts))
        fine, rim = cut_part(surface, cells, chosen, factor)
        seeds, bones = find_seeds(fine, heads, tails)
        part = _solve_level(fine, seeds, bones, heads, tails, params.tolerance, rim=rim, coarse=level)
        inside = np.flatnonzero(fine.vertex_nodes < fine.count)
        weights[inside] = fine.read(part.weights, points[inside], fine.vertex_nodes[inside])
    tell(1.0)
    return finish(weights, surface, cells.vertex_nodes == cells.count, usable, note)


def _solve_level(
    cells: Cells,
    seeds: np.ndarray,
    bones: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    tolerance: float,
    progress: Callable[[float], None] | None = None,
    rim: np.ndarray | None = None,
    coarse: Level | None = None,
) -> Level:
    """The smoothest weights of a body's nodes, and weights of its clothes; on the rim, those of coarser nodes."""
    held = _hold(cells, seeds, bones, len(heads))
    if coarse is not None and rim is not None:
        around = coarse.cells.interpolate(coarse.weights, cells.centers[rim]).astype(np.float64)
        held[rim] = around / np.maximum(around.sum(axis=1, keepdims=True), 1e-9)
        more = find_rim_seeds(cells, rim, coarse)
        seeds, bones = np.append(seeds, more[0]), np.append(bones, more[1])
    claims = claim_nodes(cells, seeds, bones, heads, tails)
    given = share_ties(cells, claims, np.unique(bones), heads, tails)
    weights = held.astype(np.float32)
    body, fixed = claims.is_body, np.any(held, axis=1) & claims.is_body
    place = np.append(np.where(body, np.cumsum(body) - 1, body.sum()), body.sum())
    links = np.where(cells.open_links, cells.neighbors, cells.count)
    weights[body] = minimize(place[links[body]], fixed[body], held[body], tolerance, progress)
    weights = dress(cells, claims, given, weights, rim)
    return Level(cells, claims, np.unique(bones), given, weights, "")


def _hold(cells: Cells, seeds: np.ndarray, bones: np.ndarray, bone_count: int) -> np.ndarray:
    """Weights of the nodes that bones run through, float64, shape (N, B): shared by several, 0 elsewhere."""
    held = np.zeros((cells.count, bone_count))
    held[seeds, bones] = 1.0
    return held / np.maximum(held.sum(axis=1, keepdims=True), 1.0)
