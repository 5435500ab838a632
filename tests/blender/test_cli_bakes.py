"""Bakes of several meshes by the command line: which, into which files, and what is told meanwhile."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, FAILED, add_character, assert_refused, main, own_output

from scenes import add_twin, bind, evaluated_points, points_at, reset, save
from supple.bridge.point_caches import read_samples
from supple.cli import messages

pytestmark = pytest.mark.usefixtures("built_groups_if_evaluated")

NAMES = ("Tube", "Left Sleeve", "Shoe")


def add_characters() -> list[bpy.types.Object]:
    objects = [add_character()]
    for name in NAMES[1:]:
        twin = add_twin(objects[0])
        twin.name = name
        objects.append(twin)
    return objects


@pytest.fixture
def plain(tmp_path) -> Path:
    """A file with three meshes of one armature, none bound."""
    add_characters()
    return save(tmp_path / "plain.blend")


@pytest.fixture
def bound(tmp_path) -> Path:
    """The same, all bound but the shoe."""
    bind(*add_characters()[:2], method="DLB")
    return save(tmp_path / "bound.blend")


def alone(file: Path, name: str, path: Path, *options: str) -> bytes:
    """The PC2 file of a mesh that is baked by itself."""
    assert main("bake", file, "--object", name, *options, "--output", path) == DONE
    return path.read_bytes()


def list_caches(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".pc2"))


@pytest.mark.parametrize(
    ("chosen", "files"),
    (
        (("--all",), ["Left_Sleeve.pc2", "Tube.pc2"]),
        (("--object", "Left Sleeve", "--object", "Tube"), ["Left_Sleeve.pc2", "Tube.pc2"]),
        (("--all", "--method", "SSD"), ["Left_Sleeve.pc2", "Shoe.pc2", "Tube.pc2"]),
        (("--object", "Tube", "--object", "Shoe", "--method", "SSD"), ["Shoe.pc2", "Tube.pc2"]),
    ),
    ids=" ".join,
)
def test_several_meshes_go_to_a_folder(tmp_path, bound, chosen, files):
    assert main("bake", bound, *chosen, "--output", tmp_path / "new") == DONE
    assert list_caches(tmp_path / "new") == files
    for name in NAMES:
        path = tmp_path / "new" / f"{name.replace(' ', '_')}.pc2"
        if path.exists():
            assert path.read_bytes() == alone(
                bound, name, tmp_path / "alone.pc2", *chosen[-2:] if "SSD" in chosen else ()
            )
            described = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
            assert (described["object"], described["frames"]) == (name, [1, 8, 1])


def test_the_only_bound_mesh_needs_no_name(tmp_path, bound_file):
    assert main("bake", bound_file, "--output", tmp_path / "a.pc2") == DONE
    assert (tmp_path / "a.pc2").read_bytes() == alone(bound_file, "Tube", tmp_path / "b.pc2")
    assert main("bake", bound_file, "--all", "--output", tmp_path / "folder") == DONE
    assert (tmp_path / "folder" / "Tube.pc2").read_bytes() == (tmp_path / "a.pc2").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    (
        ((), "2 meshes can be baked, Left Sleeve, Tube: give --all, or --object with one of them"),
        (("--method", "SSD"), "3 meshes can be baked, Left Sleeve, Shoe, Tube: give --all"),
        (("--object", "Shoe", "--object", "Tube"), "'Shoe' is not bound: give --method"),
        (("--object", "Hat", "--object", "Tube"), "There is no object 'Hat'"),
    ),
)
def test_meshes_that_cannot_be_chosen(tmp_path, bound, options, message, capsys):
    capsys.readouterr()
    assert_refused(main("bake", bound, *options, "--output", tmp_path / "new"), capsys.readouterr(), message)
    assert not (tmp_path / "new").exists()


def test_nothing_to_choose(tmp_path, plain, capsys):
    capsys.readouterr()
    code = main("bake", plain, "--all", "--output", tmp_path / "new")
    assert_refused(code, capsys.readouterr(), "No mesh of the scene is bound: give --method")
    reset()
    empty = save(tmp_path / "empty.blend")
    capsys.readouterr()
    code = main("bake", empty, "--all", "--method", "SSD", "--output", tmp_path / "new")
    assert_refused(code, capsys.readouterr(), "No mesh of the scene has an Armature modifier")
    assert not (tmp_path / "new").exists()


def test_several_ranges_are_a_file_each(tmp_path, bound_file):
    assert main("bake", bound_file, "--frames=-3--1,2-6:2,8", "--output", tmp_path / "new") == DONE
    assert list_caches(tmp_path / "new") == ["Tube_-3--1.pc2", "Tube_2-6x2.pc2", "Tube_8-8.pc2"]
    for text, name in (("-3--1", "-3--1"), ("2-6:2", "2-6x2"), ("8", "8-8")):
        expected = alone(bound_file, "Tube", tmp_path / "alone.pc2", f"--frames={text}")
        assert (tmp_path / "new" / f"Tube_{name}.pc2").read_bytes() == expected


@pytest.mark.parametrize("text", ("1-8", "1-3,5-8"))
def test_the_saved_file_plays_all(tmp_path, bound, text):
    bpy.ops.wm.open_mainfile(filepath=str(bound))
    live = {name: [points_at(bpy.data.objects[name], frame) for frame in (1, 3, 6)] for name in NAMES[:2]}
    options = ("--frames", text, "--output", tmp_path / "new", "--save", tmp_path / "plays.blend")
    assert main("bake", bound, "--all", *options) == DONE
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "plays.blend"))
    for name, expected in live.items():
        obj = bpy.data.objects[name]
        assert obj.supple.bake == "PC2"
        for frame, points in zip((1, 3, 6), expected, strict=True):
            bpy.context.scene.frame_set(frame)
            assert abs(evaluated_points(obj) - points).max() < 1e-5


def test_shape_keys_of_several_meshes_and_ranges(tmp_path, bound):
    options = ("--format", "shape-keys", "--frames", "1-2,5", "--output", tmp_path / "keys.blend")
    assert main("bake", bound, "--all", *options) == DONE
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "keys.blend"))
    for name in NAMES[:2]:
        obj = bpy.data.objects[name]
        assert obj.supple.bake == "SHAPE_KEYS"
        assert [key.name for key in obj.data.shape_keys.key_blocks][-3:] == ["Supple 1", "Supple 2", "Supple 5"]
        values = []
        for frame in (1, 2, 5, 3):
            bpy.context.scene.frame_set(frame)
            values.append([round(key.value, 4) for key in obj.data.shape_keys.key_blocks[-3:]])
        assert values == [
            [1, 0, 0],
            [0, 1, 0],
            [0, 0, 1],
            [0, pytest.approx(2 / 3, abs=1e-3), pytest.approx(1 / 3, abs=1e-3)],
        ]


def test_files_that_are_there_are_replaced_and_others_stay(tmp_path, bound):
    (tmp_path / "new").mkdir()
    for name in ("Tube.pc2", "notes.txt"):
        (tmp_path / "new" / name).write_text("old", encoding="utf-8")
    assert main("bake", bound, "--all", "--output", tmp_path / "new") == DONE
    assert sorted(os.listdir(tmp_path / "new")) == [
        "Left_Sleeve.json", "Left_Sleeve.pc2", "Tube.json", "Tube.pc2", "notes.txt",
    ]  # fmt: skip
    assert len(list(read_samples(tmp_path / "new" / "Tube.pc2"))) == 8


@pytest.mark.parametrize("is_there", (False, True))
def test_a_bake_that_fails_leaves_nothing(tmp_path, bound, is_there, capsys):
    bpy.ops.wm.open_mainfile(filepath=str(bound))
    bpy.data.objects["Left Sleeve"].hide_viewport = True
    save(bound)
    if is_there:
        (tmp_path / "new").mkdir()
    capsys.readouterr()
    code = main("bake", bound, "--all", "--output", tmp_path / "new")
    assert_refused(code, capsys.readouterr(), "Frame 1: 'Left Sleeve' is switched off in this view layer")
    assert (tmp_path / "new").exists() == is_there
    assert not is_there or os.listdir(tmp_path / "new") == []


@pytest.mark.parametrize("where", ("nowhere/new", "file", "file/new", "n" * 300))
def test_folders_that_cannot_be_written(tmp_path, bound, where, capsys):
    (tmp_path / "file").touch()
    capsys.readouterr()
    code = main("bake", bound, "--all", "--output", tmp_path / where)
    assert_refused(code, capsys.readouterr(), "Cannot write '")


def test_two_meshes_that_would_share_a_file(tmp_path, capsys):
    objects = add_characters()
    objects[2].name = "left_sleeve"
    bind(*objects, method="DLB")
    file = save(tmp_path / "same.blend")
    capsys.readouterr()
    code = main("bake", file, "--all", "--output", tmp_path / "new")
    assert_refused(code, capsys.readouterr(), "'Left Sleeve' and 'left_sleeve' would share the file")
    assert not (tmp_path / "new").exists()


# What is told


@pytest.fixture
def every_step(monkeypatch):
    """Progress is told at each step, as if each took long."""
    monkeypatch.setattr(messages, "BETWEEN_REPORTS", 0.0)


@pytest.mark.usefixtures("every_step")
def test_progress_for_people(tmp_path, bound, capsys):
    capsys.readouterr()
    assert main("bake", bound, "--all", "--output", tmp_path / "new") == DONE
    captured = capsys.readouterr()
    assert captured.err.splitlines() == [f"Progress: {100 * done / 8:.1f}%" for done in range(1, 9)]
    assert own_output(captured.out) == []


@pytest.mark.usefixtures("every_step")
def test_progress_for_open_job_description(tmp_path, bound, capsys):
    capsys.readouterr()
    options = ("--progress", "openjd", "--frames", "1-2,5-6", "--output", tmp_path / "new")
    assert main("bake", bound, "--all", *options) == DONE
    captured = capsys.readouterr()
    assert own_output(captured.out) == [f"openjd_progress: {share}" for share in ("25.0", "50.0", "75.0", "100.0")]
    assert captured.err == ""


def test_progress_is_not_told_each_frame(tmp_path, bound, capsys):
    capsys.readouterr()
    assert main("bake", bound, "--all", "--output", tmp_path / "new") == DONE
    assert capsys.readouterr().err == "Progress: 100.0%\n"


def test_a_worker_of_open_job_description_reads_why_a_bake_fails(tmp_path, bound, capsys):
    capsys.readouterr()
    options = ("--progress", "openjd", "--output", tmp_path / "new")
    assert main("bake", bound, "--object", "Hat", *options) == FAILED
    captured = capsys.readouterr()
    (line,) = own_output(captured.out)
    assert line.startswith("openjd_fail: There is no object 'Hat': ")
    assert captured.err.splitlines() == [line.replace("openjd_fail: ", "supple: error: ")]


@pytest.mark.parametrize("expression", ("somewhere(frame)", "0.1 * frame"))
def test_python_of_the_file_that_was_not_run_is_told(tmp_path, expression, capfd):
    obj = add_character()
    armature = next(modifier.object for modifier in obj.modifiers if modifier.type == "ARMATURE")
    armature.driver_add("location", 0).driver.expression = expression
    bind(obj, method="DLB")
    file = save(tmp_path / "driven.blend")
    capfd.readouterr()
    assert main("bake", file, "--output", tmp_path / "a.pc2") == DONE
    told = [line for line in capfd.readouterr().err.splitlines() if line.startswith("supple: ")]
    if expression == "0.1 * frame":
        assert told == []
    else:
        (line,) = told
        assert re.fullmatch(
            r"supple: warning: .*Driver 'somewhere\(frame\)'.*write --enable-autoexec before --command", line
        )
