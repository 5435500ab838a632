"""Drivers of corrections: Blender gives the values that readers give, in each pose, by any way into it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import bpy
import numpy as np
import pytest
from mathutils import Quaternion
from scenes_corrections import add_arms

import scenes
from supple.bridge.animation.correction_drivers import (
    drive_keys,
    find_reading_bone,
    read_driving_bones,
    read_local_rotations,
    release_keys,
)
from supple.bridge.rigs.armatures import read_pose
from supple.deformers.corrections.readers import RampReader, Reader, find_reader
from supple.settings.objects import settings_of
from supple.tasks.corrections.driven import read_driven
from supple.tasks.corrections.keys import Correction, read_offsets, remove, store_all
from supple.tasks.corrections.mirror import find_other_side, mirror_bone_pose
from supple.tasks.corrections.poses import parse_bone_pose, read_bone_pose
from supple.tasks.skin.poses import find_skeleton
from supple.tasks.subject.corrected import describe_problem

X, Y, Z, DIAGONAL = (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.6, 0, 0.8)
REST = Quaternion()
BONES = "bone.0", "bone.1", "bone.2"
ORDERS = "XYZ", "XZY", "YXZ", "YZX", "ZXY", "ZYX"
SMOOTH = "bend", "twist", "swing", "shoulder"
"""Groups of whose slopes `assert_smooth` knows the steepest."""
TURNED = Quaternion(X, 1.5) @ Quaternion(Y, 1.2)

GROUPS = {
    "bend": ("AUTO", BONES[1:2], [[Quaternion((1, 0, 0.1), 0.7)], [Quaternion(X, 1.9)], [Quaternion(X, -1.0)]]),
    "twist": ("AUTO", BONES[1:2], [[Quaternion(Y, 1.0)], [Quaternion(Y, -2.0)]]),
    "swing": ("SWING", BONES[1:2], [[Quaternion(X, 1.3)], [Quaternion(Z, 0.8)], [Quaternion(DIAGONAL, -2.2)]]),
    "directions": (
        "DIRECTIONS",
        BONES[1:2],
        [[Quaternion(X, 1.3)], [Quaternion(DIAGONAL, -2.2)], [Quaternion(Z, 0.8)]],
    ),
    "shoulder": ("AUTO", BONES[1:2], [[Quaternion(X, 1.5)], [TURNED], [Quaternion(Z, -1.3)], [Quaternion(Y, 3.1)]]),
    "three bones": (
        "RBF",
        BONES,
        [[Quaternion(X, 0.9), REST, Quaternion(Z, 1.1)], [Quaternion(Y, 0.5), Quaternion(DIAGONAL, 1.7), REST]],
    ),
    "three directions": (
        "SWING",
        BONES,
        [[Quaternion(DIAGONAL, 0.7654321)] * 3, [Quaternion(DIAGONAL, -1.2345678)] * 3],
    ),
    "many": ("RBF", BONES[1:2], [[Quaternion((np.cos(a), b, np.sin(a)), 1.4)] for a in range(6) for b in (-1, 0, 1)]),
}
"""Reader that is asked for, bones, and poses of the corrections."""


class Group(NamedTuple):
    """Corrections that share a reader."""

    bones: Sequence[str]
    keys: list[str]
    reader: Reader
    poses: list[list[Quaternion]]


def add_group(obj: bpy.types.Object, armature: bpy.types.Object, name: str) -> Group:
    """Shape keys with their drivers."""
    asked, bones, poses = GROUPS[name]
    if obj.data.shape_keys is None:
        obj.shape_key_add(name="Basis", from_mix=False)
    keys = []
    for number in range(len(poses)):
        key = obj.shape_key_add(name=f'{name} "{number}"', from_mix=False)
        key.value = 0.0
        key.data[len(obj.data.shape_keys.key_blocks)].co.z += 1.0
        keys.append(key.name)
    poses = [[rotation.normalized() for rotation in pose] for pose in poses]
    group = Group(bones, keys, find_reader(np.array(poses), [asked] * len(poses), keys), poses)
    drive_keys(obj, armature, group.bones, group.keys, group.reader)
    bpy.context.view_layer.update()
    return group


def add_character(*names: str) -> tuple[bpy.types.Object, bpy.types.Object, list[Group]]:
    """A tube with groups of corrections, and its armature."""
    obj, armature = scenes.add_tube()
    return obj, armature, [add_group(obj, armature, name) for name in names]


def read_values(obj: bpy.types.Object, group: Group) -> np.ndarray:
    """Values of shape keys as Blender shows them."""
    return np.array([obj.data.shape_keys.key_blocks[key].value for key in group.keys])


def expect_values(armature: bpy.types.Object, group: Group) -> np.ndarray:
    """What the reader gives of the pose that Blender has evaluated."""
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return group.reader.read(read_local_rotations(evaluated, group.bones)[None])[0]


def assert_read(obj: bpy.types.Object, armature: bpy.types.Object, groups: list[Group]) -> None:
    """Values are those of readers."""
    for group in groups:
        assert np.abs(read_values(obj, group) - expect_values(armature, group)).max() < 1e-5, group.keys[0]


def pose(armature: bpy.types.Object, rotations: Sequence[Quaternion], bones: Sequence[str] = BONES[1:2]) -> None:
    """Rotate bones, in whatever modes they are in, and have Blender evaluate."""
    for name, rotation in zip(bones, rotations, strict=True):
        bone = armature.pose.bones[name]
        if bone.rotation_mode == "QUATERNION":
            bone.rotation_quaternion = rotation
        elif bone.rotation_mode == "AXIS_ANGLE":
            axis, angle = rotation.to_axis_angle()
            bone.rotation_axis_angle = (angle, *axis)
        else:
            bone.rotation_euler = rotation.to_euler(bone.rotation_mode)
    bpy.context.view_layer.update()


def draw_rotations(count: int, bones: int) -> list[list[Quaternion]]:
    drawn = np.random.default_rng(1).normal(size=(count, bones, 4))
    return [[Quaternion(rotation).normalized() for rotation in rotations] for rotations in drawn]


def list_drivers(obj: bpy.types.Object) -> list[tuple]:
    """All that there is of the drivers of a mesh, and of its shape keys."""
    return [
        (curve.data_path, curve.array_index, curve.driver.type, curve.driver.expression,
         [(variable.name, target.id.name, target.bone_target, target.data_path, target.transform_type)
          for variable in curve.driver.variables for target in variable.targets])
        for curve in find_curves(obj)
    ]  # fmt: skip


def find_curves(obj: bpy.types.Object) -> list[bpy.types.FCurve]:
    """The drivers of a mesh, and of its shape keys."""
    found = [owner.animation_data for owner in (obj.data.shape_keys, obj.data)]
    return [curve for data in found if data is not None for curve in data.drivers]


@pytest.mark.versions
def test_drivers_give_what_readers_give() -> None:
    """And Blender evaluates them without Python."""
    obj, armature, groups = add_character(*GROUPS)
    for rotations in draw_rotations(200, 3):
        pose(armature, rotations, BONES)
        assert_read(obj, armature, groups)
    for curve in find_curves(obj):
        assert curve.driver.is_simple_expression, curve.driver.expression
        assert curve.driver.is_valid
        assert len(curve.driver.expression) <= 255, curve.driver.expression
        assert len(curve.modifiers) == len(curve.keyframe_points) == 0
    for group in groups:
        assert read_driving_bones(obj, group.keys) == [tuple(group.bones)] * len(group.keys)
    assert read_driving_bones(obj, ["Basis", "none"]) == [(), ()]


@pytest.mark.versions
def test_ramps_are_read_as_by_their_drivers() -> None:
    """To a millionth, also near half a turn, and without Python."""
    obj, armature = scenes.add_tube()
    obj.shape_key_add(name="Basis", from_mix=False)
    drawn, groups = np.random.default_rng(7), []
    for bones in (BONES[1:2], BONES[:2], BONES):
        slopes = drawn.normal(size=(6, len(bones), 3))
        slopes *= 1.6 / np.linalg.norm(slopes, axis=2, keepdims=True)
        thresholds = drawn.uniform(-0.1, 0.4, (6, len(bones), 1)).clip(0.0)
        reader = RampReader(np.concatenate([thresholds, slopes], axis=2))
        keys = [obj.shape_key_add(name=f"{len(bones)} {number}", from_mix=False).name for number in range(6)]
        drive_keys(obj, armature, bones, keys, reader)
        groups.append(Group(bones, keys, reader, []))
    rotations = draw_rotations(300, 3)
    rotations[:100] = [[Quaternion((0.02 * one.w, *one[1:])).normalized() for one in each] for each in rotations[:100]]
    active = 0
    for each in rotations:
        pose(armature, each, BONES)
        for group in groups:
            expected = expect_values(armature, group)
            active += (expected > 0.0).sum()
            assert read_values(obj, group) == pytest.approx(expected, abs=1e-6)
    assert active > 1000
    pose(armature, [REST] * 3, BONES)
    assert not any(read_values(obj, group).any() for group in groups)
    for curve in find_curves(obj):
        assert curve.driver.is_simple_expression, curve.driver.expression
        assert len(curve.driver.expression) <= 255, curve.driver.expression


def test_a_pose_shows_its_own_correction_alone(subtests) -> None:
    obj, armature, groups = add_character(*GROUPS)
    for mode in ("QUATERNION", "AXIS_ANGLE", *ORDERS):
        for bone in armature.pose.bones:
            bone.rotation_mode = mode
        for name, group in zip(GROUPS, groups, strict=True):
            with subtests.test(mode=mode, name=name):
                for number, rotations in enumerate(group.poses):
                    pose(armature, rotations, group.bones)
                    assert read_values(obj, group) == pytest.approx(np.eye(len(group.keys))[number], abs=1e-6)
                pose(armature, [REST] * 3, BONES)
                assert (read_values(obj, group) == 0.0).all()


def animate(armature: bpy.types.Object) -> None:
    """Keyframe random rotations of all bones, from frame 1 to 56."""
    for frame, rotations in zip(range(1, 60, 5), draw_rotations(12, 3), strict=True):
        for name, rotation in zip(BONES, rotations, strict=True):
            armature.pose.bones[name].rotation_quaternion = rotation
            armature.pose.bones[name].keyframe_insert("rotation_quaternion", frame=frame)


def expect_points(obj: bpy.types.Object, armature: bpy.types.Object, groups: list[Group]) -> np.ndarray:
    """Points of a mesh without modifiers, with the values that readers give of the evaluated pose."""
    keys = obj.data.shape_keys.key_blocks
    basis = np.array([point.co for point in keys["Basis"].data], np.float64)
    points = basis.copy()
    for group in groups:
        for key, value in zip(group.keys, expect_values(armature, group), strict=True):
            points += value * (np.array([point.co for point in keys[key].data]) - basis)
    return points


@pytest.mark.versions
def test_the_mesh_is_that_of_the_pose_in_each_frame_and_in_a_new_scene() -> None:
    obj, armature, groups = add_character("bend", "shoulder", "many", "three bones")
    animate(armature)
    obj.modifiers.clear()
    for frame in (1, 7, 30, 8, 55):
        bpy.context.scene.frame_set(frame)
        assert_read(obj, armature, groups)
        assert scenes.evaluated_points(obj) == pytest.approx(expect_points(obj, armature, groups), abs=1e-4)
    scene = bpy.data.scenes.new("Other")
    for new in (obj, armature):
        scene.collection.objects.link(new)
    bpy.context.window.scene = scene
    for frame in (12, 44, 13):  # the value that is shown may be late by one there
        scene.frame_set(frame)
        assert scenes.evaluated_points(obj) == pytest.approx(expect_points(obj, armature, groups), abs=1e-4)


def test_constraints_and_scales_count(subtests) -> None:
    obj, armature, groups = add_character(*SMOOTH)
    constraint = armature.pose.bones["bone.1"].constraints.new("LIMIT_ROTATION")
    constraint.use_limit_x, constraint.min_x, constraint.max_x, constraint.owner_space = True, 0.7, 0.7, "LOCAL"
    scenes.update()
    assert read_values(obj, groups[0])[0] > 0.9
    assert_read(obj, armature, groups)
    armature.pose.bones["bone.1"].constraints.remove(constraint)
    for scale in ((1.0, 2.0, 0.5), (-1.0, 1.0, 1.0), (-0.5, -0.5, -0.5)):
        with subtests.test(scale=scale):
            for bone in armature.pose.bones:
                bone.scale = scale
            for rotations in draw_rotations(20, 3):
                pose(armature, rotations, BONES)
                assert_read(obj, armature, groups)


# What happens to characters


def assert_follows(obj: bpy.types.Object, armature: bpy.types.Object, group: Group, angle: float) -> None:
    """In a pose, the values of a mesh's keys are those of its armature."""
    pose(armature, [Quaternion(X, angle) @ Quaternion(Z, 0.3)], group.bones)
    assert read_values(obj, group).max() > 0.01
    assert_read(obj, armature, [group])


