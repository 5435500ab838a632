"""Weights in the cells of a solid, level by level: what the methods that fill a solid have in common.

`read_solid` cuts a mesh into cells and finds a sketch of the weights. A method solves in these cells, and once more in
each of `find_fine_parts`, cut by `cut_part`. `weight_clothes` weights what has no bones of its own, `make_solution`
cleans up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.mesh_laplacian import check_faces
from ..geometry.neighbors import find_nearest
from ..geometry.solid import LARGEST_HOLE, Surface, find_islands, read_surface
from ..geometry.solid_cells import CHUNK, SIDES, Cells, join_cells, link_cells, refine_cells
from .bone_claims import Claims, claim_nodes, find_nearby_seeds, find_seeds, share_ties
from .heat_system import HeatSystem
from .solution import Solution

HEAT = 1.5
"""c in H = c / d^2: the more, the closer the skin keeps to its nearest bone. Between 1 and 2, the weights of five
characters come nearest to those that artists gave them."""

SKIN_CONDUCTANCE = 0.005
"""How well skin between two parts that both have bones conducts heat: parts that overlap keep their own."""

LEAST_DISTANCE = 0.5
"""Lengths of a cell: nearer bones count as so near."""

LEAST_INFLUENCE = 5e-4
"""Weight from which on a bone is looked for on the next, finer level."""

SUPPORT_LINKS = 3
"""Links from its nodes to which a bone is looked for in any case."""

SKETCH_FACTOR = 3
"""Times the side of a cell with which the sketch is found: it says which bones can matter where."""

MOST_NODES = 60_000
"""Cells of a solid; where there were more, they are larger."""

CELLS_ACROSS = 1.8
"""Cells that a limb's radius and half of a bone have to have: where they have fewer, cells are cut."""

MARGIN = 2
"""Links beyond such a limb that are cut, too."""

MOST_FINE = 45_000
"""Cells that are made by cutting a part; where there were more, they are larger."""

NO_BONE_INSIDE = "No bone is inside the mesh: vertices follow the nearest bones."

FADE_START, FADE_END = 0.005, 0.02
"""Weights up to the first are left out, those from the second on are kept, and those between are lowered."""


@dataclass(frozen=True)
class Level:
    """Weights in a solid, or in a part of it.

    Attributes
    ----------
    usable : int array, shape (U,)
        Bones that run through the solid.
    given : float32 array, shape (N, B)
        Shares of the nearest bones.
    weights : float32 array, shape (N, B)
    note : str
        A sentence for the user, or "".
    """

    cells: Cells
    claims: Claims
    usable: np.ndarray
    given: np.ndarray
    weights: np.ndarray
    note: str


def read_solid(
    points: np.ndarray, triangles: np.ndarray, heads: np.ndarray, tails: np.ndarray, step: float
) -> tuple[Surface, Cells, Level]:
    """Find what of a mesh is solid, cut it into cells, and make a sketch of the weights in coarser cells.

    An island with large holes is cloth; but where no bone reaches it - a skirt by itself, a trunk with no head - the
    bones are in its middle, and it is filled.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    heads, tails : float64 arrays, shape (B, 3)
        Armature space.
    step : float
        Side of a cell; larger where there would be more than `MOST_NODES`.

    Returns
    -------
    surface : Surface
    cells : Cells
    sketch : Level

    Raises
    ------
    SkinningError
        Where no bone is near.
    """
    surface = read_surface(points, triangles)
    check_faces(surface.triangles, surface.cloth)
    cells, sketch = _make_sketch(surface, heads, tails, step)
    nodes = sketch.cells.vertex_nodes
    lost = np.unique(surface.islands[(nodes < sketch.cells.count) & (np.append(sketch.claims.owner, 0)[nodes] < 0)])
    if not surface.solid[lost].all():
        holes = np.full(len(surface.solid), LARGEST_HOLE)
        holes[lost] = np.inf
        surface = read_surface(points, triangles, holes)
        cells, sketch = _make_sketch(surface, heads, tails, step)
    if not sketch.usable.size:
        raise SkinningError(describe_no_bone(len(heads)))
    return surface, cells, sketch


def describe_no_bone(count: int) -> str:
    """The message where none of `count` bones is near the mesh."""
    return (
        f"None of the {count} bones is in or near the mesh: move the armature into the mesh at rest, or choose the "
        "meshes with the bones inside"
    )


def _make_sketch(surface: Surface, heads: np.ndarray, tails: np.ndarray, step: float) -> tuple[Cells, Level]:
    cells = link_cells(surface, step)
    if cells.count > MOST_NODES:
        cells = link_cells(surface, step * (cells.count / MOST_NODES) ** (1.0 / 3.0))
    return cells, solve_heat(join_cells(cells, SKETCH_FACTOR), heads, tails)


