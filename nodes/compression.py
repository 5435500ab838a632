"""The compression of the skin as nodes: a group that measures it under patterns, and one for the law of a pattern.

The node modifier comes after those that pose the skin, and before those that subdivide it. Its group reads coefficients
from attributes of the mesh, as `measure_compression` does, and stores an attribute that materials and other groups
read. It also measures the depth of limbs in the skin, as `measure_depth` does, from bones and points of other objects.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .graph import Graph, Value
from .groups import ensure_group
from .layers import BACK, FORWARD, GRIDS, JOINT, JOINTS, read_grid

TREES = {"displacement": "GeometryNodeTree", "bump": "ShaderNodeTree"}  # types of trees by the use of a group

LAW_INPUTS = ("Sign", "Start", "Full", "Gain", "All")  # inputs of the node of a law

POINTS = "Points"  # input of the group that measures depth, next to `JOINTS` and `GRIDS`

# attributes of the points of a pressed object, one point for each limb and point of `PressedSkin`, next to those of
# `nodes.layers`: joints and their weights, depth at rest, side of the pattern, and its number
CARRIERS, CARRIED, RESTING, SIDE, NUMBER = "carriers", "carried", "resting", "side", "number"

DEPTH = "depth"  # attribute that holds depths while they are computed


@dataclass(frozen=True)
class NodeLayer:
    """The description of a `GaugeLayer` from which its nodes are built.

    Attributes
    ----------
    coefficients, shares : str
        Attributes of the corners of faces.
    weights : str
        Attribute of the vertices.
    numbers : str
        Attribute of the faces.
    compression : str
        Attribute of the vertices that the nodes store.
    steps : int
        Steps of smoothing.
    has_local, has_whole : bool
        Whether some patterns have an amount for each vertex, and whether some have one amount.
    """

    coefficients: str
    shares: str
    weights: str
    numbers: str
    compression: str
    steps: int
    has_local: bool
    has_whole: bool


def build_compression(name: str, layers: Sequence[NodeLayer], depths: Sequence[tuple[int, str]]) -> Any:
    """Build the group that measures compression, 0 outside of patterns, and depths of limbs.

    The faces under patterns are cut out of the mesh first, so that the other faces cost next to nothing.

    Parameters
    ----------
    depths : sequence of (int, str)
        Numbers of patterns that depth drives, and the attributes that store it.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    if depths:
        geometry = _store_depths(graph, geometry, depths)
    for layer in layers:
        with graph.frame(layer.compression):
            is_covered = graph.attribute(layer.numbers, "FLOAT").absolute() > 0.5
            part = graph.add("GeometryNodeSeparateGeometry", geometry, is_covered, domain="FACE")
            value = _measure(graph, layer)
            is_own = _on_domain(graph, is_covered, "FACE", "BOOLEAN")
            _, rank, _ = graph.outputs("GeometryNodeAccumulateField", is_own, data_type="INT", domain="POINT")
            found = graph.sample(part, value, rank)
            kind = "GeometryNodeStoreNamedAttribute"
            geometry = graph.add(kind, geometry, is_own, layer.compression, found, data_type="FLOAT", domain="POINT")
    graph.output("Geometry", geometry)
    return graph.finish()


def _measure(graph: Graph, layer: NodeLayer) -> Value:
    """Add the compression at the vertices of the faces under patterns."""
    position = graph.add("GeometryNodeInputPosition")
    offset = position - _on_domain(
        graph, position, "FACE", "FLOAT_VECTOR"
    )  # smaller numbers lose less in single precision
    along = offset * graph.attribute(layer.coefficients, "FLOAT")
    squeezed = 1.0 - _on_domain(graph, along, "CORNER", "FLOAT_VECTOR").length()
    counted = _on_domain(graph, squeezed, "FACE", "FLOAT") * graph.attribute(layer.shares, "FLOAT")
    local = _on_domain(graph, counted, "CORNER", "FLOAT")
    if layer.steps:
        weight = graph.attribute(layer.weights, "FLOAT")
        local = graph.add("GeometryNodeBlurAttribute", local, layer.steps, weight, data_type="FLOAT")
    if not layer.has_whole:
        return local
    number = graph.attribute(layer.numbers, "FLOAT")
    totals = graph.outputs("GeometryNodeAccumulateField", counted, number, data_type="FLOAT", domain="CORNER")
    whole = _on_domain(graph, totals[2], "CORNER", "FLOAT")
    return graph.switch(number < 0.0, local, whole) if layer.has_local else whole


