"""A character at rest: its modifiers, groups and bones, checked and read for binding."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

import bpy
import numpy as np
from mathutils import Matrix

from ...bridge.animation.curves import list_animated
from ...bridge.meshes.data import VertexGroups, mesh_of, read_rest_mesh, read_vertex_groups
from ...bridge.modifiers import writes_attributes
from ...bridge.rigs.armatures import Skeleton, read_segment_indices
from ...bridge.rigs.carriers import is_hidden_object
from ...deformers import METHODS, Rest, SkinningError, Weights
from ...deformers.rig.bendy import straight_segment_indices
from ...deformers.rig.envelopes import envelope_weights
from ...deformers.rig.rest import check_space, normalize_weights
from ...settings.character import list_objects
from .stack import (
    BoundObject,
    SkinnedObject,
    armature_modifiers,
    check_deformed_alone,
    check_not_edited,
    find_deforming_modifier,
    is_switched,
    read_toggles,
    resolve_skinned,
)

TOPOLOGY_CHANGING = {
    "ARRAY", "BEVEL", "BOOLEAN", "BUILD", "DECIMATE", "EDGE_SPLIT", "MASK", "MESH_TO_VOLUME", "MIRROR", "MULTIRES",
    "REMESH", "SCREW", "SKIN", "SOLIDIFY", "SUBSURF", "TRIANGULATE", "VOLUME_TO_MESH", "WELD", "WIREFRAME",
}  # fmt: skip

# Modifiers that change the weights of a vertex group, and the property that names it
WEIGHTED = {
    "VERTEX_WEIGHT_EDIT": "vertex_group",
    "VERTEX_WEIGHT_MIX": "vertex_group_a",
    "VERTEX_WEIGHT_PROXIMITY": "vertex_group",
}

# Modifiers that only such may stand above as move vertices by themselves
NEEDS_ORIGINAL = {"MULTIRES", "SOFT_BODY"}


@dataclass(frozen=True)
class Character:
    """A mesh and its skeleton at rest.

    Attributes
    ----------
    groups : list of str
        Vertex groups that deforming bones are named after.
    space : Matrix
        From object to armature space.
    """

    skeleton: Skeleton
    groups: list[str]
    rest: Rest
    space: Matrix


def has_armature_modifier(obj: bpy.types.Object, armature: bpy.types.Object | None = None) -> bool:
    """Whether an object is a mesh with an Armature modifier, of a certain armature if one is given."""
    if obj.type != "MESH" or is_hidden_object(obj):
        return False
    return any(armature in (None, modifier.object) for modifier in armature_modifiers(obj))


def list_deformed(layer: bpy.types.ViewLayer, armature: bpy.types.Object) -> list[bpy.types.Object]:
    """Meshes of a view layer that an armature deforms."""
    return [obj for obj in list_objects(layer) if has_armature_modifier(obj, armature)]


def find_skinned(obj: bpy.types.Object) -> SkinnedObject:
    """A mesh with the armature that deforms it; raises SkinningError if there is not one, or it is edited."""
    if not has_armature_modifier(obj):
        raise SkinningError(f"'{obj.name}' has no Armature modifier: parent it to an armature first")
    skinned = resolve_skinned(obj, find_deforming_modifier(obj))
    check_not_edited(skinned)
    check_deformed_alone(skinned)
    return skinned


def find_method_in_use(skinned: SkinnedObject) -> str:
    """Key of the method a mesh is bound by, or of the one that equals its Armature modifier."""
    if skinned.settings.is_bound and skinned.settings.method in METHODS:
        return skinned.settings.method
    return "DLB" if skinned.replaced.use_deform_preserve_volume else "SSD"


def modifiers_above(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> list[bpy.types.Modifier]:
    """Modifiers that stand above a modifier and are on, in viewport or render, now or by keys or drivers."""
    above = obj.modifiers[: obj.modifiers.find(modifier.name)]
    animated = list_animated(obj) if above else ()
    return [other for other in above if any(read_toggles(other)) or is_switched(other, animated)]


def changes_topology(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is of a kind that changes the number of vertices."""
    return modifier.type in TOPOLOGY_CHANGING


