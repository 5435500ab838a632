"""Unfolding a surface around a point or along a line: the discrete exponential map, with tangents of the surface."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from .vectors import measure_lengths

UPWIND = 0.3
"""A neighbor is upwind where it is nearer to the start by this share of the edge: those beside tell little."""

BEND = 1.5
"""How much longer the way to a vertex may be than what of it lies in the tangent plane."""

MISFIT = 2.5
"""An edge this many times as long in the plane as in space is where two fronts meet: nothing passes across it."""

ROUNDABOUT = 1.45
"""How much longer a way along edges may be than the straight one: across the diagonals of squares it is 1.41."""

SWEEPS = 8
"""Averages over all neighbors at the end."""


@dataclass(frozen=True)
class Connection:
    """The directed edges of a surface, sorted by the vertex that they leave, and how its tangent planes hang together.

    Each vertex has a plane of complex numbers, in which its edges leave at the angles between them, scaled to make a
    full turn inside of the surface: that plane is flat wherever the surface can be unfolded, creases included.

    Attributes
    ----------
    starts : int array, shape (V + 1,)
        The first edge of each vertex.
    ends : int array, shape (E,)
        The neighbor that each leads to.
    lengths : float64 array, shape (E,)
        Object units.
    leaving : complex array, shape (E,)
        The edge in the plane of its vertex, as long as in space.
    arriving : complex array, shape (E,)
        The edge the other way round, from the neighbor to the vertex, in the plane of the neighbor.
    """

    starts: np.ndarray
    ends: np.ndarray
    lengths: np.ndarray
    leaving: np.ndarray
    arriving: np.ndarray


def connect(points: np.ndarray, triangles: np.ndarray, normals: np.ndarray) -> Connection:
    """Find how the tangent planes of a surface hang together.

    Parameters
    ----------
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
        Of three different vertices each, counter-clockwise seen from outside.
    normals : float64 array, shape (V, 3)
        For vertices whose triangles are not one fan.

    Notes
    -----
    The tangent planes of Sharp, Soliman & Crane 2019 (The Vector Heat Method), section 5.2.
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
    places = np.empty_like(ranks)
    places[ranks] = np.arange(len(ranks))
    reverse = np.roll(places, len(firsts))[ranks]
    begins, ends = begins[ranks], np.concatenate([high[firsts], low[firsts]])[ranks]
    edges = places[sides + len(firsts) * (tails > heads)]

    first, second = order[bounds[:-1][shares == 2]], order[bounds[:-1][shares == 2] + 1]
    opposite = tails[first] != tails[second]
    twins = np.full(len(tails), -1)
    twins[first[opposite]], twins[second[opposite]] = second[opposite], first[opposite]

    ways = points[ends] - points[begins]
    lengths = measure_lengths(ways)
    angles = _turn_fans(points, triangles, twins, edges, reverse)
    loose = np.isnan(angles)
    if loose.any():
        projected = _project_angles(ways, normals[begins], np.searchsorted(begins, begins))
        known = np.flatnonzero(~loose)
        offsets = np.zeros(len(points))
        offsets[begins[known]] = (angles - projected)[known]
        angles[loose] = (projected + offsets[begins])[loose]
    leaving = lengths * np.exp(1j * angles)
    return Connection(np.searchsorted(begins, np.arange(len(points) + 1)), ends, lengths, leaving, leaving[reverse])


def _turn_fans(
    points: np.ndarray, triangles: np.ndarray, twins: np.ndarray, edges: np.ndarray, reverse: np.ndarray
) -> np.ndarray:
    """Angle of each directed edge in the plane of its vertex: float array, shape (E,), NaN beside the vertex's fan.

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


def _project_angles(ways: np.ndarray, normals: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Angles of edges about normals, shape (E, 3), from the edges at `starts`: shape (E,)."""
    flat = ways - normals * np.einsum("ei,ei->e", ways, normals)[:, None]
    zero = flat[starts]
    turn = np.einsum("ei,ei->e", np.cross(zero, flat), normals)
    return np.arctan2(turn, np.einsum("ei,ei->e", zero, flat))


def project(ways: np.ndarray, normal: np.ndarray, tangent: np.ndarray) -> np.ndarray:
    """Lay ways down in a tangent plane and keep their lengths.

    Parameters
    ----------
    ways : float array, shape (N, 3)
    normal, tangent : float arrays, shape (3,) or (N, 3)
        Of unit length; the tangent is the real axis.

    Returns
    -------
    complex array, shape (N,)
    """
    flat = np.einsum("ni,ni->n", ways, np.broadcast_to(tangent, ways.shape)) + 1j * np.einsum(
        "ni,ni->n", ways, np.broadcast_to(np.cross(normal, tangent), ways.shape)
    )
    lengths = measure_lengths(ways)
    return flat * np.clip(lengths / np.maximum(np.abs(flat), 1e-300), 1.0, BEND)


