"""What tests of points and cages share: a tube with points on it, and with a cage about its end."""

from __future__ import annotations

import bpy
import numpy as np
from scenes_weights import FEW, add_bare_tube, add_mesh

from scenes import select, update

POINTS = {"Low": (0.0, 1.5, -0.4), "High": (0.0, 2.4, 0.4)}
CAGE_START = 1.9
"""Where the cage about the tube's end begins, along Y."""


def add_point(name: str, location: tuple[float, ...]) -> bpy.types.Object:
    """An empty."""
    empty = bpy.data.objects.new(name, None)
    bpy.context.scene.collection.objects.link(empty)
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
