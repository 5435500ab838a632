"""Meshes that particles cannot fill, or only in part: what is reported, and what follows the joints instead."""

from __future__ import annotations

from collections.abc import Callable
from math import nan

import bpy
import bmesh
import numpy as np
import pytest
from mathutils import Matrix
from scenes_particles import SIDES, add_body, add_dlbnt_twin, bend, edit, fill, make_sheet, particles_of, remove_faces

from scenes import distance, evaluated_points, reset, snapshot, update
from supple.deformers import SkinningError
from supple.settings.objects import PARTICLE_METHODS, settings_of
from supple.tasks.reports import particle_reports
from supple.tasks.skin.bind import bind_each, unbind

pytestmark = pytest.mark.usefixtures("silent_handlers")


def make_plane(obj: bpy.types.Object) -> None:
    """Only half of the shell, open all around."""
    with edit(obj.data) as mesh:
        bmesh.ops.delete(mesh, geom=[face for face in mesh.faces if face.calc_center_median().z < 0], context="FACES")


def make_holes(obj: bpy.types.Object) -> None:
    """Open at both ends, as sleeves are."""
    with edit(obj.data) as mesh:
        bmesh.ops.delete(mesh, geom=[face for face in mesh.faces if len(face.verts) > 4], context="FACES_ONLY")


def make_point(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        for vertex in mesh.verts:
            vertex.co = (0, 1, 0)


def make_islands(obj: bpy.types.Object) -> None:
    """Each face a patch of its own."""
    with edit(obj.data) as mesh:
        bmesh.ops.split_edges(mesh, edges=mesh.edges[:])
        for face in mesh.faces:
            middle = face.calc_center_median()
            for vertex in face.verts:
                vertex.co = middle + 0.8 * (vertex.co - middle)


def wrap_in_shells(obj: bpy.types.Object) -> None:
    """A second and a third skin around the body, crossing it."""
    with edit(obj.data) as mesh:
        for shift in (0.1, 0.2):
            made = bmesh.ops.duplicate(mesh, geom=mesh.verts[:122] + mesh.edges[:] + mesh.faces[: 26 * SIDES])
            for one in made["geom"]:
                if isinstance(one, bmesh.types.BMVert):
                    one.co.x += shift


def turn_inside_out(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        bmesh.ops.reverse_faces(mesh, faces=mesh.faces[:])


def move_bones_outside(obj: bpy.types.Object) -> None:
    obj.data.transform(Matrix.Translation((3, 0, 0)))


def add_loose_parts(obj: bpy.types.Object) -> None:
    with edit(obj.data) as mesh:
        for place in range(5):
            mesh.verts.new((place, 4, 0))
        mesh.verts.ensure_lookup_table()
        mesh.edges.new(mesh.verts[-2:])


def remove_some_weights(obj: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(60)))


FAILURES: dict[Callable[[bpy.types.Object], None], bool | None] = {
    make_sheet: False, make_plane: False, make_holes: None, remove_faces: False, make_point: False,
    make_islands: False, wrap_in_shells: True, turn_inside_out: True, move_bones_outside: True,
    add_loose_parts: True, remove_some_weights: True,
}  # fmt: skip
"""Whether there is something to fill; None where either is right."""
MESSAGE_EXPECTED = {make_sheet, make_plane, remove_faces, make_point, make_islands, turn_inside_out}


@pytest.mark.parametrize("method", PARTICLE_METHODS)
def test_what_cannot_be_filled_is_told_and_follows_the_joints(method, subtests):
    for spoil in FAILURES:
        with subtests.test(spoil.__name__):
            reset()
            obj, armature = add_body()
            settings_of(obj).particles.radius = 0.15
            spoil(obj)
            update()
            plain = add_dlbnt_twin(obj)
            before = snapshot(obj)
            fill(obj, method=method)
            bend(armature, 50)
            points, skinned, report = evaluated_points(obj), evaluated_points(plain), particles_of(obj)
            assert settings_of(obj).message == ""
            assert np.isfinite(points).all()
            if not report.count:
                assert report.messages
                assert np.array_equal(points, skinned)
            if FAILURES[spoil] is not None and method == "PARTICLES":
                assert bool(report.count) == FAILURES[spoil]
            if spoil in MESSAGE_EXPECTED and method == "PARTICLES":
                assert report.messages
            if report.count and method == "PARTICLES":
                assert distance(skinned, points) < 0.2
            armature.pose.bones["bone.1"].rotation_euler = (0, 0, 0)
            unbind([obj])
            assert snapshot(obj) == before


def test_a_vertex_that_is_no_number_is_refused():
    obj, _ = add_body()
    obj.data.vertices[7].co.x = nan
    for method in PARTICLE_METHODS:
        with pytest.raises(SkinningError, match="positions are not numbers, or are too far away"):
            bind_each([obj], method, "PYTHON")
        assert not settings_of(obj).is_bound
        assert obj.session_uid not in particle_reports


def test_what_is_no_number_while_bound_is_told_and_passes(subtests):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    places = {"pose": lambda: armature.pose.bones["bone.1"].scale, "mesh": lambda: obj.data.vertices[7].co}
    for name, find in places.items():
        with subtests.test(name):
            right = find().x
            find().x = nan
            obj.data.update()
            update()
            assert "not numbers" in settings_of(obj).message
            find().x = right
            obj.data.update()
            update()
            assert settings_of(obj).message == ""
            assert np.array_equal(evaluated_points(obj), shown)
