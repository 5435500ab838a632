"""Stiff parts of a mesh: hard, closed islands such as buckles, plates, horns and teeth, whose weights bend them."""

from __future__ import annotations

import numpy as np

from ..geometry.mesh_laplacian import drop_degenerate, find_edges
from ..geometry.solid import Surface, area_vectors, read_surface

# Of the weights of one bone within an island: less hardly bends it.
MIN_DIFFERENCE = 0.1

# Longest side of a stiff part, relative to that of the skeleton
MAX_SIZE = 0.25

# Area of an island's hole, such as where a horn is on the head, in areas of the island
MAX_STIFF_HOLE = 0.3

# 36 pi volume^2 / area^3, which is 1 for a ball, .52 for a cube, .2 for a plate of 1 : 1 : .2, less for straps
MIN_THICKNESS = 0.2

# Angle between the normals of two faces at a hard edge
MIN_SHARP_ANGLE = np.radians(30.0)

# Share of hard edges in all bending of an island's surface: length times angle. A tongue of few faces has .6.
MIN_HARDNESS = 0.75

# Points of a bone that are tested inside an island
BONE_SAMPLES = 9


def find_stiff_parts(
    points: np.ndarray,
    triangles: np.ndarray,
    weights: np.ndarray | None,
    heads: np.ndarray,
    tails: np.ndarray,
    hard_edges: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Find the islands that must not bend, but are bent by their weights.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, armature space, finite.
    triangles : int array, shape (T, 3)
    weights : float array, shape (V, B), or None
        Rows need not sum to 1. None for all islands that must not bend.
    heads, tails : float arrays, shape (B, 3)
        Of the bones, armature space.
    hard_edges : int array, shape (N, 2), optional
        Edges that are hard at any angle, such as those marked sharp.

    Returns
    -------
    list of int arrays
        The vertices of each, ascending.

    Notes
    -----
    An island with a bone inside is a limb, a finger or a tongue, one with a handle is a ring or a belt: neither is
    stiff.
    """
    if not len(triangles) or not len(heads):
        return []
    bones = np.concatenate([heads, tails])
    longest = MAX_SIZE * float(np.ptp(bones, axis=0).max())
    along = np.linspace(0.0, 1.0, BONE_SAMPLES)[:, None, None]
    samples = ((1.0 - along) * heads + along * tails).reshape(-1, 3)
    surface = read_surface(points, triangles, MAX_STIFF_HOLE)
    hard = np.empty((0, 2), np.intp) if hard_edges is None else hard_edges
    order = np.argsort(surface.islands, kind="stable")
    starts = np.searchsorted(surface.islands[order], np.arange(len(surface.solid) + 1))
    parts = [order[starts[island] : starts[island + 1]] for island in np.flatnonzero(surface.solid)]
    return [
        part
        for part in parts  # most islands of a mesh are out by the first two questions
        if np.ptp(surface.points[part], axis=0).max() <= longest
        and (weights is None or measure_difference(weights[part]) > MIN_DIFFERENCE)
        and _is_stiff(surface, int(surface.islands[part[0]]), samples, hard)
    ]


def measure_difference(weights: np.ndarray) -> float:
    """Largest difference of the weights of some vertices, shape (V, B): 0 to 1; 0 if one of them has no weights."""
    sums = weights.sum(axis=1, keepdims=True)
    return float(np.ptp(weights / sums, axis=0).max()) if (sums > 0.0).all() else 0.0


def _is_stiff(surface: Surface, island: int, samples: np.ndarray, hard_edges: np.ndarray) -> bool:
    """Whether an island is hard, thick and without bones, whose points are `samples`, shape (N, 3)."""
    rims = surface.rims
    is_own = surface.islands[rims.sides[:, 0]] == island
    holes = len(np.unique(rims.loops[is_own]))
    triangles = drop_degenerate(surface.welded[surface.triangles[surface.islands[surface.triangles[:, 0]] == island]])
    edges, sides = find_edges(triangles)
    if holes > 1 or len(np.unique(triangles)) - len(edges) + len(triangles) + holes < 2:
        return False
    closed = np.concatenate([surface.points[triangles], rims.find_lids(surface.points)[is_own]])
    if _measure_thickness(closed) < MIN_THICKNESS:
        return False
    marked = np.isin(_key(edges), _key(np.sort(surface.welded[hard_edges], axis=1)))
    if _measure_hardness(surface.points, triangles, edges, sides, marked) < MIN_HARDNESS:
        return False
    low, high = closed.min(axis=(0, 1)), closed.max(axis=(0, 1))
    near = samples[((samples > low) & (samples < high)).all(axis=1)]
    return not (_wind(near, closed) > 0.5).any()


def _key(edges: np.ndarray) -> np.ndarray:
    """A number for each edge, shape (E, 2), the smaller vertex first."""
    return (edges[:, 0].astype(np.int64) << 32) | edges[:, 1]


def _measure_thickness(corners: np.ndarray) -> float:
    """See `MIN_THICKNESS`; of closed triangles by their corners, shape (T, 3, 3)."""
    a, b, c = np.moveaxis(corners - corners.mean(axis=(0, 1)), 1, 0)
    volume = np.einsum("ti,ti->", a, np.cross(b, c)) / 6.0
    area = 0.5 * np.linalg.norm(np.cross(b - a, c - a), axis=1).sum()
    return float(36.0 * np.pi * volume**2 / area**3)


def _measure_hardness(
    points: np.ndarray, triangles: np.ndarray, edges: np.ndarray, sides: np.ndarray, marked: np.ndarray
) -> float:
    """See `MIN_HARDNESS`; edges (E, 2) and sides (T, 3) from `find_edges`, and whether each edge is marked as hard
    (E,).
    """
    normals = area_vectors(points, triangles)
    owners = np.argsort(sides.ravel(), kind="stable") // 3
    counts = np.bincount(sides.ravel(), minlength=len(edges))
    first = (np.cumsum(counts) - counts)[counts == 2]
    one, other = normals[owners[first]], normals[owners[first + 1]]
    angles = np.arctan2(np.linalg.norm(np.cross(one, other), axis=1), np.einsum("ei,ei->e", one, other))
    bending = angles * np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)[counts == 2]
    total = float(bending.sum())
    return float(bending[(angles > MIN_SHARP_ANGLE) | marked[counts == 2]].sum()) / total if total else 0.0


def _wind(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Winding numbers of points, shape (N, 3), in closed triangles, shape (T, 3, 3): 1 inside, 0 outside; (N,)."""
    a, b, c = (corners[:, corner] - points[:, None] for corner in range(3))
    la, lb, lc = (np.linalg.norm(side, axis=2) for side in (a, b, c))
    volumes = np.einsum("nti,nti->nt", a, np.cross(b, c))
    ab, bc, ca = (np.einsum("nti,nti->nt", *pair) for pair in ((a, b), (b, c), (c, a)))
    return np.arctan2(volumes, la * lb * lc + ab * lc + bc * la + ca * lb).sum(axis=1) / (2.0 * np.pi)
