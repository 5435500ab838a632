"""Skin that NumPy poses, against Blender's own Armature modifier: scaled bones, and segments that roll."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest

from scenes import TOLERANCE, add_tube, armature_modifier, diagonal, evaluated_points, skinned_meshes, turn
from supple.bridge.arrays import read_array
from supple.bridge.rigs.armatures import read_pose, read_skeleton
from supple.bridge.rigs.joints import ensure_joints_object, has_segments
from supple.bridge.rigs.segments import Roll, install_rolls, remove_rolls
from supple.bridge.rigs.twists import PROPERTY
from supple.nodes.groups import ensure_layer_joints
from supple.nodes.layers import FORWARD
from supple.tasks.skin.model import Choices, PosableSkin, SkinSource
from supple.tasks.skin.segments import write_rolls
from supple.tasks.subject.character import find_skinned

ALONG = (0.0, 1.0, 0.0)


def list_rolls(side: str) -> list[Roll]:
    return [
        Roll(f"lowerarm_{side}", f"hand_{side}", ALONG, 0.0, 1.0),
        Roll(f"upperarm_{side}", f"upperarm_{side}", ALONG, -1.0, 0.0),
        Roll(f"calf_{side}", f"foot_{side}", (0.0, 0.6, -0.8), 0.0, 0.9, segments=3),
        Roll(f"thigh_{side}", f"thigh_{side}", ALONG, -0.8, 0.1, segments=8),
    ]


def pose_by_numpy(obj: bpy.types.Object, method: str = "DLB") -> np.ndarray:
    """Points, shape (V, 3), by what stands for Blender's own modifier."""
    skinned = find_skinned(obj)
    skin = PosableSkin.of(SkinSource.of(skinned, Choices.read(skinned, method, is_blenders=True)))
    evaluated = skinned.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    space = np.array(skinned.armature.matrix_world.inverted() @ obj.matrix_world)
    return skin.pose(read_pose(evaluated, skin.skeleton).seen_from(space))


def turn_randomly(armature: bpy.types.Object, seed: int, angle: float = 0.35, twist: float = 2.6) -> None:
    """Rotate all bones a little, and twist some hands, feet and upper limbs far."""
    generator = np.random.default_rng(seed)
    for bone in armature.pose.bones:
        bone.rotation_mode = "YXZ"
        x, y, z = generator.uniform(-angle, angle, 3)
        if bone.name.startswith(("hand", "foot", "upperarm", "thigh")):
            y = generator.uniform(-twist, twist)
        bone.rotation_euler = (x, y, z)


def scale_randomly(armature: bpy.types.Object, seed: int) -> None:
    """Scale bones along their axes, which shears those below: all but fingers."""
    generator = np.random.default_rng(seed)
    for bone in armature.pose.bones:
        if len(bone.children_recursive) > 1:
            bone.scale = generator.uniform(0.85, 1.2, 3)


