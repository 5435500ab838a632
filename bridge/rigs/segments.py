"""Twists that B-Bone segments spread along limbs: segments of bones, and drivers that roll their ends.

Blender alone evaluates them. Such a bone stores its former settings in a custom property. Its drivers belong to the
armature object, so each object with the same armature data has its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...deformers.errors import SkinningError
from ...deformers.rig.limbs import SEGMENTS
from ..animation.curves import iterate_curves, split_bone_path
from ..animation.drivers import VARIABLES, drive_by_properties
from ..arrays import read_array
from ..owned import Tag, is_marked, mark, read_mark, unmark
from .twists import MIN_ALONG, PROPERTY, Y_FIRST, list_actions

ROLLS = ("bbone_rollin", "bbone_rollout")
EASES = ("bbone_easein", "bbone_easeout")
# Properties of a bone that keep its segments in a line, whatever its neighbors do
STRAIGHT = {"bbone_handle_type_start": "ABSOLUTE", "bbone_handle_type_end": "ABSOLUTE"} | dict.fromkeys(EASES, 0.0)

WRITTEN = {"bbone_segments", *STRAIGHT}

CUSTOM_HANDLES = ("bbone_custom_handle_start", "bbone_custom_handle_end")
UNIT = ("bbone_scalein", "bbone_scaleout")
# B-Bone values, of a bone and of its pose bone, that bend or scale segments
CHANNELS = (*ROLLS, "bbone_curveinx", "bbone_curveinz", "bbone_curveoutx", "bbone_curveoutz", *UNIT)

# Share of a twist that is worth a driver
MIN_SHARE = 1e-3

# Entry of an axis that is worth a variable of a driver: it costs as much as all the rest
MIN_PART = 1e-5

OWN_EXPRESSION = re.compile(r"-?[\d.]+\*\(?2\*atan2\(.*\*clamp\(4\*\(")

IN_ITS_OWN_FILE = "'{}' is linked from another file: bind the character in its own file"


@dataclass(frozen=True)
class Roll:
    """A bone whose segments roll with the twist of a bone.

    Attributes
    ----------
    source : str
        The bone that twists, which can be the rolled bone itself.
    axis : (float, float, float)
        Of that twist, unit, in the source's own directions at rest.
    head, tail : float
        Share of the twist by which the bone's segments are rolled at its head and at its tail.
    """

    bone: str
    source: str
    axis: tuple[float, float, float]
    head: float
    tail: float
    segments: int = SEGMENTS


def read_rolls(armature: bpy.types.Object) -> tuple[Roll, ...]:
    """Read the rolls of an armature, in the order of its bones, by their present names.

    An object without drivers that has the armature data of an equipped one has its rolls: `install_rolls` drives them.
    """
    sources, bones = _find_sources(armature), _bones_of(armature)
    return tuple(
        Roll(bone.name, sources[bone.name], tuple(tag["axis"]), *tag["shares"], segments=bone.bbone_segments)
        for bone, tag in _list_tagged(armature)
        if sources.get(bone.name, "") in bones and bone.bbone_segments > 1
    )


def is_rolled(armature: bpy.types.Object) -> bool:
    """Whether drivers of the object roll its bones, and are not muted."""
    return any(not curve.mute for curve in _list_own(armature).values())


def has_segments(bone: bpy.types.Bone) -> bool:
    """Whether a bone has Supple's segments."""
    return is_marked(bone, Tag.SEGMENTS) and bool(_read_tag(bone))


def find_candidates(armature: bpy.types.Object) -> set[str]:
    """Names of the deforming bones that may be rolled."""
    moved = _list_moved(armature)
    return {bone.name for bone in _bones_of(armature) if bone.use_deform and not _is_users(armature, bone, moved)}


