"""Layers as nodes, as in `deformers/layers`: skin beneath gives way, and loose cloth stays out of limbs.

Their groups belong to node modifiers after those that pose a mesh. They read the layer above, or the pose of the bones,
from other objects, and rest data from attributes and from a hidden mesh.
"""

from __future__ import annotations

from typing import Any

from ..deformers.layers.limb_grids import FULL_FACING, LIMB_SLOTS, PASSES
from ..deformers.layers.limb_grids import SMOOTHING_STEPS as LIMB_SMOOTHING
from ..deformers.layers.limb_pairs import PAIR_SLOTS
from ..deformers.layers.tuck import MAX_NEED, MIN_KNEE
from .graph import Graph, Value

# Attribute of a mesh: the four vertices that each is smoothed with, as `find_neighbors` has them
NEIGHBORS = "supple_layer_neighbors"

# Attribute of a mesh with stiff parts: the vertex that each is moved like, see `find_anchors`
ANCHOR = "supple_layer_anchor"

# How the names of attributes begin of what a layer covers, see `Cover`; then comes the layer's number
CORNERS, WEIGHTS, HEIGHT = "supple_cover_corners", "supple_cover_weights", "supple_cover_height"

LAYER, LAYER_COUNT, COUNT, GAP, GIVE = "Layer", "Layer Vertices", "Vertices", "Gap", "Give"
# Inputs of the groups
JOINTS, SLOTS, GRIDS = "Bones", "Limbs", "Grids"

# Attributes of the joints object's points: matrices in armature space
FORWARD, BACK = "supple_rest_to_pose", "supple_pose_to_rest"

JOINT, LOW, STEP, NODES, START, DISTANCE, VERTEX = "joint", "low", "step", "nodes", "start", "distance", "vertex"
# Attributes of the points of a slots object, one for each slot and vertex: see `LimbGrids`, `NearLimbs`, `Giving`
SHARE, OWNER, NORMAL = "share", "owner", "normal"

# Attribute of a mesh whose limbs keep out of each other: which point of each slot is the vertex's, or `NO_ROW`
ROW = "supple_layer_row"

# Beyond all points: what is read there is 0
NO_ROW = 2**24

# Attribute of the points of a slots object: which of those near its limb a point is, or `NO_ROW`
NEAR = "near"

# Attributes of those near where limbs give way: how deep it is left to the limb, and how much the skin faces it
LEFT, FACES = "left", "faces"

# Attribute of the points of a grids object: the values of `LimbGrids`, the distance last
FIELD = "field"

# Attribute of the points of a grids object: see `LimbGrids.find_ways`
WAY = "way"

# Attribute that holds how far points are pushed, while that is computed
PUSH = "supple_layer_push"


def build_tuck(name: str, number: int, has_parts: bool = False) -> Any:
    """The group that has a mesh give way beneath the layer of a number; stiff parts are moved as one."""
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
        knee = (gaps * 0.5).maximum(give * MIN_KNEE)
        needs = _soften(graph, gaps - normal.dot(above), knee) - _soften(graph, gaps - rest, knee)
        fade = 1.0 - graph.smoothstep((needs / give - 1.0) * (1.0 / (MAX_NEED - 1.0)))
        needs = needs.maximum(0.0).minimum(give) * fade
        is_covered = rest > 0.0
        settings = {"data_type": "FLOAT_VECTOR", "domain": "POINT"}  # computed for what is covered alone
        push = normal * (needs * -1.0)
        pushed = graph.add("GeometryNodeStoreNamedAttribute", geometry, is_covered, PUSH, push, **settings)
    with graph.frame("Smoothed, never less"):
        push = graph.attribute(PUSH, "FLOAT_VECTOR")
        smoothed, moves = _smooth(graph, pushed, push, 1)
        if has_parts:
            still = graph.vector(0.0, 0.0, 0.0)
            moves = graph.at_index(graph.switch(is_covered, still, moves), graph.attribute(ANCHOR, "INT"))
        moved = graph.add("GeometryNodeSetPosition", smoothed, None if has_parts else is_covered, None, moves)
        cleaner = graph.new_node("GeometryNodeRemoveAttribute")
        graph.put(cleaner.inputs["Geometry"], moved)
        graph.put(cleaner.inputs["Name"], PUSH)
        moved = Value(graph, cleaner.outputs[0])
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


def _smooth(graph: Graph, geometry: Value, push: Value, steps: int) -> tuple[Value, Value]:
    """The geometry, and a field of its smoothed pushes: `deformers.layers.tuck.smooth_pushes`."""
    length, way, moves = push.length(), push.normalized(), push
    neighbors = graph.outputs("FunctionNodeSeparateColor", graph.attribute(NEIGHBORS, "FLOAT_COLOR"))
    for step in range(steps):
        if step:  # else each step would be computed again for each neighbor
            geometry, known = graph.capture(geometry, "POINT", moves=moves)
            moves = known["moves"]
        total = moves
        for neighbor in neighbors:
            total = total + graph.at_index(moves, neighbor)
        moves = total * 0.2
        moves = way.times_plus((length - moves.dot(way)).maximum(0.0), moves)
    return geometry, moves


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


