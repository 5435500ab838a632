"""How much there is in the Supple tab: it is held to a budget, so that a new user sees the one first button."""

import bpy
import pytest
import tab

from scenes import add_tube, add_twin, reset, select, turn

LINES = {"nothing": 8, "before": 8, "after": 10}
BUTTONS, SETTINGS, PANELS = 35, 45, 8


@pytest.fixture
def character():
    obj, armature = add_tube(rings=12, sides=8)
    add_twin(obj)
    turn(armature, "bone.1", (0.0, 0.0, 1.0))
    select(obj)
    return obj, armature


def test_lines_at_first_sight(character):
    obj, armature = character
    for active, mode in ((obj, "OBJECT"), (armature, "OBJECT"), (armature, "POSE")):
        select(active)
        bpy.ops.object.mode_set(mode=mode)
        assert tab.count_first_sight() <= LINES["before"]
    bpy.ops.object.mode_set(mode="OBJECT")
    select(obj)
    tab.fill()
    for active, mode in ((obj, "OBJECT"), (armature, "OBJECT"), (armature, "POSE")):
        select(active)
        bpy.ops.object.mode_set(mode=mode)
        assert 4 < tab.count_first_sight() <= LINES["after"]


def test_lines_without_a_character():
    assert 1 < tab.count_first_sight() <= LINES["nothing"]
    bpy.ops.mesh.primitive_cube_add()
    assert 1 < tab.count_first_sight() <= LINES["nothing"]
    reset()
    bpy.ops.object.armature_add()
    assert 1 < tab.count_first_sight() <= LINES["nothing"]


def test_the_whole_tab(character):
    obj, _ = character
    tab.fill()
    select(obj)
    found = tab.count_all()
    assert found.panels == len(tab.list_panels()) <= PANELS
    assert 20 < len(found.buttons) <= BUTTONS, found.buttons
    assert 20 < len(found.settings) <= SETTINGS, found.settings
    print(found.panels, len(found.buttons), len(found.settings))
