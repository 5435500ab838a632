"""Corrections: how exact they are, how near they bring characters to Particles, and what they cost.

    python benchmarks/corrections.py [--only shown mirror keep from_particles cost] [--characters NAME ...]

Needs Blender's module bpy. Characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import bpy
import numpy as np

from harness import (
    ASSETS,
    api,
    find,
    list_at_hand,
    open_file,
    option,
    parse,
    print_table,
    read_posed,
    run_sections,
    take_all,
    time_call,
)
from benchmarks.correction_costs import run_cost
from benchmarks.correction_exactness import run_keep, run_mirror, run_shown
from benchmarks.timing import Character, bind, find_character
from deformers.corrections.rotation_choice import pose_joint

CHARACTERS = ("mh_human", "human_male", "kaykit_knight", "fox", "cesium_man", "mh_human_game")
ANGLES = (40.0, 80.0, 120.0)
LIMBS = ("forearm", "shin", "thigh")  # Parts of a body that begin at elbows, knees and hips
# Joints of a rig without a preset
FOX = tuple(f"{leg}_Leg_{part}_{side}" for leg in ("Front", "Back") for part in ("Upper", "Lower") for side in "LR")
EVERY = 4  # Step between measured frames
NEAR = 0.1  # A vertex is near a joint if Particles move it by more than this share of the largest difference


def run_from_particles(arguments: argparse.Namespace) -> None:
    """Corrected after Particles at elbows, knees and hips: distance to Particles in all actions, mm rms"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        for method in arguments.methods:
            open_file(arguments.assets, name)
            if list_joints(find_character().armature):
                rows += measure_character(name, method)
    header = "character", "method", "mesh", "keys", "seconds", "near: without", "with", "ratio", "by action"
    print_table((*header, "all vertices: ratio"), rows)


def measure_character(name: str, method: str) -> list[tuple]:
    """Correct a character after Particles, and measure the gain: rows of the table."""
    character = find_character()
    for mesh in character.meshes:
        mesh.supple.twist = "OFF"  # Particles spread no twist
    bind(method)
    correct, joints = api().Character(character.armature).correct, list_joints(character.armature)
    seconds, report = time_call(partial(correct, "PARTICLES", joints=joints, angles=np.radians(ANGLES)))
    print("; ".join(report.describe()), flush=True)
    rows = []
    for mesh in character.meshes:
        keys = [key for obj, key in report.keys if obj == mesh.name]
        if keys:
            near, actions = find_near(mesh, keys), list(measure_actions(character, mesh, keys))
            single = [measure(left[:, near]) / measure(without[:, near]) for without, left in actions]
            without, left = (np.concatenate(missing) for missing in zip(*actions, strict=True))
            by_action = f"{min(single):.2f} to {max(single):.2f} ({len(actions)})"
            figures = 1e3 * measure(without[:, near]), 1e3 * measure(left[:, near])
            ratios = figures[1] / figures[0], by_action, measure(left) / measure(without)
            rows.append((name, method, mesh.name, len(keys), seconds, *figures, *ratios))
    return rows


def list_joints(armature: bpy.types.Object) -> tuple[str, ...]:
    """Bones of elbows, knees and hips."""
    rig = find("tasks.subject.rig_presets").find_rig_of(armature)
    if rig is None:
        return tuple(bone for bone in FOX if bone in armature.data.bones)
    chains = [chain for (part, _), chain in rig.bones.items() if part in LIMBS]
    return tuple(next(bone for bone in chain if armature.data.bones[bone].use_deform) for chain in chains)


def find_near(obj: Any, keys: list[str]) -> np.ndarray:
    """Vertices that Particles move differently when one of the corrected joints bends alone, bool (V,)."""
    tasks = find("tasks.corrections.from_method"), find("tasks.skin.poses"), find("tasks.subject.character")
    skinned = tasks[2].find_skinned(obj)
    skeleton = tasks[1].find_skeleton(skinned.armature)
    (mesh,), _ = take_all(tasks[0].bind_both([skinned], skeleton, "PARTICLES", 1.0))
    joints: dict[str, np.ndarray] = {}
    for entry in (obj.supple.corrections[key] for key in keys):
        bone = skinned.armature.data.bones[entry.bones]
        joint, axes = int(skeleton.first_joints[skeleton.names.index(bone.name)]), np.array(bone.matrix_local)[:3, :3]
        (rotation,) = json.loads(entry.rotations)
        matrices = pose_joint(skeleton.joints, joint, rotation, axes)
        lengths = np.linalg.norm(mesh.find_offsets(matrices), axis=1)
        joints[bone.name] = np.maximum(joints.get(bone.name, 0.0), lengths)
    return np.any([lengths > NEAR * lengths.max() for lengths in joints.values()], axis=0)


def measure_actions(character: Character, obj: Any, keys: list[str]) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Difference from Particles in frames of each action, (F, V, 3), world space, without and with corrections."""
    actions, scene = find("bridge.rigs.actions"), bpy.context.scene
    skin, space = bind_particles(obj)
    blocks, data = obj.data.shape_keys.key_blocks, character.armature.animation_data
    to_world = np.array(obj.matrix_world)
    for action in actions.list_actions(character.armature):
        data.action = action
        frames, missing = actions.list_frames(action)[::EVERY], {}
        for is_muted in (True, False):
            for key in keys:
                blocks[key].mute = is_muted
            found = []
            for frame in frames:
                scene.frame_set(frame)
                depsgraph = bpy.context.evaluated_depsgraph_get()
                pose = find("bridge.rigs.armatures").read_pose(
                    character.armature.evaluated_get(depsgraph), skin.skeleton
                )
                wanted = skin.pose(pose.seen_from(space))
                found.append((wanted - read_posed(obj)) @ to_world[:3, :3].T)
            missing[is_muted] = np.array(found)
        yield missing[True], missing[False]


def bind_particles(obj: Any) -> tuple[Any, np.ndarray]:
    """A mesh bound by particles, at the quality of bakes, and object to armature space."""
    character = find("tasks.subject.character")
    skinned = character.find_skinned(obj)
    skin = find("tasks.skin.by_python").prepare(skinned, "PARTICLES")
    skin = skin.at(skin.choices.read_quality(skinned.settings, "bake"))
    return skin, np.array(character.object_to_armature(obj, skinned.armature))


def measure(vectors: np.ndarray) -> float:
    """Root mean square of lengths."""
    return float(np.sqrt(np.square(vectors).sum(axis=-1).mean()))


SECTIONS = {
    "shown": run_shown,
    "mirror": run_mirror,
    "keep": run_keep,
    "from_particles": run_from_particles,
    "cost": run_cost,
}


if __name__ == "__main__":
    arguments = parse(
        __doc__, SECTIONS, characters=CHARACTERS, methods=option(("DLB",), choices=None), assets=ASSETS,
        rounds=option(5, "of the cost: how often the character is measured"),
    )  # fmt: skip
    run_sections(SECTIONS, arguments)