def build_out_of_limbs(name: str, find: Any, push: Any) -> Any:
    """The group that pushes loose cloth, or skin, out of limbs; `find` and `push` are of `build_find` and `build_push`.

    Limbs that are near are found once, before the first pass.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    joints_object = graph.input(JOINTS, "OBJECT", "Mesh by which the bones' pose is read")
    slots_object = graph.input(SLOTS, "OBJECT", "Mesh that says which limbs each vertex may enter")
    grids_object = graph.input(GRIDS, "OBJECT", "Mesh that holds distances about the limbs at rest")
    count = graph.input(COUNT, "INT", "Vertices of the cloth: where it has others, nothing is moved")
    gap = graph.input(GAP, "VALUE", "Distance from the limbs, where it is not less at rest")
    with graph.frame("What is read"):
        to_cloth, *_, joints = graph.outputs("GeometryNodeObjectInfo", joints_object, transform_space="RELATIVE")
        slots, grids = (graph.outputs("GeometryNodeObjectInfo", each)[-1] for each in (slots_object, grids_object))
        shared = {"Bones": joints, "To_Cloth": to_cloth, "Grids": grids, "Gap": gap}
        near = graph.call(find, Geometry=geometry, Slots=slots, **shared)
    moved = geometry
    for number in range(PASSES):
        with graph.frame(f"Pass {number + 1}"):
            moved = graph.call(push, Geometry=moved, Vertices=count, **near, **shared)["Geometry"]
    with graph.frame("Only while the cloth has its vertices"):
        graph.output("Geometry", graph.switch(_has(graph, geometry, count), geometry, moved))
    return graph.finish()


class _Limbs:
    """Inputs of the groups that push cloth or skin out of limbs."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.geometry = graph.input("Geometry", "GEOMETRY")
        self.joints = graph.input(JOINTS, "GEOMETRY", "A point for each bone, with its matrices")
        self.to_cloth = graph.input("To Cloth", "MATRIX", "From the armature's space to the cloth's")
        self.grids = graph.input(GRIDS, "GEOMETRY", "Distances about the limbs at rest")
        self.gap = graph.input(GAP, "VALUE", "Distance from the limbs, where it is not less at rest")

    def find_way(self) -> tuple[Value, Value, Value]:
        """Fields of points of slots: whether the grid has a way out there, the depth, and the way, in cloth's space."""
        graph, to_cloth = self.graph, self.to_cloth
        with graph.frame("Where each vertex is in the grid of the limb"):
            position = to_cloth.inverted().move(graph.add("GeometryNodeInputPosition"))
            at = graph.sample(self.geometry, position, graph.attribute(VERTEX, "INT"))
            joint = graph.attribute(JOINT, "INT")
            local = graph.sample(self.joints, graph.attribute(BACK, "FLOAT4X4"), joint).move(at)
        is_inside, row, distance, way_there = read_grid(graph, self.grids, local)
        with graph.frame("The way out"):
            has_way = is_inside & graph.sample(self.grids, graph.attribute(WAY, "BOOLEAN"), row)
            forward = graph.sample(self.joints, graph.attribute(FORWARD, "FLOAT4X4"), joint)
            knee, rest = self.gap * 0.5, graph.attribute(DISTANCE, "FLOAT")
            depth = _soften(graph, self.gap - distance, knee) - _soften(graph, self.gap - rest, knee)
            return has_way, depth.maximum(0.0), to_cloth.rotate(forward.rotate(way_there))


def build_find(name: str, is_shared: bool = False) -> Any:
    """The group that finds which limbs each vertex is near: few of those that it may enter."""
    graph = Graph(name)
    limbs = _Limbs(graph)
    slots = graph.input("Slots", "GEOMETRY", "A point for each limb that each vertex may enter")
    has_way, depth, way = limbs.find_way()
    with graph.frame("Those near, and which of them each is"):
        near = graph.attribute(NEAR, "INT")
        slots = graph.store(slots, **{NEAR: graph.switch(has_way, graph.integer(0), graph.integer(1))})
        _, before, _ = graph.outputs("GeometryNodeAccumulateField", near, data_type="INT", domain="POINT")
        found = graph.add("GeometryNodeSeparateGeometry", slots, near > 0, domain="POINT")
        slots = graph.store(slots, **{NEAR: graph.switch(near > 0, graph.integer(NO_ROW), before)})
    if is_shared:
        with graph.frame("What the limb gives way, and how much the skin faces it"):
            forward = graph.sample(limbs.joints, graph.attribute(FORWARD, "FLOAT4X4"), graph.attribute(OWNER, "INT"))
            normal = limbs.to_cloth.rotate(forward.rotate(graph.attribute(NORMAL, "FLOAT_VECTOR")))
            against = normal.normalized().dot(way.normalized())
            left = (1.0 - graph.attribute(SHARE, "FLOAT")) * depth
            found = graph.store(found, **{LEFT: left, FACES: graph.smoothstep(against * (1.0 / FULL_FACING))})
    graph.output("Slots", slots)
    graph.output("Near", found)
    return graph.finish()


