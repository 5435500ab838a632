"""Implicit shapes: distance-like functions that are negative inside, joined smoothly. NumPy only.

Lengths are millimeters. Every shape is a frozen dataclass with `distance(points)` and a ball (`center`, `reach`) that
it and its blend lie in, so that a field can skip the shapes that are far from a block of points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

BLOCK = 1024
"""Points evaluated together: small enough to stay in cache, and to be skipped by far shapes."""


def smooth_min(first: Array, second: Array, blend: float) -> Array:
    """Return the smaller of two distances (N,), rounded with a cubic where they differ by less than `blend`."""
    overlap = np.maximum(blend - np.abs(first - second), 0.0) / blend
    return np.minimum(first, second) - overlap**3 * (blend / 6.0)


def smooth_max(first: Array, second: Array, blend: float) -> Array:
    """Return the larger of two distances (N,), rounded with a cubic where they differ by less than `blend`."""
    return -smooth_min(-first, -second, blend)


def smooth_step(values: Array) -> Array:
    """Return 0 below 0, 1 above 1, and between them a rise without a corner (first and second derivative 0)."""
    t = np.clip(values, 0.0, 1.0)
    return t**3 * (t * (6.0 * t - 15.0) + 10.0)


def axes_along(direction: Array, palmar: Array) -> Array:
    """Return a right-handed frame (3, 3), rows: along `direction`, sideways, and as near to `palmar` as possible."""
    along = direction / np.linalg.norm(direction)
    side = np.cross(palmar, along)
    side /= np.linalg.norm(side)
    return np.stack([along, side, np.cross(along, side)])


def segment_parameter(points: Array, start: Array, end: Array) -> tuple[Array, Array]:
    """Return the parameter (N,) in 0..1 of the nearest point of a segment, and the vectors (N, 3) from it."""
    along = end - start
    parameter = np.clip((points - start) @ along / (along @ along), 0.0, 1.0)
    return parameter, points - start - parameter[:, None] * along


@dataclass(frozen=True)
class Ellipsoid:
    """A muscle or a bony bump: half axes `radii` (3,) along the rows of `axes` (3, 3)."""

    center: Array
    radii: Array
    axes: Array
    blend: float

    @cached_property
    def reach(self) -> float:
        return float(self.radii.max()) + self.blend

    def distance(self, points: Array) -> Array:
        """Return the first-order distance (N,) to the surface."""
        local = (points - self.center) @ self.axes.T
        unit = np.linalg.norm(local / self.radii, axis=1)
        slope = np.linalg.norm(local / self.radii**2, axis=1)
        return unit * (unit - 1.0) / np.maximum(slope, 1e-9)


@dataclass(frozen=True)
class Tube:
    """A finger: a curved tube whose cross-section is two half ellipses, closed by rounded ends.

    `line` (M, 3) is its center line, `radii` (M, 3) hold at each point the radius to both sides, to the palmar side and
    to the back. The line bends in one plane; `side` is the unit normal of that plane.
    """

    line: Array
    radii: Array
    side: Array
    blend: float

    @cached_property
    def center(self) -> Array:
        return (self.line.min(axis=0) + self.line.max(axis=0)) / 2.0

    @cached_property
    def reach(self) -> float:
        return float(np.linalg.norm(self.line - self.center, axis=1).max() + self.radii.max()) + self.blend

    @cached_property
    def tangents(self) -> Array:
        """Unit tangents (M, 3) at the points of the line."""
        slopes = np.gradient(self.line, axis=0)
        return slopes / np.linalg.norm(slopes, axis=1, keepdims=True)

    def coordinates(self, points: Array) -> tuple[Array, Array]:
        """Return where points (N, 3) lie: the position on the line as index and fraction (N,), and offsets (N, 3).

        The offsets are along the line (zero but past its ends), to the side, and to the palmar side.
        """
        steps = np.diff(self.line, axis=0)
        lengths = np.einsum("mi,mi->m", steps, steps)
        fractions = np.clip((points @ steps.T - np.einsum("mi,mi->m", self.line[:-1], steps)) / lengths, 0.0, 1.0)
        gaps = points[:, None] - self.line[:-1] - fractions[:, :, None] * steps
        nearest = np.argmin(np.einsum("nmi,nmi->nm", gaps, gaps), axis=1)
        rows = np.arange(len(points))
        fraction = fractions[rows, nearest]
        along = self.tangents[nearest] + fraction[:, None] * (self.tangents[nearest + 1] - self.tangents[nearest])
        offset = gaps[rows, nearest]
        palmar = np.cross(along, self.side)
        frame = (along, np.broadcast_to(self.side, along.shape), palmar)
        return nearest + fraction, np.stack([np.einsum("ni,ni->n", offset, axis) for axis in frame], axis=1)

    def distance(self, points: Array) -> Array:
        """Return the distance (N,) to the surface, measured along the ray from the center line."""
        position, offsets = self.coordinates(points)
        side, palm, back = (np.interp(position, np.arange(len(self.line)), column) for column in self.radii.T)
        radii = np.stack([side, side, np.where(offsets[:, 2] > 0.0, palm, back)], axis=1)
        unit = np.maximum(np.linalg.norm(offsets / radii, axis=1), 1e-6)
        return np.linalg.norm(offsets, axis=1) * (1.0 - 1.0 / unit)


@dataclass(frozen=True)
class Stroke:
    """A ridge (`height` > 0: tendon, vein) or a furrow (`height` < 0: crease) along a segment, `width` across."""

    start: Array
    end: Array
    width: float
    height: float

    @cached_property
    def center(self) -> Array:
        return (self.start + self.end) / 2.0

    @cached_property
    def reach(self) -> float:
        return float(np.linalg.norm(self.end - self.start)) / 2.0 + 3.0 * self.width

    def relief(self, points: Array) -> Array:
        """Return how far (N,) the surface is raised: a Gaussian of the distance to the segment."""
        offset = segment_parameter(points, self.start, self.end)[1]
        return self.height * np.exp(-np.einsum("ni,ni->n", offset, offset) / self.width**2)


def hermite(stations: Array, values: Array, positions: Array) -> Array:
    """Interpolate values (S, C) given at increasing stations (S,) by a cubic Hermite spline at positions (N,)."""
    slopes = np.gradient(values, stations, axis=0)
    left = np.clip(np.searchsorted(stations, positions, side="right") - 1, 0, len(stations) - 2)
    width = (stations[left + 1] - stations[left])[:, None]
    t = (positions - stations[left])[:, None] / width
    ends = (2 * t**3 - 3 * t**2 + 1) * values[left] + (3 * t**2 - 2 * t**3) * values[left + 1]
    return ends + width * ((t**3 - 2 * t**2 + t) * slopes[left] + (t**3 - t**2) * slopes[left + 1])


@dataclass(frozen=True)
class Loft:
    """A limb along +X whose cross-section is four quarter ellipses.

    `stations` (S,) are positions along X, `radii` (S, 4) the radii there to -Y, +Y, +Z and -Z.
    """

    stations: Array
    radii: Array

    @cached_property
    def table(self) -> tuple[Array, Array]:
        """The radii tabulated at half a millimeter: positions (N,) and radii (N, 4)."""
        x = np.arange(self.stations[0], self.stations[-1] + 0.25, 0.5)
        return x, hermite(self.stations, self.radii, x)

    def distance(self, points: Array) -> Array:
        """Return the distance (N,) to the cross-section's outline, measured along the ray from the axis."""
        x, values = self.table
        radii = np.stack([np.interp(points[:, 0], x, column) for column in values.T])
        y, z = points[:, 1], points[:, 2]
        across = y / np.where(y < 0.0, radii[0], radii[1])
        upward = z / np.where(z > 0.0, radii[2], radii[3])
        return np.hypot(y, z) * (1.0 - 1.0 / np.maximum(np.hypot(across, upward), 1e-6))


