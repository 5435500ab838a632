"""The joints object of an armature: a hidden mesh through which node modifiers read the pose, once for all meshes.

Blender's own Armature modifier poses its points, from which a node modifier computes the input of layers and patterns.
Blender renames its vertex groups with the bones, and takes it along with the meshes that read it, into other files and
library overrides.
"""

from __future__ import annotations

import zlib
from functools import partial
from typing import Any, cast

import bpy
import numpy as np

from ...deformers.rig.skeleton import Chains
from ...nodes.pose import BLOCKS, BONE, FIRST, LAST, REST_INVERSE, SEGMENT_BLOCKS, SHARE
from ..arrays import write_array
from ..meshes.data import mesh_of
from ..modifiers import write_input
from ..owned import Tag, is_marked, mark, read_mark, remove_unused
from .armatures import Skeleton
from .segments import read_rolls

# Distance of a joint's points from its origin, about, in sizes of the skeleton: the farther, the less does rounding
# matter of a character that has walked away from its armature's origin
REACH = 256.0

# Names of its modifiers
NODES_NAME, ARMATURE_NAME, FOLLOW_NAME = "Supple", "Armature", "Supple Space"


def ensure_joints_object(armature: bpy.types.Object, skeleton: Skeleton, group: bpy.types.NodeTree) -> bpy.types.Object:
    """The joints object of an armature, made if there is none for its bones as they are.

    Parameters
    ----------
    skeleton : Skeleton
        The armature's.
    group : NodeTree
        Of its node modifier.
    """
    for obj in _local_joints_objects():
        modifier = obj.modifiers.get(NODES_NAME)
        is_its = find_posing(obj) == armature and modifier and modifier.node_group == group
        if is_its and fits_joints(obj, armature, skeleton):
            return obj
    return _new_joints_object(armature, skeleton, group)


def list_rolled_since(armature: bpy.types.Object, skeleton: Skeleton) -> list[bpy.types.Object]:
    """Joints objects of an armature that were made when other ones of its bones rolled."""
    found = []
    for obj in _local_joints_objects():
        is_its = find_posing(obj) == armature and NODES_NAME in obj.modifiers and mesh_of(obj).is_editable
        is_same = str(read_mark(mesh_of(obj), Tag.JOINTS, "")).startswith(skeleton.fingerprint) and has_groups(
            obj, skeleton
        )
        if is_its and is_same and not fits_joints(obj, armature, skeleton):
            found.append(obj)
    return found


def remake_joints(
    obj: bpy.types.Object, armature: bpy.types.Object, skeleton: Skeleton, group: bpy.types.NodeTree
) -> None:
    """Have a joints object read the bones of its armature as they roll now; `group` as of `ensure_joints_object`."""
    former, made = mesh_of(obj), _with_joints_mesh(armature, skeleton)
    obj.data = mesh_of(made)
    bpy.data.objects.remove(made)
    if not former.users:
        bpy.data.meshes.remove(former)
    _set_nodes(obj.modifiers[NODES_NAME], skeleton, group)


def fits_joints(obj: bpy.types.Object, armature: bpy.types.Object, skeleton: Skeleton) -> bool:
    """Whether a joints object has a mesh of this file that was made for the bones of an armature."""
    mesh = mesh_of(obj)
    return mesh.is_editable and read_mark(mesh, Tag.JOINTS) == _name(armature, skeleton) and has_groups(obj, skeleton)


def has_segments(armature: bpy.types.Object, skeleton: Skeleton) -> bool:
    """Whether bones of a skeleton have segments: the rig's own, or such as roll, muted or not."""
    return bool(skeleton.bendy) or bool(read_rolls(armature))


def _name(armature: bpy.types.Object, skeleton: Skeleton) -> str:
    sides = _find_sides(armature, skeleton)
    return skeleton.fingerprint + (f" {zlib.crc32(sides.tobytes()):08x}" if sides.any() else "")


