"""Automatic weights that are as smooth as can be in the solid: bounded biharmonic weights (Jacobson 2011)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.solid import measure_size
from ..geometry.solid_cells import Cells, link_cells
from ..method import Choice
from .biharmonic_energy import TOLERANCE, minimize
from .bone_claims import claim_nodes, find_nearby_seeds, find_seeds, share_ties
from .levels import (
    NO_BONE_INSIDE,
    Level,
    cut_part,
    describe_no_bone,
    find_fine_parts,
    find_rim_seeds,
    make_solution,
    read_solid,
    read_weights,
    weight_clothes,
)
from .method import WeightMethod
from .solution import Solution

MOST_FINE = 20_000
"""Cells that are made by cutting a part, about half of them in the solid; where there were more, they are larger."""

LEAST_REFINEMENT = 2.0
"""Finer cells along the side of a cell: parts that need no more are not cut."""

TRIALS = 3
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


CELLS = Choice(
    name="cells",
    label="Cells",
    tooltip="About how many cells the mesh is cut into. 0 is automatic (5000); more are finer and take longer",
    highest=1_000_000,
    slider=(None, 50_000),
)

INFO = WeightMethod(
    "BIHARMONIC",
    "Bounded Biharmonic",
    "The smoothest weights through the inside of the mesh: takes some seconds, for final work",
    words=("biharmonic", "bbw"),
    params=Params,
    choices=(CELLS,),
)


def solve(
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    params: Params | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Find the weights of all bones for all vertices.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Vertices of all parts, armature space.
    triangles : int array, shape (T, 3)
    heads, tails : float arrays, shape (B, 3)
        Ends of the bones, armature space.
    params : Params, optional
    progress : callable, optional
        Called with the share that is done; what it raises ends the work.

    Raises
    ------
    SkinningError
        Where there is no surface, or no bone near it.

    Notes
    -----
    The paper cuts the volume into tetrahedra whose corners lie on the bones; here cells that a bone runs through are
    the bone's, and bones that share a cell share its weight. Parts that overlap and have bones of their own have no
    influence on each other, as with heat.
    """
    params, progress = params or Params(), progress or (lambda _share: None)
    points, heads, tails = (np.asarray(values, np.float64) for values in (points, heads, tails))
    step = measure_size(points, triangles) / params.cells ** (1.0 / 3.0)
    surface, cells, _ = read_solid(points, triangles, heads, tails, step)
    for _ in range(TRIALS):
        step *= (cells.count / params.cells) ** (1.0 / 3.0)
        cells = link_cells(surface, step)
    seeds, bones = find_seeds(cells, heads, tails)
    note = ""
    if not seeds.size:
        seeds, bones = find_nearby_seeds(cells, heads, tails)
        note = NO_BONE_INSIDE
    if not seeds.size:
        raise SkinningError(describe_no_bone(len(heads)))
    usable = np.unique(bones)
    level = _solve_level(cells, seeds, bones, heads, tails, params.tolerance, lambda share: progress(0.4 * share))

    def solve_part(chosen: np.ndarray, factor: int) -> Level:
        fine, rim = cut_part(surface, cells, chosen, factor)
        inner = find_seeds(fine, heads, tails)
        return _solve_level(fine, *inner, heads, tails, params.tolerance, rim=rim, coarse=level)

    parts = find_fine_parts(level, heads, tails, params.detail, MOST_FINE, LEAST_REFINEMENT)
    weights = read_weights(points, level, parts, solve_part, lambda share: progress(0.4 + 0.6 * share))
    return make_solution(weights, surface, cells.vertex_nodes == cells.count, usable, note)


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
    """The smoothest weights of nodes that have bones, and weights of their clothes; on the rim, those of `coarse`."""
    held = _hold(cells, seeds, bones, len(heads))
    if coarse is not None and rim is not None:
        around = coarse.cells.interpolate(coarse.weights, cells.centers[rim]).astype(np.float64)
        held[rim] = around / np.maximum(around.sum(axis=1, keepdims=True), 1e-9)
        more = find_rim_seeds(cells, rim, coarse)
        seeds, bones = np.append(seeds, more[0]), np.append(bones, more[1])
    claims = claim_nodes(cells, seeds, bones, heads, tails)
    given = share_ties(cells, claims, np.unique(bones), heads, tails)
    weights = held.astype(np.float32)
    solid = claims.has_own_bones
    fixed = np.any(held, axis=1) & solid
    index = np.append(np.where(solid, np.cumsum(solid) - 1, solid.sum()), solid.sum())
    links = np.where(cells.open_links, cells.neighbors, cells.count)
    weights[solid] = minimize(index[links[solid]], fixed[solid], held[solid], tolerance, progress)
    weights = weight_clothes(cells, claims, given, weights, rim)
    return Level(cells, claims, np.unique(bones), given, weights, "")


def _hold(cells: Cells, seeds: np.ndarray, bones: np.ndarray, bone_count: int) -> np.ndarray:
    """Weights of the nodes that bones run through, float64, shape (N, B): shared by several, 0 elsewhere."""
    held = np.zeros((cells.count, bone_count))
    held[seeds, bones] = 1.0
    return held / np.maximum(held.sum(axis=1, keepdims=True), 1.0)