def _store_depths(graph: Graph, geometry: Value, depths: Sequence[tuple[int, str]]) -> Value:
    """Store the depth of limbs in the skin under each pattern, on all vertices."""
    joints_object = graph.input(JOINTS, "OBJECT", "Mesh by which the bones' pose is read")
    points_object = graph.input(POINTS, "OBJECT", "Mesh that says which vertices of patterns may be in which limbs")
    grids_object = graph.input(GRIDS, "OBJECT", "Mesh that holds distances about the limbs at rest")
    objects = joints_object, points_object, grids_object
    joints, points, grids = (graph.outputs("GeometryNodeObjectInfo", each)[-1] for each in objects)
    with graph.frame("Where each point is in the limb at rest"):
        position, forward = graph.add("GeometryNodeInputPosition"), graph.attribute(FORWARD, "FLOAT4X4")
        carriers = graph.outputs("FunctionNodeSeparateColor", graph.attribute(CARRIERS, "FLOAT_COLOR"))
        shares = graph.outputs("FunctionNodeSeparateColor", graph.attribute(CARRIED, "FLOAT_COLOR"))
        posed: Any = None
        for carrier, share in zip(carriers, shares, strict=True):
            moved = graph.sample(joints, forward, carrier).move(position) * share
            posed = moved if posed is None else posed + moved
        local = graph.sample(joints, graph.attribute(BACK, "FLOAT4X4"), graph.attribute(JOINT, "INT")).move(posed)
    is_inside, _, distance, others = read_grid(graph, grids, local)
    with graph.frame("How deep it is"):
        counted, _, _ = others.components()
        depth = ((distance * -1.0).maximum(0.0) - graph.attribute(RESTING, "FLOAT")).maximum(0.0) * counted
        depth = graph.switch(is_inside, 0.0, depth / graph.attribute(SIDE, "FLOAT"))
        known = graph.store(points, **{DEPTH: depth})
    with graph.frame("The deepest of each pattern"):
        for number, name in depths:
            is_own = graph.attribute(NUMBER, "INT").equals(float(number), 0.5)
            own = graph.switch(is_own, 0.0, graph.attribute(DEPTH, "FLOAT"))
            geometry = graph.store(geometry, **{name: graph.extremes(known, own)[1]})
    return geometry


def _on_domain(graph: Graph, value: Value, domain: str, data_type: str) -> Value:
    return graph.add("GeometryNodeFieldOnDomain", value, domain=domain, data_type=data_type)


def law_name(number: int) -> str:
    """Name the node of the law of a pattern."""
    return f"Law {number}"


def add_law(graph: Graph, use: str, number: int, law: str, compression: Value, constants: Sequence[float]) -> Value:
    """Add a node for the amount of a pattern at a compression, by a law of `Response`.

    Parameters
    ----------
    use : str
        One of `TREES`.
    number : int
        The pattern's number.
    constants : sequence of float
        Values of `LAW_INPUTS`.
    """
    group = ensure_group(
        f"compression {law} {use}",
        f"Supple Compression {law.capitalize()} {use.capitalize()}",
        partial(_build_law, law=law, tree=TREES[use]),
    )
    amount = graph.call(group, Compression=compression, **dict(zip(LAW_INPUTS, constants, strict=True)))["Amount"]
    return amount.named(law_name(number))


def _build_law(name: str, *, law: str, tree: str) -> Any:
    """Build the group of a law, which computes the same as `respond`."""
    graph = Graph(name, tree)
    compression = graph.input("Compression", "VALUE", "Share by which the skin is pushed together")
    sign = graph.input("Sign", "VALUE", "1 for compression, -1 for stretch")
    start = graph.input("Start", "VALUE", "Compression at which the pattern begins to appear")
    full = graph.input("Full", "VALUE", "Compression from which on the whole pattern is seen")
    gain = graph.input("Gain", "VALUE", "Factor of the logarithm")
    shows_all = graph.input("All", "VALUE", "1 to show all of the pattern, whatever its compression")
    beyond = compression * sign - start
    if law == "LOG":
        amount = graph.add("ShaderNodeMath", beyond.maximum(0.0) + 1.0, math.e, operation="LOGARITHM") * gain
    else:
        share = (beyond / (full - start)).clamped()
        amount = share * share * share * (share * (share * 6.0 - 15.0) + 10.0)
    graph.output("Amount", amount + (1.0 - amount) * shows_all)
    return graph.finish()


def write_law(group: Any, number: int, constants: Sequence[float]) -> None:
    """Write the numbers of a pattern's law to its node, if the group has it."""
    node = group.nodes.get(law_name(number))
    for name, value in zip(LAW_INPUTS, constants, strict=True) if node is not None else ():
        if node.inputs[name].default_value != value:
            node.inputs[name].default_value = value
