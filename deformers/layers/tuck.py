"""Tuck: what lies beneath tight cloth gives way where the cloth would be pierced; the cloth keeps its shape.

Each covered point knows at rest the triangle of the cloth above it, and how deep it lies below that. Where it comes
nearer to the cloth in a pose, it moves back along the triangle's normal. `nodes.layers` computes the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..geometry.mesh_laplacian import drop_degenerate
from ..geometry.ring_normals import find_rings
from ..geometry.solid import find_rim, weld
from ..geometry.vectors import normalize, smooth_step

LEAST_FACING = 0.2
"""Cosine between the normals of skin and cloth, and between the skin's and the way to the cloth, where it covers."""

STICKS_OUT = 0.03
"""Depth of a layer at rest, in meters of a character of 1.8 m, up to which it is pierced: deeper, it is meant so."""

ON_RIM = 1e-3
"""Weight of vertices within a layer below which the nearest point is on its rim."""

LEAST_KNEE = 1e-4
"""Of the soft positive part, as a share of the reach."""

FADE = 3.0
"""Beyond `give`, what is needed fades out, up to so many times it: there nobody knows any more what lies above."""

SMOOTHING = 1
"""Steps."""


@dataclass(frozen=True)
class Cover:
    """Which points a layer covers at rest, and where.

    Attributes
    ----------
    corners : int32 array, shape (V, 3)
        Vertices of the layer: the triangle above each point, counter-clockwise seen from outside. 0 for others.
    weights : float32 array, shape (V, 3)
        Barycentric weights of the nearest point on it; zero for points that are not covered.
    heights : float32 array, shape (V,)
        How far the triangle's plane is above the point, positive, in the unit of the points; 0 for others.
    """

    corners: np.ndarray
    weights: np.ndarray
    heights: np.ndarray

    @property
    def is_covered(self) -> np.ndarray:
        """Which points are, bool, shape (V,)."""
        return self.heights > 0.0


