"""Twists of bones, in a pose and at most in actions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import bpy
import numpy as np

from ..animation.curves import iterate_curves, list_strips, split_bone_path
from ..arrays import read_array
from ..owned import Tag, is_marked, read_mark

# Custom property of a pose bone: about how many turns it twists. The whole turns nearest to it are taken.
PROPERTY = Tag.TURNS

# Rotation modes that rotate about y first
Y_FIRST = {"YXZ", "YZX"}

# y of the axis of a twist from which the angle about y is the twist, in these modes
MIN_ALONG = 0.9

# Data path of the custom property, from the bone
TURNS = f'["{PROPERTY}"]'

EULER = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ROTATIONS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"} | dict.fromkeys(
    EULER, "rotation_euler"
)


def read_roll_hints(armature: bpy.types.Object, names: Sequence[str], along: np.ndarray) -> np.ndarray:
    """Twists that are asked of bones that roll segments, as the drivers of these count them, radians, shape (N,).

    Parameters
    ----------
    names : sequence of str
        Bones.
    along : float array, shape (N,)
        y of the axis of each twist in the bone's own directions.
    """
    bones: Any = armature.pose.bones
    return np.array([_read_roll_hint(bones[name], y) for name, y in zip(names, along.tolist(), strict=True)])


def _read_roll_hint(bone: Any, along: float) -> float:
    """Twist by the custom property, or by the angle about y if that comes first and is the twist; otherwise 0."""
    is_counted = bone.rotation_mode in Y_FIRST and along > MIN_ALONG
    return _read_hint(bone) if is_counted or isinstance(read_mark(bone, PROPERTY), int | float) else 0.0


def _read_hint(bone: Any) -> float:
    """Twist by the custom property, or by the channel of the twist; 0 for a quaternion, which has no whole turns."""
    turns = read_mark(bone, PROPERTY)
    if isinstance(turns, int | float):
        return float(2.0 * np.pi * turns) if np.isfinite(turns) else 0.0
    mode = bone.rotation_mode
    if mode == "QUATERNION":
        return 0.0
    return bone.rotation_euler[1] if mode != "AXIS_ANGLE" else _twist_of_axis_angle(*bone.rotation_axis_angle)


def _twist_of_axis_angle(angle: float, x: float, y: float, z: float) -> float:
    length = float(np.sqrt(x * x + y * y + z * z))
    return angle * y / length if length > 0.0 else 0.0


# By name of the bone and channel, then by axis: frames and values of keys, shape (K, 2); none if K is 0
Keys = dict[tuple[str, str], dict[int, np.ndarray]]


def measure_largest_twists(armature: bpy.types.Object, actions: Iterable[bpy.types.Action]) -> dict[str, float]:
    """The largest twist of each bone about its length, radians: in the keys of actions, and in the pose.

    In the pose only channels without keys and drivers count, so the current frame does not matter. A bone with the
    custom property has at least half a turn: it is meant to go round.
    """
    keys = [_read_keys(action) for action in actions]
    data = armature.animation_data
    driven = list(filter(None, map(_find_moved, data.drivers))) if data is not None else []
    moved = {(*path, axis) for one in keys for path, axes in one.items() for axis in axes} | set(driven)
    bones: Any = armature.pose.bones
    return {bone.name: _measure_bone(bone, keys, moved) for bone in bones}


def _measure_bone(bone: Any, keys: Sequence[Keys], moved: set[tuple[str, str, int]]) -> float:
    channel = ROTATIONS[bone.rotation_mode]
    still = np.array(getattr(bone, channel), np.float64)
    axes = [axis for axis in range(len(still)) if (bone.name, channel, axis) in moved]
    still[axes] = 0.0
    found = [0.0] if axes else [_find_largest(channel, still[:, None])]
    for pairs in (one[bone.name, channel] for one in keys if (bone.name, channel) in one):
        frames = np.unique(np.concatenate([each[:, 0] for each in pairs.values()]))
        values = np.repeat(still[:, None], len(frames), axis=1)
        for axis, each in pairs.items():
            if len(each):
                values[axis] = np.interp(frames, each[:, 0], each[:, 1])
        found.append(_find_largest(channel, values))
    if is_marked(bone, PROPERTY):
        turns = [one[bone.name, TURNS][0][:, 1] for one in keys if (bone.name, TURNS) in one]
        found += [np.pi, *(float(2.0 * np.pi * np.abs(each).max(initial=0.0)) for each in turns)]
        if (bone.name, TURNS, 0) not in moved:
            found.append(abs(_read_hint(bone)))
    return max(found)


def _find_largest(channel: str, values: np.ndarray) -> float:
    """The largest twist about y, radians, without its sign, of rotations of a channel, shape (3 or 4, N)."""
    if channel == "rotation_euler":
        twists = np.abs(values[1])
    elif channel == "rotation_axis_angle":
        lengths = np.sqrt(np.square(values[1:]).sum(axis=0))
        twists = np.abs(values[0] * values[2] / np.where(lengths > 0.0, lengths, 1.0))
    else:
        twists = 2.0 * np.arctan2(np.abs(values[2]), np.abs(values[0]))
    return float(twists.max(initial=0.0))


def list_actions(armature: bpy.types.Object) -> Iterator[bpy.types.Action]:
    """The actions that move an armature: the active one, and those of its NLA tracks."""
    data = armature.animation_data
    if data is None:
        return
    if data.action is not None:
        yield data.action
    for track in data.nla_tracks:
        yield from (strip.action for strip in list_strips(track.strips) if strip.action is not None)


def _read_keys(action: bpy.types.Action) -> Keys:
    """The keys of an action that rotate bones."""
    found: Keys = {}
    for curve in iterate_curves(action):
        if moved := _find_moved(curve):
            name, channel, axis = moved
            found.setdefault((name, channel), {})[axis] = read_array(curve.keyframe_points, "co", 2)
    return found


def _find_moved(curve: bpy.types.FCurve) -> tuple[str, str, int] | None:
    """Bone, channel and axis of a curve that moves a rotation or the custom property."""
    name, channel = split_bone_path(curve.data_path)
    channel = channel.removeprefix(".")
    if not name or channel not in {TURNS, *ROTATIONS.values()}:
        return None
    return name, channel, 0 if channel == TURNS else curve.array_index
