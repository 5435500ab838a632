"""Parts of a job of many machines: the start of a worker, digests, folders of many parts, and their joining.

    python benchmarks/many_machines.py [--only starts digests folders joins] [--character NAME] [--blender COMMAND]

needs an interpreter that has bpy. docs/farms.md works out from these figures what a thousand workers read and write.
Parts are made up, and lie where temporary files do: on a local disk, whose cache holds what was just written. Workers
start Blender as a Python module, or the program of `--blender`, which has Supple.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from harness import ASSETS, STAND_IN, find, find_file, is_there, option, parse, print_table, run_sections, time_calls

OBJECTS = 3
ROUNDS = 3
# Methods and numbers of frames of a chunk
BAKES = (("CENTERS", 1), ("CENTERS", 201), ("PARTICLES", 1), ("PARTICLES", 11))


def seconds_of(step: Callable[[], object], rounds: int = ROUNDS) -> float:
    """Seconds of a step: the fewest of some, as other processes only add to them."""
    return min(time_calls(step, rounds))


def measure_starts(arguments: argparse.Namespace) -> None:
    """A worker: seconds from its start until it has ended"""
    if not is_there(ASSETS, arguments.character):
        raise SystemExit("See CONTRIBUTING.md")
    file = find_file(ASSETS, arguments.character)
    expected = find("tasks.bake.inputs").open_with_inputs(file).describe()
    supple = [*shlex.split(arguments.blender), "--command", "supple"]

    def start(*words: str | Path) -> None:
        subprocess.run([*supple, *map(str, words)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    size = f"{file.stat().st_size / 1e6:.1f} MB"

    def bake(method: str, count: int) -> None:
        with tempfile.TemporaryDirectory() as folder:
            words = ("--all", "--method", method, "--part", "--expect", expected, f"--frames=1-{count}")
            start("bake", file, *words, "--output", folder)

    rows = [
        ("Blender with Supple, no file", seconds_of(lambda: start("info", "--help"))),
        (f"`supple info --expect`, {size}", seconds_of(lambda: start("info", file, "--expect", expected))),
    ]
    for method, count in BAKES:
        rows.append((f"`supple bake --part`, {method}, frames: {count}", seconds_of(partial(bake, method, count))))
    print_table(("what", "seconds"), rows)


def measure_digests(_arguments: argparse.Namespace) -> None:
    """Digests, which workers make of the file and of what they write: MB a second"""
    data = np.random.default_rng(0).bytes(256 << 20)
    print_table(("what", "MB/s"), [("SHA-256", len(data) / 1e6 / seconds_of(lambda: hashlib.sha256(data)))])


def measure_folders(_arguments: argparse.Namespace) -> None:
    """Folders of many parts: seconds to list one, as each write does, and to read what is in it, as join does"""
    rows = []
    for count in (1_000, 10_000):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            write_parts(folder, chunks=count // OBJECTS + 1, size=1, points=8)
            files = sum(1 for _ in os.scandir(folder))
            frames = [range(1, count // OBJECTS + 2)]
            listed = seconds_of(lambda folder=folder: [entry.name for entry in os.scandir(folder)])
            joined = seconds_of(lambda: join(folder, frames), rounds=1)  # noqa: B023 - run at once
            rows.append((files // 2, files, listed, joined))
    print_table(("parts", "files", "to list", "to join, of one frame each"), rows)


def measure_joins(_arguments: argparse.Namespace) -> None:
    """Joins of large parts, 50 frames of 22,000 points: MB a second, read and written by one process"""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_parts(folder, chunks=10, size=50, points=22_000)
        size = sum(path.stat().st_size for path in folder.glob("*.pc2")) / 1e6
        seconds = seconds_of(lambda: join(folder, [range(1, 501)]), rounds=3)
    print_table(("joined", "seconds", "MB/s"), [(f"{size:,.0f} MB", seconds, size / seconds)])


def write_parts(folder: Path, chunks: int, size: int, points: int) -> None:
    """Fill a folder with parts of `OBJECTS` objects, in chunks of so many frames."""
    inputs, parts, caches = find("tasks.bake.inputs"), find("tasks.bake.parts"), find("bridge.files.point_caches")
    stems = tuple(f"part{number}" for number in range(OBJECTS))
    body = np.random.default_rng(0).random((size, points, 3)).astype("<f4").tobytes()
    for start in range(1, chunks * size + 1, size):
        frames = range(start, start + size)
        data = caches.CacheHeader.of(points, frames).pack() + body
        digest = hashlib.sha256(data).hexdigest()
        for stem in stems:
            part = parts.Part(
                *(parts.name_part(stem, frames), stem, stem, points, frames),
                *(inputs.Inputs("0.1.0", "5.2", "0" * 64), (), stems, len(data), digest),
            )
            part.cache_in(folder).write_bytes(data)
            with tempfile.TemporaryDirectory() as empty:  # each write lists its folder
                part.write(Path(empty))
                shutil.copy(Path(empty) / f"{part.name}.json", folder)


def join(folder: Path, frames: list[range]) -> None:
    with tempfile.TemporaryDirectory() as output:
        find("tasks.bake.joining").join_parts(folder, frames, Path(output))


SECTIONS = {"starts": measure_starts, "digests": measure_digests, "folders": measure_folders, "joins": measure_joins}


if __name__ == "__main__":
    blender = option(shlex.join([sys.executable, str(STAND_IN)]), "program to start")
    run_sections(SECTIONS, parse(__doc__, SECTIONS, character="mh_human", blender=blender))
