"""Vertex groups as dense arrays: read them, and write differences."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import bpy
import bmesh
import numpy as np

from .data import mesh_of, read_vertex_groups


def read_weights(obj: bpy.types.Object, names: Sequence[str], absent: float = 0.0) -> np.ndarray:
    """Read the weights of vertex groups, in Edit Mode as edited.

    Parameters
    ----------
    names : sequence of str
        Of the groups, which need not be there.
    absent : float
        Value for vertices that are not in a group.

    Returns
    -------
    float32 array, shape (V, len(names))
        Weights that are not numbers, as they come with damaged files, count as absent.
    """
    result = _read_stored(obj, names, absent)
    result[np.isnan(result)] = absent
    return result


def _read_stored(obj: bpy.types.Object, names: Sequence[str], absent: float) -> np.ndarray:
    if mesh_of(obj).is_editmode:
        obj.update_from_editmode()
    entries = read_vertex_groups(mesh_of(obj))
    result = np.full((len(mesh_of(obj).vertices), len(names)), absent, np.float32)
    column_of = {name: column for column, name in enumerate(names)}
    columns = np.array([column_of.get(group.name, -1) for group in obj.vertex_groups] + [-1], np.intp)
    found = columns[np.minimum(entries.groups, len(columns) - 1)]
    is_named = found >= 0
    result[entries.vertices[is_named], found[is_named]] = entries.values[is_named]
    return result


def write_weights(obj: bpy.types.Object, names: Sequence[str], weights: np.ndarray) -> None:
    """Write weights to the vertex groups of these names.

    Missing groups are added if they get a weight. Vertices with weight 0 are removed from the group. Only weights
    that differ are written: 150,000 vertices of 5 weights take 1.5 s.

    Parameters
    ----------
    obj : Object
        In any mode, also if another object with the same mesh is in Edit Mode; its mesh is not linked.
    weights : float32 array, shape (V, len(names))
    """
    is_edited = mesh_of(obj).is_editmode
    before = _read_stored(obj, names, 0.0)  # what is no number differs from all that is written
    is_changed = False
    for column, name in enumerate(names):
        group = obj.vertex_groups.get(name)
        if group is None and not weights[:, column].any():
            continue
        if group is None:
            group = obj.vertex_groups.new(name=name)
        changed = np.flatnonzero(weights[:, column] != before[:, column])
        if not changed.size:
            continue
        is_changed, values = True, weights[changed, column]
        if is_edited:
            _edit(obj, group.index, changed, values)
            continue
        for vertex, value in zip(changed[values > 0].tolist(), values[values > 0].tolist(), strict=True):
            group.add((vertex,), value, "REPLACE")
        if gone := changed[values <= 0].tolist():
            group.remove(gone)
    if is_edited:
        bmesh.update_edit_mesh(mesh_of(obj), loop_triangles=False, destructive=False)
    elif is_changed:
        mesh_of(obj).update_tag()


def _edit(obj: bpy.types.Object, group: int, vertices: np.ndarray, values: np.ndarray) -> None:
    """Write weights of a mesh in Edit Mode, where groups themselves cannot be written."""
    edited = bmesh.from_edit_mesh(mesh_of(obj))
    edited.verts.ensure_lookup_table()
    layer: Any = edited.verts.layers.deform.verify()
    for vertex, value in zip(vertices.tolist(), values.tolist(), strict=True):
        entries = edited.verts[vertex][layer]
        if value > 0:
            entries[group] = value
        elif group in entries:
            del entries[group]


def read_selected(mesh: bpy.types.Mesh) -> np.ndarray:
    """Which vertices are selected, bool, shape (V,); those of a mesh in Edit Mode after `update_from_editmode`."""
    selected = np.empty(len(mesh.vertices), bool)
    mesh.vertices.foreach_get("select", selected)
    return selected
