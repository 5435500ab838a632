"""The node group of objects that Python evaluates: it moves each vertex to its place in the carrier, a hidden mesh."""

from __future__ import annotations

import bpy

from .graph import Graph
from .groups import ensure_group

# Name of the group, and of the modifiers that have it
GROUP_NAME = "Supple"

# Attribute of the carrier: the vertices' transforms
TRANSFORM_ATTRIBUTE = "supple_transform"

CARRIER_SOCKET = "Carrier"
WATCHER_SOCKET = "Pose"
TRANSFORMS_SOCKET = "Per-Vertex Transforms"


def ensure_carrier_group() -> bpy.types.NodeTree:
    """The node group that all objects evaluated by Python share, built if the file has none."""
    return ensure_group("carrier", GROUP_NAME, build_carrier_group)


def build_carrier_group(name: str) -> bpy.types.NodeTree:
    """The group, under a name."""
    graph = Graph(name)
    geometry = graph.input("Geometry", "GEOMETRY")
    carrier_object = graph.input(CARRIER_SOCKET, "OBJECT", "Mesh that Supple writes each pose to")
    graph.input(WATCHER_SOCKET, "OBJECT", "Mesh that has Blender evaluate the armature's pose")
    transforms = graph.input(TRANSFORMS_SOCKET, "BOOLEAN", "Apply the carrier's transforms instead of its points")
    with graph.frame("The carrier"):
        carrier = graph.outputs("GeometryNodeObjectInfo", carrier_object)[-1]
        index, position = graph.add("GeometryNodeInputIndex"), graph.add("GeometryNodeInputPosition")
        transform = graph.attribute(TRANSFORM_ATTRIBUTE, "FLOAT4X4")
        at_points = graph.sample(carrier, position, index)
        by_transforms = graph.sample(carrier, transform, index).move(position)
        moved = graph.add("GeometryNodeSetPosition", geometry, None, graph.switch(transforms, at_points, by_transforms))
    with graph.frame("Where the counts of vertices differ, the mesh is passed on as it is"):
        count, bound = (graph.add("GeometryNodeAttributeDomainSize", mesh) for mesh in (geometry, carrier))
        fits = graph.add("FunctionNodeCompare", count, bound, data_type="INT", operation="EQUAL")
        graph.output("Geometry", graph.switch(fits, geometry, moved))
    return graph.finish()
