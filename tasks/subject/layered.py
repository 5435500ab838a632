"""What no longer fits of what keeps a character's layers apart."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...bridge.meshes.data import mesh_of
from ...bridge.modifiers import is_layer_modifier, list_inputs, read_input
from ...bridge.rigs.joints import find_posing
from ...nodes.layers import COUNT, GRIDS, JOINTS, LAYER, LAYER_COUNT, SLOTS

AGAIN = "press Stay Outside again"


def list_layered(meshes: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Meshes that are kept outside of others, or give way beneath them."""
    return [obj for obj in meshes if any(map(is_layer_modifier, obj.modifiers))]


def find_notice(meshes: Iterable[bpy.types.Object]) -> str:
    """What is wrong with the first mesh that does not stay outside, or give way, any more; "" if none is."""
    return next(filter(None, (_describe(obj, each) for obj in meshes for each in obj.modifiers)), "")


def _describe(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> str:
    if not is_layer_modifier(modifier):
        return ""
    if modifier.node_group is None:
        return f"The node group of modifier '{modifier.name}' of '{obj.name}' was removed: {AGAIN}"
    inputs = {name: read_input(modifier, name) for name in list_inputs(modifier)}
    if inputs[COUNT] != len(mesh_of(obj).vertices):
        return f"Vertices of '{obj.name}' were added or removed: {AGAIN}"
    if SLOTS in inputs:
        joints, armatures = inputs[JOINTS], [each.object for each in obj.modifiers if each.type == "ARMATURE"]
        if None in (joints, inputs[SLOTS], inputs[GRIDS]) or find_posing(joints) not in armatures:
            return f"'{obj.name}' stays out of the limbs of another armature: {AGAIN}"
        return ""
    layer = inputs[LAYER]
    if layer is None or layer.name not in bpy.context.view_layer.objects:
        return f"A mesh above '{obj.name}' was deleted: {AGAIN}"
    if inputs[LAYER_COUNT] != len(mesh_of(layer).vertices):
        return f"Vertices of '{layer.name}' were added or removed: {AGAIN}"
    return ""
