"""A leg in tights and a skirt: tubes of which the outer ones bend otherwise than the inner one."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np
from mathutils import Matrix

from scenes import add_cylinder, add_tube, add_twin, animate_tube, edit, evaluated_points, update, weigh_rings
from supple.tasks.check.faults import FAR, UNWEIGHTED

BODY, TIGHTS, SKIRT = "Tube", "Tights", "Skirt"
FRAMES = 1, 3, 5, 8


def add_dressed(rings: int = 61, sides: int = 24) -> dict[str, bpy.types.Object]:
    """The meshes by name, and the armature as "Rig"; it bends over eight frames."""
    body, armature = add_tube(rings=rings, sides=sides, is_outward=True)
    tights = _add_cloth(body, TIGHTS, 0.415, np.linspace(0.1, 2.9, 19), 0.6)
    skirt = _add_cloth(body, SKIRT, 0.48, np.linspace(0.6, 2.4, 13), 0.0)
    animate_tube(armature)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = 1, 8
    bpy.context.view_layer.update()  # older Blenders list new objects only then
    return {BODY: body, TIGHTS: tights, SKIRT: skirt, "Rig": armature}


def _add_cloth(body: bpy.types.Object, name: str, radius: float, y: np.ndarray, width: float) -> bpy.types.Object:
    """A tube about another; of no width between its bones, it follows the middle one alone."""
    cloth = add_cylinder(name, radius, y, 16)
    cloth.data.flip_normals()
    rows = np.maximum(1e-3, 1.0 - np.abs(y[:, None] - [0.5, 1.5, 2.5]) / width) if width else np.eye(3)[[1] * len(y)]
    weigh_rings(cloth, rows / rows.sum(axis=1, keepdims=True))
    cloth.modifiers.new("Armature", "ARMATURE").object = body.modifiers[0].object
    return cloth


def add_buckle(cloth: bpy.types.Object, place: tuple[float, float, float], bone: str) -> np.ndarray:
    """Add a hard box to a tube of cloth, which follows a bone; its vertices."""
    with edit(cloth.data) as edited:
        matrix = Matrix.Translation(place) @ Matrix.Diagonal((0.12, 0.1, 0.04, 1.0))
        bmesh.ops.create_cube(edited, size=1.0, matrix=matrix)
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


# Characters with faults that a check finds


def add_sleeve():
    """A tube of three bones, animated, in a sleeve that follows it."""
    body, armature = add_tube(rings=31, sides=12)
    animate_tube(armature)
    sleeve = add_twin(body)
    sleeve.name = "Sleeve"
    sleeve.data.transform(Matrix.Diagonal((1.05, 1.0, 1.05, 1.0)))
    update()
    return body, sleeve


def stiffen(sleeve):
    """Weights of the sleeve that do not bend with the body."""
    first, *others = sleeve.vertex_groups
    vertices = list(range(len(sleeve.data.vertices)))
    first.add(vertices, 1.0, "REPLACE")
    for group in others:
        group.remove(vertices)


def spoil(tube, kind: str, start: int = 30) -> set[int]:
    """Plant a mistake into weights; the vertices that have it, if they are few."""
    points = np.array([vertex.co for vertex in tube.data.vertices])
    first, last = tube.vertex_groups[0], tube.vertex_groups[-1]
    along = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, along])
    if kind == UNWEIGHTED:
        chosen = order[:3].tolist()
        for group in tube.vertex_groups:
            group.remove(chosen)
    elif kind == FAR:
        chosen = [int(order[start])]
        first.remove(chosen)
        last.add(chosen, 1.0, "REPLACE")
    else:
        for vertex in tube.data.vertices:
            most = max(vertex.groups, key=lambda entry: entry.weight).group
            for group in tube.vertex_groups:
                group.add([vertex.index], float(group.index == most), "REPLACE")
        return set()
    return set(chosen)
