"""Joints that twist by more than half a turn, and twists that run along the bone before, in Blender."""

from __future__ import annotations

from math import cos, tau
from pathlib import Path

import bpy
import numpy as np
import pytest

from scenes import add_tube, bind, evaluated_points, reset, rest_points, save, select, update
from supple.bridge.animation.curves import list_curves
from supple.bridge.rigs.armatures import read_pose
from supple.bridge.rigs.twists import Moved, measure_twists, read_keys, read_rotations
from supple.settings.objects import settings_of
from supple.tasks.skin import by_python
from supple.tasks.subject.actions import list_actions

SIDES = 16
NAME = "Tube"
"""Of the mesh: opening a file makes objects anew."""


def tube(method: str = "DLBNT", twist: str = "3") -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_tube()
    settings_of(obj).twist = twist
    bind(obj, method=method, evaluate="PYTHON")
    return obj, armature


def turn_by_euler(armature: bpy.types.Object, bone: str, degrees: float) -> None:
    pose_bone = armature.pose.bones[bone]
    pose_bone.rotation_mode = "XYZ"
    pose_bone.rotation_euler[1] = np.radians(degrees)
    update()


def find_end_angle(obj: bpy.types.Object) -> float:
    """How far the last ring of the tube is turned against the first, degrees, by way of those between."""
    rings = evaluated_points(obj)[: len(rest_points(obj)) // SIDES * SIDES].reshape(-1, SIDES, 3)
    offsets = rings[:, 0] - rings.mean(axis=1)
    angles = np.unwrap(np.arctan2(offsets[:, 0], offsets[:, 2]))
    return float(np.degrees(angles[-1] - angles[0]))


def test_the_end_is_where_the_channel_says(subtests: pytest.Subtests):
    obj, armature = tube("SSD", "5")
    for method in ("SSD", "DLB", "DLBNT", "CENTERS"):
        settings_of(obj).method = method
        for degrees in (170, 270, -400, 540):
            with subtests.test(method, degrees=degrees):
                turn_by_euler(armature, "bone.1", degrees)
                assert find_end_angle(obj) == pytest.approx(degrees, abs=1.0)


def test_auto_follows_the_pose_and_the_property():
    obj, armature = tube(twist="AUTO")
    assert by_python.find(obj).skin.skeleton.joints.fractions is None
    turn_by_euler(armature, "bone.1", 250.0)
    assert find_end_angle(obj) == pytest.approx(250.0, abs=0.5)
    turn_by_euler(armature, "bone.1", 20.0)
    assert by_python.find(obj).skin.skeleton.joints.fractions is None
    armature.pose.bones["bone.2"]["supple_turns"] = 1.0
    armature.update_tag()
    update()
    assert set(by_python.find(obj).skin.skeleton.joints.fractions.last) == {2}


@pytest.mark.versions
def test_auto_follows_actions():
    obj, armature = tube(twist="AUTO")
    bone = armature.pose.bones["bone.1"]
    bone.rotation_mode = "XYZ"
    for frame, degrees in ((1, 0.0), (20, 400.0)):
        bone.rotation_euler[1] = np.radians(degrees)
        bone.keyframe_insert("rotation_euler", frame=frame)
    update()
    bpy.context.scene.frame_set(1)
    assert by_python.find(obj).skin.skeleton.joints.fractions is not None
    bpy.context.scene.frame_set(20)
    assert find_end_angle(obj) == pytest.approx(400.0, abs=0.5)
    armature.animation_data.action = None
    bone.rotation_euler[1] = 0.0
    update()
    assert by_python.find(obj).skin.skeleton.joints.fractions is None


@pytest.mark.versions
def test_a_pose_has_one_shape_whatever_was_shown_before(tmp_path: Path, evaluator: str, subtests: pytest.Subtests):
    def play() -> list[np.ndarray]:
        shown = []
        for frame in (1, 4, 8):
            bpy.context.scene.frame_set(frame)
            shown.append(evaluated_points(bpy.data.objects[NAME]).copy())
        return shown

    obj, armature = add_tube()
    settings_of(obj).twist = "AUTO"
    bind(obj, method="DLBNT", evaluate=evaluator)
    turn_by_euler(armature, "bone.2", 0.0)
    for frame, degrees in ((1, 0.0), (8, 60.0)):
        turn_by_euler(armature, "bone.1", degrees)
        armature.pose.bones["bone.1"].keyframe_insert("rotation_euler", frame=frame)
    first = play()
    with subtests.test("keyed bone, turned by hand"):
        turn_by_euler(armature, "bone.1", 137.0)
        assert np.array_equal(play(), first)
    with subtests.test("bone without keys, in a step with another frame"):
        armature.pose.bones["bone.2"].rotation_euler[1] = np.radians(137.0)
        bpy.context.scene.frame_set(4)
        turned = play()
        assert not np.allclose(turned, first, atol=0.01)
    with subtests.test("opened again"):
        bpy.ops.wm.open_mainfile(filepath=str(save(tmp_path / "file.blend")))
        assert np.allclose(play(), turned, atol=1e-6)
    with subtests.test("turned back"):
        armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
        turn_by_euler(armature, "bone.2", 0.0)
        assert np.allclose(play(), first, atol=1e-6)


def test_a_bone_overrules_the_mesh():
    obj, armature = tube(twist="OFF")
    turn_by_euler(armature, "bone.1", 270.0)
    assert find_end_angle(obj) == pytest.approx(-90.0, abs=0.5)
    settings = armature.data.bones["bone.1"].supple
    settings.has_twist, settings.twist = True, "4"
    update()
    assert find_end_angle(obj) == pytest.approx(270.0, abs=0.5)
    settings.twist = "OFF"
    settings_of(obj).twist = "5"
    update()
    assert set(by_python.find(obj).skin.skeleton.joints.fractions.last) == {2}


def test_a_twist_is_spread_along_the_bone_before():
    obj, armature = tube(twist="OFF")
    turn_by_euler(armature, "bone.2", 120.0)
    before = find_middle_angle(obj)
    assert before < 30.0
    armature.data.bones["bone.2"].supple.spread_twist = "ON"
    update()
    assert find_middle_angle(obj) == pytest.approx(0.75 * share_half() + 15.0, abs=2.0)
    assert find_end_angle(obj) == pytest.approx(120.0, abs=0.5)
    armature.data.bones["bone.2"].supple.spread_twist = "OFF"
    update()
    assert find_middle_angle(obj) == pytest.approx(before, abs=1e-3)


def test_twists_are_read_as_the_joints_turn(subtests: pytest.Subtests):
    obj, armature = tube()
    armature.data.bones["bone.2"].supple.spread_twist = "ON"
    before, bone = (armature.pose.bones[name] for name in ("bone.1", "bone.2"))
    before.rotation_mode = bone.rotation_mode = "XYZ"
    before.rotation_euler, before.scale = (0.6, 1.1, -0.3), (1.2, 1.2, 1.2)
    for name, rotation in (
        ("twist", (0, 2, 0)),
        ("bent", (0.9, -1, 0.5)),
        ("far", (1.8, 2, 0)),
        ("turns", (0.4, 9, 0)),
    ):
        bone.rotation_euler = rotation
        update()
        with subtests.test(name):
            check_twist(obj, armature)
    with subtests.test("constraint"):
        constraint = bone.constraints.new("COPY_ROTATION")
        constraint.target, constraint.subtarget = armature, "bone.1"
        bone.rotation_euler = 0, 0, 0
        update()
        assert check_twist(obj, armature) == pytest.approx(0.0, abs=1e-5)  # as the bone before, against which it turns


def check_twist(obj: bpy.types.Object, armature: bpy.types.Object) -> float:
    """The twist that a pose spreads, radians: of *Swing and Y Twist*, the less the farther the bone swings."""
    skeleton, spread = by_python.find(obj).skin.skeleton, by_python.find(obj).skin.skeleton.joints.spread
    assert spread.joints.tolist() == [2]
    posed = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    found = read_pose(posed, skeleton).find_turns(spread)
    bone = posed.pose.bones["bone.2"]
    local = armature.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL")
    swing, twist = local.to_quaternion().to_swing_twist("Y")
    turns = round((bone.rotation_euler.y - twist) / tau)
    share = min(max(1.0 + 2.0 * cos(swing.angle), 0.0), 1.0)
    assert found.twists[0] == pytest.approx(share * (twist + tau * turns), abs=1e-4)
    assert found.twists[0] != 0.0 or share == 0.0 or bone.constraints
    return float(found.twists[0])


def test_a_bone_that_does_not_inherit_rotation_keeps_its_twist():
    obj, armature = tube(twist="OFF")
    bone = armature.data.bones["bone.2"]
    bone.supple.spread_twist = "ON"
    for inherits in (True, False, True):
        bone.use_inherit_rotation = inherits
        update()
        assert (by_python.find(obj).skin.skeleton.joints.spread is not None) == inherits


def share_half() -> float:
    """A twist by 120 degrees halfway along a bone that tapers."""
    return 120.0 * float(np.log(0.7) / np.log(0.4))


def find_middle_angle(obj: bpy.types.Object) -> float:
    """How far the ring in the middle of the second bone is turned, degrees."""
    rings = evaluated_points(obj)[: len(rest_points(obj)) // SIDES * SIDES].reshape(-1, SIDES, 3)
    ring = rings[len(rings) // 2]
    offset = ring[0] - ring.mean(axis=0)
    return float(np.degrees(np.arctan2(offset[0], offset[2]))) - 90.0


@pytest.mark.versions
def test_a_file_that_was_bound_before_keeps_its_look(tmp_path: Path):
    obj, _ = tube(twist="AUTO")
    settings_of(obj).version = 3
    settings_of(obj).property_unset("twist")
    path = save(tmp_path / "before.blend")
    reset()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    update()
    assert settings_of(bpy.data.objects[NAME]).twist == "OFF"


def test_ticked_meshes_are_given_a_twist_together():
    obj, armature = add_tube()
    bind(obj, method="DLBNT", evaluate="PYTHON")
    select(armature)
    bpy.context.scene.supple_character.twist = "4"
    assert settings_of(obj).twist == "4"


@pytest.mark.versions
def test_twists_are_found_whatever_a_bone_is_called():
    _, armature = add_tube()
    name = 'bone ["2"] \\ ]'
    bone = armature.pose.bones["bone.2"]
    bone.name = name
    bone.rotation_mode = "XYZ"
    for frame, angle in ((1, 0.0), (8, 4.0)):
        bone.rotation_euler.y = angle
        bone.keyframe_insert("rotation_euler", frame=frame)

    def find_twist() -> float:
        moved = Moved.of(armature, [(name, "rotation_euler", axis) for axis in range(3)])
        return measure_twists(read_rotations(armature, moved), moved, [read_keys(armature.animation_data.action)])[name]

    assert find_twist() == pytest.approx(4.0)
    list_curves(armature)[0].keyframe_points.clear()  # of the angle about x, as where a user has deleted them all
    armature.keyframe_insert("location", frame=1)
    assert find_twist() == pytest.approx(4.0)
    assert list_actions(armature) == [armature.animation_data.action]
