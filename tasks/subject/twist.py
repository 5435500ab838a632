"""Which joints get fractions, and which twists are spread: by what users chose, by the armature's actions and bones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import bpy
import numpy as np

from ...bridge.changes import Update
from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.reach import read_reach
from ...bridge.rigs.twists import (
    SCALE,
    Keys,
    Moved,
    Rotations,
    has_moved,
    list_actions,
    list_driven,
    measure_twists,
    read_keys,
    read_loose,
    read_rotations,
)
from ...deformers.particles import particles
from ...deformers.rig.fraction_plan import count_fractions, find_long_bones, plan_twists
from ...deformers.rig.reach import Reach
from ...deformers.skinning import dlb, dlbnt, ssd
from ...settings.choices import find_method
from ...settings.objects import ObjectSettings


@dataclass
class _Needs:
    """How many fractions an armature's bones need, what else they can do, and what that was found by."""

    actions: tuple[int, ...]
    """By `session_uid`."""
    found: tuple[Rotations, Moved]
    keys: list[Keys]
    twists: dict[str, float]
    """How far each bone twists, radians."""
    counts: dict[str, tuple[int, bool]]
    """By name of the bone, where it needs any: how many, and whether it twists by more than `HALF_TURN`; the same
    object as long as it is equal."""
    is_stale: bool = False
    found_since: tuple[Rotations, Moved] | None = None
    """What was found instead when it became stale."""
    used: tuple[str, ...] = ()
    """Channels by which bones rotate and scale, where not all that is in them moves."""
    reach: tuple[Skeleton, Reach] | None = None
    """What they can do, for a skeleton without fractions."""


_needs: PerObject[_Needs] = PerObject(survives_undo=False)
"""Of each armature object."""

ACTIONS, OBJECTS = bpy.types.Action, bpy.types.Object

_moved: PerObject[tuple[tuple, Moved]] = PerObject(survives_undo=False)
"""Of each armature object: its actions, the number of its drivers, its bones, and what is moved of these."""

_keys: PerObject[Keys] = PerObject(survives_undo=False)
"""Keys of actions."""


def note_changes(updates: Iterable[Update], is_frame: bool, is_posing: bool = False) -> bool:
    """Have fractions counted again of armatures whose actions or rotations the user has changed: whether there are any.

    Another frame reports the actions that are played, which are the same. A frame, and a user who drags bones, change
    no more than values of channels.
    """
    is_changed = False
    for data, _ in updates:
        if isinstance(data, ACTIONS):
            if is_frame:
                continue
            _keys.clear()
            _moved.clear()
            for needs in _needs.values():
                needs.is_stale = True
        elif isinstance(data, OBJECTS) and (needs := _needs.find(data.original)) is not None:
            needs.found_since = None
            needs.is_stale = needs.is_stale or _has_changed(data.original, needs, is_frame or is_posing)
            is_changed |= needs.is_stale
    return is_changed


HALF_TURN = np.radians(172.0)
"""Twist that two quaternions can be blended by: beyond, the shorter way round is the other one, or soon may be."""

RIGID_METHODS = {dlb.INFO.key, dlbnt.INFO.key, particles.INFO.key}


class TwistChoice(NamedTuple):
    """What was chosen about the twist of a mesh."""

    twist: str = "OFF"
    is_linear: bool = False
    """Whether joints are blended linearly, which narrows a limb that twists: no twist is spread."""
    is_rigid: bool = False
    """Whether vertices keep their distance from a joint's axis as they twist, up to half a turn: *Auto* leaves that."""


def _has_changed(armature: bpy.types.Object, needs: _Needs, has_channels_alone: bool) -> bool:
    """Whether a user has changed what was found out: no more than values of channels, or anything."""
    rotations, moved = needs.found
    if has_channels_alone:
        return any(has_moved(armature, moved, channel, rotations.values[channel]) for channel in needs.used)
    found = _read_rotations(armature)
    is_changed = found[0].state() != rotations.state()
    needs.found_since = found if is_changed else None
    return is_changed


NO_TWIST = TwistChoice()


def read_choice(settings: ObjectSettings, method: str) -> TwistChoice:
    """What an object's settings say about twist, as `with_twists` takes it.

    Linear blending is Blender's own: its joints have fractions where a number is chosen.
    """
    is_linear = method == ssd.INFO.key
    is_off = find_method(method).is_slow or (is_linear and settings.twist == "AUTO")
    return TwistChoice("OFF" if is_off else settings.twist, is_linear, is_rigid=method in RIGID_METHODS)


def with_twists(
    skeleton: Skeleton, armature: bpy.types.Object, choice: TwistChoice, others: Sequence[bpy.types.Object] = ()
) -> Skeleton:
    """A skeleton whose joints have the fractions, and the spread twists, that a choice gives them.

    Parameters
    ----------
    armature : Object
        Original.
    choice : TwistChoice
        From `read_choice`.
    others : sequence of Object
        Armatures of the same bones, whose twists count as well.

    Returns
    -------
    Skeleton
        The same object as before, where these are the same.
    """
    plain = skeleton.plain or skeleton
    if choice.twist == "OFF" and not plain.has_twists:
        return plain
    needs = [_find_needs(one).counts for one in (armature, *others)]
    known = plain.known.get(choice)
    if known is None or len(known[0]) != len(needs) or any(a is not b for a, b in zip(known[0], needs, strict=True)):
        levels, counts = _choose(plain, armature, needs, choice)
        key = levels.tobytes(), counts.tobytes()
        if key not in plain.known:
            plain.known[key] = plain.with_twists(*plan_twists(plain.joints, levels, counts))
        known = plain.known[choice] = needs, plain.known[key]
    return known[1]


