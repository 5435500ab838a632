"""A process that is killed while it writes: old files are whole, and what it leaves goes when next is written there.

`make test-files` kills 100 times.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

import bpy
import pytest
import write_session
from scenes_files import find_litter, make_sources, start_session

from supple.bridge.files import writing as files
from supple.bridge.files.temporary import temporary_folder

LONGEST = 1.5
"""Seconds to a kill: somewhat more than all commands take."""

LONGEST_WRITE = 0.02


def write_all(writes: tuple[str, ...], source: Path, output: Path) -> None:
    for name in writes:
        assert write_session.run(name, source, output)[0] == 0, name


def wait_for_write(output: Path, session: subprocess.Popen[str]) -> None:
    latest = time.monotonic() + 120.0
    while not find_litter(output):
        assert session.poll() is None
        assert time.monotonic() < latest, "nothing is written under another name first"


def is_whole(path: Path, first: dict[Path, bytes]) -> bool:
    """Whether a file is as the first run wrote it; .blend files hold addresses, and are opened instead."""
    if path.relative_to(path.parents[1]).as_posix() in write_session.BAKED.values() and not path.exists():
        return True
    if path.suffix != ".blend":
        return path.read_bytes() == first[path]
    return bpy.ops.wm.open_mainfile(filepath=str(path)) == {"FINISHED"} and "Tube" in bpy.data.objects


def test_a_kill_loses_nothing(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(files, "BETWEEN_LOOKS", 0.0)  # this process writes after each kill
    is_thorough = request.config.getoption("thorough")
    quick = tuple(name for name in write_session.COMMANDS if name not in write_session.SLOW)
    kills, writes = (100, quick) if is_thorough else (3, write_session.FEW)
    source, output, settings = (tmp_path / name for name in ("source", "output", "settings"))
    source.mkdir()
    output.mkdir()
    make_sources(source)
    write_all(writes, source, output)
    first = {path: path.read_bytes() for path in output.rglob("*") if path.is_file()}
    seed = random.randrange(2**32)
    moments, littered = random.Random(seed), 0
    for kill in range(kills):
        session = start_session(settings, "go-on", source, output, ",".join(writes))
        try:
            next(line for line in session.stdout if line.startswith("start"))
            time.sleep(moments.uniform(0, LONGEST))
            if not kill % 2:  # in the midst of a write, which takes a small part of the time
                wait_for_write(output, session)
                time.sleep(moments.uniform(0, LONGEST_WRITE))
        finally:
            session.kill()
            session.communicate()
        littered += bool(find_litter(output))
        torn = [path for path in first if not is_whole(path, first)]
        write_all(writes, source, output)
        assert (torn, find_litter(output)) == ([], []), f"kill {kill}, seed {seed}"
        assert {path for path in output.rglob("*") if path.is_file()} == set(first)
    print(f"{kills} kills, seed {seed}: {littered} left something, which went")
    shutil.rmtree(output)


def test_temporary_files_of_a_killed_process_go_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bpy.context.preferences.filepaths, "temporary_directory", str(tmp_path))
    monkeypatch.setattr(files, "BETWEEN_LOOKS", 0.0)
    with temporary_folder() as folder:
        (folder / "targets").touch()
        killed = shutil.copytree(folder, tmp_path / folder.name.replace(f"-{os.getpid()}-", f"-{10**30}-"))
    assert not folder.exists()
    assert killed.exists()
    with temporary_folder():
        assert not killed.exists()
