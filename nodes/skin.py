"""What a method does to each vertex, as nodes: blend the joints by the mesh's influences, and move the vertex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..deformers.rig.rest import LEAST_WEIGHT
from ..deformers.skinning.stages import LEAST_NORM
from .graph import Graph, Value
from .limits import JOINT_ATTRIBUTE, LIMITS_ATTRIBUTE, STATE
from .sets import DUAL_QUATERNION, HAS_MATRICES, IS_STRETCHED, MATRIX
from .spread_twists import RestTurn, find_rest_turn

SET_ATTRIBUTE, WEIGHTS_ATTRIBUTE, SHARE_ATTRIBUTE = "supple_set_", "supple_weights_", "supple_share_"
"""Attributes of the character's mesh, with a number: a set of joints that each vertex follows; the weights of its first
three joints, out of 1; the set's share in the vertex. Without shares the vertices follow one set each."""

LINEAR_ATTRIBUTE = "supple_linear"
"""Attribute that stands for the linear group where limbs begin, if there is no such group."""

JOINTS_INPUT = "Joints"

SAME_SPACE = 1e-7
"""Largest difference from the identity at which mesh and armature share a space."""

INPUTS = (
    (JOINTS_INPUT, "OBJECT", "Hidden mesh that brings the pose of the armature"),
    ("Linear Group", "STRING", "Vertex group that mixes in linear blending"),
    ("Vertex Group", "STRING", "Vertex group that limits the deformation"),
    ("Invert", "BOOLEAN", "Limit the deformation to what the vertex group leaves out"),
    ("Bulge Limit", "VALUE", "How much of the skin that swells at bent joints is drawn back"),
    ("Contact", "VALUE", "How much the two sides of bent joints keep apart"),
    ("Shape Changes", "BOOLEAN", "Whether shape keys or other modifiers change the shape that is posed"),
    ("SDEF", "BOOLEAN", "Whether vertices have centers of an MMD model"),
)
"""Inputs of the node modifier besides the geometry."""


@dataclass(frozen=True)
class Influenced:
    """Points of a mesh, and what is needed to move them by their joints.

    Attributes
    ----------
    joints : Value
        Geometry of the joints object.
    set_count : int
        Of how many sets of joints vertices have shares; 0 where each follows one set.
    is_interpolable : bool
        Whether shares need not sum to 1.
    linear_blending : node group
        From `build_linear_blending`, for the same number of sets.
    has_sdef : Value
        Whether vertices have SDEF, a single value.
    turn : RestTurn or None
        By what vertices were turned at rest, where twists are spread.
    """

    graph: Graph
    joints: Value
    set_count: int
    is_interpolable: bool
    linear_blending: Any
    has_sdef: Value
    turn: RestTurn | None = None


Move = Callable[[Influenced, Value], Value]
"""A step that moves points, from where they are to where they go."""


