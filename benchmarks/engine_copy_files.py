"""Error of files of engine copies: real characters, out as glTF and FBX and back by Blender's own importers.

    python benchmarks/engine_copy_files.py [--characters NAME ...] [--methods KEY ...] [--targets gltf fbx]

needs an interpreter that has bpy. All actions of a character are copied, and fitted along with a range of motion.
Millimeters are those of a character whose longest side is 1.8 m; "copy" is what was computed of the fit, "file" what
was measured of the file that was read again. Real characters are measured if available.
"""

from __future__ import annotations

from dataclasses import astuple
from pathlib import Path

import bpy
import numpy as np

from harness import ASSETS, api, list_at_hand, open_file, parse, print_table, print_versions, supple, time_call
from benchmarks.blind_flesh import make_supple
from benchmarks.blind_key import FLESH

CHARACTERS = "mh_human", "mh_human_game", "human_male", "fox", "cesium_man", "kaykit_knight"
# Methods and their options; FLESH is the result of Make Supple
METHODS = {"DLBNT": {}, "CENTERS": {"bulge_limit": 1.0}, "PARTICLES": {}, FLESH: {}}

ENDINGS = {"gltf": ".glb", "fbx": ".fbx"}
HEIGHT, TOLERANCE = 1.8, 0.003
COLUMNS = (
    "character", "method", "target", "frames", "bones", "helpers", "keys", "file: largest, mm", "95 %", "rms",
    "copy: largest, mm", "95 %", "rms", "linear: largest, mm", "95 %", "rms", "s", "worst",
)  # fmt: skip


def measure(folder: Path, assets: Path, name: str, method: str, target: str) -> tuple:
    """A row under `COLUMNS`."""
    character = api().Character(open_file(assets, name))
    meshes = [obj for obj in bpy.context.scene.objects if obj.type == "MESH" and obj.find_armature()]
    for obj in meshes:
        for choice, value in METHODS[method].items():
            setattr(obj.supple, choice, value)
    if method == FLESH:
        make_supple(meshes)
        character.flesh(meshes=meshes)
    else:
        character.bind(method, meshes=meshes)
    corners = np.array([obj.matrix_world @ vertex.co for obj in meshes for vertex in obj.data.vertices])
    scale = HEIGHT / float(np.ptp(corners, axis=0).max())
    options = {"meshes": meshes, "target": target, "tolerance": TOLERANCE / scale}
    seconds, report = time_call(lambda: character.copy(folder / f"{name}{ENDINGS[target]}", **options))
    assert report.measured == "file"
    apart = [scale * value for found in (report.apart, report.copy, report.linear) for value in astuple(found)[:3]]
    return (
        name, method, target, report.frames, report.bones, report.helpers, report.keys, *apart, seconds,
        report.apart.describe_worst(),
    )  # fmt: skip


if __name__ == "__main__":
    arguments = parse(__doc__, characters=CHARACTERS, methods=tuple(METHODS), targets=tuple(ENDINGS), assets=ASSETS)
    with supple() as folder:
        rows = [
            measure(folder, arguments.assets, character, method, target)
            for character in list_at_hand(arguments.assets, arguments.characters)
            for method in arguments.methods
            for target in arguments.targets
        ]
        print_versions()
        print_table(COLUMNS, rows)
