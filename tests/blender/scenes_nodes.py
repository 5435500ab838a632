"""A tube that nodes deform beside its twin, which Python deforms by the same method."""

from __future__ import annotations

from math import radians

import bpy

from scenes import (
    add_tube,
    add_twin,
    bind,
    distance,
    evaluated_points,
    rest_points,
    turn,
    update,
)
from supple.settings.objects import settings_of

TOLERANCE = 1e-5


def bend(armature: bpy.types.Object, angle: float) -> None:
    """Bend, twist and shear; by the order of the bones, whatever they are called."""
    names = armature.pose.bones.keys()
    turn(armature, names[1], (radians(angle), radians(0.3 * angle), 0), (1.2, 0.9, 1.1))
    turn(armature, names[-1], (radians(angle), 0, 0.2), (0.9, 1.3, 1.0))


def bound_tube(method: str = "DLBNT") -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """A tube bound by nodes, its armature, and a twin that Python deforms by the same method."""
    obj, armature = add_tube()
    twin = add_twin(obj)
    twin.name = "Twin"
    bind(twin, method=method, evaluate="PYTHON")
    bind(obj, method=method, evaluate="NODES")
    return obj, armature, twin


def assert_alike(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    update()
    assert [settings_of(one).message for one in (obj, twin)] == ["", ""]
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.01


def assert_tube_alike(obj: str = "Tube", twin: str = "Twin") -> None:
    """By name: undo and opening a file make new Python objects of all data."""
    assert_alike(bpy.data.objects[obj], bpy.data.objects[twin])
