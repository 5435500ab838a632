"""Spread Twist as nodes: skin is turned at rest, and so are joints by what of a twist does not go through the blend.

The same steps as `spread_twists` and `twist_shares` in `deformers/rig`. Drivers tell the joints object how far each
joint twists. It passes that on with its points, where all meshes of an armature read it. Twists are numbered from 1 on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .graph import Graph, Value

AXIS, END = "spread_axis", "spread_end"
"""Attributes of the joints object's mesh, at the point of a twist's number: `SpreadTwists.axes` and `.ends`."""

BELOW = "spread_below_"
"""Attributes of a joint's first point, with a number: twists that the joint is below, those that are turned first
first; 0 for none."""

TWIST = "spread_twist"
"""Attribute of a posed joints object, at the point of a twist's number, a matrix, by columns: the axis, and the twist,
radians; the end, and the sine of half of what goes through the blend; what does not, the cosine less 1, and whether any
joint twists at all."""

SHARE_ATTRIBUTE = "supple_twist_"
"""Attribute of the character's mesh, with a number: what a vertex takes of a twist, `TwistShares.whole` and `.below`,
and the twist's number, 0 for none. In this order vertices are turned."""

TWIST_AXIS_ATTRIBUTE, TWIST_END_ATTRIBUTE = "supple_twist_axis_", "supple_twist_end_"
"""The same, of a mesh whose joints an Armature modifier blends: the twist's line, object space."""

COLUMNS = ("X", "Y", "Z", "Origin")

UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))

LEAST_TWIST = 1e-6
"""Radians: where no joint twists by more, no vertex is looked at."""

MOST_BLENDED_INPUT = "Most Blended"


def name_twist(number: int) -> str:
    """The input of the joints object that a driver gives the twist of a joint, radians, from 1 on."""
    return f"Spread {number}"


@dataclass(frozen=True)
class SpreadForm:
    """Which groups the spread twists of a skeleton take.

    Attributes
    ----------
    input_count : int
        How many inputs are given twists.
    depth : int
        Of how many twists a joint may be below.
    """

    input_count: int
    depth: int

    def name(self) -> str:
        """What tells it from others."""
        return f"{self.input_count} by {self.depth}"


def build_lines(name: str, input_count: int) -> Any:
    """The group that puts with each twist all that is read of it.

    Parameters
    ----------
    name : str
        Of the new group.
    input_count : int
        See `SpreadForm`.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    most = graph.input(MOST_BLENDED_INPUT, "VALUE", "Twist that goes through the blend of both bones, at most")
    twists = [graph.input(name_twist(number), "VALUE") for number in range(1, input_count + 1)]
    with graph.frame("How far does each joint twist? What of it goes through the blend?"):
        index = graph.add("GeometryNodeInputIndex")
        geometry, held = graph.capture(geometry, "POINT", Twist=graph.choose(index, twists))
        twist = held["Twist"]
        blended = twist.minimum(most).maximum(most * -1.0)
        is_any = graph.is_any(geometry, twist.absolute() > LEAST_TWIST)
    with graph.frame("Kept with the line that it is about"):
        sine, cosine = (graph.add("ShaderNodeMath", blended * 0.5, operation=each) for each in ("SINE", "COSINE"))
        axis, end = (graph.attribute(attribute, "FLOAT_VECTOR").components() for attribute in (AXIS, END))
        flag = graph.switch(is_any, 0.0, 1.0)
        rows = (*axis, twist, *end, sine, twist - blended, cosine - 1.0, flag)
        matrix = graph.add("FunctionNodeCombineMatrix", *rows, *[0.0] * (16 - len(rows)))
        graph.output("Geometry", graph.store(geometry, **{TWIST: matrix}))
        graph.output("Is Beyond", graph.is_any(geometry, twist.absolute() > most + LEAST_TWIST))
    return graph.finish()


def build_untwist(name: str, depth: int, has_mixed: bool) -> Any:
    """The group that turns joints at rest by what does not go through the blend of the twists above them.

    As `find_turns_beyond` and `Pose.extend`: their transforms go on from there.

    Parameters
    ----------
    name : str
        Of the new group.
    depth : int
        See `SpreadForm`.
    has_mixed : bool
        Whether centers follow columns of their own.
    """
    graph = Graph(name)
    geometry, joints = graph.input("Geometry", "GEOMETRY"), graph.input("Joints", "GEOMETRY")
    is_beyond = graph.input("Is Beyond", "BOOLEAN")
    starts = ("", "Mixed ") if has_mixed else ("",)
    names = *(f"{start}{name}" for start in starts for name in COLUMNS), "Center", "Axis"
    given = {name: graph.input(name, "VECTOR") for name in names}
    with graph.frame("Back about the line of each twist above"):
        back, index = None, graph.add("GeometryNodeInputIndex")
        for number in range(depth):
            which = graph.sample(geometry, graph.attribute(f"{BELOW}{number}", "INT"), index)
            entries = graph.sample(geometry, graph.attribute(TWIST, "FLOAT4X4"), which).components()
            axis, end = (graph.vector(*entries[first : first + 3]) for first in (0, 4))
            rotation = graph.add("FunctionNodeAxisAngleToRotation", axis, entries[8] * -1.0)
            turned = graph.add("FunctionNodeCombineTransform", None, rotation)
            turned = graph.add("FunctionNodeCombineTransform", end - turned.rotate(end), rotation)
            back = turned if back is None else back @ turned
        assert back is not None
    with graph.frame("Before what each joint does"):
        turned = back.inverted()
        found = {"Center": turned.move(given["Center"]), "Axis": turned.rotate(given["Axis"])}
        for start in starts:
            columns = [given[f"{start}{name}"] for name in COLUMNS]
            matrix = graph.matrix(*columns) @ back
            vectors = (*matrix.columns(), matrix.move((0.0, 0.0, 0.0)))
            found |= {f"{start}{name}": vector for name, vector in zip(COLUMNS, vectors, strict=True)}
        turned_joints, held = graph.capture(joints, "POINT", **found)
    graph.output("Joints", graph.switch(is_beyond, joints, turned_joints))
    for column, value in given.items():
        graph.output(column, graph.switch(is_beyond, value, held[column]))
    return graph.finish()


@dataclass(frozen=True)
class RestTurn:
    """By what vertices are turned at rest, in armature space.

    Attributes
    ----------
    is_any : Value
        Whether any joint twists, a single value.
    turns : tuple of (Value, Value, Value)
        In this order: the axis, a point on it, and the angle, radians.
    """

    graph: Graph
    is_any: Value
    turns: tuple[tuple[Value, Value, Value], ...]

    def move(self, point: Value) -> Value:
        """A vertex's point, turned."""
        turned = point
        for axis, end, angle in self.turns:
            turned = self.graph.add("ShaderNodeVectorRotate", turned, end, axis, angle)
        return self.graph.switch(self.is_any, point, turned)

    def rotate(self, vector: Value) -> Value:
        """A vertex's vector, turned."""
        turned = vector
        for axis, _, angle in self.turns:
            turned = self.graph.add("ShaderNodeVectorRotate", turned, None, axis, angle)
        return self.graph.switch(self.is_any, vector, turned)


