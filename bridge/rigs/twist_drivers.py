"""Drivers that tell node modifiers how far joints twist: expressions that Blender evaluates without Python."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np
from mathutils import Matrix

from ...nodes.fractions import name_hint
from ...nodes.spread_twists import name_rest, name_turn
from ..animation.drivers import (
    VARIABLES,
    drive_by_properties,
    input_path,
    keep_drivers,
    remove_drivers,
    set_values,
    start_of_inputs,
)
from ..modifiers import list_inputs, read_input, write_input
from .armatures import Skeleton
from .spread_twists import find_rotation
from .twists import EULER, PROPERTY, list_hinted

TURNS_PER_RADIAN = 0.5 / np.pi

INPUT = re.compile(r'modifiers\["((?:[^"\\]|\\.)*)"\](?:\.properties\.inputs\.|\[")')
"""How the data path of an input of a node modifier begins; the modifier's name."""

OWN_INPUTS = tuple(name(1).removesuffix("1") for name in (name_hint, name_turn, name_rest))
"""How the names of the inputs begin that are driven."""


@dataclass(frozen=True)
class TwistDriver:
    """A driver of an input of a node modifier.

    Attributes
    ----------
    name : str
        Of the input.
    slot : int
        Index of the entry of a vector; 0 for a number.
    paths : tuple of str
        Data paths of the armature object's properties that it reads.
    expression : str
        Names them a, b, ...
    bone : str
        If not empty, one whose rotation it reads.
    parts : str
        Which of X, Y, Z and W of its quaternion are further variables.
    """

    name: str
    slot: int
    paths: tuple[str, ...]
    expression: str
    bone: str = ""
    parts: str = ""


def find_hint_drivers(armature: bpy.types.Object, skeleton: Skeleton) -> tuple[TwistDriver, ...]:
    """What drives the joints object of an armature: whole turns that are asked of joints."""
    found, bones = [], armature.pose.bones
    for number, joint in enumerate(list_hinted(skeleton.joints), 1):
        paths, expression = _find_hint(bones[skeleton.name_joint(joint)])
        if paths:
            found.append(TwistDriver(name_hint(number), 0, paths, expression))
    return tuple(found)


def find_turn_drivers(skeleton: Skeleton, twists: np.ndarray, space: Matrix) -> tuple[TwistDriver, ...]:
    """What drives a mesh whose joints an Armature modifier blends: how joints are turned whose twist is spread.

    Parameters
    ----------
    twists : float32 array, shape (P, V, 3)
        What its vertices take of these.
    space : Matrix
        From its object to armature space.
    """
    spread, found = skeleton.joints.spread, []
    assert spread is not None
    numbers = twists[:, :, 2].astype(np.intp)
    for number in np.unique(numbers[numbers > 0]).tolist():
        joint = int(spread.joints[number - 1])
        rest, name = np.linalg.inv(skeleton.rest_inverses[joint])[:3, :3], skeleton.name_joint(joint)
        along = f"({_add_up(spread.axes[number - 1] @ rest)})"
        twist = f"2*atan2({along},d)*clamp(4*({along}*{along}+d*d)-1)"
        found.append(TwistDriver(name_rest(number), 1, (), twist, name, "XYZW"))
        if not twists[numbers == number][:, 1].any():
            continue  # no vertex follows the joint: of its rotation, nodes read the twist alone
        found.append(TwistDriver(name_rest(number), 0, (), "a", name, "W"))
        for slot, row in enumerate(find_rotation(space) @ rest):
            found.append(TwistDriver(name_turn(number), slot, (), _add_up(row), name, "XYZ"))
    return tuple(found)


def _add_up(factors: np.ndarray) -> str:
    """An expression of the product of three numbers with x, y and z: Blender reads no more than 255 letters."""
    return "".join(f"{factor:+.7f}*{variable}" for factor, variable in zip(factors.tolist(), VARIABLES, strict=False))


