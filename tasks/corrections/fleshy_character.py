"""A character in its clothes, bound by the method in use and by Particles: the offsets that make it look like flesh.

Clothes of their own mesh ride on the body, and its skin is pushed in if it would show through them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...bridge.meshes.nearest import find_nearest_surface
from ...deformers import Pose
from ...deformers.corrections.inverses import pull_back
from ...deformers.geometry.solid import vertex_areas
from ...deformers.particles.layers import Riders, find_riders
from ...deformers.particles.tuck import Tuck, find_tuck
from .from_method import ComparedMesh

# Weight of some vertex from which a bone moves a mesh
HELD = 0.5

# Share by which all vertices of a mesh ride on the body from which nothing else moves it
CARRIED = 0.99

# Radius of a limb, in sizes of the character, up to which limbs count as thin alike
THIN = 0.01


@dataclass(frozen=True, eq=False)
class FleshyCharacter:
    """The meshes of a character, each bound by the method in use and by Particles.

    Attributes
    ----------
    meshes : list of ComparedMesh
    riders : list of (Riders or None)
        Of each mesh: the vertices that ride on the body.
    tucks : list of (Tuck or None)
        Of each mesh: the body's skin that it covers.
    body : int
        The mesh that others ride on.
    size : float
        Of the character, armature space.
    """

    meshes: list[ComparedMesh]
    riders: list[Riders | None]
    tucks: list[Tuck | None]
    body: int
    size: float

    @classmethod
    def of(cls, meshes: list[ComparedMesh]) -> FleshyCharacter:
        """The body is the filled mesh with the most bones; meshes near it ride on it as clothes."""
        points, weights = zip(*(read_skin(mesh) for mesh in meshes), strict=True)
        bones = [int((each.max(axis=0, initial=0.0) > HELD).sum()) for each in weights]
        body = int(
            np.argmax([count * (mesh.source.binding.count > 0) for count, mesh in zip(bones, meshes, strict=True)])
        )
        riders: list[Riders | None] = [None] * len(meshes)
        tucks: list[Tuck | None] = [None] * len(meshes)
        endless = np.full(len(points[body]), np.inf)
        triangles = [np.asarray(mesh.source.rest.triangles) for mesh in meshes]
        for number in range(len(meshes)):
            if number != body:
                riders[number] = find_riders(points[number], weights[number], points[body], weights[body], endless)
            if riders[number] is not None:
                skins = points[body], triangles[body], points[number], triangles[number]
                tucks[number] = find_tuck(*skins, find_nearest_surface)
        return cls(meshes, riders, tucks, body, float(np.ptp(np.concatenate(points), axis=0).max()))

    @cached_property
    def shares(self) -> list[np.ndarray]:
        """Weight of each vertex of each mesh: its area over the radius of the limb, shape (V,).

        So an elbow is not behind a belly that moves as far, but toes are behind both.
        """
        found = []
        for mesh in self.meshes:
            rest, flesh = mesh.source.rest, mesh.source.binding.flesh
            scale = float(np.cbrt(abs(np.linalg.det(mesh.space[:3, :3]))))
            radii = np.maximum(scale * flesh.solid.radii, THIN * self.size) if flesh is not None else self.size
            found.append(vertex_areas(rest.armature_points, np.asarray(rest.triangles)) / radii)
        return found

    def find_offsets(self, matrices: np.ndarray) -> list[np.ndarray]:
        """Offsets at rest, float32, (V, 3), that give each mesh its shape by Particles in a pose, (B, 4, 4).

        Layers ride on the body, whose skin is pushed in if it would show through them.
        """
        return self.find_changes(matrices)[0]

    def find_changes(self, matrices: np.ndarray) -> tuple[list[np.ndarray], float]:
        """These offsets, and the sum of the squares by which skin gives way to layers, by `shares`."""
        posed = [_PosedMesh.of(mesh, matrices, self._is_carried(number)) for number, mesh in enumerate(self.meshes)]
        body = posed[self.body]
        changes = body.offsets @ body.mesh.space[:3, :3].T
        for one, riders in zip(posed, self.riders, strict=True):
            if riders is not None:
                one.offsets[riders.vertices] *= 1.0 - riders.rides[:, None]
                back = np.linalg.inv(one.mesh.space[:3, :3]).T
                one.offsets[riders.vertices] += riders.find_changes(changes) @ back
        skin, tucked = body.find_points(), 0.0
        for one, tuck in zip(posed, self.tucks, strict=True):
            if tuck is not None:
                moves, own = tuck.find_moves(skin, one.find_points()), tuck.vertices
                skin[own] += moves
                tucked += float(self.shares[self.body][own] @ np.square(moves).sum(axis=1))
                moves = moves @ np.linalg.inv(body.mesh.space[:3, :3]).T
                body.offsets[own] += pull_back(body.linear[own], moves).offsets
        return [one.offsets.astype(np.float32) for one in posed], tucked

    def _is_carried(self, number: int) -> bool:
        """Whether all of a mesh rides on the body, so that nothing else moves it."""
        riders, count = self.riders[number], len(self.meshes[number].source.rest.points)
        return riders is not None and len(riders.vertices) == count and riders.rides.min() > CARRIED

    def measure(self, offsets: Sequence[np.ndarray]) -> tuple[np.ndarray, float]:
        """Offsets, flat, weighed by `shares` so that their squares count; and the largest, in sizes of a character."""
        moved = np.concatenate([each @ mesh.space[:3, :3].T for each, mesh in zip(offsets, self.meshes, strict=True)])
        weighed = np.sqrt(np.concatenate(self.shares))[:, None] * moved
        return weighed.ravel(), float(np.linalg.norm(moved, axis=1).max(initial=0.0)) / self.size


def read_skin(mesh: ComparedMesh) -> tuple[np.ndarray, np.ndarray]:
    """Points at rest, armature space, (V, 3), and weights (V, B) of a mesh."""
    rest = mesh.source.rest
    weights = np.zeros((len(rest.points), len(rest.joints.parents)))
    np.add.at(weights, (rest.weights.vertices, rest.weights.joints), rest.weights.values)
    return rest.armature_points, weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)


@dataclass(frozen=True, eq=False)
class _PosedMesh:
    """A mesh in a pose by the method in use, and its flesh offsets.

    Attributes
    ----------
    points : float array, shape (V, 3)
        Posed without the offsets, object space.
    linear : float array, shape (V, 3, 3)
        Linear part of each vertex's transform.
    offsets : float64 array, shape (V, 3)
        At rest, object space; changed by the character.
    """

    mesh: ComparedMesh
    points: np.ndarray
    linear: np.ndarray
    offsets: np.ndarray

    @classmethod
    def of(cls, mesh: ComparedMesh, matrices: np.ndarray, is_carried: bool) -> _PosedMesh:
        """A mesh in a pose, (B, 4, 4); carried meshes have no offsets of their own."""
        pose = Pose(matrices).seen_from(mesh.space)
        points, linear = mesh.now.pose(pose), mesh.now.transforms(pose)[:, :3, :3]
        wanted = np.zeros(points.shape) if is_carried else mesh.source.pose(pose).astype(np.float64) - points
        return cls(mesh, points, linear, pull_back(linear, wanted).offsets)

    def find_points(self) -> np.ndarray:
        """Posed positions including the offsets, (V, 3), armature space."""
        points = self.points + np.einsum("vij,vj->vi", self.linear, self.offsets)
        return points @ self.mesh.space[:3, :3].T + self.mesh.space[:3, 3]
