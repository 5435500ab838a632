"""Landmarks of a body: where on the skin a pattern belongs, its direction, and the joint that drives it.

JSON files describe them in words of anatomy, which are resolved here in armature space, at rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import normalize
from ..preset_files import Reader, demand, one_of, read_number, read_settings, read_text
from .body import Body, Limb, RestBones, find_axis
from .presets import LEFT, MIDDLE, PARTS, RIGHT, SIDE, SIDED, Rig

TORSO = "torso"

# A point is on a side of the body beyond this distance from the middle, in statures.
MIN_ASIDE = 0.03


@dataclass(frozen=True)
class Landmark:
    """Position of a pattern on any body.

    Attributes
    ----------
    pattern : str
        Key of the library; `{side}` stands for L or R.
    region : str
        Part of a set: "TORSO", "ARMS" or "LEGS".
    on : str
        "torso", or a part of `presets`.
    toward : str
        From inside to the skin: "FRONT" or "BACK" of the body, "BEND" (see `Limb.bend`), or "PALM".
    points : str
        Direction of the height map: "UP", its top up; "ALONG", its right side to the limb's end; "ACROSS", its top to
        the limb's end.
    driver : tuple of str
        Parts whose bones' rotations add up to the angle.
    motion : str
        The rotation that drives it: the spine to "FRONT" or "BACK", "RAISE" of the arm to the side, "BEND" of a hinge,
        the hand to its "PALM", the foot to its "SOLE".
    start, full : float
        Degrees, from hanging arms, straight knees and elbows.
    along : float
        On a limb: 0 at its start, 1 at its end.
    lateral, height : float
        On the torso: see `Body.torso_point`.
    scale, strength : float
        Factors on the library's values.
    """

    name: str
    pattern: str
    region: str
    on: str
    toward: str
    points: str
    driver: tuple[str, ...]
    motion: str
    start: float
    full: float
    along: float = 0.5
    lateral: float = 0.0
    height: float = 0.5
    scale: float = 1.0
    strength: float = 1.0

    def __post_init__(self) -> None:
        demand(self.full > self.start, "full must be larger than its start")

    @property
    def is_sided(self) -> bool:
        """Whether there is one on each side."""
        return self.on in SIDED or self.lateral != 0.0

    def key(self, side: str) -> str:
        """Key of the library for a side of the body."""
        return self.pattern.replace(SIDE, side[:1])


@dataclass(frozen=True)
class Spot:
    """A landmark on one body, with its driver: armature space, at rest.

    Attributes
    ----------
    side : str
        The body's own.
    origin, toward : float64 arrays, shape (3,)
        A point inside the body, and the unit vector from it to the skin.
    right, top : float64 arrays, shape (3,), or None
        Direction of the height map's right side or of its top; one of them is given.
    bone, first_bone : str
        Bone that drives it; the first of the chain whose rotations add up, or "".
    axis : str
        "X", "Y" or "Z" of the bone.
    is_positive : bool
        Sign of the rotation that drives it.
    start, full : float
        Radians beyond rest, about this axis.
    """

    landmark: Landmark
    side: str
    origin: np.ndarray
    toward: np.ndarray
    right: np.ndarray | None
    top: np.ndarray | None
    bone: str
    first_bone: str
    axis: str
    is_positive: bool
    start: float
    full: float


def read_landmarks(key: str, content: Any) -> list[Landmark]:
    """Make landmarks from the content of a JSON file.

    Raises SkinningError if a setting is missing, unknown or wrong.

    Parameters
    ----------
    key : str
        Name of the file, for messages.
    content : object
        Parsed JSON.
    """
    listed = content.get("landmarks") if isinstance(content, dict) else None
    if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
        raise SkinningError(f"Preset '{key}': the file has no list of patterns")
    return [read_settings(Landmark, f"{key}, {one.get('name', '?')}", one, READERS) for one in listed]


def _read_driver(name: str, value: Any) -> tuple[str, ...]:
    is_right = isinstance(value, list) and bool(value) and all(part in PARTS for part in value)
    demand(is_right, f"{name} must be a list of body parts")
    return tuple(value)


READERS: dict[str, Reader] = {
    **dict.fromkeys(("name", "pattern"), read_text),
    **dict.fromkeys(("start", "full", "along", "lateral", "height", "scale", "strength"), read_number),
    "region": one_of(("TORSO", "ARMS", "LEGS")),
    "on": one_of((TORSO, *PARTS)),
    "toward": one_of(("FRONT", "BACK", "BEND", "PALM")),
    "points": one_of(("UP", "ALONG", "ACROSS")),
    "motion": one_of(("FRONT", "BACK", "RAISE", "BEND", "PALM", "SOLE")),
    "driver": _read_driver,
}


def find_spot(landmark: Landmark, side: str, body: Body, rig: Rig, bones: RestBones, bone: str = "") -> Spot | None:
    """Find a landmark on a body whose bones a preset knows; None if the rig lacks a needed part.

    Parameters
    ----------
    side : str
        The body's own.
    bone : str
        Another driving bone than the preset's.
    """
    drivers = find_drivers(landmark, side, body, rig)
    limb = body.limbs.get((landmark.on, side if landmark.on in SIDED else MIDDLE))
    if not drivers or (landmark.on != TORSO and limb is None):
        return None
    part = landmark.driver[0]
    driver = body.limbs[part, side if part in SIDED else MIDDLE]
    palm = _find_palm(body, side, rig, bones)
    chosen = bone if bone and bone not in drivers else ""
    spot = _make_spot(landmark, side, body, limb, driver, bones, chosen or drivers[-1], palm)
    if chosen:
        return spot
    if part in rig.preset.axes:
        axis = rig.preset.axes[part]
        spot = replace(spot, axis=axis[-1], is_positive=not axis.startswith("-"))
    return replace(spot, first_bone=drivers[0] if len(drivers) > 1 else "")


def find_drivers(landmark: Landmark, side: str, body: Body, rig: Rig) -> list[str]:
    """Bones whose rotations add up to the angle of a landmark's joint; empty if the rig lacks them.

    `side`: the body's own.
    """
    named = body.named[side]
    parts = [(part, named if part in SIDED else MIDDLE) for part in landmark.driver]
    return [bone for part in parts for bone in rig.drivers.get(part, ())] if parts[0] in rig.drivers else []


def guess_spot(landmark: Landmark, side: str, body: Body, bones: RestBones, bone: str) -> Spot:
    """Find a landmark on a body of which only the driving bone is known. `side`: the body's own."""
    index = bones.index(bone)
    driver = Limb(bones.heads[index], bones.tails[index], body.front)
    limb = driver
    if landmark.on not in (TORSO, *landmark.driver):
        parent = bones.parents[index]
        while parent and np.linalg.norm(bones.heads[bones.index(parent)] - driver.start) < MIN_ASIDE * body.stature:
            parent = bones.parents[bones.index(parent)]
        if parent:
            limb = Limb(bones.heads[bones.index(parent)], driver.start, body.front)
    bend = -body.front if landmark.region == "LEGS" else body.front
    bend = normalize(bend - limb.along * (bend @ limb.along))
    limb = replace(limb, bend=bend)
    return _make_spot(landmark, side, body, limb, driver, bones, bone, body.front)


