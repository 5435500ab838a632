"""Layers as nodes: what lies beneath gives way, and loose cloth stays out of limbs, as `deformers/layers` has them.

Their groups are those of node modifiers that stand below what poses a mesh. They read the layer above, or the pose of
the bones, from other objects, and what is known at rest from attributes and from a hidden mesh.
"""

from __future__ import annotations

from typing import Any

from ..deformers.layers.limb_grids import PASSES, SLOTS
from ..deformers.layers.limb_grids import SMOOTHING as LIMB_SMOOTHING
from ..deformers.layers.tuck import FADE, LEAST_KNEE, SMOOTHING
from .graph import Graph, Value

FIRST = "supple_layer_first"
"""Attribute of a mesh: for each vertex the first that lies where it lies, which moves alike."""

CORNERS, WEIGHTS, HEIGHT = "supple_cover_corners", "supple_cover_weights", "supple_cover_height"
"""How the names of attributes begin of what a layer covers, see `Cover`; then comes the layer's number."""

LAYER, LAYER_COUNT, COUNT, GAP, GIVE = "Layer", "Layer Vertices", "Vertices", "Gap", "Give"
JOINTS, LIMBS = "Bones", "Limbs"
"""Inputs of the groups."""

FORWARD, BACK = "supple_rest_to_pose", "supple_pose_to_rest"
"""Attributes of the joints object's points: matrices in armature space."""

JOINT, LOW, STEP, NODES, START, DISTANCE, VERTEX = "joint", "low", "step", "nodes", "start", "distance", "vertex"
"""Attributes of the first points of a limbs object, of each vertex and slot: see `LimbGrids` and `NearLimbs`."""

FIELD = "field"
"""Attribute of its points, those of all grids one after the other: the values of `LimbGrids`."""


def build_tuck(name: str, number: int) -> Any:
    """The group that has a mesh give way beneath the layer of a number."""
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    layer_object = graph.input(LAYER, "OBJECT", "Mesh that lies above")
    layer_count = graph.input(LAYER_COUNT, "INT", "Vertices of the layer: where it has fewer, nothing is moved")
    count = graph.input(COUNT, "INT", "Vertices of the mesh: where it has others, nothing is moved")
    gap = graph.input(GAP, "VALUE", "Distance below the layer, where it is not less at rest")
    give = graph.input(GIVE, "VALUE", "The farthest that a vertex is moved")
    with graph.frame("The triangle above each vertex"):
        layer = graph.outputs("GeometryNodeObjectInfo", layer_object, transform_space="RELATIVE")[-1]
        position = graph.add("GeometryNodeInputPosition")
        corners = graph.attribute(f"{CORNERS}{number}", "FLOAT_VECTOR").components()
        first, second, third = (graph.sample(layer, position, corner) for corner in corners)
        normal = (second - first).cross(third - first).normalized()
        share, next_share, last_share = graph.attribute(f"{WEIGHTS}{number}", "FLOAT_VECTOR").components()
        above = third.times_plus(last_share, second.times_plus(next_share, first * share)) - position
    with graph.frame("How far each vertex must give way"):
        rest = graph.attribute(f"{HEIGHT}{number}", "FLOAT")
        gaps = rest.minimum(gap)
        knee = (gaps * 0.5).maximum(give * LEAST_KNEE)
        needs = _soften(graph, gaps - normal.dot(above), knee) - _soften(graph, gaps - rest, knee)
        fade = 1.0 - graph.smoothstep((needs / give - 1.0) * (1.0 / (FADE - 1.0)))
        is_covered = rest > 0.0
        needs = needs.maximum(0.0).minimum(give) * fade * is_covered
        held, known = graph.capture(geometry, "POINT", needs=needs, normal=normal)
    with graph.frame("Smoothed, never less"):
        moves = known["needs"]
        for _ in range(SMOOTHING):
            moves = _average(graph, moves, "FLOAT").maximum(known["needs"]) * is_covered
        moved = graph.add("GeometryNodeSetPosition", held, None, None, known["normal"] * (moves * -1.0))
    with graph.frame("Only while both meshes have their vertices"):
        is_whole = graph.add("GeometryNodeAttributeDomainSize", layer) > layer_count - 1.0
        graph.output("Geometry", graph.switch(is_whole & _has(graph, geometry, count), geometry, moved))
    return graph.finish()


