"""A mesh in the shown pose: its points, and their transforms."""

from __future__ import annotations

import bpy

from ...bridge.meshes.data import mesh_of, read_mixed_points
from ...bridge.meshes.posed_copies import Record
from ...bridge.per_object import PerObject
from ...bridge.rigs.armatures import read_pose
from ...deformers import SkinningError
from ...settings.choices import read_params
from ...settings.objects import PARTICLE_METHODS
from ..skin import by_python
from ..skin.model import Choices, PosableSkin, SkinSource, check_mixed, find_space
from ..skin.poses import find_skeleton
from ..subject.character import check_evaluated, check_modifiers_above, modifiers_above, object_to_armature
from ..subject.stack import SkinnedObject

# Modifiers that may stand above: they move no vertex
HARMLESS = {
    "DATA_TRANSFER", "NORMAL_EDIT", "UV_PROJECT", "UV_WARP", "VERTEX_WEIGHT_EDIT",
    "VERTEX_WEIGHT_MIX", "VERTEX_WEIGHT_PROXIMITY", "WEIGHTED_NORMAL",
}  # fmt: skip


# What meshes were bound to when their pose was read: a bind takes longer than all else
bound_skins: PerObject[PosableSkin] = PerObject()


def is_affine(skinned: SkinnedObject, method: str) -> bool:
    """Whether an offset at rest moves a posed vertex by its transform, however large it is."""
    if not skinned.settings.is_bound:
        return True
    is_limited = getattr(read_params(skinned.settings, method), "bulge_limit", 0.0) > 0.0
    return method not in PARTICLE_METHODS and not is_limited


def bind_skin(skinned: SkinnedObject) -> PosableSkin:
    """Bind a mesh as it is deformed; nothing of it is changed.

    Raises
    ------
    SkinningError
        If its modifiers, weights or bones do not allow it.
    """
    obj = skinned.obj
    above = modifiers_above(obj, skinned.deforming)
    check_modifiers_above(skinned, above)
    for modifier in above:
        if modifier.type not in HARMLESS:
            raise SkinningError(
                f"Modifier '{modifier.name}' of '{obj.name}' is above '{skinned.deforming.name}' and moves the skin "
                "before the bones do: move it below, or disable it in viewport and render"
            )
    known = by_python.find(obj) if skinned.settings.is_bound else None
    skin = PosableSkin.of(SkinSource.of(skinned), known.bound if known is not None else None)
    return bound_skins.keep(obj, skin.at(skin.choices.read_quality(skinned.settings)))


def find_bound_skin(skinned: SkinnedObject) -> PosableSkin:
    """A mesh as it was bound when its pose was read, or bound anew where its settings have changed since.

    Raises
    ------
    SkinningError
        As `bind_skin`.
    """
    bound = bound_skins.find(skinned.obj)
    is_same = bound is not None and skinned.settings.is_bound and bound.choices == Choices.read(skinned)
    return bound if bound is not None and is_same else bind_skin(skinned)


def read_posed_skin(skinned: SkinnedObject, depsgraph: bpy.types.Depsgraph) -> Record:
    """Read a mesh in the shown pose, deformed by Supple or its Armature modifier, without the modifiers below.

    Parameters
    ----------
    depsgraph : Depsgraph
        Of the viewport.

    Raises
    ------
    SkinningError
        If it cannot be posed.
    """
    obj = skinned.obj
    evaluated, armature = obj.evaluated_get(depsgraph), skinned.armature.evaluated_get(depsgraph)
    check_evaluated(obj.name, evaluated)
    check_evaluated(skinned.armature.name, armature)
    bound = bind_skin(skinned)
    space = find_space(object_to_armature(evaluated, armature))
    pose = read_pose(armature, bound.skeleton).seen_from(space)
    rest = read_mixed_points(obj, depsgraph)
    check_mixed(obj, rest)
    skin = bound.at(points=rest)
    points, transforms = skin.pose(pose), skin.transforms(pose)
    check_count(obj, len(points))
    return Record(rest, points, transforms, pose)


def check_count(obj: bpy.types.Object, count: int) -> None:
    """Raise SkinningError if a mesh no longer has so many vertices."""
    own = len(mesh_of(obj).vertices)
    if own != count:
        raise SkinningError(
            f"'{obj.name}' has {own} vertices now, but had {count} when the correction was started: press Discard, "
            "and correct the pose again"
        )


def check_joints(skinned: SkinnedObject, count: int) -> None:
    """Raise SkinningError if the bones of a mesh no longer make so many joints."""
    own = len(find_skeleton(skinned.armature).joints.parents)
    if own != count:
        raise SkinningError(
            f"The deforming bones of '{skinned.armature.name}' have changed since the correction was started: press "
            "Discard, and correct the pose again"
        )
