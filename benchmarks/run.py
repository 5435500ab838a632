"""What Supple's methods cost on a tube of bones, beside Blender's own Armature modifier and the paper's figures.

    python benchmarks/run.py [--only SECTION ...]

needs an interpreter that has bpy. Compare ratios, as benchmarks/timing.py takes them: absolute times depend on the
machine and on what else it does. benchmarks/whole_characters.py measures characters.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from typing import Any

import bpy

from harness import find, new_scene, parse, print_table, run_sections
from benchmarks.bodies import Body, add_body
from benchmarks.timing import VOLUME, Times, find_character, interleave, time_steps

PAPER_TABLE_1 = {
    # vertices, joints: poses per second of SSD, DLB, DLBNT on a Core 2 at 2.66 GHz, with rendering
    (2537, 67): (556, 446, 400),
    (22487, 71): (63, 46, 42),
}


def kernels(body: Body) -> dict[str, Callable[[], None]]:
    """For each method: deform the body's rest points by the poses of two frames in turn, with no Blender in between."""
    by_python = find("tasks.skin.by_python")
    stack = find("tasks.subject.stack")
    armatures = find("bridge.rigs.armatures")
    steps = {}
    for method, params in blending_variants():
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


def blending_variants() -> list[tuple[Any, Any]]:
    """Each method that blends joint transforms, with each combination of its choices: (Method, Params)."""
    methods = find("deformers").METHODS.values()
    return [(method, params) for method in methods if not method.fills_solid for params in method.variants()]


def time_live(body: Body, ways: dict[str, str]) -> Times:
    """Whole steps of a body that plays its action."""
    character = find_character(body.armature)
    return time_steps(character, character.play(), ways)


def run_kernel(_arguments: argparse.Namespace) -> None:
    """Kernel: 22k vertices, 71 bones, 4 influences, against Preserve Volume's whole step"""
    rows = []
    for scaled in (False, True):
        new_scene()
        body = add_body(22464, 71, scaled=scaled)
        volume = time_live(body, {}).median(VOLUME)
        for method, duration in interleave(kernels(body)).items():
            rows.append((method, "scaled" if scaled else "rigid", duration, volume, duration / volume))
    print_table(("method", "pose", "ms", "Preserve Volume's step, ms", "ratio"), rows)


def run_paper(_arguments: argparse.Namespace) -> None:
    """The paper's Table 1: poses per second, with the whole step of Blender, next to the printed figures"""
    rows = []
    for (vertices, joints), printed in PAPER_TABLE_1.items():
        for scaled in (False, True):
            new_scene()
            body = add_body(vertices, joints, scaled=scaled)
            live = time_live(body, {method: method for method in ("SSD", "DLB", "DLBNT")})
            alone = interleave(kernels(body))
            for method, figure in zip(("SSD", "DLB", "DLBNT"), printed, strict=True):
                step, kernel = live.median(method), alone["DLBNT GH" if method == "DLBNT" else method]
                rows.append(
                    (body.vertex_count, joints, "scaled" if scaled else "rigid", method, figure,
                     round(1e3 / step), step / live.median("SSD"), round(1e3 / kernel), kernel / alone["SSD"])
                )  # fmt: skip
    print_table(
        ("vertices", "joints", "pose", "method", "paper", "live", "time / SSD's", "kernel alone", "time / SSD's"), rows
    )


def run_live(_arguments: argparse.Namespace) -> None:
    """Whole steps of the tube: methods, scaled bones, face keys"""
    methods = tuple(dict.fromkeys(method.key for method, _ in blending_variants()))
    ways = {method: method for method in methods}
    rows = []
    for scaled in (False, True):
        new_scene()
        body = add_body(22464, 71, scaled=scaled)
        for keyed in (False, True):
            if keyed:
                body.obj.shape_key_add(name="Basis")
                body.obj.shape_key_add(name="Face").value = 0.5
            times = time_live(body, ways)
            shown = ("scaled" if scaled else "rigid", "yes" if keyed else "no")
            rows += [(*shown, name, times.median(name), times.compare(name)) for name in times.steps]
    print_table(("pose", "face keys", "step", "ms", "ratio"), rows)


SECTIONS = {"kernel": run_kernel, "paper": run_paper, "live": run_live}


if __name__ == "__main__":
    run_sections(SECTIONS, parse(__doc__, SECTIONS))