def _make_spot(
    landmark: Landmark,
    side: str,
    body: Body,
    limb: Limb | None,
    driver: Limb,
    bones: RestBones,
    bone: str,
    palm: np.ndarray,
) -> Spot:
    if landmark.on == TORSO or limb is None:
        origin = body.torso_point(side, landmark.lateral, landmark.height)
        along, bend = -body.up, body.front
    else:
        origin = limb.start + landmark.along * (limb.end - limb.start)
        along, bend = limb.along, limb.bend
    toward = {"FRONT": body.front, "BACK": -body.front, "BEND": bend, "PALM": palm}[landmark.toward]
    if landmark.on != TORSO:
        toward = normalize(toward - along * (toward @ along))
    right = along if landmark.points == "ALONG" else None
    top = {"UP": body.up, "ACROSS": along}.get(landmark.points)
    rotation, rest = _find_motion(landmark.motion, side, body, limb, driver, palm)
    axis, share = find_axis(bones.axes[bones.index(bone)], rotation)
    # Bounds in degrees, for joints that are bent far at rest: of the start beyond rest, and from there to the full
    # angle.
    min_start, min_range = 5.0, 25.0
    start = max(landmark.start - rest, min_start)
    full = max(landmark.full - rest, start + min_range)
    start, full = (float(np.radians(angle) * abs(share)) for angle in (start, full))
    return Spot(landmark, side, origin, toward, right, top, bone, "", axis, share > 0.0, start, full)


def _find_motion(
    motion: str, side: str, body: Body, limb: Limb | None, driver: Limb, palm: np.ndarray
) -> tuple[np.ndarray, float]:
    """Axis of rotation of a motion, a unit vector, and its angle at rest, degrees."""
    if motion in ("FRONT", "BACK"):
        return np.cross(body.up, body.front if motion == "FRONT" else -body.front), 0.0
    if motion == "RAISE":
        hanging = float(np.clip(driver.along @ -body.up, -1.0, 1.0))
        return np.cross(body.outward(side), body.up), float(np.degrees(np.arccos(hanging)))
    along = driver.along
    rest = 0.0
    if motion == "SOLE":
        toward = -body.up if limb is None else limb.along
    elif motion == "PALM":
        toward = palm
    else:
        toward = driver.bend if limb is None else limb.bend
        if limb is not None:
            rest = float(np.degrees(np.arccos(np.clip(along @ limb.along, -1.0, 1.0))))
            along = normalize(along + limb.along)  # elbows that are bent far still rotate about the same axis
    return normalize(np.cross(along, toward)), rest


def _find_palm(body: Body, side: str, rig: Rig, bones: RestBones) -> np.ndarray:
    """Unit vector out of the palm: from thumb and little finger, else as of hanging arms with thumbs to the front."""
    forearm = body.limbs.get(("forearm", side))
    if forearm is None:
        return body.front
    named, thumb = body.named[side], forearm.bend
    first, last = (rig.bones.get((part, named)) for part in ("thumb", "little_finger"))
    if first and last:
        thumb = bones.heads[bones.index(first[0])] - bones.heads[bones.index(last[0])]
    elif first:
        thumb = bones.heads[bones.index(first[0])] - forearm.end
    sign = 1.0 if side == LEFT else -1.0
    return sign * normalize(np.cross(forearm.along, thumb))


def sides_of(landmark: Landmark) -> Sequence[str]:
    """The sides on which a landmark is."""
    return (LEFT, RIGHT) if landmark.is_sided else (MIDDLE,)


def find_side(body: Body, point: np.ndarray) -> str:
    """The side of a body that a point, float array, shape (3,), is on."""
    lateral = float((point - body.hips) @ body.left)
    if abs(lateral) < MIN_ASIDE * body.stature:
        return MIDDLE
    return LEFT if lateral > 0.0 else RIGHT
