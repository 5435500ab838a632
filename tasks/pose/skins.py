"""The skins of an armature as one body: ray tests, and how skin follows the bones."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Vector

from ...bridge.meshes.data import mesh_of, read_triangles
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.meshes.rays import read_posed_skin
from ...bridge.meshes.skin_points import SkinPoint, read_group_weights
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...deformers import SkinningError, Weights
from ...deformers.patterns.picking import PosedSkin, carry_ray, cross_triangles
from ..subject.character import list_deformed, read_rest
from ..subject.stack import armature_modifiers, resolve_skinned
from ..subject.surfaces import find_bound_space


@dataclass(frozen=True, eq=False)
class RestSkins:
    """All skins of an armature at rest.

    Attributes
    ----------
    points : float64 array, shape (V, 3)
        Armature space.
    triangles : int array, shape (T, 3)
    weights : Weights
        By bone, an index into the names that were given; normalized.
    first : dict of str to int
        First vertex of each mesh, by the object's name.
    """

    points: np.ndarray
    triangles: np.ndarray
    weights: Weights
    first: dict[str, int]

    def is_same(self, other: RestSkins) -> bool:
        """Whether all that a solver is prepared for is equal."""
        mine, others = (
            (body.points, body.triangles, body.weights.vertices, body.weights.joints, body.weights.values)
            for body in (self, other)
        )
        return all(np.array_equal(*pair) for pair in zip(mine, others, strict=True))


def find_skins(
    armature: bpy.types.Object, layer: bpy.types.ViewLayer, space: bpy.types.Space | None = None, name: str = ""
) -> list[bpy.types.Object]:
    """The meshes that an armature deforms and that are visible, in a 3D View if one is given.

    Raises SkinningError if there is none.

    Parameters
    ----------
    name : str
        Of the only mesh that is wanted; "" for all.
    """
    skins = list_deformed(layer, armature)
    if not skins:
        raise SkinningError(f"'{armature.name}' deforms no mesh in this view layer: parent a mesh to it first")
    seen: Any = {} if space is None else {"viewport": space}
    shown = [obj for obj in skins if obj.visible_get(view_layer=layer, **seen) and obj.mode != "EDIT"]
    if not shown:
        raise SkinningError(
            f"All meshes of '{armature.name}' are hidden or in Edit Mode: show a mesh, or leave Edit Mode"
        )
    if name and name not in [obj.name for obj in shown]:
        raise SkinningError(f"'{armature.name}' does not deform a visible mesh '{name}': choose another mesh")
    return [obj for obj in shown if name in ("", obj.name)]


def read_body(armature: bpy.types.Object, skins: Sequence[bpy.types.Object], names: Sequence[str]) -> RestSkins:
    """Read skins at rest.

    Raises SkinningError if no mesh has a weight for a deforming bone.

    Parameters
    ----------
    skins : sequence of Object
        A mesh without weights is left out.
    names : sequence of str
        All bones, in the order in which weights are to name them.
    """
    skeleton = read_skeleton(armature)
    bones = _index_bones(skeleton, names)
    first: dict[str, int] = {}
    points, triangles, parts, count = [], [], [], 0
    problem = None
    for obj in skins:
        modifier = next(modifier for modifier in armature_modifiers(obj) if modifier.object == armature)
        try:
            rest = read_rest(resolve_skinned(obj, modifier), skeleton, find_bound_space(obj, armature))
        except SkinningError as error:
            problem = error
            continue
        space = np.asarray(rest.object_to_armature, np.float64)
        first[obj.name] = count
        points.append(rest.points @ space[:3, :3].T + space[:3, 3])
        triangles.append(read_triangles(mesh_of(obj)) + count)
        weights = rest.weights
        parts.append((weights.vertices + count, bones[weights.joints], np.maximum(weights.values, 0.0)))
        count += len(rest.points)
    if problem is not None and not first:
        raise problem
    vertices, joints, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    sums = np.bincount(vertices, values, count)
    values = values / np.where(sums > 0.0, sums, 1.0)[vertices]
    return RestSkins(np.concatenate(points), np.concatenate(triangles), Weights(vertices, joints, values), first)


def _index_bones(skeleton: Skeleton, names: Sequence[str]) -> np.ndarray:
    """Index of the bone of each joint, int array, shape (B,)."""
    index_of = {name: index for index, name in enumerate(names)}
    return np.repeat([index_of[name] for name in skeleton.names], skeleton.joint_counts).astype(np.intp)


def read_weights_at(
    body: RestSkins, point: SkinPoint, names: Sequence[str], depsgraph: bpy.types.Depsgraph
) -> tuple[np.ndarray, np.ndarray]:
    """By which bones a point of a skin moves: their indices and weights, which sum to 1, shape (N,) each.

    Raises SkinningError if no bone moves it.
    """
    dense = np.zeros(len(names))
    if point.count == len(mesh_of(point.obj).vertices) and point.obj.name in body.first:
        for vertex, share in zip(point.vertices, point.shares, strict=True):
            start, end = np.searchsorted(body.weights.vertices, body.first[point.obj.name] + vertex + np.array([0, 1]))
            np.add.at(dense, body.weights.joints[start:end], share * body.weights.values[start:end])
    else:
        moved = np.unique(body.weights.joints)
        weights = read_group_weights(point, depsgraph)
        dense[moved] = [weights.get(names[int(bone)], 0.0) for bone in moved]
    dense = np.maximum(dense, 0.0)
    if dense.sum() <= 0.0:
        raise SkinningError(f"No bone moves '{point.obj.name}' here: add weights, or drag another point")
    bones = np.flatnonzero(dense)
    return bones, dense[bones] / dense.sum()


def find_under_ray(
    skins: Sequence[bpy.types.Object],
    depsgraph: bpy.types.Depsgraph,
    origin: Sequence[float] | Vector,
    direction: Sequence[float] | Vector,
) -> tuple[SkinPoint, np.ndarray] | None:
    """Find the first point of the skins on a ray, and its position; None if there is none.

    `origin` and `direction`: world space.
    """
    start, along = np.array(origin), np.array(direction)
    found = []
    for obj in skins:
        skin, matrix = _read_skin(obj, depsgraph)
        with suppress(np.linalg.LinAlgError):
            crossed = cross_triangles(skin.points, skin.triangles, *carry_ray(np.linalg.inv(matrix), start, along))
            if crossed is not None:
                found.append(_make_point(obj, skin, matrix, *crossed))
    return min(found, key=lambda one: float((one[1] - start) @ along), default=None)


def find_nearest(
    skins: Sequence[bpy.types.Object], depsgraph: bpy.types.Depsgraph, location: Sequence[float] | Vector
) -> tuple[SkinPoint, np.ndarray]:
    """Find the point of the skins nearest to a location (3 floats, world space), and its position."""
    wanted = np.array(location)
    found = []
    for obj in skins:
        skin, matrix = _read_skin(obj, depsgraph)
        if len(skin.triangles):
            world = skin.points @ matrix[:3, :3].T + matrix[:3, 3]
            triangles, weights, _ = find_nearest_surface(wanted[None], world, skin.triangles)
            found.append(_make_point(obj, skin, matrix, skin.triangles[triangles[0]], weights[0]))
    if not found:
        raise SkinningError("The skin has no faces: drag another mesh")
    return min(found, key=lambda one: float(np.linalg.norm(one[1] - wanted)))


def _read_skin(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> tuple[PosedSkin, np.ndarray]:
    return read_posed_skin(obj, depsgraph), np.array(obj.evaluated_get(depsgraph).matrix_world)


def _make_point(
    obj: bpy.types.Object, skin: PosedSkin, matrix: np.ndarray, ends: np.ndarray, shares: np.ndarray
) -> tuple[SkinPoint, np.ndarray]:
    location = matrix[:3, :3] @ (shares @ skin.points[ends]) + matrix[:3, 3]
    return SkinPoint(obj, tuple(ends.tolist()), tuple(shares.tolist()), len(skin.points)), location
