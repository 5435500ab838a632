"""The carrier: a hidden mesh that brings Python's results to the character's node modifier.

A carrier is in no collection. Its points are the character's posed points; if a modifier above Supple moves the
character's vertices, it carries the vertices' transforms instead, as an attribute.

Beside it goes a watcher: a mesh of one point that the armature deforms. Through it the node modifier depends on the
whole pose, so that Blender evaluates the pose of an armature that is hidden. The Armature modifier that Supple stands
in for is off, and does not ensure that.
"""

from __future__ import annotations

from typing import Any, cast

import bpy
import numpy as np

from ...nodes.carrier import TRANSFORM_ATTRIBUTE
from ..arrays import write_array
from ..meshes.data import mesh_of
from ..meshes.layers import is_limbs_object
from ..owned import Tag, is_marked, mark
from .joints import is_joints_object
from .stretch_armatures import is_stretch_armature


def new_carrier(obj: bpy.types.Object, points: np.ndarray) -> bpy.types.Object:
    """Make the carrier of an object; `points`, shape (V, 3), object space."""
    mesh = bpy.data.meshes.new(f"Supple {obj.name}")
    mesh.vertices.add(len(points))
    write_points(mesh, points)
    return _new_hidden(mesh)


def new_watcher(obj: bpy.types.Object) -> bpy.types.Object:
    """Make the watcher of an object's armature."""
    mesh = bpy.data.meshes.new(f"Supple Pose {obj.name}")
    mesh.vertices.add(1)
    watcher = _new_hidden(mesh)
    watcher.modifiers.new("Armature", "ARMATURE").use_bone_envelopes = True  # the one setting that asks for all bones
    return watcher


def watch(watcher: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Point a watcher at an armature."""
    modifier = watcher.modifiers.get("Armature") or watcher.modifiers.new("Armature", "ARMATURE")
    if modifier.object != armature:
        modifier.object = armature


def _new_hidden(mesh: bpy.types.Mesh) -> bpy.types.Object:
    hidden = bpy.data.objects.new(mesh.name, mesh)
    mark(hidden, Tag.HIDDEN)
    return hidden


def is_hidden_object(obj: bpy.types.Object) -> bool:
    """Whether an object is one of Supple's own, such as a carrier or a joints object, which no user is to see."""
    return is_marked(obj, Tag.HIDDEN) or is_joints_object(obj) or is_limbs_object(obj) or is_stretch_armature(obj)


def hide_again() -> None:
    """Take hidden objects out of collections, where appending, pasting or making local has put them."""
    for obj in bpy.data.objects:
        if obj.library is None and is_hidden_object(obj):
            for collection in cast(Any, obj.users_collection):
                if collection.library is None and collection.override_library is None:
                    collection.objects.unlink(obj)


def is_own(hidden: bpy.types.Object | None) -> bool:
    """Whether an object is a carrier or watcher to write to: made by Supple, and not from a library."""
    if hidden is None or not is_marked(hidden, Tag.HIDDEN) or hidden.type != "MESH":
        return False
    return hidden.library is None and mesh_of(hidden).library is None


def mark_former(hidden: bpy.types.Object | None) -> None:
    """Mark a carrier or watcher that an older Supple has made, which is a mesh without edges."""
    if hidden is None or hidden.library is not None or hidden.type != "MESH":
        return
    if hidden.name.startswith("Supple ") and not mesh_of(hidden).edges:
        mark(hidden, Tag.HIDDEN)


def remove_hidden(uid: int) -> None:
    """Remove a carrier or watcher by `session_uid`, and its mesh, unless it is linked or not Supple's."""
    hidden = next((obj for obj in bpy.data.objects if obj.session_uid == uid), None)
    if hidden is not None and hidden.library is None and is_marked(hidden, Tag.HIDDEN):
        mesh = mesh_of(hidden)
        bpy.data.objects.remove(hidden)
        if mesh.library is None and not mesh.users:
            bpy.data.meshes.remove(mesh)


def write_points(mesh: bpy.types.Mesh, points: np.ndarray) -> None:
    """Set posed points, float32, shape (V, 3)."""
    if not len(points):
        return  # a mesh without vertices has no such attribute
    write_array(mesh.attributes["position"].data, "vector", points)
    mesh.update_tag()


def write_transforms(mesh: bpy.types.Mesh, transforms: np.ndarray) -> None:
    """Set the vertices' transforms, float32, shape (V, 4, 4), column-major in memory."""
    attribute = mesh.attributes.get(TRANSFORM_ATTRIBUTE)
    if attribute is None:
        attribute = mesh.attributes.new(TRANSFORM_ATTRIBUTE, "FLOAT4X4", "POINT")
    write_array(attribute.data, "value", transforms.transpose(0, 2, 1))
    mesh.update_tag()
