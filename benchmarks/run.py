"""Time of Supple's methods in NumPy on a tube of bones, relative to Blender's own Armature modifier.

    python benchmarks/run.py [--only SECTION ...]

needs an interpreter that has bpy. Compare ratios, as benchmarks/timing.py takes them: absolute times depend on the
machine and its load. benchmarks/whole_characters.py measures characters.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle

import bpy

from harness import find, new_scene, parse, print_table, run_sections
from benchmarks.bodies import Body, add_body
from benchmarks.timing import VOLUME, find_character, interleave, time_steps
from deformers import METHODS


def kernels(body: Body) -> dict[str, Callable[[], None]]:
    """For each method: deform the body's rest points by the poses of two frames in turn, with no Blender in between."""
    by_python = find("tasks.skin.by_python")
    stack = find("tasks.subject.stack")
    armatures = find("bridge.rigs.armatures")
    steps = {}
    blending = [each for each in METHODS.values() if not each.fills_solid]
    for method, params in [(each, params) for each in blending for params in each.variants()]:
        for choice in method.choices:
            setattr(body.obj.supple, choice.name, getattr(params, choice.name))
        prepared = by_python.prepare(stack.resolve_skinned(body.obj, body.obj.modifiers["Armature"]), method.key)
        poses = []
        for frame in (21, 20):
            bpy.context.scene.frame_set(frame)
            evaluated = body.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            poses.append(armatures.read_pose(evaluated, prepared.skeleton))
        turns = cycle(poses)
        label = method.name_variant(params)
        steps[label] = lambda prepared=prepared, turns=turns: prepared.pose(replace(next(turns), known={}))
        for choice in method.choices:
            body.obj.supple.property_unset(choice.name)
    return steps


def run_kernel(_arguments: argparse.Namespace) -> None:
    """Kernel: 22k vertices, 71 bones, 4 influences, against Preserve Volume's whole step"""
    rows = []
    for scaled in (False, True):
        new_scene()
        body = add_body(22464, 71, scaled=scaled)
        character = find_character(body.armature)
        volume = time_steps(character, character.play(), {}).median(VOLUME)
        for method, duration in interleave(kernels(body)).items():
            rows.append((method, "scaled" if scaled else "rigid", duration, volume, duration / volume))
    print_table(("method", "pose", "ms", "Preserve Volume's step, ms", "ratio"), rows)


SECTIONS = {"kernel": run_kernel}


if __name__ == "__main__":
    run_sections(SECTIONS, parse(__doc__, SECTIONS))
