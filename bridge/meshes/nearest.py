"""Nearest points of a surface, by Blender's tree."""

from __future__ import annotations

import numpy as np
from mathutils.bvhtree import BVHTree

from ...deformers import SkinningError

FARTHEST = 1e9
"""Half sizes of a surface; points that are farther count as so far, as single precision cannot hold their squares."""


OUTSIDE = 1e-4
"""Half sizes of a surface that rays start above it."""


class SurfaceTree:
    """Answers where a surface is nearest to points.

    Parameters
    ----------
    points : float array, shape (V, 3)
        In any unit: what is searched is scaled, as mathutils computes in single precision and with fixed tolerances.
    triangles : int array, shape (T, 3)
        At least one.

    Raises
    ------
    SkinningError
        Where a point of the surface is not a number.
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

        Raises
        ------
        SkinningError
            Where a point is not a number.
        """
        points = np.asarray(points, np.float64)
        if not np.isfinite(points).all():
            raise SkinningError("A point is not a number, or is too far away: choose a point on the surface")
        find = self._tree.find_nearest
        # One point a call is all that mathutils offers.
        scaled = np.clip((points - self._center) * self._scale, -FARTHEST, FARTHEST)
        found = [find(point)[2] for point in scaled.tolist()]
        triangles = np.array(found, np.intp)
        corners = self._points[self._triangles[triangles]]
        weights = _project(points, corners)
        gaps = points - np.einsum("nc,nci->ni", weights, corners)
        return triangles, weights, np.linalg.norm(gaps, axis=1)


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
    """How deep each vertex of a closed surface lies inside it: where the surface runs through itself.

    Parameters
    ----------
    points, normals : float arrays, shape (V, 3)
        In any unit; unit normals, outward.
    triangles : int array, shape (T, 3)

    Returns
    -------
    float64 array, shape (V,)
        Along the normal to where the ray leaves the surface again; 0 for a vertex that is not inside.
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
        The triangle that it is on.
    weights : float64 array, shape (N, 3)
        Its barycentric weights: not negative, sum 1.
    distances : float64 array, shape (N,)

    Raises
    ------
    SkinningError
        Where a point, or one of the surface, is not a number.
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
