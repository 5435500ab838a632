"""Cost of bakes: all meshes of a character at once, several processes at once, and long shots.

    python benchmarks/bakes.py [--only together processes long] [--character NAME] [--rounds N] [--frames N] [--long N]

needs an interpreter that has bpy. The character is read from a folder of assets that is not part of the repository.
Processes are Blender as a Python module, or the program of `--blender`, which has Supple. Their times have the start of
Blender and the opening of the file in them, as those of a farm have. Blender's threads bring a bake nothing: machines
with several cores are best given a process for each, of one thread (`blender --threads 1 --command supple ...`).
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import bpy

from harness import (
    ASSETS,
    STAND_IN,
    find,
    is_there,
    new_scene,
    open_file,
    option,
    parse,
    print_table,
    run_sections,
    time_call,
)
from benchmarks.bodies import add_body
from benchmarks.timing import FAST, WAYS, bind, find_character

METHODS = ("DLB", "DLBNT", "CENTERS", "PARTICLES")  # For meshes that are baked together
SHORT = 80  # Frames of a bake within this process
VERTICES, BONES = 22_000, 60  # Body of long shots
# Environment of a process with one thread
ALONE: dict[str, str] = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Nowhere:
    """A stream that keeps nothing, to leave disks out of the measurement."""

    def write(self, data: bytes) -> int:
        """Take bytes; their number is returned."""
        return len(data)


@dataclass(frozen=True)
class Usage:
    """Cost of processes until the last has ended: seconds, seconds of all cores, MiB of the largest."""

    seconds: float
    cores: float
    memory: float


def open_character(arguments: argparse.Namespace) -> list[bpy.types.Object]:
    """Open the character, and have its longest action go on for ever; returns its meshes."""
    if not is_there(ASSETS, arguments.character):
        raise SystemExit("See CONTRIBUTING.md")
    open_file(ASSETS, arguments.character)
    character = find_character()
    data, action = character.armature.animation_data, max(bpy.data.actions, key=lambda action: action.frame_range[1])
    data.action = None
    data.nla_tracks.new().strips.new("Again and again", 1, action).repeat = 1000.0
    return character.meshes


def run_together(arguments: argparse.Namespace) -> None:
    """Meshes of a character in one pass over the frames, and one by one: milliseconds of a frame of all"""
    rows = []
    for method in METHODS:
        meshes = open_character(arguments)
        bind(method)
        times: dict[str, list[float]] = {"alone": [], "together": []}
        for number in range(arguments.rounds + 1):  # the first is not counted
            alone, together = sum(time_bake([obj]) for obj in meshes), time_bake(meshes)
            if number:
                times["alone"].append(alone)
                times["together"].append(together)
        ratios = [one / other for one, other in zip(*times.values(), strict=True)]
        ratio = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        rows.append((method, len(meshes), *(1e3 * statistics.median(each) / SHORT for each in times.values()), ratio))
    print_table(("method", "meshes", "one by one", "together", "times faster"), rows)


def time_bake(meshes: Sequence[bpy.types.Object]) -> float:
    """Seconds of a bake in this process."""
    streams, frames = {obj: Nowhere() for obj in meshes}, range(1, SHORT + 1)
    steps = find("tasks.bake.caches").write_caches(streams, bpy.context.scene, frames)
    return time_call(lambda: list(steps))[0]


def run_processes(arguments: argparse.Namespace) -> None:
    """One process, and two at once with half the frames each: the fastest of all rounds"""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        file, count = Path(folder) / "hero.blend", arguments.frames
        open_character(arguments)
        bind(WAYS[FAST])
        bpy.ops.wm.save_as_mainfile(filepath=str(file), copy=True)

        def bake(*ranges: range, is_alone: bool = False) -> Usage:
            words = [
                ("bake", file, "--all", f"--frames={frames[0]}-{frames[-1]}", "--output", Path(folder) / f"{frames[0]}")
                for frames in ranges
            ]
            return run_processes_at_once(arguments.blender, words, is_alone)

        whole, first, second = range(1, count + 1), range(1, count // 2 + 1), range(count // 2 + 1, count + 1)
        for is_alone in (False, True):
            rounds = [
                [bake(*ranges, is_alone=is_alone) for ranges in ((range(1, 2),), (whole,), (first, second))]
                for _ in range(arguments.rounds)
            ]
            start, one, two = (min(usage, key=lambda each: each.seconds) for usage in zip(*rounds, strict=True))
            ratios = one.seconds / two.seconds, (one.seconds - start.seconds) / (two.seconds - start.seconds)
            figures = [value for usage in (start, one, two) for value in (usage.seconds, usage.cores)]
            rows.append(("one core, one thread" if is_alone else "as they are", *figures, *ratios))
    heads = ("one frame, s", "cores, s", f"{count} frames, s", "cores, s", "two at once, s", "cores, s")
    print_table(("processes", *heads, "times faster", "without the first frame"), rows)


def run_processes_at_once(blender: str, commands: Sequence[Sequence[object]], is_alone: bool) -> Usage:
    """Run commands of Supple at the same time, each on a core of its own if it is to be alone."""
    start, running = time.perf_counter(), []
    for number, command in enumerate(commands):
        cores = {sorted(os.sched_getaffinity(0))[number % len(os.sched_getaffinity(0))]} if is_alone else None
        running.append(
            subprocess.Popen(
                [*shlex.split(blender), "--command", "supple", *map(str, command)],
                env=os.environ | ALONE if is_alone else os.environ,
                preexec_fn=(lambda cores=cores: os.sched_setaffinity(0, cores)) if cores else None,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
            )
        )
    used = []
    for process in running:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{process.args} failed:\n{process.stderr.read().decode()[-3000:]}")
        process.stderr.close()
        used.append(usage)
    seconds = time.perf_counter() - start
    return Usage(
        seconds, sum(each.ru_utime + each.ru_stime for each in used), max(each.ru_maxrss for each in used) / 1024
    )


def run_long(arguments: argparse.Namespace) -> None:
    """A long shot of a body of 22,000 vertices, baked in one process, and joined from parts: peak memory"""
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        new_scene()
        body = add_body(VERTICES, BONES)
        bind(WAYS[FAST])
        bpy.ops.wm.save_as_mainfile(filepath=str(folder / "body.blend"), copy=True)
        parts = []
        for share in (8, 4, 2):
            frames = range(arguments.long // share + 1, 2 * arguments.long // share + 1)
            parts.append(folder / f"{share}.pc2")
            rows.append(measure_long(arguments.blender, folder, frames, parts[-1]))
        frames = range(1, arguments.long // 8 + 1)
        first = folder / "first.pc2"
        measure_long(arguments.blender, folder, frames, first)
        usage = run_processes_at_once(
            arguments.blender, [("join", first, *parts, "--output", folder / "whole.pc2")], False
        )
        joined = "join of four parts", arguments.long, usage.seconds, 1e3 * usage.seconds / arguments.long, usage.memory
        for part in (first, *parts):
            part.unlink()
        rows.append(measure_long(arguments.blender, folder, range(1, arguments.long + 1), folder / "at once.pc2"))
        rows.append(joined)
        is_same = subprocess.run(["cmp", folder / "whole.pc2", folder / "at once.pc2"], check=False).returncode == 0
        size = (folder / "whole.pc2").stat().st_size
    print(f"{body.vertex_count:,} vertices; {size / 1e9:.2f} GB; joined: {'the same' if is_same else 'OTHER'} bytes\n")
    print_table(("what", "frames", "seconds", "ms a frame", "peak, MiB"), rows)


def measure_long(blender: str, folder: Path, frames: range, path: Path) -> tuple:
    """A row of a bake of these frames."""
    words = ("bake", folder / "body.blend", f"--frames={frames[0]}-{frames[-1]}", "--output", path)
    usage = run_processes_at_once(blender, [words], False)
    return "bake", len(frames), usage.seconds, 1e3 * usage.seconds / len(frames), usage.memory


SECTIONS = {"together": run_together, "processes": run_processes, "long": run_long}


if __name__ == "__main__":
    arguments = parse(
        __doc__, SECTIONS, character="mh_human", rounds=3, frames=option(3000, "frames that processes bake"),
        long=option(10_000, "frames of the long shot"),
        blender=option(shlex.join([sys.executable, str(STAND_IN)]), "program to start; as it is, the Python module"),
    )  # fmt: skip
    run_sections(SECTIONS, arguments)
