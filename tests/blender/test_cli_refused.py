"""The command line: what can go wrong once it looks at files, and what it says then.

More of what paths can be is in bad_input/test_command_line.py; wrong usage is in tests/unit/cli.
"""

from __future__ import annotations

import os
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, FAILED, LEFT_OUT, add_character, assert_refused, main

from scenes import add_tube, add_twin, save


def make_bad_file(kind: str, path: Path) -> None:
    if kind == "text":
        path.write_text("This is no Blender file\n" * 40)
    elif kind == "empty":
        path.touch()
    elif kind == "folder":
        path.mkdir()
    elif kind != "missing":
        save(path, compress=kind == "truncated and compressed")
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


BAD_FILES = {
    "missing": "There is no file '{}': check the path",
    "folder": "Cannot open '{}' (Not a regular file): check the path",
    "text": "Cannot open '{}' (",
    "empty": "Cannot open '{}' (",
    "truncated": "Cannot open '{}' (",
    "truncated and compressed": "Cannot open '{}' (",
}


@pytest.mark.versions
def test_files_that_cannot_be_read(tmp_path: Path, subtests: pytest.Subtests, capsys) -> None:
    add_character()
    for kind, message in BAD_FILES.items():
        file, output = tmp_path / f"{kind}.blend", ("--output", tmp_path / "new")
        make_bad_file(kind, file)
        for command, *words in (("info", "--json"), ("bind", *output), ("weights", *output), ("bake", *output)):
            with subtests.test(f"{command} {kind}"):
                capsys.readouterr()
                assert_refused(main(command, file, *words), capsys.readouterr(), message.format(file))
                assert not (tmp_path / "new").exists()


NOT_THERE: dict[tuple[str, ...], str] = {
    ("bind", "--object", "Hero"): "There is no object 'Hero': choose one of Tube",
    ("update", "--object", "Hero"): "There is no object 'Hero': choose one of Tube",
    ("update", "--object", "Tube"): "Nothing to update: no mesh was bound by an earlier version of Supple",
    ("bake", "--object", "Hero"): "There is no object 'Hero': choose one of Tube",
    ("weights", "--object", "Hero"): "There is no object 'Hero': choose one of Tube",
    ("bake", "--object", "Tube"): "'Tube' is not bound: use --method",
    ("bake", "--object", "Rig"): "'Rig' is not bound: use --method",
    ("bake", "--all"): "No mesh in the scene is bound: use --method",
    ("weights", "--object", "Rig"): "'Rig' is not a mesh in the scene: choose one of Tube",
    ("weights", "--object", "Tube", "--armature", "Tube"): "'Tube' is not an armature in the scene: choose one of Rig",
    ("weights", "--object", "Tube", "--armature", "Hero"): "There is no object 'Hero': choose one of Rig",
    ("bind", "--method", "SSD", "--sharpness", "0.5"): "SSD has no option for sharpness",
    ("bind", "--method", "CENTERS", "--sharpness", "1.5"): "Sharpness is 1.5: choose 0 to 1",
    ("bind", "--method", "CENTERS", "--bulge-limit", "nan"): "Bulge limit is nan: choose 0 to 1",
}


def test_what_a_file_does_not_have(tmp_path: Path, plain_file: Path, subtests: pytest.Subtests, capsys) -> None:
    for (command, *words), message in NOT_THERE.items():
        with subtests.test(" ".join((command, *words))):
            capsys.readouterr()
            code = main(command, plain_file, *words, "--output", tmp_path / "new")
            assert_refused(code, capsys.readouterr(), message)
            assert not (tmp_path / "new").exists()


def test_a_file_without_a_character(tmp_path: Path, subtests: pytest.Subtests, capsys) -> None:
    file = save(tmp_path / "empty.blend")
    for words, *parts in (
        (("bind",), "Nothing to bind"),
        (("update",), "Nothing to update"),
        (("bake", "--all", "--method=SSD"), "No mesh in the scene has an Armature modifier"),
        (("weights",), "No mesh has an Armature modifier", "name the meshes to weight with --object", "--armature"),
    ):
        with subtests.test(words[0]):
            capsys.readouterr()
            code = main(words[0], file, *words[1:], "--output", tmp_path / "new")
            assert_refused(code, capsys.readouterr(), *parts)
            assert not (tmp_path / "new").exists()


LEAVING_OUT = {
    ("bind", "--look", "flesh"): "'Tube.001' was left out. 'Tube.001' has no vertices",
    ("weights",): "'Tube.001' was left out. 'Tube.001' has zero scale",
    (
        "correct",
        "--joints",
        "bone.1",
        "--from",
        "centers",
    ): "'Tube.001' was left out. 'Tube.001' has no vertices",
}


def test_what_cannot_be_done_is_left_out(tmp_path: Path, subtests: pytest.Subtests, capsys) -> None:
    obj, _ = add_tube(rings=12, sides=8)
    bad = add_twin(obj)
    bad.data.clear_geometry()
    bad.scale.x = 0.0
    both = save(tmp_path / "both.blend")
    bpy.data.objects.remove(obj)
    alone = save(tmp_path / "alone.blend")
    for (command, *words), message in LEAVING_OUT.items():
        with subtests.test(command):
            new = tmp_path / f"{command}.blend"
            capsys.readouterr()
            assert_refused(main(command, alone, *words, "--output", new), capsys.readouterr(), message.split(". ")[1])
            assert not new.exists()
            assert main(command, both, *words, "--output", new) == LEFT_OUT
            assert f"supple: {message}" in capsys.readouterr().err
            assert new.exists()


def test_parts_that_cannot_be_joined(tmp_path: Path, bound_file: Path, subtests: pytest.Subtests, capsys) -> None:
    for name, frames in (("early", "1-4"), ("late", "5-8")):
        assert main("bake", bound_file, "--object", "Tube", "--frames", frames, "--output", tmp_path / name) == DONE
    (tmp_path / "text").write_text("This is no point cache\n" * 10)
    for names, message in (
        (("late", "early"), "'early' starts at frame 1, not 9: list all parts in order"),
        (("early", "later"), "Cannot read '"),
        (("early", "text"), "'text' is not a PC2 file"),
    ):
        with subtests.test(" ".join(names)):
            capsys.readouterr()
            code = main("join", *(tmp_path / name for name in names), "--output", tmp_path / "joined")
            assert_refused(code, capsys.readouterr(), message)
            assert not (tmp_path / "joined").exists()


def test_a_folder_is_joined_by_itself_with_frames(tmp_path: Path, capsys) -> None:
    expected = ("--expect", f"supple=1,blender=5.2,file={'0' * 64}")
    for words in ((), ("more", "--frames", "1-2"), expected):
        assert main("join", tmp_path, *words, "--output", tmp_path / "new") == FAILED
        assert "A folder of parts needs --frames" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
