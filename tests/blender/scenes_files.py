"""What tests of writing share: files to write from, and a process that writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bpy
import scenes_maps

from scenes import add_face_key, animate_tube, bind, reset, save
from supple.bridge.files.writing import BESIDE
from supple.tasks.bake.caches import bake_cache
from supple.tasks.bake.inputs import read_inputs
from supple.tasks.bake.parts import bake_parts, plan_parts

SESSION = Path(__file__).with_name("write_session.py")


def make_sources(folder: Path) -> Path:
    """A character with patterns and a face key, bound and not, compressed and not; bakes in parts, and whole."""
    reset()
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = 1, 4
    obj, armature = scenes_maps.add_body()
    animate_tube(armature)
    add_face_key(obj)
    scenes_maps.add_overlapping(obj, axis="X", full=1.2, softness=0.3)
    save(folder / "plain.blend", compress=False)
    save(folder / "compressed.blend", compress=True)
    bind(obj)
    save(folder / "bound.blend", compress=False)
    for name, frames in (("early", range(1, 3)), ("late", range(3, 5))):
        list(bake_cache(obj, scene, folder / f"{name}.pc2", frames))
    inputs = read_inputs(folder / "bound.blend")
    for name, chunks in (("parts", (range(1, 3), range(3, 5))), ("whole", (range(1, 5),))):
        (folder / name).mkdir()
        for frames in chunks:
            parts = plan_parts([obj], frames, inputs, (), is_part=name == "parts")
            list(bake_parts(parts, scene, folder / name))
    return folder


def start_session(settings: Path, task: str, *arguments: object) -> subprocess.Popen[str]:
    """Start `write_session.py`, with Blender's settings in a folder, and temporary files beside."""
    temporary = settings.parent / "temporary"
    temporary.mkdir(exist_ok=True)
    return subprocess.Popen(
        [sys.executable, str(SESSION), task, *map(str, arguments)],
        env={**os.environ, "BLENDER_USER_RESOURCES": str(settings), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def find_litter(*folders: Path) -> list[Path]:
    """What has a name that files have only while they are written."""
    return [path for folder in folders for path in folder.rglob("*") if BESIDE.fullmatch(path.name)]
