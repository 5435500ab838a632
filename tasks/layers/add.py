"""Stay Outside: node modifiers that keep a character's layers apart, with what they read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of
from ...bridge.meshes.layers import new_grids_object, new_slots_object, write_cover, write_neighbors
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.modifiers import LAYER_NAME, LIMBS_NAME, add_modifier, write_input
from ...bridge.rigs.armatures import read_skeleton
from ...bridge.rigs.joints import ensure_joints_object
from ...deformers import SkinningError
from ...deformers.geometry.solid import vertex_normals
from ...deformers.layers.limb_grids import LimbGrids, NearLimbs, find_near_bones, find_near_limbs, make_limb_grids
from ...deformers.layers.tuck import Cover, find_cover, find_neighbors
from ...deformers.rig.rest import Weights, normalize_weights
from ...nodes.groups import ensure_layer_joints, ensure_out_of_limbs, ensure_tuck
from ...nodes.layers import COUNT, GAP, GIVE, GRIDS, JOINTS, LAYER, LAYER_COUNT, SLOTS
from ...settings.objects import settings_of
from ..subject.character import find_skinned, read_rest
from .read import Dressed, Garment, find_place, read_dressed
from .remove import remove_layers

REACHES = 0.025, 0.06
"""How deep covered skin lies below tight and loose cloth, for a height of 1.8."""

LOOSE_GIVE = 2.0 / 3.0
"""Share of its `give` that skin moves beneath loose cloth, which moves itself."""

LIMB_REACH = 0.6
"""How far limbs are at rest that loose cloth may enter, for a height of 1.8."""

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
    covered : tuple of (below, above, count)
        Meshes that give way, what beneath, and how many of their vertices.
    """

    order: tuple[str, ...]
    pushed: dict[str, str]
    covered: tuple[tuple[str, str, int], ...]

    def describe(self) -> list[str]:
        """Sentences."""
        lines = [f"Layers, outermost first: {', '.join(self.order)}"]
        lines += [f"'{cloth}' stays out of the limbs of '{body}'" for cloth, body in self.pushed.items()]
        lines += [f"{count:,} vertices of '{below}' give way beneath '{above}'" for below, above, count in self.covered]
        return lines

    def as_json(self) -> dict[str, Any]:
        """The same as data."""
        covered = [{"below": below, "above": above, "vertices": count} for below, above, count in self.covered]
        return {"order": list(self.order), "pushed": self.pushed, "covered": covered}


@dataclass(frozen=True)
class LayerPlan:
    """What one mesh is given.

    Attributes
    ----------
    neighbors : int array, shape (V, 4)
        From `find_neighbors`.
    limbs : tuple or None
        For loose cloth: the grids, and what is known of its vertices.
    covers : list of (layer, cover)
    """

    garment: Garment
    neighbors: np.ndarray
    limbs: tuple[LimbGrids, NearLimbs] | None
    covers: list[tuple[int, Cover]]


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
    plans = [plan_layer(dressed, index) for index in range(len(dressed.garments))]
    remove_layers(meshes)
    for index, plan in enumerate(plans):
        _install(dressed, index, plan, find_thickness(dressed, index, plans))
    names = [garment.obj.name for garment in dressed.garments]
    pushed = {names[index]: names[dressed.list_below(index)[-1]] for index in sorted(dressed.loose)}
    covered = [
        (names[below], names[above], int(cover.is_covered.sum()))
        for below, plan in enumerate(plans)
        for above, cover in plan.covers
    ]
    return LayersReport(tuple(names), pushed, tuple(covered))


def plan_layer(dressed: Dressed, index: int) -> LayerPlan:
    """What a garment, by its index, is given; nothing is changed."""
    garment = dressed.garments[index]
    neighbors = find_neighbors(garment.points, garment.triangles)
    limbs = _find_limbs(dressed, index) if index in dressed.loose else None
    covers = [(above, _find_cover(dressed, garment, above)) for above in dressed.list_above(index)]
    return LayerPlan(garment, neighbors, limbs, [(above, cover) for above, cover in covers if cover.is_covered.any()])


