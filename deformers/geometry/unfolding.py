"""Unfolding of a surface around a point or along a line: the discrete exponential map, with tangents of the surface."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .vectors import list_ranges, measure_lengths

# Ratio of an offset to a vertex and its projection into the tangent plane.
MAX_BEND = 1.5

# Two fronts meet at an edge that is stretched more than this in the plane: nothing passes across it.
MAX_STRETCH = 2.5

RELAXATIONS = 8


@dataclass(frozen=True)
class Connection:
    """The directed edges of a surface, sorted by start vertex, and the connection of its tangent planes.

    Each vertex has a plane of complex numbers, in which its edges leave at the angles between them, scaled to a full
    circle inside of the surface: that plane is flat if the surface can be unfolded, even at creases.

    Attributes
    ----------
    starts : int array, shape (V + 1,)
        The first edge of each vertex.
    ends : int array, shape (E,)
        The neighbor at the end of each edge.
    lengths : float64 array, shape (E,)
        Object units.
    leaving : complex array, shape (E,)
        The edge in the plane of its vertex, as long as in space.
    arriving : complex array, shape (E,)
        The reverse edge, from the neighbor to the vertex, in the plane of the neighbor.
    """

    starts: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray
    leaving: np.ndarray
    arriving: np.ndarray


def connect(points: np.ndarray, triangles: np.ndarray, normals: np.ndarray) -> Connection:
    """Connect the tangent planes of a surface.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
        Object space.
    triangles : int array, shape (T, 3)
        Of three different vertices each, counter-clockwise from outside.
    normals : float64 array, shape (V, 3)
        Unit length; used at vertices whose triangles are not a single fan.

    Notes
    -----
    Tangent planes of Sharp, Soliman & Crane 2019 (The Vector Heat Method), section 5.2.
    """
    tails, heads = triangles.ravel(), np.roll(triangles, -1, axis=1).ravel()
    low, high = np.minimum(tails, heads), np.maximum(tails, heads)
    keys = low * len(points) + high
    order = np.argsort(keys, kind="stable")
    bounds = np.flatnonzero(np.concatenate([[True], np.diff(keys[order]) != 0, [True]]))
    firsts, shares = order[bounds[:-1]], np.diff(bounds)
    sides = np.empty(len(keys), np.intp)
    sides[order] = np.repeat(np.arange(len(firsts)), shares)

    begins = np.concatenate([low[firsts], high[firsts]])
    ranks = np.argsort(begins, kind="stable")
    positions = np.empty_like(ranks)
    positions[ranks] = np.arange(len(ranks))
    reverse = np.roll(positions, len(firsts))[ranks]
    begins, ends = begins[ranks], np.concatenate([high[firsts], low[firsts]])[ranks]
    edges = positions[sides + len(firsts) * (tails > heads)]

    first, second = order[bounds[:-1][shares == 2]], order[bounds[:-1][shares == 2] + 1]
    opposite = tails[first] != tails[second]
    twins = np.full(len(tails), -1)
    twins[first[opposite]], twins[second[opposite]] = second[opposite], first[opposite]

    offsets = points[ends] - points[begins]
    lengths = measure_lengths(offsets)
    angles = _measure_fans(points, triangles, twins, edges, reverse)
    loose = np.isnan(angles)
    if loose.any():
        projected = _project_angles(offsets, normals[begins], np.searchsorted(begins, begins))
        known = np.flatnonzero(~loose)
        differences = np.zeros(len(points))
        differences[begins[known]] = (angles - projected)[known]
        angles[loose] = (projected + differences[begins])[loose]
    leaving = lengths * np.exp(1j * angles)
    return Connection(np.searchsorted(begins, np.arange(len(points) + 1)), ends, lengths, leaving, leaving[reverse])


def _measure_fans(
    points: np.ndarray, triangles: np.ndarray, twins: np.ndarray, edges: np.ndarray, reverse: np.ndarray
) -> np.ndarray:
    """Angle of each directed edge in the plane of its vertex: float array, shape (E,), NaN outside the vertex's fan.

    `twins` and `edges`, shape (3 T,), are the opposite side and the directed edge of each triangle's sides.
    """
    shapes = points[triangles]
    onward, back = np.roll(shapes, -1, axis=1) - shapes, np.roll(shapes, 1, axis=1) - shapes
    crosses = np.sqrt(np.square(np.cross(onward, back)).sum(axis=2))
    corners = np.arctan2(crosses, np.einsum("tci,tci->tc", onward, back)).ravel()
    sides = np.arange(len(corners)).reshape(-1, 3)
    before = np.roll(sides, 1, axis=1).ravel()
    onto = twins[before]  # the next corner about the same vertex, counter-clockwise

    first = np.full(len(points), -1)
    first[triangles.ravel()] = sides.ravel()
    rims = np.flatnonzero(twins < 0)
    first[triangles.ravel()[rims]] = rims
    vertices = np.flatnonzero(first >= 0)
    current, begin = first[vertices], first[vertices]
    angle = np.zeros(len(vertices))
    starts = np.full(len(corners), np.nan)
    full = np.zeros(len(points))
    while len(current):
        starts[current] = angle
        angle = angle + corners[current]
        current = onto[current]
        closed = current == begin
        full[vertices[closed]] = angle[closed]
        going = (current >= 0) & ~closed
        current, begin, angle, vertices = current[going], begin[going], angle[going], vertices[going]
    scales = np.where(full > 0, 2 * np.pi / np.where(full > 0, full, 1.0), 1.0)[triangles.ravel()]

    angles = np.full(len(reverse), np.nan)
    angles[reverse[edges[before]]] = (starts + corners) * scales
    known = np.flatnonzero(~np.isnan(starts))
    angles[edges[known]] = (starts * scales)[known]
    return angles


def _project_angles(offsets: np.ndarray, normals: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Angles of edges about normals, shape (E, 3), from the edges at `starts`: shape (E,)."""
    flat = offsets - normals * np.einsum("ei,ei->e", offsets, normals)[:, None]
    zero = flat[starts]
    sines = np.einsum("ei,ei->e", np.cross(zero, flat), normals)
    return np.arctan2(sines, np.einsum("ei,ei->e", zero, flat))


