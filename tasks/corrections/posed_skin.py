"""A mesh in the pose that is shown: its points, and what the pose does to the space around each of them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import bpy
import numpy as np

from ...bridge.armatures import read_pose
from ...bridge.mesh_copies import measure_in_copies
from ...bridge.meshes import mesh_of, read_mixed_points
from ...bridge.per_object import PerObject
from ...bridge.posed_copies import Record
from ...deformers import Pose, SkinningError
from ...settings.choices import read_params, read_pose_choices
from ...settings.objects import PARTICLE_METHODS
from ..character import check_evaluated, check_modifiers_above, find_method_in_use, modifiers_above, object_to_armature
from ..skin import live
from ..skin.by_python import LiveObject, prepare_known, read_blenders_choices, read_choices
from ..skin.live import check_mixed, find_space
from ..skin.poses import find_skeleton
from ..stack import SkinnedObject
from ..surfaces import find_bound_space
from ..twist import with_fractions

HARMLESS = {
    "DATA_TRANSFER", "NORMAL_EDIT", "UV_PROJECT", "UV_WARP", "VERTEX_WEIGHT_EDIT",
    "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY", "WEIGHTED_NORMAL",
}  # fmt: skip
"""Modifiers that may stand above: they move no vertex."""


_bound: PerObject[BoundSkin] = PerObject()
"""What meshes were bound to when their pose was read: a bind takes longer than all else."""


@dataclass(frozen=True, eq=False)
class BoundSkin:
    """A mesh as it is deformed, to be posed.

    Attributes
    ----------
    skinned : SkinnedObject
    method : str
        Key of the method in use; of that which does as the Armature modifier of an unbound mesh.
    live : LiveObject
    """

    skinned: SkinnedObject
    method: str
    live: LiveObject

    def deform(self, rest: np.ndarray, pose: Pose) -> np.ndarray:
        """Posed points, shape (V, 3), of points at rest, shape (V, 3), both in object space."""
        binding = self.live.deformer.with_points(self.live.binding, rest.astype(np.float32))
        return self.live.deformer.deform(binding, pose)

    def find_transforms(self, rest: np.ndarray, pose: Pose) -> np.ndarray:
        """Where the space of each vertex goes, shape (V, 4, 4), as its points are at rest, shape (V, 3)."""
        binding = self.live.deformer.with_points(self.live.binding, rest.astype(np.float32))
        return self.live.deformer.vertex_transforms(binding, pose)


def is_affine(skinned: SkinnedObject, method: str) -> bool:
    """Whether an offset at rest moves a posed vertex by its transform, however large it is."""
    if not skinned.settings.is_bound:
        return True
    params = read_params(skinned.settings, method)
    is_limited = max(getattr(params, "bulge_limit", 0.0), getattr(params, "contact", 0.0)) > 0.0
    return method not in PARTICLE_METHODS and not is_limited


def bind_skin(skinned: SkinnedObject) -> BoundSkin:
    """Bind a mesh as it is deformed; nothing of it is changed.

    Raises
    ------
    SkinningError
        Where its modifiers, weights or bones do not allow it.
    """
    obj, armature, method = skinned.obj, skinned.armature, find_method_in_use(skinned)
    above = modifiers_above(obj, skinned.deforming)
    check_modifiers_above(skinned, above)
    for modifier in above:
        if modifier.type not in HARMLESS:
            raise SkinningError(
                f"Modifier '{modifier.name}' of '{obj.name}' stands above '{skinned.deforming.name}' and moves the "
                "skin before the bones do: move it below, or switch it off in viewport and render"
            )
    is_bound = skinned.settings.is_bound
    choices = read_choices(skinned, method) if is_bound else read_blenders_choices(skinned, method)
    skeleton = with_fractions(find_skeleton(armature), armature, choices.twist)
    bound_space, known = find_bound_space(obj, armature), live.find(obj) if is_bound else None
    bound = prepare_known(skinned, choices, skeleton, bound_space=bound_space, known=known)
    if is_bound:
        params = replace(bound.binding.params, **read_pose_choices(skinned.settings, method))
        bound = replace(bound, binding=replace(bound.binding, params=params))
    return _bound.keep(obj, BoundSkin(skinned, method, bound))


def find_bound_skin(skinned: SkinnedObject) -> BoundSkin:
    """A mesh as it was bound when its pose was read, or bound anew where its settings have changed since.

    Raises
    ------
    SkinningError
        As `bind_skin`.
    """
    bound = _bound.find(skinned.obj)
    if bound is not None and skinned.settings.is_bound:
        method = find_method_in_use(skinned)
        if bound.method == method and bound.live.choices == read_choices(skinned, method):
            return bound
    return bind_skin(skinned)


def forget_bound_skin(obj: bpy.types.Object) -> None:
    """Drop what is known of a mesh that is corrected no longer."""
    _bound.forget(obj)


def read_posed_skin(skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph) -> Record:
    """A mesh in the pose that is shown, by what deforms it and nothing below.

    Parameters
    ----------
    skinned : SkinnedObject
    depsgraph : Depsgraph
        Of the viewport.

    Raises
    ------
    SkinningError
        Where it can not be posed.
    """
    obj = skinned.obj
    evaluated, armature = obj.evaluated_get(depsgraph), skinned.armature.evaluated_get(depsgraph)
    check_evaluated(obj.name, evaluated)
    check_evaluated(skinned.armature.name, armature)
    bound = bind_skin(skinned)
    space = find_space(object_to_armature(evaluated, armature))
    pose = read_pose(armature, bound.live.skeleton).seen_from(space)
    rest = read_mixed_points(obj, depsgraph)
    check_mixed(obj, rest)
    if not skinned.settings.is_bound and bound.method == "DLB":  # on scaled bones, Preserve Volume is no DLB
        points, transforms = measure_in_copies(obj, skinned.replaced.name, rest)
    else:
        points, transforms = bound.deform(rest, pose), bound.find_transforms(rest, pose)
    check_count(obj, len(points))
    return Record(rest, points, transforms, pose)


def check_count(obj: bpy.types.Object, count: int) -> None:
    """Raise SkinningError where a mesh no longer has so many vertices."""
    own = len(mesh_of(obj).vertices)
    if own != count:
        raise SkinningError(
            f"'{obj.name}' has {own} vertices now, {count} when its pose was to be corrected: press Discard, and "
            "correct the pose anew"
        )


def check_joints(skinned: SkinnedObject, count: int) -> None:
    """Raise SkinningError where the bones of a mesh no longer make so many joints."""
    own = len(find_skeleton(skinned.armature).joints.parents)
    if own != count:
        raise SkinningError(
            f"The bones of '{skinned.armature.name}' that deform are others than when its pose was to be corrected: "
            "press Discard, and correct the pose anew"
        )
