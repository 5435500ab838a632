"""Corrections on both sides of a character."""

import bpy
import numpy as np
import pytest
from scenes_corrections import add_arms, correct, key_value, sculpt, shown

from scenes import bind, distance, turn, update
from supple.settings.objects import settings_of
from supple.tasks.corrections.edit import edit
from supple.tasks.corrections.keep import keep
from supple.tasks.corrections.mirror import mirror_bone_pose
from supple.tasks.corrections.posed_copy import begin
from supple.tasks.corrections.poses import read_bone_pose, show_bone_pose

ELBOW = np.array([1.5, 1.0, 0.0])
OFFSET = np.array([0.1, 0.05, -0.2])
POSE = (1.1, 0.2, 0.3)
MIRROR = (-1.0, 1.0, 1.0)


def mirrored(points: np.ndarray) -> np.ndarray:
    """Points of the arms, each in the place of its partner, at x mirrored."""
    half = len(points) // 2
    return np.concatenate([points[half:], points[:half]]) * MIRROR


def show_right(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """Pose the right arm as the left one is, and the other way around; what is shown then, of the left one's place."""
    show_bone_pose(armature, mirror_bone_pose(armature, read_bone_pose(armature)))
    update()
    return mirrored(shown(obj))


@pytest.fixture
def arms(scene: bpy.types.Scene) -> tuple:
    obj, armature = add_arms()
    bind(obj)
    turn(armature, "bone.1.L", POSE)
    return obj, armature


@pytest.mark.versions
def test_the_other_side_is_the_mirror_image(arms: tuple) -> None:
    obj, armature = arms
    target = correct(obj, ELBOW, 0.8, OFFSET, mirror=True)
    assert sorted(entry.bones for entry in settings_of(obj).corrections) == ["bone.1.L", "bone.1.R"]
    assert distance(target, shown(obj)) < 1e-5
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_mirrored_when_it_is_edited_again(arms: tuple) -> None:
    obj, armature = arms
    correct(obj, ELBOW, 0.8, OFFSET)
    (copy,), _ = edit(obj, settings_of(obj).corrections[0].name, bpy.context.view_layer)
    target = sculpt(copy, ELBOW, 0.5, -0.4 * OFFSET)
    keep([copy], bpy.context.view_layer, mirror=True)
    update()
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_mirrored_over_what_is_there(arms: tuple) -> None:
    obj, armature = arms
    show_right(obj, armature)
    correct(obj, ELBOW * MIRROR, 0.6, -OFFSET, name="Right")
    show_right(obj, armature)
    target = correct(obj, ELBOW, 0.8, OFFSET, name="Left", mirror=True)
    assert {entry.name for entry in settings_of(obj).corrections} == {"Left", "Right"}
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_between_poses_of_the_other_side(arms: tuple) -> None:
    obj, armature = arms
    show_right(obj, armature)
    turn(armature, "bone.1.R", (2.0, 0.0, 0.0))
    correct(obj, ELBOW * MIRROR, 0.6, -OFFSET)
    turn(armature, "bone.1.R")
    turn(armature, "bone.1.L", POSE)
    target = correct(obj, ELBOW, 0.8, OFFSET, mirror=True)
    assert distance(target, show_right(obj, armature)) < 1e-5


def test_both_sides_sculpted_at_once(arms: tuple) -> None:
    obj, armature = arms
    turn(armature, "bone.1.R", (0.9, 0.0, 0.0))
    (copy,), _ = begin([obj], bpy.context.view_layer)
    sculpt(copy, ELBOW, 0.8, OFFSET)
    target = sculpt(copy, ELBOW * MIRROR, 0.8, OFFSET)
    keep([copy], bpy.context.view_layer)
    update()
    assert distance(target, shown(obj)) < 1e-5
    left, right = sorted(settings_of(obj).corrections, key=lambda entry: entry.bones)
    assert (left.bones, right.bones) == ("bone.1.L", "bone.1.R")
    turn(armature, "bone.1.R")
    half = len(target) // 2
    assert np.abs(shown(obj)[:half] - target[:half]).max() < 1e-5
    assert key_value(obj, left.name) == 1.0
    assert key_value(obj, right.name) == 0.0
