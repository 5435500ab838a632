"""The range of motion of real characters: poses that bend or turn one joint each, to where joints of a body go.

Bones, directions and angles are tables; a pose is made of a character's rest alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from benchmarks.shapes import Shape, rotation
from deformers.rig.skeleton import Chains

SHARES = (0.6, 1.0)
"""Of the whole bend, that are measured."""

TWIST = "twist"
"""Toward which a bone turns about its own axis."""


@dataclass(frozen=True)
class Bend:
    """How a joint moves: its bone goes toward a direction of the body, or twists, by so many degrees."""

    toward: str
    degrees: float


HUMAN = MappingProxyType(
    {
        "elbow": Bend("forward", 120.0),
        "knee": Bend("back", 120.0),
        "hip": Bend("forward", 100.0),
        "arm up": Bend("up", 80.0),
        "wrist": Bend("down", 70.0),
        "wrist twist": Bend(TWIST, 90.0),
        "neck": Bend("forward", 40.0),
        "neck turn": Bend(TWIST, 60.0),
        "spine": Bend("forward", 40.0),
        "spine turn": Bend(TWIST, 30.0),
        "finger": Bend("down", 80.0),
    }
)
FOX = MappingProxyType(
    {
        "elbow": Bend("back", 80.0),
        "knee": Bend("back", 70.0),
        "hip": Bend("forward", 50.0),
        "arm up": Bend("forward", 50.0),
        "wrist": Bend("back", 60.0),
        "neck": Bend("down", 40.0),
        "neck turn": Bend(TWIST, 40.0),
        "spine": Bend("down", 30.0),
        "spine turn": Bend(TWIST, 30.0),
    }
)
KINDS = tuple(HUMAN)
"""Of joints and how they move."""

UNREAL = MappingProxyType(
    {
        "elbow": "lowerarm_l",
        "knee": "calf_l",
        "hip": "thigh_l",
        "arm up": "upperarm_l",
        "wrist": "hand_l",
        "wrist twist": "hand_l",
        "neck": "neck_01",
        "neck turn": "neck_01",
        "spine": "spine_02",
        "spine turn": "spine_02",
        "finger": "index_02_l",
    }
)
BONES = MappingProxyType(
    {
        "mh_human": {
            "elbow": "lowerarm01.L",
            "knee": "lowerleg01.L",
            "hip": "upperleg01.L",
            "arm up": "upperarm01.L",
            "wrist": "wrist.L",
            "wrist twist": "wrist.L",
            "neck": "neck01",
            "neck turn": "neck02",
            "spine": "spine03",
            "spine turn": "spine02",
            "finger": "finger2-2.L",
        },
        "mh_human_game": UNREAL,
        "human_male": UNREAL,
        "fox": {
            "elbow": "Front_Leg_Lower_L",
            "knee": "Back_Leg_Lower_L",
            "hip": "Back_Leg_Upper_L",
            "arm up": "Front_Leg_Upper_L",
            "wrist": "Front_Leg_Ankle_L",
            "neck": "Spine_4",
            "neck turn": "Spine_4",
            "spine": "Spine_2",
            "spine turn": "Spine_2",
        },
        "cesium_man": {
            "elbow": "Node_17",
            "knee": "Node_8",
            "hip": "Node_7",
            "arm up": "Node_16",
            "wrist": "Node_18",
            "wrist twist": "Node_18",
            "neck": "Node_19",
            "neck turn": "Node_19",
            "spine": "Node_11",
            "spine turn": "Node_11",
        },
        "kaykit_knight": {
            "elbow": "lowerarm.l",
            "knee": "lowerleg.l",
            "hip": "upperleg.l",
            "arm up": "upperarm.l",
            "wrist": "wrist.l",
            "wrist twist": "wrist.l",
            "neck": "head",
            "neck turn": "head",
            "spine": "chest",
            "spine turn": "chest",
        },
    }
)
"""The bone that moves, by character and kind of joint."""

CHARACTERS = tuple(BONES)
BENDS = MappingProxyType({"fox": FOX})
"""Of characters that are no humans."""

FRAMES = MappingProxyType({"cesium_man": ((0.0, -1.0, 0.0), (1.0, 0.0, 0.0))})
"""Up and forward in armature space, where they are not z and -y."""

ODD_TAILS = ("cesium_man",)
"""Characters whose bones do not look to the next joint: their direction is that to their first child."""


def find_bend(character: str, kind: str) -> Bend:
    """How a character's joint of a kind moves."""
    return BENDS.get(character, HUMAN)[kind]


def bend_joint(character: str, shape: Shape, kind: str, share: float = 1.0) -> np.ndarray:
    """Matrices (B, 4, 4) from rest to the pose in which a character's joint of a kind has gone a share of its range.

    `shape`: the character at rest, or one of its parts.
    """
    bone, axis = find_axis(character, shape, kind)
    moved = np.eye(4)
    moved[:3, :3] = rotation(axis, share * find_bend(character, kind).degrees)
    moved[:3, 3] = shape.heads[bone] - moved[:3, :3] @ shape.heads[bone]
    follows = Chains(shape.parents).sum((np.arange(len(shape.parents)) == bone).astype(int)) > 0
    return np.where(follows[:, None, None], moved, np.eye(4))


def find_axis(character: str, shape: Shape, kind: str) -> tuple[int, np.ndarray]:
    """The bone that moves at a joint, and the axis that it rotates about, a unit vector at rest."""
    bone, bend = shape.names.index(BONES[character][kind]), find_bend(character, kind)
    along = shape.tails[bone] - shape.heads[bone]
    children = np.flatnonzero(shape.parents == bone)
    if character in ODD_TAILS and len(children):
        along = shape.heads[children[0]] - shape.heads[bone]
    axis = along if bend.toward == TWIST else np.cross(along, _direction(character, bend.toward))
    return bone, axis / np.linalg.norm(axis)


def _direction(character: str, toward: str) -> np.ndarray:
    up, forward = (np.array(axis) for axis in FRAMES.get(character, ((0.0, 0.0, 1.0), (0.0, -1.0, 0.0))))
    return {"up": up, "down": -up, "forward": forward, "back": -forward}[toward]


def list_bends(
    character: str, shape: Shape, shares: tuple[float, ...] = SHARES
) -> Iterator[tuple[str, float, np.ndarray]]:
    """Kind of joint, share of its range, and pose (B, 4, 4), for all that a character has."""
    for kind in BONES[character]:
        for share in shares:
            yield kind, share, bend_joint(character, shape, kind, share)
