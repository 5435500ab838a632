"""Spread twists for node modifiers: what a joints object has, and a mesh whose joints an Armature modifier blends."""

from __future__ import annotations

import numpy as np
from mathutils import Matrix

from ...deformers.rig.rest import Joints
from ...deformers.rig.spread_twists import SpreadTwists
from ...nodes.spread_twists import AXIS, END, ENDS_JOINT, HINT
from .twists import list_hinted


def find_lines(twists: np.ndarray, spread: SpreadTwists, space: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """The lines about which vertices are turned, in object space: their axes, unit vectors, and where they end.

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
    axes, ends = spread.axes @ find_rotation(space).T, spread.ends @ back[:3, :3].T + back[:3, 3]
    numbers, none = twists[:, :, 2].astype(np.intp), np.zeros((1, 3))
    axes, ends = (np.append(none, rows, axis=0).astype(np.float32)[numbers] for rows in (axes, ends))
    return axes, ends


def find_rotation(space: Matrix) -> np.ndarray:
    """From armature to object space, what turns axes of rotations, shape (3, 3), if that keeps angles."""
    back = np.linalg.inv(np.array(space, np.float64)[:3, :3])
    return back / np.cbrt(np.linalg.det(back))


def describe_spread(joints: Joints) -> dict[str, np.ndarray]:
    """What nodes read of spread twists, by attribute: arrays of L + 1 rows.

    Parameters
    ----------
    joints : Joints
        With their fractions, if there are any.
    """
    spread = joints.spread
    assert spread is not None
    hints = np.searchsorted(list_hinted(joints), spread.joints) + 1
    of_joints = np.stack([spread.joints, spread.parents[spread.joints], np.zeros(len(hints))], axis=1)
    known = {AXIS: spread.axes, END: spread.ends, ENDS_JOINT: of_joints, HINT: hints}
    return {name: np.concatenate([np.zeros((1, *rows.shape[1:]), rows.dtype), rows]) for name, rows in known.items()}