def install_rolls(armature: bpy.types.Object, rolls: Iterable[Roll]) -> tuple[Roll, ...]:
    """Give bones their segments and rolls, replacing earlier ones; only differences are written.

    Drivers of an armature whose drivers are muted are muted too. Raises SkinningError if the armature is linked, or in
    Edit Mode.

    Returns
    -------
    tuple of Roll
        Those of bones that may be rolled, with a share that counts.

    Notes
    -----
    An Armature constraint to a bone with segments follows the segments. Other constraints and parents follow the bone.
    """
    candidates, bones = find_candidates(armature), _bones_of(armature)
    wanted = {
        roll.bone: roll
        for roll in rolls
        if roll.bone in candidates and roll.source in bones and max(map(abs, (roll.head, roll.tail))) > MIN_SHARE
    }
    _check_editable(armature, wanted.values())
    own = _list_own(armature)
    is_muted = bool(own) and all(curve.mute for curve in own.values())
    for bone, _ in _list_tagged(armature):
        if bone.name not in wanted:
            _give_back(armature, bone)
    for roll in wanted.values():
        if _is_editable(armature.data):
            _straighten(bones[roll.bone], roll)
        _straighten_pose(armature.pose.bones[roll.bone])
    used = {key for roll in wanted.values() for key in _drive(armature, roll)}
    own = _list_own(armature)
    _remove_drivers(armature, own.keys() - used)
    if is_muted:
        _mute(armature, True)
    armature.update_tag()
    return tuple(wanted.values())


def remove_rolls(armature: bpy.types.Object) -> None:
    """Take all rolls off an armature: its bones are as before, once no other object rolls them.

    Raises SkinningError if the armature is linked, or in Edit Mode.
    """
    _check_editable(armature)
    for bone, _ in _list_tagged(armature):
        _give_back(armature, bone)
    _remove_drivers(armature, _list_own(armature).keys())
    data = armature.animation_data
    if data is not None and not (data.drivers or data.action or data.nla_tracks):
        armature.animation_data_clear()
    armature.update_tag()


def mute_rolls(armature: bpy.types.Object, is_muted: bool) -> None:
    """Hold all rolls of an armature at 0, or let them follow their twists again.

    Raises SkinningError if the armature is linked, or in Edit Mode.
    """
    _check_editable(armature)
    _mute(armature, is_muted)
    armature.update_tag()


def _mute(armature: bpy.types.Object, is_muted: bool) -> None:
    for (name, channel), curve in _list_own(armature).items():
        if curve.mute != is_muted:
            curve.mute = is_muted
        if is_muted and name in armature.pose.bones:
            _set(armature.pose.bones[name], channel, 0.0)  # a muted driver leaves its last value


# What may be changed


def _is_editable(block: Any) -> bool:
    return block.is_editable and block.override_library is None


def _check_editable(armature: bpy.types.Object, rolls: Iterable[Roll] = ()) -> None:
    """Raise SkinningError if rolls cannot be written: linked data must have segments for them already."""
    bones = _bones_of(armature)
    missing = not all(_read_tag(bones[roll.bone]) for roll in rolls)
    if not armature.is_editable or (missing and not _is_editable(armature.data)):
        raise SkinningError(IN_ITS_OWN_FILE.format(armature.name))
    if armature.data.is_editmode:
        raise SkinningError(f"'{armature.name}' is in Edit Mode: leave it first", "OBJECT_MODE")


def _is_users(armature: bpy.types.Object, bone: Any, moved: set[str]) -> bool:
    """Whether a user, or the rig, has segments, custom handles, keys, drivers or values of its own on a bone."""
    pose_bone, is_tagged = armature.pose.bones.get(bone.name), bool(_read_tag(bone))
    if (bone.bbone_segments > 1 and not is_tagged) or bone.name in moved:
        return True
    if any(getattr(bone, handle) is not None for handle in CUSTOM_HANDLES):
        return True
    kept = (bone,) if is_tagged or pose_bone is None else (bone, pose_bone)
    return any(_differs(owner, channel) for owner in kept for channel in CHANNELS)


def _differs(owner: Any, channel: str) -> bool:
    value = getattr(owner, channel)
    return tuple(value) != (1.0, 1.0, 1.0) if channel in UNIT else value != 0.0


