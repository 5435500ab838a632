"""What Supple costs beside Blender's own Armature modifier: ratios, each from interleaved runs of one process.

    python benchmarks/run.py [--only SECTION ...] [--largest VERTICES]

needs an interpreter that has bpy. Absolute times depend on the machine and on what else it does.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tools"))

import bpy

import checkout
from bodies import Body, add_body

PAPER_TABLE_1 = {
    # vertices, joints: poses per second of SSD, DLB, DLBNT on a Core 2 at 2.66 GHz, with rendering
    (2537, 67): (556, 446, 400),
    (22487, 71): (63, 46, 42),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS), default=tuple(SECTIONS))
    parser.add_argument("--largest", type=int, default=1_000_000, help="most vertices in the scale and bind sections")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        package = checkout.enable(Path(folder))
        print(f"Blender {bpy.app.version_string}, Python {sys.version.split()[0]}, NumPy {numpy_version()}")
        for name in arguments.only:
            print(f"\n## {SECTIONS[name].__doc__}\n", flush=True)
            SECTIONS[name](package.__name__, arguments.largest)
        checkout.disable()


def numpy_version() -> str:
    return importlib.import_module("numpy").__version__


def new_scene() -> None:
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def interleave(steps: dict[str, Callable[[], None]], rounds: int = 40) -> dict[str, float]:
    """Median milliseconds of each step, run in turn so that noise hits all alike."""
    times = {name: [] for name in steps}
    for round_number in range(rounds + 3):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            if round_number >= 3:
                times[name].append(1e3 * (time.perf_counter() - start))
    return {name: statistics.median(values) for name, values in times.items()}


def kernels(package: str, body: Body) -> dict[str, Callable[[], None]]:
    """For each method: deform the body's rest points by the poses of two frames in turn, with no Blender in between."""
    by_python = importlib.import_module(package + ".tasks.skin.by_python")
    stack = importlib.import_module(package + ".tasks.stack")
    armatures = importlib.import_module(package + ".bridge.armatures")
    steps = {}
    for method, params in blending_variants(package):
        for choice in method.choices:
            setattr(body.obj.supple, choice.property_name, getattr(params, choice.name))
        prepared = by_python.prepare(stack.resolve_skinned(body.obj, body.obj.modifiers["Armature"]), method.key)
        poses = []
        for frame in (21, 20):
            bpy.context.scene.frame_set(frame)
            evaluated = body.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            poses.append(armatures.read_pose(evaluated, prepared.skeleton))
        turns = cycle(poses)
        label = method.name_variant(params)
        steps[label] = lambda prepared=prepared, turns=turns: prepared.deformer.deform(
            prepared.binding, replace(next(turns), known={})
        )
        for choice in method.choices:
            body.obj.supple.property_unset(choice.property_name)
    return steps


def blending_variants(package: str) -> list[tuple[Any, Any]]:
    """Each method that blends joint transforms, with each combination of its choices: (Method, Params)."""
    methods = importlib.import_module(package + ".deformers").METHODS.values()
    return [(method, params) for method in methods if not method.fills_solid for params in method.variants()]


def steps_of_frames(body: Body, configure: Callable[[], None]) -> Callable[[], None]:
    """Go to the next frame with the modifiers as `configure` sets them (not timed is only what it costs to look)."""
    state = {"frame": 1}

    def step() -> None:
        state["frame"] = state["frame"] % 29 + 1
        bpy.context.scene.frame_set(state["frame"])

    def run() -> None:
        configure()
        step()

    return run


