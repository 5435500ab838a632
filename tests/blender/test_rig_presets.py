"""Rig presets on real armatures, and the folder of the user's own."""

import json

import bpy
import pytest

from benchmarks.generated import open_rigify
from supple.bridge import user_folders
from supple.bridge.rest_bones import read_rest_bones
from supple.deformers.anatomy.body import body_of_rig
from supple.deformers.anatomy.presets import LEFT, MIDDLE
from supple.tasks import rig_presets
from supple.tasks.rig_presets import USER_FOLDER, find_rig_of, read_presets

pytestmark = pytest.mark.python_only("bones are found alike, whatever evaluates the skin")

KNOWN = {
    "mh_human": "makehuman", "mh_human_game": "makehuman_game", "human_male": "makehuman_game",
    "kaykit_knight": "kaykit", "cesium_man": None, "fox": None, "khronos_fox": None,
}  # fmt: skip


@pytest.fixture(autouse=True)
def user_folder(tmp_path, monkeypatch):
    """An empty folder in place of the user's."""
    monkeypatch.setattr(rig_presets, "find_user_folder", lambda name, create=False: tmp_path / name)
    (tmp_path / USER_FOLDER).mkdir()
    return tmp_path / USER_FOLDER


@pytest.mark.parametrize("name", KNOWN)
def test_characters_are_known_by_the_names_of_their_bones(asset, name):
    bpy.ops.wm.open_mainfile(filepath=str(asset(name)))
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    rig = find_rig_of(armature)
    assert (rig and rig.preset.key) == KNOWN[name]
    if rig is not None:
        body = body_of_rig(rig, read_rest_bones(armature))
        assert body.front @ (0, -1, 0) > 0.99
        assert body.named[LEFT] == LEFT


def test_of_rigify_the_deforming_bones_are_found(tmp_path):
    armature = open_rigify(tmp_path / "human.blend")
    rig = find_rig_of(armature)
    assert rig is not None
    assert rig.preset.key == "rigify"
    assert rig.bones["spine", MIDDLE] == ("DEF-spine.001", "DEF-spine.002", "DEF-spine.003")
    assert rig.drivers["forearm", LEFT] == ("DEF-forearm.L",)
    assert all(armature.data.bones[name].use_deform for bones in rig.bones.values() for name in bones)
    assert rig.bones["head", MIDDLE] == ("DEF-spine.006",)


def test_all_files_of_supple_can_be_read():
    presets, problems = read_presets()
    assert problems == []
    assert len(presets) == len(list(rig_presets.OWN_FOLDER.glob("*.json")))


def test_a_file_of_the_user_is_found_and_stands_in_for_one_of_the_same_name(user_folder):
    content = json.loads((rig_presets.OWN_FOLDER / "mixamo.json").read_text(encoding="utf-8"))
    (user_folder / "mixamo.json").write_text(json.dumps(content | {"name": "Mine"}), encoding="utf-8")
    presets, _ = read_presets()
    assert presets[0].name == "Mine"
    assert [preset.key for preset in presets].count("mixamo") == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [("{,", "nothing that can be read"), ("{}", "nothing that can be read"), ('{"name": "x"}', "left and right")],
)
def test_a_file_that_is_wrong_is_left_out_and_named(user_folder, text, problem):
    count = len(read_presets()[0])
    (user_folder / "wrong.json").write_text(text, encoding="utf-8")
    presets, problems = read_presets()
    assert len(presets) == count
    assert len(problems) == 1
    assert "wrong.json" in problems[0]
    assert problem in problems[0]
    (user_folder / "wrong.json").write_text((rig_presets.OWN_FOLDER / "vrm.json").read_text(), encoding="utf-8")
    assert read_presets()[1] == []  # a change is noticed


def test_the_folder_of_the_user_belongs_to_the_extension():
    folder = user_folders.find_user_folder(USER_FOLDER)
    assert folder.name == USER_FOLDER
    assert "supple" in folder.parts
