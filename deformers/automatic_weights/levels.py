"""Weights in the cells of a solid, level by level, for all methods that fill a solid.

`read_solid` cuts a mesh into cells and makes a sketch of the weights. A method solves in these cells, and again in each
of `find_fine_parts`, refined by `cut_part`. `weight_clothes` weights parts without bones, `make_solution` cleans up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.mesh_laplacian import check_faces
from ..geometry.neighbors import find_nearest
from ..geometry.solid import MAX_HOLE, Surface, find_islands, read_surface
from ..geometry.solid_cells import READ_CHUNK, SIDES, Cells, join_cells, link_cells, refine_cells
from .bone_claims import Claims, claim_nodes, find_nearby_seeds, find_seeds, share_ties
from .heat_system import HeatSystem
from .method import Solution

# A bone with this weight may have influence on the next, finer level.
MIN_INFLUENCE = 5e-4

# A bone may have influence within as many links from its nodes.
SUPPORT_LINKS = 3

# A solid that needs more cells has larger ones.
MAX_NODES = 60_000

# A refined part that needs more cells has larger ones.
MAX_FINE_CELLS = 45_000

NO_BONE_INSIDE = "No bone is inside the mesh: vertices follow the nearest bones."


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
    """Find the solid of a mesh, cut it into cells, and make a sketch of the weights in coarser cells.

    An island with large holes is cloth. But if no bone reaches it, such as a skirt by itself or a trunk without a head,
    the bones are in its middle, and it is filled. Raises SkinningError if no bone is near.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    heads, tails : float64 arrays, shape (B, 3)
        Armature space.
    step : float
        Side of a cell; larger if there would be more than `MAX_NODES`.
    """
    surface = read_surface(points, triangles)
    check_faces(surface.triangles, surface.cloth)
    cells, sketch = _make_sketch(surface, heads, tails, step)
    nodes = sketch.cells.vertex_nodes
    lost = np.unique(surface.islands[(nodes < sketch.cells.count) & (np.append(sketch.claims.owner, 0)[nodes] < 0)])
    if not surface.solid[lost].all():
        holes = np.full(len(surface.solid), MAX_HOLE)
        holes[lost] = np.inf
        surface = read_surface(points, triangles, holes)
        cells, sketch = _make_sketch(surface, heads, tails, step)
    if not sketch.usable.size:
        raise SkinningError(describe_no_bone(len(heads)))
    return surface, cells, sketch


def describe_no_bone(count: int) -> str:
    """The message if none of `count` bones is near the mesh."""
    return (
        f"None of the {count} bones is in or near the mesh: move the armature into the mesh at rest, or choose the "
        "meshes with the bones inside"
    )


def _make_sketch(surface: Surface, heads: np.ndarray, tails: np.ndarray, step: float) -> tuple[Cells, Level]:
    cells = link_cells(surface, step)
    if cells.count > MAX_NODES:
        cells = link_cells(surface, step * (cells.count / MAX_NODES) ** (1.0 / 3.0))
    sketch_factor = 3  # Ratio of the sketch's cells and the others
    return cells, solve_heat(join_cells(cells, sketch_factor), heads, tails)


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
        Coarser cells around: a guess of the weights, and those of `fixed` cells.
    fixed : bool array, shape (N,), optional
        Cells that keep the weights of `coarse`.
    progress : callable, optional
        Called with the finished share.
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
        support = (guess > MIN_INFLUENCE) | _spread_mask(cells.neighbors, given > 0)
    inside = np.append(claims.has_own_bones, False)[cells.neighbors] & claims.has_own_bones[:, None]
    # Skin between two parts with bones conducts little heat: overlapping parts keep their own bones.
    skin_conductance = 0.005
    conductance = inside * np.where(cells.open_links, 1.0, skin_conductance)
    solid = HeatSystem(cells.neighbors, conductance, _find_heat(cells, claims), given, fixed | ~claims.has_own_bones)
    weights = weight_clothes(cells, claims, given, solid.solve(guess, support, progress), fixed)
    return Level(cells, claims, usable, given, weights, note)


def _find_heat(cells: Cells, claims: Claims) -> np.ndarray:
    """H of each node."""
    min_distance = 0.5  # In cells
    near = np.maximum(claims.distance, min_distance * cells.step)
    # c in H = c / d^2: more keeps the skin closer to its nearest bone. 1 to 2 fits the weights of artists best.
    heat = 1.5
    return heat * np.where(claims.owner < 0, 0.0, cells.step / near) ** 2


def find_rim_seeds(cells: Cells, rim: np.ndarray, coarse: Level) -> tuple[np.ndarray, np.ndarray]:
    """Find nodes on the rim of a part, and the nearest bone of each in the coarser cells around, as `find_seeds`.

    Parameters
    ----------
    cells : Cells
        Of the part.
    rim : bool array, shape (N,)
    coarse : Level
        Cells without bones of their own give no seed.
    """
    nodes = np.flatnonzero(rim)
    around = coarse.cells.find_nodes(cells.centers[nodes])
    known = np.append(coarse.claims.has_own_bones, False)[around]
    return nodes[known], coarse.claims.owner[around[known]]


def weight_clothes(
    cells: Cells, claims: Claims, given: np.ndarray, weights: np.ndarray, fixed: np.ndarray | None = None
) -> np.ndarray:
    """Weight clothes, and other parts without bones, by the weights below: float32 array, shape (N, B).

    Heat flows into them from the body and from their nearest bones, but not back: a sock does not join toes.

    Parameters
    ----------
    given : float32 array, shape (N, B)
        Shares of the nearest bones.
    weights : float32 array, shape (N, B)
        Final for nodes with bones of their own.
    fixed : bool array, shape (N,), optional
        Other nodes with known weights.
    """
    if not claims.has_own_bones.all():
        known = claims.has_own_bones if fixed is None else claims.has_own_bones | fixed
        around = 1.0 * (cells.neighbors < cells.count)
        support = _spread_mask(cells.neighbors, (weights > MIN_INFLUENCE) | (given > 0))
        weights = HeatSystem(cells.neighbors, around, _find_heat(cells, claims), given, known).solve(weights, support)
    lost, found = np.flatnonzero(claims.owner < 0), np.flatnonzero(claims.owner >= 0)
    if lost.size and found.size:
        weights[lost] = weights[found[find_nearest(cells.centers[lost], cells.centers[found], 1)[0][:, 0]]]
    return weights


def _spread_mask(neighbors: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Extend a mask, shape (N, B), by up to `SUPPORT_LINKS` links."""
    for _ in range(SUPPORT_LINKS):
        padded = np.concatenate([mask, np.zeros_like(mask[:1])])
        mask = mask.copy()
        for column in neighbors.T:
            mask |= padded[column]
    return mask


