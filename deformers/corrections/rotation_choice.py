"""Choose the rotations at which a joint is corrected: those that actions use, or rotations about given axes.

Rotations are unit quaternions (w, x, y, z) of a joint relative to its parent, in the rest axes of a bone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations, rotations_from_quaternions
from ..algebra.polar import decompose_polar
from ..rig.rest import Joints

# Default angles by which joints are bent, in degrees
ANGLES = (40.0, 80.0, 120.0)

# An action must rotate a joint at least this far to show how the joint bends.
MIN_BEND = np.radians(10.0)


@dataclass(frozen=True, eq=False)
class ChosenRotations:
    """Rotations of a joint at which it is corrected.

    Attributes
    ----------
    rotations : float array, shape (K, 4)
    is_hinge : bool
        Whether all are about one axis, so that the angle about it drives the corrections.
    """

    rotations: np.ndarray
    is_hinge: bool


def read_joint_rotations(matrices: np.ndarray, parents: np.ndarray, joint: int, axes: np.ndarray) -> np.ndarray:
    """Read the rotations of a joint in poses.

    Parameters
    ----------
    matrices : float array, shape (F, B, 4, 4)
        From rest to pose, in armature space.
    parents : int array, shape (B,)
    joint : int
        A joint with a parent.
    axes : float array, shape (3, 3)
        Columns are the bone's rest axes in armature space.

    Returns
    -------
    float array, shape (F, 4)
        w is not negative.
    """
    pair = np.asarray(matrices, np.float64)[:, [parents[joint], joint], :3, :3].reshape(-1, 3, 3)
    above, own = decompose_polar(pair, np.full(len(pair), -1))[0].reshape(-1, 2, 3, 3).transpose(1, 0, 2, 3)
    found = quaternions_from_rotations(axes.T @ above.transpose(0, 2, 1) @ own @ axes)
    return np.where(found[:, :1] < 0.0, -found, found)


def pose_joint(joints: Joints, joint: int, rotation: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """Rotate one joint alone, with all joints below it: float array, shape (B, 4, 4), in armature space.

    Parameters
    ----------
    rotation : float array, shape (4,)
    axes : float array, shape (3, 3)
        As for `read_joint_rotations`.
    """
    turned = axes @ rotations_from_quaternions(np.asarray(rotation, np.float64)[None])[0] @ axes.T
    center, matrix = np.asarray(joints.centers[joint], np.float64), np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turned, center - turned @ center
    rest_to_pose = np.tile(np.eye(4), (len(joints.parents), 1, 1))
    rest_to_pose[joints.chains.below[:, joint]] = matrix
    return rest_to_pose


def measure_angles(rotations: np.ndarray) -> np.ndarray:
    """Angles of rotations, shape (..., 4), in radians, 0 to pi."""
    return 2.0 * np.arccos(np.clip(np.abs(rotations[..., 0]), 0.0, 1.0))


def choose_by_actions(rotations: np.ndarray, angles: Sequence[float]) -> ChosenRotations | None:
    """Choose rotations like those in the frames of actions. None if no frame rotates the joint.

    Parameters
    ----------
    rotations : float array, shape (F, 4)
        Rotations of the joint in the frames, w not negative.
    angles : sequence of float
        Wanted angles in radians, ascending.

    Notes
    -----
    A hinge gets the axis that the frames rotate about most, toward the side with the larger angles. Otherwise the axes
    of the frames are used with the wanted angle next to theirs, and chosen by farthest-point sampling.
    """
    per_angle, min_apart = 3, np.radians(25.0)
    turned = measure_angles(rotations)
    if len(rotations) == 0 or turned.max() < MIN_BEND:
        return None
    axis, aside = find_axis(rotations)
    if is_hinge(aside[turned >= MIN_BEND]):
        return ChosenRotations(turn_about(axis, angles), True)
    bounds = 0.5 * (np.array([0.0, *angles[:-1]]) + angles)
    candidates = []
    for angle, bound in zip(angles, bounds.tolist(), strict=True):
        reached = turned >= min(bound, turned.max())
        vectors = rotations[reached, 1:]
        candidates.append(turn_about(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), [angle]))
    return ChosenRotations(choose_farthest(np.concatenate(candidates), per_angle * len(angles), min_apart), False)


def choose_by_axes(axes: np.ndarray, limits: Sequence[float], angles: Sequence[float]) -> ChosenRotations:
    """Choose rotations about given axes. A single axis makes a hinge.

    Parameters
    ----------
    axes : float array, shape (D, 3)
        Unit vectors.
    limits : sequence of float
        Largest angle about each axis in radians, ignored for the first.
    angles : sequence of float
        Radians, ascending.
    """
    found = [
        turn_about(axis, [angle for angle in angles if not number or angle <= limit])
        for number, (axis, limit) in enumerate(zip(axes, limits, strict=True))
    ]
    return ChosenRotations(np.concatenate(found), len(axes) == 1)


def find_axis(rotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the main axis (3,) of rotations (F, 4), and the angle of each that is not about it, radians (F,)."""
    vectors = rotations[:, 1:]
    axis = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    along = vectors @ axis
    if -along.min() > along.max():
        axis, along = -axis, -along
    aside = 2.0 * np.arccos(np.clip(np.hypot(rotations[:, 0], along), 0.0, 1.0))
    return axis, aside


def is_hinge(aside: np.ndarray) -> bool:
    """Whether a joint bends about one axis, by the angles not about it (`find_axis`) in frames that bend it, (F,)."""
    return bool(np.percentile(aside, 90.0) <= np.radians(15.0))


def turn_about(axes: np.ndarray, angles: Sequence[float] | np.ndarray) -> np.ndarray:
    """Rotations, shape (N, 4), about one axis (3,) by N angles, or about N axes (N, 3) by one angle."""
    halves = 0.5 * np.asarray(angles, np.float64)
    vectors = np.sin(halves)[:, None] * axes
    cosines = np.broadcast_to(np.cos(halves), len(vectors))
    return np.concatenate([cosines[:, None], vectors], axis=1)


def choose_farthest(candidates: np.ndarray, count: int, apart: float) -> np.ndarray:
    """Pick at most `count` rotations, or poses, by farthest-point sampling, starting from rest.

    Parameters
    ----------
    candidates : float array, shape (N, 4) or (N, J, 4)
    apart : float
        Smallest angle between two of them, in radians; of poses, the root of the sum of the squares of all joints'
        angles. The first is picked however near it is to rest.

    Returns
    -------
    float array, shape (K, 4) or (K, J, 4)
    """
    poses = candidates.reshape(len(candidates), -1, 4)
    nearest, chosen = np.linalg.norm(measure_angles(poses), axis=1), []
    while len(chosen) < count:
        best = int(nearest.argmax())
        if chosen and nearest[best] < apart:
            break
        chosen.append(best)
        between = np.abs(np.einsum("nji,ji->nj", poses, poses[best]))
        away = 2.0 * np.arccos(np.clip(between, 0.0, 1.0))
        nearest = np.minimum(nearest, np.linalg.norm(away, axis=1))
    return candidates[chosen]
