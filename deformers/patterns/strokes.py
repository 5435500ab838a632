"""Strokes: lines that are laid on a surface, and where the points beside them are in the plane."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..errors import SkinningError
from ..geometry.neighbors import find_nearest, group_points
from ..geometry.unfolding import project
from ..geometry.vectors import measure_lengths, nearest_weights, normalize

STEP = 0.5
"""Length of a stroke's steps, in shares of the radius of the triangles about it."""

MOST_STEPS = 1000
"""Steps of a stroke."""


@dataclass(frozen=True)
class Stroke:
    """A stroke on a surface.

    Attributes
    ----------
    points : float64 array, shape (K, 3)
        On the surface, object space.
    normals : float64 array, shape (K, 3)
        Of the surface there.
    triangles : int array, shape (K,)
        Where each point lies.
    lengths : float64 array, shape (K,)
        The way to each point along the stroke, ascending from 0.
    """

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray
    lengths: np.ndarray

    @property
    def length(self) -> float:
        """Of all of it."""
        return float(self.lengths[-1])

    def place(self, points: np.ndarray) -> np.ndarray:
        """Where points beside the stroke, shape (N, 3), are in the plane: along it from its middle + i to its left."""
        ways, spans = np.diff(self.points, axis=0), np.diff(self.lengths)
        nearest = find_nearest(points, self.points, 1)[0][:, 0]
        sides = np.clip(np.stack([nearest - 1, nearest], axis=1), 0, len(ways) - 1)
        offsets = points[:, None] - self.points[sides]
        along = np.clip(np.einsum("nki,nki->nk", offsets, ways[sides]) / spans[sides] ** 2, 0.0, 1.0)
        squares = np.square(offsets - along[:, :, None] * ways[sides]).sum(axis=2)
        which = squares.argmin(axis=1)[:, None]
        best = np.take_along_axis(sides, which, axis=1)[:, 0]
        share = np.take_along_axis(along, which, axis=1)[:, 0]
        tangents = (ways / spans[:, None])[best]
        normals = self.normals[best] * (1 - share)[:, None] + self.normals[best + 1] * share[:, None]
        normals = normalize(normals - tangents * np.einsum("ni,ni->n", normals, tangents)[:, None])
        base = self.points[best] + share[:, None] * ways[best]
        aside = project(points - base, normals, tangents)
        ends = ((best == 0) & (share <= 0)) | ((best == len(ways) - 1) & (share >= 1))
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
        Near the surface.
    smooth : float
        Length over which the line is smoothed, object units: a hand trembles, and beside a kink the plane folds.
    points, triangles, normals, centers, radii
        The surface, as `ChartMesh` has it.

    Raises
    ------
    SkinningError
        Where the line has no length.
    """
    spans = measure_lengths(np.diff(line, axis=0))
    total = spans.sum()
    if total <= 0:
        raise SkinningError("The stroke has no length: draw it longer")
    off = min(measure_lengths(centers - end).min() for end in line[[0, -1]])
    around = np.maximum(line.min(axis=0) - centers, centers - line.max(axis=0)).max(axis=1)
    near = np.flatnonzero(around <= radii + off + spans.max())
    step = max(float(np.median(radii[near])) * STEP, total / MOST_STEPS)
    stops = np.linspace(0.0, total, int(np.ceil(total / step)) + 1)
    places = np.concatenate([[0.0], np.cumsum(spans)])
    samples = np.stack([np.interp(stops, places, line[:, axis]) for axis in range(3)], axis=1)
    for _ in range(2):
        samples = _smooth(samples, round(0.5 * smooth / stops[1]))
    which, weights = _find_nearest_triangles(samples, points[triangles[near]], centers[near], radii[near])
    found = np.einsum("nc,nci->ni", weights, points[triangles[near[which]]])
    moved = np.append(True, measure_lengths(np.diff(found, axis=0)) > 1e-6 * total)
    which, weights, found = near[which[moved]], weights[moved], found[moved]
    if len(found) < 2:
        raise SkinningError("The stroke has no length on the mesh: draw it on the skin")
    lengths = np.concatenate([[0.0], np.cumsum(measure_lengths(np.diff(found, axis=0)))])
    return Stroke(found, normalize(np.einsum("nc,nci->ni", weights, normals[triangles[which]])), which, lengths)


def _smooth(samples: np.ndarray, reach: int) -> np.ndarray:
    """Each sample, shape (K, 3), as the mean of those up to `reach` to both sides; of fewer toward the ends."""
    place = np.arange(len(samples))
    reaches = np.minimum(reach, np.minimum(place, place[::-1]))
    sums = np.concatenate([np.zeros((1, 3)), np.cumsum(samples, axis=0)])
    return (sums[place + reaches + 1] - sums[place - reaches]) / (2 * reaches + 1)[:, None]


def _find_nearest_triangles(
    samples: np.ndarray, shapes: np.ndarray, centers: np.ndarray, radii: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The triangle nearest to each sample, shape (K,), and the barycentric coordinates of its nearest point, (K, 3)."""
    rows, columns = [], []
    for group in group_points(samples):
        middle = samples[group].mean(axis=0)
        reach = measure_lengths(samples[group] - middle).max()
        away = measure_lengths(centers - middle)
        close = np.flatnonzero(away - radii <= (away + radii).min() + 2.0 * reach)
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