def changes_weights(skinned: SkinnedObject, modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier changes weights by which an object is deformed: those of the mesh are read."""
    obj, kind = skinned.obj, modifier.type
    if kind not in (*WEIGHTED, "DATA_TRANSFER", "NODES"):
        return False
    chosen = {skinned.replaced.vertex_group, skinned.settings.linear_group}
    names = chosen | {bone.name for bone in skinned.armature.data.bones if bone.use_deform}
    names &= {group.name for group in obj.vertex_groups}
    if kind == "NODES":
        return writes_attributes(modifier, names)
    if kind == "DATA_TRANSFER":
        return bool(names) and "VGROUP_WEIGHTS" in modifier.data_types_verts
    return getattr(modifier, WEIGHTED[kind]) in names


def check_weights_kept(skinned: SkinnedObject, above: Iterable[bpy.types.Modifier]) -> None:
    """Raise SkinningError for modifiers above that change weights."""
    for modifier in above:
        if changes_weights(skinned, modifier):
            raise SkinningError(
                f"Modifier '{modifier.name}' of '{skinned.obj.name}' is above '{skinned.deforming.name}' and changes "
                "weights, which only Blender's own modifiers follow: apply it, or choose Dual Quaternion"
            )


def check_modifiers_above(skinned: SkinnedObject, above: Collection[bpy.types.Modifier]) -> None:
    """Raise SkinningError for modifiers above that change weights or their number: they belong to the mesh's own."""
    obj, below = skinned.obj, skinned.deforming.name
    check_weights_kept(skinned, above)
    for modifier in filter(changes_topology, above):
        raise SkinningError(
            f"Modifier '{modifier.name}' of '{obj.name}' is above '{below}' and changes the number of vertices: move "
            "it below, or apply it"
        )


def check_modifiers_below(skinned: SkinnedObject) -> None:
    """Raise SkinningError for modifiers above which Blender lets no modifier of Supple's stand."""
    obj = skinned.obj
    for modifier in obj.modifiers[obj.modifiers.find(skinned.deforming.name) :]:
        if modifier.type in NEEDS_ORIGINAL and skinned.deforming == skinned.replaced:
            raise SkinningError(
                f"Bind adds a node modifier, but Blender allows none above modifier '{modifier.name}' of '{obj.name}': "
                "apply that modifier, or use Subdivision Surface"
            )


def check_shown_vertices(obj: bpy.types.Object, count: int) -> None:
    """Raise SkinningError if other vertices are shown, so many, than a mesh has of its own."""
    own = len(mesh_of(obj).vertices)
    if count != own:
        raise SkinningError(
            f"'{obj.name}' has {own} vertices, but {count} are shown: disable modifiers that change the number of "
            "vertices in the viewport"
        )


def check_evaluated(name: str, evaluated: bpy.types.Object) -> None:
    """Raise SkinningError if an object, of this name, is not evaluated in a view layer."""
    if not evaluated.is_evaluated:
        raise SkinningError(f"'{name}' is disabled in this view layer: enable it and its collection")


def object_to_armature(obj: bpy.types.Object, armature: bpy.types.Object) -> Matrix:
    """From an object's space to an armature's, both original or both evaluated."""
    return armature.matrix_world.inverted_safe() @ obj.matrix_world


def read_character(
    skinned: SkinnedObject, skeleton: Skeleton, space: Matrix | None = None, solid_group: str = ""
) -> Character:
    """Read a mesh for binding; nothing is changed.

    Raises SkinningError if its weights or bones do not allow it.

    Parameters
    ----------
    skeleton : Skeleton
        Of its armature.
    space : Matrix, optional
        From object to armature space; as the objects stand in the file if not given.
    solid_group : str
        See `read_rest`.
    """
    groups = read_weight_groups(skinned, skeleton)
    space = object_to_armature(skinned.obj, skinned.armature) if space is None else space
    check_space(np.array(space))
    return Character(skeleton, groups, read_rest(skinned, skeleton, space, solid_group), space.copy())


def read_weight_groups(skinned: SkinnedObject, skeleton: Skeleton) -> list[str]:
    """Names of an object's vertex groups that deforming bones are named after.

    Raises SkinningError if no bone can move the mesh.
    """
    obj, armature = skinned.obj, skinned.armature
    if not skeleton.names:
        raise SkinningError(f"'{armature.name}' has no deforming bones: turn on Deform in the bones' properties")
    groups = [group.name for group in obj.vertex_groups if group.name in set(skeleton.names)]
    if not groups and not skinned.replaced.use_bone_envelopes:
        if not obj.vertex_groups:
            raise SkinningError(
                f"'{obj.name}' has no vertex groups: parent it to the armature with automatic weights, or paint "
                "weights",
                remedy="WEIGHTS",
            )
        raise SkinningError(
            f"None of the {len(obj.vertex_groups)} vertex groups of '{obj.name}' has the name of a deforming bone of "
            f"'{armature.name}': rename the groups, or turn on Deform in the bones' properties"
        )
    return groups


def lacks_weights(obj: bpy.types.Object, armature: bpy.types.Object) -> bool:
    """Whether no vertex of a mesh follows a deforming bone of an armature by its weights."""
    return not _count_influencing(obj, armature)


def is_rigid(obj: bpy.types.Object) -> bool:
    """Whether one deforming bone has all weights of a mesh."""
    armature = obj.find_armature()
    return armature is not None and _count_influencing(obj, armature) == 1


def _count_influencing(obj: bpy.types.Object, armature: bpy.types.Object) -> int:
    """How many deforming bones of an armature have weights on a mesh."""
    names = {bone.name for bone in armature.data.bones if bone.use_deform}
    groups = [group.index for group in obj.vertex_groups if group.name in names]
    if not groups:
        return 0
    entries = read_vertex_groups(mesh_of(obj))
    return len(np.intersect1d(groups, entries.groups[entries.values > 0.0]))


def read_weight_table(skinned: SkinnedObject, skeleton: Skeleton, object_to_armature: Matrix) -> np.ndarray:
    """Normalized weights of a mesh as `read_rest` reads them, float32, shape (V, B); raises as that does."""
    rest, count = read_rest(skinned, skeleton, object_to_armature), len(skeleton.joints.parents)
    weights = normalize_weights(rest.weights, len(rest.points), count)
    table = np.zeros((len(rest.points), count + 1), np.float32)
    np.add.at(table, (weights.vertices, weights.joints), weights.values)
    return table[:, :count]


def read_rest(skinned: SkinnedObject, skeleton: Skeleton, object_to_armature: Matrix, solid_group: str = "") -> Rest:
    """An object at rest, with the weights that Blender's Armature modifier would use.

    Raises SkinningError if no vertex has a weight for a deforming bone, or a group does not exist.

    Parameters
    ----------
    skinned : SkinnedObject
        One that has passed the checks of this module. Its modifier's vertex group and *Bind To* are honored, and the
        linear group of the settings.
    object_to_armature : Matrix
        From object to armature space, for B-Bones and envelopes.
    solid_group : str
        Vertex group with the share by which a vertex follows the particles; "" for all of it.
    """
    obj, modifier, linear_group = skinned.obj, skinned.replaced, skinned.settings.linear_group
    mesh = read_rest_mesh(obj, {modifier.vertex_group, linear_group, solid_group})
    for name, kind in ((linear_group, "linear group"), (solid_group, "solid group")):
        if name and name not in mesh.chosen:
            raise SkinningError(f"'{obj.name}' has no vertex group '{name}': choose another {kind}, or leave it empty")
    matrix = np.array(object_to_armature, np.float64)
    armature_points = mesh.points @ matrix[:3, :3].T + matrix[:3, 3]
    weights = _read_bone_weights(obj, mesh.groups, armature_points, skeleton, modifier)
    if not (weights.values > 0).any():
        raise SkinningError(
            f"No vertex of '{obj.name}' has a weight for a deforming bone of '{skinned.armature.name}': paint weights "
            "or parent it with automatic weights",
            remedy="WEIGHTS",
        )
    strength = mesh.chosen.get(modifier.vertex_group)
    return Rest(
        points=mesh.points,
        weights=_split_bendy(weights, armature_points, skeleton, skinned.armature),
        joints=skeleton.joints,
        linear=np.clip(mesh.chosen[linear_group], 0.0, 1.0) if linear_group else None,
        strength=1.0 - strength if strength is not None and modifier.invert_vertex_group else strength,
        triangles=mesh.triangles,
        solid=np.clip(mesh.chosen[solid_group], 0.0, 1.0) if solid_group else None,
        object_to_armature=matrix,
    )


def uses_envelopes(modifier: bpy.types.ArmatureModifier, skeleton: Skeleton) -> bool:
    """Whether bone envelopes contribute to the weights."""
    return modifier.use_bone_envelopes or bool(skeleton.envelopes.multiplies.any())


def _read_bone_weights(
    obj: bpy.types.Object,
    entries: VertexGroups,
    points: np.ndarray,
    skeleton: Skeleton,
    modifier: bpy.types.ArmatureModifier,
) -> Weights:
    """Weights by deforming bone (index into `skeleton.names`) from vertex groups, and from envelopes if they are
    used."""
    bone_of = {name: bone for bone, name in enumerate(skeleton.names)}
    group_bones = np.array([bone_of.get(group.name, -1) for group in obj.vertex_groups] + [-1], np.intp)
    bones = group_bones[np.where(entries.groups < len(obj.vertex_groups), entries.groups, -1)]
    kept = (bones >= 0) & modifier.use_vertex_groups
    weights = Weights(entries.vertices[kept], bones[kept], entries.values[kept])
    if not uses_envelopes(modifier, skeleton):
        return weights
    envelopes = skeleton.envelopes

    free = np.ones(len(points), bool)
    free[weights.vertices] = False
    values = weights.values.copy()
    parts = []
    for bone in range(len(skeleton.names)):
        shape = (envelopes.heads[bone], envelopes.tails[bone], envelopes.head_radii[bone], envelopes.tail_radii[bone])
        if envelopes.multiplies[bone]:
            own = weights.joints == bone
            values[own] *= envelope_weights(points[weights.vertices[own]], *shape, envelopes.distances[bone])
        if modifier.use_bone_envelopes:
            reached = envelope_weights(points[free], *shape, envelopes.distances[bone]) * envelopes.factors[bone]
            inside = np.flatnonzero(reached > 0)
            parts.append((np.flatnonzero(free)[inside], np.full(len(inside), bone), reached[inside]))
    parts.append((weights.vertices, weights.joints, values))
    return Weights(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True))).by_vertex()