def _find_hint(bone: Any) -> tuple[tuple[str, ...], str]:
    """What asks for the twist of a pose bone, as `twists.read_hints` reads it: paths, and an expression in whole turns.

    No paths, and 0, where nothing does.
    """
    path = bone.path_from_id()
    if isinstance(bone.get(PROPERTY), int | float):
        return (f'{path}["{PROPERTY}"]',), "a"
    if bone.rotation_mode in EULER:
        return (f"{path}.rotation_euler[1]",), f"a*{TURNS_PER_RADIAN:.9g}"
    if bone.rotation_mode == "AXIS_ANGLE":
        paths = tuple(f"{path}.rotation_axis_angle[{entry}]" for entry in range(4))
        return paths, f"a*c/sqrt(max(b*b+c*c+d*d,1e-30))*{TURNS_PER_RADIAN:.9g}"
    return (), "0"


def stop_driving(modifier: bpy.types.Modifier) -> None:
    """Take the drivers of its inputs off a node modifier; of all inputs, where it has lost its group."""
    starts = (start_of_inputs(modifier),) if modifier.node_group is None else _list_driven(modifier)
    if starts:
        remove_drivers(modifier.id_data, starts)


def stop_driving_removed(obj: bpy.types.Object) -> None:
    """Take drivers of Supple's off inputs of node modifiers that are gone, as Apply and Convert leave them."""
    data = obj.animation_data
    removed = {
        curve.data_path
        for curve in (data.drivers if data is not None else ())
        if (match := INPUT.match(curve.data_path)) is not None
        and bpy.utils.unescape_identifier(match[1]) not in obj.modifiers
        and _is_own(curve.driver)
    }
    if removed:
        remove_drivers(obj, tuple(removed))


def _is_own(driver: bpy.types.Driver) -> bool:
    """Whether a driver is of the form of those here: it reads an armature, by variables of Supple's names."""
    named = "".join(variable.name for variable in driver.variables)
    sources = [target.id for variable in driver.variables for target in variable.targets]
    return (
        named != ""
        and VARIABLES.startswith(named)
        and all(isinstance(each, bpy.types.Object) and each.type == "ARMATURE" for each in sources)
    )


def _list_driven(modifier: bpy.types.Modifier) -> tuple[str, ...]:
    """Data paths of the inputs of a node modifier that have drivers."""
    return tuple(input_path(modifier, name) for name in list_inputs(modifier) if name.startswith(OWN_INPUTS))


def retarget_twists(modifier: bpy.types.Modifier, armature: bpy.types.Object) -> None:
    """Have the drivers of a node modifier's inputs read another armature of the same bones."""
    starts, data = _list_driven(modifier), modifier.id_data.animation_data
    for curve in data.drivers if data is not None and starts else ():
        if curve.data_path.startswith(starts):
            for variable in curve.driver.variables:
                set_values(variable.targets[0], id=armature)


def drive_twists(modifier: bpy.types.Modifier, armature: bpy.types.Object, drivers: tuple[TwistDriver, ...]) -> None:
    """Give a node modifier its drivers, in place of those that it has.

    Parameters
    ----------
    drivers : tuple of TwistDriver
        From `find_hint_drivers` or `find_turn_drivers`.
    """
    names = [name for name in list_inputs(modifier) if name.startswith(OWN_INPUTS)]
    if not names:
        return
    obj, used = modifier.id_data, set()
    for driver in drivers:
        path = input_path(modifier, driver.name)
        drive_by_properties(
            obj, path, armature, driver.paths, driver.expression, driver.slot, driver.bone, driver.parts
        )
        used.add((path, driver.slot))
    keep_drivers(obj, _list_driven(modifier), used)
    is_driven = {driver.name for driver in drivers}
    for name in names:
        if name not in is_driven and name.startswith(OWN_INPUTS[0]) and read_input(modifier, name):
            write_input(modifier, name, 0.0)
    armature.update_tag()  # properties that were just added are else not known to what Blender evaluates
