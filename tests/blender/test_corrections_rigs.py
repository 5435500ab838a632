"""Corrections of characters as they come: transforms, rigs, constraints, modifiers, several users, other files."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_correcting import (
    assert_not_kept,
    assert_nothing_under_way,
    assert_shown,
    begin,
    begin_sculpted,
    discard,
    keep,
    make,
    names,
    pose,
    reshape,
    rig,
    tube,
)
from scenes_corrections import copy_points, key_value, sculpt, shown

from scenes import (
    add_face_key,
    add_tube,
    armature_modifier,
    bind,
    distance,
    edit_bones,
    reset,
    rest_points,
    save,
    select,
    snapshot,
    update,
)
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import list_under_way

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.fixture(autouse=True)
def character(scene: bpy.types.Scene) -> bpy.types.Object:
    """A tube that an armature deforms."""
    return add_tube()[0]


def assert_corrects(within: float = 1e-5, joints: str = "") -> None:
    """What is sculpted in the present pose is shown, and gone at rest."""
    copy = begin()
    target = sculpt(copy, copy_points(copy)[len(copy.data.vertices) // 3], 0.8, (0.1, 0.05, -0.2))
    assert distance(target, shown(tube())) > 1e-3
    keep(joints=joints)
    assert_shown(target, within)
    for bone in rig().pose.bones:
        bone.matrix_basis = Matrix()
    update()
    assert key_value(tube(), names()[-1]) < 1e-6


# Where things stand


def parent_to_sheared() -> None:
    """Parents that are scaled unevenly and rotated: no location, rotation and scale make their matrix."""
    holder = bpy.data.objects.new("Holder", None)
    bpy.context.scene.collection.objects.link(holder)
    holder.scale, tube().rotation_euler = (1.0, 1.4, 0.8), (0.5, 0.4, 0.3)
    tube().parent = holder


PLACES = {
    "moved": {"location": (1, 2, 3), "rotation_euler": (0.4, -0.3, 0.8), "scale": (1.5, 1.5, 1.5)},
    "uneven": {"scale": (1.3, 0.8, 1.1)},
    "mirrored": {"scale": (-1, 1, 1)},
}
STANDS = [("moved", ""), ("", "moved"), ("uneven", ""), ("mirrored", ""), ("mirrored", "mirrored")]
"""Where the object stands, and where the armature does."""


@pytest.mark.parametrize("stand", [*STANDS, "parent", "sheared parent"], ids=str)
def test_transforms(stand: tuple[str, str] | str):
    if stand == "parent":
        tube().parent, stand = rig(), ("", "moved")
    elif stand == "sheared parent":
        parent_to_sheared()
        stand = ("", "")
    for obj, place in zip((tube(), rig()), stand, strict=True):
        for name, value in PLACES.get(place, {}).items():
            setattr(obj, name, value)
    for is_bound in (False, True):
        if is_bound:
            bind(tube())
        pose((1.2 - 0.4 * is_bound, 0.0, 0.0))
        before = np.array(tube().matrix_world)
        copy = begin()
        update()
        assert np.abs(np.array(copy.matrix_world) - before).max() < 1e-5
        discard()
        assert_corrects()


def test_hidden_armature():
    bind(tube())
    pose()
    rig().hide_set(True)
    rig().hide_viewport = True
    update()
    assert_corrects()


def add_collection(name: str) -> bpy.types.Collection:
    """A new collection of the scene, with the tube."""
    collection = bpy.data.collections.new(name)
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(tube())
    return collection


def test_several_collections_and_an_excluded_one():
    for name in ("First", "Second"):
        add_collection(name)
    excluded = bpy.context.view_layer.layer_collection.children["First"]
    excluded.exclude = True
    bind(tube())
    pose()
    assert_corrects()
    excluded.exclude = False
    assert_nothing_under_way()


def test_a_collection_excluded_in_the_middle():
    add_collection("Character")
    bpy.context.scene.collection.objects.unlink(tube())
    bind(tube())
    _, target = begin_sculpted()
    collection = bpy.context.view_layer.layer_collection.children["Character"]
    collection.exclude = True
    collection.exclude = False
    update()
    select(settings_of(tube()).posed_copy)
    keep()
    assert_shown(target)
    assert_nothing_under_way()


# Rigs


def test_b_bones():
    bone = rig().data.bones["bone.1"]
    bone.bbone_segments, bone.bbone_easein, bone.bbone_curveinx = 6, 0.7, 0.1
    bind(tube())
    pose()
    assert_corrects()


def add_controls(bones) -> None:
    """Deforming bones hang under controls that are in one place with them."""
    for name in ("bone.0", "bone.1", "bone.2"):
        control = bones.new(f"control.{name}")
        control.head, control.tail, control.roll = bones[name].head, bones[name].tail, 0.5
        control.use_deform = False
    for name, above in (("bone.1", "bone.0"), ("bone.2", "bone.1")):
        bones[f"control.{name}"].parent = bones[f"control.{above}"]
    for name in ("bone.0", "bone.1", "bone.2"):
        bones[name].use_connect = False
        bones[name].parent = bones[f"control.{name}"]


@pytest.mark.parametrize("is_copied", [False, True])
def test_control_bones(is_copied: bool):
    """Above those that deform; or as Rigify has it: all bones apart, and constraints on those that deform."""
    edit_bones(rig(), add_controls)
    if is_copied:

        def part(bones) -> None:
            for name in ("bone.0", "bone.1", "bone.2"):
                bones[name].parent = None

        edit_bones(rig(), part)
        for name in ("bone.0", "bone.1", "bone.2"):
            constraint = rig().pose.bones[name].constraints.new("COPY_TRANSFORMS")
            constraint.target, constraint.subtarget = rig(), f"control.{name}"
    bind(tube())
    pose((1.2, 0.0, 0.0), "control.bone.1")
    assert_corrects()
    if not is_copied:
        assert settings_of(tube()).corrections[0].bones == "control.bone.1"


@pytest.mark.parametrize("bone", ["bone.0", "control.bone.0"])
def test_a_character_that_turns_as_a_whole(bone):
    """The correction is the elbow's, however the rest stands."""
    if bone != "bone.0":
        edit_bones(rig(), add_controls)
    bind(tube())
    pose((0.3, 0.9, -0.7), bone)
    pose((1.2, 0.0, 0.0), bone.replace("0", "1"))
    target = sculpt(begin(), shown(tube())[len(rest_points(tube())) // 3], 0.8, (0.1, 0.05, -0.2))
    keep()
    assert_shown(target)
    assert settings_of(tube()).corrections[0].bones == bone.replace("0", "1")
    pose((0.0, 0.0, 0.0), bone)
    assert key_value(tube(), names()[0]) == pytest.approx(1.0, abs=1e-5)


def test_inverse_kinematics():
    def add(bones) -> None:
        target = bones.new("target")
        target.head, target.tail, target.use_deform = (0, 3, 0), (0, 3, 0.5), False

    def move(*location: float) -> None:
        rig().pose.bones["target"].location = location
        update()

    edit_bones(rig(), add)
    constraint = rig().pose.bones["bone.2"].constraints.new("IK")
    constraint.target, constraint.subtarget, constraint.chain_count = rig(), "target", 2
    bind(tube())
    move(0.0, -0.2, 1.4)
    target = reshape(begin())
    move(0.0, 0.0, 0.0)
    keep()
    move(0.0, -0.2, 1.4)
    assert_shown(target)
    move(0.0, 0.0, 0.0)
    assert key_value(tube(), names()[0]) < 1e-3
    bpy.ops.supple.correction_edit(mode="OBJECT")
    assert rig().pose.bones["target"].location.z == pytest.approx(1.4, abs=1e-6)
    assert np.abs(copy_points(bpy.context.active_object) - target).max() < 1e-4


def test_edit_again_of_a_character_that_is_animated():
    """The pose holds while the frame stays; another frame brings the action back."""
    bind(tube())
    target = make()
    for frame, angle in ((1, 0.0), (10, 0.5)):
        pose((angle, 0.0, 0.0))
        rig().pose.bones["bone.1"].keyframe_insert("rotation_euler", frame=frame)
    bpy.context.scene.frame_set(5)
    bpy.ops.supple.correction_edit(mode="OBJECT")
    copy = bpy.context.active_object
    assert np.abs(copy_points(copy) - target).max() < 1e-5
    again = reshape(copy, 0.5)
    bpy.context.scene.frame_set(10)
    keep()
    rig().animation_data_clear()
    pose()
    assert_shown(again)


# Modifiers


def test_vertex_group_of_the_armature_modifier():
    obj = tube()
    group = obj.vertex_groups.new(name="Part")
    group.add(range(0, len(obj.data.vertices), 2), 0.7, "REPLACE")
    group.add(range(1, len(obj.data.vertices), 2), 1.0, "REPLACE")
    armature_modifier(obj).vertex_group = "Part"
    for is_bound in (False, True):
        if is_bound:
            bind(obj)
        pose((1.2 - 0.4 * is_bound, 0.0, 0.0))
        assert_corrects(1e-4)


@pytest.mark.parametrize("kind", ["SUBSURF", "MULTIRES", "MIRROR", "SOLIDIFY"])
def test_modifiers_below(kind: str):
    obj = tube()
    modifier = obj.modifiers.new("Below", kind)
    if kind == "MULTIRES":
        bpy.ops.object.multires_subdivide(modifier="Below")
    bind(obj, evaluate="BLENDER")
    pose()
    before = len(shown(obj))
    copy, target = begin_sculpted()
    assert len(copy.data.vertices) == len(obj.data.vertices)
    keep()
    modifier.show_viewport = False
    update()
    assert_shown(target)
    modifier.show_viewport = True
    update()
    assert len(shown(obj)) == before or kind == "MIRROR"  # which merges what meets


@pytest.mark.parametrize(("kind", "message"), [("SUBSURF", "changes the number of vertices"), ("SMOOTH", "moves the")])
def test_modifiers_above(kind: str, message: str):
    obj = tube()
    select(obj)
    modifier = obj.modifiers.new("Above", kind)
    if kind == "SMOOTH":
        modifier.iterations = 3
    bpy.ops.object.modifier_move_to_index(modifier="Above", index=0)
    pose()
    with pytest.raises(RuntimeError, match=message):
        bpy.ops.supple.correct_pose()
    assert_nothing_under_way()
    modifier.show_viewport = modifier.show_render = False
    assert_corrects()


def test_masks_and_hidden_vertices():
    bind(tube())
    copy, target = begin_sculpted()
    mask = copy.data.attributes.new(".sculpt_mask", "FLOAT", "POINT")
    mask.data.foreach_set("value", np.ones(len(copy.data.vertices), np.float32))
    copy.data.polygons[3].hide = True
    keep()
    assert_shown(target)
    assert not any(polygon.hide for polygon in tube().data.polygons)


# What can not be corrected


def refuse(message: str) -> None:
    obj = tube()
    select(obj)
    before = snapshot(obj)
    with pytest.raises(RuntimeError, match=message):
        bpy.ops.supple.correct_pose()
    assert snapshot(obj) == before
    assert_nothing_under_way()


def test_several_users_absolute_and_pinned_keys_and_no_vertices():
    obj = tube()
    bpy.context.scene.collection.objects.link(obj.copy())
    pose()
    refuse("2 users")
    bpy.ops.object.make_single_user(object=True, obdata=True)
    add_face_key(obj)
    obj.data.shape_keys.use_relative = False
    refuse("absolute")
    obj.data.shape_keys.use_relative = True
    obj.show_only_shape_key = True
    refuse("pinned")
    obj.show_only_shape_key = False
    assert_corrects()
    obj.data.clear_geometry()
    update()
    refuse("'Tube' has no vertices")


def test_a_baked_character():
    obj = tube()
    bind(obj)
    bpy.context.scene.frame_end = 3
    bpy.ops.supple.bake_shape_keys(frame_start=1, frame_end=3)
    pose()
    refuse("bake")
    bpy.ops.supple.clear_bake()
    assert_corrects()


def test_baked_in_the_middle():
    bind(tube())
    copy, target = begin_sculpted()
    tube().hide_set(False)
    select(tube())
    bpy.ops.supple.bake_shape_keys(frame_start=1, frame_end=2)
    assert_not_kept(copy, target, "bake")
    select(tube())
    bpy.ops.supple.clear_bake()
    select(copy)
    keep()
    assert_shown(target)


@pytest.mark.parametrize("change", ["absolute", "pinned", "users"])
def test_keys_changed_in_the_middle(change: str):
    obj = tube()
    add_face_key(obj)
    copy, target = begin_sculpted()
    if change == "absolute":
        obj.data.shape_keys.use_relative = False
    elif change == "pinned":
        obj.show_only_shape_key = True
    else:
        bpy.context.scene.collection.objects.link(obj.copy())
    assert_not_kept(copy, target, r"absolute|pinned|users")
    assert len(obj.data.shape_keys.key_blocks) == 2


def test_edited_mesh_and_armature():
    bind(tube())
    pose()
    select(tube())
    bpy.ops.object.mode_set(mode="EDIT")
    assert bpy.ops.supple.correct_pose(mode="OBJECT") == {"FINISHED"}
    assert tube().mode == "OBJECT"
    bpy.ops.supple.correction_discard()
    copy, target = begin_sculpted()
    select(copy)
    bpy.ops.object.mode_set(mode="EDIT")
    keep()
    assert_shown(target)


@pytest.mark.versions
def test_a_linked_character_and_a_library_override(tmp_path: Path):
    bind(tube())
    add_collection("Character").objects.link(rig())
    path = save(tmp_path / "library.blend")
    reset()
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.collections = ["Character"]
    scene, layer = bpy.context.scene, bpy.context.view_layer
    scene.collection.children.link(wanted.collections[0])
    select(next(obj for obj in scene.objects if obj.type == "MESH"))
    with pytest.raises(RuntimeError, match="linked"):
        bpy.ops.supple.correct_pose()
    override = wanted.collections[0].override_hierarchy_create(scene, layer, do_fully_editable=True)
    obj = next(obj for obj in override.objects if obj.type == "MESH")
    select(obj)
    with pytest.raises(RuntimeError, match="make it local"):
        bpy.ops.supple.correct_pose()
    assert not list_under_way(bpy.context)
    assert obj.visible_get()


def test_bound_by_nodes_too():
    for angle, evaluate in ((0.4, "NODES"), (0.7, "PYTHON")):
        bind(tube(), method="CENTERS", evaluate=evaluate)
        pose((angle, 0.0, 0.0))
        assert_corrects(1e-4)
