"""Centers of rotation as a function of weights, from the surfaces of all meshes of an armature (Le & Hodgins 2016).

The center of a vertex is the mean of the surface with similar weights. Between two joints it depends on two weights
only. So it is a table for each pair of joints: the surface is binned by the pair's weights, and its bins are blurred by
the similarity of weights. A vertex reads its pairs' tables. All meshes share the tables, so that clothes rotate about
the centers of the body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np

from ..geometry.solid import area_vectors, sum_at_vertices, weld
from ..geometry.vectors import list_ranges, sum_by
from ..rig.rest import Weights, normalize_weights
from ..rig.surfaces import WeightedSurface

# Along each of two weights: centers are off by at most 1 % of a limb's radius.
BINS = 33

# Steps of smoothing along the surface: painted weights are rough, and centers would be.
SMOOTHING_STEPS = 8

# More than any number of joints
NAME_BASE = 1 << 20


@dataclass(frozen=True)
class Pairs:
    """Pairs of joints that influence one vertex.

    Attributes
    ----------
    vertices : int array, shape (N,)
    names : int64 array, shape (N,)
        first * `NAME_BASE` + second joint, first < second.
    first, second : float arrays, shape (N,)
        Weights.
    """

    vertices: np.ndarray
    names: np.ndarray
    first: np.ndarray
    second: np.ndarray


@dataclass(frozen=True)
class CenterTable:
    """Tables of pairs of joints.

    Attributes
    ----------
    names : int64 array, shape (P,)
        Ascending, as in `Pairs`.
    sums : float32 array, shape (4, P, C)
        For each bin of weights: integrals of positions from `origin`, and of area, blurred by the similarity of
        weights.
    origin : float64 array, shape (3,)
    fade : float
        Similarity at which half of a center is its vertex.
    """

    names: np.ndarray
    sums: np.ndarray
    origin: np.ndarray
    fade: float


def find_centers(surface: WeightedSurface, surfaces: tuple[WeightedSurface, ...], joint_count: int) -> np.ndarray:
    """Find the center of rotation of each vertex of a surface.

    `surfaces`: all that follow the joints, including this one, in any order. Returns a float64 array, shape (V, 3):
    Armature space; the vertex itself if it follows one joint.

    Notes
    -----
    Le & Hodgins 2016, eq 1 and 4. Deviations: weights are smoothed first, because those of real characters are rough;
    the integral is a sum over vertices with their areas, by bins of weights, and one for all meshes.
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
    """Pairs of joints that influence the welded vertices of a surface, by smoothed weights; index of each vertex's
    weld.
    """
    if "pairs" not in surface.known:
        welded = np.unique(weld(surface.points), return_inverse=True)[1].reshape(-1)
        surface.known["pairs"] = _list_pairs(_smooth(surface, welded, joint_count)), welded
    return surface.known["pairs"]


def _weld_mean(values: np.ndarray, welded: np.ndarray) -> np.ndarray:
    """Mean over the copies of each welded vertex, shape (W, 3)."""
    counts = np.bincount(welded)
    return sum_by(welded, values, len(counts)) / counts[:, None]


def _smooth(surface: WeightedSurface, welded: np.ndarray, joint_count: int) -> Weights:
    """Normalized weights of the welded vertices, smoothed along the surface, ordered by vertex and joint."""
    count = int(welded.max(initial=-1)) + 1
    starts, neighbors = _find_neighbors(welded[surface.triangles], count)
    weights = normalize_weights(surface.weights, len(welded), joint_count)
    copies = np.bincount(welded, minlength=count)
    order = np.argsort(weights.joints, kind="stable")
    joints, firsts = np.unique(weights.joints[order], return_index=True)
    found = [(np.empty(0, np.intp), np.empty(0, np.intp), np.empty(0))]
    min_share = 1e-3
    for joint, own in zip(joints.tolist(), np.split(order, firsts[1:]), strict=True):
        if joint < joint_count:
            values = np.bincount(welded[weights.vertices[own]], weights.values[own], minlength=count) / copies
            reached, values = _smooth_values(values, starts, neighbors)
            kept = values > min_share
            found.append((reached[kept], np.full(int(kept.sum()), joint), values[kept]))
    return Weights(*(np.concatenate(arrays) for arrays in zip(*found, strict=True))).by_vertex()


