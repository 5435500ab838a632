"""Tests of farms run in a Blender as those of tests/blender do; what workers run are processes of their own."""

from pathlib import Path

import pytest
import scenes_farm

from tests.blender.conftest import pytest_addoption, pytest_configure, pytest_unconfigure, scene  # noqa: F401 - for pytest, which looks for them here


@pytest.fixture(scope="session")
def blender(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What workers start as Blender."""
    return scenes_farm.write_blender(tmp_path_factory.mktemp("worker's programs") / "blender")
