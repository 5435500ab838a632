"""Corrections that are there: their poses, and sculpting them again."""

from __future__ import annotations

import bpy

from ...bridge.meshes.data import mesh_of
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..left_out import LeftOut
from ..subject.character import find_skinned, list_deformed
from ..subject.corrected import list_bones
from .keys import find_correction
from .posed_copy import begin, check_correctable
from .poses import read_bone_pose, show_bone_pose

# Of a correction in its own pose: below, something keeps the pose from being shown
LEAST_VALUE = 0.9


def edit(obj: bpy.types.Object, key: str, layer: bpy.types.ViewLayer) -> tuple[list[bpy.types.Object], LeftOut]:
    """Go to the pose of a correction, and have it sculpted again, on all meshes of its character that have it.

    Returns
    -------
    list of Object, LeftOut
        The posed copies, and meshes without: see `begin`.

    Raises
    ------
    SkinningError
        If the pose no longer brings it in, or it cannot be edited; the pose is what it was.
    """
    armature = check_correctable(obj).armature
    before = read_bone_pose(armature)
    entry = find_correction(obj, key)
    bones, others = entry.bones, list_deformed(layer, armature)
    meshes = [other for other in others if other != obj and _has(other, key, bones)]
    try:
        show_correction(obj, key, layer)
        return begin([obj, *meshes], layer, key)
    except SkinningError:
        show_bone_pose(armature, before)
        raise


def _has(obj: bpy.types.Object, key: str, bones: str) -> bool:
    entry = settings_of(obj).corrections.get(key)
    return entry is not None and entry.bones == bones


def show_correction(obj: bpy.types.Object, key: str, layer: bpy.types.ViewLayer) -> list[str]:
    """Bring the armature into the pose of a correction.

    Returns
    -------
    list of str
        Bones of the pose that are gone.

    Raises
    ------
    SkinningError
        If the correction has no shape key, is muted, or is not brought in by its pose.
    """
    entry, skinned = find_correction(obj, key), find_skinned(obj)
    keys = mesh_of(obj).shape_keys
    if keys is None or key not in keys.key_blocks:
        raise SkinningError(f"The shape key '{key}' of '{obj.name}' was deleted: delete the correction")
    if keys.key_blocks[key].mute:
        raise SkinningError(f"Correction '{key}' is muted: unmute it first")
    missing = [bone for bone in list_bones(entry) if bone not in skinned.armature.pose.bones]
    if missing:
        raise SkinningError(f"Bone '{missing[0]}', which drives shape key '{key}', was deleted: delete the correction")
    lost = show_bone_pose(skinned.armature, entry.pose)
    layer.update()
    value = keys.evaluated_get(bpy.context.evaluated_depsgraph_get()).key_blocks[key].value
    if value < LEAST_VALUE:
        raise SkinningError(
            f"Correction '{key}' has a value of {value:.2f} in its own pose: check what else moves its bones, such "
            "as constraints, and what else drives the shape key"
        )
    return lost
