"""Joints between two bones of a limb: hinges that bend, and shoulders near the trunk."""

from __future__ import annotations

import numpy as np

from .rest import Joints


def find_starts(joints: Joints) -> np.ndarray:
    """Start of the bone above each joint: the parent's center; the joint's own at a root, shape (B, 3)."""
    centers = np.asarray(joints.centers, np.float64)
    return np.where(joints.chains.is_root[:, None], centers, centers[joints.parents])


def find_hinges(joints: Joints) -> np.ndarray:
    """Whether the bones above and below each joint have similar directions at rest, bool array (B,)."""
    if joints.tails is None:
        return np.zeros(len(joints.parents), bool)
    before = np.asarray(joints.centers, np.float64) - find_starts(joints)
    length = np.linalg.norm(before, axis=1)
    after = np.linalg.norm(np.asarray(joints.tails, np.float64) - joints.centers, axis=1)
    least = 1e-3 * max(float(np.median(after)), 1e-12) if len(after) else 0.0
    max_rest_bend = 45.0  # Degrees at rest: joints that are bent farther, such as hips of most rigs, are not hinges.
    straight = np.einsum("bi,bi->b", before, joints.axes) > np.cos(np.radians(max_rest_bend)) * length
    return ~joints.chains.is_root & (length > least) & (after > least) & straight


def find_shoulders(joints: Joints) -> np.ndarray:
    """Whether each joint is near the trunk, such as shoulders below collar bones, not in a limb's middle, bool array
    (B,).

    An arm and its twin on the other side are joined to the same bone, which is close to the shoulder.
    """
    centers, parents = np.asarray(joints.centers, np.float64), joints.parents
    above = joints.chains.of_parents(centers, 0.0)
    depths = joints.chains.sum(np.where(joints.chains.is_root, 0.0, np.linalg.norm(centers - above, axis=1)))
    levels = joints.chains.sum(np.ones(len(parents), np.intp))
    ends = depths + joints.lengths
    for joint in np.argsort(-levels, kind="stable"):  # children first
        if parents[joint] >= 0:
            ends[parents[joint]] = max(ends[parents[joint]], ends[joint])
    reaches, starts, ways = ends - depths, *np.full((2, len(parents)), -np.inf)
    max_twin_difference = 0.05  # Relative difference in length of a limb and its twin
    for joint in np.argsort(levels, kind="stable"):  # parents first
        if (parent := parents[joint]) >= 0:
            siblings = np.flatnonzero((parents == parent) & (np.arange(len(parents)) != joint))
            has_twin = (np.abs(reaches[siblings] - reaches[joint]) < max_twin_difference * reaches[joint]).any()
            starts[joint] = depths[joint] if has_twin else starts[parent]
            ways[joint] = depths[joint] - (depths[parent] if has_twin else starts[parent])
    max_shoulder = 0.35  # Length between the trunk and a shoulder, relative to the length below it
    return (ways >= 0.0) & (ways < max_shoulder * reaches)