def _choose(
    skeleton: Skeleton, armature: bpy.types.Object, needs: list[dict[str, tuple[int, bool]]], choice: TwistChoice
) -> tuple[np.ndarray, np.ndarray]:
    """How many fractions each joint has, and along how many bones its twist is spread: int arrays, shape (B,)."""
    if "long_bones" not in skeleton.known:
        skeleton.known["long_bones"] = find_long_bones(skeleton.joints, _find_handle_joints(skeleton))
    long_bones, parents = skeleton.known["long_bones"], skeleton.joints.parents
    is_bendy = np.zeros(len(parents), bool)
    is_bendy[skeleton.bendy_joints] = True
    is_rigid = is_bendy | _find_handle_joints(skeleton)
    levels, counts = np.zeros((2, len(parents)), np.intp)
    for name, joint, (own, spreads) in zip(skeleton.names, skeleton.first_joints, skeleton.twists, strict=True):
        level, above = own or choice.twist, parents[joint]
        if above < 0 or is_rigid[joint] or is_bendy[above]:
            continue
        is_spread = spreads == "ON" or (spreads == "AUTO" and level != "OFF" and long_bones.is_long[joint])
        if level.isdigit():
            levels[joint] = int(level)
        elif level == "AUTO" or is_spread:
            found = [of_armature[name] for of_armature in needs if name in of_armature]
            levels[joint] = max((count for count, is_beyond in found if is_beyond or not choice.is_rigid), default=0)
        if is_spread and not choice.is_linear and _turns_with(armature, name, skeleton.name_joint(int(above))):
            counts[joint] = long_bones.counts[joint]
    return levels, counts


def _turns_with(armature: bpy.types.Object, name: str, above: str) -> bool:
    """Whether a bone's rotation, in local space, is that against the bone above it."""
    bone = cast(Any, armature.data).bones[name]
    return bone.parent is not None and bone.parent.name == above and bone.use_inherit_rotation


def _find_handle_joints(skeleton: Skeleton) -> np.ndarray:
    """Which joints are points or vertices of cages, bool array, shape (B,): they are at no bone's end."""
    joints = np.zeros(len(skeleton.joints.parents), bool)
    joints[skeleton.first_joints[skeleton.handles]] = True
    return joints


def find_reach(skeleton: Skeleton, armature: bpy.types.Object) -> Reach:
    """What an armature's bones can do, by what is in the file; the same object until that changes.

    Parameters
    ----------
    skeleton : Skeleton
        Of the armature.
    """
    needs, plain = _find_needs(armature), skeleton.plain or skeleton
    if needs.reach is None or needs.reach[0] is not plain:
        needs.reach = plain, read_reach(armature, plain, *needs.found, needs.keys, needs.twists)
    return needs.reach[1]


def _find_needs(armature: bpy.types.Object) -> _Needs:
    """How many fractions bones need, by name, where they need any; the same object until that changes.

    What is in the file counts, not which frame is shown: the keys of the armature's actions, and rotations that nothing
    moves. So a pose has one shape, whatever was posed before, and wherever the file is opened.
    """
    needs, actions = _needs.find(armature), list(list_actions(armature))
    uids = tuple(action.session_uid for action in actions)
    if needs is not None and needs.actions == uids and not needs.is_stale:
        return needs
    found = needs.found_since if needs is not None and needs.actions == uids else None
    found, keys = found or _read_rotations(armature), [_read_keys(action) for action in actions]
    rotations, moved = found
    twists = measure_twists(rotations, moved, keys)
    counts = {name: (count, twist > HALF_TURN) for name, twist in twists.items() if (count := count_fractions(twist))}
    if needs is not None and needs.counts == counts:
        counts = needs.counts
    used = tuple(one for one in (*np.unique(rotations.modes).tolist(), SCALE) if not moved.axes[one].all())
    reach = None if needs is None or not _can_keep_reach(needs, found, keys) else needs.reach
    return _needs.keep(armature, _Needs(uids, found, keys, twists, counts, used=used, reach=reach))


def _can_keep_reach(needs: _Needs, found: tuple[Rotations, Moved], keys: list[Keys]) -> bool:
    """Whether bones can do what they could before: no other was changed than such as move no joint."""
    (rotations, moved), (before, moved_before) = found, needs.found
    if (
        needs.reach is None
        or len(keys) != len(needs.keys)
        or any(a is not b for a, b in zip(keys, needs.keys, strict=True))
    ):
        return False
    own = needs.reach[1].bones
    if (rotations.names, rotations.constraints, rotations.blending) != (
        before.names,
        before.constraints,
        before.blending,
    ):
        return False
    if moved is not moved_before or rotations.turns != before.turns or (rotations.modes != before.modes)[own].any():
        return False
    return not any((rows != before.values[channel])[own].any() for channel, rows in rotations.values.items())


def _read_rotations(armature: bpy.types.Object) -> tuple[Rotations, Moved]:
    """What of an armature's rotations is the same in each frame, and what is not."""
    actions, data = list(list_actions(armature)), armature.animation_data
    state = [action.session_uid for action in actions], len(data.drivers) if data is not None else 0
    state = *state, cast(Any, armature.pose).bones.keys()
    known = _moved.find(armature)
    if known is None or known[0] != state:
        keyed = [(*path, axis) for action in actions for path, axes in _read_keys(action).items() for axis in axes]
        loose = [path for action in actions for path in read_loose(action)]
        known = _moved.keep(armature, (state, Moved.of(armature, keyed, [*loose, *list_driven(armature)])))
    return read_rotations(armature, known[1]), known[1]


def _read_keys(action: bpy.types.Action) -> Keys:
    keys = _keys.find(action)
    return _keys.keep(action, read_keys(action)) if keys is None else keys
