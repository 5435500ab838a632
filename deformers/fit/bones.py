"""Bones of a rig between fitted joints, by a preset of names, positions and axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..preset_files import Reader, demand, one_of, read_settings, read_sides, read_text
from .joints import CENTRAL, HUMAN, LEFT, QUADRUPED, RIGHT, SIDED, Fit

SIDE = "{side}"

# Points between the joints of both sides
MIDDLES = {"shoulder_middle": "shoulder", "hip_middle": "hip", "ankle_middle": "ankle"}

# Which hinge a bone's X axis is next to; "side" is the body's x axis.
ELBOW, KNEE, FINGER = "elbow", "knee", "finger"

WRONG_POINT = "a point is two joints, the share of the way between them, and how far it is behind and above"
WRONG_BONE = "a bone is its name, its parent, the points of its head and tail, and its axis"


@dataclass(frozen=True)
class FitPreset:
    """Bones of a rig, as read from a file.

    Attributes
    ----------
    key, name : str
        Name of the file, and name for the user.
    kind : str
        HUMAN or QUADRUPED.
    sides : tuple of 2 str
        What `{side}` stands for in names on the left and on the right.
    points : dict of str to (str, str, float, float, float)
        Additional points: between two joints, at this share of the way, and how far behind and above it, in lengths
        of the trunk.
    types : dict of str to str
        Rigify types of some bones.
    helpers : tuple of str
        Bones that do not deform.
    bones : tuple of (str, str, str, str, str)
        Name, parent, points of head and tail, and axis ("elbow", "knee", "finger" or "side"). Parents come first.
    """

    key: str
    name: str
    kind: str
    sides: tuple[str, str]
    points: Mapping[str, tuple[str, str, float, float, float]]
    bones: tuple[tuple[str, str, str, str, str], ...]
    types: Mapping[str, str] = field(default_factory=dict)
    helpers: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        joints = (*CENTRAL[self.kind], *SIDED[self.kind], *MIDDLES)
        demand(all(joint in joints for row in self.points.values() for joint in row[:2]), WRONG_POINT)
        known = (*joints, *self.points)
        demand(all(point in known for row in self.bones for point in row[2:4]), WRONG_BONE)
        names = ["", *(row[0] for row in self.bones)]
        are_first = all(row[1] in names[: number + 1] for number, row in enumerate(self.bones))
        demand(are_first, "a bone's parent must stand before it in the list")


@dataclass(frozen=True)
class FittedBone:
    """A bone to be made, in the space of an armature (see `Frame.matrix`).

    Attributes
    ----------
    name, parent : str
        "" is the parent of a root.
    head, tail, x_axis : float64 arrays, shape (3,)
        A limb bends about `x_axis`. The bone's X axis is as near to it as possible.
    is_connected : bool
        Whether the head is the parent's tail. False if a part of Rigify starts at the bone.
    deforms : bool
        Whether it gets weights.
    type : str
        Rigify's type, or "".
    """

    name: str
    parent: str
    head: np.ndarray
    tail: np.ndarray
    x_axis: np.ndarray
    is_connected: bool
    deforms: bool = True
    type: str = ""

    @property
    def length(self) -> float:
        """Distance from head to tail."""
        return float(np.linalg.norm(self.tail - self.head))

    @property
    def matrix(self) -> np.ndarray:
        """Rest matrix, float64, shape (4, 4): Y from head to tail, X as near to `x_axis` as possible."""
        y = (self.tail - self.head) / self.length
        z = np.cross(self.x_axis, y)
        if float(np.linalg.norm(z)) < 1e-6:
            z = np.cross(np.roll(np.abs(y), 1), y)
        z /= np.linalg.norm(z)
        result = np.eye(4)
        result[:3] = np.stack([np.cross(y, z), y, z, self.head], axis=1)
        return result


def read_fit_preset(key: str, content: Any) -> FitPreset:
    """Make a preset of a fitted skeleton from the content of its JSON file, `key`.json; see `read_settings`."""
    return read_settings(FitPreset, key, content, READERS, key=key)


def _read_points(_name: str, value: Any) -> dict[str, tuple[str, str, float, float, float]]:
    demand(
        isinstance(value, dict) and all(isinstance(row, list) and len(row) == 5 for row in value.values()), WRONG_POINT
    )
    return {name: (row[0], row[1], float(row[2]), float(row[3]), float(row[4])) for name, row in value.items()}


def _read_bones(_name: str, value: Any) -> tuple[tuple[str, str, str, str, str], ...]:
    demand(isinstance(value, list) and all(isinstance(row, list) and len(row) == 5 for row in value), WRONG_BONE)
    return tuple((row[0], row[1], row[2], row[3], row[4]) for row in value)


READERS: dict[str, Reader] = {
    "name": read_text,
    "kind": one_of((HUMAN, QUADRUPED)),
    "sides": read_sides,
    "points": _read_points,
    "bones": _read_bones,
    "types": lambda _, value: dict(value),
    "helpers": lambda _, value: tuple(value),
}


def make_bones(fit: Fit, preset: FitPreset) -> list[FittedBone]:
    """Find the bones between the joints of a fit, without those of parts that the body does not have."""
    min_length = 0.005  # Blender removes bones without a length
    found: list[FittedBone] = []
    ends: dict[str, np.ndarray] = {}
    for name, parent, head, tail, axis in preset.bones:
        is_sided = SIDE in name
        for side, word in zip((LEFT, RIGHT), preset.sides, strict=True):
            if not is_sided and side == RIGHT:
                continue
            start, end = (_find_point(fit, preset, point, side) for point in (head, tail))
            above = parent.replace(SIDE, word)
            if start is None or end is None or (above and above not in ends):
                continue
            if np.linalg.norm(end - start) < min_length:
                end = start + np.array([0.0, 0.0, min_length])
            x_axis = find_axis(fit.joints, axis, side)
            is_connected = bool(above) and name not in preset.types and np.linalg.norm(ends[above] - start) < 1e-9
            full, size = name.replace(SIDE, word), fit.frame.height
            ends[full] = end
            deforms, rigify_type = name not in preset.helpers, preset.types.get(name, "")
            found.append(
                FittedBone(full, above, start * size, end * size, x_axis, bool(is_connected), deforms, rigify_type)
            )
    return found


def _find_point(fit: Fit, preset: FitPreset, name: str, side: str) -> np.ndarray | None:
    """A joint, or a point of the preset, in the space of the body. None if the body does not have this part."""
    if name in MIDDLES:
        return 0.5 * (fit.joints[MIDDLES[name] + LEFT] + fit.joints[MIDDLES[name] + RIGHT])
    if name not in preset.points:
        return fit.joints.get(name, fit.joints.get(name + side))
    start, end, share, back, above = preset.points[name]
    first, second = (_find_point(fit, preset, joint, side) for joint in (start, end))
    if first is None or second is None:
        return None
    trunk = abs(fit.joints["shoulder" + LEFT][2] - fit.joints["hip" + LEFT][2])
    return first + share * (second - first) + [0.0, back * trunk, above * trunk]


def find_axis(joints: Mapping[str, np.ndarray], axis: str, side: str) -> np.ndarray:
    """Find a direction, float64, shape (3,), in the space of the body: a rotation about it bends the limb.

    Parameters
    ----------
    joints : dict of str to float64 array, shape (3,)
        In the space of the body.
    axis : str
        "elbow", "knee", "finger" or "side".
    side : str
        LEFT or RIGHT.
    """
    across = np.array([1.0, 0.0, 0.0])
    if axis == ELBOW and "elbow" + side in joints:
        limb = [joints[name + side] for name in ("shoulder", "elbow", "wrist")]
        down = np.array([0.0, 0.0, -1.0 if side == LEFT else 1.0])  # for an arm that points to the front
        return _find_hinge(limb, np.cross(limb[1] - limb[0], [0.0, -1.0, 0.0]) + 1e-3 * down)
    if axis == FINGER and "index1" + side in joints:
        palm = joints["pinky1" + side] - joints["index1" + side]
        return (palm if side == LEFT else -palm) / max(float(np.linalg.norm(palm)), 1e-12)
    if axis == KNEE and "ankle" + side in joints:
        limb = [joints[name + side] for name in ("hip", "knee", "ankle")]
        thigh = limb[1] - limb[0]
        return _find_hinge(limb, across - thigh * (across @ thigh) / max(float(thigh @ thigh), 1e-12))
    return across


def _find_hinge(limb: list[np.ndarray], axis: np.ndarray) -> np.ndarray:
    """The normal of a bent limb's plane, on the side of `axis`, or `axis` itself if the limb is nearly straight."""
    first, second = limb[1] - limb[0], limb[2] - limb[1]
    normal = np.cross(first, second)
    sine = float(np.linalg.norm(normal)) / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-12)
    if sine > np.sin(np.radians(20.0)):
        axis = normal if normal @ axis >= 0.0 else -normal
    return axis / max(float(np.linalg.norm(axis)), 1e-12)
