"""Wrong arguments of the command line: a message, exit code 1 or 2, and no file is changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import scenes_maps
from scenes_cli import DONE, main

from scenes import animate_tube, bind, reset, save

from .cases import INPUTS, LONG, NAMES, NOT_UNICODE, OUTPUTS, assert_refused, make_things, name_of
from .conftest import read_folder

pytestmark = pytest.mark.python_only("the command line is the same, whatever evaluates the skin")

COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info", "FILE"),
    "bind": ("bind", "FILE", "--evaluate=python", "--output=OUT"),
    "bake": ("bake", "FILE", "--object=Tube", "--frames=1-2", "--output=OUT"),
    "bake keys": ("bake", "FILE", "--object=Tube", "--frames=1-2", "--format=shape-keys", "--output=OUT"),
    "bake save": ("bake", "FILE", "--object=Tube", "--frames=1-2", "--output=a.pc2", "--save=OUT"),
    "bake all": ("bake", "FILE", "--all", "--frames=1-2", "--output=OUT"),
    "bake part": ("bake", "FILE", "--all", "--part", "--frames=1-2", "--output=OUT"),
    "join folder": ("join", "FILE", "--frames=1-2", "--output=OUT"),
    "farm": ("farm", "FILE", "--object=Tube", "--frames=1-2", "--engine=openjd", "--output=OUT"),
    "patterns": ("patterns", "FILE", "--frames=1-2", "--width=8", "--output=OUT"),
    "weights": ("weights", "FILE", "--output=OUT"),
    "engine-copy": ("engine-copy", "FILE", "--keys=0", "--bend=0", "--output=OUT"),
    "copy only": ("engine-copy", "FILE", "--keys=0", "--bend=0"),
    "correct": ("correct", "FILE", "--joints=bone.1", "--angles=40", "--output=OUT"),
    "join": ("join", "FILE", "--output=OUT"),
}
"""Each would do its work if FILE and OUT were not wrong."""

TO_FOLDERS = ("bake all", "bake part", "join folder", "farm", "patterns")

FRAMES = (
    "", " ", "all", "-", "--", "1-", "-1-", "1--", "1..8", "1e3", "1.5-3", "0x10", "1-8:", "1-8:-1", "1-8:0", "1-8-9",
    ",", "1,", "1,1", "1 ,2", "8-1", "0--1", "-1--3",
    "nan", "inf", "½", "1 -8", "10000000000-10000000001", "99999999999", "0-4294967297",
    "-99999999999-1", "0-1048575", "-1048575-0", "1048575", "-1048575", "1-2:1048575", "1-2:99999999999",
    f"1-{'9' * 30}", f"1-2:{'9' * 30}", f"1-{'9' * 5000}", f"1-2:{'9' * 5000}", "9" * 5000,
)  # fmt: skip
NUMBERS = ("", " ", "a", "-1", "1.5", "1e3", "0x10", "nan", "inf", "½", "²", "9" * 5000)
WORDS = ("", " ", "x", "é", LONG, "two\nlines", "\0", "PC2 ", "--output", "None")

FOLDERS = (".", "..", "/", "//", "folder", "link to folder")

OPTIONS: list[tuple[str, str, tuple[str, ...]]] = [
    ("bind", "--object", NAMES),
    ("bake", "--object", NAMES),
    ("patterns", "--object", NAMES),
    ("weights", "--object", NAMES),
    ("weights", "--armature", (*NAMES, "Tube")),
    ("bake", "--frames", FRAMES),
    ("join folder", "--frames", FRAMES),
    ("join folder", "--expect", WORDS),
    ("bake part", "--expect", WORDS),
    ("farm", "--object", NAMES),
    ("farm", "--frames", FRAMES),
    ("farm", "--chunk", (*NUMBERS, "0")),
    ("farm", "--engine", WORDS),
    ("farm", "--method", WORDS),
    ("farm", "--order", WORDS),
    ("patterns", "--frames", FRAMES),
    ("bake keys", "--frames", ("0-1048575", "99999999999", "1-0")),
    ("patterns", "--width", (*NUMBERS, "0", "16385", "9" * 30, "-" + "9" * 30)),
    ("weights", "--limit", NUMBERS),
    ("bind", "--method", WORDS),
    ("bake", "--method", WORDS),
    ("weights", "--method", WORDS),
    ("weights", "--mode", WORDS),
    ("weights", "--report", WORDS),
    ("copy only", "--object", NAMES),
    ("copy only", "--action", WORDS),
    ("copy only", "--target", WORDS),
    ("copy only", "--tolerance", (*WORDS, "0", "-1mm", "3 miles", "nan", "inf", "1e3mm")),
    ("copy only", "--influences", (*NUMBERS, "0", "3", "9")),
    ("copy only", "--bend", WORDS),
    ("correct", "--object", NAMES),
    ("correct", "--from", (*WORDS, "Rig", "Tube")),
    ("correct", "--joints", (*(word for word in WORDS if word.strip()), "bone.0", "bone.1,bone.9", ",")),
    ("correct", "--angles", (*WORDS, ",", "0", "4.9", "151", "nan", "inf", "-40", "40;80", "40,x")),
    ("bind", "--order", WORDS),
    ("bake", "--order", WORDS),
    ("bind", "--evaluate", WORDS),
    ("bake", "--format", WORDS),
    ("patterns", "--format", WORDS),
    ("bake keys", "--save", ("a.blend",)),
    ("info", "--json", ("yes",)),
    ("info", "--unknown", ("1",)),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that commands work on, and things that are no files."""
    folder = tmp_path_factory.mktemp("command line")
    reset()
    obj, armature = scenes_maps.add_body()
    animate_tube(armature)
    scenes_maps.add_overlapping(obj, axis="X", full=1.2, softness=0.3)
    bind(obj, evaluate="PYTHON")
    save(folder / "body.blend", compress=True)
    bake = ("bake", folder / "body.blend", "--object", "Tube", "--frames=1-2", "--output")
    assert main(*bake, folder / "a.pc2") == DONE
    assert main(*bake, folder / "parts", "--part") == DONE
    (folder / "elsewhere").mkdir()
    before = Path.cwd()
    os.chdir(folder)
    make_things(folder)
    os.chdir(before)
    return folder


