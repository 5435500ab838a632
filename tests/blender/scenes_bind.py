"""What tests of Bind share: a pose, a comparison with a twin, and a face key."""

from math import radians

import bpy

from scenes import TOLERANCE, distance, evaluated_points, rest_points, turn


def bend(armature: bpy.types.Object, angle: float = 70.0) -> None:
    """Bend, twist and, as a scaled bone has a turned child, shear."""
    turn(armature, "bone.1", (radians(angle), radians(0.5 * angle), 0), (1.3, 0.8, 1.1))
    turn(armature, "bone.2", (radians(angle), 0, radians(20)), (0.9, 1.2, 1.1))


def assert_same(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """That both are deformed, and alike."""
    expected = evaluated_points(twin)
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
    assert distance(expected, rest_points(twin)) > 0.01


def plain(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    """Nothing besides the Armature modifier."""


def with_face_key(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Puff")
    for point in key.data:
        point.co.x, point.co.z = 1.5 * point.co.x, 1.2 * point.co.z + 0.1 * point.co.y
    key.value = 0.7
