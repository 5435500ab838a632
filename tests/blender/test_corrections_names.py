"""Corrections whose bones, shape keys and characters are renamed, deleted or duplicated."""

import bpy
import numpy as np
import pytest
from scenes_correcting import (
    POSES,
    assert_all_shown,
    assert_not_kept,
    assert_nothing_under_way,
    assert_shown,
    begin_sculpted,
    keep,
    make,
    make_all,
    names,
    pose,
    reshape,
    rig,
    tube,
)
from scenes_corrections import shown

from scenes import distance, edit_bones, rest_points, select, turn, update
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import describe_problem, list_under_way

pytestmark = pytest.mark.usefixtures("silent_handlers", "bound_tube")
FIRST, SECOND = POSES["ANGLE"]
OTHER = (-0.9, 0.0, 0.0)


# Names


@pytest.mark.versions
@pytest.mark.parametrize("reader", POSES)
def test_a_bone_renamed(reader):
    targets = make_all(reader)
    rig().data.bones["bone.1"].name = "forearm"
    update()
    pose(OTHER, "forearm")
    select(tube())
    bpy.ops.supple.correct_pose(mode="OBJECT")
    targets[OTHER] = reshape(bpy.context.active_object)
    keep(reader=reader)
    assert {entry.bones for entry in settings_of(tube()).corrections} == {"forearm"}
    assert_all_shown(targets, "forearm")
    assert all("forearm" in entry.pose for entry in settings_of(tube()).corrections)
    pose((0.0, 0.0, 0.0), "forearm")
    bpy.ops.supple.correction_edit(key=names()[0], mode="OBJECT")
    assert rig().pose.bones["forearm"].rotation_euler.x == pytest.approx(POSES[reader][0][0], abs=1e-5)
    bpy.ops.supple.correction_discard()
    pose((0.0, 0.0, 0.0), "forearm")
    rig().data.bones["forearm"].name = "other"
    bpy.ops.supple.correction_pose(key=names()[0])
    update()
    assert_shown(targets[POSES[reader][0]])
    bpy.ops.supple.correction_select(key=names()[0])
    assert bpy.context.active_pose_bone.name == "other"
    for name in names():
        bpy.ops.supple.correction_remove(key=name)
    assert tube().data.shape_keys is None


@pytest.mark.parametrize("reader", POSES)
def test_shape_keys_renamed(reader):
    targets = make_all(reader)
    blocks = tube().data.shape_keys.key_blocks
    first, second = names()
    blocks[first].name, blocks[second].name = "First", "Second"
    pose((0.0, 0.0, 0.0))
    bpy.ops.supple.correction_edit(key="First", mode="OBJECT")
    bpy.ops.supple.correction_discard()
    assert sorted(names()) == ["First", "Second"]
    targets[OTHER] = make(OTHER, reader=reader)
    assert_all_shown(targets)
    bpy.ops.supple.correction_remove(key="First")
    assert len(blocks) == 3
    del targets[POSES[reader][0]]
    assert_all_shown({POSES[reader][1]: targets[POSES[reader][1]]})


def test_shape_keys_that_swap_their_names():
    targets = make_all("ANGLE")
    first, second = names()
    blocks = tube().data.shape_keys.key_blocks
    keys = blocks[first], blocks[second]
    keys[0].name = "between"
    keys[1].name, keys[0].name = first, second
    for key, (rotation, target) in zip((second, first), targets.items(), strict=True):
        pose((0.0, 0.0, 0.0))
        bpy.ops.supple.correction_pose(key=key)
        update()
        assert rig().pose.bones["bone.1"].rotation_euler.x == pytest.approx(rotation[0], abs=1e-5)
        assert_shown(target)


@pytest.mark.parametrize("reader", POSES)
def test_a_shape_key_deleted_by_blenders_own_button(reader):
    targets = make_all(reader)
    targets[OTHER] = make(OTHER, reader=reader)
    obj = tube()
    select(obj)
    obj.active_shape_key_index = 2
    bpy.ops.object.shape_key_remove()
    gone = settings_of(obj).corrections[1]
    assert describe_problem(obj, gone)
    bpy.ops.supple.correction_remove(key=gone.name)
    del targets[POSES[reader][1]]
    targets[0.3, 0.0, 0.8] = make((0.3, 0.0, 0.8), reader="RBF")
    assert len(names()) == 3
    assert_all_shown(targets)


def test_names_follow_as_soon_as_blender_updates():
    make(name="Elbow")
    tube().data.shape_keys.key_blocks["Elbow"].name = "Bent"
    update()
    assert names() == ["Bent"]
    rig().data.bones["bone.1"].name = "forearm"
    update()
    assert settings_of(tube()).corrections[0].bones == "forearm"


