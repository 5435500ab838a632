"""Lines on the skin along which weight passes from one bone to the next, and weights that follow moved lines.

At a joint the child's side is the child bone with all that hangs on it, and a vertex's share is what of its weight is
on that side. The line is where the share is a half. Distance from it along the surface and the way around it are the
coordinates in which the share is moved: untouched lines leave every weight as it was, to the last bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.iso_lines import Segments, Spots, chain_segments, trace_segments
from ..geometry.line_splines import fill_tables, handle_turns, read_table, spline_basis
from ..geometry.surface_distances import carry_values, march_distances
from ..geometry.vectors import smooth_step

HANDLES = 8
"""Of each line."""

LEVEL = 0.5
"""Share at which the line runs, where there is such a share."""

FAINTEST = 0.05
"""A side that is nowhere felt more has no line."""

OUTER = (0.2, 1.8)
"""Levels of the two lines beside it, in shares of its own: 0.1 and 0.9."""

FARTHEST = 0.3
"""How far a line may be moved, in shares of the reach: further, the skin's coordinates would fold."""

WIDEST = 8.0
"""How much wider or narrower falloff may become."""

MINOR = 0.2
"""Lines shorter than this share of the longest are specks, which are not moved."""

FAINT = 1e-3
"""What of a table's transition, T (1 - T), counts as none."""


@dataclass(frozen=True)
class LineField:
    """The lines of one joint, and the skin around them in coordinates along and around the limb.

    Vertices and triangles are those within reach, numbered anew.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Their numbers in the mesh.
    triangles : int array, shape (M, 3)
    shares : float64 array, shape (N,)
        Share of the weight on the child's side.
    level : float
        Share at which the lines run.
    distances : float64 array, shape (N,)
        From the nearest line along the surface, in units of the points: negative on the parent's side.
    lines : int array, shape (N,)
        Which line is nearest.
    around : complex128 array, shape (N,)
        Which place of the line is nearest: of length 1, its angle once around the circle from the start of a line to
        its end; half around where a line is open.
    closed : tuple of bool
        Whether each line is.
    lengths : tuple of float
        Of the lines.
    basis : float64 array, shape (N, L * HANDLES)
        What the handles of the lines count.
    fades : float64 array, shape (N,)
        1 near the lines, smoothly to 0 at the end of the reach.
    table : float64 array, shape (N, COLUMNS)
        Shares along the limb, from the parent's side to the child's, rising, as they are around the limb where the
        vertex is.
    reach : float
    """

    vertices: np.ndarray
    triangles: np.ndarray
    shares: np.ndarray
    level: float
    distances: np.ndarray
    lines: np.ndarray
    around: np.ndarray
    closed: tuple[bool, ...]
    lengths: tuple[float, ...]
    basis: np.ndarray
    fades: np.ndarray
    table: np.ndarray
    reach: float

    @property
    def line_count(self) -> int:
        return len(self.closed)

    def find_turns(self, line: int) -> np.ndarray:
        """Angles of the handles of a line in `around`, as complex numbers, shape (HANDLES,)."""
        closed = self.closed[line]
        return np.exp((2j if closed else 1j) * np.pi * handle_turns(HANDLES, closed))


def choose_level(shares: np.ndarray, is_felt: np.ndarray) -> float:
    """The share at which a line runs: a half, or half of the greatest where none is as great.

    Raises
    ------
    SkinningError
        Where no vertex, or every vertex, is on the child's side.
    """
    greatest = float(shares[is_felt].max(initial=0.0))
    if greatest < FAINTEST:
        raise SkinningError("has no weight here: give it some first")
    level = LEVEL if greatest > LEVEL else 0.5 * greatest
    if float(shares[is_felt].min(initial=1.0)) >= level:
        raise SkinningError("has all the weight here, and there is nowhere that it passes from its parent")
    return level


