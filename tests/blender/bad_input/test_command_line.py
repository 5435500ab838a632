"""Wrong arguments that a command finds once it looks at files: a message, exit code 1, and no file is changed.

What parsing refuses is in tests/unit/cli/test_wrong_arguments.py.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest
import scenes_maps
from scenes_cli import DONE, main

from scenes import animate_tube, bind, reset, save

from .cases import assert_refused, name_of
from .conftest import read_folder

COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info", "FILE"),
    "bind": ("bind", "FILE", "--output=OUT"),
    "update": ("update", "FILE", "--output=OUT"),
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

WITHOUT_OUTPUT = ("info", "copy only")
TO_FOLDERS = ("bake all", "bake part", "join folder", "farm", "patterns")
LONG = "n" * 300

FOLDERS = (".", "..", "/", "//", "folder", "link to folder")
NO_FILES = (
    *("pipe", "socket", "link to itself", "link to null", "link to pipe", "link to no folder"),
    *("/dev/null", "/dev/full", "/dev/zero", "/proc/self/mem", "/proc/version/new", LONG, "é" * 200),
)
"""Neither files that can be read nor such that can be written; no folders."""

OUTPUTS = (
    *("gone/new", "file/new", "two\nlines/new", f"{LONG}/new", "/".join(["a" * 200] * 6), "folder/../gone/new"),
    *NO_FILES,
)
INPUTS = ("gone", "two\nlines", "file/below", *FOLDERS, *NO_FILES)

NAMES = ("", "nobody", "x" * 300, "é" * 100, "two\nlines", "\x1b[31m", "../x", "-", "%s", "{}")
"""Names of no object."""

WORDS = ("", " ", "x", "é", LONG, "two\nlines", "PC2 ", "--output", "None")

OPTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "bind": {"--object": NAMES},
    "update": {"--object": NAMES},
    "bake": {"--object": NAMES},
    "farm": {"--object": NAMES, "--chunk": ("-1", "0")},
    "patterns": {"--object": NAMES, "--width": ("-1", "0", "16385", "9" * 30, "-" + "9" * 30)},
    "weights": {"--object": NAMES, "--armature": (*NAMES, "Tube")},
    "copy only": {"--object": NAMES, "--action": WORDS, "--tolerance": ("0",), "--helpers": ("-2", "9")},
    "correct": {
        "--object": NAMES,
        "--from": (*WORDS, "Rig", "Tube"),
        "--joints": (*(word for word in WORDS if word.strip(", ")), "bone.0", "bone.1,bone.9"),
        "--angles": ("", " ", ",", "0", "4.9"),
    },
}


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # its path has to be short


def make_things(folder: Path) -> None:
    """Put into a folder what is neither a file nor missing, by the names above."""
    (folder / "folder").mkdir()
    (folder / "file").touch()
    os.mkfifo(folder / "pipe")
    make_socket(folder / "socket")
    for name, to in {
        "link to itself": "link to itself",
        "link to null": os.devnull,
        "link to folder": "folder",
        "link to pipe": "pipe",
        "link to no folder": "gone/at all",
    }.items():
        (folder / name).symlink_to(to)


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
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        make_things(folder)
    return folder


@pytest.fixture
def refuse(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> Callable[..., None]:
    """`refuse(*argv)` is a case: the command fails with one sentence, `part` in it, and no file changes."""
    monkeypatch.chdir(folder)

    def run(*argv: str, part: str = "") -> None:
        before = read_folder(folder)
        with subtests.test(name_of(" ".join(argv[:1] + argv[2:]) + f" of {argv[1]}")):
            assert part in assert_refused(list(argv), capsys)
            assert read_folder(folder) == before

    return run


def fill_in(command: str, file: str = "", output: str = "elsewhere/new") -> list[str]:
    file = file or {"join": "a.pc2", "join folder": "parts"}.get(command, "body.blend")
    return [text.replace("FILE", file).replace("OUT", output) for text in COMMANDS[command]]


@pytest.mark.parametrize("command", OPTIONS)
def test_values_of_options(refuse: Callable[..., None], command: str) -> None:
    for option, values in OPTIONS[command].items():
        for value in values:
            refuse(*fill_in(command), f"{option}={value}")


@pytest.mark.parametrize("command", COMMANDS)
def test_paths_that_are_no_files_and_no_folders(refuse: Callable[..., None], command: str) -> None:
    for file in INPUTS:
        refuse(*fill_in(command, file=file))
    if command not in WITHOUT_OUTPUT:
        for output in (*OUTPUTS, *(["file"] if command in TO_FOLDERS else FOLDERS)):
            refuse(*fill_in(command, output=output), part="): choose a folder that can be written to")


def test_paths_that_do_not_go_together(refuse: Callable[..., None]) -> None:
    bake = ("bake", "body.blend", "--object=Tube", "--frames=1")
    refuse(*bake, "--output=body.blend")
    refuse(*bake, "--output=elsewhere/../body.blend")
    refuse(*bake, "--output=new", "--save=new")
    refuse(*bake, "--output=new", "--save=./new")
    refuse("bind", "a.pc2", "--output=new")
    refuse("join", "body.blend", "--output=new")
    refuse("join", "a.pc2", "a.pc2", "--output=new")
    refuse("join", "a.pc2", "a.pc2", "--output=a.pc2")
    refuse("join", "a.pc2", "body.blend", "--output=new")
    refuse("join", *["a.pc2"] * 2000, "--output=new")


def test_more_shape_keys_than_fit(refuse: Callable[..., None]) -> None:
    """Only counted: none is made."""
    argv = (*fill_in("bake keys")[:-1], "--frames=0-1048574", "--output=elsewhere/new")
    refuse(*argv, part="1,048,575 frames of 'Tube' need")
