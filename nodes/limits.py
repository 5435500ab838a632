"""Bulge limit and contact as nodes: the same steps as `joint_limits` in `deformers/skinning`.

A joint is known by six vectors: where it is; the directions of the bones above and below; the lengths of both, and its
contact; how much wider both have become, and whether it is bent. They are stored on points, for rest and for the pose.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..deformers.skinning.joint_limits import INNER, NEAR, REACH, SOFTNESS, TINY
from ..deformers.skinning.posed_joints import BENT, LEAST_BEND, LEAST_LENGTH
from .graph import Graph, Value
from .pose import CENTER, HINGE, START, TAIL

JOINT_ATTRIBUTE, LIMITS_ATTRIBUTE = "supple_joint", "supple_limits"
"""Attributes of the character's mesh: the joint that a vertex belongs to; what it takes of limit and of
contact, and its lead."""

REST, POSED = "rest_", "posed_"
VECTORS = ("place", "before", "after", "lengths", "widths")
"""Attributes of the joints object, with `REST` or `POSED` before them."""

HAS_LIMITS = "has_limits"

LARGEST_MOVE = 1e9
"""Points that are moved by more, or by what is no number, are not."""


def build_joint_limits(name: str) -> Any:
    """The group that stores on the joints object where the joints are, at rest and in the pose."""
    graph = Graph(name)
    geometry, joints = graph.input("Geometry", "GEOMETRY"), graph.input("Joints", "GEOMETRY")
    matrix = graph.matrix(*(graph.input(column, "VECTOR") for column in ("X", "Y", "Z", "Origin")))
    parent, index = graph.input("Parent", "INT"), graph.add("GeometryNodeInputIndex")
    with graph.frame("The joints at rest"):
        start, center, tail = (
            graph.sample(geometry, graph.attribute(name, "FLOAT_VECTOR"), index) for name in (START, CENTER, TAIL)
        )
        hinge = graph.sample(geometry, graph.attribute(HINGE, "FLOAT"), index)
        joints, held = graph.capture(
            joints, "POINT", Matrix=matrix, Parent=parent, Start=start, Center=center, Tail=tail, Hinge=hinge
        )
        matrix, parent, start, center, tail, hinge = held.values()
    with graph.frame("In the pose"):
        above = graph.switch(parent < 0, graph.sample(joints, matrix, parent), None)
        posed = above.move(start), matrix.move(center), matrix.move(tail)
        axis = (tail - center).normalized()
        x, y, z = matrix.columns()
        along = matrix.rotate(axis).length().maximum(1e-12)
        width = _root(graph, x.dot(y.cross(z)).absolute() / along)
        joints, widths = graph.capture(joints, "POINT", Width=width)
        width = widths["Width"]
        width_above = graph.switch(parent < 0, graph.sample(joints, width, parent), 1.0)
    rest = start, center, tail
    described = {
        REST: _describe(graph, rest, rest, (1.0, 1.0), hinge),
        POSED: _describe(graph, rest, posed, (width_above, width), hinge),
    }
    values = {
        f"{when}{name}": value
        for when, vectors in described.items()
        for name, value in zip(VECTORS, vectors, strict=True)
    }
    with graph.frame("Kept with the posed mesh"):
        joints, held = graph.capture(joints, "POINT", **values)
        stored = {name: graph.sample(joints, value, index) for name, value in held.items()}
        geometry = graph.store(geometry, "POINT", **stored)
        graph.output("Geometry", graph.store(geometry, "POINT", **{HAS_LIMITS: graph.truth()}))
    return graph.finish()


def _root(graph: Graph, value: Value) -> Value:
    return graph.add("ShaderNodeMath", value, operation="SQRT")


def _bend(graph: Graph, before: Value, after: Value) -> Value:
    cosine = before.dot(after).maximum(-1.0).minimum(1.0)
    return graph.add("ShaderNodeMath", cosine, operation="ARCCOSINE")


Ends = tuple[Value, Value, Value]
"""Where the bone above a joint begins, the joint, and where the bone below ends."""


def _describe(graph: Graph, rest: Ends, posed: Ends, widths: tuple[Any, Any], hinge: Value) -> tuple[Value, ...]:
    """The vectors of VECTORS, with how much wider the bones above and below have become."""
    with graph.frame("Both bones, their lengths, and how the joint is bent"):
        (before, after), lengths = _split_lengths(posed)
        rest_ways, rest_lengths = _split_lengths(rest)
        for length, rest_length in zip(lengths, rest_lengths, strict=True):
            hinge = graph.switch(length > rest_length * LEAST_LENGTH, 0.0, hinge)
        bend = _bend(graph, before, after)
        low, high = np.radians(BENT).tolist()
        contact = graph.smoothstep((bend - low) / (high - low)) * hinge
        is_bent = (bend - _bend(graph, *rest_ways)).absolute() > LEAST_BEND
        limit = graph.switch(is_bent, 0.0, hinge)
        return posed[1], before, after, graph.vector(*lengths, contact), graph.vector(*widths, limit)


def _split_lengths(ends: Ends) -> tuple[tuple[Value, Value], tuple[Value, Value]]:
    """Directions of the bones above and below, and their lengths."""
    start, center, tail = ends
    before, after = center - start, tail - center
    return (before.normalized(), after.normalized()), (before.length(), after.length())


@dataclass(frozen=True)
class _Seen:
    """A vertex about its joint: see `joint_limits`."""

    offset: Value
    before: Value
    after: Value
    lengths: tuple[Value, ...]
    """Along both bones, at most these."""
    away: tuple[Value, ...]


def build_limits(name: str) -> Any:
    """The group that puts points, posed by a method, under bulge limit and contact.

    Parameters
    ----------
    name : str
        Of the new group.
    """
    graph = Graph(name)
    joints = graph.input("Joints", "GEOMETRY")
    start, posed = graph.input("Start", "VECTOR"), graph.input("Position", "VECTOR")
    bulge_limit, contact = graph.input("Bulge Limit", "VALUE"), graph.input("Contact", "VALUE")
    with graph.frame("The joint, at rest and in the pose"):
        joint = graph.attribute(JOINT_ATTRIBUTE, "INT")
        limits, contacts, lead = graph.attribute(LIMITS_ATTRIBUTE, "FLOAT_VECTOR").components()
        at = {
            f"{when}{name}": graph.sample(joints, graph.attribute(f"{when}{name}", "FLOAT_VECTOR"), joint)
            for when in (REST, POSED)
            for name in VECTORS
        }
        *_, joint_contact = at[f"{POSED}lengths"].components()
        above, below, is_bent = at[f"{POSED}widths"].components()
    with graph.frame("At rest"):
        seen = _see(graph, start, at, REST)
        nearest = seen.away[0].minimum(seen.away[1])
        away, nearness = _find_foot(graph, seen, nearest)
        wider = nearness.times_plus(below - above, above)
        reach = away.length() * wider
        height = seen.offset.dot((seen.before + seen.after).normalized()) * wider
    with graph.frame("Bulge limit (after Kim & Han 2014)"):
        away, _ = _find_foot(graph, _see(graph, posed, at, POSED), nearest * wider)
        distance = away.length()
        soft = reach.times_plus(SOFTNESS, TINY)
        excess = (distance - reach).maximum(0.0)
        over = graph.switch(excess < soft * 2.0, excess - soft, excess * excess / (soft * 4.0))
        limited = away * (over / distance.maximum(TINY) * limits * bulge_limit * is_bent * -1.0) + posed
    with graph.frame("Contact"):
        seen = _see(graph, limited, at, POSED)
        normal = (seen.before + seen.after).normalized()
        inward = (seen.after - seen.before).normalized()
        side = graph.switch(height < 0.0, 1.0, -1.0)
        folded = _fold(graph, seen.before, seen.after) - _fold(graph, at[f"{REST}before"], at[f"{REST}after"])
        depth = seen.offset.dot(normal).times_plus(side, lead * wider * folded)
        felt = height.absolute().minimum(reach * REACH).maximum(TINY)
        kept = graph.exponential((depth / felt - 1.0).maximum(-60.0).minimum(0.0)) * felt
        inner = graph.smoothstep(seen.offset.dot(inward) / (reach * INNER).maximum(TINY))
        push = (kept - depth).maximum(0.0) * side * inner * contacts * contact * joint_contact
        push = graph.switch(depth < felt, 0.0, push)
        corrected = normal * push + limited
    with graph.frame("Poses too large to compute with stay as the method has them"):
        is_finite = (corrected - posed).length() < LARGEST_MOVE
        graph.output("Position", graph.switch(is_finite, posed, corrected))
    return graph.finish()


def _fold(graph: Graph, before: Value, after: Value) -> Value:
    """Sine of half the angle between two bones."""
    return _root(graph, (0.5 - before.dot(after) * 0.5).maximum(0.0))


def _see(graph: Graph, point: Value, at: dict[str, Value], when: str) -> _Seen:
    offset, before, after = point - at[f"{when}place"], at[f"{when}before"], at[f"{when}after"]
    longest = at[f"{when}lengths"].components()
    squares = offset.dot(offset)
    lengths, away = [], []
    for along, limit in ((offset.dot(before) * -1.0, longest[0]), (offset.dot(after), longest[1])):
        length = along.maximum(0.0).minimum(limit)
        lengths.append(length)
        away.append(_root(graph, (length * (length - along * 2.0) + squares).maximum(0.0)))
    return _Seen(offset, before, after, tuple(lengths), tuple(away))


def _find_foot(graph: Graph, seen: _Seen, nearest: Value) -> tuple[Value, Value]:
    """From the foot of a vertex to it, and the share of the bone below."""
    steps = ((seen.away[1] - seen.away[0]) / (nearest * NEAR).maximum(TINY)).maximum(-60.0).minimum(60.0)
    nearness = 1.0 / (graph.exponential(steps) + 1.0)
    to_above = seen.before * (seen.lengths[0] - nearness * seen.lengths[0])
    return seen.offset + to_above - seen.after * (nearness * seen.lengths[1]), nearness
