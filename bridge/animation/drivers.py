"""Drivers that measure joints, and the same measured by Python."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import bpy
import numpy as np

from ...deformers.patterns.heights import AXES, Response
from ...deformers.rig.joint_angles import measure_joint_angles
from ..modifiers import find_socket_id

ROTATION_MODE = "SWING_TWIST_Y"

# Expression of a pattern that is shown in full
FULL = "1.0"

# Names of the variables of a driver: as many bones as there can be in a chain, or expressions get too long
VARIABLES = "abcdefghijkl"


@dataclass(frozen=True)
class DrivingJoint:
    """The joint, and its axis, whose rotation drives a pattern.

    Attributes
    ----------
    axis : str
        "X", "Y", "Z", or "BETWEEN" for the angle between two bones.
    rest : float
        Angle between them at rest, radians.
    chain : tuple of (str, str, int)
        Further bones whose rotations are added: names, axes "X", "Y" or "Z", and signs.
    """

    armature: bpy.types.Object
    bone: str
    axis: str
    other_bone: str = ""
    rest: float = 0.0
    chain: tuple[tuple[str, str, int], ...] = ()


def measure_rest(armature: bpy.types.Object, bone: str, other: str) -> float:
    """Angle between two bones at rest, radians."""
    first, second = (armature.data.bones[name].matrix_local.to_quaternion() for name in (bone, other))
    return _angle_between(first, second)


def read_angle(armature: bpy.types.Object, joint: DrivingJoint) -> float:
    """Angle of a joint of an evaluated armature beyond that at rest, radians: the same as drivers measure."""
    if joint.axis == "BETWEEN":
        first, second = (armature.pose.bones[name].matrix.to_quaternion() for name in (joint.bone, joint.other_bone))
        return _angle_between(first, second) - joint.rest
    parts = ((joint.bone, joint.axis, 1), *joint.chain)
    return sum(sign * _read_angle_about(armature, bone, axis) for bone, axis, sign in parts)


def _read_angle_about(armature: bpy.types.Object, bone: str, axis: str) -> float:
    """Rotation of an evaluated armature's bone about one of its axes, against its rest and its parent, radians."""
    return float(measure_joint_angles(read_local_rotations(armature, [bone]))[0, AXES.index(axis)])


def read_local_rotations(armature: bpy.types.Object, bones: Sequence[str]) -> np.ndarray:
    """Rotations of bones against their rest and their parents, constraints included: the same as drivers read.

    `armature`: evaluated. Returns a float64 array, shape (N, 4): unit quaternions (w, x, y, z), w not negative.
    """
    found = np.empty((len(bones), 4))
    for row, name in zip(found, bones, strict=True):
        bone = armature.pose.bones[name]
        local = armature.convert_space(pose_bone=bone, matrix=bone.matrix, from_space="POSE", to_space="LOCAL")
        row[:] = np.array(local.to_quaternion())
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _angle_between(first: Any, second: Any) -> float:
    return float(2.0 * np.arccos(min(abs(first.normalized().dot(second.normalized())), 1.0)))


def write_expression(response: Response, rest: float, angle: str = "a") -> str:
    """`respond` as a driver's expression of an angle: one that Blender evaluates without Python.

    Parameters
    ----------
    rest : float
        Subtracted from the angle first, radians.
    angle : str
        Expression of the angle.
    """
    angle = f"({angle}-{rest:.7g})" if rest else angle
    angle = {"POSITIVE": angle, "NEGATIVE": f"(-{angle})", "BOTH": f"abs({angle})"}[response.direction]
    rotated = f"({angle}-({response.start:.7g}))"
    if response.law == "LOG":
        return f"{response.gain:.7g}*log(max({rotated},0)+1)"
    share = f"clamp({rotated}/{response.full - response.start:.7g})"
    return f"pow({share},3)*({share}*(6*{share}-15)+10)"


