"""What keeps a character's layers apart, and its limbs out of each other: found at rest, before anything is changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.meshes.data import mesh_of, read_hard_edges
from ...bridge.meshes.nearest import find_nearest_surface
from ...bridge.rigs.armatures import Skeleton, read_skeleton
from ...bridge.rigs.rest_bones import read_rest_bones
from ...deformers import SkinningError
from ...deformers.geometry.solid import vertex_normals
from ...deformers.layers.keep import CoverPlan, LayerPlan, LimbPlan
from ...deformers.layers.limb_grids import LimbGrids, find_near_bones, find_near_limbs, make_limb_grids
from ...deformers.layers.limb_pairs import find_limb_pairs, find_other_limbs
from ...deformers.layers.stiff import find_anchors
from ...deformers.layers.tuck import find_cover, find_neighbors
from ...deformers.weight_editing.stiff_parts import find_stiff_parts
from ...settings.objects import settings_of
from ..subject.chosen_bones import split_names
from ..subject.rig_presets import find_rig_of
from .read import Dressed, Garment

# How deep covered skin lies below tight and loose cloth, for a height of 1.8
REACHES = 0.025, 0.06

# Share of its `give` that skin moves beneath loose cloth, which moves itself
LOOSE_GIVE = 2.0 / 3.0

# How far limbs are at rest that a mesh may enter, for a height of 1.8
LIMB_REACH = 0.6

# Distance of limbs that keep out of each other, for a height of 1.8
SKIN_GAP = 1e-3

# How many of its gaps loose cloth stays away from limbs
LOOSE_GAP = 2.0


@dataclass(frozen=True)
class _Meeting:
    """A mesh, and the limbs of its body that it may enter.

    Attributes
    ----------
    index, body : int
        Of the mesh, and of the body, among the garments.
    bones : int array, shape (K, V)
        From `find_near_bones` or `find_limb_pairs`.
    shares : float32 array, shape (K, V), or None
        From `find_limb_pairs`; None of loose cloth.
    gap : float
        In armature space.
    """

    index: int
    body: int
    bones: np.ndarray
    shares: np.ndarray | None
    gap: float


def plan_layers(dressed: Dressed) -> dict[str, LayerPlan]:
    """What all meshes are given, by name, the outermost first; nothing is changed."""
    covers = [
        tuple(_plan_cover(dressed, index, above) for above in dressed.list_above(index))
        for index in range(len(dressed.garments))
    ]
    covers = [tuple(one for one in found if one.cover.is_covered.any()) for found in covers]
    limbs = _plan_limbs(dressed, covers)
    return {
        garment.obj.name: LayerPlan(
            find_neighbors(garment.points, garment.triangles),
            limbs.get(index),
            covers[index],
            _find_anchors(dressed, garment),
        )
        for index, garment in enumerate(dressed.garments)
    }


def _plan_cover(dressed: Dressed, index: int, above: int) -> CoverPlan:
    """What a layer covers of a mesh, and how that gives way."""
    garment, layer, is_loose = dressed.garments[index], dressed.garments[above], above in dressed.loose
    settings, normals = settings_of(garment.obj), vertex_normals(garment.points, garment.triangles)
    nearest = find_nearest_surface(garment.points, layer.shown, layer.triangles)
    reach = REACHES[is_loose] * dressed.unit
    cover = find_cover(garment.points, normals, layer.shown, layer.triangles, nearest, reach)
    give = settings.layer_give * (LOOSE_GIVE if is_loose else 1.0)
    return CoverPlan(layer.obj.name, cover, settings.layer_gap * dressed.unit, give * dressed.unit)


def _plan_limbs(dressed: Dressed, covers: Sequence[tuple[CoverPlan, ...]]) -> dict[int, LimbPlan]:
    """What keeps meshes out of limbs, by index: all meshes over one body read the same grids."""
    meetings = [_find_limbs(dressed, index, covers) for index in sorted(dressed.loose)]
    others = [_find_other_limbs(dressed, index) for index in dressed.apart if index not in dressed.loose]
    if dressed.apart and not any((meeting.bones >= 0).any() for meeting in others):
        raise SkinningError(
            f"No limbs of '{dressed.armature.name}' could meet: Keep Limbs Apart is for bodies of one mesh with arms "
            "or legs"
        )
    meetings += [meeting for meeting in others if (meeting.bones >= 0).any()]
    used = {meeting.body: np.zeros(0, np.intp) for meeting in meetings}
    for meeting in meetings:
        used[meeting.body] = np.union1d(used[meeting.body], meeting.bones[meeting.bones >= 0])
    grids = {body: _measure_limbs(dressed, body, bones) for body, bones in used.items()}
    return {meeting.index: _plan_meeting(dressed, meeting, grids[meeting.body]) for meeting in meetings}


def _find_limbs(dressed: Dressed, index: int, covers: Sequence[tuple[CoverPlan, ...]]) -> _Meeting:
    """The limbs that loose cloth stays out of; tight clothes beneath it make them thicker."""
    garment, below = dressed.garments[index], dressed.list_below(index)
    body = dressed.garments[below[-1]]
    bones = find_near_bones(
        garment.points, body.points, dressed.weights[below[-1]], dressed.height, LIMB_REACH * dressed.unit
    )
    if not (bones >= 0).any():
        raise SkinningError(f"'{body.obj.name}' has no limbs near '{garment.obj.name}': give it weights first")
    tight = {dressed.garments[other].obj.name for other in below if other not in dressed.loose}
    between = [one.cover for one in covers[below[-1]] if one.above in tight]
    thickness = sum(float(np.median(cover.heights[cover.is_covered])) for cover in between)
    return _Meeting(
        index, below[-1], bones, None, LOOSE_GAP * settings_of(garment.obj).layer_gap * dressed.unit + thickness
    )


def _find_other_limbs(dressed: Dressed, index: int) -> _Meeting:
    """The other limbs of its body that a mesh stays out of, and which give way, too."""
    garment, body = dressed.garments[index], [index, *dressed.list_below(index)][-1]
    skin, skeleton = dressed.garments[body], read_skeleton(dressed.armature)
    bones, shares = find_limb_pairs(
        garment.points,
        dressed.weights[index],
        (skin.points, skin.triangles, dressed.weights[body]),
        skeleton.joints.parents,
        _find_hard(dressed.armature, skeleton),
        dressed.unit,
        LIMB_REACH * dressed.unit,
        find_nearest_surface,
        _read_pairs(dressed, skeleton),
    )
    return _Meeting(index, body, bones, shares, SKIN_GAP * dressed.unit)


def _measure_limbs(dressed: Dressed, body: int, bones: np.ndarray) -> LimbGrids:
    skin, weights = dressed.garments[body], dressed.weights[body]
    return make_limb_grids(skin.points, skin.triangles, weights, bones, dressed.height, find_nearest_surface)


def _plan_meeting(dressed: Dressed, meeting: _Meeting, grids: LimbGrids) -> LimbPlan:
    garment, weights = dressed.garments[meeting.index], dressed.weights[meeting.index]
    if meeting.shares is None:
        return LimbPlan(grids, find_near_limbs(garment.points, meeting.bones, grids), meeting.gap)
    pairs = meeting.bones, meeting.shares
    return LimbPlan(grids, find_other_limbs(garment.points, garment.triangles, weights, pairs, grids), meeting.gap)


def _read_pairs(dressed: Dressed, skeleton: Skeleton) -> np.ndarray | None:
    """Which joints the artist keeps out of which, bool array, shape (B, B); None if that are all limbs."""
    groups = [split_names(group) for group in dressed.limb_bones.split(";")]
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
                raise SkinningError(f"'{dressed.armature.name}' has no bone '{bone}': choose another bone")
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
    """What the stiff parts of a mesh, such as buckles, are moved like; None if it has none."""
    bones, hard = read_skeleton(dressed.armature).envelopes, read_hard_edges(mesh_of(garment.obj))
    return find_anchors(
        garment.points, find_stiff_parts(garment.points, garment.triangles, None, bones.heads, bones.tails, hard)
    )
