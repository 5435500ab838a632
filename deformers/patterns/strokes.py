"""Strokes: lines that are laid on a surface, and how the surface beside them is laid in the plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.neighbors import find_nearest, group_points
from ..geometry.unfolding import project
from ..geometry.vectors import measure_lengths, nearest_weights, normalize

STEP = 0.5
"""Length of a stroke's steps, as a fraction of the radius of the triangles about it."""

MOST_STEPS = 1000
"""Steps of a stroke."""

MOST_POINTS = 24
"""Points that are stored of a stroke."""


@dataclass(frozen=True)
class Stroke:
    """A stroke on a surface.

    Attributes
    ----------
    points : float64 array, shape (K, 3)
        On the surface, object space.
    normals : float64 array, shape (K, 3)
        Of the surface there, unit length.
    triangles : int array, shape (K,)
        On which each point lies.
    lengths : float64 array, shape (K,)
        Length of the stroke up to each point, ascending from 0.
    """

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    lengths: np.ndarray

    @property
    def length(self) -> float:
        """Of all of it."""
        return float(self.lengths[-1])

    def find_middle(self) -> tuple[np.ndarray, np.ndarray]:
        """The point half way along the stroke, float64 array, shape (3,), and the offset of its step there, (3,)."""
        half = 0.5 * self.length
        middle = np.array([np.interp(half, self.lengths, self.points[:, axis]) for axis in range(3)])
        step = np.clip(np.searchsorted(self.lengths, half) - 1, 0, len(self.points) - 2)
        return middle, self.points[step + 1] - self.points[step]

    def flatten(self, points: np.ndarray) -> np.ndarray:
        """Lay points beside the stroke in the plane.

        Parameters
        ----------
        points : float array, shape (N, 3)
            Object space.

        Returns
        -------
        complex array, shape (N,)
            Real: along the stroke, from its middle. Imaginary: to its left. Object units.
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
        ends = ((best == 0) & (share <= 0)) | ((best == len(steps) - 1) & (share >= 1))
        aside = np.where(ends, aside, 1j * np.copysign(np.abs(aside), aside.imag))
        return self.lengths[best] + share * spans[best] - 0.5 * self.length + aside


def trace_stroke(
    line: np.ndarray,
    smooth: float,
    points: np.ndarray,
    triangles: np.ndarray,
    normals: np.ndarray,
    centers: np.ndarray,
    radii: np.ndarray,
) -> Stroke:
    """Lay a line on a surface, in steps so short that it visits the triangles it crosses.

    Parameters
    ----------
    line : float array, shape (K, 3)
        Near the surface, object space.
    smooth : float
        Length over which the line is smoothed, object units: a hand trembles, and beside a kink the plane folds.
    points, triangles, normals, centers, radii : arrays, shapes (V, 3), (T, 3), (V, 3), (T, 3), (T,)
        The surface, as `ChartMesh` has it.

    Returns
    -------
    Stroke

    Raises
    ------
    SkinningError
        Where the line has no length.
    """
    spans = measure_lengths(np.diff(line, axis=0))
    total = spans.sum()
    if total <= 0:
        raise SkinningError("The stroke has no length: draw it longer")
    gap = min(measure_lengths(centers - end).min() for end in line[[0, -1]])
    around = np.maximum(line.min(axis=0) - centers, centers - line.max(axis=0)).max(axis=1)
    near = np.flatnonzero(around <= radii + gap + spans.max())
    step = max(float(np.median(radii[near])) * STEP, total / MOST_STEPS)
    stops = np.linspace(0.0, total, int(np.ceil(total / step)) + 1)
    lengths = np.concatenate([[0.0], np.cumsum(spans)])
    samples = np.stack([np.interp(stops, lengths, line[:, axis]) for axis in range(3)], axis=1)
    for _ in range(2):
        samples = _smooth(samples, round(0.5 * smooth / stops[1]))
    found, weights = _find_nearest_triangles(samples, points[triangles[near]], centers[near], radii[near])
    laid = np.einsum("nc,nci->ni", weights, points[triangles[near[found]]])
    moved = np.append(True, measure_lengths(np.diff(laid, axis=0)) > 1e-6 * total)
    found, weights, laid = near[found[moved]], weights[moved], laid[moved]
    if len(laid) < 2:
        raise SkinningError("The stroke has no length on the mesh: draw it on the skin")
    lengths = np.concatenate([[0.0], np.cumsum(measure_lengths(np.diff(laid, axis=0)))])
    return Stroke(laid, normalize(np.einsum("nc,nci->ni", weights, normals[triangles[found]])), found, lengths)


def resample(points: np.ndarray, count: int = MOST_POINTS) -> np.ndarray:
    """Find points at even distances along a polyline.

    Parameters
    ----------
    points : float array, shape (K, n)
        Positions, and after the first three numbers whatever else is interpolated with them.

    Returns
    -------
    float64 array, shape (count, n)
        Fewer points where there were fewer.
    """
    points = np.asarray(points, np.float64)
    lengths = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points[:, :3], axis=0), axis=1))])
    stops = np.linspace(0.0, lengths[-1], min(count, len(points)))
    return np.stack([np.interp(stops, lengths, column) for column in points.T], axis=1)


def measure_line(points: np.ndarray) -> float:
    """Length of a polyline, shape (K, 3), as a stroke: the trembling of a hand does not make it longer."""
    return float(np.linalg.norm(np.diff(resample(points), axis=0), axis=1).sum())


def draw_band(points: np.ndarray, aspect: float) -> np.ndarray:
    """Draw a stroke's middle and the borders of what is laid along it.

    Parameters
    ----------
    points : float array, shape (K, 6)
        Positions and unit normals of the surface, object space.
    aspect : float
        Width of the band over the stroke's length.

    Returns
    -------
    float64 array, shape (3, L, 3)
        The middle, the left and the right border, object space.
    """
    drawn = resample(points)
    line, normals = drawn[:, :3], drawn[:, 3:]
    left = np.cross(normals, np.gradient(line, axis=0))
    left /= np.maximum(np.linalg.norm(left, axis=1, keepdims=True), 1e-12)
    half = 0.5 * aspect * measure_line(line)
    return np.stack([line + offset * left for offset in (0.0, half, -half)])


def _smooth(samples: np.ndarray, reach: int) -> np.ndarray:
    """Each sample, shape (K, 3), as the mean of those up to `reach` to both sides; of fewer toward the ends."""
    indices = np.arange(len(samples))
    reaches = np.minimum(reach, np.minimum(indices, indices[::-1]))
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(samples, axis=0)])
    return (sums[indices + reaches + 1] - sums[indices - reaches]) / (2 * reaches + 1)[:, None]


def _find_nearest_triangles(
    samples: np.ndarray, shapes: np.ndarray, centers: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The triangle nearest to each sample, shape (K,), and the barycentric coordinates of its nearest point, (K, 3)."""
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
    return column[best], weights[best]
