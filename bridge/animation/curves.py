"""Animation curves, wherever this version of Blender keeps them."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..arrays import read_array, write_array

# Blender's numbers of these interpolations
LINEAR, BEZIER = 1, 2

# Blender's number of handles that stay where they are put
FREE = 0


@dataclass(frozen=True, eq=False)
class Curve:
    """An F-curve with a key at each frame, linear between, or smooth if it has slopes.

    Attributes
    ----------
    path : str
        Data path of the property, from its data-block.
    index : int
        Into a property of several numbers, else 0.
    frames, values : float arrays, shape (n,)
    group : str
        That it is listed in; "" for none.
    slopes : float array, shape (n,), optional
        Change of the value per frame at each key.
    """

    path: str
    index: int
    frames: np.ndarray
    values: np.ndarray
    group: str = ""
    slopes: np.ndarray | None = None


BONE = re.compile(r'pose\.bones\["((?:[^"\\]|\\.)*)"\](.*)', re.DOTALL)


@functools.lru_cache(4096)
def split_bone_path(path: str) -> tuple[str, str]:
    """The bone name at the start of an armature object's data path, "" for none, and the rest of the path."""
    match = BONE.match(path)
    return (bpy.utils.unescape_identifier(match[1]), match[2]) if match is not None else ("", path)


def _curve_lists(owner: bpy.types.ID) -> Iterator:
    """The collections that hold the F-curves of a data-block's action."""
    yield from (holder.fcurves for holder in _list_holders(owner))


def _list_holders(owner: bpy.types.ID) -> Iterator:
    """The holder of the F-curves and groups of a data-block's action: that of its own slot."""
    data = owner.animation_data
    if data is not None and data.action is not None:
        yield from _list_played(data)


def _list_played(player: bpy.types.AnimData | bpy.types.NlaStrip) -> Iterator:
    """The holders of a player of an action."""
    if not hasattr(player, "action_slot"):  # before 4.4
        yield player.action
        return
    for layer in player.action.layers:
        for strip in layer.strips:
            bag = strip.channelbag(player.action_slot) if player.action_slot else None
            if bag is not None:
                yield bag


def list_strips(strips: Any) -> Iterator[bpy.types.NlaStrip]:
    """Strips of a track, and those within meta strips."""
    for strip in strips:
        yield strip
        yield from list_strips(strip.strips)


def _list_all_played(owner: bpy.types.ID) -> Iterator[tuple[bpy.types.Action, Any]]:
    """The actions of a data-block and of its NLA tracks, with the holders of its slots' F-curves."""
    data = owner.animation_data
    strips = (strip for track in data.nla_tracks for strip in list_strips(track.strips)) if data is not None else ()
    for player in (data, *strips):
        if player is not None and player.action is not None:
            yield from ((player.action, holder) for holder in _list_played(player))


def list_animated(owner: bpy.types.ID) -> set[str]:
    """Data paths of a data-block's properties that keys or drivers move."""
    data = owner.animation_data
    if data is None:
        return set()
    lists = (data.drivers, *(holder.fcurves for _, holder in _list_all_played(owner)))
    return {curve.data_path for curves in lists for curve in curves}


def find_not_own(owner: bpy.types.Object, paths: set[str]) -> bpy.types.Action | None:
    """An action with F-curves of these data paths that is linked, or that other objects play, too; None without one."""
    for action, holder in _list_all_played(owner):
        if not any(curve.data_path in paths for curve in holder.fcurves):
            continue
        others = (other for other in bpy.data.objects if other != owner)
        if not action.is_editable or any(holder == each for other in others for _, each in _list_all_played(other)):
            return action
    return None


def redirect(owner: bpy.types.ID, paths: Mapping[str, str]) -> None:
    """Redirect F-curves and drivers of some data paths to other properties, unless these have their own."""
    data = owner.animation_data
    if data is None:
        return
    for curves in (data.drivers, *(holder.fcurves for _, holder in _list_all_played(owner))):
        taken = {curve.data_path for curve in curves}
        for curve in [curve for curve in curves if curve.data_path in paths]:
            if paths[curve.data_path] in taken:
                curves.remove(curve)
            else:
                curve.data_path = paths[curve.data_path]
                owner.update_tag()


def list_curves(owner: bpy.types.ID) -> list[bpy.types.FCurve]:
    """The F-curves of the action that a data-block plays, of its own slot."""
    return [curve for curves in _curve_lists(owner) for curve in curves]


