"""What Blender tests share: real characters, a tube to bend, and how far two shapes are apart."""

from __future__ import annotations

from collections.abc import Sequence

import bpy
import numpy as np


def evaluated_points(obj: bpy.types.Object, in_render: bool = False) -> np.ndarray:
    """Vertex positions after all modifiers, float32, shape (V, 3), object space."""
    mesh = obj.evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    points = np.empty((len(mesh.vertices), 3), np.float32)
    mesh.vertices.foreach_get("co", points.ravel())
    return points


def rest_points(obj: bpy.types.Object) -> np.ndarray:
    """Vertex positions before all modifiers, float32, shape (V, 3)."""
    points = np.empty((len(obj.data.vertices), 3), np.float32)
    obj.data.vertices.foreach_get("co", points.ravel())
    return points


def diagonal(points: np.ndarray) -> float:
    """Length of the bounding box's diagonal."""
    return float(np.linalg.norm(points.max(axis=0) - points.min(axis=0)))


def distance(first: np.ndarray, second: np.ndarray) -> float:
    """Largest distance between corresponding points, in diagonals of the first."""
    return float(np.linalg.norm(first - second, axis=1).max()) / diagonal(first)


def skinned_meshes() -> list[bpy.types.Object]:
    """Meshes of the scene that an armature deforms."""
    return [
        obj
        for obj in bpy.context.scene.objects
        if obj.type == "MESH" and any(m.type == "ARMATURE" for m in obj.modifiers)
    ]


def armature_modifier(obj: bpy.types.Object) -> bpy.types.ArmatureModifier:
    """The Armature modifier of a mesh."""
    return next(modifier for modifier in obj.modifiers if modifier.type == "ARMATURE")


def select(*objects: bpy.types.Object) -> None:
    """Select these objects only; the first becomes the active one."""
    for obj in bpy.context.view_layer.objects:
        obj.select_set(obj in objects)
    bpy.context.view_layer.objects.active = objects[0]


def add_tube(bones: int = 3, rings: int = 31, sides: int = 16, length: float = 3.0, radius: float = 0.4) -> tuple:
    """A tube along Y with a chain of bones and wide weights: (mesh object, armature object), linked to the scene."""
    y = np.linspace(0.0, length, rings)
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    points = np.zeros((rings, sides, 3))
    points[..., 0], points[..., 1], points[..., 2] = radius * np.cos(angles), y[:, None], radius * np.sin(angles)
    index = np.arange(rings * sides).reshape(rings, sides)
    around = np.roll(index, -1, axis=1)
    faces = np.stack([index[:-1], around[:-1], around[1:], index[1:]], axis=-1).reshape(-1, 4)
    mesh = bpy.data.meshes.new("Tube")
    mesh.from_pydata(points.reshape(-1, 3).tolist(), [], faces.tolist())
    obj = bpy.data.objects.new("Tube", mesh)
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    for new in (obj, armature):
        bpy.context.scene.collection.objects.link(new)
    names = add_chain(armature, bones, length)

    centers = (np.arange(bones) + 0.5) * length / bones
    weights = np.maximum(0.0, 1.0 - np.abs(y[:, None] - centers) / (1.2 * length / bones))
    weights /= weights.sum(axis=1, keepdims=True)
    for bone, name in enumerate(names):
        group = obj.vertex_groups.new(name=name)
        for ring in np.flatnonzero(weights[:, bone]):
            group.add(index[ring].tolist(), float(weights[ring, bone]), "REPLACE")
    modifier = obj.modifiers.new("Armature", "ARMATURE")
    modifier.object = armature
    select(obj)
    return obj, armature


def add_chain(armature: bpy.types.Object, bones: int, length: float) -> list[str]:
    """A chain of connected bones along Y; returns their names."""
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for bone in range(bones):
        new = armature.data.edit_bones.new(f"bone.{bone}")
        new.head, new.tail = (0, length * bone / bones, 0), (0, length * (bone + 1) / bones, 0)
        new.parent, new.use_connect = parent, parent is not None
        parent = new
    bpy.ops.object.mode_set(mode="OBJECT")
    return [f"bone.{bone}" for bone in range(bones)]


def turn(
    armature: bpy.types.Object, name: str, rotation: Sequence[float] = (0, 0, 0), scale: Sequence[float] = (1, 1, 1)
):
    """Pose a bone by Euler angles in radians and a scale."""
    bone = armature.pose.bones[name]
    bone.rotation_mode = "XYZ"
    bone.rotation_euler, bone.scale = rotation, scale
    bpy.context.view_layer.update()