# Drivers that come and go


def test_driven_again_they_are_the_same_and_released_nothing_is_left(subtests) -> None:
    for name in GROUPS:
        with subtests.test(name):
            obj, armature, (group,) = add_character(name)
            drivers, properties = list_drivers(obj), sorted(obj.data.keys())
            drive_keys(obj, armature, group.bones, group.keys, group.reader)
            assert list_drivers(obj) == drivers
            assert sorted(obj.data.keys()) == properties
            release_keys(obj, group.keys)
            assert obj.data.shape_keys.animation_data is obj.data.animation_data is None
            assert not obj.data.keys()
            release_keys(obj, group.keys)
            obj.shape_key_clear()
            release_keys(obj, group.keys)


def test_what_others_have_stays() -> None:
    obj, armature, (first, second) = add_character("shoulder", "swing")
    obj.data["mine"] = 1.0
    obj.data.shape_keys.key_blocks[0].driver_add("mute")
    release_keys(obj, first.keys)
    assert sorted(name.rpartition("_")[2] for name in obj.data.keys()) == ["mine", "near", "strength", "sum"]
    assert "mute" in {path.rpartition(".")[2] for path, *_ in list_drivers(obj)}
    assert_follows(obj, armature, second, 0.9)
    again = add_group(obj, armature, "many")
    assert_follows(obj, armature, again, 0.5)
    assert_follows(obj, armature, second, 0.5)


