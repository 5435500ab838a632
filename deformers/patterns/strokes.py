"""Strokes: lines laid on a surface, and the surface beside them laid in the plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.neighbors import find_nearest, group_points
from ..geometry.unfolding import project
from ..geometry.vectors import measure_lengths, nearest_weights, normalize
from .chart_mesh import ChartMesh

STEP = 0.5  # of a stroke, in radii of the triangles near it, so that no crossed triangle is missed

MAX_STEPS = 1000

MAX_POINTS = 24  # that a file stores of a stroke


@dataclass(frozen=True)
class Stroke:
    """A stroke on a surface.

    Attributes
    ----------
    points : float64 array, shape (K, 3)
        On the surface, object space.
    normals : float64 array, shape (K, 3)
        Unit normals of the surface.
    triangles : int array, shape (K,)
        The triangle under each point.
    lengths : float64 array, shape (K,)
        Length of the stroke up to each point, ascending from 0.
    """

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    lengths: np.ndarray

    @property
    def length(self) -> float:
        """Total length."""
        return float(self.lengths[-1])

    def find_middle(self) -> tuple[np.ndarray, np.ndarray]:
        """Find the point half way along the stroke, float64 array, shape (3,), and the offset of its step, (3,)."""
        half = 0.5 * self.length
        step = np.clip(np.searchsorted(self.lengths, half) - 1, 0, len(self.points) - 2)
        return _interpolate(np.array([half]), self.lengths, self.points)[0], self.points[step + 1] - self.points[step]

    def flatten(self, points: np.ndarray) -> np.ndarray:
        """Lay points beside the stroke, float array, shape (N, 3), object space, in the plane.

        Returns
        -------
        complex array, shape (N,)
            Real: distance along the stroke from its middle. Imaginary: distance to its left. Object units.
        """
        steps, spans = np.diff(self.points, axis=0), np.diff(self.lengths)
        nearest = find_nearest(points, self.points, 1)[0][:, 0]
        sides = np.clip(np.stack([nearest - 1, nearest], axis=1), 0, len(steps) - 1)
        offsets = points[:, None] - self.points[sides]
        along = np.clip(np.einsum("nki,nki->nk", offsets, steps[sides]) / spans[sides] ** 2, 0.0, 1.0)
        squares = np.square(offsets - along[:, :, None] * steps[sides]).sum(axis=2)
        nearer = squares.argmin(axis=1)[:, None]
        best = np.take_along_axis(sides, nearer, axis=1)[:, 0]
        share = np.take_along_axis(along, nearer, axis=1)[:, 0]
        tangents = (steps / spans[:, None])[best]
        normals = self.normals[best] * (1 - share)[:, None] + self.normals[best + 1] * share[:, None]
        normals = normalize(normals - tangents * np.einsum("ni,ni->n", normals, tangents)[:, None])
        base = self.points[best] + share[:, None] * steps[best]
        aside = project(points - base, normals, tangents)
        # beside the line the distance counts, not its projection: it would shrink at the corners of the line
        ends = ((best == 0) & (share <= 0)) | ((best == len(steps) - 1) & (share >= 1))
        aside = np.where(ends, aside, 1j * np.copysign(np.abs(aside), aside.imag))
        return self.lengths[best] + share * spans[best] - 0.5 * self.length + aside


def trace_stroke(mesh: ChartMesh, line: np.ndarray, smoothing: float) -> Stroke:
    """Lay a line on a surface, in steps short enough to visit the triangles that it crosses.

    Raises SkinningError if the line has no length.

    Parameters
    ----------
    line : float array, shape (K, 3)
        Near the surface, object space.
    smoothing : float
        Length over which the line is smoothed, object units: hands tremble, and the plane folds beside a kink.
    """
    spans = measure_lengths(np.diff(line, axis=0))
    total = spans.sum()
    if total <= 0:
        raise SkinningError("The stroke has no length: draw it longer")
    gap = min(measure_lengths(mesh.centers - end).min() for end in line[[0, -1]])
    around = np.maximum(line.min(axis=0) - mesh.centers, mesh.centers - line.max(axis=0)).max(axis=1)
    near = np.flatnonzero(around <= mesh.radii + gap + spans.max())
    step = max(float(np.median(mesh.radii[near])) * STEP, total / MAX_STEPS)
    stops = np.linspace(0.0, total, int(np.ceil(total / step)) + 1)
    samples = _interpolate(stops, np.concatenate([[0.0], np.cumsum(spans)]), line)
    for _ in range(2):
        samples = _smooth(samples, round(0.5 * smoothing / stops[1]))
    found, weights = _find_nearest_triangles(mesh, samples, near)
    laid = np.einsum("nc,nci->ni", weights, mesh.points[mesh.triangle_points[found]])
    moved = np.append(True, measure_lengths(np.diff(laid, axis=0)) > 1e-6 * total)
    found, weights, laid = found[moved], weights[moved], laid[moved]
    if len(laid) < 2:
        raise SkinningError("The stroke has no length on the mesh: draw it on the skin")
    lengths = np.concatenate([[0.0], np.cumsum(measure_lengths(np.diff(laid, axis=0)))])
    normals = np.einsum("nc,nci->ni", weights, mesh.normals[mesh.triangle_points[found]])
    return Stroke(laid, normalize(normals), found, lengths)


def _interpolate(stops: np.ndarray, lengths: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Interpolate rows of values, shape (K, n), known at lengths, shape (K,), at stops, shape (L,): shape (L, n)."""
    return np.stack([np.interp(stops, lengths, column) for column in values.T], axis=1)


