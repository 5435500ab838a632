"""Effects of poses on clothes: the body comes through them, and skin that they cover shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, read_surface
from ..geometry.vectors import measure_lengths, normalize
from ..layers.order import Shell, find_inside, measure_heights
from ..layers.tuck import MAX_PIERCED
from .windings import cross_rays

# All lengths in meters of a character of 1.8 m. Distance between samples of a layer
SAMPLE_STEP = 0.008

# Of a picture, along the longest side of the character
PIXELS = 300

# Directions of view, each from both sides
VIEW_ANGLES = np.radians([0.0, 60.0, 120.0])


@dataclass(frozen=True)
class Samples:
    """Points of a surface at about equal distances.

    Attributes
    ----------
    triangles : int array, shape (N,)
    shares : float array, shape (N, 3)
        Barycentric coordinates.
    areas : float array, shape (N,)
        Area at rest that each stands for.
    """

    triangles: np.ndarray
    shares: np.ndarray
    areas: np.ndarray

    def place(self, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """Positions, shape (N, 3), on a surface of points, shape (V, 3), and triangles, shape (T, 3)."""
        return np.einsum("nc,nci->ni", self.shares, points[triangles[self.triangles]])

    def take(self, chosen: np.ndarray) -> Samples:
        """Samples with these indices, shape (M,)."""
        return Samples(self.triangles[chosen], self.shares[chosen], self.areas[chosen])


def sample_surface(points: np.ndarray, triangles: np.ndarray, step: float) -> Samples:
    """Sample a surface about every `step`, at least once on each triangle: middles of equal parts of it.

    Parameters
    ----------
    points : float array, shape (V, 3)
    triangles : int array, shape (T, 3)
    """
    areas = np.linalg.norm(area_vectors(points, triangles), axis=1)
    sides = np.maximum(1, np.rint(np.sqrt(areas) / step)).astype(int)
    found = [Samples(np.zeros(0, int), np.zeros((0, 3)), np.zeros(0))]
    for count in np.unique(sides).tolist():
        parts, own = _divide_triangle(count), np.flatnonzero(sides == count)
        each = np.repeat(own, len(parts))
        found.append(Samples(each, np.tile(parts, (len(own), 1)), areas[each] / len(parts)))
    return Samples(
        *(np.concatenate([getattr(one, name) for one in found]) for name in ("triangles", "shares", "areas"))
    )


def _divide_triangle(count: int) -> np.ndarray:
    """Middles of the count * count equal parts of a triangle: barycentric coordinates, shape (count * count, 3)."""
    first, second = np.meshgrid(np.arange(count), np.arange(count), indexing="ij")
    upright = np.stack([first, second], axis=-1)[first + second < count] + 1.0 / 3.0
    turned = np.stack([first, second], axis=-1)[first + second < count - 1] + 2.0 / 3.0
    inner = np.concatenate([upright, turned]) / count
    return np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)


@dataclass(frozen=True)
class Pierced:
    """The pierced part of a layer in a pose.

    Attributes
    ----------
    share : float
        Of its area.
    depth : float
        Largest depth below the skin that pierces it.
    vertices : int array, shape (N,)
        Of the pierced triangles of the layer.
    """

    share: float
    depth: float
    vertices: np.ndarray


class LayerMeter:
    """A layer over another mesh at rest, to be measured in poses.

    Attributes
    ----------
    at_rest : Pierced
        Pierced at rest, with parallel faces: not caused by poses.

    Parameters
    ----------
    above, below : Shell
        At rest, in one space.
    unit : float
        Length that stands for a meter on a character of 1.8 m.
    step : float
        Distance between samples.
    find_at_rest : FindNearest, optional
        One that has the meshes at rest already.
    """

    def __init__(
        self,
        above: Shell,
        below: Shell,
        unit: float,
        find_nearest: FindNearest,
        step: float = SAMPLE_STEP,
        find_at_rest: FindNearest | None = None,
    ) -> None:
        self._above, self._below, self._find_nearest = above.triangles, below.triangles, find_nearest
        samples = sample_surface(above.points, above.triangles, step * unit)
        self.area = max(float(samples.areas.sum()), 1e-300)
        seen = measure_heights(
            samples.place(above.points, above.triangles), below.points, below.triangles, find_at_rest or find_nearest
        )
        normals = [normalize(area_vectors(one.points, one.triangles)) for one in (above, below)]
        # Faces of a solid layer count if the cosine of their normals and those below is larger at rest.
        min_facing = 0.2
        alike = np.einsum("ni,ni->n", normals[0][samples.triangles], normals[1][seen.triangles]) > min_facing
        is_solid = _find_solid(above)[samples.triangles]
        outside = np.flatnonzero(~seen.is_behind & seen.is_inner & (alike | ~is_solid))
        max_touching = 2e-4  # At rest: a layer that is less deep only touches the skin below.
        near = seen.is_inner & alike & (seen.distances > max_touching * unit) & (seen.distances < MAX_PIERCED * unit)
        inside = near & find_inside(samples.place(above.points, above.triangles), seen, below.points, below.triangles)
        self.at_rest = self._gather(samples, inside, seen.distances)
        self.samples = samples.take(outside)
        self._corners, self._shares = below.triangles[seen.triangles[outside]], seen.shares[outside]
        self._at_rest, self._rest = self.samples.place(above.points, above.triangles), below.points
        self._unit = unit

    def estimate(self, above: np.ndarray, below: np.ndarray) -> float:
        """Quickly estimate the pierced share, from the skin that was nearest at rest, to find the worst of many poses.

        `above` and `below`, float arrays, shapes (V, 3), (U, 3): posed, in one space.
        """
        corners = below[self._corners]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        offsets = self.samples.place(above, self._above) - np.einsum("nc,nci->ni", self._shares, corners)
        return float(self.samples.areas[np.einsum("ni,ni->n", normals, offsets) < 0.0].sum() / self.area)

    def measure(self, above: np.ndarray, below: np.ndarray) -> Pierced:
        """Measure samples that were outside at rest and are inside in a pose.

        `above` and `below`, float arrays, shapes (V, 3), (U, 3): posed, in one space.
        """
        return self._gather(self.samples, *self._find_inside(above, below))

    def _gather(self, samples: Samples, is_inside: np.ndarray, distances: np.ndarray) -> Pierced:
        share = float(samples.areas[is_inside].sum() / self.area)
        depth = float(distances[is_inside].max(initial=0.0))
        return Pierced(share, depth, np.unique(self._above[samples.triangles[is_inside]]))

    def measure_depths(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """Depths of the pierced layer around each of its vertices, float64, shape (V,); parameters as for `measure`."""
        is_inside, distances = self._find_inside(above, below)
        depths = np.zeros(len(above))
        corners = self._above[self.samples.triangles[is_inside]]
        np.maximum.at(depths, corners, np.broadcast_to(distances[is_inside, None], corners.shape))
        return depths

    def _find_inside(self, above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Whether each sample is pierced in a pose, bool array, shape (N,), and the distances of all to the nearest
        skin.
        """
        positions = self.samples.place(above, self._above)
        seen = measure_heights(positions, below, self._below, self._find_nearest)
        nearest = np.einsum("nc,nci->ni", seen.shares, self._rest[self._below[seen.triangles]])
        own = np.einsum("nc,nci->ni", self._shares, below[self._corners])
        # Cloth below this height is tight, and skin farther away at rest is of another limb: cloth that stays tight
        # on its own skin is not pierced by the limb that both are inside.
        max_tight, max_own = 0.025, 0.06
        is_tight = measure_lengths(positions - own) < max_tight * self._unit
        is_other = measure_lengths(nearest - self._at_rest) > max_own * self._unit
        return ~(is_tight & is_other) & find_inside(positions, seen, below, self._below), seen.distances


