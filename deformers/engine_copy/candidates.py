"""Which joints need helpers, and which bones each vertex may follow."""

from __future__ import annotations

import numpy as np

from ..rig.rest import Joints
from .model import Helper
from .regions import Blends

MOST_HELPERS = 4
"""Of a joint."""

LEAST_TURN = np.radians(2.0)
"""Joints that never turn farther bend nothing."""

CANDIDATES = {4: 12, 8: 16}
"""Bones that a vertex chooses from, by its influences."""


def blame_joints(blends: Blends, errors: np.ndarray, angles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The joint that a vertex owes its error to: which it lies across, and which is turned far.

    Parameters
    ----------
    blends : Blends
        Of N vertices.
    errors : float array, shape (N, F)
        Distances.
    angles : float array, shape (F, B)
        Of joints against those above them, radians.

    Returns
    -------
    joints : int array, shape (N,)
        -1 where a vertex lies across none.
    largest : float array, shape (N,)
        The vertex's largest error.
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
    """How many helpers each joint needs: n of them leave some 1 / (n + 1)^2 of the error.

    Parameters
    ----------
    blamed, largest : int and float arrays, shape (N,)
        Of `blame_joints`.
    angles : float array, shape (F, B)
    most : int
        Of a joint; negative for no limit.

    Returns
    -------
    int array, shape (B,)
    """
    errors = np.zeros(len(joints.parents))
    np.maximum.at(errors, blamed[blamed >= 0], largest[blamed >= 0])
    wanted = np.ceil(np.sqrt(errors / tolerance)) - 1.0
    bends = (angles.max(axis=0) > LEAST_TURN) & (np.asarray(joints.parents) >= 0)
    return np.where(bends, np.clip(wanted, 0.0, limit_helpers(most)), 0.0).astype(int)


def limit_helpers(most: int) -> int:
    """Most helpers of a joint, on average of all that skin lies across; negative for no limit of the user's."""
    return MOST_HELPERS if most < 0 else most


def place_helpers(counts: np.ndarray, joints: Joints) -> tuple[list[Helper], np.ndarray]:
    """Helpers of joints, and at which share of the turn each begins.

    Parameters
    ----------
    counts : int array, shape (B,)
        How many.

    Returns
    -------
    helpers : list of Helper
    shares : float array, shape (H,)
    """
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
    """The bones that vertices may follow: their joints, and helpers of the joints that they lie across.

    Parameters
    ----------
    shares : float array, shape (H,)
        Where each stands between its joint's two bones, 0 to 1.
    influences : int
        Most bones of a vertex.

    Returns
    -------
    bones : int array, shape (N, C)
    allowed : bool array, shape (N, C)
        False where there are fewer.
    """
    count, most = len(blends.joints), CANDIDATES[influences]
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