def _list_moved(armature: bpy.types.Object) -> set[str]:
    """Bones of which keys or drivers, other than Supple's, move B-Bone values."""
    found = set()
    owners: list[tuple[Any, str]] = [(armature, ""), (armature.data, "pose.")]
    for owner, start in owners:
        data = owner.animation_data
        drivers = [] if data is None else [curve for curve in data.drivers if not _is_own(curve)]
        keys = [curve for action in list_actions(owner) for curve in iterate_curves(action) if not _is_still(curve)]
        for curve in (*drivers, *keys):
            name, channel = split_bone_path(start + curve.data_path)
            if name and channel.removeprefix(".").startswith("bbone_"):
                found.add(name)
    return found


def _is_still(curve: Any) -> bool:
    """Whether a curve, as keying sets make them for whole characters, holds a B-Bone value that changes nothing."""
    unmoved = 1.0 if curve.data_path.endswith(UNIT) else 0.0
    return not curve.modifiers and bool(np.all(read_array(curve.keyframe_points, "co", 2)[:, 1] == unmoved))


# Bones


def _bones_of(armature: bpy.types.Object) -> Any:
    data: Any = armature.data
    return data.bones


def _list_tagged(armature: bpy.types.Object) -> list[tuple[Any, dict]]:
    tagged = [(bone, _read_tag(bone)) for bone in _bones_of(armature) if is_marked(bone, Tag.SEGMENTS)]
    return [(bone, tag) for bone, tag in tagged if tag]


def _read_tag(bone: Any) -> dict:
    """Supple's note on a bone with its segments; empty without a valid one."""
    stored = read_mark(bone, Tag.SEGMENTS)
    tag = stored.to_dict() if hasattr(stored, "to_dict") else {}
    if tag.keys() != {"source", "axis", "shares", "former"} or not isinstance(tag["former"], dict):
        return {}
    lists = [tag[name] for name in ("axis", "shares")]
    is_whole = all(isinstance(values, list) for values in lists) and list(map(len, lists)) == [3, 2]
    is_whole = is_whole and all(isinstance(value, int | float) for values in lists for value in values)
    return tag if is_whole and isinstance(tag["source"], str) and tag["former"].keys() == WRITTEN else {}


def _set(owner: Any, name: str, value: Any) -> None:
    """Write differences only: each change of a bone makes Blender evaluate its armature anew."""
    if getattr(owner, name) != value:
        setattr(owner, name, value)


def _straighten(bone: Any, roll: Roll) -> None:
    """Give a bone straight segments, and store its former settings."""
    written = {"bbone_segments": roll.segments} | STRAIGHT
    known = _read_tag(bone)
    former = known["former"] if known else {name: getattr(bone, name) for name in written}
    tag = {"source": roll.source, "axis": list(roll.axis), "shares": [roll.head, roll.tail], "former": former}
    if known != tag:
        mark(bone, Tag.SEGMENTS, tag)
    for name, value in written.items():
        _set(bone, name, value)


def _straighten_pose(pose_bone: Any) -> None:
    eases = [getattr(pose_bone, name) for name in EASES]
    if any(eases):
        mark(pose_bone, Tag.SEGMENTS, eases)
        for name in EASES:
            _set(pose_bone, name, 0.0)


def _give_back(armature: bpy.types.Object, bone: Any) -> None:
    """Give a bone back as it was before; its segments only if no other object rolls them."""
    pose_bone: Any = armature.pose.bones.get(bone.name)
    _remove_drivers(armature, {(bone.name, channel) for channel in ROLLS} & _list_own(armature).keys())
    if pose_bone is not None and is_marked(pose_bone, Tag.SEGMENTS):
        stored = read_mark(pose_bone, Tag.SEGMENTS)
        for name, value in zip(EASES, stored if hasattr(stored, "to_list") else (), strict=False):
            _set(pose_bone, name, value)
        unmark(pose_bone, Tag.SEGMENTS)
    if not _is_editable(armature.data) or any(bone.name in _read_drivers(other) for other in _list_others(armature)):
        return
    for name, value in _read_tag(bone)["former"].items():
        _set(bone, name, value)
    unmark(bone, Tag.SEGMENTS)


