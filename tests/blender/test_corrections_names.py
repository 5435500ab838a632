"""Corrections whose bones, shape keys and characters are renamed, deleted or duplicated."""

import bpy
import numpy as np
import pytest
from scenes_correcting import (
    ELBOW,
    OFFSET,
    POSES,
    assert_nothing_under_way,
    assert_shown,
    begin,
    keep,
    make,
    names,
    pose,
    rig,
    tube,
)
from scenes_corrections import sculpt, shown

from scenes import (
    distance,
    edit_bones,
    rest_points,
    select,
    turn,
    update,
)
from supple.settings.objects import settings_of
from supple.tasks.corrected import describe_problem, list_under_way

pytestmark = pytest.mark.usefixtures("silent_handlers", "bound_tube")


# Names


@pytest.mark.parametrize("reader", POSES)
def test_a_bone_renamed(reader):
    rotations = POSES[reader]
    targets = [make(rotation, reader=reader) for rotation in rotations]
    rig().data.bones["bone.1"].name = "forearm"
    update()
    pose((-0.9, 0.0, 0.0), "forearm")
    target = sculpt(begin(), ELBOW, 0.8, OFFSET)
    keep(reader=reader)
    assert {entry.bones for entry in settings_of(tube()).corrections} == {"forearm"}
    for rotation, known in zip([*rotations, (-0.9, 0.0, 0.0)], [*targets, target], strict=True):
        pose(rotation, "forearm")
        assert_shown(known)
    pose((0.0, 0.0, 0.0), "forearm")
    bpy.ops.supple.correction_edit(key=names()[0], mode="OBJECT")
    assert rig().pose.bones["forearm"].rotation_euler.x == pytest.approx(rotations[0][0], abs=1e-5)
    bpy.ops.supple.correction_discard()
    for name in names():
        bpy.ops.supple.correction_remove(key=name)
    assert tube().data.shape_keys is None


@pytest.mark.parametrize("reader", POSES)
def test_shape_keys_renamed(reader):
    rotations = POSES[reader]
    targets = [make(rotation, reader=reader) for rotation in rotations]
    blocks = tube().data.shape_keys.key_blocks
    first, second = names()
    blocks[first].name, blocks[second].name = "First", "Second"
    pose((0.0, 0.0, 0.0))
    bpy.ops.supple.correction_edit(key="First", mode="OBJECT")
    bpy.ops.supple.correction_discard()
    assert sorted(names()) == ["First", "Second"]
    target = make((-0.9, 0.0, 0.0), reader=reader)
    for rotation, known in zip([*rotations, (-0.9, 0.0, 0.0)], [*targets, target], strict=True):
        pose(rotation)
        assert_shown(known)
    bpy.ops.supple.correction_remove(key="First")
    assert len(blocks) == 3
    pose(rotations[1])
    assert_shown(targets[1])


def test_shape_keys_that_swap_their_names():
    targets = [make(rotation) for rotation in POSES["ANGLE"]]
    first, second = names()
    blocks = tube().data.shape_keys.key_blocks
    keys = blocks[first], blocks[second]
    keys[0].name = "between"
    keys[1].name, keys[0].name = first, second
    for key, rotation, target in zip((second, first), POSES["ANGLE"], targets, strict=True):
        pose((0.0, 0.0, 0.0))
        bpy.ops.supple.correction_pose(key=key)
        update()
        assert rig().pose.bones["bone.1"].rotation_euler.x == pytest.approx(rotation[0], abs=1e-5)
        assert_shown(target)


