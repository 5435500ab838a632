"""Animated channels of an armature, frame by frame, and the resulting matrices of its bones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Euler, Quaternion

from ..arrays import read_array
from .curves import Curve, list_curves, split_bone_path

# How many numbers a transform channel has
WIDTHS = {"location": 3, "scale": 3, "rotation_quaternion": 4, "rotation_euler": 3, "rotation_axis_angle": 4}

REST = {"location": (0.0, 0.0, 0.0), "scale": (1.0, 1.0, 1.0), "rotation": (1.0, 0.0, 0.0, 0.0)}
# The name that stands for the armature object itself among its bones
OBJECT = ""

Node = bpy.types.PoseBone | bpy.types.Object


@dataclass(frozen=True, eq=False)
class Sampled:
    """An F-curve in successive frames.

    Attributes
    ----------
    node, channel : str
        The bone, or `OBJECT`, and the property as a path from there.
    index : int
        Into a property of several numbers, else 0.
    values : float array, shape (F,)
    group : str
        That it is listed in; "" for none.
    is_stepped : bool
        Whether it holds each key up to the next, as switches do.
    """

    node: str
    channel: str
    index: int
    values: np.ndarray
    group: str
    is_stepped: bool


def is_cyclic(armature: bpy.types.Object) -> bool:
    """Whether the action that an armature object plays repeats: it is marked so, or all its curves do."""
    moving = [curve for curve in list_curves(armature) if len(curve.keyframe_points) > 1]
    action: Any = armature.animation_data.action
    return action.use_cyclic or (bool(moving) and all(map(_has_cycles, moving)))


def _has_cycles(curve: bpy.types.FCurve) -> bool:
    return any(modifier.type == "CYCLES" and not modifier.mute for modifier in curve.modifiers)


def sample_curves(armature: bpy.types.Object, frames: Sequence[int], period: int = 0) -> list[Sampled]:
    """The F-curves of the action that an armature object plays, those that are not muted, in some frames.

    `period`: frames after which curves without a Cycles modifier repeat, locations with their offset; 0 for none.
    """
    sampled = []
    for curve in list_curves(armature):
        if curve.mute or (curve.group is not None and curve.group.mute):
            continue
        node, channel = split_bone_path(curve.data_path)
        if node not in armature.pose.bones and curve.data_path.startswith("pose.bones"):
            continue
        values = np.fromiter(map(curve.evaluate, frames), np.float64, len(frames))
        if period and not _has_cycles(curve):
            step = values[period] - values[0] if channel.endswith("location") else 0.0
            values[period + 1 :] = values[1 : len(values) - period] + step
        keys = curve.keyframe_points
        is_stepped = bool(len(keys)) and all(key.interpolation == "CONSTANT" for key in keys)
        group = curve.group.name if curve.group is not None else ""
        sampled.append(Sampled(node, channel.removeprefix("."), curve.array_index, values, group, is_stepped))
    return sampled


def find_node(armature: bpy.types.Object, name: str) -> Node:
    """The pose bone of a name, or the armature object for `OBJECT`."""
    return armature.pose.bones[name] if name else armature


def path_of(name: str, channel: str) -> str:
    """Data path of a property of a node, from the armature object."""
    if not name:
        return channel
    joint = "" if channel.startswith("[") else "."
    return f'pose.bones["{bpy.utils.escape_identifier(name)}"]{joint}{channel}'


def rotation_channel(node: Node) -> str:
    """The property that rotates a node, by its rotation mode."""
    mode = node.rotation_mode
    return {"QUATERNION": "rotation_quaternion", "AXIS_ANGLE": "rotation_axis_angle"}.get(mode, "rotation_euler")


def read_quaternions(node: Node, values: np.ndarray) -> np.ndarray:
    """Unit quaternions, shape (F, 4), from a node's rotation channels, shape (F, 3) or (F, 4) by its rotation mode."""
    channel = rotation_channel(node)
    if channel == "rotation_quaternion":
        lengths = np.linalg.norm(values, axis=1, keepdims=True)
        return np.where(lengths > 0.0, values / np.where(lengths > 0.0, lengths, 1.0), REST["rotation"])
    if channel == "rotation_axis_angle":
        return np.array([Quaternion(row[1:], row[0]) for row in values.tolist()]).reshape(-1, 4)
    return np.array([Euler(row, node.rotation_mode).to_quaternion() for row in values.tolist()]).reshape(-1, 4)


