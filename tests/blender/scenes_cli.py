"""What tests of the command line share: files to work on, and what was written where."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import bpy

import checkout
from scenes import add_face_key, add_tube, animate_key, animate_tube
from supple import cli

DONE, FAILED, USAGE, LEFT_OUT = 0, 1, 2, 3
FRAMES = range(1, 9)


def add_character() -> bpy.types.Object:
    """A small animated tube with a keyframed face key, in a scene of eight frames."""
    obj, armature = add_tube(rings=12, sides=8)
    animate_tube(armature)
    animate_key(add_face_key(obj))
    scene = bpy.context.scene
    scene.frame_start, scene.frame_end = FRAMES[0], FRAMES[-1]
    return obj


def main(*argv: str | Path) -> int:
    return cli.main([str(argument) for argument in argv])


def own_output(out: str) -> list[str]:
    """Lines on stdout that are not of Blender, before a command has run."""
    lines = out.splitlines()
    return [line for line in lines if "Read blend: " not in line and not line.startswith(("Info: ", "Error: "))]


def own_errors(err: str) -> list[str]:
    """Lines on stderr that are not of Blender, which are marked."""
    return [line for line in err.splitlines() if not line.startswith("Blender: ")]


def assert_refused(code: int, captured: Any, *parts: str) -> None:
    """The last line on stderr, and no other, says what is wrong, and nothing is on stdout."""
    assert code == FAILED
    *before, line = own_errors(captured.err)
    assert line.startswith("supple: error: ")
    assert not any(each.startswith(("supple: error: ", "Traceback")) for each in before)
    for part in parts:
        assert part in line
    assert own_output(captured.out) == []


SNIPPET = """
import importlib
import sys
from pathlib import Path

import bpy

tools, folder, *argv = sys.argv[1:]
sys.path.insert(0, tools)
import checkout

checkout.enable(Path(folder) / "checkout")
try:
    code = importlib.import_module(checkout.MODULE + ".cli").main(argv)
finally:
    checkout.disable()
sys.exit(code)
"""


def start(folder: Path, *argv: str | Path, stdout: int = subprocess.PIPE) -> subprocess.Popen[str]:
    """Run a command in a process of its own, with settings of its own in `folder`."""
    return subprocess.Popen(
        [sys.executable, "-c", SNIPPET, checkout.ROOT / "tools", folder, *argv],
        env={**os.environ, "BLENDER_USER_RESOURCES": str(folder)},
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
    )
