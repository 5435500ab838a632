"""At which rotations a joint is corrected by a method: those that actions bring it into, else about given axes.

Rotations are unit quaternions (w, x, y, z) of a joint against the one that it is joined to, in the rest axes of a bone.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..algebra.dual_quaternions import quaternions_from_rotations, rotations_from_quaternions
from ..algebra.polar import decompose_polar
from ..rig.rest import Joints

ANGLES = (40.0, 80.0, 120.0)
"""Degrees by which joints are bent, if not chosen."""

MOVED = np.radians(10.0)
"""From which rotation on an action tells how a joint bends."""

HINGE = np.radians(15.0), 90.0
"""A joint is a hinge where in so many percent of the frames no more is left of its rotation beside that of an axis."""

MOST_DIRECTIONS = 3
"""Of a joint that is no hinge, corrections for each angle."""

APART = np.radians(25.0)
"""By which corrections of such a joint are apart at least."""


@dataclass(frozen=True, eq=False)
class ChosenRotations:
    """Rotations of a joint at which it is corrected.

    Attributes
    ----------
    rotations : float array, shape (K, 4)
    is_hinge : bool
        Whether all are about one axis, and the angle about it is to be read.
    """

    rotations: np.ndarray
    is_hinge: bool


def read_joint_rotations(matrices: np.ndarray, parents: np.ndarray, joint: int, axes: np.ndarray) -> np.ndarray:
    """Rotations of a joint in poses.

    Parameters
    ----------
    matrices : float array, shape (F, B, 4, 4)
        From rest to pose, armature space.
    parents : int array, shape (B,)
    joint : int
        That is joined to another.
    axes : float array, shape (3, 3)
        Columns are the bone's axes at rest, armature space.

    Returns
    -------
    float array, shape (F, 4)
        With w not negative.
    """
    pair = np.asarray(matrices, np.float64)[:, [parents[joint], joint], :3, :3].reshape(-1, 3, 3)
    above, own = decompose_polar(pair, np.full(len(pair), -1))[0].reshape(-1, 2, 3, 3).transpose(1, 0, 2, 3)
    found = quaternions_from_rotations(axes.T @ above.transpose(0, 2, 1) @ own @ axes)
    return np.where(found[:, :1] < 0.0, -found, found)


def pose_joint(joints: Joints, joint: int, rotation: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The pose in which one joint alone is rotated.

    Parameters
    ----------
    rotation : float array, shape (4,)
    axes : float array, shape (3, 3)
        As for `read_joint_rotations`.

    Returns
    -------
    float array, shape (B, 4, 4)
        From rest to pose, armature space.
    """
    turned = axes @ rotations_from_quaternions(np.asarray(rotation, np.float64)[None])[0] @ axes.T
    center, matrix = np.asarray(joints.centers[joint], np.float64), np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = turned, center - turned @ center
    rest_to_pose = np.tile(np.eye(4), (len(joints.parents), 1, 1))
    rest_to_pose[joints.chains.below[:, joint]] = matrix
    return rest_to_pose


def measure_angles(rotations: np.ndarray) -> np.ndarray:
    """How far rotations, shape (..., 4), turn, radians, 0 to pi."""
    return 2.0 * np.arccos(np.clip(np.abs(rotations[..., 0]), 0.0, 1.0))


def choose_by_actions(rotations: np.ndarray, angles: Sequence[float]) -> ChosenRotations | None:
    """Choose rotations as frames of actions show them.

    Parameters
    ----------
    rotations : float array, shape (F, 4)
        Of the joint in the frames, w not negative.
    angles : sequence of float
        Radians, ascending: how far each is to turn.

    Returns
    -------
    ChosenRotations or None
        None where no frame rotates the joint.

    Notes
    -----
    Of a hinge, the axis is that which the frames rotate about most, to the side where they go farther. Else directions
    are taken from the frames, turned on or back to the angle next to theirs: one after the other that which is farthest
    from all before.
    """
    turned = measure_angles(rotations)
    if len(rotations) == 0 or turned.max() < MOVED:
        return None
    axis, aside = find_axis(rotations)
    if np.percentile(aside[turned >= MOVED], HINGE[1]) <= HINGE[0]:
        return ChosenRotations(turn_about(axis, angles), True)
    bounds = 0.5 * (np.array([0.0, *angles[:-1]]) + angles)
    candidates = []
    for angle, bound in zip(angles, bounds.tolist(), strict=True):
        reached = turned >= min(bound, turned.max())
        vectors = rotations[reached, 1:]
        candidates.append(turn_about(vectors / np.linalg.norm(vectors, axis=1, keepdims=True), [angle]))
    return ChosenRotations(choose_farthest(np.concatenate(candidates), MOST_DIRECTIONS * len(angles), APART), False)