def _find_cover(dressed: Dressed, garment: Garment, above: int) -> Cover:
    """What a layer covers of a mesh, in the mesh's own space."""
    layer = dressed.garments[above]
    to_own = np.linalg.inv(garment.to_armature)
    points, shown = (rows @ to_own[:3, :3].T + to_own[:3, 3] for rows in (garment.points, layer.shown))
    nearest = find_nearest_surface(points, shown, layer.triangles)
    reach = REACHES[above in dressed.loose] * dressed.unit / garment.scale
    return find_cover(points, vertex_normals(points, garment.triangles), shown, layer.triangles, nearest, reach)


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


def _read_weights(dressed: Dressed, body: Garment) -> Weights:
    """Normalized weights of a mesh; what no bone moves is left out."""
    skinned, skeleton = find_skinned(body.obj), read_skeleton(dressed.armature)
    rest = read_rest(skinned, skeleton, skinned.armature.matrix_world.inverted_safe() @ body.obj.matrix_world)
    count = len(skeleton.joints.parents)
    weights = normalize_weights(rest.weights, len(rest.points), count).by_vertex()
    kept = weights.joints < count
    return Weights(weights.vertices[kept], weights.joints[kept], weights.values[kept])


def find_thickness(dressed: Dressed, index: int, plans: Sequence[LayerPlan]) -> float:
    """How much thicker limbs are by the tight clothes between loose cloth and the body, armature space."""
    below, thickness = dressed.list_below(index), 0.0
    for above, cover in plans[below[-1]].covers if below else ():
        if above in below and above not in dressed.loose:
            body = dressed.garments[below[-1]]
            thickness += body.scale * float(np.median(cover.heights[cover.is_covered]))
    return thickness


def _install(dressed: Dressed, index: int, plan: LayerPlan, thickness: float) -> None:
    """Give a mesh its modifiers: out of the limbs first, then beneath its layers, the outermost first.

    Parameters
    ----------
    thickness : float
        From `find_thickness`.
    """
    obj = plan.garment.obj
    if plan.limbs is None and not plan.covers:
        return
    settings, place, unit = settings_of(obj), find_place(obj), dressed.unit
    write_neighbors(mesh_of(obj), plan.neighbors)
    if plan.limbs is not None:
        grids, near = plan.limbs
        skeleton = read_skeleton(dressed.armature)
        modifier = add_modifier(obj, LIMBS_NAME, "NODES", place)
        joints = ensure_joints_object(dressed.armature, skeleton, ensure_layer_joints(bool(skeleton.bendy)))
        _fill(modifier, ensure_out_of_limbs(), {
            JOINTS: joints, SLOTS: new_slots_object(obj, grids, near), GRIDS: new_grids_object(obj, grids),
            COUNT: len(mesh_of(obj).vertices), GAP: LOOSE_GAP * settings.layer_gap * unit + thickness,
        })  # fmt: skip
        place += 1
    for number, (above, cover) in enumerate(plan.covers):
        layer = dressed.garments[above].obj
        write_cover(mesh_of(obj), number, cover)
        modifier = add_modifier(obj, f"{LAYER_NAME} {layer.name}", "NODES", place + number)
        length = unit / plan.garment.scale
        give = settings.layer_give * (LOOSE_GIVE if above in dressed.loose else 1.0)
        _fill(modifier, ensure_tuck(number), {
            LAYER: layer, LAYER_COUNT: len(mesh_of(layer).vertices), COUNT: len(mesh_of(obj).vertices),
            GAP: settings.layer_gap * length, GIVE: give * length,
        })  # fmt: skip


def _fill(modifier: bpy.types.Modifier, group: bpy.types.NodeTree, inputs: dict[str, Any]) -> None:
    nodes: Any = modifier
    nodes.node_group = group
    nodes.show_expanded = False
    for name, value in inputs.items():
        write_input(modifier, name, value)
