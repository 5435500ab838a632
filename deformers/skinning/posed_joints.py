"""Joints as bulge limit and contact see them: their two bones, at rest and in a pose."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..algebra.polar import find_rigid
from ..rig.rest import Joints, Pose, once_for_a_pose, once_for_joints
from .joint_shares import find_hinges, find_starts, rise

BENT = 20.0, 40.0
"""Degrees between both bones from which on there is contact, and full contact."""

LEAST_LENGTH = 1e-3
"""Length of a bone, as a share of that at rest, from which on it has a direction."""

LEAST_WIDTH = 1e-2
"""Width of a bone, as a share of that at rest, and of how large its matrix is where that is larger, from which on skin
is around it. One that is flat is as wide as rounding has it."""

LEAST_BEND = 0.07
"""Radians by which a joint is bent against rest before it has a limit: less bulges by nothing that the limit, which is
soft, would change."""


@dataclass(frozen=True)
class PosedJoints:
    """Joints in a pose, armature space.

    Attributes
    ----------
    centers : float32 array, shape (3, B)
    before, after : float32 arrays, shape (3, B)
        Directions of the bones above and below, unit vectors.
    lengths : float32 array, shape (2, B)
        Of both bones.
    widths : float32 array, shape (2, B)
        How much wider both have become.
    spans : float32 array, shape (2, B)
        Lengths of the sum and the difference of both directions.
    limits : bool array, shape (B,)
        Joints that are bent against rest.
    contacts : float32 array, shape (B,)
        How much contact there is by the angle between both bones, 0 to 1.
    folds : float32 array, shape (B,)
        Sine of half the angle between both bones, less that at rest.
    tilts : float32 array, shape (2, B)
        Cosine and sine of how far the plane is turned against what follows one of both bones alone, at most.
    """

    centers: np.ndarray
    before: np.ndarray
    after: np.ndarray
    lengths: np.ndarray
    widths: np.ndarray
    spans: np.ndarray
    limits: np.ndarray
    contacts: np.ndarray
    folds: np.ndarray
    tilts: np.ndarray


@once_for_a_pose
def pose_joints(joints: Joints, pose: Pose, _params: None) -> PosedJoints:
    """The joints in a pose; the same for all meshes."""
    return place_joints(joints, pose.rest_to_pose)


@dataclass(frozen=True)
class RestJoints:
    """What does not change of joints from pose to pose: their bones at rest, armature space.

    Attributes
    ----------
    ends : float64 array, shape (3, B, 3)
        Where the bone above begins, the joint, and where its own bone ends.
    normals : float64 array, shape (B, 3)
        Of the plane halfway between both bones.
    lengths : float64 array, shape (2, B)
        Of both bones.
    bend : float64 array, shape (B,)
        Angle between them, radians.
    hinges : bool array, shape (B,)
    """

    ends: np.ndarray
    normals: np.ndarray
    lengths: np.ndarray
    bend: np.ndarray
    hinges: np.ndarray


@once_for_joints
def _find_rest_joints(joints: Joints) -> RestJoints:
    centers = np.asarray(joints.centers, np.float64)
    ends = np.stack([find_starts(joints), centers, centers if joints.tails is None else joints.tails])
    (before, after), lengths = split_lengths(np.diff(ends, axis=0))
    normals, _ = split_lengths(before + after)
    return RestJoints(ends, normals, lengths, find_angles(before, after), find_hinges(joints))


def place_at_rest(joints: Joints) -> PosedJoints:
    """The joints at rest."""
    return place_joints(joints, np.tile(np.eye(4), (len(joints.parents), 1, 1)))


def place_joints(joints: Joints, matrices: np.ndarray) -> PosedJoints:
    """The joints under matrices from rest to pose, shape (B, 4, 4)."""
    rest, of_parents = _find_rest_joints(joints), joints.chains.of_parents(matrices, np.eye(4))
    moved = np.stack([of_parents, matrices, matrices])
    ends = np.einsum("kbij,kbj->kbi", moved[..., :3, :3], rest.ends) + moved[..., :3, 3]
    (before, after), lengths = split_lengths(np.diff(ends, axis=0))
    widths, are_flat = _find_widths(matrices, joints.axes)
    has_flat = are_flat | joints.chains.of_parents(are_flat, False)
    hinges = rest.hinges & (lengths > LEAST_LENGTH * rest.lengths).all(axis=0) & ~has_flat
    spans, bend = np.stack([before + after, after - before]), find_angles(before, after)
    contacts = np.where(hinges, rise(np.radians(BENT[0]), np.radians(BENT[1]), bend), 0.0)
    tilt = _find_tilts(np.flatnonzero(contacts), rest.normals, moved[:2, :, :3, :3], spans[0])
    return PosedJoints(
        centers=ends[1].T.astype(np.float32),
        before=before.T.astype(np.float32),
        after=after.T.astype(np.float32),
        lengths=lengths.astype(np.float32),
        widths=np.array([joints.chains.of_parents(widths, 1.0), widths], np.float32),
        spans=np.sqrt(np.square(spans).sum(axis=2)).astype(np.float32),
        limits=hinges & (np.abs(bend - rest.bend) > LEAST_BEND),
        contacts=contacts.astype(np.float32),
        folds=(np.sin(0.5 * bend) - np.sin(0.5 * rest.bend)).astype(np.float32),
        tilts=np.stack([np.cos(tilt), np.sin(tilt)]).astype(np.float32),
    )


def _find_tilts(chosen: np.ndarray, rest: np.ndarray, linear: np.ndarray, normals: np.ndarray) -> np.ndarray:
    """How far the planes of some joints are turned against either bone; 90 degrees of others, and if one stretches.

    Parameters
    ----------
    chosen : int array, shape (N,)
    rest, normals : float arrays, shape (B, 3)
        Of the planes, at rest as unit vectors and in the pose.
    linear : float array, shape (2, B, 3, 3)
        Of both bones, from rest to pose.
    """
    linear, (normals, _) = linear[:, chosen], split_lengths(normals[chosen])
    turned = np.einsum("kbij,bj->kbi", linear, rest[chosen])
    is_rigid = find_rigid(linear.reshape(-1, 3, 3)).reshape(2, -1).all(axis=0)
    tilts = np.full(len(rest), 0.5 * np.pi)
    angles = np.maximum(*(find_angles(rows, normals) for rows in turned))
    tilts[chosen] = np.where(is_rigid, np.minimum(angles, 0.5 * np.pi), 0.5 * np.pi)
    return tilts


def find_angles(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Between unit vectors, shape (B, 3), in radians."""
    return np.arccos(np.clip(np.einsum("bi,bi->b", first, second), -1.0, 1.0))


def split_lengths(vectors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Directions and lengths.

    Parameters
    ----------
    vectors : float array, shape (..., 3)

    Returns
    -------
    directions : float array, shape (..., 3)
        Zero for zero vectors.
    lengths : float array, shape (...)
    """
    lengths = np.sqrt(np.square(vectors).sum(axis=-1))
    return vectors / np.where(lengths > 0.0, lengths, 1.0)[..., None], lengths


def _find_widths(matrices: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How much wider matrices make what is around their bone, (B,), and which make it flat, bool (B,).

    The width is the root of how an area across the bone at rest grows: by cofactors, as these need no length of the
    bone. One scaled to none is as wide as one that is almost as short.
    """
    linear = matrices[:, :3, :3]
    cofactors = np.cross(linear[:, :, [1, 2, 0]], linear[:, :, [2, 0, 1]], axis=1)
    widths = np.sqrt(np.linalg.norm(np.einsum("bij,bj->bi", cofactors, axes), axis=1))
    return widths, ~(widths > LEAST_WIDTH * np.maximum(np.linalg.norm(linear, axis=(1, 2)), 1.0))
