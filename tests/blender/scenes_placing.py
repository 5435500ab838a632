"""What tests of patterns placed by hand share."""

import math

import bpy
import numpy as np

from scenes import add_tube, turn
from supple.deformers.patterns.picking import find_shown
from supple.tasks.patterns.placing.picking import read_skin

RADIUS, LENGTH = 0.5, 4.0


def add_body(rings: int = 41, sides: int = 24) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube with a UV map: u around it, 0.25 on top, v along it."""
    obj, armature = add_tube(bones=2, rings=rings, sides=sides, length=LENGTH, radius=RADIUS)
    obj.data.flip_normals()
    layer = obj.data.uv_layers.new(name="UVMap")
    for face in obj.data.polygons:
        points = [obj.data.vertices[vertex].co for vertex in face.vertices]
        turns = np.array([math.atan2(point.z, point.x) / math.tau % 1.0 for point in points])
        turns[turns < turns.max() - 0.5] += 1.0
        for loop, share, point in zip(face.loop_indices, turns, points, strict=True):
            layer.data[loop].uv = (share, point.y / LENGTH)
    return obj, armature


def add_pattern(preset: str = "FOLDS_NECK", **given):
    bpy.ops.supple.pattern_add(preset=preset, bone="bone.1", **given)
    obj = bpy.context.object
    return obj.supple.patterns[obj.supple.active_pattern]


def bend(armature: bpy.types.Object) -> None:
    turn(armature, "bone.1", (0.4, 0.3, 0.5))


def depsgraph() -> bpy.types.Depsgraph:
    return bpy.context.evaluated_depsgraph_get()


def shown_at(obj: bpy.types.Object, pattern, where: tuple[float, float] = (0.5, 0.5)) -> np.ndarray:
    """Where the evaluated mesh shows a point of the height map, object space."""
    return find_shown(read_skin(obj, depsgraph()), pattern.number, where)[0].point


def subdivide(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 2