def find_neighbors(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Four vertices around each vertex, which pushes are smoothed with.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    triangles : int array, shape (T, 3)

    Returns
    -------
    int array, shape (V, 4)
        The same for vertices that lie on each other, as at seams: they stay together.
    """
    welded = weld(points)
    return find_rings(points, drop_degenerate(welded[triangles])).corners.T[welded]


def smooth_pushes(pushes: np.ndarray, neighbors: np.ndarray, steps: int) -> np.ndarray:
    """Smooth how far points are pushed, none less far its own way.

    Parameters
    ----------
    pushes : float array, shape (V, 3)
    neighbors : int array, shape (V, 4)
        From `find_neighbors`.

    Returns
    -------
    float array, shape (V, 3)
    """
    lengths, ways, moves = np.linalg.norm(pushes, axis=1), normalize(pushes), pushes
    for _ in range(steps):
        moves = (moves + moves[neighbors].sum(axis=1)) / 5.0
        short = lengths - np.einsum("vi,vi->v", moves, ways)
        moves = moves + ways * np.maximum(short, 0.0)[:, None]
    return moves


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
        What `find_nearest_surface` says of the points and the layer.
    reach : float
        Points that lie deeper than that are not covered.

    Notes
    -----
    Cloth that is modeled with an inside has triangles that face the skin: they count turned over.
    """
    chosen, weights, distances = nearest
    corners = layer_triangles[chosen].astype(np.int32)
    shapes = np.asarray(layer_points, np.float64)[corners]
    ways = np.einsum("vc,vci->vi", weights, shapes) - points
    flat = normalize(np.cross(shapes[:, 1] - shapes[:, 0], shapes[:, 2] - shapes[:, 0]))
    heights = np.einsum("vi,vi->v", flat, ways)
    turned = heights < 0.0
    corners[turned] = corners[turned][:, [0, 2, 1]]
    weights = np.where(turned[:, None], weights[:, [0, 2, 1]], weights)
    flat[turned] *= -1.0
    is_covered = (distances <= reach) & (np.abs(heights) > 0.5 * distances) & (np.abs(heights) > 1e-6 * reach)
    is_covered &= np.einsum("vi,vi->v", flat, normals) > LEAST_FACING
    is_covered &= np.einsum("vi,vi->v", ways, normals) > LEAST_FACING * distances
    welded = weld(layer_points)
    is_covered &= ~_is_at_rim(welded[corners], weights, welded[layer_triangles])
    for values in (corners, weights, heights):
        values[~is_covered] = 0
    return Cover(corners, weights.astype(np.float32), np.abs(heights).astype(np.float32))


def _is_at_rim(corners: np.ndarray, weights: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Whether points of triangles, by their corners and weights (N, 3), are where a welded mesh ends."""
    is_rim = find_rim(triangles, int(triangles.max(initial=0)) + 1)
    return np.sum(weights * ~is_rim[corners], axis=1) < ON_RIM


def find_pierced(
    points: np.ndarray,
    normals: np.ndarray,
    layer_points: np.ndarray,
    layer_triangles: np.ndarray,
    nearest: tuple[np.ndarray, np.ndarray, np.ndarray],
    reach: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Find where points stick out of a layer at rest.

    Parameters
    ----------
    points, normals : float arrays, shape (V, 3)
        Unit normals of the skin.
    layer_points : float array, shape (L, 3)
        In the same space.
    layer_triangles : int array, shape (T, 3)
    nearest : tuple
        What `find_nearest_surface` says of the points and the layer.
    reach : float
        What sticks out farther is left out.

    Returns
    -------
    depths : float64 array, shape (V,)
        How far; 0 for points that do not.
    ways : float64 array, shape (V, 3)
        Unit vectors inward.
    """
    chosen, weights, distances = nearest
    corners = layer_triangles[chosen]
    shapes = np.asarray(layer_points, np.float64)[corners]
    ways = np.einsum("vc,vci->vi", weights, shapes) - points
    flat = normalize(np.cross(shapes[:, 1] - shapes[:, 0], shapes[:, 2] - shapes[:, 0]))
    welded = weld(layer_points)
    is_pierced = (distances <= reach) & (np.einsum("vi,vi->v", flat, ways) < -0.5 * distances)
    is_pierced &= np.einsum("vi,vi->v", flat, normals) > LEAST_FACING
    is_pierced &= ~_is_at_rim(welded[corners], weights, welded[layer_triangles])
    return np.where(is_pierced, distances, 0.0), -flat


def soften(values: np.ndarray, knee: np.ndarray | float) -> np.ndarray:
    """The positive part of values, shape (V,), rounded off within `knee` of 0: there a parabola."""
    return np.where(values > knee, values, np.square(np.maximum(values + knee, 0.0)) / (4.0 * knee))


def find_needs(heights: np.ndarray, rest_heights: np.ndarray, gap: float, give: float) -> np.ndarray:
    """How far covered points must move back, array (V,).

    Parameters
    ----------
    heights, rest_heights : float arrays, shape (V,)
        Of the cloth above them, now and at rest.
    gap : float
        Points stay so far below the cloth, those that are nearer at rest as they are there.
    give : float
        The farthest that any is moved.
    """
    if give <= 0.0:
        return np.zeros_like(heights)
    gaps = np.minimum(rest_heights, gap)
    knees = np.maximum(0.5 * gaps, LEAST_KNEE * give)
    needs = soften(gaps - heights, knees) - soften(gaps - rest_heights, knees)
    fades = 1.0 - smooth_step((needs / give - 1.0) / (FADE - 1.0))
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
    """Move points of a pose below the layer above them.

    Parameters
    ----------
    points : float array, shape (V, 3)
        Posed.
    layer_points : float array, shape (L, 3)
        Of the layer in the same pose and space.
    neighbors : int array, shape (V, 4)
        From `find_neighbors`.
    gap, give
        See `find_needs`.
    anchors : int array, shape (V,), optional
        The vertices that the vertices of stiff parts are moved like, from `find_anchors`.

    Returns
    -------
    float64 array, shape (V, 3)
    """
    points = np.asarray(points, np.float64)
    shapes = np.asarray(layer_points, np.float64)[cover.corners]
    normals = normalize(np.cross(shapes[:, 1] - shapes[:, 0], shapes[:, 2] - shapes[:, 0]))
    above = np.einsum("vc,vci->vi", cover.weights, shapes) - points
    needs = find_needs(np.einsum("vi,vi->v", normals, above), cover.heights.astype(np.float64), gap, give)
    pushes = -normals * (needs * cover.is_covered)[:, None]
    moves = smooth_pushes(pushes, neighbors, SMOOTHING) * cover.is_covered[:, None]
    return points + (moves if anchors is None else moves[anchors])
