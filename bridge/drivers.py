"""Drivers that measure joints, and the same measured by Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ..deformers.patterns.heights import Response
from .modifiers import find_socket_id

ROTATION_MODE = "SWING_TWIST_Y"


@dataclass(frozen=True)
class DrivingJoint:
    """The joint, and its axis, whose rotation drives a pattern.

    Attributes
    ----------
    armature : Object
    bone : str
    axis : str
        "X", "Y", "Z", or "BETWEEN" for the angle between two bones.
    other_bone : str
    rest : float
        Angle between them at rest, radians.
    """

    armature: bpy.types.Object
    bone: str
    axis: str
    other_bone: str = ""
    rest: float = 0.0


def measure_rest(armature: bpy.types.Object, bone: str, other: str) -> float:
    """Angle between two bones at rest, radians.

    Parameters
    ----------
    armature : Object
    bone, other : str
    """
    first, second = (armature.data.bones[name].matrix_local.to_quaternion() for name in (bone, other))
    return _angle_between(first, second)


def read_rotation(armature: bpy.types.Object, bone: str) -> np.ndarray:
    """Rotation of an evaluated armature's bone against its rest and its parent: quaternion (w, x, y, z), shape (4,)."""
    pose_bone = armature.pose.bones[bone]
    local = armature.convert_space(pose_bone=pose_bone, matrix=pose_bone.matrix, from_space="POSE", to_space="LOCAL")
    return np.array(local.to_quaternion(), np.float64)


def read_angle_between(armature: bpy.types.Object, joint: DrivingJoint) -> float:
    """Angle between two bones of an evaluated armature beyond that at rest, radians."""
    first, second = (armature.pose.bones[name].matrix.to_quaternion() for name in (joint.bone, joint.other_bone))
    return _angle_between(first, second) - joint.rest


def _angle_between(first: Any, second: Any) -> float:
    return float(2.0 * np.arccos(min(abs(first.normalized().dot(second.normalized())), 1.0)))


def write_expression(response: Response, rest: float) -> str:
    """`respond` as a driver's expression of the angle `a`: one that Blender evaluates without Python.

    Parameters
    ----------
    response : Response
    rest : float
        Subtracted from the angle first, radians.
    """
    angle = f"(a-{rest:.7g})" if rest else "a"
    angle = {"POSITIVE": angle, "NEGATIVE": f"(-{angle})", "BOTH": f"abs({angle})"}[response.direction]
    rotated = f"({angle}-({response.start:.7g}))"
    if response.law == "LOG":
        return f"{response.gain:.7g}*log(max({rotated},0)+1)"
    share = f"clamp({rotated}/{response.full - response.start:.7g})"
    return f"pow({share},3)*({share}*(6*{share}-15)+10)"


def drive_amount(obj: bpy.types.Object, path: str, slot: int, joint: DrivingJoint, response: Response) -> None:
    """Drive a property of an object, or an entry of it, by a joint.

    Parameters
    ----------
    obj : Object
    path : str
        Data path of the property.
    slot : int
        Index of the entry.
    joint : DrivingJoint
    response : Response
        How much of the pattern an angle brings out.
    """
    driver = _ensure_driver(obj, path, slot).driver
    variable = _only_variable(driver)
    if joint.axis == "BETWEEN":
        _set(variable, type="ROTATION_DIFF")
        for target, bone in zip(variable.targets, (joint.bone, joint.other_bone), strict=True):
            _set(target, id=joint.armature, bone_target=bone)
    else:
        _set(variable, type="TRANSFORMS")
        _set(
            variable.targets[0],
            id=joint.armature,
            bone_target=joint.bone,
            transform_type=f"ROT_{joint.axis}",
            rotation_mode=ROTATION_MODE,
            transform_space="LOCAL_SPACE",
        )
    _set(driver, expression=write_expression(response, joint.rest))


def read_bones(obj: bpy.types.Object, path: str, slot: int) -> list[str]:
    """Bones that drive a property of an object, by their present names; none where it has no driver.

    Parameters
    ----------
    obj : Object
    path : str
        Data path of the property.
    slot : int
        Index of the entry.
    """
    for curve in obj.animation_data.drivers if obj.animation_data is not None else ():
        if (curve.data_path, curve.array_index) == (path, slot) and curve.driver.variables:
            return [target.bone_target for target in curve.driver.variables[0].targets]
    return []


def _set(owner: Any, **values: Any) -> None:
    """Set what differs: each change of a driver has Blender look at all that depends on anything."""
    for name, value in values.items():
        if getattr(owner, name) != value:
            setattr(owner, name, value)


def input_path(modifier: bpy.types.Modifier, socket: str) -> str:
    """Data path of a node modifier's input by its name."""
    start = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    identifier = find_socket_id(modifier.node_group, socket)
    if hasattr(modifier, "properties"):  # 5.2 and later
        return f"{start}.properties.inputs.{identifier}.value"
    return f'{start}["{identifier}"]'


def keep_drivers(obj: bpy.types.Object, start: str, used: set[tuple[str, int]]) -> None:
    """Remove an object's drivers that are used no more.

    Parameters
    ----------
    obj : Object
    start : str
        Drivers whose data path does not start so are left alone.
    used : set of (str, int)
        Data paths and indices of the drivers that stay.
    """
    data = obj.animation_data
    for curve in list(data.drivers) if data is not None else ():
        if curve.data_path.startswith(start) and (curve.data_path, curve.array_index) not in used:
            data.drivers.remove(curve)


def remove_drivers(obj: bpy.types.Object, starts: tuple[str, ...]) -> None:
    """Remove the drivers of an object whose data paths start so, and its animation data where nothing else is in it."""
    data = obj.animation_data
    if data is None:
        return
    for curve in [curve for curve in data.drivers if curve.data_path.startswith(starts)]:
        data.drivers.remove(curve)
    if not (data.drivers or data.action or data.nla_tracks):
        obj.animation_data_clear()


def _ensure_driver(obj: bpy.types.Object, path: str, slot: int) -> bpy.types.FCurve:
    if obj.animation_data is not None:
        for curve in obj.animation_data.drivers:
            if (curve.data_path, curve.array_index) == (path, slot):
                return curve
    curve: Any = obj.driver_add(path, slot) if path.startswith('["') else obj.driver_add(path)
    for modifier in list(curve.modifiers):
        curve.modifiers.remove(modifier)
    curve.keyframe_points.clear()  # from 5.0 on there are two, to which values near them snap
    curve.driver.type = "SCRIPTED"
    return curve


def _only_variable(driver: bpy.types.Driver) -> bpy.types.DriverVariable:
    variable = driver.variables[0] if driver.variables else driver.variables.new()
    _set(variable, name="a")
    return variable
