"""A mesh after its modifiers, with the weights that its vertices have there."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from .data import VertexGroups, mesh_of, read_points, read_triangles, read_vertex_groups


@dataclass(frozen=True)
class ShownShape:
    """A mesh after all its modifiers, object space.

    Attributes
    ----------
    points, normals : float32 arrays, shape (V', 3)
    triangles : int32 array, shape (T, 3)
    """

    points: np.ndarray
    normals: np.ndarray
    triangles: np.ndarray


def read_shown_shape(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> ShownShape:
    """Read the shape of a mesh object as evaluated by a depsgraph.

    It is read from a copy of the evaluated mesh, which itself is coarse if the graphics card subdivides.
    """
    evaluated = obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        normals = np.empty((len(mesh.vertices), 3), np.float32)
        mesh.vertex_normals.foreach_get("vector", normals.ravel())
        return ShownShape(read_points(mesh), normals, read_triangles(mesh))
    finally:
        evaluated.to_mesh_clear()


def read_shown_groups(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph) -> VertexGroups:
    """Read the entries of the vertex groups after all modifiers: those that add vertices interpolate weights."""
    evaluated = obj.evaluated_get(depsgraph)
    if len(mesh_of(evaluated).vertices) == len(mesh_of(obj).vertices):
        return read_vertex_groups(mesh_of(obj))
    mesh = evaluated.to_mesh()
    try:
        return read_vertex_groups(mesh)
    finally:
        evaluated.to_mesh_clear()