def _list_others(armature: bpy.types.Object) -> Iterator[bpy.types.Object]:
    """Other objects with the same armature data."""
    return (other for other in bpy.data.objects if other.data == armature.data and other != armature and other.users)


# Drivers


def _drive(armature: bpy.types.Object, roll: Roll) -> Iterator[tuple[str, str]]:
    """Drive the rolls of a bone; the keys of its drivers."""
    source = armature.pose.bones[roll.source]
    paths, turns = _find_turns(source, roll.axis)
    parts = [part for part, value in zip("XYZ", roll.axis, strict=True) if abs(value) >= MIN_PART]
    names = VARIABLES[len(paths) :]
    values = [value for value in roll.axis if abs(value) >= MIN_PART]
    along = "".join(f"{value:+.6f}*{name}" for name, value in zip(names, values, strict=False)).removeprefix("+")
    scalar = names[len(values)]
    twist = f"2*atan2({along},{scalar})"
    held = f"clamp(4*(({along})*({along})+{scalar}*{scalar})-1)"
    if turns:
        twist = f"({twist}+2*pi*round({turns}-{twist}/(2*pi)))"
    path = armature.pose.bones[roll.bone].path_from_id()
    for channel, share in zip(ROLLS, (roll.head, roll.tail), strict=True):
        if abs(share) > MIN_SHARE:
            expression = f"{share:.6f}*{twist}*{held}"
            drive_by_properties(
                armature, f"{path}.{channel}", armature, paths, expression, rotation_of=roll.source,
                parts="".join([*parts, "W"]), fallback=0.0,
            )  # fmt: skip
            yield roll.bone, channel


def _find_turns(source: Any, axis: tuple[float, float, float]) -> tuple[tuple[str, ...], str]:
    """The source of a pose bone's whole turns: data paths, and an expression in turns, "" for none.

    Blender renames bones in paths of properties, but not in those of an entry of a vector: such a driver then loses
    whole turns, until it is written anew.
    """
    path, name = source.path_from_id(), VARIABLES[0]
    if isinstance(read_mark(source, PROPERTY), int | float):
        return (f'{path}["{PROPERTY}"]',), name
    if source.rotation_mode in Y_FIRST and axis[1] > MIN_ALONG:
        return (f"{path}.rotation_euler[1]",), f"{name}/(2*pi)"
    return (), ""


def _is_own(curve: Any) -> bool:
    return curve.data_path.endswith(ROLLS) and OWN_EXPRESSION.match(curve.driver.expression) is not None


def _list_own(armature: bpy.types.Object) -> dict[tuple[str, str], Any]:
    """Supple's drivers of rolls, by bone and channel."""
    data = armature.animation_data
    curves = [curve for curve in (data.drivers if data is not None else ()) if _is_own(curve)]
    paths = [(curve, *split_bone_path(curve.data_path)) for curve in curves]
    return {(name, channel.removeprefix(".")): curve for curve, name, channel in paths}


def _read_drivers(armature: bpy.types.Object) -> dict[str, str]:
    """The bones whose twists roll bones, by those bones."""
    found = {}
    for (name, _), curve in _list_own(armature).items():
        targets = (variable.targets[0] for variable in curve.driver.variables if variable.type == "TRANSFORMS")
        found[name] = next((target.bone_target for target in targets), "")
    return found


def _find_sources(armature: bpy.types.Object) -> dict[str, str]:
    """The sources of a bone; for an object without drivers, those of another with its armature data, or the stored
    ones."""
    found = next(filter(None, map(_read_drivers, (armature, *_list_others(armature)))), None)
    return found if found is not None else {bone.name: tag["source"] for bone, tag in _list_tagged(armature)}


def _remove_drivers(armature: bpy.types.Object, keys: Iterable[tuple[str, str]]) -> None:
    """Remove Supple's drivers of these bones and channels, which are 0 then."""
    own, data = _list_own(armature), armature.animation_data
    for name, channel in keys:
        data.drivers.remove(own[name, channel])
        if name in armature.pose.bones:
            _set(armature.pose.bones[name], channel, 0.0)
