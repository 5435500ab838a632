"""Spread twists for node modifiers: what the joints object has of them."""

from __future__ import annotations

import numpy as np

from ...deformers.rig.rest import Joints
from ...nodes.spread_twists import AXIS, BELOW, END, SpreadForm
from .armatures import Skeleton
from .fractions import round_up


def find_spread_form(skeleton: Skeleton) -> SpreadForm | None:
    """The form of the node groups for the spread twists of a skeleton; None where there are none."""
    spread = skeleton.joints.spread
    if spread is None:
        return None
    return SpreadForm(round_up(len(spread.joints)), round_up(int(spread.below.sum(axis=0).max()), 1))


def describe_spread(joints: Joints) -> dict[str, np.ndarray]:
    """What nodes read of spread twists, by attribute: arrays of L + 1 vectors, and of an integer for each joint.

    Parameters
    ----------
    joints : Joints
        With their fractions, if there are any.
    """
    spread, fractions = joints.spread, joints.fractions
    assert spread is not None
    none = np.zeros((1, 3))
    known = {AXIS: np.append(none, spread.axes, axis=0), END: np.append(none, spread.ends, axis=0)}
    below = spread.below if fractions is None else np.append(spread.below, spread.below[:, fractions.first], axis=1)
    order = np.argsort(-spread.depths, kind="stable")
    ranks = np.cumsum(below[order], axis=0) - 1
    for number in range(int(below.sum(axis=0).max())):
        is_next = below[order] & (ranks == number)
        known[f"{BELOW}{number}"] = np.where(is_next.any(axis=0), order[is_next.argmax(axis=0)] + 1, 0)
    return known
