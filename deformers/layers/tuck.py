"""Tuck: move skin back under tight cloth that it would pierce. The cloth keeps its shape.

Each covered point has the triangle of the cloth above it at rest, and its depth below it. If it comes nearer to the
cloth in a pose, it moves back along the triangle's normal. `nodes.layers` computes the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.mesh_laplacian import drop_degenerate
from ..geometry.ring_normals import find_rings
from ..geometry.solid import find_rim, weld
from ..geometry.vectors import normalize, smooth_step

# Least cosine between the normals of skin and cloth, and between the skin's normal and the direction to the cloth
MIN_FACING = 0.2

# A layer that is deeper than this at rest, in meters of a character of 1.8 m, is not pierced, but meant to be there.
MAX_PIERCED = 0.03

# Radius of the soft positive part, at least this share of the reach
MIN_KNEE = 1e-4

# Moves fade to 0 from `give` to so many times it: farther away, the layer above is unknown.
MAX_NEED = 3.0


@dataclass(frozen=True)
class Cover:
    """Points that a layer covers at rest. All values are 0 for points that are not covered.

    Attributes
    ----------
    corners : int32 array, shape (V, 3)
        Triangle above each point, vertices of the layer, counter-clockwise seen from outside.
    weights : float32 array, shape (V, 3)
        Barycentric weights of the nearest point on it.
    heights : float32 array, shape (V,)
        Height of the triangle's plane above the point, positive, in the unit of the points.
    """

    corners: np.ndarray
    weights: np.ndarray
    heights: np.ndarray

    @property
    def is_covered(self) -> np.ndarray:
        """Whether points are covered, bool, shape (V,)."""
        return self.heights > 0.0


def find_neighbors(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Find four vertices around each vertex for the smoothing of pushes, int, shape (V, 4).

    Coincident vertices, such as at seams, have the same neighbors, so that they stay together.
    """
    welded = weld(points)
    return find_rings(points, drop_degenerate(welded[triangles])).corners.T[welded]


def smooth_pushes(pushes: np.ndarray, neighbors: np.ndarray, steps: int) -> np.ndarray:
    """Smooth pushes, shape (V, 3), without shortening any along its own direction.

    `neighbors`, shape (V, 4), is from `find_neighbors`.
    """
    moves = pushes
    for _ in range(steps):
        moves = _smooth(moves, moves[neighbors], pushes)
    return moves


def _smooth(moves: np.ndarray, around: np.ndarray, pushes: np.ndarray) -> np.ndarray:
    """Moves, (V, 3), with those around them, (V, 4, 3): none shorter than its push along that."""
    moves, ways = (moves + around.sum(axis=1)) / 5.0, normalize(pushes)
    short = np.linalg.norm(pushes, axis=1) - np.einsum("vi,vi->v", moves, ways)
    return moves + ways * np.maximum(short, 0.0)[:, None]


def find_cover(
    points: np.ndarray,
    normals: np.ndarray,
    layer_points: np.ndarray,
    layer_triangles: np.ndarray,
    nearest: tuple[np.ndarray, np.ndarray, np.ndarray],
    reach: float,
) -> Cover:
    """Find which points a layer covers.

    Parameters
    ----------
    points, normals : float arrays, shape (V, 3)
        At rest; unit normals of the skin.
    layer_points : float array, shape (L, 3)
        In the same space.
    layer_triangles : int array, shape (T, 3)
    nearest : tuple
        Result of `find_nearest_surface` for the points and the layer.
    reach : float
        Deeper points are not covered.

    Notes
    -----
    If cloth is modeled with an inside, its triangles that face the skin are flipped.
    """
    chosen, weights, distances = nearest
    corners = layer_triangles[chosen].astype(np.int32)
    flat, ways = _look_at(points, layer_points, corners, weights)
    heights = np.einsum("vi,vi->v", flat, ways)
    turned = heights < 0.0
    corners[turned] = corners[turned][:, [0, 2, 1]]
    weights = np.where(turned[:, None], weights[:, [0, 2, 1]], weights)
    flat[turned] *= -1.0
    is_covered = (distances <= reach) & (np.abs(heights) > 0.5 * distances) & (np.abs(heights) > 1e-6 * reach)
    is_covered &= np.einsum("vi,vi->v", flat, normals) > MIN_FACING
    is_covered &= np.einsum("vi,vi->v", ways, normals) > MIN_FACING * distances
    welded = weld(layer_points)
    is_covered &= ~_is_at_rim(welded[corners], weights, welded[layer_triangles])
    for values in (corners, weights, heights):
        values[~is_covered] = 0
    return Cover(corners, weights.astype(np.float32), np.abs(heights).astype(np.float32))


