"""Waits in a window: from opening a file to a bound character, Bind, Flip, and what takes seconds.

    blender --python benchmarks/window_times.py [-- --rounds N] [--assets FOLDER]

opens a window, measures, prints Markdown and quits. Each step is taken by its button's operator, as by a click, and by
the same from a script, in turn; what follows until the window is drawn stands in a column of its own. Compare ratios:
times depend on the machine, on what else it does, and on its graphics; seconds of CPU the least. What takes seconds
is measured with a real character if available (`--assets`), the rest with the generated one.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import bpy

from harness import ASSETS, find_file, option, parse, print_table, print_versions, words_after_dashes
from benchmarks.generated import add_person
from benchmarks.in_window import in_view, run_in_window

PAUSE = 1.5  # Seconds for Blender to draw after opening a file and after a step
LONGEST = 300.0  # Seconds after which a step counts as hung
WINDOW, SCRIPT, DRAWING = "window", "script", "drawing"

# Seconds of each step, passed and computed, by its name: in the window, by script, and of drawing the window then
Times = dict[tuple[str, str], list[tuple[float, float]]]


def measure(folder: Path, arguments: argparse.Namespace) -> Iterator[float]:
    """All measurements, yielding how many seconds Blender's own loop is to run before the next step."""
    generated, real = folder / "generated.blend", find_file(arguments.assets, "mh_human")
    bpy.ops.wm.read_homefile(use_factory_startup=True)
    yield PAUSE
    for obj in list(bpy.data.objects):
        bpy.data.objects.remove(obj)
    add_person()
    bpy.ops.wm.save_as_mainfile(filepath=str(generated))
    yield from _measure_bind(generated, SCRIPT, {})  # the first of a session is not like the others
    times: Times = {}
    for number in range(arguments.rounds):
        for way in (SCRIPT, WINDOW) if number % 2 else (WINDOW, SCRIPT):
            yield from _measure_bind(generated, way, times)
    for path in [path for path in (real,) if path.is_file()] or [generated]:
        for number in range(arguments.rounds):
            for way in (SCRIPT, WINDOW) if number % 2 else (WINDOW, SCRIPT):
                yield from _measure_computing(path, way, times)
    print_versions()
    print()
    _print_times(times)


def _print_times(times: Times) -> None:
    """A row for each step: medians of the seconds that pass, and of those that Blender computes in all its threads."""
    rows = []
    for name in dict.fromkeys(name for name, _ in times):
        taken = [times.get((name, way), [(math.nan, math.nan)]) for way in (WINDOW, SCRIPT, DRAWING)]
        (window, window_cpu), (script, script_cpu), (drawing, _) = (
            map(statistics.median, zip(*durations, strict=True)) for durations in taken
        )
        ratios = window / script, window_cpu / script_cpu
        rows.append((name, window, script, window - script, ratios[0], window_cpu, script_cpu, ratios[1], drawing))
    names = ("window, s", "script, s", "difference, s", "ratio", "window, CPU s", "script, CPU s", "CPU ratio")
    print_table(("step", *names, "then drawing, s"), rows)


def _measure_bind(path: Path, way: str, times: Times) -> Iterator[float]:
    """Open a file, click its armature, Make Supple; bind again; flip; unbind and bind by Bind."""
    note = _Note(times, way)
    bpy.ops.wm.open_mainfile(filepath=str(path))
    yield PAUSE
    yield from note("Nothing, to compare its drawing")
    yield from note(
        "Open file to bound character: click on the armature, Make Supple", _choose_armature, bpy.ops.supple.make
    )
    yield PAUSE
    yield from note("Bind again", bpy.ops.supple.bind)
    yield PAUSE
    for _ in range(2):
        yield from note("Flip", bpy.ops.supple.flip)
        yield PAUSE
    bpy.ops.wm.open_mainfile(filepath=str(path))
    yield PAUSE
    with in_view():
        _choose_armature()
    yield PAUSE
    yield from note("Bind, the first in a file", bpy.ops.supple.bind)
    yield PAUSE


def _measure_computing(path: Path, way: str, times: Times) -> Iterator[float]:
    """Automatic Weights and Check Character: in the window another Blender computes, and they end by themselves."""
    bpy.ops.wm.open_mainfile(filepath=str(path))
    yield PAUSE
    with in_view():
        _choose_armature()
    yield PAUSE
    manager = bpy.context.window_manager
    mesh = next(obj for obj in bpy.context.view_layer.objects if obj.type == "MESH" and obj.find_armature())
    settings: Any = manager.supple_check  # pyright: ignore[reportAttributeAccessIssue]
    settings.use_actions = False

    def is_weighted() -> bool:
        return bool(mesh.supple.weights_report)  # pyright: ignore[reportAttributeAccessIssue]

    steps = (
        ("Automatic Weights", bpy.ops.supple.weights_auto, is_weighted),
        ("Check Character", bpy.ops.supple.check, lambda: bool(settings.armature)),
    )
    for name, operator, is_done in steps:
        start = _Clock()
        with in_view():
            operator("INVOKE_DEFAULT" if way == WINDOW else "EXEC_DEFAULT")
        while not is_done():
            if start.read()[0] > LONGEST:
                raise RuntimeError(f"{name} has not ended after {LONGEST} s")
            yield 0.02
        times.setdefault((name, way), []).append(start.read())
        yield 2.0 * PAUSE


class _Clock:
    """Seconds since it was made: that have passed, and that Blender has computed."""

    def __init__(self) -> None:
        self._start = time.perf_counter(), time.process_time()

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self._start[0], time.process_time() - self._start[1]


class _Note:
    """Takes steps, in the window or by script, and notes the seconds."""

    def __init__(self, times: Times, way: str) -> None:
        self._times, self._way = times, way

    def __call__(self, name: str, *steps: Callable[..., Any]) -> Iterator[float]:
        """Take steps: functions, and operators as by a click or from a script; in the window, draw it then."""
        start = _Clock()
        with in_view():
            for step in steps:
                is_operator = hasattr(step, "idname")
                step("INVOKE_DEFAULT" if self._way == WINDOW else "EXEC_DEFAULT") if is_operator else step()
        while bpy.context.window_manager.windows[0].modal_operators:
            yield 0.02
        self._times.setdefault((name, self._way), []).append(start.read())
        with in_view():
            if self._way == WINDOW:
                done = _Clock()
                bpy.ops.wm.redraw_timer(type="DRAW_WIN_SWAP", iterations=1)
                self._times.setdefault((name, DRAWING), []).append(done.read())


def _choose_armature() -> None:
    """Select the armature, as by a click."""
    layer = bpy.context.view_layer
    for obj in layer.objects:
        obj.select_set(obj.type == "ARMATURE")
    layer.objects.active = next(obj for obj in layer.objects if obj.type == "ARMATURE")


if __name__ == "__main__":
    rounds = option(3, "how often each step is taken in the window and by script")
    arguments = parse(__doc__, (), words_after_dashes(), rounds=rounds, assets=ASSETS)
    bpy.context.preferences.system.viewport_aa = "OFF"  # else a change is drawn eight times, perhaps into the next step
    run_in_window(lambda folder: measure(folder, arguments), PAUSE)
