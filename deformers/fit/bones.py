"""The bones of a rig between fitted joints, by a preset: names, where along the spine they begin, and their axes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..errors import SkinningError
from .joints import CENTRAL, HUMAN, LEFT, QUADRUPED, RIGHT, SIDED, Fit

SIDE = "{side}"

MIDDLES = {"shoulder_middle": "shoulder", "hip_middle": "hip", "ankle_middle": "ankle"}
"""Points between the joints of both sides."""

BENT = 20.0
"""Degrees from which on a limb's own plane says what its hinge is about."""

LEAST_LENGTH = 0.005
"""Of a bone, in heights: Blender removes bones without a length."""

ELBOW, KNEE, FINGER, ACROSS = "elbow", "knee", "finger", "side"
"""What a bone's X axis is: that of the elbow, of the knee, of the fingers, or the body's."""


@dataclass(frozen=True)
class FitPreset:
    """What a file says of the bones of a rig.

    Attributes
    ----------
    key, name : str
        Of the file, and for the user.
    kind : str
        HUMAN or QUADRUPED.
    sides : tuple of 2 str
        What names of the left and of the right side have for `{side}`.
    points : dict of str to (str, str, float, float, float)
        Points that are no joints: from one joint, to another, share of the way, and how far behind and above it, in
        lengths of the trunk.
    types : dict of str to str
        Rigify's type of some bones.
    helpers : tuple of str
        Bones that do not deform.
    bones : tuple of (str, str, str, str, str)
        Name, parent, the points of head and tail, and what its X axis is; parents come first.
    """

    key: str
    name: str
    kind: str
    sides: tuple[str, str]
    points: Mapping[str, tuple[str, str, float, float, float]]
    bones: tuple[tuple[str, str, str, str, str], ...]
    types: Mapping[str, str]
    helpers: tuple[str, ...]


@dataclass(frozen=True)
class FittedBone:
    """A bone to be made, in the space of an armature (see `Frame.matrix`).

    Attributes
    ----------
    name, parent : str
        A root has "" as parent.
    head, tail : float64 arrays, shape (3,)
    x_axis : float64 array, shape (3,)
        That its X axis is next to: a limb bends about it.
    is_connected : bool
        Whether its head is the parent's tail; not where a part of Rigify's begins.
    deforms : bool
        Whether it gets weights.
    type : str
        Rigify's, or "".
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
        """From head to tail."""
        return float(np.linalg.norm(self.tail - self.head))

    @property
    def matrix(self) -> np.ndarray:
        """At rest, float64, shape (4, 4): Y from head to tail, X as near to `x_axis` as it can be."""
        y = (self.tail - self.head) / self.length
        z = np.cross(self.x_axis, y)
        if float(np.linalg.norm(z)) < 1e-6:
            z = np.cross(np.roll(np.abs(y), 1), y)
        z /= np.linalg.norm(z)
        result = np.eye(4)
        result[:3] = np.stack([np.cross(y, z), y, z, self.head], axis=1)
        return result


def read_fit_preset(key: str, content: Any) -> FitPreset:
    """Make a preset of what a JSON file says.

    Parameters
    ----------
    key : str
        Name of the file, which messages give.
    content : object
        Of the file.

    Raises
    ------
    SkinningError
        Where anything in it is missing or of the wrong kind.
    """

    def check(is_right: bool, problem: str) -> None:
        if not is_right:
            raise SkinningError(f"Skeleton preset '{key}': {problem}")

    check(isinstance(content, dict), "it cannot be read: look for a missing comma or brace")
    missing = [name for name in ("name", "kind", "sides", "points", "bones") if name not in content]
    check(not missing, f"{', '.join(missing)} are missing: add them")
    kind, points, rows = content["kind"], content["points"], content["bones"]
    check(kind in (HUMAN, QUADRUPED), "its kind must be HUMAN or QUADRUPED")
    sides = content["sides"]
    check(
        isinstance(sides, list) and len(sides) == 2 and sides[0] != sides[1],
        'sides are the bone name parts for left and right: list two, such as "sides": ["L", "R"]',
    )
    joints = {*CENTRAL[kind], *SIDED[kind], *MIDDLES}
    check(
        isinstance(points, dict)
        and all(isinstance(row, list) and len(row) == 5 and {*row[:2]} <= joints for row in points.values()),
        "a point is two joints, the share of the way between them, and how far it is behind and above",
    )
    known = {*joints, *points}
    check(
        isinstance(rows, list)
        and all(isinstance(row, list) and len(row) == 5 and {*row[2:4]} <= known for row in rows),
        "a bone is its name, its parent, the points of its head and tail, and its axis",
    )
    names = [row[0] for row in rows]
    check(
        all(row[1] in ("", *names[:number]) for number, row in enumerate(rows)),
        "a bone's parent must stand before it in the list",
    )
    return FitPreset(
        key,
        content["name"],
        kind,
        (sides[0], sides[1]),
        {name: (row[0], row[1], float(row[2]), float(row[3]), float(row[4])) for name, row in points.items()},
        tuple((row[0], row[1], row[2], row[3], row[4]) for row in rows),
        dict(content.get("types", {})),
        tuple(content.get("helpers", ())),
    )


def make_bones(fit: Fit, preset: FitPreset) -> list[FittedBone]:
    """Find the bones between the joints of a fit; those of parts that the body does not have are left out."""
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
            if np.linalg.norm(end - start) < LEAST_LENGTH:
                end = start + np.array([0.0, 0.0, LEAST_LENGTH])
            x_axis = find_axis(fit.joints, axis, side)
            is_connected = (
                bool(above) and name not in preset.types and float(np.linalg.norm(ends[above] - start)) < 1e-9
            )
            ends[name.replace(SIDE, word)] = end
            size = fit.frame.height
            found.append(
                FittedBone(
                    name.replace(SIDE, word), above, start * size, end * size, x_axis, is_connected,
                    name not in preset.helpers, preset.types.get(name, ""),
                )
            )  # fmt: skip
    return found


def _find_point(fit: Fit, preset: FitPreset, name: str, side: str) -> np.ndarray | None:
    """A joint, or a point of the preset, in the space of the body; None where the body has no such part."""
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
    """What a limb's hinge is about, float64, shape (3,), in the space of the body: a rotation about it bends the limb.

    Parameters
    ----------
    joints : dict of str to float64 array, shape (3,)
        In the space of the body.
    axis : str
        ELBOW, KNEE, FINGER or ACROSS.
    side : str
        LEFT or RIGHT.
    """
    across = np.array([1.0, 0.0, 0.0])
    if axis == ELBOW and "elbow" + side in joints:
        limb = [joints[name + side] for name in ("shoulder", "elbow", "wrist")]
        down = np.array([0.0, 0.0, -1.0 if side == LEFT else 1.0])  # where an arm points to the front
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
    """The normal of a limb's plane where it is bent enough, else `axis`, which gives the sign."""
    first, second = limb[1] - limb[0], limb[2] - limb[1]
    normal = np.cross(first, second)
    sine = float(np.linalg.norm(normal)) / max(float(np.linalg.norm(first) * np.linalg.norm(second)), 1e-12)
    if sine > np.sin(np.radians(BENT)):
        axis = normal if normal @ axis >= 0.0 else -normal
    return axis / max(float(np.linalg.norm(axis)), 1e-12)
