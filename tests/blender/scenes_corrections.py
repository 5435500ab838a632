"""What tests of corrections share: what is sculpted, and what is shown."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector

from scenes import add_tube, edit_bones, evaluated_points, rest_points, select, update
from supple.tasks.corrections.keep import Kept, keep
from supple.tasks.corrections.posed_copy import begin

ASIDE = Vector((1.5, 0.0, 0.0))


def copy_points(copy: bpy.types.Object) -> np.ndarray:
    """Points of a posed copy, float64, shape (V, 3)."""
    points = np.empty((len(copy.data.vertices), 3), np.float32)
    copy.data.vertices.foreach_get("co", points.ravel())
    return points.astype(np.float64)


def sculpt(copy: bpy.types.Object, center: np.ndarray, radius: float, offset: np.ndarray) -> np.ndarray:
    """Move vertices of a posed copy that are near a center by an offset that fades; returns all points."""
    points = copy_points(copy)
    distances = np.linalg.norm(points - center, axis=1)
    points += np.maximum(0.0, 1.0 - distances / radius)[:, None] ** 2 * np.asarray(offset, float)
    copy.data.vertices.foreach_set("co", points.astype(np.float32).ravel())
    copy.data.update()
    return points


def correct(obj: bpy.types.Object, center: np.ndarray, radius: float, offset: np.ndarray, **options) -> np.ndarray:
    """Correct the pose that is shown, and return what it was sculpted to."""
    layer = bpy.context.view_layer
    (copy,), _ = begin([obj], layer)
    target = sculpt(copy, center, radius, offset)
    correct.kept = keep([copy], layer, **options)
    update()
    return target


correct.kept = Kept((), (), 0, ())


def add_arms() -> tuple[bpy.types.Object, bpy.types.Object]:
    """Two tubes beside each other in one mesh, mirror images at x = 0, each on two bones: (mesh object, armature).

    The right bones are rolled otherwise than mirroring would have it.
    """
    obj, armature = add_tube(bones=2, length=2.0)
    points = rest_points(obj)
    bottom, top = points.copy(), points.copy()
    bottom[:, 0] += 1.5
    top[:, 0] = -bottom[:, 0]
    faces = [tuple(face.vertices) for face in obj.data.polygons]
    count = len(points)
    mesh = bpy.data.meshes.new("Arms")
    both = np.concatenate([bottom, top]).tolist()
    mesh.from_pydata(both, [], faces + [tuple(count + v for v in reversed(face)) for face in faces])
    weights = {group.name: np.zeros(count) for group in obj.vertex_groups}
    for vertex in obj.data.vertices:
        for entry in vertex.groups:
            weights[obj.vertex_groups[entry.group].name][vertex.index] = entry.weight
    obj.vertex_groups.clear()
    obj.data = mesh
    edit_bones(armature, _make_arms)
    for side, start in (("L", 0), ("R", count)):
        for bone, values in weights.items():
            group = obj.vertex_groups.new(name=f"{bone}.{side}")
            for vertex in np.flatnonzero(values).tolist():
                group.add((start + vertex,), float(values[vertex]), "REPLACE")
    select(obj)
    return obj, armature


def _make_arms(bones) -> None:
    """Make a chain along Y the left one, aside, and add the right one."""
    for bone in list(bones):
        bone.use_connect = False
    for bone in list(bones):
        other = bones.new(f"{bone.name}.R")
        other.head, other.tail, other.roll = bone.head - ASIDE, bone.tail - ASIDE, 0.8
        if bone.parent is not None:
            other.parent = bones[bone.parent.name.replace(".L", ".R")]
        bone.name = f"{bone.name}.L"
        bone.head, bone.tail = bone.head + ASIDE, bone.tail + ASIDE


def shown(obj: bpy.types.Object) -> np.ndarray:
    """Points as they are shown, float64."""
    return evaluated_points(obj).astype(np.float64)


def key_value(obj: bpy.types.Object, name: str) -> float:
    """Value of a shape key as it is evaluated."""
    depsgraph = bpy.context.evaluated_depsgraph_get()
    return obj.data.shape_keys.evaluated_get(depsgraph).key_blocks[name].value
