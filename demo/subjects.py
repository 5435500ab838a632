"""The characters that are compared: skinned by Blender in two ways, and by Supple in two."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import Any

import bpy

from .arm import Arm
from .character import build_character
from .enable import load_api
from .motion import FRAME_END, FRAME_START, POSES, animate

# What Supple binds by; the other two are those of Blender's Armature modifier.
BINDS = {
    "Linear": {},
    "Preserve Volume": {},
    "Supple Fast": {"look": "FAST"},
    "Supple Centers": {"method": "CENTERS"},
    "Supple Particles": {"method": "PARTICLES"},
}
ARM_METHODS = ("Linear", "Preserve Volume", "Supple Centers", "Supple Particles")


@dataclass(frozen=True)
class Subject:
    """One of BINDS at work: a character alone in its scene, so that a step of the scene is a step of the method."""

    method: str
    scene: bpy.types.Scene
    obj: bpy.types.Object
    armature: bpy.types.Object


def build_subject(method: str, arm: Arm) -> Subject:
    """Build the animated arm in a scene of its own, skinned by one of BINDS."""
    scene = bpy.data.scenes.new(method)
    bpy.context.window.scene = scene
    obj, armature = build_character(name=f"Arm {method}", arm=arm)
    animate(obj, armature)
    skin(load_api().Character(armature), method)
    return Subject(method, scene, obj, armature)


def skin(character: Any, method: str) -> None:
    """Have one of BINDS deform all meshes of a character."""
    for obj in character.meshes:
        obj.modifiers["Armature"].use_deform_preserve_volume = method == "Preserve Volume"
    if BINDS[method]:
        character.bind(**BINDS[method])


def show_pose(subject: Subject, pose: str) -> bpy.types.Mesh:
    """Set a subject's scene to one of POSES, and return a new mesh of what is shown."""
    bpy.context.window.scene = subject.scene
    subject.scene.frame_set(POSES[pose].frame)
    return copy_shown(subject.obj)


def copy_shown(obj: bpy.types.Object) -> bpy.types.Mesh:
    """Return a new mesh: an object as it is shown in the current pose."""
    return bpy.data.meshes.new_from_object(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()))


def time_frames(subjects: list[Subject]) -> dict[str, float]:
    """Return the median time in milliseconds of one whole `frame_set` for each method.

    Each frame is shown by all methods in turn, so that a busy computer slows all of them.
    """
    times: dict[str, list[float]] = {subject.method: [] for subject in subjects}
    for frame in range(FRAME_START, FRAME_END + 1):
        for offset in range(len(subjects)):
            subject = subjects[(frame + offset) % len(subjects)]
            start = time.perf_counter()
            subject.scene.frame_set(frame)
            times[subject.method].append(1000.0 * (time.perf_counter() - start))
    return {method: statistics.median(values) for method, values in times.items()}
