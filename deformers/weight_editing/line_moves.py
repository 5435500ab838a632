"""Weights that follow moved weight lines.

Shares are moved in two coordinates, the distance from a line along the surface and the angle around the limb. Lines
that are not moved do not change any weight.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..geometry.iso_lines import LinePoints, Segments, trace_segments
from ..geometry.line_splines import read_table
from .line_fields import HANDLES_PER_LINE, LineField

# In shares of the reach: farther, the coordinates on the skin would fold.
MAX_OFFSET = 0.3

# Factor by which the falloff may become wider or narrower
MAX_FALLOFF = 8.0

# Lower bound of slopes of a table's transition, T (1 - T)
MIN_TRANSITION = 1e-3

# Vertices of the other side's field from which a mirrored handle is interpolated
MIRROR_NEIGHBORS = 3


@dataclass(frozen=True)
class HandleMoves:
    """Moves of the handles of a joint's lines.

    Attributes
    ----------
    offsets : float64 array, shape (L, HANDLES_PER_LINE)
        Along the surface, in units of the points: towards the child if positive.
    widths : float64 array, shape (L, HANDLES_PER_LINE)
        Falloff, as a factor of the falloff before.
    """

    offsets: np.ndarray
    widths: np.ndarray

    @classmethod
    def none(cls, line_count: int) -> HandleMoves:
        """No moves, of a joint with `line_count` lines."""
        return cls(np.zeros((line_count, HANDLES_PER_LINE)), np.ones((line_count, HANDLES_PER_LINE)))

    @property
    def is_moved(self) -> bool:
        """Whether any handle is moved."""
        return bool(self.moved_lines)

    @property
    def moved_lines(self) -> list[int]:
        """Indices of the lines with moved handles."""
        return np.flatnonzero(self.offsets.any(axis=1) | (self.widths != 1.0).any(axis=1)).tolist()

    def set_line(
        self, line: int, offsets: Sequence[float] | np.ndarray, widths: Sequence[float] | np.ndarray
    ) -> HandleMoves:
        """Set the handles of one line. `offsets` and `widths`, sequences of float, shape (HANDLES_PER_LINE,)."""
        result = replace(self, offsets=self.offsets.copy(), widths=self.widths.copy())
        result.offsets[line], result.widths[line] = offsets, widths
        return result

    def add_offset(self, handles: Any, offset: float, limit: float) -> HandleMoves:
        """Move some handles.

        Parameters
        ----------
        handles : index
            Of `offsets`: the handles to move.
        offset : float
            Added to their offsets.
        limit : float
            Largest offset in either direction.
        """
        offsets = self.offsets.copy()
        offsets[handles] = np.clip(offsets[handles] + offset, -limit, limit)
        return replace(self, offsets=offsets)

    def scale_widths(self, handles: Any, factor: float) -> HandleMoves:
        """Scale the falloff at some handles, an index of `widths`, by a factor, within `MAX_FALLOFF`."""
        widths = self.widths.copy()
        widths[handles] = np.clip(widths[handles] * factor, 1.0 / MAX_FALLOFF, MAX_FALLOFF)
        return replace(self, widths=widths)

    def mix(self, mixing: np.ndarray, line_count: int) -> HandleMoves:
        """Moves of another joint's handles, by a matrix of `find_mirror_mixing`, shape (L' * HANDLES_PER_LINE, L *
        HANDLES_PER_LINE).
        """
        offsets, widths = mixing @ self.offsets.ravel(), np.exp(mixing @ np.log(self.widths.ravel()))
        return HandleMoves(offsets.reshape(line_count, HANDLES_PER_LINE), widths.reshape(line_count, HANDLES_PER_LINE))


def move_shares(field: LineField, moves: HandleMoves) -> np.ndarray:
    """Move the lines of a joint.

    `moves`: offsets count up to `MAX_OFFSET` of the reach, widths between 1 / `MAX_FALLOFF` and `MAX_FALLOFF`. Returns
    a float64 array, shape (N,): shares on the child's side: exactly `field.shares` at offsets 0 and widths 1.

    Notes
    -----
    With x the distance, T the table, s the share and r = s - T(x) the part of it that the table does not explain:
    x' = x + fade ((x - offset) / width - x), s' = T(x') + r min(1, (T' (1 - T') + e) / (T (1 - T) + e)). The
    unexplained part follows the transition: none of it is left at T' = 0 or 1.
    """
    limit = MAX_OFFSET * field.reach
    offset = np.clip(field.basis @ np.ravel(moves.offsets), -limit, limit)
    widths = np.clip(np.ravel(moves.widths), 1.0 / MAX_FALLOFF, MAX_FALLOFF)
    width = np.exp(field.basis @ np.log(widths))
    x = field.distances
    moved = x + field.fades * ((x - offset) / width - x)
    before = read_table(field.table, x / field.reach)
    after = read_table(field.table, moved / field.reach)
    transition = after * (1.0 - after) + MIN_TRANSITION, before * (1.0 - before) + MIN_TRANSITION
    kept = np.minimum(1.0, transition[0] / transition[1])
    rest = field.shares - before
    return np.clip(field.shares + (after - before) + rest * (kept - 1.0), 0.0, 1.0)


def move_weights(
    weights: np.ndarray, side: np.ndarray, child: int, parent: int, gains: np.ndarray, is_free: np.ndarray
) -> np.ndarray:
    """Move weight from one side of a joint to the bone of the other side.

    Parameters
    ----------
    weights : float array, shape (N, B)
    side : bool array, shape (B,)
        The child bone and its descendants.
    child, parent : int
        The two bones of the joint: one gains, and the other gives first. Once it has nothing left, the other bones of
        its side give in proportion to their weights.
    gains : float array, shape (N,)
        Gain of the child's side, in shares of a vertex's weight, or loss if negative.
    is_free : bool array, shape (B,)
        Bones whose weights may change.

    Returns
    -------
    float64 array, shape (N, B)
        Sums of rows stay. Less is moved if the giving side has less.
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


def locate_handles(field: LineField, shares: np.ndarray, level: float, expected: np.ndarray) -> LinePoints:
    """Find the handles on the lines at a level of shares.

    Parameters
    ----------
    shares : float array, shape (N,)
        Current shares of the field's vertices.
    expected : float array, shape (L, HANDLES_PER_LINE)
        Approximate distance of each handle from its former line: if a line passes a handle's angle several times, the
        nearest point counts.

    Returns
    -------
    LinePoints
        A point for each handle, (L * HANDLES_PER_LINE,): vertices of the field.
    """
    segments = trace_segments(shares, field.triangles, level)
    around, distances = segments.interpolate(field.around), segments.interpolate(field.distances)
    lines = field.lines[segments.edges[:, 0, 0]]
    vertices, weights = [], []
    for line in range(field.line_count):
        for angle, target in zip(field.find_handle_angles(line), expected[line], strict=True):
            beside = around * np.conj(angle)
            passes = (beside.imag[:, 0] >= 0) != (beside.imag[:, 1] >= 0)
            found = np.flatnonzero(passes & (beside.real > 0).all(axis=1) & (lines == line))
            if not found.size:
                vertices.append(np.repeat(_find_nearest_vertex(field, line, angle, target), 4))
                weights.append(np.array([1.0, 0.0, 0.0, 0.0]))
                continue
            best = found[np.abs(distances[found].mean(axis=1) - target).argmin()]
            start, end = beside.imag[best]
            along = start / (start - end)
            first, second = segments.shares[best]
            vertices.append(segments.edges[best].ravel())
            weights.append(
                np.array([(1 - along) * (1 - first), (1 - along) * first, along * (1 - second), along * second])
            )
    return LinePoints(np.array(vertices), np.array(weights))


def _find_nearest_vertex(field: LineField, line: int, angle: complex, distance: float) -> int:
    """The vertex nearest to coordinates of the field, for a handle at which shares no longer pass the level."""
    around = 0.5 * field.lengths[line] / np.pi * np.abs(np.angle(field.around * np.conj(angle)))
    away = np.hypot(around, field.distances - distance)
    return int(np.where(field.lines == line, away, np.inf).argmin())


def trace_handle_path(field: LineField, line: int, handle: int) -> tuple[Segments, np.ndarray]:
    """Trace the path along the limb on which a handle is dragged.

    `line` and `handle`: index of the line, and of the handle on it.

    Returns
    -------
    segments : Segments
        With vertices of the field.
    distances : float64 array, shape (S, 2)
        At their starts and ends, from the former line.
    """
    beside = field.around * np.conj(field.find_handle_angles(line)[handle])
    own = field.triangles[(field.lines[field.triangles] == line).all(axis=1)]
    own = own[(beside.real[own] > 0).all(axis=1)]
    segments = trace_segments(beside.imag, own, 0.0)
    return segments, segments.interpolate(field.distances)


def find_mirror_mixing(points: np.ndarray, field: LineField, other: LineField, mirror: np.ndarray) -> np.ndarray:
    """Weights by which the handles of a field follow those of the other side's field.

    Parameters
    ----------
    points : float array, shape (V, 3)
        All points of the mesh at rest.
    field, other : LineField
        The field that follows, and the other side's field.
    mirror : float array, shape (4, 4)
        From one side to the other, in the space of the points.

    Returns
    -------
    float64 array, shape (L * HANDLES_PER_LINE, L' * HANDLES_PER_LINE)
        Handles of the two sides need not be at mirrored positions: the spline is mirrored.
    """
    still = np.zeros((field.line_count, HANDLES_PER_LINE))
    handles = locate_handles(field, field.shares, field.level, still).interpolate(points[field.vertices])
    handles = handles @ mirror[:3, :3].T + mirror[:3, 3]
    near_line = np.argsort(np.abs(other.distances))[: 4000 * other.line_count]
    away = np.linalg.norm(handles[:, None] - points[other.vertices[near_line]], axis=2)
    nearest = np.argsort(away, axis=1)[:, :MIRROR_NEIGHBORS]
    weights = 1.0 / (np.take_along_axis(away, nearest, axis=1) + 1e-9 * other.reach)
    weights /= weights.sum(axis=1, keepdims=True)
    return np.einsum("hn,hnk->hk", weights, other.basis[near_line[nearest]])
