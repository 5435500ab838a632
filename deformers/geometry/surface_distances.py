"""Distances along a surface from lines on it, and values carried along the shortest paths."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .vectors import list_ranges, measure_lengths


@dataclass(frozen=True)
class Distances:
    """Distances of vertices from lines, and the last edge that each shortest path crosses.

    Attributes
    ----------
    values : float64 array, shape (V,)
        In units of the points; infinite beyond the reach.
    segments : int array, shape (V,)
        The nearest segment for a vertex next to a line, -1 for all others.
    shares : float64 array, shape (V,)
        Position on that segment: 0 at its start, 1 at its end.
    edges : int array, shape (V, 2)
        Vertices of the edge that the path crosses; undefined for vertices next to a line or out of reach.
    blends : float64 array, shape (V,)
        Position on that edge: 0 at its first vertex, 1 at its second.
    """

    values: np.ndarray
    segments: np.ndarray
    shares: np.ndarray
    edges: np.ndarray
    blends: np.ndarray

    @property
    def is_reached(self) -> np.ndarray:
        """Whether each vertex is within reach, bool, shape (V,)."""
        return np.isfinite(self.values)


def march_distances(
    points: np.ndarray, triangles: np.ndarray, segment_points: np.ndarray, segment_triangles: np.ndarray, reach: float
) -> Distances:
    """Measure distances of vertices from lines along the surface.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    segment_points : float array, shape (S, 2, 3)
        Start and end of each segment of the lines.
    segment_triangles : int array, shape (S,)
        The triangle of each segment.
    reach : float
        Largest distance to measure, in units of the points.

    Notes
    -----
    Kimmel & Sethian 1998, "Computing geodesic paths on manifolds": the distance of a vertex is the smallest that a
    straight front through the opposite edge of one of its triangles gives. The paper visits vertices in order of
    distance; here all triangles at the front are updated together until no distance shrinks, without a loop over
    vertices. Obtuse angles are not split: paths there are up to some percent too long.
    """
    count = len(points)
    values, blends = np.full(count, np.inf), np.zeros(count)
    edges = np.zeros((count, 2), np.intp)
    segments, shares = _start_beside(points, triangles, segment_points, segment_triangles, values)
    corners = np.concatenate([triangles, np.roll(triangles, -1, axis=1), np.roll(triangles, -2, axis=1)])
    flat = _flatten(points, corners)
    usable = np.flatnonzero(flat[2] > 0)
    corners, flat = corners[usable], flat[:, usable]
    next_triangles, firsts = _list_next_triangles(corners, count)
    changed = np.flatnonzero(np.isfinite(values))
    max_rounds = 2000  # Each round advances the front by about one edge, and corrects distances found before.
    min_improvement = 1e-9  # A path replaces another if it is shorter by this share of the reach.
    for _ in range(max_rounds):
        if not changed.size:
            break
        active = next_triangles[list_ranges(firsts[changed], firsts[changed + 1] - firsts[changed])[1]]
        ends, tip = corners[active, :2], corners[active, 2]
        paths, blend = _cross_edge(values[ends], flat[:, active])
        shorter = (paths < values[tip] - min_improvement * reach) & (paths <= reach)
        paths, blend, ends, tip = paths[shorter], blend[shorter], ends[shorter], tip[shorter]
        np.minimum.at(values, tip, paths)
        best = paths == values[tip]
        edges[tip[best]], blends[tip[best]], segments[tip[best]] = ends[best], blend[best], -1
        changed = np.unique(tip)
    return Distances(values, segments, shares, edges, blends)


def _list_next_triangles(corners: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """For each vertex the triangles, of corners (N, 3), whose first edge contains it; and the start of its list."""
    ends = corners[:, :2].T.ravel()
    order = np.argsort(ends, kind="stable")
    return order % len(corners), np.searchsorted(ends[order], np.arange(count + 1))


def _start_beside(
    points: np.ndarray,
    triangles: np.ndarray,
    segment_points: np.ndarray,
    segment_triangles: np.ndarray,
    values: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Set the distances of the vertices of triangles that lines cross; return their segments and positions on these."""
    segments, shares = np.full(len(points), -1), np.zeros(len(points))
    beside = triangles[segment_triangles]
    start, offset = segment_points[:, None, 0], (segment_points[:, 1] - segment_points[:, 0])[:, None]
    square = np.maximum(np.square(offset).sum(axis=2), 1e-300)
    along = np.clip(((points[beside] - start) * offset).sum(axis=2) / square, 0.0, 1.0)
    away = np.linalg.norm(points[beside] - start - along[..., None] * offset, axis=2)
    np.minimum.at(values, beside, away)
    row, corner = np.nonzero(away == values[beside])
    segments[beside[row, corner]], shares[beside[row, corner]] = row, along[row, corner]
    return segments, shares


def _flatten(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Triangles in the plane, shape (3, N): the first corner at 0, the second at (length, 0), the third at (x, y)."""
    side, tip = points[corners[:, 1]] - points[corners[:, 0]], points[corners[:, 2]] - points[corners[:, 0]]
    length = measure_lengths(side)
    x = np.einsum("ni,ni->n", side, tip) / np.where(length > 0, length, 1.0)
    y = np.sqrt(np.maximum(np.einsum("ni,ni->n", tip, tip) - x * x, 0.0))
    return np.stack([x, y, length])


def _cross_edge(known: np.ndarray, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The shortest paths to third corners through the opposite edges, and the positions at which they cross these.

    `known`, shape (N, 2), are distances at the ends of the edges, linear between them; `flat` is of `_flatten`.
    """
    x, y, length = flat
    first, second = known.T
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        slope = (second - first) / length
        blend = (x - y * slope / np.sqrt(1.0 - slope * slope)) / length
    blend = np.where(np.abs(slope) < 1.0, blend, np.where(second < first, 1.0, 0.0))
    blend = np.clip(np.where(np.isnan(blend), 0.0, blend), 0.0, 1.0)
    with np.errstate(invalid="ignore"):
        before = np.where(blend == 0.0, first, np.where(blend == 1.0, second, first + blend * (second - first)))
    return before + np.hypot(x - blend * length, y), blend


def carry_values(distances: Distances, starts: np.ndarray) -> np.ndarray:
    """Carry values of the vertices next to the lines to all vertices within reach, along the shortest paths.

    `starts`, float array, shape (V, C): values of the vertices that have a segment; the other rows do not count.
    Returns a float64 array, shape (V, C): 0 out of reach.
    """
    known = distances.segments >= 0
    result = np.where(known[:, None], starts, 0.0)
    far = np.flatnonzero(distances.is_reached & ~known)
    far = far[np.argsort(distances.values[far], kind="stable")]
    batch = 2000
    size = batch
    while far.size:
        waiting = far[:size]
        edges, blends = distances.edges[waiting], distances.blends[waiting]
        has_first, has_second = known[edges[:, 0]], known[edges[:, 1]]
        ready = (has_first | (blends == 1.0)) & (has_second | (blends == 0.0))
        if not ready.any() and size >= far.size:  # paths that wait for each other: the known end alone counts
            ready = has_first | has_second
            blends = np.where(has_first & has_second, blends, np.where(has_first, 0.0, 1.0))
        if not ready.any():
            if size >= far.size:
                break
            size *= 2
            continue
        share, (first, second) = blends[ready, None], edges[ready].T
        result[waiting[ready]] = (1.0 - share) * result[first] + share * result[second]
        known[waiting[ready]] = True
        far = np.concatenate([waiting[~ready], far[size:]])
    return result
