"""The range of motion of real characters: poses that bend or turn one joint each, to where joints of a body go.

Bones, directions and angles are tables; a pose is made of a character's rest alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from benchmarks.shapes import Shape, rotation
from deformers.rig.skeleton import Chains

SHARES = (0.6, 1.0)  # Shares of the whole bend to measure
TWIST = "twist"  # Rotation of a bone about its own axis


@dataclass(frozen=True)
class Bend:
    """How a joint moves: its bone goes toward a direction of the body, or twists, by so many degrees."""

    toward: str
    degrees: float


KINDS = ("elbow", "knee", "hip", "arm up", "wrist", "wrist twist", "neck", "neck turn", "spine", "spine turn", "finger")
HUMAN = {
    "elbow": Bend("forward", 120.0), "knee": Bend("back", 120.0), "hip": Bend("forward", 100.0),
    "arm up": Bend("up", 80.0), "wrist": Bend("down", 70.0), "wrist twist": Bend(TWIST, 90.0),
    "neck": Bend("forward", 40.0), "neck turn": Bend(TWIST, 60.0), "spine": Bend("forward", 40.0),
    "spine turn": Bend(TWIST, 30.0), "finger": Bend("down", 80.0),
}  # fmt: skip
FOX = {
    "elbow": Bend("back", 80.0), "knee": Bend("back", 70.0), "hip": Bend("forward", 50.0),
    "arm up": Bend("forward", 50.0), "wrist": Bend("back", 60.0), "neck": Bend("down", 40.0),
    "neck turn": Bend(TWIST, 40.0), "spine": Bend("down", 30.0), "spine turn": Bend(TWIST, 30.0),
}  # fmt: skip
_UNREAL = (
    "lowerarm_l", "calf_l", "thigh_l", "upperarm_l", "hand_l", "hand_l", "neck_01", "neck_01", "spine_02", "spine_02",
    "index_02_l",
)  # fmt: skip
_BONES = {
    "mh_human": (
        "lowerarm01.L", "lowerleg01.L", "upperleg01.L", "upperarm01.L", "wrist.L", "wrist.L", "neck01", "neck02",
        "spine03", "spine02", "finger2-2.L",
    ),
    "mh_human_game": _UNREAL,
    "human_male": _UNREAL,
    "fox": (
        "Front_Leg_Lower_L", "Back_Leg_Lower_L", "Back_Leg_Upper_L", "Front_Leg_Upper_L", "Front_Leg_Ankle_L", "",
        "Spine_4", "Spine_4", "Spine_2", "Spine_2", "",
    ),
    "cesium_man": (
        "Node_17", "Node_8", "Node_7", "Node_16", "Node_18", "Node_18", "Node_19", "Node_19", "Node_11", "Node_11", "",
    ),
    "kaykit_knight": (
        "lowerarm.l", "lowerleg.l", "upperleg.l", "upperarm.l", "wrist.l", "wrist.l", "head", "head", "chest", "chest",
        "",
    ),
}  # fmt: skip
# The bone that moves, by character and kind of joint
BONES = {
    character: {kind: bone for kind, bone in zip(KINDS, bones, strict=True) if bone}
    for character, bones in _BONES.items()
}
CHARACTERS = tuple(BONES)
BENDS = {"fox": FOX}  # of characters that are not human
FRAMES = {"cesium_man": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0))}  # up and forward in armature space, if not z and -y
ODD_TAILS = ("cesium_man", "khronos_fox")  # characters whose bones do not point to the next joint


def find_bend(character: str, kind: str) -> Bend:
    """How a character's joint of a kind moves."""
    return BENDS.get(character, HUMAN)[kind]


def bend_joint(character: str, shape: Shape, kind: str, share: float = 1.0) -> np.ndarray:
    """Matrices (B, 4, 4) from rest to the pose in which a character's joint of a kind has gone a share of its range.

    `shape`: the character at rest, or one of its parts.
    """
    return rotate_bone(shape, *find_axis(character, shape, kind), share * find_bend(character, kind).degrees)


def rotate_bone(shape: Shape, bone: int, axis: np.ndarray, degrees: float) -> np.ndarray:
    """Matrices (B, 4, 4) from rest to a pose with one bone rotated about its head, and all bones below it."""
    moved = np.eye(4)
    moved[:3, :3] = rotation(axis, degrees)
    moved[:3, 3] = shape.heads[bone] - moved[:3, :3] @ shape.heads[bone]
    follows = Chains(shape.parents).sum((np.arange(len(shape.parents)) == bone).astype(int)) > 0
    return np.where(follows[:, None, None], moved, np.eye(4))


def find_axis(character: str, shape: Shape, kind: str) -> tuple[int, np.ndarray]:
    """Find the bone that moves at a joint, and the axis (3,) that it rotates about, a unit vector at rest."""
    bone = shape.names.index(BONES[character][kind])
    return bone, find_axis_toward(character, shape, bone, find_bend(character, kind).toward)


def find_axis_toward(character: str, shape: Shape, bone: int, toward: str) -> np.ndarray:
    """Find the axis (3,), a unit vector at rest, about which a bone rotates in a direction of the body, or twists."""
    along = find_along(character, shape, bone)
    axis = along if toward == TWIST else np.cross(along, find_directions(character)[toward])
    return axis / np.linalg.norm(axis)


def find_along(character: str, shape: Shape, bone: int) -> np.ndarray:
    """Vector (3,) from a bone's head to its tail, or to the next joint if tails do not tell."""
    children = np.flatnonzero(shape.parents == bone)
    end = shape.heads[children[0]] if character in ODD_TAILS and len(children) else shape.tails[bone]
    return end - shape.heads[bone]


def find_directions(character: str) -> dict[str, np.ndarray]:
    """Directions of the body in armature space."""
    up, forward = (np.array(axis) for axis in FRAMES.get(character, ((0.0, 0.0, 1.0), (0.0, -1.0, 0.0))))
    left = np.cross(up, forward)
    return {"up": up, "down": -up, "forward": forward, "back": -forward, "left": left, "right": -left}


def list_bends(
    character: str, shape: Shape, shares: tuple[float, ...] = SHARES
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Kind of joint, share of its range, and pose (B, 4, 4), for all that a character has."""
    for kind in BONES[character]:
        for share in shares:
            yield kind, share, bend_joint(character, shape, kind, share)