def _find_neighbors(triangles: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Neighbors of each vertex along edges, one vertex after the other, and the start of each list, (count + 1,)."""
    sides = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    sides = np.concatenate([sides, sides[:, ::-1]])
    keys = np.unique(sides[:, 0].astype(np.int64) * count + sides[:, 1])
    rows, neighbors = np.divmod(keys, max(count, 1))
    apart = rows != neighbors
    return np.searchsorted(rows[apart], np.arange(count + 1)), neighbors[apart]


def _smooth_values(values: np.ndarray, starts: np.ndarray, neighbors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Smooth values (V,): in each of `SMOOTHING_STEPS` steps they move half the way to their neighbors' mean.

    Returns
    -------
    reached : int array, shape (N,)
        Vertices whose values may differ from 0.
    values : float array, shape (N,)
    """
    place = np.full(len(values), -1)
    reached = front = np.flatnonzero(values)
    place[reached] = np.arange(len(reached))
    for _ in range(SMOOTHING_STEPS):
        around = neighbors[list_ranges(starts[front], starts[front + 1] - starts[front])[1]]
        front = np.unique(around[place[around] < 0])
        place[front] = np.arange(len(reached), len(reached) + len(front))
        reached = np.concatenate([reached, front])
    counts = starts[reached + 1] - starts[reached]
    rows, entries = list_ranges(starts[reached], counts)
    columns = place[neighbors[entries]]
    inside = columns >= 0  # all others are 0
    rows, columns = rows[inside], columns[inside]
    halves = 0.5 / np.maximum(counts, 1)
    own = np.where(counts > 0, 0.5, 1.0)
    smoothed = values[reached]
    for _ in range(SMOOTHING_STEPS):
        smoothed = own * smoothed + halves * np.bincount(rows, smoothed[columns], minlength=len(reached))
    return reached, smoothed


def _list_pairs(weights: Weights) -> Pairs:
    """All pairs of entries of each vertex; `weights` are ordered by vertex and joint."""
    slots = np.arange(len(weights.vertices)) - np.searchsorted(weights.vertices, weights.vertices)
    parts = [(np.empty(0, np.intp), np.empty(0, np.intp))]
    for distance in range(1, int(slots.max(initial=0)) + 1):
        second = np.flatnonzero(slots >= distance)
        parts.append((second - distance, second))
    first, second = (np.concatenate(entries) for entries in zip(*parts, strict=True))
    names = weights.joints[first].astype(np.int64) * NAME_BASE + weights.joints[second]
    return Pairs(weights.vertices[first], names, weights.values[first], weights.values[second])


def _find_table(surfaces: tuple[WeightedSurface, ...], joint_count: int) -> CenterTable:
    """The table of some surfaces, made once for all of them."""
    key = frozenset(surfaces)
    of, table = surfaces[0].known.get("table", (None, None))
    if of != key or table is None:
        table = _make_table(surfaces, joint_count)
        for surface in surfaces:
            surface.known["table"] = key, table
    return table


def _make_table(surfaces: tuple[WeightedSurface, ...], joint_count: int) -> CenterTable:
    """The tables of all pairs of joints that the surfaces follow."""
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
    sums = (bins.reshape(-1, BINS_OF_PAIRS) @ _similarity()).reshape(bins.shape)
    # A center is half its vertex at this share of the largest similarity: a mean of little area is uncertain.
    fade_similarity = 1e-6
    return CenterTable(names, sums, origin, max(fade_similarity * float(sums[3].max(initial=0.0)), 1e-30))


def _bin_surface(surface: WeightedSurface, joint_count: int) -> tuple[np.ndarray, np.ndarray]:
    """A surface in bins of the weights of each pair of joints.

    Returns
    -------
    names : int64 array, shape (P,)
    sums : float64 array, shape (4, P, C)
        Integrals of the product of both weights times position, and of that product.
    """
    if "bins" not in surface.known:
        pairs, welded = find_pairs(surface, joint_count)
        areas, places = _find_areas(surface, welded), _weld_mean(surface.points, welded)
        names = np.unique(pairs.names)
        surface.known["bins"] = names, _bin_pairs(pairs, names, areas, places)
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
    """Each welded vertex's third of the areas of its triangles; equal areas without triangles, (W,)."""
    count = int(welded.max(initial=-1)) + 1
    areas = np.linalg.norm(area_vectors(surface.points, surface.triangles), axis=1) / 3.0
    sums = sum_at_vertices(areas, welded[surface.triangles], count)
    return sums if sums.any() else np.ones(count)


@cache
def _cells() -> tuple[np.ndarray, np.ndarray]:
    """Number of each bin of two weights, (BINS, BINS), -1 if they sum to more than 1; their weights, (C, 2)."""
    first, second = np.meshgrid(np.arange(BINS), np.arange(BINS), indexing="ij")
    inside = first + second <= BINS + 1
    numbers = np.full((BINS, BINS), -1)
    numbers[inside] = np.arange(int(inside.sum()))
    return numbers, np.stack([first[inside], second[inside]], axis=1) / (BINS - 1.0)


# C: bins of two weights that sum to at most 1, with the bins around them
BINS_OF_PAIRS = len(_cells()[1])


@cache
def _similarity() -> np.ndarray:
    """Similarity of two pairs of weights, shape (C, C), float32 (eq 5)."""
    first, second = _cells()[1].T
    apart = np.outer(first, second) - np.outer(second, first)
    similarity_sigma = 0.1  # Sigma of the similarity of weights (Le & Hodgins, eq 5)
    return np.exp(-np.square(apart / similarity_sigma)).astype(np.float32)


def _corners(first: np.ndarray, second: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """The four bins around two weights, and the share of each: int and float arrays, shape (N,)."""
    numbers, _ = _cells()
    places = np.clip(np.stack([first, second]), 0.0, 1.0) * (BINS - 1)
    low = np.minimum(places.astype(np.intp), BINS - 2)
    high = places - low
    for step in ((0, 0), (0, 1), (1, 0), (1, 1)):
        sides = [share if taken else 1.0 - share for taken, share in zip(step, high, strict=True)]
        yield numbers[low[0] + step[0], low[1] + step[1]], sides[0] * sides[1]
