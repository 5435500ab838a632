"""Meshes read as one body, joints found in it, and an armature made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_points, read_triangles
from ...bridge.rigs.fitted import make_armature
from ...deformers import SkinningError
from ...deformers.fit.bones import FitPreset, make_bones
from ...deformers.fit.fitting import fit_joints
from ...deformers.fit.joints import LEFT, RIGHT, Fit, remove_side
from ...options import FitOptions
from ..steps import Steps
from ..subject.character import has_armature_modifier
from ..subject.rig_presets import read_fit_presets

# How far a mesh's origin may be from the plane of symmetry to be the armature's, in heights
ON_PLANE = 1e-4


def find_preset(options: FitOptions) -> FitPreset:
    """The preset of the bones that are chosen."""
    return read_fit_presets()[options.rig.lower()]


def read_body(objects: Sequence[bpy.types.Object]) -> tuple[np.ndarray, np.ndarray]:
    """Points, float64, shape (V, 3), in world space, and triangles, int32, shape (T, 3), of meshes as they are shown.

    Raises SkinningError if there are none, or they have an armature.
    """
    if not objects:
        raise SkinningError("No mesh is selected: select the meshes of one character")
    for obj in objects:
        if has_armature_modifier(obj):
            raise SkinningError(f"'{obj.name}' has an armature: select meshes without an armature")
    points, triangles, start = [], [], 0
    depsgraph = bpy.context.evaluated_depsgraph_get()
    for obj in objects:
        mesh = mesh_of(obj.evaluated_get(depsgraph))
        matrix = np.array(obj.matrix_world)
        points.append(read_points(mesh).astype(np.float64) @ matrix[:3, :3].T + matrix[:3, 3])
        triangles.append(read_triangles(mesh) + start)
        start += len(points[-1])
    return np.concatenate(points), np.concatenate(triangles)


def find_joints(objects: Sequence[bpy.types.Object], options: FitOptions) -> Steps[Fit]:
    """Find the joints of a character in its meshes; nothing is changed.

    Raises SkinningError if the meshes are not such a character; the message says what was found.
    """
    points, triangles = read_body(objects)
    return (yield partial(fit_joints, points, triangles, find_preset(options).kind))


def make_skeleton(objects: Sequence[bpy.types.Object], fit: Fit, options: FitOptions) -> bpy.types.Object:
    """Make the armature of joints, in the collections of the first mesh, and select it together with the meshes.

    Its origin is the first mesh's origin if that is in the middle of the body, otherwise the floor below the body.
    Raises SkinningError if Blender is in a state in which no armature can be edited.
    """
    layer, frame = bpy.context.view_layer, fit.frame
    bones, matrix = make_bones(fit, find_preset(options)), frame.matrix
    own = frame.height * frame.to_body(np.array(objects[0].matrix_world.translation))
    if abs(own[0]) < ON_PLANE * frame.height and np.linalg.norm(own) < frame.height:
        matrix[:3, 3] += matrix[:3, :3] @ own
        bones = [replace(bone, head=bone.head - own, tail=bone.tail - own) for bone in bones]
    armature = make_armature(f"{objects[0].name} Rig", bones, matrix, objects[0].users_collection)
    layer.update()
    for obj in layer.objects:
        obj.select_set(obj == armature or obj in objects)
    layer.objects.active = armature
    return armature


def describe(armature: bpy.types.Object, fit: Fit) -> list[str]:
    """Describe the skeleton, and which joints are doubtful."""
    lines = [f"'{armature.name}' has {len(armature.pose.bones)} bones"]
    doubtful = sorted({remove_side(name).replace("_", " ") for name in fit.doubtful})
    if doubtful:
        lines.append(f"Check these joints, they may be far off: {', '.join(doubtful)}")
    return lines


def as_json(armature: bpy.types.Object, fit: Fit) -> dict:
    """The result for programs: joints in world space."""
    return {
        "armature": armature.name,
        "joints": {name: [round(float(number), 6) for number in fit.locate(name)] for name in sorted(fit.joints)},
        "doubtful": sorted(fit.doubtful),
        "symmetry": round(fit.frame.symmetry, 4),
        "sides": [LEFT, RIGHT],
    }