@dataclass(frozen=True)
class Plane:
    """A half space: positive on the side of `normal` (3,), at `offset` along it, bowed by `bow` (mm per mm squared)."""

    normal: Array
    offset: float
    bow: float = 0.0
    middle: float = 0.0

    def distance(self, points: Array) -> Array:
        """Return the distance (N,) to the plane, which falls away from y = `middle` as a parabola."""
        return points @ self.normal - self.offset + self.bow * (points[:, 1] - self.middle) ** 2


Shape = TypeVar("Shape", Ellipsoid, Tube, Stroke)


@dataclass(frozen=True)
class Shapes(Generic[Shape]):
    """Shapes of one kind."""

    items: tuple[Shape, ...]

    @cached_property
    def balls(self) -> tuple[Array, Array]:
        """Centers (S, 3) and radii (S,) of the balls that the shapes reach into."""
        return np.stack([shape.center for shape in self.items]), np.array([shape.reach for shape in self.items])

    def near(self, low: Array, high: Array) -> list[Shape]:
        """Return the shapes that reach into the box from `low` (3,) to `high` (3,)."""
        centers, radii = self.balls
        gaps = np.clip(centers, low, high) - centers
        return [self.items[index] for index in np.flatnonzero((gaps * gaps).sum(axis=1) < radii * radii)]


@dataclass(frozen=True)
class Field:
    """A body: a loft with muscles, cut at both ends, joined with digits, and finished with strokes.

    `cuts` clip the limb, not the digits, each with its own rounding.
    """

    limb: Loft
    muscles: Shapes[Ellipsoid]
    cuts: tuple[tuple[Plane, float], ...]
    digits: Shapes[Tube]
    strokes: Shapes[Stroke]

    def distance(self, points: Array) -> Array:
        """Return the value of the field at points (N, 3), negative inside, shape (N,)."""
        low, high = points.min(axis=0), points.max(axis=0)
        values = self.limb.distance(points)
        for muscle in self.muscles.near(low, high):
            values = smooth_min(values, muscle.distance(points), muscle.blend)
        for cut, rounding in self.cuts:
            values = smooth_max(values, cut.distance(points), rounding)
        for digit in self.digits.near(low, high):
            values = smooth_min(values, digit.distance(points), digit.blend)
        for stroke in self.strokes.near(low, high):
            values = values - stroke.relief(points)
        return values
