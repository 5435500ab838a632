"""Skin patterns as nodes: one group that displaces an object's skin, one that bumps it in its materials.

Both read charts from attributes of the mesh, height maps from images, and amounts from drivers and from the compression
of the skin, so they work without Supple.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..deformers.patterns.heights import BASES, MIN_DIVISOR, MIN_EDGE, Relief
from .compression import TREES, add_law, write_law
from .graph import Graph, Value
from .groups import ensure_group

CONSTANTS = ("Strength", "Softness", "Depth")  # inputs of a pattern's node

LEVEL = "Level"

# The whole skin is subdivided up to this level, because cutting it apart takes longer. Beyond, it is subdivided once,
# then only under patterns: the steps between both are too small to see.
MAX_EVEN_LEVEL = 2

TOLERANCE = 1e-6  # of shares that count as equal, and of positions that are welded, relative to the size of the skin

HEIGHT = "supple_height"  # attribute that holds the sum of heights

RELIEF_SOFTNESS = 0.2  # of a height map that bumps a material without a pattern on the skin

SCALE_NODE = "Scale"  # its first output is the scale of the object in the world


@dataclass(frozen=True)
class NodePattern:
    """The description of a pattern from which its nodes are built.

    Attributes
    ----------
    number : int
        Unique in the object.
    chart : str
        Attribute of the corners of faces: (s, t) in the height map, and the pattern's number.
    is_displaced : bool
        Whether it moves the skin; otherwise materials bump it.
    amount : str
        Property or attribute from which materials read the amounts of three patterns.
    slot : int
        Index of the pattern's amount in it.
    source : str
        "OBJECT" for a custom property, "GEOMETRY" for an attribute that the node modifier stores.
    has_angle : bool
        Whether the angle of a joint drives it.
    compression : str
        Attribute with the compression of the skin; "" if that does not drive it.
    law : str
        Law of the compression.
    law_constants : tuple of float
        Values of `compression.LAW_INPUTS`.
    """

    number: int
    name: str
    image: Any
    relief: Relief
    chart: str
    is_displaced: bool
    amount: str
    slot: int
    source: str
    has_angle: bool = True
    compression: str = ""
    law: str = ""
    law_constants: tuple[float, ...] = ()

    @property
    def constants(self) -> tuple[float, ...]:
        """Values of `CONSTANTS`."""
        return self.relief.strength, self.relief.softness, self.relief.depth

    @property
    def form(self) -> tuple:
        """Values for which groups are built anew if they change; `write_constants` writes the others."""
        kept = (
            "number",
            "name",
            "chart",
            "is_displaced",
            "amount",
            "slot",
            "source",
            "has_angle",
            "compression",
            "law",
        )
        return (self.relief.kind, self.image.name_full, *(getattr(self, name) for name in kept))


def amount_input(number: int) -> str:
    """Name the input of the node modifier for a pattern's amount."""
    return f"Amount {number}"


def build_displacement(name: str, patterns: Sequence[NodePattern]) -> Any:
    """Build the group that moves the skin along its normals (equation 4), subdivided under patterns.

    Heights are computed on corners of faces, because charts end sharply there, and only on the faces of each pattern.
    Patterns that do not show cost nothing. The amounts of bumped patterns are stored as attributes for materials.
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
    is_fine = level > MAX_EVEN_LEVEL
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
    """Add the test whether a pattern may show; compression may show some of it in any pose."""
    if angle is None or (pattern.compression and pattern.relief.kind == "BONE"):
        return graph.truth()
    if pattern.relief.kind == "BONE":
        return angle > graph.number(pattern.relief.depth - 1.0).named(depth_name(pattern.number))
    return angle.absolute() > 0.0


def _subdivide_near(graph: Graph, geometry: Value, level: Value, charts: Sequence[Value]) -> Value:
    """Subdivide the faces that charts cover, and weld them to the rest.

    The faces around them are subdivided, too, so that the border is smooth, and then left out. New vertices at the
    border move onto the nearest vertex of the rest, so that no gap opens and no edge shows.
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
        graph.put(merge.inputs["Distance"], (high - low).length() * TOLERANCE)
        return Value(graph, merge.outputs[0])


def _capture_border(graph: Graph, geometry: Value, near: Value) -> tuple[Value, Value]:
    """Capture which vertices have both near and other faces: the geometry, and a boolean field."""
    share = _average(graph, near, "POINT")
    border = graph.add("ShaderNodeMath", (share > TOLERANCE) & (share < 1.0 - TOLERANCE), 1.0, operation="MULTIPLY")
    geometry, captured = graph.capture(geometry, "POINT", border=border)
    return geometry, captured["border"] > 0.5


