"""Automatic weights by heat that flows from the bones through the whole solid: they never fail."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..errors import SkinningError
from ..geometry.neighbors import find_nearest
from ..geometry.solid import LARGEST_HOLE, Surface, find_islands, read_surface
from ..geometry.solid_cells import CHUNK, SIDES, Cells, join_cells, link_cells, refine_cells
from .bone_claims import Claims, claim_nodes, find_nearby_seeds, find_seeds, share_ties
from .heat_system import HeatSystem
from .solution import Solution

HEAT = 1.5
"""c in H = c / d^2: the more, the closer the skin keeps to its nearest bone. Between 1 and 2, the weights of five
characters come nearest to those that artists gave them."""

BARRIER = 0.005
"""How well skin between two parts that both have bones conducts heat: parts that overlap keep their own."""

NEAREST = 0.5
"""Lengths of a cell up to which a bone counts as so near."""

FELT = 5e-4
"""Weight from which on a bone is looked for on the next, finer level."""

SPREAD = 3
"""Links from its nodes to which a bone is looked for in any case."""

SKETCH = 3
"""Times the side of a cell with which a sketch of the weights is found: it tells which bones can matter where."""

MOST_NODES = 60_000
"""Cells of a solid that is so bulky that larger ones do."""

FINE = 1.8
"""Cells that a limb's radius and half of a bone have to have: where they have fewer, cells are cut."""

MARGIN = 2
"""Links beyond such a limb that are cut, too."""

MOST_FINE = 45_000
"""Cells that are made by cutting a part; where there were more, they are larger."""

NO_BONE_INSIDE = "No bone is inside the mesh: each place follows the bones beside it."

FAINT, CLEAR = 0.005, 0.02
"""Weights up to the first are left out, those from the second on are kept, and those between are lowered."""


@dataclass(frozen=True)
class Params:
    """How finely the solid is cut.

    Attributes
    ----------
    resolution : int
        Cells along the longest side of the mesh.
    detail : int
        Cells along the side of a cell where bones are dense, as in hands and faces; 1: nowhere.
    """

    resolution: int = 96
    detail: int = 5


@dataclass(frozen=True)
class Level:
    """Weights in a solid, or in a part of it.

    Attributes
    ----------
    cells : Cells
    claims : Claims
    usable : int array
        Bones that run through the solid.
    given : float32 array, shape (N, B)
        Shares of the nearest bones.
    weights : float32 array, shape (N, B)
    note : str
        What is to be told of it, or "".
    """

    cells: Cells
    claims: Claims
    usable: np.ndarray
    given: np.ndarray
    weights: np.ndarray
    note: str


def solve(
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    params: Params | None = None,
    progress: Callable[[float], None] | None = None,
) -> Solution:
    """Weights of all bones for all vertices.

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
    Baran & Popovic 2007 let heat flow over the surface: it needs to be connected and closed, and vertices that see a
    bone. Here all parts are one solid of cells, and the nearest bone is the nearest on the way through it.
    """
    params, tell = params or Params(), progress or (lambda _share: None)
    points, heads, tails = (np.asarray(values, np.float64) for values in (points, heads, tails))
    surface, level = _solve_whole(points, triangles, heads, tails, params, lambda share: tell(0.6 * share))
    weights = level.cells.read(level.weights, points)
    parts = find_fine_parts(level, heads, tails, params.detail)
    for number, (chosen, factor) in enumerate(parts):
        tell(0.6 + 0.4 * number / len(parts))
        fine = _solve_part(surface, level, chosen, factor, heads, tails)
        inside = np.flatnonzero(fine.cells.vertex_nodes < fine.cells.count)
        weights[inside] = fine.cells.read(fine.weights, points[inside], fine.cells.vertex_nodes[inside])
    tell(1.0)
    return finish(weights, surface, level.cells.vertex_nodes == level.cells.count, level.usable, level.note)


def _solve_whole(
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    params: Params,
    tell: Callable[[float], None],
) -> tuple[Surface, Level]:
    """The mesh as a solid, and weights in all of it; see `solve`."""
    step = check_shape(points, triangles) / params.resolution
    surface, cells, sketch = read_solid(points, triangles, heads, tails, step)
    tell(0.5)
    return surface, _solve_level(cells, heads, tails, sketch, progress=lambda share: tell(0.5 + 0.5 * share))


