"""Centers of rotation as a function of weights, from the surfaces of all meshes of an armature (Le & Hodgins 2016).

The center of a vertex is the mean of the surface where the weights are like its own. Between two joints that depends
on two weights only. So it is a table for each pair of joints: the surface is binned by the pair's weights, and its
bins are blurred by the similarity of weights. A vertex reads its pairs' tables. As all meshes share the tables,
clothes rotate about the centers of the body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache

import numpy as np

from ..geometry.solid import area_vectors, sum_at_vertices, weld
from ..rig.rest import Weights, normalize_weights
from ..rig.surfaces import WeightedSurface

WIDTH = 0.1
"""Sigma of the similarity of weights (Le & Hodgins, eq 5)."""

BINS = 33
"""Along each of two weights. Centers are off by at most 1 % of a limb's radius."""

STEPS = 8
"""Weights are smoothed by so many steps along the surface: those that were painted are rough, and centers would be."""

LEAST_SHARE = 1e-3
"""Weights below count as none where the surface is averaged."""

NAMED = 1 << 20
"""More than joints: names of pairs stay where a rig gets others, as what is known of a mesh does."""

FADE = 1e-6
"""Share of the largest similarity at which half of a center is its vertex: where little is alike, there is no mean."""


@dataclass(frozen=True)
class Pairs:
    """Pairs of joints that vertices follow both.

    Attributes
    ----------
    vertices : int array, shape (N,)
    names : int64 array, shape (N,)
        first * `NAMED` + second joint, first < second.
    first, second : float arrays, shape (N,)
        Weights.
    """

    vertices: np.ndarray
    names: np.ndarray
    first: np.ndarray
    second: np.ndarray

    def only(self, chosen: np.ndarray) -> Pairs:
        """Some of the pairs, bool array (N,)."""
        return Pairs(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True)
class CenterTable:
    """Tables of pairs of joints.

    Attributes
    ----------
    names : int64 array, shape (P,)
        Ascending, as in `Pairs`.
    bins : float32 array, shape (4, P, C)
        For each cell of weights: the integrals of place from `origin`, and of area.
    sums : float32 array, shape (4, P, C)
        The same, blurred by the similarity of weights.
    origin : float64 array, shape (3,)
    fade : float
        Similarity at which half of a center is its vertex.
    """

    names: np.ndarray
    bins: np.ndarray
    sums: np.ndarray
    origin: np.ndarray
    fade: float


def find_centers(surface: WeightedSurface, surfaces: tuple[WeightedSurface, ...], joint_count: int) -> np.ndarray:
    """The center of rotation of each vertex of a surface.

    Parameters
    ----------
    surfaces : tuple of WeightedSurface
        All that follow the joints, with this one, in any order.

    Returns
    -------
    float64 array, shape (V, 3)
        Armature space; the vertex itself where one joint rules.

    Notes
    -----
    Le & Hodgins 2016, eq 1 and 4. Deviations: weights are smoothed first, as those of real characters are rough; the
    integral is a sum over vertices with their areas, by bins of weights; one for all meshes.
    """
    if not len(surface.points):
        return surface.points
    pairs, welded = find_pairs(surface, joint_count)
    table = _find_table(surfaces, joint_count)
    points = _weld_mean(surface.points, welded)
    row = np.searchsorted(table.names, pairs.names) * BINS_OF_PAIRS
    of_pairs = np.zeros((4, len(row)))
    for cells, shares in _corners(pairs.first, pairs.second):
        of_pairs += shares * np.take(table.sums.reshape(4, -1), row + cells, axis=1)
    of_pairs *= pairs.first * pairs.second
    sums = np.stack([np.bincount(pairs.vertices, values, minlength=len(points)) for values in of_pairs])
    places = (sums[:3].T + table.fade * (points - table.origin)) / (sums[3] + table.fade)[:, None]
    return (places + table.origin)[welded]


