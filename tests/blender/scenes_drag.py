"""A tube to pose by dragging its skin, and what tests ask of it."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np
from mathutils import Vector

from scenes import add_tube, bind, evaluated_points, select, update

LENGTH, RADIUS = 4.0, 0.35
TIP = (0.0, 3.9, RADIUS)
"""A point of the tube's skin at rest, near its end."""


def add_posed_tube(bones: int = 4, method: str = "") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube with a chain of bones in Pose Mode, bound by a method if one is given: (mesh object, armature object)."""
    obj, armature = add_tube(bones=bones, rings=61, sides=24, length=LENGTH, radius=RADIUS)
    if method:
        bind(obj, method=method)
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    return obj, armature


def relax(armature: bpy.types.Object, mode: str = "QUATERNION") -> None:
    """Put all bones at rest, rotated by a mode from now on."""
    for bone in armature.pose.bones:
        bone.rotation_mode = mode
        bone.matrix_basis.identity()
    update()


def find_vertex(obj: bpy.types.Object, point: Sequence[float]) -> int:
    """The vertex that is nearest to a point at rest, object space."""
    return int(np.argmin([(vertex.co - Vector(point)).length for vertex in obj.data.vertices]))


def locate(obj: bpy.types.Object, vertex: int) -> np.ndarray:
    """Where a vertex is now, world space, shape (3,)."""
    return np.array(obj.matrix_world @ Vector(evaluated_points(obj)[vertex].tolist()))


def drag(obj: bpy.types.Object, vertex: int, offset: Sequence[float], **options: object) -> float:
    """Drag a vertex by an offset, world space: how far from its target it then is."""
    start = locate(obj, vertex)
    target = start + np.array(offset)
    assert bpy.ops.supple.drag_skin(mesh=obj.name, point=start, target=target, **options) == {"FINISHED"}
    return float(np.linalg.norm(locate(obj, vertex) - target))


def pin(obj: bpy.types.Object, vertex: int, hold_rotation: bool = False) -> None:
    """Pin a vertex, or take its pin off."""
    options = {"mesh": obj.name, "action": "PIN", "hold_rotation": hold_rotation}
    assert bpy.ops.supple.drag_skin(point=locate(obj, vertex), **options) == {"FINISHED"}


def read_pose(armature: bpy.types.Object) -> dict[str, tuple]:
    """All channels of all bones, by name."""
    update()
    return {
        bone.name: (
            *bone.location, *bone.rotation_quaternion, *bone.rotation_euler, *bone.rotation_axis_angle, *bone.scale,
        )
        for bone in armature.pose.bones
    }  # fmt: skip


def list_changed(armature: bpy.types.Object, before: dict[str, tuple]) -> list[str]:
    """Names of the bones whose channels are others than before."""
    return [name for name, channels in read_pose(armature).items() if channels != before[name]]
