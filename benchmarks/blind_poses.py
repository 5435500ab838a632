"""The poses of the blind sheets: which joints of which characters bend how far, and from where each is seen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.range_of_motion import BONES, TWIST, find_axis_toward, find_directions, rotate_bone
from benchmarks.shapes import Shape

TALL = 10.0  # Height of a character on the stage: large enough that the camera cuts off nothing
HINGES, ROOTS, TWISTS, SPINES = "hinges", "limb roots", "twists", "spine, tail"


@dataclass(frozen=True)
class Look:
    """View of a joint."""

    joint: str  # in the middle of the picture
    azimuth: float  # of the first camera, degrees to the left of the front, or up
    elevation: float  # of the first camera, degrees to the left of the front, or up
    height: float  # height of the picture, as a share of the character's
    turned: float = 70.0  # second camera, degrees to the left of the first
    along: float = 0.0  # distance of the middle from the joint toward the bone's tail, in bone lengths


@dataclass(frozen=True)
class Kind:
    """Poses that differ in degrees alone.

    Attributes
    ----------
    joints : str
        The class of joint that they are counted in.
    moves : tuple of (str, str, float)
        From the root of a limb to its tip: joint, the direction its bone goes or TWIST, and the share of the degrees.
    """

    joints: str
    moves: tuple[tuple[str, str, float], ...]
    look: Look


KINDS = {
    "elbow": Kind(HINGES, (("elbow", "forward", 1.0),), Look("elbow", 40.0, 50.0, 0.17)),
    "knee": Kind(HINGES, (("knee", "back", 1.0),), Look("knee", 85.0, 8.0, 0.24)),
    "ankle down": Kind(HINGES, (("ankle", "down", 1.0),), Look("ankle", 85.0, 10.0, 0.17)),
    "ankle up": Kind(HINGES, (("ankle", "up", 1.0),), Look("ankle", 85.0, 10.0, 0.17)),
    "finger": Kind(HINGES, (("finger", "down", 1.0),), Look("finger", 30.0, 10.0, 0.042)),
    "finger curl": Kind(
        HINGES,
        (("knuckle", "down", 0.9), ("finger", "down", 1.0), ("fingertip", "down", 0.7)),
        Look("finger", 30.0, 10.0, 0.05),
    ),
    "front knee": Kind(HINGES, (("elbow", "back", 1.0),), Look("elbow", 75.0, 8.0, 0.33)),
    "back knee": Kind(HINGES, (("knee", "back", 1.0),), Look("knee", 75.0, 8.0, 0.4)),
    "back ankle": Kind(HINGES, (("ankle", "forward", 1.0),), Look("ankle", 75.0, 8.0, 0.33)),
    "hip forward": Kind(ROOTS, (("hip", "forward", 1.0),), Look("hip", 60.0, 12.0, 0.3)),
    "hip out": Kind(ROOTS, (("hip", "left", 1.0),), Look("hip", -30.0, 8.0, 0.3)),
    "hip and knee": Kind(
        ROOTS, (("hip", "forward", 1.0), ("knee", "back", 1.1)), Look("hip", 60.0, 12.0, 0.42, along=0.3)
    ),
    "arm up": Kind(ROOTS, (("shoulder", "up", 1.0),), Look("shoulder", 20.0, 8.0, 0.25)),
    "arm down": Kind(ROOTS, (("shoulder", "down", 1.0),), Look("shoulder", 20.0, 15.0, 0.25)),
    "arm forward": Kind(ROOTS, (("shoulder", "forward", 1.0),), Look("shoulder", 65.0, 25.0, 0.27)),
    "shoulder and elbow": Kind(
        ROOTS, (("shoulder", "forward", 1.0), ("elbow", "forward", 1.1)), Look("shoulder", 65.0, 30.0, 0.36)
    ),
    "front leg forward": Kind(ROOTS, (("shoulder", "forward", 1.0),), Look("shoulder", 75.0, 8.0, 0.5)),
    "front leg back": Kind(ROOTS, (("shoulder", "back", 1.0),), Look("shoulder", 75.0, 8.0, 0.5)),
    "back leg forward": Kind(ROOTS, (("hip", "forward", 1.0),), Look("hip", 75.0, 8.0, 0.55, along=0.4)),
    "wrist twist": Kind(TWISTS, (("wrist", TWIST, 1.0),), Look("wrist", 20.0, 25.0, 0.17, along=-0.5)),
    "neck turn": Kind(TWISTS, (("neck turn", TWIST, 1.0),), Look("neck turn", 20.0, 8.0, 0.22)),
    "spine turn": Kind(TWISTS, (("spine turn", TWIST, 1.0),), Look("spine turn", 20.0, 8.0, 0.38)),
    "neck forward": Kind(SPINES, (("neck", "forward", 1.0),), Look("neck", 70.0, 8.0, 0.24)),
    "neck back": Kind(SPINES, (("neck", "back", 1.0),), Look("neck", 50.0, 8.0, 0.24)),
    "neck down": Kind(SPINES, (("neck", "down", 1.0),), Look("neck", 40.0, 30.0, 0.6)),
    "spine forward": Kind(SPINES, (("spine", "forward", 1.0),), Look("spine", 70.0, 8.0, 0.42)),
    "spine side": Kind(SPINES, (("spine", "left", 1.0),), Look("spine", 0.0, 8.0, 0.42)),
    "spine down": Kind(SPINES, (("spine", "down", 1.0),), Look("spine", 75.0, 12.0, 0.7)),
    "tail up": Kind(SPINES, (("tail", "up", 1.0),), Look("tail", 75.0, 12.0, 0.6)),
    "tail side": Kind(
        SPINES, (("tail", "left", 1.0), ("tail middle", "left", 1.0)), Look("tail middle", 100.0, 45.0, 0.8)
    ),
}

# Kinds and degrees by character
POSES = {
    "mh_human": (
        ("elbow", 80.0), ("elbow", 130.0), ("knee", 70.0), ("knee", 130.0), ("finger", 80.0), ("finger curl", 80.0),
        ("ankle down", 40.0), ("hip forward", 100.0), ("hip out", 45.0), ("hip and knee", 90.0), ("arm up", 80.0),
        ("arm forward", 80.0), ("wrist twist", 90.0), ("wrist twist", 160.0), ("neck turn", 60.0),
        ("spine turn", 30.0), ("neck forward", 40.0), ("spine forward", 40.0), ("spine side", 30.0),
    ),
    "mh_human_game": (
        ("elbow", 130.0), ("knee", 130.0), ("hip forward", 70.0), ("arm up", 80.0), ("shoulder and elbow", 70.0),
        ("wrist twist", 160.0), ("spine turn", 30.0), ("neck back", 35.0),
    ),
    "human_male": (
        ("elbow", 80.0), ("elbow", 130.0), ("knee", 70.0), ("knee", 130.0), ("finger", 80.0), ("ankle up", 25.0),
        ("hip forward", 100.0), ("hip out", 45.0), ("arm up", 60.0), ("arm down", 75.0), ("arm forward", 80.0),
        ("shoulder and elbow", 80.0), ("wrist twist", 90.0), ("wrist twist", 160.0), ("neck turn", 60.0),
        ("spine turn", 30.0), ("neck forward", 40.0), ("spine forward", 40.0),
    ),
    "kaykit_knight": (
        ("elbow", 80.0), ("knee", 70.0), ("hip forward", 60.0), ("arm down", 60.0), ("wrist twist", 90.0),
        ("spine turn", 30.0),
    ),
    "cesium_man": (
        ("elbow", 80.0), ("knee", 100.0), ("hip forward", 70.0), ("arm forward", 60.0), ("wrist twist", 90.0),
        ("spine forward", 30.0),
    ),
    "fox": (
        ("front knee", 80.0), ("back knee", 70.0), ("back ankle", 50.0), ("front leg forward", 50.0),
        ("back leg forward", 50.0), ("neck turn", 50.0), ("neck down", 40.0), ("spine turn", 30.0),
        ("spine down", 30.0), ("tail up", 50.0), ("tail side", 40.0),
    ),
    "khronos_fox": (
        ("front knee", 60.0), ("back knee", 60.0), ("front leg back", 40.0), ("neck down", 40.0),
        ("tail side", 35.0),
    ),
}  # fmt: skip
CHARACTERS = tuple(POSES)

_UNREAL = {"ankle": "foot_l", "knuckle": "index_01_l", "fingertip": "index_03_l"}
# Bones of joints that benchmarks/range_of_motion.py does not bend
_JOINTS = {
    "mh_human": {"ankle": "foot.L", "knuckle": "finger2-1.L", "fingertip": "finger2-3.L"},
    "mh_human_game": _UNREAL,
    "human_male": _UNREAL,
    "cesium_man": {"ankle": "Node_9"},
    "kaykit_knight": {"ankle": "foot.l"},
    "fox": {"ankle": "Back_Leg_Ankle_L", "tail": "Tail_Base", "tail middle": "Tail_Mid.001"},
    "khronos_fox": {
        "elbow": "b_LeftForeArm_010",
        "knee": "b_LeftLeg02_016",
        "shoulder": "b_LeftUpperArm_09",
        "neck": "b_Neck_04",
        "tail": "b_Tail01_012",
        "tail middle": "b_Tail02_013",
    },
}

_RAISED: dict[str, tuple[str, float]] = dict.fromkeys(("mh_human", "mh_human_game"), ("up", 80.0))
_HALF_RAISED: dict[str, tuple[str, float]] = dict.fromkeys(("mh_human", "mh_human_game"), ("up", 50.0))
# Direction and degrees of the left arm, to keep it from hiding a joint or from being close behind it
FREE: dict[str, dict[str, tuple[str, float]]] = {
    "elbow": dict.fromkeys(("mh_human", "mh_human_game"), ("up", 30.0)),
    "hip forward": _RAISED,
    "hip out": _RAISED,
    "hip and knee": _RAISED,
    "neck turn": {"human_male": ("down", 70.0)},
    "neck forward": {"human_male": ("down", 70.0)},
    "spine forward": _HALF_RAISED | {"human_male": ("up", 70.0), "cesium_man": ("up", 70.0)},
    "spine side": _HALF_RAISED,
    "spine turn": _HALF_RAISED | {"human_male": ("up", 70.0), "kaykit_knight": ("up", 50.0)},
}

# Differences of `Look` for a character
LOOKS: dict[tuple[str, str], dict[str, float]] = {
    ("human_male", "finger"): {"turned": -70.0},
    ("human_male", "wrist twist"): {"azimuth": 30.0, "turned": -70.0},
    ("human_male", "neck turn"): {"along": 0.7, "height": 0.26},
    ("human_male", "neck forward"): {"along": 0.7, "height": 0.26},
    ("kaykit_knight", "elbow"): {"height": 0.3},
    ("kaykit_knight", "arm down"): {"height": 0.36},
    ("kaykit_knight", "wrist twist"): {"azimuth": 30.0, "turned": -70.0, "height": 0.24},
    ("fox", "neck turn"): {"azimuth": 40.0, "elevation": 20.0, "height": 0.6},
    ("fox", "spine turn"): {"azimuth": 50.0, "elevation": 25.0, "height": 0.8},
}
# Number of the woman's parts to show, if not two: the skirt intersects the tights, and tights hide the body
PARTS_SHOWN = {
    "elbow": 1, "knee": 1, "ankle down": 1, "finger": 1, "finger curl": 1, "wrist twist": 1, "neck turn": 1,
    "neck forward": 1, "neck back": 1,
}  # fmt: skip
DRESSED = ("mh_human", "mh_human_game")


def list_poses() -> Iterator[tuple[str, str, float]]:
    """Character, kind and degrees of all sheets."""
    for character, poses in POSES.items():
        for kind, degrees in poses:
            yield character, kind, degrees


def name_pose(kind: str, degrees: float) -> str:
    return f"{kind} {degrees:.0f}"


def count_parts(character: str, kind: str, parts: int) -> int:
    """How many of a character's parts are shown."""
    return PARTS_SHOWN.get(kind, 2) if character in DRESSED else parts


