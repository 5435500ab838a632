"""Charts of patterns on a mesh: what is read to make them, and the attributes that hold them.

An attribute holds charts that share no face, for each corner of a face (x, y, number): where in the picture the corner
lies, and the pattern's number; (0, 0, 0) where there is none.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

import bpy
import numpy as np

from .meshes import read_face_corners, read_points

PREFIX = "supple_"


def read_uv(mesh: bpy.types.Mesh) -> np.ndarray | None:
    """The UV map that renders use, float64, shape (C, 2); None where there is none."""
    layer = next((one for one in mesh.uv_layers if one.active_render), None)
    if layer is None:
        return None
    uv = np.empty((len(mesh.loops), 2), np.float32)
    layer.uv.foreach_get("vector", uv.ravel())
    return uv.astype(np.float64)


def read_outline(mesh: bpy.types.Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Points at rest, corners' vertices, faces' first corners and the UV map: what charts are made of."""
    corners, starts = read_face_corners(mesh)
    return read_points(mesh), corners, starts, read_uv(mesh)


def fingerprint(outline: tuple[np.ndarray | None, ...]) -> int:
    """A number that differs where the mesh has changed."""
    code = 0
    for array in outline:
        if array is not None:
            code = zlib.crc32(np.ascontiguousarray(array), code)
    return code


def chart_name(key: str, layer: int) -> str:
    """Name of the attribute that holds a layer of charts."""
    return f"{PREFIX}{key}_{layer}"


def write_charts(mesh: bpy.types.Mesh, key: str, layers: Sequence[np.ndarray]) -> None:
    """Store layers of charts, float32, shape (C, 3) each, and remove those there are no more of."""
    for index, values in enumerate(layers):
        name = chart_name(key, index)
        attribute = mesh.attributes.get(name)
        if attribute is not None and (attribute.domain, attribute.data_type) != ("CORNER", "FLOAT_VECTOR"):
            mesh.attributes.remove(attribute)
            attribute = None
        if attribute is None:
            attribute = mesh.attributes.new(name, "FLOAT_VECTOR", "CORNER")
        attribute.data.foreach_set("vector", np.ascontiguousarray(values, np.float32).ravel())
    index = len(layers)
    while (attribute := mesh.attributes.get(chart_name(key, index))) is not None:
        mesh.attributes.remove(attribute)
        index += 1
    mesh.update_tag()
