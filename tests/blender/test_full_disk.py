"""Disks that are full at some point of a write: a message, exit code 1, the old file whole and nothing left beside.

`make test-files` takes 20 points of each write. A root user can have a real disk filled:

    mount -t tmpfs -o size=32m tmpfs /mnt/small
    python -m pytest -c tests/pytest.ini --rootdir tests tests/blender/test_full_disk.py --thorough --disk /mnt/small
"""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import bpy
import pytest
from scenes_files import make_sources, start_session
from write_session import FEW, OPERATORS, WRITES, files_of_at_most, read_files

from scenes import add_tube, animate_tube, bind
from supple.deformers import SkinningError
from supple.options import CopyOptions
from supple.tasks.engine_copy.export import COPIED
from supple.tasks.engine_copy.run import make_engine_copy


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


def export_within(size: int | None, obj: bpy.types.Object, path: Path) -> None:
    """Make an engine copy, whose file is written and measured while files may get only so long."""
    steps: Any = make_engine_copy([obj], CopyOptions(target=TARGETS[path.suffix], keys=0, angle=0.0), path)
    step = next(steps)
    while step != COPIED:
        step = steps.send(step(lambda share: None) if callable(step) else None)
    with ExitStack() as stack:
        stack.callback(steps.close)
        if size is not None:
            stack.enter_context(files_of_at_most(size))
        for _ in steps:
            pass


TARGETS = {".glb": "gltf", ".gltf": "gltf", ".fbx": "fbx", ".usda": "usd", ".usdc": "usd"}


def test_a_disk_that_gets_full_in_another_blender(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """Those that write USD do not say so, and leave a part of the file."""
    obj, armature = add_tube(rings=12, sides=8)
    animate_tube(armature)
    bind(obj)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(bpy.context.preferences.filepaths, "temporary_directory", str(tmp_path / "temporary"))
    endings, points = (TARGETS, 20) if request.config.getoption("thorough") else ((".glb", ".usda"), 2)
    for ending in endings:
        path = tmp_path / f"hero{ending}"
        export_within(None, obj, path)
        before, collections = read_files(tmp_path), len(bpy.data.collections)
        for point in range(1, points):
            size = path.stat().st_size * point // points
            with subtests.test(f"{ending}, {size} bytes"):
                with pytest.raises(SkinningError, match="Cannot write a temporary file"):
                    export_within(size, obj, path)
                assert read_files(tmp_path) == before
                assert len(bpy.data.collections) == collections
