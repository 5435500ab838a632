"""Which vertices of a mesh are selected."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np

from .data import mesh_of


def write_selected(obj: bpy.types.Object, selected: np.ndarray) -> None:
    """Select vertices, bool, shape (V,), and no others.

    If the mesh is in Edit Mode, also with another object, this switches to vertex selection, and edges and faces
    follow. Otherwise only vertices change, as paint masks need: Blender 5.0.1 crashes if a script selects the edges of
    a mesh that a script has made.
    """
    mesh = mesh_of(obj)
    if not mesh.is_editmode:
        for vertex, is_selected in zip(mesh.vertices, selected.tolist(), strict=True):
            vertex.select = is_selected
        mesh.update_tag()
        return
    edited = bmesh.from_edit_mesh(mesh)
    edited.select_mode = {"VERT"}
    for element in (*edited.faces, *edited.edges):
        element.select = False
    for vertex, is_selected in zip(edited.verts, selected.tolist(), strict=True):
        vertex.select = is_selected
    edited.select_flush_mode()
    bmesh.update_edit_mesh(mesh, loop_triangles=False, destructive=False)
