"""Joints between two bones of a limb: hinges that bend, and shoulders, which are near the trunk."""

from __future__ import annotations

import numpy as np

from .rest import Joints

STRAIGHTEST = 45.0
"""Degrees between two bones at rest: joints bent farther, such as hips of most rigs, are no hinges."""

TWINS = 0.05
"""Share by which limbs differ in length that are twins."""

SHORT = 0.35
"""Share of what is below a shoulder that is between it and the trunk, at most."""


def find_starts(joints: Joints) -> np.ndarray:
    """Where the bone above each joint comes from: the parent's center; the joint's own at a root, shape (B, 3)."""
    centers = np.asarray(joints.centers, np.float64)
    return np.where(joints.chains.is_root[:, None], centers, centers[joints.parents])


def find_hinges(joints: Joints) -> np.ndarray:
    """Which joints have a bone above and one below that go on in much the same direction at rest, bool array (B,)."""
    if joints.tails is None:
        return np.zeros(len(joints.parents), bool)
    before = np.asarray(joints.centers, np.float64) - find_starts(joints)
    length = np.linalg.norm(before, axis=1)
    after = np.linalg.norm(np.asarray(joints.tails, np.float64) - joints.centers, axis=1)
    least = 1e-3 * max(float(np.median(after)), 1e-12) if len(after) else 0.0
    straight = np.einsum("bi,bi->b", before, joints.axes) > np.cos(np.radians(STRAIGHTEST)) * length
    return ~joints.chains.is_root & (length > least) & (after > least) & straight


def find_shoulders(joints: Joints) -> np.ndarray:
    """Which joints are near the trunk, as shoulders below collar bones, and so in no limb's middle, bool array (B,).

    An arm and its twin on the other side are joined to the same bone; the way from there, or to there, is short.
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
    for joint in np.argsort(levels, kind="stable"):  # parents first
        if (parent := parents[joint]) >= 0:
            siblings = np.flatnonzero((parents == parent) & (np.arange(len(parents)) != joint))
            has_twin = (np.abs(reaches[siblings] - reaches[joint]) < TWINS * reaches[joint]).any()
            starts[joint] = depths[joint] if has_twin else starts[parent]
            ways[joint] = depths[joint] - (depths[parent] if has_twin else starts[parent])
    return (ways >= 0.0) & (ways < SHORT * reaches)
