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
    """Two tubes on one armature, moving from frame -2 to 8, and a camera that sees them; renders of 16 x 16 pixels."""
    scene, first = bpy.context.scene, add_character()
    second = first.copy()
    second.data = first.data.copy()
    second.location.x = 1.0
    scene.collection.objects.link(second)
    first.name, second.name = names
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location = (0.5, 1.5, 12.0)
    scene.collection.objects.link(camera)
    scene.camera = camera
    scene.render.engine = "CYCLES"
    scene.cycles.samples = 1
    scene.render.resolution_x = scene.render.resolution_y = 16
    scene.render.filepath = "//shot_###"
    return [first, second]


def run(*words: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    """Run a program to its end."""
    return subprocess.run(
        list(map(str, words)), capture_output=True, text=True, check=False, timeout=300, errors="replace", **options
    )


def contents(folder: Path, pattern: str) -> dict[str, bytes]:
    """The files of a folder by their names."""
    return {path.name: path.read_bytes() for path in sorted(folder.glob(pattern))}
