"""Points and cages read against the skin that they are to carry: where they are, and what carries the skin there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_edges, read_evaluated_points, read_triangles
from ...bridge.meshes.weights import read_weights
from ...bridge.rigs.armatures import Skeleton
from ...deformers import SkinningError
from ...deformers.automatic_weights.cages import measure_cage_gap, measure_gaps
from ...deformers.automatic_weights.handles import Cage
from ...deformers.geometry.neighbors import find_nearest
from ...deformers.rig.skeleton import distances_to_bones
from ..weights.parts import check_own_space, check_points, read_finite_points
from .names import name_cage, name_point

FAR = 0.1
"""Distance from the skin, in its sizes, from which on a point or a cage is in the air."""

NEAR = 8
"""Vertices about each point whose weights say which bone carries it."""


@dataclass(frozen=True)
class Handle:
    """A point or a cage, at rest.

    Attributes
    ----------
    positions : float64 array, shape (C, 3)
        Of the point, or of the cage's vertices, armature space.
    names : tuple of str, length C
        Of the bones.
    carrier : str
        The bone that carries the skin there; "" for none.
    """

    obj: bpy.types.Object
    positions: np.ndarray
    names: tuple[str, ...]
    carrier: str


@dataclass(frozen=True)
class CarriedSkin:
    """Meshes with the bones that carry them.

    Attributes
    ----------
    name : str
        Of the first mesh.
    to_armature : float64 array, shape (4, 4)
        From world space.
    points : float64 array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    bones : tuple of str, length B
        Deforming bones, handles apart.
    heads, tails : float64 arrays, shape (B, 3)
    weights : float32 array, shape (V, B)
    taken : frozenset of str
        Names of bones and vertex groups.
    """

    name: str
    to_armature: np.ndarray
    points: np.ndarray
    triangles: np.ndarray
    bones: tuple[str, ...]
    heads: np.ndarray
    tails: np.ndarray
    weights: np.ndarray
    taken: frozenset[str]

    @property
    def size(self) -> float:
        """The diagonal of its box."""
        return float(np.linalg.norm(np.ptp(self.points, axis=0)))


def read_skin(
    meshes: Sequence[bpy.types.Object], armature: bpy.types.Object | None, skeleton: Skeleton | None
) -> CarriedSkin:
    """Read meshes, in the space of their armature; without one, in that of the first mesh.

    Raises
    ------
    SkinningError
        Where there is no surface, or no computing in its space.
    """
    owner = armature or meshes[0]
    check_own_space(owner, owner.matrix_world)
    to_armature = np.linalg.inv(np.array(owner.matrix_world, np.float64))
    taken = {group.name for mesh in meshes for group in mesh.vertex_groups}
    bones, heads, tails = (), np.empty((0, 3)), np.empty((0, 3))
    if armature is not None and skeleton is not None:
        own = ~skeleton.handles
        bones = tuple(np.array(skeleton.names, object)[own])
        heads, tails = skeleton.envelopes.heads[own], skeleton.envelopes.tails[own]
        taken |= set(cast(Any, armature.data).bones.keys())
    points, triangles, weights, start = [], [], [], 0
    for mesh in meshes:
        matrix = to_armature @ np.array(mesh.matrix_world, np.float64)
        own_points = read_finite_points(mesh) @ matrix[:3, :3].T + matrix[:3, 3]
        check_points(mesh, own_points)
        points.append(own_points)
        triangles.append(read_triangles(mesh_of(mesh)) + start)
        weights.append(read_weights(mesh, bones))
        start += len(own_points)
    if not sum(map(len, triangles)):
        raise SkinningError(f"'{meshes[0].name}' has no faces: add faces first")
    return CarriedSkin(
        meshes[0].name, to_armature, np.concatenate(points), np.concatenate(triangles), bones, heads, tails,
        np.concatenate(weights), frozenset(taken),
    )  # fmt: skip


def read_handle(obj: bpy.types.Object, skin: CarriedSkin, named: Sequence[str]) -> Handle:
    """Read a point or a cage.

    Parameters
    ----------
    named : sequence of str
        Names that are given to other handles.

    Raises
    ------
    SkinningError
        Where it is not at the skin.
    """
    matrix = skin.to_armature @ np.array(obj.matrix_world, np.float64)
    check_own_space(obj, matrix)
    taken = {*skin.taken, *named}
    if obj.type != "MESH":
        positions = matrix[None, :3, 3]
        gap = float(measure_gaps(skin.points, skin.triangles, positions)[0])
        if not gap <= FAR * skin.size:
            raise SkinningError(
                f"'{obj.name}' is in the air, {gap:.3g} from '{skin.name}' (in armature space): move it to the skin, "
                "or into it"
            )
        return Handle(obj, positions, (name_point(obj.name, taken),), _find_carrier(skin, positions))
    mesh = mesh_of(obj)
    points = read_evaluated_points(obj, bpy.context.evaluated_depsgraph_get()).astype(np.float64)
    positions = points @ matrix[:3, :3].T + matrix[:3, 3]
    check_points(obj, positions)
    cage = Cage(np.arange(len(positions)), positions, read_edges(mesh), read_triangles(mesh))
    gap = measure_cage_gap(skin.points, skin.triangles, cage)
    if not gap <= FAR * skin.size:
        raise SkinningError(
            f"No vertex of '{skin.name}' is in or near cage '{obj.name}', the nearest is {gap:.3g} away (in armature "
            "space): move the cage to the skin"
        )
    return Handle(obj, positions, name_cage(obj.name, positions, taken), _find_carrier(skin, positions))


def _find_carrier(skin: CarriedSkin, positions: np.ndarray) -> str:
    """The bone of the most weight in the box of positions, or about them; else the nearest; "" where there is none."""
    if not skin.bones:
        return ""
    low, high = positions.min(axis=0), positions.max(axis=0)
    near = np.flatnonzero(((skin.points >= low) & (skin.points <= high)).all(axis=1))
    if not near.size:
        near = find_nearest(positions, skin.points, min(NEAR, len(skin.points)))[0].ravel()
    sums = skin.weights[near].sum(axis=0)
    if sums.any():
        return skin.bones[int(sums.argmax())]
    return skin.bones[int(distances_to_bones(positions.mean(axis=0), skin.heads, skin.tails).argmin())]
