"""Spread Twist as nodes: skin is turned at rest, before joints are blended.

The same steps as `spread_twists` and `twist_shares` in `deformers/rig`. The joints object tells all meshes of an
armature how its joints are turned; where Armature modifiers blend the joints, drivers tell each mesh. Twists are
numbered from 1 on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .graph import Graph, Value

AXIS, END, ENDS_JOINT, HINT = "spread_axis", "spread_end", "spread_joint", "spread_hint"
"""Attributes of the joints object's mesh, at the point of a twist's number: `SpreadTwists.axes` and `.ends`; the joint
and that above it, as a vector; and which of the inputs of `name_hint` asks for its twist."""

TURNS, LINES = "spread_turns", "spread_lines"
"""Attributes of a posed joints object, at the point of a twist's number, matrices, by columns: r and s of
`SpreadTurns`, each as x, y, z, w, then the twist in radians, and whether any joint twists; the line's axis, and where
it ends."""

SHARE_ATTRIBUTE = "supple_twist_"
"""Attribute of the character's mesh, with a number: what a vertex takes of a twist, `TwistShares.whole` and `.below`,
and the twist's number, 0 for none. In this order vertices are turned."""

AXIS_ATTRIBUTE, END_ATTRIBUTE = "supple_twist_axis_", "supple_twist_end_"
"""The same, of a mesh whose joints an Armature modifier blends: the twist's line, object space."""


def name_turn(number: int) -> str:
    """The input that drivers give how a joint is turned: x, y and z of `SpreadTurns.turns`, object space."""
    return f"Turn {number}"


def name_rest(number: int) -> str:
    """The input that they give the rest of it: w, and the twist that is spread, radians."""
    return f"Turn and Twist {number}"


def build_lines(name: str) -> object:
    """The group that puts with each twist all that is read of it: `measure_turns`.

    Parameters
    ----------
    name : str
        Of the new group.
    """
    graph = Graph(name)
    geometry, joints = graph.input("Geometry", "GEOMETRY"), graph.input("Joints", "GEOMETRY")
    both, hint = graph.input("Dual Quaternion", "MATRIX"), graph.input("Hint", "VALUE")
    with graph.frame("How is the joint turned against that above?"):
        joint, above, _ = graph.attribute(ENDS_JOINT, "FLOAT_VECTOR").components()
        x, y, z, w, *_ = graph.sample(joints, both, joint).components()
        of_joint = graph.add("FunctionNodeQuaternionToRotation", w, x, y, z)
        x, y, z, w, *_ = graph.sample(joints, both, above).components()
        of_above = graph.add("FunctionNodeQuaternionToRotation", w, x, y, z)
        turn = graph.add("FunctionNodeRotateRotation", of_joint, graph.add("FunctionNodeInvertRotation", of_above))
    found = _Turn.measure(graph, turn, graph.attribute(AXIS, "FLOAT_VECTOR"), hint)
    with graph.frame("Kept with the line that it is about"):
        is_twist = graph.attribute(AXIS, "FLOAT_VECTOR").length() > 0.5
        twist = graph.switch(is_twist, 0.0, found.twist)
        is_any = graph.is_any(geometry, twist.absolute() > 0.0)
        rows = (*found.turn_vector.components(), found.turn_w, *found.swing_vector.components(), found.swing_w)
        turns = graph.add(
            "FunctionNodeCombineMatrix", *rows, twist, graph.switch(is_any, 0.0, 1.0), *[0.0] * (16 - len(rows) - 2)
        )
        axis, end = graph.attribute(AXIS, "FLOAT_VECTOR"), graph.attribute(END, "FLOAT_VECTOR")
        lines = graph.add("FunctionNodeCombineMatrix", *axis.components(), 0.0, *end.components(), *[0.0] * 9)
        graph.output("Geometry", graph.store(geometry, **{TURNS: turns, LINES: lines}))
    return graph.finish()


@dataclass(frozen=True)
class _Turn:
    """How a joint is turned: `SpreadTurns`."""

    graph: Graph
    turn_w: Value
    turn_vector: Value
    swing_w: Value
    swing_vector: Value
    twist: Value

    @classmethod
    def measure(cls, graph: Graph, turn: Value, axis: Value, hint: Value | None = None) -> _Turn:
        """That of a rotation, for an axis and, if it is asked for one, a twist in whole turns."""
        with graph.frame("How far does it twist about the line? What is left of it?"):
            w, *vector = turn.components()
            # of both quaternions of a rotation, that with w >= 0
            sign = graph.switch(w < 0.0, 1.0, -1.0)
            w, v = w * sign, graph.vector(*vector) * sign
            along = v.dot(axis)
            twist = graph.add("ShaderNodeMath", along, w, operation="ARCTAN2") * 2.0
            if hint is not None:
                asked = graph.add("ShaderNodeMath", twist.times_plus(-0.5 / math.pi, hint), operation="ROUND")
                twist = asked.times_plus(2.0 * math.pi, twist)
            clearness = (along.times_plus(along, w * w) * 4.0 - 1.0).clamped()
            found = cls.of_twist(graph, turn, w, v, twist * clearness, axis)
            sign = graph.switch(found.swing_w < 0.0, 1.0, -1.0)
        return cls(graph, w, v, found.swing_w * sign, found.swing_vector * sign, found.twist)

    @classmethod
    def of_twist(cls, graph: Graph, turn: Value, w: Value, vector: Value, twist: Value, axis: Value) -> _Turn:
        """That of a rotation, also given as a quaternion, whose twist is known."""
        back = graph.add("FunctionNodeAxisAngleToRotation", axis, twist * -1.0)
        swing_w, *swing = graph.add("FunctionNodeRotateRotation", back, turn).components()
        return cls(graph, w, vector, swing_w, graph.vector(*swing), twist)

    def turn_by(self, whole: Value, below: Value, axis: Value) -> Value:
        """The rotation of a vertex about the end of the line: `turn_vertices`."""
        graph, left = self.graph, 1.0 - below
        by_itself, wanted = (
            graph.add("FunctionNodeQuaternionToRotation", w.times_plus(below, left), *(vector * below).components())
            for w, vector in ((self.turn_w, self.turn_vector), (self.swing_w, self.swing_vector))
        )
        turned = graph.add("FunctionNodeAxisAngleToRotation", axis, whole * self.twist)
        turned = graph.add("FunctionNodeRotateRotation", turned, wanted)
        return graph.add("FunctionNodeRotateRotation", turned, graph.add("FunctionNodeInvertRotation", by_itself))