def test_keys_of_another_reader_and_of_fewer() -> None:
    obj, armature, (group,) = add_character("many")
    fewer = group._replace(keys=group.keys[:2], reader=find_reader(np.array(group.poses[:2]), ["SWING"] * 2))
    release_keys(obj, group.keys)
    drive_keys(obj, armature, fewer.bones, fewer.keys, fewer.reader)
    assert sorted(len(obj.data[name]) for name in obj.data.keys()) == [1, 2, 3]
    assert_follows(obj, armature, fewer, 0.9)
    bent = fewer._replace(reader=find_reader(np.array([[Quaternion(X, 0.6)], [Quaternion(X, 1.2)]]), ["AUTO"] * 2))
    drive_keys(obj, armature, bent.bones, bent.keys, bent.reader)
    assert not obj.data.keys()
    assert len(list_drivers(obj)) == 2
    assert_follows(obj, armature, bent, 0.9)


# Which bone is read


def add_controlled_chain() -> bpy.types.Object:
    """An arm as rigs have it: upper and lower control bones, a deforming bone under each, joined to one another."""
    return scenes.add_armature("Arm", (
        ("upper", "", (0, 0, 0), (0, 1, 0)), ("lower", "upper", (0, 1, 0), (0, 2, 0)),
        ("twist", "lower", (0, 1, 0), (0, 2, 0)), ("DEF-upper", "upper", (0, 0, 0), (0, 1, 0)),
        ("DEF-lower", "twist", (0, 1, 0), (0, 2, 0)),
    ))  # fmt: skip


