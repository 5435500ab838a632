"""Compression of the skin, and depth of limbs in it, measured by a node modifier of the object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import bpy
import numpy as np

from ...bridge import modifiers
from ...bridge.meshes.charts import compression_name, depth_name, gauge_names, read_compression
from ...bridge.meshes.layers import remove_unused_limbs_objects
from ...bridge.owned import Tag, digest, mark, read_mark
from ...bridge.removal import outside_handlers
from ...bridge.rigs.joints import remove_unused_joints_objects
from ...deformers import SkinningError
from ...deformers.layers.limb_depths import PressedSkin
from ...deformers.patterns.chart_mesh import ChartMesh
from ...deformers.patterns.charts import Chart, assign_layers
from ...deformers.patterns.compression import (
    CompressionResponse,
    Gauge,
    GaugeLayer,
    make_gauge,
    make_layer,
)
from ...nodes.compression import NodeLayer, build_compression
from ...nodes.graph import HIDDEN
from ...nodes.groups import VERSION, leave_group
from ...settings.objects import settings_of
from ...settings.patterns import PatternSettings
from .depths import read_pressed, write_depths
from .read import has_depth

NODES = 2  # version of the nodes; groups of another version are built anew when patterns change

# modifiers that make other faces; compression is measured before them
REBUILDING = {
    "BEVEL", "BOOLEAN", "BUILD", "DECIMATE", "MULTIRES", "REMESH", "SCREW", "SKIN", "SUBSURF", "TRIANGULATE",
    "VOLUME_TO_MESH", "WELD", "WIREFRAME",
}  # fmt: skip


def find_own_groups(tag: Tag, key: str) -> list[Any]:
    """Find node groups that a tag marks for the object of a key."""
    return [group for group in bpy.data.node_groups if group.library is None and read_mark(group, tag) == key]


def ensure_own_group(
    obj: bpy.types.Object, tag: Tag, kind: str, name: str, signature: str, build: Callable[[str], Any]
) -> Any:
    """Find the node group of a tag and a type of tree for an object, or build it anew if its signature differs."""
    key = settings_of(obj).pattern_key
    found = [group for group in find_own_groups(tag, key) if group.bl_idname == kind]
    for group in found:
        if read_mark(group, Tag.SIGNATURE) == signature:
            return group
    new = build(name)
    mark(new, tag, key)
    mark(new, Tag.SIGNATURE, signature)
    for group in found:
        if kind == "ShaderNodeTree":  # modifiers must be given the group again, or they do not have its new inputs
            group.user_remap(new)
        leave_group(group)
    new.name = f"{HIDDEN}{name} {obj.name}"
    return new


def remove_own_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier | None, tag: Tag) -> None:
    """Remove a node modifier that shows patterns, or hide that of a library, and leave groups that nothing uses."""
    if modifier is not None:
        modifiers.remove_modifier(obj, modifier, None)
    for group in find_own_groups(tag, settings_of(obj).pattern_key):
        if not group.users:
            leave_group(group)


@dataclass(frozen=True)
class MeasuredPattern:
    """How compression, or the depth of limbs, drives a pattern.

    Attributes
    ----------
    spread : str
        One of `SPREADS`.
    gauge : Gauge or None
        For compression and stretch.
    pressed : PressedSkin or None
        For depth.
    """

    spread: str
    response: CompressionResponse
    gauge: Gauge | None = None
    pressed: PressedSkin | None = None

    def describe_law(self, is_full: bool) -> tuple[str, tuple[float, ...]]:
        """Return the law for its node, and the values of `nodes.compression.LAW_INPUTS`."""
        sign = -1.0 if self.response.direction == "NEGATIVE" else 1.0
        return self.response.law, (sign, self.response.start, self.response.full, self.response.gain, float(is_full))


def read_measured(
    obj: bpy.types.Object, mesh: ChartMesh, pattern: PatternSettings, chart: Chart, response: CompressionResponse
) -> MeasuredPattern:
    """Prepare to measure the compression or depth that drives a pattern.

    Raises SkinningError if it cannot be measured.
    """
    if has_depth(pattern):
        return MeasuredPattern("PATTERN", response, pressed=read_pressed(obj, mesh, pattern, chart))
    gauge = make_gauge(mesh, chart, tuple(pattern.size), pattern.compression_angle, pattern.compression_smoothing)
    return MeasuredPattern(pattern.compression_spread, response, gauge)


@dataclass(frozen=True)
class Measured:
    """Everything that is measured for an object's patterns.

    Attributes
    ----------
    layers : list of GaugeLayer
    pressed : dict from int to PressedSkin
        By the numbers of the patterns that depth drives.
    index_of : dict from int to int
        Index of the measured values by the number of the pattern: first come the layers, then the depths.
    """

    layers: list[GaugeLayer]
    pressed: dict[int, PressedSkin]
    index_of: dict[int, int]

    def name_attributes(self, key: str) -> list[str]:
        """List the attributes in which nodes store the measured values of the object of a key."""
        layers = [compression_name(key, index) for index in range(len(self.layers))]
        return layers + [depth_name(key, number) for number in self.pressed]


def join_measured(mesh: ChartMesh, measured: Sequence[tuple[int, MeasuredPattern | None]]) -> Measured:
    """Join patterns, given by their numbers, into layers that share no vertex."""
    pressed = {number: part.pressed for number, part in measured if part is not None and part.pressed is not None}
    parts = [(number, part, part.gauge) for number, part in measured if part is not None and part.gauge is not None]
    assigned = assign_layers([mesh.corner_vertices[gauge.corners] for *_, gauge in parts])
    layers = []
    for layer in range(max(assigned, default=-1) + 1):
        chosen = [part for part, index in zip(parts, assigned, strict=True) if index == layer]
        numbers, found, gauges = zip(*chosen, strict=True)
        layers.append(make_layer(mesh, gauges, numbers, [part.spread for part in found]))
    index_of = {number: layer for (number, *_), layer in zip(parts, assigned, strict=True)}
    index_of |= {number: len(layers) + index for index, number in enumerate(pressed)}
    return Measured(layers, pressed, index_of)


def find_compression_modifier(obj: bpy.types.Object) -> bpy.types.Modifier | None:
    """Find the node modifier that measures compression, even if its group was removed."""
    return modifiers.find_marked_modifier(obj, modifiers.COMPRESSION_NAME, Tag.COMPRESSION)


def show_measured(obj: bpy.types.Object, measured: Measured) -> None:
    """Add or update the node modifier that measures, on the posed skin before modifiers that make other faces."""
    key = settings_of(obj).pattern_key
    if not measured.index_of:
        remove_measuring(obj)
        return
    modifier = find_compression_modifier(obj)
    if modifier is None:
        modifier = modifiers.add_modifier(obj, modifiers.COMPRESSION_NAME, "NODES", _find_index(obj))
    elif modifiers.is_from_library(modifier):
        modifier.show_viewport = modifier.show_render = True  # `remove_measuring` could only hide it
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
    depths = [(number, depth_name(key, number)) for number in measured.pressed]
    name, signature = modifiers.COMPRESSION_NAME, digest(VERSION, NODES, layers, depths)
    group = ensure_own_group(
        obj, Tag.COMPRESSION, "GeometryNodeTree", name, signature, lambda name: build_compression(name, layers, depths)
    )
    if modifier.node_group != group:
        modifiers.clear_inputs(modifier)
        modifier.node_group = group
    if measured.pressed:
        write_depths(obj, modifier, measured.pressed)
    outside_handlers(_remove_unused)


def _remove_unused() -> None:
    remove_unused_limbs_objects()
    remove_unused_joints_objects()


def _find_index(obj: bpy.types.Object) -> int:
    """Find the position in the stack at which compression is measured."""
    for index, modifier in enumerate(obj.modifiers):
        if modifier.type in REBUILDING or modifier.name.startswith(modifiers.PATTERNS_NAME):
            return index
    return len(obj.modifiers)


def remove_measuring(obj: bpy.types.Object) -> None:
    """Remove the node modifier that measures, and its group if nothing else uses it."""
    modifier = find_compression_modifier(obj)
    if modifier is not None:
        remove_own_modifier(obj, modifier, Tag.COMPRESSION)
        outside_handlers(_remove_unused)


def describe_stack(obj: bpy.types.Object) -> str:
    """Describe a modifier that prevents compression from being measured; "" if there is none."""
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
    """Read the values that nodes have measured at the vertices, shape (V,), by the indices of `measured`.

    Raises SkinningError if modifiers before it have changed the vertices.
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