def _find_sides(armature: bpy.types.Object, skeleton: Skeleton) -> np.ndarray:
    """The side at which the segments of each bone roll least: 1 beyond its tail, -1 before its head, 0 for none,
    (D,)."""
    sides = {roll.bone: 1 if abs(roll.head) > abs(roll.tail) else -1 for roll in read_rolls(armature)}
    return np.array([sides.get(name, 0) for name in skeleton.names], np.int8)


def has_groups(obj: bpy.types.Object, skeleton: Skeleton) -> bool:
    """Whether the groups of a joints object are those of a skeleton.

    Blender renames them with the bones of any armature that poses its mesh, which other armatures may share.
    """
    return tuple(group.name for group in obj.vertex_groups) == skeleton.names


def is_joints_object(obj: bpy.types.Object) -> bool:
    """Whether an object was made by `ensure_joints_object`, or its predecessor."""
    return obj.type == "MESH" and (is_marked(mesh_of(obj), Tag.JOINTS) or is_marked(obj, Tag.PROBE))


def find_posing(joints: bpy.types.Object) -> bpy.types.Object | None:
    """The armature that poses a joints object."""
    modifier = joints.modifiers.get(ARMATURE_NAME)
    return modifier.object if modifier is not None else None


def remove_unused_joints_objects() -> None:
    """Remove joints objects that no node modifier reads any more."""
    remove_unused(_local_joints_objects())


def _local_joints_objects() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if obj.library is None and is_joints_object(obj)]


def _new_joints_object(armature: bpy.types.Object, skeleton: Skeleton, group: bpy.types.NodeTree) -> bpy.types.Object:
    obj = _with_joints_mesh(armature, skeleton)
    cast(Any, obj.modifiers.new(ARMATURE_NAME, "ARMATURE")).object = armature
    _set_nodes(obj.modifiers.new(NODES_NAME, "NODES"), skeleton, group)
    follow(obj, armature)
    return obj


def _set_nodes(modifier: bpy.types.Modifier, skeleton: Skeleton, group: bpy.types.NodeTree) -> None:
    nodes = cast(Any, modifier)
    nodes.node_group = group
    parents = skeleton.joints.parents
    count, levels = len(parents) + 1, Chains(parents).level_count
    for name, value in (("Count", count), ("Reach", _find_reach(skeleton)), ("Levels", levels)):
        write_input(nodes, name, value)


