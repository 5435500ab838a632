"""Skin patterns as nodes: one group that displaces an object's skin, one that bumps it in its materials.

Both read where each pattern lies from attributes of the mesh, its height map from an image, and how much of it is seen
from drivers and from the skin's compression, so that they work without Supple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..deformers.patterns.heights import BASES, LEAST_DIVISOR, SHARPEST_EDGE
from .compression import TREES, add_law, write_law
from .graph import Graph, Value
from .groups import ensure_group

CONSTANTS = ("Strength", "Softness", "Depth")
"""Inputs of a pattern's node that hold its settings."""

LEVEL = "Level"
FINE = 2
"""Level up to which all of the skin is subdivided: to cut it apart takes longer. Beyond, it is subdivided once, then
only where patterns lie, so that the steps between both are too small to be seen."""

EXACT = 1e-6
"""Share up to which numbers count as equal; of the size of the skin, up to which vertices are on each other."""

HEIGHT = "supple_height"
"""Attribute that holds the sum of heights."""

SOFTNESS = 0.2
"""Of a height map that bumps a material without a pattern on the skin."""

SCALE_NODE = "Scale"
"""Node whose first output is the scale of the object in the world."""


@dataclass(frozen=True)
class NodePattern:
    """What the nodes of a pattern are built from.

    Attributes
    ----------
    number : int
        Of the pattern, unique in its object.
    chart : str
        Attribute of the faces' corners: their coordinates in the height map, and the pattern's number.
    is_displaced : bool
        Whether it moves the skin; else materials bump it.
    amount : str
        Name of what materials read the amounts of three patterns from.
    slot : int
        Index of the pattern's amount in it.
    source : str
        What it is: "OBJECT", a custom property, or "GEOMETRY", an attribute that the node modifier stores.
    strength, softness, depth : float
        See `Relief`.
    has_angle : bool
        Whether the angle of a joint brings it out: there is an amount then.
    compression : str
        Attribute that holds the skin's compression; empty where that does not bring it out.
    law : str
        By which compression brings it out.
    law_constants : tuple of float
        Values of `compression.LAW_INPUTS`.
    """

    number: int
    name: str
    kind: str
    image: Any
    chart: str
    is_displaced: bool
    amount: str
    slot: int
    source: str
    strength: float
    softness: float
    depth: float
    has_angle: bool = True
    compression: str = ""
    law: str = ""
    law_constants: tuple[float, ...] = ()

    @property
    def constants(self) -> tuple[float, ...]:
        """Values of `CONSTANTS`."""
        return self.strength, self.softness, self.depth


def amount_input(number: int) -> str:
    """Name of the node modifier's input for a pattern's amount."""
    return f"Amount {number}"


