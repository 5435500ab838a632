"""Nodes deform as Python does, on real characters and in every kind of pose, and follow what is put above them."""

from itertools import pairwise
from math import pi, radians
from typing import Any

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix
from scenes_methods import NODE_BLENDS, choose, parametrize_blends, without_limits

from scenes import (
    CHARACTERS,
    add_face_key,
    add_tube,
    add_twin,
    animate_key,
    animate_tube,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    frames_of,
    longest_action,
    play,
    rest_points,
    skinned_meshes,
    supple_modifier,
    turn,
)
from supple.deformers import METHODS
from supple.nodes.groups import is_deformation
from supple.nodes.methods import NODE_METHODS
from supple.settings.objects import settings_of

pytestmark = [
    pytest.mark.usefixtures("silent_handlers", "built_groups"),
]
TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""
every_method = parametrize_blends(NODE_BLENDS)


def bind_both(
    obj: bpy.types.Object, method: str, params: Any = None, linear_group: str = ""
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """The object, bound by nodes, and a twin of it, bound by Python."""
    twin = add_twin(obj)
    for one in (obj, twin):
        choose(one, method, params or METHODS[method].params())
        settings_of(one).linear_group = linear_group
    bind(obj, method=method, evaluate="NODES")
    bind(twin, method=method, evaluate="PYTHON")
    assert is_deformation(supple_modifier(obj).node_group)
    assert not is_deformation(supple_modifier(twin).node_group)
    return obj, twin


def assert_alike(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """Both are deformed, alike, and neither has anything to complain about."""
    bpy.context.view_layer.update()
    assert [settings_of(one).message for one in (obj, twin)] == ["", ""]
    expected = evaluated_points(twin)
    assert np.isfinite(expected).all()
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
    assert len(expected) != len(rest_points(obj)) or distance(expected, rest_points(obj)) > 0.01


def test_nodes_are_those_that_methods_declare():
    assert set(NODE_METHODS) == {method.key for method in METHODS.values() if method.has_nodes}


# Real characters


@every_method
@pytest.mark.parametrize("name", CHARACTERS)
def test_real_characters(asset, name, method, params):
    bpy.ops.wm.open_mainfile(filepath=str(asset(name)))
    meshes = skinned_meshes()
    armature, action = armature_modifier(meshes[0]).object, longest_action()
    play(armature, action)
    frames = frames_of(action)
    for obj in meshes:
        choose(obj, method, params)
    points = {}
    for evaluate in ("PYTHON", "NODES"):
        bind(*meshes, method=method, evaluate=evaluate)
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            points[evaluate, frame] = [evaluated_points(obj) for obj in meshes]
        assert [settings_of(obj).message for obj in meshes] == [""] * len(meshes)
    for frame in frames:
        for expected, actual in zip(points["PYTHON", frame], points["NODES", frame], strict=True):
            assert distance(expected, actual) <= TOLERANCE, frame
    assert max(distance(a[0], b[0]) for a, b in pairwise(points["NODES", frame] for frame in frames)) > 1e-3


# Poses


BENT = {"bone.1": ((1.2, 0.6, 0.0), (1, 1, 1)), "bone.2": ((1.0, 0.0, 0.4), (1, 1, 1))}


def bent(**scales: tuple[float, float, float]) -> dict:
    """The bent tube, with bones scaled: `bone_1=(2, 1, 1)`."""
    pose = {"bone.0": ((0.2, 0.3, 0.1), (1, 1, 1)), **BENT}
    for name, scale in scales.items():
        name = name.replace("_", ".")
        pose[name] = (pose[name][0], scale)
    return pose


POSES = {
    "rigid": bent(),
    "half turns": {"bone.0": ((pi, 0, 0), (1, 1, 1)), "bone.1": ((0, pi / 2, 0), (1, 1, 1))},
    "scaled": bent(bone_0=(1.5, 1.5, 1.5), bone_2=(0.4, 0.4, 0.4)),
    "scaled unevenly": bent(bone_1=(1.3, 0.8, 1.1), bone_2=(0.9, 1.6, 1.1)),
    "sheared": bent(bone_0=(1, 2.5, 1), bone_1=(0.6, 1, 1.8)),
    "scaled a thousandfold": bent(bone_0=(1e3, 1e3, 1e3), bone_1=(1e-3, 1e-3, 2e-3)),
    "root mirrored": bent(bone_0=(-1, 1, 1)),
    "root mirrored unevenly": bent(bone_0=(-1.2, 0.8, 1.1), bone_1=(1.3, 0.8, 1.1)),
    "middle mirrored": bent(bone_1=(1, 1, -1)),
    "middle mirrored unevenly": bent(bone_1=(1.3, -0.8, 1.1)),
    "last mirrored": bent(bone_2=(-0.9, 1.2, 1.1)),
    "all axes mirrored": bent(bone_0=(-1, -1, -1)),
    "all axes mirrored unevenly": bent(bone_1=(-1.2, -0.8, -1.1)),
    "two axes mirrored": bent(bone_1=(-1, -1, 1)),
    "mirrored twice": bent(bone_0=(-1, 1, 1), bone_1=(1.1, -0.9, 1)),
    "one axis of zero": bent(bone_1=(0, 1, 1.2)),
    "two axes of zero": bent(bone_1=(1.2, 0, 0)),
    "all axes of zero": bent(bone_1=(0, 0, 0)),
    "last of zero": bent(bone_2=(0, 0, 0)),
    "root of zero": bent(bone_0=(0, 1.1, 0.9)),
    "zero below a mirror": bent(bone_0=(-1.2, 1, 0.9), bone_1=(1.1, 0, 0.8)),
}


def strike(armature: bpy.types.Object, pose: dict) -> None:
    for name, (rotation, scale) in pose.items():
        turn(armature, name, rotation, scale)


@every_method
@pytest.mark.parametrize("pose", POSES)
def test_poses(pose, method, params):
    obj, armature = add_tube()
    obj, twin = bind_both(obj, method, params)
    strike(armature, POSES[pose])
    assert_alike(obj, twin)
    strike(armature, BENT)
    assert_alike(obj, twin)


@every_method
@pytest.mark.parametrize("scale", [(1, 1, 1), (1.1, 0.9, 1), (-1, 1.05, 1)], ids=["rigid", "scaled", "mirrored"])
@pytest.mark.parametrize("angles", [(0, 100, 0), (70, 0, 10), (-90, 150, 0)], ids=["twist", "coil", "both"])
def test_turned_more_than_half_around_along_a_chain(angles, scale, method, params):
    """Seven bones, the last turned by up to a thousand degrees from the first: each sign follows from the parent's."""
    obj, armature = add_tube(bones=7, rings=71, length=7.0)
    obj, twin = bind_both(obj, method, params)
    turn(armature, "bone.0", (0, 0, 0), scale)
    for bone in range(1, 7):
        turn(armature, f"bone.{bone}", [radians(angle) for angle in angles], (1, 1, 1) if scale[0] < 0 else scale)
    assert_alike(obj, twin)


@every_method
@pytest.mark.parametrize("pose", ["rigid", "scaled unevenly", "sheared", "root mirrored", "one axis of zero"])
@pytest.mark.parametrize("segments", [2, 5])
def test_b_bones(segments, pose, method, params):
    """Only the last two bones have segments, eased and scaled along."""
    obj, armature = add_tube()
    for name in ("bone.1", "bone.2"):
        armature.data.bones[name].bbone_segments = segments
        bone = armature.pose.bones[name]
        bone.bbone_easein, bone.bbone_curveoutx, bone.bbone_rollout = 0.4, 0.2, 0.5
        bone.bbone_scaleout = (1.3, 1.0, 1.2)
    bpy.context.view_layer.update()
    if pose == "one axis of zero":
        params = without_limits(params)  # segments without length have no direction
    obj, twin = bind_both(obj, method, params)
    strike(armature, POSES[pose])
    assert_alike(obj, twin)
    strike(armature, BENT)
    assert_alike(obj, twin)


def test_a_pose_that_changes_kind_from_frame_to_frame():
    obj, armature = add_tube()
    settings_of(obj).twist = "OFF"  # two mirrored axes are a twist by half a turn away from what is asked: either way
    obj, twin = bind_both(obj, "DLBNT")
    for frame, pose in enumerate(POSES.values()):
        strike(armature, pose)
        for name in pose:
            for channel in ("rotation_euler", "scale"):
                armature.pose.bones[name].keyframe_insert(channel, frame=frame)
    for frame in (*range(len(POSES)), 7, 3, 11):
        bpy.context.scene.frame_set(frame)
        assert_alike(obj, twin)


# Weights and groups


def unweighted(obj: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(100, 180)))
        group.add(list(range(200, 216)), 2e-5, "REPLACE")


def sums_that_are_not_one(obj: bpy.types.Object) -> None:
    for index, group in enumerate(obj.vertex_groups):
        group.add(list(range(0, 496, 3)), 0.3 + 0.3 * index, "REPLACE")
        group.add(list(range(1, 496, 3)), 0.02 * (index + 1), "REPLACE")


def groups_without_bones(obj: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="hair").add(list(range(496)), 0.9, "REPLACE")


def fade(obj: bpy.types.Object, name: str) -> None:
    group = obj.vertex_groups.new(name=name)
    for vertex in range(0, len(obj.data.vertices), 2):
        group.add([vertex], (vertex % 14) / 12, "REPLACE")


def modifier_group(obj: bpy.types.Object) -> None:
    fade(obj, "strength")
    armature_modifier(obj).vertex_group = "strength"


def inverted_modifier_group(obj: bpy.types.Object) -> None:
    modifier_group(obj)
    armature_modifier(obj).invert_vertex_group = True


def empty_inverted_modifier_group(obj: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="nothing")
    armature_modifier(obj).vertex_group, armature_modifier(obj).invert_vertex_group = "nothing", True


def missing_modifier_group(obj: bpy.types.Object) -> None:
    armature_modifier(obj).vertex_group = "nowhere"
    armature_modifier(obj).invert_vertex_group = True


def linear_group(obj: bpy.types.Object) -> None:
    fade(obj, "linear")


def linear_and_modifier_group(obj: bpy.types.Object) -> None:
    linear_group(obj)
    inverted_modifier_group(obj)


def one_bone_without_deform(obj: bpy.types.Object) -> None:
    armature_modifier(obj).object.data.bones["bone.1"].use_deform = False


def face_key(obj: bpy.types.Object) -> None:
    add_face_key(obj).value = 0.8


def cast_above(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Round", "CAST").factor = 0.3
    obj.modifiers.move(1, 0)


DRESSES = (
    unweighted, sums_that_are_not_one, groups_without_bones, modifier_group, inverted_modifier_group,
    empty_inverted_modifier_group, missing_modifier_group, linear_group, linear_and_modifier_group,
    one_bone_without_deform, face_key, cast_above,
)  # fmt: skip


@every_method
@pytest.mark.parametrize("dress", DRESSES)
def test_weights_and_groups(dress, method, params):
    obj, armature = add_tube()
    dress(obj)
    if dress is cast_above:
        params = without_limits(params)  # Python has these of the rest shape, where modifiers stand above
    obj, twin = bind_both(obj, method, params, "linear" if "linear" in obj.vertex_groups else "")
    strike(armature, POSES["scaled unevenly"])
    assert_alike(obj, twin)


@every_method
def test_many_influences(method, params):
    """Every vertex feels all of nine bones."""
    obj, armature = add_tube(bones=9, length=4.5)
    along = rest_points(obj)[:, 1]
    for bone, group in enumerate(obj.vertex_groups):
        for vertex, y in enumerate(along):
            group.add([vertex], float(np.exp(-((y - 0.5 * bone - 0.25) ** 2))), "REPLACE")
    obj, twin = bind_both(obj, method, params)
    for bone in range(9):
        turn(armature, f"bone.{bone}", (0.3, 0.1 * bone, 0), (1.05, 0.95, 1))
    assert_alike(obj, twin)


@every_method
def test_animated_face_keys(method, params):
    obj, armature = add_tube()
    animate_tube(armature)
    animate_key(add_face_key(obj))
    obj, twin = bind_both(obj, method, params)
    for frame in (1, 3, 6, 8):
        bpy.context.scene.frame_set(frame)
        assert_alike(obj, twin)


# Transforms of the objects


TURNED = Euler((0.3, 0.2, 1.1)).to_matrix().to_4x4()
TRANSFORMS = {
    "moved": (Matrix.Translation((1, -2, 0.5)), Matrix.Translation((-3, 0.2, 1))),
    "turned": (TURNED, Euler((-1.0, 0.4, 0.1)).to_matrix().to_4x4()),
    "scaled": (Matrix.Scale(2.5, 4), Matrix.Scale(0.4, 4)),
    "scaled unevenly": (Matrix.Diagonal((0.5, 2, 1.5, 1)), Matrix.Diagonal((1, 1, 3, 1)) @ TURNED),
    "mesh mirrored": (Matrix.Diagonal((-1, 1, 1, 1)), TURNED),
    "armature mirrored": (TURNED, Matrix.Diagonal((-1, 1.2, 1, 1))),
}


@every_method
@pytest.mark.parametrize("parented", [False, True], ids=["free", "parented"])
@pytest.mark.parametrize("matrices", TRANSFORMS)
def test_object_transforms(matrices, parented, method, params):
    obj, armature = add_tube()
    if parented:
        obj.parent = armature
    obj.matrix_local, armature.matrix_world = TRANSFORMS[matrices]
    obj, twin = bind_both(obj, method, params)
    strike(armature, POSES["scaled unevenly"])
    assert_alike(obj, twin)


@every_method
@pytest.mark.parametrize("who", ["mesh", "armature"])
def test_animated_object_transforms(who, method, params):
    obj, armature = add_tube()
    animate_tube(armature)
    obj, twin = bind_both(obj, method, params)
    for mover in (obj, twin) if who == "mesh" else (armature,):
        for frame, value in ((1, 0.0), (8, 0.4)):
            mover.location, mover.rotation_euler, mover.scale = (value, 0, value), (value, 0, 0), (1 + value, 1, 1)
            for path in ("location", "rotation_euler", "scale"):
                mover.keyframe_insert(path, frame=frame)
    for frame in (8, 1, 5):
        bpy.context.scene.frame_set(frame)
        assert_alike(obj, twin)
