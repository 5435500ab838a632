"""Cost of drivers and shape keys of corrections while a character plays: a section of benchmarks/corrections.py."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import bpy
import numpy as np
from mathutils import Quaternion

from harness import find, is_there, note_time, open_file, print_table
from benchmarks.timing import WARM, Character, bind, find_character
from deformers.corrections.readers import find_reader

ANGLES = (30.0, 60.0, 90.0)
# Bones of mh_human with a correction at each of `ANGLES`, driven by one angle
HINGES = (
    "lowerarm01.L", "lowerarm01.R", "lowerleg01.L", "lowerleg01.R", "foot.L", "foot.R", "wrist.L", "wrist.R",
    "finger2-1.L", "finger2-1.R",
)  # fmt: skip
# Bones with corrections all around, driven by radial basis functions
BALLS = ("upperarm01.L", "upperarm01.R", "upperleg01.L", "upperleg01.R", "head")
AROUND = ((1, 0, 0), (-1, 0, 0), (0, 0, 1), (0, 0, -1), (0, 1, 0), (0, -1, 0))
REACH = 0.05  # Radius of a correction around a bone's head, in heights of the character


def run_cost(arguments: argparse.Namespace) -> None:
    """mh_human, 163 bones, that plays its action: milliseconds of a step, 60 corrections, 30 of them by angle"""
    rows = []
    if not is_there(arguments.assets, "mh_human"):
        return
    for method in [*arguments.methods, ""]:
        found = np.array([compare(arguments.assets, method) for _ in range(arguments.rounds)])
        best = found.min(axis=0)
        rows.append((method or "Blender's own, linear", *best, float(best[2] / best[0])))
    print_table(("method", "without", "drivers alone", "corrections", "keys at a time", "with / without"), rows)


def compare(assets: Path, method: str) -> tuple[float, float, float, float]:
    """Milliseconds of a step without corrections, with muted ones, and with them; how many are not 0, mean."""
    open_file(assets, "mh_human")
    character = find_character()
    if method:
        bind(method)
    time_step(character)  # what is built in the first steps
    plain = time_step(character)
    body = max(character.meshes, key=lambda obj: len(obj.data.vertices))
    for bone in (*HINGES, *BALLS):
        add_corrections(body, character.armature, bone, ANGLES if bone in HINGES else ())
    keys, active = body.data.shape_keys.key_blocks, []
    corrected = time_step(character)
    for step in character.play():
        step()
        active.append(sum(key.value != 0.0 for key in keys[1:]))
    for key in keys:
        key.mute = True
    return plain, time_step(character), corrected, float(np.mean(active))


def time_step(character: Character) -> float:
    """Milliseconds of a step of the action: those of the fastest quarter, as other processes make some slow."""
    taken: dict[str, list[float]] = {}
    for step in character.play():
        note_time(taken, "", step)
    return float(np.quantile(taken[""][WARM:], 0.25))


def add_corrections(body: Any, armature: Any, bone: str, angles: tuple[float, ...]) -> None:
    """Shape keys near a bone, with their drivers: one for each angle of its bend, or for each of `AROUND`."""
    bend = find_axis(armature, bone)
    turns = [(bend, angle) for angle in angles] or [(axis, 60.0) for axis in AROUND]
    rotations = np.array([[Quaternion(axis, np.radians(angle))] for axis, angle in turns])
    points = np.array([vertex.co for vertex in body.data.vertices])
    center = np.array(body.matrix_world.inverted() @ armature.matrix_world @ armature.data.bones[bone].head_local)
    away = np.linalg.norm(points - center, axis=1) / (REACH * np.ptp(points[:, 2]))
    offsets = 0.01 * np.maximum(0.0, 1.0 - away)[:, None] * (points - center)
    if body.data.shape_keys is None:
        body.shape_key_add(name="Basis", from_mix=False)
    names = []
    for number in range(len(turns)):
        key = body.shape_key_add(name=f"{bone} {number}", from_mix=False)
        key.value = 0.0
        key.data.foreach_set("co", (points + offsets).ravel())
        names.append(key.name)
    reader = find_reader(rotations, ["AUTO"] * len(names), names)
    find("bridge.animation.correction_drivers").drive_keys(body, armature, [bone], names, reader)


def find_axis(armature: Any, bone: str) -> tuple[float, float, float]:
    """Across a bone, which it bends about most in the action's frames."""
    total = np.zeros((2, 2))
    for frame in range(1, 80, 8):
        bpy.context.scene.frame_set(frame)
        rotation = armature.pose.bones[bone].matrix_basis.to_quaternion()
        bend = np.array([rotation.x, rotation.z])
        total += np.outer(bend, bend)
    x, z = np.linalg.eigh(total)[1][:, -1].tolist()
    return x, 0.0, z
