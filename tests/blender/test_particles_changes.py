"""Particles of a mesh that changes: face keys, modifiers above, scaled bones, edits, painted weights."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np
import pytest
from scenes_particles import (
    SHOWN,
    add_body,
    add_dlbnt_twin,
    bend,
    fill,
    remove_faces,
)

from scenes import (
    add_face_key,
    add_twin,
    armature_modifier,
    distance,
    evaluated_points,
    select,
    turn,
    update,
)
from supple.bridge.meshes.data import read_triangles
from supple.settings.objects import PARTICLE_METHODS, settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")


@pytest.mark.parametrize("method", PARTICLE_METHODS)
def test_face_keys(method):
    """The keyed shape is what a mesh of that shape, filled as at rest, would be deformed to."""
    obj, armature = add_body()
    settings_of(obj).particles.radius = 0.15
    key = add_face_key(obj)
    fill(obj, method=method)
    bend(armature, 50)
    plain = evaluated_points(obj)
    key.value = 0.8
    update()
    keyed = evaluated_points(obj)
    assert 0.005 < distance(plain, keyed) < 0.2
    key.value = 0.0
    update()
    assert np.array_equal(evaluated_points(obj), plain)


@pytest.mark.parametrize("method", PARTICLE_METHODS)
def test_a_modifier_above_moves_the_vertices_first(method):
    obj, armature = add_body()
    settings_of(obj).particles.radius = 0.15
    twin = add_twin(obj)
    obj.modifiers.new("Nothing", "CAST").factor = 0.0
    obj.modifiers.move(1, 0)
    fill(obj, twin, method=method)
    bend(armature, 50)
    assert distance(evaluated_points(twin), evaluated_points(obj)) < 2e-3
    obj.modifiers["Nothing"].factor = 0.3
    update()
    assert distance(evaluated_points(twin), evaluated_points(obj)) > 0.01


def test_scaled_bones_take_the_flesh_along():
    obj, armature = add_body()
    plain = add_dlbnt_twin(obj)
    fill(obj)
    turn(armature, "bone.1", (0, 0, 0), (1.5, 1.5, 1.5))
    assert abs(volume_of(obj) / volume_of(plain) - 1.0) < 0.03
    assert distance(evaluated_points(plain), evaluated_points(obj)) < 0.05


def volume_of(obj: bpy.types.Object) -> float:
    points = evaluated_points(obj)[read_triangles(obj.data)].astype(float)
    return float(np.einsum("ti,ti->t", points[:, 0], np.cross(points[:, 1], points[:, 2])).sum()) / 6.0


def test_edits_fill_anew_unless_they_change_nothing(fillings, subtests):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    select(obj)
    with subtests.test("nothing"):
        for mode in ("EDIT", "WEIGHT_PAINT", "SCULPT", "OBJECT"):
            bpy.ops.object.mode_set(mode=mode)
            update()
        assert len(fillings) == 1
        assert np.array_equal(evaluated_points(obj), shown)
    with subtests.test("weights"):
        obj.vertex_groups["bone.1"].add(list(range(100, 120)), 1.0, "REPLACE")
        obj.data.update()
        update()
        assert len(fillings) == 2
        assert distance(shown, evaluated_points(obj)) > SHOWN
    with subtests.test("vertices"):
        bpy.ops.object.mode_set(mode="EDIT")
        edited = bmesh.from_edit_mesh(obj.data)
        for vertex in edited.verts:
            vertex.co.x *= 1.5
        bmesh.update_edit_mesh(obj.data)
        update()
        assert len(fillings) == 2
        bpy.ops.object.mode_set(mode="OBJECT")
        update()
        assert len(fillings) == 3
        edited_points = evaluated_points(obj)
        assert distance(shown, edited_points) > 0.02
        fill(obj)
        assert np.array_equal(evaluated_points(obj), edited_points)
    with subtests.test("faces"):
        fillings.clear()
        remove_faces(obj)
        update()
        assert len(fillings) == 1
        assert settings_of(obj).particles.count == 0


def test_strength_of_the_modifier():
    obj, armature = add_body()
    group = obj.vertex_groups.new(name="strength")
    armature_modifier(obj).vertex_group = "strength"
    group.add(list(range(125, len(obj.data.vertices))), 1.0, "REPLACE")
    fill(obj)
    bend(armature, 50)
    rest = np.array([vertex.co for vertex in obj.data.vertices])
    assert np.abs(evaluated_points(obj)[:125] - rest[:125]).max() < 1e-5