def test_the_control_bone_that_turns_is_read(subtests) -> None:
    armature = add_controlled_chain()
    names = [bone.name for bone in armature.pose.bones]
    for turned, expected in (
        ({}, "DEF-lower"),
        ({"lower": 0.5}, "lower"),
        ({"lower": 0.5, "twist": 0.8}, "twist"),
        ({"DEF-lower": 0.9, "lower": 0.5}, "DEF-lower"),
        ({"upper": 1.5, "lower": 0.2}, "lower"),
    ):
        with subtests.test(turned=turned):
            pose(armature, [Quaternion(X, turned.get(name, 0.0)) for name in names], names)
            evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
            assert find_reading_bone(evaluated, "DEF-lower", "DEF-upper") == expected
            assert find_reading_bone(evaluated, "DEF-lower", "") == "DEF-lower"
            assert find_reading_bone(evaluated, "lower", "upper") == "lower"


# Stored


def add_ramps() -> tuple[bpy.types.Object, bpy.types.Object, list[Correction]]:
    """Arms with corrections of the left lower arm: two by ramps, one of both left bones, and one by its pose."""
    obj, armature = add_arms()
    offsets = np.random.default_rng(2).normal(size=(4, len(obj.data.vertices), 3))
    lower, both, rest = ("bone.1.L",), ("bone.0.L", "bone.1.L"), (1.0, 0.0, 0.0, 0.0)
    bent = np.array([np.array(Quaternion(X, 1.2))])
    made = [
        Correction("Low", offsets[0], lower, bent, "{}", "AUTO", "", ramps=np.array([[0.1, 1.5, 0.2, 0.0]])),
        Correction("High", offsets[1], lower, bent, "{}", "AUTO", "", ramps=np.array([[0.3, 2.0, 0.0, 0.5]])),
        Correction("Both", offsets[2], both, np.array([rest, *bent]), "{}", "AUTO", "",
                   ramps=np.array([[0.0, 0.0, 0.0, 1.5], [0.1, 1.5, 0.0, 0.0]])),
        Correction("Pose", offsets[3], lower, bent, "{}", "AUTO", ""),
    ]  # fmt: skip
    for group in (made[:1], made[1:2], made[2:3], made[3:]):
        store_all(obj, armature, group)
    scenes.update()
    return obj, armature, made