@dataclass(frozen=True)
class RestTurn:
    """By what vertices are turned at rest, in armature space.

    Attributes
    ----------
    is_any : Value
        Whether any joint twists, a single value.
    turns : sequence of (Value, Value)
        In this order: a rotation, and a point about which it turns.
    """

    graph: Graph
    is_any: Value
    turns: Sequence[tuple[Value, Value]]

    def move(self, point: Value) -> Value:
        """A vertex's point, turned."""
        turned = point
        for rotation, end in self.turns:
            turned = turn_point(self.graph, turned, rotation, end)
        return self.graph.switch(self.is_any, point, turned)

    def rotate(self, vector: Value) -> Value:
        """A vertex's vector, turned."""
        turned = vector
        for rotation, _ in self.turns:
            turned = self.graph.add("FunctionNodeRotateVector", turned, rotation)
        return self.graph.switch(self.is_any, vector, turned)


def turn_point(graph: Graph, point: Value, rotation: Value, end: Value) -> Value:
    """A point, turned about another."""
    return graph.add("FunctionNodeRotateVector", point - end, rotation) + end


def find_rest_turn(graph: Graph, joints: Value, passes: int) -> RestTurn:
    """By what vertices are turned at rest: `turn_vertices`.

    Parameters
    ----------
    joints : Value
        Geometry of the joints object.
    passes : int
        Of how many twists a vertex may take something.
    """
    packed, lines = graph.attribute(TURNS, "FLOAT4X4"), graph.attribute(LINES, "FLOAT4X4")
    is_any = graph.sample(joints, packed, 0).components()[9] > 0.0
    turns = []
    for number in range(passes):
        whole, below, which = _read_share(graph, number)
        x, y, z, w, *swing = graph.sample(joints, packed, which).components()[:9]
        entries = graph.sample(joints, lines, which).components()
        axis, end = (graph.vector(*entries[first : first + 3]) for first in (0, 4))
        turn = _Turn(graph, w, graph.vector(x, y, z), swing[3], graph.vector(*swing[:3]), swing[4])
        turns.append((turn.turn_by(whole, below, axis), end))
    return RestTurn(graph, is_any, turns)


def _read_share(graph: Graph, number: int) -> tuple[Value, Value, Value]:
    """What a vertex takes of a twist: k, b, and the twist's number, which may have been averaged."""
    whole, below, which = graph.attribute(f"{SHARE_ATTRIBUTE}{number}", "FLOAT_VECTOR").components()
    return whole, below, graph.add("ShaderNodeMath", which, operation="ROUND")


def build_turning(name: str, passes: int, bent: int, input_count: int) -> object:
    """The group of a node modifier that turns vertices before Armature modifiers, which blend the joints.

    Parameters
    ----------
    name : str
        Of the new group.
    passes : int
        Of how many twists a vertex may take something; 0 where it is left where it is.
    bent : int
        In how many of these, the first ones, it may follow the joint, too. In the others the limb alone holds it, and
        turning it about the line is all: a third of the nodes.
    input_count : int
        How many inputs tell how joints are turned.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    numbers = range(1, input_count + 1)
    turns, rests = ([graph.input(name(number), "VECTOR") for number in numbers] for name in (name_turn, name_rest))
    for number in range(passes):
        with graph.frame("What the vertex takes of a twist"):
            whole, below, which = _read_share(graph, number)
            axis = graph.attribute(f"{AXIS_ATTRIBUTE}{number}", "FLOAT_VECTOR")
            end = graph.attribute(f"{END_ATTRIBUTE}{number}", "FLOAT_VECTOR")
            w, twist, _ = graph.choose(which, rests).components()
            if number < bent:
                vector = graph.choose(which, turns)
                rotation = graph.add("FunctionNodeQuaternionToRotation", w, *vector.components())
                turn = _Turn.of_twist(graph, rotation, w, vector, twist, axis).turn_by(whole, below, axis)
            else:
                turn = graph.add("FunctionNodeAxisAngleToRotation", axis, whole * twist)
        with graph.frame("Spread Twist: turn at rest"):
            position = graph.add("GeometryNodeInputPosition")
            turned = turn_point(graph, position, turn, end)
            geometry = graph.add("GeometryNodeSetPosition", geometry, which > 0.0, turned)
    graph.output("Geometry", geometry)
    return graph.finish()