@pytest.mark.parametrize("reader", POSES)
def test_a_shape_key_deleted_by_blenders_own_button(reader):
    rotations = [*POSES[reader], (-0.9, 0.0, 0.0)]
    targets = [make(rotation, reader=reader) for rotation in rotations]
    obj = tube()
    select(obj)
    obj.active_shape_key_index = 2
    bpy.ops.object.shape_key_remove()
    gone = settings_of(obj).corrections[1]
    assert describe_problem(obj, gone)
    bpy.ops.supple.correction_remove(key=gone.name)
    target = make((0.3, 0.0, 0.8), reader="RBF")
    assert len(names()) == 3
    for rotation, known in zip(
        [rotations[0], rotations[2], (0.3, 0.0, 0.8)], [targets[0], targets[2], target], strict=True
    ):
        pose(rotation)
        assert_shown(known)


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
    pose()
    copy = begin()
    target = sculpt(copy, ELBOW, 0.8, OFFSET)
    armature = rig()
    if change == "rename":
        armature.data.bones["bone.1"].name = "forearm"
        armature.data.bones["bone.0"].name = "bone.1"
    elif change == "deform":
        armature.data.bones["bone.2"].use_deform = False
    elif change == "add":

        def add(bones):
            bones.new("more").tail = (0, 0, 1)

        edit_bones(armature, add)
    else:
        edit_bones(armature, lambda bones: bones.remove(bones["bone.2"]))
    select(copy)
    if change == "rename":
        keep()
        assert_shown(target)
        assert settings_of(tube()).corrections[0].bones == "forearm"
    else:
        with pytest.raises(RuntimeError, match="when its pose was to be corrected"):
            bpy.ops.supple.correction_keep()
        assert distance(target, shown(copy)) < 1e-6


def test_the_key_that_is_edited_renamed_in_the_middle():
    make(name="Elbow")
    pose((0.0, 0.0, 0.0))
    bpy.ops.supple.correction_edit(mode="OBJECT")
    target = sculpt(bpy.context.active_object, ELBOW, 0.5, OFFSET)
    tube().data.shape_keys.key_blocks["Elbow"].name = "Bent"
    keep()
    assert_shown(target)
    assert names() == ["Bent"]


def test_the_key_that_is_edited_deleted_in_the_middle():
    make(name="Elbow")
    bpy.ops.supple.correction_edit(mode="OBJECT")
    copy = bpy.context.active_object
    target = sculpt(copy, ELBOW, 0.5, OFFSET)
    tube().shape_key_clear()
    with pytest.raises(RuntimeError, match="was deleted meanwhile"):
        bpy.ops.supple.correction_keep()
    assert distance(target, shown(copy)) < 1e-6


def test_all_shape_keys_deleted():
    make()
    obj = tube()
    obj.shape_key_clear()
    with pytest.raises(RuntimeError, match="gone"):
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


@pytest.mark.parametrize("reader", POSES)
@pytest.mark.parametrize("with_armature", [True, False])
def test_a_copy_of_the_character(reader, with_armature):
    rotations = POSES[reader]
    targets = [make(rotation, reader=reader) for rotation in rotations]
    select(*((tube(), rig()) if with_armature else (tube(),)))
    bpy.ops.object.duplicate()
    other, armature = bpy.data.objects["Tube.001"], bpy.data.objects["Rig.001" if with_armature else "Rig"]
    select(other)
    turn(armature, "bone.1", (-0.9, 0.0, 0.0))
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    target = sculpt(bpy.context.active_object, ELBOW, 0.8, OFFSET)
    keep(reader=reader)
    for rotation, known in zip([*rotations, (-0.9, 0.0, 0.0)], [*targets, target], strict=True):
        turn(armature, "bone.1", rotation)
        assert distance(known, shown(other)) < 1e-5
    assert len(names()) == 2
    for rotation, known in zip(rotations, targets, strict=True):
        pose(rotation)
        assert_shown(known)
    select(tube())
    bpy.ops.supple.correction_remove(key=names()[0])
    turn(armature, "bone.1", rotations[0])
    assert distance(targets[0], shown(other)) < 1e-5


def test_a_copy_made_in_the_middle():
    """The duplicate of a character that is being corrected is not being corrected itself."""
    pose()
    copy = begin()
    target = sculpt(copy, ELBOW, 0.8, OFFSET)
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
    pose()
    copy = begin()
    target = sculpt(copy, ELBOW, 0.8, OFFSET)
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
