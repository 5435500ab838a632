"""What poses do to clothes: where the body comes through them, and how much of the skin that they cover shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..geometry.neighbors import FindNearest
from ..geometry.solid import area_vectors, read_surface
from ..geometry.vectors import measure_lengths, normalize
from ..layers.order import Shell, find_inside, measure_heights
from ..layers.tuck import STICKS_OUT
from .windings import cross_rays

STEP = 0.008
"""Between samples of a layer, in meters of a character of 1.8 m."""

ALIKE = 0.2
"""Cosine between the normals of a solid layer and of what is below, at rest, from which on its faces count."""

TIGHT, OWN = 0.025, 0.06
"""Height up to which cloth is tight, and distance at rest from which on other skin is of another limb, in meters of a
character of 1.8 m: cloth that is tight on its own skin still is not pierced by the limb that both lie in."""

TOUCHING = 2e-4
"""Depth at rest, in those, up to which a layer only touches what is below."""

COVER = 0.06
"""Height of a layer above the skin up to which it covers it at rest, in meters of a character of 1.8 m."""

ERODED = 2
"""Rings at the rim of covered skin that do not count."""

PIXELS = 300
"""Of a picture, along the longest side of the character."""

TURNS = np.radians([0.0, 60.0, 120.0])
"""Directions from which the character is seen, each from both sides."""


@dataclass(frozen=True)
class Samples:
    """Points of a surface, some way apart.

    Attributes
    ----------
    triangles : int array, shape (N,)
    shares : float array, shape (N, 3)
        Barycentric coordinates.
    areas : float array, shape (N,)
        That each stands for, at rest.
    """

    triangles: np.ndarray
    shares: np.ndarray
    areas: np.ndarray

    def place(self, points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
        """Their positions, shape (N, 3), on a surface of points, shape (V, 3), and triangles, shape (T, 3)."""
        return np.einsum("nc,nci->ni", self.shares, points[triangles[self.triangles]])

    def take(self, chosen: np.ndarray) -> Samples:
        """Some of them, by indices, shape (M,)."""
        return Samples(self.triangles[chosen], self.shares[chosen], self.areas[chosen])


def sample_surface(points: np.ndarray, triangles: np.ndarray, step: float) -> Samples:
    """Points of a surface about `step` apart, at least one on each triangle: the middles of equal parts of it.

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
    """What of a layer is pierced in a pose.

    Attributes
    ----------
    share : float
        Of its area.
    depth : float
        Largest, below the skin that pierces it.
    vertices : int array, shape (N,)
        Of the layer's triangles that are pierced.
    """

    share: float
    depth: float
    vertices: np.ndarray


