"""Shared by all benchmarks: the command line, sections under headings, tables, times, characters, Supple in Blender.

Scripts import it by this name, and before all else of the checkout, which they find through it. What needs Blender
imports it when called.
"""

from __future__ import annotations

import argparse
import importlib
import math
import os
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ASSETS = ROOT.parent / "shared" / "assets"  # Real characters, which are not part of the repository
IMAGES = ROOT / "docs" / "images"
STAND_IN = ROOT / "tests" / "farm" / "blender.py"  # Starts as Blender if there is only the Python module

for _name in ("harness", "benchmarks.harness"):  # one module, whether a script is started or imported
    sys.modules.setdefault(_name, sys.modules[__name__])
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))


def option(default: Any, text: str | None = None, **more: Any) -> dict[str, Any]:
    """An option of the command line with its text in --help."""
    return {"default": default, "help": text, **more}


def parse(about: str | None, only: Iterable[str] = (), words: list[str] | None = None, /, **options: Any) -> Any:
    """Read the command line.

    Parameters
    ----------
    about : str
        The script's docstring.
    only : iterable of str
        Names of sections, of which --only takes some.
    words : list of str, optional
        Used instead of the command line.
    options
        By name: a default; a tuple of words, of which some can be chosen; or what `option` makes.
    """
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in {**({"only": tuple(only)} if only else {}), **options}.items():
        settings = value if isinstance(value, dict) else {"default": value}
        default = settings["default"]
        if isinstance(default, tuple):
            settings = {"nargs": "+", "choices": default, **settings}
        elif default is not None:
            settings = {"type": type(default), **settings}
        parser.add_argument(f"--{name}", **settings)
    return parser.parse_args(words)


def words_after_dashes() -> list[str]:
    """Words after -- on the command line of a Blender."""
    return sys.argv[sys.argv.index("--") + 1 :] if "--" in sys.argv else []


# Sections and tables


def print_table(header: Collection[str], rows: Iterable[Collection[Any]], digits: int = 3) -> None:
    """A Markdown table; numbers with so many digits."""
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        cells = (
            "-" if cell != cell else f"{cell:.{digits}g}" if isinstance(cell, float) else str(cell) for cell in row
        )
        print("| " + " | ".join(cells) + " |", flush=True)


def print_versions() -> None:
    import bpy
    import numpy as np

    print(f"Blender {bpy.app.version_string}, Python {sys.version.split()[0]}, NumPy {np.__version__}")


def print_sections(sections: Mapping[str, Callable[..., None]], arguments: argparse.Namespace) -> None:
    """Print those sections that `--only` names."""
    for name in arguments.only:
        print_section(sections[name], arguments)


def run_sections(sections: Mapping[str, Callable[..., None]], arguments: argparse.Namespace) -> None:
    """Print those sections that `--only` names, with the checkout enabled as Blender does."""
    with supple():
        print_versions()
        print_sections(sections, arguments)


def print_section(section: Callable[..., None], *arguments: object) -> None:
    """Print a section under its docstring, then the load of other processes, which affects times."""
    print(f"\n## {section.__doc__}\n", flush=True)
    start, others = time.perf_counter(), _read_others()
    section(*arguments)
    cores = (_read_others() - others) / (time.perf_counter() - start)
    if not math.isnan(cores):
        print(f"\nOther processes used {cores:.1f} of {os.cpu_count()} cores.", flush=True)


def _read_others() -> float:
    """Seconds that all cores have worked for other processes; not a number if the system does not tell."""
    if not (table := Path("/proc/stat")).is_file():
        return math.nan
    user, nice, system = table.read_text().split()[1:4]
    return (int(user) + int(nice) + int(system)) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


# Times


def time_call(step: Callable[[], Any]) -> tuple[float, Any]:
    """Seconds of a call, and its result."""
    start = time.perf_counter()
    result = step()
    return time.perf_counter() - start, result


def time_calls(step: Callable[[], object], rounds: int, warm: int = 0) -> list[float]:
    """Seconds of calls, after some that do not count."""
    return [time_call(step)[0] for _ in range(warm + rounds)][warm:]


def note_time(times: dict[str, list[float]], name: str, step: Callable[[], Any]) -> Any:
    """Add the milliseconds of a step to those of its name; returns the step's result."""
    seconds, result = time_call(step)
    times.setdefault(name, []).append(1e3 * seconds)
    return result


# Supple and characters in Blender


@contextmanager
def supple() -> Iterator[Path]:
    """Enable the checkout as long as the context lasts, with Blender's own output hushed; yields a folder for files."""
    from tools import checkout

    hush_blender()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        checkout.enable(Path(folder, "extensions"))
        try:
            yield Path(folder)
        finally:
            checkout.disable()


def hush_blender() -> None:
    """Suppress the output of Blender itself, and keep that of Python."""
    sys.stdout = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


def find(name: str) -> Any:
    """A module of the enabled checkout."""
    from tools import checkout

    return importlib.import_module(f"{checkout.MODULE}.{name}")


def api() -> Any:
    """The scripting interface of the enabled checkout, `api.py`."""
    return find("api")


def take_all(steps: Any) -> Any:
    """Take a task's steps to their end; returns its result."""
    return find("tasks.steps").take_all(steps)


def new_scene() -> None:
    import bpy

    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)


def find_file(assets: Path, name: str, ending: str = "blend") -> Path:
    """The file of a character."""
    return assets / name / f"{name}.{ending}"


def is_there(assets: Path, name: str, ending: str = "blend") -> bool:
    """Whether a character's file is at hand; printed if not."""
    if find_file(assets, name, ending).is_file():
        return True
    print(f"{name} is not in {assets}: it is left out", flush=True)
    return False


def list_at_hand(assets: Path, names: Iterable[str], ending: str = "blend") -> list[str]:
    """Those characters whose files are at hand; the others are printed."""
    return [name for name in names if is_there(assets, name, ending)]


def open_file(assets: Path, name: str, **options: Any) -> Any:
    """Open a character's file; its armature."""
    import bpy

    bpy.ops.wm.open_mainfile(filepath=str(find_file(assets, name)), **options)
    return next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")


def play_action(armature: Any, name: str) -> Any:
    """Assign an action to an armature, with its first slot; returns the action."""
    import bpy

    armature.animation_data.action = action = bpy.data.actions[name]
    if hasattr(action, "slots"):  # Blender 4.4
        armature.animation_data.action_slot = action.slots[0]
    return action


def put_to_rest(armature: Any) -> None:
    """Take an armature's animation away, and put its bones to rest."""
    import bpy

    armature.animation_data_clear()
    for bone in armature.pose.bones:
        bone.matrix_basis.identity()
    bpy.context.view_layer.update()


def select(objects: Collection[Any], active: Any) -> None:
    """Select these objects alone."""
    import bpy

    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = active


def read_vertices(vertices: Any, name: str = "co") -> Any:
    """Positions, or normals, of vertices or of the points of a shape key, float64, shape (V, 3)."""
    import numpy as np

    points = np.empty((len(vertices), 3), np.float32)
    vertices.foreach_get(name, points.ravel())
    return points.astype(np.float64)


def read_triangles(mesh: Any) -> Any:
    """Triangles of a mesh, int32, shape (T, 3)."""
    import numpy as np

    mesh.calc_loop_triangles()
    triangles = np.empty((len(mesh.loop_triangles), 3), np.int32)
    mesh.loop_triangles.foreach_get("vertices", triangles.ravel())
    return triangles


def read_posed(obj: Any) -> Any:
    """Vertices after all modifiers, float64, shape (V, 3)."""
    import bpy

    return read_vertices(obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data.vertices)
