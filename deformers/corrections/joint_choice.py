"""Find the joint at which an offset was sculpted."""

from __future__ import annotations

import numpy as np

from ..rig.rest import Joints

# A joint must be rotated at least this far to drive a correction.
MIN_ANGLE = np.radians(3.0)

# The joint of the other side is meant as well if it has at least this share of the best joint's score.
MIN_OTHER_SCORE = 0.3


def measure_rotations(rest_to_pose: np.ndarray, joints: Joints) -> np.ndarray:
    """Measure how far joints, shape (B,), are rotated against their parents, in radians. Roots have 0.

    Parameters
    ----------
    rest_to_pose : float array, shape (B, 4, 4)
    """
    linear = np.asarray(rest_to_pose, np.float64)[:, :3, :3]
    axes = linear / np.maximum(np.linalg.norm(linear, axis=1, keepdims=True), 1e-30)
    parents = np.where(joints.parents >= 0, joints.parents, np.arange(len(linear)))
    traces = np.einsum("bij,bij->b", axes[parents], axes)
    return np.arccos(np.clip(0.5 * (traces - 1.0), -1.0, 1.0))


def score_joints(held: np.ndarray, parents: np.ndarray, angles: np.ndarray) -> np.ndarray:
    """Score how much of a sculpted offset lies at each rotated joint, float array, shape (B,). Other joints have 0.

    Parameters
    ----------
    held : float array, shape (B,)
        Sums of the vertices' offsets times their weights for each joint.
    parents : int array, shape (B,)
        -1 for roots.
    angles : float array, shape (B,)
        As `measure_rotations` returns them.

    Notes
    -----
    A vertex lies at a joint by its weights for the joint and for the parent.
    """
    full_angle = np.radians(45.0)  # larger angles do not make a joint more likely
    around = held + np.where(parents >= 0, held[parents], 0.0)
    rotated = np.where(angles >= MIN_ANGLE, np.minimum(angles, full_angle), 0.0)
    return np.where((parents >= 0) & (held > 0.0), around * rotated, 0.0)
