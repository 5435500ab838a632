"""Points of posed skins: their positions, and the vertex groups that move them."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from .data import mesh_of, read_groups_of


@dataclass(frozen=True)
class SkinPoint:
    """A point of a mesh as shown, after all modifiers.

    Attributes
    ----------
    vertices : tuple of 3 ints
        Of a triangle.
    shares : tuple of 3 floats
        Barycentric coordinates in it.
    count : int
        Vertices of the mesh as shown: with others, the point is lost.
    """

    obj: bpy.types.Object
    vertices: tuple[int, int, int]
    shares: tuple[float, float, float]
    count: int


def locate_point(point: SkinPoint, depsgraph: bpy.types.Depsgraph) -> np.ndarray | None:
    """Position of a point of a skin, float64 array, shape (3,), world space; None if the mesh has other vertices
    now."""
    evaluated = point.obj.evaluated_get(depsgraph)
    mesh = mesh_of(evaluated)
    is_copy = len(mesh.vertices) != point.count  # as where the graphics card subdivides
    if is_copy:
        mesh = evaluated.to_mesh()
    try:
        if len(mesh.vertices) != point.count:
            return None
        ends = np.array([mesh.vertices[vertex].co for vertex in point.vertices])
    finally:
        if is_copy:
            evaluated.to_mesh_clear()
    matrix = np.array(evaluated.matrix_world)
    return matrix[:3, :3] @ (np.array(point.shares) @ ends) + matrix[:3, 3]


def read_group_weights(point: SkinPoint, depsgraph: bpy.types.Depsgraph) -> dict[str, float]:
    """The weights of vertex groups at a point of a skin whose modifiers add vertices, by name."""
    evaluated = point.obj.evaluated_get(depsgraph)
    mesh = evaluated.to_mesh()
    try:
        order = np.argsort(point.vertices)
        entries = read_groups_of(mesh, np.array(point.vertices)[order])
    finally:
        evaluated.to_mesh_clear()
    share_of = dict(zip(point.vertices, point.shares, strict=True))
    names = point.obj.vertex_groups.keys()
    found: dict[str, float] = {}
    for vertex, group, value in zip(entries.vertices.tolist(), entries.groups, entries.values, strict=True):
        if group < len(names):
            found[names[group]] = found.get(names[group], 0.0) + share_of[vertex] * value
    return found