def list_all_curves(owner: bpy.types.ID) -> list[bpy.types.FCurve]:
    """The F-curves of all actions that a data-block plays, those of its NLA tracks too, of its own slots."""
    return [curve for _, holder in _list_all_played(owner) for curve in holder.fcurves]


def iterate_curves(action: bpy.types.Action) -> Iterator[bpy.types.FCurve]:
    """An action's F-curves, of all its slots."""
    yield from (curve for holder in _list_all_holders(action) for curve in holder.fcurves)


def _list_all_holders(action: bpy.types.Action) -> Iterator:
    """The holders of F-curves and groups of each slot of an action."""
    if not hasattr(action, "layers"):  # before 4.4
        yield action
        return
    for strip in (strip for layer in action.layers for strip in layer.strips):
        yield from strip.channelbags


def iterate_curve_paths(action: bpy.types.Action) -> Iterator[str]:
    """The data paths of an action's F-curves, of all its slots."""
    yield from (curve.data_path for curve in iterate_curves(action))


def key_spike(
    owner: bpy.types.ID, target: bpy.types.bpy_struct, name: str, number: int, times: Sequence[float]
) -> None:
    """Animate a property that is 1 at one of the times, 0 at those before and after, and linear between.

    At both ends it holds.

    Parameters
    ----------
    owner : ID
        Data-block that the animation belongs to.
    target : bpy_struct
        The data-block, or a part of it, that has the property.
    name : str
        Of the property.
    number : int
        Index of the time at which it is 1.
    times : sequence of float
        Of animation, in their order.
    """
    for other in range(max(0, number - 1), min(number + 2, len(times))):
        at, value = times[other], float(other == number)
        setattr(target, name, value)
        target.keyframe_insert(name, frame=at)
    path = target.path_from_id(name)
    for curves in _curve_lists(owner):
        for curve in curves:
            if curve.data_path == path:
                for point in curve.keyframe_points:
                    point.interpolation = "LINEAR"


def remove_curves(owner: bpy.types.ID, paths: set[str]) -> None:
    """Remove the F-curves of these data paths, and the action and animation data if they become empty."""
    left = 0
    for curves in _curve_lists(owner):
        for curve in [curve for curve in curves if curve.data_path in paths]:
            curves.remove(curve)
        left += len(curves)
    data = owner.animation_data
    if data is None or data.action is None or left:
        return
    action, data.action = data.action, None
    if not action.users:
        bpy.data.actions.remove(action)
    if not data.nla_tracks and not data.drivers:
        owner.animation_data_clear()


def new_action(name: str, curves: Sequence[Curve]) -> bpy.types.Action:
    """An action that animates an object, with these curves."""
    action: Any = bpy.data.actions.new(name)
    if hasattr(action, "layers"):  # 4.4 and later
        slot = action.slots.new("OBJECT", name)
        listed = action.layers.new("Layer").strips.new(type="KEYFRAME").channelbag(slot, ensure=True).fcurves
    else:
        listed = action.fcurves
    grouping = next(
        (key for key in listed.bl_rna.functions["new"].parameters.keys() if "group" in key), ""
    )  # none: 4.5
    for curve in curves:
        made = listed.new(
            curve.path, index=curve.index, **({grouping: curve.group} if grouping and curve.group else {})
        )
        _write_keys(made, curve)
    return action


def _write_keys(made: bpy.types.FCurve, curve: Curve) -> None:
    points, count = made.keyframe_points, len(curve.frames)
    points.add(count)
    write_array(points, "co", np.stack([curve.frames, curve.values], axis=1))
    write_array(points, "interpolation", np.full(count, LINEAR if curve.slopes is None else BEZIER), np.int32)
    if curve.slopes is not None:
        thirds = np.diff(curve.frames) / 3.0
        for side, offsets in (("left", -np.append(1.0, thirds)), ("right", np.append(thirds, 1.0))):
            ends = np.stack([curve.frames + offsets, curve.values + offsets * curve.slopes], axis=1)
            write_array(points, f"handle_{side}_type", np.full(count, FREE), np.int32)
            write_array(points, f"handle_{side}", ends)
    made.update()