def choose_by_axes(axes: np.ndarray, limits: Sequence[float], angles: Sequence[float]) -> ChosenRotations:
    """Choose rotations about given axes; of one axis alone it makes a hinge.

    Parameters
    ----------
    axes : float array, shape (D, 3)
        Unit vectors.
    limits : sequence of float
        How far each may be turned about, radians; the first may be, whatever it is.
    angles : sequence of float
        Radians, ascending.
    """
    found = [
        turn_about(axis, [angle for angle in angles if not number or angle <= limit])
        for number, (axis, limit) in enumerate(zip(axes, limits, strict=True))
    ]
    return ChosenRotations(np.concatenate(found), len(axes) == 1)


def choose_angles(angles: np.ndarray, products: np.ndarray, count: int) -> np.ndarray:
    """Choose angles between which a change that grows from none is interpolated best.

    Parameters
    ----------
    angles : float array, shape (R,)
        Of a hinge, ascending.
    products : float array, shape (R, R)
        Inner products of what changes at them.
    count : int
        How many are chosen; the last is one of them.

    Returns
    -------
    int array, shape (K,)
        Indices of angles, ascending.
    """
    last, best = len(angles) - 1, (np.inf, np.empty(0, np.intp))
    for others in itertools.combinations(range(last), min(count, len(angles)) - 1):
        chosen = np.array([*others, last])
        hats = np.array([np.interp(angles, [0.0, *angles[chosen]], row) for row in np.eye(len(chosen) + 1)[1:]])
        missed = np.eye(len(angles))
        missed[:, chosen] -= hats.T
        best = min(best, (float(np.einsum("ij,jk,ik->", missed, products, missed)), chosen), key=lambda each: each[0])
    return best[1]


def find_axis(rotations: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The axis (3,) that rotations (F, 4) are about most, and what is left of each beside it, radians (F,)."""
    vectors = rotations[:, 1:]
    axis = np.linalg.eigh(vectors.T @ vectors)[1][:, -1]
    along = vectors @ axis
    if -along.min() > along.max():
        axis, along = -axis, -along
    aside = 2.0 * np.arccos(np.clip(np.hypot(rotations[:, 0], along), 0.0, 1.0))
    return axis, aside


def turn_about(axes: np.ndarray, angles: Sequence[float] | np.ndarray) -> np.ndarray:
    """Rotations, shape (N, 4), about an axis (3,) by each of N angles, or about N axes (N, 3) by one."""
    halves = 0.5 * np.asarray(angles, np.float64)
    vectors = np.sin(halves)[:, None] * axes
    cosines = np.broadcast_to(np.cos(halves), len(vectors))
    return np.concatenate([cosines[:, None], vectors], axis=1)


def choose_farthest(candidates: np.ndarray, count: int, apart: float) -> np.ndarray:
    """Of rotations at most so many: one after the other that which is farthest from rest and from all before.

    Parameters
    ----------
    candidates : float array, shape (N, 4)
    apart : float
        Radians: none is nearer to another. One is taken however near it is to rest.

    Returns
    -------
    float array, shape (K, 4)
    """
    nearest, chosen = measure_angles(candidates), []
    while len(chosen) < count:
        best = int(nearest.argmax())
        if chosen and nearest[best] < apart:
            break
        chosen.append(best)
        between = 2.0 * np.arccos(np.clip(np.abs(candidates @ candidates[best]), 0.0, 1.0))
        nearest = np.minimum(nearest, between)
    return candidates[chosen]