def solve_heat(
    cells: Cells,
    heads: np.ndarray,
    tails: np.ndarray,
    coarse: Level | None = None,
    fixed: np.ndarray | None = None,
    progress: Callable[[float], None] | None = None,
) -> Level:
    """Find weights in linked cells by heat that flows through the whole solid.

    Parameters
    ----------
    heads, tails : float64 arrays, shape (B, 3)
        In the space of the cells.
    coarse : Level, optional
        Coarser cells around: about the weights, and those of `fixed` cells.
    fixed : bool array, shape (N,), optional
        Cells that keep the weights of `coarse`.
    progress : callable, optional
        Called with the share that is done.
    """
    fixed = np.zeros(cells.count, bool) if fixed is None else fixed
    seeds, bones = find_seeds(cells, heads, tails)
    usable, note = np.unique(bones), ""
    if not usable.size and not fixed.any():
        seeds, bones = find_nearby_seeds(cells, heads, tails)
        usable, note = np.unique(bones), NO_BONE_INSIDE
    guess = None if coarse is None else coarse.cells.interpolate(coarse.weights, cells.centers)
    if coarse is not None and fixed.any():
        more = find_rim_seeds(cells, fixed, coarse)
        seeds, bones = np.append(seeds, more[0]), np.append(bones, more[1])
    claims = claim_nodes(cells, seeds, bones, heads, tails)
    given = share_ties(cells, claims, usable, heads, tails)
    if guess is None:
        guess, support = given, np.ones(given.shape, bool)
    else:
        support = (guess > LEAST_INFLUENCE) | _spread_mask(cells.neighbors, given > 0)
    inside = np.append(claims.has_own_bones, False)[cells.neighbors] & claims.has_own_bones[:, None]
    conductance = inside * np.where(cells.open_links, 1.0, SKIN_CONDUCTANCE)
    solid = HeatSystem(cells.neighbors, conductance, _find_heat(cells, claims), given, fixed | ~claims.has_own_bones)
    weights = weight_clothes(cells, claims, given, solid.solve(guess, support, progress), fixed)
    return Level(cells, claims, usable, given, weights, note)


def _find_heat(cells: Cells, claims: Claims) -> np.ndarray:
    """H of each node."""
    near = np.maximum(claims.distance, LEAST_DISTANCE * cells.step)
    return HEAT * np.where(claims.owner < 0, 0.0, cells.step / near) ** 2


def find_rim_seeds(cells: Cells, rim: np.ndarray, coarse: Level) -> tuple[np.ndarray, np.ndarray]:
    """Find nodes on the rim of a part, and the nearest bone of each in the coarser cells around, as `find_seeds`.

    Parameters
    ----------
    cells : Cells
        Of the part.
    rim : bool array, shape (N,)
    coarse : Level
        Where it has no bones of its own, there is no seed.
    """
    nodes = np.flatnonzero(rim)
    around = coarse.cells.find_nodes(cells.centers[nodes])
    known = np.append(coarse.claims.has_own_bones, False)[around]
    return nodes[known], coarse.claims.owner[around[known]]


def weight_clothes(
    cells: Cells, claims: Claims, given: np.ndarray, weights: np.ndarray, fixed: np.ndarray | None = None
) -> np.ndarray:
    """Weight clothes, and what else has no bones of its own, by the weights below: float32 array, shape (N, B).

    Heat flows into them from the body and from their nearest bones, but not back: a sock joins no toes.

    Parameters
    ----------
    given : float32 array, shape (N, B)
        Shares of the nearest bones.
    weights : float32 array, shape (N, B)
        Those of nodes that have bones of their own are final.
    fixed : bool array, shape (N,), optional
        Other nodes whose weights are known.
    """
    if not claims.has_own_bones.all():
        known = claims.has_own_bones if fixed is None else claims.has_own_bones | fixed
        around = 1.0 * (cells.neighbors < cells.count)
        support = _spread_mask(cells.neighbors, (weights > LEAST_INFLUENCE) | (given > 0))
        weights = HeatSystem(cells.neighbors, around, _find_heat(cells, claims), given, known).solve(weights, support)
    lost, found = np.flatnonzero(claims.owner < 0), np.flatnonzero(claims.owner >= 0)
    if lost.size and found.size:
        weights[lost] = weights[found[find_nearest(cells.centers[lost], cells.centers[found], 1)[0][:, 0]]]
    return weights


