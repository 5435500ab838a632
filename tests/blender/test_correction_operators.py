"""Buttons of corrections: each does what its task does, says what is missing, and is undone in one step."""

import bpy
import numpy as np
import pytest
import scenes_corrections
from scenes_particles import add_body
from scenes_state import refuse

from scenes import add_object, add_twin, armature_modifier, bind, distance, select, turn, update
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import describe_problem, find_corrected, list_under_way

pytestmark = pytest.mark.usefixtures("bent_tube")


@pytest.fixture
def bent_tube(bound_tube: bpy.types.Object) -> None:
    scenes_corrections.pose()
    select(bound_tube)


@pytest.mark.versions
def test_a_copy_is_shaped_in_the_mode_that_is_asked_for(subtests):
    obj = scenes_corrections.tube()
    for mode in ("SCULPT", "EDIT", "OBJECT"):
        with subtests.test(mode):
            bpy.ops.supple.correct_pose(mode=mode)
            copy = bpy.context.active_object
            assert (copy.mode, copy) == (mode, settings_of(obj).posed_copy)
            assert not obj.visible_get()
            scenes_corrections.discard()
            assert bpy.context.active_object == obj
            assert obj.select_get()


def test_what_is_sculpted_is_kept():
    before = scenes_corrections.shown(scenes_corrections.tube())
    target = scenes_corrections.make(name="Elbow", joints="bone.1", reader="SWING")
    (correction,) = settings_of(scenes_corrections.tube()).corrections
    assert (correction.name, correction.bones, correction.reader) == ("Elbow", "bone.1", "SWING")
    assert distance(target, before) > 0.01
    scenes_corrections.assert_shown(target)
    assert bpy.context.active_object == scenes_corrections.tube()
    scenes_corrections.pose((0.0, 0.0, 0.0))
    assert scenes_corrections.key_value(scenes_corrections.tube(), "Elbow") == pytest.approx(0.0, abs=1e-6)


def test_what_was_sculpted_is_active_before_its_mirror_image():
    for number, side in enumerate("LR"):
        scenes_corrections.rig().data.bones[f"bone.{number + 1}"].name = f"arm.{side}"
    update()
    scenes_corrections.reshape(scenes_corrections.begin())
    scenes_corrections.keep(mirror=True, joints="arm.L")
    corrections = settings_of(scenes_corrections.tube()).corrections
    assert [correction.bones for correction in corrections] == ["arm.L", "arm.R"]
    assert settings_of(scenes_corrections.tube()).active_correction == 0


def test_whoever_poses_goes_on_posing():
    obj, armature = scenes_corrections.tube(), scenes_corrections.rig()
    sleeve, hidden = add_twin(obj), add_twin(obj)
    hidden.hide_set(True)
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.supple.correct_pose()
    assert set(list_under_way(bpy.context)) == {obj, sleeve}
    copy = bpy.context.active_object
    assert copy.mode == "SCULPT"
    refuse("press Keep or Discard first", bpy.ops.supple.correct_pose)
    scenes_corrections.reshape(copy)
    bpy.ops.supple.correction_keep()
    assert (bpy.context.active_object, bpy.context.mode) == (armature, "POSE")
    assert [obj.name for obj in (obj, sleeve) if settings_of(obj).corrections] == [
        settings_of(find_corrected(bpy.context)).id_data.name
    ]


def test_only_selected_meshes_are_corrected():
    sleeve = add_twin(scenes_corrections.tube())
    scenes_corrections.begin()
    assert list_under_way(bpy.context) == [scenes_corrections.tube()]
    scenes_corrections.discard()
    select(scenes_corrections.tube(), sleeve)
    bpy.ops.supple.correct_pose(mode="EDIT")
    assert [copy.mode for copy in bpy.context.objects_in_mode] == ["EDIT", "EDIT"]


def test_nothing_sculpted():
    bpy.ops.supple.correct_pose(mode="SCULPT")
    refuse("Nothing was sculpted", bpy.ops.supple.correction_keep)
    assert bpy.context.active_object == settings_of(scenes_corrections.tube()).posed_copy
    assert bpy.context.mode == "SCULPT"


