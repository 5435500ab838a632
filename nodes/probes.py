"""Joints read from a probe: a mesh that Blender's own Armature modifier poses, with a few points for each joint.

Bone Info knows no segments of B-Bones. The Armature modifier does: it moves a point by the transforms of the two ends
of its segment, mixed by how far along it is. Points in the planes of the ends tell where an end goes and turns. How it
stretches along the bone follows from the points halfway between two ends, and from points before the first and beyond
the last end, which follow these alone.
"""

from __future__ import annotations

from typing import Any

from .bones import MATRIX, PARENT
from .graph import Graph

POINTS = ("origin", "x", "y", "z", "before", "beyond")
"""The points of each joint, in this order: at it; away from it along the bone's axes at rest, by the bone's length. A
segment's end has `y` halfway to the next end, and all ends of a bone have the same points before and beyond it."""

REST_INVERSE, CENTER, SHARE, BONE, FIRST, LAST, LEVEL = (
    "rest_inverse", "center", "share", "bone", "first", "last", "level",
)  # fmt: skip
"""Attributes of a joint's points, besides the parent: from armature space to the frame of x, y, z and origin; the
joint's center; how far along the B-Bone, -1 for a plain bone; its bone; the bone's first and last joint; how many
joints there are from the root down."""


def build_probe_joints(name: str) -> Any:
    """The group that turns a probe into one point for each joint: the same output as `build_bones`."""
    graph = Graph(name)
    probe = graph.input("Probe", "OBJECT", "Mesh posed by the armature, with points for each joint")
    with graph.frame("Posed points of each joint"):
        posed = graph.outputs("GeometryNodeObjectInfo", probe)[-1]
        count = graph.add("GeometryNodeAttributeDomainSize", posed)
        joints = graph.add("GeometryNodePoints", count / len(POINTS))
        index = graph.add("GeometryNodeInputIndex")
        first_point = graph.add("FunctionNodeIntegerMath", index, len(POINTS), operation="MULTIPLY")
        position = graph.add("GeometryNodeInputPosition")
        positions = {}
        for offset, point in enumerate(POINTS):
            at = graph.add("FunctionNodeIntegerMath", first_point, offset)
            positions[point] = graph.sample(posed, position, at)
        known = {
            name: graph.sample(posed, graph.attribute(name, kind), first_point)
            for name, kind in (
                (REST_INVERSE, "FLOAT4X4"), (CENTER, "FLOAT_VECTOR"), (SHARE, "FLOAT"), (BONE, "INT"), (FIRST, "INT"),
                (LAST, "INT"), (LEVEL, "INT"), (PARENT, "INT"),
            )
        }  # fmt: skip
        joints = graph.store(joints, **positions, **known)
    with graph.frame("B-Bones: how the ends of segments stretch along the bone"):
        origin, x, y, z, before, beyond = (graph.attribute(name, "FLOAT_VECTOR") for name in POINTS)
        share, bone = graph.attribute(SHARE, "FLOAT"), graph.attribute(BONE, "INT")
        first, last = graph.attribute(FIRST, "INT"), graph.attribute(LAST, "INT")
        segments = graph.add("FunctionNodeIntegerMath", last, first, operation="SUBTRACT")
        following = graph.add("FunctionNodeIntegerMath", index, 1)
        change = (y * 2.0 - origin - graph.sample(joints, origin, following)) * (segments * 2.0)
        change = graph.switch(index < last, (0.0, 0.0, 0.0), change)
        _, changed, total = graph.outputs("GeometryNodeAccumulateField", change, bone, data_type="FLOAT_VECTOR")
        from_first = graph.sample(joints, origin, first) - before - changed
        from_last = beyond - graph.sample(joints, origin, last) + (total - changed)
        along = (from_last - from_first).times_plus(share, from_first)
    with graph.frame("From rest to pose"):
        frame = graph.matrix(x - origin, graph.switch(share < 0.0, along, y - origin), z - origin)
        moved = graph.add("FunctionNodeCombineTransform", origin) @ frame
        matrix = moved @ graph.attribute(REST_INVERSE, "FLOAT4X4")
        result = graph.store(joints, **{MATRIX: matrix})
        levels = graph.extremes(joints, graph.attribute(LEVEL, "INT"))[1]
    graph.output("Joints", result)
    graph.output("Center", graph.attribute(CENTER, "FLOAT_VECTOR"))
    graph.output("Levels", graph.add("FunctionNodeFloatToInt", levels))
    return graph.finish()
