"""A runner with a tail: its hips bob in a cycle, and the tail is carried stiffly, or moved by keys of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import bpy
import numpy as np

from scenes import add_armature

TAIL = ("tail.1", "tail.2", "tail.3")
BONES = (
    ("root", "", (0, 0, 0), (0, 0.3, 0)), ("hips", "root", (0, 0, 1), (0, 0, 1.3)),
    ("tail.1", "hips", (0, 0.1, 1), (0, 0.4, 1)), ("tail.2", "tail.1", (0, 0.4, 1), (0, 0.7, 1)),
    ("tail.3", "tail.2", (0, 0.7, 1), (0, 0.9, 1)), ("ear.L", "hips", (0.1, -0.1, 1.3), (0.15, -0.1, 1.5)),
)  # fmt: skip
FRAMES = (1, 25)


def add_runner() -> Any:
    """An armature with a tail and an ear, 24 frames a second."""
    return add_armature("Runner", BONES)


def add_run(armature: Any, name: str = "Run", height: float = 0.1) -> bpy.types.Action:
    """A cycle of 24 frames in which the hips bob and rock, a key for each frame; it is played."""
    action = bpy.data.actions.new(name)
    action.use_fake_user = True
    armature.animation_data_create().action = action
    hips = armature.pose.bones["hips"]
    for frame in range(FRAMES[0], FRAMES[1] + 1):
        phase = 2 * math.pi * (frame - FRAMES[0]) / (FRAMES[1] - FRAMES[0])
        hips.location = 0, height * math.sin(2 * phase), 0
        hips.rotation_quaternion = math.cos(0.1 * math.sin(phase)), math.sin(0.1 * math.sin(phase)), 0, 0
        hips.keyframe_insert("location", frame=frame)
        hips.keyframe_insert("rotation_quaternion", frame=frame)
    return action


def read_bones(armature: Any, frames: Any, names: Sequence[str] = ()) -> np.ndarray:
    """Matrices of bones, by default all but lag bones, as the scene plays them, float32, shape (F, B, 4, 4)."""
    found = []
    for frame in frames:
        whole = math.floor(frame)
        bpy.context.scene.frame_set(whole, subframe=frame - whole)
        posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
        bones = [posed.pose.bones[name] for name in names]
        bones = bones or [bone for bone in posed.pose.bones if not bone.bone.supple.is_lag]
        found.append([np.array(bone.matrix, np.float32) for bone in bones])
    return np.array(found)


def add_skin(armature: Any) -> Any:
    """A ball about the hips, with all of their weights, and a belly in front of it."""
    bpy.ops.mesh.primitive_uv_sphere_add(location=(0, 0, 1.15), radius=0.25)
    skin = bpy.context.active_object
    skin.modifiers.new("Armature", "ARMATURE").object = armature
    everywhere = range(len(skin.data.vertices))
    skin.vertex_groups.new(name="root").add(everywhere, 0.3, "REPLACE")
    skin.vertex_groups.new(name="hips").add(everywhere, 0.7, "REPLACE")
    front = [vertex.index for vertex in skin.data.vertices if vertex.co.y < -0.05]
    skin.vertex_groups.new(name="front").add(front, 1.0, "REPLACE")
    return skin


def add_tail_skin(armature: Any) -> Any:
    """A tube around the tail, whose weights cross over from bone to bone."""
    bpy.ops.mesh.primitive_cylinder_add(vertices=8, radius=0.05, depth=0.8, rotation=(np.pi / 2, 0, 0))
    bpy.ops.object.transform_apply()
    skin = bpy.context.active_object
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.subdivide(number_cuts=6)
    bpy.ops.object.mode_set(mode="OBJECT")
    skin.location = 0, 0.5, 1
    bpy.ops.object.transform_apply()
    skin.modifiers.new("Armature", "ARMATURE").object = armature
    places = np.interp([vertex.co.y for vertex in skin.data.vertices], (0.1, 0.9), (0.0, 2.0))
    for number, name in enumerate(TAIL):
        group = skin.vertex_groups.new(name=name)
        for vertex, place in enumerate(places):
            if abs(place - number) < 1.0:
                group.add([vertex], 1.0 - abs(place - number), "REPLACE")
    return skin


def hold(armature: Any, names: Sequence[str] = TAIL) -> None:
    """Have constraints move bones, as they move at rest."""
    for name in names:
        held = armature.pose.bones[name].constraints.new("COPY_ROTATION")
        held.target, held.subtarget, held.owner_space, held.target_space = armature, "root", "LOCAL", "LOCAL"
