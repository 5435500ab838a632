"""A fault shown: its frame or its bend in the viewport, its vertices selected."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.rigs.actions import go_to_time
from ...deformers import SkinningError
from ...deformers.measures.bends import Bend
from ..weights.checks import select_vertices
from .faults import Finding


def show_finding(armature: bpy.types.Object, scene: bpy.types.Scene, finding: Finding) -> bpy.types.Object:
    """Bring the character into the pose of a fault, and select its vertices; returns the mesh.

    Raises SkinningError if the mesh, the action or the bone is gone, or the bone is moved by others.

    Parameters
    ----------
    scene : Scene
        Whose frame is set.
    """
    mesh = scene.objects.get(finding.mesh)
    if mesh is None or (finding.bone and finding.bone not in armature.pose.bones):
        raise SkinningError(f"'{finding.mesh}' or '{finding.bone}' was deleted or renamed: check the character again")
    if finding.pose is not None:
        _show_pose(armature, scene, finding)
    if finding.vertices and len(mesh.data.vertices) > max(finding.vertices):
        mask = np.zeros(len(mesh.data.vertices), bool)
        mask[list(finding.vertices)] = True
        select_vertices([(mesh, mask)])
    return mesh


def _show_pose(armature: bpy.types.Object, scene: bpy.types.Scene, finding: Finding) -> None:
    pose = finding.pose
    if pose.bends:
        _bend(armature, pose.bends, finding)
        return
    if pose.action:
        action = bpy.data.actions.get(pose.action)
        if action is None:
            raise SkinningError(f"Action '{pose.action}' was deleted or renamed: check the character again")
        if armature.animation_data.action != action:
            armature.animation_data.action = action
        go_to_time(scene, pose.frame)
    else:
        scene.frame_set(pose.frame)


def _bend(armature: bpy.types.Object, bends: tuple[Bend, ...], finding: Finding) -> None:
    """Bend the joint of a fault, and those that were bent with it, from the rest pose."""
    names = {bend.joint: name for bend, name in zip(bends, finding.pose.bent_bones, strict=True)}
    held = [name for name in names.values() if armature.pose.bones[name].constraints]
    if held:
        pose = finding.pose.describe(finding.bone)
        raise SkinningError(f"'{held[0]}' follows other bones by constraints: pose their controls, {pose}")
    for bone in armature.pose.bones:
        bone.matrix_basis = Matrix.Identity(4)
    for bend in bends:
        bone = armature.pose.bones[names[bend.joint]]
        rest = bone.bone.matrix_local.to_3x3()
        rotation = Matrix(bend.matrix(np.zeros(3))[:3, :3].tolist())
        bone.matrix_basis = (rest.inverted() @ rotation @ rest).to_4x4()