def build_displacement(name: str, patterns: Sequence[NodePattern]) -> Any:
    """The group of the node modifier that moves the skin along its normals (equation 4), subdivided where patterns lie.

    Heights are worked out on the faces' corners, where charts end sharply, and only on those of each pattern's own
    faces; patterns that are not seen cost nothing. For the materials, the amounts of patterns that are bumped are
    stored as attributes.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    level = graph.input(LEVEL, "INT", "How many times the skin is subdivided before patterns displace it")
    amounts = {
        pattern.number: graph.input(amount_input(pattern.number), "VALUE", f"How much of {pattern.name} is seen")
        for pattern in patterns
        if pattern.has_angle
    }
    charts = [
        graph.attribute(name, "FLOAT_VECTOR") for name in dict.fromkeys(p.chart for p in patterns if p.is_displaced)
    ]
    is_fine = level > FINE
    with graph.frame("Everywhere"):
        everywhere = graph.add("GeometryNodeSwitch", is_fine, level, 1, input_type="INT")
        even = graph.add("GeometryNodeSubdivisionSurface", geometry, everywhere)
    fine = graph.switch(is_fine, even, _subdivide_near(graph, even, level - 1.0, charts))
    with graph.frame("Flat"):
        seen: Any = None
        raised = _store_height(graph, fine, None, 0.0)
    for pattern in (pattern for pattern in patterns if pattern.is_displaced):
        with graph.frame(pattern.name):
            angle = amounts.get(pattern.number)
            amount = _find_amount(graph, "displacement", pattern, angle)
            chart = graph.attribute(pattern.chart, "FLOAT_VECTOR")
            gray = graph.add(
                "GeometryNodeImageTexture", pattern.image, chart, extension="EXTEND", interpolation="Cubic"
            )
            height = _add_pattern(graph, "displacement", pattern, chart, gray, amount, graph.attribute(HEIGHT, "FLOAT"))
            is_own = chart.components()[2].equals(float(pattern.number), 0.5)
            is_seen = _find_whether_seen(graph, pattern, angle)
            raised = graph.switch(is_seen, raised, _store_height(graph, raised, is_own, height))
            seen = is_seen if seen is None else seen | is_seen
    with graph.frame("Along the normals"):
        offset = graph.add("GeometryNodeInputNormal") * graph.attribute(HEIGHT, "FLOAT")
        moved = graph.add("GeometryNodeSetPosition", raised, None, None, offset)
        cleaner = graph.new_node("GeometryNodeRemoveAttribute")
        graph.put(cleaner.inputs["Geometry"], moved)
        graph.put(cleaner.inputs["Name"], HEIGHT)
        result = graph.switch(seen, fine, Value(graph, cleaner.outputs[0]))
    with graph.frame("For the materials"):
        graph.output("Geometry", _store_amounts(graph, result, patterns, amounts))
    return graph.finish()


def _find_whether_seen(graph: Graph, pattern: NodePattern, angle: Value | None) -> Value:
    """Whether anything of a pattern may be seen; compression may bring some of it out in any pose."""
    if angle is None or (pattern.compression and pattern.kind == "BONE"):
        return graph.truth()
    if pattern.kind == "BONE":
        return angle > graph.number(pattern.depth - 1.0).named(depth_name(pattern.number))
    return angle.absolute() > 0.0


def _subdivide_near(graph: Graph, geometry: Value, level: Value, charts: Sequence[Value]) -> Value:
    """Subdivide the faces that charts cover, and those around them, and weld them to the rest.

    The faces around these are subdivided with them, so that the border is as smooth as all else, and then left out. The
    border's new vertices move onto the nearest vertex of the rest, so that no gap opens, and no edge shows.
    """
    with graph.frame("Where patterns lie"):
        covered: Any = charts[0].components()[2]
        for chart in charts[1:]:
            covered = covered.maximum(chart.components()[2])
        is_near = _average(graph, _average(graph, covered, "POINT") > 0.0, "FACE") > 0.0
        near = graph.add("ShaderNodeMath", is_near, 1.0, operation="MULTIPLY")
        geometry, captured = graph.capture(geometry, "FACE", near=near)
        is_near = captured["near"] > 0.5
        is_wide = _average(graph, _average(graph, captured["near"], "POINT"), "FACE") > 0.0
        wide = graph.add("GeometryNodeSeparateGeometry", geometry, is_wide, domain="FACE")
        coarse, of_coarse = _capture_border(graph, geometry, captured["near"])
        _, rest = graph.outputs("GeometryNodeSeparateGeometry", coarse, is_near, domain="FACE")
    with graph.frame("Subdivided"):
        fine = graph.add("GeometryNodeSubdivisionSurface", wide, level)
        fine, of_fine = _capture_border(graph, fine, captured["near"])
        fine = graph.add("GeometryNodeSeparateGeometry", fine, is_near, domain="FACE")
        rest = _move_to_nearest(graph, rest, of_coarse, graph.add("GeometryNodeSeparateGeometry", fine, of_fine))
        fine = _move_to_nearest(graph, fine, of_fine, graph.add("GeometryNodeSeparateGeometry", rest, of_coarse))
    with graph.frame("Welded"):
        both = graph.new_node("GeometryNodeJoinGeometry")
        for part in (fine, rest):
            graph.put(both.inputs[0], part)
        _, low, high = graph.outputs("GeometryNodeBoundBox", geometry)
        merge = graph.new_node("GeometryNodeMergeByDistance")
        graph.put(merge.inputs["Geometry"], Value(graph, both.outputs[0]))
        graph.put(merge.inputs["Selection"], of_coarse | of_fine)
        graph.put(merge.inputs["Distance"], (high - low).length() * EXACT)
        return Value(graph, merge.outputs[0])


def _capture_border(graph: Graph, geometry: Value, near: Value) -> tuple[Value, Value]:
    """Note which vertices have faces that are near and faces that are not: the geometry, and what says so there."""
    share = _average(graph, near, "POINT")
    border = graph.add("ShaderNodeMath", (share > EXACT) & (share < 1.0 - EXACT), 1.0, operation="MULTIPLY")
    geometry, captured = graph.capture(geometry, "POINT", border=border)
    return geometry, captured["border"] > 0.5


def _average(graph: Graph, value: Value, domain: str) -> Value:
    """A field evaluated on a domain, wherever it is used: booleans as shares."""
    return graph.add("GeometryNodeFieldOnDomain", value, domain=domain, data_type="FLOAT")


def _move_to_nearest(graph: Graph, geometry: Value, selection: Value, targets: Value) -> Value:
    """Move selected vertices onto the nearest of other vertices."""
    nearest = graph.add("GeometryNodeSampleNearest", targets, domain="POINT")
    at = graph.sample(targets, graph.add("GeometryNodeInputPosition"), nearest)
    return graph.add("GeometryNodeSetPosition", geometry, selection, at)


def _find_amount(graph: Graph, use: str, pattern: NodePattern, angle: Value | None) -> Value:
    """How much of a pattern is seen: by its angle, if there is one, and by its compression, if that brings it out."""
    if not pattern.compression:
        assert angle is not None, "something brings a pattern out"
        return angle
    if use == "bump":
        compression = _read_attribute(graph, pattern.compression, "GEOMETRY", "Fac")
    else:
        compression = graph.attribute(pattern.compression, "FLOAT")
    amount = add_law(graph, use, pattern.number, pattern.law, compression, pattern.law_constants)
    return amount if angle is None else amount * angle


def _store_amounts(
    graph: Graph, geometry: Value, patterns: Sequence[NodePattern], amounts: Mapping[int, Value]
) -> Value:
    packs: dict[str, list[Any]] = {}
    for pattern in patterns:
        if pattern.has_angle and not pattern.is_displaced:
            packs.setdefault(pattern.amount, [None] * 3)[pattern.slot] = amounts[pattern.number]
    return graph.store(geometry, **{name: graph.vector(*pack) for name, pack in packs.items()})


def _store_height(graph: Graph, geometry: Value, selection: Any, height: Any) -> Value:
    kind = "GeometryNodeStoreNamedAttribute"
    return graph.add(kind, geometry, selection, HEIGHT, height, data_type="FLOAT", domain="CORNER")


def build_bump(name: str, patterns: Sequence[NodePattern]) -> Any:
    """The group that stands before the shaders' normals in a material; an object without the amounts has no bumps."""
    graph = Graph(name, TREES["bump"])
    normal = graph.input("Normal", "VECTOR", "Normal to bump; the surface's own normal if not linked")
    height: Any = 0.0
    for pattern in patterns:
        with graph.frame(pattern.name):
            chart = _read_attribute(graph, pattern.chart, "GEOMETRY")
            gray = graph.add(
                "ShaderNodeTexImage", chart, image=pattern.image, extension="EXTEND", interpolation="Cubic"
            )
            angle = None
            if pattern.has_angle:
                angle = _read_attribute(graph, pattern.amount, pattern.source).components()[pattern.slot]
            amount = _find_amount(graph, "bump", pattern, angle)
            height = _add_pattern(graph, "bump", pattern, chart, gray, amount, height)
    with graph.frame("Bumps"):
        scale = graph.number(1.0).named(SCALE_NODE)
        own = graph.outputs("ShaderNodeNewGeometry")[1]
        bump = graph.new_node("ShaderNodeBump")
        graph.put(bump.inputs["Height"], height)
        graph.put(bump.inputs["Distance"], scale)
        graph.put(bump.inputs["Normal"], _fill_in(graph, normal, own))
        graph.output("Normal", Value(graph, bump.outputs["Normal"]))
    return graph.finish()


