"""Bakes of several meshes by the command line: which, into which files, and what is told meanwhile."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import bpy
import pytest
from scenes_bake import read_cache
from scenes_cli import DONE, FAILED, add_character, assert_refused, main, own_errors, own_output

from scenes import add_twin, armature_modifier, bind, evaluated_points, open_file, points_at, save
from supple.cli import messages
from supple.deformers import SkinningError
from supple.tasks.bake import posed_frames

NAMES = ("Tube", "Left Sleeve", "Shoe")


def add_characters() -> list[bpy.types.Object]:
    objects = [add_character()]
    for name in NAMES[1:]:
        twin = add_twin(objects[0])
        twin.name = name
        objects.append(twin)
    return objects


@pytest.fixture
def bound(tmp_path) -> Path:
    """A file with three meshes of one armature, all bound but the shoe."""
    bind(*add_characters()[:2], method="DLB")
    return save(tmp_path / "bound.blend")


def alone(file: Path, name: str, path: Path, *options: str) -> bytes:
    """The PC2 file of a mesh that is baked by itself."""
    assert main("bake", file, "--object", name, *options, "--output", path) == DONE
    return path.read_bytes()


def list_caches(folder: Path) -> list[str]:
    return sorted(name for name in os.listdir(folder) if name.endswith(".pc2"))


def test_several_meshes_go_to_a_folder(tmp_path, bound, subtests):
    for number, (chosen, files) in enumerate(
        (
            (("--all",), ["Left_Sleeve.pc2", "Tube.pc2"]),
            (("--object", "Left Sleeve", "--object", "Tube"), ["Left_Sleeve.pc2", "Tube.pc2"]),
            (("--all", "--method", "SSD"), ["Left_Sleeve.pc2", "Shoe.pc2", "Tube.pc2"]),
            (("--object", "Tube", "--object", "Shoe", "--method", "SSD"), ["Shoe.pc2", "Tube.pc2"]),
        )
    ):
        with subtests.test(" ".join(chosen)):
            folder, method = tmp_path / str(number), chosen[-2:] if "SSD" in chosen else ()
            assert main("bake", bound, *chosen, "--output", folder) == DONE
            assert list_caches(folder) == files
            for file in files:
                described = json.loads((folder / file).with_suffix(".json").read_text(encoding="utf-8"))
                assert (described["object"].replace(" ", "_") + ".pc2", described["frames"]) == (file, [1, 8, 1])
                baked = alone(bound, described["object"], tmp_path / "alone.pc2", *method)
                assert (folder / file).read_bytes() == baked


def test_the_only_bound_mesh_needs_no_name(tmp_path, bound_file):
    assert main("bake", bound_file, "--output", tmp_path / "a.pc2") == DONE
    assert (tmp_path / "a.pc2").read_bytes() == alone(bound_file, "Tube", tmp_path / "b.pc2")
    assert main("bake", bound_file, "--all", "--output", tmp_path / "folder") == DONE
    assert (tmp_path / "folder" / "Tube.pc2").read_bytes() == (tmp_path / "a.pc2").read_bytes()


def test_several_ranges_are_a_file_each(tmp_path, bound_file):
    assert main("bake", bound_file, "--frames=-3--1,2-6:2,8", "--output", tmp_path / "new") == DONE
    assert list_caches(tmp_path / "new") == ["Tube_-3--1.pc2", "Tube_2-6x2.pc2", "Tube_8-8.pc2"]
    for text, name in (("-3--1", "-3--1"), ("2-6:2", "2-6x2"), ("8", "8-8")):
        expected = alone(bound_file, "Tube", tmp_path / "alone.pc2", f"--frames={text}")
        assert (tmp_path / "new" / f"Tube_{name}.pc2").read_bytes() == expected


def test_the_saved_file_plays_all(tmp_path, bound, subtests):
    open_file(bound)
    live = {name: [points_at(bpy.data.objects[name], frame) for frame in (1, 3, 6)] for name in NAMES[:2]}
    for text in ("1-8", "1-3,5-8"):
        with subtests.test(text):
            options = ("--frames", text, "--output", tmp_path / "new", "--save", tmp_path / "plays.blend")
            assert main("bake", bound, "--all", *options) == DONE
            open_file(tmp_path / "plays.blend")
            for name, expected in live.items():
                obj = bpy.data.objects[name]
                assert obj.supple.bake == "PC2"
                for frame, points in zip((1, 3, 6), expected, strict=True):
                    bpy.context.scene.frame_set(frame)
                    assert abs(evaluated_points(obj) - points).max() < 1e-5


def test_shape_keys_of_several_meshes_and_ranges(tmp_path, bound):
    options = ("--format", "shape-keys", "--frames", "1-2,5", "--output", tmp_path / "keys.blend")
    assert main("bake", bound, "--all", *options) == DONE
    open_file(tmp_path / "keys.blend")
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
    assert len(read_cache(tmp_path / "new" / "Tube.pc2")[1]) == 8


def test_a_bake_that_fails_leaves_nothing(tmp_path, bound, capsys, monkeypatch):
    def read(obj, depsgraph, own=posed_frames.read_evaluated_points):
        if (obj.name, depsgraph.scene.frame_current) == ("Left Sleeve", 3):
            raise SkinningError("'Left Sleeve' cannot be read")
        return own(obj, depsgraph)

    monkeypatch.setattr(posed_frames, "read_evaluated_points", read)
    (tmp_path / "there").mkdir()
    for name in ("new", "there"):
        capsys.readouterr()
        code = main("bake", bound, "--all", "--output", tmp_path / name)
        assert_refused(code, capsys.readouterr(), "Frame 3: 'Left Sleeve' cannot be read")
    assert not (tmp_path / "new").exists()
    assert os.listdir(tmp_path / "there") == []


# What is told


@pytest.fixture
def every_step(monkeypatch):
    """Progress is told at each step, as if each took long."""
    monkeypatch.setattr(messages, "REPORT_INTERVAL", 0.0)


@pytest.mark.usefixtures("every_step")
def test_progress_for_people_and_for_open_job_description(tmp_path, bound, capsys):
    capsys.readouterr()
    assert main("bake", bound, "--all", "--output", tmp_path / "new") == DONE
    captured = capsys.readouterr()
    assert own_errors(captured.err) == [f"Progress: {100 * done / 8:.1f}%" for done in range(1, 9)]
    assert own_output(captured.out) == []

    options = ("--progress", "openjd", "--frames", "1-2,5-6", "--output", tmp_path / "new")
    assert main("bake", bound, "--all", *options) == DONE
    captured = capsys.readouterr()
    assert own_output(captured.out) == [f"openjd_progress: {share}" for share in ("25.0", "50.0", "75.0", "100.0")]
    assert own_errors(captured.err) == []


def test_a_worker_of_open_job_description_reads_why_a_bake_fails(tmp_path, bound, capsys):
    capsys.readouterr()
    options = ("--progress", "openjd", "--output", tmp_path / "new")
    assert main("bake", bound, "--object", "Hat", *options) == FAILED
    captured = capsys.readouterr()
    (line,) = own_output(captured.out)
    assert line.startswith("openjd_fail: There is no object 'Hat': ")
    assert own_errors(captured.err) == [line.replace("openjd_fail: ", "supple: error: ")]


@pytest.mark.versions
def test_python_of_the_file_that_was_not_run_is_told(tmp_path, capfd):
    obj = add_character()
    driver = armature_modifier(obj).object.driver_add("location", 0).driver
    bind(obj, method="DLB")
    told = {}
    for expression in ("somewhere(frame)", "0.1 * frame"):
        driver.expression = expression
        file = save(tmp_path / "driven.blend")
        capfd.readouterr()
        assert main("bake", file, "--output", tmp_path / "a.pc2") == DONE
        told[expression] = [line for line in capfd.readouterr().err.splitlines() if line.startswith("supple: ")]
        driver = armature_modifier(bpy.data.objects["Tube"]).object.animation_data.drivers[0].driver
    assert told["0.1 * frame"] == []
    (line,) = told["somewhere(frame)"]
    assert re.fullmatch(r"supple: warning: .*Driver 'somewhere\(frame\)'.*put --enable-autoexec before --command", line)
