"""Landmarks of a body: where on the skin a pattern belongs, which way it is up, and which joint brings it out.

They are plain files, too: each says in words of anatomy what is worked out here in armature space, at rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from typing import Any

import numpy as np

from ..errors import SkinningError
from ..geometry.vectors import normalize
from .body import Body, Limb, RestBones, find_axis
from .presets import CENTRAL, LEFT, MIDDLE, RIGHT, SIDE, SIDED, Rig

TORSO = "torso"
REGIONS = ("TORSO", "ARMS", "LEGS")
TOWARD = ("FRONT", "BACK", "BEND", "PALM")
POINTS = ("UP", "ALONG", "ACROSS")
MOTIONS = ("FRONT", "BACK", "RAISE", "BEND", "PALM", "SOLE")

LEAST_START, LEAST_RANGE = 5.0, 25.0
"""Degrees beyond rest from which on a pattern may begin, and from there to its full angle, where rest is bent far."""

ASIDE = 0.03
"""Distance from the middle, of the stature, from which on a bone is of a side."""


@dataclass(frozen=True)
class Landmark:
    """Where a pattern belongs on any body.

    Attributes
    ----------
    pattern : str
        Key of the library; `{side}` stands for L or R.
    region : str
        Part of a set: "TORSO", "ARMS" or "LEGS".
    on : str
        "torso", or a part of `presets`.
    toward : str
        From inside to the skin: "FRONT" or "BACK" of the body, "BEND", to which side what follows the limb bends, or
        "PALM".
    points : str
        What of the height map points where: "UP", its top up; "ALONG", its right side to the limb's end; "ACROSS", its
        top to the limb's end.
    driver : tuple of str
        Parts whose bones' rotations add up to the angle.
    motion : str
        What brings it out: the spine bent to "FRONT" or "BACK", "RAISE" of the arm to the side, "BEND" of a hinge, the
        hand to its "PALM", the foot to its "SOLE".
    start, full : float
        Degrees, from arms that hang, and from straight knees and elbows.
    along : float
        On a limb: from its start, 0, to its end, 1.
    lateral, height : float
        On the torso: see `Body.torso_point`.
    scale, strength : float
        Factors of what the library has.
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

    @property
    def is_sided(self) -> bool:
        """Whether there is one on each side."""
        return self.on in SIDED or self.lateral != 0.0

    def key(self, side: str) -> str:
        """Key of the library for a side of the body."""
        return self.pattern.replace(SIDE, side[:1])


@dataclass(frozen=True)
class Spot:
    """Where a pattern goes on one body, and what drives it: armature space, at rest.

    Attributes
    ----------
    side : str
        The body's own.
    origin, toward : float64 arrays, shape (3,)
        A point inside the body, and the unit vector from it to the skin.
    right, top : float64 arrays, shape (3,), or None
        Where the height map's right side or its top points; one of them is given.
    bone, first_bone : str
        Bone that drives it; the first of the chain whose rotations add up, or "".
    axis : str
        "X", "Y" or "Z" of the bone.
    is_positive : bool
        Sign of the rotation that brings it out.
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
    """Make landmarks of what a JSON file says.

    Parameters
    ----------
    key : str
        Name of the file, which messages give.
    content : object
        Of the file.

    Raises
    ------
    SkinningError
        Where anything in it is missing, unknown or of the wrong kind.
    """

    def check(is_right: bool, problem: str) -> None:
        if not is_right:
            raise SkinningError(f"Landmarks '{key}': {problem}")

    listed = content.get("landmarks") if isinstance(content, dict) else None
    check(isinstance(listed, list) and all(isinstance(one, dict) for one in listed), "the file has no list of patterns")
    return [_read_landmark(one, check) for one in listed or ()]


def _read_landmark(content: dict[str, Any], check: Callable[[bool, str], None]) -> Landmark:
    known = {field.name: field for field in fields(Landmark)}
    name = content.get("name", "?")
    unknown = [field for field in content if field not in known]
    check(not unknown, f"{name} has no setting {', '.join(map(repr, unknown))}: use {', '.join(known)}")
    missing = [field for field, its in known.items() if its.default is MISSING and field not in content]
    check(not missing, f"{name} lacks {', '.join(missing)}")
    for field, allowed in (("region", REGIONS), ("toward", TOWARD), ("points", POINTS), ("motion", MOTIONS),
                           ("on", (TORSO, *CENTRAL, *SIDED))):  # fmt: skip
        check(content[field] in allowed, f"{field} of {name} must be one of {', '.join(allowed)}")
    driver = content["driver"]
    is_right = isinstance(driver, list) and bool(driver) and all(part in (*CENTRAL, *SIDED) for part in driver)
    check(is_right, f"driver of {name} must be a list of body parts")
    check(
        all(isinstance(content[field], str) for field in ("name", "pattern")),
        f"name and pattern of {name} must be text",
    )
    for field, value in content.items():
        if known[field].type == "float":
            check(isinstance(value, int | float) and abs(value) < 1000.0, f"{field} of {name} must be a number")
    check(content["full"] > content["start"], f"full of {name} must be larger than its start")
    values: dict[str, Any] = content | {"driver": tuple(driver)}
    return Landmark(**values)


def find_spot(landmark: Landmark, side: str, body: Body, rig: Rig, bones: RestBones, bone: str = "") -> Spot | None:
    """Where a landmark is on a body whose bones a preset knows; None where the rig lacks a part that it needs.

    Parameters
    ----------
    side : str
        The body's own.
    bone : str
        Bone that is to drive it, where it is none of those that the preset names for this.
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
    """Bones whose rotations add up to the angle of a landmark's joint; none where the rig lacks them.

    Parameters
    ----------
    side : str
        The body's own.
    """
    named = body.named[side]
    parts = [(part, named if part in SIDED else MIDDLE) for part in landmark.driver]
    return [bone for part in parts for bone in rig.drivers.get(part, ())] if parts[0] in rig.drivers else []


def guess_spot(landmark: Landmark, side: str, body: Body, bones: RestBones, bone: str) -> Spot:
    """Where a landmark is on a body of which only the bone that drives the pattern is known.

    Parameters
    ----------
    side : str
        The body's own.
    """
    index = bones.index(bone)
    driver = Limb(bones.heads[index], bones.tails[index], body.front)
    limb = driver
    if landmark.on not in (TORSO, *landmark.driver):
        parent = bones.parents[index]
        while parent and np.linalg.norm(bones.heads[bones.index(parent)] - driver.start) < ASIDE * body.stature:
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
    start = max(landmark.start - rest, LEAST_START)
    full = max(landmark.full - rest, start + LEAST_RANGE)
    start, full = (float(np.radians(angle) * abs(share)) for angle in (start, full))
    return Spot(landmark, side, origin, toward, right, top, bone, "", axis, share > 0.0, start, full)


def _find_motion(
    motion: str, side: str, body: Body, limb: Limb | None, driver: Limb, palm: np.ndarray
) -> tuple[np.ndarray, float]:
    """What a motion rotates about, a unit vector, and how far that is done at rest already, degrees."""
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
    """Unit vector out of the palm: by thumb and little finger, else as of arms that hang, with thumbs to the front."""
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
    """On which side of a body a point, float array, shape (3,), is."""
    lateral = float((point - body.hips) @ body.left)
    if abs(lateral) < ASIDE * body.stature:
        return MIDDLE
    return LEFT if lateral > 0.0 else RIGHT
