"""Which joint something was sculpted at."""

from __future__ import annotations

import numpy as np

from ..rig.rest import Joints

LEAST_ANGLE = np.radians(3.0)
"""By which a joint must be rotated to bring a correction in."""

FULL_ANGLE = np.radians(45.0)
"""From which on a larger angle says no more about where a fault comes from."""

ALSO = 0.3
"""Share of the best joint's score from which on the joint of the other side was meant, too."""


def measure_rotations(rest_to_pose: np.ndarray, joints: Joints) -> np.ndarray:
    """By how much joints are rotated against those that they are joined to, radians, shape (B,); 0 for roots.

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
    """How much of what was sculpted lies at each joint that is rotated, float array, shape (B,); 0 for others.

    Parameters
    ----------
    held : float array, shape (B,)
        How far vertices were moved, times their weights for a joint, in all.
    parents : int array, shape (B,)
        What joints are joined to, -1 for roots.
    angles : float array, shape (B,)
        As `measure_rotations` gives them.

    Notes
    -----
    A vertex lies at a joint by its weights for the joint and for what it is joined to.
    """
    around = held + np.where(parents >= 0, held[parents], 0.0)
    rotated = np.where(angles >= LEAST_ANGLE, np.minimum(angles, FULL_ANGLE), 0.0)
    return np.where((parents >= 0) & (held > 0.0), around * rotated, 0.0)
