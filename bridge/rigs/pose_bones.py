"""The bones of a posed armature: read as arrays, and rotated by results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix, Quaternion

from ...deformers.posing.bones import PosedBones
from ...deformers.posing.limits import RotationLimits
from ..arrays import read_array
from .pose_limits import (
    find_driven,
    find_ik_chains,
    holds_location,
    holds_rotation,
    is_on,
    is_rotation_locked,
    read_limits,
)
from .twists import ROTATIONS

MIRROR = Matrix.Diagonal((-1.0, 1.0, 1.0))


@dataclass(frozen=True, eq=False)
class PosedArmature:
    """All bones of an armature, parents before their children.

    Attributes
    ----------
    names : tuple of str, length B
    rest : float64 array, shape (B, 4, 4)
        The bones at rest, armature space.
    stiffness : float64 array, shape (B, 3)
        Of the IK panel, 0 to below 1, about the bones' own axes.
    """

    names: tuple[str, ...]
    bones: PosedBones
    rest: np.ndarray
    stiffness: np.ndarray


def read_posed_armature(armature: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> PosedArmature:
    """Read the bones of a posed armature, and their free channels."""
    listed = list(armature.pose.bones)
    order = sorted(range(len(listed)), key=lambda index: len(listed[index].parent_recursive))
    bones: list[Any] = [listed[index] for index in order]
    names = [bone.name for bone in bones]
    index_of = {name: index for index, name in enumerate(names)}
    parents = np.array([index_of[bone.parent.name] if bone.parent else -1 for bone in bones], np.intp)
    evaluated: Any = armature.evaluated_get(depsgraph)
    posed = _read_matrices(evaluated.pose.bones, "matrix")[order]
    data: Any = armature.data
    rest_of = dict(zip(data.bones.keys(), _read_matrices(data.bones, "matrix_local"), strict=True))
    rest = np.array([rest_of[name] for name in names])
    upper = np.where((parents < 0)[:, None, None], np.eye(3), rest[parents, :3, :3])
    rest_local = np.swapaxes(upper, 1, 2) @ rest[:, :3, :3]

    held = find_ik_chains(armature) | find_driven(armature, "rotation")
    placed = find_driven(armature, "location")
    plain = PosedBones(
        parents=parents,
        posed=posed,
        rest_local=rest_local,
        free=np.array([_is_free(bone, held) for bone in bones]),
        follows=np.array([_follows(bone) for bone in bones]),
        may_move=np.array([_may_move(bone, placed) for bone in bones]),
        limits=RotationLimits.none(len(bones)),
    )
    plain = replace(plain, limits=_read_all_limits(bones, plain.local))
    stiffness = [(bone.ik_stiffness_x, bone.ik_stiffness_y, bone.ik_stiffness_z) for bone in bones]
    return PosedArmature(tuple(names), plain, rest, np.array(stiffness, np.float64))


def _read_matrices(bones: Any, field: str) -> np.ndarray:
    return read_array(bones, field, 16).reshape(-1, 4, 4).transpose(0, 2, 1).astype(np.float64)


def _is_free(bone: Any, held: set[str]) -> bool:
    if bone.name in held or is_rotation_locked(bone) or not _follows(bone):
        return False
    return not any(map(holds_rotation, bone.constraints))


def _follows(bone: Any) -> bool:
    inherits = bone.parent is None or bone.bone.use_inherit_rotation
    return inherits and not any(map(holds_location, bone.constraints))


def _may_move(bone: Any, placed: set[str]) -> bool:
    if any(bone.lock_location) or bone.name in placed or (bone.parent is not None and bone.bone.use_connect):
        return False
    return not any(is_on(one) and (holds_location(one) or one.type == "LIMIT_LOCATION") for one in bone.constraints)


def _read_all_limits(bones: Sequence[Any], rotations: np.ndarray) -> RotationLimits:
    found = [read_limits(bone, Matrix(rotation)) for bone, rotation in zip(bones, rotations.tolist(), strict=True)]
    orders = np.array([["XYZ".index(axis) for axis in order] for order, _ in found])
    limits = np.array([limits for _, limits in found])
    return RotationLimits(orders, limits[:, 0], limits[:, 1])


@dataclass(frozen=True)
class Channels:
    """Location and rotation of a bone, as its channels have them.

    Attributes
    ----------
    location : tuple of 3 floats
    rotation : tuple of 3 or 4 floats
        Of the property that its rotation mode is about.
    """

    location: tuple[float, ...]
    rotation: tuple[float, ...]


def read_channels(bone: Any) -> Channels:
    """A bone's location and rotation."""
    return Channels(tuple(bone.location), tuple(getattr(bone, ROTATIONS[bone.rotation_mode])))


def write_channels(bone: Any, channels: Channels) -> None:
    """Restore the channels of a bone."""
    bone.location = channels.location
    setattr(bone, ROTATIONS[bone.rotation_mode], channels.rotation)


def rotate_bone(bone: Any, rotation: Matrix) -> None:
    """Rotate a bone against its rest, in its own rotation mode; numbers stay near the former ones."""
    mode, before = bone.rotation_mode, read_channels(bone).rotation
    quaternion = rotation.to_quaternion()
    if mode == "QUATERNION":
        if quaternion.dot(Quaternion(before)) < 0.0:
            quaternion.negate()
        bone.rotation_quaternion = quaternion
    elif mode == "AXIS_ANGLE":
        axis, angle = quaternion.to_axis_angle()
        if axis.dot(before[1:]) < 0:
            axis, angle = -axis, -angle
        bone.rotation_axis_angle = (angle, *axis)
    else:
        bone.rotation_euler = rotation.to_euler(mode, bone.rotation_euler)


def place_bone(bone: Any, posed: np.ndarray, parent: np.ndarray | None) -> None:
    """Move a bone to the location of a matrix, by its location channels alone.

    `posed` and `parent`, float arrays, shape (4, 4): of the bone and of its parent, if it has one, armature space.
    """
    above = {}
    if parent is not None:
        above = {"parent_matrix": Matrix(parent.tolist()), "parent_matrix_local": bone.parent.bone.matrix_local}
    rest, matrix = bone.bone.matrix_local, Matrix(posed.tolist())
    bone.location = bone.bone.convert_local_to_pose(matrix, rest, **above, invert=True).translation


def mirror_rotation(rotation: Matrix) -> Matrix:
    """The rotation of the bone of the other side."""
    return MIRROR @ rotation @ MIRROR
