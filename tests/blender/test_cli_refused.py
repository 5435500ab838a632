"""The command line: what can go wrong once it looks at files, and what it says then.

More of what paths can be is in bad_input/test_command_line.py; wrong usage is in tests/unit/cli.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import bpy
import pytest
from scenes_cli import DONE, FAILED, LEFT_OUT, assert_refused, main, own_errors, start
from scenes_files import find_litter

from scenes import add_tube, add_twin, save
from supple.tasks.bake import caches

LEAVING_OUT = {
    ("bind", "--look", "flesh"): "'Tube.001' was left out. 'Tube.001' has no vertices",
    ("weights",): "'Tube.001' was left out. 'Tube.001' has zero scale",
    ("correct", "--joints", "bone.1", "--from", "centers"): "'Tube.001' was left out. 'Tube.001' has no vertices",
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


# Where a command is interrupted, or nobody reads what it prints


INTERRUPTED = 130


class BrokenStream:
    """A stream that cannot be printed to."""

    encoding, closed = "utf-8", False

    def __init__(self, error: Exception) -> None:
        self.error = error

    def write(self, _text: str) -> int:
        raise self.error

    def flush(self) -> None:
        raise self.error

    def fileno(self) -> int:
        raise OSError(errno.EBADF, "none")


ERRORS = (BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError(errno.ENOSPC, "Full"), ValueError("closed"))


def test_a_result_that_cannot_be_printed(plain_file: Path, monkeypatch, capsys, subtests) -> None:
    for error in ERRORS:
        with subtests.test(repr(error)):
            capsys.readouterr()
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stdout", BrokenStream(error))
                assert main("info", plain_file) == FAILED
            (line,) = own_errors(capsys.readouterr().err)
            assert line.startswith("supple: error: Cannot print the result (")


def test_progress_that_nobody_reads(tmp_path: Path, bound_file: Path, monkeypatch, subtests) -> None:
    for stream in (*map(BrokenStream, ERRORS), None):
        with subtests.test(repr(stream and stream.error)):
            (tmp_path / "a.pc2").unlink(missing_ok=True)
            with monkeypatch.context() as patch:
                patch.setattr(sys, "stderr", stream)
                assert main("bake", bound_file, "--object", "Tube", "--output", tmp_path / "a.pc2") == DONE
                assert main("info", tmp_path / "none.blend") == FAILED
            assert (tmp_path / "a.pc2").exists()


def test_a_bake_that_ends_early(tmp_path: Path, bound_file: Path, monkeypatch, capsys, subtests) -> None:
    original: Callable = caches.write_sample
    for (error, code), frame in product(((KeyboardInterrupt, INTERRUPTED), (MemoryError, FAILED)), (1, 3)):
        written: list = []

        def fail(stream, points, *, written=written, error=error, frame=frame) -> None:
            written.append(points)
            if len(written) == frame:
                raise error
            original(stream, points)

        with subtests.test(f"{error.__name__} {frame}"):
            capsys.readouterr()
            with monkeypatch.context() as patch:
                patch.setattr(caches, "write_sample", fail)
                assert main("bake", bound_file, "--object", "Tube", "--output", tmp_path / "a.pc2") == code
            (line,) = own_errors(capsys.readouterr().err)
            assert line.startswith("supple: error: ")
            assert os.listdir(tmp_path) == [bound_file.name]


@pytest.mark.skipif(os.name != "posix", reason="has no such pipes")
def test_a_pipe_that_nobody_reads(tmp_path: Path, plain_file: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    process = start(tmp_path / "settings", "info", plain_file, "--json", stdout=writer)
    _, err = process.communicate(timeout=120)
    os.close(writer)
    assert process.returncode == FAILED
    assert "supple: error: Cannot print the result ([Errno 32] Broken pipe)" in err
    assert "Traceback" not in err
    assert "Exception ignored" not in err
    assert find_litter(tmp_path) == []
