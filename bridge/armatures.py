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
    rest_inverses : float64 array, shape (B, 4, 4)
        Armature space to each joint's own at rest.
    pose_indices : int array, shape (B,)
        Where each joint's bone stands in `pose.bones`.
    bendy_joints : int array
        Joints that are ends of segments.
    source : tuple
        All that was read of the armature.
    """

    names: tuple[str, ...]
    first_joints: np.ndarray
    segment_counts: np.ndarray
    to_bones: np.ndarray
    lengths: np.ndarray
    curved: np.ndarray
    joints: Joints
    rest_inverses: np.ndarray
    pose_indices: np.ndarray
    bendy_joints: np.ndarray
    source: tuple

    def bendy_bones(self) -> list[tuple[str, int]]:
        """Names and segment counts of the B-Bones, in the order of `bendy_joints`."""
        return [
            (name, int(count)) for name, count in zip(self.names, self.segment_counts, strict=True) if count > 1
        ]


def read_skeleton(armature: bpy.types.Object, known: Skeleton | None = None) -> Skeleton:
    """The deforming bones and the joints they make, from the armature's data (not its pose).

    Where nothing has changed since `known` was read, that is what is returned.
    """
    bones, pose_bones = armature.data.bones, armature.pose.bones
    count = len(bones)
    matrices = _read_matrices(bones, "matrix_local", count)
    heads, tails = np.empty((count, 3), np.float32), np.empty((count, 3), np.float32)
    bones.foreach_get("head_local", heads.ravel())
    bones.foreach_get("tail_local", tails.ravel())
    deforming = np.empty(count, bool)
    bones.foreach_get("use_deform", deforming)
    segment_counts = np.empty(count, np.int32)
    bones.foreach_get("bbone_segments", segment_counts)
    all_names = [bone.name for bone in bones]
    index = {name: i for i, name in enumerate(all_names)}
    bone_parents = np.array([index[bone.parent.name] if bone.parent else -1 for bone in bones], np.intp)
    pose_index = {bone.name: i for i, bone in enumerate(pose_bones)}
    which = np.flatnonzero(deforming)
    names = tuple(all_names[i] for i in which)
    bendy = [(name, int(segment_counts[index[name]])) for name in names if segment_counts[index[name]] > 1]
    segments = _read_segments(pose_bones, bendy, rest=True)
    curved = np.array([bones[name].bbone_mapping_mode == "CURVED" for name in names], bool)
    arrays = (matrices, heads, tails, deforming, segment_counts, bone_parents, segments, curved)
    source = (tuple(all_names), tuple(pose_index), *(array.tobytes() for array in arrays))
    if known is not None and known.source == source:
        return known

    segment_counts = segment_counts[which].astype(np.intp)
    parents = find_joint_parents(heads.astype(np.float64), tails.astype(np.float64), bone_parents, deforming)
    joint_counts = np.where(segment_counts > 1, segment_counts + 1, 1)
    first_joints = np.concatenate([[0], np.cumsum(joint_counts)[:-1]]).astype(np.intp)
    last_joints = np.full(count, -1)
    last_joints[which] = first_joints + joint_counts - 1
    joint_parents = np.arange(joint_counts.sum()) - 1
    joint_parents[first_joints] = np.where(parents[which] >= 0, last_joints[parents[which]], -1)

    rest = np.repeat(matrices[which], joint_counts, axis=0)
    bendy_joints = np.flatnonzero(np.repeat(segment_counts > 1, joint_counts))
    rest[bendy_joints] = rest[bendy_joints] @ segments
    return Skeleton(
        names=names,
        first_joints=first_joints,
        segment_counts=segment_counts,
        to_bones=np.linalg.inv(matrices[which]),
        lengths=np.linalg.norm(tails - heads, axis=1)[which].astype(np.float64),
        curved=curved,
        joints=Joints(centers=rest[:, :3, 3].copy(), parents=joint_parents),
        rest_inverses=np.linalg.inv(rest),
        pose_indices=np.repeat(np.array([pose_index[name] for name in names], np.intp), joint_counts),
        bendy_joints=bendy_joints,
        source=source,
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
    if skeleton.bendy_joints.size:
        posed[skeleton.bendy_joints] = posed[skeleton.bendy_joints] @ _read_segments(
            bones, skeleton.bendy_bones(), rest=False
        )
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


def _read_segments(pose_bones, bendy: list[tuple[str, int]], rest: bool) -> np.ndarray:
    """Ends of the segments of B-Bones, each in its bone's space, float64, shape (sum of segments + 1, 4, 4)."""
    matrices = [
        pose_bones[name].bbone_segment_matrix(end, rest=rest) for name, segments in bendy for end in range(segments + 1)
    ]
    # Entry by entry: until Blender 5.1, NumPy takes ten times as long over a Matrix.
    flat = np.fromiter((entry for matrix in matrices for row in matrix for entry in row), float, len(matrices) * 16)
    return flat.reshape(-1, 4, 4)


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