def build_push(name: str, has_parts: bool = False, is_shared: bool = False) -> Any:
    """The group of one pass: each vertex is pushed out of all limbs at once; stiff parts are moved as one.

    `is_shared`: whether limbs give way, too.
    """
    graph = Graph(name)
    limbs = _Limbs(graph)
    geometry = limbs.geometry
    slots = graph.input("Slots", "GEOMETRY", "A point for each limb that each vertex may enter")
    near = graph.input("Near", "GEOMETRY", "Those of them that are near the limb")
    count = graph.input(COUNT, "INT", "Vertices of the cloth")
    _, depth, way = limbs.find_way()
    if is_shared:
        depth = (depth - graph.attribute(LEFT, "FLOAT")).maximum(0.0) * graph.attribute(FACES, "FLOAT")
    pushed = graph.store(near, **{PUSH: way * depth})
    with graph.frame("The deepest limb says how far, all together which way"):
        slot_count = PAIR_SLOTS if is_shared else LIMB_SLOTS
        index: Value = graph.add("GeometryNodeInputIndex")
        if is_shared:
            index = graph.attribute(ROW, "INT")
            count = graph.add("GeometryNodeAttributeDomainSize", slots) * (1.0 / slot_count)
            count = graph.add("ShaderNodeMath", count, operation="ROUND")
        number, own = graph.attribute(NEAR, "INT"), graph.attribute(PUSH, "FLOAT_VECTOR")
        farthest: Any = None
        total: Any = None
        for slot in range(slot_count):
            row = graph.sample(slots, number, index + count * float(slot) if slot else index)
            push = graph.sample(pushed, own, row)
            length = push.length()
            weighted = push * length
            farthest = length if farthest is None else farthest.maximum(length)
            total = weighted if total is None else total + weighted
        held, known = graph.capture(geometry, "POINT", push=total.normalized() * farthest)
    with graph.frame("Smoothed, never less"):
        held, move = _smooth(graph, held, known["push"], LIMB_SMOOTHING)
        if has_parts:
            move = graph.at_index(move, graph.attribute(ANCHOR, "INT"))
        graph.output("Geometry", graph.add("GeometryNodeSetPosition", held, None, None, move))
    return graph.finish()


def read_grid(graph: Graph, grids: Value, place: Value) -> tuple[Value, Value, Value, Value]:
    """Trilinear values of the grid of a point's limb, as `deformers.layers.limb_grids.read_grids` computes them.

    Returns
    -------
    is_inside, row, distance, others : Value
        Whether the place is inside of the grid; which point of it its cell begins at; the first of the four values
        there, and the other three as a vector.
    """
    with graph.frame("Which cell of the grid it is in"):
        nodes = graph.attribute(NODES, "FLOAT_VECTOR")
        cell = (place - graph.attribute(LOW, "FLOAT_VECTOR")) * (1.0 / graph.attribute(STEP, "FLOAT"))
        least, *sides = (*cell.components(), *(nodes - (1.0, 1.0, 1.0) - cell).components())
        for side in sides:
            least = least.minimum(side)
        corner = graph.add("ShaderNodeVectorMath", cell, operation="FLOOR")
        along, across, _ = nodes.components()
        layer = along * across
        x, y, z = corner.components()
        start = z.times_plus(layer, y.times_plus(along, x + graph.attribute(START, "FLOAT")))
    with graph.frame("What the grid has there"):
        field = graph.attribute(FIELD, "FLOAT_COLOR")
        rows = [start, start + 1.0]
        rows += [row + along for row in rows]
        rows += [row + layer for row in rows]
        others = [graph.sample(grids, field, row) for row in rows]
        distances = [graph.outputs("FunctionNodeSeparateColor", color)[3] for color in others]
        for factor in (cell - corner).components():
            others = [_mix(graph, factor, *pair, "VECTOR") for pair in zip(others[::2], others[1::2], strict=True)]
            pairs = zip(distances[::2], distances[1::2], strict=True)
            distances = [_mix(graph, factor, *pair, "FLOAT") for pair in pairs]
    return least > 0.0, start, distances[0], others[0]


def _mix(graph: Graph, factor: Value, first: Value, second: Value, kind: str) -> Value:
    return graph.add("ShaderNodeMix", factor, first, second, data_type=kind)
