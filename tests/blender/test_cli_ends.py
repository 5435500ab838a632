"""The command line where it is interrupted, or nobody reads what it prints: no traceback, and nothing is left."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest
from scenes_cli import DONE, FAILED, main, own_errors, start
from scenes_files import find_litter

from supple.tasks.bake import caches

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
