"""The carrier: a hidden mesh that takes what Python computes to the character's node modifier.

A carrier is in no collection. Its points are the character's posed points; where something above Supple in the
modifier stack moves the character's vertices, it carries the vertices' transforms instead, as an attribute.

Beside it goes a watcher: a mesh of one point that the armature deforms. Through it the node modifier depends on the
whole pose, so that Blender evaluates the pose of an armature that is hidden. The Armature modifier that Supple stands
in for does not bring that about, being switched off.
"""

from __future__ import annotations

import bpy
import numpy as np

from ..nodes.carrier import TRANSFORM_ATTRIBUTE
from .arrays import write_array
from .meshes import mesh_of


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
    write_array(mesh.attributes["position"].data, "vector", points)
    mesh.update_tag()


def write_transforms(mesh: bpy.types.Mesh, transforms: np.ndarray) -> None:
    """Set the vertices' transforms, float32, shape (V, 4, 4), column-major in memory."""
    attribute = mesh.attributes.get(TRANSFORM_ATTRIBUTE)
    if attribute is None:
        attribute = mesh.attributes.new(TRANSFORM_ATTRIBUTE, "FLOAT4X4", "POINT")
    write_array(attribute.data, "value", transforms.transpose(0, 2, 1))
    mesh.update_tag()
