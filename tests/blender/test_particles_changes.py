"""Particles of a mesh that changes: face keys, modifiers above, scaled bones, edits, painted weights."""

from __future__ import annotations

import bpy
import bmesh
import numpy as np
import pytest
from scenes_particles import (
    FRAMES,
    SHOWN,
    add_animated_body,
    add_body,
    add_dlbnt_twin,
    bend,
    fill,
    read_cache,
    remove_faces,
)

from scenes import (
    add_face_key,
    add_twin,
    animate_key,
    armature_modifier,
    distance,
    evaluated_points,
    points_at,
    select,
    turn,
    update,
)
from supple.bridge.meshes import read_triangles
from supple.settings.objects import PARTICLE_METHODS, settings_of
from supple.tasks.bake.caches import bake_cache

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


def test_an_animated_face_key_bakes_as_it_is_shown(tmp_path, fillings):
    obj = add_animated_body()
    animate_key(add_face_key(obj))
    fill(obj)
    shown = [points_at(obj, frame) for frame in FRAMES]
    list(bake_cache(obj, bpy.context.scene, tmp_path / "baked.pc2", FRAMES))
    for points, expected in zip(read_cache(tmp_path / "baked.pc2"), shown, strict=True):
        assert np.array_equal(points, expected)
    assert len(fillings) == 1


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


def test_a_mesh_that_is_edited_is_filled_anew(fillings):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    edited = bmesh.from_edit_mesh(obj.data)
    for vertex in edited.verts:
        vertex.co.x *= 1.5
    bmesh.update_edit_mesh(obj.data)
    update()
    assert len(fillings) == 1
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert len(fillings) == 2
    assert distance(shown, evaluated_points(obj)) > 0.02
    edited_points = evaluated_points(obj)
    fill(obj)
    assert np.array_equal(evaluated_points(obj), edited_points)


def test_an_edit_that_changes_nothing_fills_nothing(fillings):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    select(obj)
    for mode in ("EDIT", "WEIGHT_PAINT", "SCULPT", "OBJECT"):
        bpy.ops.object.mode_set(mode=mode)
        update()
    assert len(fillings) == 1
    assert np.array_equal(evaluated_points(obj), shown)


def test_painted_weights_fill_anew(fillings):
    obj, armature = add_body()
    fill(obj)
    bend(armature)
    shown = evaluated_points(obj)
    obj.vertex_groups["bone.1"].add(list(range(100, 120)), 1.0, "REPLACE")
    obj.data.update()
    update()
    assert len(fillings) == 2
    assert distance(shown, evaluated_points(obj)) > SHOWN


def test_faces_that_change_fill_anew(fillings):
    obj, _ = add_body()
    fill(obj)
    remove_faces(obj)
    update()
    assert len(fillings) == 2
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