def time_live(
    body: Body, methods: tuple[str, ...], rounds: int = 40, evaluate: tuple[str, ...] = ("PYTHON",)
) -> dict[str, float]:
    """Median milliseconds of whole frame steps: no deformation, Blender's two ways, and Supple's methods.

    Where both ways to evaluate are asked for, those of nodes are named so.
    """
    modifier = body.obj.modifiers["Armature"]
    times: dict[str, list[float]] = {}

    def measure(name: str) -> None:
        scene = bpy.context.scene
        for number in range(8):
            start = time.perf_counter()
            scene.frame_set(2 + (number * 7) % 28)
            if number >= 2:
                times.setdefault(name, []).append(1e3 * (time.perf_counter() - start))

    for _ in range(max(2, rounds // 6)):
        for name, shown, volume in (
            ("no deformation", False, False),
            ("linear", True, False),
            ("Preserve Volume", True, True),
        ):
            modifier.show_viewport, modifier.use_deform_preserve_volume = shown, volume
            measure(name)
        modifier.show_viewport, modifier.use_deform_preserve_volume = True, False
        for method in methods:
            for way in evaluate:
                bpy.ops.supple.bind(method=method, evaluate=way)
                measure(f"{method} by nodes" if way == "NODES" else method)
                bpy.ops.supple.unbind()
    return {name: statistics.median(values) for name, values in times.items()}


def print_table(header: tuple[str, ...], rows: list[tuple]) -> None:
    """A Markdown table."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print(
            "| " + " | ".join(f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row) + " |",
            flush=True,
        )


def run_kernel(package: str, _largest: int) -> None:
    """Kernel: 22k vertices, 71 bones, 4 influences, against Preserve Volume's whole step"""
    rows = []
    for scaled in (False, True):
        new_scene()
        body = add_body(22464, 71, scaled=scaled)
        bpy.context.scene.frame_set(20)
        volume = time_live(body, ())["Preserve Volume"]
        bpy.context.scene.frame_set(20)
        for method, duration in interleave(kernels(package, body)).items():
            rows.append((method, "scaled" if scaled else "rigid", duration, volume, duration / volume))
    print_table(("method", "pose", "ms", "Preserve Volume's step, ms", "ratio"), rows)


def run_paper(package: str, _largest: int) -> None:
    """The paper's Table 1: poses per second, with the whole step of Blender, beside the printed figures"""
    rows = []
    for (vertices, joints), printed in PAPER_TABLE_1.items():
        for scaled in (False, True):
            new_scene()
            body = add_body(vertices, joints, scaled=scaled)
            live = time_live(body, ("SSD", "DLB", "DLBNT"))
            bpy.context.scene.frame_set(20)
            alone = interleave(kernels(package, body))
            for method, figure in zip(("SSD", "DLB", "DLBNT"), printed, strict=True):
                kernel = alone["DLBNT GH" if method == "DLBNT" else method]
                rows.append(
                    (body.vertex_count, joints, "scaled" if scaled else "rigid", method, figure,
                     round(1e3 / live[method]), live[method] / live["SSD"], round(1e3 / kernel), kernel / alone["SSD"])
                )  # fmt: skip
    print_table(
        ("vertices", "joints", "pose", "method", "paper", "live", "time / SSD's", "kernel alone", "time / SSD's"), rows
    )


def run_live(package: str, _largest: int) -> None:
    """Whole live step: read the pose, deform, write, evaluate again; against Blender's own step"""
    methods = tuple(dict.fromkeys(method.key for method, _ in blending_variants(package)))
    rows = []
    for scaled in (False, True):
        new_scene()
        body = add_body(22464, 71, scaled=scaled)
        for keyed in (False, True):
            if keyed:
                body.obj.shape_key_add(name="Basis")
                body.obj.shape_key_add(name="Face").value = 0.5
            times = time_live(body, methods)
            for name, duration in times.items():
                rows.append(
                    ("scaled" if scaled else "rigid", "yes" if keyed else "no", name, duration,
                     duration / times["Preserve Volume"])
                )  # fmt: skip
    print_table(("pose", "face keys", "step", "ms", "to Preserve Volume"), rows)


def run_scale(package: str, largest: int) -> None:
    """Scale: vertices and bones"""
    rows = []
    for vertices in (5_000, 22_464, 150_000, 1_000_000):
        for bones in (20, 71, 300):
            if vertices > largest:
                continue
            new_scene()
            body = add_body(vertices, bones, scaled=True)
            live = time_live(body, ("DLBNT",), rounds=40 if vertices < 100_000 else 12)
            bpy.context.scene.frame_set(20)
            kernel = interleave({"DLBNT": kernels(package, body)["DLBNT GH"]}, 10)["DLBNT"]
            rows.append(
                (body.vertex_count, bones, kernel, 1e6 * kernel / body.vertex_count, live["DLBNT"],
                 live["Preserve Volume"], live["DLBNT"] / live["Preserve Volume"],
                 _binding_bytes(package, body) / body.vertex_count)
            )  # fmt: skip
    print_table(
        ("vertices", "bones", "kernel ms", "ns / vertex", "live ms", "Preserve Volume ms", "ratio", "bytes / vertex"),
        rows,
    )


def _binding_bytes(package: str, body: Body) -> int:
    by_python = importlib.import_module(package + ".tasks.skin.by_python")
    stack = importlib.import_module(package + ".tasks.stack")
    binding = by_python.prepare(stack.resolve_skinned(body.obj, body.obj.modifiers["Armature"]), "DLBNT").binding
    blocks = sum(block.weights.nbytes for block in binding.blocks)
    latest = binding.ranks.size * 4 * 6  # its rows and its result
    return blocks + binding.points.nbytes + binding.ranks.nbytes + binding.scratch.nbytes + latest


def run_bind(_package: str, largest: int) -> None:
    """Bind: the whole operator"""
    rows = []
    for vertices in (22_464, 150_000, 1_000_000):
        if vertices > largest:
            continue
        new_scene()
        body = add_body(vertices, 71)
        durations = []
        for _ in range(3):
            start = time.perf_counter()
            bpy.ops.supple.bind(method="DLBNT", evaluate="PYTHON")
            durations.append(time.perf_counter() - start)
            bpy.ops.supple.unbind()
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        rows.append((body.vertex_count, 71, statistics.median(durations), round(peak)))
    print_table(("vertices", "bones", "seconds", "process's peak memory so far, MB"), rows)


def run_nodes(package: str, largest: int) -> None:
    """Nodes (Blender 5.1 and later): whole steps of DLBNT, against Preserve Volume and against Python"""
    if importlib.import_module(package + ".settings.objects").NODES_PROBLEM:
        print("This Blender has no nodes that read bones")
        return
    rows = []
    for vertices, bones in ((5_000, 71), (22_464, 71), (22_464, 163), (150_000, 71), (1_000_000, 71)):
        for scaled in (False, True) if vertices <= largest else ():
            new_scene()
            body = add_body(vertices, bones, scaled=scaled)
            rounds = 40 if vertices < 100_000 else 12
            times = time_live(body, ("DLBNT",), rounds, ("PYTHON", "NODES"))
            volume, nodes = times["Preserve Volume"], times["DLBNT by nodes"]
            rows.append(
                (body.vertex_count, bones, "scaled" if scaled else "rigid", times["no deformation"], volume,
                 times["DLBNT"], nodes, nodes / volume)
            )  # fmt: skip
    print_table(
        ("vertices", "bones", "pose", "no deformation, ms", "Preserve Volume, ms", "Python, ms", "nodes, ms",
         "nodes to Preserve Volume"),
        rows,
    )  # fmt: skip


def run_groups(package: str, _largest: int) -> None:
    """Building the node groups of DLBNT"""
    armatures = importlib.import_module(package + ".bridge.armatures")
    groups = importlib.import_module(package + ".nodes.groups")
    params = importlib.import_module(package + ".deformers").METHODS["DLBNT"].params()
    rows = []
    for bones in (20, 71, 163, 300):
        new_scene()
        skeleton = armatures.read_skeleton(add_body(960, bones).armature)
        start = time.perf_counter()
        groups.ensure_deformation("Rig", skeleton.names, skeleton.joints.parents, "DLBNT", params)
        duration = time.perf_counter() - start
        rows.append((bones, sum(len(group.nodes) for group in bpy.data.node_groups), duration))
    print_table(("bones", "nodes", "seconds"), rows)


SECTIONS = {
    "kernel": run_kernel, "paper": run_paper, "live": run_live, "scale": run_scale, "bind": run_bind,
    "nodes": run_nodes, "groups": run_groups,
}  # fmt: skip

if __name__ == "__main__":
    main()
