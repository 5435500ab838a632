"""Nearest points by brute force, in groups of points that are close together.

Callers pass in Blender's trees (`bridge.meshes.nearest`) for the nearest points of a surface. Here trees would save
little: of 1.3 s for a bind of 1,500 particles, .8 s are spent here and trees would take .2 to .3 s. They compute in
single precision and order equally near points otherwise, so that some particles would be linked and deformed
differently.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

# Nearest surface points: from points (N, 3), a surface's points (V, 3) and triangles (T, 3) to triangles (N,),
# barycentric coordinates (N, 3) on them, and distances (N,), as `bridge.meshes.nearest.find_nearest_surface`.
FindNearest = Callable[[np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]

GROUP = 64


def group_points(points: np.ndarray, size: int = GROUP) -> list[np.ndarray]:
    """Divide points, shape (N, 3), into groups of at most `size` that are close together, by halving along the longest
    side.

    Returns
    -------
    list of int arrays
        Indices; groups next to each other in the list are close together.
    """
    groups, waiting = [], [np.arange(len(points))] if len(points) else []
    while waiting:
        group = waiting.pop()
        if len(group) <= size:
            groups.append(group)
            continue
        inside = points[group]
        along = inside[:, np.ptp(inside, axis=0).argmax()]
        order = np.argpartition(along, len(group) // 2)
        waiting += [group[order[len(group) // 2 :]], group[order[: len(group) // 2]]]
    return groups


def find_nearest(points: np.ndarray, targets: np.ndarray, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Find the nearest targets of each point.

    Parameters
    ----------
    points, targets : float arrays, shapes (N, 3), (M, 3)
    count : int
        Targets per point, at most M.

    Returns
    -------
    indices : int array, shape (N, count)
        Nearest first.
    distances : float array, shape (N, count)
    """
    count = min(count, len(targets))
    indices = np.empty((len(points), count), np.intp)
    distances = np.empty((len(points), count))
    for group in group_points(points):
        center = points[group].mean(axis=0)
        reach = np.sqrt(_squares(points[group], center[None])[:, 0].max())
        away = np.sqrt(_squares(center[None], targets)[0])
        bound = np.partition(away, count - 1)[count - 1] + 2.0 * reach
        near = np.flatnonzero(away <= bound * (1 + 1e-9))
        squares = _squares(points[group], targets[near])
        if count == 1:
            indices[group, 0] = near[squares.argmin(axis=1)]
            distances[group, 0] = np.sqrt(squares.min(axis=1))
            continue
        first = np.argpartition(squares, count - 1, axis=1)[:, :count]
        squares = np.take_along_axis(squares, first, axis=1)
        order = np.argsort(squares, axis=1, kind="stable")
        indices[group] = near[np.take_along_axis(first, order, axis=1)]
        distances[group] = np.sqrt(np.take_along_axis(squares, order, axis=1))
    return indices, distances


def find_pairs(points: np.ndarray, reach: np.ndarray, factor: float) -> np.ndarray:
    """Find pairs of points that are close to each other.

    Parameters
    ----------
    points : float array, shape (N, 3)
    reach : float array, shape (N,)
        In the unit of the points.
    factor : float
        Points are close within this multiple of the sum of their reaches.

    Returns
    -------
    int array, shape (E, 2)
        Each pair once, the smaller index first, in ascending order.
    """
    found = [np.empty((0, 2), np.intp)]
    for group, near in _near_groups(points, factor * reach):
        squares = _squares(points[group], points[near])
        hits = squares <= (factor * (reach[group, None] + reach[near])) ** 2
        rows, columns = np.nonzero(hits & (group[:, None] < near))
        found.append(np.stack([group[rows], near[columns]], axis=1))
    pairs = np.concatenate(found)
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def _near_groups(points: np.ndarray, reach: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for group in group_points(points):
        low, high = points[group].min(axis=0), points[group].max(axis=0)
        outside = np.maximum(np.maximum(low - points, points - high), 0.0)
        limit = reach + reach[group].max()
        yield group, np.flatnonzero(np.einsum("ni,ni->n", outside, outside) <= limit**2)


def _squares(points: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Squared distances, shape (N, M)."""
    result = np.zeros((len(points), len(targets)))
    for axis in range(3):
        difference = points[:, axis, None] - targets[:, axis]
        result += difference * difference
    return result


def read_nearest(
    positions: np.ndarray,
    values: np.ndarray,
    points: np.ndarray,
    triangles: np.ndarray,
    find_nearest: FindNearest,
    tolerance: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Read values at the surface points nearest to positions: those of a vertex at the position, otherwise
    interpolated.

    Parameters
    ----------
    positions : float array, shape (N, 3)
    values : float array, shape (V, C)
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    tolerance : float
        Distance within which a vertex is at a position.

    Returns
    -------
    values : float32 array, shape (N, C)
    distances : float array, shape (N,)
    """
    result = np.zeros((len(positions), values.shape[1]), np.float32)
    if not len(positions):
        return result, np.zeros(0)
    owner, shares, distances = find_nearest(positions, points, triangles)
    corners = triangles[owner]
    gaps = np.linalg.norm(points[corners] - positions[:, None], axis=2)
    on = gaps.min(axis=1) <= tolerance
    shares = np.where(on[:, None], np.eye(3)[gaps.argmin(axis=1)], shares).astype(np.float32)
    for corner in range(3):
        result += shares[:, corner, None] * values[corners[:, corner]]
    return result, distances
