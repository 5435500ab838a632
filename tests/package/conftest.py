"""The zip that users install."""

from pathlib import Path

import pytest

from builder import run_builder

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("package")
    answer = run_builder("build", "--source-dir", ROOT, "--output-dir", folder)
    assert answer.returncode == 0, answer.stdout
    (path,) = folder.glob("supple-*.zip")
    return path