def find_fine_parts(
    level: Level, heads: np.ndarray, tails: np.ndarray, detail: int, most_cells: int = MAX_FINE_CELLS, need: float = 1.0
) -> list[tuple[np.ndarray, int]]:
    """Find the parts with dense bones, which need finer cells.

    Parameters
    ----------
    heads, tails : float64 arrays, shape (B, 3)
        In the space of the cells.
    detail : int
        Maximum number of finer cells along the side of a cell.
    most_cells : int
        Maximum number of finer cells in a part.
    need : float
        Parts that need no more finer cells along the side of a cell are not refined.

    Returns
    -------
    list of (bool array of shape (N,), int)
        The cells of each part, and the number of finer cells along the side of a cell.
    """
    cells = level.cells
    needed = np.ones(cells.count + 1)
    seeds, bones = find_seeds(cells, heads, tails)
    cells_across = 1.8  # Needed cells in a limb's radius and in half of a bone
    for bone in level.usable:
        own = np.append(np.flatnonzero(level.given[:, bone]), seeds[bones == bone])
        skin = own[cells.is_skin[own]]
        radius = float(np.median(level.claims.distance[skin])) if skin.size else np.inf
        half = 0.5 * float(np.linalg.norm(tails[bone] - heads[bone])) or np.inf
        needed[own] = np.maximum(needed[own], cells_across * cells.step / min(radius, half))
    chosen = needed > need
    fine_margin = 2  # Links beyond such a limb that are also refined
    for _ in range(fine_margin):
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
    """Refine a part of a solid.

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
        Finer cells at the border to the rest of the solid.
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
    """Solve in refined parts, and read the weights of all vertices from the finest cells around them.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
        The vertices, in the space of the cells.
    level : Level
        The whole solid.
    parts : list of (bool array of shape (N,), int)
        From `find_fine_parts`.
    solve_part : callable
        From a part to its level.
    progress : callable
        Called with the finished share.

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
    """Leave out small weights, give vertices at one position equal weights, and explain bones without weights.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
        Changed.
    is_loose : bool array, shape (V,)
        Vertices without triangles.
    usable : int array, shape (U,)
        Bones that run through the solid.
    note : str
        A sentence for the user, or "".
    """
    weight_ramp = 0.005, 0.02  # Smaller weights are left out, larger ones are kept, and those in between are reduced.
    low, high = weight_ramp
    for rows in np.array_split(np.arange(len(weights)), len(weights) // READ_CHUNK + 1):
        kept = weights[rows] * np.clip((weights[rows] - low) / (high - low), 0.0, 1.0)
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
