"""Rig presets on armatures, and the folder of the user's own."""

import json
import os

import bpy
import pytest

from scenes import add_tube
from supple.bridge.files import user_folders
from supple.bridge.rigs.rest_bones import read_rest_bones
from supple.deformers.anatomy.body import body_of_rig
from supple.deformers.anatomy.presets import LEFT
from supple.tasks.subject import rig_presets
from supple.tasks.subject.rig_presets import USER_FOLDER, find_rig_of, read_all_landmarks, read_presets

KNOWN = {"human": "makehuman_game", "mh_human": "makehuman", "kaykit_knight": "kaykit", "fox": None}


@pytest.fixture(autouse=True)
def user_folder(tmp_path, monkeypatch):
    """An empty folder in place of the user's."""
    monkeypatch.setattr(rig_presets, "find_user_folder", lambda name, create=False: tmp_path / name)
    (tmp_path / USER_FOLDER).mkdir()
    return tmp_path / USER_FOLDER


@pytest.mark.characters("mh_human", "kaykit_knight", "fox")
def test_characters_are_known_by_the_names_of_their_bones(asset, character):
    bpy.ops.wm.open_mainfile(filepath=str(asset(character)))
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    rig = find_rig_of(armature)
    assert (rig and rig.preset.key) == KNOWN[character]
    if rig is not None:
        body = body_of_rig(rig, read_rest_bones(armature))
        assert body.front @ (0, -1, 0) > 0.99
        assert body.named[LEFT] == LEFT


def test_a_chain_of_bones_is_of_no_known_rig():
    assert find_rig_of(add_tube()[1]) is None


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


def test_a_file_that_is_wrong_is_left_out_and_named(user_folder, subtests):
    count = len(read_presets()[0])
    wrong = {"{,": "cannot be read", "{}": "cannot be read", '{"name": "x"}': "sides, bones are missing"}
    for text, problem in wrong.items():
        with subtests.test(text):
            (user_folder / "wrong.json").write_text(text, encoding="utf-8")
            presets, problems = read_presets()
            assert len(presets) == count
            assert len(problems) == 1
            assert "wrong.json" in problems[0]
            assert problem in problems[0]
            text = (rig_presets.OWN_FOLDER / "vrm.json").read_text(encoding="utf-8")
            (user_folder / "wrong.json").write_text(text, encoding="utf-8")
            assert read_presets()[1] == []  # a change is noticed


def test_files_that_are_none_block_no_others(user_folder, subtests):
    """Links that lead nowhere or in circles, folders, names that nobody can print, JSON of the wrong kind."""
    sound = (rig_presets.OWN_FOLDER / "vrm.json").read_text(encoding="utf-8")
    unprintable = sound.replace('"name": "', '"name": "\\ud800')
    (own,) = (rig_presets.OWN_FOLDER / rig_presets.LANDMARKS).glob("*.json")
    spots = json.loads(own.read_text(encoding="utf-8"))
    wrong = spots["landmarks"][0] | {"driver": [[]]}
    makers = {
        "dangling link": lambda path: path.symlink_to("nowhere"),
        "link in circles": lambda path: path.symlink_to(path.name),
        "folder": lambda path: path.mkdir(),
        "lone surrogate": lambda path: path.write_text(unprintable, encoding="utf-8"),
        "a list for a part": lambda path: path.write_text(json.dumps({"landmarks": [wrong]}), encoding="utf-8"),
    }
    (user_folder / rig_presets.LANDMARKS).mkdir()
    counts = len(read_presets()[0]), len(read_all_landmarks()[0])
    for name in ("wrong.json", os.fsdecode(b"\xff.json")):
        for label, make in makers.items():
            with subtests.test(f"{name!a}: {label}"):
                paths = [user_folder / name, user_folder / rig_presets.LANDMARKS / name]
                for path in paths:
                    make(path)
                found, spots = read_presets(), read_all_landmarks()
                assert (len(found[0]), len(spots[0])) == counts
                for (problem,) in (found[1], spots[1]):
                    assert "was left out" in problem
                    problem.encode()
                for path in paths:
                    path.rmdir() if label == "folder" else path.unlink()


def test_the_folder_of_the_user_belongs_to_the_extension():
    folder = user_folders.find_user_folder(USER_FOLDER)
    assert folder.name == USER_FOLDER
    assert "supple" in folder.parts
