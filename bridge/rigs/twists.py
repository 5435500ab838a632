"""How bones rotate and scale: what is asked of them in a pose, and at most in their actions."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...deformers.algebra.dual_quaternions import multiply_quaternions
from ...deformers.rig.rest import Joints
from ..animation.curves import iterate_curves, list_strips, split_bone_path
from ..arrays import read_array

PROPERTY = "supple_turns"
"""Custom property of a pose bone: about how many turns it twists. The whole turns nearest to it are taken."""

TURNS = f'["{PROPERTY}"]'
"""Its data path, from the bone."""

EULER = ("XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX")
ROTATIONS = {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"} | dict.fromkeys(
    EULER, "rotation_euler"
)

SCALE, CONSTRAINTS = "scale", "constraints"

CHAIN_KINDS = {"IK", "SPLINE_IK"}
"""Constraints that move bones above theirs, too."""

SIZES = {"rotation_quaternion": 4, "rotation_euler": 3, "rotation_axis_angle": 4, SCALE: 3}
"""Numbers of each channel."""


def list_hinted(joints: Joints) -> list[int]:
    """Joints whose twists are asked for, in the order of the inputs."""
    asked = [] if joints.fractions is None else [joints.fractions.last]
    asked += [] if joints.spread is None else [joints.spread.joints]
    return np.unique(np.concatenate(asked)).tolist() if asked else []


def read_hints(armature: bpy.types.Object, names: Sequence[str]) -> np.ndarray:
    """Twists that are asked of bones in the pose of an evaluated armature, radians, shape (N,).

    Parameters
    ----------
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


@dataclass(frozen=True)
class Rotations:
    """How the bones of a pose are rotated, and scaled, by their channels.

    Attributes
    ----------
    names : tuple of str
        Of the N bones.
    modes : array of str, shape (N,)
        The channel by which each rotates.
    values : dict from channel to float32 array, shape (N, 3 or 4)
        With 0 for what keys or drivers move: it differs from frame to frame.
    turns : dict from bone to radians
        Of the custom property, 0 where that is moved.
    blending : tuple
        How actions are added up, and how far IK may stretch bones.
    constraints : tuple of (str, str)
        Names of bones, and kinds of constraints that act on them; "IK" for all bones of its chain.
    """

    names: tuple[str, ...]
    modes: np.ndarray
    values: dict[str, np.ndarray]
    turns: dict[str, float]
    constraints: tuple[tuple[str, str], ...]
    blending: tuple

    def state(self) -> tuple:
        """What is the same where nothing has changed."""
        values = (rows.tobytes() for rows in self.values.values())
        return self.names, self.modes.tobytes(), *values, str(self.turns), self.constraints, self.blending


Path = tuple[str, str, int]
"""A bone, a channel and its axis."""


@dataclass(frozen=True)
class Moved:
    """What keys and drivers move of the rotations of an armature's bones.

    Attributes
    ----------
    names : tuple of str
        Of the N bones.
    axes : dict from channel to bool array, shape (N, 3 or 4)
    turns : set of str
        Names of bones whose custom property is moved.
    loose : set of (str, str)
        Bones and channels that are moved as keys do not tell, and bones whose constraints are.
    """

    names: tuple[str, ...]
    axes: dict[str, np.ndarray]
    turns: frozenset[str]
    loose: frozenset[tuple[str, str]] = frozenset()

    @classmethod
    def of(cls, armature: bpy.types.Object, keyed: Iterable[Path], loose: Sequence[Path] = ()) -> Moved:
        """What is moved of the bones that an armature has: as keys tell, and as they do not."""
        names = tuple(cast(Any, armature.pose).bones.keys())
        rows = {name: row for row, name in enumerate(names)}
        axes = {channel: np.zeros((len(names), size), bool) for channel, size in SIZES.items()}
        turns = set()
        for name, channel, axis in (*keyed, *loose):
            if channel == TURNS:
                turns.add(name)
            elif name in rows and channel != CONSTRAINTS:
                axes[channel][rows[name], axis] = True
        return cls(names, axes, frozenset(turns), frozenset((name, channel) for name, channel, _ in loose))


Keys = dict[tuple[str, str], dict[int, np.ndarray]]
"""By name of the bone and channel, then by axis: frames and values of keys, shape (K, 2)."""


