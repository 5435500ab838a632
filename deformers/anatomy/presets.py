"""Rig presets: which bones of a rig are which part of a body, found by the names of the bones.

A preset is what a JSON file says of one kind of rig, such as Rigify or Mixamo. It names bones only: where they point,
and which axis bends them, is worked out of the rest pose, by `body`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..errors import SkinningError

CENTRAL = ("hips", "spine", "neck", "head")
SIDED = (
    "collar_bone", "upper_arm", "forearm", "hand", "thumb", "little_finger", "thigh", "shin", "foot", "toes",
)  # fmt: skip
"""Parts of a body in the middle, and on each side. Each is a chain of one bone or more, from the hips outward."""

NEEDED = ("hips", "spine", "upper_arm", "forearm", "thigh", "shin")
"""Parts that a rig must have, on both sides, to be taken for that of a preset."""

HINGES = ("forearm", "shin")
"""Parts that can be hinges: they bend to one side, to which they may be bent a little at rest already."""

SIDE = "{side}"
AXES = ("X", "-X", "Y", "-Y", "Z", "-Z")
LEFT, RIGHT, MIDDLE = "LEFT", "RIGHT", ""

Part = tuple[str, str]
"""A part and its side, such as ("forearm", LEFT) or ("spine", MIDDLE)."""


@dataclass(frozen=True)
class RigPreset:
    """What a file says of a kind of rig. `{side}` in a bone's name stands for the side.

    Attributes
    ----------
    key, name : str
        Of the file, and for the user.
    sides : tuple of 2 str
        What names of the left and of the right side have for `{side}`.
    bones : dict of str to tuple of str
        Bones of each part, from the hips outward.
    hinges : tuple of str
        Parts that are hinges, some of `HINGES`.
    twists : frozenset of str
        Bones that only twist along a limb: they do not bend it.
    drivers : dict of str to tuple of str
        Bones whose rotation says how far a part is bent, where these are others than the part's own.
    axes : dict of str to str
        Axis and sign, such as "-X", about which a part's bones bend it as the muscle there does; worked out where the
        file does not say.
    """

    key: str
    name: str
    sides: tuple[str, str]
    bones: Mapping[str, tuple[str, ...]]
    hinges: tuple[str, ...] = ()
    twists: frozenset[str] = frozenset()
    drivers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    axes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Rig:
    """The bones of an armature that a preset knows, by their names there.

    Attributes
    ----------
    bones : dict of (str, str) to tuple of str
        Bones of each part and side that there is, from the hips outward.
    drivers : dict of (str, str) to tuple of str
        Bones whose rotation says how far the part is bent: those of the part that do not only twist, or the preset's.
    """

    preset: RigPreset
    bones: Mapping[Part, tuple[str, ...]]
    drivers: Mapping[Part, tuple[str, ...]]


def read_preset(key: str, content: Any) -> RigPreset:
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
        Where anything in it is missing, unknown or of the wrong kind.
    """

    def check(is_right: bool, problem: str) -> None:
        if not is_right:
            raise SkinningError(f"Rig preset '{key}': {problem}")

    check(
        isinstance(content, dict) and bool(content),
        "it cannot be read: look for a missing comma or brace",
    )
    known = ("name", "sides", "bones", "hinges", "twists", "drivers", "axes")
    unknown = [name for name in content if name not in known]
    check(not unknown, f"there is no setting {', '.join(map(repr, unknown))}: use {', '.join(known)}")
    name, sides = content.get("name", ""), content.get("sides", [])
    check(isinstance(name, str) and bool(name), 'it has no name: add one, such as "name": "My Rig"')
    check(
        isinstance(sides, list) and len(sides) == 2 and all(isinstance(side, str) for side in sides)
        and sides[0] != sides[1],
        'sides are the bone name parts for left and right: list two, such as "sides": ["L", "R"]',
    )  # fmt: skip
    bones = _read_parts(content.get("bones"), "bones", check)
    missing = [part for part in NEEDED if part not in bones]
    check(not missing, f"bones of {', '.join(missing)} are missing: name them")
    hinges = _read_names(content.get("hinges", []), "hinges", check)
    check(all(part in HINGES for part in hinges), f"hinges can be {' and '.join(HINGES)}: remove the others")
    axes = content.get("axes", {})
    check(isinstance(axes, dict) and set(axes) <= {*CENTRAL, *SIDED}, "axes must be listed by body part")
    check(all(axis in AXES for axis in axes.values()), f"an axis must be one of {', '.join(AXES)}")
    return RigPreset(
        key, name, tuple(sides), bones, hinges,
        frozenset(_read_names(content.get("twists", []), "twists", check)),
        _read_parts(content.get("drivers", {}), "drivers", check), axes,
    )  # fmt: skip


