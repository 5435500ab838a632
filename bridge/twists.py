"""How far bones twist: what is asked of them in a pose, and at most in their actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import bpy
import numpy as np

from .animation import iterate_curves, split_bone_path
from .arrays import read_array

PROPERTY = "supple_turns"
"""Custom property of a pose bone: about how many turns it twists. The whole turns nearest to it are taken."""

EULER = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ROTATIONS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"} | dict.fromkeys(
    EULER, "rotation_euler"
)


def read_hints(armature: bpy.types.Object, names: Sequence[str]) -> np.ndarray:
    """Twists that are asked of bones in the pose of an evaluated armature, radians, shape (N,).

    Parameters
    ----------
    armature : Object
    names : sequence of str
        Bones.
    """
    bones: Any = armature.pose.bones
    return np.array([_read_hint(bones[name]) for name in names], np.float64)


def _read_hint(bone: Any) -> float:
    """Of the custom property, else of the channel that tells a twist; 0 for a quaternion, which knows no turns."""
    turns = bone.get(PROPERTY)
    if isinstance(turns, int | float):
        return float(2.0 * np.pi * turns) if np.isfinite(turns) else 0.0
    mode = bone.rotation_mode
    if mode == "QUATERNION":
        return 0.0
    return bone.rotation_euler[1] if mode != "AXIS_ANGLE" else _twist_of_axis_angle(*bone.rotation_axis_angle)


def _twist_of_axis_angle(angle: float, x: float, y: float, z: float) -> float:
    length = float(np.sqrt(x * x + y * y + z * z))
    return angle * y / length if length > 0.0 else 0.0


def read_posed_twists(armature: bpy.types.Object) -> dict[str, float]:
    """Twists of bones as their channels have them now, without animation of constraints, by name, radians.

    A bone with the custom property has half a turn at least: it is meant to go round.
    """
    bones: Any = armature.pose.bones
    modes = read_rotation_modes(armature)
    found = np.zeros(len(bones))
    for channel, size in (("rotation_quaternion", 4), ("rotation_euler", 3), ("rotation_axis_angle", 4)):
        own = modes == channel
        if own.any():
            found[own] = _measure_twists(channel, read_array(bones, channel, size).astype(np.float64)[own].T)
    twists = dict(zip(bones.keys(), found.tolist(), strict=True))
    for bone in bones:
        if PROPERTY in bone:
            twists[bone.name] = max(twists[bone.name], abs(_read_hint(bone)), np.pi)
    return twists


def read_rotation_modes(armature: bpy.types.Object) -> np.ndarray:
    """The channel by which each bone of the pose rotates, array of str, shape (N,)."""
    items = bpy.types.PoseBone.bl_rna.properties["rotation_mode"].enum_items
    channels = {item.value: ROTATIONS[item.identifier] for item in items}
    modes = read_array(armature.pose.bones, "rotation_mode", kind=np.int32)
    return np.array([channels[mode] for mode in modes.tolist()], dtype=object)


def list_actions(armature: bpy.types.Object) -> Iterator[bpy.types.Action]:
    """The actions that move an armature: the active one, and those of its NLA tracks."""
    data = armature.animation_data
    if data is None:
        return
    if data.action is not None:
        yield data.action
    for track in data.nla_tracks:
        yield from (strip.action for strip in track.strips if strip.action is not None)


def read_action_twists(action: bpy.types.Action, armature: bpy.types.Object) -> dict[str, float]:
    """The largest twists of the bones of an armature in an action, by name, radians."""
    found: dict[str, float] = {}
    for name, twist in _measure_action(action, armature):
        found[name] = max(found.get(name, 0.0), twist)
    return found


def _measure_action(action: bpy.types.Action, armature: bpy.types.Object) -> Iterator[tuple[str, float]]:
    """Names and largest twists of the bones that an action rotates."""
    curves: dict[tuple[str, str], dict[int, np.ndarray]] = {}
    for curve in iterate_curves(action):
        name, channel = split_bone_path(curve.data_path)
        if name and len(curve.keyframe_points):
            curves.setdefault((name, channel.removeprefix(".")), {})[curve.array_index] = read_array(
                curve.keyframe_points, "co", 2
            )
    for (name, channel), axes in curves.items():
        bone = armature.pose.bones.get(name)
        if bone is None:
            continue
        if channel == f'["{PROPERTY}"]':
            yield name, float(2.0 * np.pi * np.abs(axes[0][:, 1]).max())
        elif channel == ROTATIONS[bone.rotation_mode]:
            frames = np.unique(np.concatenate([keys[:, 0] for keys in axes.values()]))
            values = np.repeat(np.array(getattr(bone, channel), np.float64)[:, None], len(frames), axis=1)
            for axis, keys in axes.items():
                values[axis] = np.interp(frames, keys[:, 0], keys[:, 1])
            yield name, float(_measure_twists(channel, values).max())


def _measure_twists(channel: str, values: np.ndarray) -> np.ndarray:
    """Twists about y, radians, shape (N,), without their signs, of rotations of a channel, shape (3 or 4, N)."""
    if channel == "rotation_euler":
        return np.abs(values[1])
    if channel == "rotation_axis_angle":
        lengths = np.sqrt(np.square(values[1:]).sum(axis=0))
        return np.abs(values[0] * values[2] / np.where(lengths > 0.0, lengths, 1.0))
    return 2.0 * np.arctan2(np.abs(values[2]), np.abs(values[0]))
