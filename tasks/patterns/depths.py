"""Depth of limbs that press into the skin: the bones that a pattern names, and the objects that measure them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_triangles
from ...bridge.meshes.layers import new_grids_object, new_pressed_object
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.modifiers import list_inputs, read_input, write_input
from ...bridge.owned import Tag, digest, mark, read_mark
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
from .read import check_bones, find_center, find_sides, list_chain


@dataclass(frozen=True)
class RestBody:
    """A mesh at rest in armature space, and the grids of its limbs by joints.

    Attributes
    ----------
    code : str
        Differs if the mesh, its weights or the bones have changed.
    points : float64 array, shape (V, 3)
    triangles : int array, shape (T, 3)
    weights : float32 array, shape (V, B)
        Normalized.
    """

    code: str
    points: np.ndarray
    triangles: np.ndarray
    weights: np.ndarray
    grids: dict[int, LimbGrids | None]

    def find_grid(self, joint: int) -> LimbGrids | None:
        """Find the grid of a joint's limb, from memory if it was made before."""
        if joint not in self.grids:
            height = float(np.ptp(self.points, axis=0).max())
            self.grids[joint] = make_depth_grid(
                self.points, self.triangles, self.weights, joint, height, find_nearest_surface
            )
        return self.grids[joint]


_bodies: PerObject[RestBody] = PerObject()
_skeletons: PerObject[Skeleton] = PerObject()  # of armatures, which are compared with it before they are read again


def _find_skeleton(armature: bpy.types.Object) -> Skeleton:
    return _skeletons.keep(armature, read_skeleton(armature, _skeletons.find(armature)))


def _read_body(skinned: SkinnedObject, skeleton: Skeleton, mesh: ChartMesh) -> RestBody:
    obj = skinned.obj
    matrix = object_to_armature(obj, skinned.armature)
    weights = read_weight_table(skinned, skeleton, matrix)
    space = np.array(matrix, np.float64)
    points = mesh.points @ space[:3, :3].T + space[:3, 3]
    triangles = read_triangles(mesh_of(obj))
    code = digest(skeleton.fingerprint, points, triangles, weights)
    known = _bodies.find(obj)
    if known is None or known.code != code:
        known = _bodies.keep(obj, RestBody(code, points, triangles, weights, {}))
    return known


def read_pressed(obj: bpy.types.Object, mesh: ChartMesh, pattern: PatternSettings, chart: Chart) -> PressedSkin:
    """Prepare to measure the depth of limbs in the skin under a pattern.

    Raises SkinningError if its bones do not exist, or no skin follows them.
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
        joints = range(first, first + count + (count > 1))  # segments have one end more
        found = [grid for joint in joints if (grid := body.find_grid(joint)) is not None]
        if not found:
            raise SkinningError(f"No skin of '{obj.name}' follows bone '{bone}': choose another bone")
        grids += found
    # the corners of large faces may all lie outside of the height map
    inside = (np.abs(chart.coordinates - 0.5) <= 0.5).all(axis=1)
    corners = chart.corners[inside] if inside.any() else chart.corners
    vertices = np.unique(mesh.corner_vertices[corners])
    sides = find_sides(mesh, find_center(mesh, pattern), pattern)
    scale = float(np.cbrt(abs(np.linalg.det(np.array(object_to_armature(obj, skinned.armature), np.float64)[:3, :3]))))
    side = max(scale * float(np.linalg.norm(sides, axis=1).min()), 1e-9)  # nodes divide by it
    return make_pressed_skin(body.points[vertices], body.weights[vertices], join_grids(grids), side)


def _list_bones(armature: bpy.types.Object, pattern: PatternSettings) -> list[str]:
    """List the bones whose limbs press: the bones of a chain, and the other bone."""
    others = [name for name in (pattern.first_bone, pattern.other_bone) if name]
    check_bones(armature, pattern.bone, *others)
    chain = [bone.name for bone in list_chain(armature, pattern)]
    return list(dict.fromkeys([*chain, *filter(None, [pattern.other_bone])]))


def write_depths(obj: bpy.types.Object, modifier: bpy.types.Modifier, pressed: Mapping[int, PressedSkin]) -> None:
    """Set the objects by which the node modifier measures depths. Objects that still fit stay."""
    armature = find_skinned(obj).armature
    skeleton = _find_skeleton(armature)
    joints = ensure_joints_object(armature, skeleton, ensure_layer_joints(has_segments(armature, skeleton)))
    if read_input(modifier, JOINTS) != joints:
        write_input(modifier, JOINTS, joints)
    arrays: list[Any] = []
    for number, skin in pressed.items():
        arrays += [number, skin.side, skin.points, skin.joints, skin.weights, skin.rest]
        arrays += [skin.grids.values, skin.grids.bones]
    code = digest(*arrays)
    points = read_input(modifier, POINTS)
    if (
        points is not None
        and read_input(modifier, GRIDS) is not None
        and read_mark(mesh_of(points), Tag.DEPTHS) == code
    ):
        return
    sizes = [len(skin.grids.values) for skin in pressed.values()]
    starts = dict(zip(pressed, (np.cumsum(sizes) - sizes).tolist(), strict=True))
    made = new_pressed_object(obj, pressed, starts)
    mark(mesh_of(made), Tag.DEPTHS, code)
    write_input(modifier, POINTS, made)
    write_input(modifier, GRIDS, new_grids_object(join_grids([skin.grids for skin in pressed.values()])))


def reads_other_bones(obj: bpy.types.Object, modifier: bpy.types.Modifier | None) -> bool:
    """Whether the node modifier measures depths by other bones than its object follows now."""
    if modifier is None or modifier.node_group is None or JOINTS not in list_inputs(modifier):
        return False
    joints, armature = read_input(modifier, JOINTS), find_skinned(obj).armature
    return (
        joints is None or find_posing(joints) != armature or not fits_joints(joints, armature, _find_skeleton(armature))
    )
