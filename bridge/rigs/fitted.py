"""Armatures of fitted bones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import bpy
import numpy as np
from mathutils import Matrix

from ...deformers.fit.bones import FittedBone
from .copies import editing_bones, new_armature


def make_armature(
    name: str, bones: Sequence[FittedBone], matrix: np.ndarray, collections: Sequence[bpy.types.Collection]
) -> bpy.types.Object:
    """Make an armature object of bones; parents come before their children.

    Raises SkinningError if Blender is in a state in which no armature can be edited.

    Parameters
    ----------
    matrix : float array, shape (4, 4)
        Its world matrix.
    collections : sequence of Collection
        That it is linked to.
    """
    names = [bone.name for bone in bones]
    parents = np.array([names.index(bone.parent) if bone.parent else -1 for bone in bones])
    rests, lengths = np.stack([bone.matrix for bone in bones]), np.array([bone.length for bone in bones])
    armature = new_armature(name, names, rests, lengths, parents)
    with editing_bones(armature) as edit_bones:
        for bone in bones:
            edit_bones[bone.name].use_connect = bone.is_connected
            edit_bones[bone.name].use_deform = bone.deforms
    if any(bone.type for bone in bones):
        _set_rigify_types(armature, bones)
    for collection in collections:
        collection.objects.link(armature)
    armature.matrix_world = Matrix(matrix.tolist())
    armature.show_in_front = True
    return armature


def _set_rigify_types(armature: bpy.types.Object, bones: Sequence[FittedBone]) -> None:
    """Prepare bones for Rigify, if it is enabled; it needs a bone collection with a button."""
    collection = cast(Any, armature.data).collections.new("Bones")
    if not hasattr(collection, "rigify_ui_row"):
        return
    collection.rigify_ui_row = 1
    for bone in bones:
        pose_bone = cast(Any, armature.pose.bones[bone.name])
        pose_bone.rigify_type = bone.type
        collection.assign(pose_bone)