def _has(graph: Graph, geometry: Value, count: Value) -> Value:
    """Whether a mesh has so many vertices."""
    own = graph.add("GeometryNodeAttributeDomainSize", geometry)
    return graph.add("FunctionNodeCompare", own, count, data_type="INT", operation="EQUAL")


def _soften(graph: Graph, values: Value, knee: Value) -> Value:
    """The positive part, rounded off: `deformers.layers.tuck.soften`."""
    raised = (values + knee).maximum(0.0)
    return graph.switch(values > knee, raised * raised / (knee * 4.0), values)


def _average(graph: Graph, values: Value, kind: str) -> Value:
    """Mean of a vertex and its neighbors: `deformers.layers.tuck.average_neighbors`."""
    blurred = graph.add("GeometryNodeBlurAttribute", values, 1, 1.0, data_type=kind)
    first = graph.new_node("GeometryNodeFieldAtIndex", data_type=kind)
    graph.put(first.inputs["Index"], graph.attribute(FIRST, "INT"))
    graph.put(first.inputs["Value"], blurred)
    return Value(graph, first.outputs[0])


def build_layer_joints(name: str, pose: Any) -> Any:
    """The group by which a joints object brings the bones' matrices to loose cloth; `pose` is that of `build_pose`."""
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    count = graph.input("Count", "INT", "Number of joints, with the one that stays at rest")
    reach = graph.input("Reach", "VALUE", "Distance of a joint's points from its origin")
    graph.input("Levels", "INT", "Joints in the longest chain")
    joints = graph.call(pose, Geometry=geometry, Count=count, Reach=reach)
    with graph.frame("Matrices"):
        turned = graph.matrix(joints["X"], joints["Y"], joints["Z"])
        matrix = graph.add("FunctionNodeCombineTransform", joints["Origin"]) @ turned
        stored = graph.store(joints["Joints"], **{FORWARD: matrix})
        back = graph.attribute(FORWARD, "FLOAT4X4").inverted()
        graph.output("Geometry", graph.store(stored, **{BACK: back}))
    return graph.finish()


def build_out_of_limbs(name: str, push: Any) -> Any:
    """The group that pushes loose cloth out of limbs; `push` is that of `build_push`."""
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    joints_object = graph.input(JOINTS, "OBJECT", "Mesh by which the bones' pose is read")
    limbs_object = graph.input(LIMBS, "OBJECT", "Mesh that holds distances about the limbs at rest")
    count = graph.input(COUNT, "INT", "Vertices of the cloth: where it has others, nothing is moved")
    gap = graph.input(GAP, "VALUE", "Distance from the limbs, where it is not less at rest")
    with graph.frame("The limbs that each vertex may enter"):
        to_cloth, *_, joints = graph.outputs("GeometryNodeObjectInfo", joints_object, transform_space="RELATIVE")
        limbs = graph.outputs("GeometryNodeObjectInfo", limbs_object)[-1]
        index = graph.add("GeometryNodeInputIndex")
        slots = graph.add("GeometryNodePoints", count * float(SLOTS))
        names = {
            JOINT: "INT", LOW: "FLOAT_VECTOR", STEP: "FLOAT", NODES: "FLOAT_VECTOR", START: "FLOAT",
            DISTANCE: "FLOAT", VERTEX: "INT",
        }  # fmt: skip
        slots = graph.store(
            slots, **{name: graph.sample(limbs, graph.attribute(name, kind), index) for name, kind in names.items()}
        )
        joint = graph.attribute(JOINT, "INT")
        back = graph.sample(joints, graph.attribute(BACK, "FLOAT4X4"), joint) @ to_cloth.inverted()
        forward = to_cloth @ graph.sample(joints, graph.attribute(FORWARD, "FLOAT4X4"), joint)
        slots = graph.store(slots, **{BACK: back, FORWARD: forward})
    moved = geometry
    for number in range(PASSES):
        with graph.frame(f"Pass {number + 1}"):
            moved = graph.call(push, Geometry=moved, Slots=slots, Limbs=limbs, Vertices=count, Gap=gap)["Geometry"]
    with graph.frame("Only while the cloth has its vertices"):
        graph.output("Geometry", graph.switch(_has(graph, geometry, count), geometry, moved))
    return graph.finish()


