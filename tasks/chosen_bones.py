"""Which bones and meshes a user means who works on weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy

from ..deformers import SkinningError
from .character import find_armature_modifier, has_armature_modifier


def find_active_armature(active: bpy.types.Object | None) -> bpy.types.Object | None:
    """The active armature, or that of the active mesh."""
    if active is None or active.type == "ARMATURE":
        return active
    if not has_armature_modifier(active):
        return None
    try:
        return find_armature_modifier(active).object
    except SkinningError:
        return None


def find_deformed_meshes(
    active: bpy.types.Object | None, layer: bpy.types.ViewLayer, bones: Sequence[str] = ()
) -> list[bpy.types.Object]:
    """The active mesh if it has an armature; else all visible ones that the active armature deforms.

    Selected ones come first, then large ones. Where bones are given, meshes without their groups are left out, as
    long as any has them.
    """
    armature = find_active_armature(active)
    if active is None or armature is None:
        return []
    if active.type == "MESH":
        return [active]
    meshes = [
        one for one in layer.objects if has_armature_modifier(one, armature) and one.visible_get(view_layer=layer)
    ]
    held = [one for one in meshes if any(bone in one.vertex_groups for bone in bones)] or meshes
    return sorted(held, key=lambda one: (not one.select_get(view_layer=layer), -len(one.data.vertices)))


def find_chosen_bones(active: bpy.types.Object | None) -> list[str]:
    """Names of the selected bones of an armature that is active or in Pose Mode, else the active vertex group's."""
    armature = find_active_armature(active)
    if active is None:
        return []
    if armature is not None and (active.type == "ARMATURE" or armature.mode == "POSE"):
        chosen = [bone.name for bone in armature.pose.bones if is_selected(bone)]
        if chosen:
            return chosen
    if active.type == "MESH":
        return [active.vertex_groups.active.name] if active.vertex_groups.active is not None else []
    bone = active.data.bones.active if active.type == "ARMATURE" else None
    return [bone.name] if bone is not None else []


def is_selected(bone: Any) -> bool:
    """Whether a pose bone is selected: from Blender 5.0 on that is its own, before it was the bone's."""
    return bool(bone.select if hasattr(bone, "select") else bone.bone.select)
