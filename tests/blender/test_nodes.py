"""Nodes deform as Python does, on real characters and in every kind of pose, and follow what is put above them."""

from collections.abc import Callable
from itertools import pairwise, product
from math import pi, radians
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bind import (
    TRANSFORMS,
    animate_object,
    fade,
    with_cast_above,
    with_deform_off,
    with_empty_inverted_modifier_group,
    with_face_key,
    with_groups_without_bones,
    with_inverted_modifier_group,
    with_missing_modifier_group,
    with_modifier_group,
    with_sums_that_are_not_one,
    with_unweighted_vertices,
)
from scenes_methods import NODE_BLENDS, choose, name_of, parametrize_blends, without_limits
from scenes_nodes import assert_alike, bind_both, bound_tube, joints_of

from scenes import (
    TOLERANCE,
    add_face_key,
    add_tube,
    animate_key,
    animate_tube,
    armature_modifier,
    bind,
    clear,
    distance,
    edit_bones,
    evaluated_points,
    frames_of,
    longest_action,
    play,
    rest_points,
    skinned_meshes,
    supple_modifier,
    turn,
    update,
)
from supple.deformers import METHODS
from supple.nodes.fractions import FRACTION
from supple.nodes.methods import NODE_METHODS
from supple.nodes.skin import LINEAR_ATTRIBUTE
from supple.nodes.spread_twists import AXIS
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups", "nodes_alone")
every_method = parametrize_blends(NODE_BLENDS)


def test_nodes_are_those_that_methods_declare():
    assert set(NODE_METHODS) == {method.key for method in METHODS.values() if method.has_nodes}


@pytest.mark.versions
@pytest.mark.characters("fox")
def test_real_characters(asset: Callable[..., Path], character: str, subtests: pytest.Subtests):
    bpy.ops.wm.open_mainfile(filepath=str(asset(character)))
    meshes = skinned_meshes()
    armature, action = armature_modifier(meshes[0]).object, longest_action()
    play(armature, action)
    frames, points = frames_of(action), {}
    for evaluate, (method, params) in product(("PYTHON", "NODES"), NODE_BLENDS):
        for obj in meshes:
            choose(obj, method, params)
        bind(*meshes, method=method, evaluate=evaluate)
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            points[evaluate, name_of(method, params), frame] = [evaluated_points(obj) for obj in meshes]
        assert [settings_of(obj).message for obj in meshes] == [""] * len(meshes)
        if evaluate == "NODES":
            has_twists = {FRACTION, AXIS} & set(joints_of(meshes[0]).data.attributes.keys())
            assert bool(has_twists) == (method != "SSD")
    for name, frame in product((name_of(*blend) for blend in NODE_BLENDS), frames):
        with subtests.test(name, frame=frame):
            for expected, actual in zip(points["PYTHON", name, frame], points["NODES", name, frame], strict=True):
                assert distance(expected, actual) <= TOLERANCE
    for name in (name_of(*blend) for blend in NODE_BLENDS):
        assert max(distance(a[0], b[0]) for a, b in pairwise(points["NODES", name, at] for at in frames)) > 1e-3


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
    """Give each bone its rotation and scale; those that are not told are at rest."""
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler, bone.scale = pose.get(bone.name, ((0, 0, 0), (1, 1, 1)))


@pytest.mark.versions
@every_method
def test_poses(method: str, params: Any, subtests: pytest.Subtests):
    obj, armature, twin = bound_tube(method, params)
    for name in (*POSES, "rigid"):
        with subtests.test(name):
            strike(armature, POSES[name])
            assert_alike(obj, twin)


