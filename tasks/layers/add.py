"""Stay Outside: node modifiers that keep a character's layers apart, with what they read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_hard_edges
from ...bridge.meshes.layers import (
    new_grids_object,
    new_slots_object,
    write_anchors,
    write_cover,
    write_neighbors,
    write_rows,
)
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.modifiers import LAYER_NAME, LIMBS_NAME, add_modifier, write_input
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...bridge.rigs.joints import ensure_joints_object
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import SkinningError
from ...deformers.geometry.solid import vertex_normals
from ...deformers.layers.keep import CoverPlan, LayerPlan, LimbPlan
from ...deformers.layers.limb_grids import LimbGrids, NearLimbs, find_near_bones, find_near_limbs, make_limb_grids
from ...deformers.layers.limb_pairs import find_other_limbs, find_pairs
from ...deformers.layers.stiff import find_anchors
from ...deformers.layers.tuck import find_cover, find_neighbors
from ...deformers.weight_editing.stiff_parts import find_stiff_parts
from ...nodes.groups import ensure_layer_joints, ensure_out_of_limbs, ensure_tuck
from ...nodes.layers import COUNT, GAP, GIVE, GRIDS, JOINTS, LAYER, LAYER_COUNT, SLOTS
from ...settings.objects import settings_of
from ..subject.character import find_skinned, object_to_armature, read_weight_table
from ..subject.chosen_bones import split_names
from ..subject.layered import list_layered
from ..subject.rig_presets import find_rig_of
from .read import Dressed, Garment, find_place, read_dressed
from .remove import remove_layers

REACHES = 0.025, 0.06
"""How deep covered skin lies below tight and loose cloth, for a height of 1.8."""

LOOSE_GIVE = 2.0 / 3.0
"""Share of its `give` that skin moves beneath loose cloth, which moves itself."""

LIMB_REACH = 0.6
"""How far limbs are at rest that loose cloth may enter, for a height of 1.8."""

SKIN_GAP = 1e-3
"""Distance of limbs that keep out of each other, for a height of 1.8."""

LOOSE_GAP = 2.0
"""How many of its gaps loose cloth stays away from limbs."""


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
    """

    order: tuple[str, ...]
    pushed: dict[str, str]
    apart: tuple[str, ...]
    covered: tuple[tuple[str, str, int], ...]

    def describe(self) -> list[str]:
        """Sentences."""
        lines = [f"Layers, outermost first: {', '.join(self.order)}"] if self.order else []
        lines += [f"Limbs of '{name}' keep out of each other" for name in self.apart]
        lines += [f"'{cloth}' stays out of the limbs of '{body}'" for cloth, body in self.pushed.items()]
        lines += [f"{count:,} vertices of '{below}' give way beneath '{above}'" for below, above, count in self.covered]
        return lines

    def as_json(self) -> dict[str, Any]:
        """The same as data."""
        covered = [{"below": below, "above": above, "vertices": count} for below, above, count in self.covered]
        return {"order": list(self.order), "pushed": self.pushed, "apart": list(self.apart), "covered": covered}


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
    plans = plan_layers(dressed)
    remove_layers(meshes)
    for garment in dressed.garments:
        settings_of(garment.obj).property_unset("offers_layers")
        _install(dressed, garment, plans)
    names = [garment.obj.name for garment in dressed.garments]
    pushed = {names[index]: names[dressed.list_below(index)[-1]] for index in sorted(dressed.loose)}
    covered = [
        (name, one.above, int(one.cover.is_covered.sum())) for name, plan in plans.items() for one in plan.covers
    ]
    return LayersReport(tuple(dressed.layered), pushed, _list_apart(plans), tuple(covered))


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


def plan_layers(dressed: Dressed) -> dict[str, LayerPlan]:
    """What all meshes are given, by name, the outermost first; nothing is changed."""
    covers = [
        tuple(_plan_cover(dressed, index, above) for above in dressed.list_above(index))
        for index in range(len(dressed.garments))
    ]
    covers = [tuple(one for one in found if one.cover.is_covered.any()) for found in covers]
    plans = {}
    for index, garment in enumerate(dressed.garments):
        limbs = _plan_limbs(dressed, index, covers) if index in dressed.loose else _plan_others(dressed, index)
        neighbors = find_neighbors(garment.points, garment.triangles)
        anchors = _find_anchors(dressed, garment)
        plans[garment.obj.name] = LayerPlan(neighbors, limbs, covers[index], anchors)
    if not _list_apart(plans) and any(settings_of(garment.obj).layer_limbs for garment in dressed.garments):
        raise SkinningError(
            f"No limbs of '{dressed.armature.name}' could meet: Keep Limbs Apart is for bodies of one mesh with arms "
            "or legs"
        )
    return plans


def _plan_cover(dressed: Dressed, index: int, above: int) -> CoverPlan:
    """What a layer covers of a mesh, and how that gives way."""
    garment, layer, is_loose = dressed.garments[index], dressed.garments[above], above in dressed.loose
    settings, normals = settings_of(garment.obj), vertex_normals(garment.points, garment.triangles)
    nearest = find_nearest_surface(garment.points, layer.shown, layer.triangles)
    reach = REACHES[is_loose] * dressed.unit
    cover = find_cover(garment.points, normals, layer.shown, layer.triangles, nearest, reach)
    give = settings.layer_give * (LOOSE_GIVE if is_loose else 1.0)
    return CoverPlan(layer.obj.name, cover, settings.layer_gap * dressed.unit, give * dressed.unit)


