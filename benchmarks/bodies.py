"""Skinned bodies of any size: a long tube with a chain of bones, each vertex with a given number of influences."""

from __future__ import annotations

from dataclasses import dataclass

import bpy
import numpy as np

from benchmarks.surfaces import join_rings

SIDES = 96


@dataclass(frozen=True)
class Body:
    """A mesh to pose: an object with an Armature modifier, its armature, its real number of vertices."""

    obj: bpy.types.Object
    armature: bpy.types.Object
    vertex_count: int


def add_body(vertex_count: int, bone_count: int, influences: int = 4, scaled: bool = False, frames: int = 30) -> Body:
    """Add a tube of about `vertex_count` vertices to the scene, animated over frames 1 to `frames`.

    `scaled`: the bones are scaled too, each along its own axes.
    """
    points, faces = _tube(vertex_count)
    obj = bpy.data.objects.new("Body", make_mesh("Body", points, faces))
    armature = bpy.data.objects.new("Rig", bpy.data.armatures.new("Rig"))
    for new in (obj, armature):
        bpy.context.scene.collection.objects.link(new)
    _add_bones(armature, bone_count)
    _add_weights(obj, points[:, 1], bone_count, influences)
    animate(list(armature.pose.bones), scaled, frames)
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    bpy.context.view_layer.objects.active = obj
    obj.select_set(True)
    armature.select_set(False)
    return Body(obj, armature, len(points))


def make_mesh(name: str, points: np.ndarray, faces: np.ndarray) -> bpy.types.Mesh:
    """A mesh of points, shape (V, 3), and faces of as many corners each, shape (F, C)."""
    mesh = bpy.data.meshes.new(name)
    mesh.vertices.add(len(points))
    mesh.vertices.foreach_set("co", points.astype(np.float32).ravel())
    mesh.loops.add(faces.size)
    mesh.loops.foreach_set("vertex_index", faces.astype(np.int32).ravel())
    mesh.polygons.add(len(faces))
    mesh.polygons.foreach_set("loop_start", np.arange(0, faces.size, faces.shape[1], dtype=np.int32))
    mesh.update()
    return mesh


def _tube(vertex_count: int) -> tuple[np.ndarray, np.ndarray]:
    """Points, shape (V, 3), of a tube of length 10 along Y, and its quads, shape (F, 4)."""
    rings = max(2, round(vertex_count / SIDES))
    angles = np.linspace(0.0, 2.0 * np.pi, SIDES, endpoint=False)
    points = np.zeros((rings, SIDES, 3))
    points[..., 0], points[..., 2] = np.cos(angles), np.sin(angles)
    points[..., 1] = np.linspace(0.0, 10.0, rings)[:, None]
    return points.reshape(-1, 3), join_rings(rings, SIDES)


def _add_bones(armature: bpy.types.Object, bone_count: int) -> None:
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="EDIT")
    parent = None
    for bone in range(bone_count):
        new = armature.data.edit_bones.new(f"bone.{bone:03}")
        new.head, new.tail = (0, 10 * bone / bone_count, 0), (0, 10 * (bone + 1) / bone_count, 0)
        new.parent, new.use_connect = parent, parent is not None
        parent = new
    bpy.ops.object.mode_set(mode="OBJECT")


def _add_weights(obj: bpy.types.Object, along: np.ndarray, bone_count: int, influences: int) -> None:
    """Weights by distance along the tube; all vertices of a ring share them, which keeps the set-up short."""
    groups = [obj.vertex_groups.new(name=f"bone.{bone:03}") for bone in range(bone_count)]
    centers = (np.arange(bone_count) + 0.5) * 10 / bone_count
    for ring in range(len(along) // SIDES):
        distances = np.abs(along[ring * SIDES] - centers)
        nearest = np.argsort(distances)[:influences]
        weights = np.exp(-((distances[nearest] * bone_count / 10) ** 2))
        members = list(range(ring * SIDES, (ring + 1) * SIDES))
        for bone, weight in zip(nearest, weights / weights.sum(), strict=True):
            groups[bone].add(members, float(weight), "REPLACE")


def animate(bones: list[bpy.types.PoseBone], scaled: bool = False, frames: int = 30) -> None:
    """Rotate each bone a little over frames 1 to `frames`; `scaled`: and scale it along its own axes."""
    rng = np.random.default_rng(5)
    for bone in bones:
        bone.rotation_mode = "XYZ"
        angles, scale = rng.uniform(-0.15, 0.15, 3), rng.uniform(0.9, 1.1, 3)
        for frame, share in ((1, 0.0), (frames, 1.0)):
            bone.rotation_euler = share * angles
            bone.keyframe_insert("rotation_euler", frame=frame)
            if scaled:
                bone.scale = 1.0 + share * (scale - 1.0)
                bone.keyframe_insert("scale", frame=frame)
