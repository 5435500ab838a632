"""Armatures as arrays: the skeleton at rest, and its pose in one frame."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ..deformers.rest import Joints, Pose
from ..deformers.skeleton import find_joint_parents


@dataclass(frozen=True)
class Skeleton:
    """The deforming bones of an armature.

    A bone is one joint; a B-Bone of n segments is n + 1 joints, the ends of its segments, in a chain.

    Attributes
    ----------
    names : tuple of str, length D
        Deforming bones.
    first_joints, segment_counts : int arrays, shape (D,)
        Each bone's first joint; its segments, 1 for a plain bone.
    to_bones : float64 array, shape (D, 4, 4)
        Armature space to each bone's own at rest.
    lengths : float64 array, shape (D,)
    curved : bool array, shape (D,)
        B-Bones that divide their vertices along the curve instead of the straight axis.
    joints : Joints
    rest : float64 array, shape (B, 4, 4)
        Rest matrices of the joints, armature space; `rest_inverses` theirs.
    """

    names: tuple[str, ...]
    first_joints: np.ndarray
    segment_counts: np.ndarray
    to_bones: np.ndarray
    lengths: np.ndarray
    curved: np.ndarray
    joints: Joints
    rest: np.ndarray
    rest_inverses: np.ndarray
    pose_indices: np.ndarray
    """Where each joint's bone stands in `pose.bones`, shape (B,)."""

    def is_same(self, other: Skeleton) -> bool:
        """Whether a binding made with `other` is right for this one."""
        return (
            self.names == other.names
            and np.array_equal(self.rest, other.rest)
            and np.array_equal(self.joints.parents, other.joints.parents)
            and np.array_equal(self.pose_indices, other.pose_indices)
            and np.array_equal(self.curved, other.curved)
        )


def read_skeleton(armature: bpy.types.Object) -> Skeleton:
    """The deforming bones and the joints they make, from the armature's data (not its pose)."""
    bones = armature.data.bones
    count = len(bones)
    matrices = _read_matrices(bones, "matrix_local", count)
    heads, tails = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
    bones.foreach_get("head_local", heads.ravel())
    bones.foreach_get("tail_local", tails.ravel())
    deforming = np.empty(count, bool)
    bones.foreach_get("use_deform", deforming)
    index = {bone.name: i for i, bone in enumerate(bones)}
    bone_parents = np.array([index[bone.parent.name] if bone.parent else -1 for bone in bones], np.intp)
    parents = find_joint_parents(heads.astype(np.float64), tails.astype(np.float64), bone_parents, deforming)

    which = np.flatnonzero(deforming)
    names = tuple(bones[int(i)].name for i in which)
    segment_counts = np.array([bones[name].bbone_segments for name in names], np.intp)
    joint_counts = np.where(segment_counts > 1, segment_counts + 1, 1)
    first_joints = np.concatenate([[0], np.cumsum(joint_counts)[:-1]]).astype(np.intp)
    last_joints = np.full(count, -1)
    last_joints[which] = first_joints + joint_counts - 1

    joint_rest = np.repeat(matrices[which], joint_counts, axis=0)
    joint_parents = np.arange(len(joint_rest)) - 1
    joint_parents[first_joints] = np.where(parents[which] >= 0, last_joints[parents[which]], -1)
    for name, first, segments in zip(names, first_joints, segment_counts, strict=True):
        if segments > 1:
            ends = _read_segments(armature.pose.bones[name], segments, rest=True)
            joint_rest[first : first + segments + 1] = joint_rest[first] @ ends
    pose_index = {bone.name: i for i, bone in enumerate(armature.pose.bones)}
    return Skeleton(
        names=names,
        first_joints=first_joints,
        segment_counts=segment_counts,
        to_bones=np.linalg.inv(matrices[which]),
        lengths=np.array([bones[name].length for name in names]),
        curved=np.array([bones[name].bbone_mapping_mode == "CURVED" for name in names], bool),
        joints=Joints(centers=joint_rest[:, :3, 3].copy(), parents=joint_parents),
        rest=joint_rest,
        rest_inverses=np.linalg.inv(joint_rest),
        pose_indices=np.repeat(np.array([pose_index[name] for name in names], np.intp), joint_counts),
    )


def read_pose(armature: bpy.types.Object, skeleton: Skeleton, object_to_armature: Matrix | None) -> Pose:
    """The pose of an evaluated armature.

    Parameters
    ----------
    armature : Object
        As `evaluated_get` gives it, with the depsgraph of the viewport or of the render.
    skeleton : Skeleton
    object_to_armature : Matrix or None
        See `Pose`.

    Raises
    ------
    SkinningError
        Where the pose holds values that are not numbers.
    """
    bones = armature.pose.bones
    posed = _read_matrices(bones, "matrix", len(bones))[skeleton.pose_indices]
    for name, first, segments in zip(skeleton.names, skeleton.first_joints, skeleton.segment_counts, strict=True):
        if segments > 1:
            posed[first : first + segments + 1] = posed[first] @ _read_segments(bones[name], segments, rest=False)
    return Pose(
        posed @ skeleton.rest_inverses,
        None if object_to_armature is None else np.array(object_to_armature, np.float64),
    )


def read_segment_indices(
    pose_bone: bpy.types.PoseBone, points: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Which segment of a curved B-Bone each point, shape (N, 3), armature space, belongs to, and how much to the next."""
    pairs = [pose_bone.bbone_segment_index(point) for point in points.tolist()]
    indices, blends = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array(indices, np.intp), np.array(blends, np.float64)


def _read_matrices(bones, name: str, count: int) -> np.ndarray:
    """Matrices of bones, float64, shape (count, 4, 4)."""
    flat = np.empty(count * 16, np.float32)
    bones.foreach_get(name, flat)
    return flat.reshape(count, 4, 4).transpose(0, 2, 1).astype(np.float64)


def _read_segments(pose_bone: bpy.types.PoseBone, segments: int, rest: bool) -> np.ndarray:
    """Ends of the segments of a B-Bone in the bone's space, float64, shape (segments + 1, 4, 4)."""
    return np.array([pose_bone.bbone_segment_matrix(i, rest=rest) for i in range(segments + 1)], np.float64)


@dataclass(frozen=True)
class Envelopes:
    """Envelopes of the deforming bones: arrays of shape (D, 3) and (D,), armature space."""

    heads: np.ndarray
    tails: np.ndarray
    head_radii: np.ndarray
    tail_radii: np.ndarray
    distances: np.ndarray
    factors: np.ndarray
    multiplies: np.ndarray
    """Whether the bone's vertex group is multiplied by its envelope."""


def read_envelopes(armature: bpy.types.Object, skeleton: Skeleton) -> Envelopes:
    """Envelopes of the bones in the skeleton's order."""
    bones = [armature.data.bones[name] for name in skeleton.names]
    return Envelopes(
        heads=np.array([bone.head_local for bone in bones]),
        tails=np.array([bone.tail_local for bone in bones]),
        head_radii=np.array([bone.head_radius for bone in bones]),
        tail_radii=np.array([bone.tail_radius for bone in bones]),
        distances=np.array([bone.envelope_distance for bone in bones]),
        factors=np.array([bone.envelope_weight for bone in bones]),
        multiplies=np.array([bone.use_envelope_multiply for bone in bones], bool),
    )
