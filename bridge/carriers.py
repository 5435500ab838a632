"""The carrier: a hidden mesh that takes what Python computes to the character's node modifier.

A carrier is in no collection. Its points are the character's posed points; where something above Supple in the
modifier stack moves the character's vertices, it carries the vertices' transforms instead, as an attribute.

Beside it goes a watcher: a mesh of one point that the armature deforms. Through it the node modifier depends on the
whole pose, so that Blender evaluates the pose of an armature that is hidden. The Armature modifier that Supple stands
in for does not bring that about, being switched off.
"""

from __future__ import annotations

from typing import Literal

import bpy
import numpy as np

from ..nodes.graph import Graph
from ..nodes.groups import VERSION_KEY, ensure_group
from .meshes import mesh_of

TRANSFORM_ATTRIBUTE = "supple_transform"
GROUP_NAME = "Supple"
PATTERNS_NAME = "Supple Patterns"
"""Name of the modifier that displaces patterns."""

CARRIER_SOCKET = "Carrier"
WATCHER_SOCKET = "Pose"
TRANSFORMS_SOCKET = "Per-Vertex Transforms"


def new_carrier(obj: bpy.types.Object, points: np.ndarray) -> bpy.types.Object:
    """Make the carrier of an object; `points`, shape (V, 3), object space."""
    mesh = bpy.data.meshes.new(f"Supple {obj.name}")
    mesh.vertices.add(len(points))
    write_points(mesh, points)
    return bpy.data.objects.new(mesh.name, mesh)


def new_watcher(obj: bpy.types.Object) -> bpy.types.Object:
    """Make the watcher of an object's armature."""
    mesh = bpy.data.meshes.new(f"Supple Pose {obj.name}")
    mesh.vertices.add(1)
    watcher = bpy.data.objects.new(mesh.name, mesh)
    watcher.modifiers.new("Armature", "ARMATURE").use_bone_envelopes = True  # the one setting that asks for all bones
    return watcher


def watch(watcher: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Point a watcher at an armature."""
    modifier = watcher.modifiers["Armature"]
    if modifier.object != armature:
        modifier.object = armature


def remove_hidden(hidden: bpy.types.Object) -> None:
    """Remove a carrier or watcher and its mesh."""
    bpy.data.meshes.remove(mesh_of(hidden))  # takes the object along


def write_points(mesh: bpy.types.Mesh, points: np.ndarray) -> None:
    """Set posed points, float32, shape (V, 3)."""
    mesh.attributes["position"].data.foreach_set("vector", points.ravel())
    mesh.update_tag()


def write_transforms(mesh: bpy.types.Mesh, transforms: np.ndarray) -> None:
    """Set the vertices' transforms, float32, shape (V, 4, 4), column-major in memory."""
    attribute = mesh.attributes.get(TRANSFORM_ATTRIBUTE)
    if attribute is None:
        attribute = mesh.attributes.new(TRANSFORM_ATTRIBUTE, "FLOAT4X4", "POINT")
    attribute.data.foreach_set("value", transforms.transpose(0, 2, 1).ravel())
    mesh.update_tag()


def find_socket_id(group: bpy.types.NodeTree, name: str) -> str:
    """Identifier of a group input by its name."""
    return next(
        item.identifier
        for item in group.interface.items_tree
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and item.name == name
    )


def read_input(modifier: bpy.types.Modifier, name: str):
    """Value of a node modifier's input."""
    identifier = find_socket_id(modifier.node_group, name)
    if hasattr(modifier, "properties"):  # 5.2 and later
        return getattr(modifier.properties.inputs, identifier).value
    return modifier[identifier]


def write_input(modifier: bpy.types.Modifier, name: str, value) -> None:
    """Set a node modifier's input."""
    identifier = find_socket_id(modifier.node_group, name)
    if hasattr(modifier, "properties"):  # 5.2 and later
        getattr(modifier.properties.inputs, identifier).value = value
    else:
        modifier[identifier] = value
    modifier.id_data.update_tag()


def ensure_node_group() -> bpy.types.NodeTree:
    """The node group that objects evaluated by Python share: it puts each vertex where the carrier says."""
    return ensure_group("carrier", GROUP_NAME, _build_node_group)


def is_supple_modifier(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is the one that Bind has put into the stack, also if it or its node group was changed."""
    if modifier.type != "NODES":
        return False
    if modifier.node_group is None:
        return modifier.name.startswith(GROUP_NAME) and not modifier.name.startswith(PATTERNS_NAME)
    return VERSION_KEY in modifier.node_group


def add_supple_modifier(obj: bpy.types.Object, index: int) -> bpy.types.Modifier:
    """Put the node modifier into the stack at `index`; it has no node group yet."""
    return add_modifier(obj, GROUP_NAME, "NODES", index)


def add_modifier(
    obj: bpy.types.Object, name: str, kind: Literal["NODES", "MESH_CACHE"], index: int
) -> bpy.types.Modifier:
    """Put a new modifier into the stack at `index`; the active modifier stays the active one."""
    active = obj.modifiers.active.name if obj.modifiers.active else ""
    obj.modifiers.new(name, kind)
    obj.modifiers.move(len(obj.modifiers) - 1, index)
    obj.modifiers.active = obj.modifiers.get(active) or obj.modifiers[index]
    return obj.modifiers[index]


def remove_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier, successor: bpy.types.Modifier | None) -> None:
    """Remove a modifier; if it was the active one, `successor` is now."""
    active = obj.modifiers.active
    name = active.name if active and active != modifier else successor.name if successor else ""
    obj.modifiers.remove(modifier)
    if name in obj.modifiers:
        obj.modifiers.active = obj.modifiers[name]


def _build_node_group(name: str) -> bpy.types.NodeTree:
    graph = Graph(name)
    graph.tree.is_modifier = True
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
        count, bound = (graph.add("GeometryNodeAttributeDomainSize", one) for one in (geometry, carrier))
        fits = graph.add("FunctionNodeCompare", count, bound, data_type="INT", operation="EQUAL")
        graph.output("Geometry", graph.switch(fits, geometry, moved))
    return graph.finish()