def build_skin(
    name: str,
    make_moves: Callable[[Value], Sequence[Move]],
    mixes_linear: bool,
    set_count: int,
    is_interpolable: bool,
    linear_blending: Any,
    limits: Any = None,
    passes: int = 0,
) -> Any:
    """The group that moves the vertices of a mesh by its joints.

    Parameters
    ----------
    name : str
        Of the new group.
    make_moves : callable
        Gives the method's moves, in order, for the value that tells whether any joint is stretched.
    mixes_linear : bool
        Whether a vertex group can mix in linear blending.
    set_count, is_interpolable, linear_blending
        See `Influenced`.
    limits : node group, optional
        From `build_limits`; if not given, nothing is limited. Not with interpolable influences: which joint a vertex
        belongs to can not be averaged.
    passes : int
        Of how many spread twists a vertex may take something.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    source, linear_group, vertex_group, invert, *limited_by, has_sdef = (graph.input(*each) for each in INPUTS)
    bulge_limit, contact, changes = limited_by

    with graph.frame("Joints, and into their space"):
        joints = graph.outputs("GeometryNodeObjectInfo", source)[-1]
        to_object = graph.add("GeometryNodeObjectInfo", source, transform_space="RELATIVE")
        to_armature = to_object.inverted()
        differs = _differs_from_identity(graph, to_object)
        position = graph.add("GeometryNodeInputPosition")
        start = graph.switch(differs, position, to_armature.move(position))
        is_stretched = is_true(graph, joints, IS_STRETCHED)

    turn, turned = None, start
    if passes:
        with graph.frame("Spread Twist: turn at rest"):
            turn = find_rest_turn(graph, joints, passes)
            turned = turn.move(start)
    points = Influenced(graph, joints, set_count, is_interpolable, linear_blending, has_sdef, turn)
    posed = turned
    for move in make_moves(is_stretched):
        posed = move(points, posed)
    put_back = _put_back(graph, vertex_group, invert, differs, to_object)
    with graph.frame("Back into the mesh's space"):
        plain = put_back(geometry, None, start, posed)
    if mixes_linear:
        share = graph.add("ShaderNodeClamp", graph.attribute(linear_group, "FLOAT"))
        linear = blend_matrices(MATRIX, "Linear Group: blend the joints' matrices (eq 1)", None)(points, turned)
        with graph.frame("Linear Group: mix in linear blending, then move the others"):
            mixed, is_linear = (linear - posed).times_plus(share, posed), share > 0.0
            is_mixed = _is_given(graph, linear_group) & is_true(graph, joints, HAS_MATRICES)
            apart = put_back(put_back(geometry, is_linear, start, mixed), ~is_linear, start, posed)
            plain, posed = graph.switch(is_mixed, plain, apart), graph.switch(is_mixed, posed, mixed)
    if limits is None:
        graph.output("Geometry", plain)
        return graph.finish()
    with graph.frame("Bulge limit and contact, for vertices that belong to a joint"):
        holding, held = graph.capture(geometry, "POINT", Start=start, Posed=posed)
        amounts = {"Bulge_Limit": bulge_limit, "Contact": contact, "Shape_Changes": changes}
        corrected = graph.call(limits, Joints=joints, Start=held["Start"], Position=held["Posed"], **amounts)
        moved = put_back(holding, None, held["Start"], held["Posed"])
        limited = put_back(moved, _is_limited(graph, joints), held["Start"], corrected["Position"])
        has_limits = (bulge_limit.maximum(contact) > 0.0) & (_read_state(graph, joints, 0) > 0)
        graph.output("Geometry", graph.switch(has_limits, plain, limited))
    return graph.finish()


def _is_limited(graph: Graph, joints: Value) -> Value:
    """Whether a vertex takes something of bulge limit or contact, and its joint is bent."""
    limit, contact, _ = graph.attribute(LIMITS_ATTRIBUTE, "FLOAT_VECTOR").components()
    return (limit.maximum(contact) > 0.0) & (_read_state(graph, joints, graph.attribute(JOINT_ATTRIBUTE, "INT")) > 1)


def _read_state(graph: Graph, joints: Value, joint: Any) -> Value:
    return graph.sample(joints, graph.attribute(STATE, "INT"), joint)


def _put_back(
    graph: Graph, vertex_group: Value, invert: Value, differs: Value, to_object: Value
) -> Callable[[Value, Value | None, Value, Value], Value]:
    """What puts posed points, limited by the vertex group, into a mesh: all of its points, or a selection."""
    with graph.frame("Vertex Group"):
        values, exists = graph.outputs("GeometryNodeInputNamedAttribute", vertex_group, data_type="FLOAT")
        strength = graph.switch(exists, 1.0, graph.switch(invert, values, 1.0 - values))

    def put_back(geometry: Value, selection: Value | None, start: Value, posed: Value) -> Value:
        limited = (posed - start).times_plus(strength, start)
        posed = graph.switch(_is_given(graph, vertex_group), posed, limited)
        posed = graph.switch(differs, posed, to_object.move(posed))
        return graph.add("GeometryNodeSetPosition", geometry, selection, posed)

    return put_back


def _is_given(graph: Graph, group: Value) -> Value:
    return graph.add("FunctionNodeCompare", group, "", data_type="STRING", operation="NOT_EQUAL")


def is_true(graph: Graph, joints: Value, name: str) -> Value:
    """Whether the sets have an attribute that is true: a single value."""
    return graph.sample(joints, graph.attribute(name, "BOOLEAN"), 0, "EDGE")


def _differs_from_identity(graph: Graph, matrix: Value) -> Value:
    """Whether a single matrix is more than noise away from the identity."""
    furthest = None
    for point in ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        away = (matrix.move(point) - point).length()
        furthest = away if furthest is None else furthest.maximum(away)
    assert furthest is not None
    return furthest > SAME_SPACE


def blend(
    graph: Graph, joints: Value, set_count: int, is_interpolable: bool, names: Sequence[str | Value]
) -> tuple[list[Value], Value | None]:
    """Blend packed vectors of these names over each vertex's joints: their sums, and that of the weights unless 1."""
    if not set_count:
        return _blend_set(graph, joints, 0, names), None
    total = graph.attribute(f"{SHARE_ATTRIBUTE}0", "FLOAT")
    sums = [vector * total for vector in _blend_set(graph, joints, 0, names)]
    for number in range(1, set_count):
        share = graph.attribute(f"{SHARE_ATTRIBUTE}{number}", "FLOAT")
        blended = _blend_set(graph, joints, number, names)
        sums = [vector.times_plus(share, so_far) for vector, so_far in zip(blended, sums, strict=True)]
        total = total + share
    return sums, total if is_interpolable else None