def _spread_mask(neighbors: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """A mask, shape (N, B), and what is up to `SUPPORT_LINKS` links from it."""
    for _ in range(SUPPORT_LINKS):
        padded = np.concatenate([mask, np.zeros_like(mask[:1])])
        mask = mask.copy()
        for column in neighbors.T:
            mask |= padded[column]
    return mask


def find_fine_parts(
    level: Level, heads: np.ndarray, tails: np.ndarray, detail: int, most_cells: int = MOST_FINE, need: float = 1.0
) -> list[tuple[np.ndarray, int]]:
    """Find the parts where bones are so dense that finer cells are needed.

    Parameters
    ----------
    heads, tails : float64 arrays, shape (B, 3)
        In the space of the cells.
    detail : int
        Most finer cells along the side of a cell.
    most_cells : int
        Most finer cells in a part.
    need : float
        Finer cells along the side of a cell: parts that need no more are left as they are.

    Returns
    -------
    list of (bool array of shape (N,), int)
        The cells of each part, and into how many each is to be cut along its sides.
    """
    cells = level.cells
    needed = np.ones(cells.count + 1)
    seeds, bones = find_seeds(cells, heads, tails)
    for bone in level.usable:
        own = np.append(np.flatnonzero(level.given[:, bone]), seeds[bones == bone])
        skin = own[cells.is_skin[own]]
        radius = float(np.median(level.claims.distance[skin])) if skin.size else np.inf
        half = 0.5 * float(np.linalg.norm(tails[bone] - heads[bone])) or np.inf
        needed[own] = np.maximum(needed[own], CELLS_ACROSS * cells.step / min(radius, half))
    chosen = needed > need
    for _ in range(MARGIN):
        chosen[:-1] |= chosen[cells.neighbors].any(axis=1)
    ends = np.stack([np.repeat(np.arange(cells.count), cells.neighbors.shape[1]), cells.neighbors.ravel()], axis=1)
    parts = find_islands(ends[chosen[ends].all(axis=1)], cells.count)
    found = []
    for part in np.unique(parts[chosen[:-1]]):
        inside = chosen[:-1] & (parts == part)
        most = int((most_cells / inside.sum()) ** (1.0 / 3.0))
        factor = min(detail, int(np.ceil(needed[:-1][inside].max())), most)
        if factor > 1:
            found.append((inside, factor))
    return found


def cut_part(surface: Surface, cells: Cells, chosen: np.ndarray, factor: int) -> tuple[Cells, np.ndarray]:
    """Cut a part of a solid into finer cells.

    Parameters
    ----------
    chosen : bool array, shape (N,)
        The part.
    factor : int
        Finer cells along the side of a cell.

    Returns
    -------
    fine : Cells
    rim : bool array, shape (M,)
        Which of the finer cells are where the solid goes on beyond the part.
    """
    fine = refine_cells(surface, cells, chosen, factor)
    rim = np.zeros(fine.count, bool)
    goes_on = np.append(~chosen, False)
    for side, offset in enumerate(SIDES):
        ends = np.flatnonzero(fine.neighbors[:, side] == fine.count)
        rim[ends] |= goes_on[cells.find_nodes(fine.centers[ends] + fine.step * offset)]
    return fine, rim


def read_weights(
    points: np.ndarray,
    level: Level,
    parts: list[tuple[np.ndarray, int]],
    solve_part: Callable[[np.ndarray, int], Level],
    progress: Callable[[float], None],
) -> np.ndarray:
    """Solve in parts that are cut finely, and read the weights of all vertices from the finest cells around them.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
        The vertices, in the space of the cells.
    level : Level
        The whole solid.
    parts : list of (bool array of shape (N,), int)
        As `find_fine_parts` gives them.
    solve_part : callable
        Takes one of them and gives its level.
    progress : callable
        Called with the share that is done.

    Returns
    -------
    float32 array, shape (V, B)
    """
    weights = level.cells.read(level.weights, points)
    for number, part in enumerate(parts):
        progress(number / len(parts))
        fine = solve_part(*part)
        inside = np.flatnonzero(fine.cells.vertex_nodes < fine.cells.count)
        weights[inside] = fine.cells.read(fine.weights, points[inside], fine.cells.vertex_nodes[inside])
    progress(1.0)
    return weights


def make_solution(
    weights: np.ndarray, surface: Surface, is_loose: np.ndarray, usable: np.ndarray, note: str
) -> Solution:
    """Leave faint weights out, give vertices at one position the same weights, and say why bones have none.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
        Changed.
    is_loose : bool array, shape (V,)
        Vertices that no triangle has.
    usable : int array, shape (U,)
        Bones that run through the solid.
    note : str
        A sentence for the user, or "".
    """
    for rows in np.array_split(np.arange(len(weights)), len(weights) // CHUNK + 1):
        kept = weights[rows] * np.clip((weights[rows] - FADE_START) / (FADE_END - FADE_START), 0.0, 1.0)
        weights[rows] = kept / np.maximum(kept.sum(axis=1, keepdims=True), 1e-9)
    notes = [note] if note else []
    if is_loose.any():
        loose, held = np.flatnonzero(is_loose), np.flatnonzero(~is_loose)
        weights[loose] = weights[held[find_nearest(surface.points[loose], surface.points[held], 1)[0][:, 0]]]
        notes.append(f"Vertices without a face ({len(loose)}) follow the nearest vertices.")
    weights = weights[surface.welded]
    reasons = ["outside the mesh"] * weights.shape[1]
    for bone in usable:
        reasons[bone] = "" if weights[:, bone].any() else "other bones are closer everywhere"
    return Solution(weights, tuple(reasons), tuple(notes))
