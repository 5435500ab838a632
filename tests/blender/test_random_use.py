"""Random use (`tests/random`) takes every operator and every setting, and notices a pose with two shapes."""

from __future__ import annotations

import importlib
import random
import sys
from types import ModuleType

import bpy
import pytest

from checkout import ROOT
from scenes import add_tube


@pytest.fixture
def actions(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "random"))
    return importlib.import_module("actions_all")


def list_properties() -> list[bpy.types.Property]:
    """All settings that Supple registers and that a user sees."""
    groups = [group for group in bpy.types.PropertyGroup.__subclasses__() if "supple" in group.__module__]
    found = [prop for group in groups if group.is_registered for prop in group.bl_rna.properties]
    found += [prop for prop in bpy.types.WindowManager.bl_rna.properties if prop.identifier.startswith("supple")]
    return [prop for prop in found if prop.identifier != "rna_type" and not prop.is_hidden]


def is_group(prop: bpy.types.Property) -> bool:
    base = prop.fixed_type.base if prop.type in ("POINTER", "COLLECTION") else None
    return base is not None and base.identifier == "PropertyGroup"


def test_each_operator_has_an_action(actions):
    missing = {*dir(bpy.ops.supple)} ^ {*actions.OPERATORS}
    assert not missing, "OPERATORS of tests/random/actions_all.py says how each is used at random"
    assert {*actions.OPERATORS.values()} <= {*sys.modules["world"].ACTIONS}


def test_each_setting_and_option_can_be_drawn(actions, subtests, tmp_path):
    add_tube()
    world = actions.World(tmp_path, rng=random.Random(1))
    drawn = [prop for prop in list_properties() if prop.identifier not in actions.LEFT_OUT and not is_group(prop)]
    for name in dir(bpy.ops.supple):
        options = getattr(bpy.ops.supple, name).get_rna_type().properties
        drawn += [prop for prop in options if actions.is_option(prop)]
    for prop in drawn:
        with subtests.test(prop.identifier):
            actions.draw_value(world, prop)
    left_out = {*actions.LEFT_OUT} - {prop.identifier for prop in list_properties()}
    assert not left_out, "LEFT_OUT of tests/random/actions_all.py names settings that are gone"


@pytest.mark.parametrize("depends", [False, True])
def test_a_pose_with_two_shapes_is_noticed(actions, tmp_path, depends):
    """A shape that depends on how often frames were changed is another in the opened file."""
    add_tube()
    world = actions.World(tmp_path)
    seen = []

    def move(scene: bpy.types.Scene, *_) -> None:
        seen.append(scene.frame_current)
        obj = scene.objects["Tube"]
        obj.data.vertices[0].co.x = 0.1 * (len(seen) if depends else scene.frame_current)
        obj.data.update()

    bpy.app.handlers.frame_change_pre.append(bpy.app.handlers.persistent(move))
    try:
        sys.modules["actions_file"].check_frames(world)
    finally:
        bpy.app.handlers.frame_change_pre.remove(move)
    assert [problem.split(":")[0] for problem in world.problems] == ["another shape in the opened file"] * 5 * depends
