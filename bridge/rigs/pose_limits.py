"""Free channels of a pose: locks and limits of bones, and channels held by constraints and drivers."""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np

from ..animation.curves import split_bone_path
from .twists import EULER

# Constraints that leave a bone's rotation as it is
HARMLESS = {"LIMIT_LOCATION", "LIMIT_SCALE", "MAINTAIN_VOLUME"}

# Constraints of a bone that goes where its parent takes it, all the same
ROTATING = {"COPY_ROTATION", "DAMPED_TRACK", "LOCKED_TRACK", "TRACK_TO", "LIMIT_ROTATION", "COPY_SCALE"}

# The IK panel limits the twist about the bone's length, and what swings it after that
ORDER_OF_IK = "YXZ"


def find_driven(armature: bpy.types.Object, channels: str) -> set[str]:
    """Names of the bones of which a driver moves a channel whose name begins so: "rotation", "location"."""
    data = armature.animation_data
    paths = [split_bone_path(curve.data_path) for curve in data.drivers if not curve.mute] if data is not None else []
    return {bone for bone, rest in paths if rest.startswith(f".{channels}")}


def find_ik_chains(armature: bpy.types.Object) -> set[str]:
    """Names of the bones that IK moves, whose tips it brings to a target."""
    found: set[str] = set()
    for bone in armature.pose.bones:
        for constraint in filter(is_on, bone.constraints):
            if constraint.type in ("IK", "SPLINE_IK"):
                chain = [bone, *bone.parent_recursive]
                count = constraint.chain_count or len(chain)
                if constraint.type == "IK" and not constraint.use_tail:
                    chain = chain[1:]
                found |= {link.name for link in chain[:count]}
    return found


def is_on(constraint: bpy.types.Constraint) -> bool:
    """Whether a constraint does something."""
    return not constraint.mute and constraint.influence > 0.0 and constraint.is_valid


def holds_rotation(constraint: Any) -> bool:
    """Whether a constraint decides on the rotation of its bone, not only within which limits it is."""
    if constraint.type in HARMLESS or not is_on(constraint):
        return False
    return constraint.type != "LIMIT_ROTATION" or constraint.owner_space != "LOCAL"


def holds_location(constraint: Any) -> bool:
    """Whether a constraint may keep its bone from going where its parent takes it."""
    return constraint.type not in HARMLESS | ROTATING and is_on(constraint)


def is_rotation_locked(bone: bpy.types.PoseBone) -> bool:
    """Whether no rotation of a bone may change, or not in a way that Euler angles could tell."""
    if bone.rotation_mode in ("QUATERNION", "AXIS_ANGLE") and bone.lock_rotations_4d:
        return any(bone.lock_rotation) or bone.lock_rotation_w
    return all(bone.lock_rotation)


def find_order(bone: Any) -> str:
    """The order of the Euler angles in which limits of a bone are counted."""
    for constraint in _list_limits(bone):
        if constraint.euler_order != "AUTO":
            return constraint.euler_order
    has_own = any(_list_limits(bone)) or any(bone.lock_rotation)
    if has_own or not any(_read_ik_limits(bone, axis) for axis in "xyz"):
        return bone.rotation_mode if bone.rotation_mode in EULER else "XYZ"
    return ORDER_OF_IK


def read_limits(bone: Any, rotation: Any) -> tuple[str, np.ndarray]:
    """The order of a bone's Euler angles, and their lowest and highest values: radians, shape (2, 3).

    The limits of Limit Rotation in local space, the locks of the bone's rotation, and the locks and limits of the IK
    panel, together. An angle that is beyond its limits now may keep its value.

    Parameters
    ----------
    rotation : Matrix
        Its rotation from rest, (3, 3).
    """
    order = find_order(bone)
    now = np.array(rotation.to_euler(order))
    limits = np.array([[-np.inf] * 3, [np.inf] * 3])
    for index, axis in enumerate("xyz"):
        ranges = [_read_ik_limits(bone, axis)]
        ranges += [
            (getattr(constraint, f"min_{axis}"), getattr(constraint, f"max_{axis}"))
            for constraint in _list_limits(bone)
            if getattr(constraint, f"use_limit_{axis}")
        ]
        for found in filter(None, ranges):
            limits[:, index] = max(limits[0, index], found[0]), min(limits[1, index], found[1])
        if bone.lock_rotation[index] or getattr(bone, f"lock_ik_{axis}") or limits[0, index] > limits[1, index]:
            limits[:, index] = now[index]
    return order, np.stack([np.minimum(limits[0], now), np.maximum(limits[1], now)])


def _list_limits(bone: Any) -> list[Any]:
    return [one for one in bone.constraints if one.type == "LIMIT_ROTATION" and not holds_rotation(one) and is_on(one)]


def _read_ik_limits(bone: Any, axis: str) -> tuple[float, float] | None:
    if not getattr(bone, f"use_ik_limit_{axis}"):
        return None
    return getattr(bone, f"ik_min_{axis}"), getattr(bone, f"ik_max_{axis}")
