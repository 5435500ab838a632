"""Corrections through undo, saving, deleting and changes: what was sculpted is kept, or a message says what to do."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_correcting import (
    POSES,
    assert_all_shown,
    assert_not_kept,
    assert_nothing_under_way,
    assert_shown,
    begin,
    begin_sculpted,
    discard,
    keep,
    make,
    make_all,
    names,
    pose,
    reshape,
    rig,
    tube,
)
from scenes_corrections import key_value, shown

from scenes import add_face_key, armature_modifier, distance, push, redo, reset, save, select, undo, update
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import list_under_way

pytestmark = pytest.mark.usefixtures("silent_handlers", "bound_tube")


# Undo


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_undo_and_redo_of_each_step():
    states = []

    def step(name):
        push(name)
        obj = tube()
        states.append(
            (shown(obj), names(), obj.visible_get(), len(bpy.data.objects), bool(list_under_way(bpy.context)))
        )

    push("bound")
    pose()
    step("posed")
    copy = begin()
    step("begun")
    reshape(copy)
    step("sculpted")
    keep(name="Elbow")
    step("kept")
    pose((0.0, 0.0, 0.0))
    step("at rest")
    bpy.ops.supple.correction_edit(mode="OBJECT")
    step("edited again")
    bpy.ops.supple.correction_discard()
    step("discarded")
    bpy.ops.supple.correction_remove()
    step("deleted")
    for direction in (undo, redo):
        order = range(len(states) - 2, -1, -1) if direction is undo else range(1, len(states))
        for index in order:
            direction()
            points, known, is_visible, count, is_under_way = states[index]
            obj = tube()
            assert (names(), obj.visible_get(), len(bpy.data.objects)) == (known, is_visible, count), index
            assert bool(list_under_way(bpy.context)) == is_under_way
            assert distance(points, shown(obj)) < 1e-6, index


def test_keep_after_undo_of_a_stroke():
    pose()
    copy = begin()
    push("begun")
    first = reshape(copy)
    push("stroke")
    reshape(bpy.data.objects[copy.name], 0.5)
    push("stroke")
    undo()
    keep()
    assert_shown(first)


# Files


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_saved_in_the_middle(tmp_path: Path):
    _, target = begin_sculpted()
    path = save(tmp_path / "middle.blend")
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert not tube().visible_get()
    assert bpy.context.active_object.name == "Tube Posed"
    keep()
    assert_shown(target)
    assert_nothing_under_way()


@pytest.mark.parametrize("reader", POSES)
def test_saved_with_corrections(tmp_path: Path, reader):
    targets = make_all(reader)
    path = save(tmp_path / "kept.blend")
    bpy.ops.wm.open_mainfile(filepath=str(path))
    assert_all_shown(targets)
    make((-0.9, 0.0, 0.0), reader=reader)
    assert_all_shown(targets)


@pytest.mark.versions
def test_appended_with_its_corrections(tmp_path: Path):
    targets = make_all("RBF")
    path = save(tmp_path / "kept.blend")
    reset()
    with bpy.data.libraries.load(str(path)) as (_, wanted):
        wanted.objects = ["Tube", "Rig"]
    for obj in wanted.objects:
        bpy.context.scene.collection.objects.link(obj)
    assert_all_shown(targets)
    assert_shown(make((-0.9, 0.0, 0.2), reader="RBF"))


def test_no_shape_keys_of_copies_are_left():
    armature_modifier(tube()).use_deform_preserve_volume = True
    for angle in (1.2, 0.6):
        make((angle, 0.0, 0.0))
        begin()
        bpy.ops.supple.correction_discard()
        assert [keys.user for keys in bpy.data.shape_keys] == [tube().data]
        if settings_of(tube()).is_bound:
            bpy.ops.supple.unbind()


# What is deleted in the middle


@pytest.mark.parametrize("how", ["operator", "data"])
def test_the_posed_copy_deleted(how):
    pose()
    before = shown(tube())
    copy = begin()
    if how == "operator":
        bpy.ops.object.delete()
    else:
        bpy.data.objects.remove(copy)
    for active in (tube(), rig()):
        bpy.context.view_layer.objects.active = active
        assert list_under_way(bpy.context) == [tube()]
    with pytest.raises(RuntimeError, match="The posed copy was deleted"):
        bpy.ops.supple.correction_keep()
    discard()
    assert distance(before, shown(tube())) < 1e-6
    make()


@pytest.mark.parametrize("how", ["operator", "data"])
def test_the_character_deleted(how):
    """What was sculpted stays, as a plain mesh."""
    copy, target = begin_sculpted()
    if how == "data":
        bpy.data.objects.remove(tube())
    else:
        tube().hide_set(False)
        select(tube())
        bpy.ops.object.delete()
    update()
    select(copy)
    assert not bpy.ops.supple.correction_keep.poll()
    assert copy.visible_get()
    assert distance(target, shown(copy)) < 1e-6


@pytest.mark.parametrize("how", ["operator", "data"])
def test_the_armature_deleted(how):
    copy, target = begin_sculpted()
    if how == "data":
        bpy.data.objects.remove(rig())
    else:
        select(rig())
        bpy.ops.object.delete()
    update()
    assert_not_kept(copy, target, r"armature|deleted")
    discard()


# What changes in the middle


@pytest.mark.parametrize("change", ["unbind", "bind", "method"])
def test_bound_otherwise_in_the_middle(change):
    copy, target = begin_sculpted()
    obj = tube()
    moved = np.linalg.norm(target - shown(obj), axis=1) > 1e-4
    if change == "method":
        settings_of(obj).method = "SSD"
    else:
        obj.hide_set(False)
        select(obj)
        getattr(bpy.ops.supple, change)()
        obj.hide_set(True)
    update()
    select(copy)
    keep()
    assert np.linalg.norm(target - shown(obj), axis=1)[moved].max() < 1e-4


@pytest.mark.versions
def test_another_pose_and_frame_in_the_middle():
    for frame, rotation in ((1, (1.2, 0.0, 0.0)), (10, (0.2, 0.1, 0.0))):
        pose(rotation)
        rig().pose.bones["bone.1"].keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(1)
    target = reshape(begin())
    bpy.context.scene.frame_set(10)
    pose((0.3, -0.8, 0.5), "bone.0")
    keep()
    pose((0.0, 0.0, 0.0), "bone.0")
    bpy.context.scene.frame_set(1)
    assert_shown(target)
    bpy.context.scene.frame_set(10)
    assert key_value(tube(), names()[0]) < 0.2


def test_a_face_key_moved_in_the_middle():
    face = add_face_key(tube())
    face.value = 0.5
    _, target = begin_sculpted()
    face.value = 0.0
    update()
    keep()
    tube().data.shape_keys.key_blocks["Face"].value = 0.5
    update()
    assert_shown(target)


def test_vertices_added_to_the_character_in_the_middle():
    copy, target = begin_sculpted()
    tube().data.vertices.add(1)
    assert_not_kept(copy, target, "vertices now")
    discard()


def test_objects_renamed_and_moved_in_the_middle():
    """A copy that was moved shows what was sculpted elsewhere; the mesh is what counts."""
    copy, target = begin_sculpted()
    obj = tube()
    obj.name, copy.name = "Body", "Something"
    copy.location.x += 3.0
    update()
    keep()
    assert distance(target, shown(obj)) < 1e-5


@pytest.mark.parametrize("modifier", ["SUBSURF", "MULTIRES", "SMOOTH"])
def test_modifiers_on_the_copy(modifier):
    pose()
    copy = begin()
    new = copy.modifiers.new("New", modifier)
    if modifier == "MULTIRES":
        bpy.ops.object.multires_subdivide(modifier="New")
    elif modifier == "SMOOTH":
        new.iterations = 2
    target = reshape(copy)
    update()
    target = shown(copy) if modifier == "SMOOTH" else target
    keep()
    assert_shown(target)


def test_vertices_that_are_no_numbers(subtests):
    pose()
    copy = begin()
    for number in (np.nan, np.inf, 1e30):
        with subtests.test(number=number):
            copy.data.vertices[5].co.x = number
            with pytest.raises(RuntimeError, match="not numbers"):
                bpy.ops.supple.correction_keep()
            assert tube().data.shape_keys is None
    discard()
