"""Maps of patterns, drawn by the operator and by the command line."""

import json
import os
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, main, own_errors
from scenes_maps import FRAMES, hills, write_all

from scenes import save, select
from supple.bridge.images.data import new_image, read_image


def assert_same_files(folder: Path, expected: Path) -> None:
    """Assert that two folders hold the same files."""
    assert sorted(os.listdir(folder)) == sorted(os.listdir(expected))
    for name in os.listdir(expected):
        assert (folder / name).read_bytes() == (expected / name).read_bytes()


# The operator


def test_the_operator_saves_the_current_frame(animated_body, scene, tmp_path):
    scene.frame_set(4)
    expected = write_all(animated_body, tmp_path / "task", [4], width=1024)
    select(animated_body)
    assert bpy.ops.supple.pattern_maps(directory=str(tmp_path / "operator")) == {"FINISHED"}
    assert sorted(os.listdir(expected)) == ["Tube_0004.png", "Tube_heights.json"]
    assert_same_files(tmp_path / "operator", expected)


@pytest.mark.versions
def test_the_operator_saves_a_range(animated_body, tmp_path):
    expected = write_all(animated_body, tmp_path / "task", range(1, 6, 2), "exr", 16)
    select(animated_body.modifiers["Armature"].object)
    settings = {"frame_start": 1, "frame_end": 6, "frame_step": 2, "format": "EXR", "width": 16}
    assert bpy.ops.supple.pattern_maps(directory=str(tmp_path / "operator"), **settings) == {"FINISHED"}
    assert_same_files(tmp_path / "operator", expected)


# The command line


@pytest.fixture
def file(animated_body, tmp_path) -> Path:
    """A file with an animated body that has patterns; opening it makes `animated_body` invalid."""
    return save(tmp_path / "hero.blend")


def test_the_command_draws_the_frames_of_the_scene(animated_body, scene, tmp_path, capsys):
    scene.frame_end = 2
    file = save(tmp_path / "hero.blend")
    expected = write_all(animated_body, tmp_path / "task", FRAMES[:2], width=1024)
    capsys.readouterr()
    assert main("patterns", file, "--output", tmp_path / "maps") == DONE
    assert own_errors(capsys.readouterr().err) == ["Progress: 100.0%"]
    assert_same_files(tmp_path / "maps", expected)


def test_the_command_takes_its_options_and_tells_of_patterns_that_are_left_out(animated_body, tmp_path, capsys):
    animated_body.supple.patterns[0].bone = "gone"
    file = save(tmp_path / "hero.blend")
    expected = write_all(animated_body, tmp_path / "task", range(2, 6, 3), "exr", 16)
    options = ("--object", "Tube", "--frames", "2-6:3", "--format", "exr", "--width", "16")
    capsys.readouterr()
    assert main("patterns", file, *options, "--output", tmp_path / "maps") == DONE
    assert "supple: Tube: Wrinkle: 'Rig' has no bone 'gone': choose another bone." in capsys.readouterr().err
    assert_same_files(tmp_path / "maps", expected)


def test_info_counts_patterns(file, capsys):
    capsys.readouterr()
    assert main("info", file) == DONE
    assert capsys.readouterr().out.splitlines()[-1].endswith(", can be bound, 3 patterns")
    assert main("info", file, "--json") == DONE
    (one,) = json.loads(capsys.readouterr().out)["objects"]
    assert one["patterns"] == 3


def test_pictures_are_read_as_they_are():
    """What the other tests stand on: the image of a pattern is the picture it was given."""
    picture = hills()
    assert read_image(new_image("Hills", picture)) == pytest.approx(picture, abs=1 / 65535)
    assert picture.max() == pytest.approx(1.0)