def find_look(character: str, kind: str) -> Look:
    """Find the view of a character's pose."""
    return replace(KINDS[kind].look, **LOOKS.get((character, kind), {}))


def find_bone(character: str, shape: Shape, joint: str) -> int:
    """The bone that moves at a joint."""
    bones = _JOINTS[character] | BONES.get(character, {})
    return shape.names.index(bones["arm up"] if joint == "shoulder" and joint not in bones else bones[joint])


def stand_up(character: str, points: np.ndarray) -> np.ndarray:
    """A matrix (3, 3) from armature space to where z is up, the character looks to -y, and all its points are TALL."""
    directions = find_directions(character)
    axes = np.array([directions[name] for name in ("left", "back", "up")])
    return TALL * axes / np.ptp(points @ directions["up"])


def move_bone(character: str, shape: Shape, bone: int, toward: str, degrees: float) -> np.ndarray:
    """Matrices (B, 4, 4) from rest to the pose in which the joint at a bone's head has moved."""
    return rotate_bone(shape, bone, find_axis_toward(character, shape, bone, toward), degrees)


def make_pose(character: str, shape: Shape, kind: str, degrees: float) -> np.ndarray:
    """Matrices (B, 4, 4) from rest to a pose of a sheet; `shape`: the character at rest, or one of its parts."""
    moves = [(joint, toward, share * degrees) for joint, toward, share in KINDS[kind].moves]
    if character in FREE.get(kind, {}):
        moves.insert(0, ("shoulder", *FREE[kind][character]))
    pose = np.tile(np.eye(4), (len(shape.parents), 1, 1))
    for joint, toward, own in moves:
        pose = pose @ move_bone(character, shape, find_bone(character, shape, joint), toward, own)
    return pose
