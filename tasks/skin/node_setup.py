"""What nodes take to deform an object, found out before anything of it is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge import modifiers
from ...bridge.armatures import Skeleton
from ...bridge.meshes import FaceKeys, mesh_of, read_face_corners
from ...deformers import METHODS, SkinningError
from ...deformers.rig.fraction_weights import extend_weights
from ...deformers.rig.influences import Influences, pack_influences, pack_interpolable_influences
from ...deformers.rig.rest import Rest, Weights
from ...deformers.rig.sdef import SdefPairs
from ...deformers.skinning.centers import place_centers
from ...deformers.skinning.joint_limits import AtRest, find_at_rest
from ...deformers.skinning.joint_shares import JointShares, find_joint_shares
from ...deformers.skinning.rotation_centers import RotationCenters
from ...settings.choices import read_params
from ..character import Character, changes_topology, check_modifiers_below, modifiers_above, read_character
from ..stack import SkinnedObject
from ..surfaces import with_surfaces
from ..twist import read_choice, with_fractions
from .node_checks import (
    check_bones,
    check_centers,
    check_mesh,
    check_modifiers_above,
    check_sharers,
    check_twists,
    list_sharing_armatures,
)
from .poses import find_skeleton

NO_WEIGHT = 1e-12
"""Has a joint among those that a vertex follows, and nothing follow from it."""


@dataclass(frozen=True)
class NodeSetup:
    """What a node modifier is to be given.

    Attributes
    ----------
    character : Character
    influences : Influences
    choices : Choices
    centers : RotationCenters or None
        What vertices rotate about, for methods that do.
    shares : JointShares or None
        What vertices take of bulge limit and contact; None where none is chosen, or nodes can not tell.
    at_rest : AtRest or None
        Goes with `shares`: how the vertices are about their joints.
    shape_changes : bool
        Whether these may be elsewhere before they are posed: by shape keys or modifiers above, or as the object moves.
    """

    character: Character
    influences: Influences
    choices: Choices
    centers: RotationCenters | None
    shares: JointShares | None
    at_rest: AtRest | None
    shape_changes: bool


@dataclass(frozen=True)
class Choices:
    """What the user has chosen that nodes depend on."""

    method: str
    params: Any
    """The method's Params."""
    armature: int
    """By `session_uid`."""
    linear_group: str
    vertex_group: str
    """Of the Armature modifier, "" for none."""
    invert: bool
    """Whether that group is inverted."""
    twist: str
    """What is chosen about twist: `twist.read_choice`."""


def prepare(skinned: SkinnedObject, method: str) -> NodeSetup:
    """Find out what nodes take to deform an object; nothing of it is changed.

    Parameters
    ----------
    skinned : SkinnedObject
    method : str
        Key of `METHODS`.

    Raises
    ------
    SkinningError
        Where nodes can not deform it, or nothing can.
    """
    check_modifiers_below(skinned)
    above = modifiers_above(skinned.obj, skinned.deforming)
    return prepare_known(skinned, read_node_choices(skinned, method), above)


def prepare_known(
    skinned: SkinnedObject,
    choices: Choices,
    above: list[bpy.types.Modifier],
    skeleton: Skeleton | None = None,
    bound_space: Matrix | None = None,
) -> NodeSetup:
    """The same with choices, modifiers above, and perhaps a skeleton and the space at Bind, that were read already."""
    if not METHODS[choices.method].has_nodes:
        others = ", ".join(other.key for other in METHODS.values() if other.has_nodes)
        raise SkinningError(f"{choices.method} cannot be evaluated by nodes: evaluate by Python, or choose {others}")
    obj = skinned.obj
    check_mesh(obj)
    check_modifiers_above(skinned, above)
    skeleton = give_fractions(skinned, choices.twist, skeleton)
    check_sharers(obj, skeleton)
    check_twists(skinned, skeleton)
    character = read_character(skinned, skeleton)
    check_bones(skinned, skeleton)
    space = np.array(character.space if bound_space is None else bound_space, np.float64)
    rest, params, centers = replace(character.rest, object_to_armature=space), choices.params, None
    if METHODS[choices.method].sees_all_meshes:
        check_centers(skinned, above, params)
        centers = place_centers(with_surfaces(rest, skinned, skeleton, choices.method), params)
    influences, shares, at_rest, shape_changes = _pack(obj, above, rest, centers), None, None, False
    if max(params.bulge_limit, params.contact) > 0.0 and not influences.is_interpolable:
        shares = find_joint_shares(rest.armature_points, rest.weights, rest.joints, rest.triangles)
        at_rest = find_at_rest(rest.armature_points.T, np.maximum(shares.joints, 0), rest.joints)
        shape_changes = bool(above) or _may_move(skinned) or _has_keys_at_joints(obj, shares)
    return NodeSetup(character, influences, choices, centers, shares, at_rest, shape_changes)


