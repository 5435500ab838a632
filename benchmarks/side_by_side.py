"""Cost of ghosts: a step of a character with three of them, beside the steps of the same methods bound one by one.

    python benchmarks/side_by_side.py [--vertices N] [--rounds N]

needs an interpreter that has bpy. A step is all that Blender does to show the next frame, but for drawing; ghosts are
read, posed and given normals, as the 3D View does before it draws them. Compare ratios: times depend on the machine.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable

import bpy

from harness import find, new_scene, note_time, option, parse, print_section, print_table, print_versions, supple
from benchmarks.generated import HUMAN, add_rig, add_skin
from benchmarks.timing import BARE, WARM, Character, bind, find_character
from deformers.geometry.ring_normals import estimate_normals

# Ghosts, and the methods of Supple that give the same points
GHOSTS = {"LINEAR": "SSD", "PRESERVE_VOLUME": "DLB", "CENTERS": "CENTERS"}

SIDE_BY_SIDE = "Side by Side"


def compare_steps(arguments: argparse.Namespace) -> None:
    """Three ghosts of a generated person, and the three methods one by one: milliseconds of a step"""
    new_scene()
    armature = add_rig(HUMAN)
    add_skin(armature, "Body", arguments.vertices)
    character = find_character(armature)
    times: dict[str, list[float]] = {}
    for _ in range(arguments.rounds):
        time_round(character, times)
    whole = {name: statistics.median(taken) for name, taken in times.items()}
    rows = [(name, taken, taken - whole[BARE]) for name, taken in whole.items()]
    total = sum(whole[name] for name in GHOSTS.values())
    added = total - len(GHOSTS) * whole[BARE]
    rows.append(("sum of the methods", total, added))
    rows.append((f"{SIDE_BY_SIDE} to it", whole[SIDE_BY_SIDE] / total, (whole[SIDE_BY_SIDE] - whole[BARE]) / added))
    print_table(("step", "whole", f"over {BARE}"), rows)


def time_round(character: Character, times: dict[str, list[float]]) -> None:
    """Add the median of each kind of step to those of its name."""
    for name in character.set_modifiers():
        measure(name, character, times)
    for method in GHOSTS.values():
        bind(method)
        measure(method, character, times)
        bpy.ops.supple.unbind()
    for modifier in character.modifiers:
        modifier.show_viewport = modifier.use_deform_preserve_volume = False
    pose = show_ghosts(character)
    measure(SIDE_BY_SIDE, character, times, pose)
    bpy.ops.supple.side_by_side()
    for modifier in character.modifiers:
        modifier.show_viewport = True


def measure(
    name: str, character: Character, times: dict[str, list[float]], follow: Callable[[], None] = lambda: None
) -> None:
    taken: dict[str, list[float]] = {name: []}
    for step in character.play():
        note_time(taken, name, lambda step=step: (step(), follow()))
    times.setdefault(name, []).append(statistics.median(taken[name][WARM:]))


def show_ghosts(character: Character) -> Callable[[], None]:
    """Press Side by Side; returns a function that updates the ghosts to a frame, as drawing does."""
    ghosts, poses = find("tasks.side_by_side.ghosts"), find("tasks.skin.poses")
    bpy.context.window_manager.supple_ghosts = set(GHOSTS)
    bpy.ops.supple.side_by_side()

    def pose() -> None:
        depsgraph = bpy.context.view_layer.depsgraph
        step = poses.Poses(depsgraph)
        for key in GHOSTS:
            for obj in character.meshes:
                ghost = ghosts.pose_ghost(obj, key, depsgraph, step)
                estimate_normals(ghost.shape.rings, ghost.points)

    return pose


if __name__ == "__main__":
    rounds = option(5, "how often all steps are taken in turn")
    arguments = parse(__doc__, vertices=20_000, rounds=rounds)
    with supple():
        print_versions()
        print_section(compare_steps, arguments)
