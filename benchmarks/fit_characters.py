"""Characters without their armature, in variants, and where the joints of the artists' skeletons are in them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from harness import find_file
from benchmarks.characters import read_weights
from deformers.fit.joints import HUMAN, LEFT, QUADRUPED, RIGHT
from deformers.geometry.vectors import transform_points

_UNREAL = {
    "hips": "pelvis", "chest": "spine_03", "neck": "neck_01", "head": "head",
    "shoulder": "upperarm_{}", "elbow": "lowerarm_{}", "wrist": "hand_{}",
    "hip": "thigh_{}", "knee": "calf_{}", "ankle": "foot_{}", "toe": "ball_{}",
}  # fmt: skip
# Letters for left and right in names of bones, and the bone with its head at each joint
ARTISTS = {
    "mh_human": ("LR", {
        "hips": "root", "chest": "spine02", "neck": "neck01", "head": "head",
        "shoulder": "upperarm01.{}", "elbow": "lowerarm01.{}", "wrist": "wrist.{}",
        "hip": "upperleg01.{}", "knee": "lowerleg01.{}", "ankle": "foot.{}", "toe": "toe2-1.{}",
    }),
    "human_male": ("lr", _UNREAL),
    "mh_human_game": ("lr", _UNREAL),
    "cesium_man": ("LR", {
        "hips": "Node_2", "chest": "Node_11", "neck": "Node_12", "head": "Node_19",
        "shoulder.L": "Node_16", "elbow.L": "Node_17", "wrist.L": "Node_18",
        "shoulder.R": "Node_13", "elbow.R": "Node_14", "wrist.R": "Node_15",
        "hip.L": "Node_7", "knee.L": "Node_8", "ankle.L": "Node_9", "toe.L": "Node_10",
        "hip.R": "Node_3", "knee.R": "Node_4", "ankle.R": "Node_5", "toe.R": "Node_6",
    }),
    "kaykit_knight": ("lr", {
        "hips": "hips", "chest": "chest", "head": "head",
        "shoulder": "upperarm.{}", "elbow": "lowerarm.{}", "wrist": "wrist.{}",
        "hip": "upperleg.{}", "knee": "lowerleg.{}", "ankle": "foot.{}", "toe": "toes.{}",
    }),
    "fox": ("LR", {
        "hips": "Hips", "chest": "Spine_2", "neck": "Spine_2.001", "head": "Head", "tail": "Tail_Base",
        "shoulder": "Front_Leg_Upper_{}", "carpus": "Front_Leg_Lower_{}", "fetlock": "Front_Leg_Ankle_{}",
        "hip": "Back_Leg_Upper_{}", "knee": "Back_Leg_Lower_{}", "hock": "Back_Leg_Ankle_{}",
        "lower": "Back_Leg_Foot_{}",
    }),
    "khronos_fox": ("LR", {
        "hips": "b_Spine01_02", "chest": "b_Spine02_03", "neck": "b_Neck_04", "head": "b_Head_05",
        "tail": "b_Tail01_012",
        "shoulder.L": "b_LeftUpperArm_09", "carpus.L": "b_LeftForeArm_010", "fetlock.L": "b_LeftHand_011",
        "shoulder.R": "b_RightUpperArm_06", "carpus.R": "b_RightForeArm_07", "fetlock.R": "b_RightHand_08",
        "hip.L": "b_LeftLeg01_015", "knee.L": "b_LeftLeg02_016", "hock.L": "b_LeftFoot01_017",
        "lower.L": "b_LeftFoot02_018", "hip.R": "b_RightLeg01_019", "knee.R": "b_RightLeg02_020",
        "hock.R": "b_RightFoot01_021", "lower.R": "b_RightFoot02_022",
    }),
}  # fmt: skip

# Presets of the artists; for the others, joints of the spine are compared with the chain of its bones
PRESETS = {"mh_human": "makehuman", "mh_human_game": "unreal"}

SPINE = ("hips", "chest", "neck", "head", "tail")


@dataclass(frozen=True)
class Bare:
    """A mesh, and where the joints of the artist's skeleton are in it."""

    kind: str
    preset: str
    points: np.ndarray  # shape (V, 3)
    triangles: np.ndarray  # shape (T, 3)
    joints: dict[str, np.ndarray]  # shape (3,)
    weights: np.ndarray  # shape (V, B), the artist's
    names: list[str]
    parents: np.ndarray  # shape (B,)
    bones: dict[str, str]  # the artist's bone of each joint

    @property
    def height(self) -> float:
        return float(np.ptp(self.points[np.unique(self.triangles), 2]))

    def measure(self, joint: str, point: np.ndarray) -> float:
        """Distance of a point to the artist's joint in % of the height; without a preset, of the spine to its chain."""
        if joint in SPINE and not self.preset:
            chain = [self.joints[name] for name in SPINE if name in self.joints and name != "tail"]
            chain = [self.joints["tail"], *chain] if "tail" in self.joints else chain
            distance = min(_to_segment(point, *ends) for ends in pairwise(chain))
        else:
            distance = float(np.linalg.norm(point - self.joints[joint]))
        return 100.0 * distance / self.height


