"""What files of engine copies show: real characters, out as glTF and FBX and back by Blender's own importers.

    python benchmarks/engine_copy_files.py [--characters NAME ...] [--methods KEY ...] [--targets gltf fbx]

needs an interpreter that has bpy. All actions of a character are copied, and fitted along with a range of motion.
Millimeters are those of a character whose longest side is 1.8 m; "copy" is what was computed of the fit, "file" what
was measured of the file that was read again. Real characters are measured where they are at hand.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
import time
from dataclasses import astuple
from pathlib import Path
from typing import Any

import bpy
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.tables import print_table
from benchmarks.timing import hush_blender, print_versions
from tools import checkout

ASSETS = Path(__file__).resolve().parents[2] / "shared" / "assets"
CHARACTERS = "mh_human", "mh_human_game", "human_male", "fox", "cesium_man", "kaykit_knight"
METHODS = {"DLBNT": {}, "CENTERS": {"bulge_limit": 1.0, "contact": 1.0}, "PARTICLES": {}}
"""With what of them is chosen."""

ENDINGS = {"gltf": ".glb", "fbx": ".fbx"}
HEIGHT, TOLERANCE = 1.8, 0.003
COLUMNS = (
    "character", "method", "target", "frames", "bones", "helpers", "keys", "file: largest, mm", "95 %", "rms",
    "copy: largest, mm", "95 %", "rms", "linear: largest, mm", "95 %", "rms", "s", "worst",
)  # fmt: skip


def load(part: str) -> Any:
    """A module of the extension."""
    return importlib.import_module(f"{checkout.MODULE}.{part}")


def measure(folder: Path, name: str, method: str, target: str) -> tuple:
    """A row under `COLUMNS`."""
    examples, run, steps = (load(f"tasks.{part}") for part in ("engine_copy.examples", "engine_copy.run", "steps"))
    bpy.ops.wm.open_mainfile(filepath=str(ASSETS / name / f"{name}.blend"))
    meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH" and obj.find_armature()]
    for obj in meshes:
        for choice, value in METHODS[method].items():
            setattr(obj.supple, choice, value)
    load("tasks.skin.bind").bind(meshes, method)
    corners = np.array([obj.matrix_world @ vertex.co for obj in meshes for vertex in obj.data.vertices])
    scale = HEIGHT / float(np.ptp(corners, axis=0).max())
    options = examples.Options(target=target, tolerance=TOLERANCE / scale)
    start = time.perf_counter()
    report: Any = steps.take_all(run.make_engine_copy(meshes, options, folder / f"{name}{ENDINGS[target]}"))
    seconds = time.perf_counter() - start
    assert report.measured == "file"
    apart = [scale * value for found in (report.apart, report.copy, report.linear) for value in astuple(found)[:3]]
    return (
        name, method, target, report.frames, report.bones, report.helpers, report.keys, *apart, seconds,
        report.apart.describe_worst(),
    )  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--characters", nargs="+", choices=CHARACTERS, default=CHARACTERS)
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=tuple(METHODS))
    parser.add_argument("--targets", nargs="+", choices=ENDINGS, default=tuple(ENDINGS))
    arguments = parser.parse_args()
    hush_blender()
    with tempfile.TemporaryDirectory() as name:
        checkout.enable(Path(name))
        rows = [
            measure(Path(name), character, method, target)
            for character in arguments.characters
            if (ASSETS / character).is_dir()
            for method in arguments.methods
            for target in arguments.targets
        ]
        print_versions()
        print_table(COLUMNS, rows)
        checkout.disable()


if __name__ == "__main__":
    main()