@pytest.mark.versions
def test_go_to_pose_select_and_delete():
    target = scenes_corrections.make(name="Elbow")
    key = scenes_corrections.tube().data.shape_keys.key_blocks["Elbow"]
    key.mute = True
    scenes_corrections.pose((0.0, 0.0, 0.0))
    bpy.ops.supple.correction_pose()
    key.mute = False
    update()
    scenes_corrections.assert_shown(target)
    scenes_corrections.rig().hide_set(True)
    bpy.ops.supple.correction_select(key="Elbow")
    assert (bpy.context.active_object, bpy.context.mode) == (scenes_corrections.rig(), "POSE")
    assert [bone.name for bone in bpy.context.selected_pose_bones] == ["bone.1"]
    assert bpy.context.active_pose_bone.name == "bone.1"
    bpy.ops.supple.correction_remove()
    assert not scenes_corrections.names()
    assert scenes_corrections.tube().data.shape_keys is None
    refuse("or make a correction with Correct This Pose", bpy.ops.supple.correction_remove)


def test_what_there_is_not(subtests):
    scenes_corrections.make()
    for name in ("edit", "pose", "select", "remove"):
        with subtests.test(name), pytest.raises(RuntimeError, match="has no correction 'Knee': choose one from"):
            getattr(bpy.ops.supple, f"correction_{name}")(key="Knee")
    for given, message in (
        ({"angles": "40 and 80", "joints": "bone.1"}, "are not angles: write degrees"),
        ({"source": ""}, "There is no mesh"),
    ):
        with subtests.test(message), pytest.raises(RuntimeError, match=message):
            bpy.ops.supple.corrections_from(**given)
    scenes_corrections.reshape(scenes_corrections.begin())
    refuse("no bone 'Knee'", bpy.ops.supple.correction_keep, joints="bone.1, Knee")
    assert list_under_way(bpy.context) == [scenes_corrections.tube()]


def test_from_particles():
    obj, armature = add_body()
    bind(obj, method="DLBNT")
    bpy.ops.supple.corrections_from(joints="bone.1", angles="40, 80")
    corrections = settings_of(obj).corrections
    assert {correction.bones for correction in corrections} == {"bone.1"}
    assert len(corrections) >= 2
    assert bpy.context.active_object == obj
    turn(armature, "bone.1")
    assert np.allclose(
        [scenes_corrections.key_value(obj, correction.name) for correction in corrections], 0.0, atol=1e-6
    )


def test_from_another_mesh():
    shape = scenes_corrections.begin()
    target = scenes_corrections.reshape(shape)
    add_object("Scan", shape.data.copy())
    scenes_corrections.discard()
    bpy.ops.supple.corrections_from(source="Scan")
    update()
    assert len(scenes_corrections.names()) == 1
    scenes_corrections.assert_shown(target)
    assert bpy.context.active_object == scenes_corrections.tube()


def test_what_is_wrong_with_a_correction():
    obj = scenes_corrections.tube()
    scenes_corrections.make(name="Elbow")
    (correction,) = settings_of(obj).corrections
    assert describe_problem(obj, correction) == ""
    scenes_corrections.rig().data.bones["bone.1"].name = "forearm"
    update()
    assert describe_problem(obj, correction) == ""
    bind(obj, method="SSD")
    assert describe_problem(obj, correction).startswith("Made with DQ with Stretch, but the skin is")
    bind(obj, method="DLBNT")
    obj.data.shape_keys.key_blocks["Elbow"].driver_remove("value")
    assert describe_problem(obj, correction).startswith("Shape key 'Elbow' has lost its driver")
    obj.data.shape_keys.key_blocks["Elbow"].name = "Knee"
    assert describe_problem(obj, correction).startswith("Shape key 'Elbow' was deleted or renamed")
    bpy.ops.supple.unbind()
    armature_modifier(obj).object = None
    obj.data.shape_keys.key_blocks["Knee"].name = "Elbow"
    assert "not deformed by an armature" in describe_problem(obj, correction)