def read_rotations(armature: bpy.types.Object, moved: Moved) -> Rotations:
    """What of the rotations of an armature's bones is the same in each frame, whichever is shown."""
    bones: Any = armature.pose.bones
    values = {channel: read_unmoved(armature, moved, channel) for channel in SIZES}
    with_turns = [bone for bone in bones if PROPERTY in bone]
    turns = {bone.name: 0.0 if bone.name in moved.turns else abs(_read_hint(bone)) for bone in with_turns}
    constraints = tuple(
        (bone.name, constraint.type)
        for bone in bones
        for constraint in bone.constraints
        if (not constraint.mute or (bone.name, CONSTRAINTS) in moved.loose) and constraint.is_valid
    )
    chains = [(kind, _list_chain(bones[name], kind)) for name, kind in constraints if kind in CHAIN_KINDS]
    constraints += tuple((name, kind) for kind, chain in chains for name in chain)
    data = armature.animation_data
    blending = ()
    if data is not None and len(data.nla_tracks):
        tracks = [(track.mute, [strip.blend_type for strip in track.strips]) for track in data.nla_tracks]
        blending = data.action_blend_type, str(tracks)
    blending = *blending, tuple(bones[name].ik_stretch for name, kind in constraints if kind == "IK")
    return Rotations(moved.names, _read_channels(bones), values, turns, constraints, blending)


def _list_chain(bone: Any, kind: str) -> list[str]:
    """Names of the bones that constraints of a kind at a pose bone may move, without that bone."""
    lengths = [constraint.chain_count for constraint in bone.constraints if constraint.type == kind]
    names, longest = [], 0 if 0 in lengths else max(lengths, default=0)
    while (bone := bone.parent) is not None and not 0 < longest <= len(names):
        names.append(bone.name)
    return names


def read_unmoved(armature: bpy.types.Object, moved: Moved, channel: str) -> np.ndarray:
    """A channel of all bones, float32, shape (N, 3 or 4), with 0 for what keys or drivers move."""
    rows = read_array(cast(Any, armature.pose).bones, channel, SIZES[channel])
    rows[moved.axes[channel]] = 0.0
    return rows


def has_moved(armature: bpy.types.Object, moved: Moved, channel: str, before: np.ndarray) -> bool:
    """Whether a channel is no longer as `read_unmoved` has read it, which is asked at each frame.

    Parameters
    ----------
    before : float32 array, shape (N, 3 or 4)
        What it has read.
    """
    now = np.zeros_like(before)
    try:
        cast(Any, armature.pose).bones.foreach_get(channel, now.ravel())
    except RuntimeError:  # there are more bones than before
        return True
    return bool(((now != before) & ~moved.axes[channel]).any())


def measure_twists(rotations: Rotations, moved: Moved, keys: Sequence[Keys]) -> dict[str, float]:
    """The largest twist of each bone, radians: in the keys of actions, and of what nothing moves.

    A bone with the custom property has half a turn at least: it is meant to go round.

    Parameters
    ----------
    moved : Moved
        What `rotations` was read without.
    keys : sequence of Keys
        Of the armature's actions.
    """
    found = np.zeros(len(rotations.names))
    for channel, values in rotations.values.items():
        own = (rotations.modes == channel) & ~moved.axes[channel].any(axis=1)
        found[own] = _measure_twists(channel, values[own].astype(np.float64).T)
    largest = dict(zip(rotations.names, found.tolist(), strict=True))
    for name, turns in rotations.turns.items():
        largest[name] = max(largest[name], turns, np.pi)
    rows = {name: row for row, name in enumerate(rotations.names)}
    for (name, channel), axes in itertools.chain.from_iterable(one.items() for one in keys):
        if name not in rows:
            continue
        if channel == TURNS:
            largest[name] = max(largest[name], float(2.0 * np.pi * np.abs(axes[0][:, 1]).max()))
        elif channel == rotations.modes[rows[name]]:
            frames = np.unique(np.concatenate([pairs[:, 0] for pairs in axes.values()]))
            values = interpolate_keys(rotations.values[channel][rows[name]], axes, frames)
            largest[name] = max(largest[name], float(_measure_twists(channel, values).max()))
    return largest


def interpolate_keys(unmoved: np.ndarray, axes: dict[int, np.ndarray], frames: np.ndarray) -> np.ndarray:
    """Values of a channel at frames, straight between keys, shape (3 or 4, N).

    Parameters
    ----------
    unmoved : float array, shape (3 or 4,)
        Of the axes without keys.
    axes : dict from axis to float array, shape (K, 2)
        Frames and values of keys.
    """
    values = np.repeat(unmoved[:, None].astype(np.float64), len(frames), axis=1)
    for axis, pairs in axes.items():
        values[axis] = np.interp(frames, pairs[:, 0], pairs[:, 1])
    return values