def read_keys(obj: bpy.types.Object) -> dict[str, float]:
    return {key.name: key.value for key in obj.data.shape_keys.key_blocks[1:]}


def assert_driven(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Without Blender, the stored corrections have the offsets that its keys have."""
    skeleton = find_skeleton(armature)
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    matrices = read_pose(evaluated, skeleton).rest_to_pose
    found = sum(one.find_offsets(matrices) for one in read_driven(obj, armature, skeleton))
    expected = sum(value * read_offsets(obj, name) for name, value in read_keys(obj).items())
    assert np.abs(found - expected).max() < 1e-5


def test_ramps_that_are_stored_are_read_back_and_leave_others_alone() -> None:
    obj, armature, _ = add_ramps()
    bones = "bone.0.L", "bone.1.L"
    pose(armature, [Quaternion(Z, 1.0), Quaternion(X, 1.2)], bones)
    assert all(value > 0.1 for value in read_keys(obj).values())
    assert read_keys(obj)["Pose"] == pytest.approx(1.0, abs=1e-6)
    for rotations in draw_rotations(10, 2):
        pose(armature, rotations, bones)
        assert_driven(obj, armature)
    assert not any(describe_problem(obj, entry) for entry in settings_of(obj).corrections)
    before = read_keys(obj)
    remove(obj, armature, "Low")
    pose(armature, rotations, bones)
    assert read_keys(obj) == {name: value for name, value in before.items() if name != "Low"}
    assert_driven(obj, armature)
    settings_of(obj).corrections["High"].ramps = "[[1, 2]]"
    assert "damaged" in describe_problem(obj, settings_of(obj).corrections["High"])
    assert len(read_driven(obj, armature, find_skeleton(armature))) == 2


def test_ramps_are_mirrored_whatever_the_rolls() -> None:
    obj, armature, made = add_ramps()
    for one in made[:3]:
        other = find_other_side(obj, armature, one)
        assert other.bones == tuple(bone.replace(".L", ".R") for bone in one.bones)
        (name,) = store_all(obj, armature, [replace(other, name=f"{one.name} Right", offsets=one.offsets)])
        assert find_other_side(obj, armature, one).name == name
        assert settings_of(obj).corrections[name].driven
    left, right = ("bone.0.L", "bone.1.L"), ("bone.0.R", "bone.1.R")
    for rotations in draw_rotations(20, 2):
        pose(armature, rotations, left)
        mirrored = mirror_bone_pose(armature, read_bone_pose(armature))
        expected = read_keys(obj)
        pose(armature, [REST] * 2, left)
        pose(armature, [Quaternion(parse_bone_pose(mirrored)[bone][3:7]) for bone in right], right)
        found = read_keys(obj)
        for one in made[:3]:
            assert found[f"{one.name} Right"] == pytest.approx(expected[one.name], abs=1e-6)
        pose(armature, [REST] * 2, right)
