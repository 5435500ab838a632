"""Cost of whole characters: steps of all their meshes, next to Blender's own Armature modifier.

    python benchmarks/whole_characters.py [--only SECTION ...] [--rounds N] [--assets FOLDER]

needs an interpreter that has bpy. A ratio is the time of a step over that without any deformation, to the same of
Preserve Volume; it is given with the least and the most of the rounds. Steps are run in turn in one process, so compare
ratios: times depend on the machine and its load. Real characters are measured if available.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import patch

import bpy
import numpy as np
from mathutils import Quaternion

from harness import ASSETS, find, list_at_hand, new_scene, open_file, option, parse, print_table, run_sections
from benchmarks.bodies import animate
from benchmarks.generated import add_person, add_rig, add_skin, open_rigify
from benchmarks.timing import BARE, FAST, LINEAR, VOLUME, WAYS, Character, Times, bind, find_character, make, time_steps

REAL = ("mh_human", "mh_human_game", "kaykit_knight", "human_male", "cesium_man", "fox")
GENERATED = "generated"

SMALL, SMALL_MESHES = 428, 16  # Vertices of a small mesh, and number of small meshes


# Prefix of the names of the dragged bones, and whether the character has its action meanwhile
DRAGGED = {
    "an arm of an action": ("upperarm01.L", True),
    "a finger": ("finger2-1.L", False), "an arm": ("upperarm01.L", False), "all bones": ("", False),
}  # fmt: skip


CROWD, CROWD_BONES, CROWD_VERTICES = 30, 71, 2_000

COLUMNS = (
    "character", "meshes", "vertices", "bones", f"{BARE}, ms", f"{LINEAR}, ms", f"{VOLUME}, ms",
    *(f"{way}, ms" for way in WAYS), *(f"ratio {way}" for way in WAYS),
)  # fmt: skip


def open_character(assets: Path, name: str) -> Character:
    """A real character in its file, or the generated one."""
    if name == GENERATED:
        new_scene()
        return find_character(add_person())
    open_file(assets, name)
    return find_character()


def list_characters(assets: Path, wanted: tuple[str, ...] = REAL) -> list[str]:
    """Names of those that are at hand; always the generated one."""
    return [*list_at_hand(assets, wanted), GENERATED]


def show_times(name: str, character: Character, times: Times) -> tuple:
    """A row under `COLUMNS`."""
    steps = [times.median(step) for step in (BARE, LINEAR, VOLUME, *WAYS)]
    return name, *character.describe(), *steps, *map(times.compare, WAYS)


def measure_play(name: str, character: Character, rounds: int) -> tuple:
    return show_times(name, character, time_steps(character, character.play(), rounds=rounds))


def run_characters(arguments: argparse.Namespace) -> None:
    """Characters that play an action, all meshes bound by one method: what a step takes over no deformation, to that of
    Preserve Volume"""
    assets, rounds = arguments.assets, arguments.rounds
    print_table(COLUMNS, [measure_play(name, open_character(assets, name), rounds) for name in list_characters(assets)])


def add_crowd() -> Character:
    """Many characters in the scene, each of a small mesh on an armature of its own."""
    new_scene()
    armatures = [add_rig(CROWD_BONES) for _ in range(CROWD)]
    meshes = [add_skin(armature, armature.name, CROWD_VERTICES) for armature in armatures]
    frames = find_character(armatures[0]).frames
    for obj in meshes:
        obj.select_set(True)
    bpy.context.view_layer.objects.active = meshes[0]
    return Character(meshes, armatures[0], frames)


def run_fast(arguments: argparse.Namespace) -> None:
    """What Make Supple binds, Fast, over Preserve Volume, by whole steps: in the quickest of the rounds"""
    scenes: dict[str, Callable[[], Character]] = {
        name: partial(open_character, arguments.assets, name) for name in list_characters(arguments.assets)
    }
    scenes[f"{CROWD} characters"] = add_crowd
    rows = []
    for name, prepare in scenes.items():
        character = prepare()
        times = time_steps(character, character.play(), {FAST: "FAST"}, rounds=arguments.rounds, begin=make)
        fast, volume = times.least(FAST), times.least(VOLUME)
        rows.append((name, volume, fast, fast / volume, times.compare_least(FAST), fast - volume, times.binds[FAST][0]))
    header = "ratio", "ratio over no deformation", "over it, ms", "Make Supple, s"
    print_table(("character", f"{VOLUME}, ms", f"{FAST}, ms", *header), rows)


def run_rigify(arguments: argparse.Namespace) -> None:
    """Rigify's human with B-Bones, playing an action"""
    with tempfile.TemporaryDirectory() as folder:
        armature = open_rigify(Path(folder, "human.blend"))
    add_skin(armature, "Body", 20_000)
    animate([bone for bone in armature.pose.bones if not bone.name.startswith(("DEF-", "ORG-", "MCH-"))])
    print_table(COLUMNS, [measure_play("Rigify", find_character(armature), arguments.rounds)])


