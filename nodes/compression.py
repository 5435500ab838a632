"""The skin's compression as nodes: a group that measures it under patterns, and one for how much of a pattern it shows.

The group of the node modifier stands where the skin is posed but not yet subdivided. It reads coefficients from
attributes of the mesh, as `measure_compression` does, and stores an attribute that materials and other groups read.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from .graph import Graph, Value
from .groups import ensure_group

TREES = {"displacement": "GeometryNodeTree", "bump": "ShaderNodeTree"}
"""Where groups are used, and the kinds of trees they are then."""

LAW_INPUTS = ("Sign", "Start", "Full", "Gain", "All")
"""Inputs of a law's node that hold a pattern's settings."""


@dataclass(frozen=True)
class NodeLayer:
    """What the nodes of a layer of gauges are built from: see `GaugeLayer`.

    Attributes
    ----------
    coefficients, shares : str
        Attributes of the faces' corners.
    weights : str
        Attribute of the vertices.
    numbers : str
        Attribute of the faces.
    compression : str
        Attribute of the vertices that is stored.
    steps : int
        Of smoothing.
    has_local, has_whole : bool
        Whether there are patterns with an amount for each vertex, and patterns with one amount.
    """

    coefficients: str
    shares: str
    weights: str
    numbers: str
    compression: str
    steps: int
    has_local: bool
    has_whole: bool


def build_compression(name: str, layers: Sequence[NodeLayer]) -> Any:
    """The group of the node modifier that measures compression: 0 where no pattern needs it.

    Only the faces under patterns are looked at, cut out of the mesh: what the rest of it has costs next to nothing.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
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
    """Compression at the vertices of the faces under patterns."""
    position = graph.add("GeometryNodeInputPosition")
    offset = position - _on_domain(graph, position, "FACE", "FLOAT_VECTOR")  # single precision lasts longer
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


def _on_domain(graph: Graph, value: Value, domain: str, data_type: str) -> Value:
    return graph.add("GeometryNodeFieldOnDomain", value, domain=domain, data_type=data_type)


def law_name(number: int) -> str:
    """Name of the node that makes a pattern's amount of its compression."""
    return f"Law {number}"


def add_law(graph: Graph, use: str, number: int, law: str, compression: Value, constants: Sequence[float]) -> Value:
    """Add a node for how much of a pattern compression brings out.

    Parameters
    ----------
    use : str
        One of `TREES`.
    number : int
        Of the pattern.
    law : str
        As of `Response`.
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
    """How much of a pattern compression brings out: what `respond` does."""
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
    """Bring the settings of a pattern's law up to date, where a group has it."""
    node = group.nodes.get(law_name(number))
    for name, value in zip(LAW_INPUTS, constants, strict=True) if node is not None else ():
        if node.inputs[name].default_value != value:
            node.inputs[name].default_value = value
