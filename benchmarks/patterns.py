"""Cost of skin patterns: maps drawn by Python, and whole steps of Blender next to its own Armature modifier.

    python benchmarks/patterns.py [--only SECTION ...] [--rounds N]

needs an interpreter that has bpy. Steps are run in turn, so that noise hits all alike: compare them with one another,
since absolute times depend on the machine and its load.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from functools import partial
from typing import Any

import bpy
import numpy as np

from harness import api, find, new_scene, note_time, option, parse, print_table, run_sections, time_call
from benchmarks.bodies import SIDES, Body, add_body
from benchmarks.timing import FAST, WAYS, bind, interleave
from deformers.patterns.heights import draw_heights
from deformers.patterns.library import PRESETS

VERTICES, BONES = 4340, 50
SIZE = (0.25, 0.12)  # of a pattern, in the UV map

DRAW_TARGETS = {256: 1.0, 1024: 12.0}
STEP_TARGET = 4.0

NO_PATTERNS = "no patterns"
DISPLAYS = ("BUMP", "KIND", "DISPLACEMENT")


def add_uv(body: Body) -> None:
    """Unroll a body's tube over the middle of the UV map."""
    layer = body.obj.data.uv_layers.new(name="UV")
    corners = np.array([loop.vertex_index for loop in body.obj.data.loops]).reshape(-1, 4)
    rings = body.vertex_count // SIDES
    u, v = corners % SIDES / SIDES, corners // SIDES / (rings - 1)
    u[(u == 0.0) & (u.max(axis=1, keepdims=True) > 0.5)] = 1.0
    layer.uv.foreach_set("vector", (0.02 + 0.96 * np.stack([u, v], axis=-1)).astype(np.float32).ravel())


def make_body() -> Body:
    """A tube of the paper's size, unrolled in its UV map, in a file of its own."""
    new_scene()
    body = add_body(VERTICES, BONES)
    add_uv(body)
    return body


def add_library(body: Body) -> None:
    """Add the eleven patterns of the library to a tube."""
    lay_out(body, tuple(PRESETS))


def lay_out(body: Body, keys: Sequence[str], **layout: Any) -> None:
    """Add patterns to a tube, in its UV map, each driven by another bone: all show as soon as the bones rotate."""
    character, bones = api().Character(body.armature), [bone.name for bone in body.armature.data.bones]
    for number, key in enumerate(keys):
        along = (number + 0.5) / len(keys)
        uv = (0.3 + 0.4 * (number % 2), 0.02 + 0.96 * along)
        name = character.pattern(body.obj, key, bones[int(along * len(bones))], uv=uv, size=SIZE, **layout)
        pattern = body.obj.supple.patterns[name]
        pattern.direction, pattern.start, pattern.full = "BOTH", 0.0, 0.2
        pattern.compression_start, pattern.compression_full = 0.0, 10.0


def run_draw(_arguments: argparse.Namespace) -> None:
    """Height maps: eleven patterns of the library drawn into one, by NumPy; the paper's whole frame took 19 ms"""
    maps = find("tasks.patterns.maps")
    body = make_body()
    add_library(body)
    rows = []
    for width, target in DRAW_TARGETS.items():
        bound, laid = time_call(partial(maps.bind_map, body.obj, width, width))
        heights = laid.heights
        steps = {
            name: partial(draw_heights, heights, [amount] * len(PRESETS))
            for name, amount in (("at rest", 0.0), ("half seen", 0.5), ("clipped", 1.5))
        }
        covered = sum(np.count_nonzero(pattern.gains) for pattern in heights.patterns) / width**2
        for name, duration in interleave(steps).items():
            rows.append(
                (f"{width} x {width}", f"{covered:.0%}", name, duration, target, judge(duration, target), bound)
            )
    depsgraph, laid = bpy.context.evaluated_depsgraph_get(), maps.bind_points(body.obj)
    for name, duration in interleave({"amounts": lambda: maps.read_amounts(body.obj, laid, depsgraph)}).items():
        rows.append(("-", "-", name, duration, "-", "-", "-"))
    print_table(("map", "covered", "drawn", "ms", "target", "met", "bind, s"), rows)


