"""Edits of weights: smooth, sharpen, normalize, limit, prune, and new weights merged into existing ones.

Weights are float32 arrays, shape (V, B). `locked` columns, bool of shape (B,), never change: the others share the rest.
Only `chosen` rows, bool of shape (V,), change; None chooses all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from ..geometry.mesh_laplacian import drop_degenerate, find_edges
from ..geometry.solid import weld
from ..geometry.vectors import list_ranges

Mode = Literal["REPLACE", "ADD", "UNWEIGHTED"]

# A vertex with a smaller sum has no weights.
MIN_SUM = 1e-4

# In mean edges: shorter edges count as this long.
MIN_EDGE = 1e-3

# Limit of most game engines
MAX_INFLUENCES = 4

# Weights to edit at a time
SLICE_VALUES = 4_000_000


@dataclass(frozen=True)
class Links:
    """Neighbors of vertices of a skin, also across seams.

    Attributes
    ----------
    welded : int array, shape (V,)
        The first vertex at the position of each; only these have links.
    targets : int array, shape (L,)
        Neighbors of the first vertex, then of the second, and so on.
    starts : int array, shape (V + 1,)
        Start of each vertex's neighbors in `targets`.
    shares : float32 array, shape (L,)
        Weight of each neighbor in the mean: inversely proportional to its distance, sum 1.
    """

    welded: np.ndarray
    targets: np.ndarray
    starts: np.ndarray
    shares: np.ndarray


def find_links(points: np.ndarray, triangles: np.ndarray) -> Links:
    """Find the neighbors of each vertex along the edges of triangles.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Any unit.
    triangles : int array, shape (T, 3)
    """
    welded = weld(np.asarray(points, np.float64))
    edges, _ = find_edges(drop_degenerate(welded[triangles]))
    lengths = np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
    closeness = 1.0 / np.maximum(lengths, MIN_EDGE * (lengths.mean() if len(lengths) else 1.0))
    sources = np.concatenate([edges[:, 0], edges[:, 1]])
    order = np.argsort(sources, kind="stable")
    closeness = np.concatenate([closeness, closeness])[order]
    sources = sources[order]
    shares = closeness / np.bincount(sources, closeness, minlength=len(points))[sources]
    return Links(
        welded,
        np.concatenate([edges[:, 1], edges[:, 0]])[order],
        np.searchsorted(sources, np.arange(len(points) + 1)),
        shares.astype(np.float32),
    )


def smooth_weights(
    weights: np.ndarray,
    links: Links,
    strength: float = 0.5,
    repeats: int = 1,
    locked: np.ndarray | None = None,
    chosen: np.ndarray | None = None,
) -> np.ndarray:
    """Mix weights with the mean of their neighbors'.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
    links : Links
        Vertices at one position get equal weights if any of them is chosen.
    strength : float
        0 changes nothing, 1 takes the mean.
    locked, chosen : bool arrays, shapes (B,) and (V,), optional

    Returns
    -------
    float32 array, shape (V, B)
        Sums of rows stay; vertices without weights do not change.

    Notes
    -----
    Vertices that are not chosen are read but not written, so weights stay continuous at the border.
    """
    result = weights.copy()
    marked = np.zeros(len(weights), bool)
    marked[links.welded[slice(None) if chosen is None else chosen]] = True
    free = _free_columns(weights, locked)
    rows = np.flatnonzero(marked & (np.diff(links.starts) > 0))
    current = _average_copies(_take(weights, np.arange(len(weights)), free), links.welded)
    rooms = _sum(current)[rows]
    for _ in range(repeats):
        following = current[rows]
        for part, mean in _neighbor_means(current, links, rows):
            mixed = following[part] + np.float32(strength) * (mean - following[part])
            following[part] = _scale_to(mixed, rooms[part], following[part])
        current[rows] = following
    copies = np.flatnonzero(marked[links.welded])
    result[np.ix_(copies, np.flatnonzero(free))] = current[links.welded[copies]]
    return result


def smooth_surface(
    weights: np.ndarray,
    points: np.ndarray,
    triangles: np.ndarray,
    strength: float,
    repeats: int,
    locked: np.ndarray,
    chosen: np.ndarray,
) -> np.ndarray:
    """`smooth_weights` along the edges of triangles, int array of shape (T, 3), between points, shape (V, 3)."""
    return smooth_weights(weights, find_links(points, triangles), strength, repeats, locked, chosen)


def _average_copies(weights: np.ndarray, welded: np.ndarray) -> np.ndarray:
    """Weights, shape (V, B), in which the first vertex at each position has the mean of those there with weights."""
    if (welded == np.arange(len(welded))).all():
        return weights
    order = np.argsort(welded, kind="stable")
    firsts, starts = np.unique(welded[order], return_index=True)
    weighted = np.bincount(welded, weights.any(axis=1), minlength=len(welded))[firsts]
    result = weights.copy()
    result[firsts] = np.add.reduceat(weights[order], starts, axis=0) / np.maximum(weighted, 1)[:, None]
    return result


def _neighbor_means(weights: np.ndarray, links: Links, rows: np.ndarray) -> Iterator[tuple[slice, np.ndarray]]:
    """Parts of `rows`, and the mean weights around them, shape (part, B)."""
    counts = np.diff(links.starts)[rows]
    ends = np.cumsum(counts)
    most = max(1, SLICE_VALUES // max(1, weights.shape[1]))
    bounds = np.unique(np.searchsorted(ends, np.arange(0, ends[-1] + most, most)) if len(ends) else [0])
    bounds = np.unique(np.append(bounds, len(rows)))
    for low, high in pairwise(bounds.tolist()):
        first = np.cumsum(counts[low:high]) - counts[low:high]
        _, entries = list_ranges(links.starts[rows[low:high]], counts[low:high])
        gathered = weights[links.targets[entries]]
        gathered *= links.shares[entries, None]
        yield slice(low, high), np.add.reduceat(gathered, first, axis=0)


def sharpen_weights(
    weights: np.ndarray, amount: float = 0.5, locked: np.ndarray | None = None, chosen: np.ndarray | None = None
) -> np.ndarray:
    """Strengthen each vertex's large weights at the cost of its small weights.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
    amount : float
        0 changes nothing; at 1 the largest weight takes all.
    locked, chosen : bool arrays, shapes (B,) and (V,), optional

    Returns
    -------
    float32 array, shape (V, B)
        Sums of rows stay.

    Notes
    -----
    Weights are raised to 1 / (1 - amount) and scaled: equal weights stay equal.
    """
    free, rows = _free_columns(weights, locked), _rows(weights, chosen)

    def sharpen(some: np.ndarray) -> np.ndarray:
        part = _take(weights, some, free)
        strongest = part.max(axis=1, keepdims=True, initial=0.0)
        ratios = np.divide(part, strongest, out=np.zeros_like(part), where=strongest > 0)
        raised = np.floor(ratios) if amount >= 1.0 else ratios ** np.float32(1.0 / (1.0 - amount))
        return _scale_to(raised, _sum(part), part)

    return _edit_rows(weights, rows, free, sharpen)


def normalize_rows(
    weights: np.ndarray, locked: np.ndarray | None = None, chosen: np.ndarray | None = None
) -> np.ndarray:
    """Scale the weights of each vertex to a sum of 1; negative weights count as 0.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
    locked, chosen : bool arrays, shapes (B,) and (V,), optional

    Returns
    -------
    float32 array, shape (V, B)
        If locked columns sum to more than 1, the others become 0. A vertex without weights to scale does not change.
    """
    free, rows = _free_columns(weights, locked), _rows(weights, chosen)

    def normalize(some: np.ndarray) -> np.ndarray:
        part = np.maximum(_take(weights, some, free), 0.0)
        return _scale_to(part, _rooms(weights, some, free), part)

    return _edit_rows(weights, rows, free, normalize)


def limit_influences(
    weights: np.ndarray, count: int, locked: np.ndarray | None = None, chosen: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Keep the largest weights of each vertex, scaled to the sum of all its weights.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
    count : int
        At least 1. Locked weights count and stay: if there are this many, all others are removed, and the sum falls.
    locked, chosen : bool arrays, shapes (B,) and (V,), optional

    Returns
    -------
    weights : float32 array, shape (V, B)
        Of equal weights, those of the first columns stay.
    loss : float32 array, shape (V,)
        Removed share of each vertex's weight, before the rest was scaled.
    """
    free, rows = _free_columns(weights, locked), _rows(weights, chosen)
    loss = np.zeros(len(weights), np.float32)

    def limit(some: np.ndarray) -> np.ndarray:
        part = _take(weights, some, free)
        fixed = _take(weights, some, ~free)
        limited = _keep_strongest(part, np.maximum(count - np.count_nonzero(fixed > 0, axis=1), 0))
        before = _sum(part)
        totals = before + _sum(fixed)
        loss[some] = np.divide(before - _sum(limited), totals, out=np.zeros_like(totals), where=totals > 0)
        return _scale_to(limited, before, limited)

    return _edit_rows(weights, rows, free, limit), loss


