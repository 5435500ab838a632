"""The pose as points, one for each joint, from a mesh that Blender's own Armature modifier poses.

The mesh holds a few points for each joint, in blocks: first the origins of all joints, then the ends of their x axes,
and so on. A joint's transform follows from where its points went. The last joint belongs to no bone and stays at rest.

The Armature modifier also knows the segments of B-Bones: it moves a point by the transforms of the two ends of its
segment, mixed by how far along it is. Points in the planes of the ends tell where an end goes and turns. How it
stretches along the bone follows from the points halfway between two ends, and from points before the first and beyond
the last end, which follow these alone.
"""

from __future__ import annotations

from typing import Any

from .graph import Graph, Value

# The points of a plain joint: at the armature's origin, and on its axes at the distance `Reach`
BLOCKS = ("origin", "x", "y", "z")

# Those where bones have segments: at the joint, and away from it along the bone's axes at rest. A segment's end has
# `y` halfway to the next end, and all ends of a bone have the same points before and beyond it.
SEGMENT_BLOCKS = (*BLOCKS, "before", "beyond")

# Attributes of a joint's first point, where bones have segments: from armature space to the frame of x, y, z and
# origin; how far along the B-Bone, -1 for a plain bone; its bone; the bone's first and last joint
REST_INVERSE, SHARE, BONE, FIRST, LAST = "rest_inverse", "share", "bone", "first", "last"


def build_pose(name: str, has_segments: bool) -> Any:
    """The group that turns the posed mesh into one point for each joint, with the columns of its transform.

    Parameters
    ----------
    name : str
        Of the new group.
    has_segments : bool
        Whether the mesh has `SEGMENT_BLOCKS`.
    """
    graph = Graph(name)
    posed = graph.input("Geometry", "GEOMETRY")
    count = graph.input("Count", "INT", "Number of joints, with the one that stays at rest")
    reach = graph.input("Reach", "VALUE", "Distance of a joint's points from its origin")
    with graph.frame("Posed points of each joint"):
        index = graph.add("GeometryNodeInputIndex")
        position = graph.add("GeometryNodeInputPosition")
        blocks = {
            block: graph.sample(posed, position, index + count * float(number) if number else index)
            for number, block in enumerate(SEGMENT_BLOCKS if has_segments else BLOCKS)
        }
        joints = graph.add("GeometryNodePoints", count)
    if has_segments:
        joints, columns = _read_segments(graph, posed, joints, index, blocks)
    else:
        columns = _read_plain(graph, reach, blocks)
    graph.output("Joints", joints)
    for column, value in columns.items():
        graph.output(column, value)
    return graph.finish()


def _read_plain(graph: Graph, reach: Value, blocks: dict[str, Value]) -> dict[str, Value]:
    with graph.frame("Axes"):
        scale = 1.0 / reach
        back = blocks["origin"] * (0.0 - scale)
        axes = {axis.upper(): blocks[axis].times_plus(scale, back) for axis in ("x", "y", "z")}
        return {**axes, "Origin": blocks["origin"]}


def _read_segments(
    graph: Graph, posed: Value, joints: Value, index: Value, blocks: dict[str, Value]
) -> tuple[Value, dict[str, Value]]:
    with graph.frame("B-Bones: how the ends of segments stretch along the bone"):
        known = {
            name: graph.sample(posed, graph.attribute(name, kind), index)
            for name, kind in (
                (REST_INVERSE, "FLOAT4X4"), (SHARE, "FLOAT"), (BONE, "INT"), (FIRST, "INT"), (LAST, "INT"),
            )
        }  # fmt: skip
        joints, held = graph.capture(joints, "POINT", **blocks, **known)
        origin, x, y, z, before, beyond = (held[name] for name in SEGMENT_BLOCKS)
        share, bone, first, last = (held[name] for name in (SHARE, BONE, FIRST, LAST))
        change = (y * 2.0 - origin - graph.sample(joints, origin, index + 1.0)) * ((last - first) * 2.0)
        change = graph.switch(index < last, (0.0, 0.0, 0.0), change)
        _, changed, total = graph.outputs("GeometryNodeAccumulateField", change, bone, data_type="FLOAT_VECTOR")
        from_first = graph.sample(joints, origin, first) - before - changed
        from_last = beyond - graph.sample(joints, origin, last) + (total - changed)
        along = (from_last - from_first).times_plus(share, from_first)
    with graph.frame("From the joint's frame to armature space"):
        frame = graph.matrix(x - origin, graph.switch(share < 0.0, along, y - origin), z - origin)
        matrix = graph.add("FunctionNodeCombineTransform", origin) @ frame @ held[REST_INVERSE]
        columns = dict(zip(("X", "Y", "Z"), matrix.columns(), strict=True))
        # Held by the points: computed again on what is made of these, the columns along the bones come out wrong.
        return graph.capture(joints, "POINT", **columns, Origin=matrix.move((0.0, 0.0, 0.0)))
