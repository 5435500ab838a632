"""What a method does to each vertex, as nodes: blend the joints by the mesh's influences, and move the vertex."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..deformers.rig.rest import LEAST_WEIGHT
from ..deformers.skinning.stages import LEAST_NORM
from .bones import MATRIX
from .graph import Graph, Value
from .joints import DUAL, REAL, SCALARS

JOINT_ATTRIBUTE, WEIGHT_ATTRIBUTE = "supple_joint_{}", "supple_weight_{}"
"""Attributes of the character's mesh: the joint and the weight of each influence, counted from 0."""

SAME_SPACE = 1e-7
"""Largest difference from the identity at which mesh and armature share a space."""

INPUTS = (
    ("Armature", "OBJECT", "Armature that deforms the mesh"),
    ("Influences", "INT", "Number of influences that the mesh holds for each vertex, as attributes supple_..."),
    ("Linear Group", "STRING", "Vertex group that mixes in linear blending"),
    ("Vertex Group", "STRING", "Vertex group that limits the deformation"),
    ("Invert", "BOOLEAN", "Limit the deformation to what the vertex group leaves out"),
)
"""Inputs of the node modifier besides the geometry."""


Move = Callable[[Graph, Value, Value, Value], Value]
"""A step that moves points: from the joints, the number of influences and the points, where the points go."""


def build_skin(name: str, make_moves: Callable[[Value], Sequence[Move]], mixes_linear: bool) -> Any:
    """The group that moves the vertices of a mesh by its joints.

    Parameters
    ----------
    name : str
        Of the new group.
    make_moves : callable
        Gives the method's moves, in order, for the value that tells whether any joint is stretched.
    mixes_linear : bool
        Whether a vertex group can mix in linear blending.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    joints, is_stretched = graph.input("Joints", "GEOMETRY"), graph.input("Is Stretched", "BOOLEAN")
    armature, influences, linear_group, vertex_group, invert = (graph.input(*socket) for socket in INPUTS)

    with graph.frame("Into the armature's space"):
        to_object = graph.add("GeometryNodeObjectInfo", armature, transform_space="RELATIVE")
        to_armature = to_object.inverted()
        differs = _differs_from_identity(graph, to_object)
        position = graph.add("GeometryNodeInputPosition")
        start = graph.switch(differs, position, to_armature.move(position))

    posed = start
    for move in make_moves(is_stretched):
        posed = move(graph, joints, influences, posed)

    if mixes_linear:
        posed_linearly = blend_matrices(MATRIX, "Linear Group: mix in linear blending", None)
        linear = posed_linearly(graph, joints, influences, start)
        with graph.frame("Linear Group"):
            share = graph.add("ShaderNodeClamp", graph.attribute(linear_group, "FLOAT"))
            mixed = (linear - posed).times_plus(share, posed)
            posed = graph.switch(_is_given(graph, linear_group), posed, mixed)
    with graph.frame("Vertex Group"):
        values, exists = graph.outputs("GeometryNodeInputNamedAttribute", vertex_group, data_type="FLOAT")
        strength = graph.switch(exists, 1.0, graph.switch(invert, values, 1.0 - values))
        limited = (posed - start).times_plus(strength, start)
        posed = graph.switch(_is_given(graph, vertex_group), posed, limited)
    with graph.frame("Back into the mesh's space"):
        posed = graph.switch(differs, posed, to_object.move(posed))
        geometry = graph.add("GeometryNodeSetPosition", geometry, None, posed)
    graph.output("Geometry", geometry)
    return graph.finish()


def _is_given(graph: Graph, group: Value) -> Value:
    return graph.add("FunctionNodeCompare", group, "", data_type="STRING", operation="NOT_EQUAL")


def _differs_from_identity(graph: Graph, matrix: Value) -> Value:
    """Whether a single matrix is more than noise away from the identity."""
    furthest = None
    for point in ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)):
        away = (matrix.move(point) - point).length()
        furthest = away if furthest is None else furthest.maximum(away)
    assert furthest is not None
    return furthest > SAME_SPACE


def _influence(graph: Graph, iteration: Value) -> tuple[Value, Value]:
    """Joint and weight of the influence of this step."""
    joint, weight = graph.text(JOINT_ATTRIBUTE, iteration), graph.text(WEIGHT_ATTRIBUTE, iteration)
    return graph.attribute(joint, "INT"), graph.attribute(weight, "FLOAT")


def blend_matrices(name: str, label: str, is_needed: Value | None) -> Move:
    """The step that moves points by the weighted sum of a matrix of the joints, divided by the sum of the weights."""

    def move(graph: Graph, joints: Value, influences: Value, start: Value) -> Value:
        with graph.frame(label):
            zone = graph.repeat(influences, Moved=graph.vector(0.0, 0.0, 0.0), Total=graph.number(0.0))
            joint, weight = _influence(graph, zone.iteration)
            moved = graph.sample(joints, graph.attribute(name, "FLOAT4X4"), joint).move(start)
            sums = zone.close(Moved=moved.times_plus(weight, zone["Moved"]), Total=zone["Total"] + weight)
            total = sums["Total"]
            blended = graph.switch(total > LEAST_WEIGHT, start, sums["Moved"] / total)
            return blended if is_needed is None else graph.switch(is_needed, start, blended)

    return move


def move_rigidly(graph: Graph, joints: Value, influences: Value, start: Value) -> Value:
    """The step that blends dual quaternions and moves points by them (eq 5-8): `stages._move_rigidly`."""
    with graph.frame("Blend the dual quaternions (eq 8)"):
        zero = graph.vector(0.0, 0.0, 0.0)
        zone = graph.repeat(influences, Real=zero, Dual=zero, Scalars=zero)
        joint, weight = _influence(graph, zone.iteration)
        blended = zone.close(
            **{
                key: graph.sample(joints, graph.attribute(name, "FLOAT_VECTOR"), joint).times_plus(weight, zone[key])
                for key, name in (("Real", REAL), ("Dual", DUAL), ("Scalars", SCALARS))
            }
        )
    with graph.frame("Normalize them and move the points (eq 5-8); points without weights stay"):
        r, dual = blended["Real"], blended["Dual"]
        w, dual_w, total = blended["Scalars"].components()
        w = w + graph.switch(total > LEAST_WEIGHT, 1.0, 0.0)
        scale = 2.0 / w.times_plus(w, r.dot(r)).maximum(total * total * LEAST_NORM)
        u = start.times_plus(w, r.cross(start)) + dual
        rotated = dual.times_plus(w, r.cross(u)) - r * dual_w
        return rotated.times_plus(scale, start)
