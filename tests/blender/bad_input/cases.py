"""What the tables share: paths that are no file to read or to write, and what a refusal looks like."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from scenes_cli import FAILED, USAGE, main

LONG = "n" * 300
NOT_UNICODE = ("name \udcff", "\ud800", "nothing\0")


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        made.bind(os.path.relpath(path))  # its path has to be short


def make_things(folder: Path) -> None:
    """Put into a folder what is neither a file nor missing, by the names of OUTPUTS and FILES."""
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


THINGS = ("folder", "pipe", "socket", "link to itself", "link to null", "link to folder", "link to pipe")
"""Neither files that can be read, nor files that can be written."""

ELSEWHERE = (".", "..", "/", "/dev/null", "/dev/full", "/dev/zero", "/proc/self/mem", "/proc/version/new", "//")

OUTPUTS = (
    *THINGS,
    *ELSEWHERE,
    *NOT_UNICODE,
    "",
    "--",
    "link to no folder",
    "gone/new",
    "file/new",
    "two\nlines/new",
    LONG,
    f"{LONG}/new",
    "é" * 200,
    "/".join(["a" * 200] * 6),
    "folder/../gone/new",
)
INPUTS = (
    *THINGS,
    *ELSEWHERE,
    *NOT_UNICODE,
    "",
    "link to no folder",
    "gone",
    "two\nlines",
    "file/below",
    LONG,
    "é" * 200,
)

NAMES = ("", "nobody", "x" * 300, "é" * 100, "two\nlines", "\x1b[31m", "../x", "-", "--", "%s", "{}", *NOT_UNICODE)
"""Names of no object."""


def assert_refused(argv: list[str | Path], capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command that is refused: exit code 1 or 2, one sentence, no traceback. The sentence."""
    capsys.readouterr()
    code = main(*argv)
    captured = capsys.readouterr()
    assert code in (FAILED, USAGE), captured.err
    assert "Traceback" not in captured.err + captured.out
    *before, line = captured.err.splitlines()
    assert line.startswith("supple: error: ")
    assert line.isprintable()
    assert len(line) > len("supple: error: ") + 10
    assert code == USAGE or all(one.startswith("Progress: ") for one in before)
    return line


def name_of(value: Any) -> str:
    """A short, printable name of a case."""
    text = ascii(value)[1:-1]
    return text if len(text) < 40 else f"{text[:30]}... ({len(text)})"
