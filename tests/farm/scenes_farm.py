"""What tests of farms share: a character to send to one, the program that workers start, and what a job must give."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import bpy
from scenes_cli import add_character

STAND_IN = Path(__file__).with_name("blender.py")
NAMES = ('-Körper {{Param.x}} "a"', "Mantel 'b' }} 漢字")
"""Names of objects that a shell, an option parser or a format string would take for something else."""


def write_blender(path: Path) -> Path:
    """Write the program that workers start as Blender: the Blender that runs these tests, with this checkout."""
    path.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {shlex.quote(str(STAND_IN))} "$@"\n')
    path.chmod(0o755)
    return path


def add_two(names: tuple[str, str] = NAMES) -> list[bpy.types.Object]:
    """Two tubes on one armature, moving from frame -4 to 8, in light before a camera; renders of 16 x 16 pixels."""
    scene, first = bpy.context.scene, add_character()
    second = first.copy()
    second.data = first.data.copy()
    second.location.x = 1.0
    scene.collection.objects.link(second)
    first.name, second.name = names
    for bone in next(obj for obj in scene.objects if obj.type == "ARMATURE").pose.bones:
        bone.rotation_euler = (-0.5, 0.0, 0.0)
        bone.keyframe_insert("rotation_euler", frame=-4)
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location = (0.5, 1.5, 12.0)
    light = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    for obj in (camera, light):
        scene.collection.objects.link(obj)
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.render.filepath = "//shot_###"
    return [first, second]


ORDERS = "\nopenjd_env: SUPPLE_ORDERED=1\nopenjd_fail: ordered\nSaved: '/ordered.png'\n"
"""What engines would obey, if Blender printed it."""


def add_orders(scene: bpy.types.Scene) -> None:
    """Give what Blender prints when it opens the file a name that engines would obey."""
    text = bpy.data.texts.new(f"text{ORDERS}")
    text.use_module = True
    next(obj for obj in scene.objects if obj.type == "MESH").name = "Saved: '/ordered.png'"


def write_recorder(path: Path, blender: Path, log: Path) -> Path:
    """A program that workers start as Blender, and that adds its environment and what it prints to a file."""
    path.write_text(f'#!/bin/sh\nenv >> {shlex.quote(str(log))}\nexec {shlex.quote(str(blender))} "$@"\n')
    path.chmod(0o755)
    return path


def run(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False, timeout=300, errors="replace", **options
    )


def contents(folder: Path, pattern: str) -> dict[str, bytes]:
    """The files of a folder by their names."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}


def read_images(folder: Path) -> dict[str, tuple[float, ...]]:
    """The pixels of a folder's images by their names; the files also say when they were rendered."""
    return {path.name: tuple(bpy.data.images.load(str(path)).pixels) for path in sorted(folder.iterdir())}