class LayerMeter:
    """A layer over another mesh at rest, to be measured in poses.

    Attributes
    ----------
    at_rest : Pierced
        Where it is pierced at rest, and faces as what is below: this is no part of what poses do.

    Parameters
    ----------
    above, below : Shell
        At rest, in one space.
    unit : float
        Length that stands for a meter on a character of 1.8 m.
    step : float
        Between samples, in those.
    find_at_rest : FindNearest, optional
        That knows the meshes at rest already.
    """

    def __init__(
        self,
        above: Shell,
        below: Shell,
        unit: float,
        find_nearest: FindNearest,
        step: float = STEP,
        find_at_rest: FindNearest | None = None,
    ) -> None:
        self._above, self._below, self._find_nearest = above.triangles, below.triangles, find_nearest
        samples = sample_surface(above.points, above.triangles, step * unit)
        self.area = max(float(samples.areas.sum()), 1e-300)
        seen = measure_heights(
            samples.place(above.points, above.triangles), below.points, below.triangles, find_at_rest or find_nearest
        )
        normals = [normalize(area_vectors(one.points, one.triangles)) for one in (above, below)]
        alike = np.einsum("ni,ni->n", normals[0][samples.triangles], normals[1][seen.triangles]) > ALIKE
        is_solid = _find_solid(above)[samples.triangles]
        outside = np.flatnonzero(~seen.is_behind & seen.is_inner & (alike | ~is_solid))
        near = seen.is_inner & alike & (seen.distances > TOUCHING * unit) & (seen.distances < STICKS_OUT * unit)
        inside = near & find_inside(samples.place(above.points, above.triangles), seen, below.points, below.triangles)
        self.at_rest = self._gather(samples, inside, seen.distances)
        self.samples = samples.take(outside)
        self._corners, self._shares = below.triangles[seen.triangles[outside]], seen.shares[outside]
        self._at_rest, self._rest = self.samples.place(above.points, above.triangles), below.points
        self._unit = unit

    def estimate(self, above: np.ndarray, below: np.ndarray) -> float:
        """About how much of its area is pierced, by what was nearest at rest: quickly, to find the worst of many poses.

        Parameters
        ----------
        above, below : float arrays, shapes (V, 3), (U, 3)
            Posed, in one space.
        """
        corners = below[self._corners]
        normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        offsets = self.samples.place(above, self._above) - np.einsum("nc,nci->ni", self._shares, corners)
        return float(self.samples.areas[np.einsum("ni,ni->n", normals, offsets) < 0.0].sum() / self.area)

    def measure(self, above: np.ndarray, below: np.ndarray) -> Pierced:
        """What is pierced in a pose: what was outside at rest and is inside now.

        Parameters
        ----------
        above, below : float arrays, shapes (V, 3), (U, 3)
            Posed, in one space.
        """
        return self._gather(self.samples, *self._find_inside(above, below))

    def _gather(self, samples: Samples, is_inside: np.ndarray, distances: np.ndarray) -> Pierced:
        share = float(samples.areas[is_inside].sum() / self.area)
        depth = float(distances[is_inside].max(initial=0.0))
        return Pierced(share, depth, np.unique(self._above[samples.triangles[is_inside]]))

    def measure_depths(self, above: np.ndarray, below: np.ndarray) -> np.ndarray:
        """How deep the layer is pierced around each of its vertices, float64, shape (V,): called as `measure`."""
        is_inside, distances = self._find_inside(above, below)
        depths = np.zeros(len(above))
        corners = self._above[self.samples.triangles[is_inside]]
        np.maximum.at(depths, corners, np.broadcast_to(distances[is_inside, None], corners.shape))
        return depths

    def _find_inside(self, above: np.ndarray, below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Which samples are pierced in a pose, bool array, shape (N,), and the distances of all to the nearest skin."""
        positions = self.samples.place(above, self._above)
        seen = measure_heights(positions, below, self._below, self._find_nearest)
        nearest = np.einsum("nc,nci->ni", seen.shares, self._rest[self._below[seen.triangles]])
        own = np.einsum("nc,nci->ni", self._shares, below[self._corners])
        is_tight = measure_lengths(positions - own) < TIGHT * self._unit
        is_other = measure_lengths(nearest - self._at_rest) > OWN * self._unit
        return ~(is_tight & is_other) & find_inside(positions, seen, below, self._below), seen.distances


def _find_solid(shell: Shell) -> np.ndarray:
    """Which triangles are of closed islands, as buckles and solid hair, and not of cloth: bool array, shape (T,)."""
    surface = read_surface(shell.points, shell.triangles)
    islands = surface.islands[shell.triangles[:, 0]]
    return np.append(surface.solid, False)[islands]


class SeenSkin:
    """Skin that layers cover at rest: how much of it is seen in poses.

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
        for number, shell in enumerate(shells):
            covered = np.zeros(len(shell.points), bool)
            for above in [above for above, below in layers if below == number]:
                covered |= _find_covered(shell, shells[above], unit, find_nearest)
            for _ in range(ERODED):
                covered[shell.triangles[~covered[shell.triangles].all(axis=1)]] = False
            self._triangles.append(shell.triangles)
            self._covered.append(covered[shell.triangles].all(axis=1))
        points = np.concatenate([shell.points for shell in shells])
        extents = np.ptp(points, axis=0)
        self._axis, self._pixel = int(extents.argmax()), float(extents.max()) / PIXELS
        self.rest = 0.0
        self.rest = self.measure([shell.points for shell in shells])

    def measure(self, posed: Sequence[np.ndarray]) -> float:
        """The share of the figure, in pictures from six sides, that is skin covered at rest; less what is so at rest.

        Parameters
        ----------
        posed : sequence of float arrays, shape (V, 3)
            Of all meshes.
        """
        starts = np.cumsum([0, *(len(points) for points in posed)])
        points = np.concatenate(posed)
        triangles = np.concatenate([own + start for own, start in zip(self._triangles, starts[:-1], strict=True)])
        covered, figure, seen = np.concatenate(self._covered), 0, 0
        across = [axis for axis in range(3) if axis != self._axis]
        for turn in TURNS:
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
    """Which vertices a layer covers at rest: bool array, shape (V,)."""
    if not len(above.triangles):
        return np.zeros(len(below.points), bool)
    seen = measure_heights(below.points, above.points, above.triangles, find_nearest)
    return seen.is_behind & seen.is_inner & (seen.distances < COVER * unit)
