"""Flesh in keys: its distance to the chosen shapes, in poses that it was not fitted to, and its cost.

    python benchmarks/flesh.py [--only keys guards play] [--characters NAME ...] [--quality QUICK]

Needs Blender's module bpy. Characters are read from a folder of assets that is not part of the repository.
"""

from __future__ import annotations

import argparse
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
from benchmarks.blind_flesh import make_supple, play_flesh
from benchmarks.blind_key import FLESH
from benchmarks.bound_characters import BLENDERS, bind_as_made
from benchmarks.character_measures import ACTION, Figures, read_subject
from benchmarks.character_measures import list_poses as list_measured
from benchmarks.timing import FAST, VOLUME, WAYS, Character, find_character, time_steps
from deformers.flesh.ramps import count_active, measure_left

CHARACTERS = ("mh_human", "human_male", "kaykit_knight", "fox", "cesium_man", "mh_human_game")
SEED = 1  # For poses of all joints, other than those that keys are fitted to
EVERY = 16  # Step between measured frames
GUARDED = ("elbow", "knee"), ("hip", "arm up"), ("wrist twist",)  # Kinds of joints whose sections are measured
HELD_OUT = 12  # Poses of several joints that keys are not fitted to


def read_limbs(character: Character) -> tuple[Any, Any, list[Any]]:
    """The character as flesh sees it, its joints, and its limbs."""
    room = {name: find(f"tasks.flesh.{name}") for name in ("character", "joints", "plan")}
    skeleton = find("tasks.skin.poses").find_skeleton(character.armature)
    skinned = [find("tasks.subject.character").find_skinned(obj) for obj in character.meshes]
    meshes, _ = room["character"].read_meshes(skinned, skeleton)
    fleshy = room["character"].FleshyCharacter.of(meshes, skeleton.unrolled.joints, skeleton.frame)
    bends = take_all(room["joints"].find_bends(character.armature, skeleton, fleshy.find_fleshy_joints()))
    return fleshy, skeleton.joints, room["plan"].list_limbs(fleshy, bends, skeleton.joints)


def run_keys(arguments: argparse.Namespace) -> None:
    """Keys of each limb: the share of the way to the chosen shapes that they leave, and active keys a frame"""
    rows, plan = [], find("tasks.flesh.plan")
    for name in list_at_hand(arguments.assets, arguments.characters):
        open_file(arguments.assets, name)
        character = find_character()
        make_supple(character.meshes)
        fleshy, joints, limbs = read_limbs(character)
        for limb in limbs:
            fitting = plan.Fitting(fleshy, limb, joints, plan.QUALITIES[arguments.quality], {})
            seconds, fitted = time_call(lambda: fitting.run(lambda _share: None))  # noqa: B023
            if not fitted.sides:
                continue
            side, played = fitted.sides[0], np.stack([bend.played for bend in limb.bends], axis=1)
            poses = limb.mix(HELD_OUT, SEED), played[::EVERY]
            left = [side.left, *(measure(fitting, fitted, each) for each in poses)]
            active = count_active(side.ramps, played)
            rows.append((name, limb.bends[0].bone, len(side.ramps), active, *left, seconds))
    print_table(("character", "limb", "keys", "active", "left: samples", "mixed, held out", "frames", "s"), rows)


def measure(fitting: Any, fitted: Any, rotations: np.ndarray) -> float:
    """What keys leave of the way to the chosen shapes in poses (K, J, 4), rms; NaN without poses."""
    if not len(rotations):
        return np.nan
    side, wanted = fitted.sides[0], [fitting.blend(each, fitted.choice, lambda _share: None)[0] for each in rotations]
    shapes = np.zeros((len(side.ramps), *wanted[0].shape), np.float32)
    for mesh in side.meshes:
        shapes[mesh.kept, fitting.character.slice(mesh.number)] = mesh.shapes
    return measure_left(side.ramps.read(rotations), shapes, np.array(wanted), np.ones(len(wanted)))


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


SECTIONS = {"keys": run_keys, "guards": run_guards, "play": run_play}

if __name__ == "__main__":
    run_sections(
        SECTIONS,
        parse(
            __doc__,
            SECTIONS,
            characters=option(CHARACTERS, choices=CHARACTERS),
            assets=ASSETS,
            rounds=4,
            quality="FULL",
        ),
    )