def add_curves(owner: bpy.types.ID, curves: Sequence[Curve], repeats: bool) -> None:
    """Add F-curves to the action that a data-block plays, into its own slot.

    `repeats`: whether they begin anew after their last key, and before the first.
    """
    holder = next(_list_holders(owner))
    listed, groups = holder.fcurves, holder.groups
    for curve in curves:
        made = listed.new(curve.path, index=curve.index)
        if curve.group:
            made.group = groups.get(curve.group) or groups.new(curve.group)
        _write_keys(made, curve)
        if repeats:
            made.modifiers.new("CYCLES")


def remove_bone_curves(action: bpy.types.Action, bones: Iterable[str], group_name: str = "") -> None:
    """Remove the F-curves of bones from all slots of an action, and groups of curves that are empty then.

    `group_name`: of a group that is removed if it is empty, also if others have removed its curves.
    """
    bones = set(bones)
    for holder in _list_all_holders(action):
        listed, groups = holder.fcurves, holder.groups
        left = {curve.group.name for curve in listed if split_bone_path(curve.data_path)[0] in bones and curve.group}
        for curve in [curve for curve in listed if split_bone_path(curve.data_path)[0] in bones]:
            listed.remove(curve)
        for name in {*left, group_name}:
            group = groups.get(name)
            if group is not None and not len(group.channels):
                groups.remove(group)


def play_action(owner: bpy.types.ID, action: bpy.types.Action) -> None:
    """Have a data-block play an action that `new_action` has made."""
    data: Any = owner.animation_data or owner.animation_data_create()
    data.action = action
    if hasattr(data, "action_slot"):  # 4.4 and later
        data.action_slot = action.slots[0]


def add_track(
    owner: bpy.types.ID, name: str, action: bpy.types.Action, start: int, mute: bool = True
) -> bpy.types.NlaStrip:
    """Add a track of the Nonlinear Animation editor that holds an action.

    Parameters
    ----------
    name : str
        Name of the track and its strip, which exporters give to the animation.
    action : Action
        Of `new_action`, or the one that the data-block plays.
    start : int
        First frame.
    mute : bool
        Whether it is switched off.
    """
    data: Any = owner.animation_data or owner.animation_data_create()
    track = data.nla_tracks.new()
    track.name, track.mute = name, mute
    strip = track.strips.new(name, start, action)
    strip.name = name
    if hasattr(strip, "action_slot"):  # 4.4 and later
        strip.action_slot = data.action_slot if data.action == action else action.slots[0]
    return strip


def show_strip(owner: bpy.types.ID, action: bpy.types.Action, start: int) -> bpy.types.NlaStrip:
    """Have a data-block play an action of `new_action` as a strip, above all others.

    Its current action is kept in a muted track, as by Blender's Stash Action.

    Parameters
    ----------
    start : int
        First frame.
    """
    data: Any = owner.animation_data or owner.animation_data_create()
    if data.action is not None:
        add_track(owner, data.action.name, data.action, round(data.action.frame_range[0]))
        data.action = None
    return add_track(owner, action.name, action, start, mute=False)


def list_key_ranges(curves: Sequence[bpy.types.FCurve]) -> list[tuple[float, float]]:
    """The first and the last frame with a key of each curve that has any."""
    ranges = []
    for curve in curves:
        if len(curve.keyframe_points):
            first, last = curve.range()
            ranges.append((first, last))
    return ranges


def hash_curves(action: bpy.types.Action, left_out: Collection[str]) -> bytes:
    """A digest of all that F-curves of an action do, in all its slots, but for those of some bones."""
    digest = hashlib.blake2b(digest_size=16)
    for curve in iterate_curves(action):
        if split_bone_path(curve.data_path)[0] in left_out:
            continue
        points = curve.keyframe_points
        digest.update(repr((curve.data_path, curve.array_index, curve.mute, curve.extrapolation, len(points))).encode())
        kinds = read_array(points, "interpolation", 0, np.int32)
        digest.update(kinds.tobytes())
        for field in ("co", "handle_left", "handle_right") if (kinds == BEZIER).any() else ("co",):
            digest.update(read_array(points, field, 2).tobytes())
        for modifier in curve.modifiers:
            digest.update(repr(read_plain(modifier)).encode())
    return digest.digest()


def read_plain(data: Any) -> list[tuple[str, Any]]:
    """The properties of a modifier or a constraint that are numbers, words, or the names of objects."""
    found = []
    for prop in data.bl_rna.properties:
        value = getattr(data, prop.identifier)
        if isinstance(value, bpy.types.ID):
            value = value.name
        if isinstance(value, bool | int | float | str):
            found.append((prop.identifier, value))
    return found