def _to_segment(point: np.ndarray, start: np.ndarray, end: np.ndarray) -> float:
    along = end - start
    share = np.clip((point - start) @ along / (along @ along), 0.0, 1.0)
    return float(np.linalg.norm(point - start - share * along))


def read_bare(assets: Path, name: str) -> Bare:
    """Read a character of the assets, at rest, in world space."""
    data = np.load(find_file(assets, name, "npz"))
    world = data["armature_world"].astype(float)
    points = transform_points(world, data["V"].astype(float))
    heads = transform_points(world, data["bone_head"].astype(float))
    names = [str(bone) for bone in data["bone_names"]]
    sides, listed = ARTISTS[name]
    bones = {}
    for joint, bone in listed.items():
        if "{}" not in bone:
            bones[joint] = bone
            continue
        for end, side in zip((LEFT, RIGHT), sides, strict=True):
            bones[joint + end] = bone.format(side)
    return Bare(
        QUADRUPED if "fox" in name else HUMAN,
        PRESETS.get(name, ""),
        points,
        data["tris"],
        {joint: heads[names.index(bone)] for joint, bone in bones.items()},
        read_weights(data),
        names,
        data["bone_parent"],
        bones,
    )


def pose_arms(bare: Bare, down: float, forward: float) -> Bare:
    """The arms rotated so that the upper arms hang so many degrees down, and point so many to the front.

    The character's front is found by its toes.
    """
    points, joints = bare.points.copy(), dict(bare.joints)
    feet = [joints["toe" + side] - joints["ankle" + side] for side in (LEFT, RIGHT)]
    front = (feet[0] + feet[1]) * np.array([1.0, 1.0, 0.0])
    front = front / np.linalg.norm(front)
    left = np.cross([0.0, 0.0, 1.0], front)
    for side, sign in ((LEFT, 1.0), (RIGHT, -1.0)):
        shoulder = joints["shoulder" + side]
        now = joints["elbow" + side] - shoulder
        fall, turn = np.radians(down), np.radians(forward)
        wanted = np.cos(fall) * (np.cos(turn) * sign * left + np.sin(turn) * front) - [0.0, 0.0, np.sin(fall)]
        rotation = _rotate_to(now / np.linalg.norm(now), wanted)
        top = bare.names.index(bare.bones["shoulder" + side])
        share = bare.weights[:, below(bare.parents, top)].sum(axis=1)[:, None]
        points += share * ((points - shoulder) @ (rotation - np.eye(3)).T)
        for name in ("elbow", "wrist"):
            joints[name + side] = shoulder + rotation @ (joints[name + side] - shoulder)
    return replace(bare, points=points, joints=joints)


def below(parents: Sequence[int] | np.ndarray, top: int) -> list[int]:
    """A bone and all below it."""
    found = [top]
    for bone in range(len(parents)):
        at = bone
        while at >= 0 and at != top:
            at = parents[at]
        if at == top and bone != top:
            found.append(bone)
    return found


def _rotate_to(start: np.ndarray, end: np.ndarray) -> np.ndarray:
    axis, cosine = np.cross(start, end), float(start @ end)
    cross = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + cross + cross @ cross / (1.0 + cosine)


def turn(bare: Bare, degrees: float) -> Bare:
    cosine, sine = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
    rotation = np.array([[cosine, -sine, 0.0], [sine, cosine, 0.0], [0.0, 0.0, 1.0]])
    return replace(
        bare, points=bare.points @ rotation.T, joints={name: rotation @ joint for name, joint in bare.joints.items()}
    )


def scale(bare: Bare, factor: float) -> Bare:
    return replace(
        bare, points=bare.points * factor, joints={name: joint * factor for name, joint in bare.joints.items()}
    )


def mirror(bare: Bare) -> Bare:
    flip = np.array([-1.0, 1.0, 1.0])
    swapped = {re.sub(r"\.([LR])$", lambda end: RIGHT if end[1] == "L" else LEFT, name): joint * flip
               for name, joint in bare.joints.items()}  # fmt: skip
    return replace(bare, points=bare.points * flip, triangles=bare.triangles[:, ::-1], joints=swapped)