def follow(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Have an object's space be an armature's. As a child of it, exporters would write it into files."""
    own: Any = obj.constraints.get(FOLLOW_NAME) or obj.constraints.new("COPY_TRANSFORMS")
    own.name, own.target = FOLLOW_NAME, armature


def _with_joints_mesh(armature: bpy.types.Object, skeleton: Skeleton) -> bpy.types.Object:
    """A new object with the mesh of all joints objects of a skeleton."""
    for obj in _local_joints_objects():
        if fits_joints(obj, armature, skeleton):
            return bpy.data.objects.new(mesh_of(obj).name, mesh_of(obj))
    mesh = bpy.data.meshes.new(f"Supple Joints {armature.name}")
    mark(mesh, Tag.JOINTS, _name(armature, skeleton))
    bones = np.repeat(np.arange(len(skeleton.names)), skeleton.joint_counts)
    count, reach = len(skeleton.joints.parents) + 1, _find_reach(skeleton)
    lay_out = _lay_out_plain
    if has_segments(armature, skeleton):
        lay_out = partial(_lay_out_segments, skeleton, bones, _find_sides(armature, skeleton)[bones])
    blocks, values = lay_out(count, reach)
    mesh.vertices.add(len(blocks) * count)
    write_array(mesh.vertices, "co", np.concatenate(blocks))
    for attribute, rows in values.items():
        rest = np.zeros(((len(blocks) - 1) * count, *rows.shape[1:]))
        _write_attribute(mesh, attribute, np.concatenate([rows, rest]))
    points = np.arange(len(blocks))[:, None] * count
    obj = bpy.data.objects.new(mesh.name, mesh)
    for bone, group in enumerate(skeleton.names):
        members = (points + np.flatnonzero(bones == bone)).ravel()
        obj.vertex_groups.new(name=group).add(members.tolist(), 1.0, "REPLACE")
    return obj


def _find_reach(skeleton: Skeleton) -> float:
    """A power of 2, by which nothing is rounded."""
    ends = np.concatenate([skeleton.envelopes.heads, skeleton.envelopes.tails])
    size = max(float(np.ptp(ends, axis=0).max(initial=0.0)), 1e-3)
    return 2.0 ** float(np.ceil(np.log2(REACH * size)))


def _lay_out_plain(count: int, reach: float) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The points of `BLOCKS`, each block of shape (count, 3)."""
    corners = np.append(np.zeros((1, 3)), reach * np.eye(3), axis=0)
    return [np.tile(corner, (count, 1)) for corner, _ in zip(corners, BLOCKS, strict=True)], {}


def _lay_out_segments(
    skeleton: Skeleton, bones: np.ndarray, sides: np.ndarray, count: int, reach: float
) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The points of `SEGMENT_BLOCKS`, each block of shape (count, 3), and the attributes of the joints.

    All after those of the bones rest. The points of a rolling bone lie where its segments roll least: before its head
    or beyond its tail, by `sides`, int array (B,).
    """
    rest = np.linalg.inv(skeleton.to_bones)[bones]
    lengths = skeleton.lengths[bones]
    first = skeleton.first_joints[bones]
    segments = skeleton.joint_counts[bones] - 1
    is_end = segments > 0
    step = lengths / np.maximum(1, segments)

    heads, axes = rest[:, :3, 3], rest[:, :3, :3]
    along = axes[:, :, 1]
    order = np.arange(len(bones)) - first
    origins = heads + along * (order * step)[:, None]
    origins += along * (lengths * np.select([sides < 0, sides > 0], [-1.0, 2.0]))[:, None]
    far = np.where(sides < 0, -reach, reach)
    spans = np.stack([np.full(len(bones), reach), np.where(is_end, lengths, far), np.full(len(bones), reach)], axis=1)
    offsets = axes * spans[:, None]
    positions = {
        "origin": origins,
        "x": origins + offsets[:, :, 0],
        "y": origins + np.where(is_end, 0.5 * step, far)[:, None] * along,
        "z": origins + offsets[:, :, 2],
        "before": heads - along * lengths[:, None],
        "beyond": heads + 2.0 * along * lengths[:, None],
    }
    resting = np.arange(len(bones), count)
    frames = np.tile(np.eye(4), (count, 1, 1))
    frames[: len(bones), :3, :3], frames[: len(bones), :3, 3] = offsets, origins
    frames[resting, :3, :3] *= reach
    corners = {axis: reach * corner for axis, corner in zip("xyz", np.eye(3), strict=True)}
    blocks = [
        np.append(positions[block], np.tile(corners.get(block, np.zeros(3)), (len(resting), 1)), axis=0)
        for block in SEGMENT_BLOCKS
    ]
    last = first + segments
    share = np.where(is_end, order / np.maximum(1, segments), -1.0)
    values = {
        REST_INVERSE: np.linalg.inv(frames),
        SHARE: np.append(share, np.full(len(resting), -1.0)),
        BONE: np.append(bones, np.full(len(resting), len(skeleton.names))),
        FIRST: np.append(first, resting),
        LAST: np.append(last, resting),
    }
    return blocks, values


def _write_attribute(mesh: bpy.types.Mesh, name: str, rows: np.ndarray) -> None:
    """Store a value of each point: a matrix, a vector or a number."""
    if rows.ndim == 3:
        attribute = mesh.attributes.new(name, "FLOAT4X4", "POINT")
        write_array(attribute.data, "value", rows.transpose(0, 2, 1))
    elif rows.ndim == 2:
        write_array(mesh.attributes.new(name, "FLOAT_VECTOR", "POINT").data, "vector", rows)
    elif name == SHARE:
        write_array(mesh.attributes.new(name, "FLOAT", "POINT").data, "value", rows)
    else:
        write_array(mesh.attributes.new(name, "INT", "POINT").data, "value", rows, np.int32)