def build_relief(name: str, kind: str, image: Any, height: float) -> Any:
    """The group that bumps any material by one height map, without a pattern on the skin.

    Parameters
    ----------
    name : str
        Of the new group.
    image : image
        The height map.
    height : float
        Of a full step of gray, in meters, to begin with.
    """
    graph = Graph(name, TREES["bump"])
    place = graph.input("Vector", "VECTOR", "Place in the height map, 0 to 1 across and up; the UV map if not linked")
    amount = graph.input("Amount", "VALUE", "How much of the pattern is seen")
    strength = graph.input("Height", "VALUE", "Height of a full step of gray")
    normal = graph.input("Normal", "VECTOR", "Normal to bump; the surface's own normal if not linked")
    uv = graph.outputs("ShaderNodeTexCoord")[2]
    own = graph.outputs("ShaderNodeNewGeometry")[1]
    place = _fill_in(graph, place, uv)
    gray = graph.add("ShaderNodeTexImage", place, image=image, extension="EXTEND", interpolation="Cubic")
    group = _ensure_height(kind, "bump")
    x, y, _ = place.components()
    chart = graph.vector(x, y, 0.0)
    found = graph.call(
        group, Chart=chart, Grey=gray, Number=0.0, Amount=amount, Strength=strength, Softness=SOFTNESS, Depth=1.0,
        Sum=0.0,
    )["Height"]  # fmt: skip
    bump = graph.new_node("ShaderNodeBump")
    graph.put(bump.inputs["Height"], found)
    graph.put(bump.inputs["Distance"], 1.0)
    graph.put(bump.inputs["Normal"], _fill_in(graph, normal, own))
    graph.output("Normal", Value(graph, bump.outputs["Normal"]))
    graph.output("Height", found)
    for socket in graph.tree.interface.items_tree:
        if socket.name in ("Amount", "Height") and socket.in_out == "INPUT":
            socket.default_value = {"Amount": 1.0, "Height": height}[socket.name]
    return graph.finish()


