"""Poses of all bones, stored as text, so that a correction can be returned to."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, cast

import bpy
from mathutils import Matrix, Quaternion, Vector

from ...bridge.files.writing import parse_json
from ...deformers import SkinningError
from ..subject.corrected import as_numbers
from ..subject.stack import check_not_linked

# Significant digits of numbers in the text
DIGITS = 9


def read_bone_pose(armature: bpy.types.Object) -> str:
    """Location, rotation and scale of the bones that are posed, as JSON: {name: [3 + 4 + 3 numbers]}."""
    found = {}
    for bone in cast(Any, armature.pose).bones:
        basis = bone.matrix_basis
        if basis != Matrix():
            location, rotation, scale = basis.decompose()
            found[bone.name] = pack_numbers((*location, *rotation, *scale))
    return json.dumps(found)


def pack_numbers(numbers: Iterable[float]) -> list[float]:
    """Round to the precision that Blender stores."""
    return [float(f"{number:.{DIGITS}g}") for number in numbers]


def parse_bone_pose(stored: str) -> dict[str, list[float]]:
    """What `read_bone_pose` has read.

    Raises
    ------
    SkinningError
        If the file holds anything else.
    """
    try:
        return {name: as_numbers(numbers, 10).tolist() for name, numbers in parse_json(stored).items()}
    except (ValueError, AttributeError) as error:
        raise SkinningError("The pose in the file is damaged: delete the correction, and make a new one") from error


def show_bone_pose(armature: bpy.types.Object, stored: str) -> list[str]:
    """Set a pose from `read_bone_pose`; bones that are not in it go to rest.

    Returns
    -------
    list of str
        Bones of the pose that are gone.

    Raises
    ------
    SkinningError
        If the armature cannot be posed in this file, or the pose cannot be read.
    """
    check_not_linked(armature)
    numbers = parse_bone_pose(stored)
    bones = cast(Any, armature.pose).bones
    for bone in bones:
        basis = numbers.get(bone.name)
        bone.matrix_basis = (
            Matrix()
            if basis is None
            else Matrix.LocRotScale(Vector(basis[:3]), Quaternion(basis[3:7]), Vector(basis[7:]))
        )
    return [name for name in numbers if name not in bones]