def drive_amount(
    obj: bpy.types.Object, path: str, slot: int, joint: DrivingJoint, response: Response, is_full: bool = False
) -> None:
    """Drive a property of an object, or an entry of it, by a joint.

    Parameters
    ----------
    path : str
        Data path of the property.
    slot : int
        Index of the entry.
    response : Response
        How much of the pattern an angle brings out.
    is_full : bool
        Whether all of it is brought out whatever the angle.
    """
    driver = ensure_driver(obj, path, slot).driver
    variables = ensure_variables(driver, 1 + len(joint.chain))
    if joint.axis == "BETWEEN":
        set_values(variables[0], type="ROTATION_DIFF")
        for target, bone in zip(variables[0].targets, (joint.bone, joint.other_bone), strict=True):
            set_values(target, id=joint.armature, bone_target=bone)
    else:
        parts = ((joint.bone, joint.axis, 1), *joint.chain)
        for variable, (bone, axis, _) in zip(variables, parts, strict=True):
            measure_rotation(variable, joint.armature, bone, axis)
    angle = VARIABLES[0] + "".join(
        ("+" if sign > 0 else "-") + VARIABLES[number] for number, (_, _, sign) in enumerate(joint.chain, 1)
    )
    angle = f"({angle})" if joint.chain else angle
    set_values(driver, expression=FULL if is_full else write_expression(response, joint.rest, angle))


def drive_by_properties(
    owner: bpy.types.ID,
    path: str,
    source: bpy.types.ID,
    paths: tuple[str, ...],
    expression: str,
    slot: int = 0,
    rotation_of: str = "",
    parts: str = "",
    fallback: float | None = None,
) -> None:
    """Drive a property of an object or a data-block by properties of another, or of the same.

    Parameters
    ----------
    path : str
        Data path of the property.
    paths : tuple of str
        Data paths of the properties of `source`.
    expression : str
        Names them by `VARIABLES`.
    slot : int
        Index of the entry.
    rotation_of : str
        A bone of `source`, an armature.
    parts : str
        Which of X, Y, Z and W of the quaternion of its rotation, as `measure_rotation` has it, are further variables:
        Blender computes the rotation anew for each.
    fallback : float, optional
        Value of properties that are gone. Without one, the driver then keeps its last value.
    """
    driver = ensure_driver(owner, path, slot).driver
    variables = ensure_variables(driver, len(paths) + len(parts))
    for variable, channel in zip(variables[len(paths) :], parts, strict=True):
        measure_rotation(variable, cast(bpy.types.Object, source), rotation_of, channel, "QUATERNION")
    for variable, source_path in zip(variables, paths, strict=False):
        set_values(variable, type="SINGLE_PROP")
        set_values(variable.targets[0], id_type=source.id_type)
        set_values(variable.targets[0], id=source, data_path=source_path)
        if fallback is not None:
            set_values(variable.targets[0], use_fallback_value=True, fallback_value=fallback)
    set_values(driver, expression=expression)


def set_expression(driver: bpy.types.Driver, expression: str) -> None:
    """Give a driver its expression, of numbers and names in `VARIABLES`."""
    set_values(driver, expression=expression)


def drive_key(key: bpy.types.ShapeKey, armature: bpy.types.Object, name: str) -> None:
    """Have a shape key follow a custom property of an armature object, which its actions animate.

    `name`: of the property.
    """
    driver = key.driver_add("value").driver
    driver.type = "AVERAGE"
    variable = driver.variables.new()
    variable.targets[0].id = armature
    variable.targets[0].data_path = f'["{bpy.utils.escape_identifier(name)}"]'


def drive_key_by_angle(
    key: bpy.types.ShapeKey,
    armature: bpy.types.Object,
    bone: str,
    axis: np.ndarray,
    angles: tuple[float, float, float | None],
) -> None:
    """Have a shape key follow an angle of a bone by a simple expression, which needs no Python.

    Parameters
    ----------
    axis : float array, shape (3,)
        That the bone turns about, in its own space.
    angles : (float, float, float or None)
        Radians: the value rises from 0 at the first to 1 at the second, and falls to 0 at the third, if there is one.
    """
    driver = key.driver_add("value").driver
    for name in "wxyz":
        variable = driver.variables.new()
        variable.name, variable.type = name, "TRANSFORMS"
        target = cast(Any, variable.targets[0])
        target.id, target.bone_target, target.transform_space = armature, bone, "LOCAL_SPACE"
        target.transform_type, target.rotation_mode = f"ROT_{name.upper()}", "QUATERNION"
    along = "".join(f"{value:+.6g}*{name}" for name, value in zip("xyz", axis.tolist(), strict=True))
    angle = f"2*atan2(({along})*(1 if w>0 else -1),fabs(w))"
    start, peak, end = angles
    falling = "1" if end is None else f"({end:.6g}-{angle})/{end - peak:.6g}"
    driver.expression = f"max(0,min(({angle}-{start:.6g})/{peak - start:.6g},{falling}))"


