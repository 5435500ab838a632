"""Which bends Check Character tries at the joints of a character: those that they have."""

import bpy
import numpy as np
import pytest
from scenes_corrections import add_arms

from scenes import edit_bones, skinned_meshes, turn
from supple.options import CheckOptions
from supple.tasks.check.poses import label_poses
from supple.tasks.check.ranges import find_own_bends
from supple.tasks.check.run import check_character
from supple.tasks.skin.poses import find_skeleton
from supple.tasks.steps import take_all

ANGLE = np.radians(60.0)


def add_limbs():
    """Two arms that begin at a bone in the middle; no preset knows their names."""
    obj, armature = add_arms()

    def add_root(bones):
        root = bones.new("root")
        root.head, root.tail = (0.0, -1.0, 0.0), (0.0, 0.0, 0.0)
        for bone in bones:
            bone.parent = bone.parent or (root if bone != root else None)

    edit_bones(armature, add_root)
    return obj, armature


def find_bends(armature, poses=()):
    """The bends of joints that have own ones, by the names of their bones."""
    skeleton = find_skeleton(armature)
    found = find_own_bends(armature, skeleton, poses, ANGLE)
    return {skeleton.name_joint(joint): bends for joint, bends in found.items()}


@pytest.mark.characters("mh_human", "human_male", "kaykit_knight")
def test_knees_elbows_and_toes_of_a_known_rig_bend_as_such(asset, character):
    """A knee's tip goes back, an elbow's ahead, toes up and down; none goes aside. The character looks to -Y."""
    bpy.ops.wm.open_mainfile(filepath=str(asset(character)))
    armature = skinned_meshes()[0].find_armature()
    bends, bones = find_bends(armature), armature.data.bones
    seen = set()
    for name, own in bends.items():
        low = name.lower()
        along = np.array((bones[name].tail_local - bones[name].head_local).normalized())
        moves = np.array([np.cross(bend.axis * np.sign(bend.angle), along) for bend in own])
        if any(word in low for word in ("calf", "lowerleg01", "lowerleg.")):
            seen.add("knee")
            assert len(moves) == 1
            assert moves[0][1] > 0.9
        elif any(word in low for word in ("lowerarm_l", "lowerarm_r", "lowerarm01", "lowerarm.")):
            seen.add("elbow")
            assert len(moves) == 1
            assert moves[0][1] < -0.5
        elif low.startswith(("ball_", "toe")):
            seen.add("toes")
            assert (name, len(moves)) == (name, 2)
            assert np.abs([bend.angle for bend in own]) == pytest.approx(np.radians(45.0))
            assert np.abs(moves[:, 0]).max() < 0.3
    assert seen == {"knee", "elbow", "toes"}


def test_a_limb_that_no_preset_knows(subtests):
    """By its shape an elbow is a hinge; by actions it has their axis, or is none."""
    _, armature = add_limbs()
    name = "bone.1.L"
    skeleton = find_skeleton(armature)
    assert [bend.direction for bend in find_bends(armature)[name]] == ["forward"]
    for words, turns, count in (
        ("one axis", [(0.8, 0.0, 0.0), (0.3, 0.0, 0.0), (-0.2, 0.5, 0.0)], 1),
        ("the other side", [(0.0, 0.0, -0.8)], 1),
        ("two axes", [(0.8, 0.0, 0.0), (0.0, 0.0, 0.8)], 6),
        ("twist alone", [(0.0, 0.8, 0.0)], 1),
    ):
        poses = []
        for number, rotation in enumerate(turns):
            turn(armature, name, rotation=rotation)
            poses += label_poses(armature, skeleton, None, [number])
        with subtests.test(words):
            found = find_bends(armature, poses)[name]
            assert len(found) == count
            if words in ("one axis", "the other side"):
                largest = np.array(turns[0]) / np.linalg.norm(turns[0])
                bone = np.array(armature.data.bones[name].matrix_local.to_3x3())
                assert bone.T @ found[0].axis == pytest.approx(largest, abs=0.05)
        turn(armature, name, rotation=(0.0, 0.0, 0.0))


def test_the_check_tries_no_others():
    obj, armature = add_limbs()
    own = find_bends(armature)
    checked = take_all(check_character([obj], CheckOptions(use_actions=False)))
    tried = {}
    for pose in checked.poses:
        for bend, name in zip(pose.bends, pose.bent_bones, strict=True):
            tried.setdefault(name, []).append(bend)
    assert any(name in own for name in tried)
    for name, bends in tried.items():
        if name in own:
            assert sorted(bend.direction for bend in bends) == sorted(bend.direction for bend in own[name])
