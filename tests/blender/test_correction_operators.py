"""Buttons of corrections: each does what its task does, says what is missing, and is undone in one step."""

import bpy
import numpy as np
import pytest
from scenes_correcting import assert_shown, begin, discard, keep, make, names, pose, reshape, rig, tube
from scenes_corrections import key_value, shown
from scenes_particles import add_body

from scenes import add_twin, armature_modifier, bind, distance, push, select, turn, undo, update
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import describe_problem, find_corrected, list_under_way

pytestmark = pytest.mark.usefixtures("bent_tube")


@pytest.fixture
def bent_tube(bound_tube: bpy.types.Object) -> None:
    pose()
    select(bound_tube)


@pytest.mark.versions
def test_a_copy_is_shaped_in_the_mode_that_is_asked_for(subtests):
    obj = tube()
    for mode in ("SCULPT", "EDIT", "OBJECT"):
        with subtests.test(mode):
            bpy.ops.supple.correct_pose(mode=mode)
            copy = bpy.context.active_object
            assert (copy.mode, copy) == (mode, settings_of(obj).posed_copy)
            assert not obj.visible_get()
            discard()
            assert bpy.context.active_object == obj
            assert obj.select_get()


def test_what_is_sculpted_is_kept():
    before = shown(tube())
    target = make(name="Elbow", joints="bone.1", reader="SWING")
    (correction,) = settings_of(tube()).corrections
    assert (correction.name, correction.bones, correction.reader) == ("Elbow", "bone.1", "SWING")
    assert distance(target, before) > 0.01
    assert_shown(target)
    assert bpy.context.active_object == tube()
    pose((0.0, 0.0, 0.0))
    assert key_value(tube(), "Elbow") == pytest.approx(0.0, abs=1e-6)


def test_what_was_sculpted_is_active_before_its_mirror_image():
    for number, side in enumerate("LR"):
        rig().data.bones[f"bone.{number + 1}"].name = f"arm.{side}"
    update()
    reshape(begin())
    keep(mirror=True, joints="arm.L")
    corrections = settings_of(tube()).corrections
    assert [correction.bones for correction in corrections] == ["arm.L", "arm.R"]
    assert settings_of(tube()).active_correction == 0


def test_whoever_poses_goes_on_posing():
    obj, armature = tube(), rig()
    sleeve, hidden = add_twin(obj), add_twin(obj)
    hidden.hide_set(True)
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.supple.correct_pose()
    assert set(list_under_way(bpy.context)) == {obj, sleeve}
    copy = bpy.context.active_object
    assert copy.mode == "SCULPT"
    with pytest.raises(RuntimeError, match="press Keep or Discard first"):
        bpy.ops.supple.correct_pose()
    reshape(copy)
    bpy.ops.supple.correction_keep()
    assert (bpy.context.active_object, bpy.context.mode) == (armature, "POSE")
    assert [obj.name for obj in (obj, sleeve) if settings_of(obj).corrections] == [
        settings_of(find_corrected(bpy.context)).id_data.name
    ]


def test_only_selected_meshes_are_corrected():
    sleeve = add_twin(tube())
    begin()
    assert list_under_way(bpy.context) == [tube()]
    discard()
    select(tube(), sleeve)
    bpy.ops.supple.correct_pose(mode="EDIT")
    assert [copy.mode for copy in bpy.context.objects_in_mode] == ["EDIT", "EDIT"]


@pytest.mark.versions
def test_each_is_one_step_of_undo():
    push("Posed")
    bpy.ops.supple.correct_pose(mode="OBJECT")
    push("Correct This Pose")
    undo()
    assert tube().visible_get()
    assert not list_under_way(bpy.context)
    assert len(bpy.context.scene.objects) == 2
    make()
    push("Keep")
    undo()
    assert not names()


def test_nothing_sculpted():
    bpy.ops.supple.correct_pose(mode="SCULPT")
    with pytest.raises(RuntimeError, match="Nothing was sculpted"):
        bpy.ops.supple.correction_keep()
    assert bpy.context.active_object == settings_of(tube()).posed_copy
    assert bpy.context.mode == "SCULPT"


def test_what_can_not_be_corrected_stays_in_its_mode():
    settings_of(tube()).bake = "PC2"
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    with pytest.raises(RuntimeError, match="is deformed by a bake"):
        bpy.ops.supple.correct_pose()
    assert bpy.context.mode == "PAINT_WEIGHT"


@pytest.mark.versions
def test_go_to_pose_select_and_delete():
    target = make(name="Elbow")
    key = tube().data.shape_keys.key_blocks["Elbow"]
    key.mute = True
    pose((0.0, 0.0, 0.0))
    bpy.ops.supple.correction_pose()
    key.mute = False
    update()
    assert_shown(target)
    rig().hide_set(True)
    bpy.ops.supple.correction_select(key="Elbow")
    assert (bpy.context.active_object, bpy.context.mode) == (rig(), "POSE")
    assert [bone.name for bone in bpy.context.selected_pose_bones] == ["bone.1"]
    assert bpy.context.active_pose_bone.name == "bone.1"
    bpy.ops.supple.correction_remove()
    assert not names()
    assert tube().data.shape_keys is None
    with pytest.raises(RuntimeError, match="or make a correction with Correct This Pose"):
        bpy.ops.supple.correction_remove()


def test_what_there_is_not(subtests):
    make()
    for name in ("edit", "pose", "select", "remove"):
        with subtests.test(name), pytest.raises(RuntimeError, match="has no correction 'Knee': choose one from"):
            getattr(bpy.ops.supple, f"correction_{name}")(key="Knee")
    for given, message in (
        ({"angles": "40 and 80", "joints": "bone.1"}, "are not angles: write degrees"),
        ({"source": ""}, "There is no mesh"),
    ):
        with subtests.test(message), pytest.raises(RuntimeError, match=message):
            bpy.ops.supple.corrections_from(**given)
    reshape(begin())
    with pytest.raises(RuntimeError, match="no bone 'Knee'"):
        bpy.ops.supple.correction_keep(joints="bone.1, Knee")
    assert list_under_way(bpy.context) == [tube()]


@pytest.mark.versions
def test_from_particles():
    obj, armature = add_body()
    bind(obj, method="DLBNT")
    bpy.ops.supple.corrections_from(joints="bone.1", angles="40, 80")
    corrections = settings_of(obj).corrections
    assert {correction.bones for correction in corrections} == {"bone.1"}
    assert len(corrections) >= 2
    assert bpy.context.active_object == obj
    turn(armature, "bone.1")
    assert np.allclose([key_value(obj, correction.name) for correction in corrections], 0.0, atol=1e-6)


def test_from_another_mesh():
    shape = begin()
    target = reshape(shape)
    scan = bpy.data.objects.new("Scan", shape.data.copy())
    bpy.context.scene.collection.objects.link(scan)
    discard()
    bpy.ops.supple.corrections_from(source="Scan")
    update()
    assert len(names()) == 1
    assert_shown(target)
    assert bpy.context.active_object == tube()


def test_what_is_wrong_with_a_correction():
    obj = tube()
    make(name="Elbow")
    (correction,) = settings_of(obj).corrections
    assert describe_problem(obj, correction) == ""
    rig().data.bones["bone.1"].name = "forearm"
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