def check_shape(points: np.ndarray, triangles: np.ndarray) -> float:
    """The longest side of the mesh; raises SkinningError where it can hold nothing."""
    if not len(triangles):
        raise SkinningError("The mesh has no faces: automatic weights need a surface, choose a mesh that has faces")
    size = float(np.ptp(points[triangles].reshape(-1, 3), axis=0).max())
    if not np.isfinite(size):
        raise SkinningError("Some vertices have positions that are not numbers: repair the mesh first")
    if not size > 0.0:
        raise SkinningError("All vertices are at one place: choose a mesh that has a size")
    return size


def read_solid(
    points: np.ndarray, triangles: np.ndarray, heads: np.ndarray, tails: np.ndarray, step: float
) -> tuple[Surface, Cells, Level]:
    """What of the mesh is solid, its cells, of side `step` or larger, and a sketch of the weights in coarser ones.

    An island with large holes is cloth; but where no bone reaches it - a skirt by itself, a trunk with no head - the
    bones are in its middle, and it is filled.

    Raises
    ------
    SkinningError
        Where no bone is near.
    """
    surface = read_surface(points, triangles)
    cells, sketch = _sketch(surface, heads, tails, step)
    nodes = sketch.cells.vertex_nodes
    lost = np.unique(surface.islands[(nodes < sketch.cells.count) & (np.append(sketch.claims.owner, 0)[nodes] < 0)])
    if not surface.solid[lost].all():
        holes = np.full(len(surface.solid), LARGEST_HOLE)
        holes[lost] = np.inf
        surface = read_surface(points, triangles, holes)
        cells, sketch = _sketch(surface, heads, tails, step)
    if not sketch.usable.size:
        raise SkinningError(tell_no_bone(len(heads)))
    return surface, cells, sketch


def tell_no_bone(count: int) -> str:
    """What to do where no bone is near."""
    return (
        f"None of the {count} bones is in the mesh or near it: move the armature into the mesh at rest, or choose the "
        "meshes that the bones are in"
    )


def _sketch(surface: Surface, heads: np.ndarray, tails: np.ndarray, step: float) -> tuple[Cells, Level]:
    cells = link_cells(surface, step)
    if cells.count > MOST_NODES:
        cells = link_cells(surface, step * (cells.count / MOST_NODES) ** (1.0 / 3.0))
    return cells, _solve_level(join_cells(cells, SKETCH), heads, tails)


def _solve_level(
    cells: Cells,
    heads: np.ndarray,
    tails: np.ndarray,
    coarse: Level | None = None,
    fixed: np.ndarray | None = None,
    progress: Callable[[float], None] | None = None,
) -> Level:
    """Weights in linked cells; `coarse` tells what they are about, and what they are in cells that are `fixed`."""
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
        support = (guess > FELT) | _spread_mask(cells.neighbors, given > 0)
    in_body = np.append(claims.is_body, False)[cells.neighbors] & claims.is_body[:, None]
    conductance = in_body * np.where(cells.open_links, 1.0, BARRIER)
    body = HeatSystem(cells.neighbors, conductance, _find_heat(cells, claims), given, fixed | ~claims.is_body)
    weights = dress(cells, claims, given, body.solve(guess, support, progress), fixed)
    return Level(cells, claims, usable, given, weights, note)


def _find_heat(cells: Cells, claims: Claims) -> np.ndarray:
    """H of each node."""
    near = np.maximum(claims.distance, NEAREST * cells.step)
    return HEAT * np.where(claims.owner < 0, 0.0, cells.step / near) ** 2


def find_rim_seeds(cells: Cells, rim: np.ndarray, coarse: Level) -> tuple[np.ndarray, np.ndarray]:
    """As `find_seeds`: nodes on the rim of a part, and the bones that they have in the rest, where that is a body."""
    nodes = np.flatnonzero(rim)
    around = coarse.cells.find_nodes(cells.centers[nodes])
    known = np.append(coarse.claims.is_body, False)[around]
    return nodes[known], coarse.claims.owner[around[known]]


def dress(
    cells: Cells, claims: Claims, given: np.ndarray, weights: np.ndarray, fixed: np.ndarray | None = None
) -> np.ndarray:
    """Weights, float32 of shape (N, B), of a body, and of what is around it: clothes follow the skin below them.

    They feel the body's heat and their bones', and it feels none of theirs: a sock joins no toes.

    Parameters
    ----------
    cells : Cells
    claims : Claims
    given : float32 array, shape (N, B)
        Shares of the nearest bones.
    weights : float32 array, shape (N, B)
        Of the nodes that are a body.
    fixed : bool array, shape (N,), optional
        Other nodes whose weights are known.
    """
    if not claims.is_body.all():
        known = claims.is_body if fixed is None else claims.is_body | fixed
        around = 1.0 * (cells.neighbors < cells.count)
        support = _spread_mask(cells.neighbors, (weights > FELT) | (given > 0))
        weights = HeatSystem(cells.neighbors, around, _find_heat(cells, claims), given, known).solve(weights, support)
    lost, found = np.flatnonzero(claims.owner < 0), np.flatnonzero(claims.owner >= 0)
    if lost.size and found.size:
        weights[lost] = weights[found[find_nearest(cells.centers[lost], cells.centers[found], 1)[0][:, 0]]]
    return weights