def _find_solid(shell: Shell) -> np.ndarray:
    """Whether triangles are of closed islands, such as buckles and solid hair, not cloth: bool array, shape (T,)."""
    surface = read_surface(shell.points, shell.triangles)
    islands = surface.islands[shell.triangles[:, 0]]
    return np.append(surface.solid, False)[islands]


class SeenSkin:
    """Visibility in poses of skin that layers cover at rest.

    Parameters
    ----------
    shells : sequence of Shell
        All meshes of a character at rest, in one space.
    layers : sequence of (above, below)
        Indices of shells.
    unit : float
        Length that stands for a meter on a character of 1.8 m.
    """

    def __init__(
        self, shells: Sequence[Shell], layers: Sequence[tuple[int, int]], unit: float, find_nearest: FindNearest
    ) -> None:
        self._triangles, self._covered = [], []
        eroded = 2  # Rings at the rim of covered skin that do not count
        for number, shell in enumerate(shells):
            covered = np.zeros(len(shell.points), bool)
            for above in [above for above, below in layers if below == number]:
                covered |= _find_covered(shell, shells[above], unit, find_nearest)
            for _ in range(eroded):
                covered[shell.triangles[~covered[shell.triangles].all(axis=1)]] = False
            self._triangles.append(shell.triangles)
            self._covered.append(covered[shell.triangles].all(axis=1))
        points = np.concatenate([shell.points for shell in shells])
        extents = np.ptp(points, axis=0)
        self._axis, self._pixel = int(extents.argmax()), float(extents.max()) / PIXELS
        self.rest = 0.0
        self.rest = self.measure([shell.points for shell in shells])

    def measure(self, posed: Sequence[np.ndarray]) -> float:
        """Share of the figure, in pictures from six sides, that is skin covered at rest, minus that share at rest.

        `posed`, sequence of float arrays, shape (V, 3): of all meshes.
        """
        starts = np.cumsum([0, *(len(points) for points in posed)])
        points = np.concatenate(posed)
        triangles = np.concatenate([own + start for own, start in zip(self._triangles, starts[:-1], strict=True)])
        covered, figure, seen = np.concatenate(self._covered), 0, 0
        across = [axis for axis in range(3) if axis != self._axis]
        for turn in VIEW_ANGLES:
            rotation = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
            flat = points[:, across] @ rotation.T
            grid = np.stack([flat[:, 0], points[:, self._axis]], axis=1) / self._pixel
            rays, heights, _, hit = cross_rays(grid - grid.min(axis=0) + 0.3819660113, flat[:, 1], triangles)
            for side in (1.0, -1.0):
                order = np.lexsort((side * heights, rays))
                first = order[np.append(True, rays[order][1:] != rays[order][:-1])[: len(rays)]]
                figure, seen = figure + len(first), seen + int(covered[hit[first]].sum())
        return seen / max(figure, 1) - self.rest


def _find_covered(below: Shell, above: Shell, unit: float, find_nearest: FindNearest) -> np.ndarray:
    """Whether a layer covers each vertex at rest: bool array, shape (V,)."""
    if not len(above.triangles):
        return np.zeros(len(below.points), bool)
    seen = measure_heights(below.points, above.points, above.triangles, find_nearest)
    max_cover = 0.06  # Height of a layer above the skin that it covers at rest
    return seen.is_behind & seen.is_inner & (seen.distances < max_cover * unit)
