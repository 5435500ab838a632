"""Makes ``from supple.deformers import ...`` work without Blender, whatever the folder of the checkout is called."""

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
HUMAN = "human"
"""The real character that is part of the repository: dressed, animated, of 6,617 vertices."""

ASSETS = ROOT.parent / "shared" / "assets"
"""Real characters that are not: larger, and other bodies."""


def path_of(character: str, suffix: str = ".blend") -> Path:
    return (ROOT / "demo" if character == HUMAN else ASSETS) / character / f"{character}{suffix}"


def load_package() -> None:
    spec = importlib.util.spec_from_file_location(
        "supple", ROOT / "__init__.py", submodule_search_locations=[str(ROOT)]
    )
    assert spec is not None
    assert spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules["supple"] = package
    spec.loader.exec_module(package)


load_package()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="also what is marked so, at more points, for longer")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what is marked ``characters("fox", ...)`` on the human, and on those of these that are at hand."""
    marker = metafunc.definition.get_closest_marker("characters")
    if marker is not None:
        metafunc.parametrize("character", [HUMAN, *(name for name in marker.args if path_of(name).is_file())])


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    left_out = [item for item in items if item.get_closest_marker("thorough") and not config.getoption("thorough")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture
def asset() -> Callable[..., Path]:
    """Find the path of a real character's file, ``asset("human", ".npz")``, or skip the test."""

    def find(character: str, suffix: str = ".blend") -> Path:
        path = path_of(character, suffix)
        if not path.parent.is_dir():
            pytest.skip(f"{character} is not at hand")
        return path

    return find
