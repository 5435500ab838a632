"""What nodes take to deform an object, found out before anything of it is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge import modifiers
from ...bridge.animation.curves import list_animated
from ...bridge.meshes.data import FaceKeys, mesh_of, read_face_corners
from ...bridge.rigs.armatures import Skeleton
from ...deformers import METHODS, SkinningError
from ...deformers.rig.fraction_weights import extend_weights
from ...deformers.rig.influences import Influences, pack_influences, pack_interpolable_influences
from ...deformers.rig.reach import Followed
from ...deformers.rig.rest import Rest, Weights, normalize_weights
from ...deformers.rig.sdef import SdefPairs
from ...deformers.rig.twist_packing import fill_faces, pack_twists
from ...deformers.rig.twist_shares import TwistShares, find_twist_shares
from ...deformers.skinning.centers import place_centers
from ...deformers.skinning.joint_limits import AtRest, find_at_rest
from ...deformers.skinning.joint_shares import JointShares, share_joints
from ...deformers.skinning.limb_roots import with_linear_roots
from ...deformers.skinning.rotation_centers import RotationCenters
from ..subject.character import (
    Character,
    changes_topology,
    check_modifiers_below,
    check_weights_kept,
    modifiers_above,
    read_character,
)
from ..subject.stack import SkinnedObject, check_blends, is_switched
from ..subject.surfaces import is_found_before, with_surfaces
from ..subject.twist import find_reach
from .by_armature import find_followed, is_native
from .model import Choices, SkinSource
from .node_checks import (
    check_bones,
    check_centers,
    check_mesh,
    check_modifiers_above,
    check_sharers,
    check_twists,
    list_sharing_armatures,
    list_sharing_nodes,
)

MOVING = "location", "rotation", "scale", "delta"
"""How data paths of properties begin that move an object."""

NO_WEIGHT = 1e-12
"""Has a joint among those that a vertex follows, and nothing follow from it."""


@dataclass(frozen=True)
class NodeSetup:
    """What a node modifier is to be given.

    Attributes
    ----------
    centers : RotationCenters or None
        What vertices rotate about, for methods that do.
    shares : JointShares or None
        What vertices take of bulge limit and contact; None where none is chosen, or nodes can not tell.
    at_rest : AtRest or None
        Goes with `shares`: how the vertices are about their joints.
    shape_changes : bool
        Whether these may be elsewhere before they are posed: by shape keys or modifiers above, or as the object moves.
    is_rough : bool
        Whether some of it was found before the stroke of a brush that goes on.
    linear : float array, shape (V,), or None
        How linearly vertices are blended where limbs begin; None where they are not, or a vertex group says so.
    twists : float32 array, shape (P, V, 3), or None
        What vertices take of spread twists, from `pack_twists`; None where there are none.
    influences : Influences or None
        What nodes blend; None where Blender's own Armature modifier does.
    followed : Followed or None
        Joints that must agree for that: see `find_followed`.
    """

    character: Character
    choices: Choices
    linear: np.ndarray | None
    twists: np.ndarray | None
    followed: Followed | None
    influences: Influences | None = None
    centers: RotationCenters | None = None
    shares: JointShares | None = None
    at_rest: AtRest | None = None
    shape_changes: bool = False
    is_rough: bool = False

    @property
    def groups(self) -> list[str]:
        """Vertex groups that deforming bones are named after."""
        return self.character.groups

    @property
    def bound_space(self) -> Matrix:
        """From object to armature space at Bind."""
        return self.character.space


def prepare(skinned: SkinnedObject, method: str) -> NodeSetup:
    """Find out what nodes take to deform an object; nothing of it is changed.

    Parameters
    ----------
    method : str
        Key of `METHODS`.

    Raises
    ------
    SkinningError
        Where nodes can not deform it, or nothing can.
    """
    check_modifiers_below(skinned)
    source = replace(find_source(skinned, Choices.read(skinned, method)), is_bound_anew=True)
    return prepare_source(source, modifiers_above(skinned.obj, skinned.deforming))


def find_source(skinned: SkinnedObject, choices: Choices, skeleton: Skeleton | None = None) -> SkinSource:
    """What is bound; where objects share a mesh, and so its influences, the twists of all their armatures count."""
    return SkinSource.of(skinned, choices, skeleton, sharers=list_sharing_armatures(skinned.obj))


def prepare_source(source: SkinSource, above: list[bpy.types.Modifier]) -> NodeSetup:
    """The same of a source, and of modifiers above, that were read already."""
    skinned, choices, skeleton = source.skinned, source.choices, source.skeleton
    if not METHODS[choices.method].has_nodes:
        others = ", ".join(other.key for other in METHODS.values() if other.has_nodes)
        raise SkinningError(f"{choices.method} cannot be evaluated by nodes: evaluate by Python, or choose {others}")
    obj = skinned.obj
    check_mesh(obj)
    check_sharers(obj, skeleton)
    check_twists(skinned, skeleton)
    character = read_character(skinned, skeleton, source.space)
    space = np.array(source.bound_space, np.float64)
    rest, params, centers = replace(character.rest, object_to_armature=space), choices.params, None
    linear = None if choices.linear_group else with_linear_roots(rest, getattr(params, "limb_roots", 0.0)).linear
    rest = with_surfaces(rest, skinned, skeleton, choices.method)
    is_interpolable = is_interpolated(obj, above)
    shares = _find_twist_shares(rest, is_interpolable)
    is_left = has_keyed_toggles(skinned) or (shares is not None and _is_moved(skinned))
    followed = None if is_left else find_followed(source, rest, is_interpolable)
    if followed is not None and is_native(
        choices.method, skeleton.joints, find_reach(skeleton, skinned.armature), followed
    ):
        twists = _pack_twists(obj, rest, shares, is_interpolable)
        return NodeSetup(character, choices, linear, twists, followed)
    check_blends(skinned.obj, skinned.replaced)
    check_weights_kept(skinned, above)
    check_modifiers_above(skinned, above)
    check_bones(skinned, skeleton)
    if METHODS[choices.method].sees_all_meshes:
        check_centers(skinned, above, params)
        centers = place_centers(rest, params)
    influences, of_joints, at_rest, shape_changes = _pack(obj, is_interpolable, rest, centers), None, None, False
    if max(params.bulge_limit, params.contact) > 0.0 and not influences.is_interpolable:
        of_joints = share_joints(rest)
        at_rest = find_at_rest(rest.armature_points.T, np.maximum(of_joints.joints, 0), rest.joints)
        shape_changes = bool(above) or _may_move(skinned) or _has_keys_at_joints(obj, of_joints)
    twists = _pack_twists(obj, rest, shares, is_interpolable)
    blended = influences, centers, of_joints, at_rest, shape_changes, is_found_before(rest)
    return NodeSetup(character, choices, linear, twists, followed, *blended)


def _may_move(skinned: SkinnedObject) -> bool:
    """Whether an object may move within its armature, by hand too, or is deformed by it before all modifiers."""
    return not _is_tied(skinned) or _is_moved(skinned)


def _is_tied(skinned: SkinnedObject) -> bool:
    return skinned.obj.parent == skinned.armature and skinned.obj.parent_type == "OBJECT"


def _is_moved(skinned: SkinnedObject) -> bool:
    """Whether a parent, a constraint, keys or drivers may move an object within its armature."""
    obj = skinned.obj
    movers = [obj] if _is_tied(skinned) else [*_list_line(obj), *_list_line(skinned.armature)]
    return any(each.parent_type != "OBJECT" or len(each.constraints) > 0 or _is_animated(each) for each in movers)


def _list_line(obj: bpy.types.Object | None) -> Iterator[bpy.types.Object]:
    """An object, and those above it."""
    while obj is not None:
        yield obj
        obj = obj.parent


def _is_animated(obj: bpy.types.Object) -> bool:
    """Whether keys or drivers may move an object."""
    return any(path.startswith(MOVING) for path in list_animated(obj))


def has_keyed_toggles(skinned: SkinnedObject) -> bool:
    """Whether keys or drivers switch the modifier that deforms an object on and off."""
    return is_switched(skinned.deforming, list_animated(skinned.obj))


def _has_keys_at_joints(obj: bpy.types.Object, shares: JointShares) -> bool:
    """Whether a shape key moves vertices that are under bulge limit or contact: those of faces mostly do not."""
    if mesh_of(obj).shape_keys is None:
        return False
    return FaceKeys(obj).is_any_moved(np.maximum(shares.limits, shares.contacts) > 0.0)


def _pack(obj: bpy.types.Object, is_interpolable: bool, rest: Rest, centers: RotationCenters | None) -> Influences:
    weights, counts = extend_weights(rest), (len(rest.points), len(rest.joints.extended.parents))
    if is_interpolable:
        return pack_interpolable_influences(weights, *counts, *read_face_corners(mesh_of(obj)))
    if centers is not None and centers.pairs is not None and rest.joints.fractions is not None:
        weights = _name_pairs(weights, centers.pairs)
    return pack_influences(weights, *counts)


def _find_twist_shares(rest: Rest, is_interpolable: bool) -> TwistShares | None:
    if rest.joints.spread is None:
        return None
    weights = normalize_weights(rest.weights, len(rest.points), len(rest.joints.parents))
    return find_twist_shares(weights, rest.armature_points, rest.joints.spread, has_below=is_interpolable)


def _pack_twists(
    obj: bpy.types.Object, rest: Rest, shares: TwistShares | None, is_interpolable: bool
) -> np.ndarray | None:
    spread, count = rest.joints.spread, len(rest.points)
    if spread is None or shares is None:
        return None
    if not is_interpolable:
        return pack_twists(shares, count)
    by_depth = replace(shares, passes=(spread.depths.max() - spread.depths)[shares.twists])
    return fill_faces(pack_twists(by_depth, count), *read_face_corners(mesh_of(obj)))


def _name_pairs(weights: Weights, pairs: SdefPairs) -> Weights:
    """Weights with both joints of vertices that have SDEF, also where these follow fractions instead."""
    joints = np.concatenate([weights.joints, pairs.first, pairs.second])
    values = np.append(weights.values, np.full(2 * len(pairs.vertices), NO_WEIGHT))
    return Weights(np.concatenate([weights.vertices, pairs.vertices, pairs.vertices]), joints, values).by_vertex()


def is_interpolated(obj: bpy.types.Object, above: list[bpy.types.Modifier]) -> bool:
    """Whether modifiers above may add vertices, with attributes averaged from those of the mesh.

    Objects that share a mesh share its influences: modifiers above of any of them count.
    """
    return any(map(_adds_vertices, above)) or any(
        _adds_vertices(modifier)
        for other in list_sharing_nodes(obj)
        for supple in filter(modifiers.is_supple_modifier, other.modifiers)
        for modifier in modifiers_above(other, supple)
    )


def _adds_vertices(modifier: bpy.types.Modifier) -> bool:
    if modifiers.is_supple_modifier(modifier):
        return False
    return changes_topology(modifier) or modifier.type == "NODES"