def resample(points: np.ndarray, count: int = MAX_POINTS) -> np.ndarray:
    """Find at most `count` points at even distances along a polyline: float64 array, shape (<= count, n).

    `points`, float array, shape (K, n): positions, followed by values that are interpolated with them.
    """
    points = np.asarray(points, np.float64)
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1))])
    stops = np.linspace(0.0, lengths[-1], min(count, len(points)))
    return _interpolate(stops, lengths, points)


def measure_line(points: np.ndarray) -> float:
    """Measure the length of a polyline, shape (K, 3), as a stroke, without the trembling of a hand."""
    return float(np.linalg.norm(np.diff(resample(points), axis=0), axis=1).sum())


def draw_band(points: np.ndarray, aspect: float) -> np.ndarray:
    """Draw a stroke and the borders of the pattern along it.

    Parameters
    ----------
    points : float array, shape (K, 6)
        Positions and unit normals of the surface, object space.
    aspect : float
        Width of the pattern over the length of the stroke.

    Returns
    -------
    float64 array, shape (3, L, 3)
        Middle, left border and right border, object space.
    """
    drawn = resample(points)
    line, normals = drawn[:, :3], drawn[:, 3:]
    left = np.cross(normals, np.gradient(line, axis=0))
    left /= np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-12)
    half = 0.5 * aspect * measure_line(line)
    return np.stack([line + offset * left for offset in (0.0, half, -half)])


def _smooth(samples: np.ndarray, reach: int) -> np.ndarray:
    """Average each sample, shape (K, 3), with up to `reach` samples to both sides, fewer toward the ends."""
    indices = np.arange(len(samples))
    reaches = np.minimum(reach, np.minimum(indices, indices[::-1]))
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(samples, axis=0)])
    return (sums[indices + reaches + 1] - sums[indices - reaches]) / (2 * reaches + 1)[:, None]


def _find_nearest_triangles(mesh: ChartMesh, samples: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the triangle of `near` nearest to each sample, shape (K,), and weights of its nearest point, (K, 3)."""
    shapes, centers, radii = mesh.points[mesh.triangle_points[near]], mesh.centers[near], mesh.radii[near]
    rows, columns = [], []
    for group in group_points(samples):
        middle = samples[group].mean(axis=0)
        reach = measure_lengths(samples[group] - middle).max()
        to_middle = measure_lengths(centers - middle)
        close = np.flatnonzero(to_middle - radii <= (to_middle + radii).min() + 2.0 * reach)
        distances = np.sqrt(np.square(samples[group, None] - centers[close]).sum(axis=2))
        limits = (distances + radii[close]).min(axis=1, keepdims=True)
        row, column = np.nonzero(distances - radii[close] <= limits)
        rows.append(group[row])
        columns.append(close[column])
    row, column = np.concatenate(rows), np.concatenate(columns)
    weights = nearest_weights(shapes[column], samples[row])
    squares = np.square(np.einsum("nc,nci->ni", weights, shapes[column]) - samples[row]).sum(axis=1)
    order = np.lexsort((squares, row))
    best = order[np.flatnonzero(np.diff(row[order], prepend=-1))]
    return near[column[best]], weights[best]