def _plan_limbs(dressed: Dressed, index: int, covers: Sequence[tuple[CoverPlan, ...]]) -> LimbPlan:
    """What loose cloth stays out of; tight clothes beneath it make limbs thicker."""
    below = dressed.list_below(index)
    tight = {dressed.garments[other].obj.name for other in below if other not in dressed.loose}
    between = [one.cover for one in covers[below[-1]] if one.above in tight]
    thickness = sum(float(np.median(cover.heights[cover.is_covered])) for cover in between)
    gap = LOOSE_GAP * settings_of(dressed.garments[index].obj).layer_gap * dressed.unit
    return LimbPlan(*_find_limbs(dressed, index), gap + thickness)


def _find_limbs(dressed: Dressed, index: int) -> tuple[LimbGrids, NearLimbs]:
    """The grids of the limbs that loose cloth may enter."""
    garment, body = dressed.garments[index], dressed.garments[dressed.list_below(index)[-1]]
    weights = _read_weights(dressed, body)
    points = garment.points
    bones = find_near_bones(points, body.points, weights, dressed.height, LIMB_REACH * dressed.unit)
    used = np.unique(bones[bones >= 0])
    if not len(used):
        raise SkinningError(f"'{body.obj.name}' has no limbs near '{garment.obj.name}': give it weights first")
    grids = make_limb_grids(body.points, body.triangles, weights, used, dressed.height, find_nearest_surface)
    return grids, find_near_limbs(points, bones, grids)


def _plan_others(dressed: Dressed, index: int) -> LimbPlan | None:
    """What keeps a mesh out of the other limbs of its body, which give way, too; None where that is not asked for, or
    there are none."""
    garment, body = dressed.garments[index], dressed.garments[[index, *dressed.list_below(index)][-1]]
    if not settings_of(garment.obj).layer_limbs:
        return None
    skeleton, unit = read_skeleton(dressed.armature), dressed.unit
    weights, of_body = _read_weights(dressed, garment), _read_weights(dressed, body)
    skin = body.points, body.triangles, of_body
    pairs = find_pairs(
        garment.points, weights, skin, skeleton.joints.parents, _find_hard(dressed.armature, skeleton), unit,
        LIMB_REACH * unit, find_nearest_surface, _read_pairs(dressed.armature, skeleton),
    )  # fmt: skip
    used = np.unique(pairs[0][pairs[0] >= 0])
    if not len(used):
        return None
    grids = make_limb_grids(*skin, used, dressed.height, find_nearest_surface)
    near = find_other_limbs(garment.points, garment.triangles, weights, pairs, grids)
    return LimbPlan(grids, near, SKIN_GAP * unit)


def _read_pairs(armature: bpy.types.Object, skeleton: Skeleton) -> np.ndarray | None:
    """Which joints the artist keeps out of which, bool array, shape (B, B); None where that are all limbs."""
    groups = [split_names(group) for group in settings_of(armature).limb_bones.split(";")]
    groups = [group for group in groups if group]
    if not groups:
        return None
    names = np.array([skeleton.name_joint(joint) for joint in range(len(skeleton.joints.parents))])
    may_meet = np.zeros((len(names), len(names)), bool)
    for group in groups:
        if len(set(group)) < 2:
            raise SkinningError(f"'{group[0]}' is alone: name two bones or more that keep out of each other")
        for bone in group:
            if bone not in names:
                raise SkinningError(f"'{armature.name}' has no bone '{bone}': choose another bone")
        is_own = np.isin(names, group)
        may_meet |= is_own[:, None] & is_own & (names[:, None] != names)
    return may_meet


def _find_hard(armature: bpy.types.Object, skeleton: Skeleton) -> np.ndarray:
    """Bones whose skin does not give way, bool array, shape (B,): hands and what is on them, where a preset says so."""
    rig = find_rig_of(armature, read_rest_bones(armature))
    chains = () if rig is None else (chain for (part, _), chain in rig.bones.items() if part == "hand")
    names = {bone for chain in chains for bone in chain}
    hands = [joint for joint in map(int, skeleton.first_joints) if skeleton.name_joint(joint) in names]
    return np.isin(np.arange(len(skeleton.joints.parents)), np.nonzero(skeleton.joints.chains.below[:, hands])[0])


def _find_anchors(dressed: Dressed, garment: Garment) -> np.ndarray | None:
    """What the stiff parts of a mesh, such as buckles, are moved like; None where it has none."""
    bones, hard = read_skeleton(dressed.armature).envelopes, read_hard_edges(mesh_of(garment.obj))
    return find_anchors(
        garment.points, find_stiff_parts(garment.points, garment.triangles, None, bones.heads, bones.tails, hard)
    )


def _read_weights(dressed: Dressed, body: Garment) -> np.ndarray:
    """Normalized weights of a mesh, float32, shape (V, B)."""
    skeleton = read_skeleton(dressed.armature)
    return read_weight_table(find_skinned(body.obj), skeleton, object_to_armature(body.obj, dressed.armature))


def _install(dressed: Dressed, garment: Garment, plans: Mapping[str, LayerPlan]) -> None:
    """Give a mesh its modifiers: out of the limbs first, then beneath its layers, the outermost first."""
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
        _fill(modifier, ensure_out_of_limbs(has_parts, is_shared), {
            JOINTS: joints, SLOTS: new_slots_object(obj, grids, near), GRIDS: new_grids_object(obj, grids),
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
