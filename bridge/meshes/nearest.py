"""Nearest points of a surface, by Blender's tree."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from mathutils.bvhtree import BVHTree

from ...deformers import SkinningError
from ...deformers.geometry.solid import weld

# Half sizes of a surface; points that are farther count as so far, as single precision cannot hold their squares
FARTHEST = 1e9


# Barycentric weight of a corner up to which a point is on the side across from it
ON_SIDE = 1e-7

# Half sizes of a surface that rays start above it
OUTSIDE = 1e-4


class SurfaceTree:
    """Finds the nearest points of a surface.

    Raises SkinningError if a point of the surface is not a number.

    Parameters
    ----------
    points : float array, shape (V, 3)
        In any unit: what is searched is scaled, as mathutils computes in single precision and with fixed tolerances.
    triangles : int array, shape (T, 3)
        At least one.
    """

    def __init__(self, points: np.ndarray, triangles: np.ndarray) -> None:
        self._points, self._triangles = np.asarray(points, np.float64), np.asarray(triangles)
        used = self._points[np.unique(self._triangles)]
        if not np.isfinite(used).all():
            raise SkinningError("Some vertex positions are not numbers, or are too far away: repair the mesh")
        low, high = used.min(axis=0), used.max(axis=0)
        self._center, self._scale = 0.5 * (low + high), 2.0 / (float((high - low).max()) or 1.0)
        scaled = (self._points - self._center) * self._scale
        self._tree = BVHTree.FromPolygons(scaled.tolist(), self._triangles.tolist(), all_triangles=True)

    def find_nearest(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The nearest point of the surface to each of points, shape (N, 3): as `find_nearest_surface`.

        Raises SkinningError if a point is not a number.
        """
        points = np.asarray(points, np.float64)
        if not np.isfinite(points).all():
            raise SkinningError("A point is not a number, or is too far away: choose a point on the surface")
        find = self._tree.find_nearest
        # One point a call is all that mathutils offers.
        scaled = np.clip((points - self._center) * self._scale, -FARTHEST, FARTHEST)
        found = [find(point)[2] for point in scaled.tolist()]
        triangles = np.array(found, np.intp)
        weights = _project(points, self._points[self._triangles[triangles]])
        shared = np.flatnonzero((weights <= ON_SIDE).any(axis=1))
        if shared.size:
            triangles[shared] = self._find_first(triangles[shared], weights[shared] > ON_SIDE)
            weights[shared] = _project(points[shared], self._points[self._triangles[triangles[shared]]])
        gaps = points - np.einsum("nc,nci->ni", weights, self._points[self._triangles[triangles]])
        return triangles, weights, np.linalg.norm(gaps, axis=1)

    def _find_first(self, triangles: np.ndarray, holds: np.ndarray) -> np.ndarray:
        """The first of the triangles that share a side or a corner; the tree takes any, as rounding has it.

        Parameters
        ----------
        triangles : int array, shape (N,)
        holds : bool array, shape (N, 3)
            The corners between which a point is.
        """
        keys, first = self._sides
        corners = np.sort(np.where(holds, self._welded[self._triangles[triangles]], -1), axis=1)
        return first[np.searchsorted(keys, self._name_sides(corners[:, 1], corners[:, 2]))]

    @cached_property
    def _welded(self) -> np.ndarray:
        return weld(self._points)

    @cached_property
    def _sides(self) -> tuple[np.ndarray, np.ndarray]:
        """Names of all sides and corners, ascending, and the first triangle that has each."""
        corners = np.sort(self._welded[self._triangles], axis=1)
        low, high = (
            np.concatenate([corners[:, chosen], alone], axis=1)
            for chosen, alone in (([0, 1, 0], np.full_like(corners, -1)), ([1, 2, 2], corners))
        )
        keys, first = np.unique(self._name_sides(low, high), return_index=True)
        return keys, first // 6

    def _name_sides(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """A number for each pair of vertices, the lower first; -1 for that if there is one vertex."""
        return (low + 1) * len(self._points) + high


class NearestSurfaces:
    """`find_nearest_surface`, called: keeps the trees of surfaces, as their arrays do not change meanwhile."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, SurfaceTree]] = {}

    def __call__(
        self, points: np.ndarray, surface_points: np.ndarray, triangles: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        key = id(surface_points), id(triangles)
        if key not in self._known:
            self._known[key] = surface_points, triangles, SurfaceTree(surface_points, triangles)
        return self._known[key][2].find_nearest(points)


def find_depths(points: np.ndarray, normals: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Depth of each vertex of a closed surface inside it, if the surface intersects itself.

    Parameters
    ----------
    points, normals : float arrays, shape (V, 3)
        In any unit; unit normals, outward.
    triangles : int array, shape (T, 3)

    Returns
    -------
    float64 array, shape (V,)
        Distance along the normal to the point of leaving the surface; 0 for a vertex that is not inside.
    """
    return find_exits(np.arange(len(points)), points, normals, triangles)[1]


def find_exits(
    vertices: np.ndarray, points: np.ndarray, normals: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Find where rays from vertices of a closed surface, along their normals, leave it again.

    Parameters
    ----------
    vertices : int array, shape (N,)
    points, normals : float arrays, shape (V, 3)
        In any unit; unit normals, outward.
    triangles : int array, shape (T, 3)

    Returns
    -------
    triangles : int array, shape (N,)
        -1 for a vertex that is not inside.
    distances : float64 array, shape (N,)
        0 for those.
    """
    exits, depths = np.full(len(vertices), -1), np.zeros(len(vertices))
    if not len(triangles):
        return exits, depths
    low, high = points.min(axis=0), points.max(axis=0)
    scale = 2.0 / (float((high - low).max()) or 1.0)
    scaled = (np.asarray(points, np.float64) - 0.5 * (low + high)) * scale
    cast = BVHTree.FromPolygons(scaled.tolist(), triangles.tolist(), all_triangles=True).ray_cast
    directions = normals[vertices]
    starts = scaled[vertices] + OUTSIDE * directions
    # One ray a call is all that mathutils offers.
    for number, (start, direction) in enumerate(zip(starts.tolist(), directions.tolist(), strict=True)):
        _, normal, triangle, distance = cast(start, direction)
        if normal is not None and normal.dot(direction) > 0.0:
            exits[number], depths[number] = triangle, distance / scale
    return exits, depths


def find_nearest_surface(
    points: np.ndarray, surface_points: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Find the nearest point of a surface to each of some points.

    Raises SkinningError if a point, or one of the surface, is not a number.

    Parameters
    ----------
    points : float array, shape (N, 3)
    surface_points : float array, shape (V, 3)
        In the same space.
    triangles : int array, shape (T, 3)
        At least one.

    Returns
    -------
    triangles : int array, shape (N,)
        The triangle that it is on; of several that share it, the first.
    weights : float64 array, shape (N, 3)
        Its barycentric weights: not negative, sum 1.
    distances : float64 array, shape (N,)
    """
    return SurfaceTree(surface_points, triangles).find_nearest(points)


def _project(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Barycentric weights, shape (N, 3), of where triangles, shape (N, 3, 3), are nearest to points, shape (N, 3).

    In single precision mathutils' own answer would be exact to 1e-7 of the surface's size only.
    """
    ahead = np.roll(corners, -1, axis=1) - corners  # of each corner, the side that begins there
    offsets = points[:, None] - corners
    normals = np.cross(ahead[:, 0], ahead[:, 1])
    moments = np.einsum("nci,ni->nc", np.cross(ahead, offsets), normals)
    inside = (moments > 0).all(axis=1)
    weights = np.roll(moments, -1, axis=1) / np.where(inside, moments.sum(axis=1), 1.0)[:, None]
    shares = np.einsum("nci,nci->nc", offsets, ahead)
    shares = np.clip(shares / np.maximum(np.einsum("nci,nci->nc", ahead, ahead), 1e-300), 0.0, 1.0)
    gaps = offsets - shares[..., None] * ahead
    side = np.einsum("nci,nci->nc", gaps, gaps).argmin(axis=1)
    rows = np.flatnonzero(~inside)
    weights[rows] = 0.0
    weights[rows, side[rows]] = 1.0 - shares[rows, side[rows]]
    weights[rows, (side[rows] + 1) % 3] = shares[rows, side[rows]]
    return weights
