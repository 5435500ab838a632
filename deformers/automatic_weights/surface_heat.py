"""Automatic weights on the surface: heat from the bones that each vertex sees (Baran & Popovic 2007)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..algebra.nested_dissection import factorize
from ..errors import SkinningError
from ..geometry.mesh_laplacian import check_faces, drop_degenerate, make_laplacian
from ..geometry.solid import area_vectors, find_crossed, find_islands, read_surface, weld
from ..geometry.vectors import sum_by
from .method import Solution, WeightMethod

# Vertices at a time
SLICE = 16_384

# Whether a surface crosses segments, from starts to ends of shapes (N, 3): bool, shape (N,).
CrossingTest = Callable[[np.ndarray, np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Params:
    """Flow of heat.

    Attributes
    ----------
    heat : float
        c in H = c / d^2: more keeps vertices closer to their nearest bone. Baran & Popovic have 1 (with areas of
        another definition); about 4 agrees best with artists, and with Blender.
    inward : bool
        Bones on the inner side of a vertex count as nearer than those on its outer side.
    least : float
        Weights below are 0.
    """

    heat: float = 4.0
    inward: bool = True
    least: float = 1e-3


INFO = WeightMethod(
    "SURFACE",
    "Surface Heat",
    "Heat spreads over the skin from the bones visible to it: for one clean, closed mesh",
    words=("surface",),
    params=Params,
    casts_rays=True,
)


@dataclass(frozen=True)
class Sources:
    """Bones that heat vertices.

    Attributes
    ----------
    distances : float64 array, shape (V,)
        To the nearest visible bone; infinite without one.
    vertices, bones : int arrays, shape (S,)
        Pairs of a vertex and a bone that heats it.
    shares : float64 array, shape (S,)
        1 divided by the number of bones that heat the vertex.
    """

    distances: np.ndarray
    vertices: np.ndarray
    bones: np.ndarray
    shares: np.ndarray


def solve(
    points: np.ndarray,
    triangles: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    params: Params | None = None,
    progress: Callable[[float], None] | None = None,
    make_crossing_test: Callable[[np.ndarray, np.ndarray], CrossingTest] | None = None,
    fallback: np.ndarray | None = None,
) -> Solution:
    """Weights from heat that flows from the bones over the surface, at rest.

    Raises SkinningError without bones or triangles, or if coordinates are not finite.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Armature space, any unit.
    triangles : int array, shape (T, 3)
    heads, tails : float arrays, shape (B, 3)
        Armature space. A bone without length is a point.
    progress : callable, optional
        Called with the finished share; its exceptions cancel.
    make_crossing_test : callable, optional
        From points (P, 3) and triangles (N, 3) to their `CrossingTest`. By default NumPy tests, up to 10 times slower.
    fallback : float32 array, shape (V, B), optional
        Weights for islands of which no vertex sees a bone.

    Returns
    -------
    Solution
        Vertices at one position have equal weights.

    Notes
    -----
    (L + A H) w = A H p (Baran & Popovic 2007, section 4), for all bones at once: L the cotangent Laplacian, A the areas
    of the vertices, H = c / d^2 with d the distance to the nearest visible bone, p 1 for that bone.
    Deviations:

    - without a visible bone H is 0, and heat comes from the neighbors alone
    - d is divided by (1 + cosine) / 2 of the angle between the inward normal and the direction to the bone, as in
      Blender: a thigh also sees the other leg's bone, but outward
    - only its own island hides bones from a vertex: a skirt sees the bones in the legs, teeth see the jaw
    - an island that sees no bone takes other weights, and is reported
    """
    _check(points, triangles, heads, tails)
    params = params or Params()
    report = progress or (lambda share: None)
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    size = float(np.ptp(points, axis=0).max()) or float(np.abs(tails - heads).max()) or 1.0
    firsts, merged = np.unique(weld(points), return_inverse=True)
    merged = merged.ravel()
    nodes = (points[firsts] - middle) / size
    corners = drop_degenerate(merged[triangles])
    check_faces(corners)
    islands = find_islands(np.concatenate([corners[:, :2], corners[:, 1:]]), len(nodes))

    sources = find_sources(
        nodes,
        (heads - middle) / size,
        (tails - middle) / size,
        find_inward(nodes, corners, islands) if params.inward else None,
        _Sight(nodes, corners, islands, make_crossing_test or _make_crossing_test),
        lambda share: report(0.7 * share),
    )
    seeing = np.zeros(islands.max() + 1, bool)
    seeing[islands[sources.vertices]] = True
    blind = ~seeing[islands]
    weights = _settle(nodes, corners, sources, blind, len(heads), params, lambda share: report(0.7 + 0.3 * share))
    if fallback is not None:
        weights[blind] = fallback[firsts[blind]]
    reasons = _explain(weights, sources)
    if len(firsts) != len(points):
        weights = weights[merged]
    report(1.0)
    return Solution(weights, reasons, _note(int((~seeing).sum()), int(blind[merged].sum()), fallback is not None))


def _check(points: np.ndarray, triangles: np.ndarray, heads: np.ndarray, tails: np.ndarray) -> None:
    if not len(triangles):
        raise SkinningError("The mesh has no faces for heat to flow over: choose a mesh that has faces")
    if not len(heads):
        raise SkinningError("No bone deforms: turn on Deform for some of the armature's bones")
    if (wrong := int((~np.isfinite(points)).any(axis=1).sum())) > 0:
        raise SkinningError(f"{wrong} vertices have positions that are not numbers: delete them")
    if not (np.isfinite(heads).all() and np.isfinite(tails).all()):
        raise SkinningError("Some bones have positions that are not numbers: delete these bones")


def _make_crossing_test(points: np.ndarray, triangles: np.ndarray) -> CrossingTest:
    surface = replace(read_surface(points, triangles), triangles=triangles)  # what holds nothing hides too
    return lambda starts, ends: find_crossed(surface, starts, ends)


class _Sight:
    """Visibility from vertices past their own islands."""

    def __init__(
        self,
        points: np.ndarray,
        triangles: np.ndarray,
        islands: np.ndarray,
        make_crossing_test: Callable[[np.ndarray, np.ndarray], CrossingTest],
    ) -> None:
        self._points, self._islands = points, islands
        owner = islands[triangles[:, 0]]
        order = np.argsort(owner, kind="stable")
        numbers, starts = np.unique(owner[order], return_index=True)
        self._tests: dict[int, CrossingTest] = {}
        for number, part in zip(numbers.tolist(), np.split(triangles[order], starts[1:]), strict=True):
            used, corners = np.unique(part, return_inverse=True)
            self._tests[number] = make_crossing_test(points[used], corners.reshape(-1, 3))

    def find_seeing(self, vertices: np.ndarray, targets: np.ndarray) -> np.ndarray:
        """Vertices of `vertices`, shape (N,), that see their targets, shape (N, 3)."""
        offsets = targets - self._points[vertices]
        # Parts of a ray that do not count, near the vertex's own triangles and near the bone, which may lie on the
        # skin
        ray_start, ray_end = 1e-3, 1e-2
        starts, ends = self._points[vertices] + ray_start * offsets, targets - ray_end * offsets
        owner = self._islands[vertices]
        order = np.argsort(owner, kind="stable")
        numbers, bounds = np.unique(owner[order], return_index=True)
        hidden = np.zeros(len(vertices), bool)
        for number, rays in zip(numbers.tolist(), np.split(order, bounds[1:]), strict=True):
            if number in self._tests:
                hidden[rays] = self._tests[number](starts[rays], ends[rays])
        return vertices[~hidden]


def find_inward(points: np.ndarray, triangles: np.ndarray, islands: np.ndarray) -> np.ndarray:
    """Normals of vertices, shape (V, 3), into their island; 0 if an island has no inner side.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
    islands : int array, shape (V,)
        The island of each vertex.
    """
    normals = area_vectors(points, triangles)
    owner = islands[triangles[:, 0]]
    count = int(islands.max()) + 1
    middles = sum_by(islands, points, count) / np.bincount(islands)[:, None]
    volumes = np.einsum("ti,ti->t", points[triangles[:, 0]] - middles[owner], normals) / 3.0
    volumes = np.bincount(owner, volumes, minlength=count)
    areas = np.bincount(owner, np.linalg.norm(normals, axis=1), minlength=count)
    openings = np.linalg.norm(sum_by(owner, normals, count), axis=1)  # a closed surface's normals cancel out
    min_volume = 1e-3  # Volume of an island with an inner side, for an area of 1. A ball has 0.094.
    # An island with an inner side may be open to one side by this share of its area: a cap or a card exceeds it.
    max_opening = 0.15
    closed = (openings <= max_opening * areas) & (np.abs(volumes) > min_volume * areas**1.5)
    signs = np.where(closed, -np.sign(volumes), 0.0)
    sums = sum_by(triangles.ravel(), np.repeat(normals * signs[owner][:, None], 3, axis=0), len(points))
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    return np.divide(sums, lengths, out=np.zeros_like(sums), where=lengths > 0)


def find_sources(
    points: np.ndarray,
    heads: np.ndarray,
    tails: np.ndarray,
    inward: np.ndarray | None,
    sight: _Sight,
    progress: Callable[[float], None],
) -> Sources:
    """Find the nearest bones that each vertex sees.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
    heads, tails : float64 arrays, shape (B, 3)
    inward : float64 array, shape (V, 3), or None
        Normals; bones on the outer side count as farther.
    progress : callable
        Called with the finished share.

    Notes
    -----
    Bones are tried in the order of their distance, so that most vertices cast one ray.
    """
    best = np.full(len(points), np.inf)
    found = [np.empty((2, 0), np.intp)]
    max_tie = 1e-3  # Relative difference of distances up to which bones share the heat
    for start in range(0, len(points), SLICE):
        part = slice(start, start + SLICE)
        bones, distances, feet = _rank_bones(points[part], heads, tails, None if inward is None else inward[part])
        own = best[part]  # a view: what is found is kept
        for rank in range(bones.shape[1]):
            asking = np.flatnonzero(distances[:, rank] <= own * (1.0 + max_tie))
            if not len(asking):
                break
            seen = sight.find_seeing(start + asking, feet[asking, rank]) - start
            own[seen] = np.minimum(own[seen], distances[seen, rank])
            found.append(np.stack([seen + start, bones[seen, rank]]))
        progress(min(1.0, (start + SLICE) / len(points)))
    vertices, numbers = np.concatenate(found, axis=1)
    return Sources(best, vertices, numbers, 1.0 / np.bincount(vertices, minlength=1)[vertices])


def _rank_bones(
    points: np.ndarray, heads: np.ndarray, tails: np.ndarray, inward: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The nearest bones of each point, nearest first, shape (V, N), their distances, and the nearest points on them.

    Bones on the outer side have longer distances.
    """
    axes = tails - heads
    min_distance = 1e-6  # From a bone, in sizes of the surface: limits the heat of a vertex on a bone
    squares = np.maximum(np.einsum("bi,bi->b", axes, axes), min_distance**2)
    along = points @ axes.T - np.einsum("bi,bi->b", heads, axes)
    shares = np.clip(along / squares, 0.0, 1.0)
    distances = np.einsum("vi,vi->v", points, points)[:, None] - 2.0 * (points @ heads.T)
    distances += np.einsum("bi,bi->b", heads, heads)
    distances -= shares * (2.0 * along - shares * squares)
    distances = np.sqrt(np.maximum(distances, min_distance**2))
    min_facing = 5e-4  # A bone right behind a vertex counts as 2000 times farther, not as infinitely far.
    if inward is not None:
        toward = inward @ heads.T - np.einsum("vi,vi->v", inward, points)[:, None] + shares * (inward @ axes.T)
        cosines = np.where(inward.any(axis=1, keepdims=True), toward / distances, 1.0)
        distances /= np.maximum(0.5 * (cosines + 1.0), min_facing)
    # Nearest bones to try for each vertex; a vertex that sees none of them is heated by its neighbors.
    candidates = 8
    count = min(candidates, len(heads))
    bones = np.argpartition(distances, count - 1, axis=1)[:, :count]
    near = np.take_along_axis(distances, bones, axis=1)
    order = np.lexsort((bones, near))
    bones = np.take_along_axis(bones, order, axis=1)
    feet = heads[bones] + np.take_along_axis(shares, bones, axis=1)[..., None] * axes[bones]
    return bones, np.take_along_axis(near, order, axis=1), feet


