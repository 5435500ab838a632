"""Modifiers: the inputs of node modifiers, and the stack that they stand in."""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, Literal

import bpy

from ..deformers import UnsupportedError
from ..nodes.carrier import GROUP_NAME
from ..nodes.groups import VERSION_KEY, is_layer_group

# Name of the modifier that displaces patterns
PATTERNS_NAME = "Supple Patterns"

# How the names of modifiers begin that keep layers apart, and of the one that keeps loose cloth out of limbs
LAYER_NAME, LIMBS_NAME = "Supple Layer", "Supple Layer Limbs"

# Name of the modifier that measures the skin's compression for patterns
COMPRESSION_NAME = "Supple Compression"

# Name of the Armature modifier that blends linearly where limbs begin
LINEAR_NAME = "Supple Linear"

# Vertex group of what is linear, if no linear group is chosen
LINEAR_GROUP = "Supple Linear"


# Nodes that write, or remove, the attribute of their Name: a vertex group is one of floats on points
WRITING_NODES = {"GeometryNodeStoreNamedAttribute", "GeometryNodeRemoveAttribute"}


def find_socket_id(group: bpy.types.NodeTree, name: str) -> str:
    """Identifier of a group input by its name; raises UnsupportedError if the group has none."""
    for item in group.interface.items_tree:
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and item.name == name:
            return item.identifier
    raise UnsupportedError(f"Node group '{group.name}' has lost its input '{name}': bind again")


def list_inputs(modifier: bpy.types.Modifier) -> list[str]:
    """Names of a node modifier's inputs, without the geometry."""
    items: Any = modifier.node_group.interface.items_tree
    sockets = [item for item in items if item.item_type == "SOCKET" and item.in_out == "INPUT"]
    return [socket.name for socket in sockets if socket.socket_type != "NodeSocketGeometry"]


def read_input(modifier: bpy.types.Modifier, name: str) -> Any:
    """Value of a node modifier's input."""
    identifier = find_socket_id(modifier.node_group, name)
    if hasattr(modifier, "properties"):  # 5.2 and later
        return getattr(modifier.properties.inputs, identifier).value
    return modifier[identifier]


def write_input(modifier: bpy.types.Modifier, name: str, value: Any) -> None:
    """Set a node modifier's input.

    Parameters
    ----------
    name : str
        Of the input.
    value : object
        Of the input's type.
    """
    _write_socket(modifier, find_socket_id(modifier.node_group, name), value)


def _write_socket(modifier: bpy.types.Modifier, identifier: str, value: Any) -> None:
    if hasattr(modifier, "properties"):  # 5.2 and later
        getattr(modifier.properties.inputs, identifier).value = value
    else:
        modifier[identifier] = value
    if value is None or isinstance(value, bpy.types.ID):
        modifier.node_group = modifier.node_group  # else Blender does not look for what the modifier depends on now
    modifier.id_data.update_tag()


def clear_inputs(modifier: bpy.types.Modifier) -> None:
    """Have a node modifier use no objects any more: Blender 5.2 counts them as used even when it is gone."""
    group = modifier.node_group if modifier.type == "NODES" else None
    for item in group.interface.items_tree if group is not None else ():
        if item.item_type == "SOCKET" and item.in_out == "INPUT" and item.socket_type == "NodeSocketObject":
            _write_socket(modifier, item.identifier, None)


def writes_attributes(modifier: bpy.types.Modifier, names: Container[str]) -> bool:
    """Whether a node modifier may write, or remove, an attribute or vertex group of one of these names."""
    group = modifier.node_group
    if group is None:
        return False
    writing = [node for node in _list_nodes(group, set()) if node.bl_idname in WRITING_NODES and not node.mute]
    return any(_may_write(modifier, node, names) for node in writing) or any(
        name in names for name in _list_outputs(modifier)
    )


def _may_write(modifier: bpy.types.Modifier, node: Any, names: Container[str]) -> bool:
    """Whether a node writes one of these names: one that is linked to an input of the modifier is read there."""
    name = node.inputs["Name"]
    if not name.is_linked:
        return name.default_value in names
    source = name.links[0]
    if source.from_node.bl_idname == "NodeGroupInput" and node.id_data == modifier.node_group:
        return read_input(modifier, source.from_socket.name) in names
    return (getattr(node, "domain", "POINT"), getattr(node, "data_type", "FLOAT")) == ("POINT", "FLOAT")


