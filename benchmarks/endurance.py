"""Whether a character can be played all day: memory and steps at the start and at the end of many frames.

    python benchmarks/endurance.py [--only WAY ...] [--frames N]

needs an interpreter that has bpy. A tube of 500 vertices and 8 bones, which rotate and scale, is played over and
over; 200 particles fill it. Memory is what the process holds resident, if the system tells. A step is what a tenth
of the steps of a stretch stay below, in time of the processor: both depend little on other work of the machine.
"""

from __future__ import annotations

import argparse
import gc
import math
import os
import statistics
import time
from dataclasses import dataclass
from pathlib import Path

import bpy

from harness import new_scene, parse, print_section, print_table, print_versions, supple
from benchmarks.bodies import add_body
from benchmarks.timing import bind

WAYS = {"Fast": "DLB", "As Published": "DLBNT", "Centers": "CENTERS", "particles": "PARTICLES"}  # Method of each row
FRAMES = 20_000
VERTICES, BONES, PARTICLES, LOOP = 500, 8, 200, 30  # Of the tube, and frames of its loop


@dataclass(frozen=True)
class Run:
    """Measurements while a character was played: MiB, and milliseconds of a step."""

    memory: tuple[float, float]
    step: tuple[float, float]

    @property
    def growth(self) -> float:
        """By how much memory has grown, MiB."""
        return self.memory[1] - self.memory[0]

    @property
    def slowdown(self) -> float:
        """A step at the end over one at the start."""
        return self.step[1] / self.step[0]


def run_endurance(arguments: argparse.Namespace) -> None:
    """Memory in MiB and a step in ms of the processor, at the start and at the end of the frames"""
    rows = []
    for name in arguments.only:
        new_scene()
        add_body(VERTICES, BONES, scaled=True, frames=LOOP).obj.supple.particles.target_count = PARTICLES
        bind(WAYS[name])
        run = play(arguments.frames)
        rows.append((name, arguments.frames, *run.memory, run.growth, *run.step, run.slowdown))
    print_table(("", "frames", "memory", "at the end", "growth", "step", "at the end", "ratio"), rows, digits=4)


def play(frames: int) -> Run:
    """Play the scene for a number of frames, after a tenth of them that do not count."""
    stretch = max(LOOP, frames // 10)
    times: dict[int, list[float]] = {}
    memory = []
    for frame in range(stretch + frames):
        if frame == stretch:
            memory.append(read_memory())
        part = (frame - stretch) // stretch
        start = time.process_time()
        bpy.context.scene.frame_set(1 + frame % LOOP)
        times.setdefault(part, []).append(1e3 * (time.process_time() - start))
    memory.append(read_memory())
    first, last = (statistics.quantiles(times[part], n=10)[0] for part in (0, frames // stretch - 1))
    return Run((memory[0], memory[1]), (first, last))


def read_memory() -> float:
    """MiB that the process holds resident; not a number if the system does not tell."""
    gc.collect()
    table = Path("/proc/self/statm")
    return int(table.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if table.is_file() else math.nan


if __name__ == "__main__":
    with supple():
        print_versions()
        print_section(run_endurance, parse(__doc__, WAYS, frames=FRAMES))