def _blend_set(graph: Graph, joints: Value, number: int, names: Sequence[str | Value]) -> list[Value]:
    """Blend packed vectors by a vertex's set of joints of that number."""
    which = graph.attribute(f"{SET_ATTRIBUTE}{number}", "INT")
    weights = graph.attribute(f"{WEIGHTS_ATTRIBUTE}{number}", "FLOAT_VECTOR")
    packed = (graph.attribute(name, "FLOAT4X4") for name in names)
    return [graph.sample(joints, matrix, which, "EDGE").move(weights) for matrix in packed]


def build_linear_blending(name: str, set_count: int, is_interpolable: bool) -> Any:
    """The group that moves points by the weighted sum of matrices of the joints, divided by the sum of the weights.

    Its inputs name the columns that sets pack of these matrices.

    Parameters
    ----------
    name : str
        Of the new group.
    set_count, is_interpolable
        See `Influenced`.
    """
    graph = Graph(name)
    joints, position = graph.input("Joints", "GEOMETRY"), graph.input("Position", "VECTOR")
    names = [graph.input(f"Column {column}", "STRING") for column in range(4)]
    with graph.frame("Blend the columns, and move the points (eq 1)"):
        (*axes, moved), total = blend(graph, joints, set_count, is_interpolable, names)
        for axis, component in zip(axes, position.components(), strict=True):
            moved = axis.times_plus(component, moved)
        if total is not None:
            moved = graph.switch(total > LEAST_WEIGHT, position, moved / total)
    graph.output("Position", moved)
    return graph.finish()


def blend_matrices(name: str, label: str, is_needed: Value | None) -> Move:
    """The step that blends a matrix of the joints linearly."""

    def move(points: Influenced, start: Value) -> Value:
        with points.graph.frame(label):
            columns = {f"Column_{column}": f"{name}_{column}" for column in range(4)}
            moved = points.graph.call(points.linear_blending, Joints=points.joints, Position=start, **columns)
            return moved["Position"] if is_needed is None else points.graph.switch(is_needed, start, moved["Position"])

    return move


def move_rigidly(points: Influenced, start: Value) -> Value:
    """The step that blends dual quaternions and moves points by them (eq 5-8): `stages._move_rigidly`."""
    graph = points.graph
    with graph.frame("Blend the dual quaternions (eq 8)"):
        names = [f"{DUAL_QUATERNION}_{index}" for index in range(3)]
        (r, dual, scalars), total = blend(graph, points.joints, points.set_count, points.is_interpolable, names)
    with graph.frame("Normalize them and move the points (eq 5-8); points without weights stay"):
        w, dual_w, _ = scalars.components()
        least: Any = LEAST_NORM
        if total is not None:
            w = w + graph.switch(total > LEAST_WEIGHT, 1.0, 0.0)
            least = total * total * LEAST_NORM
        scale = 2.0 / w.times_plus(w, r.dot(r)).maximum(least)
        u = start.times_plus(w, r.cross(start)) + dual
        rotated = dual.times_plus(w, r.cross(u)) - r * dual_w
        return rotated.times_plus(scale, start)