def build_field(points: np.ndarray, triangles: np.ndarray, shares: np.ndarray, level: float, reach: float) -> LineField:
    """Find a joint's lines and lay coordinates around them.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest, welded: triangles that meet have vertices in common.
    triangles : int array, shape (T, 3)
    shares : float array, shape (V,)
        Share of each vertex's weight on the child's side.
    level : float
    reach : float
        How far from the lines weights may change, in units of the points; lengthened where lines are long.

    Returns
    -------
    LineField

    Raises
    ------
    SkinningError
        Where no line runs.

    Notes
    -----
    After Bang & Lee 2018, "Spline interface for intuitive skinning weight editing", who draw splines on the surface
    and make weights anew from them, by functions fitted to what was there. Here weights are never made anew: each
    vertex keeps its difference from a smooth table of shares over (distance, place around the line), and the table is
    moved under it.
    """
    points = np.asarray(points, np.float64)
    segments = trace_segments(shares, triangles, level)
    ends = segments.take(points)
    chains = _choose_chains(chain_segments(segments), ends)
    if not chains:
        raise SkinningError("passes from its parent nowhere on this mesh")
    lengths, around = _go_around(chains, ends)
    reach = max(reach, 0.5 * max(lengths))
    pieces = np.concatenate([order for order, _, _ in chains])
    line_of = np.repeat(np.arange(len(chains)), [len(order) for order, _, _ in chains])
    distances = march_distances(points, triangles, ends[pieces], segments.triangles[pieces], reach)
    carried = _carry(distances, around, line_of, len(chains), np.where(shares >= level, 1.0, -1.0))
    vertices = np.flatnonzero(distances.is_reached)
    number = np.full(len(points), -1)
    number[vertices] = np.arange(len(vertices))
    local = number[triangles]
    local = local[(local >= 0).all(axis=1)]
    sign, place, lines = (one[vertices] for one in carried)
    signed = sign * distances.values[vertices]
    closed = tuple(is_closed for _, _, is_closed in chains)
    basis = np.zeros((len(vertices), HANDLES * len(chains)))
    for line, is_closed in enumerate(closed):
        own = np.flatnonzero(lines == line)
        turns = np.angle(place[own]) / (2 * np.pi if is_closed else np.pi)
        turns = turns if is_closed else np.clip(turns, 0.0, 1.0)
        basis[own, HANDLES * line : HANDLES * (line + 1)] = spline_basis(turns, HANDLES, is_closed)
    own_shares = np.asarray(shares, np.float64)[vertices]
    table = fill_tables(points[vertices], local, own_shares, signed / reach, place, lines, closed)
    far = np.clip(2.0 * np.abs(signed) / reach - 1.0, 0.0, 1.0)
    return LineField(
        vertices=vertices,
        triangles=local,
        shares=own_shares,
        level=level,
        distances=signed,
        lines=lines,
        around=place,
        closed=closed,
        lengths=tuple(lengths),
        basis=basis,
        fades=1.0 - smooth_step(far),
        table=table,
        reach=reach,
    )


def _choose_chains(chains: list, ends: np.ndarray) -> list:
    """Lines that are no specks, the longest first."""
    sizes = [float(np.linalg.norm(ends[order, 1] - ends[order, 0], axis=1).sum()) for order, _, _ in chains]
    ranked = sorted(range(len(chains)), key=lambda index: -sizes[index])
    return [chains[index] for index in ranked if sizes[index] > MINOR * max(sizes) > 0]


