"""Flesh in keys: its distance to Particles, in poses that it was not fitted to, and its cost.

    python benchmarks/flesh.py [--only poses actions guards play] [--characters NAME ...]

Needs Blender's module bpy. Characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
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
    run_sections,
    take_all,
    time_call,
)
from benchmarks.blind_flesh import make_supple, play_flesh, pose_bones
from benchmarks.blind_key import FLESH
from benchmarks.bound_characters import BLENDERS, bind_as_made
from benchmarks.character_measures import ACTION, Figures, read_subject
from benchmarks.character_measures import list_poses as list_measured
from benchmarks.timing import FAST, VOLUME, WAYS, Character, find_character, time_steps
from deformers.corrections.rotation_choice import measure_angles, pose_joint, turn_about

CHARACTERS = ("mh_human", "human_male", "kaykit_knight", "fox", "cesium_man", "mh_human_game")
BETWEEN = (0.35, 0.75)  # Shares of a joint's bends to measure, between those of its keys
SEED = 1  # For poses of all joints, other than those that keys are fitted to
EVERY = 4  # Step between measured frames
GUARDED = ("elbow", "knee"), ("hip", "arm up"), ("wrist twist",)  # Kinds of joints whose sections are measured
TALL = 1800.0  # Nominal height of a character, millimeters


def open_made(assets: Any, name: str) -> tuple[Character, tuple[float, float], str]:
    """Open a character and make it supple; also seconds of its base and of its flesh, and the report."""
    open_file(assets, name)
    character = find_character()
    base, _ = time_call(lambda: make_supple(character.meshes))
    seconds, report = time_call(api().Character(character.armature).flesh)
    return character, (base, seconds), report.describe()[0]


def find_all(character: Character) -> tuple[Any, Any, list[Any], np.ndarray]:
    """The skeleton, the meshes bound by both, all bends that may gain, and the frames of the actions."""
    flesh = find("tasks.corrections.flesh")
    skeleton = find("tasks.skin.poses").find_skeleton(character.armature)
    skinned = [find("tasks.subject.character").find_skinned(obj) for obj in character.meshes]
    both, bends, poses, _ = take_all(flesh.find_bends(skinned, skeleton))
    return skeleton, both, bends, poses


def measure(character: Character, skeleton: Any, both: Any, matrices: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What all skin lacks of Particles in a pose, as a distance at rest, without keys and with those that Blender has
    then: float arrays, shape (V,), in sizes of the character."""
    pose_bones(character.armature, skeleton.names, matrices[skeleton.first_joints])
    found: list[list[np.ndarray]] = [[], []]
    for mesh, wanted in zip(both.meshes, both.find_offsets(matrices), strict=True):
        obj, left = mesh.skinned.obj, wanted.astype(np.float64)
        keys = obj.data.shape_keys
        for key in keys.key_blocks[1:] if keys else ():
            if key.value:
                left -= key.value * find("tasks.corrections.keys").read_offsets(obj, key.name)
        for each, into in zip((wanted, left), found, strict=True):
            into.append(np.linalg.norm(each @ mesh.space[:3, :3].T, axis=1) / both.size)
    without, with_keys = (np.concatenate(each) for each in found)
    return without, with_keys


def list_poses(skeleton: Any, bends: Sequence[Any]) -> Iterator[tuple[str, np.ndarray]]:
    """Poses that keys are not made at: of each joint alone between its bends, and of all joints."""
    for bend in bends:
        for rotation in bend.rotations:
            for share in BETWEEN:
                angle = share * measure_angles(rotation)
                axis = rotation[1:] / np.linalg.norm(rotation[1:])
                turned = turn_about(axis, [float(angle)])[0]
                yield "one joint", pose_joint(skeleton.joints, bend.joint.joint, turned, bend.joint.axes)
    for _, matrices in find("tasks.corrections.flesh_fit").mix_bends(bends, skeleton.joints, SEED):
        yield "all joints", matrices


