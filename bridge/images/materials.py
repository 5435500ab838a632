"""A node group before the normals of materials' shaders: inserted and removed."""

from __future__ import annotations

from typing import Any, cast

import bpy

from ..owned import Tag, is_marked, mark, read_mark

# Values of the mark of a material that Supple has given to an object that had none: whether with a slot
IN_SLOT, WITH_SLOT = "in slot", "with slot"

NORMAL = "Normal"


def ensure_materials(obj: bpy.types.Object) -> list[bpy.types.Material]:
    """Materials of an object, each once; an object without any gets one."""
    found = {slot.material.name_full: slot.material for slot in obj.material_slots if slot.material is not None}
    if not found:
        material = bpy.data.materials.new("Supple Skin")
        if bpy.app.version < (5, 0):  # always on from there
            material.use_nodes = True
        mark(material, Tag.MADE, IN_SLOT if obj.material_slots else WITH_SLOT)
        if obj.material_slots:
            obj.material_slots[0].material = material
        else:
            cast(Any, obj.data).materials.append(material)
        found[material.name_full] = material
    return list(found.values())


def remove_made_material(obj: bpy.types.Object) -> None:
    """Remove the material of `ensure_materials`, and its slot if the user has not added others since."""
    has_others = any(
        slot.material is not None and not is_marked(slot.material, Tag.MADE) for slot in obj.material_slots
    )
    for index, slot in reversed(list(enumerate(obj.material_slots))):
        material = slot.material
        if material is None or not is_marked(material, Tag.MADE):
            continue
        if read_mark(material, Tag.MADE) == WITH_SLOT and not has_others:
            cast(Any, obj.data).materials.pop(index=index)
            for user in [other for other in bpy.data.objects if other.data == obj.data and other.library is None]:
                user.data = user.data  # removes the object's empty slot, which pop leaves
        else:
            slot.material = None
        if not material.users:
            bpy.data.materials.remove(material)


def has_nodes(material: bpy.types.Material) -> bool:
    """Whether a material is made of nodes."""
    return material.node_tree is not None and (bpy.app.version >= (5, 0) or material.use_nodes)


def find_normals(material: bpy.types.Material) -> list[Any]:
    """Inputs that shaders take their normal from."""
    return [
        node.inputs[NORMAL]
        for node in cast(Any, material.node_tree).nodes
        if NORMAL in node.inputs and any(socket.type == "SHADER" for socket in node.outputs)
    ]


def find_inserted(material: bpy.types.Material, group: Any) -> list[Any]:
    """Nodes of a material that hold a group."""
    tree = cast(Any, material.node_tree)
    nodes = tree.nodes if tree is not None else ()
    return [node for node in nodes if node.bl_idname == "ShaderNodeGroup" and node.node_tree == group]


def insert_group(material: bpy.types.Material, group: Any) -> bool:
    """Insert a group between the shaders of a material and the sources of their normals: whether there is a shader."""
    tree = cast(Any, material.node_tree)
    nodes: dict[Any, Any] = {}
    for socket in find_normals(material):
        source = socket.links[0].from_socket if socket.is_linked else None
        if source is not None and source.node.bl_idname == "ShaderNodeGroup" and source.node.node_tree == group:
            continue
        known = (source.node.name, source.identifier) if source is not None else None
        if known not in nodes:
            node = nodes[known] = tree.nodes.new("ShaderNodeGroup")
            node.node_tree, node.label, node.width = group, "Supple Patterns", 180.0
            node.location = socket.node.location.x - 240.0, socket.node.location.y - 320.0
            if source is not None:
                tree.links.new(source, node.inputs[NORMAL])
        tree.links.new(nodes[known].outputs[NORMAL], socket)
    return bool(find_inserted(material, group))


def remove_group(material: bpy.types.Material, group: Any) -> None:
    """Remove a group from a material, and restore the link in which it was inserted."""
    tree = cast(Any, material.node_tree)
    for node in find_inserted(material, group):
        source = node.inputs[NORMAL].links[0].from_socket if node.inputs[NORMAL].is_linked else None
        for link in list(node.outputs[NORMAL].links):
            target = link.to_socket
            tree.links.remove(link)
            if source is not None:
                tree.links.new(source, target)
        tree.nodes.remove(node)