def _average(graph: Graph, value: Value, domain: str) -> Value:
    """Evaluate a field on a domain, wherever it is used; booleans become shares."""
    return graph.add("GeometryNodeFieldOnDomain", value, domain=domain, data_type="FLOAT")


def _move_to_nearest(graph: Graph, geometry: Value, selection: Value, targets: Value) -> Value:
    """Move selected vertices onto the nearest of other vertices."""
    nearest = graph.add("GeometryNodeSampleNearest", targets, domain="POINT")
    at = graph.sample(targets, graph.add("GeometryNodeInputPosition"), nearest)
    return graph.add("GeometryNodeSetPosition", geometry, selection, at)


def _find_amount(graph: Graph, use: str, pattern: NodePattern, angle: Value | None) -> Value:
    """Add the amount of a pattern by its angle and its compression, as far as they drive it."""
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
    """Build the group before the normals of shaders; an object without the amounts has no bumps."""
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
        _output_bump(graph, height, scale, normal, own)
    return graph.finish()


def build_relief(name: str, kind: str, image: Any, height: float) -> Any:
    """Build a group that bumps any material by one height map, without a pattern on the skin.

    Parameters
    ----------
    image : image
        The height map.
    height : float
        Default height of white above black, meters.
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
        group, Chart=chart, Grey=gray, Number=0.0, Amount=amount, Strength=strength, Softness=RELIEF_SOFTNESS,
        Depth=1.0, Sum=0.0,
    )["Height"]  # fmt: skip
    _output_bump(graph, found, 1.0, normal, own)
    graph.output("Height", found)
    for socket in graph.tree.interface.items_tree:
        if socket.name in ("Amount", "Height") and socket.in_out == "INPUT":
            socket.default_value = {"Amount": 1.0, "Height": height}[socket.name]
    return graph.finish()


def _output_bump(graph: Graph, height: Any, distance: Any, normal: Value, own: Value) -> None:
    bump = graph.new_node("ShaderNodeBump")
    graph.put(bump.inputs["Height"], height)
    graph.put(bump.inputs["Distance"], distance)
    graph.put(bump.inputs["Normal"], _fill_in(graph, normal, own))
    graph.output("Normal", Value(graph, bump.outputs["Normal"]))


def _fill_in(graph: Graph, given: Value, own: Value) -> Value:
    """Return a given vector, or the surface's own vector if the input is not linked."""
    return given + own * graph.add("ShaderNodeMath", given.length(), TOLERANCE, operation="LESS_THAN")


def _read_attribute(graph: Graph, name: str, kind: str, output: str = "Vector") -> Value:
    node = graph.new_node("ShaderNodeAttribute", attribute_name=name, attribute_type=kind, label=name)
    return Value(graph, node.outputs[output])


def _add_pattern(
    graph: Graph, use: str, pattern: NodePattern, chart: Value, gray: Value, amount: Value, height: Any
) -> Value:
    """Add the height of a pattern to a sum."""
    group = _ensure_height(pattern.relief.kind, use)
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
    """Name the node of a pattern's height."""
    return f"Pattern {number}"


def depth_name(number: int) -> str:
    """Name the node that holds the amount above which a bone shows."""
    return f"Depth {number}"


def write_constants(group: Any, patterns: Sequence[NodePattern]) -> None:
    """Write the numbers of patterns to the nodes of a group."""
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
            deepest.outputs[0].default_value = pattern.relief.depth - 1.0


def write_scale(group: Any, scale: float) -> None:
    """Write the scale of the object in the world to a group that bumps: heights are in the object's units."""
    socket = group.nodes[SCALE_NODE].outputs[0]
    if socket.default_value != scale:
        socket.default_value = scale


def _build_height(name: str, *, kind: str, tree: str) -> Any:
    """Build the group of one pattern's height, added to a sum: equations 1 to 3, as `draw_heights` computes them."""
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
    share = (inside / (softness * 0.5).maximum(MIN_EDGE)).clamped()
    edge = share * share * (3.0 - share * 2.0)
    is_own = graph.add("ShaderNodeMath", owner, number, 0.5, operation="COMPARE")
    if kind == "BONE":
        is_bone = graph.add("ShaderNodeMath", gray, 0.0, operation="GREATER_THAN")
        risen, seen = gray - depth + amount, amount.clamped()
        width = seen * (1.0 - seen) * depth
        passed = ((risen + width) / (width * 2.0).maximum(MIN_DIVISOR)).clamped()
        raised = (width * passed * passed + (risen - width).maximum(0.0)).minimum(1.0) * is_bone
    else:
        base = BASES[kind]
        raised = (amount * (gray - base) + base).clamped() - base
    graph.output("Height", raised * (edge * is_own * strength) + total)
    return graph.finish()
