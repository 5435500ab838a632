"""Bulge limit and contact as nodes: the same steps as `joint_limits` in `deformers/skinning`.

A joint is known by vectors: where it is; the directions of the bones above and below; the lengths of both, and its
contact; how much wider both have become, and whether it is bent. They are stored on points. How vertices are about
their joint at rest is stored on the mesh, and computed where its shape changes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..deformers.skinning.joint_limits import BONE_FALLOFF, CONTACT_REACH, INNER, SOFTNESS, TINY
from ..deformers.skinning.posed_joints import BENT, LEAST_BEND, LEAST_LENGTH, LEAST_WIDTH
from .graph import Graph, Value

JOINT_ATTRIBUTE, LIMITS_ATTRIBUTE = "supple_joint", "supple_limits"
"""Attributes of the character's mesh: the joint that a vertex belongs to; what it takes of limit and of
contact, and its lead."""

AT_REST_ATTRIBUTE, HEIGHT_ATTRIBUTE = "supple_at_rest", "supple_height"
"""The same: its distances from the nearer bone and from its foot, and the share of the bone below; its height above the
joint's plane."""

REST, POSED, STATE = "rest_joint", "posed_joint", "limits_state"
"""Attributes of the joints object. At rest, a matrix whose columns are: where the bone above begins, and 1 for a joint
that has limits; where the joint is, and the length of the bone above; where the bone below ends, and its length; last,
the angle between both. In the pose, one of: where the joint is, and the length of the bone above; the direction of that
bone, and the length of the one below; the direction of that, and how much contact there is; how much wider both have
become, how much limit there is, and `PosedJoints.folds`. The state is 2 for joints that have limit or contact in the
pose, else 1."""

LARGEST_MOVE = 1e9
"""Points that are moved by more, or by what is no number, are not."""


def build_joint_limits(name: str) -> Any:
    """The group that stores on the joints object where the joints are, at rest and in the pose."""
    graph = Graph(name)
    geometry, joints = graph.input("Geometry", "GEOMETRY"), graph.input("Joints", "GEOMETRY")
    matrix = graph.matrix(*(graph.input(column, "VECTOR") for column in ("X", "Y", "Z", "Origin")))
    parent, index = graph.input("Parent", "INT"), graph.add("GeometryNodeInputIndex")
    with graph.frame("The joints at rest"):
        known = graph.sample(geometry, graph.attribute(REST, "FLOAT4X4"), index)
        joints, held = graph.capture(joints, "POINT", Matrix=matrix, Parent=parent, Rest=known)
        matrix, parent = held["Matrix"], held["Parent"]
        rest = _unpack_rest(graph, held["Rest"])
    with graph.frame("In the pose"):
        above = graph.switch(parent < 0, graph.sample(joints, matrix, parent), None)
        ends = above.move(rest.start), matrix.move(rest.center), matrix.move(rest.tail)
        axis = (rest.tail - rest.center).normalized()
        x, y, z = matrix.columns()
        area = graph.matrix(y.cross(z), z.cross(x), x.cross(y)).rotate(axis).length()
        width, size = _root(graph, area), _root(graph, x.dot(x) + y.dot(y) + z.dot(z))
        is_flat = ~(width > size.maximum(1.0) * LEAST_WIDTH)
        joints, held = graph.capture(joints, "POINT", Width=width, Flat=is_flat)
        width, is_flat = held["Width"], held["Flat"]
        width_above = graph.switch(parent < 0, graph.sample(joints, width, parent), 1.0)
        has_flat = is_flat | graph.sample(joints, is_flat, parent)
        rest = replace(rest, hinge=graph.switch(has_flat, rest.hinge, 0.0))
    posed, state = _describe(graph, ends, rest, (width_above, width))
    with graph.frame("Kept with the posed mesh"):
        joints, held = graph.capture(joints, "POINT", Posed=posed, State=state)
        stored = {name: graph.sample(joints, held[key], index) for name, key in ((POSED, "Posed"), (STATE, "State"))}
        graph.output("Geometry", graph.store(geometry, "POINT", **stored))
    return graph.finish()


def _root(graph: Graph, value: Value) -> Value:
    return graph.add("ShaderNodeMath", value, operation="SQRT")


@dataclass(frozen=True)
class _RestJoint:
    """A joint at rest, as `REST` packs it."""

    start: Value
    center: Value
    tail: Value
    lengths: tuple[Value, Value]
    bend: Value
    hinge: Value


def _unpack_rest(graph: Graph, matrix: Value) -> _RestJoint:
    entries = matrix.components()
    start, center, tail = (graph.vector(*entries[first : first + 3]) for first in (0, 4, 8))
    return _RestJoint(start, center, tail, (entries[7], entries[11]), entries[15], entries[3])


def _describe(
    graph: Graph, ends: tuple[Value, Value, Value], rest: _RestJoint, widths: tuple[Any, Any]
) -> tuple[Value, Value]:
    """What is stored of each joint: `POSED` and `STATE`.

    Parameters
    ----------
    ends : tuple of Value
        Where the bone above begins, the joint, and where the bone below ends, in the pose.
    widths : tuple of Value
        How much wider both have become.
    """
    start, center, tail = ends
    with graph.frame("Both bones, their lengths, and how the joint is bent"):
        before, after, hinge = center - start, tail - center, rest.hinge
        lengths = before.length(), after.length()
        before, after = before.normalized(), after.normalized()
        for length, rest_length in zip(lengths, rest.lengths, strict=True):
            hinge = graph.switch(length > rest_length * LEAST_LENGTH, 0.0, hinge)
        cosine = before.dot(after).maximum(-1.0).minimum(1.0)
        bend = graph.add("ShaderNodeMath", cosine, operation="ARCCOSINE")
        low, high = np.radians(BENT).tolist()
        contact = graph.smoothstep((bend - low) / (high - low)) * hinge
        limit = graph.switch((bend - rest.bend).absolute() > LEAST_BEND, 0.0, hinge)
        fold, rest_fold = (graph.add("ShaderNodeMath", angle * 0.5, operation="SINE") for angle in (bend, rest.bend))
    columns = (center, lengths[0]), (before, lengths[1]), (after, contact)
    entries = [entry for vector, last in columns for entry in (*vector.components(), last)]
    posed = graph.add("FunctionNodeCombineMatrix", *entries, *widths, limit, fold - rest_fold)
    return posed, graph.switch(limit.maximum(contact) > 0.0, graph.integer(1), graph.integer(2))


