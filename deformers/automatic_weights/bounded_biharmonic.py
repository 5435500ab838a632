"""Automatic weights that are as smooth as possible in the solid: bounded biharmonic weights (Jacobson 2011)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..errors import SkinningError
from ..geometry.solid import measure_size
from ..geometry.solid_cells import Cells
from ..option import Option
from .biharmonic_energy import TOLERANCE, minimize
from .bone_claims import claim_nodes, find_nearby_seeds, find_seeds, share_ties
from .cages import Enclosed, approach_count, hold_enclosed, solve_enclosed
from .handles import Handles, Held, hold_lines, hold_points, settle_points
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
from .method import Solution, WeightMethod


@dataclass(frozen=True)
class Params:
    """Resolution of the solid, and precision of the weights.

    Attributes
    ----------
    cells : int
        Approximate number of cells.
    detail : int
        Finer cells along the side of a cell at dense bones, such as in hands and faces; 1 for none.
    tolerance : float
        The energy is proved to exceed the minimum by at most this share.
    """

    cells: int = 5000
    detail: int = 6
    tolerance: float = TOLERANCE


CELLS = Option(
    name="cells",
    label="Cells",
    tooltip=(
        "Approximate number of cells that the mesh is divided into. 0 is automatic (5000); more cells are finer and "
        "slower"
    ),
    word=(0, "Automatic"),
    highest=1_000_000,
    slider=(None, 50_000),
)

INFO = WeightMethod(
    "BIHARMONIC",
    "Bounded Biharmonic",
    "The smoothest weights, computed through the inside of the mesh: takes a few seconds, for final work",
    words=("biharmonic", "bbw"),
    params=Params,
    choices=(CELLS,),
    has_handles=True,
)


@dataclass(frozen=True)
class Carriers:
    """Bones, points and cages that get weights.

    `heads` and `tails`, float64 arrays, shape (B, 3): in the space of the solid; equal for points and vertices of
    cages.
    """

    heads: np.ndarray
    tails: np.ndarray
    handles: Handles
    enclosed: Sequence[Enclosed]
    tolerance: float

    @cached_property
    def is_handle(self) -> np.ndarray:
        """Whether each bone is a handle, bool array, shape (B,)."""
        return self.handles.mark(len(self.heads))

    def find_seeds(self, cells: Cells) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that bones other than handles run through, and the bone of each: int arrays, shape (S,)."""
        seeds, bones = find_seeds(cells, self.heads, self.tails)
        own = ~self.is_handle[bones]
        return seeds[own], bones[own]

    def hold(self, cells: Cells) -> Held:
        """The nodes that handles hold."""
        lines = hold_lines(cells, self.handles.cages, len(self.heads))
        points = hold_points(cells, self.handles, self.heads)
        return lines.under(points).under(hold_enclosed(cells, self.enclosed, len(self.heads)))


