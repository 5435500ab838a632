"""Compression that brings patterns out: measured by a node modifier of the object, and by NumPy on posed points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.charts import compression_name, gauge_names, read_compression
from ...bridge.modifiers import COMPRESSION_NAME, PATTERNS_NAME, add_modifier, find_marked_modifier, is_from_library
from ...deformers import SkinningError
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.patterns.charts import Chart
from ...deformers.patterns.compression import (
    CompressionResponse,
    Gauge,
    GaugeLayer,
    assign_gauge_layers,
    make_gauge,
    make_layer,
    respond_to_compression,
)
from ...nodes.compression import NodeLayer, build_compression
from ...nodes.graph import HIDDEN
from ...nodes.groups import VERSION, leave_group
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from .meaning import check_driver, has_compression, read_compression_response

KEY, SIGNATURE = "supple_compression", "supple_signature"
"""Custom properties of the node group that measures: the object's key, and what it was built from."""

NODES = 2
"""Version of the nodes: groups of another are built anew when patterns are changed."""

REBUILDING = {
    "BEVEL", "BOOLEAN", "BUILD", "DECIMATE", "MULTIRES", "REMESH", "SCREW", "SKIN", "SUBSURF", "TRIANGULATE",
    "VOLUME_TO_MESH", "WELD", "WIREFRAME",
}  # fmt: skip
"""Modifiers that make other faces: compression is measured before them."""


@dataclass(frozen=True)
class MeasuredPattern:
    """What compression has to do with a pattern.

    Attributes
    ----------
    driver, spread : str
        See `DRIVERS` and `SPREADS`.
    """

    driver: str
    spread: str
    response: CompressionResponse
    gauge: Gauge

    def respond(self, compression: np.ndarray | float) -> np.ndarray:
        """How much of the pattern compression, shape (...), brings out."""
        return respond_to_compression(self.driver, self.response, compression)

    def constants(self, is_full: bool) -> tuple[float, ...]:
        """What the nodes of its law hold: `nodes.compression.LAW_INPUTS`."""
        sign = -1.0 if self.driver == "STRETCH" else 1.0
        return sign, self.response.start, self.response.full, self.response.gain, float(is_full)


def read_measured(mesh: ChartMesh, pattern: PatternSettings, chart: Chart) -> MeasuredPattern | None:
    """What compression has to do with a pattern; None where an angle alone drives it.

    Raises
    ------
    SkinningError
        Where it can not be measured, or the settings make no sense.
    """
    check_driver(pattern)
    if not has_compression(pattern):
        return None
    response = read_compression_response(pattern)
    gauge = make_gauge(mesh, chart, tuple(pattern.size), pattern.compression_angle, pattern.compression_smoothing)
    return MeasuredPattern(pattern.driver, pattern.compression_spread, response, gauge)


@dataclass(frozen=True)
class Measured:
    """The compression of an object's patterns.

    Attributes
    ----------
    layer_of : dict from int to int
        Index of the layer by the number of the pattern, where compression drives it.
    """

    layers: list[GaugeLayer]
    layer_of: dict[int, int]


def join_measured(mesh: ChartMesh, measured: Sequence[tuple[int, MeasuredPattern | None]]) -> Measured:
    """Join what measures patterns, given by their numbers, into layers that share no vertex."""
    parts = [(number, part) for number, part in measured if part is not None]
    assigned = assign_gauge_layers(mesh, [part.gauge for _, part in parts])
    layers = []
    for layer in range(max(assigned, default=-1) + 1):
        chosen = [part for part, index in zip(parts, assigned, strict=True) if index == layer]
        numbers, found = [number for number, _ in chosen], [part for _, part in chosen]
        layers.append(make_layer(mesh, [part.gauge for part in found], numbers, [part.spread for part in found]))
    return Measured(layers, {number: layer for (number, _), layer in zip(parts, assigned, strict=True)})


def find_compression_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The node modifier that measures compression, also one whose group was removed."""
    return find_marked_modifier(obj, COMPRESSION_NAME, KEY)


def show_measured(obj: bpy.types.Object, measured: Measured) -> None:
    """Have a node modifier measure compression, where the skin is posed: before what makes other faces of it."""
    key = settings_of(obj).pattern_key
    if not measured.layers:
        remove_measuring(obj)
        return
    modifier = find_compression_modifier(obj)
    if modifier is None:
        modifier = add_modifier(obj, COMPRESSION_NAME, "NODES", _find_index(obj))
    elif is_from_library(modifier):
        modifier.show_viewport = modifier.show_render = True
    layers = [
        NodeLayer(
            *gauge_names(key, index),
            compression=compression_name(key, index),
            steps=layer.steps,
            has_local=bool((layer.numbers > 0).any()),
            has_whole=bool((layer.numbers < 0).any()),
        )
        for index, layer in enumerate(measured.layers)
    ]
    group = _ensure_group(obj, layers)
    if modifier.node_group != group:
        modifier.node_group = group


def _find_index(obj: bpy.types.Object) -> int:
    """Where in the stack compression is measured."""
    for index, modifier in enumerate(obj.modifiers):
        if modifier.type in REBUILDING or modifier.name.startswith(PATTERNS_NAME):
            return index
    return len(obj.modifiers)


def _ensure_group(obj: bpy.types.Object, layers: Sequence[NodeLayer]) -> Any:
    """The group of the node modifier, built anew where it does not fit."""
    key, signature = settings_of(obj).pattern_key, f"{VERSION} {NODES} {layers}"
    for group in list(bpy.data.node_groups):
        if group.library is None and group.get(KEY) == key:
            if group.get(SIGNATURE) == signature:
                return group
            leave_group(group)
    group = build_compression(COMPRESSION_NAME, layers)
    group[KEY], group[SIGNATURE] = key, signature
    group.name = f"{HIDDEN}{COMPRESSION_NAME} {obj.name}"
    return group


def remove_measuring(obj: bpy.types.Object) -> None:
    """Remove the node modifier that measures, and leave its group where nothing else uses it.

    That of an override's library is switched off: Blender brings it back when the file is opened.
    """
    modifier = find_compression_modifier(obj)
    if modifier is None:
        return
    if is_from_library(modifier):
        modifier.show_viewport = modifier.show_render = False
        return
    group = modifier.node_group
    obj.modifiers.remove(modifier)
    if group is not None and not group.users:
        leave_group(group)


def describe_stack(obj: bpy.types.Object) -> str:
    """A message where modifiers keep compression from being measured; empty where they do not."""
    modifier = find_compression_modifier(obj)
    if modifier is None:
        return ""
    index = obj.modifiers.find(modifier.name)
    for one in obj.modifiers[:index]:
        if one.type in REBUILDING and one.show_viewport:
            return f"'{one.name}' changes the faces before compression is measured: move it below '{modifier.name}'"
    for one in obj.modifiers[index:]:
        if one.type == "ARMATURE" and one.show_viewport:
            return f"'{one.name}' poses the skin after compression is measured: move it above '{modifier.name}'"
    return ""


def read_layers(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, count: int) -> list[np.ndarray]:
    """What nodes have measured in a depsgraph's pose: the compression at the vertices, shape (V,), of so many layers.

    Raises
    ------
    SkinningError
        Where modifiers below have changed the vertices.
    """
    found = []
    for index in range(count):
        values = read_compression(obj, depsgraph, compression_name(settings_of(obj).pattern_key, index))
        if values is None:
            raise SkinningError(
                f"Compression of '{obj.name}' cannot be read: disable modifiers that subdivide or change the mesh, "
                "and Subdivide, to draw patterns that it drives"
            )
        found.append(values)
    return found
