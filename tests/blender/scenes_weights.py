"""What tests of weights share: a tube without weights, and what they read and set."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np

from scenes import (
    add_tube,
    rest_points,
)
from supple.bridge.weights import read_weights

BONES = [f"bone.{bone}" for bone in range(3)]
COARSE = 24
"""Cells along a tube: enough for a tube."""
FEW = 600
"""Cells of a tube for biharmonic weights."""
COARSE_AND_FEW = {"resolution": COARSE, "cells": FEW}


def add_bare_tube(**shape: float) -> tuple:
    """A small tube without weights, and its armature."""
    obj, armature = add_tube(rings=13, sides=8, **shape)
    obj.vertex_groups.clear()
    return obj, armature


def auto(**options) -> set[str]:
    """The operator, on a coarse grid where nothing else is asked for."""
    return bpy.ops.supple.weights_auto(**(COARSE_AND_FEW | options))


def weights_of(obj: bpy.types.Object, names: list[str] = BONES) -> np.ndarray:
    return read_weights(obj, names)


def assert_whole(obj: bpy.types.Object, names: list[str] = BONES) -> None:
    """Every vertex has weights, which sum to 1."""
    assert np.abs(weights_of(obj, names).sum(axis=1) - 1.0).max() < 1e-5


def select_bones(armature: bpy.types.Object, *names: str) -> None:
    for bone in armature.pose.bones:
        owner = bone if "select" in bone.bl_rna.properties else bone.bone
        owner.select = bone.name in names


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


def find_first_copies(obj: bpy.types.Object) -> np.ndarray:
    """For each vertex the first one at its place."""
    _, first, inverse = np.unique(rest_points(obj).round(4), axis=0, return_index=True, return_inverse=True)
    assert len(first) < len(obj.data.vertices)
    return first[inverse.ravel()]


def empty(obj, armature):
    obj.data.clear_geometry()
