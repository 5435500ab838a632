"""What tests of Bind share: a pose, a comparison with a twin, and what characters have besides the armature."""

from math import radians

import bpy
from mathutils import Euler, Matrix

from scenes import TOLERANCE, armature_modifier, distance, evaluated_points, rest_points, turn


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
    fade(obj, "strength")
    armature_modifier(obj).vertex_group = "strength"


def with_inverted_modifier_group(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    with_modifier_group(obj, armature)
    armature_modifier(obj).invert_vertex_group = True


def with_empty_inverted_modifier_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.vertex_groups.new(name="nothing")
    armature_modifier(obj).vertex_group, armature_modifier(obj).invert_vertex_group = "nothing", True


def with_missing_modifier_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).vertex_group, armature_modifier(obj).invert_vertex_group = "nowhere", True


def with_unweighted_vertices(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(100, 180)))
        group.add(list(range(200, 216)), 2e-5, "REPLACE")


def with_sums_that_are_not_one(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for index, group in enumerate(obj.vertex_groups):
        group.add(list(range(0, 496, 3)), 0.3 + 0.3 * index, "REPLACE")
        group.add(list(range(1, 496, 3)), 0.02 * (index + 1), "REPLACE")
        group.add([17 * index + 5], 5e-5, "REPLACE")


def with_groups_without_bones(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for name in ("hair", "clothes"):
        obj.vertex_groups.new(name=name).add(list(range(496)), 0.9, "REPLACE")


def with_deform_off(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.1"].use_deform = False


def fade(obj: bpy.types.Object, name: str) -> None:
    """Add a vertex group that some vertices are in, with all kinds of weights."""
    group = obj.vertex_groups.new(name=name)
    for vertex in range(0, len(obj.data.vertices), 2):
        group.add([vertex], (vertex % 14) / 12, "REPLACE")


def widen(armature: bpy.types.Object) -> None:
    for bone, factor in zip(armature.data.bones, (1.0, 0.7, 1.3), strict=True):
        bone.head_radius, bone.tail_radius, bone.envelope_distance = 0.25, 0.35, 0.3 * factor
        bone.envelope_weight = factor


TURNED = Euler((0.3, 0.2, 1.1)).to_matrix().to_4x4()
TRANSFORMS = {
    "moved": (Matrix.Translation((1, -2, 0.5)), Matrix.Translation((-3, 0.2, 1))),
    "turned": (TURNED, Euler((-1.0, 0.4, 0.1)).to_matrix().to_4x4()),
    "scaled": (Matrix.Scale(2.5, 4), Matrix.Scale(0.4, 4)),
    "scaled unevenly": (Matrix.Diagonal((0.5, 2, 1.5, 1)), Matrix.Diagonal((1, 1, 3, 1)) @ TURNED),
    "mesh mirrored": (Matrix.Diagonal((-1, 1, 1, 1)), TURNED),
    "armature mirrored": (TURNED, Matrix.Diagonal((-1, 1.2, 1, 1))),
}
"""Where the mesh object and its armature are."""


def animate_object(mover: bpy.types.Object) -> None:
    """Have an object move, rotate and stretch from frame 1 to 8."""
    for frame, value in ((1, 0.0), (8, 0.4)):
        mover.location, mover.rotation_euler, mover.scale = (value, 0, value), (value, 0, 0), (1 + value, 1, 1)
        for path in ("location", "rotation_euler", "scale"):
            mover.keyframe_insert(path, frame=frame)