def _go_around(chains: list, ends: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Lengths of lines, and the angles of their pieces' starts and ends as complex numbers, shape (S, 2).

    A closed line starts at its highest place.
    """
    lengths, around = [], []
    for order, turned, is_closed in chains:
        steps = np.linalg.norm(ends[order, 1] - ends[order, 0], axis=1)
        stops = np.concatenate([[0.0], np.cumsum(steps)])
        lengths.append(float(stops[-1]))
        starts = np.where(turned[:, None], ends[order, 1], ends[order, 0])
        first = stops[starts[:, 2].argmax()] if is_closed else 0.0
        angles = (stops - first) / stops[-1] * (2.0 if is_closed else 1.0) * np.pi
        pairs = np.stack([angles[:-1], angles[1:]], axis=1)
        around.append(np.exp(1j * np.where(turned[:, None], pairs[:, ::-1], pairs)))
    return lengths, np.concatenate(around)


def _carry(distances, around: np.ndarray, line_of: np.ndarray, count: int, signs: np.ndarray) -> tuple:
    """Sides, places around and lines of all vertices within reach, from those beside the lines."""
    beside = np.flatnonzero(distances.segments >= 0)
    pieces, share = distances.segments[beside], distances.shares[beside]
    place = (1.0 - share) * around[pieces, 0] + share * around[pieces, 1]
    starts = np.zeros((len(signs), 3 + count))
    starts[beside, 0], starts[beside, 1], starts[beside, 2] = signs[beside], place.real, place.imag
    starts[beside, 3 + line_of[pieces]] = 1.0
    carried = carry_values(distances, starts)
    place = carried[:, 1] + 1j * carried[:, 2]
    size = np.abs(place)
    place = np.where(size > 0, place / np.where(size > 0, size, 1.0), 1.0)
    return np.where(carried[:, 0] >= 0, 1.0, -1.0), place, carried[:, 3:].argmax(axis=1)


def move_shares(field: LineField, offsets: np.ndarray, widths: np.ndarray) -> np.ndarray:
    """Move the lines of a joint.

    Parameters
    ----------
    field : LineField
    offsets : float array, shape (L, HANDLES)
        How far each handle goes along the surface, in units of the points: towards the child if positive. At most
        `FARTHEST` of the reach counts.
    widths : float array, shape (L, HANDLES)
        Falloff at each handle, as factor of what it was; between 1 / `WIDEST` and `WIDEST`.

    Returns
    -------
    float64 array, shape (N,)
        Shares on the child's side: exactly `field.shares` where offsets are 0 and widths 1.

    Notes
    -----
    With x the distance, T the table, s the share and r = s - T(x) what the table does not tell:
    x' = x + fade ((x - offset) / width - x), s' = T(x') + r min(1, (T' (1 - T') + e) / (T (1 - T) + e)). What is told
    by no table goes with the transition: where T' is 0 or 1, nothing of it is left behind.
    """
    limit = FARTHEST * field.reach
    offset = np.clip(field.basis @ np.ravel(offsets), -limit, limit)
    width = np.exp(field.basis @ np.log(np.clip(np.ravel(widths), 1.0 / WIDEST, WIDEST)))
    x = field.distances
    moved = x + field.fades * ((x - offset) / width - x)
    before = read_table(field.table, x / field.reach)
    after = read_table(field.table, moved / field.reach)
    kept = np.minimum(1.0, (after * (1.0 - after) + FAINT) / (before * (1.0 - before) + FAINT))
    rest = field.shares - before
    return np.clip(field.shares + (after - before) + rest * (kept - 1.0), 0.0, 1.0)


def move_weights(
    weights: np.ndarray, side: np.ndarray, child: int, parent: int, gains: np.ndarray, is_free: np.ndarray
) -> np.ndarray:
    """Take weight from one side of a joint and give it to the other side's bone.

    Parameters
    ----------
    weights : float array, shape (N, B)
    side : bool array, shape (B,)
        The child bone and all that hangs on it.
    child, parent : int
        The two bones of the joint: one of them gains, and the other one gives first. Only where it has nothing left
        do the others of its side give, each in proportion to what it has.
    gains : float array, shape (N,)
        What the child's side is to gain, in shares of a vertex's weight; what it is to lose if negative.
    is_free : bool array, shape (B,)
        Bones whose weights may change.

    Returns
    -------
    float64 array, shape (N, B)
        Rows with the same sums. Less is moved where the side that gives has less.
    """
    result = np.array(weights, np.float64)
    amounts = gains * result.sum(axis=1)
    for rows, giver, taker, givers in (
        (amounts > 0, parent, child, ~side & is_free),
        (amounts < 0, child, parent, side & is_free),
    ):
        if not (is_free[giver] and is_free[taker]) or not rows.any():
            continue
        wanted = np.abs(amounts[rows])
        block = result[rows]
        own = np.minimum(wanted, block[:, giver])
        block[:, giver] -= own
        stock = block * givers
        total = stock.sum(axis=1)
        more = np.minimum(wanted - own, total)
        block -= stock * (more / np.where(total > 0, total, 1.0))[:, None]
        block[:, taker] += own + more
        result[rows] = block
    return result


def locate_handles(field: LineField, shares: np.ndarray, level: float, expected: np.ndarray) -> Spots:
    """Find the handles on the lines where shares pass a level.

    Parameters
    ----------
    field : LineField
    shares : float array, shape (N,)
        As they are now.
    level : float
    expected : float array, shape (L, HANDLES)
        About how far from where lines were, along the limb, each is: of several places the nearest is taken.

    Returns
    -------
    Spots
        One for each handle, (L * HANDLES,): vertices of the field.
    """
    segments = trace_segments(shares, field.triangles, level)
    places, x = segments.take(field.around), segments.take(field.distances)
    lines = field.lines[segments.edges[:, 0, 0]]
    vertices, weights = [], []
    for line in range(field.line_count):
        for turn, aim in zip(field.find_turns(line), expected[line], strict=True):
            beside = places * np.conj(turn)
            passes = (beside.imag[:, 0] >= 0) != (beside.imag[:, 1] >= 0)
            found = np.flatnonzero(passes & (beside.real > 0).all(axis=1) & (lines == line))
            if not found.size:
                vertices.append(np.repeat(_nearest_vertex(field, line, turn, aim), 4))
                weights.append(np.array([1.0, 0.0, 0.0, 0.0]))
                continue
            best = found[np.abs(x[found].mean(axis=1) - aim).argmin()]
            start, end = beside.imag[best]
            along = start / (start - end)
            first, second = segments.shares[best]
            vertices.append(segments.edges[best].ravel())
            weights.append(
                np.array([(1 - along) * (1 - first), (1 - along) * first, along * (1 - second), along * second])
            )
    return Spots(np.array(vertices), np.array(weights))


def _nearest_vertex(field: LineField, line: int, turn: complex, aim: float) -> int:
    """The vertex nearest to a place by its coordinates: where shares no longer tell."""
    around = 0.5 * field.lengths[line] / np.pi * np.abs(np.angle(field.around * np.conj(turn)))
    away = np.hypot(around, field.distances - aim)
    return int(np.where(field.lines == line, away, np.inf).argmin())


def trace_rail(field: LineField, line: int, handle: int) -> tuple[Segments, np.ndarray]:
    """The way along the limb that a handle is dragged on.

    Returns
    -------
    segments : Segments
        With vertices of the field.
    distances : float64 array, shape (S, 2)
        At their starts and ends, from where the line was.
    """
    beside = field.around * np.conj(field.find_turns(line)[handle])
    own = field.triangles[(field.lines[field.triangles] == line).all(axis=1)]
    own = own[(beside.real[own] > 0).all(axis=1)]
    segments = trace_segments(beside.imag, own, 0.0)
    return segments, segments.take(field.distances)
