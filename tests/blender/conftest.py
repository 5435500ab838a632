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

NEED_POSIX = ("test_full_disk.py", "test_kills.py", "bad_input/test_command_line.py")
"""Limits of files, signals, pipes and devices among files."""

collect_ignore = [] if os.name == "posix" else [*NEED_POSIX]


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


HANDLERS = (bpy.app.handlers.depsgraph_update_post, bpy.app.handlers.frame_change_post)
_there: set[tuple[int, str]] = set()
_removed: set[str] = set()


def read_data_blocks() -> dict[int, str]:
    data = bpy.data
    kinds = (data.objects, data.meshes, data.armatures, data.node_groups, data.materials, data.images, data.actions)
    return {block.session_uid: f"{block.bl_rna.name} '{block.name}'" for blocks in kinds for block in blocks}


@bpy.app.handlers.persistent
def _before_handlers(*_) -> None:
    _there.clear()
    _there.update(read_data_blocks().items())


@bpy.app.handlers.persistent
def _after_handlers(*_) -> None:
    there = read_data_blocks()
    _removed.update(name for uid, name in _there if uid not in there)


@pytest.fixture(autouse=True)
def nothing_is_removed_in_handlers(scene: bpy.types.Scene) -> Iterator[None]:
    """The handlers that follow read the originals of what was evaluated: of what is gone, memory that is free."""
    for handlers in HANDLERS:
        handlers.insert(0, _before_handlers)
        handlers.append(_after_handlers)
    yield
    for handlers in HANDLERS:
        handlers.remove(_before_handlers)
        handlers.remove(_after_handlers)
    removed = sorted(_removed)
    _removed.clear()
    assert removed == []


@pytest.fixture
def silent_handlers(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """What a handler raises, Blender only prints: a test during which one was printed has failed."""
    yield
    assert "Traceback" not in capfd.readouterr().err