def project(offsets: np.ndarray, normal: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    """Project offsets into a tangent plane and keep their lengths, up to `MAX_BEND`: complex array, (N,).

    Parameters
    ----------
    offsets : float array, shape (N, 3)
    normal, tangent : float arrays, shape (3,) or (N, 3)
        Unit vectors; the tangent is the real axis.
    """
    flat = np.einsum("ni,ni->n", offsets, np.broadcast_to(tangent, offsets.shape)) + 1j * np.einsum(
        "ni,ni->n", offsets, np.broadcast_to(np.cross(normal, tangent), offsets.shape)
    )
    lengths = measure_lengths(offsets)
    return flat * np.clip(lengths / np.maximum(np.abs(flat), 1e-300), 1.0, MAX_BEND)


def unfold(
    connection: Connection,
    region: np.ndarray,
    seeds: np.ndarray,
    coordinates: np.ndarray,
    reach: float,
    half_length: float = 0.0,
) -> np.ndarray:
    """Find positions in the plane for the vertices of a region.

    Parameters
    ----------
    region : int array, shape (N,)
        Vertices, ascending, with all seeds. Vertices that no edges join to a seed are not reached.
    seeds : int array, shape (S,)
        All vertices of some faces.
    coordinates : complex array, shape (S,)
        Their positions in the plane, object units.
    reach : float
        Needed radius of the plane, object units.
    half_length : float
        The unfolding starts at the points of the real axis from -half_length to half_length.

    Returns
    -------
    complex array, shape (V,)
        NaN if not reached, and outside of the region.

    Notes
    -----
    Schmidt, Grimm & Wyvill 2006 (Interactive decal compositing with discrete exponential maps) with the averages over
    all upwind neighbors of Schmidt 2013 (Stroke parameterization). Tangent planes are those of `Connection`, not planes
    in space: any creased surface that can be unfolded is. At the end each vertex is moved a few times to the average of
    its neighbors' predictions, which keeps triangles from folding.
    """
    local = _cut_out(connection, region)
    owner = np.repeat(np.arange(len(region)), np.diff(local.starts))
    own = np.searchsorted(region, seeds)
    flat = np.full(len(region), np.nan + 0j)
    flat[own] = coordinates
    rotations = np.full(len(region), np.nan + 0j)
    rotations[own] = _fit_rotations(local, owner, flat)[own]

    distances = np.full(len(region), np.inf)
    distances[own] = np.abs(coordinates - np.clip(np.real(coordinates), -half_length, half_length))
    max_detour = 1.45  # Ratio of a path along edges and the straight line: across diagonals of squares it is 1.41.
    distances = _spread_distances(local, distances, max_detour * reach)
    reached = np.isfinite(distances)
    if not reached.all():
        return unfold(connection, region[reached], seeds, coordinates, reach, half_length)
    _march(local, owner, distances, flat, rotations)
    _relax(local, owner, own, flat, rotations)
    result = np.full(len(connection.starts) - 1, np.nan + 0j)
    result[region] = flat
    return result


def _cut_out(connection: Connection, region: np.ndarray) -> Connection:
    """The connection among the vertices of a region, renumbered by their index in it."""
    indices = np.full(len(connection.starts) - 1, -1)
    indices[region] = np.arange(len(region))
    owner, chosen = list_ranges(connection.starts[region], connection.starts[region + 1] - connection.starts[region])
    ends = indices[connection.ends[chosen]]
    inside = ends >= 0
    kept = chosen[inside]
    owner = owner[inside]
    return Connection(
        np.searchsorted(owner, np.arange(len(region) + 1)),
        ends[inside],
        connection.lengths[kept],
        connection.leaving[kept],
        connection.arriving[kept],
    )


def _sum_by(owner: np.ndarray, values: np.ndarray, count: int) -> np.ndarray:
    """Sums of complex values by owner, shape (count,)."""
    return np.bincount(owner, np.real(values), count) + 1j * np.bincount(owner, np.imag(values), count)


def _unit(values: np.ndarray) -> np.ndarray:
    return values / np.maximum(np.abs(values), 1e-300)


def _fit_rotations(local: Connection, owner: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """Rotations from each vertex's plane to the common plane, from its edges to neighbors with a known position."""
    known = np.flatnonzero(~np.isnan(flat[owner]) & ~np.isnan(flat[local.ends]))
    steps = flat[local.ends[known]] - flat[owner[known]]
    return _unit(_sum_by(owner[known], _unit(steps) * np.conj(_unit(local.leaving[known])), len(flat)))


def _spread_distances(local: Connection, distances: np.ndarray, limit: float) -> np.ndarray:
    """Lengths of the shortest paths along edges, shape (N,), to vertices with a distance; infinite far beyond a limit.

    Vertices up to two edges beyond the limit also get one: the other corners of faces that have a corner within it.
    """
    active = np.flatnonzero(np.isfinite(distances))
    last = 0
    while len(active):
        rows, edges = list_ranges(local.starts[active], local.starts[active + 1] - local.starts[active])
        paths, ends = distances[active][rows] + local.lengths[edges], local.ends[edges]
        nearer = paths < distances[ends]
        paths, ends = paths[nearer], ends[nearer]
        np.minimum.at(distances, ends, paths)
        fresh = np.zeros(len(distances), bool)
        fresh[ends] = True
        active = np.flatnonzero(fresh & (distances <= limit))
        if not len(active) and last < 2:
            last += 1
            active = np.flatnonzero(np.isfinite(distances))
    return distances


def _march(
    local: Connection, owner: np.ndarray, distances: np.ndarray, flat: np.ndarray, rotations: np.ndarray
) -> None:
    """Fill in positions and rotations, shape (N,) each, away from known ones, rank after rank of vertices.

    If two fronts meet, a vertex follows the neighbor on its shortest path and the neighbors that agree with it.
    """
    with np.errstate(invalid="ignore"):
        descents = (distances[owner] - distances[local.ends]) / local.lengths
    # A neighbor is upwind if it is nearer to the start by this fraction of the edge between them.
    min_upwind_slope = 0.3
    upwind = np.flatnonzero((descents >= min_upwind_slope) & np.isnan(flat[owner]))
    ends, sides = local.ends[upwind], owner[upwind]
    ranks = np.zeros(len(flat), np.intp)
    bounds = np.flatnonzero(np.diff(sides, prepend=-1))
    rows = sides[bounds]
    while len(bounds):
        deeper = np.maximum.reduceat(ranks[ends], bounds) + 1
        if (deeper == ranks[rows]).all():
            break
        ranks[rows] = deeper
    order = np.argsort(ranks[sides], kind="stable")
    upwind, ends, sides = upwind[order], ends[order], sides[order]
    lengths, arriving = local.lengths[upwind], local.arriving[upwind]
    weights = descents[upwind] / lengths
    transport = -arriving * np.conj(local.leaving[upwind]) / lengths**2
    starts = np.flatnonzero(np.diff(sides, prepend=-1))
    rows, counts = sides[starts], np.diff(np.append(starts, len(sides)))
    by_path = np.lexsort((distances[ends] + lengths, np.repeat(np.arange(len(rows)), counts)))
    nearest = np.repeat(by_path[starts], counts)
    levels = np.searchsorted(ranks[rows], np.arange(1, ranks.max(initial=0) + 2))
    spans = np.append(starts, len(sides))
    for low, high in pairwise(levels):
        first = spans[low]
        part = slice(first, spans[high])
        near, cuts, target = ends[part], starts[low:high] - first, rows[low:high]
        rotation = rotations[near]
        predicted = flat[near] + rotation * arriving[part]
        shares = weights[part] * (np.abs(predicted - predicted[nearest[part] - first]) <= lengths[part])
        rotations[target] = _unit(np.add.reduceat(rotation * transport[part] * shares, cuts))
        flat[target] = np.add.reduceat(predicted * shares, cuts) / np.add.reduceat(shares, cuts)


def _relax(local: Connection, owner: np.ndarray, fixed: np.ndarray, flat: np.ndarray, rotations: np.ndarray) -> None:
    """Move all but the fixed vertices to the average of their neighbors' predictions, `RELAXATIONS` times."""
    steps = 0.5 * (rotations[local.ends] * local.arriving - rotations[owner] * local.leaving)
    for _ in range(RELAXATIONS):
        others = flat[local.ends]
        weights = np.where(np.abs(flat[owner] - others) <= MAX_STRETCH * local.lengths, 1.0 / local.lengths, 0.0)
        totals = np.bincount(owner, weights, len(flat))
        moved = _sum_by(owner, weights * (others + steps), len(flat))
        free = totals > 0
        free[fixed] = False
        flat[free] = moved[free] / totals[free]
