"""The demo's character in Blender: a right arm with its armature, vertex groups and shape keys."""

from __future__ import annotations

import bpy
import numpy as np
from mathutils import Vector

from .arm import Arm, build_arm

SKIN = (0.80, 0.52, 0.40, 1.0)


def build_character(
    resolution: int = 22_000, name: str = "Arm", arm: Arm | None = None
) -> tuple[bpy.types.Object, bpy.types.Object]:
    """Build the arm in the context's scene, skinned by Blender's own Armature modifier.

    Parameters
    ----------
    resolution : int
        About how many vertices; 5,000 to some millions.
    name : str
        Of the mesh object; the armature is named for it.
    arm : Arm, optional
        An arm that has been built before, to be used instead of a new one.

    Returns
    -------
    mesh_object, armature_object
    """
    arm = build_arm(resolution) if arm is None else arm
    armature = build_armature(arm, f"{name} Armature")
    obj = build_mesh(arm, name)
    obj.parent = armature
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    return obj, armature


def build_mesh(arm: Arm, name: str) -> bpy.types.Object:
    """Return a new mesh object with the arm's surface, vertex groups and shape keys."""
    mesh = bpy.data.meshes.new(name)
    sides = arm.quads.shape[1]
    mesh.vertices.add(len(arm.points))
    mesh.vertices.foreach_set("co", arm.points.astype(np.float32).ravel())
    mesh.loops.add(arm.quads.size)
    mesh.loops.foreach_set("vertex_index", arm.quads.astype(np.int32).ravel())
    mesh.polygons.add(len(arm.quads))
    mesh.polygons.foreach_set("loop_start", np.arange(0, arm.quads.size, sides, dtype=np.int32))
    mesh.update(calc_edges=True)
    mesh.shade_smooth()
    mesh.materials.append(skin_material())
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    add_vertex_groups(obj, arm)
    obj.shape_key_add(name="Basis", from_mix=False)
    for key, points in arm.keys.items():
        block = obj.shape_key_add(name=key, from_mix=False)
        block.points.foreach_set("co", points.astype(np.float32).ravel())
        block.value = 0.0
    return obj


def add_vertex_groups(obj: bpy.types.Object, arm: Arm) -> None:
    """Write the arm's weights into vertex groups named for its bones.

    Blender takes one weight at a time, so this is a loop over the weights: 3 seconds for a million vertices.
    """
    for bone, column in zip(arm.bones, arm.weights.T, strict=True):
        add = obj.vertex_groups.new(name=bone.name).add
        held = np.flatnonzero(column)
        for vertex, weight in zip(held.tolist(), column[held].tolist(), strict=True):
            add((vertex,), weight, "REPLACE")


def build_armature(arm: Arm, name: str) -> bpy.types.Object:
    """Return a new armature object with the arm's bones; the hand takes no scale from the forearm."""
    armature = bpy.data.armatures.new(name)
    armature.display_type = "OCTAHEDRAL"
    obj = bpy.data.objects.new(name, armature)
    obj.show_in_front = True
    bpy.context.scene.collection.objects.link(obj)
    bpy.context.view_layer.objects.active = obj
    bpy.ops.object.mode_set(mode="EDIT")
    for bone in arm.bones:
        edit_bone = armature.edit_bones.new(bone.name)
        edit_bone.head, edit_bone.tail = bone.head, bone.tail
        edit_bone.align_roll(Vector(bone.up.tolist()))
        if bone.parent is not None:
            edit_bone.parent = armature.edit_bones[bone.parent]
            edit_bone.use_connect = bool((edit_bone.parent.tail - edit_bone.head).length < 1e-6)
    bpy.ops.object.mode_set(mode="OBJECT")
    armature.bones["hand"].inherit_scale = "NONE"
    for pose_bone in obj.pose.bones:
        pose_bone.rotation_mode = "XYZ"
    return obj


def skin_material() -> bpy.types.Material:
    """Return the skin's material, made once."""
    material = bpy.data.materials.get("Skin")
    if material is None:
        material = bpy.data.materials.new("Skin")
        material.diffuse_color = SKIN
        material.roughness = 0.55
    return material
