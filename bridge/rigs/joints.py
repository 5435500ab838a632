"""The joints object of an armature: a hidden mesh through which node modifiers read the pose, once for all meshes.

Blender's own Armature modifier poses its points, and a node modifier computes from them what the skin blends. Blender
renames its vertex groups along with the bones, and takes it along wherever the meshes go that read it: into other
files, into library overrides.
"""

from __future__ import annotations

import hashlib
from dataclasses import fields
from functools import partial
from typing import Any, cast

import bpy
import numpy as np

from ...deformers.rig.influences import Influences, find_sets
from ...deformers.rig.skeleton import Chains
from ...deformers.skinning.joint_shares import find_hinges, find_starts
from ...deformers.skinning.posed_joints import find_angles, place_at_rest
from ...nodes.fractions import FRACTION
from ...nodes.limits import REST
from ...nodes.pose import (
    BLOCKS,
    BONE,
    CENTER,
    FIRST,
    LAST,
    PARENT,
    REST_INVERSE,
    SEGMENT_BLOCKS,
    SHARE,
    TAIL,
)
from ...nodes.sets import JOINTS as SLOTS
from ..animation.drivers import retarget_drivers
from ..arrays import read_array, write_array
from ..meshes.data import mesh_of
from ..modifiers import read_input, write_input
from .armatures import Skeleton
from .fractions import describe_fractions
from .spread_twists import describe_spread
from .twist_drivers import TwistDriver, drive_twists

JOINTS_KEY = "supple_joints"
"""Custom property of the mesh of joints objects: fingerprint of the skeleton, of its fractions and spread
twists."""

FORMER_KEY = "supple_probe"
"""Custom property of the hidden objects that did this for B-Bones before version 3 of the node groups."""

REACH = 256.0
"""Distance of a joint's points from its origin, about, in sizes of the skeleton: the farther, the less does rounding
matter of a character that has walked away from its armature's origin."""

NODES_NAME, ARMATURE_NAME, FOLLOW_NAME = "Supple", "Armature", "Supple Space"
"""Names of its modifiers."""


def ensure_joints_object(armature: bpy.types.Object, skeleton: Skeleton, group: bpy.types.NodeTree) -> bpy.types.Object:
    """The joints object of an armature, made if there is none for its bones as they are.

    Parameters
    ----------
    skeleton : Skeleton
        The armature's.
    group : NodeTree
        Of its node modifier: methods differ in what they blend.
    """
    for obj in _local_joints_objects():
        modifier = obj.modifiers.get(NODES_NAME)
        if fits_joints(obj, skeleton) and find_posing(obj) == armature and modifier and modifier.node_group == group:
            return obj
    return _new_joints_object(armature, skeleton, group)


def fits_joints(obj: bpy.types.Object, skeleton: Skeleton) -> bool:
    """Whether a joints object has a mesh of this file that was made for a skeleton."""
    mesh = mesh_of(obj)
    if not mesh.is_editable or REST not in mesh.attributes:  # linked, or as former versions have made them
        return False
    return mesh.get(JOINTS_KEY) == _name_joints(skeleton) and has_groups(obj, skeleton)


def _name_joints(skeleton: Skeleton) -> str:
    """Fingerprint of a skeleton and, where there are any, of its fractions and spread twists."""
    plans = [plan for plan in skeleton.twist_plan if plan is not None]
    if not plans:
        return skeleton.fingerprint
    arrays = [np.asarray(getattr(plan, field.name), np.float32) for plan in plans for field in fields(plan)]
    return skeleton.fingerprint + hashlib.sha256(b"".join(rows.tobytes() for rows in arrays)).hexdigest()[:16]


def has_groups(obj: bpy.types.Object, skeleton: Skeleton) -> bool:
    """Whether the groups of a joints object are those of a skeleton.

    Blender renames them with the bones of any armature that poses its mesh, which other armatures may share.
    """
    return tuple(group.name for group in obj.vertex_groups) == skeleton.names


def is_joints_object(obj: bpy.types.Object) -> bool:
    """Whether an object was made by `ensure_joints_object`, or by what did so before."""
    return obj.type == "MESH" and (JOINTS_KEY in mesh_of(obj) or FORMER_KEY in obj)