def _list_nodes(group: bpy.types.NodeTree, seen: set[str]) -> Iterator[bpy.types.Node]:
    """The nodes of a group, and of those within."""
    if group.name_full in seen:
        return
    seen.add(group.name_full)
    for node in group.nodes:
        yield node
        if getattr(node, "node_tree", None) is not None:
            yield from _list_nodes(node.node_tree, seen)


def _list_outputs(modifier: bpy.types.Modifier) -> Iterator[str]:
    """Names of the attributes that a node modifier's outputs are stored as."""
    for item in modifier.node_group.interface.items_tree:
        if item.item_type == "SOCKET" and item.in_out == "OUTPUT" and item.socket_type != "NodeSocketGeometry":
            if hasattr(modifier, "properties"):  # 5.2 and later
                yield getattr(modifier.properties.outputs, item.identifier).attribute_name
            else:
                yield modifier.get(f"{item.identifier}_attribute_name", "")


def is_supple_modifier(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier is the one that Bind has put into the stack, also if it or its node group was changed."""
    if modifier.type != "NODES":
        return False
    if modifier.node_group is None:
        others = PATTERNS_NAME, COMPRESSION_NAME, LAYER_NAME
        return modifier.name.startswith(GROUP_NAME) and not modifier.name.startswith(others)
    return VERSION_KEY in modifier.node_group and not is_layer_group(modifier.node_group)


def is_layer_modifier(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier keeps its mesh outside of another, also one whose group was removed."""
    if modifier.type != "NODES":
        return False
    group = modifier.node_group
    return is_layer_group(group) or (group is None and modifier.name.startswith(LAYER_NAME))


def is_named_for_patterns(modifier: bpy.types.Modifier) -> bool:
    """Whether a modifier has the name of one that shows skin patterns, or that measures compression for them."""
    return modifier.name.startswith((PATTERNS_NAME, COMPRESSION_NAME))


def find_marked_modifier(obj: bpy.types.Object, name: str, key: str) -> bpy.types.Modifier | None:
    """Find a node modifier by the mark of its group.

    Parameters
    ----------
    name : str
        Start of the names of such modifiers: one whose group was removed is known by it.
    key : str
        Custom property of the group.
    """
    for modifier in obj.modifiers:
        if modifier.type == "NODES":
            group = modifier.node_group
            if (group is None and modifier.name.startswith(name)) or (group is not None and key in group):
                return modifier
    return None


def is_from_library(modifier: bpy.types.Modifier) -> bool:
    """Whether a library override has a modifier from its library: removed, it would come back."""
    return modifier.id_data.override_library is not None and modifier.is_override_data


def add_supple_modifier(obj: bpy.types.Object, index: int) -> bpy.types.Modifier:
    """Put the node modifier into the stack at `index`; it has no node group yet."""
    return add_modifier(obj, GROUP_NAME, "NODES", index)


def add_modifier(
    obj: bpy.types.Object, name: str, kind: Literal["ARMATURE", "NODES", "MESH_CACHE"], index: int
) -> bpy.types.Modifier:
    """Put a new modifier into the stack; the active modifier stays active. `index`: its position, 0 for the top."""
    active = obj.modifiers.active.name if obj.modifiers.active else ""
    is_pinned = index > 0 and obj.modifiers[index - 1].use_pin_to_last
    new = obj.modifiers.new(name, kind)  # above those that are pinned to the end of the stack
    new.use_pin_to_last = is_pinned
    obj.modifiers.move(obj.modifiers.find(new.name), index)
    obj.modifiers.active = obj.modifiers.get(active) or new
    return new


def move_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier, index: int) -> bpy.types.Modifier:
    """Bring a modifier right to where `index` stands now; the modifier, by which it is known from then on."""
    if (current := obj.modifiers.find(modifier.name)) == index:
        return modifier
    name = modifier.name
    obj.modifiers.move(current, index - (current < index))  # what is taken from above moves the others up
    return obj.modifiers[name]


def remove_modifier(obj: bpy.types.Object, modifier: bpy.types.Modifier, successor: bpy.types.Modifier | None) -> None:
    """Remove a modifier, or switch off one that a library override has from its library.

    `successor`: becomes the active modifier if the removed one was.
    """
    clear_inputs(modifier)
    if is_from_library(modifier):
        modifier.show_viewport = modifier.show_render = False
        return
    active = obj.modifiers.active
    name = active.name if active and active != modifier else successor.name if successor else ""
    obj.modifiers.remove(modifier)
    if name in obj.modifiers:
        obj.modifiers.active = obj.modifiers[name]
