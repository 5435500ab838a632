"""What tests of weight edits share: a small tube, its weights, and which vertices are selected."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np

from scenes import (
    add_tube,
    select,
)

BONES = ["bone.0", "bone.1", "bone.2"]
HALF = list(range(52))
"""Vertices of a tube's first half."""


def add_small_tube(radius: float = 0.4) -> tuple:
    return add_tube(rings=13, sides=8, radius=radius)


def set_weights(obj: bpy.types.Object, values: np.ndarray, names: list[str] = BONES) -> None:
    for name, column in zip(names, values.T, strict=True):
        group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
        group.remove(list(range(len(column))))
        for vertex in np.flatnonzero(column).tolist():
            group.add((vertex,), float(column[vertex]), "REPLACE")


def choose_vertices(obj: bpy.types.Object, vertices: list[int]) -> None:
    """Select vertices in Edit Mode, and stay there."""
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="DESELECT")
    edited = bmesh.from_edit_mesh(obj.data)
    edited.verts.ensure_lookup_table()
    for vertex in vertices:
        edited.verts[vertex].select = True
    bmesh.update_edit_mesh(obj.data)


def no_armature(obj, armature):
    obj.modifiers.clear()


def add_sides(armature: bpy.types.Object) -> list[str]:
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for name, side in (("arm.L", 1), ("arm.R", -1)):
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = (0.1 * side, 1.5, 0), (0.3 * side, 1.5, 0)
    bpy.ops.object.mode_set(mode="OBJECT")
    return ["bone.0", "arm.L", "arm.R"]
