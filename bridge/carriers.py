"""The carrier: a hidden mesh that takes what Python computes to the character's node modifier.

A carrier is in no collection. Its points are the character's posed points; where something above Supple in the
modifier stack moves the character's vertices, it carries the vertices' transforms instead, as an attribute.

Beside it goes a watcher: a mesh of one point that the armature deforms. Through it the node modifier depends on the
whole pose, so that Blender evaluates the pose of an armature that is hidden. The Armature modifier that Supple stands
in for does not bring that about, being switched off.
"""

from __future__ import annotations

from typing import Any, Literal, cast

import bpy
import numpy as np

from .meshes import mesh_of

TRANSFORM_ATTRIBUTE = "supple_transform"
GROUP_NAME = "Supple"
GROUP_VERSION_KEY = "supple_version"
GROUP_VERSION = 1
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
    """The node group that all bound objects share: it puts each vertex where the carrier says."""
    for group in bpy.data.node_groups:
        if group.library is None and group.get(GROUP_VERSION_KEY) == GROUP_VERSION:
            return group
    return _new_node_group()


def is_supple_modifier(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is the one that Bind has put into the stack, also if it or its node group was changed."""
    if modifier.type != "NODES":
        return False
    if modifier.node_group is None:
        return modifier.name.startswith(GROUP_NAME)
    return GROUP_VERSION_KEY in modifier.node_group


def add_supple_modifier(obj: bpy.types.Object, index: int) -> bpy.types.Modifier:
    """Put the node modifier into the stack at `index`."""
    modifier = add_modifier(obj, GROUP_NAME, "NODES", index)
    modifier.node_group = ensure_node_group()
    return modifier


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


def remove_unused_node_groups() -> None:
    """Remove Supple's node groups that no modifier uses any more."""
    for group in [group for group in bpy.data.node_groups if GROUP_VERSION_KEY in group and not group.users]:
        bpy.data.node_groups.remove(group)


def _new_node_group() -> bpy.types.NodeTree:
    group = cast(Any, bpy.data.node_groups).new(GROUP_NAME, "GeometryNodeTree")
    group.is_modifier = True
    group[GROUP_VERSION_KEY] = GROUP_VERSION
    sockets = group.interface
    sockets.new_socket("Geometry", in_out="INPUT", socket_type="NodeSocketGeometry")
    sockets.new_socket(CARRIER_SOCKET, in_out="INPUT", socket_type="NodeSocketObject")
    sockets.new_socket(WATCHER_SOCKET, in_out="INPUT", socket_type="NodeSocketObject")
    sockets.new_socket(TRANSFORMS_SOCKET, in_out="INPUT", socket_type="NodeSocketBool")
    sockets.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")

    def add(kind: str, x: int, y: int, **settings):
        node = group.nodes.new(kind)
        node.location = (x, y)
        for name, value in settings.items():
            setattr(node, name, value)
        return node

    def link(source, target) -> None:
        group.links.new(source, target)

    inputs, output = add("NodeGroupInput", -900, 0), add("NodeGroupOutput", 900, 0)
    carrier = add("GeometryNodeObjectInfo", -700, -250)
    index, position = add("GeometryNodeInputIndex", -500, -450), add("GeometryNodeInputPosition", -500, -350)
    stored = add("GeometryNodeInputNamedAttribute", -500, -550, data_type="FLOAT4X4")
    stored.inputs["Name"].default_value = TRANSFORM_ATTRIBUTE
    link(inputs.outputs[CARRIER_SOCKET], carrier.inputs["Object"])

    moved = []
    for data_type, value, y in (
        ("FLOAT_VECTOR", position.outputs[0], 0),
        ("FLOAT4X4", stored.outputs["Attribute"], -300),
    ):
        sample = add("GeometryNodeSampleIndex", -250, y - 100, data_type=data_type)
        place = add("GeometryNodeSetPosition", 250, y)
        link(carrier.outputs["Geometry"], sample.inputs["Geometry"])
        link(value, sample.inputs["Value"])
        link(index.outputs[0], sample.inputs["Index"])
        link(inputs.outputs["Geometry"], place.inputs["Geometry"])
        moved.append((sample, place))
    (sample, by_points), (sample_transform, by_transforms) = moved
    transform = add("FunctionNodeTransformPoint", 0, -400)
    link(sample.outputs[0], by_points.inputs["Position"])
    link(position.outputs[0], transform.inputs[0])
    link(sample_transform.outputs[0], transform.inputs[1])
    link(transform.outputs[0], by_transforms.inputs["Position"])

    chosen = add("GeometryNodeSwitch", 450, 0, input_type="GEOMETRY")
    link(inputs.outputs[TRANSFORMS_SOCKET], chosen.inputs[0])
    link(by_points.outputs[0], chosen.inputs["False"])
    link(by_transforms.outputs[0], chosen.inputs["True"])
    link(
        _same_size(add, link, inputs, carrier),
        (fits := add("GeometryNodeSwitch", 650, 0, input_type="GEOMETRY")).inputs[0],
    )
    link(inputs.outputs["Geometry"], fits.inputs["False"])
    link(chosen.outputs[0], fits.inputs["True"])
    link(fits.outputs[0], output.inputs[0])
    return group


def _same_size(add, link, inputs, carrier):
    """Whether the carrier has as many points as the mesh: if not, the mesh is passed on as it is."""
    compare = add("FunctionNodeCompare", 0, 250, data_type="INT", operation="EQUAL")
    sockets = [socket for socket in compare.inputs if socket.type == "INT"]
    for geometry, y, socket in (
        (inputs.outputs["Geometry"], 350, sockets[0]),
        (carrier.outputs["Geometry"], 150, sockets[1]),
    ):
        size = add("GeometryNodeAttributeDomainSize", -250, y)
        link(geometry, size.inputs[0])
        link(size.outputs["Point Count"], socket)
    return compare.outputs[0]