def run_small(arguments: argparse.Namespace) -> None:
    """A further small mesh: what it adds to a step of the generated character, milliseconds"""
    new_scene()
    armature = add_person()
    small = bpy.data.collections.new("Small")
    bpy.context.scene.collection.children.link(small)
    for number in range(SMALL_MESHES):
        obj = add_skin(armature, f"Small {number}", SMALL, ("head", "neck"))
        bpy.context.scene.collection.objects.unlink(obj)
        small.objects.link(obj)
    added: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        for is_excluded, sign in ((True, -1.0), (False, 1.0)):
            bpy.context.view_layer.layer_collection.children["Small"].exclude = is_excluded
            character = find_character(armature)
            for step, (duration,) in time_steps(character, character.play(), rounds=1).steps.items():
                added.setdefault(step, []).append(sign * duration / SMALL_MESHES)
    rows = []
    for step, parts in added.items():
        rounds = [less + more for less, more in zip(parts[::2], parts[1::2], strict=True)]
        rows.append((step, statistics.median(rounds), f"{min(rounds):.2g} to {max(rounds):.2g}"))
    print_table(("step", "ms", "rounds"), rows)


def run_drag(arguments: argparse.Namespace) -> None:
    """Dragging bones of a posed character: steps without a change of the frame"""
    rows = []
    for name in list_characters(arguments.assets, ("mh_human",)):
        for dragged, (start, has_action) in DRAGGED.items():
            character = open_character(arguments.assets, name)
            with patch.object(
                find("bridge.changes"), "is_dragging", return_value=True
            ):  # as while the mouse moves bones
                times = time_steps(character, drag(character, start, has_action), rounds=arguments.rounds)
            rows.append(show_times(f"{name}, {dragged}", character, times))
    print_table(COLUMNS, rows)


def drag(character: Character, start: str, has_action: bool) -> list[Callable[[], object]]:
    """Steps that rotate the bones whose names begin so, from where the action has them in its middle."""
    armature = character.armature
    bpy.context.scene.frame_set(sorted(character.frames)[len(character.frames) // 2])
    if not has_action:
        armature.animation_data_clear()
    bones = armature.pose.bones
    rotations = [bone.matrix_basis.to_quaternion() for bone in bones]
    for bone in bones:
        bone.rotation_mode = "QUATERNION"
    steps = []
    for number in range(len(character.frames)):
        by = Quaternion((1.0, 0.0, 0.0), 0.02 * (number + 1))
        pose = [r @ by if bone.name.startswith(start) else r for bone, r in zip(bones, rotations, strict=True)]
        steps.append(partial(_set_pose, armature, np.array(pose, np.float32).ravel()))
    return steps


def _set_pose(armature: bpy.types.Object, rotations: np.ndarray) -> None:
    armature.pose.bones.foreach_set("rotation_quaternion", rotations)
    armature.update_tag(refresh={"DATA"})
    bpy.context.view_layer.update()


def run_bind(arguments: argparse.Namespace) -> None:
    """Bind of all meshes, seconds: in a file that was just opened, and once more"""
    rows = []
    for name in list_characters(arguments.assets, ("mh_human",)):
        binds: dict[str, list[tuple[float, float]]] = {}
        described: tuple = ()
        for _ in range(arguments.rounds):
            described = open_character(arguments.assets, name).describe()
            for label, method in WAYS.items():
                binds.setdefault(label, []).append((bind(method), bind_again(method)))
        for label, durations in binds.items():
            rows.append((name, *described, label, *map(float, np.median(durations, axis=0))))
    print_table(("character", "meshes", "vertices", "bones", "bound", "first, s", "again, s"), rows)


def bind_again(method: str) -> float:
    """Unbind, bind, unbind: seconds of the Bind."""
    bpy.ops.supple.unbind()
    duration = bind(method)
    bpy.ops.supple.unbind()
    return duration


SECTIONS = {
    "characters": run_characters, "fast": run_fast, "rigify": run_rigify, "small": run_small, "drag": run_drag,
    "bind": run_bind,
}  # fmt: skip


if __name__ == "__main__":
    rounds = option(3, "how often all steps are taken in turn")
    run_sections(SECTIONS, parse(__doc__, SECTIONS, rounds=rounds, assets=ASSETS))