def find_posing(joints: bpy.types.Object) -> bpy.types.Object | None:
    """The armature that poses a joints object."""
    modifier = joints.modifiers.get(ARMATURE_NAME)
    return modifier.object if modifier is not None else None


def is_joints_copy(obj: bpy.types.Object | None, linked: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether an object brings the pose of an armature as a joints object that is linked brings that of another.

    Parameters
    ----------
    linked : Object
        The joints object of a library.
    """
    if obj is None or obj.data != linked.data or find_posing(obj) != armature:
        return False
    nodes = obj.modifiers.get(NODES_NAME)
    return nodes is not None and nodes.node_group == linked.modifiers[NODES_NAME].node_group


def ensure_joints_copy(linked: bpy.types.Object, armature: bpy.types.Object) -> bpy.types.Object:
    """A joints object that is linked, for another armature: that of a library override of a character.

    Parameters
    ----------
    linked : Object
        Its mesh, to which the influences on the character's mesh refer, is shared.
    armature : Object
        Of the override.
    """
    for obj in (linked, *_local_joints_objects()):
        if is_joints_copy(obj, linked, armature):
            return obj
    copy, former = linked.copy(), find_posing(linked)
    cast(Any, copy.modifiers[ARMATURE_NAME]).object, copy.parent = armature, None
    follow(copy, armature)
    retarget_drivers(copy, former, armature)
    return copy


def remove_unused_joints_objects() -> None:
    """Remove joints objects that no node modifier reads any more."""
    hidden = set(_local_joints_objects())
    # Looked for, as Blender 5.2 goes on counting users that were inputs of a removed modifier.
    users = cast(Any, bpy.data).user_map(subset=hidden) if hidden else {}
    for obj in [obj for obj in hidden if not users[obj]]:
        mesh = mesh_of(obj)
        bpy.data.objects.remove(obj)
        if mesh.library is None and not mesh.users:
            bpy.data.meshes.remove(mesh)


def _local_joints_objects() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if obj.library is None and is_joints_object(obj)]


def mix_linearly(joints: bpy.types.Object) -> None:
    """Have a joints object also bring the transforms themselves, which linear blending reads."""
    modifier = joints.modifiers[NODES_NAME]
    if not read_input(modifier, "Linear Blending"):
        write_input(modifier, "Linear Blending", True)


def bring_limits(joints: bpy.types.Object) -> None:
    """Have a joints object also bring where the joints are, which bulge limit and contact read."""
    modifier = joints.modifiers[NODES_NAME]
    if not read_input(modifier, "Joint Limits"):
        write_input(modifier, "Joint Limits", True)


def tell_twists(joints: bpy.types.Object, drivers: tuple[TwistDriver, ...]) -> None:
    """Have drivers tell a joints object how far joints twist.

    Parameters
    ----------
    drivers : tuple of TwistDriver
        From `find_hint_drivers`.
    """
    armature = find_posing(joints)
    if armature is not None:
        drive_twists(joints.modifiers[NODES_NAME], armature, drivers)


def add_sets(joints: bpy.types.Object, influences: Influences) -> np.ndarray:
    """See that a joints object has the sets that a mesh needs.

    Returns
    -------
    int32 array, shape (S,)
        Where each set of the influences stands among those of the object.
    """
    mesh = mesh_of(joints)
    known = np.stack([read_array(mesh.attributes[slot].data, "value", kind=np.int32) for slot in SLOTS], axis=-1)
    indices, grown = find_sets(known.reshape(-1, len(SLOTS)), influences.sets)
    if len(grown) > len(known):
        count = len(mesh.vertices)
        mesh.edges.add(len(grown) - len(known))
        edges = np.arange(len(grown))
        ends = np.stack([edges % count, (edges + 1 + edges // count % (count - 1)) % count], axis=-1)
        write_array(mesh.edges, "vertices", ends, np.int32)
        for slot, joint in zip(SLOTS, grown.T, strict=True):
            write_array(mesh.attributes[slot].data, "value", joint, np.int32)
        mesh.update_tag()
    return indices


def _new_joints_object(armature: bpy.types.Object, skeleton: Skeleton, group: bpy.types.NodeTree) -> bpy.types.Object:
    obj = _with_joints_mesh(armature.name, skeleton)
    cast(Any, obj.modifiers.new(ARMATURE_NAME, "ARMATURE")).object = armature
    nodes = cast(Any, obj.modifiers.new(NODES_NAME, "NODES"))
    nodes.node_group = group
    parents = skeleton.joints.extended.parents
    count, levels = len(parents) + 1, Chains(parents).level_count
    for name, value in (("Count", count), ("Reach", _find_reach(skeleton)), ("Levels", levels)):
        write_input(nodes, name, value)
    follow(obj, armature)
    return obj


def follow(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Have an object's space be an armature's. As a child of it, exporters would write it into files."""
    own: Any = obj.constraints.get(FOLLOW_NAME) or obj.constraints.new("COPY_TRANSFORMS")
    own.name, own.target = FOLLOW_NAME, armature


def _with_joints_mesh(name: str, skeleton: Skeleton) -> bpy.types.Object:
    """A new object with the mesh of all joints objects of a skeleton.

    Characters of several armatures may share a mesh and its influences.
    """
    for obj in _local_joints_objects():
        if fits_joints(obj, skeleton):
            return bpy.data.objects.new(mesh_of(obj).name, mesh_of(obj))
    mesh = bpy.data.meshes.new(f"Supple Joints {name}")
    mesh[JOINTS_KEY] = _name_joints(skeleton)
    bones = np.repeat(np.arange(len(skeleton.names)), skeleton.joint_counts)
    joints = skeleton.joints.extended
    count, reach = len(joints.parents) + 1, _find_reach(skeleton)
    lay_out = partial(_lay_out_segments, skeleton, bones) if skeleton.bendy else _lay_out_plain
    blocks, values = lay_out(count, reach)
    mesh.vertices.add(len(blocks) * count)
    write_array(mesh.vertices, "co", np.concatenate(blocks))
    values |= {PARENT: np.append(joints.parents, -1)}
    known = {CENTER: joints.centers, TAIL: joints.tails, REST: _describe_at_rest(skeleton)}
    values |= {name: _fill(rows, count) for name, rows in known.items()}
    if joints.fractions is not None:
        values[FRACTION] = _fill(describe_fractions(joints), count)
    if joints.spread is not None:
        values |= {name: _fill(rows, count) for name, rows in describe_spread(joints).items()}
    for attribute, rows in values.items():
        rest = np.zeros(((len(blocks) - 1) * count, *rows.shape[1:]))
        _write_attribute(mesh, attribute, np.concatenate([rows, rest]))
    for slot in SLOTS:
        mesh.attributes.new(slot, "INT", "EDGE")
    points = np.arange(len(blocks))[:, None] * count
    obj = bpy.data.objects.new(mesh.name, mesh)
    for bone, group in enumerate(skeleton.names):
        members = (points + np.flatnonzero(bones == bone)).ravel()
        obj.vertex_groups.new(name=group).add(members.tolist(), 1.0, "REPLACE")
    return obj


def _fill(rows: np.ndarray, count: int) -> np.ndarray:
    """Values of joints, and zeros for those after them, array (count, ...)."""
    return np.append(rows, np.zeros((count - len(rows), *rows.shape[1:])), axis=0)


def _describe_at_rest(skeleton: Skeleton) -> np.ndarray:
    """What bulge limit and contact read of the joints at rest, float array (B, 4, 4)."""
    joints, posed = skeleton.joints, place_at_rest(skeleton.joints)
    assert joints.tails is not None
    matrices = np.zeros((len(joints.parents), 4, 4))
    matrices[:, :3, :3] = np.stack([find_starts(joints), joints.centers, joints.tails], axis=2)
    matrices[:, 3, 0], matrices[:, 3, 1:3] = find_hinges(joints), posed.lengths.T
    matrices[:, 3, 3] = find_angles(posed.before.T, posed.after.T)
    return matrices


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
    skeleton: Skeleton, bones: np.ndarray, count: int, reach: float
) -> tuple[list[np.ndarray], dict[str, np.ndarray]]:
    """The points of `SEGMENT_BLOCKS`, each block of shape (count, 3), and what else is known of the joints.

    All after those of the bones rest.
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
    spans = np.stack([np.full(len(bones), reach), np.where(is_end, lengths, reach), np.full(len(bones), reach)], axis=1)
    offsets = axes * spans[:, None]
    positions = {
        "origin": origins,
        "x": origins + offsets[:, :, 0],
        "y": origins + np.where(is_end, 0.5 * step, reach)[:, None] * along,
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
