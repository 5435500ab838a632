"""A leg in tights and a skirt: tubes of which the outer ones bend otherwise than the inner one."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np
from mathutils import Matrix

from scenes import add_tube, animate_tube, evaluated_points

BODY, TIGHTS, SKIRT = "Tube", "Tights", "Skirt"
FRAMES = 1, 3, 5, 8


def add_dressed() -> dict[str, bpy.types.Object]:
    """The meshes by name, and the armature as "Rig"; it bends over eight frames."""
    body, armature = add_tube(bones=3, rings=61, sides=24)
    body.data.flip_normals()  # outward
    tights = _add_cloth(body, TIGHTS, 0.415, np.linspace(0.1, 2.9, 19), 0.6)
    skirt = _add_cloth(body, SKIRT, 0.48, np.linspace(0.6, 2.4, 13), 0.0)
    animate_tube(armature)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 8
    bpy.context.view_layer.update()  # older Blenders list new objects only then
    return {BODY: body, TIGHTS: tights, SKIRT: skirt, "Rig": armature}


def _add_cloth(body: bpy.types.Object, name: str, radius: float, y: np.ndarray, width: float) -> bpy.types.Object:
    """A tube about another; of no width between its bones, it follows the middle one alone."""
    angles = np.linspace(0.0, 2.0 * np.pi, 16, endpoint=False)
    points = np.zeros((len(y), 16, 3))
    points[..., 0], points[..., 1], points[..., 2] = radius * np.cos(angles), y[:, None], radius * np.sin(angles)
    index = np.arange(points.size // 3).reshape(len(y), 16)
    around = np.roll(index, -1, axis=1)
    faces = np.stack([index[:-1], index[1:], around[1:], around[:-1]], axis=-1).reshape(-1, 4)
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points.reshape(-1, 3).tolist(), [], faces.tolist())
    cloth = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(cloth)
    rows = np.maximum(1e-3, 1.0 - np.abs(y[:, None] - [0.5, 1.5, 2.5]) / max(width, 1e-9)) if width else None
    rows = np.tile([0.0, 1.0, 0.0], (len(y), 1)) if rows is None else rows / rows.sum(axis=1, keepdims=True)
    for bone in range(3):
        group = cloth.vertex_groups.new(name=f"bone.{bone}")
        for ring in np.flatnonzero(rows[:, bone]):
            group.add(index[ring].tolist(), float(rows[ring, bone]), "REPLACE")
    cloth.modifiers.new("Armature", "ARMATURE").object = body.modifiers[0].object
    return cloth


def add_buckle(cloth: bpy.types.Object, place: tuple[float, float, float], bone: str) -> np.ndarray:
    """Add a hard box to a tube of cloth, which follows a bone; its vertices."""
    edited = bmesh.new()
    edited.from_mesh(cloth.data)
    matrix = Matrix.Translation(place) @ Matrix.Diagonal((0.12, 0.1, 0.04, 1.0))
    bmesh.ops.create_cube(edited, size=1.0, matrix=matrix)
    edited.to_mesh(cloth.data)
    vertices = np.arange(len(cloth.data.vertices) - 8, len(cloth.data.vertices))
    cloth.vertex_groups[bone].add(vertices.tolist(), 1.0, "REPLACE")
    bpy.context.view_layer.update()
    return vertices


def read_frames(dressed: dict[str, bpy.types.Object]) -> dict[tuple[str, int], np.ndarray]:
    """Points of all meshes as they are shown, by name and frame, float64."""
    found = {}
    for frame in FRAMES:
        bpy.context.scene.frame_set(frame)
        found |= {(name, frame): evaluated_points(dressed[name]).astype(float) for name in (BODY, TIGHTS, SKIRT)}
    return found