def _spread_mask(neighbors: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """A mask, shape (N, B), and what is up to `SPREAD` links from it."""
    for _ in range(SPREAD):
        padded = np.concatenate([mask, np.zeros_like(mask[:1])])
        mask = mask.copy()
        for column in neighbors.T:
            mask |= padded[column]
    return mask


def find_fine_parts(
    level: Level, heads: np.ndarray, tails: np.ndarray, detail: int, most_cells: int = MOST_FINE, need: float = 1.0
) -> list[tuple[np.ndarray, int]]:
    """Parts, as bool arrays of shape (N,), that are to be cut into finer cells, and into how many along each side.

    Those count that need more than `need` cells along a cell's side, of at most `detail` and in all `most_cells`.
    """
    cells = level.cells
    needed = np.ones(cells.count + 1)
    seeds, bones = find_seeds(cells, heads, tails)
    for bone in level.usable:
        own = np.append(np.flatnonzero(level.given[:, bone]), seeds[bones == bone])
        skin = own[cells.is_skin[own]]
        radius = float(np.median(level.claims.distance[skin])) if skin.size else np.inf
        half = 0.5 * float(np.linalg.norm(tails[bone] - heads[bone])) or np.inf
        needed[own] = np.maximum(needed[own], FINE * cells.step / min(radius, half))
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
    """A part, bool array of shape (N,), cut finely, and which of its nodes are on the rim where the rest goes on."""
    fine = refine_cells(surface, cells, chosen, factor)
    rim = np.zeros(fine.count, bool)
    goes_on = np.append(~chosen, False)
    for side, way in enumerate(SIDES):
        ends = np.flatnonzero(fine.neighbors[:, side] == fine.count)
        rim[ends] |= goes_on[cells.find_nodes(fine.centers[ends] + fine.step * way)]
    return fine, rim


def _solve_part(
    surface: Surface, level: Level, chosen: np.ndarray, factor: int, heads: np.ndarray, tails: np.ndarray
) -> Level:
    """Weights in a part that is cut finely; on the rim they are as in the rest."""
    cells, rim = cut_part(surface, level.cells, chosen, factor)
    felt = np.any(level.weights[chosen] > FELT, axis=0)
    felt[find_seeds(cells, heads, tails)[1]] = True
    owner = np.where(np.append(felt, False)[level.claims.owner], (np.cumsum(felt) - 1)[level.claims.owner], -1)
    claims = replace(level.claims, owner=owner, is_body=level.claims.is_body & (owner >= 0))
    part = replace(level, claims=claims, weights=level.weights[:, felt], given=level.given[:, felt])
    fine = _solve_level(cells, heads[felt], tails[felt], part, rim)
    weights = np.zeros((cells.count, len(heads)), np.float32)
    weights[:, felt] = fine.weights
    return replace(fine, weights=weights)


def finish(weights: np.ndarray, surface: Surface, is_loose: np.ndarray, usable: np.ndarray, note: str) -> Solution:
    """Leave faint weights out, give vertices at one place the same, and tell what there is to tell."""
    for rows in np.array_split(np.arange(len(weights)), len(weights) // CHUNK + 1):
        some = weights[rows] * np.clip((weights[rows] - FAINT) / (CLEAR - FAINT), 0.0, 1.0)
        weights[rows] = some / np.maximum(some.sum(axis=1, keepdims=True), 1e-9)
    notes = [note] if note else []
    if is_loose.any():
        loose, held = np.flatnonzero(is_loose), np.flatnonzero(~is_loose)
        weights[loose] = weights[held[find_nearest(surface.points[loose], surface.points[held], 1)[0][:, 0]]]
        notes.append(f"Vertices that are in no face, {len(loose)}, follow the nearest ones.")
    weights = weights[surface.welded]
    reasons = ["outside of the mesh"] * weights.shape[1]
    for bone in usable:
        reasons[bone] = "" if weights[:, bone].any() else "other bones are nearer everywhere"
    return Solution(weights, tuple(reasons), tuple(notes))