def decimate(bare: Bare, count: int = 2000) -> Bare:
    """The vertices in each cell of a grid made one, so that few are left."""
    cells = np.zeros((len(bare.points), 1))
    for step in bare.height * np.geomspace(0.002, 0.1, 40):
        cells = np.floor(bare.points / step)
        if len(np.unique(cells, axis=0)) <= count:
            break
    _, owner = np.unique(cells, axis=0, return_inverse=True)
    owner = owner.reshape(-1)
    points = np.stack([np.bincount(owner, column) for column in bare.points.T], axis=1) / np.bincount(owner)[:, None]
    triangles = owner[bare.triangles]
    whole = (triangles != np.roll(triangles, 1, axis=1)).all(axis=1)
    return replace(bare, points=points, triangles=triangles[whole], weights=np.zeros((len(points), 1)))


def refine(bare: Bare, count: int = 200_000) -> Bare:
    """Each triangle cut into four, until there are so many vertices."""
    points, triangles = bare.points, bare.triangles
    while len(points) < count:
        sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
        edges, owner = np.unique(sides, axis=0, return_inverse=True)
        middle = len(points) + owner.reshape(-1, 3)
        points = np.concatenate([points, points[edges].mean(axis=1)])
        a, b, c = triangles.T
        ab, bc, ca = middle.T
        triangles = np.concatenate(
            [np.stack(corners, axis=1) for corners in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
        )
    return replace(bare, points=points, triangles=triangles, weights=np.zeros((len(points), 1)))


def puncture(bare: Bare, share: float = 0.05) -> Bare:
    kept = np.random.default_rng(0).random(len(bare.triangles)) >= share
    return replace(bare, triangles=bare.triangles[kept])


def dress(bare: Bare) -> Bare:
    """A closed skirt from the waist to the floor."""
    hip = 0.5 * (bare.joints["hip.L"] + bare.joints["hip.R"])
    low = float(bare.points[:, 2].min())
    angles = np.linspace(0.0, 2.0 * np.pi, 48, endpoint=False)
    height = bare.height
    waist = hip[2] + 0.08 * height
    near = np.abs(bare.points - [hip[0], hip[1], waist]) < np.array([0.12, 0.12, 0.02]) * height
    middle = bare.points[near.all(axis=1)].mean(axis=0)
    rings = []
    for share in np.linspace(0.0, 1.0, 12):
        radius = height * (0.11 + 0.09 * share)
        rings.append(
            np.stack([middle[0] + radius * np.cos(angles), middle[1] + 0.85 * radius * np.sin(angles),
                      np.full(48, waist + share * (low - waist))], axis=1)
        )  # fmt: skip
    points = np.concatenate([*rings, [[middle[0], middle[1], waist], [middle[0], middle[1], low]]])
    triangles = []
    for ring in range(11):
        for side in range(48):
            a, b = ring * 48 + side, ring * 48 + (side + 1) % 48
            triangles += [[a, a + 48, b], [b, a + 48, b + 48]]
    for side in range(48):
        triangles += [[side, (side + 1) % 48, 576], [528 + (side + 1) % 48, 528 + side, 577]]
    return replace(
        bare,
        points=np.concatenate([bare.points, points]),
        triangles=np.concatenate([bare.triangles, np.array(triangles) + len(bare.points)]),
        weights=np.zeros((len(bare.points) + len(points), 1)),
    )


VARIANTS: dict[str, Callable[[Bare], Bare]] = {
    "rest": lambda bare: bare,
    "T": lambda bare: pose_arms(bare, 0.0, 0.0),
    "A": lambda bare: pose_arms(bare, 45.0, 0.0),
    "forward": lambda bare: pose_arms(bare, 0.0, 45.0),
    "mirrored": mirror,
    "turned 37": lambda bare: turn(bare, 37.0),
    "turned 180": lambda bare: turn(bare, 180.0),
    "centimeters": lambda bare: scale(bare, 100.0),
    "2,000": decimate,
    "holes": puncture,
    "skirt": dress,
    "down 70": lambda bare: pose_arms(bare, 70.0, 0.0),
}
HUMANS_ONLY = ("T", "A", "forward", "skirt", "down 70")


def list_variants(bare: Bare) -> Iterator[tuple[str, Bare]]:
    for name, make in VARIANTS.items():
        if bare.kind == HUMAN or name not in HUMANS_ONLY:
            yield name, make(bare)
