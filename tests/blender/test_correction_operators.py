"""Buttons of corrections: each does what its task does, says what is missing, and is undone in one step."""

import bpy
import numpy as np
import pytest
from scenes_corrections import key_value, sculpt, shown
from scenes_particles import add_body

from scenes import add_tube, add_twin, armature_modifier, bind, distance, push, select, turn, undo, update
from supple.settings.objects import settings_of
from supple.tasks.corrected import describe_problem, find_corrected, list_under_way

ELBOW = np.array([0.0, 1.0, 0.0])
OFFSET = np.array([0.1, 0.05, -0.2])


@pytest.fixture
def tube(scene: bpy.types.Scene) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A bound tube, bent by 70 degrees, that is active; and its armature."""
    obj, armature = add_tube()
    bind(obj, method="DLBNT")
    bend(armature, 70.0)
    select(obj)
    return obj, armature


def bend(armature: bpy.types.Object, degrees: float) -> None:
    turn(armature, "bone.1", (np.radians(degrees), 0.0, 0.0))
    update()


def make(obj: bpy.types.Object, **options) -> np.ndarray:
    """Correct the pose that is shown by the buttons; what it was sculpted to."""
    select(obj)
    bpy.ops.supple.correct_pose(mode="OBJECT")
    target = sculpt(bpy.context.active_object, ELBOW, 0.8, OFFSET)
    assert bpy.ops.supple.correction_keep(**options) == {"FINISHED"}
    update()
    return target


@pytest.mark.parametrize("mode", ["SCULPT", "EDIT", "OBJECT"])
def test_a_copy_is_shaped_in_the_mode_that_is_asked_for(tube, mode):
    obj, _ = tube
    bpy.ops.supple.correct_pose(mode=mode)
    copy = bpy.context.active_object
    assert (copy.mode, copy) == (mode, settings_of(obj).posed_copy)
    assert not obj.visible_get()
    bpy.ops.supple.correction_discard()
    assert bpy.context.active_object == obj
    assert obj.visible_get()
    assert obj.select_get()
    assert not list_under_way(bpy.context)


def test_what_is_sculpted_is_kept(tube):
    obj, armature = tube
    before = shown(obj)
    target = make(obj, name="Elbow", joints="bone.1", reader="SWING")
    (correction,) = settings_of(obj).corrections
    assert (correction.name, correction.bones, correction.reader) == ("Elbow", "bone.1", "SWING")
    assert distance(target, before) > 0.01
    assert distance(target, shown(obj)) < 1e-5
    assert bpy.context.active_object == obj
    bend(armature, 0.0)
    assert key_value(obj, "Elbow") == pytest.approx(0.0, abs=1e-6)


def test_what_was_sculpted_is_active_before_its_mirror_image(scene):
    obj, armature = add_tube()
    for number, side in enumerate("LR"):
        armature.data.bones[f"bone.{number + 1}"].name = f"arm.{side}"
    turn(armature, "arm.L", (1.0, 0.0, 0.0))
    update()
    make(obj, mirror=True, joints="arm.L")
    corrections = settings_of(obj).corrections
    assert [correction.bones for correction in corrections] == ["arm.L", "arm.R"]
    assert settings_of(obj).active_correction == 0


def test_whoever_poses_goes_on_posing(tube):
    obj, armature = tube
    sleeve, hidden = add_twin(obj), add_twin(obj)
    hidden.hide_set(True)
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.supple.correct_pose()
    assert set(list_under_way(bpy.context)) == {obj, sleeve}
    copy = bpy.context.active_object
    assert copy.mode == "SCULPT"
    with pytest.raises(RuntimeError, match="Keep or Discard it first"):
        bpy.ops.supple.correct_pose()
    sculpt(copy, ELBOW, 0.8, OFFSET)
    bpy.ops.supple.correction_keep()
    assert (bpy.context.active_object, bpy.context.mode) == (armature, "POSE")
    assert [obj.name for obj in (obj, sleeve) if settings_of(obj).corrections] == [
        settings_of(find_corrected(bpy.context)).id_data.name
    ]


def test_only_selected_meshes_are_corrected(tube):
    obj, _ = tube
    sleeve = add_twin(obj)
    select(obj)
    bpy.ops.supple.correct_pose(mode="OBJECT")
    assert list_under_way(bpy.context) == [obj]
    bpy.ops.supple.correction_discard()
    select(obj, sleeve)
    bpy.ops.supple.correct_pose(mode="EDIT")
    assert [copy.mode for copy in bpy.context.objects_in_mode] == ["EDIT", "EDIT"]


def test_each_is_one_step_of_undo(tube):
    push("Posed")
    bpy.ops.supple.correct_pose(mode="OBJECT")
    push("Correct This Pose")
    undo()
    obj = bpy.data.objects["Tube"]
    assert obj.visible_get()
    assert not list_under_way(bpy.context)
    assert len(bpy.context.scene.objects) == 2
    make(obj)
    push("Keep")
    undo()
    obj = bpy.data.objects["Tube"]
    assert not settings_of(obj).corrections


def test_nothing_sculpted(tube):
    obj, _ = tube
    bpy.ops.supple.correct_pose(mode="SCULPT")
    with pytest.raises(RuntimeError, match="Nothing was sculpted"):
        bpy.ops.supple.correction_keep()
    assert bpy.context.active_object == settings_of(obj).posed_copy
    assert bpy.context.mode == "SCULPT"


def test_what_can_not_be_corrected_stays_in_its_mode(tube):
    obj, _ = tube
    settings_of(obj).bake = "PC2"
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    with pytest.raises(RuntimeError, match="is deformed by a bake"):
        bpy.ops.supple.correct_pose()
    assert bpy.context.mode == "PAINT_WEIGHT"


def test_a_copy_that_was_deleted(tube):
    obj, armature = tube
    bpy.ops.supple.correct_pose(mode="OBJECT")
    bpy.ops.object.delete()
    select(armature)
    with pytest.raises(RuntimeError, match="The posed copy is gone"):
        bpy.ops.supple.correction_keep()
    bpy.ops.supple.correction_discard()
    assert obj.visible_get()
    assert not list_under_way(bpy.context)
    make(obj)


def test_edit_again_goes_to_the_pose(tube):
    obj, armature = tube
    target = make(obj, name="Elbow")
    bend(armature, 10.0)
    bpy.ops.supple.correction_edit(key="Elbow", mode="OBJECT")
    copy = bpy.context.active_object
    points = sculpt(copy, ELBOW, 0.8, -OFFSET)
    bpy.ops.supple.correction_keep()
    update()
    assert len(settings_of(obj).corrections) == 1
    assert distance(target, points) > 0.01
    assert distance(points, shown(obj)) < 1e-5


def test_go_to_pose_select_and_delete(tube):
    obj, armature = tube
    target = make(obj, name="Elbow")
    obj.data.shape_keys.key_blocks["Elbow"].mute = True
    bend(armature, 0.0)
    bpy.ops.supple.correction_pose()
    obj.data.shape_keys.key_blocks["Elbow"].mute = False
    update()
    assert distance(target, shown(obj)) < 1e-5
    armature.hide_set(True)
    bpy.ops.supple.correction_select(key="Elbow")
    assert (bpy.context.active_object, bpy.context.mode) == (armature, "POSE")
    assert [bone.name for bone in bpy.context.selected_pose_bones] == ["bone.1"]
    assert bpy.context.active_pose_bone.name == "bone.1"
    bpy.ops.supple.correction_remove()
    assert not settings_of(obj).corrections
    assert obj.data.shape_keys is None
    with pytest.raises(RuntimeError, match="or make one by Correct This Pose"):
        bpy.ops.supple.correction_remove()


@pytest.mark.parametrize("name", ["edit", "pose", "select", "remove"])
def test_a_correction_that_there_is_not(tube, name):
    make(tube[0])
    with pytest.raises(RuntimeError, match="has no correction 'Knee': choose one of"):
        getattr(bpy.ops.supple, f"correction_{name}")(key="Knee")


def test_a_joint_that_there_is_not(tube):
    obj, _ = tube
    bpy.ops.supple.correct_pose(mode="OBJECT")
    sculpt(bpy.context.active_object, ELBOW, 0.8, OFFSET)
    with pytest.raises(RuntimeError, match="no bone 'Knee'"):
        bpy.ops.supple.correction_keep(joints="bone.1, Knee")
    assert list_under_way(bpy.context) == [obj]


def test_from_particles(scene):
    obj, armature = add_body()
    bind(obj, method="DLBNT")
    bpy.ops.supple.corrections_from(joints="bone.1", angles="40, 80")
    assert {correction.bones for correction in settings_of(obj).corrections} == {"bone.1"}
    assert len(settings_of(obj).corrections) >= 2
    assert bpy.context.active_object == obj
    bend(armature, 0.0)
    values = [key_value(obj, correction.name) for correction in settings_of(obj).corrections]
    assert np.allclose(values, 0.0, atol=1e-6)


def test_from_another_mesh(tube):
    obj, _ = tube
    bpy.ops.supple.correct_pose(mode="OBJECT")
    shape = bpy.context.active_object
    target = sculpt(shape, ELBOW, 0.8, OFFSET)
    scan = bpy.data.objects.new("Scan", shape.data.copy())
    bpy.context.scene.collection.objects.link(scan)
    bpy.ops.supple.correction_discard()
    with pytest.raises(RuntimeError, match="There is no mesh"):
        bpy.ops.supple.corrections_from(source="")
    bpy.ops.supple.corrections_from(source="Scan")
    update()
    assert len(settings_of(obj).corrections) == 1
    assert distance(target, shown(obj)) < 1e-5
    assert bpy.context.active_object == obj


def test_angles_that_are_none(tube):
    with pytest.raises(RuntimeError, match="are no angles: write degrees"):
        bpy.ops.supple.corrections_from(joints="bone.1", angles="40 and 80")


def test_what_is_wrong_with_a_correction(tube):
    obj, armature = tube
    make(obj, name="Elbow")
    (correction,) = settings_of(obj).corrections
    assert describe_problem(obj, correction) == ""
    armature.data.bones["bone.1"].name = "forearm"
    update()
    assert describe_problem(obj, correction) == ""
    bind(obj, method="SSD")
    assert describe_problem(obj, correction).startswith("Made under DQ with Stretch, and the skin is")
    bind(obj, method="DLBNT")
    obj.data.shape_keys.key_blocks["Elbow"].driver_remove("value")
    assert describe_problem(obj, correction).startswith("Nothing brings shape key 'Elbow' in any more")
    obj.data.shape_keys.key_blocks["Elbow"].name = "Knee"
    assert describe_problem(obj, correction).startswith("Shape key 'Elbow' is gone or renamed")
    bpy.ops.supple.unbind()
    armature_modifier(obj).object = None
    obj.data.shape_keys.key_blocks["Knee"].name = "Elbow"
    assert "no armature" in describe_problem(obj, correction)
