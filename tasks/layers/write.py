"""Stay Outside, written to the file: node modifiers that keep layers apart, and the data that these read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.layers import (
    list_layer_arrays,
    list_read_arrays,
    new_grids_object,
    new_slots_object,
    read_layer_array,
    write_layer_arrays,
)
from ...bridge.modifiers import LAYER_NAME, LIMBS_NAME, add_modifier, write_input
from ...bridge.rigs.armatures import read_skeleton
from ...bridge.rigs.joints import ensure_joints_object, has_segments
from ...deformers import SkinningError
from ...deformers.layers.keep import LayerPlan
from ...deformers.layers.limb_grids import LimbGrids
from ...nodes.groups import ensure_layer_joints, ensure_out_of_limbs, ensure_tuck
from ...nodes.layers import COUNT, GAP, GIVE, GRIDS, HEIGHT, JOINTS, LAYER, LAYER_COUNT, NEIGHBORS, SLOTS
from ...settings.objects import settings_of
from .present import find_misfit, list_layered, remove_layer_modifiers, remove_unused
from .read import Dressed, Garment, find_place


@dataclass(frozen=True)
class LayersReport:
    """What was kept apart.

    Attributes
    ----------
    order : tuple of str
        Meshes, the outermost first.
    pushed : dict of str to str
        Loose cloth, and the mesh whose limbs it stays out of.
    apart : tuple of str
        Meshes whose limbs keep out of each other.
    covered : tuple of (below, above, count)
        Meshes that give way, what beneath, and how many of their vertices.
    bones : str
        The `limb_bones` of the armature: "" for all limbs.
    """

    order: tuple[str, ...]
    pushed: dict[str, str]
    apart: tuple[str, ...]
    covered: tuple[tuple[str, str, int], ...]
    bones: str

    def describe(self) -> list[str]:
        """Sentences."""
        lines = [f"Layers, outermost first: {', '.join(self.order)}"] if self.order else []
        lines += [f"Limbs of '{name}' keep out of each other" for name in self.apart]
        lines += [f"Only these bones of them do: {self.bones}"] if self.apart and self.bones else []
        lines += [f"'{cloth}' stays out of the limbs of '{body}'" for cloth, body in self.pushed.items()]
        lines += [f"{count:,} vertices of '{below}' give way beneath '{above}'" for below, above, count in self.covered]
        return lines

    def as_json(self) -> dict[str, Any]:
        """The same as data."""
        covered = [{"below": below, "above": above, "vertices": count} for below, above, count in self.covered]
        return {
            "order": list(self.order),
            "pushed": self.pushed,
            "apart": list(self.apart),
            "bones": self.bones,
            "covered": covered,
        }


@dataclass(frozen=True)
class _Stack:
    """What a mesh is given.

    Attributes
    ----------
    arrays : dict of str to array
        From `list_layer_arrays`.
    modifiers : list of (name, node group, inputs)
        Out of the limbs first, then beneath its layers, the outermost first.
    """

    obj: bpy.types.Object
    arrays: dict[str, np.ndarray]
    modifiers: list[tuple[str, bpy.types.NodeTree, dict[str, Any]]]


def write_layers(
    dressed: Dressed,
    plans: Mapping[str, LayerPlan],
    meshes: Sequence[bpy.types.Object],
) -> LayersReport:
    """Give meshes the modifiers that were planned for them, in place of those that they have; see `add_layers`."""
    try:
        stacks = _make_stacks(dressed, plans, meshes)
    except BaseException:
        remove_unused()  # such as hidden objects
        raise
    if dressed.stores_bones:
        settings_of(dressed.armature).limb_bones = dressed.limb_bones
        for obj in meshes:
            settings_of(obj).layer_limbs = True
    remove_layer_modifiers(list_layered(meshes))
    for garment in dressed.garments:
        settings_of(garment.obj).property_unset("offers_layers")
    for stack in stacks:
        _install(stack)
    remove_unused()
    names = [garment.obj.name for garment in dressed.garments]
    pushed = {names[index]: names[dressed.list_below(index)[-1]] for index in sorted(dressed.loose)}
    covered = [
        (name, one.above, int(one.cover.is_covered.sum())) for name, plan in plans.items() for one in plan.covers
    ]
    return LayersReport(tuple(dressed.layered), pushed, _list_apart(plans), tuple(covered), dressed.limb_bones)


def _list_apart(plans: Mapping[str, LayerPlan]) -> tuple[str, ...]:
    """Meshes whose limbs keep out of each other."""
    return tuple(name for name, plan in plans.items() if plan.limbs is not None and plan.limbs.near.giving is not None)


def _make_stacks(dressed: Dressed, plans: Mapping[str, LayerPlan], meshes: Sequence[bpy.types.Object]) -> list[_Stack]:
    """What each mesh is given, and the hidden objects and node groups that it reads.

    Objects that share a mesh have covers of other numbers. All else of what it holds must be the same for them.
    """
    made: dict[LimbGrids, bpy.types.Object] = {}
    held: dict[bpy.types.Mesh, dict[str, tuple[np.ndarray, str]]] = {}
    shared = {garment.obj.data for garment in dressed.garments}
    for other in bpy.data.objects:
        if other.data in shared and other not in meshes and list_layered([other]) and not find_misfit([other]):
            own = held.setdefault(mesh_of(other), {})
            own |= {name: (read_layer_array(mesh_of(other), name), other.name) for name in list_read_arrays(other)}
    stacks = []
    for garment in dressed.garments:
        plan, mesh = plans[garment.obj.name], mesh_of(garment.obj)
        if plan.limbs is None and not plan.covers:
            continue
        own = held.setdefault(mesh, {})
        numbers = _find_free_numbers(own, len(plan.covers))
        arrays = list_layer_arrays(plan, numbers, garment.scale, len(mesh.vertices))
        for name in (own.keys() & arrays.keys()) - {NEIGHBORS}:  # these are the mesh's own
            if not np.array_equal(own[name][0], arrays[name]):
                raise SkinningError(
                    f"'{garment.obj.name}' shares its mesh with '{own[name][1]}', which stays outside otherwise: make "
                    "the mesh single-user, or use Remove Stay Outside there first"
                )
        own |= {name: (values, garment.obj.name) for name, values in arrays.items()}
        stacks.append(_Stack(garment.obj, arrays, _list_modifiers(dressed, garment, plan, numbers, made)))
    return stacks


def _find_free_numbers(names: Iterable[str], count: int) -> list[int]:
    """The first numbers of covers that none of some attributes has."""
    taken = {name.removeprefix(HEIGHT) for name in names}
    return list(islice((number for number in range(len(taken) + count) if str(number) not in taken), count))


def _list_modifiers(
    dressed: Dressed,
    garment: Garment,
    plan: LayerPlan,
    numbers: Sequence[int],
    made: dict[LimbGrids, bpy.types.Object],
) -> list[tuple[str, bpy.types.NodeTree, dict[str, Any]]]:
    """The modifiers of a mesh. `made`: grids objects, which meshes share."""
    obj, scale, has_parts = garment.obj, garment.scale, plan.anchors is not None
    names, count = {each.obj.name: each.obj for each in dressed.garments}, len(mesh_of(obj).vertices)
    found = []
    if plan.limbs is not None:
        grids, near = plan.limbs.grids, plan.limbs.near
        skeleton = read_skeleton(dressed.armature)
        joints = ensure_joints_object(
            dressed.armature, skeleton, ensure_layer_joints(has_segments(dressed.armature, skeleton))
        )
        if grids not in made:
            made[grids] = new_grids_object(grids)
        found.append((LIMBS_NAME, ensure_out_of_limbs(has_parts, near.giving is not None), {
            JOINTS: joints, SLOTS: new_slots_object(obj, grids, near), GRIDS: made[grids],
            COUNT: count, GAP: plan.limbs.gap,
        }))  # fmt: skip
    for number, one in zip(numbers, plan.covers, strict=True):
        layer = names[one.above]
        found.append((f"{LAYER_NAME} {layer.name}", ensure_tuck(number, has_parts), {
            LAYER: layer, LAYER_COUNT: len(mesh_of(layer).vertices), COUNT: count,
            GAP: one.gap / scale, GIVE: one.give / scale,
        }))  # fmt: skip
    return found


def _install(stack: _Stack) -> None:
    """Give a mesh its modifiers, and what they read."""
    place = find_place(stack.obj)
    write_layer_arrays(mesh_of(stack.obj), stack.arrays)
    for index, (name, group, inputs) in enumerate(stack.modifiers):
        modifier: Any = add_modifier(stack.obj, name, "NODES", place + index)
        modifier.node_group = group
        modifier.show_expanded = False
        for key, value in inputs.items():
            write_input(modifier, key, value)
