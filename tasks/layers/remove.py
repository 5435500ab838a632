"""What keeps layers apart is taken away again: nothing else of the file has changed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import bpy

from ...bridge.meshes.layers import remove_unread_arrays, remove_unused_limbs_objects
from ...bridge.modifiers import is_layer_modifier, remove_modifier
from ...bridge.rigs.joints import remove_unused_joints_objects
from ...nodes.groups import remove_unused_groups
from .present import has_leftovers, list_layered


def remove_layers(meshes: Sequence[bpy.types.Object]) -> list[bpy.types.Object]:
    """Take what keeps meshes apart off them; returns those that had any of it.

    What a mesh holds stays as long as an object that shares it reads it.
    """
    layered = list_layered(meshes)
    found = [obj for obj in meshes if obj in layered or has_leftovers(obj)]
    if found:
        remove_layer_modifiers(layered)
        remove_unused()
    return found


def remove_layer_modifiers(meshes: Iterable[bpy.types.Object]) -> None:
    """Take the modifiers off meshes that keep them apart: what they read stays."""
    for obj in meshes:
        for modifier in [each for each in obj.modifiers if is_layer_modifier(each)]:
            remove_modifier(obj, modifier, None)


def remove_unused() -> None:
    """Remove what no modifier reads any more."""
    remove_unread_arrays()
    remove_unused_limbs_objects()
    remove_unused_joints_objects()
    remove_unused_groups()