def unfold(
    connection: Connection,
    region: np.ndarray,
    seeds: np.ndarray,
    coordinates: np.ndarray,
    reach: float,
    half_length: float = 0.0,
) -> np.ndarray:
    """Give the vertices of a region their place in the plane.

    Parameters
    ----------
    connection : Connection
    region : int array, shape (N,)
        Ascending, with all seeds. A vertex that no edges join to a seed is not reached.
    seeds : int array, shape (S,)
        All vertices of some faces.
    coordinates : complex array, shape (S,)
        Their place, object units.
    reach : float
        How far the plane is wanted, object units.
    half_length : float
        The unfolding starts at the points of the real axis from -half_length to half_length.

    Returns
    -------
    complex array, shape (V,)
        NaN outside of the region and where it is not reached.

    Notes
    -----
    Schmidt, Grimm & Wyvill 2006 (Interactive decal compositing with discrete exponential maps) with the averages over
    all upwind neighbors of Schmidt 2013 (Stroke parameterization). Tangent planes are those of `Connection`, not planes
    in space: what can be unfolded is, whatever its creases. At the end each vertex goes to the average of what all of
    its neighbors say, some times: that is what keeps triangles from folding.
    """
    local = _cut_out(connection, region)
    owner = np.repeat(np.arange(len(region)), np.diff(local.starts))
    own = np.searchsorted(region, seeds)
    flat = np.full(len(region), np.nan + 0j)
    flat[own] = coordinates
    turns = np.full(len(region), np.nan + 0j)
    turns[own] = _fit_turns(local, owner, flat)[own]

    distances = np.full(len(region), np.inf)
    distances[own] = np.abs(coordinates - np.clip(np.real(coordinates), -half_length, half_length))
    distances = _spread_distances(local, distances, ROUNDABOUT * reach)
    reached = np.isfinite(distances)
    if not reached.all():
        return unfold(connection, region[reached], seeds, coordinates, reach, half_length)
    _march(local, owner, distances, flat, turns)
    _relax(local, owner, own, flat, turns)
    result = np.full(len(connection.starts) - 1, np.nan + 0j)
    result[region] = flat
    return result


def _cut_out(connection: Connection, region: np.ndarray) -> Connection:
    """The connection among the vertices of a region, which are numbered by their place in it."""
    names = np.full(len(connection.starts) - 1, -1)
    names[region] = np.arange(len(region))
    counts = connection.starts[region + 1] - connection.starts[region]
    which = np.repeat(connection.starts[region] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
    ends = names[connection.ends[which]]
    inside = ends >= 0
    kept = which[inside]
    owner = np.repeat(np.arange(len(region)), counts)[inside]
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


def _fit_turns(local: Connection, owner: np.ndarray, flat: np.ndarray) -> np.ndarray:
    """What turns each vertex's plane into the common one, by its edges to neighbors whose place is known."""
    known = np.flatnonzero(~np.isnan(flat[owner]) & ~np.isnan(flat[local.ends]))
    steps = flat[local.ends[known]] - flat[owner[known]]
    return _unit(_sum_by(owner[known], _unit(steps) * np.conj(_unit(local.leaving[known])), len(flat)))


def _spread_distances(local: Connection, distances: np.ndarray, limit: float) -> np.ndarray:
    """Lengths of the shortest ways along edges, shape (N,), to where distances are given; infinite far beyond a limit.

    Two edges beyond it have theirs: the other corners of faces that have one within.
    """
    active = np.flatnonzero(np.isfinite(distances))
    last = 0
    while len(active):
        counts = local.starts[active + 1] - local.starts[active]
        edges = np.repeat(local.starts[active] - np.cumsum(counts) + counts, counts) + np.arange(counts.sum())
        ways, ends = np.repeat(distances[active], counts) + local.lengths[edges], local.ends[edges]
        nearer = ways < distances[ends]
        ways, ends = ways[nearer], ends[nearer]
        np.minimum.at(distances, ends, ways)
        fresh = np.zeros(len(distances), bool)
        fresh[ends] = True
        active = np.flatnonzero(fresh & (distances <= limit))
        if not len(active) and last < 2:
            last += 1
            active = np.flatnonzero(np.isfinite(distances))
    return distances


def _march(local: Connection, owner: np.ndarray, distances: np.ndarray, flat: np.ndarray, turns: np.ndarray) -> None:
    """Fill in places and turns, shape (N,) each, away from where they are known, one rank of vertices at a time.

    Where two fronts meet, a vertex goes with the neighbor on its shortest way and with those that agree.
    """
    with np.errstate(invalid="ignore"):
        descents = (distances[owner] - distances[local.ends]) / local.lengths
    upwind = np.flatnonzero((descents >= UPWIND) & np.isnan(flat[owner]))
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
    by_way = np.lexsort((distances[ends] + lengths, np.repeat(np.arange(len(rows)), counts)))
    nearest = np.repeat(by_way[starts], counts)
    levels = np.searchsorted(ranks[rows], np.arange(1, ranks.max(initial=0) + 2))
    spans = np.append(starts, len(sides))
    for low, high in pairwise(levels):
        first = spans[low]
        part = slice(first, spans[high])
        near, cuts, target = ends[part], starts[low:high] - first, rows[low:high]
        turn = turns[near]
        told = flat[near] + turn * arriving[part]
        shares = weights[part] * (np.abs(told - told[nearest[part] - first]) <= lengths[part])
        turns[target] = _unit(np.add.reduceat(turn * transport[part] * shares, cuts))
        flat[target] = np.add.reduceat(told * shares, cuts) / np.add.reduceat(shares, cuts)


def _relax(local: Connection, owner: np.ndarray, fixed: np.ndarray, flat: np.ndarray, turns: np.ndarray) -> None:
    """Move all but the fixed vertices to the average of what their neighbors say, `SWEEPS` times."""
    steps = 0.5 * (turns[local.ends] * local.arriving - turns[owner] * local.leaving)
    for _ in range(SWEEPS):
        others = flat[local.ends]
        weights = np.where(np.abs(flat[owner] - others) <= MISFIT * local.lengths, 1.0 / local.lengths, 0.0)
        totals = np.bincount(owner, weights, len(flat))
        moved = _sum_by(owner, weights * (others + steps), len(flat))
        free = totals > 0
        free[fixed] = False
        flat[free] = moved[free] / totals[free]