def _look_at(
    points: np.ndarray, layer_points: np.ndarray, corners: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Unit normals of triangles, and vectors from points to positions on them, shape (V, 3) each."""
    shapes = np.asarray(layer_points, np.float64)[corners]
    normals = normalize(np.cross(shapes[:, 1] - shapes[:, 0], shapes[:, 2] - shapes[:, 0]))
    return normals, np.einsum("vc,vci->vi", weights, shapes) - points


def _is_at_rim(corners: np.ndarray, weights: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Whether points of triangles, by their corners and weights (N, 3), are on the rim of a welded mesh."""
    is_rim = find_rim(triangles, int(triangles.max(initial=0)) + 1)
    return np.sum(weights * ~is_rim[corners], axis=1) < 1e-3


def find_pierced(
    points: np.ndarray,
    normals: np.ndarray,
    layer_points: np.ndarray,
    layer_triangles: np.ndarray,
    nearest: tuple[np.ndarray, np.ndarray, np.ndarray],
    reach: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Find points that stick out of a layer at rest.

    Parameters
    ----------
    points, normals : float arrays, shape (V, 3)
    layer_points, layer_triangles : float and int arrays, shapes (L, 3) and (T, 3)
        In the same space.
    nearest : tuple
        Result of `find_nearest_surface` for the points and the layer.
    reach : float
        Points that stick out farther are left out.

    Returns
    -------
    depths : float64 array, shape (V,)
        How far they stick out, 0 for other points.
    ways : float64 array, shape (V, 3)
        Unit vectors inward.
    """
    chosen, weights, distances = nearest
    corners = layer_triangles[chosen]
    flat, ways = _look_at(points, layer_points, corners, weights)
    welded = weld(layer_points)
    is_pierced = (distances <= reach) & (np.einsum("vi,vi->v", flat, ways) < -0.5 * distances)
    is_pierced &= np.einsum("vi,vi->v", flat, normals) > MIN_FACING
    is_pierced &= ~_is_at_rim(welded[corners], weights, welded[layer_triangles])
    return np.where(is_pierced, distances, 0.0), -flat


def soften(values: np.ndarray, knee: np.ndarray | float) -> np.ndarray:
    """Positive part of values, shape (V,), replaced by a parabola within `knee` of 0."""
    return np.where(values > knee, values, np.square(np.maximum(values + knee, 0.0)) / (4.0 * knee))


def find_needs(heights: np.ndarray, rest_heights: np.ndarray, gap: float, give: float) -> np.ndarray:
    """Find how far covered points must move back, shape (V,).

    Parameters
    ----------
    heights, rest_heights : float arrays, shape (V,)
        Heights of the cloth above them, now and at rest.
    gap, give : float
        Distance to keep below the cloth, unless points are nearer at rest, and largest move.
    """
    if give <= 0.0:
        return np.zeros_like(heights)
    gaps = np.minimum(rest_heights, gap)
    knees = np.maximum(0.5 * gaps, MIN_KNEE * give)
    needs = soften(gaps - heights, knees) - soften(gaps - rest_heights, knees)
    fades = 1.0 - smooth_step((needs / give - 1.0) / (MAX_NEED - 1.0))
    return np.clip(needs, 0.0, give) * fades


def tuck(
    points: np.ndarray,
    layer_points: np.ndarray,
    cover: Cover,
    neighbors: np.ndarray,
    gap: float,
    give: float,
    anchors: np.ndarray | None = None,
) -> np.ndarray:
    """Move points of a pose below the layer above them: float64, shape (V, 3).

    Parameters
    ----------
    points, layer_points : float arrays, shapes (V, 3) and (L, 3)
        The mesh and the layer in the same pose and space.
    neighbors : int array, shape (V, 4)
        From `find_neighbors`.
    gap, give
        As for `find_needs`.
    anchors : int array, shape (V,), optional
        From `find_anchors`, if there are stiff parts.
    """
    points, rows = np.asarray(points, np.float64), np.flatnonzero(cover.is_covered)
    normals, above = _look_at(points[rows], layer_points, cover.corners[rows], cover.weights[rows])
    needs = find_needs(np.einsum("vi,vi->v", normals, above), cover.heights[rows].astype(np.float64), gap, give)
    moves = np.zeros_like(points)
    moves[rows] = own = -normals * needs[:, None]
    moves[rows] = _smooth(own, moves[neighbors[rows]], own)
    return points + (moves if anchors is None else moves[anchors])