def give_fractions(skinned: SkinnedObject, choice: str, skeleton: Skeleton | None) -> Skeleton:
    """The skeleton of an object's armature with the fractions that a choice gives it.

    Where objects share a mesh, and so its influences, the twists of all their armatures count.

    Parameters
    ----------
    skinned : SkinnedObject
    choice : str
        From `read_choice`.
    skeleton : Skeleton or None
        If it was read already.
    """
    armature = skinned.armature
    skeleton = skeleton or find_skeleton(armature)
    return with_fractions(skeleton, armature, choice, list_sharing_armatures(skinned.obj))


def _may_move(skinned: SkinnedObject) -> bool:
    """Whether an object may move within its armature, or is deformed by it before all modifiers."""
    obj = skinned.obj
    is_tied = obj.parent == skinned.armature and obj.parent_type == "OBJECT"
    return not is_tied or obj.animation_data is not None or len(obj.constraints) > 0


def _has_keys_at_joints(obj: bpy.types.Object, shares: JointShares) -> bool:
    """Whether a shape key moves vertices that are under bulge limit or contact: those of faces mostly do not."""
    if mesh_of(obj).shape_keys is None:
        return False
    return FaceKeys(obj).is_any_moved(np.maximum(shares.limits, shares.contacts) > 0.0)


def read_node_choices(skinned: SkinnedObject, method: str) -> Choices:
    settings, replaced = skinned.settings, skinned.replaced
    return Choices(
        method=method,
        params=read_params(settings, method),
        armature=skinned.armature.session_uid,
        linear_group=settings.linear_group,
        vertex_group=replaced.vertex_group if replaced.vertex_group in skinned.obj.vertex_groups else "",
        invert=replaced.invert_vertex_group,
        twist=read_choice(settings, method),
    )


def _pack(
    obj: bpy.types.Object, above: list[bpy.types.Modifier], rest: Rest, centers: RotationCenters | None
) -> Influences:
    weights, counts = extend_weights(rest), (len(rest.points), len(rest.joints.extended.parents))
    if _is_interpolated(above):
        return pack_interpolable_influences(weights, *counts, *read_face_corners(mesh_of(obj)))
    if centers is not None and centers.pairs is not None and rest.joints.fractions is not None:
        weights = _name_pairs(weights, centers.pairs)
    return pack_influences(weights, *counts)


def _name_pairs(weights: Weights, pairs: SdefPairs) -> Weights:
    """Weights with both joints of vertices that have SDEF, also where these follow fractions instead."""
    joints = np.concatenate([weights.joints, pairs.first, pairs.second])
    values = np.append(weights.values, np.full(2 * len(pairs.vertices), NO_WEIGHT))
    return Weights(np.concatenate([weights.vertices, pairs.vertices, pairs.vertices]), joints, values).by_vertex()


def _is_interpolated(above: list[bpy.types.Modifier]) -> bool:
    """Whether modifiers above may add vertices, with attributes averaged from those of the mesh."""
    others = [modifier for modifier in above if not modifiers.is_supple_modifier(modifier)]
    return any(changes_topology(modifier) or modifier.type == "NODES" for modifier in others)