@pytest.mark.parametrize("change", ["rename", "add", "delete", "deform"])
def test_bones_changed_in_the_middle(change):
    copy, target = begin_sculpted()
    armature = rig()
    if change == "rename":
        armature.data.bones["bone.1"].name = "forearm"
        armature.data.bones["bone.0"].name = "bone.1"
        keep()
        assert_shown(target)
        assert settings_of(tube()).corrections[0].bones == "forearm"
        return
    if change == "deform":
        armature.data.bones["bone.2"].use_deform = False
    elif change == "add":
        edit_bones(armature, lambda bones: setattr(bones.new("more"), "tail", (0, 0, 1)))
    else:
        edit_bones(armature, lambda bones: bones.remove(bones["bone.2"]))
    assert_not_kept(copy, target, "since the correction was started|when the correction was started")


def test_the_key_that_is_edited_renamed_in_the_middle():
    make(name="Elbow")
    pose((0.0, 0.0, 0.0))
    bpy.ops.supple.correction_edit(mode="OBJECT")
    target = reshape(bpy.context.active_object, 0.5)
    tube().data.shape_keys.key_blocks["Elbow"].name = "Bent"
    keep()
    assert_shown(target)
    assert names() == ["Bent"]


def test_the_key_that_is_edited_deleted_in_the_middle():
    make(name="Elbow")
    bpy.ops.supple.correction_edit(mode="OBJECT")
    copy = bpy.context.active_object
    target = reshape(copy, 0.5)
    tube().shape_key_clear()
    assert_not_kept(copy, target, "was deleted in the meantime")


def test_all_shape_keys_deleted():
    make()
    obj = tube()
    obj.shape_key_clear()
    with pytest.raises(RuntimeError, match="was deleted"):
        bpy.ops.supple.correction_edit()
    assert_nothing_under_way()
    target = make((0.8, 0.0, 0.0))
    assert_shown(target)
    bpy.ops.supple.correction_remove(key=names()[0])
    assert len(names()) == 1
    assert_shown(target)


def test_a_bone_deleted():
    make()
    name = names()[0]
    before = rest_points(tube())
    edit_bones(rig(), lambda bones: bones.remove(bones["bone.1"]))
    select(tube())
    assert describe_problem(tube(), settings_of(tube()).corrections[0])
    with pytest.raises(RuntimeError, match="bone"):
        bpy.ops.supple.correction_edit(mode="OBJECT")
    assert_nothing_under_way()
    bpy.ops.supple.correction_remove(key=name)
    assert np.array_equal(before, rest_points(tube()))
    assert not names()


# Copies


@pytest.mark.versions
@pytest.mark.parametrize(("reader", "with_armature"), [("ANGLE", True), ("RBF", False)])
def test_a_copy_of_the_character(reader, with_armature):
    targets = make_all(reader)
    select(*((tube(), rig()) if with_armature else (tube(),)))
    bpy.ops.object.duplicate()
    other, armature = bpy.data.objects["Tube.001"], bpy.data.objects["Rig.001" if with_armature else "Rig"]
    select(other)
    turn(armature, "bone.1", OTHER)
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    target = reshape(bpy.context.active_object)
    keep(reader=reader)
    for rotation, known in {**targets, OTHER: target}.items():
        turn(armature, "bone.1", rotation)
        assert distance(known, shown(other)) < 1e-5
    assert len(names()) == 2
    assert_all_shown(targets)
    select(tube())
    bpy.ops.supple.correction_remove(key=names()[0])
    rotation, known = next(iter(targets.items()))
    turn(armature, "bone.1", rotation)
    assert distance(known, shown(other)) < 1e-5


def test_a_copy_made_in_the_middle():
    """The duplicate of a character that is being corrected is not being corrected itself."""
    copy, target = begin_sculpted()
    obj = tube()
    obj.hide_set(False)
    select(obj)
    bpy.ops.object.duplicate()
    other = bpy.context.active_object
    obj.hide_set(True)
    assert list_under_way(bpy.context) == [obj]
    select(copy)
    keep()
    assert_shown(target)
    select(other)
    assert not list_under_way(bpy.context)
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    bpy.ops.supple.correction_discard()
    assert other.visible_get()


def test_the_posed_copy_duplicated():
    """Whichever of the two is kept, the other is a plain mesh afterwards."""
    copy, target = begin_sculpted()
    select(copy)
    bpy.ops.object.duplicate()
    twin = bpy.context.active_object
    select(copy)
    keep()
    assert_shown(target)
    select(twin)
    assert not list_under_way(bpy.context)
    assert not bpy.ops.supple.correction_keep.poll()
    assert len(twin.data.vertices) == len(target)
