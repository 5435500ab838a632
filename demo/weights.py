"""The arm's skeleton and skin weights. NumPy only, lengths in millimeters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .anatomy import DIGITS, FINGERS, PALMAR, digits
from .implicit import Array, smooth_step
from .surface import Surface

MAX_INFLUENCES, SMALLEST_WEIGHT = 4, 0.002

LIMB_BONES = ("upper_arm", "forearm", "forearm_twist", "hand", "palm")
LIMB_JOINTS = np.array([[0, 0, 0], [290, 0, -5], [425, 0, -2], [562, 0, 0], [610, 0, 0], [655, 0, -2]], dtype=float)
"""The heads of LIMB_BONES, and the last one's tail."""

LIMB_BLENDS = (0.0, 90.0, 190.0, 62.0, 44.0)
"""Over what length, along the limb, the skin changes from the bone before to this one."""

DIGIT_BLENDS = {"thumb": (34.0, 24.0, 20.0)} | dict.fromkeys(FINGERS, (26.0, 18.0, 16.0))
"""The same at the joints of the digits."""


@dataclass(frozen=True)
class Bone:
    """A bone at rest: head and tail (3,), the direction (3,) that its Z axis looks to, and its parent's name.

    A bone flexes when it is turned about its own X axis.
    """

    name: str
    head: Array
    tail: Array
    up: Array
    parent: str | None


def arm_bones() -> tuple[Bone, ...]:
    """Return the bones, parents before children."""
    names = (None, *LIMB_BONES)
    bones = [
        Bone(name, LIMB_JOINTS[number], LIMB_JOINTS[number + 1], PALMAR, names[number])
        for number, name in enumerate(LIMB_BONES)
    ]
    for digit in digits():
        parent = "hand" if digit.name == "thumb" else "palm"
        for number in range(3):
            name = f"{digit.name}.0{number + 1}"
            bones.append(Bone(name, digit.joints[number], digit.joints[number + 1], digit.palmar, parent))
            parent = name
    return tuple(bones)


def passed_joints(points: Array, joints: Array, blends: tuple[float, ...]) -> Array:
    """Return how far points (V, 3) are past each joint of a chain, 0 to 1, shape (V, J).

    At a joint the skin changes over the length `blends[j]`, measured across the plane that halves the joint's angle.
    """
    steps = np.diff(joints, axis=0)
    steps /= np.linalg.norm(steps, axis=1, keepdims=True)
    passed = np.ones((len(points), len(steps)))
    for joint, blend in enumerate(blends):
        if blend > 0.0:
            normal = steps[max(joint - 1, 0)] + steps[joint]
            across = (points - joints[joint]) @ (normal / np.linalg.norm(normal))
            passed[:, joint] = smooth_step(0.5 + across / blend)
    return passed


def chain_shares(passed: Array) -> Array:
    """Return the share (V, J) of each bone of a chain; the shares sum to `passed` (V, J) of the first joint."""
    reached = np.cumprod(passed, axis=1)
    return reached - np.concatenate([reached[:, 1:], np.zeros((len(passed), 1))], axis=1)


def skin_weights(surface: Surface) -> Array:
    """Return the weights (V, B) of `arm_bones` for the surface: at most 4 a vertex, summing to 1."""
    points = surface.points
    weights = np.zeros((len(points), len(LIMB_BONES) + 3 * len(DIGITS)))
    first = len(LIMB_BONES)
    for number, digit in enumerate(digits()):
        passed = passed_joints(points, digit.joints, DIGIT_BLENDS[digit.name])
        weights[:, first : first + 3] = surface.membership[:, number, None] * chain_shares(passed)
        first += 3
    limb = chain_shares(passed_joints(points, LIMB_JOINTS, LIMB_BLENDS))
    weights[:, : len(LIMB_BONES)] = (1.0 - weights.sum(axis=1, keepdims=True)) * limb
    strongest = -np.partition(-weights, MAX_INFLUENCES, axis=1)[:, MAX_INFLUENCES : MAX_INFLUENCES + 1]
    weights[(weights <= strongest) | (weights < SMALLEST_WEIGHT)] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)
