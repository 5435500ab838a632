"""The particles of a bound object, as the pose of a depsgraph has them."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from ...bridge.rigs.armatures import Skeleton, read_pose, read_pose_names
from ...deformers import Pose
from ...settings.objects import settings_of
from ..subject.character import object_to_armature
from ..subject.stack import check_armature, find_bound_objects, find_replaced_modifier
from . import by_python
from .model import PosableSkin, find_space


@dataclass(frozen=True)
class PlacedParticles:
    """Particles in the current pose.

    Attributes
    ----------
    points : float array, shape (P, 3)
        Centers, object space.
    radii : float array, shape (P,)
        Object space.
    joints : int array, shape (P,)
        The joint that each belongs to.
    version : tuple
        Equal for equal particles.
    """

    points: np.ndarray
    radii: np.ndarray
    joints: np.ndarray
    version: tuple


def find_shown_objects() -> list[bpy.types.Object]:
    """Bound objects whose particles are to be seen."""
    return [obj for obj in find_bound_objects() if settings_of(obj).particles.show and find_binding(obj) is not None]


def find_binding(obj: bpy.types.Object) -> PosableSkin | None:
    """The binding of an object with particles; None for other objects, and before it was first posed."""
    kept = by_python.find(obj)
    return kept.skin if kept is not None and hasattr(kept.skin.deformer, "pose_particles") else None


def read_particles(
    obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, known: PlacedParticles | None = None
) -> PlacedParticles | None:
    """The particles of an object, posed or at rest as its settings say.

    Parameters
    ----------
    obj : Object
        Original.
    depsgraph : Depsgraph
        Evaluated.
    known : PlacedParticles, optional
        Returned if nothing has changed since, at little cost.

    Returns
    -------
    PlacedParticles or None
        None if the object has no particles.

    Raises
    ------
    SkinningError
        If its armature is missing or its pose is not made of numbers.
    """
    kept = find_binding(obj)
    if kept is None:
        return None
    pose = None if settings_of(obj).particles.show_rest else _read_pose(obj, kept, depsgraph)
    version = (kept.binding, None if pose is None else _as_bytes(pose))
    if known is not None and known.version[0] is version[0] and known.version[1] == version[1]:
        return known
    rest = kept.deformer.particles(kept.binding)
    points = rest.points if pose is None else kept.deformer.pose_particles(kept.binding, pose)
    return PlacedParticles(points, rest.radii, rest.joints, version)


def _read_pose(obj: bpy.types.Object, kept: PosableSkin, depsgraph: bpy.types.Depsgraph) -> Pose | None:
    """The pose as the live deformation has it; None if the bones have none."""
    armature = check_armature(obj, find_replaced_modifier(obj))
    posed, evaluated = armature.evaluated_get(depsgraph), obj.evaluated_get(depsgraph)
    if armature.mode == "EDIT" or not (posed.is_evaluated and evaluated.is_evaluated):
        return None
    if not _has_bones_of(posed, kept.skeleton):
        return None  # the live deformation has yet to bind anew
    space = find_space(object_to_armature(evaluated, posed))
    return read_pose(posed, kept.skeleton).seen_from(space)


def _has_bones_of(posed: bpy.types.Object, skeleton: Skeleton) -> bool:
    """Whether a pose can be read by a skeleton: the same bones, in as many segments."""
    bones = posed.pose.bones
    return read_pose_names(posed) == skeleton.pose_names and all(
        bones[name].bone.bbone_segments == count for name, count in skeleton.bendy
    )


def _as_bytes(pose: Pose) -> bytes:
    space = pose.object_to_armature
    return pose.rest_to_pose.tobytes() + (b"" if space is None else space.tobytes())
