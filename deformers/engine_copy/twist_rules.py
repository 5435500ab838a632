"""Rules for helpers that only twist: they follow a share of their joint's twist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .keys import read_angle
from .model import CopiedSkin, Helper
from .motions import split_turns, turn_about
from .patch import Patch
from .regions import invert_affine


def find_rules(
    helpers: list[Helper],
    moved: np.ndarray,
    skin: CopiedSkin,
    patch: Patch,
    poses: tuple[np.ndarray, np.ndarray],
    tolerance: float,
) -> tuple[list[Helper], np.ndarray]:
    """Let helpers follow a share of their joint's twist if that is as good. Joints without tails have no twist.

    Parameters
    ----------
    moved : float array, shape (F, H, 4, 4)
        From rest to pose. It is returned with the motion by the rules.
    poses : pair of float arrays, shapes (F, B, 4, 4) and (F, B, 4)
        Matrices of joints, and quaternions of their rotations relative to their parents.
    """
    (matrices, quaternions), found, ruled = poses, list(helpers), moved.copy()
    for number, helper in enumerate(helpers):
        axis = skin.joints.axes[helper.joint]
        angles = read_angle(quaternions[:, helper.joint], axis)
        rows, slots = np.nonzero(patch.bones == patch.joint_count + number)
        weights = patch.values[rows, slots]
        if not axis.any() or not angles.any() or not weights.any():
            continue
        base = matrices[:, helper.base]
        local = invert_affine(base) @ moved[:, number]
        turns = read_angle(split_turns(local[:, None])[:, 0], axis)
        share = float((turns @ angles) / (angles @ angles))
        rule = np.tile(np.eye(4), (len(local), 1, 1))
        rule[:, :3, :3] = turn_about(np.broadcast_to(axis, (len(angles), 3)), share * angles)
        rule[:, :3, 3] = helper.center - rule[:, :3, :3] @ helper.center
        largest = np.argsort(-weights)[:64]
        full = np.concatenate([patch.points[rows[largest]], np.ones((len(largest), 1))], axis=1)
        lengths = np.linalg.norm(full @ (base @ (rule - local))[:, :3].transpose(0, 2, 1), axis=2)
        apart = weights[largest] * lengths
        if 0.0 <= share <= 1.0 and apart.max() <= 0.2 * tolerance:
            found[number], ruled[:, number] = replace(helper, twist_share=share), base @ rule
    return found, ruled
