"""Bones more than 180 degrees apart: Preserve Volume tears, more or less by the order of the groups, and NumPy's DLB
as it does; DLBNT by Python does not."""

from itertools import permutations
from math import radians

import bpy
import numpy as np

from scenes import add_tube, armature_modifier, bind, distance, evaluated_points, reset, rest_points, turn


def add_wide_weights(obj: bpy.types.Object, order: tuple[int, ...]) -> None:
    """Weights by which each ring of a tube of three bones feels them all, in groups of this order."""
    along = rest_points(obj)[:, 1]
    weights = 1.0 - np.abs(along[:, None] - (np.arange(3) + 0.49)) / 2.6  # no ties, which rounding decides
    obj.vertex_groups.clear()
    for bone in order:
        group = obj.vertex_groups.new(name=f"bone.{bone}")
        for vertex, weight in enumerate(weights[:, bone]):
            group.add([vertex], float(weight), "REPLACE")


def largest_edge_stretch(obj: bpy.types.Object) -> float:
    edges = np.array([edge.vertices[:] for edge in obj.data.edges])
    rest, posed = (
        np.linalg.norm(points[edges[:, 0]] - points[edges[:, 1]], axis=1)
        for points in (rest_points(obj), evaluated_points(obj))
    )
    return float((posed / rest).max())


def test_twist_of_120_and_120_degrees():
    shapes, torn = [], []
    for order in permutations(range(3)):
        reset()
        obj, armature = add_tube(bones=3, rings=61, sides=32)
        add_wide_weights(obj, order)
        for bone in ("bone.1", "bone.2"):
            turn(armature, bone, (0, radians(120), 0))
        armature_modifier(obj).use_deform_preserve_volume = True
        torn.append(largest_edge_stretch(obj))
        by_blender = evaluated_points(obj)
        bind(obj, method="DLB", evaluate="PYTHON")
        assert distance(evaluated_points(obj), by_blender) <= 1e-6
        bind(obj, method="DLBNT", evaluate="PYTHON")
        shapes.append(evaluated_points(obj))
        assert largest_edge_stretch(obj) <= 1.3
    assert min(torn) > 5
    assert max(distance(shapes[0], shape) for shape in shapes) <= 1e-6
