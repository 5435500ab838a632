"""Disks that are full at some point of a write: a message, exit code 1, the old file whole and nothing left beside.

`make test-files` takes 20 points of each write. A root user can have a real disk filled:

    mount -t tmpfs -o size=32m tmpfs /mnt/small
    python -m pytest -c tests/pytest.ini --rootdir tests tests/blender/test_full_disk.py --thorough --disk /mnt/small
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from scenes_files import make_sources, start_session
from write_session import FEW, OPERATORS, WRITES


def test_a_full_disk_loses_nothing(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, subtests: pytest.Subtests
) -> None:
    writes, points = (WRITES, 20) if request.config.getoption("thorough") else ((*FEW, *OPERATORS), 3)
    disk = request.config.getoption("disk")
    source = make_sources(tmp_path_factory.mktemp("source"))
    folder = Path(disk) if disk else tmp_path_factory.mktemp("full")
    output = folder / "output"
    output.mkdir()
    arguments = (source, output, ",".join(writes), points, *([disk] if disk else []))
    session = start_session(folder / "settings", "full", *arguments)
    out, err = session.communicate(timeout=600)
    assert session.returncode == 0, err
    assert "Traceback" not in err, err
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    wrong = {row["write"]: row["wrong"] for row in found if row["points"] == points}
    for name in writes:
        with subtests.test(name):
            assert wrong[name] == []
