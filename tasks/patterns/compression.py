"""Compression, and limbs that press, which bring patterns out: measured by a node modifier of the object."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge.meshes.charts import compression_name, depth_name, gauge_names, read_compression
from ...bridge.meshes.layers import remove_unused_limbs_objects
from ...bridge.modifiers import (
    COMPRESSION_NAME,
    PATTERNS_NAME,
    add_modifier,
    clear_inputs,
    find_marked_modifier,
    is_from_library,
)
from ...bridge.removal import outside_handlers
from ...bridge.rigs.joints import remove_unused_joints_objects
from ...deformers import SkinningError
from ...deformers.layers.limb_depths import PressedSkin
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
from .depths import read_pressed, write_depths
from .meaning import check_driver, has_compression, has_depth, read_compression_response

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
    """What compression, or the depth of limbs, has to do with a pattern.

    Attributes
    ----------
    driver, spread : str
        See `DRIVERS` and `SPREADS`.
    gauge : Gauge or None
        For compression and stretch.
    pressed : PressedSkin or None
        For depth.
    """

    driver: str
    spread: str
    response: CompressionResponse
    gauge: Gauge | None = None
    pressed: PressedSkin | None = None

    def respond(self, compression: np.ndarray | float) -> np.ndarray:
        """How much of the pattern compression, shape (...), brings out."""
        return respond_to_compression(self.driver, self.response, compression)

    def constants(self, is_full: bool) -> tuple[float, ...]:
        """What the nodes of its law hold: `nodes.compression.LAW_INPUTS`."""
        sign = -1.0 if self.driver == "STRETCH" else 1.0
        return sign, self.response.start, self.response.full, self.response.gain, float(is_full)


def read_measured(
    obj: bpy.types.Object, mesh: ChartMesh, pattern: PatternSettings, chart: Chart
) -> MeasuredPattern | None:
    """What compression or depth has to do with a pattern; None where an angle alone drives it.

    Raises
    ------
    SkinningError
        Where it can not be measured, or the settings make no sense.
    """
    check_driver(pattern)
    if has_depth(pattern):
        pressed = read_pressed(obj, mesh, pattern, chart)
        return MeasuredPattern("DEPTH", "PATTERN", read_compression_response(pattern), pressed=pressed)
    if not has_compression(pattern):
        return None
    response = read_compression_response(pattern)
    gauge = make_gauge(mesh, chart, tuple(pattern.size), pattern.compression_angle, pattern.compression_smoothing)
    return MeasuredPattern(pattern.driver, pattern.compression_spread, response, gauge)


@dataclass(frozen=True)
class Measured:
    """What measures an object's patterns.

    Attributes
    ----------
    pressed : dict from int to PressedSkin
        By the numbers of the patterns that depth drives.
    index_of : dict from int to int
        By the number of each pattern that is measured: its layer's index; after the layers come those of depth.
    """

    layers: list[GaugeLayer]
    pressed: dict[int, PressedSkin]
    index_of: dict[int, int]

    def name_attributes(self, key: str) -> list[str]:
        """Attributes in which nodes store what is measured, by these indices; `key` is that of the object."""
        layers = [compression_name(key, index) for index in range(len(self.layers))]
        return layers + [depth_name(key, number) for number in self.pressed]


def join_measured(mesh: ChartMesh, measured: Sequence[tuple[int, MeasuredPattern | None]]) -> Measured:
    """Join what measures patterns, given by their numbers, into layers that share no vertex."""
    pressed = {number: part.pressed for number, part in measured if part is not None and part.pressed is not None}
    parts = [(number, part, part.gauge) for number, part in measured if part is not None and part.gauge is not None]
    assigned = assign_gauge_layers(mesh, [gauge for *_, gauge in parts])
    layers = []
    for layer in range(max(assigned, default=-1) + 1):
        chosen = [part for part, index in zip(parts, assigned, strict=True) if index == layer]
        numbers, found, gauges = zip(*chosen, strict=True)
        layers.append(make_layer(mesh, gauges, numbers, [part.spread for part in found]))
    index_of = {number: layer for (number, *_), layer in zip(parts, assigned, strict=True)}
    index_of |= {number: len(layers) + index for index, number in enumerate(pressed)}
    return Measured(layers, pressed, index_of)


def find_compression_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """The node modifier that measures compression, also one whose group was removed."""
    return find_marked_modifier(obj, COMPRESSION_NAME, KEY)


def show_measured(obj: bpy.types.Object, measured: Measured) -> None:
    """Have a node modifier measure, where the skin is posed: before what makes other faces of it."""
    key = settings_of(obj).pattern_key
    if not measured.index_of:
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
    group = _ensure_group(obj, layers, [(number, depth_name(key, number)) for number in measured.pressed])
    if modifier.node_group != group:
        clear_inputs(modifier)
        modifier.node_group = group
    if measured.pressed:
        write_depths(obj, modifier, measured.pressed)
    outside_handlers(_remove_unused)


def _remove_unused() -> None:
    remove_unused_limbs_objects()
    remove_unused_joints_objects()


def _find_index(obj: bpy.types.Object) -> int:
    """Where in the stack compression is measured."""
    for index, modifier in enumerate(obj.modifiers):
        if modifier.type in REBUILDING or modifier.name.startswith(PATTERNS_NAME):
            return index
    return len(obj.modifiers)


def _ensure_group(obj: bpy.types.Object, layers: Sequence[NodeLayer], depths: Sequence[tuple[int, str]]) -> Any:
    """The group of the node modifier, built anew where it does not fit."""
    key, signature = settings_of(obj).pattern_key, f"{VERSION} {NODES} {layers} {depths}"
    for group in list(bpy.data.node_groups):
        if group.library is None and group.get(KEY) == key:
            if group.get(SIGNATURE) == signature:
                return group
            leave_group(group)
    group = build_compression(COMPRESSION_NAME, layers, depths)
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
    clear_inputs(modifier)
    obj.modifiers.remove(modifier)
    if group is not None and not group.users:
        leave_group(group)
    outside_handlers(_remove_unused)


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


def read_layers(obj: bpy.types.Object, depsgraph: bpy.types.Depsgraph, measured: Measured) -> list[np.ndarray]:
    """What nodes have measured in a depsgraph's pose, at the vertices, shape (V,): by the indices of `measured`.

    Raises
    ------
    SkinningError
        Where modifiers below have changed the vertices.
    """
    found = []
    for name in measured.name_attributes(settings_of(obj).pattern_key):
        values = read_compression(obj, depsgraph, name)
        if values is None:
            raise SkinningError(
                f"Compression of '{obj.name}' cannot be read: disable modifiers that subdivide or change the mesh, "
                "and Subdivide, to draw patterns that it drives"
            )
        found.append(values)
    return found
