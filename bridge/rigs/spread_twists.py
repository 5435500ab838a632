"""Spread twists for node modifiers: what the joints object has of them."""

from __future__ import annotations

import numpy as np
from mathutils import Matrix

from ...deformers.rig.rest import Joints
from ...deformers.rig.spread_twists import SpreadTwists
from ...nodes.spread_twists import AXIS, BELOW, END, SpreadForm
from .armatures import Skeleton
from .fractions import round_up


def find_spread_form(skeleton: Skeleton) -> SpreadForm | None:
    """The form of the node groups for the spread twists of a skeleton; None where there are none."""
    spread = skeleton.joints.spread
    if spread is None:
        return None
    return SpreadForm(round_up(len(spread.joints)), round_up(int(spread.below.sum(axis=0).max()), 1))


def find_lines(twists: np.ndarray, spread: SpreadTwists, space: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """The lines about which vertices are turned, in object space: their axes, unit vectors, and points on them.

    Parameters
    ----------
    twists : float32 array, shape (P, V, 3)
        From `pack_twists`.
    space : Matrix
        From object to armature space; it keeps angles.

    Returns
    -------
    axes, ends : float32 arrays, shape (P, V, 3)
        Zero where a vertex takes nothing.
    """
    back = np.linalg.inv(np.array(space, np.float64))
    axes = spread.axes @ back[:3, :3].T
    axes /= np.linalg.norm(axes, axis=1)[:, None] * np.sign(np.linalg.det(back[:3, :3]))
    ends = spread.ends @ back[:3, :3].T + back[:3, 3]
    numbers, none = twists[:, :, 2].astype(np.intp), np.zeros((1, 3))
    axes, ends = (np.append(none, rows, axis=0).astype(np.float32)[numbers] for rows in (axes, ends))
    return axes, ends


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