@dataclass(frozen=True)
class _Bones:
    """Both bones of a joint: where it is, their directions and lengths."""

    place: Value
    before: Value
    after: Value
    lengths: tuple[Value, Value]


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
    changes = graph.input("Shape Changes", "BOOLEAN")
    with graph.frame("The joint in the pose"):
        joint = graph.attribute(JOINT_ATTRIBUTE, "INT")
        limits, contacts, lead = graph.attribute(LIMITS_ATTRIBUTE, "FLOAT_VECTOR").components()
        entries = graph.sample(joints, graph.attribute(POSED, "FLOAT4X4"), joint).components()
        place, before, after = (graph.vector(*entries[first : first + 3]) for first in (0, 4, 8))
        at = _Bones(place, before, after, (entries[3], entries[7]))
        joint_contact, above, below, is_bent, folded = entries[11:]
    with graph.frame("At rest"):
        stored = graph.attribute(AT_REST_ATTRIBUTE, "FLOAT_VECTOR").components()
        found = _look_at_rest(graph, start, graph.sample(joints, graph.attribute(REST, "FLOAT4X4"), joint))
        nearest, reach, nearness, height = (
            graph.switch(changes, known, computed)
            for known, computed in zip((*stored, graph.attribute(HEIGHT_ATTRIBUTE, "FLOAT")), found, strict=True)
        )
        wider = nearness.times_plus(below - above, above)
        reach, height = reach * wider, height * wider
    with graph.frame("Bulge limit (after Kim & Han 2014)"):
        away, _ = _find_foot(graph, _see(graph, posed, at), nearest * wider)
        distance = away.length()
        soft = reach.times_plus(SOFTNESS, TINY)
        excess = (distance - reach).maximum(0.0)
        over = graph.switch(excess < soft * 2.0, excess - soft, excess * excess / (soft * 4.0))
        limited = away * (over / distance.maximum(TINY) * limits * bulge_limit * is_bent * -1.0) + posed
    with graph.frame("Contact"):
        seen = _see(graph, limited, at)
        normal = (seen.before + seen.after).normalized()
        inward = (seen.after - seen.before).normalized()
        side = graph.switch(height < 0.0, 1.0, -1.0)
        depth = seen.offset.dot(normal).times_plus(side, lead * wider * folded)
        felt = height.absolute().minimum(reach * CONTACT_REACH).maximum(TINY)
        kept = graph.exponential((depth / felt - 1.0).maximum(-60.0).minimum(0.0)) * felt
        inner = graph.smoothstep(seen.offset.dot(inward) / (reach * INNER).maximum(TINY))
        push = (kept - depth).maximum(0.0) * side * inner * contacts * contact * joint_contact
        push = graph.switch(depth < felt, 0.0, push)
        corrected = normal * push + limited
    with graph.frame("Poses too large to compute with stay as the method has them"):
        is_finite = (corrected - posed).length() < LARGEST_MOVE
        graph.output("Position", graph.switch(is_finite, posed, corrected))
    return graph.finish()


def _look_at_rest(graph: Graph, start: Value, packed: Value) -> tuple[Value, ...]:
    """How a vertex is about its joint at rest: nearest, distance, nearness and height of `AtRest`."""
    rest = _unpack_rest(graph, packed)
    before, after = ((end - begin).normalized() for begin, end in ((rest.start, rest.center), (rest.center, rest.tail)))
    seen = _see(graph, start, _Bones(rest.center, before, after, rest.lengths))
    nearest = seen.away[0].minimum(seen.away[1])
    away, nearness = _find_foot(graph, seen, nearest)
    return nearest, away.length(), nearness, seen.offset.dot((before + after).normalized())


def _see(graph: Graph, point: Value, at: _Bones) -> _Seen:
    offset = point - at.place
    squares = offset.dot(offset)
    lengths, away = [], []
    for along, limit in ((offset.dot(at.before) * -1.0, at.lengths[0]), (offset.dot(at.after), at.lengths[1])):
        length = along.maximum(0.0).minimum(limit)
        lengths.append(length)
        away.append(_root(graph, (length * (length - along * 2.0) + squares).maximum(0.0)))
    return _Seen(offset, at.before, at.after, tuple(lengths), tuple(away))


def _find_foot(graph: Graph, seen: _Seen, nearest: Value) -> tuple[Value, Value]:
    """From the foot of a vertex to it, and the share of the bone below."""
    steps = ((seen.away[1] - seen.away[0]) / (nearest * BONE_FALLOFF).maximum(TINY)).maximum(-60.0).minimum(60.0)
    nearness = 1.0 / (graph.exponential(steps) + 1.0)
    to_above = seen.before * (seen.lengths[0] - nearness * seen.lengths[0])
    return seen.offset + to_above - seen.after * (nearness * seen.lengths[1]), nearness
