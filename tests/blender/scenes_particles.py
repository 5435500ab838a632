"""What tests of particle skinning share: a closed tube to fill, and what it was filled with."""

from __future__ import annotations

from math import radians

import bpy
import bmesh

from scenes import add_tube, add_twin, animate_tube, edit, turn, update
from supple.settings.objects import settings_of
from supple.tasks.reports import ParticleReport, particle_reports
from supple.tasks.skin.bind import bind_each

COUNT = 120
"""Particles wanted: few, so that a pose takes milliseconds."""
SHOWN = 1e-4
"""Least distance, in diagonals, that counts as a change."""
RINGS, SIDES = 25, 10
FRAMES = range(1, 9)


def add_body(outward: bool = True) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A closed tube with a chain of three bones, and its armature."""
    obj, armature = add_tube(rings=RINGS, sides=SIDES, is_closed=True)
    if not outward:
        obj.data.flip_normals()
    settings_of(obj).particles.target_count = COUNT
    settings_of(obj).particles.iterations_bake = settings_of(obj).particles.iterations
    return obj, armature


def fill(*objects: bpy.types.Object, method: str = "PARTICLES") -> None:
    """Bind by particles, which nodes do not know."""
    bind_each(objects, method, "PYTHON")
    update()


def bend(armature: bpy.types.Object, angle: float = 80.0) -> None:
    turn(armature, "bone.1", (radians(angle), radians(0.5 * angle), 0))


def add_dlbnt_twin(obj: bpy.types.Object) -> bpy.types.Object:
    """A copy of an unbound object that DLBNT deforms."""
    twin = add_twin(obj)
    bind_each([twin], "DLBNT", "PYTHON")
    return twin


def particles_of(obj: bpy.types.Object) -> ParticleReport:
    return particle_reports[obj.session_uid]


def add_animated_body() -> bpy.types.Object:
    obj, armature = add_body()
    animate_tube(armature)
    bpy.context.scene.frame_start, bpy.context.scene.frame_end = FRAMES[0], FRAMES[-1]
    return obj


def make_sheet(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        for vertex in mesh.verts:
            vertex.co.z = 0.0


def remove_faces(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        bmesh.ops.delete(mesh, geom=mesh.faces[:], context="FACES_ONLY")