def _split_bendy(weights: Weights, points: np.ndarray, skeleton: Skeleton, armature: bpy.types.Object) -> Weights:
    """Make weights by bone weights by joint: those of a B-Bone are divided among the ends of its segments."""
    joints, values = skeleton.first_joints[weights.joints], weights.values.copy()
    far = []
    for bone in np.flatnonzero(skeleton.segment_counts > 1):
        own = np.flatnonzero(weights.joints == bone)
        where = points[weights.vertices[own]]
        if skeleton.curved[bone]:
            indices, blends = read_segment_indices(armature.pose.bones[skeleton.names[bone]], where)
        else:
            to_bone = skeleton.to_bones[bone]
            along = (where @ to_bone[1, :3] + to_bone[1, 3]) / skeleton.lengths[bone]
            indices, blends = straight_segment_indices(along, int(skeleton.segment_counts[bone]))
        joints[own] += indices
        far.append((weights.vertices[own], joints[own] + 1, values[own] * blends))
        values[own] *= 1.0 - blends
    far.append((weights.vertices, joints, values))
    return Weights(*(np.concatenate(arrays) for arrays in zip(*far, strict=True))).by_vertex()


def check_bound_groups(bound: BoundObject, skeleton: Skeleton) -> None:
    """Raise SkinningError for groups that had a bone at Bind and have none now: it was renamed or deleted."""
    obj, known = bound.obj, set(skeleton.names)
    groups = {group.name for group in obj.vertex_groups}
    lost = [name for name in bound.settings.bound_groups.split("\n") if name in groups and name not in known]
    if lost:
        raise SkinningError(
            f"{len(lost)} of the bones that '{obj.name}' was bound to were deleted from '{bound.armature.name}' or "
            f"no longer deform ({', '.join(lost[:3])}{', ...' if len(lost) > 3 else ''}): restore the bones, or bind "
            "again"
        )
