"""What the tables share: what a refusal looks like, and a small body."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import bpy
import pytest
from scenes_cli import FAILED, main, own_errors, own_output

from scenes import add_tube


def assert_refused(argv: list[str | Path], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that is refused: exit code 1, one sentence, no traceback. The sentence."""
    capsys.readouterr()
    code = main(*argv)
    captured = capsys.readouterr()
    assert code == FAILED, captured.err
    assert "Traceback" not in captured.err
    assert own_output(captured.out) == []
    *before, line = own_errors(captured.err)
    assert line.startswith("supple: error: ")
    assert line.isprintable()
    assert len(line) > len("supple: error: ") + 10
    assert all(one.startswith("Progress: ") for one in before)
    return line


def name_of(value: Any) -> str:
    """A short, printable name of a case."""
    text = ascii(value)[1:-1]
    return text if len(text) < 40 else f"{text[:30]}... ({len(text)})"


def add_body() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A small closed tube along Y, with a UV map, and its armature."""
    obj, armature = add_tube(rings=7, sides=6, is_closed=True)
    layer = obj.data.uv_layers.new(name="UVMap")
    for loop, data in zip(obj.data.loops, layer.data, strict=True):
        x, y, z = obj.data.vertices[loop.vertex_index].co
        data.uv = (0.5 + 0.5 * x + 0.1 * z, y / 3.0)
    return obj, armature