def find_rest_turn(graph: Graph, joints: Value, passes: int, is_interpolable: bool) -> RestTurn:
    """By what vertices are turned at rest: `find_turns`.

    Parameters
    ----------
    joints : Value
        Geometry of the joints object.
    passes : int
        Of how many twists a vertex may take something.
    is_interpolable : bool
        Whether what vertices take may be averaged: numbers are then nearly whole.
    """
    packed = graph.attribute(TWIST, "FLOAT4X4")
    is_any = graph.sample(joints, packed, 0).components()[10] > 0.0
    turns = []
    for number in range(passes):
        whole, below, which = graph.attribute(f"{SHARE_ATTRIBUTE}{number}", "FLOAT_VECTOR").components()
        if is_interpolable:
            which = graph.add("ShaderNodeMath", which, operation="ROUND")
        entries = graph.sample(joints, packed, which).components()
        axis, end = (graph.vector(*entries[first : first + 3]) for first in (0, 4))
        cosine = below.times_plus(entries[9], 1.0)
        by_itself = graph.add("ShaderNodeMath", below * entries[7], cosine, operation="ARCTAN2")
        turns.append((axis, end, by_itself.times_plus(-2.0, whole * entries[3])))
    return RestTurn(graph, is_any, tuple(turns))


def build_turning(name: str, passes: int, input_count: int) -> object:
    """The group of a node modifier that turns vertices before Armature modifiers, which blend the joints.

    Parameters
    ----------
    name : str
        Of the new group.
    passes : int
        Of how many twists a vertex may take something; 0 where it is left where it is.
    input_count : int
        How many inputs are given twists, none of which is beyond what goes through the blend.
    """
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    twists = [graph.input(name_twist(number), "VALUE") for number in range(1, input_count + 1)]
    for number in range(passes):
        with graph.frame("Spread Twist: turn at rest, by what the blend will not give of the twist by itself"):
            whole, below, which = graph.attribute(f"{SHARE_ATTRIBUTE}{number}", "FLOAT_VECTOR").components()
            which = graph.add("ShaderNodeMath", which, operation="ROUND")  # it may be averaged
            twist = graph.choose(which, twists)
            sine, cosine = (graph.add("ShaderNodeMath", twist * 0.5, operation=each) for each in ("SINE", "COSINE"))
            cosine = below.times_plus(cosine - 1.0, 1.0)
            by_itself = graph.add("ShaderNodeMath", below * sine, cosine, operation="ARCTAN2")
            angle = by_itself.times_plus(-2.0, whole * twist)
            end, axis = (
                graph.attribute(f"{start}{number}", "FLOAT_VECTOR")
                for start in (TWIST_END_ATTRIBUTE, TWIST_AXIS_ATTRIBUTE)
            )
            position = graph.add("GeometryNodeInputPosition")
            turned = graph.add("ShaderNodeVectorRotate", position, end, axis, angle)
            geometry = graph.add("GeometryNodeSetPosition", geometry, which > 0.0, turned)
    graph.output("Geometry", geometry)
    return graph.finish()
