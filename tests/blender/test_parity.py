"""SSD against the Armature modifier and DLB against Preserve Volume, on real characters and on all kinds of bones."""

from collections.abc import Callable
from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Vector

from scenes import TOLERANCE, armature_modifier, bind, diagonal, evaluated_points, frames_of, play, skinned_meshes
from supple.settings.objects import settings_of


def blender_points(obj: bpy.types.Object, preserve_volume: bool) -> np.ndarray:
    modifier = armature_modifier(obj)
    modifier.use_deform_preserve_volume = preserve_volume
    return evaluated_points(obj)


def close_bones(obj: bpy.types.Object, armature: bpy.types.Object) -> np.ndarray:
    """Vertices all of whose bones are turned by less than 180 degrees from one another, shape (V,)."""
    bones = {bone.name: bone for bone in armature.pose.bones if bone.bone.use_deform}
    quaternions = {
        name: (bone.matrix @ bone.bone.matrix_local.inverted()).to_quaternion() for name, bone in bones.items()
    }
    signs = {}
    for name, bone in bones.items():  # with the skeleton's signs: parents come before children
        parent = next((up for up in bone.parent_recursive if up.name in signs), None)
        agrees = parent is None or quaternions[name].dot(signs[parent.name]) >= 0
        signs[name] = quaternions[name] if agrees else -quaternions[name]
    names = [group.name for group in obj.vertex_groups]
    result = np.zeros(len(obj.data.vertices), bool)
    for vertex in obj.data.vertices:
        felt = [
            signs[names[entry.group]] for entry in vertex.groups if entry.weight > 0 and names[entry.group] in signs
        ]
        result[vertex.index] = all(a.dot(b) > 0 for i, a in enumerate(felt) for b in felt[:i])
    return result


def blender_noise(obj: bpy.types.Object, armature: bpy.types.Object, points: np.ndarray) -> float:
    """How far Preserve Volume itself puts vertices that follow one bone from where that bone's matrix takes them.

    Rest matrices that are not quite orthonormal (imported rigs) make Blender's dual quaternions miss their own bone.
    In diagonals; 0 where no vertex follows one bone only.
    """
    names = [group.name for group in obj.vertex_groups]
    to_armature = armature.matrix_world.inverted() @ obj.matrix_world
    errors = [0.0]
    for vertex in obj.data.vertices:
        felt = [names[entry.group] for entry in vertex.groups if entry.weight > 0]
        bone = armature.pose.bones.get(felt[0]) if len(felt) == 1 else None
        if bone is not None:
            moved = to_armature.inverted() @ bone.matrix @ bone.bone.matrix_local.inverted() @ to_armature @ vertex.co
            errors.append((moved - Vector(points[vertex.index])).length)
    return max(errors) / diagonal(points)


def is_rigid(armature: bpy.types.Object) -> bool:
    linear = [np.array(bone.matrix.to_3x3()) for bone in armature.pose.bones]
    return all(np.allclose(matrix.T @ matrix, np.eye(3), atol=2e-4) for matrix in linear)


@pytest.mark.versions
@pytest.mark.characters("fox", "kaykit_knight")
def test_real_characters(asset: Callable[..., Path], character: str):
    bpy.ops.wm.open_mainfile(filepath=str(asset(character)))
    meshes = skinned_meshes()
    armature = armature_modifier(meshes[0]).object
    shots = [
        (action, frame)
        for action in bpy.data.actions
        if action.frame_range[1] > action.frame_range[0]
        for frame in frames_of(action)
    ]
    expected, chosen, noise = {}, {}, {}
    for shot in shots:
        play(armature, shot[0])
        bpy.context.scene.frame_set(shot[1])
        for obj in meshes:
            expected[shot, obj.name, "SSD"] = blender_points(obj, preserve_volume=False)
            if is_rigid(armature):
                points = expected[shot, obj.name, "DLB"] = blender_points(obj, preserve_volume=True)
                chosen[shot, obj.name] = close_bones(obj, armature)
                noise[shot, obj.name] = blender_noise(obj, armature, points)
    assert chosen

    for obj in meshes:
        settings_of(obj).twist = "OFF"  # Blender's own spreads no twists
        settings_of(obj).limb_roots = 0.0
    for method in ("SSD", "DLB"):
        bind(*meshes, method=method)
        for shot in shots:
            play(armature, shot[0])
            bpy.context.scene.frame_set(shot[1])
            for obj in meshes:
                if (shot, obj.name, method) not in expected:
                    continue
                reference = expected[shot, obj.name, method]
                errors = np.linalg.norm(evaluated_points(obj) - reference, axis=1) / diagonal(reference)
                if method == "DLB":
                    assert chosen[shot, obj.name].mean() > 0.5
                    errors = errors[chosen[shot, obj.name]] - noise[shot, obj.name]
                assert errors.max() <= TOLERANCE, (method, shot[0].name, shot[1], obj.name)
        bpy.ops.supple.unbind()