@pytest.fixture
def human(asset: Callable[..., Path]) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A mesh with Preserve Volume, and its armature."""
    bpy.ops.wm.open_mainfile(filepath=str(asset("human_male")))
    (obj,) = skinned_meshes()
    armature = armature_modifier(obj).object
    armature.animation_data_clear()
    armature_modifier(obj).use_deform_preserve_volume = True
    return obj, armature


def measure(obj: bpy.types.Object, method: str = "DLB") -> np.ndarray:
    """How far NumPy puts vertices from where Blender does, in diagonals, shape (V,)."""
    armature_modifier(obj).use_deform_preserve_volume = method == "DLB"
    bpy.context.view_layer.update()
    expected = evaluated_points(obj)
    return np.linalg.norm(pose_by_numpy(obj, method) - expected, axis=1) / diagonal(expected)


@pytest.mark.versions
@pytest.mark.parametrize("is_scaled", [False, True])
def test_rolls_as_blender_on_a_character(human, is_scaled: bool, subtests: pytest.Subtests):
    obj, armature = human
    install_rolls(armature, [*list_rolls("l"), *list_rolls("r")])
    assert len(read_skeleton(armature).joints.rolls.joints) == 8
    for seed in range(5):
        turn_randomly(armature, seed)
        if is_scaled:
            scale_randomly(armature, seed)
        for method in ("DLB", "SSD"):
            with subtests.test(seed=seed, method=method):
                assert measure(obj, method).max() <= TOLERANCE


@pytest.mark.versions
def test_scaled_and_sheared_bones_as_preserve_volume(human, subtests: pytest.Subtests):
    obj, armature = human
    for seed in range(3):
        turn_randomly(armature, seed, twist=1.0)
        scale_randomly(armature, seed)
        for name, scale in (("neck_01", (1.2, 0.7, -1.0)), ("foot_l", (1.0, 1e-3, 1.0))):
            armature.pose.bones[name].scale = scale
        with subtests.test(seed=seed):
            assert measure(obj).max() <= TOLERANCE


@pytest.mark.versions
def test_whole_turns_as_blender(human):
    obj, armature = human
    hand = armature.pose.bones["hand_l"]
    hand.rotation_mode = "YXZ"
    install_rolls(armature, list_rolls("l"))
    for turns in (-1.4, -0.6, 0.7, 1.2):
        hand.rotation_euler = (0.1, turns * 2.0 * np.pi, 0.2)
        assert measure(obj).max() <= TOLERANCE
    hand.rotation_mode = "QUATERNION"
    hand[PROPERTY] = 2.0
    install_rolls(armature, list_rolls("l"))
    assert measure(obj).max() <= TOLERANCE
    pose = read_pose(armature.evaluated_get(bpy.context.evaluated_depsgraph_get()), read_skeleton(armature))
    assert pose.hints is not None
    assert pose.hints.max() == pytest.approx(4.0 * np.pi)


def test_a_skeleton_is_remembered_with_its_rolls(human):
    _, armature = human
    plain = read_skeleton(armature)
    assert (plain.joints.rolls, plain.plain, plain.bendy) == (None, None, ())
    install_rolls(armature, list_rolls("l"))
    rolled = read_skeleton(armature, plain)
    assert rolled.joints.rolls is not None
    assert rolled.plain is not None
    assert rolled.bendy == ()
    assert rolled.fingerprint == plain.fingerprint
    assert read_skeleton(armature, rolled) is rolled is read_skeleton(armature, rolled.plain)
    install_rolls(armature, list_rolls("l")[:2])
    assert len(read_skeleton(armature, rolled).joints.rolls.joints) == 2
    remove_rolls(armature)
    assert read_skeleton(armature, rolled).joints.rolls is None


def test_dlbnt_poses_plain_joints(human):
    obj, armature = human
    turn_randomly(armature, 0)
    before = pose_by_numpy(obj, "DLBNT")
    install_rolls(armature, list_rolls("l"))
    np.testing.assert_array_equal(pose_by_numpy(obj, "DLBNT"), before)


def add_reader(joints: bpy.types.Object) -> bpy.types.Object:
    """A mesh with a vertex for each point of a joints object, which is in no collection."""
    group = bpy.data.node_groups.new("Vertices", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    kinds = "GeometryNodeObjectInfo", "GeometryNodePointsToVertices", "NodeGroupOutput"
    source, vertices, output = (group.nodes.new(kind) for kind in kinds)
    source.inputs["Object"].default_value = joints
    group.links.new(source.outputs["Geometry"], vertices.inputs[0])
    group.links.new(vertices.outputs[0], output.inputs[0])
    reader = bpy.data.objects.new("Reader", bpy.data.meshes.new("Reader"))
    reader.modifiers.new("Vertices", "NODES").node_group = group
    bpy.context.scene.collection.objects.link(reader)
    return reader


def read_joints(reader: bpy.types.Object) -> np.ndarray:
    """What a joints object says of its joints, from rest to pose, shape (B, 4, 4)."""
    mesh = reader.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    return read_array(mesh.attributes[FORWARD].data, "value", 16).reshape(-1, 4, 4).transpose(0, 2, 1)[:-1]


@pytest.mark.versions
def test_a_joints_object_says_where_bones_go_and_not_their_segments():
    _, armature = add_tube(bones=4)
    for bone in ("bone.1", "bone.2", "bone.3"):
        turn(armature, bone, (0.3, 1.2, -0.4))
    found = set()
    for head, tail in ((-1.0, 0.0), (0.0, 0.9), (0.0, 0.0)):
        rolls = (Roll("bone.1", "bone.1", ALONG, head, tail), Roll("bone.2", "bone.3", ALONG, head, tail))
        assert write_rolls(armature, rolls if head != tail else ()) == ""
        skeleton = read_skeleton(armature)
        joints = ensure_joints_object(armature, skeleton, ensure_layer_joints(has_segments(armature, skeleton)))
        if not found:
            reader = add_reader(joints)
        found.add(joints)
        bpy.context.view_layer.update()
        expected = read_pose(armature.evaluated_get(bpy.context.evaluated_depsgraph_get()), skeleton).rest_to_pose
        np.testing.assert_allclose(read_joints(reader), expected, rtol=0, atol=1e-4)
    assert len(found) == 1  # it has followed


@pytest.mark.versions
def test_a_joints_object_says_where_segments_go():
    _, armature = add_tube(bones=3)
    bone, posed = armature.data.bones["bone.1"], armature.pose.bones["bone.1"]
    bone.bbone_segments, posed.bbone_easein, posed.bbone_easeout, posed.bbone_curveinx = 5, 0.6, -0.3, 0.4
    turn(armature, "bone.2", (0.3, 1.2, -0.4))
    skeleton = read_skeleton(armature)
    reader = add_reader(ensure_joints_object(armature, skeleton, ensure_layer_joints(True)))
    bpy.context.view_layer.update()
    expected = read_pose(armature.evaluated_get(bpy.context.evaluated_depsgraph_get()), skeleton).rest_to_pose
    assert len(expected) == 3 + 5
    np.testing.assert_allclose(read_joints(reader), expected, rtol=0, atol=1e-3)
