"""What tests of weights share: small tubes, what is read and set, and what is selected."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import bmesh
import numpy as np

from scenes import add_tube, add_twin, bind, edit_bones, evaluated_points, rest_points, select, turn
from supple.bridge.meshes.weights import read_weights
from supple.deformers.weight_editing.line_fields import HANDLES
from supple.settings.objects import settings_of
from supple.tasks.weights.lines import read_lines, set_moves

BONES = ["bone.0", "bone.1", "bone.2"]
HALF = list(range(52))
"""Vertices of a small tube's first half."""
COARSE = 24
"""Cells along a tube: enough for a tube."""
FEW = 600
"""Cells of a tube for biharmonic weights."""
COARSE_AND_FEW = {"resolution": COARSE, "cells": FEW}
CUBE = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
"""Faces of a box whose corners are in the order of x, then y, then z."""


def add_small_tube(**shape: float) -> tuple:
    """A tube of 104 vertices, and its armature."""
    return add_tube(rings=13, sides=8, **shape)


def move_line(obj: bpy.types.Object, bone: str, offsets=0.0, widths=1.0, line: int | None = None) -> int:
    """Move the lines of a bone, or one of them, by offsets and widths of all handles, or of each: changed vertices."""
    lines = read_lines(obj, bones=[bone])
    count = lines.find_joint(bone).field.line_count
    given = np.broadcast_to(offsets, HANDLES), np.broadcast_to(widths, HANDLES)
    set_moves(lines, {(bone, index): given for index in (range(count) if line is None else [line])})
    lines.write()
    return lines.changed_count


def add_bare_tube(**shape: float) -> tuple:
    """A small tube without weights, and its armature."""
    obj, armature = add_small_tube(**shape)
    obj.vertex_groups.clear()
    return obj, armature


def add_bone(armature: bpy.types.Object, name: str, head: tuple, tail: tuple) -> None:
    def add(bones) -> None:
        bone = bones.new(name)
        bone.head, bone.tail = head, tail

    edit_bones(armature, add)


def auto(**options) -> set[str]:
    """The operator, on a coarse grid where nothing else is asked for."""
    return bpy.ops.supple.weights_auto(**(COARSE_AND_FEW | options))


def weights_of(obj: bpy.types.Object, names: list[str] = BONES) -> np.ndarray:
    return read_weights(obj, names)


def set_weights(obj: bpy.types.Object, values: np.ndarray, names: list[str] = BONES) -> None:
    for name, column in zip(names, values.T, strict=True):
        group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
        group.remove(list(range(len(column))))
        for vertex in np.flatnonzero(column).tolist():
            group.add((vertex,), float(column[vertex]), "REPLACE")


def assert_whole(obj: bpy.types.Object, names: list[str] = BONES) -> None:
    """Every vertex has weights, which sum to 1."""
    assert np.abs(weights_of(obj, names).sum(axis=1) - 1.0).max() < 1e-5


def assert_closed(obj: bpy.types.Object) -> None:
    """Vertices at one place have the same weights."""
    assert (weights_of(obj) == weights_of(obj)[find_first_copies(obj)]).all()


def select_bones(armature: bpy.types.Object, *names: str) -> None:
    for bone in armature.pose.bones:
        owner = bone if "select" in bone.bl_rna.properties else bone.bone
        owner.select = bone.name in names


def choose_vertices(obj: bpy.types.Object, vertices: list[int]) -> None:
    """Select vertices in Edit Mode, and stay there."""
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="DESELECT")
    edited = bmesh.from_edit_mesh(obj.data)
    edited.verts.ensure_lookup_table()
    for vertex in vertices:
        edited.verts[vertex].select = True
    bmesh.update_edit_mesh(obj.data)


def edit_elsewhere(obj: bpy.types.Object) -> bpy.types.Object:
    """Have another object, which shares an object's mesh, in Edit Mode; the object is selected and active again."""
    other = obj.copy()
    bpy.context.scene.collection.objects.link(other)
    mode = obj.mode
    select(other)
    bpy.ops.object.mode_set(mode="EDIT")
    other.select_set(False)
    obj.select_set(True)
    bpy.context.view_layer.objects.active = obj
    assert (obj.mode, other.mode) == (mode, "EDIT")
    return other


def leave_edit_mode(obj: bpy.types.Object) -> None:
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="OBJECT")


def add_mesh(name: str, points: np.ndarray, faces: np.ndarray) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points.tolist(), [], faces.tolist())
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


def split_all_edges(obj: bpy.types.Object) -> None:
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    bmesh.ops.split_edges(edited, edges=list(edited.edges))
    edited.to_mesh(obj.data)


def keep_vertices(obj: bpy.types.Object, kept: np.ndarray) -> None:
    """Delete all others."""
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    bmesh.ops.delete(edited, geom=[vertex for vertex, stays in zip(edited.verts, kept, strict=True) if not stays])
    edited.to_mesh(obj.data)


def find_first_copies(obj: bpy.types.Object) -> np.ndarray:
    """For each vertex the first one at its place."""
    _, first, inverse = np.unique(rest_points(obj).round(4), axis=0, return_index=True, return_inverse=True)
    assert len(first) < len(obj.data.vertices)
    return first[inverse.ravel()]


def link_to_scene(obj: bpy.types.Object) -> bpy.types.Object:
    bpy.context.scene.collection.objects.link(obj)
    return obj


def add_sides(armature: bpy.types.Object) -> list[str]:
    """A bone to each side; names of the bones that move a tube then."""
    add_bone(armature, "arm.L", (0.1, 1.5, 0), (0.3, 1.5, 0))
    add_bone(armature, "arm.R", (-0.1, 1.5, 0), (-0.3, 1.5, 0))
    return ["bone.0", "arm.L", "arm.R"]


def assert_new_weights_show(change: Callable[[], object]) -> None:
    """A bound tube moves when weights change, as its twin under Blender's own modifier, which was never bound."""
    obj, armature = add_small_tube()
    twin = add_twin(obj)
    turn(armature, "bone.1", (1.0, 0.0, 0.0))
    bind(obj, method="SSD")
    before = evaluated_points(obj)
    for one in (obj, twin):
        select(one)
        change()
    assert settings_of(obj).message == ""
    assert np.abs(evaluated_points(obj) - before).max() > 0.01
    assert np.abs(evaluated_points(obj) - evaluated_points(twin)).max() < 1e-4