def stiffen_weights(
    weights: np.ndarray, islands: np.ndarray, locked: np.ndarray | None = None, chosen: np.ndarray | None = None
) -> np.ndarray:
    """Give all vertices of an island the mean of their weights, so that it moves rigidly.

    Parameters
    ----------
    weights : float32 array, shape (V, B)
    islands : int array, shape (V,)
        The island of each vertex.
    locked, chosen : bool arrays, shapes (B,) and (V,), optional

    Returns
    -------
    float32 array, shape (V, B)
        Rows sum to 1, or stay 0 in an island without weights. If no vertex had more than `MAX_INFLUENCES`, none has.
    """
    free, rows = _free_columns(weights, locked), _rows(weights, chosen)
    labels = np.unique(islands[rows], return_inverse=True)[1].ravel()
    before = normalize_rows(weights, chosen=chosen)[rows]
    sums = np.zeros((labels.max(initial=-1) + 1, weights.shape[1]))
    np.add.at(sums, labels, before)
    means = (sums / np.maximum(np.bincount(labels), 1)[:, None]).astype(np.float32)
    result = weights.copy()
    result[np.ix_(rows, np.flatnonzero(free))] = means[:, free][labels]
    if np.count_nonzero(weights > 0, axis=1).max(initial=0) <= MAX_INFLUENCES:
        result = limit_influences(result, MAX_INFLUENCES, locked, chosen)[0]
    return normalize_rows(result, locked, chosen)


