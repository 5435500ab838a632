"""Charts of patterns on a mesh: their input, and the attributes that store them.

An attribute stores charts that share no face, for each corner of a face (s, t, number): the corner's coordinates in the
height map, and the pattern's number; (0, 0, 0) if there is none. Compression has further attributes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

import bpy
import numpy as np

from ...deformers.patterns.compression import GaugeLayer
from ..arrays import read_array
from .data import mesh_of, read_face_corners, read_points

PREFIX = "supple_"

# Keys of objects, by which their patterns' charts are told apart
KEYS = re.compile("[0-9a-f]{8}")

# Attributes of a layer of gauges, and what they are of: arrays of `GaugeLayer`
GAUGES = {"coefficients": "CORNER", "shares": "CORNER", "weights": "POINT", "numbers": "FACE"}

# Names of the attributes that hold charts, or what measures compression, with the object's key
CHARTS = re.compile(f"{PREFIX}({KEYS.pattern})_(?:(?:{'|'.join(GAUGES)})_)?[0-9]+")


def read_uv(mesh: bpy.types.Mesh) -> np.ndarray | None:
    """The UV map that renders use, float64, shape (C, 2); None if there is none."""
    layer = next((layer for layer in mesh.uv_layers if layer.active_render), None)
    if layer is None:
        return None
    uv = np.empty((len(mesh.loops), 2), np.float32)
    layer.uv.foreach_get("vector", uv.ravel())
    return uv.astype(np.float64)


def read_chart_arrays(mesh: bpy.types.Mesh) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray | None]:
    """Read the input of charts.

    Returns
    -------
    points : float array, shape (V, 3)
        At rest, object space.
    corner_vertices : int array, shape (C,)
    face_starts : int array, shape (F,)
        The first corner of each face.
    uv : float64 array, shape (C, 2), or None
    """
    corners, starts = read_face_corners(mesh)
    return read_points(mesh), corners, starts, read_uv(mesh)


def chart_name(key: str, layer: int) -> str:
    """Name of the attribute that holds a layer of charts."""
    return f"{PREFIX}{key}_{layer}"


def gauge_names(key: str, layer: int) -> list[str]:
    """Names of the attributes of a layer of gauges, in the order of `GAUGES`."""
    return [f"{PREFIX}{key}_{name}_{layer}" for name in GAUGES]


def compression_name(key: str, layer: int) -> str:
    """Name of the attribute in which nodes store the compression that a layer of gauges measures."""
    return f"{PREFIX}{key}_compression_{layer}"


def depth_name(key: str, number: int) -> str:
    """Name of the attribute in which nodes store how deep a limb presses into the skin under a pattern of a number."""
    return f"{PREFIX}{key}_depth_{number}"


def write_charts(mesh: bpy.types.Mesh, key: str, layers: Sequence[np.ndarray]) -> None:
    """Store layers of charts in a mesh, and remove layers of the same key beyond them.

    Parameters
    ----------
    key : str
        Of the object whose patterns they are.
    layers : sequence of float32 arrays, shape (C, 3)
        (s, t, number) of each corner.
    """
    for index, values in enumerate(layers):
        _write(mesh, chart_name(key, index), "FLOAT_VECTOR", "CORNER", values)
    index = len(layers)
    while (attribute := mesh.attributes.get(chart_name(key, index))) is not None:
        mesh.attributes.remove(attribute)
        index += 1
    mesh.update_tag()


def write_gauges(mesh: bpy.types.Mesh, key: str, layers: Sequence[GaugeLayer]) -> None:
    """Store layers of gauges in a mesh, and remove layers of the same key beyond them.

    `key`: of the object whose patterns they are for.
    """
    counts = {"CORNER": len(mesh.loops), "POINT": len(mesh.vertices), "FACE": len(mesh.polygons)}
    for index, layer in enumerate(layers):
        owners = {"CORNER": layer.corners, "POINT": layer.vertices, "FACE": layer.faces}
        for (name, domain), attribute in zip(GAUGES.items(), gauge_names(key, index), strict=True):
            values = np.zeros(counts[domain], np.float32)
            values[owners[domain]] = getattr(layer, name)
            _write(mesh, attribute, "FLOAT", domain, values)
    index = len(layers)
    while stale := [name for name in gauge_names(key, index) if name in mesh.attributes]:
        for name in stale:
            mesh.attributes.remove(mesh.attributes[name])
        index += 1
    mesh.update_tag()


def _write(mesh: bpy.types.Mesh, name: str, data_type: Any, domain: Any, values: np.ndarray) -> None:
    """Store values in an attribute of a mesh, made anew if it has another type."""
    attribute = mesh.attributes.get(name)
    if attribute is not None and (attribute.domain, attribute.data_type) != (domain, data_type):
        mesh.attributes.remove(attribute)
        attribute = None
    if attribute is None:
        attribute = mesh.attributes.new(name, data_type, domain)
    data: Any = attribute
    data.data.foreach_set("vector" if values.ndim == 2 else "value", np.ascontiguousarray(values, np.float32).ravel())


def read_compression(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, name: str) -> np.ndarray | None:
    """Compression at an object's vertices, as stored by nodes.

    `name`: of the attribute.

    Returns
    -------
    float32 array, shape (V,), or None
        None if it is not there, or modifiers have changed the vertices since.
    """
    mesh = mesh_of(obj.evaluated_get(depsgraph))
    attribute: Any = mesh.attributes.get(name)
    if attribute is None or len(mesh.vertices) != len(mesh_of(obj).vertices):
        return None
    return read_array(attribute.data, "value")


def remove_charts(mesh: bpy.types.Mesh, kept: Collection[str]) -> None:
    """Remove from a mesh all layers of charts but those of some keys; a linked mesh stays as it is.

    Keys come from other meshes, too: with a mesh that was copied, joined or shared before.
    """
    if mesh.library is not None or mesh.override_library is not None:
        return
    stale = [name for name in mesh.attributes.keys() if (match := CHARTS.fullmatch(name)) and match[1] not in kept]
    for name in stale:
        mesh.attributes.remove(mesh.attributes[name])
    if stale:
        mesh.update_tag()
