"""What keeps layers apart is taken away again: nothing else of the file has changed."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.layers import remove_layer_attributes, remove_unused_limbs_objects
from ...bridge.modifiers import is_layer_modifier, remove_modifier
from ...bridge.rigs.joints import remove_unused_joints_objects
from ...nodes.groups import remove_unused_groups
from ..subject.layered import list_layered


def remove_layers(meshes: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Take what keeps meshes apart off them; returns those that had any."""
    found = list_layered(meshes)
    for obj in found:
        for modifier in [each for each in obj.modifiers if is_layer_modifier(each)]:
            remove_modifier(obj, modifier, None)
        if mesh_of(obj).library is None:
            remove_layer_attributes(mesh_of(obj))
    if found:
        remove_unused_limbs_objects()
        remove_unused_joints_objects()
        remove_unused_groups()
    return found
