"""Walkers for tests of motions: rigs of any rotation mode that step, and travel or stay in their place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from scenes import add_armature, curves_of, play, select

BONES = (
    ("root", "", (0, 0, 0), (0, 0.3, 0)), ("hips", "root", (0, 0, 1.0), (0, 0, 1.3)),
    ("chest", "hips", (0, 0, 1.3), (0, 0, 1.8)),
    ("thigh.l", "hips", (0.1, 0, 1.0), (0.1, -0.02, 0.5)), ("shin.l", "thigh.l", (0.1, -0.02, 0.5), (0.1, 0, 0.1)),
    ("foot.l", "shin.l", (0.1, 0, 0.1), (0.1, -0.15, 0.02)),
    ("toe.l", "foot.l", (0.1, -0.15, 0.02), (0.1, -0.22, 0.02)),
    ("thigh.r", "hips", (-0.1, 0, 1.0), (-0.1, -0.02, 0.5)), ("shin.r", "thigh.r", (-0.1, -0.02, 0.5), (-0.1, 0, 0.1)),
    ("foot.r", "shin.r", (-0.1, 0, 0.1), (-0.1, -0.15, 0.02)),
    ("toe.r", "foot.r", (-0.1, -0.15, 0.02), (-0.1, -0.22, 0.02)),
)  # fmt: skip


def add_walker(mode: str = "QUATERNION") -> Any:
    """An armature with two legs, all of whose bones rotate by a mode."""
    armature = add_armature("Walker", BONES)
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
    return armature


def key_rotation(bone: Any, axis: Sequence[float], angle: float, frame: float) -> None:
    """Rotate a bone about an axis of the armature, and key it, whatever its mode."""
    turn = bone.bone.matrix_local.to_quaternion()
    rotation = turn.inverted() @ Quaternion(axis, angle) @ turn
    if bone.rotation_mode == "QUATERNION":
        bone.rotation_quaternion = rotation
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    elif bone.rotation_mode == "AXIS_ANGLE":
        axis, angle = rotation.to_axis_angle()
        bone.rotation_axis_angle = angle, *axis
        bone.keyframe_insert("rotation_axis_angle", frame=frame)
    else:
        bone.rotation_euler = rotation.to_euler(bone.rotation_mode)
        bone.keyframe_insert("rotation_euler", frame=frame)


def add_walk(
    armature: Any,
    name: str = "Walk",
    frames: Sequence[int] = range(1, 62),
    period: float = 30.0,
    speed: float = 0.03,
    turn: float = 0.0,
    mover: str = "hips",
) -> bpy.types.Action:
    """An action in which legs swing and the body goes along -y, turning; a key at each of its frames.

    `mover` is the bone that travels, "" for the object itself.
    """
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    armature.animation_data_create().action = action
    bones = armature.pose.bones
    for count, frame in enumerate(frames):
        phase = 2.0 * math.pi * count / period
        heading = turn * count
        place = np.array([0.0, -speed * count, 0.0])
        if turn:
            place[:2] = speed / turn * np.array([1.0 - math.cos(heading), -math.sin(heading)])
        for side, sign in (("l", 1.0), ("r", -1.0)):
            swing = sign * math.sin(phase)
            key_rotation(bones[f"thigh.{side}"], (1, 0, 0), -0.4 * swing, frame)
            key_rotation(bones[f"shin.{side}"], (1, 0, 0), 0.5 * max(0.0, sign * math.cos(phase)), frame)
        key_rotation(bones["chest"], (0, 0, 1), 0.2 * math.sin(phase), frame)
        if mover:
            bone = bones[mover]
            key_rotation(bone, (0, 0, 1), -heading, frame)
            bone.location = bone.bone.matrix_local.to_3x3().inverted() @ Matrix.Translation(place).translation
            bone.keyframe_insert("location", frame=frame)
        else:
            armature.location = place
            armature.keyframe_insert("location", frame=frame)
    return action


def clear(armature: Any) -> None:
    """Let an armature play nothing, at rest."""
    armature.animation_data.action = None
    for bone in armature.pose.bones:
        bone.matrix_basis = Matrix()
    select(armature)


def read_joints(armature: Any, frames: Sequence[int]) -> np.ndarray:
    """Heads of all bones as the scene plays them, world space, shape (F, B, 3)."""
    points = []
    for frame in frames:
        bpy.context.scene.frame_set(frame)
        found = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        points.append([found.matrix_world @ bone.head for bone in found.pose.bones])
    return np.array(points)


def read_action(armature: Any, action: bpy.types.Action, frames: Sequence[int]) -> np.ndarray:
    """The same when the armature plays an action, and no strip."""
    data = armature.animation_data
    former, data.use_nla = data.action, False
    play(armature, action)
    points = read_joints(armature, frames)
    data.action, data.use_nla = former, True
    return points


def list_keys(action: bpy.types.Action) -> list:
    """All that an action holds."""
    return [
        (curve.data_path, curve.array_index, [(tuple(key.co), key.interpolation) for key in curve.keyframe_points])
        for curve in curves_of(action)
    ]
