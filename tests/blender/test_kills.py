"""A process that is killed while it writes: old files are whole, and what it leaves goes when next is written there.

`make test-files` kills 100 times.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import time
from pathlib import Path

import bpy
import pytest
import write_session
from scenes_files import find_litter, make_sources, start_session

from supple.bridge import files

pytestmark = pytest.mark.python_only("files are written alike, whatever evaluates the skin")

LONGEST = 1.5
"""Seconds to a kill: somewhat more than all commands take."""

LONGEST_WRITE = 0.02


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_sources(tmp_path_factory.mktemp("source"))


def write_all(source: Path, output: Path) -> None:
    for name in write_session.COMMANDS:
        assert write_session.run(name, source, output)[0] == 0, name


def wait_for_write(output: Path, session: subprocess.Popen[str]) -> None:
    while not find_litter(output):
        assert session.poll() is None


def is_whole(path: Path, first: dict[Path, bytes]) -> bool:
    """Whether a file is as the first run wrote it; .blend files hold addresses, and are opened instead."""
    if path.relative_to(path.parents[1]).as_posix() in write_session.BAKED.values() and not path.exists():
        return True
    if path.suffix != ".blend":
        return path.read_bytes() == first[path]
    return bpy.ops.wm.open_mainfile(filepath=str(path)) == {"FINISHED"} and "Tube" in bpy.data.objects


def test_a_kill_loses_nothing(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, source: Path
) -> None:
    monkeypatch.setattr(files, "BETWEEN_LOOKS", 0.0)  # this process writes after each kill
    kills = 100 if request.config.getoption("thorough") else 4
    output, settings = tmp_path / "output", tmp_path / "settings"
    output.mkdir()
    write_all(source, output)
    first = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    seed = random.randrange(2**32)
    moments, littered = random.Random(seed), 0
    for kill in range(kills):
        session = start_session(settings, "go-on", source, output)
        for line in session.stdout:
            if line.startswith("start"):
                break
        time.sleep(moments.uniform(0, LONGEST))
        if kill % 2:  # in the midst of a write, which takes a small part of the time
            wait_for_write(output, session)
            time.sleep(moments.uniform(0, LONGEST_WRITE))
        session.kill()
        session.communicate()
        littered += bool(find_litter(output))
        torn = [path for path in first if not is_whole(path, first)]
        write_all(source, output)
        assert (torn, find_litter(output)) == ([], []), f"kill {kill}, seed {seed}"
        assert {path for path in output.rglob("*") if path.is_file()} == set(first)
    print(f"{kills} kills, seed {seed}: {littered} left something, which went")
    shutil.rmtree(output)
