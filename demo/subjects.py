"""The characters that are compared: one arm, skinned by Blender in two ways and by Supple in two."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import bpy
import numpy as np

from .arm import Arm
from .character import build_character
from .implicit import Array
from .motion import FRAME_END, FRAME_START, POSES, animate

SUPPLE_METHODS = {"Centers": "CENTERS", "Particles": "PARTICLES"}
"""Supple's methods that are compared, and how Bind knows them."""

METHODS = ("Linear", "Preserve Volume", *SUPPLE_METHODS)


@dataclass(frozen=True)
class Subject:
    """One of METHODS at work: a character alone in its scene, so that a step of the scene is a step of the method."""

    method: str
    scene: bpy.types.Scene
    obj: bpy.types.Object
    armature: bpy.types.Object


def build_subject(method: str, arm: Arm) -> Subject:
    """Build the animated arm in a scene of its own, skinned by one of METHODS."""
    scene = bpy.data.scenes.new(method)
    bpy.context.window.scene = scene
    obj, armature = build_character(name=f"Arm {method}", arm=arm)
    animate(obj, armature)
    obj.modifiers["Armature"].use_deform_preserve_volume = method == "Preserve Volume"
    if method in SUPPLE_METHODS:
        bpy.ops.object.select_all(action="DESELECT")
        obj.select_set(True)
        bpy.context.view_layer.objects.active = obj
        bpy.ops.supple.bind(method=SUPPLE_METHODS[method])
    return Subject(method, scene, obj, armature)


def show_pose(subject: Subject, pose: str) -> bpy.types.Object:
    """Set a subject's scene to one of POSES, and return its evaluated mesh object."""
    bpy.context.window.scene = subject.scene
    subject.scene.frame_set(POSES[pose].frame)
    return subject.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())


def posed_points(subject: Subject, pose: str) -> Array:
    """Return a subject's vertices (V, 3) in one of POSES, in meters."""
    mesh = show_pose(subject, pose).data
    points = np.empty(3 * len(mesh.vertices), dtype=np.float32)
    mesh.vertices.foreach_get("co", points)
    return points.reshape(-1, 3).astype(np.float64)


def time_frames(subjects: list[Subject], rounds: int = 1) -> dict[str, float]:
    """Return the median time in milliseconds of one whole `frame_set` for each method.

    Each frame of the animation is stepped to by all methods in turn, so that what disturbs the computer disturbs all.
    """
    times: dict[str, list[float]] = {subject.method: [] for subject in subjects}
    for turn in range(rounds * (FRAME_END - FRAME_START + 1)):
        frame = FRAME_START + turn % (FRAME_END - FRAME_START + 1)
        for offset in range(len(subjects)):
            subject = subjects[(turn + offset) % len(subjects)]
            start = time.perf_counter()
            subject.scene.frame_set(frame)
            times[subject.method].append(1000.0 * (time.perf_counter() - start))
    return {method: statistics.median(values) for method, values in times.items()}
