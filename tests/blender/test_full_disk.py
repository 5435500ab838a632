"""Disks that are full at some point of a write: a message, exit code 1, the old file whole and nothing left beside.

`make test-files` takes 20 points of each write. With a small disk of its own, which a root user makes:

    mount -t tmpfs -o size=8m tmpfs /mnt/small
    python tests/blender/write_session.py full SOURCE /mnt/small/out 20 /mnt/small
"""

from __future__ import annotations

import json

import pytest
import write_session
from scenes_files import make_sources, start_session

pytestmark = pytest.mark.python_only("files are written alike, whatever evaluates the skin")


@pytest.fixture(scope="module")
def rows(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """What was wrong, by the name of each write."""
    folder = tmp_path_factory.mktemp("full")
    for name in ("source", "output", "settings"):
        (folder / name).mkdir()
    points = 20 if request.config.getoption("thorough") else 3
    session = start_session(folder / "settings", "full", make_sources(folder / "source"), folder / "output", points)
    out, err = session.communicate(timeout=600)
    assert session.returncode == 0, err
    assert "Traceback" not in err, err
    found = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
    return {row["write"]: row["wrong"] for row in found if row["points"] == points}


@pytest.mark.parametrize("name", write_session.WRITES)
def test_a_full_disk_loses_nothing(rows: dict[str, list[str]], name: str) -> None:
    assert rows[name] == []
