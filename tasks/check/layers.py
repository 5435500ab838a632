"""Collisions in poses: layers that the body pierces, and limbs that intersect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...bridge.meshes.nearest import NearestSurfaces, find_exits, find_nearest_surface
from ...deformers.layers.order import REFERENCE_HEIGHT, Shell, find_layers
from ...deformers.measures.crossings import Crossing, CrossingMeter
from ...deformers.measures.joint_faults import SkinMeter
from ...deformers.measures.layers import SAMPLE_STEP, LayerMeter, Pierced, SeenSkin

# Distance of samples for estimates: a ninth of the samples, with an error of a tenth of the pierced share
COARSE = 3.0 * SAMPLE_STEP

# Poses in which limbs are tested, which takes longer than layers
MOST_POSES = 20


@dataclass(frozen=True)
class CheckedLayer:
    """A layer in the pose where it is pierced most, or at rest.

    Attributes
    ----------
    above, below : int
        Indices of the meshes.
    pose : int or None
        Index of the pose; None at rest.
    seen : float
        Share of the rendered figure that shows covered skin.
    """

    above: int
    below: int
    pierced: Pierced
    pose: int | None
    seen: float


@dataclass(frozen=True)
class CheckedCrossing:
    """Two limbs in the pose of their deepest intersection.

    Attributes
    ----------
    mesh : int
        Index of the mesh.
    pose : int
        Index of the pose.
    """

    mesh: int
    crossing: Crossing
    pose: int


@dataclass(frozen=True)
class Contacts:
    """Collisions of a character's meshes with each other and with themselves.

    `unit`: length in armature space that stands for a meter on a character of 1.8 m.
    """

    layers: list[CheckedLayer]
    crossings: list[CheckedCrossing]
    unit: float


# From the index of a pose to the posed points, shape (V, 3), of all meshes, armature space
Poser = Callable[[int], list[np.ndarray]]


class LayerCheck:
    """The meshes of a character at rest, to be measured together. `meters`: of the meshes."""

    def __init__(self, meters: Sequence[SkinMeter]) -> None:
        self._shells = [Shell.outward(meter.points, meter.triangles) for meter in meters]
        points = np.concatenate([shell.points for shell in self._shells])
        self._unit = float(np.ptp(points, axis=0).max(initial=0.0)) / REFERENCE_HEIGHT or 1.0
        self._find_at_rest = NearestSurfaces()
        self._layers = find_layers(self._shells, REFERENCE_HEIGHT * self._unit, self._find_at_rest)
        self._meters = [
            LayerMeter(
                self._shells[above], self._shells[below], self._unit, find_nearest_surface, COARSE, self._find_at_rest
            )
            for above, below in self._layers
        ]
        layers = {above for above, _ in self._layers}  # the body beneath says the same
        self._bodies = {
            number: CrossingMeter(
                meter.points,
                self._shells[number].triangles,
                meter.owners,
                meter.joints.parents,
                self._unit,
                find_exits,
                find_nearest_surface,
            )
            for number, meter in enumerate(meters)
            if number not in layers
        }
        self._estimates: list[list[float]] = [[] for _ in self._layers]
        self._bends: list[bool] = []
        self._crossed: dict[int, list[float]] = {number: [] for number in self._bodies}

    def add(self, posed: Sequence[np.ndarray], is_bend: bool, has_limbs: bool) -> None:
        """Note about how bad the next pose is.

        Parameters
        ----------
        posed : sequence of float arrays, shape (V, 3)
            All meshes, armature space.
        is_bend : bool
            Whether the pose is of the range of motion: of these and of the others, one each is measured.
        has_limbs : bool
            Whether limbs are looked at in this pose.
        """
        for (above, below), meter, known in zip(self._layers, self._meters, self._estimates, strict=True):
            known.append(meter.estimate(posed[above], posed[below]))
        self._bends.append(is_bend)
        for number, body in self._bodies.items():
            self._crossed[number].append(body.estimate(posed[number]) if has_limbs else 0.0)

    def find(self, pose: Poser) -> Contacts:
        """Measure the poses that seem worst: of each layer, and of the limbs of each body."""
        return Contacts(self._find_layers(pose), self._find_crossings(pose), self._unit)

    def _find_layers(self, pose: Poser) -> list[CheckedLayer]:
        """All layers that are pierced, each at rest, and in the worst of the poses that seem so."""
        found, resting = [], []
        for (above, below), meter, known in zip(self._layers, self._meters, self._estimates, strict=True):
            resting.append(CheckedLayer(above, below, meter.at_rest, None, 0.0))
            measured = []
            for of_bends in (False, True):
                estimates = np.where(np.array(self._bends) == of_bends, known, 0.0)
                if estimates.max(initial=0.0) > 0.0:
                    number = int(estimates.argmax())
                    posed = pose(number)
                    measured.append(CheckedLayer(above, below, meter.measure(posed[above], posed[below]), number, 0.0))
            found += sorted(measured, key=lambda one: -one.pierced.share)[:1]
        if not found:
            return resting
        seen = SeenSkin(self._shells, self._layers, self._unit, self._find_at_rest)
        shares = {number: seen.measure(pose(number)) for number in {one.pose for one in found}}
        return [*resting, *(replace(one, seen=shares[one.pose]) for one in found)]

    def _find_crossings(self, pose: Poser) -> list[CheckedCrossing]:
        """Pairs of intersecting limbs, each in the pose of its deepest intersection."""
        found = []
        for mesh, body in self._bodies.items():
            if max(known := self._crossed[mesh], default=0.0) > 0.0:
                number = int(np.argmax(known))
                found += [CheckedCrossing(mesh, crossing, number) for crossing in body.measure(pose(number)[mesh])]
        return found
