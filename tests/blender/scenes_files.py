"""What tests of writing share: files to write from, and a process that writes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bpy
import scenes_maps

from scenes import add_face_key, animate_tube, bind, reset, save
from supple.bridge.files import BESIDE
from supple.tasks.bake.caches import bake_cache

SESSION = Path(__file__).with_name("write_session.py")


def make_sources(folder: Path) -> Path:
    """A character with patterns and a face key, bound and not, its file compressed and not; and a bake in two parts."""
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
    return folder


def start_session(settings: Path, task: str, *arguments: object) -> subprocess.Popen[str]:
    """Start `write_session.py`, with Blender's settings in a folder."""
    return subprocess.Popen(
        [sys.executable, str(SESSION), task, *map(str, arguments)],
        env={**os.environ, "BLENDER_USER_RESOURCES": str(settings)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def find_litter(*folders: Path) -> list[Path]:
    """What has a name that files have only while they are written."""
    return [path for folder in folders for path in folder.rglob("*") if BESIDE.fullmatch(path.name)]