def _keep_strongest(weights: np.ndarray, allowed: np.ndarray) -> np.ndarray:
    """Weights, shape (N, B), with at most `allowed`, shape (N,), per row, and 0 for the others."""
    kept = weights > 0
    for number in np.unique(allowed):
        many = np.flatnonzero((allowed == number) & (np.count_nonzero(kept, axis=1) > number))
        order = np.argsort(-weights[many], axis=1, kind="stable")[:, :number]
        kept[many] = False
        kept[many[:, None], order] = True
    return np.where(kept, weights, np.float32(0.0))


def prune_weights(
    weights: np.ndarray, threshold: float, locked: np.ndarray | None = None, chosen: np.ndarray | None = None
) -> np.ndarray:
    """Remove weights below a threshold, and scale the others to the sum of all: float32 array, (V, B).

    Parameters
    ----------
    weights : float32 array, shape (V, B)
    threshold : float
        A vertex's largest weight that is not locked stays, however small.
    locked, chosen : bool arrays, shapes (B,) and (V,), optional
    """
    free, rows = _free_columns(weights, locked), _rows(weights, chosen)

    def prune(some: np.ndarray) -> np.ndarray:
        part = _take(weights, some, free)
        kept = (part >= threshold) | (part >= part.max(axis=1, keepdims=True, initial=0.0))
        return _scale_to(np.where(kept, part, np.float32(0.0)), _sum(part), part)

    return _edit_rows(weights, rows, free, prune)