@every_method
def test_turned_more_than_half_around_along_a_chain(method: str, params: Any, subtests: pytest.Subtests):
    """Seven bones, the last turned by up to a thousand degrees from the first: each sign follows from the parent's."""
    obj, armature = add_tube(bones=7, rings=71, length=7.0)
    twin = bind_both(obj, method, params)
    twist, coil, both = (0, 100, 0), (70, 0, 10), (-90, 150, 0)
    for angles, scale in product((twist, coil, both), ((1, 1, 1), (1.1, 0.9, 1), (-1, 1.05, 1))):
        with subtests.test(angles=angles, scale=scale):
            of_others = (1, 1, 1) if scale[0] < 0 else scale
            turned = {f"bone.{bone}": ([radians(angle) for angle in angles], of_others) for bone in range(1, 7)}
            strike(armature, {"bone.0": ((0, 0, 0), scale), **turned})
            assert_alike(obj, twin)


@every_method
def test_b_bones(method: str, params: Any, subtests: pytest.Subtests):
    """Only the last two bones have segments, eased and scaled along."""
    for segments in (2, 5):
        clear()
        obj, armature = add_tube()
        for name in ("bone.1", "bone.2"):
            armature.data.bones[name].bbone_segments = segments
            bone = armature.pose.bones[name]
            bone.bbone_easein, bone.bbone_curveoutx, bone.bbone_rollout = 0.4, 0.2, 0.5
            bone.bbone_scaleout = (1.3, 1.0, 1.2)
        bpy.context.view_layer.update()
        twin = bind_both(obj, method, params)
        for pose in ("rigid", "scaled unevenly", "sheared", "root mirrored", "one axis of zero", "rigid"):
            with subtests.test(pose, segments=segments):
                if pose == "one axis of zero":
                    for one in (obj, twin):  # segments without length have no direction
                        choose(one, method, without_limits(params))
                strike(armature, POSES[pose])
                assert_alike(obj, twin)


def test_a_pose_that_changes_kind_from_frame_to_frame(subtests: pytest.Subtests):
    # two mirrored axes are a twist by half a turn away from what is asked: either way
    obj, armature, twin = bound_tube(twist="OFF")
    for frame, pose in enumerate(POSES.values()):
        strike(armature, pose)
        for bone, channel in product(armature.pose.bones, ("rotation_euler", "scale")):
            bone.keyframe_insert(channel, frame=frame)
    for frame in (*range(len(POSES)), 7, 3, 11):
        with subtests.test(frame=frame):
            bpy.context.scene.frame_set(frame)
            assert_alike(obj, twin)


# Weights and groups


def with_linear_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    fade(obj, "linear")


