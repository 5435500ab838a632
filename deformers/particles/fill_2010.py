"""Fill a surface with spheres of one or two sizes (Yamamoto & Tokoi 2010, section 2).

The spheres are in the space and unit of the surface's points, which may be any.
"""

from __future__ import annotations

import numpy as np

from ..geometry.lattice import hexagonal_packing
from ..geometry.neighbors import find_nearest, find_pairs
from ..geometry.vectors import list_ranges

# Radius of the large spheres relative to the small ones, R / r (Table 1)
RATIO = 3.0

# Centers this near the surface, along x and as a share of its largest extent, are on the surface.
ON_SURFACE = 1e-7


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
        The first sphere of the lattice is at the low corner of the surface's bounding box. P may be 0.
    radii : float64 array, shape (P,)

    Notes
    -----
    Section 2. A sphere is inside if its center is, so it may stick out of the surface by its radius.
    """
    low, high = surface_bounds(points, triangles)
    centers = hexagonal_packing(low, high, radius)
    centers = centers[find_inside(centers, points, triangles)]
    return centers, np.full(len(centers), float(radius))


def fill_two_levels(points: np.ndarray, triangles: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Fill the core of a surface with spheres of three times the radius, and the rest with spheres of the radius.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
        At least one.
    radius : float
        Radius of the small spheres, in the unit of the points.

    Returns
    -------
    centers : float64 array, shape (P, 3)
        Large spheres first.
    radii : float64 array, shape (P,)

    Notes
    -----
    Section 2: large spheres that touch fewer than 12 others, as the inner spheres of a close packing do, are near the
    surface and removed together. The paper then adds the others to the surface as subdivided icosahedra, and repeats
    the test by rays. Here, small centers inside a large sphere are removed. From one subdivision on, the icosahedra
    exclude the same centers. So in both, small spheres overlap large ones: only their centers are tested.
    """
    large, large_radii = fill_uniform(points, triangles, RATIO * radius)
    contacts = np.bincount(find_pairs(large, large_radii, 1.001).ravel(), minlength=len(large))
    large = large[contacts >= 12]
    small, small_radii = fill_uniform(points, triangles, radius)
    if len(large) and len(small):
        away = find_nearest(small, large, 1)[1][:, 0]
        kept = away >= RATIO * radius * (1.0 - ON_SURFACE)
        small, small_radii = small[kept], small_radii[kept]
    return np.concatenate([large, small]), np.concatenate([np.full(len(large), RATIO * radius), small_radii])


def count_lattice_points(extents: np.ndarray, radius: float) -> float:
    """Largest number of lattice points in a box of these extents, shape (3,), one more along each than fit between."""
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
    """Find which centers are inside a surface, bool, shape (N,), by the parity of a ray along x.

    Parameters
    ----------
    centers : float array, shape (N, 3)
        Successive centers with the same y and z share a ray, so a lattice needs one ray for each row.
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
        At least one.

    Notes
    -----
    Section 2: triangles and rays are projected onto the y-z plane, and the crossings of a ray are sorted by x. A center
    with an odd number of crossings before it is inside. The paper does not say whether a center on the surface is
    inside. Here it is, on all sides: this gives the 4641 spheres of Table 1 for a box of 2.5 x 1.2 x 1.0. As in the
    paper, a ray through a hole or through two overlapping shells is wrong.
    """
    # Rays of a lattice pass through edges and corners of meshes that people make, so rays are nudged along y and z. The
    # two shares have no common measure, as edges at 45 degrees must also be avoided.
    nudge = 1e-7 * np.array([1.0, 0.6180339887])
    low, high = surface_bounds(points, triangles)
    size = float((high - low).max()) or 1.0
    positions = (np.asarray(centers, np.float64) - low) / size
    corners = (np.asarray(points, np.float64)[triangles] - low) / size
    changes = (np.diff(positions[:, 1:], axis=0) != 0).any(axis=1)
    ray_of = np.concatenate([np.zeros(min(1, len(positions)), np.intp), np.cumsum(changes)])
    rays = positions[np.flatnonzero(np.diff(ray_of, prepend=-1))][:, 1:]
    rays = rays + nudge * np.where(rays < 0.5 * (high - low)[1:] / size, 1.0, -1.0)  # into the box, not out of it

    rays_hit, crossings = _cross_surface(rays, corners)
    # All rays on one line, each with room of 4 for its positions, which are between -1 and 2.
    crossings = np.sort(4.0 * rays_hit + crossings)
    first = np.searchsorted(crossings, 4.0 * ray_of - 1.0)
    along = 4.0 * ray_of + np.clip(positions[:, 0], -0.5, 1.5)
    before = np.searchsorted(crossings, along - ON_SURFACE) - first
    behind = np.searchsorted(crossings, along + ON_SURFACE) - first
    return (before % 2 == 1) | (behind % 2 == 1)


def _cross_surface(rays: np.ndarray, corners: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cross rays along x, shape (R, 2) of y and z, with triangles, (T, 3, 3): index of the ray and x, (N,)."""
    candidates, owners = _pair_rays(rays, corners[:, :, 1:])
    corners = corners[owners]
    a, b, c = (corners[:, corner, 1:] - rays[candidates] for corner in range(3))
    shares = np.stack([_cross(b, c), _cross(c, a), _cross(a, b)], axis=1)
    hit = (shares > 0).all(axis=1) | (shares < 0).all(axis=1)
    shares = shares[hit] / shares[hit].sum(axis=1, keepdims=True)
    return candidates[hit], np.einsum("nc,nc->n", shares, corners[hit, :, 0])


def _pair_rays(rays: np.ndarray, flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pair rays, shape (R, 2), with projected triangles, shape (T, 3, 2), whose bounding rectangle contains them.

    A lattice has few values of z, so this goes layer by layer, and by the rays' order along y within a layer.
    """
    layers, layer_of = np.unique(rays[:, 1], return_inverse=True)
    keys = 4.0 * layer_of.ravel() + np.clip(rays[:, 0], -0.5, 1.5)  # as in find_inside
    order = np.argsort(keys, kind="stable")
    low, high = flat.min(axis=1), flat.max(axis=1)
    start = np.searchsorted(layers, low[:, 1])
    count = np.maximum(np.searchsorted(layers, high[:, 1], side="right") - start, 0)
    in_layers, layer = list_ranges(start, count)
    start = np.searchsorted(keys[order], 4.0 * layer + low[in_layers, 0])
    end = np.searchsorted(keys[order], 4.0 * layer + high[in_layers, 0], side="right")
    in_rays, place = list_ranges(start, np.maximum(end - start, 0))
    return order[place], in_layers[in_rays]


def _cross(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