@pytest.fixture(autouse=True)
def _nothing_changes(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    before = read_folder(folder)
    yield
    assert read_folder(folder) == before


def fill_in(command: str, file: str | Path = "", output: str | Path = "elsewhere/new", **more: str) -> list[str]:
    file = file if file != "" else {"join": "a.pc2", "join folder": "parts"}.get(command, "body.blend")
    return [text.replace("FILE", str(file)).replace("OUT", str(output)) for text in COMMANDS[command]]


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [(command, option, value) for command, option, values in OPTIONS for value in values],
    ids=name_of,
)
def test_values_of_options(command: str, option: str, value: str, capsys) -> None:
    assert_refused([*fill_in(command), f"{option}={value}"], capsys)


@pytest.mark.parametrize("output", OUTPUTS, ids=name_of)
@pytest.mark.parametrize("command", [name for name in COMMANDS if name not in ("info", "copy only", *TO_FOLDERS)])
def test_outputs_that_are_no_files(command: str, output: str, capsys) -> None:
    line = assert_refused(fill_in(command, output=output), capsys)
    assert "Cannot write" in line or output in ("", "--", *NOT_UNICODE)


@pytest.mark.parametrize(
    "output",
    [output for output in OUTPUTS if output not in (".", "..", "/", "//", "folder", "link to folder")],
    ids=name_of,
)
@pytest.mark.parametrize("command", TO_FOLDERS)
def test_outputs_that_are_no_folders(command: str, output: str, capsys) -> None:
    line = assert_refused(fill_in(command, output=output), capsys)
    assert "Cannot write" in line or output in ("", "--", *NOT_UNICODE)


@pytest.mark.parametrize("file", INPUTS, ids=name_of)
@pytest.mark.parametrize("command", COMMANDS)
def test_inputs_that_are_no_files(command: str, file: str, capsys) -> None:
    argv = fill_in(command)
    argv[1] = file
    assert_refused(argv, capsys)


@pytest.mark.parametrize(
    "argv",
    (
        ("bake", "body.blend", "--object=Tube", "--frames=1", "--output=body.blend"),
        ("bake", "body.blend", "--object=Tube", "--frames=1", "--output=elsewhere/../body.blend"),
        ("bake", "body.blend", "--object=Tube", "--frames=1", "--output=new", "--save=new"),
        ("bake", "body.blend", "--object=Tube", "--frames=1", "--output=new", "--save=./new"),
        ("bind", "a.pc2", "--output=new"),
        ("join", "body.blend", "--output=new"),
        ("join", "a.pc2", "a.pc2", "--output=new"),
        ("join", "a.pc2", "a.pc2", "--output=a.pc2"),
        ("join", "a.pc2", "body.blend", "--output=new"),
        ("join", *["a.pc2"] * 2000, "--output=new"),
        ("info", "body.blend", "body.blend"),
        ("bind", "body.blend", "--object", "--output=new"),
        ("", "body.blend"),
        ("\0",),
        ("INFO", "body.blend"),
        ("--version",),
        ("@body.blend",),
    ),
    ids=name_of,
)
def test_arguments_that_do_not_go_together(argv: tuple[str, ...], capsys) -> None:
    assert_refused(list(argv), capsys)


def test_more_shape_keys_than_fit(capsys) -> None:
    """Only counted: none is made."""
    line = assert_refused([*fill_in("bake keys")[:-1], "--frames=0-1048574", "--output=elsewhere/new"], capsys)
    assert "1,048,575 frames of 'Tube' take" in line
