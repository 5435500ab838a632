"""Fractions of joints for node modifiers: what is stored of them, and which of the inputs ask for their twists."""

from __future__ import annotations

import numpy as np

from ...deformers.rig.rest import Joints
from .armatures import Skeleton
from .twists import list_hinted

FEWEST_INPUTS = 4
"""Inputs of one kind are so many, or twice, or four times ...: so there are few different groups."""


def round_up(count: int, fewest: int = FEWEST_INPUTS) -> int:
    """How many there are for so many that are used."""
    while fewest < count:
        fewest *= 2
    return fewest


def count_hints(skeleton: Skeleton) -> int:
    """How many inputs ask for the twists of a skeleton's joints; 0 where none are asked for."""
    hinted = list_hinted(skeleton.joints)
    return round_up(len(hinted)) if hinted else 0


def describe_fractions(joints: Joints) -> np.ndarray:
    """What nodes read of joints and their fractions, float array (B + F, 4, 4): `nodes.fractions.FRACTION`."""
    fractions = joints.fractions
    assert fractions is not None
    matrices = np.zeros((len(fractions.parents), 4, 4))
    matrices[:, 3, 1] = np.append(fractions.joint_parents, np.full(fractions.count, -1))
    own, shares = matrices[fractions.joint_count :], fractions.shares
    hints = np.searchsorted(list_hinted(joints), fractions.last) + 1
    own[:, :, 0] = np.stack([fractions.first, fractions.last, hints, np.ones(fractions.count)], axis=1)
    own[:, :3, 1] = np.stack([shares, 2.0 * np.pi * shares, 2.0 * shares], axis=1)
    own[:, :3, 2], own[:, :3, 3] = fractions.axes, fractions.centers
    return matrices
