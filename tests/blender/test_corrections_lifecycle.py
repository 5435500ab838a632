"""Corrections through undo, saving, deleting, renaming and changes: what was sculpted is kept, or a message helps."""

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_corrections import (
    POSES,
    assert_all_shown,
    assert_not_kept,
    assert_nothing_under_way,
    assert_shown,
    begin,
    begin_sculpted,
    discard,
    keep,
    key_value,
    make,
    make_all,
    names,
    pose,
    reshape,
    rig,
    shown,
    tube,
)
from scenes_state import refuse

import scenes
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import describe_problem, list_under_way

pytestmark = pytest.mark.usefixtures("silent_handlers", "bound_tube")


# Undo


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_undo_and_redo_of_each_step():
    states = []

    def step(name):
        scenes.push(name)
        obj = tube()
        states.append(
            (shown(obj), names(), obj.visible_get(), len(bpy.data.objects), bool(list_under_way(bpy.context)))
        )

    scenes.push("bound")
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
    for direction in (scenes.undo, scenes.redo):
        order = range(len(states) - 2, -1, -1) if direction is scenes.undo else range(1, len(states))
        for index in order:
            direction()
            points, known, is_visible, count, is_under_way = states[index]
            obj = tube()
            assert (names(), obj.visible_get(), len(bpy.data.objects)) == (known, is_visible, count), index
            assert bool(list_under_way(bpy.context)) == is_under_way
            assert scenes.distance(points, shown(obj)) < 1e-6, index


def test_keep_after_undo_of_a_stroke():
    pose()
    copy = begin()
    scenes.push("begun")
    first = reshape(copy)
    scenes.push("stroke")
    reshape(bpy.data.objects[copy.name], 0.5)
    scenes.push("stroke")
    scenes.undo()
    keep()
    assert_shown(first)


# Files


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_saved_in_the_middle(tmp_path: Path):
    _, target = begin_sculpted()
    scenes.open_file(scenes.save(tmp_path / "middle.blend"))
    assert not tube().visible_get()
    assert bpy.context.active_object.name == "Tube Posed"
    keep()
    assert_shown(target)
    assert_nothing_under_way()


def test_no_shape_keys_of_copies_are_left():
    scenes.armature_modifier(tube()).use_deform_preserve_volume = True
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
    refuse("The posed copy was deleted", bpy.ops.supple.correction_keep)
    discard()
    assert scenes.distance(before, shown(tube())) < 1e-6
    make()


@pytest.mark.parametrize("how", ["operator", "data"])
def test_the_character_deleted(how):
    """What was sculpted stays, as a plain mesh."""
    copy, target = begin_sculpted()
    if how == "data":
        bpy.data.objects.remove(tube())
    else:
        tube().hide_set(False)
        scenes.select(tube())
        bpy.ops.object.delete()
    scenes.update()
    scenes.select(copy)
    assert not bpy.ops.supple.correction_keep.poll()
    assert copy.visible_get()
    assert scenes.distance(target, shown(copy)) < 1e-6


# What changes in the middle


def show_and_select(obj: bpy.types.Object) -> None:
    obj.hide_set(False)
    scenes.select(obj)


def exclude_for_a_while() -> None:
    collection = bpy.data.collections.new("Character")
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(tube())
    bpy.context.scene.collection.objects.unlink(tube())
    scenes.update()
    for is_excluded in (True, False):
        bpy.context.view_layer.layer_collection.children["Character"].exclude = is_excluded


def mask_and_hide(copy: bpy.types.Object) -> None:
    mask = copy.data.attributes.new(".sculpt_mask", "FLOAT", "POINT")
    mask.data.foreach_set("value", np.ones(len(copy.data.vertices), np.float32))
    copy.data.polygons[3].hide = True


def add_multires(copy: bpy.types.Object) -> None:
    copy.modifiers.new("New", "MULTIRES")
    scenes.select(copy)
    bpy.ops.object.multires_subdivide(modifier="New")


def rename_bones(_copy: bpy.types.Object) -> None:
    rig().data.bones["bone.1"].name = "forearm"
    rig().data.bones["bone.0"].name = "bone.1"


