"""Fill a surface with spheres of one size or of two, as Yamamoto & Tokoi 2010 do (section 2).

All functions take any unit; the spheres come out in the space and unit of the surface's points.
"""

from __future__ import annotations

import numpy as np

from ..geometry.lattice import hexagonal_packing
from ..geometry.neighbors import find_nearest, find_pairs

RATIO = 3.0
"""Radius of the large spheres over that of the small ones, R / r (Table 1)."""

CONTACTS = 12
"""Spheres that an inner one of a close packing touches: a large one that touches fewer is near the surface."""

TOUCH = 1.001
"""Spheres up to this many times the sum of their radii apart touch."""

ON_SURFACE = 1e-7
"""Centers this near the surface, along x and as a share of the surface's largest extent, are on it."""

NUDGE = 1e-7 * np.array([1.0, 0.6180339887])
"""How far rays are moved along y and z, as a share of the surface's largest extent. Rays of a lattice go through edges
and corners of meshes that people make; the two shares have no common measure, as edges at 45 degrees must be left
too."""

SPHERE_SPACE = 4.0 * np.sqrt(2.0)
"""Volume that a sphere of radius 1 takes in a close packing."""


def fill_uniform(points: np.ndarray, triangles: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Fill a surface with close-packed spheres of one size.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
        At least one.
    radius : float
        In the unit of the points.

    Returns
    -------
    centers : float64 array, shape (P, 3)
        The first sphere of the lattice is on the low corner of the surface's bounding box. P may be 0.
    radii : float64 array, shape (P,)

    Notes
    -----
    Section 2. A sphere counts as inside where its center is: it may stick out of the surface by its radius.
    """
    low, high = surface_bounds(points, triangles)
    centers = hexagonal_packing(low, high, radius)
    centers = centers[find_inside(centers, points, triangles)]
    return centers, np.full(len(centers), float(radius))


def fill_two_levels(points: np.ndarray, triangles: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Fill the core of a surface with spheres of three times the radius, and the rest with those of the radius.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
        At least one.
    radius : float
        Of the small spheres, in the unit of the points.

    Returns
    -------
    centers : float64 array, shape (P, 3)
        Large spheres first.
    radii : float64 array, shape (P,)

    Notes
    -----
    Section 2: large spheres that touch fewer than 12 others go, all at once. The paper then adds those that stay to
    the surface, as subdivided icosahedra, and repeats the test by rays. Here the small centers inside a large sphere
    go: after one subdivision or more the icosahedra leave out the same centers. So in both, small spheres overlap
    large ones: their centers are tested, and not all of them.
    """
    large, large_radii = fill_uniform(points, triangles, RATIO * radius)
    contacts = np.bincount(find_pairs(large, large_radii, TOUCH).ravel(), minlength=len(large))
    large = large[contacts >= CONTACTS]
    small, small_radii = fill_uniform(points, triangles, radius)
    if len(large) and len(small):
        away = find_nearest(small, large, 1)[1][:, 0]
        kept = away >= RATIO * radius * (1.0 - ON_SURFACE)
        small, small_radii = small[kept], small_radii[kept]
    return np.concatenate([large, small]), np.concatenate([np.full(len(large), RATIO * radius), small_radii])


def count_lattice_points(extents: np.ndarray, radius: float) -> float:
    """Points, at most, of a lattice in a box of these extents, shape (3,): one more along each than fits between."""
    return float(np.prod(extents / (radius * np.array([2.0, np.sqrt(3.0), np.sqrt(8.0 / 3.0)])) + 1.0))


def surface_bounds(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Low and high corner, float64, shape (3,), of the bounding box of a surface of at least one triangle."""
    corners = np.asarray(points, np.float64)[np.ravel(triangles)]
    return corners.min(axis=0), corners.max(axis=0)


def surface_volume(points: np.ndarray, triangles: np.ndarray) -> float:
    """Volume inside a closed surface of either winding: `points`, shape (V, 3), and `triangles`, shape (T, 3)."""
    corners = np.asarray(points, np.float64)[triangles]
    a, b, c = (corners - corners.mean(axis=(0, 1))).transpose(1, 0, 2)
    return abs(float(np.einsum("ti,ti->", a, np.cross(b, c)))) / 6.0


def find_inside(centers: np.ndarray, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Tell which centers a surface holds, by the parity of a ray along x.

    Parameters
    ----------
    centers : float array, shape (N, 3)
        Those that follow on each other with the same y and z share a ray: a lattice costs one ray a row.
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
        At least one.

    Returns
    -------
    bool array, shape (N,)

    Notes
    -----
    Section 2: triangles and rays are projected on the y-z plane, and the crossings of a ray are sorted by x; a center
    with an odd number of them before it is inside. The paper does not say what a center on the surface is. Here it is
    inside, on whichever side of the box: that gives the 4641 spheres of Table 1 for a box of 2.5 x 1.2 x 1.0. As in
    the paper, a ray through a hole, and one through two shells that overlap, is wrong.
    """
    low, high = surface_bounds(points, triangles)
    size = float((high - low).max()) or 1.0
    positions = (np.asarray(centers, np.float64) - low) / size
    corners = (np.asarray(points, np.float64)[triangles] - low) / size
    changes = (np.diff(positions[:, 1:], axis=0) != 0).any(axis=1)
    ray_of = np.concatenate([np.zeros(min(1, len(positions)), np.intp), np.cumsum(changes)])
    rays = positions[np.flatnonzero(np.diff(ray_of, prepend=-1))][:, 1:]
    rays = rays + NUDGE * np.where(rays < 0.5 * (high - low)[1:] / size, 1.0, -1.0)  # into the box, not out of it

    rays_hit, crossings = _cross_surface(rays, corners)
    # One ray after the other on one line, each with room of 4 for positions along it, which are between -1 and 2.
    crossings = np.sort(4.0 * rays_hit + crossings)
    first = np.searchsorted(crossings, 4.0 * ray_of - 1.0)
    along = 4.0 * ray_of + np.clip(positions[:, 0], -0.5, 1.5)
    before = np.searchsorted(crossings, along - ON_SURFACE) - first
    behind = np.searchsorted(crossings, along + ON_SURFACE) - first
    return (before % 2 == 1) | (behind % 2 == 1)


def _cross_surface(rays: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where rays along x, shape (R, 2) of y and z, cross triangles, shape (T, 3, 3): index of the ray and x, (N,)."""
    candidates, owners = _pair_rays(rays, corners[:, :, 1:])
    corners = corners[owners]
    a, b, c = (corners[:, corner, 1:] - rays[candidates] for corner in range(3))
    shares = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=1)
    hit = (shares > 0).all(axis=1) | (shares < 0).all(axis=1)
    shares = shares[hit] / shares[hit].sum(axis=1, keepdims=True)
    return candidates[hit], np.einsum("nc,nc->n", shares, corners[hit, :, 0])


def _pair_rays(rays: np.ndarray, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of a ray, shape (R, 2), and a projected triangle, shape (T, 3, 2), in whose bounding rectangle it is.

    Layer by layer, as a lattice has few values of z; within a layer by the rays' order along y.
    """
    layers, layer_of = np.unique(rays[:, 1], return_inverse=True)
    keys = 4.0 * layer_of.ravel() + np.clip(rays[:, 0], -0.5, 1.5)  # as in find_inside
    order = np.argsort(keys, kind="stable")
    low, high = flat.min(axis=1), flat.max(axis=1)
    start = np.searchsorted(layers, low[:, 1])
    in_layers, layer = _expand(start, np.searchsorted(layers, high[:, 1], side="right"))
    start = np.searchsorted(keys[order], 4.0 * layer + low[in_layers, 0])
    in_rays, place = _expand(start, np.searchsorted(keys[order], 4.0 * layer + high[in_layers, 0], side="right"))
    return order[place], in_layers[in_rays]


def _expand(starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers from each start up to its end, and before them the index of the pair that each comes from."""
    counts = np.maximum(ends - starts, 0)
    index = np.repeat(np.arange(len(starts)), counts)
    return index, np.arange(len(index)) - np.repeat(np.cumsum(counts) - counts - starts, counts)


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
