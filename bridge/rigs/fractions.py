"""Fractions of joints for node modifiers: what is stored of them, and the drivers that ask for their twists."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...deformers.rig.fractions import Fractions
from ...nodes.fractions import BETWEEN, SPREAD, FractionForm, name_hint
from ..animation.drivers import drive_by_properties, input_path, keep_drivers
from ..modifiers import read_input, write_input
from .armatures import Skeleton
from .twists import EULER, PROPERTY

FEWEST_INPUTS = 4
"""Inputs that ask for twists are so many, or twice, or four times ...: so there are few different groups."""


TURNS_PER_RADIAN = 0.5 / np.pi


@dataclass(frozen=True)
class Hint:
    """What asks for the twist of a bone, as `twists.read_hints` reads it.

    Attributes
    ----------
    paths : tuple of str
        Data paths of the armature object's properties that tell it.
    expression : str
        Of a driver that names them a, b, ...: whole turns.
    """

    paths: tuple[str, ...]
    expression: str


def find_hint(bone: Any) -> Hint | None:
    """What asks for the twist of a pose bone; None where nothing does."""
    path = bone.path_from_id()
    if isinstance(bone.get(PROPERTY), int | float):
        return Hint((f'{path}["{PROPERTY}"]',), "a")
    if bone.rotation_mode in EULER:
        return Hint((f"{path}.rotation_euler[1]",), f"a*{TURNS_PER_RADIAN:.9g}")
    if bone.rotation_mode == "AXIS_ANGLE":
        paths = tuple(f"{path}.rotation_axis_angle[{entry}]" for entry in range(4))
        return Hint(paths, f"a*c/sqrt(max(b*b+c*c+d*d,1e-30))*{TURNS_PER_RADIAN:.9g}")
    return None


def find_form(skeleton: Skeleton) -> FractionForm | None:
    """The form of the node groups for the fractions of a skeleton; None where there are none."""
    fractions = skeleton.joints.fractions
    if fractions is None:
        return None
    count = FEWEST_INPUTS
    while count < len(_list_hinted(fractions)):
        count *= 2
    return FractionForm(hint_count=count, has_swings=not fractions.is_spread.all())


def _list_hinted(fractions: Fractions) -> list[int]:
    """Joints whose twists are asked for, in the order of the inputs."""
    return np.unique(fractions.last).tolist()


def find_hints(armature: bpy.types.Object, skeleton: Skeleton) -> tuple[Hint | None, ...]:
    """What asks for the twist of each joint that has fractions, in the order of the inputs."""
    fractions = skeleton.joints.fractions
    joints = [] if fractions is None else _list_hinted(fractions)
    return tuple(find_hint(armature.pose.bones[skeleton.name_joint(joint)]) for joint in joints)


def drive_hints(modifier: bpy.types.Modifier, armature: bpy.types.Object, hints: tuple[Hint | None, ...]) -> None:
    """Have drivers ask the node modifier of a joints object for twists.

    Parameters
    ----------
    hints : tuple of Hint or None
        From `find_hints`.
    """
    used = set()
    for number, hint in enumerate(hints, 1):
        path = input_path(modifier, name_hint(number))
        if hint is not None:
            drive_by_properties(modifier.id_data, path, armature, hint.paths, hint.expression)
            used.add((path, 0))
    keep_drivers(modifier.id_data, input_path(modifier, name_hint(1)).partition("]")[0], used)
    for number, hint in enumerate(hints, 1):
        if hint is None and read_input(modifier, name_hint(number)):
            write_input(modifier, name_hint(number), 0.0)
    armature.update_tag()  # properties that were just added are else not known to what Blender evaluates


def describe_fractions(fractions: Fractions) -> np.ndarray:
    """What nodes read of joints and their fractions, float array (B + F, 4, 4): `nodes.fractions.FRACTION`."""
    matrices = np.zeros((len(fractions.parents), 4, 4))
    matrices[:, 3, 1] = np.append(fractions.joint_parents, np.full(fractions.count, -1))
    own = matrices[fractions.joint_count :]
    hints = np.searchsorted(_list_hinted(fractions), fractions.last) + 1
    kinds = np.where(fractions.is_spread, SPREAD, BETWEEN)
    own[:, :, 0] = np.stack([fractions.base, fractions.first, fractions.last, hints], axis=1)
    own[:, :3, 1] = np.stack([2.0 * np.pi * fractions.twists, fractions.swings, kinds], axis=1)
    own[:, :3, 2], own[:, 3, 2], own[:, :3, 3] = fractions.axes, 2.0 * fractions.twists, fractions.centers
    return matrices