def merge_weights(
    existing: np.ndarray,
    found: np.ndarray,
    mode: Mode = "REPLACE",
    columns: np.ndarray | None = None,
    locked: np.ndarray | None = None,
    chosen: np.ndarray | None = None,
) -> np.ndarray:
    """Merge new weights into existing weights.

    Parameters
    ----------
    existing, found : float32 arrays, shape (V, B)
        A vertex without found weights does not change.
    mode : str
        "REPLACE": the written columns take the found weights, up to the rest of locked columns, and the others are
        scaled to the remainder; if these are 0, the written columns take it all. "ADD": found weights are added to the
        written columns, and all columns that are not locked are scaled. "UNWEIGHTED": "REPLACE" for vertices without
        weights.
    columns : bool array, shape (B,), optional
        Bones that are written; all by default.
    locked, chosen : bool arrays, shapes (B,) and (V,), optional

    Returns
    -------
    float32 array, shape (V, B)
        Written rows sum to 1.
    """
    free, rows = _free_columns(existing, locked), _rows(existing, chosen)
    rows = rows[_sum(found)[rows] > MIN_SUM]
    if mode == "UNWEIGHTED":
        rows = rows[find_bare(existing)[rows]]
    elif mode not in ("REPLACE", "ADD"):
        raise ValueError(f"{mode} is not a mode: use REPLACE, ADD or UNWEIGHTED")
    written = (np.ones(len(free), bool) if columns is None else columns)[free]

    def merge(some: np.ndarray) -> np.ndarray:
        rooms = _rooms(existing, some, free)
        before = _take(existing, some, free)
        mixed = np.where(written, _take(found, some, free), np.float32(0.0))
        if mode == "ADD":
            mixed += before
        elif not written.all():
            mixed = _scale_to(mixed, np.minimum(_sum(mixed), rooms), mixed)
            rest = np.where(written, np.float32(0.0), before)
            mixed += _scale_to(rest, rooms - _sum(mixed), rest)
        return _scale_to(mixed, rooms, before)

    return _edit_rows(existing, rows, free, merge)


def _free_columns(weights: np.ndarray, locked: np.ndarray | None) -> np.ndarray:
    return np.ones(weights.shape[1], bool) if locked is None else ~locked


def _rows(weights: np.ndarray, chosen: np.ndarray | None) -> np.ndarray:
    return np.arange(len(weights)) if chosen is None else np.flatnonzero(chosen)


def _take(weights: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """A copy of some rows and columns, in one step: all weights may be some 100 MB."""
    return weights[rows] if columns.all() else weights[np.ix_(rows, np.flatnonzero(columns))]


def _rooms(weights: np.ndarray, rows: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Remainder to a sum of 1 without locked columns, shape (rows,)."""
    return np.maximum(1.0 - _sum(_take(weights, rows, ~free)), 0.0)


def find_bare(weights: np.ndarray) -> np.ndarray:
    """Whether each vertex has no weights, of weights of shape (V, B): bool array, shape (V,)."""
    return _sum(weights) < MIN_SUM


def _sum(weights: np.ndarray) -> np.ndarray:
    return weights.sum(axis=1, dtype=np.float64)


def _scale_to(weights: np.ndarray, sums: np.ndarray, otherwise: np.ndarray) -> np.ndarray:
    """Rows scaled to these sums; rows of `otherwise` if they are zero."""
    now = _sum(weights)
    some = now > np.finfo(np.float32).tiny
    factors = np.divide(sums, now, out=np.zeros(len(now)), where=some).astype(np.float32)
    return np.where(some[:, None], weights * factors[:, None], otherwise)


def _edit_rows(
    weights: np.ndarray, rows: np.ndarray, free: np.ndarray, edit: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """A copy with the free columns of some rows replaced by the result of `edit`, part by part."""
    result = weights.copy()
    for some in np.array_split(rows, 1 + rows.size * weights.shape[1] // SLICE_VALUES):
        result[some[:, None], np.flatnonzero(free)] = edit(some)
    return result
