"""Fixtures that several test modules share; conftest registers them once Supple is enabled."""

from pathlib import Path

import bpy
import pytest
import scenes_cli
import scenes_maps

from scenes import animate_tube, bind, save
from supple.deformers import DEFORMERS


@pytest.fixture
def fillings(monkeypatch: pytest.MonkeyPatch) -> list:
    """Grows by one with each mesh that is filled with particles."""
    made = []
    module = DEFORMERS["PARTICLES"]
    original = module.bind
    monkeypatch.setattr(module, "bind", lambda *given: (made.append(given), original(*given))[1])
    return made


@pytest.fixture
def animated_body(scene: bpy.types.Scene) -> bpy.types.Object:
    """A tube with patterns of each kind over one another, animated."""
    obj, armature = scenes_maps.add_body()
    animate_tube(armature)
    scene.frame_start, scene.frame_end = scenes_maps.FRAMES[0], scenes_maps.FRAMES[-1]
    scenes_maps.add_overlapping(obj, axis="X", full=1.2, softness=0.3)
    return obj


@pytest.fixture
def plain_file(tmp_path: Path) -> Path:
    """A file with an unbound character."""
    scenes_cli.add_character()
    return save(tmp_path / "plain.blend")


@pytest.fixture
def bound_file(tmp_path: Path) -> Path:
    """A file with a character that is bound by DLB."""
    bind(scenes_cli.add_character(), method="DLB")
    return save(tmp_path / "bound.blend")
