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
"""Attribute of a joint's first point, a matrix, by columns: the joint that a fraction moves with, those above and
below, and which of the inputs of `name_hint` asks for its twist, 0 for none; the share of the twist, in radians for a
whole turn, and that of the swing; `JOINT`, `BETWEEN` or `SPREAD`; the parent of a joint without fractions; the axis,
and twice its share of the twist; the center."""

JOINT, BETWEEN, SPREAD = range(3)
"""What a point is: no fraction, one at a joint, or one of Spread Twist."""

COLUMNS = ("X", "Y", "Z", "Origin")

UNITS = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def name_hint(number: int) -> str:
    """The input by which a joint is asked for a twist, in whole turns, from 1 on."""
    return f"Twist {number}"


@dataclass(frozen=True)
class FractionForm:
    """Which group the fractions of a skeleton take.

    Attributes
    ----------
    hint_count : int
        How many inputs ask for twists.
    has_swings : bool
        Whether some are at a joint: those of Spread Twist do not swing.
    """

    hint_count: int
    has_swings: bool

    def name(self) -> str:
        """What tells it from others."""
        return f"{self.hint_count}{' Swings' if self.has_swings else ''}"


class _Fraction:
    """What a point is a fraction of, as `FRACTION` packs it."""

    def __init__(self, graph: Graph, packed: Value) -> None:
        entries = packed.components()
        self.base, self.first, self.last, self.hint, self.twist, self.swing, self.kind, self.parent = entries[:8]
        self.axis, self.center = (graph.vector(*entries[start : start + 3]) for start in (8, 12))
        self.twice_twist = entries[11]


@dataclass(frozen=True)
class _Ends:
    """A value of the joint that a fraction moves with, of that above, and of that below."""

    base: Value
    first: Value
    last: Value

    @classmethod
    def sample(cls, graph: Graph, joints: Value, value: Value, fraction: _Fraction) -> _Ends:
        indices = (fraction.base, fraction.first, fraction.last)
        return cls(*(graph.sample(joints, value, index) for index in indices))


def build_fractions(name: str, stretches: Any, form: FractionForm, has_turns: bool) -> Any:
    """The group that gives fractions their columns: `pose_fractions`.

    Parameters
    ----------
    name : str
        Of the new group.
    stretches : node group
        From `build_stretches`. Only evaluated where a joint is stretched.
    has_turns : bool
        Whether vertices rotate about centers, which follow columns of their own at joints.
    """
    graph = Graph(name)
    geometry, joints = graph.input("Geometry", "GEOMETRY"), graph.input("Joints", "GEOMETRY")
    columns = {column: graph.input(column, "VECTOR") for column in COLUMNS}
    levels = graph.input("Levels", "INT", "Joints in the longest chain")
    hints = [graph.input(name_hint(number), "VALUE") for number in range(1, form.hint_count + 1)]
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
            graph.switch(is_stretched, matrices.base, split.base),
            graph.switch(is_stretched, matrices.first, split.first),
            graph.switch(is_stretched, matrices.last, split.last),
        )
    linear = _share_turn(graph, fraction, rotations, _choose(graph, fraction.hint, hints), form.has_swings)
    with graph.frame("Stretched by the mix of both stretches, about the center, which follows both joints"):
        stretch = _Ends.sample(graph, parts["Joints"], parts["Stretch"], fraction)
        share = fraction.swing if form.has_swings else None

        def move(vector: Any) -> Value:
            mixed = _mix(stretch.base.rotate(vector), stretch.last.rotate(vector), share)
            return linear.rotate(graph.switch(is_stretched, vector, mixed))

        found = {name: move(unit) for name, unit in zip("XYZ", UNITS, strict=True)}
        above, below = matrices.base.move(fraction.center), matrices.last.move(fraction.center)
        found["Origin"] = _mix(above, below, share) - move(fraction.center)
    with graph.frame("In place of joints that rest"):
        is_fraction = fraction.kind > JOINT
        chosen = {name: graph.switch(is_fraction, held[name], found[name]) for name in COLUMNS}
        mixed = _mix_columns(graph, fraction, matrices, chosen) if has_turns and form.has_swings else {}
        joints, kept = graph.capture(joints, "POINT", **chosen, **mixed, Parent=fraction.parent)
    graph.output("Joints", joints)
    for name, value in kept.items():
        graph.output(name, value)
    graph.output("Is Stretched", is_stretched)
    return graph.finish()


def _choose(graph: Graph, number: Value, hints: list[Value]) -> Value:
    """The twist that is asked for, by its number."""
    node = graph.new_node("GeometryNodeIndexSwitch", data_type="FLOAT")
    while len(node.index_switch_items) <= len(hints):
        node.index_switch_items.new()
    for socket, value in zip(node.inputs, (number, 0.0, *hints), strict=False):
        graph.put(socket, value)
    return Value(graph, node.outputs[0])


def _share_turn(graph: Graph, fraction: _Fraction, rotations: _Ends, hint: Value, has_swings: bool) -> Value:
    """Rotations of fractions: those of their bases, and shares of how the joints above and below are turned."""
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
        angle = whole.times_plus(fraction.twist, half_twist * fraction.twice_twist)
        clearness = (square * 4.0 - 1.0).clamped()
        is_spread = fraction.kind > BETWEEN
        angle = angle * (graph.switch(is_spread, 1.0, clearness) if has_swings else clearness)
        shared = graph.add("FunctionNodeAxisAngleToRotation", axis, angle)
    if has_swings:
        with graph.frame("Its share of the swing, which takes the axis to where it is"):
            swung = between.rotate(axis)
            across = axis.cross(swung)
            angle = _angle(graph, across.length(), axis.dot(swung)) * fraction.swing
            across = graph.switch(is_clear, r, across)
            swing = graph.add("FunctionNodeAxisAngleToRotation", across, angle)
            shared = graph.add("FunctionNodeRotateRotation", shared, swing)
    return rotations.base @ graph.add("FunctionNodeCombineTransform", None, shared)


def _angle(graph: Graph, sine: Value, cosine: Value) -> Value:
    return graph.add("ShaderNodeMath", sine, cosine, operation="ARCTAN2")


def _mix(above: Value, below: Value, share: Value | None) -> Value:
    """By a share of the second, or the first alone."""
    return above if share is None else (below - above).times_plus(share, above)


def _mix_columns(graph: Graph, fraction: _Fraction, matrices: _Ends, chosen: dict[str, Value]) -> dict[str, Value]:
    """What centers follow: at a joint its fractions are mixed of both bones. And what they are mixed of."""
    is_mixed = (fraction.kind > JOINT) & (fraction.kind < SPREAD)
    above, below, origin = matrices.base, matrices.last, (0.0, 0.0, 0.0)
    columns = [_mix(above.rotate(unit), below.rotate(unit), fraction.swing) for unit in UNITS]
    columns.append(_mix(above.move(origin), below.move(origin), fraction.swing))
    mixes = {name: graph.switch(is_mixed, chosen[name], mix) for name, mix in zip(COLUMNS, columns, strict=True)}
    mixed = {f"Mixed {name}": mix for name, mix in mixes.items()}
    index, ends = graph.add("GeometryNodeInputIndex"), {"Above": fraction.base, "Below": fraction.last}
    mixed |= {name: graph.switch(is_mixed, index, joint) for name, joint in ends.items()}
    return mixed | {"Share": fraction.swing}


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