def find_pairs(surface: WeightedSurface, joint_count: int) -> tuple[Pairs, np.ndarray]:
    """Pairs of joints that the welded vertices of a surface follow by smoothed weights; index of each vertex's weld."""
    if "pairs" not in surface.known:
        weights = _smooth(surface, joint_count)
        surface.known["pairs"] = _list_pairs(weights), surface.known["topology"][0]
    return surface.known["pairs"]


def _weld_mean(values: np.ndarray, welded: np.ndarray) -> np.ndarray:
    """Mean over the copies of each welded vertex, shape (W, 3)."""
    counts = np.bincount(welded)
    return np.stack([np.bincount(welded, column) for column in values.T], axis=1) / counts[:, None]


def _smooth(surface: WeightedSurface, joint_count: int) -> Weights:
    """Normalized weights of the welded vertices, smoothed along the surface, ordered by vertex and joint.

    A joint whose weights are those of the former surface has its smoothed ones, too: one stroke changes few.
    """
    former = surface.known["former"].known if "former" in surface.known else {}
    welded, starts, neighbors = surface.known["topology"] = former.get("topology") or _find_topology(surface)
    count = int(welded.max(initial=-1)) + 1
    weights = normalize_weights(surface.weights, len(welded), joint_count)
    copies = np.bincount(welded, minlength=count)
    order = np.argsort(weights.joints, kind="stable")
    joints, firsts = np.unique(weights.joints[order], return_index=True)
    before, smoothed, changed = former.get("smoothed", {}), {}, set()
    for joint, own in zip(joints.tolist(), np.split(order, firsts[1:]), strict=True):
        if joint >= joint_count:
            continue
        given = weights.vertices[own], weights.values[own]
        if joint in before and all(map(np.array_equal, before[joint][0], given)):
            smoothed[joint] = before[joint]
            continue
        values = np.bincount(welded[given[0]], given[1], minlength=count) / copies
        reached, values = _smooth_values(values, starts, neighbors)
        kept = values > LEAST_SHARE
        smoothed[joint] = given, (reached[kept], np.full(int(kept.sum()), joint), values[kept])
        changed.add(joint)
    surface.known["smoothed"], surface.known["changed"] = smoothed, changed | (before.keys() - smoothed.keys())
    empty = (np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))
    found = [entries for _, entries in smoothed.values()]
    return Weights(*(np.concatenate(arrays) for arrays in zip(empty, *found, strict=True))).by_vertex()


def _find_topology(surface: WeightedSurface) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Index of each vertex's weld, and the neighbors of the welded vertices: see `_find_neighbors`."""
    welded = np.unique(weld(surface.points), return_inverse=True)[1].reshape(-1)
    return welded, *_find_neighbors(welded[surface.triangles], int(welded.max(initial=-1)) + 1)


