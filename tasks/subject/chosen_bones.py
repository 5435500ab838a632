"""The bones and meshes of a weight edit, from the active and selected ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from ...deformers import SkinningError
from .character import has_armature_modifier, list_deformed
from .stack import find_deforming_modifier


def find_active_armature(active: bpy.types.Object | None) -> bpy.types.Object | None:
    """The active armature, or the armature of the active mesh."""
    if active is None or active.type == "ARMATURE":
        return active
    if not has_armature_modifier(active):
        return None
    try:
        return find_deforming_modifier(active).object
    except SkinningError:
        return None


def find_deformed_meshes(
    active: bpy.types.Object | None, layer: bpy.types.ViewLayer, bones: Sequence[str] = ()
) -> list[bpy.types.Object]:
    """The active mesh if it has an armature; else all visible meshes that the active armature deforms.

    `bones`: where any mesh has a vertex group of these bones, meshes without one are left out.

    Returns
    -------
    list of Object
        Selected meshes first, then large meshes.
    """
    armature = find_active_armature(active)
    if active is None or armature is None:
        return []
    if active.type == "MESH":
        return [active]
    meshes = [obj for obj in list_deformed(layer, armature) if obj.visible_get(view_layer=layer)]
    weighted = [obj for obj in meshes if any(bone in obj.vertex_groups for bone in bones)] or meshes
    return sorted(weighted, key=lambda obj: (not obj.select_get(view_layer=layer), -len(obj.data.vertices)))


def find_chosen_bones(active: bpy.types.Object | None) -> list[str]:
    """Names of the selected bones, if the armature is active or in Pose Mode; else of the active vertex group."""
    armature = find_active_armature(active)
    if active is None:
        return []
    if armature is not None and (active.type == "ARMATURE" or armature.mode == "POSE"):
        selected = [bone.name for bone in armature.pose.bones if is_selected(bone)]
        if selected:
            return selected
    if active.type == "MESH":
        return [active.vertex_groups.active.name] if active.vertex_groups.active is not None else []
    bone = active.data.bones.active if active.type == "ARMATURE" else None
    return [bone.name] if bone is not None else []


def split_names(text: str) -> tuple[str, ...]:
    """Names of a list with commas."""
    return tuple(name.strip() for name in text.split(",") if name.strip())


def is_selected(bone: Any) -> bool:
    """Whether a pose bone is selected: since Blender 5.0 a property of its own, before of its bone."""
    return bool(bone.select if hasattr(bone, "select") else bone.bone.select)


def select_bones(armature: bpy.types.Object, names: Sequence[str]) -> None:
    """Select these bones alone; the first becomes the active one. Raises SkinningError if one is gone."""
    for name in names:
        if name not in armature.pose.bones:
            raise SkinningError(f"'{armature.name}' has no bone '{name}': choose another bone")
    for bone in armature.pose.bones:
        (bone if hasattr(bone, "select") else bone.bone).select = bone.name in names
    if names:
        armature.data.bones.active = armature.data.bones[names[0]]
