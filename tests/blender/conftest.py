"""Enables the checkout as Blender does, in place of the plain package that the unit tests import."""

import importlib
import importlib.abc
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

import pytest

RESOURCES = Path(tempfile.mkdtemp(prefix="supple-tests-"))
os.environ["BLENDER_USER_RESOURCES"] = str(RESOURCES)  # read once, by the import of bpy
os.environ.pop("OCIO", None)  # Blender sets it, so that a worker inherits it: other processes would report it

import bpy

import checkout
import scenes


class EnabledModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Resolves ``supple.x`` to the very module ``bl_ext.<repository>.supple.x``: a second copy is not registered."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname.partition(".")[0] == "supple":
            return importlib.util.spec_from_loader(fullname, self)
        return None

    def exec_module(self, module: ModuleType) -> None:
        name = module.__name__
        sys.modules[name] = importlib.import_module(checkout.MODULE + name.removeprefix("supple"))


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--disk", help="a small disk to fill, mounted for that; without it, files may get only so long")


def pytest_configure(config: pytest.Config) -> None:
    checkout.enable(RESOURCES / "checkout")
    for name in [name for name in sys.modules if name.partition(".")[0] == "supple"]:
        del sys.modules[name]
    sys.meta_path.insert(0, EnabledModules())
    config.pluginmanager.register(importlib.import_module("shared_fixtures"))


def pytest_unconfigure() -> None:
    checkout.disable()
    shutil.rmtree(RESOURCES, ignore_errors=True)


@pytest.fixture(autouse=True)
def scene() -> bpy.types.Scene:
    """Start each test in an empty file."""
    scenes.reset()
    return bpy.context.scene


@pytest.fixture
def silent_handlers(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """What a handler raises, Blender only prints: a test during which one was printed has failed."""
    yield
    assert "Traceback" not in capfd.readouterr().err