def _settle(
    points: np.ndarray,
    triangles: np.ndarray,
    sources: Sources,
    blind: np.ndarray,
    bone_count: int,
    params: Params,
    progress: Callable[[float], None],
) -> np.ndarray:
    """Solve for all bones: float32, shape (V, B), rows that sum to 1, or to 0 for `blind` vertices."""
    laplacian = make_laplacian(points, triangles)
    heat = params.heat * laplacian.areas / sources.distances**2
    diagonal = laplacian.diagonal + np.where(blind, 1.0, heat)
    factor = factorize(
        points,
        laplacian.edges,
        -laplacian.strengths,
        diagonal,
        precision=np.float32,
        progress=lambda share: progress(0.4 * share),
    )
    weights = np.empty((len(points), bone_count), np.float32)
    max_values = 8_000_000  # Unknowns to solve at a time
    step = max(1, max_values // len(points))
    for first in range(0, bone_count, step):
        last = min(first + step, bone_count)
        given = np.zeros((len(points), last - first), np.float32)
        chosen = (sources.bones >= first) & (sources.bones < last)
        vertices = sources.vertices[chosen]
        given[vertices, sources.bones[chosen] - first] = sources.shares[chosen] * heat[vertices]
        weights[:, first:last] = factor.solve(given)
        progress(0.4 + 0.6 * last / bone_count)
    return _prune(weights, params.least)


def _prune(weights: np.ndarray, least: float) -> np.ndarray:
    strongest = weights.max(axis=1, keepdims=True)
    weights[(weights < least) & (weights < strongest)] = 0.0
    totals = weights.sum(axis=1, dtype=np.float64, keepdims=True)
    weights /= np.where(totals > 0, totals, 1.0).astype(np.float32)
    return weights


def _explain(weights: np.ndarray, sources: Sources) -> tuple[str, ...]:
    heated = np.bincount(sources.bones, minlength=weights.shape[1]) > 0
    words = {True: "its heat is too weak", False: "another bone is closer everywhere, or the skin hides it"}
    return tuple(
        "" if some else words[heat] for some, heat in zip(weights.max(axis=0) > 0, heated.tolist(), strict=True)
    )


def _note(islands: int, vertices: int, filled: bool) -> tuple[str, ...]:
    if not islands:
        return ()
    which = (
        f"{islands} island{'s' if islands > 1 else ''} ({vertices} vertices) see{'' if islands > 1 else 's'} no bone"
    )
    return (f"{which}: " + ("weighted by Solid Heat" if filled else "not weighted, try Solid Heat"),)
