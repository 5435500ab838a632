"""What keeps a character's layers apart now, as its node modifiers have it: nothing is found anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.layers import list_read_arrays, read_cover, read_layer_array, read_limbs
from ...bridge.modifiers import is_layer_modifier, list_inputs, read_input
from ...deformers.layers.keep import CoverPlan, LayerPlan, LimbPlan
from ...deformers.layers.order import sort_layers
from ...nodes.groups import read_tuck_number
from ...nodes.layers import ANCHOR, GAP, GIVE, GRIDS, LAYER, NEIGHBORS, SLOTS
from ..subject.character import object_to_armature
from .present import find_misfit, list_layered


def find_kept(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], joint_count: int) -> dict[str, LayerPlan]:
    """What keeps a character's layers apart, by name, the outermost first; nothing where it no longer fits.

    Parameters
    ----------
    meshes : sequence of Object
        Of the character.
    joint_count : int
        Of its armature.
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
