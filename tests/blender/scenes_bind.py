"""What tests of Bind share: Bind and Unbind by the operators, a pose, and a comparison with a twin."""

from math import radians

import bpy
import pytest
from scenes_twins import TOLERANCE

from scenes import (
    EVALUATE,
    armature_modifier,
    distance,
    evaluated_points,
    rest_points,
    select,
    turn,
)


def bind_by_operator(*objects: bpy.types.Object, method: str = "SSD") -> None:
    select(*objects)
    assert bpy.ops.supple.bind(method=method, evaluate=EVALUATE) == {"FINISHED"}
    bpy.context.view_layer.update()


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


def with_lattice_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    lattice = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
    bpy.context.scene.collection.objects.link(lattice)
    lattice.scale = (4, 8, 4)
    for point in lattice.data.points:
        point.co_deform.x += 0.2 * point.co_deform.y
    obj.modifiers.new("Cage", "LATTICE").object = lattice
    obj.modifiers.move(1, 0)


def with_cast_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.new("Round", "CAST").factor = 0.3
    obj.modifiers.move(1, 0)


def with_displace_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.new("Swell", "DISPLACE").strength = 0.1
    obj.modifiers.move(1, 0)


def with_face_key(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Puff")
    for point in key.data:
        point.co.x, point.co.z = 1.5 * point.co.x, 1.2 * point.co.z + 0.1 * point.co.y
    key.value = 0.7


def with_modifier_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    group = obj.vertex_groups.new(name="strength")
    for vertex in obj.data.vertices:
        group.add([vertex.index], (vertex.index % 7) / 6, "REPLACE")
    armature_modifier(obj).vertex_group = "strength"


def widen(armature: bpy.types.Object) -> None:
    for bone, factor in zip(armature.data.bones, (1.0, 0.7, 1.3), strict=True):
        bone.head_radius, bone.tail_radius, bone.envelope_distance = 0.25, 0.35, 0.3 * factor
        bone.envelope_weight = factor


no_envelopes = pytest.mark.python_only("nodes have no envelopes")
