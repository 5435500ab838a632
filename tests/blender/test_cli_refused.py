"""The command line: what can go wrong, and what it says then."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scenes_cli import DONE, FAILED, USAGE, add_character, assert_refused, main, own_output

from scenes import (
    save,
)


def make_bad_file(kind: str, path: Path) -> None:
    add_character()
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


@pytest.mark.parametrize("kind", BAD_FILES)
@pytest.mark.parametrize("command", ("info", "bind", "bake", "weights"))
def test_a_file_that_cannot_be_read(tmp_path, kind, command, capsys):
    file = tmp_path / "bad.blend"
    make_bad_file(kind, file)
    capsys.readouterr()
    settings: dict[str, tuple] = {
        "info": ("--json",),
        "bind": ("--output", tmp_path / "new"),
        "weights": ("--output", tmp_path / "new"),
        "bake": ("--object", "Tube", "--output", tmp_path / "new"),
    }
    code = main(command, file, *settings[command])
    assert_refused(code, capsys.readouterr(), BAD_FILES[kind].format(file))
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("command", ("bind", "bake", "weights"))
def test_an_object_that_is_not_there(tmp_path, plain_file, command, capsys):
    capsys.readouterr()
    code = main(command, plain_file, "--object", "Hero", "--output", tmp_path / "new")
    assert_refused(code, capsys.readouterr(), "There is no object 'Hero': choose one of Tube")
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("name", ("Tube", "Rig"))
def test_an_object_that_is_not_bound(tmp_path, plain_file, name, capsys):
    capsys.readouterr()
    code = main("bake", plain_file, "--object", name, "--output", tmp_path / "a.pc2")
    assert_refused(code, capsys.readouterr(), f"'{name}' is not bound: give --method")
    assert not (tmp_path / "a.pc2").exists()


@pytest.mark.parametrize(
    ("frames", "message"),
    (
        ("8-1", "Frame range 8 to 1 runs backwards"),
        ("1-8:0", "Frame step is 0: choose 1 or more"),
        ("=-1--3", "Frame range -1 to -3 runs backwards"),
        ("1-8,5", "Frame 5 is given twice: leave it out once"),
        ("one", "'one' is not a frame range: write it as 1-250 or 1-250:2"),
        ("1-8,", "'' is not a frame range"),
    ),
)
def test_frames_that_cannot_be_baked(tmp_path, bound_file, frames, message, capsys):
    capsys.readouterr()
    chosen = [f"--frames{frames}"] if frames.startswith("=") else ["--frames", frames]
    assert main("bake", bound_file, "--object", "Tube", *chosen, "--output", tmp_path / "a.pc2") == USAGE
    assert f"supple: error: argument --frames: {message}" in capsys.readouterr().err
    assert not (tmp_path / "a.pc2").exists()


@pytest.mark.parametrize(
    "argv",
    (
        (),
        ("dance",),
        ("info",),
        ("bind", "FILE"),
        ("bind", "FILE", "--output", "new", "--method", "LBS"),
        ("bind", "FILE", "--output", "new", "--order", "GG"),
        ("bake", "FILE", "--object", "Tube", "--all", "--output", "new"),
        ("bake", "FILE", "--output", "new", "--progress", "dots"),
        ("bake", "FILE", "--all", "--output", "new", "--part", "--format", "shape-keys"),
        ("bake", "FILE", "--all", "--output", "new", "--part", "--save", "new"),
        ("bake", "FILE", "--all", "--output", "new", "--expect", "supple=0.1.0"),
        ("info", "FILE", "--expect", ""),
        ("bake", "FILE", "--object", "Tube"),
        ("bake", "FILE", "--object", "Tube", "--output", "new", "--method", "LBS"),
        ("bake", "FILE", "--object", "Tube", "--output", "new", "--format", "abc"),
        *(
            ("bake", "FILE", "--object", "Tube", "--output", "new", f"--frames={text}")
            for text in ("", "all", "1-", "1-8:", "1..8", "1.5-3", "1-8:-1", "1-8 ", "1-8-9")
        ),
        ("weights", "FILE"),
        ("weights", "FILE", "--output", "new", "--method", "heat"),
        ("weights", "FILE", "--output", "new", "--mode", "mix"),
        ("weights", "FILE", "--output", "new", "--limit=-1"),
        ("weights", "FILE", "--output", "new", "--report", "xml"),
        ("join", "--output", "new"),
        ("join", "FILE"),
        ("join", "FILE", "--frames=1..2", "--output", "new"),
    ),
    ids=" ".join,
)
def test_wrong_usage(tmp_path, plain_file, argv, capsys):
    capsys.readouterr()
    code = main(*({"FILE": plain_file, "new": tmp_path / "new"}.get(text, text) for text in argv))
    captured = capsys.readouterr()
    assert code == USAGE
    *_, line = captured.err.splitlines()
    assert line.startswith("supple: error: ")
    assert captured.err.startswith("usage: supple")
    assert captured.out == ""
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("argv", (("--help",), ("bake", "--help")))
def test_help(argv, capsys):
    assert main(*argv) == DONE
    captured = capsys.readouterr()
    assert captured.out.startswith("usage: supple")
    assert captured.err == ""


@pytest.mark.parametrize("where", ("nowhere/new", "file/new", "folder"))
@pytest.mark.parametrize(
    "argv",
    (
        ("bind", "FILE", "--output", "OUT"),
        ("weights", "FILE", "--output", "OUT"),
        ("bake", "FILE", "--object", "Tube", "--output", "OUT"),
        ("bake", "FILE", "--object", "Tube", "--output", "OUT", "--format", "shape-keys"),
        ("bake", "FILE", "--object", "Tube", "--output", "PC2", "--save", "OUT"),
        ("join", "PC2", "--output", "OUT"),
    ),
    ids=" ".join,
)
def test_an_output_that_cannot_be_written(tmp_path, bound_file, argv, where, capsys):
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    if argv[0] == "join":
        assert main("bake", bound_file, "--object", "Tube", "--output", tmp_path / "a.pc2") == DONE
    before = set(os.listdir(tmp_path))
    capsys.readouterr()
    names = {"FILE": bound_file, "OUT": tmp_path / where, "PC2": tmp_path / "a.pc2"}
    code = main(*(names.get(text, text) for text in argv))
    captured = capsys.readouterr()
    assert code == FAILED
    *progress, line = captured.err.splitlines()
    assert line.startswith(f"supple: error: Cannot write '{tmp_path / where}' (")
    assert line.endswith("a folder that can be written to")
    assert set(progress) <= {"Progress: 100.0%"}
    assert own_output(captured.out) == []
    assert set(os.listdir(tmp_path)) == before
    assert os.listdir(tmp_path / "folder") == []


@pytest.mark.parametrize("wrong", ("order", "missing", "text"))
def test_parts_that_cannot_be_joined(tmp_path, bound_file, wrong, capsys):
    for name, frames in (("early", "1-4"), ("late", "5-8")):
        assert main("bake", bound_file, "--object", "Tube", "--frames", frames, "--output", tmp_path / name) == DONE
    parts = {
        "order": (("late", "early"), "'early' starts at frame 1, not 9: give all parts, in order"),
        "missing": (("early", "later"), "Cannot read '"),
        "text": (("early", "text"), "'text' is not a PC2 file"),
    }
    (tmp_path / "text").write_text("This is no point cache\n" * 10)
    names, message = parts[wrong]
    capsys.readouterr()
    code = main("join", *(tmp_path / name for name in names), "--output", tmp_path / "joined")
    assert_refused(code, capsys.readouterr(), message)
    assert not (tmp_path / "joined").exists()


@pytest.mark.parametrize(
    "words", [(), ("more", "--frames", "1-2"), ("--expect", f"supple=1,blender=5.2,file={'0' * 64}")]
)
def test_a_folder_is_joined_by_itself_with_frames(tmp_path, words, capsys):
    assert main("join", tmp_path, *words, "--output", tmp_path / "new") == FAILED
    assert "A folder of parts is joined by itself, with --frames: give both" in capsys.readouterr().err
    assert os.listdir(tmp_path) == []