def measure_rotation(
    variable: bpy.types.DriverVariable, armature: bpy.types.Object, bone: str, channel: str, mode: str = ROTATION_MODE
) -> None:
    """Have a variable of a driver measure a bone's rotation against its rest and its parent, constraints included.

    Parameters
    ----------
    channel : str
        "W", "X", "Y" or "Z". In the usual mode, W is the whole swing.
    mode : str
        How the rotation is split.
    """
    set_values(variable, type="TRANSFORMS")
    set_values(
        variable.targets[0],
        id=armature,
        bone_target=bone,
        transform_type=f"ROT_{channel}",
        rotation_mode=mode,
        transform_space="LOCAL_SPACE",
    )


def read_bones(obj: bpy.types.Object, path: str, slot: int) -> list[str]:
    """Present names of the bones that drive a property of an object; none without a driver.

    Parameters
    ----------
    path : str
        Data path of the property.
    slot : int
        Index of the entry.
    """
    for curve in obj.animation_data.drivers if obj.animation_data is not None else ():
        if (curve.data_path, curve.array_index) == (path, slot) and curve.driver.variables:
            return [target.bone_target for variable in curve.driver.variables for target in variable.targets]
    return []


def set_values(owner: Any, **values: Any) -> None:
    """Write differing properties of a driver, a variable or a target.

    Each change of a driver makes Blender rebuild its dependencies.

    Parameters
    ----------
    owner : Driver, DriverVariable or DriverTarget
    **values : Any
        By the names of its properties.
    """
    for name, value in values.items():
        if getattr(owner, name) != value:
            setattr(owner, name, value)


def input_path(modifier: bpy.types.Modifier, socket: str) -> str:
    """Data path of a node modifier's input by its name."""
    start, identifier = start_of_inputs(modifier), find_socket_id(modifier.node_group, socket)
    return f"{start}{identifier}.value" if hasattr(modifier, "properties") else f'{start}{identifier}"]'


def start_of_inputs(modifier: bpy.types.Modifier) -> str:
    """How the data paths of all inputs of a node modifier begin."""
    start = f'modifiers["{bpy.utils.escape_identifier(modifier.name)}"]'
    return f"{start}.properties.inputs." if hasattr(modifier, "properties") else f'{start}["'  # 5.2 and later


def keep_drivers(obj: bpy.types.Object, start: str | tuple[str, ...], used: set[tuple[str, int]]) -> None:
    """Remove an object's drivers that are used no more.

    Parameters
    ----------
    start : str or tuple of str
        Drivers whose data path does not start so are left alone.
    used : set of (str, int)
        Data paths and indices of the drivers that stay.
    """
    data = obj.animation_data
    for curve in list(data.drivers) if data is not None else ():
        if curve.data_path.startswith(start) and (curve.data_path, curve.array_index) not in used:
            data.drivers.remove(curve)


def remove_drivers(owner: bpy.types.Object | bpy.types.Mesh | bpy.types.Key, starts: tuple[str, ...]) -> None:
    """Remove the drivers whose data paths start so, and the animation data if nothing else is in it."""
    data = owner.animation_data
    if data is None:
        return
    for curve in [curve for curve in data.drivers if curve.data_path.startswith(starts)]:
        data.drivers.remove(curve)
    if not (data.drivers or data.action or data.nla_tracks):
        owner.animation_data_clear()


def ensure_driver(owner: bpy.types.ID, path: str, slot: int) -> bpy.types.FCurve:
    """The driver of a property, made if there is none.

    Parameters
    ----------
    owner : ID
        An object or a data-block.
    path : str
        Data path of the property.
    slot : int
        Index of the entry.
    """
    data: Any = getattr(owner, "animation_data", None)
    for curve in data.drivers if data is not None else ():
        if (curve.data_path, curve.array_index) == (path, slot):
            return curve
    has_slots = path.startswith('["') or hasattr(owner.path_resolve(path), "__len__")
    curve: Any = owner.driver_add(path, slot) if has_slots else owner.driver_add(path)
    for modifier in list(curve.modifiers):
        curve.modifiers.remove(modifier)
    curve.keyframe_points.clear()  # from 5.0 on there are two, to which values near them snap
    curve.driver.type = "SCRIPTED"
    return curve


def ensure_variables(driver: bpy.types.Driver, count: int) -> list[bpy.types.DriverVariable]:
    """So many variables of a driver, named by `VARIABLES`."""
    while len(driver.variables) > count:
        driver.variables.remove(driver.variables[-1])
    while len(driver.variables) < count:
        driver.variables.new()
    for variable, name in zip(driver.variables, VARIABLES, strict=False):
        set_values(variable, name=name)
    return list(driver.variables)