def with_linear_and_modifier_group(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    with_linear_group(obj, armature)
    with_inverted_modifier_group(obj, armature)


def with_arms(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """An arm at each side of the tube's middle, which holds half of the skin there."""

    def add_arms(bones: bpy.types.ArmatureEditBones) -> None:
        for side in (1, -1):
            arm = bones.new(f"arm.{side}")
            arm.head, arm.tail, arm.parent = (0.2 * side, 1.5, 0), (1.5 * side, 1.2, 0), bones["bone.1"]

    edit_bones(armature, add_arms)
    points = rest_points(obj)
    for side in (1, -1):
        held = np.flatnonzero((side * points[:, 0] > 0.1) & (np.abs(points[:, 1] - 1.5) < 0.6))
        obj.vertex_groups.new(name=f"arm.{side}").add(held.tolist(), 0.8, "REPLACE")


DRESSES = (
    with_unweighted_vertices, with_sums_that_are_not_one, with_groups_without_bones, with_modifier_group,
    with_inverted_modifier_group, with_empty_inverted_modifier_group, with_missing_modifier_group, with_linear_group,
    with_linear_and_modifier_group, with_deform_off, with_face_key, with_cast_above, with_arms,
)  # fmt: skip


@pytest.mark.versions
@every_method
def test_weights_and_groups(method: str, params: Any, subtests: pytest.Subtests):
    for dress in DRESSES:
        with subtests.test(dress.__name__):
            clear()
            obj, armature = add_tube()
            dress(obj, armature)
            # Python has limits of the rest shape, where modifiers stand above
            chosen = without_limits(params) if dress is with_cast_above else params
            group = "linear" if "linear" in obj.vertex_groups else ""
            twin = bind_both(obj, method, chosen, linear_group=group)
            strike(armature, POSES["scaled unevenly"])
            assert_alike(obj, twin)


def test_limb_roots_are_blended_linearly_unless_a_group_says_where():
    obj, armature = add_tube()
    with_arms(obj, armature)
    fade(obj, "linear")
    bind(obj, method="DLBNT", evaluate="NODES")
    turn(armature, "arm.1", (1.2, 0.4, 0))
    found = []
    for amount, group in ((1.0, ""), (0.0, ""), (0.5, ""), (1.0, "linear"), (0.0, "linear")):
        settings_of(obj).limb_roots, settings_of(obj).linear_group = amount, group
        update()
        assert (LINEAR_ATTRIBUTE in obj.data.attributes) == (amount > 0.0 and not group)
        found.append(evaluated_points(obj))
    mixed, quaternions, half, *by_group = found
    assert distance(mixed, quaternions) > 0.02
    assert distance(half, 0.5 * (mixed + quaternions)) < TOLERANCE
    assert distance(*by_group) == 0.0


def test_nodes_of_limits_are_built_when_limits_are_wanted():
    obj, armature, twin = bound_tube("DLBNT")
    turn(armature, "bone.1", (2.0, 0, 0))
    former = supple_modifier(obj).node_group
    name, count = former.name, len(former.nodes)
    for one in (obj, twin):
        settings_of(one).bulge_limit, settings_of(one).contact = 0.6, 0.8
    assert_alike(obj, twin)
    assert len(supple_modifier(obj).node_group.nodes) > count
    for one in (obj, twin):
        settings_of(one).bulge_limit = settings_of(one).contact = 0.0
    assert_alike(obj, twin)
    group = supple_modifier(obj).node_group
    assert (group.name, len(group.nodes)) == (name, count)


@every_method
def test_many_influences(method: str, params: Any):
    """Every vertex feels all of nine bones."""
    obj, armature = add_tube(bones=9, length=4.5)
    along = rest_points(obj)[:, 1]
    for bone, group in enumerate(obj.vertex_groups):
        for vertex, y in enumerate(along):
            group.add([vertex], float(np.exp(-((y - 0.5 * bone - 0.25) ** 2))), "REPLACE")
    twin = bind_both(obj, method, params)
    for bone in range(9):
        turn(armature, f"bone.{bone}", (0.3, 0.1 * bone, 0), (1.05, 0.95, 1))
    assert_alike(obj, twin)


# Transforms of the objects


@every_method
def test_object_transforms(method: str, params: Any, subtests: pytest.Subtests):
    for name, (mesh_matrix, armature_matrix) in TRANSFORMS.items():
        clear()
        obj, armature = add_tube()
        obj.matrix_world, armature.matrix_world = mesh_matrix, armature_matrix
        twin = bind_both(obj, method, params)
        strike(armature, POSES["scaled unevenly"])
        with subtests.test(name):
            assert_alike(obj, twin)
        for one in (obj, twin):
            one.parent, one.matrix_local = armature, mesh_matrix
        with subtests.test(name, parented=True):
            assert_alike(obj, twin)


ANIMATIONS: dict[str, Callable[[bpy.types.Object, bpy.types.Object], None]] = {
    "face key": lambda obj, armature: animate_key(add_face_key(obj)),
    "mesh object": lambda obj, armature: animate_object(obj),
    "armature object": lambda obj, armature: animate_object(armature),
}


@every_method
def test_animated(method: str, params: Any, subtests: pytest.Subtests):
    for name, animate in ANIMATIONS.items():
        clear()
        obj, armature = add_tube()
        animate_tube(armature)
        animate(obj, armature)
        twin = bind_both(obj, method, params)
        for frame in (8, 1, 3, 6):
            with subtests.test(name, frame=frame):
                bpy.context.scene.frame_set(frame)
                assert_alike(obj, twin)
