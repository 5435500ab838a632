"""Stay Outside: node modifiers that keep a character's layers apart, with what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.layers import (
    new_grids_object,
    new_slots_object,
    write_anchors,
    write_cover,
    write_neighbors,
    write_rows,
)
from ...bridge.modifiers import LAYER_NAME, LIMBS_NAME, add_modifier, write_input
from ...bridge.rigs.armatures import read_skeleton
from ...bridge.rigs.joints import ensure_joints_object
from ...deformers import SkinningError
from ...deformers.layers.keep import LayerPlan
from ...deformers.layers.limb_grids import LimbGrids
from ...nodes.groups import ensure_layer_joints, ensure_out_of_limbs, ensure_tuck
from ...nodes.layers import COUNT, GAP, GIVE, GRIDS, JOINTS, LAYER, LAYER_COUNT, SLOTS
from ...settings.objects import settings_of
from ..subject.layered import list_layered
from .plan import plan_layers
from .read import Dressed, Garment, find_place, read_dressed
from .remove import remove_layers


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


def add_layers(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> LayersReport:
    """Keep a character's layers apart; what was there of it is replaced.

    Parameters
    ----------
    meshes : sequence of Object
        Of the character.

    Raises
    ------
    SkinningError
        Where no mesh lies over another, or something forbids it; nothing is changed then.
    """
    dressed = read_dressed(armature, meshes)
    return write_layers(dressed, plan_layers(dressed), meshes)


def write_layers(dressed: Dressed, plans: Mapping[str, LayerPlan], meshes: Sequence[bpy.types.Object]) -> LayersReport:
    """Give meshes what was planned for them, in place of what was there."""
    remove_layers(meshes)
    made: dict[LimbGrids, bpy.types.Object] = {}
    for garment in dressed.garments:
        settings_of(garment.obj).property_unset("offers_layers")
        _install(dressed, garment, plans, made)
    names = [garment.obj.name for garment in dressed.garments]
    pushed = {names[index]: names[dressed.list_below(index)[-1]] for index in sorted(dressed.loose)}
    covered = [
        (name, one.above, int(one.cover.is_covered.sum())) for name, plan in plans.items() for one in plan.covers
    ]
    bones = settings_of(dressed.armature).limb_bones
    return LayersReport(tuple(dressed.layered), pushed, _list_apart(plans), tuple(covered), bones)


def _list_apart(plans: Mapping[str, LayerPlan]) -> tuple[str, ...]:
    """Meshes whose limbs keep out of each other."""
    return tuple(name for name, plan in plans.items() if plan.limbs is not None and plan.limbs.near.giving is not None)


def keep_limbs_apart(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object], bones: str = "") -> LayersReport:
    """Keep a character's layers apart, and its limbs out of each other: `add_layers` with `layer_limbs` of all meshes.

    Parameters
    ----------
    bones : str
        The `limb_bones` of the armature: all limbs if empty.

    Raises
    ------
    SkinningError
        As `add_layers`; nothing is changed then.
    """
    before, own = [settings_of(obj).layer_limbs for obj in meshes], settings_of(armature)
    bones_before, own.limb_bones = own.limb_bones, bones
    for obj in meshes:
        settings_of(obj).layer_limbs = True
    try:
        return add_layers(armature, meshes)
    except SkinningError:
        own.limb_bones = bones_before
        for obj, was_on in zip(meshes, before, strict=True):
            settings_of(obj).layer_limbs = was_on
        raise


def offer_layers(armature: bpy.types.Object, meshes: Sequence[bpy.types.Object]) -> str:
    """Have the panel offer Stay Outside if there are layers that nothing keeps apart yet: which, in words; else ""."""
    if len(meshes) < 2 or list_layered(meshes):
        return ""
    try:
        layered = read_dressed(armature, meshes).layered
    except SkinningError:  # nothing lies over another, or Stay Outside itself would refuse
        return ""
    if not layered:
        return ""
    settings_of(bpy.data.objects[layered[0]]).offers_layers = True
    return f"Stay Outside can keep these layers apart: {', '.join(layered)}"


def _install(
    dressed: Dressed, garment: Garment, plans: Mapping[str, LayerPlan], made: dict[LimbGrids, bpy.types.Object]
) -> None:
    """Give a mesh its modifiers: out of the limbs first, then beneath its layers, the outermost first.

    `made`: grids objects, which meshes share.
    """
    obj, plan = garment.obj, plans[garment.obj.name]
    if plan.limbs is None and not plan.covers:
        return
    mesh, place, names = mesh_of(obj), find_place(obj), {each.obj.name: each.obj for each in dressed.garments}
    write_neighbors(mesh, plan.neighbors)
    has_parts = plan.anchors is not None
    if plan.anchors is not None:
        write_anchors(mesh, plan.anchors)
    if plan.limbs is not None:
        grids, near = plan.limbs.grids, plan.limbs.near
        skeleton = read_skeleton(dressed.armature)
        modifier = add_modifier(obj, LIMBS_NAME, "NODES", place)
        joints = ensure_joints_object(dressed.armature, skeleton, ensure_layer_joints(bool(skeleton.bendy)))
        is_shared = near.giving is not None
        if is_shared:
            write_rows(mesh, near)
        if grids not in made:
            made[grids] = new_grids_object(grids)
        _fill(modifier, ensure_out_of_limbs(has_parts, is_shared), {
            JOINTS: joints, SLOTS: new_slots_object(obj, grids, near), GRIDS: made[grids],
            COUNT: len(mesh.vertices), GAP: plan.limbs.gap,
        })  # fmt: skip
        place += 1
    for number, one in enumerate(plan.covers):
        layer, cover = names[one.above], one.cover
        write_cover(mesh, number, replace(cover, heights=cover.heights / np.float32(garment.scale)))
        modifier = add_modifier(obj, f"{LAYER_NAME} {layer.name}", "NODES", place + number)
        _fill(modifier, ensure_tuck(number, has_parts), {
            LAYER: layer, LAYER_COUNT: len(mesh_of(layer).vertices), COUNT: len(mesh.vertices),
            GAP: one.gap / garment.scale, GIVE: one.give / garment.scale,
        })  # fmt: skip


def _fill(modifier: bpy.types.Modifier, group: bpy.types.NodeTree, inputs: dict[str, Any]) -> None:
    nodes: Any = modifier
    nodes.node_group = group
    nodes.show_expanded = False
    for name, value in inputs.items():
        write_input(modifier, name, value)