def run_poses(arguments: argparse.Namespace) -> None:
    """Poses that keys were not fitted to: what is left of the distance to Particles, rms of all vertices"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        character, seconds, said = open_made(arguments.assets, name)
        skeleton, both, bends, _ = find_all(character)
        corrected = {entry.bones for obj in character.meshes for entry in obj.supple.corrections}
        sums: dict[str, np.ndarray] = {}
        if character.armature.animation_data:
            character.armature.animation_data.action = None
        own = [bend for bend in bends if bend.joint.reading in corrected]
        for kind, matrices in list_poses(skeleton, own):
            squares = [np.square(each).mean() for each in measure(character, skeleton, both, matrices)]
            sums[kind] = sums.get(kind, 0.0) + np.array([*squares, 1.0])
        for kind, (without, left, count) in sums.items():
            figures = (TALL * float(np.sqrt(each / count)) for each in (without, left))
            rows.append((name, kind, int(count), *figures, float(np.sqrt(left / without)), *seconds))
        print(f"{name}: {said}", flush=True)
    header = "character", "poses", "count", "without, mm at 1.8 m", "with", "ratio", "base, s", "flesh, s"
    print_table(header, rows)


def run_actions(arguments: argparse.Namespace) -> None:
    """Every fourth frame of all actions: what is left of the distance to Particles, mm at 1.8 m"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        character, _, _ = open_made(arguments.assets, name)
        skeleton, both, _, poses = find_all(character)
        if character.armature.animation_data:
            character.armature.animation_data.action = None
        found = [measure(character, skeleton, both, matrices) for matrices in poses[::EVERY]]
        if found:
            without, left = (TALL * np.concatenate(each) for each in zip(*found, strict=True))
            figures = [float(np.percentile(each, 99)) for each in (without, left)]
            rows.append(
                (name, len(found), *figures, float(np.sqrt(np.square(left).mean() / np.square(without).mean())))
            )
    print_table(("character", "frames", "99 %: without", "with", "rms: ratio"), rows)


def run_guards(arguments: argparse.Namespace) -> None:
    """The range of motion and frames of the actions: the least section, mean of joints, and space filled twice"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        subject = read_subject(arguments.assets, name)
        parts, poses = subject.character.parts, list(list_measured(subject))
        ways = {method: bind_as_made(parts, method) for method in (*BLENDERS, "DLB")}
        posed = {method: [deform(pose.matrices) for pose in poses] for method, deform in ways.items()}
        matrices = [pose.matrices for pose in poses]
        posed[FLESH] = play_flesh(arguments.assets, name, parts, matrices, posed["DLB"])
        for method, shown in posed.items():
            found = [subject.measure(points, pose) for points, pose in zip(shown, poses, strict=True)]
            sections: dict[str, float] = {}
            for figure, pose in zip(found, poses, strict=True):
                sections[pose.kind] = min(sections.get(pose.kind, np.inf), figure.section)
            figures = [np.mean([sections.get(kind, np.inf) for kind in kinds]) for kinds in GUARDED]
            bends = [figure for figure, pose in zip(found, poses, strict=True) if pose.kind != ACTION]
            twice = [f"{Figures.over(each).twice:.2%}" for each in (bends, found)]
            rows.append((name, method, *(f"{one:.2f}" if np.isfinite(one) else "-" for one in figures), *twice))
    header = "character", "method", "elbows, knees", "hips, shoulders", "wrist twist", "twice: bends", "with actions"
    print_table(header, rows)


def run_play(arguments: argparse.Namespace) -> None:
    """The action playing, by Blender's modifiers: whole steps over Preserve Volume's, in the quickest of the rounds"""
    rows = []
    for name in list_at_hand(arguments.assets, arguments.characters):
        open_file(arguments.assets, name)
        character, ways = find_character(), {FAST: WAYS[FAST]}
        plain = time_steps(character, character.play(), ways, rounds=arguments.rounds)
        make_supple(character.meshes)
        api().Character(character.armature).flesh()
        bpy.ops.supple.unbind()
        keys = max(len(obj.data.shape_keys.key_blocks) - 1 for obj in character.meshes if obj.data.shape_keys)
        with_keys = time_steps(character, character.play(), ways, rounds=arguments.rounds)
        volume, base, flesh = plain.least(VOLUME), plain.least(FAST), with_keys.least(FAST)
        rows.append((name, volume, base, base / volume, keys, flesh, flesh / volume, flesh - volume))
    header = "character", f"{VOLUME}, ms", f"{FAST}, ms", "ratio", "keys", "with flesh, ms", "ratio", "over it, ms"
    print_table(header, rows)


SECTIONS = {"poses": run_poses, "actions": run_actions, "guards": run_guards, "play": run_play}

if __name__ == "__main__":
    run_sections(
        SECTIONS, parse(__doc__, SECTIONS, characters=option(CHARACTERS, choices=CHARACTERS), assets=ASSETS, rounds=4)
    )
