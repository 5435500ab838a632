"""Layers that a character has: whether they fit, what keeps them apart now, and how that is taken away."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.layers import (
    has_layer_array,
    list_read_arrays,
    list_unread_arrays,
    read_cover,
    read_layer_array,
    read_limbs,
    remove_unread_arrays,
    remove_unused_limbs_objects,
)
from ...bridge.modifiers import is_layer_modifier, list_inputs, read_input, remove_modifier
from ...bridge.rigs.joints import find_posing, remove_unused_joints_objects
from ...deformers.layers.keep import CoverPlan, LayerPlan, LimbPlan
from ...deformers.layers.order import sort_layers
from ...nodes.groups import list_layer_attributes, read_tuck_number, remove_unused_groups
from ...nodes.layers import ANCHOR, COUNT, GAP, GIVE, GRIDS, JOINTS, LAYER, LAYER_COUNT, NEIGHBORS, SLOTS
from ..subject.character import object_to_armature

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


def find_kept(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], joint_count: int) -> dict[str, LayerPlan]:
    """The plans that keep a character's layers apart, by name, the outermost first; none if they no longer fit.

    They are read from the node modifiers of its meshes. `joint_count` is its armature's.
    """
    layered = list_layered(meshes)
    if find_misfit(layered):
        return {}
    with np.errstate(invalid="ignore"):  # what is not finite becomes an index that no vertex has
        plans = {obj.name: _read_plan(armature, obj) for obj in layered}
    counts = {obj.name: len(mesh_of(obj).vertices) for obj in meshes}
    if not all(_is_sound(name, plan, counts) for name, plan in plans.items()):
        return {}
    limbs = (plan.limbs for plan in plans.values() if plan.limbs is not None)
    if any(plan.grids.bones.max(initial=-1) >= joint_count for plan in limbs):  # bones were removed
        return {}
    order = sort_layers((one.above, name) for name, plan in plans.items() for one in plan.covers)
    return {name: plans[name] for name in dict.fromkeys([*order, *plans]) if name in plans}


def _read_plan(armature: bpy.types.Object, obj: bpy.types.Object) -> LayerPlan:
    """What the modifiers of a mesh that are on in the viewport do: lengths in armature space."""
    mesh, limbs, covers = mesh_of(obj), None, []
    scale = float(np.cbrt(abs(np.linalg.det(np.array(object_to_armature(obj, armature), np.float64)[:3, :3]))))
    for modifier in (each for each in obj.modifiers if is_layer_modifier(each) and each.show_viewport):
        inputs = {name: read_input(modifier, name) for name in list_inputs(modifier)}
        if SLOTS in inputs:
            limbs = LimbPlan(*read_limbs(inputs[SLOTS], inputs[GRIDS]), inputs[GAP])
            continue
        cover = read_cover(mesh, read_tuck_number(modifier.node_group))
        cover = replace(cover, heights=cover.heights * np.float32(scale))
        covers.append(CoverPlan(inputs[LAYER].name, cover, inputs[GAP] * scale, inputs[GIVE] * scale))
    anchors = read_layer_array(mesh, ANCHOR).astype(np.intp) if ANCHOR in list_read_arrays(obj) else None
    return LayerPlan(read_layer_array(mesh, NEIGHBORS).astype(np.intp), limbs, tuple(covers), anchors)


def _is_sound(name: str, plan: LayerPlan, counts: Mapping[str, int]) -> bool:
    """Whether all indices of a plan are vertices, and all heights finite: a file may hold anything."""
    indices = [(plan.neighbors, counts[name])]
    indices += [] if plan.anchors is None else [(plan.anchors, counts[name])]
    indices += [(one.cover.corners, counts[one.above]) for one in plan.covers if one.above in counts]
    is_finite = all(np.isfinite([one.cover.weights.sum(), one.cover.heights.sum()]).all() for one in plan.covers)
    return is_finite and all(((rows >= 0) & (rows < count)).all() for rows, count in indices)


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
