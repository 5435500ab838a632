"""Probes: hidden meshes through which nodes read the segments of an armature's B-Bones."""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np

from ..deformers.rig.skeleton import Chains
from ..nodes.bones import PARENT
from ..nodes.probes import BONE, CENTER, FIRST, LAST, LEVEL, POINTS, REST_INVERSE, SHARE
from .armatures import Skeleton
from .arrays import write_array
from .meshes import mesh_of

PROBE_KEY = "supple_probe"
"""Custom property of a probe: fingerprint of the skeleton that it was made for."""


def ensure_probe(armature: bpy.types.Object, skeleton: Skeleton) -> bpy.types.Object:
    """The probe of an armature, made if there is none for its bones as they are."""
    for obj in bpy.data.objects:
        if obj.get(PROBE_KEY) == skeleton.fingerprint and find_probed(obj) == armature:
            return obj
    return _new_probe(armature, skeleton)


def find_probed(probe: bpy.types.Object) -> bpy.types.Object | None:
    """The armature of a probe."""
    modifier = probe.modifiers.get("Armature")
    return modifier.object if modifier is not None else None


def remove_unused_probes() -> None:
    """Remove probes that no node modifier reads any more."""
    probes = {obj for obj in bpy.data.objects if PROBE_KEY in obj and obj.library is None}
    # Looked for, as Blender 5.2 goes on counting users that were inputs of a removed modifier.
    users = cast(Any, bpy.data).user_map(subset=probes) if probes else {}
    for probe in [probe for probe in probes if not users[probe]]:
        bpy.data.meshes.remove(mesh_of(probe))  # takes the object along


def _new_probe(armature: bpy.types.Object, skeleton: Skeleton) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(f"Supple Probe {armature.name}")
    bones = np.repeat(np.arange(len(skeleton.names)), skeleton.joint_counts)
    frames, points = _joint_frames(skeleton, bones)
    mesh.vertices.add(len(points))
    write_array(mesh.vertices, "co", points)
    first = skeleton.first_joints[bones]
    last = first + skeleton.joint_counts[bones] - 1
    order = np.arange(len(bones)) - first
    shares = np.where(last > first, order / np.maximum(1, last - first), -1.0)
    chains = Chains(skeleton.joints.parents)
    values = (
        (REST_INVERSE, "FLOAT4X4", "value", np.linalg.inv(frames).transpose(0, 2, 1).reshape(-1, 16)),
        (CENTER, "FLOAT_VECTOR", "vector", skeleton.joints.centers),
        (SHARE, "FLOAT", "value", shares[:, None]),
        (BONE, "INT", "value", bones[:, None]),
        (FIRST, "INT", "value", first[:, None]),
        (LAST, "INT", "value", last[:, None]),
        (LEVEL, "INT", "value", chains.sum(np.ones(len(bones), np.intp))[:, None]),
        (PARENT, "INT", "value", skeleton.joints.parents[:, None]),
    )
    for name, kind, field, rows in values:
        _write_attribute(mesh, name, kind, field, rows)

    probe = bpy.data.objects.new(mesh.name, mesh)
    for bone, name in enumerate(skeleton.names):
        members = np.flatnonzero(np.repeat(bones, len(POINTS)) == bone)
        probe.vertex_groups.new(name=name).add(members.tolist(), 1.0, "REPLACE")
    probe.modifiers.new("Armature", "ARMATURE").object = armature
    probe.parent = armature  # the probe's space is the armature's
    probe[PROBE_KEY] = skeleton.fingerprint
    return probe


def _joint_frames(skeleton: Skeleton, bones: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Each joint's frame at rest, shape (B, 4, 4), and its points, shape (B * 6, 3), armature space."""
    rest = np.linalg.inv(skeleton.to_bones)[bones]
    lengths = skeleton.lengths[bones]
    first = skeleton.first_joints[bones]
    segments = skeleton.joint_counts[bones] - 1
    is_end = segments > 0
    step = lengths / np.maximum(1, segments)

    heads, axes = rest[:, :3, 3], rest[:, :3, :3]
    along = axes[:, :, 1]
    origins = heads + along * ((np.arange(len(bones)) - first) * step)[:, None]
    offsets = axes * lengths[:, None, None]
    positions = {
        "origin": origins,
        "x": origins + offsets[:, :, 0],
        "y": origins + np.where(is_end, 0.5 * step, lengths)[:, None] * along,
        "z": origins + offsets[:, :, 2],
        "before": heads - offsets[:, :, 1],
        "beyond": heads + 2.0 * offsets[:, :, 1],
    }
    frames = np.tile(np.eye(4), (len(bones), 1, 1))
    frames[:, :3, :3], frames[:, :3, 3] = offsets, origins
    return frames, np.stack([positions[name] for name in POINTS], axis=1).reshape(-1, 3)


def _write_attribute(mesh: bpy.types.Mesh, name: str, kind: Any, field: str, rows: np.ndarray) -> None:
    """Store a value of each joint, shape (B, n), at all of its points."""
    attribute = mesh.attributes.new(name, kind, "POINT")
    entries = np.int32 if kind == "INT" else np.float32
    write_array(attribute.data, field, np.repeat(rows, len(POINTS), axis=0), entries)
