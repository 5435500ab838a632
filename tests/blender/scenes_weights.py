"""What tests of weights share: small tubes, what is read and set, and what is selected."""

from __future__ import annotations

from collections.abc import Callable

import bpy
import bmesh
import numpy as np

from scenes import (
    add_bones,
    add_mesh,
    add_object,
    add_tube,
    add_twin,
    bind,
    edit,
    evaluated_points,
    link,
    rest_points,
    select,
    turn,
    update,
)
from supple.bridge.meshes.weights import read_weights
from supple.deformers.weight_editing.line_fields import HANDLES_PER_LINE
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
    given = np.broadcast_to(offsets, HANDLES_PER_LINE), np.broadcast_to(widths, HANDLES_PER_LINE)
    set_moves(lines, {(bone, index): given for index in (range(count) if line is None else [line])})
    lines.write()
    return lines.changed_count


def add_bare_tube(**shape: float) -> tuple:
    """A small tube without weights, and its armature."""
    return add_small_tube(has_weights=False, **shape)


def add_bone(armature: bpy.types.Object, name: str, head: tuple, tail: tuple) -> None:
    add_bones(armature, (name, "", head, tail))


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
    link(other)
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


def split_all_edges(obj: bpy.types.Object) -> None:
    with edit(obj.data) as edited:
        bmesh.ops.split_edges(edited, edges=list(edited.edges))


def keep_vertices(obj: bpy.types.Object, kept: np.ndarray) -> None:
    """Delete all others."""
    with edit(obj.data) as edited:
        bmesh.ops.delete(edited, geom=[vertex for vertex, stays in zip(edited.verts, kept, strict=True) if not stays])


def find_first_copies(obj: bpy.types.Object) -> np.ndarray:
    """For each vertex the first one at its place."""
    _, first, inverse = np.unique(rest_points(obj).round(4), axis=0, return_index=True, return_inverse=True)
    assert len(first) < len(obj.data.vertices)
    return first[inverse.ravel()]


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


# Points and cages


POINTS = {"Low": (0.0, 1.5, -0.4), "High": (0.0, 2.4, 0.4)}
CAGE_START = 1.9
"""Where the cage about the tube's end begins, along Y."""


def add_point(name: str, location: tuple[float, ...]) -> bpy.types.Object:
    """An empty."""
    empty = add_object(name)
    empty.location = location
    return empty


def add_box(name: str = "Cage", start: float = CAGE_START, end: float = 3.2, radius: float = 0.6) -> bpy.types.Object:
    """A closed cage of 12 vertices about a part of a tube along Y."""
    around = np.array([(-1, 0, -1), (1, 0, -1), (1, 0, 1), (-1, 0, 1)], float) * radius
    points = np.concatenate([around + np.array([0.0, y, 0.0]) for y in (start, 0.5 * (start + end), end)])
    sides = [[r + c, r + (c + 1) % 4, r + 4 + (c + 1) % 4, r + 4 + c] for r in (0, 4) for c in range(4)]
    faces = np.array([[0, 3, 2, 1], [8, 9, 10, 11], *sides])
    return add_mesh(name, points, faces)


def add_handles(skin: bpy.types.Object, *objects: bpy.types.Object, **options) -> set[str]:
    """The operator."""
    update()
    select(skin, *objects)
    return bpy.ops.supple.handles_add(**options)


def weight(*meshes: bpy.types.Object) -> set[str]:
    """Bounded biharmonic weights of a few cells."""
    select(*meshes)
    return bpy.ops.supple.weights_auto(method="BIHARMONIC", cells=FEW)


def add_held_tube(kind: str) -> tuple[bpy.types.Object, bpy.types.Object, list[bpy.types.Object]]:
    """A weighted tube, its armature, and its handles: two points, or a cage about its end."""
    tube, armature = add_bare_tube()
    weight(tube)
    handles = [add_box()] if kind == "cage" else [add_point(name, at) for name, at in POINTS.items()]
    add_handles(tube, *handles)
    weight(tube)
    return tube, armature, handles


def change_of(armature: bpy.types.Object, name: str) -> np.ndarray:
    """Where a bone's rest goes, armature space, (4, 4)."""
    bone = armature.pose.bones[name]
    return np.array(bone.matrix @ bone.bone.matrix_local.inverted(), np.float64)


def moved(points: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Points, (V, 3), moved by a matrix."""
    return points @ matrix[:3, :3].T + matrix[:3, 3]