KEPT: dict[str, Callable[[bpy.types.Object], object]] = {
    "its collection is excluded for a while": lambda _: exclude_for_a_while(),
    "masks and hidden faces": mask_and_hide,
    "the copy is in Edit Mode": lambda copy: scenes.set_mode("EDIT", copy),
    "the copy is subdivided": lambda copy: copy.modifiers.new("New", "SUBSURF"),
    "the copy has levels": add_multires,
    "the copy is smoothed": lambda copy: copy.modifiers.new("New", "SMOOTH"),
    "bones are renamed": rename_bones,
    "the mesh is solid": lambda _: tube().modifiers.new("Below", "SOLIDIFY"),
}


@pytest.mark.parametrize("change", KEPT)
def test_what_is_kept_whatever_changes_meanwhile(change: str):
    copy, target = begin_sculpted()
    KEPT[change](copy)
    scenes.update()
    target = shown(copy) if change == "the copy is smoothed" else target
    scenes.select(copy)
    keep()
    for modifier in tube().modifiers:
        modifier.show_viewport = modifier.type != "SOLIDIFY" and modifier.show_viewport
    scenes.update()
    assert_shown(target)
    assert_nothing_under_way()
    assert not any(polygon.hide for polygon in tube().data.polygons)
    assert settings_of(tube()).corrections[0].bones == ("forearm" if change == "bones are renamed" else "bone.1")


BONES = "since the correction was started|when the correction was started"
NOT_KEPT: dict[str, tuple[Callable[[], object], str]] = {
    "its armature is removed": (lambda: bpy.data.objects.remove(rig()), "armature|deleted"),
    "its armature is deleted": (lambda: (scenes.select(rig()), bpy.ops.object.delete()), "armature|deleted"),
    "vertices are added": (lambda: tube().data.vertices.add(1), "vertices now"),
    "its keys are absolute": (lambda: setattr(tube().data.shape_keys, "use_relative", False), "absolute"),
    "its key is pinned": (lambda: setattr(tube(), "show_only_shape_key", True), "pinned"),
    "another object uses the mesh": (lambda: scenes.link(tube().copy()), "users"),
    "a bone stops deforming": (lambda: setattr(rig().data.bones["bone.2"], "use_deform", False), BONES),
    "a bone is added": (lambda: scenes.add_bones(rig(), ("more", "", (0, 0, 0), (0, 0, 1))), BONES),
    "a bone is deleted": (lambda: scenes.edit_bones(rig(), lambda bones: bones.remove(bones["bone.2"])), BONES),
    "it is baked": (
        lambda: (show_and_select(tube()), bpy.ops.supple.bake_shape_keys(frame_start=1, frame_end=2)), "bake",
    ),
}  # fmt: skip
"""What is done to the character, and the message of Keep then."""


@pytest.mark.parametrize("change", NOT_KEPT)
def test_what_cannot_be_kept_stays_sculpted(change: str):
    scenes.add_face_key(tube())
    copy, target = begin_sculpted()
    spoil, message = NOT_KEPT[change]
    spoil()
    scenes.update()
    assert_not_kept(copy, target, message)
    assert [key.name for key in tube().data.shape_keys.key_blocks][:2] == ["Basis", "Face"]
    if change != "another object uses the mesh":
        discard()


@pytest.mark.parametrize("change", ["unbind", "bind", "method"])
def test_bound_otherwise_in_the_middle(change):
    copy, target = begin_sculpted()
    obj = tube()
    moved = np.linalg.norm(target - shown(obj), axis=1) > 1e-4
    if change == "method":
        settings_of(obj).method = "SSD"
    else:
        obj.hide_set(False)
        scenes.select(obj)
        getattr(bpy.ops.supple, change)()
        obj.hide_set(True)
    scenes.update()
    scenes.select(copy)
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
    face = scenes.add_face_key(tube())
    face.value = 0.5
    _, target = begin_sculpted()
    face.value = 0.0
    scenes.update()
    keep()
    tube().data.shape_keys.key_blocks["Face"].value = 0.5
    scenes.update()
    assert_shown(target)


def test_objects_renamed_and_moved_in_the_middle():
    """A copy that was moved shows what was sculpted elsewhere; the mesh is what counts."""
    copy, target = begin_sculpted()
    obj = tube()
    obj.name, copy.name = "Body", "Something"
    copy.location.x += 3.0
    scenes.update()
    keep()
    assert scenes.distance(target, shown(obj)) < 1e-5


