"""Layers that no longer fit the character."""

from __future__ import annotations

from collections.abc import Iterable

import bpy

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.layers import has_layer_array, list_unread_arrays
from ...bridge.modifiers import is_layer_modifier, list_inputs, read_input
from ...bridge.rigs.joints import find_posing
from ...nodes.groups import list_layer_attributes
from ...nodes.layers import COUNT, GRIDS, JOINTS, LAYER, LAYER_COUNT, SLOTS

AGAIN = "press Stay Outside again"


def list_layered(meshes: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Meshes that are kept outside of others, or give way beneath them."""
    return [obj for obj in meshes if any(map(is_layer_modifier, obj.modifiers))]


def has_leftovers(obj: bpy.types.Object) -> bool:
    """Whether a mesh holds attributes that no object reads any more, as after removing modifiers by hand."""
    return mesh_of(obj).is_editable and bool(list_unread_arrays(mesh_of(obj), bpy.data.objects))


def list_joined(meshes: Iterable[bpy.types.Object]) -> list[bpy.types.Object]:
    """Meshes with all that they lie beneath or above, whichever armature has posed them."""
    layered = list_layered(bpy.data.objects)
    above = {obj: set(filter(None, map(_find_above, filter(is_layer_modifier, obj.modifiers)))) for obj in layered}
    found, size = set(meshes), -1
    while size < len(found):
        size = len(found)
        for obj, layers in above.items():
            if layers and (obj in found or layers & found):
                found |= {obj} | layers
    return sorted(found, key=lambda obj: obj.name)


def _find_above(modifier: bpy.types.Modifier) -> bpy.types.Object | None:
    has_layer = modifier.node_group is not None and LAYER in list_inputs(modifier)
    return read_input(modifier, LAYER) if has_layer else None


def find_notice(meshes: Iterable[bpy.types.Object]) -> str:
    """The problem of the first mesh whose layers no longer work; "" if there is none."""
    meshes = list(meshes)
    if misfit := find_misfit(meshes):
        return misfit
    left = next(filter(has_leftovers, meshes), None)
    return f"A modifier of Stay Outside of '{left.name}' was removed: {AGAIN}" if left is not None else ""


def find_misfit(meshes: Iterable[bpy.types.Object]) -> str:
    """The first mismatch between a mesh and its layers; "" if there is none."""
    return next(filter(None, (_describe(obj, each) for obj in meshes for each in obj.modifiers)), "")


def _describe(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> str:
    if not is_layer_modifier(modifier):
        return ""
    if modifier.node_group is None:
        return f"The node group of modifier '{modifier.name}' of '{obj.name}' was removed: {AGAIN}"
    inputs = {name: read_input(modifier, name) for name in list_inputs(modifier)}
    if inputs[COUNT] != len(mesh_of(obj).vertices):
        return f"Vertices of '{obj.name}' were added or removed: {AGAIN}"
    if not all(has_layer_array(mesh_of(obj), name) for name in list_layer_attributes(modifier.node_group)):
        return f"Attributes of '{obj.name}' that Stay Outside reads were removed: {AGAIN}"
    if SLOTS in inputs:
        joints, armatures = inputs[JOINTS], [each.object for each in obj.modifiers if each.type == "ARMATURE"]
        if None in (joints, inputs[SLOTS], inputs[GRIDS]) or find_posing(joints) not in filter(None, armatures):
            return f"'{obj.name}' stays out of the limbs of another armature: {AGAIN}"
        return ""
    layer = inputs[LAYER]
    if layer is None or not any(layer == each for each in bpy.context.view_layer.objects):
        return f"A mesh above '{obj.name}' was deleted: {AGAIN}"
    if inputs[LAYER_COUNT] != len(mesh_of(layer).vertices):
        return f"Vertices of '{layer.name}' were added or removed: {AGAIN}"
    return ""
