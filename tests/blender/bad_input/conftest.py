"""Bad input: tables of what files, arguments and stored values can say, each refused in words and with nothing changed.

The setup is that of `tests/blender/conftest.py`, which pytest finds in the folder above.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest


def read_folder(folder: Path) -> dict[str, str]:
    """What is in a folder: each path in it with the kind of file, where a link leads, or a hash of the content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            found[str(path)] = f"link to {os.readlink(path)}"
        elif path.is_file():
            found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
        else:
            found[str(path)] = "folder" if path.is_dir() else "neither file nor folder"
    return found


@pytest.fixture
def nothing_changes(tmp_path: Path) -> Iterator[dict[str, str]]:
    """All files in the test's own folder are at its end as they were when this fixture was asked for."""
    before = read_folder(tmp_path)
    yield before
    assert read_folder(tmp_path) == before


Case = Callable[[str], AbstractContextManager[None]]


@pytest.fixture
def case(subtests: pytest.Subtests, capfd: pytest.CaptureFixture[str]) -> Case:
    """`with case(name):` is a case of a table: others go on after it, and handlers of Blender print no traceback."""

    @contextmanager
    def run(name: str) -> Iterator[None]:
        capfd.readouterr()
        with subtests.test(name):
            yield
            assert "Traceback" not in capfd.readouterr().err

    return run