def _fill_in(graph: Graph, given: Value, own: Value) -> Value:
    """A vector that is given, or one of the surface's own where it is not linked."""
    return given + own * graph.add("ShaderNodeMath", given.length(), EXACT, operation="LESS_THAN")


def _read_attribute(graph: Graph, name: str, kind: str, output: str = "Vector") -> Value:
    node = graph.new_node("ShaderNodeAttribute", attribute_name=name, attribute_type=kind, label=name)
    return Value(graph, node.outputs[output])


def _add_pattern(
    graph: Graph, use: str, pattern: NodePattern, chart: Value, gray: Value, amount: Value, height: Any
) -> Value:
    """Add a pattern's height to a sum."""
    group = _ensure_height(pattern.kind, use)
    inputs = dict(zip(CONSTANTS, pattern.constants, strict=True))
    outputs = graph.call(
        group, Chart=chart, Grey=gray, Number=float(pattern.number), Amount=amount, Sum=height, **inputs
    )
    outputs["Height"].socket.node.name = node_name(pattern.number)
    return outputs["Height"]


def _ensure_height(kind: str, use: str) -> Any:
    build = partial(_build_height, kind=kind, tree=TREES[use])
    return ensure_group(f"pattern {kind} {use}", f"Supple {kind.capitalize()} {use.capitalize()}", build)


def node_name(number: int) -> str:
    """Name of the node that makes a pattern's height."""
    return f"Pattern {number}"


def depth_name(number: int) -> str:
    """Name of the node that holds the amount from which on a bone is seen."""
    return f"Depth {number}"


def write_constants(group: Any, patterns: Sequence[NodePattern]) -> None:
    """Bring the settings of a group's patterns up to date."""
    for pattern in patterns:
        node = group.nodes.get(node_name(pattern.number))
        if node is None:
            continue  # in the modifier's group, a pattern that is bumped
        if pattern.compression:
            write_law(group, pattern.number, pattern.law_constants)
        for name, value in zip(CONSTANTS, pattern.constants, strict=True):
            if node.inputs[name].default_value != value:
                node.inputs[name].default_value = value
        deepest = group.nodes.get(depth_name(pattern.number))
        if deepest is not None:
            deepest.outputs[0].default_value = pattern.depth - 1.0


def write_scale(group: Any, scale: float) -> None:
    """Give a group that bumps the scale of the object in the world: heights of bumps are in the object's units."""
    socket = group.nodes[SCALE_NODE].outputs[0]
    if socket.default_value != scale:
        socket.default_value = scale


def _build_height(name: str, *, kind: str, tree: str) -> Any:
    """The height of one pattern, added to a sum: equations 1 to 3, as `draw_heights` and `soften_edges` have them."""
    graph = Graph(name, tree)
    chart = graph.input("Chart", "VECTOR", "Coordinates in the height map, and the pattern's number")
    gray = graph.input("Grey", "VALUE", "Gray value there")
    number = graph.input("Number", "VALUE", "Number of the pattern")
    amount = graph.input("Amount", "VALUE", "How much of the pattern is seen")
    strength = graph.input("Strength", "VALUE", "Height of a full step of gray, in the object's units")
    softness = graph.input("Softness", "VALUE", "Width of the edge that fades out")
    depth = graph.input("Depth", "VALUE", "Depth of a bone at rest")
    total = graph.input("Sum", "VALUE", "Height of other patterns")
    x, y, owner = chart.components()
    inside = x.minimum(1.0 - x).minimum(y.minimum(1.0 - y))
    share = (inside / (softness * 0.5).maximum(SHARPEST_EDGE)).clamped()
    edge = share * share * (3.0 - share * 2.0)
    is_own = graph.add("ShaderNodeMath", owner, number, 0.5, operation="COMPARE")
    if kind == "BONE":
        is_bone = graph.add("ShaderNodeMath", gray, 0.0, operation="GREATER_THAN")
        risen, seen = gray - depth + amount, amount.clamped()
        width = seen * (1.0 - seen) * depth
        passed = ((risen + width) / (width * 2.0).maximum(LEAST_DIVISOR)).clamped()
        raised = (width * passed * passed + (risen - width).maximum(0.0)).minimum(1.0) * is_bone
    else:
        base = BASES[kind]
        raised = (amount * (gray - base) + base).clamped() - base
    graph.output("Height", raised * (edge * is_own * strength) + total)
    return graph.finish()
