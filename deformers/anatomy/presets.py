"""Rig presets: bones of the parts of a body, found by their names.

A preset is a JSON file for one kind of rig, such as Rigify or Mixamo. It only names bones: their directions and axes
come from the rest pose (`body`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..preset_files import Reader, demand, one_of, read_names, read_settings, read_sides, read_text

CENTRAL = ("hips", "spine", "neck", "head")
SIDED = (
    "collar_bone", "upper_arm", "forearm", "hand", "thumb", "little_finger", "thigh", "shin", "foot", "toes",
)  # fmt: skip
# Parts of a body in the middle and on each side. Each is a chain of bones, from the hips outward.
PARTS = (*CENTRAL, *SIDED)

# A rig matches a preset only if it has these parts, on both sides.
NEEDED = ("hips", "spine", "upper_arm", "forearm", "thigh", "shin")

# Parts that bend to one side only, and may be bent a little at rest.
HINGES = ("forearm", "shin")

SIDE = "{side}"
LEFT, RIGHT, MIDDLE = "LEFT", "RIGHT", ""

# A part and its side, such as ("forearm", LEFT) or ("spine", MIDDLE).
Part = tuple[str, str]


@dataclass(frozen=True)
class RigPreset:
    """Bones of a kind of rig. `{side}` in a bone's name stands for the side.

    Attributes
    ----------
    key, name : str
        Name of the file, and name for the user.
    sides : tuple of 2 str
        Replacements of `{side}` for left and right.
    bones : dict of str to tuple of str
        Bones of each part, from the hips outward.
    hinges : tuple of str
        Parts that are hinges, some of `HINGES`.
    twists : frozenset of str
        Bones that only twist along a limb: they do not bend it.
    drivers : dict of str to tuple of str
        Bones whose rotation tells how far a part is bent, if not the part's own.
    axes : dict of str to str
        Axis and sign, such as "-X", about which a part's bones bend it as the muscle does; found from the rest pose if
        not given.
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
    """The bones of an armature that a preset knows, by their names in the armature.

    Attributes
    ----------
    bones : dict of (str, str) to tuple of str
        Bones of each part and side, from the hips outward.
    drivers : dict of (str, str) to tuple of str
        Bones whose rotation tells how far the part is bent: the preset's, or those of the part that do not only twist.
    """

    preset: RigPreset
    bones: Mapping[Part, tuple[str, ...]]
    drivers: Mapping[Part, tuple[str, ...]]


def read_preset(key: str, content: Any) -> RigPreset:
    """Make a rig preset from the content of its JSON file, `key`.json; see `read_settings`."""
    return read_settings(RigPreset, key, content, READERS, key=key)


def _read_bones(name: str, content: Any) -> dict[str, tuple[str, ...]]:
    parts = _read_parts(name, content)
    missing = [part for part in NEEDED if part not in parts]
    demand(not missing, f"bones of {', '.join(missing)} are missing: name them")
    return parts


def _read_parts(name: str, content: Any) -> dict[str, tuple[str, ...]]:
    _check_parts(name, content)
    parts = {part: read_names(part, names) for part, names in content.items()}
    for part, names in parts.items():
        demand(len(names) > 0, f"{part} has no bones: name its bones, or leave it out")
        with_side = [SIDE in bone for bone in names]
        demand(part in CENTRAL or all(with_side), f"bones of {part} are on both sides: write {SIDE} in their names")
        demand(
            part in SIDED or not any(with_side), f"bones of {part} are in the middle of the body: they have no {SIDE}"
        )
    return parts


def _check_parts(name: str, content: Any) -> None:
    demand(isinstance(content, dict), f"{name} must be listed by body part, in braces")
    unknown = [part for part in content if part not in PARTS]
    demand(not unknown, f"{name} has no part {', '.join(map(repr, unknown))}: use {', '.join(PARTS)}")


def _read_hinges(name: str, content: Any) -> tuple[str, ...]:
    return tuple(one_of(HINGES)(name, part) for part in read_names(name, content))


def _read_axes(name: str, content: Any) -> dict[str, str]:
    _check_parts(name, content)
    axes = ("X", "-X", "Y", "-Y", "Z", "-Z")
    return {part: one_of(axes)(name, axis) for part, axis in content.items()}


READERS: dict[str, Reader] = {
    "name": read_text,
    "sides": read_sides,
    "bones": _read_bones,
    "hinges": _read_hinges,
    "twists": lambda name, content: frozenset(read_names(name, content)),
    "drivers": _read_parts,
    "axes": _read_axes,
}


def find_rig(presets: Sequence[RigPreset], names: Sequence[str]) -> Rig | None:
    """Find the preset that knows most of an armature's bones; of several, the one that misses fewest.

    `names`: bones of the armature. If names exist with several prefixes, the first ones are taken.

    Returns
    -------
    Rig, or None if no preset knows the needed parts
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
    """Find a preset's bones among names, which may share a prefix, such as `mixamorig:`, and differ in case.

    Returns
    -------
    Rig, or None if a needed part is missing
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
    """A preset's bones if all names begin with a prefix in small letters."""

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
