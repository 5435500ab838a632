"""Weight lines of one joint, and coordinates along and around the limb on the skin near them.

The child's side of a joint is the child bone with its descendants; a vertex's share is its part of the weight on that
side. The line is at a share of a half.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from ..geometry.iso_lines import LineSegments, chain_segments, trace_segments
from ..geometry.line_splines import fill_tables, find_handle_fractions, spline_basis
from ..geometry.surface_distances import Distances, carry_values, march_distances
from ..geometry.vectors import smooth_step

HANDLES_PER_LINE = 8

# Share at which the line is, if the skin reaches it
LEVEL = 0.5

# A side with smaller shares has no line.
MIN_PEAK = 0.05

# Relative to the longest: shorter lines are specks, which cannot be moved.
MIN_LINE = 0.2


class LineProblem(Enum):
    """Reason why a bone has no weight line that can be moved."""

    NOT_DEFORMING = "the bone is not a deforming bone"
    NO_PARENT = "it has no deforming parent"
    LOCKED = "the vertex group of the bone is locked"
    PARENT_LOCKED = "the vertex group of its parent is locked"
    NO_WEIGHT = "its side of the line has almost no weight"
    ALL_WEIGHT = "its side of the line has all the weight"
    NO_CROSSING = "no triangle connects the two sides"


class MissingLineError(Exception):
    """A bone has no weight line that can be moved."""

    def __init__(self, problem: LineProblem) -> None:
        super().__init__(problem.value)
        self.problem = problem


@dataclass(frozen=True)
class LineField:
    """The lines of one joint, and the skin around them in coordinates along and around the limb.

    Vertices and triangles are those within reach, N and M of them, with indices of their own.

    Attributes
    ----------
    vertices : int array, shape (N,)
        Their indices in the mesh.
    triangles : int array, shape (M, 3)
    shares : float64 array, shape (N,)
        Share of the weight on the child's side.
    level : float
        Share at which the lines are.
    distances : float64 array, shape (N,)
        From the nearest line along the surface, in units of the points: negative on the parent's side.
    lines : int array, shape (N,)
        Index of the nearest line.
    around : complex128 array, shape (N,)
        Position around the limb, of length 1: its angle goes from the start of the nearest line to its end once around
        the circle, or half around for an open line.
    closed : tuple of bool
        Whether each line is a loop.
    lengths : tuple of float
        Of the lines.
    basis : float64 array, shape (N, L * HANDLES_PER_LINE)
        Weights of the handles of the lines.
    fades : float64 array, shape (N,)
        1 near the lines, smoothly to 0 at the end of the reach.
    table : float64 array, shape (N, COLUMNS)
        Smooth shares along the limb at the vertex's position around it, rising from the parent's side to the child's.
    reach : float
        Largest distance at which weights may change.
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
        """Number of lines, L."""
        return len(self.closed)

    def find_handle_angles(self, line: int) -> np.ndarray:
        """Positions of the handles of a line in `around`, complex128, shape (HANDLES_PER_LINE,)."""
        closed = self.closed[line]
        return np.exp((2j if closed else 1j) * np.pi * find_handle_fractions(HANDLES_PER_LINE, closed))


def choose_level(shares: np.ndarray, is_weighted: np.ndarray) -> float:
    """Share at which a line is: a half, or half of the greatest share if that is smaller.

    Parameters
    ----------
    shares : float array, shape (V,)
        Share of each vertex's weight on the child's side.
    is_weighted : bool array, shape (V,)
        Vertices that count.

    Raises
    ------
    MissingLineError
        If no vertex, or every vertex, is on the child's side.
    """
    greatest = float(shares[is_weighted].max(initial=0.0))
    if greatest < MIN_PEAK:
        raise MissingLineError(LineProblem.NO_WEIGHT)
    level = LEVEL if greatest > LEVEL else 0.5 * greatest
    if float(shares[is_weighted].min(initial=1.0)) >= level:
        raise MissingLineError(LineProblem.ALL_WEIGHT)
    return level


