"""Fractions of joints as nodes: further joints that take a share of another's turn, with its number of whole turns.

The same steps as `fractions` in `deformers/rig`. A fraction is one more point of the joints. What it is a fraction of
is stored on the mesh of the joints object; its columns take the place of those of a joint that rests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ..deformers.algebra.polar import RIGID_TOLERANCE
from ..deformers.rig.fractions import HALF_TURN
from .graph import Graph, Value
from .joints import distance_from_rotation
from .pose import PARENT

FRACTION = "fraction"
"""Attribute of a joint's first point, a matrix, by columns: the joints above and below a fraction, which of the inputs
of `name_hint` asks for its twist, 0 for none, and whether the point is a fraction; its share, that of a whole turn in
radians, twice the share, and the parent of a joint without fractions; the axis; the center."""

COLUMNS = ("X", "Y", "Z", "Origin")

UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def name_hint(number: int) -> str:
    """The input by which a joint is asked for a twist, in whole turns, from 1 on."""
    return f"Twist {number}"


class _Fraction:
    """What a point is a fraction of, as `FRACTION` packs it."""

    def __init__(self, graph: Graph, packed: Value) -> None:
        entries = packed.components()
        self.first, self.last, self.hint, self.kind, self.share, self.whole_turn, self.twice, self.parent = entries[:8]
        self.axis, self.center = (graph.vector(*entries[start : start + 3]) for start in (8, 12))


@dataclass(frozen=True)
class _Ends:
    """A value of the joint above a fraction, and of that below."""

    first: Value
    last: Value

    @classmethod
    def sample(cls, graph: Graph, joints: Value, value: Value, fraction: _Fraction) -> _Ends:
        return cls(*(graph.sample(joints, value, index) for index in (fraction.first, fraction.last)))


def build_fractions(name: str, stretches: Any, hint_count: int, has_turns: bool) -> Any:
    """The group that gives fractions their columns: `pose_fractions`.

    Parameters
    ----------
    name : str
        Of the new group.
    stretches : node group
        From `build_stretches`. Only evaluated where a joint is stretched.
    hint_count : int
        How many inputs ask for twists.
    has_turns : bool
        Whether vertices rotate about centers, which follow columns of their own.
    """
    graph = Graph(name)
    geometry, joints = graph.input("Geometry", "GEOMETRY"), graph.input("Joints", "GEOMETRY")
    columns = {column: graph.input(column, "VECTOR") for column in COLUMNS}
    levels = graph.input("Levels", "INT", "Joints in the longest chain")
    hints = [graph.input(name_hint(number), "VALUE") for number in range(1, hint_count + 1)]
    with graph.frame("What each point is a fraction of"):
        packed = graph.sample(geometry, graph.attribute(FRACTION, "FLOAT4X4"), graph.add("GeometryNodeInputIndex"))
        joints, held = graph.capture(
            joints, "POINT", **columns, Matrix=graph.matrix(*columns.values()), Fraction=packed
        )
        fraction = _Fraction(graph, held["Fraction"])
        matrices = _Ends.sample(graph, joints, held["Matrix"], fraction)
    with graph.frame("Is any joint stretched? If so, split all into rotations and stretches"):
        is_stretched = graph.is_any(joints, distance_from_rotation(*(held[name] for name in "XYZ")) > RIGID_TOLERANCE)
        parts = graph.call(stretches, Joints=joints, Matrix=held["Matrix"], Parent=fraction.parent, Levels=levels)
        split = _Ends.sample(graph, parts["Joints"], parts["Rotation"], fraction)
        rotations = _Ends(
            graph.switch(is_stretched, matrices.first, split.first),
            graph.switch(is_stretched, matrices.last, split.last),
        )
    linear = _share_turn(graph, fraction, rotations, graph.choose(fraction.hint, hints))
    with graph.frame("Stretched by the mix of both stretches, about the center, which follows both joints"):
        stretch = _Ends.sample(graph, parts["Joints"], parts["Stretch"], fraction)

        def move(vector: Any) -> Value:
            mixed = _mix(stretch.first.rotate(vector), stretch.last.rotate(vector), fraction.share)
            return linear.rotate(graph.switch(is_stretched, vector, mixed))

        found = {name: move(unit) for name, unit in zip("XYZ", UNITS, strict=True)}
        above, below = matrices.first.move(fraction.center), matrices.last.move(fraction.center)
        found["Origin"] = _mix(above, below, fraction.share) - move(fraction.center)
    with graph.frame("In place of joints that rest"):
        is_fraction = fraction.kind > 0.0
        chosen = {name: graph.switch(is_fraction, held[name], found[name]) for name in COLUMNS}
        mixed = _mix_columns(graph, fraction, is_fraction, matrices, chosen) if has_turns else {}
        joints, kept = graph.capture(joints, "POINT", **chosen, **mixed, Parent=fraction.parent)
    graph.output("Joints", joints)
    for name, value in kept.items():
        graph.output(name, value)
    graph.output("Is Stretched", is_stretched)
    return graph.finish()


def _share_turn(graph: Graph, fraction: _Fraction, rotations: _Ends, hint: Value) -> Value:
    """Rotations of fractions: those of the joints above, and shares of how those below are turned against them."""
    axis = fraction.axis
    with graph.frame("How is one joint turned against the other? By a twist about the axis, then by a swing"):
        between = rotations.first.transposed() @ rotations.last
        x, y = (between.rotate(unit) for unit in UNITS[:2])
        turn = graph.add("FunctionNodeAxesToRotation", x, y, primary_axis="X", secondary_axis="Y")
        w, *r = turn.components()
        r = graph.vector(*r)
        along = r.dot(axis)
        square = along.times_plus(along, w * w)
        is_clear = square > HALF_TURN**2  # else it is a swing by half a turn
        half_twist = graph.switch(is_clear, 0.0, _angle(graph, along, w))
    with graph.frame("Its share of the twist, in whole turns as near to the hint as can be"):
        whole = graph.add("ShaderNodeMath", half_twist.times_plus(-1.0 / math.pi, hint), operation="ROUND")
        angle = whole.times_plus(fraction.whole_turn, half_twist * fraction.twice)
        shared = graph.add("FunctionNodeAxisAngleToRotation", axis, angle)
    with graph.frame("Its share of the swing, which takes the axis to where it is"):
        swung = between.rotate(axis)
        across = axis.cross(swung)
        angle = _angle(graph, across.length(), axis.dot(swung)) * fraction.share
        across = graph.switch(is_clear, r, across)
        swing = graph.add("FunctionNodeAxisAngleToRotation", across, angle)
        shared = graph.add("FunctionNodeRotateRotation", shared, swing)
    return rotations.first @ graph.add("FunctionNodeCombineTransform", None, shared)


def _angle(graph: Graph, sine: Value, cosine: Value) -> Value:
    return graph.add("ShaderNodeMath", sine, cosine, operation="ARCTAN2")


def _mix(above: Value, below: Value, share: Value) -> Value:
    """By a share of the second."""
    return (below - above).times_plus(share, above)


def _mix_columns(
    graph: Graph, fraction: _Fraction, is_fraction: Value, matrices: _Ends, chosen: dict[str, Value]
) -> dict[str, Value]:
    """What centers follow: fractions are mixed of both bones. And what they are mixed of."""
    above, below, origin = matrices.first, matrices.last, (0.0, 0.0, 0.0)
    columns = [_mix(above.rotate(unit), below.rotate(unit), fraction.share) for unit in UNITS]
    columns.append(_mix(above.move(origin), below.move(origin), fraction.share))
    mixes = {name: graph.switch(is_fraction, chosen[name], mix) for name, mix in zip(COLUMNS, columns, strict=True)}
    mixed = {f"Mixed {name}": mix for name, mix in mixes.items()}
    index, ends = graph.add("GeometryNodeInputIndex"), {"Above": fraction.first, "Below": fraction.last}
    mixed |= {name: graph.switch(is_fraction, index, joint) for name, joint in ends.items()}
    return mixed | {"Share": fraction.share}


def build_stretches(name: str, polar: Any) -> Any:
    """The group that splits joints into a rotation, and a stretch that goes first.

    Parameters
    ----------
    name : str
        Of the new group.
    polar : node group
        From `build_polar`.
    """
    graph = Graph(name)
    joints, matrix = graph.input("Joints", "GEOMETRY"), graph.input("Matrix", "MATRIX")
    parent, levels = graph.input("Parent", "INT"), graph.input("Levels", "INT")
    joints = graph.store(joints, **{PARENT: parent})
    joints = graph.call(polar, Joints=joints, Levels=levels, Matrix=graph.matrix(*matrix.columns()))["Joints"]
    rotation = graph.attribute("rotation", "FLOAT4X4")
    joints, held = graph.capture(joints, "POINT", Rotation=rotation, Stretch=rotation.transposed() @ matrix)
    graph.output("Joints", joints)
    graph.output("Rotation", held["Rotation"])
    graph.output("Stretch", held["Stretch"])
    return graph.finish()
