"""A character as flesh sees it: all its meshes posed by the method in use, and the shapes that its skin may take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_edges, read_face_corners, read_triangles
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.rigs.armatures import Skeleton
from ...deformers import Pose, SkinningError
from ...deformers.corrections.inverses import pull_back
from ...deformers.flesh.body import Body, read_body
from ...deformers.flesh.smoothing import Smoothing, list_corners
from ...deformers.flesh.solid import Binding, deform
from ...deformers.geometry.solid import label_islands, vertex_areas, vertex_normals
from ...deformers.geometry.vectors import transform_points
from ...deformers.layers.order import REFERENCE_HEIGHT
from ...deformers.layers.tuck import Cover, find_cover, find_neighbors, tuck
from ...deformers.particles.continuity import find_continuous
from ...deformers.particles.layers import Riders, find_riders
from ...deformers.rig.limbs import find_mirrored
from ...deformers.rig.rest import Joints
from ...deformers.rig.skeleton import distances_to_bones
from ...deformers.skinning.limb_roots import find_limb_hinges
from ...settings.choices import BAKING
from ...settings.objects import settings_of
from ..left_out import LeftOut, check_any, describe_left_out
from ..skin.model import Choices, PosableSkin, SkinSource, UnboundSkin
from ..subject.stack import SkinnedObject

# Weight of some vertex from which a bone moves a mesh
HELD = 0.5

# Distance from the skin, in heights of the character, up to which clothes are tight, and the share of a piece that is
TIGHT, MIN_TIGHT = 0.015, 0.9

# Distance from the skin, in heights of the character, up to which clothes cover it
COVERED = 0.014

# Share of the flesh that follows both sides of a joint, for it to be looked at: fingers, toes and faces have less
MIN_FLESH = 3e-3


@dataclass(frozen=True, eq=False)
class ReadMesh:
    """A mesh as it is in the file, with the choices of the method in use.

    Attributes
    ----------
    edges : int array, shape (E, 2)
    corners, firsts : int arrays, shape (C,), (F,)
        As from `read_face_corners`.
    millimeters : float
        In a unit of armature space.
    gap, give : float
        Distance that skin keeps to tight clothes, and the farthest that it moves for that, on a character of 1.8 m.
    """

    skinned: SkinnedObject
    unbound: UnboundSkin
    quality: object
    triangles: np.ndarray
    edges: np.ndarray
    corners: np.ndarray
    firsts: np.ndarray
    millimeters: float
    gap: float
    give: float

    @classmethod
    def of(cls, skinned: SkinnedObject, skeleton: Skeleton) -> ReadMesh:
        """Read a mesh; raises SkinningError if it cannot be bound."""
        choices, mesh = Choices.read(skinned), mesh_of(skinned.obj)
        unbound = UnboundSkin.of(SkinSource.of(skinned, choices, skeleton))
        scale = skinned.armature.matrix_world.median_scale * bpy.context.scene.unit_settings.scale_length
        quality = choices.read_quality(skinned.settings, BAKING)
        surface = read_triangles(mesh), read_edges(mesh), *read_face_corners(mesh)
        own = settings_of(skinned.obj)
        return cls(skinned, unbound, quality, *surface, 1000.0 * scale, own.layer_gap, own.layer_give)

    def list_parts(self) -> tuple[object, ...]:
        """All that the skin depends on, for a digest."""
        unbound, weights = self.unbound, self.unbound.rest.weights
        arrays = unbound.rest.points, weights.vertices, weights.joints, weights.values, self.edges, self.triangles
        choices = unbound.choices, self.quality, self.gap, self.give
        return self.skinned.obj.name, *choices, unbound.bound_space[:], *arrays


def read_meshes(objects: Sequence[SkinnedObject], skeleton: Skeleton) -> tuple[list[ReadMesh], tuple[str, ...]]:
    """Read meshes, and say which are left out; raises SkinningError if all are."""
    found, left_out = [], LeftOut()
    for one in objects:
        try:
            found.append(ReadMesh.of(one, skeleton))
        except SkinningError as error:
            left_out.append((one.obj, error))
    check_any(found, left_out)
    return found, describe_left_out(left_out)


@dataclass(frozen=True, eq=False)
class Posed:
    """All vertices in a pose, by the method in use.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
    linear : float64 array, shape (V, 3, 3)
        Linear part of each vertex's transform.
    """

    points: np.ndarray
    linear: np.ndarray

    def move(self, offsets: np.ndarray) -> np.ndarray:
        """The points, (V, 3), with offsets at rest, (V, 3)."""
        return self.points + np.einsum("vij,vj->vi", self.linear, offsets)


@dataclass(frozen=True, eq=False)
class FleshyCharacter:
    """The meshes of a character, one after the other.

    All positions are in its own space: armature space, turned and moved so that x = 0 is the plane between both sides,
    in sizes of the character.

    Attributes
    ----------
    meshes : list of ReadMesh
    skins : list of PosableSkin
        Each mesh, bound by the method in use.
    starts : int array, shape (M + 1,)
        First vertex of each mesh, and the count of all.
    to_own : float array, shape (4, 4)
        From armature space.
    body : Body
    main : int
        The mesh that others ride on: that of the most bones.
    smoothing : Smoothing
        Of the body's points, without what is worn.
    riders : Riders or None
        Points of the body that lie on those that are smoothed.
    covers : dict of int to Cover
        By mesh, the main mesh's skin that it covers.
    neighbors : int array, shape (n, 4)
        Of the main mesh, from `find_neighbors`.
    loose : bool array, shape (P,)
        Points of what hangs loose, such as skirts and long hair: no part of the solid.
    mirrored : int array, shape (B,)
        Mirror image of each joint; -1 for none.
    """

    meshes: list[ReadMesh]
    skins: list[PosableSkin]
    starts: np.ndarray
    to_own: np.ndarray
    body: Body
    main: int
    smoothing: Smoothing
    riders: Riders | None
    covers: dict[int, Cover]
    neighbors: np.ndarray
    loose: np.ndarray
    mirrored: np.ndarray

    @classmethod
    def of(cls, meshes: list[ReadMesh], joints: Joints, frame: np.ndarray) -> FleshyCharacter:
        """Bind the meshes; columns of `frame`, (3, 3), are the axes along which the character stands."""
        skins = [mesh.unbound.bind().at(mesh.quality) for mesh in meshes]
        tails = joints.centers if joints.tails is None else joints.tails
        upright, to_own = (np.asarray(each, np.float64) @ frame for each in (joints.centers, tails)), np.eye(4)
        mirrored, axis, middle = find_mirrored(Joints(next(upright), joints.parents, next(upright)))
        to_own[:3, :3] = np.roll(frame.T, -axis, axis=0)
        to_own[0, 3] = -middle
        points = [transform_points(to_own, mesh.unbound.rest.armature_points) for mesh in meshes]
        size = max(float(np.ptp(np.concatenate(points), axis=0).max(initial=0.0)), 1e-30)
        to_own[:3] /= size
        points = [each / size for each in points]
        weights = [_read_weights(mesh) for mesh in meshes]
        starts = np.cumsum([0, *map(len, points)])
        triangles = np.concatenate([mesh.triangles + start for mesh, start in zip(meshes, starts, strict=False)])
        own = replace(
            joints,
            centers=transform_points(to_own, joints.centers),
            tails=transform_points(to_own, tails),
            orientations=None,
        )
        body = read_body(np.concatenate(points), triangles, np.concatenate(weights), own, find_limb_hinges(joints))
        main = int(np.argmax([int((each.max(axis=0, initial=0.0) > HELD).sum()) for each in weights]))
        rows = np.arange(starts[main], starts[main + 1])
        is_smoothed = np.zeros(len(body.points), bool)
        is_smoothed[np.intersect1d(body.vertices[rows], body.skin)] = True
        smoothing = _smooth(meshes[main], body, rows, is_smoothed)
        loose = _find_loose(body, triangles)
        worn, bare = np.flatnonzero(~is_smoothed & (body.rigid < 0)), np.flatnonzero(is_smoothed)
        carried = body.points[worn], body.weights[worn], body.points[bare], body.weights[bare]
        riders = find_riders(*carried, np.full(len(bare), np.inf))
        if riders is not None:
            riders = replace(riders, vertices=worn[riders.vertices], carriers=bare[riders.carriers])
        skin = points[main], meshes[main].triangles
        normals, height = vertex_normals(*skin), float(np.ptp(skin[0], axis=0).max())
        covers = dict[int, Cover]()
        for number, mesh in enumerate(meshes):
            if number == main or not len(mesh.triangles):
                continue
            nearest = find_nearest_surface(skin[0], points[number], mesh.triangles)
            cover = find_cover(skin[0], normals, points[number], mesh.triangles, nearest, COVERED * height)
            if cover.is_covered.any():
                covers[number] = cover
        neighbors = find_neighbors(*skin)
        return cls(meshes, skins, starts, to_own, body, main, smoothing, riders, covers, neighbors, loose, mirrored)

    @cached_property
    def firsts(self) -> np.ndarray:
        """A vertex of each point of the body, int array, shape (P,)."""
        return np.unique(self.body.vertices, return_index=True)[1]

    @property
    def triangles(self) -> np.ndarray:
        """Of all meshes, between points of the body, (T, 3)."""
        own = [mesh.triangles + start for mesh, start in zip(self.meshes, self.starts, strict=False)]
        return self.body.vertices[np.concatenate(own)]

    @cached_property
    def spaces(self) -> list[np.ndarray]:
        """From object space to the own, (4, 4) of each mesh."""
        return [self.to_own @ np.array(skin.bound_space, np.float64) for skin in self.skins]

    @property
    def scale(self) -> float:
        """Of the own space: one over the size of the character in armature space."""
        return float(np.linalg.norm(self.to_own[0, :3]))

    @property
    def frame(self) -> np.ndarray:
        """From armature space to the own, without its scale: a rotation, (3, 3)."""
        return self.to_own[:3, :3] / self.scale

    @property
    def millimeters(self) -> float:
        """In the size of the character."""
        return self.meshes[0].millimeters / self.scale

    def slice(self, number: int) -> slice:
        """Vertices of a mesh."""
        return slice(int(self.starts[number]), int(self.starts[number + 1]))

    def pose(self, matrices: np.ndarray) -> Posed:
        """All meshes in a pose, (B, 4, 4), armature space."""
        points, linear = np.empty((self.starts[-1], 3)), np.empty((self.starts[-1], 3, 3))
        for number, (skin, space) in enumerate(zip(self.skins, self.spaces, strict=True)):
            pose, own = Pose(matrices).seen_from(np.array(skin.bound_space, np.float64)), self.slice(number)
            axes = space[:3, :3]
            points[own] = transform_points(space, skin.pose(pose))
            linear[own] = axes @ skin.transforms(pose)[:, :3, :3] @ np.linalg.inv(axes)
        return Posed(points, linear)

    def turn(self, matrices: np.ndarray) -> np.ndarray:
        """Transforms, (B, 4, 4), from armature space to the own."""
        return self.to_own @ matrices @ np.linalg.inv(self.to_own)

    def carry(self, binding: Binding, nodes: np.ndarray, base: np.ndarray) -> np.ndarray:
        """All vertices, (V, 3), carried by nodes of the solid; what hangs loose rides on the skin where it is near."""
        moved, vertices = deform(binding, nodes, base), self.body.vertices
        changes = np.zeros((len(self.body.points), 3))
        if self.riders is not None:
            changes[self.riders.vertices] = self.riders.find_changes((moved - base)[self.firsts])
        return np.where(self.loose[vertices, None], base + changes[vertices], moved)

    def smooth(self, base: np.ndarray) -> np.ndarray:
        """A posed skin, (P, 3), smoothed; what lies on it rides."""
        found = self.smoothing.apply(base)
        if self.riders is not None:
            found[self.riders.vertices] += self.riders.find_changes(found - base)
        for part in self.rigid_parts:
            found[part] = base[part]
        return found

    @cached_property
    def rigid_parts(self) -> list[np.ndarray]:
        """Points of each part that one bone holds."""
        return [np.flatnonzero(self.body.rigid == part) for part in range(self.body.rigid.max(initial=-1) + 1)]

    def tuck(self, moved: np.ndarray) -> np.ndarray:
        """All vertices, (V, 3), with the skin pushed in that would show through tight layers."""
        own, mesh, unit = self.slice(self.main), self.meshes[self.main], self.body.height / REFERENCE_HEIGHT
        moved = moved.copy()
        for number, cover in self.covers.items():
            moved[own] = tuck(
                moved[own], moved[self.slice(number)], cover, self.neighbors, mesh.gap * unit, mesh.give * unit
            )
        return moved

    def find_offsets(self, posed: Posed, moved: np.ndarray) -> np.ndarray:
        """Offsets at rest, float32, (V, 3), by which a posed skin goes where it has moved to, (V, 3)."""
        return pull_back(posed.linear, moved - posed.points).offsets.astype(np.float32)

    def to_objects(self, number: int, offsets: np.ndarray) -> np.ndarray:
        """Offsets of a mesh, (..., n, 3), in its object space."""
        return offsets @ np.linalg.inv(self.spaces[number][:3, :3]).T

    def find_fleshy_joints(self) -> np.ndarray:
        """Joints that have flesh on both sides, and skin that goes across, the fleshiest first."""
        body = self.body
        sides = body.weights @ body.joints.chains.below
        depths = np.zeros(len(body.points))
        for bone in np.unique(body.bones[body.skin]):
            own = body.skin[body.bones[body.skin] == bone]
            depths[own] = distances_to_bones(body.points[own], body.joints.centers[bone], body.tails[bone])
        volumes = vertex_areas(body.points, body.triangles) * depths
        shares = volumes @ (4.0 * sides * (1.0 - sides)) / max(volumes.sum(), 1e-30)
        shares[~find_continuous(body.points, body.triangles, sides, body.radii[0][body.bones])] = 0.0
        order = np.argsort(-shares.round(9), kind="stable")
        return order[shares[order] >= MIN_FLESH]


def _read_weights(mesh: ReadMesh) -> np.ndarray:
    """Weights of a mesh, (V, B)."""
    rest = mesh.unbound.rest
    weights = rest.weights.to_dense(len(rest.points), len(rest.joints.parents))
    return weights / np.maximum(weights.sum(axis=1, keepdims=True), 1e-12)


def _find_loose(body: Body, triangles: np.ndarray) -> np.ndarray:
    """Points, bool (P,), of pieces around the solid that do not lie on it, and have no flesh of their own."""
    islands = label_islands(np.arange(len(body.points)), body.vertices[triangles])
    is_near = body.measure_depths(body.points) < TIGHT * body.height
    counts = np.bincount(islands)
    is_worn = np.bincount(islands[body.skin], minlength=len(counts)) == 0
    is_loose = is_worn & (np.bincount(islands, is_near) < MIN_TIGHT * counts)
    return is_loose[islands]


def _smooth(mesh: ReadMesh, body: Body, rows: np.ndarray, is_smoothed: np.ndarray) -> Smoothing:
    """What smooths the body's points of a mesh, whose vertices are `rows` of all."""
    vertices = body.vertices[rows]
    edges = np.unique(np.sort(vertices[mesh.edges], axis=1), axis=0)
    edges = edges[edges[:, 0] != edges[:, 1]]
    corners = vertices[list_corners(mesh.corners, mesh.firsts)]
    corners = corners[:, (corners != np.roll(corners, 1, axis=0)).all(axis=0)]
    return Smoothing.of(body.points, edges, corners, is_smoothed.astype(float))
