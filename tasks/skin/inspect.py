"""The characters of a file, and what Supple can do with them."""

from __future__ import annotations

from typing import Any

import bpy

from ...bridge.rigs.armatures import read_skeleton
from ...deformers import SkinningError
from ...settings.objects import settings_of
from ..subject.character import has_armature_modifier
from ..subject.stack import check_armature, find_deforming_modifier
from .bind import check_bindable, prepare


def describe_file(scene: bpy.types.Scene) -> dict[str, Any]:
    """The scene's frame range and its meshes that an armature deforms, in plain numbers, strings, lists and dicts."""
    return {
        "file": bpy.data.filepath,
        "frame_start": scene.frame_start,
        "frame_end": scene.frame_end,
        "objects": [describe_object(obj) for obj in scene.objects if has_armature_modifier(obj)],
    }


def describe_object(obj: bpy.types.Object) -> dict[str, Any]:
    """One mesh: its size, its armature, its settings, and why it cannot be bound, if so (it is bound to find out)."""
    settings = settings_of(obj)
    problem, armature, bones, joints = "", "", 0, 0
    try:
        modifier = find_deforming_modifier(obj)
        armature_object = check_armature(obj, modifier)
        armature = armature_object.name
        skeleton = read_skeleton(armature_object)
        bones, joints = len(skeleton.names), len(skeleton.joints.parents)
        prepare(check_bindable(obj), settings.method, settings.evaluate if settings.is_bound else None)
    except SkinningError as error:
        problem = str(error)
    return {
        "name": obj.name,
        "vertices": len(obj.data.vertices),
        "vertex_groups": len(obj.vertex_groups),
        "shape_keys": len(obj.data.shape_keys.key_blocks) if obj.data.shape_keys else 0,
        "armature": armature,
        "deforming_bones": bones,
        "joints": joints,
        "bound": settings.is_bound,
        "method": settings.method,
        "evaluate": settings.evaluate,
        "order": settings.order,
        "linear_group": settings.linear_group,
        "bake": settings.bake,
        "patterns": len(settings.patterns),
        "problem": problem,
    }