def _find_neighbors(triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of each vertex along edges, one vertex after the other, and where those of each begin, (count + 1,)."""
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    sides = np.concatenate([sides, sides[:, ::-1]])
    keys = np.unique(sides[:, 0].astype(np.int64) * count + sides[:, 1])
    rows, neighbors = np.divmod(keys, max(count, 1))
    apart = rows != neighbors
    return np.searchsorted(rows[apart], np.arange(count + 1)), neighbors[apart]


def _smooth_values(values: np.ndarray, starts: np.ndarray, neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Values (V,) after `STEPS` steps, in each of which they move half the way to their neighbors' mean.

    Returns
    -------
    reached : int array, shape (N,)
        Vertices at which they may be other than 0.
    values : float array, shape (N,)
    """
    place = np.full(len(values), -1)
    reached = front = np.flatnonzero(values)
    place[reached] = np.arange(len(reached))
    for _ in range(STEPS):
        around = neighbors[_ranges(starts[front], starts[front + 1])]
        front = np.unique(around[place[around] < 0])
        place[front] = np.arange(len(reached), len(reached) + len(front))
        reached = np.concatenate([reached, front])
    firsts, lasts = starts[reached], starts[reached + 1]
    columns = place[neighbors[_ranges(firsts, lasts)]]
    rows = np.repeat(np.arange(len(reached)), lasts - firsts)
    inside = columns >= 0  # beyond what is reached all is 0
    rows, columns = rows[inside], columns[inside]
    halves = 0.5 / np.maximum(lasts - firsts, 1)
    own = np.where(lasts > firsts, 0.5, 1.0)
    smoothed = values[reached]
    for _ in range(STEPS):
        smoothed = own * smoothed + halves * np.bincount(rows, smoothed[columns], minlength=len(reached))
    return reached, smoothed


def _ranges(firsts: np.ndarray, lasts: np.ndarray) -> np.ndarray:
    """Whole numbers from each first to before each last, one range after the other."""
    lengths = lasts - firsts
    return np.repeat(firsts - (np.cumsum(lengths) - lengths), lengths) + np.arange(int(lengths.sum()))


def _list_pairs(weights: Weights) -> Pairs:
    """All pairs of entries that a vertex has; `weights` are ordered by vertex and joint."""
    slots = np.arange(len(weights.vertices)) - np.searchsorted(weights.vertices, weights.vertices)
    parts = [(np.empty(0, np.intp), np.empty(0, np.intp))]
    for distance in range(1, int(slots.max(initial=0)) + 1):
        second = np.flatnonzero(slots >= distance)
        parts.append((second - distance, second))
    first, second = (np.concatenate(entries) for entries in zip(*parts, strict=True))
    names = weights.joints[first].astype(np.int64) * NAMED + weights.joints[second]
    return Pairs(weights.vertices[first], names, weights.values[first], weights.values[second])


def _find_table(surfaces: tuple[WeightedSurface, ...], joint_count: int) -> CenterTable:
    """The table of some surfaces, made once for all of them."""
    key = frozenset(surfaces)
    of, table = surfaces[0].known.get("table", (None, None))
    if of != key or table is None:
        table = _make_table(surfaces, joint_count, _find_former_table(surfaces))
        for surface in surfaces:
            surface.known["table"] = key, table
    return table


def _find_former_table(surfaces: tuple[WeightedSurface, ...]) -> CenterTable | None:
    """A table of these surfaces, or of those that they follow on, as they were before."""
    for surface in surfaces:
        former = surface.known.get("former")
        for known in (surface.known, former.known if former is not None else {}):
            if "table" in known:
                return known["table"][1]
    return None


def _make_table(
    surfaces: tuple[WeightedSurface, ...], joint_count: int, former: CenterTable | None = None
) -> CenterTable:
    """The tables of all pairs of joints that the surfaces follow; those of a former table where nothing is other."""
    binned = [_bin_surface(surface, joint_count) for surface in surfaces]
    names = np.unique(np.concatenate([own for own, _ in binned]))
    points = np.concatenate([surface.points for surface in surfaces])
    origin = 0.5 * (points.min(axis=0) + points.max(axis=0))
    bins = np.zeros((4, len(names), BINS_OF_PAIRS), np.float32)
    for own, sums in binned:
        rows = np.searchsorted(names, own)
        for column in range(3):  # single precision is fine near the middle
            bins[column, rows] += sums[column] - origin[column] * sums[3]
        bins[3, rows] += sums[3]
    sums, left = np.zeros_like(bins), np.ones(len(names), bool)
    if former is not None and np.array_equal(former.origin, origin):
        rows = np.flatnonzero(np.isin(names, former.names))
        known = np.searchsorted(former.names, names[rows])
        same = (former.bins[:, known] == bins[:, rows]).all(axis=(0, 2))
        sums[:, rows[same]], left[rows[same]] = former.sums[:, known[same]], False
    blurred = bins[:, left].reshape(-1, BINS_OF_PAIRS) @ _similarity()
    sums[:, left] = blurred.reshape(4, -1, BINS_OF_PAIRS)
    return CenterTable(names, bins, sums, origin, max(FADE * float(sums[3].max(initial=0.0)), 1e-30))


def _bin_surface(surface: WeightedSurface, joint_count: int) -> tuple[np.ndarray, np.ndarray]:
    """A surface in bins of the weights of each pair of joints.

    Returns
    -------
    names : int64 array, shape (P,)
    sums : float64 array, shape (4, P, C)
        Integrals of the product of both weights times place, and of that product.
    """
    if "bins" not in surface.known:
        pairs, welded = find_pairs(surface, joint_count)
        areas, places = _find_areas(surface, welded), _weld_mean(surface.points, welded)
        names = np.unique(pairs.names)
        sums, is_left = np.zeros((4, len(names), BINS_OF_PAIRS)), np.ones(len(names), bool)
        former = surface.known.pop("former").known.get("bins") if "former" in surface.known else None
        if former is not None:
            is_left = np.isin(np.stack(np.divmod(names, NAMED)), list(surface.known["changed"])).any(axis=0)
            sums[:, ~is_left] = former[1][:, np.searchsorted(former[0], names[~is_left])]
        left = names[is_left]
        sums[:, is_left] = _bin_pairs(pairs.only(np.isin(pairs.names, left)), left, areas, places)
        surface.known["bins"] = names, sums
    return surface.known["bins"]


def _bin_pairs(pairs: Pairs, names: np.ndarray, areas: np.ndarray, places: np.ndarray) -> np.ndarray:
    """The sums of `_bin_surface` over pairs of these names, of welded vertices with areas (W,) and places (W, 3)."""
    areas, places = areas[pairs.vertices] * pairs.first * pairs.second, places[pairs.vertices]
    rows, sums = np.searchsorted(names, pairs.names), np.zeros((4, len(names) * BINS_OF_PAIRS))
    for cells, shares in _corners(pairs.first, pairs.second):
        keys, masses = rows * BINS_OF_PAIRS + cells, shares * areas
        for column, values in enumerate((*places.T, 1.0)):
            sums[column] += np.bincount(keys, masses * values, minlength=sums.shape[1])
    return sums.reshape(4, len(names), BINS_OF_PAIRS)


def _find_areas(surface: WeightedSurface, welded: np.ndarray) -> np.ndarray:
    """Each welded vertex's third of the areas of its triangles; all alike where there is none, (W,)."""
    count = int(welded.max(initial=-1)) + 1
    areas = np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1) / 3.0
    sums = sum_at_vertices(areas, welded[surface.triangles], count)
    return sums if sums.any() else np.ones(count)