def build_push(name: str) -> Any:
    """The group of one pass: each vertex is pushed out of all limbs at once."""
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    slots = graph.input("Slots", "GEOMETRY", "A point for each limb that each vertex may enter")
    limbs = graph.input(LIMBS, "GEOMETRY", "Distances about the limbs at rest")
    count = graph.input(COUNT, "INT", "Vertices of the cloth")
    gap = graph.input(GAP, "VALUE", "Distance from the limbs, where it is not less at rest")
    position = graph.add("GeometryNodeInputPosition")
    with graph.frame("Where each vertex is in the grid of each limb"):
        at = graph.sample(geometry, position, graph.attribute(VERTEX, "INT"))
        local = graph.attribute(BACK, "FLOAT4X4").move(at)
        nodes = graph.attribute(NODES, "FLOAT_VECTOR")
        place = (local - graph.attribute(LOW, "FLOAT_VECTOR")) * (1.0 / graph.attribute(STEP, "FLOAT"))
        place = place.maximum((0.0, 0.0, 0.0)).minimum(nodes - (1.0, 1.0, 1.0))
        corner = graph.add("ShaderNodeVectorMath", place, operation="FLOOR").minimum(nodes - (2.0, 2.0, 2.0))
        share = place - corner
        along, across, _ = nodes.components()
        layer = along * across
        x, y, z = corner.components()
        start = z.times_plus(layer, y.times_plus(along, x + graph.attribute(START, "FLOAT")))
    with graph.frame("How deep it is, and the way out"):
        field = graph.attribute(FIELD, "FLOAT_COLOR")
        rows = [start, start + 1.0]
        rows += [row + along for row in rows]
        rows += [row + layer for row in rows]
        colors = [graph.sample(limbs, field, row) for row in rows]
        ways: list[Any] = colors
        depths: list[Any] = [graph.outputs("FunctionNodeSeparateColor", color)[3] for color in colors]
        for factor in share.components():
            ways = [_mix(graph, factor, *pair, "VECTOR") for pair in zip(ways[::2], ways[1::2], strict=True)]
            depths = [_mix(graph, factor, *pair, "FLOAT") for pair in zip(depths[::2], depths[1::2], strict=True)]
        way = graph.attribute(FORWARD, "FLOAT4X4").rotate(ways[0])
        knee = gap * 0.5
        rest = graph.attribute(DISTANCE, "FLOAT")
        depth = (_soften(graph, gap - depths[0], knee) - _soften(graph, gap - rest, knee)).maximum(0.0)
        slots, found = graph.capture(slots, "POINT", push=way * depth)
    with graph.frame("The deepest limb says how far, all together which way"):
        index = graph.add("GeometryNodeInputIndex")
        farthest: Any = None
        total: Any = None
        for slot in range(SLOTS):
            push = graph.sample(slots, found["push"], index + count * float(slot) if slot else index)
            length = push.length()
            weighted = push * length
            farthest = length if farthest is None else farthest.maximum(length)
            total = weighted if total is None else total + weighted
        held, known = graph.capture(geometry, "POINT", length=farthest, way=total.normalized())
    with graph.frame("Smoothed, never less"):
        move = known["way"] * known["length"]
        for _ in range(LIMB_SMOOTHING):
            move = _average(graph, move, "FLOAT_VECTOR")
            move = known["way"].times_plus((known["length"] - move.dot(known["way"])).maximum(0.0), move)
        graph.output("Geometry", graph.add("GeometryNodeSetPosition", held, None, None, move))
    return graph.finish()


def _mix(graph: Graph, factor: Value, first: Value, second: Value, kind: str) -> Value:
    return graph.add("ShaderNodeMix", factor, first, second, data_type=kind)