def _read_parts(content: Any, what: str, check: Any) -> dict[str, tuple[str, ...]]:
    check(isinstance(content, dict), f"{what} must be listed by body part, in braces")
    unknown = [part for part in content if part not in (*CENTRAL, *SIDED)]
    check(not unknown, f"{what} has no part {', '.join(map(repr, unknown))}: use {', '.join((*CENTRAL, *SIDED))}")
    parts = {part: _read_names(names, part, check) for part, names in content.items()}
    for part, names in parts.items():
        check(len(names) > 0, f"{part} has no bones: name its bones, or leave it out")
        with_side = [SIDE in name for name in names]
        check(part in CENTRAL or all(with_side), f"bones of {part} are on both sides: write {SIDE} in their names")
        check(
            part in SIDED or not any(with_side), f"bones of {part} are in the middle of the body: they have no {SIDE}"
        )
    return parts


def _read_names(content: Any, what: str, check: Any) -> tuple[str, ...]:
    names = [content] if isinstance(content, str) else content
    check(isinstance(names, list) and all(isinstance(name, str) and name for name in names), f"{what} must be names")
    return tuple(names)


def find_rig(presets: Sequence[RigPreset], names: Sequence[str]) -> Rig | None:
    """Find the preset that knows most of an armature's bones, and of those the one that misses fewest.

    Parameters
    ----------
    names : sequence of str
        Bones of the armature; where the same names come with several prefixes, those that stand first are taken.

    Returns
    -------
    Rig, or None where no preset knows the needed parts
    """
    found = [(preset, rig) for preset in presets if (rig := match(preset, names)) is not None]
    if not found:
        return None

    def score(pair: tuple[RigPreset, Rig]) -> tuple[int, int]:
        matched = sum(map(len, pair[1].bones.values()))
        wanted = sum(len(bones) * (2 if part in SIDED else 1) for part, bones in pair[0].bones.items())
        return matched, matched - wanted

    return max(found, key=score)[1]


def match(preset: RigPreset, names: Sequence[str]) -> Rig | None:
    """Find a preset's bones among names, which may all have a prefix, such as `mixamorig:`, and other capitals.

    Returns
    -------
    Rig, or None where a needed part is not there
    """
    spelled: dict[str, str] = {}
    for name in names:
        spelled.setdefault(name.lower(), name)
    anchor = preset.bones["forearm"][0].replace(SIDE, preset.sides[0]).lower()
    prefixes = [name.removesuffix(anchor) for name in spelled if name.endswith(anchor)]
    found = [_match_with(preset, spelled, prefix) for prefix in dict.fromkeys(prefixes)]
    whole = [rig for rig in found if rig is not None]
    return max(whole, key=lambda rig: sum(map(len, rig.bones.values())), default=None)


def _match_with(preset: RigPreset, spelled: Mapping[str, str], prefix: str) -> Rig | None:
    """A preset's bones where all names begin with a prefix in small letters; without it, too, for drivers."""

    def find(bones: Sequence[str], side: str) -> tuple[str, ...]:
        wanted = [bone.replace(SIDE, side).lower() for bone in bones]
        return tuple(spelled[prefix + bone] for bone in wanted if prefix + bone in spelled)

    bones: dict[Part, tuple[str, ...]] = {}
    drivers: dict[Part, tuple[str, ...]] = {}
    for part, listed in preset.bones.items():
        for side, word in ((LEFT, preset.sides[0]), (RIGHT, preset.sides[1])) if part in SIDED else ((MIDDLE, ""),):
            found = find(listed, word)
            if found:
                bones[part, side] = found
                bending = find([bone for bone in listed if bone not in preset.twists], word)
                drivers[part, side] = find(preset.drivers.get(part, ()), word) or bending or found[:1]
            elif part in NEEDED:
                return None
    return Rig(preset, bones, drivers)
