"""Maps of patterns, drawn by the operator and by the command line."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any

import bpy
import pytest
from scenes_maps import FRAMES, add_body, add_pattern, hills, unmap, write_all

from scenes import select
from supple import cli
from supple.bridge.images import new_image, read_image
from supple.tasks.patterns.show import update

pytestmark = pytest.mark.python_only("patterns are shown alike, whatever evaluates the skin under them")
DONE, FAILED, USAGE = 0, 1, 2


# The operator


def test_the_operator_saves_the_current_frame(animated_body, scene, tmp_path):
    scene.frame_set(4)
    expected = write_all(animated_body, tmp_path / "task", [4], width=1024)
    select(animated_body)
    assert bpy.ops.supple.pattern_maps(directory=str(tmp_path / "operator")) == {"FINISHED"}
    assert sorted(os.listdir(tmp_path / "operator")) == ["Tube_0004.png", "Tube_heights.json"]
    for name in os.listdir(expected):
        assert (tmp_path / "operator" / name).read_bytes() == (expected / name).read_bytes()


def test_the_operator_saves_a_range(animated_body, tmp_path):
    expected = write_all(animated_body, tmp_path / "task", range(1, 6, 2), "exr", 16)
    select(animated_body.modifiers["Armature"].object)
    settings = {"frame_start": 1, "frame_end": 6, "frame_step": 2, "format": "EXR", "width": 16}
    assert bpy.ops.supple.pattern_maps(directory=str(tmp_path / "operator"), **settings) == {"FINISHED"}
    assert sorted(os.listdir(tmp_path / "operator")) == sorted(os.listdir(expected))
    for name in os.listdir(expected):
        assert (tmp_path / "operator" / name).read_bytes() == (expected / name).read_bytes()


def test_the_operator_says_what_is_wrong(animated_body, tmp_path):
    select(animated_body)
    with pytest.raises(RuntimeError, match="No folder to write to: choose one"):
        bpy.ops.supple.pattern_maps()
    with pytest.raises(RuntimeError, match="runs backwards"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path), frame_start=3, frame_end=1)
    unmap(animated_body)
    with pytest.raises(RuntimeError, match="has no UV map to draw into"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_the_operator_needs_patterns(tmp_path):
    obj, _ = add_body()
    with pytest.raises(RuntimeError, match="Add a pattern first"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path))
    bpy.data.objects.remove(obj)
    bpy.context.view_layer.objects.active = None
    with pytest.raises(RuntimeError, match="Select a mesh"):
        bpy.ops.supple.pattern_maps(directory=str(tmp_path))


# The command line


@pytest.fixture
def file(animated_body, tmp_path) -> Path:
    """A file with an animated body that has patterns; opening it makes `animated_body` invalid."""
    path = tmp_path / "hero.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    return path


def main(*argv: str | Path) -> int:
    return cli.main(["patterns", *(str(argument) for argument in argv)])


def assert_refused(code: int, captured: Any, message: str) -> None:
    assert code == FAILED
    (line,) = captured.err.splitlines()
    assert line.startswith("supple: error: ")
    assert message in line


def test_the_command_draws_the_frames_of_the_scene(animated_body, file, tmp_path, capsys):
    expected = write_all(animated_body, tmp_path / "task", FRAMES, width=1024)
    capsys.readouterr()
    assert main(file, "--output", tmp_path / "maps") == DONE
    assert capsys.readouterr().err == "Progress: 100.0%\n"
    assert sorted(os.listdir(tmp_path / "maps")) == sorted(os.listdir(expected))
    for name in os.listdir(expected):
        assert (tmp_path / "maps" / name).read_bytes() == (expected / name).read_bytes()


def test_the_command_takes_its_options(animated_body, file, tmp_path):
    expected = write_all(animated_body, tmp_path / "task", range(2, 6, 3), "exr", 16)
    options = ("--object", "Tube", "--frames", "2-6:3", "--format", "exr", "--width", "16")
    assert main(file, *options, "--output", tmp_path / "maps") == DONE
    assert sorted(os.listdir(tmp_path / "maps")) == sorted(os.listdir(expected))
    for name in os.listdir(expected):
        assert (tmp_path / "maps" / name).read_bytes() == (expected / name).read_bytes()


def test_the_command_tells_of_patterns_that_are_left_out(animated_body, tmp_path, capsys):
    animated_body.supple.patterns[0].bone = "gone"
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "hero.blend"))
    capsys.readouterr()
    assert main(tmp_path / "hero.blend", "--frames", "1", "--width", "16", "--output", tmp_path / "maps") == DONE
    assert "supple: Tube: Wrinkle: 'Rig' has no bone 'gone': choose another bone." in capsys.readouterr().err


def test_the_command_asks_which_object(animated_body, tmp_path, capsys):
    other, _ = add_body()
    add_pattern(other, "BULGE")
    update(other)
    add_body()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "two.blend"))
    capsys.readouterr()
    code = main(tmp_path / "two.blend", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "2 objects have patterns: give --object, one of Tube, Tube.001")
    code = main(tmp_path / "two.blend", "--object", "Hero", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "There is no object 'Hero': choose one of Tube, Tube.001")
    code = main(tmp_path / "two.blend", "--object", "Tube.002", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "'Tube.002' has no pattern to draw: add a pattern")
    code = main(tmp_path / "two.blend", "--object", "Rig", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "'Rig' is not a mesh")
    assert not (tmp_path / "maps").exists()


def test_the_command_without_patterns(tmp_path, capsys):
    add_body()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "plain.blend"))
    capsys.readouterr()
    code = main(tmp_path / "plain.blend", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), "No object of the scene has patterns: add some first")


@pytest.mark.parametrize(
    ("argv", "message"),
    (
        (("--width", "0"), "A height map of 0 x 0 pixels can not be drawn"),
        (("--width", "-5"), "A height map of -5 x -5 pixels can not be drawn"),
    ),
)
def test_the_command_refuses(file, tmp_path, argv, message, capsys):
    capsys.readouterr()
    assert_refused(main(file, *argv, "--output", tmp_path / "maps"), capsys.readouterr(), message)
    assert not (tmp_path / "maps").exists()


def test_frames_that_can_not_be_drawn(file, tmp_path, capsys):
    assert main(file, "--frames", "8-1", "--output", tmp_path / "maps") == USAGE
    assert "Frame range 8 to 1 runs backwards" in capsys.readouterr().err


@pytest.mark.parametrize("where", ("nowhere/maps", "file/maps", "file"))
def test_the_command_can_not_write(file, tmp_path, where, capsys):
    (tmp_path / "file").touch()
    capsys.readouterr()
    code = main(file, "--width", "16", "--output", tmp_path / where)
    assert_refused(code, capsys.readouterr(), f"Cannot write '{tmp_path / where}' (")


def test_the_command_can_not_read(tmp_path, capsys):
    capsys.readouterr()
    code = main(tmp_path / "no.blend", "--output", tmp_path / "maps")
    assert_refused(code, capsys.readouterr(), f"There is no file '{tmp_path / 'no.blend'}': check the path")


@pytest.mark.parametrize(
    "argv",
    (
        ("FILE",),
        ("--output", "maps"),
        ("FILE", "--output", "maps", "--format", "png"),
        ("FILE", "--output", "maps", "--frames", "all"),
        ("FILE", "--output", "maps", "--width", "wide"),
    ),
    ids=" ".join,
)
def test_wrong_usage(file, tmp_path, argv, capsys):
    capsys.readouterr()
    assert main(*({"FILE": file, "maps": tmp_path / "maps"}.get(text, text) for text in argv)) == USAGE
    assert capsys.readouterr().err.splitlines()[-1].startswith("supple: error: ")
    assert not (tmp_path / "maps").exists()


def test_info_counts_patterns(file, tmp_path, capsys):
    capsys.readouterr()
    assert cli.main(["info", str(file)]) == DONE
    assert capsys.readouterr().out.splitlines()[-1].endswith(", can be bound, 3 patterns")
    assert cli.main(["info", str(file), "--json"]) == DONE
    (one,) = json.loads(capsys.readouterr().out)["objects"]
    assert one["patterns"] == 3


def test_pictures_are_read_as_they_are():
    """What the other tests stand on: the image of a pattern is the picture it was given."""
    picture = hills()
    assert read_image(new_image("Hills", picture)) == pytest.approx(picture, abs=1 / 65535)
    assert math.isclose(picture.max(), 1.0)
