"""Objects that hang on bones without weights: eyes, bags, armor. In a copy they are weighted to their bone."""

from __future__ import annotations

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_rest_points, read_triangles
from ...bridge.rigs.armatures import Skeleton
from ...bridge.rigs.carriers import is_hidden_object
from ...deformers import SkinningError
from ...deformers.rig.rest import Rest, Weights
from ...settings.character import find_holder, list_objects
from ...settings.objects import settings_of
from ..subject.character import object_to_armature
from ..subject.stack import armature_modifiers

# Types of objects that have a surface
SHOWN = {"MESH", "CURVE", "CURVES", "SURFACE", "FONT", "META"}


def list_hung(layer: bpy.types.ViewLayer, armature: bpy.types.Object | None) -> list[bpy.types.Object]:
    """The objects with a surface that are seen in a view layer, and that only an armature carries, by name."""
    found = [obj for obj in list_objects(layer) if is_hung(obj, armature) and obj.visible_get(view_layer=layer)]
    return sorted(found, key=lambda obj: obj.name)


def is_hung(obj: bpy.types.Object, armature: bpy.types.Object | None) -> bool:
    """Whether an object with a surface hangs on a bone of an armature, or is its child, and no modifier deforms it."""
    is_part = obj.type in SHOWN and not is_hidden_object(obj) and not settings_of(obj).is_handle
    is_held = armature is not None and armature in (find_holder(obj), obj.parent)
    return is_part and is_held and not armature_modifiers(obj)


def read_hung(obj: bpy.types.Object, armature: bpy.types.Object, skeleton: Skeleton) -> Rest:
    """A mesh that hangs on a bone, at rest: all its weights are the bone's.

    Raises SkinningError if a bone cannot carry it as it is seen.

    Parameters
    ----------
    skeleton : Skeleton
        Of the armature.
    """
    if find_holder(obj) != armature:
        raise SkinningError(
            f"'{obj.name}' is a child of '{armature.name}', but of none of its bones, and has no Armature modifier: "
            "give it one, or make it a child of a bone"
        )
    if obj.type != "MESH" or not len(mesh_of(obj).vertices):
        raise SkinningError(f"'{obj.name}' is not a mesh with vertices: convert it to a mesh")
    name = _find_bone(obj, armature)
    joint = _find_joint(obj, name, skeleton)
    bone, posed = armature.data.bones[name], armature.pose.bones[name]
    carried = np.array(posed.matrix, np.float64) @ np.linalg.inv(np.array(bone.matrix_local, np.float64))
    points = read_rest_points(mesh_of(obj))
    count = len(points)
    try:
        space = np.linalg.inv(carried) @ np.array(object_to_armature(obj, armature), np.float64)
    except np.linalg.LinAlgError as error:
        raise SkinningError(
            f"Bone '{name}', which carries '{obj.name}', has zero scale now: go to a frame where it has not"
        ) from error
    return Rest(
        points=points,
        weights=Weights(np.arange(count), np.full(count, joint), np.ones(count)),
        joints=skeleton.joints,
        triangles=read_triangles(mesh_of(obj)),
        object_to_armature=space,
    )


def _find_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> str:
    """The bone that an object is a child of, or one of the objects above it; nothing else moves these."""
    one: bpy.types.Object | None = obj
    while one is not None:
        data = one.animation_data
        is_animated = data is not None and (data.action is not None or len(data.nla_tracks) or len(data.drivers))
        if is_animated or any(constraint.enabled for constraint in one.constraints):
            break
        if one.parent == armature and one.parent_type == "BONE" and one.parent_bone in armature.data.bones:
            return one.parent_bone
        one = one.parent if one.parent_type == "OBJECT" else None
    raise SkinningError(
        f"'{obj.name}' hangs on a bone, but constraints, drivers or an animation of its own move it, too: make it a "
        "child of its bone alone, or give it an Armature modifier and weights"
    )


def _find_joint(obj: bpy.types.Object, bone: str, skeleton: Skeleton) -> int:
    number = skeleton.names.index(bone) if bone in skeleton.names else -1
    if number < 0 or skeleton.segment_counts[number] > 1:
        raise SkinningError(
            f"'{obj.name}' hangs on bone '{bone}', which does not deform, or bends as a B-Bone: turn Deform on, or "
            "make it a child of another bone"
        )
    return int(skeleton.first_joints[number])
