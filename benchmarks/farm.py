"""A whole job on a farm of two workers: a real character, baked in chunks by the engine of Open Job Description.

    python benchmarks/farm.py [--character NAME] [--frames A-B] [--chunk N] [--blender COMMAND]

needs an interpreter that has bpy, and what `make test-farm` installs. Two sessions of `openjd run` bake every other
chunk each, at the same time; then one joins. The same frames are baked by one process in one run, and both compared,
byte by byte. Workers start the Blender that this runs in, or `--blender`. Times have all starts of Blender in them.
"""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import bpy

from harness import ASSETS, ROOT, STAND_IN, find_file, hush_blender, option, parse, print_table, print_versions

OPENJD = ROOT / ".venv" / "farm" / "bin" / "openjd"


def run_together(*commands: Sequence[str | Path]) -> tuple[float, float]:
    """Run programs at the same time to their ends; returns seconds, and seconds of all cores."""
    start, before = time.perf_counter(), sum(os.times()[2:4])
    running = [
        subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for command in commands
    ]
    for process in running:
        out, _ = process.communicate()
        if process.returncode:
            raise SystemExit(f"{process.args} failed:\n{out[-3000:]}")
    return time.perf_counter() - start, sum(os.times()[2:4]) - before


def list_chunks(first: int, last: int, size: int) -> list[str]:
    return [f"{start}-{min(start + size - 1, last)}" for start in range(first, last + 1, size)]


def save_in_motion(file: Path, target: Path) -> Path:
    """Save a character with its longest action in its armature."""
    bpy.ops.wm.open_mainfile(filepath=str(file))
    action = max(bpy.data.actions, key=lambda action: action.frame_range[1] - action.frame_range[0])
    for data in (obj.animation_data_create() for obj in bpy.context.scene.objects if obj.type == "ARMATURE"):
        data.action = action
        if hasattr(data, "action_slot") and data.action_slot is None:
            data.action_slot = action.slots[0]
    with redirect_stdout(StringIO()):
        bpy.ops.wm.save_as_mainfile(filepath=str(target))
    return target


def measure(folder: Path, blender: str, file: Path, frames: tuple[int, int], chunk: int) -> list[tuple]:
    """Rows of what was done, in how many seconds, and in how many of all cores."""
    supple, job, whole = [blender, "--command", "supple"], folder / "job", folder / "at once"
    words = [file, "--all", "--method", "DLBNT", f"--frames={frames[0]}-{frames[1]}"]
    rows = [("one bake of all meshes, one process", *run_together([*supple, "bake", *words, "--output", whole]))]
    # Chunks as they were asked for: the engine would make those that it cuts of one length.
    options = ("--chunk", str(chunk), "--no-task-chunking", "--engine", "openjd", "--output", job)
    rows.append(("the job is written", *run_together([*supple, "farm", *words, *options])))
    values = json.dumps({"SceneFile": str(file), "OutputFolder": str(job), "Blender": blender})
    engine, chunks = [OPENJD, "run", job / "template.json", "-p", values, "--step"], list_chunks(*frames, chunk)
    workers = [
        [*engine, "Bake", "--tasks", json.dumps([{"Chunk": chunk} for chunk in chunks[start::2]])] for start in (0, 1)
    ]
    rows.append((f"{len(chunks)} chunks are baked, two sessions at once", *run_together(*workers)))
    rows.append(("the chunks are joined", *run_together([*engine, "Join"])))
    caches = {path.name: path.read_bytes() for path in whole.glob("*.pc2")}
    joined = {path.name: path.read_bytes() for path in (job / "caches").glob("*.pc2")}
    if not caches or caches != joined:
        raise SystemExit("The joined caches have NOT the bytes of one bake")
    size = sum(map(len, caches.values())) / 1e6
    print(f"{len(caches)} caches of {size:.0f} MB: the same bytes\n")
    return rows


if __name__ == "__main__":
    arguments = parse(
        __doc__, character="mh_human", frames="1-200", chunk=37,
        blender=option(shlex.join([sys.executable, str(STAND_IN)]), "program that workers start"),
    )  # fmt: skip
    first, last = map(int, arguments.frames.split("-"))
    file = find_file(ROOT / "demo" if arguments.character == "human" else ASSETS, arguments.character)
    if not (file.is_file() and OPENJD.is_file()):
        raise SystemExit(f"'{file}' or '{OPENJD}' is not there: see CONTRIBUTING.md")
    hush_blender()
    print_versions()
    with tempfile.TemporaryDirectory() as name:
        blender = Path(name) / "blender"
        blender.write_text(f'#!/bin/sh\nexec {arguments.blender} "$@"\n')
        blender.chmod(0o755)
        moving = save_in_motion(file, Path(name) / file.name)
        rows = measure(Path(name), str(blender), moving, (first, last), arguments.chunk)
    print_table(("what", "seconds", "of all cores"), rows)
