"""Drivers that tell node modifiers how far joints twist: expressions that Blender evaluates without Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...nodes.fractions import name_hint
from ...nodes.spread_twists import name_twist
from ..animation.drivers import VARIABLES, drive_by_properties, input_path, keep_drivers, remove_drivers
from ..modifiers import list_inputs, read_input, write_input
from .armatures import Skeleton
from .fractions import list_hinted
from .twists import EULER, PROPERTY

TURNS_PER_RADIAN = 0.5 / np.pi

OWN_INPUTS = tuple(name(1).removesuffix("1") for name in (name_hint, name_twist))
"""How the names of the inputs begin that are driven."""


@dataclass(frozen=True)
class TwistDriver:
    """A driver of an input of a node modifier.

    Attributes
    ----------
    name : str
        Of the input.
    paths : tuple of str
        Data paths of the armature object's properties that it reads.
    expression : str
        Names them a, b, ...
    bone : str
        If not empty, two more variables are the bone's twist and its swing, radians.
    """

    name: str
    paths: tuple[str, ...]
    expression: str
    bone: str = ""


def find_twist_drivers(armature: bpy.types.Object, skeleton: Skeleton) -> tuple[TwistDriver, ...]:
    """What drives the joints object of an armature: whole turns of joints that have fractions, and spread twists."""
    joints, found, bones = skeleton.joints, [], armature.pose.bones
    for number, joint in enumerate(list_hinted(joints.fractions), 1):
        paths, expression = _find_hint(bones[skeleton.name_joint(joint)])
        if paths:
            found.append(TwistDriver(name_hint(number), paths, expression))
    for number, joint in enumerate([] if joints.spread is None else joints.spread.joints.tolist(), 1):
        bone = bones[skeleton.name_joint(joint)]
        paths, hint = _find_hint(bone)
        twist, swing = VARIABLES[len(paths) : len(paths) + 2]
        whole = f"{twist}+2*pi*round({hint}-{twist}/(2*pi))"
        found.append(TwistDriver(name_twist(number), paths, f"({whole})*clamp(1+2*cos({swing}))", bone.name))
    return tuple(found)


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


def list_driven_twists(drivers: tuple[TwistDriver, ...], twists: np.ndarray) -> tuple[TwistDriver, ...]:
    """The drivers that a mesh itself takes, by what its vertices take of spread twists, shape (P, V, 3)."""
    names = {name_twist(int(number)) for number in np.unique(twists[:, :, 2]) if number}
    return tuple(driver for driver in drivers if driver.name in names)


def stop_driving(modifier: bpy.types.Modifier) -> None:
    """Take the drivers of its inputs off a node modifier."""
    if modifier.node_group is None:
        return
    starts = tuple(input_path(modifier, name) for name in list_inputs(modifier) if name.startswith(OWN_INPUTS))
    if starts:
        remove_drivers(modifier.id_data, starts)


def drive_twists(modifier: bpy.types.Modifier, armature: bpy.types.Object, drivers: tuple[TwistDriver, ...]) -> None:
    """Give a node modifier its drivers, in place of those that it has.

    Parameters
    ----------
    drivers : tuple of TwistDriver
        From `find_twist_drivers`.
    """
    obj, used = modifier.id_data, {}
    names = [name for name in list_inputs(modifier) if name.startswith(OWN_INPUTS)]
    if not names:
        return
    for driver in drivers:
        used[driver.name] = path = input_path(modifier, driver.name)
        drive_by_properties(obj, path, armature, driver.paths, driver.expression, rotation_of=driver.bone)
    start = input_path(modifier, names[0]).partition("]")[0]
    keep_drivers(obj, start, {(path, 0) for path in used.values()})
    for name in names:
        if name not in used and read_input(modifier, name):
            write_input(modifier, name, 0.0)
    armature.update_tag()  # properties that were just added are else not known to what Blender evaluates