@cache
def _cells() -> tuple[np.ndarray, np.ndarray]:
    """Number of each cell of two weights, (BINS, BINS), -1 where they sum to more than 1; their weights, (C, 2)."""
    first, second = np.meshgrid(np.arange(BINS), np.arange(BINS), indexing="ij")
    inside = first + second <= BINS + 1
    numbers = np.full((BINS, BINS), -1)
    numbers[inside] = np.arange(int(inside.sum()))
    return numbers, np.stack([first[inside], second[inside]], axis=1) / (BINS - 1.0)


BINS_OF_PAIRS = len(_cells()[1])
"""C: bins of two weights that sum to 1 at most, with those around them."""


@cache
def _similarity() -> np.ndarray:
    """How alike two pairs of weights are, shape (C, C), float32 (eq 5)."""
    first, second = _cells()[1].T
    apart = np.outer(first, second) - np.outer(second, first)
    return np.exp(-np.square(apart / WIDTH)).astype(np.float32)


def _corners(first: np.ndarray, second: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The four cells around two weights, and the share of each: int and float arrays, shape (N,)."""
    numbers, _ = _cells()
    places = np.clip(np.stack([first, second]), 0.0, 1.0) * (BINS - 1)
    low = np.minimum(places.astype(np.intp), BINS - 2)
    high = places - low
    for step in ((0, 0), (0, 1), (1, 0), (1, 1)):
        sides = [share if taken else 1.0 - share for taken, share in zip(step, high, strict=True)]
        yield numbers[low[0] + step[0], low[1] + step[1]], sides[0] * sides[1]
