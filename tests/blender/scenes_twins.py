"""A bound tube beside its twin, which Blender's own Armature modifier deforms."""

from math import radians

import bpy

from scenes import add_tube, add_twin, bind, distance, evaluated_points, rest_points, turn, update
from supple.settings.objects import settings_of

TOLERANCE = 1e-5


def bend(armature: bpy.types.Object, angle: float = 70.0) -> None:
    """Bend, twist and scale the second bone; the angle is in degrees."""
    turn(armature, "bone.1", (radians(angle), radians(0.3 * angle), 0), (1.2, 0.9, 1.1))


def bound_tube(method: str = "SSD") -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """A bound tube, its armature, and a twin under Blender's own modifier."""
    obj, armature = add_tube()
    twin = add_twin(obj)
    twin.name = "Twin"
    bind(obj, method=method)
    return obj, armature, twin


def bent_tube(method: str = "SSD") -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """What `bound_tube` gives, bent."""
    obj, armature, twin = bound_tube(method)
    bend(armature)
    assert distance(evaluated_points(twin), rest_points(obj)) > 0.1
    return obj, armature, twin


def animate(armature: bpy.types.Object, end: int = 20) -> None:
    for frame, angle in ((1, 0), (end // 2, 80), (end, 30)):
        bend(armature, angle)
        for path in ("rotation_euler", "scale"):
            armature.pose.bones["bone.1"].keyframe_insert(path, frame=frame)


def add_puff(*objects: bpy.types.Object, values: tuple[float, ...] = ()) -> list[bpy.types.ShapeKey]:
    """A key that widens each of these, animated from frame 1 to 20 between values."""
    keys = []
    for obj in objects:
        obj.shape_key_add(name="Basis")
        keys.append(obj.shape_key_add(name="Puff"))
        for point in keys[-1].data:
            point.co.x *= 1.5
        for frame, value in zip((1, 20), values, strict=False):
            keys[-1].value = value
            keys[-1].keyframe_insert("value", frame=frame)
    return keys


def assert_follows(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    update()
    assert settings_of(obj).message == ""
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE


def assert_tube_follows() -> None:
    """By name: undo and opening a file make new Python objects of all data."""
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert distance(rest_points(obj), evaluated_points(twin)) > 0.01
    assert_follows(obj, twin)


def all_weights_zero(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.add(list(range(len(obj.data.vertices))), 0.0, "REPLACE")