def rotations_of_channel(channel: str, mode: str, values: np.ndarray) -> np.ndarray:
    """Unit quaternions, shape (N, 4), from the values of a channel, shape (3 or 4, N), of a bone in a rotation mode."""
    if channel == "rotation_euler":
        halves = 0.5 * values
        turns = np.zeros((3, values.shape[1], 4))
        turns[:, :, 0] = np.cos(halves)
        turns[range(3), :, range(1, 4)] = np.sin(halves)
        first, second, third = (turns["XYZ".index(axis)] for axis in mode)
        return multiply_quaternions(third, multiply_quaternions(second, first))
    if channel == "rotation_axis_angle":
        lengths = np.sqrt(np.square(values[1:]).sum(axis=0))
        along = np.sin(0.5 * values[0]) * values[1:] / np.where(lengths > 0.0, lengths, 1.0)
        values = np.concatenate([np.where(lengths > 0.0, np.cos(0.5 * values[0]), 1.0)[None], along])
    lengths = np.sqrt(np.square(values).sum(axis=0))
    return np.where(lengths > 0.0, values / np.where(lengths > 0.0, lengths, 1.0), np.eye(1, 4).T).T


def read_modes(bones: Any) -> np.ndarray:
    """The rotation mode of each bone of a pose, array of str, shape (N,)."""
    modes, rows = _read_mode_rows(bones)
    return np.array(modes)[rows]


def _read_channels(bones: Any) -> np.ndarray:
    """The channel by which each bone of a pose rotates, array of str, shape (N,)."""
    modes, rows = _read_mode_rows(bones)
    return np.array([ROTATIONS[mode] for mode in modes])[rows]


def _read_mode_rows(bones: Any) -> tuple[list[str], np.ndarray]:
    """All rotation modes, in the order of their values, and which of them each bone of a pose has, shape (N,)."""
    items = sorted(bpy.types.PoseBone.bl_rna.properties["rotation_mode"].enum_items, key=lambda item: item.value)
    values = read_array(bones, "rotation_mode", kind=np.int32)
    return [item.identifier for item in items], np.searchsorted([item.value for item in items], values)


def list_actions(armature: bpy.types.Object) -> Iterator[bpy.types.Action]:
    """The actions that move an armature: the active one, and those of its NLA tracks."""
    data = armature.animation_data
    if data is None:
        return
    if data.action is not None:
        yield data.action
    for track in data.nla_tracks:
        yield from (strip.action for strip in list_strips(track.strips) if strip.action is not None)


def read_keys(action: bpy.types.Action) -> Keys:
    """The keys of an action that rotate bones."""
    found: Keys = {}
    for curve in iterate_curves(action):
        if (moved := _find_moved(curve)) and moved[1] != CONSTRAINTS and len(curve.keyframe_points):
            name, channel, axis = moved
            found.setdefault((name, channel), {})[axis] = read_array(curve.keyframe_points, "co", 2)
    return found


def read_loose(action: bpy.types.Action) -> list[Path]:
    """What an action moves as its keys do not tell: by modifiers of curves, beyond the last key, and constraints."""
    return [
        moved
        for curve in iterate_curves(action)
        if (moved := _find_moved(curve))
        and (
            moved[1] == CONSTRAINTS
            or not len(curve.keyframe_points)
            or curve.extrapolation != "CONSTANT"
            or any(not modifier.mute for modifier in curve.modifiers)
        )
    ]


def list_driven(armature: bpy.types.Object) -> list[Path]:
    """What drivers move of an armature's bones: their rotations, scales and constraints."""
    data = armature.animation_data
    return list(filter(None, map(_find_moved, data.drivers))) if data is not None else []


def _find_moved(curve: bpy.types.FCurve) -> Path | None:
    """Bone, channel and axis, where a curve moves a rotation, a scale, the custom property, or a constraint."""
    name, channel = split_bone_path(curve.data_path)
    channel = channel.removeprefix(".")
    if name and channel.startswith(f"{CONSTRAINTS}["):
        return name, CONSTRAINTS, 0
    if not name or (channel != TURNS and curve.array_index >= SIZES.get(channel, 0)):
        return None
    return name, channel, 0 if channel == TURNS else curve.array_index


def _measure_twists(channel: str, values: np.ndarray) -> np.ndarray:
    """Twists about y, radians, shape (N,), without their signs, of rotations of a channel, shape (3 or 4, N)."""
    if channel == "rotation_euler":
        return np.abs(values[1])
    if channel == "rotation_axis_angle":
        lengths = np.sqrt(np.square(values[1:]).sum(axis=0))
        return np.abs(values[0] * values[2] / np.where(lengths > 0.0, lengths, 1.0))
    return 2.0 * np.arctan2(np.abs(values[2]), np.abs(values[0]))