def judge(duration: float, target: float) -> str:
    return "yes" if duration <= target else f"no: {duration / target:.2g} times"


def measure_frames(times: dict[str, list[float]], name: str) -> None:
    """Go through frames and note the milliseconds of each step, but for the first two."""
    for number in range(8):
        noted = times if number >= 2 else {}
        note_time(noted, name, partial(bpy.context.scene.frame_set, 2 + (number * 7) % 28))


def time_steps(body: Body, rounds: int) -> dict[str, float]:
    """Median milliseconds of whole frame steps: Blender's own modifier, Fast, and Fast with patterns."""
    obj, times = body.obj, {}
    for _ in range(rounds):
        for name, volume in (("Armature, linear", False), ("Armature, Preserve Volume", True)):
            obj.modifiers["Armature"].use_deform_preserve_volume = volume
            measure_frames(times, name)
        obj.modifiers["Armature"].use_deform_preserve_volume = False
        bind(WAYS[FAST])
        measure_frames(times, f"{FAST}, {NO_PATTERNS}")
        add_library(body)
        for display in DISPLAYS:
            obj.supple.pattern_display = display
            measure_frames(times, f"{FAST}, {display}")
        bpy.ops.supple.unbind()  # takes the patterns away, too
    return {name: statistics.median(values) for name, values in times.items()}


def print_steps(body: Body, rounds: int, target: float | None = None) -> None:
    times = time_steps(body, rounds)
    rows = []
    for name, duration in times.items():
        base = times.get(f"{name.partition(',')[0]}, {NO_PATTERNS}")
        row = (name, duration, "-" if base is None else duration - base, duration / times["Armature, Preserve Volume"])
        rows.append((*row, judge(duration, target) if target and base is not None else "-"))
    print(f"\n{body.vertex_count} vertices, {len(body.armature.data.bones)} bones; target: {target or 'none'} ms\n")
    print_table(("step", "ms", "patterns add, ms", "to Preserve Volume", "target met"), rows)


def run_live(arguments: argparse.Namespace) -> None:
    """Whole live steps at the paper's size: frame_set, with Fast and the library's eleven patterns, all seen"""
    print_steps(make_body(), arguments.rounds, STEP_TARGET)


def run_parts(arguments: argparse.Namespace) -> None:
    """Share of patterns in a step: no Bind; the node modifier that displaces, and the drivers, taken out in turn"""
    body, rows = make_body(), []
    add_library(body)
    for display, level in (("BUMP", 0), ("KIND", 0), ("KIND", 1), ("DISPLACEMENT", 0), ("DISPLACEMENT", 1)):
        body.obj.supple.pattern_display, body.obj.supple.pattern_level = display, level
        rows.append((display, level, *measure_parts(body, arguments.rounds)))
    times = "step, ms", "by Blender's account, its nodes, ms", "without nodes, ms", "and without drivers, ms"
    print_table(("display", "subdivided", *times), rows)


def measure_parts(body: Body, rounds: int) -> tuple:
    """A frame step, the node modifier's own time, the step without it, and that without drivers: milliseconds."""
    times: dict[str, list[float]] = {}
    modifier = next((modifier for modifier in body.obj.modifiers if modifier.name.startswith("Supple Patterns")), None)
    drivers = list(body.obj.animation_data.drivers)
    own = []
    for _ in range(rounds):
        measure_frames(times, "all")
        if modifier is not None:
            evaluated = body.obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
            own.append(1e3 * evaluated.modifiers[modifier.name].execution_time)
            modifier.show_viewport = False
        measure_frames(times, "no nodes")
        for curve in drivers:
            curve.mute = True
        measure_frames(times, "no drivers")
        for curve in drivers:
            curve.mute = False
        if modifier is not None:
            modifier.show_viewport = True
    whole, bare, least = (statistics.median(times[name]) for name in ("all", "no nodes", "no drivers"))
    return whole, statistics.median(own) if own else "-", bare, least


SECTIONS = {"draw": run_draw, "live": run_live, "parts": run_parts}


if __name__ == "__main__":
    rounds = option(8, "rounds of six frames that a step's median is taken of")
    run_sections(SECTIONS, parse(__doc__, SECTIONS, rounds=rounds))
