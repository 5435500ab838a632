"""Corrections of characters as they come: transforms, rigs, constraints, modifiers, several users, other files."""

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_corrections import (
    assert_nothing_under_way,
    assert_shown,
    begin,
    copy_points,
    discard,
    keep,
    key_value,
    make,
    names,
    pose,
    reshape,
    rig,
    sculpt,
    shown,
    tube,
)
from scenes_state import refuse

import scenes
from supple.settings.objects import settings_of
from supple.tasks.subject.corrected import list_under_way

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.fixture(autouse=True)
def character(scene: bpy.types.Scene) -> bpy.types.Object:
    """A tube that an armature deforms."""
    return scenes.add_tube()[0]


def assert_corrects(within: float = 1e-5, joints: str = "") -> None:
    """What is sculpted in the present pose is shown, and gone at rest."""
    copy = begin()
    target = sculpt(copy, copy_points(copy)[len(copy.data.vertices) // 3], 0.8, (0.1, 0.05, -0.2))
    assert scenes.distance(target, shown(tube())) > 1e-3
    keep(joints=joints)
    assert_shown(target, within)
    for bone in rig().pose.bones:
        bone.matrix_basis = Matrix()
    scenes.update()
    assert key_value(tube(), names()[-1]) < 1e-6


# Where things stand


def parent_to_sheared() -> None:
    """Parents that are scaled unevenly and rotated: no location, rotation and scale make their matrix."""
    holder = scenes.add_object("Holder")
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
            scenes.bind(tube())
        pose((1.2 - 0.4 * is_bound, 0.0, 0.0))
        before = np.array(tube().matrix_world)
        copy = begin()
        scenes.update()
        assert np.abs(np.array(copy.matrix_world) - before).max() < 1e-5
        discard()
        assert_corrects()


def add_collection(name: str) -> bpy.types.Collection:
    """A new collection of the scene, with the tube."""
    collection = bpy.data.collections.new(name)
    bpy.context.scene.collection.children.link(collection)
    collection.objects.link(tube())
    return collection


def hide_armature() -> None:
    rig().hide_set(True)
    rig().hide_viewport = True


def exclude_a_collection() -> None:
    """The tube is in several collections of the scene, of which one is excluded."""
    for name in ("First", "Second"):
        add_collection(name)
    bpy.context.view_layer.layer_collection.children["First"].exclude = True


def use_b_bones() -> None:
    bone = rig().data.bones["bone.1"]
    bone.bbone_segments, bone.bbone_easein, bone.bbone_curveinx = 6, 0.7, 0.1


def limit_by_a_group() -> None:
    obj = tube()
    group = obj.vertex_groups.new(name="Part")
    group.add(range(0, len(obj.data.vertices), 2), 0.7, "REPLACE")
    group.add(range(1, len(obj.data.vertices), 2), 1.0, "REPLACE")
    scenes.armature_modifier(obj).vertex_group = "Part"


def copy_controls() -> None:
    """As Rigify has it: all bones apart, and constraints on those that deform."""
    scenes.edit_bones(rig(), add_controls)
    scenes.edit_bones(rig(), lambda bones: [setattr(bones[f"bone.{number}"], "parent", None) for number in range(3)])
    for number in range(3):
        constraint = rig().pose.bones[f"bone.{number}"].constraints.new("COPY_TRANSFORMS")
        constraint.target, constraint.subtarget = rig(), f"control.bone.{number}"


@pytest.mark.parametrize("prepare", [hide_armature, exclude_a_collection, use_b_bones, limit_by_a_group, copy_controls])
def test_characters_as_they_come(prepare: Callable[[], None]):
    prepare()
    is_always_bound = prepare in (use_b_bones, copy_controls)
    for is_bound in (True,) if is_always_bound else (False, True):
        if is_bound:
            scenes.bind(tube())
        pose(
            (0.8 if is_bound and not is_always_bound else 1.2, 0.0, 0.0),
            "control.bone.1" if prepare is copy_controls else "bone.1",
        )
        assert_corrects(1e-4)
    for collection in bpy.context.view_layer.layer_collection.children:
        collection.exclude = False
    assert_nothing_under_way()


# Rigs


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


@pytest.mark.parametrize("bone", ["bone.0", "control.bone.0"])
def test_a_character_that_turns_as_a_whole(bone):
    """The correction is the elbow's, however the rest stands."""
    if bone != "bone.0":
        scenes.edit_bones(rig(), add_controls)
    scenes.bind(tube())
    pose((0.3, 0.9, -0.7), bone)
    pose((1.2, 0.0, 0.0), bone.replace("0", "1"))
    target = sculpt(begin(), shown(tube())[len(scenes.rest_points(tube())) // 3], 0.8, (0.1, 0.05, -0.2))
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
        scenes.update()

    scenes.edit_bones(rig(), add)
    constraint = rig().pose.bones["bone.2"].constraints.new("IK")
    constraint.target, constraint.subtarget, constraint.chain_count = rig(), "target", 2
    scenes.bind(tube())
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
    scenes.bind(tube())
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


@pytest.mark.parametrize(("kind", "message"), [("SUBSURF", "changes the number of vertices"), ("SMOOTH", "moves the")])
def test_modifiers_above(kind: str, message: str):
    obj = tube()
    scenes.select(obj)
    modifier = obj.modifiers.new("Above", kind)
    if kind == "SMOOTH":
        modifier.iterations = 3
    bpy.ops.object.modifier_move_to_index(modifier="Above", index=0)
    pose()
    refuse(message, bpy.ops.supple.correct_pose)
    assert_nothing_under_way()
    modifier.show_viewport = modifier.show_render = False
    assert_corrects()


# What can not be corrected


@pytest.mark.versions
def test_a_linked_character_and_a_library_override(tmp_path: Path):
    scenes.bind(tube())
    add_collection("Character").objects.link(rig())
    path = scenes.save(tmp_path / "library.blend")
    scenes.reset()
    (linked,) = scenes.load(path, "Character", kind="collections")
    scene, layer = bpy.context.scene, bpy.context.view_layer
    scenes.select(next(obj for obj in scene.objects if obj.type == "MESH"))
    refuse("linked", bpy.ops.supple.correct_pose)
    override = linked.override_hierarchy_create(scene, layer, do_fully_editable=True)
    obj = next(obj for obj in override.objects if obj.type == "MESH")
    scenes.select(obj)
    refuse("make it local", bpy.ops.supple.correct_pose)
    assert not list_under_way(bpy.context)
    assert obj.visible_get()
