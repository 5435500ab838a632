"""How much there is in the Supple tab: it is held to a budget, so that a new user sees the one first button."""

import bpy
import pytest
import tab

from scenes import add_tube, add_twin, reset, select, turn
from supple.settings.objects import SETTINGS_VERSION, settings_of
from supple.tasks.subject import notices

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


def test_what_may_go_wrong_is_said(character, monkeypatch):
    """A newer file, a Blender that was not tried, another add-on that moves the same vertices."""
    obj, _ = character
    bpy.ops.supple.bind()
    assert not list(notices.list_notices([obj]))
    before = tab.count_first_sight()
    settings_of(obj).version = SETTINGS_VERSION + 1
    obj.shape_key_add(name="Basis")
    obj.shape_key_add(name="mmd_sdef_skinning").value = 1.0
    monkeypatch.setattr(notices, "NEWEST", (4, 1))
    untried, newer, moved = notices.list_notices([obj])
    assert untried.startswith("Supple was tested up to Blender 4.1, but not with ")
    assert newer.startswith("A newer version of Supple has saved this file")
    assert moved == f"mmd_tools moves '{obj.name}', too: press Unbind SDEF in its panel"
    assert tab.count_first_sight() > before
    obj.data.shape_keys.key_blocks["mmd_sdef_skinning"].mute = True
    assert len(list(notices.list_notices([obj]))) == 2
