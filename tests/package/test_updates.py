"""A Blender that subscribes to the repository gets 0.1, later 1.0, and then opens what 0.1 has saved, as it was."""

import io
import os
import shlex
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest
from release import find_disagreements, make_repository, read_section

ROOT = Path(__file__).resolve().parents[2]
SESSION = Path(__file__).with_name("update_session.py")
FORMER = "96d2dcd11c30f8731f050285cefb33fe4e37513d"
"""The last commit of version 0.1.0."""

TOLERANCE = 1e-5
OUTSIDE = os.environ.get("BACKGROUND_BLENDER", "")
"""The command of a Blender to try as well as the module; it must keep to settings of its own."""

BLENDERS = {"module": [sys.executable, str(SESSION)]}
if OUTSIDE:
    BLENDERS["program"] = [
        *shlex.split(OUTSIDE),
        *("--background", "--python-exit-code", "1", "--python", str(SESSION)),
    ]


@pytest.fixture(scope="module")
def former(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkout of the former version."""
    if subprocess.run(["git", "cat-file", "-e", FORMER], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("this clone has no history up to version 0.1.0")
    folder = tmp_path_factory.mktemp("former")
    archive = subprocess.run(["git", "archive", FORMER], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.mark.parametrize("blender", BLENDERS)
def test_an_update_keeps_what_the_former_version_saved(former: Path, tmp_path: Path, blender: str) -> None:
    found = {}
    for step, source in (("install", former), ("update", ROOT)):
        make_repository(tmp_path / "repository", source)
        answer = subprocess.run(
            [*BLENDERS[blender], "--", tmp_path, step],
            env={**os.environ, "BLENDER_USER_RESOURCES": str(tmp_path / "user")},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            check=False,
            timeout=240,
        )
        assert answer.returncode == 0, answer.stdout
        assert "Traceback" not in answer.stdout, answer.stdout
        with np.load(tmp_path / f"{step}.npz") as arrays:
            found[step] = dict(arrays)
    former_found, now = found["install"], found["update"]
    assert (former_found["version"], now["before"], now["version"]) == ("0.1.0", "0.1.0", "1.0.0")
    methods = [name for name in now if name not in ("before", "version")]
    assert len(methods) == 3
    for method in methods:
        assert np.abs(now[method] - former_found[method]).max() < TOLERANCE
    assert np.abs(now["DLBNT"] - former_found["plain DLBNT"]).max() > 100 * TOLERANCE, "nothing deforms it"


CHANGELOG = "# Changes\n\n## [Unreleased]\n\n## [1.0.0] - 2026-11-27\n\n- One.\n\n## [0.1.0] - 2026-11-21\n\n- Zero.\n"
MANIFEST = {"version": "1.0.0", "website": "https://supple.net/"}
DISAGREEMENTS = {
    "version": ({"version": "1.0.1"}, CHANGELOG, ["v1.0.1"], "its newest version is 1.0.0, not 1.0.1"),
    "form": ({"version": "1.0"}, CHANGELOG.replace("1.0.0", "1.0"), ["v1.0"], "is not of the form"),
    "date": ({}, CHANGELOG.replace(" - 2026-11-27", ""), ["v1.0.0"], "has no date"),
    "empty": ({}, CHANGELOG.replace("- One.\n", ""), ["v1.0.0"], "is empty"),
    "unreleased": ({}, CHANGELOG.replace("[Unreleased]\n", "[Unreleased]\n\n- Two.\n"), ["v1.0.0"], "belongs under"),
    "tag": ({}, CHANGELOG, ["v0.1.0"], "has no tag v1.0.0"),
    "website": ({"website": "https://supple.example/"}, CHANGELOG, ["v1.0.0"], "is still"),
}


@pytest.mark.parametrize("case", DISAGREEMENTS)
def test_what_does_not_agree_is_no_release(case: str) -> None:
    changes, changelog, tags, said = DISAGREEMENTS[case]
    (found,) = find_disagreements(MANIFEST | changes, changelog, tags)
    assert said in found


def test_what_agrees_is_one() -> None:
    assert [*find_disagreements(MANIFEST, CHANGELOG, ["v1.0.0"])] == []
    assert read_section(CHANGELOG, "1.0.0") == "- One."
    assert read_section(CHANGELOG, "0.2.0") is None
