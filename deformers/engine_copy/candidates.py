"""Choose the joints that need helpers, and the bones that each vertex may follow."""

from __future__ import annotations

import numpy as np

from ..rig.rest import Joints
from .model import Helper
from .regions import Blends

# Joints that never rotate farther do not bend skin.
MIN_BEND = np.radians(2.0)


def blame_joints(blends: Blends, errors: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Find the joint that causes the error of a vertex: the vertex lies across it, and it is rotated far.

    Parameters
    ----------
    errors : float array, shape (N, F)
        Distances of the vertices from the targets.
    angles : float array, shape (F, B)
        Angles of joints relative to their parents, radians.

    Returns
    -------
    joints : int array, shape (N,)
        -1 if a vertex does not lie across a joint.
    largest : float array, shape (N,)
        Largest error of each vertex.
    """
    worst = errors.argmax(axis=1)
    rows = np.arange(len(errors))
    across = blends.beyond * (1.0 - blends.beyond)
    shares = np.where(blends.cuts >= 0, across * np.square(angles[worst[:, None], blends.cuts]), 0.0)
    best = shares.argmax(axis=1)
    return np.where(shares[rows, best] > 0.0, blends.cuts[rows, best], -1), errors[rows, worst]


def count_helpers(
    blamed: np.ndarray, largest: np.ndarray, angles: np.ndarray, joints: Joints, tolerance: float, most: int
) -> np.ndarray:
    """Count the helpers that joints need, int, shape (B,): n of them leave about 1 / (n + 1)^2 of the error.

    `blamed` and `largest`, (N,), are from `blame_joints`, `angles`, (F, B), as there. Negative `most` is the default
    limit.
    """
    errors = np.zeros(len(joints.parents))
    np.maximum.at(errors, blamed[blamed >= 0], largest[blamed >= 0])
    wanted = np.ceil(np.sqrt(errors / tolerance)) - 1.0
    bends = (angles.max(axis=0) > MIN_BEND) & (np.asarray(joints.parents) >= 0)
    return np.where(bends, np.clip(wanted, 0.0, limit_helpers(most)), 0.0).astype(int)


def limit_helpers(most: int) -> int:
    """Largest number of helpers of a joint, for the user's limit. Negative is the default limit."""
    return 4 if most < 0 else most


def place_helpers(counts: np.ndarray, joints: Joints) -> tuple[list[Helper], np.ndarray]:
    """Make so many helpers, shape (B,), at each joint. Also returns their shares of the joint's rotation, (H,)."""
    helpers, shares = [], []
    for joint in np.flatnonzero(counts):
        center = np.asarray(joints.centers[joint], np.float64)
        for number in range(counts[joint]):
            helpers.append(Helper(int(joint), int(joints.parents[joint]), center))
            shares.append((number + 1) / (counts[joint] + 1))
    return helpers, np.array(shares)


def list_candidates(
    blends: Blends, helpers: list[Helper], shares: np.ndarray, joint_count: int, influences: int
) -> tuple[np.ndarray, np.ndarray]:
    """List the bones that vertices may follow: their joints, and helpers of the joints that they lie across.

    `shares`, shape (H,), are positions of helpers between the two bones of their joints, 0 to 1. Returns bones, int,
    and whether each entry is used, bool, shape (N, C).
    """
    count, most = len(blends.joints), {4: 12, 8: 16}[influences]
    owners = np.array([helper.joint for helper in helpers], int)
    offered, scores = [blends.joints], [blends.values + (blends.values > 0.0)]
    for number in range(len(helpers)):
        is_cut = blends.cuts == owners[number]
        column = is_cut.argmax(axis=1)
        beyond = np.take_along_axis(blends.beyond, column[:, None], axis=1)[:, 0]
        score = 4.0 * beyond * (1.0 - beyond) + 1.0 - np.abs(shares[number] - beyond)
        offered.append(np.full((count, 1), joint_count + number))
        scores.append(np.where(is_cut.any(axis=1), score, 0.0)[:, None])
    bones, score = np.concatenate(offered, axis=1), np.concatenate(scores, axis=1)
    order = np.argsort(-score, axis=1, kind="stable")[:, :most]
    return np.take_along_axis(bones, order, axis=1), np.take_along_axis(score, order, axis=1) > 0.0