def build_field(points: np.ndarray, triangles: np.ndarray, shares: np.ndarray, level: float, reach: float) -> LineField:
    """Find a joint's lines, and coordinates around them.

    Parameters
    ----------
    points : float array, shape (V, 3)
        At rest.
    triangles : int array, shape (T, 3)
        Welded: adjacent triangles have vertices in common.
    shares : float array, shape (V,)
        Share of each vertex's weight on the child's side.
    level : float
        Share at which the lines are.
    reach : float
        Largest distance from the lines at which weights may change, in units of the points; increased for long lines.

    Raises
    ------
    MissingLineError
        Without a line.

    Notes
    -----
    After Bang & Lee 2018, "Spline interface for intuitive skinning weight editing", who draw splines on the surface
    and compute new weights from functions fitted to the former weights. Here each vertex keeps its difference from a
    smooth table of shares over (distance, angle around the limb), and the table is moved.
    """
    points = np.asarray(points, np.float64)
    segments = trace_segments(shares, triangles, level)
    ends = segments.interpolate(points)
    chains = _drop_specks(chain_segments(segments), ends)
    if not chains:
        raise MissingLineError(LineProblem.NO_CROSSING)
    lengths, angles = _measure_chains(chains, ends)
    reach = max(reach, 0.5 * max(lengths))
    order = np.concatenate([chain.segments for chain in chains])
    line_of = np.repeat(np.arange(len(chains)), [len(chain.segments) for chain in chains])
    found = march_distances(points, triangles, ends[order], segments.triangles[order], reach)
    carried = _carry(found, angles, line_of, len(chains), np.where(shares >= level, 1.0, -1.0))
    vertices = np.flatnonzero(found.is_reached)
    index_of = np.full(len(points), -1)
    index_of[vertices] = np.arange(len(vertices))
    local = index_of[triangles]
    local = local[(local >= 0).all(axis=1)]
    signs, around, lines = (values[vertices] for values in carried)
    distances = signs * found.values[vertices]
    closed = tuple(chain.is_closed for chain in chains)
    own_shares = np.asarray(shares, np.float64)[vertices]
    table = fill_tables(points[vertices], local, own_shares, distances / reach, around, lines, closed)
    far = np.clip(2.0 * np.abs(distances) / reach - 1.0, 0.0, 1.0)
    return LineField(
        vertices=vertices,
        triangles=local,
        shares=own_shares,
        level=level,
        distances=distances,
        lines=lines,
        around=around,
        closed=closed,
        lengths=tuple(lengths),
        basis=_build_basis(around, lines, closed),
        fades=1.0 - smooth_step(far),
        table=table,
        reach=reach,
    )


def _build_basis(around: np.ndarray, lines: np.ndarray, closed: tuple[bool, ...]) -> np.ndarray:
    """`LineField.basis`."""
    basis = np.zeros((len(around), HANDLES_PER_LINE * len(closed)))
    for line, is_closed in enumerate(closed):
        own = np.flatnonzero(lines == line)
        fractions = np.angle(around[own]) / (2 * np.pi if is_closed else np.pi)
        fractions = fractions if is_closed else np.clip(fractions, 0.0, 1.0)
        basis[own, HANDLES_PER_LINE * line : HANDLES_PER_LINE * (line + 1)] = spline_basis(
            fractions, HANDLES_PER_LINE, is_closed
        )
    return basis


def _drop_specks(chains: list[LineSegments], ends: np.ndarray) -> list[LineSegments]:
    """Lines that are not specks, the longest first."""
    sizes = [float(np.linalg.norm(ends[chain.segments, 1] - ends[chain.segments, 0], axis=1).sum()) for chain in chains]
    ranked = sorted(range(len(chains)), key=lambda index: -sizes[index])
    return [chains[index] for index in ranked if sizes[index] > MIN_LINE * max(sizes) > 0]


def _measure_chains(chains: list[LineSegments], ends: np.ndarray) -> tuple[list[float], np.ndarray]:
    """Lengths of lines, and `around` at the starts and ends of their segments, shape (S, 2).

    A closed line starts at its highest point.
    """
    lengths, around = [], []
    for order, is_reversed, is_closed in chains:
        steps = np.linalg.norm(ends[order, 1] - ends[order, 0], axis=1)
        stops = np.concatenate([[0.0], np.cumsum(steps)])
        lengths.append(float(stops[-1]))
        starts = np.where(is_reversed[:, None], ends[order, 1], ends[order, 0])
        first = stops[starts[:, 2].argmax()] if is_closed else 0.0
        angles = (stops - first) / stops[-1] * (2.0 if is_closed else 1.0) * np.pi
        pairs = np.stack([angles[:-1], angles[1:]], axis=1)
        around.append(np.exp(1j * np.where(is_reversed[:, None], pairs[:, ::-1], pairs)))
    return lengths, np.concatenate(around)


def _carry(
    distances: Distances, angles: np.ndarray, line_of: np.ndarray, count: int, signs: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Sides, `around` and lines of all vertices within reach, shape (V,) each, from those next to the lines."""
    beside = np.flatnonzero(distances.segments >= 0)
    segments, share = distances.segments[beside], distances.shares[beside]
    around = (1.0 - share) * angles[segments, 0] + share * angles[segments, 1]
    starts = np.zeros((len(signs), 3 + count))
    starts[beside, 0], starts[beside, 1], starts[beside, 2] = signs[beside], around.real, around.imag
    starts[beside, 3 + line_of[segments]] = 1.0
    carried = carry_values(distances, starts)
    around = carried[:, 1] + 1j * carried[:, 2]
    size = np.abs(around)
    around = np.where(size > 0, around / np.where(size > 0, size, 1.0), 1.0)
    return np.where(carried[:, 0] >= 0, 1.0, -1.0), around, carried[:, 3:].argmax(axis=1)
