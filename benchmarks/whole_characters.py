"""What whole characters cost: steps of all their meshes, beside Blender's own Armature modifier.

    python benchmarks/whole_characters.py [--only SECTION ...] [--largest VERTICES] [--rounds N] [--assets FOLDER]

needs an interpreter that has bpy. A ratio is the time of a step over that without any deformation, to the same of
Preserve Volume; it is given with the least and the most of the rounds. Steps are run in turn in one process, so compare
ratios: times depend on the machine and on what else it does. Real characters are measured where they are at hand.
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
from benchmarks.generated import HUMAN, add_parts, add_person, add_rig, add_skin, open_rigify
from benchmarks.timing import (
    BARE,
    FAST,
    LINEAR,
    VOLUME,
    WAYS,
    Character,
    Times,
    bind,
    find_character,
    make,
    time_steps,
)

REAL = ("mh_human", "mh_human_game", "kaykit_knight", "human_male", "cesium_man", "fox")
GENERATED = "generated"

SCALE = (
    # vertices, bones, meshes
    (5_000, 71, 1), (22_000, 20, 1), (22_000, 71, 1), (22_000, 163, 1), (22_000, 163, 4), (22_000, 163, 16),
    (22_000, 300, 1), (22_000, 706, 1), (150_000, 71, 1), (1_000_000, 71, 1),
)  # fmt: skip
LARGE = 12_000_000
"""Vertices times bones above which there are fewer rounds: steps are long, and so is Bind."""
SMALL, SMALL_MESHES = 428, 16
"""Vertices of the further small meshes, and how many of them are added."""

MANY, MANY_VERTICES = (25, 100, 300, 500), 96
"""How many small meshes are bound at once, such as buckles and plates of armor, and the vertices of each."""
MANY_BONES = ("neck",), ("spine",), ("upperarm",), ("lowerleg",), ("finger2",)
"""What the names of the bones begin with that they are made around, in turn."""

DRAGGED = {
    "an arm of an action": ("upperarm01.L", True),
    "a finger": ("finger2-1.L", False), "an arm": ("upperarm01.L", False), "all bones": ("", False),
}  # fmt: skip
"""What the names of the bones begin with that a drag rotates, and whether the character has its action meanwhile."""

RENDERED_FRAMES, RENDERED_SIZE, RENDERS = 20, 64, 4
"""Frames and pixels of a rendered animation, and how many of them count in a round."""

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
    header = (
        "character",
        f"{VOLUME}, ms",
        f"{FAST}, ms",
        "ratio",
        "ratio over no deformation",
        "over it, ms",
        "Make Supple, s",
    )
    print_table(header, rows)


def run_rigify(arguments: argparse.Namespace) -> None:
    """Rigify's human with B-Bones, playing an action"""
    with tempfile.TemporaryDirectory() as folder:
        armature = open_rigify(Path(folder, "human.blend"))
    add_skin(armature, "Body", 20_000)
    animate([bone for bone in armature.pose.bones if not bone.name.startswith(("DEF-", "ORG-", "MCH-"))])
    print_table(COLUMNS, [measure_play("Rigify", find_character(armature), arguments.rounds)])


def run_scale(arguments: argparse.Namespace) -> None:
    """Scale: generated characters of many vertices, bones and meshes that play an action"""
    rows = []
    for vertices, bones, meshes in SCALE:
        if vertices > arguments.largest:
            continue
        new_scene()
        character = find_character(add_parts(vertices, bones, meshes))
        rounds = max(1, int(arguments.rounds * min(1.0, LARGE / (vertices * bones))))
        times = time_steps(character, character.play(), rounds=rounds)
        binds = [times.binds[way][0] for way in WAYS]
        rows.append((*show_times(GENERATED, character, times)[1:], *binds))
    print_table((*COLUMNS[1:], *(f"first Bind {way}, s" for way in WAYS)), rows)


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
            with patch.object(find("preview"), "is_dragging", return_value=True):  # as while the mouse moves bones
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


def run_many(arguments: argparse.Namespace) -> None:
    """Bind of many small meshes on one armature, by Centers, seconds: the least of the rounds"""
    rows = []
    for count in MANY:
        new_scene()
        armature = add_rig(HUMAN)
        for number in range(count):
            add_skin(armature, f"Small {number}", MANY_VERTICES, MANY_BONES[number % len(MANY_BONES)])
        character = find_character(armature)
        seconds = bind("CENTERS")
        for _ in range(arguments.rounds - 1):
            bpy.ops.supple.unbind()
            seconds = min(seconds, bind("CENTERS"))
        rows.append((count, character.describe()[1], seconds, 1e3 * seconds / count))
    print_table(("meshes", "vertices", "Bind, s", "a mesh, ms"), rows)


def run_render(arguments: argparse.Namespace) -> None:
    """Rendering an animation of the generated character by Workbench, 20 frames a step"""
    character = open_character(arguments.assets, GENERATED)
    scene = bpy.context.scene
    scene.camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    scene.collection.objects.link(scene.camera)
    scene.camera.location, scene.camera.rotation_euler = (0.0, -4.0, 0.9), (np.pi / 2.0, 0.0, 0.0)
    scene.render.engine, scene.display.render_aa = "BLENDER_WORKBENCH", "OFF"
    scene.render.resolution_x = scene.render.resolution_y = RENDERED_SIZE
    scene.frame_start, scene.frame_end = 1, RENDERED_FRAMES
    with tempfile.TemporaryDirectory() as folder:
        scene.render.filepath = f"{folder}/"
        renders: list[Callable[[], object]] = [partial(bpy.ops.render.render, animation=True)] * (1 + RENDERS)
        renders[0]()  # starts the engine
        times = time_steps(character, renders, rounds=arguments.rounds, warm=1)
    print_table(COLUMNS, [show_times(GENERATED, character, times)])


SECTIONS = {
    "characters": run_characters, "fast": run_fast, "rigify": run_rigify, "scale": run_scale,
    "small": run_small, "drag": run_drag, "bind": run_bind, "many": run_many, "render": run_render,
}  # fmt: skip


if __name__ == "__main__":
    arguments = parse(
        __doc__, SECTIONS,
        largest=option(1_000_000, "most vertices in the scale section"),
        rounds=option(3, "how often all steps are taken in turn"), assets=ASSETS,
    )  # fmt: skip
    run_sections(SECTIONS, arguments)