def write_quaternions(node: Node, quaternions: np.ndarray) -> np.ndarray:
    """A node's rotation channels by its rotation mode, shape (F, 3) or (F, 4), from unit quaternions, shape (F, 4).

    Angles go on from frame to frame without a jump by a whole turn.
    """
    channel = rotation_channel(node)
    if channel == "rotation_quaternion":
        return quaternions
    if channel == "rotation_axis_angle":
        halves = np.arctan2(np.linalg.norm(quaternions[:, 1:], axis=1), quaternions[:, 0])
        sines = np.sin(halves)[:, None]
        axes = np.where(np.abs(sines) > 1e-9, quaternions[:, 1:] / np.where(sines == 0.0, 1.0, sines), (0.0, 1.0, 0.0))
        return np.concatenate([2.0 * halves[:, None], axes], axis=1)
    rows: list[Any] = []
    for quaternion in quaternions.tolist():
        last = (rows[-1],) if rows else ()
        rows.append(Quaternion(quaternion).to_euler(node.rotation_mode, *last))
    return np.array(rows, np.float64).reshape(-1, 3)


def read_now(node: Node, channel: str) -> np.ndarray:
    """The numbers of a transform channel as they are, float array, shape (n,)."""
    return np.array(getattr(node, channel), np.float64)


def make_curves(path: str, frames: np.ndarray, values: np.ndarray, group: str) -> Iterable[Curve]:
    """Curves of a property of several numbers: a key on each frame, or a single one for a constant number.

    Parameters
    ----------
    frames : float array, shape (F,)
    values : float array, shape (F, n)
    group : str
        Group of the curves.
    """
    for index, column in enumerate(values.T):
        count = 1 if np.ptp(column) < 1e-7 else len(frames)
        yield Curve(path, index, frames[:count], column[:count], group)


@dataclass(frozen=True, eq=False)
class BoneRest:
    """All bones of an armature at rest.

    Attributes
    ----------
    names : tuple of str
        In the order of the pose's bones.
    parents : tuple of int
        -1 for none.
    heads, tails : float arrays, shape (B, 3)
        World space.
    deforms, is_connected, is_hinged : bool arrays, shape (B,)
        The last: their parent does not rotate them.
    """

    names: tuple[str, ...]
    parents: tuple[int, ...]
    heads: np.ndarray
    tails: np.ndarray
    deforms: np.ndarray
    is_connected: np.ndarray
    is_hinged: np.ndarray


def read_bone_rest(armature: bpy.types.Object) -> BoneRest:
    """All bones of an armature at rest, at the object's current transform."""
    bones: list[Any] = [pose_bone.bone for pose_bone in armature.pose.bones]
    index = {bone.name: number for number, bone in enumerate(bones)}
    world = np.array(armature.matrix_world, np.float64)
    ends = np.array([[*bone.head_local, *bone.tail_local] for bone in bones], np.float64).reshape(-1, 2, 3)
    ends = ends @ world[:3, :3].T + world[:3, 3]
    return BoneRest(
        names=tuple(index),
        parents=tuple(index[bone.parent.name] if bone.parent is not None else -1 for bone in bones),
        heads=ends[:, 0],
        tails=ends[:, 1],
        deforms=np.array([bone.use_deform for bone in bones], bool),
        is_connected=np.array([bone.use_connect and bone.parent is not None for bone in bones], bool),
        is_hinged=np.array([not bone.use_inherit_rotation and bone.parent is not None for bone in bones], bool),
    )


@dataclass(frozen=True, eq=False)
class Matrices:
    """Matrices of an armature in successive frames.

    Attributes
    ----------
    world, own : float64 arrays, shape (F, 4, 4)
        Of the object; from its own location, rotation and scale.
    pose, basis : float64 arrays, shape (F, B, 4, 4)
        Of all bones, armature space; from their channels.
    """

    world: np.ndarray
    own: np.ndarray
    pose: np.ndarray
    basis: np.ndarray


def read_matrices(armature: bpy.types.Object) -> Matrices:
    """Matrices of an evaluated armature object, in one frame."""
    bones = armature.pose.bones
    pose, basis = (
        read_array(bones, name, 16).reshape(1, -1, 4, 4).transpose(0, 1, 3, 2).astype(np.float64)
        for name in ("matrix", "matrix_basis")
    )
    return Matrices(
        np.array(armature.matrix_world, np.float64)[None],
        np.array(armature.matrix_basis, np.float64)[None],
        pose,
        basis,
    )


def join_frames(parts: Sequence[Matrices]) -> Matrices:
    """Matrices of successive frames, one after the other."""
    return Matrices(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in ("world", "own", "pose", "basis"))
    )
