"""Limbs that press into the skin and so bring patterns out: what a pattern's bones mean, and what measures them."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_triangles
from ...bridge.meshes.layers import new_grids_object, new_pressed_object
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.modifiers import list_inputs, read_input, write_input
from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...bridge.rigs.joints import ensure_joints_object, find_posing, fits_joints, has_segments
from ...deformers import SkinningError
from ...deformers.layers.limb_depths import PressedSkin, join_grids, make_depth_grid, make_pressed_skin
from ...deformers.layers.limb_grids import LimbGrids
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.patterns.charts import Chart
from ...nodes.compression import POINTS
from ...nodes.groups import ensure_layer_joints
from ...nodes.layers import GRIDS, JOINTS
from ...settings.patterns import PatternSettings
from ..subject.character import find_skinned, object_to_armature, read_weight_table
from ..subject.stack import SkinnedObject
from .layout import find_center, find_sides

CODE = "supple_depths"
"""Custom property of the mesh of a pressed object: differs where what it holds does."""


@dataclass(frozen=True)
class RestBody:
    """A mesh at rest as limbs of it are measured, and the grids that were made of it.

    Attributes
    ----------
    code : int
        Differs where the mesh, its weights or the bones have changed.
    points : float64 array, shape (V, 3)
        Armature space.
    weights : float32 array, shape (V, B)
        Normalized.
    grids : dict from int to LimbGrids or None
        By joints.
    """

    code: int
    points: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray
    grids: dict[int, LimbGrids | None]

    def find_grid(self, joint: int) -> LimbGrids | None:
        """The grid of a joint's limb, made where it is not known yet."""
        if joint not in self.grids:
            height = float(np.ptp(self.points, axis=0).max())
            self.grids[joint] = make_depth_grid(
                self.points, self.triangles, self.weights, joint, height, find_nearest_surface
            )
        return self.grids[joint]


_bodies: PerObject[RestBody] = PerObject()
_skeletons: PerObject[Skeleton] = PerObject()
"""Of armatures, as last read: they are compared before they are read again."""


def _find_skeleton(armature: bpy.types.Object) -> Skeleton:
    return _skeletons.keep(armature, read_skeleton(armature, _skeletons.find(armature)))


def _read_body(skinned: SkinnedObject, skeleton: Skeleton, mesh: ChartMesh) -> RestBody:
    obj = skinned.obj
    matrix = object_to_armature(obj, skinned.armature)
    weights = read_weight_table(skinned, skeleton, matrix)
    space = np.array(matrix, np.float64)
    points = mesh.points @ space[:3, :3].T + space[:3, 3]
    triangles = read_triangles(mesh_of(obj))
    code = zlib.crc32(skeleton.fingerprint.encode())
    for array in (points, triangles, weights):
        code = zlib.crc32(np.ascontiguousarray(array), code)
    known = _bodies.find(obj)
    if known is None or known.code != code:
        known = _bodies.keep(obj, RestBody(code, points, triangles, weights, {}))
    return known


def read_pressed(obj: bpy.types.Object, mesh: ChartMesh, pattern: PatternSettings, chart: Chart) -> PressedSkin:
    """What measures how deep limbs press into the skin under a pattern.

    Raises
    ------
    SkinningError
        Where its bones are not there, or no skin follows them.
    """
    skinned = find_skinned(obj)
    skeleton = _find_skeleton(skinned.armature)
    body, grids = _read_body(skinned, skeleton, mesh), []
    for bone in _list_bones(skinned.armature, pattern):
        if bone not in skeleton.names:
            raise SkinningError(f"Bone '{bone}' does not deform '{obj.name}': choose a bone that deforms it")
        index = skeleton.names.index(bone)
        first = int(skeleton.first_joints[index])
        count = int(skeleton.segment_counts[index])
        joints = range(first, first + count + (count > 1))
        found = [grid for joint in joints if (grid := body.find_grid(joint)) is not None]
        if not found:
            raise SkinningError(f"No skin of '{obj.name}' follows bone '{bone}': choose another bone")
        grids += found
    inside = (np.abs(chart.coordinates - 0.5) <= 0.5).all(axis=1)
    corners = chart.corners[inside] if inside.any() else chart.corners
    vertices = np.unique(mesh.corner_vertices[corners])
    sides = find_sides(mesh, find_center(mesh, pattern), pattern)
    scale = float(np.cbrt(abs(np.linalg.det(np.array(object_to_armature(obj, skinned.armature), np.float64)[:3, :3]))))
    side = max(scale * float(np.linalg.norm(sides, axis=1).min()), 1e-9)
    return make_pressed_skin(body.points[vertices], body.weights[vertices], join_grids(grids), side)


def _list_bones(armature: bpy.types.Object, pattern: PatternSettings) -> list[str]:
    """The bones whose limbs press: from the first bone of a chain to its last, and another."""
    bones = armature.data.bones
    for name in (pattern.bone, pattern.first_bone or pattern.bone, pattern.other_bone or pattern.bone):
        if not name:
            raise SkinningError("No bone drives the pattern: choose a bone")
        if name not in bones:
            raise SkinningError(f"'{armature.name}' has no bone '{name}': choose another bone")
    found, bone = [pattern.bone], bones[pattern.bone]
    while pattern.first_bone and bone.name != pattern.first_bone:
        bone = bone.parent
        if bone is None:
            raise SkinningError(f"'{pattern.first_bone}' is not above '{pattern.bone}': choose a bone up the chain")
        found.append(bone.name)
    return list(dict.fromkeys([*found, *filter(None, [pattern.other_bone])]))


def write_depths(obj: bpy.types.Object, modifier: bpy.types.Modifier, pressed: Mapping[int, PressedSkin]) -> None:
    """Give the node modifier what it measures depths with; objects that still fit stay."""
    armature = find_skinned(obj).armature
    skeleton = _find_skeleton(armature)
    joints = ensure_joints_object(armature, skeleton, ensure_layer_joints(has_segments(armature, skeleton)))
    if read_input(modifier, JOINTS) != joints:
        write_input(modifier, JOINTS, joints)
    code = _sign(pressed)
    points = read_input(modifier, POINTS)
    if points is not None and read_input(modifier, GRIDS) is not None and mesh_of(points).get(CODE) == code:
        return
    sizes = [len(skin.grids.values) for skin in pressed.values()]
    starts = dict(zip(pressed, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    made = new_pressed_object(obj, pressed, starts)
    mesh_of(made)[CODE] = code
    write_input(modifier, POINTS, made)
    write_input(modifier, GRIDS, new_grids_object(join_grids([skin.grids for skin in pressed.values()])))


def _sign(pressed: Mapping[int, PressedSkin]) -> str:
    code = 0
    for number, skin in pressed.items():
        arrays = skin.points, skin.joints, skin.weights, skin.rest, skin.grids.values, skin.grids.bones
        for array in (np.array([number, skin.side]), *arrays):
            code = zlib.crc32(np.ascontiguousarray(array), code)
    return f"{code:08x}"


def reads_other_bones(obj: bpy.types.Object, modifier: bpy.types.Modifier | None) -> bool:
    """Whether the node modifier measures depths by bones that its object no longer follows as they are."""
    if modifier is None or modifier.node_group is None or JOINTS not in list_inputs(modifier):
        return False
    joints, armature = read_input(modifier, JOINTS), find_skinned(obj).armature
    return (
        joints is None or find_posing(joints) != armature or not fits_joints(joints, armature, _find_skeleton(armature))
    )