def solve(
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    params: Params | None = None,
    progress: Callable[[float], None] | None = None,
    handles: Handles | None = None,
) -> Solution:
    """Find the weights of all bones for all vertices.

    Raises SkinningError without a surface, or without a bone near it.

    Parameters
    ----------
    points, triangles, heads, tails, params, progress
        As for `solid_heat.solve`, and with shapes as there.
    handles : Handles, optional
        Bones that are points and vertices of cages. The inside of closed cages follows no other bone.

    Notes
    -----
    The paper uses tetrahedra with corners on the bones. Here a cell belongs to the bone that runs through it; bones in
    one cell share its weight. Points and cages hold cells by themselves. Overlapping parts with bones of their own have
    no influence on each other, as with heat.
    """
    params, progress = params or Params(), progress or (lambda _share: None)
    points, heads, tails = (np.asarray(values, np.float64) for values in (points, heads, tails))
    step = measure_size(points, triangles) / params.cells ** (1.0 / 3.0)
    handles = handles or Handles(np.empty(0, np.intp))
    surface, cells, _ = read_solid(points, triangles, *_draw_near(points, heads, tails, handles), step)
    cells = approach_count(surface, cells, step, params.cells)
    cages_share = 0.3  # Share of the time spent in closed cages
    enclosed = solve_enclosed(
        handles, heads, params.cells, params.tolerance, lambda share: progress(cages_share * share)
    )
    start = cages_share if enclosed else 0.0
    settled = settle_points(cells, handles, heads, surface)
    tails = np.where((settled != heads).any(axis=1, keepdims=True), settled, tails)
    heads = settled
    carriers = Carriers(heads, tails, handles, enclosed, params.tolerance)
    held = carriers.hold(cells)
    seeds, bones = carriers.find_seeds(cells)
    note = ""
    if not (seeds.size or held.nodes.size):
        seeds, bones = find_nearby_seeds(cells, heads, tails)
        note = NO_BONE_INSIDE
    if not (seeds.size or held.nodes.size):
        raise SkinningError(describe_no_bone(len(heads)))

    def report(share: float) -> None:
        progress(start + (1.0 - start) * share)

    level = _solve_level(carriers, cells, seeds, bones, held, lambda share: report(0.4 * share))

    def solve_part(chosen: np.ndarray, factor: int) -> Level:
        fine, rim = cut_part(surface, cells, chosen, factor)
        return _solve_level(carriers, fine, *carriers.find_seeds(fine), carriers.hold(fine), rim=rim, coarse=level)

    # A refined part that needs more cells has larger ones. About half of them are in the solid.
    max_fine_cells = 20_000
    min_refinement = 2.0  # Parts are refined if they need more finer cells along the side of a cell.
    parts = find_fine_parts(level, heads, tails, params.detail, max_fine_cells, min_refinement)
    weights = read_weights(points, level, parts, solve_part, lambda share: report(0.4 + 0.6 * share))
    for one in enclosed:
        inside = np.flatnonzero(one.find(points))
        weights[inside] = one.cells.interpolate(one.weights, points[inside])
    return make_solution(weights, surface, cells.vertex_nodes == cells.count, level.usable, note)


def _draw_near(
    points: np.ndarray, heads: np.ndarray, tails: np.ndarray, handles: Handles
) -> tuple[np.ndarray, np.ndarray]:
    """Ends of bones, with handles moved into the skin's box, since a cage may be far from its skin."""
    inside = np.clip(heads, points.min(axis=0), points.max(axis=0))
    is_handle = handles.mark(len(heads))[:, None]
    return np.where(is_handle, inside, heads), np.where(is_handle, inside, tails)


def _solve_level(
    carriers: Carriers,
    cells: Cells,
    seeds: np.ndarray,
    bones: np.ndarray,
    given: Held,
    progress: Callable[[float], None] | None = None,
    rim: np.ndarray | None = None,
    coarse: Level | None = None,
) -> Level:
    """The smoothest weights of nodes with bones, and weights of their clothes; on the rim, those of `coarse`."""
    heads, tails = carriers.heads, carriers.tails
    held = _hold(cells, seeds, bones, len(heads))
    held[given.nodes] = given.weights
    kept = np.zeros(cells.count, bool) if rim is None else rim.copy()
    seeds, bones = (np.append(own, more) for own, more in zip((seeds, bones), given.seeds, strict=True))
    if coarse is not None and rim is not None:
        around = coarse.cells.interpolate(coarse.weights, cells.centers[rim]).astype(np.float64)
        held[rim] = around / np.maximum(around.sum(axis=1, keepdims=True), 1e-9)
        more = find_rim_seeds(cells, rim, coarse)
        seeds, bones = np.append(seeds, more[0]), np.append(bones, more[1])
    kept[given.nodes] = True
    claims = claim_nodes(cells, seeds, bones, heads, tails, carriers.is_handle)
    shares = share_ties(cells, claims, np.unique(bones), heads, tails)
    weights = held.astype(np.float32)
    solid = claims.has_own_bones
    fixed = np.any(held, axis=1) & solid
    index = np.append(np.where(solid, np.cumsum(solid) - 1, solid.sum()), solid.sum())
    links = np.where(cells.open_links, cells.neighbors, cells.count)
    weights[solid] = minimize(index[links[solid]], fixed[solid], held[solid], carriers.tolerance, progress)
    weights = weight_clothes(cells, claims, shares, weights, kept)
    return Level(
        cells, claims, np.unique(np.append(bones, np.flatnonzero(given.weights.any(axis=0)))), shares, weights, ""
    )


def _hold(cells: Cells, seeds: np.ndarray, bones: np.ndarray, bone_count: int) -> np.ndarray:
    """Weights of the nodes that bones run through, float64, shape (N, B): shared by several, 0 elsewhere."""
    held = np.zeros((cells.count, bone_count))
    held[seeds, bones] = 1.0
    return held / np.maximum(held.sum(axis=1, keepdims=True), 1.0)