def test_vertices_that_are_no_numbers(subtests):
    pose()
    copy = begin()
    for number in (np.nan, np.inf, 1e30):
        with subtests.test(number=number):
            copy.data.vertices[5].co.x = number
            refuse("not numbers", bpy.ops.supple.correction_keep)
            assert tube().data.shape_keys is None
    discard()


# Bones, keys and characters that are renamed, deleted or duplicated


FIRST, SECOND = POSES["ANGLE"]
OTHER = (-0.9, 0.0, 0.0)


# Names


@pytest.mark.versions
@pytest.mark.parametrize("reader", POSES)
def test_a_bone_renamed(reader):
    targets = make_all(reader)
    rig().data.bones["bone.1"].name = "forearm"
    scenes.update()
    pose(OTHER, "forearm")
    scenes.select(tube())
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
    scenes.update()
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
        scenes.update()
        assert rig().pose.bones["bone.1"].rotation_euler.x == pytest.approx(rotation[0], abs=1e-5)
        assert_shown(target)


@pytest.mark.parametrize("reader", POSES)
def test_a_shape_key_deleted_by_blenders_own_button(reader):
    targets = make_all(reader)
    targets[OTHER] = make(OTHER, reader=reader)
    obj = tube()
    scenes.select(obj)
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
    scenes.update()
    assert names() == ["Bent"]
    rig().data.bones["bone.1"].name = "forearm"
    scenes.update()
    assert settings_of(tube()).corrections[0].bones == "forearm"


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
    with pytest.raises(RuntimeError, match="was deleted"):  # after the pose was shown
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
    before = scenes.rest_points(tube())
    scenes.edit_bones(rig(), lambda bones: bones.remove(bones["bone.1"]))
    scenes.select(tube())
    assert describe_problem(tube(), settings_of(tube()).corrections[0])
    refuse("bone", bpy.ops.supple.correction_edit, mode="OBJECT")
    assert_nothing_under_way()
    bpy.ops.supple.correction_remove(key=name)
    assert np.array_equal(before, scenes.rest_points(tube()))
    assert not names()


# Copies


@pytest.mark.versions
@pytest.mark.parametrize(("reader", "with_armature"), [("ANGLE", True), ("RBF", False)])
def test_a_copy_of_the_character(reader, with_armature):
    targets = make_all(reader)
    scenes.select(*((tube(), rig()) if with_armature else (tube(),)))
    bpy.ops.object.duplicate()
    other, armature = bpy.data.objects["Tube.001"], bpy.data.objects["Rig.001" if with_armature else "Rig"]
    scenes.select(other)
    scenes.turn(armature, "bone.1", OTHER)
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    target = reshape(bpy.context.active_object)
    keep(reader=reader)
    for rotation, known in {**targets, OTHER: target}.items():
        scenes.turn(armature, "bone.1", rotation)
        assert scenes.distance(known, shown(other)) < 1e-5
    assert len(names()) == 2
    assert_all_shown(targets)
    scenes.select(tube())
    bpy.ops.supple.correction_remove(key=names()[0])
    rotation, known = next(iter(targets.items()))
    scenes.turn(armature, "bone.1", rotation)
    assert scenes.distance(known, shown(other)) < 1e-5


def test_a_copy_made_in_the_middle():
    """The duplicate of a character that is being corrected is not being corrected itself."""
    copy, target = begin_sculpted()
    obj = tube()
    obj.hide_set(False)
    scenes.select(obj)
    bpy.ops.object.duplicate()
    other = bpy.context.active_object
    obj.hide_set(True)
    assert list_under_way(bpy.context) == [obj]
    scenes.select(copy)
    keep()
    assert_shown(target)
    scenes.select(other)
    assert not list_under_way(bpy.context)
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    bpy.ops.supple.correction_discard()
    assert other.visible_get()


def test_the_posed_copy_duplicated():
    """Whichever of the two is kept, the other is a plain mesh afterwards."""
    copy, target = begin_sculpted()
    scenes.select(copy)
    bpy.ops.object.duplicate()
    twin = bpy.context.active_object
    scenes.select(copy)
    keep()
    assert_shown(target)
    scenes.select(twin)
    assert not list_under_way(bpy.context)
    assert not bpy.ops.supple.correction_keep.poll()
    assert len(twin.data.vertices) == len(target)
