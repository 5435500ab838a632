"""Centers in Blender: meshes of one armature share its centers, and follow each other; bones have a sharpness."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from scenes import add_tube, add_twin, bind, distance, evaluated_points, select, turn, undo, update
from supple.bridge import changes
from supple.bridge.meshes import data as meshes
from supple.settings.choices import read_params
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind_each as bind_meshes
from supple.tasks.skin.bind import unbind
from supple.tasks.skin.step import rough

pytestmark = pytest.mark.usefixtures("silent_handlers")
by_both = pytest.mark.usefixtures("evaluator")


def bend(armature: bpy.types.Object) -> None:
    turn(armature, "bone.1", (1.6, 0.0, 0.0))


def add_wide_twin(obj: bpy.types.Object) -> bpy.types.Object:
    """A sleeve around the tube, with its weights, off to one side."""
    sleeve = add_twin(obj)
    for vertex in sleeve.data.vertices:
        vertex.co.z = vertex.co.z * 1.5 + 0.3
    return sleeve


@by_both
def test_meshes_follow_one_that_was_bound_elsewhere(subtests):
    obj, armature = add_tube()
    sleeve = add_wide_twin(obj)
    bend(armature)
    bind(obj, sleeve, method="CENTERS")
    before = evaluated_points(obj)
    places = iter(np.arange(0.3, 3.0, 0.3))

    def move(*then_bound: bpy.types.Object) -> None:
        sleeve.location.y = next(places)
        update()
        bind(*then_bound, method="CENTERS")

    for name, step in (
        ("bound alone", lambda: move(sleeve)),
        ("bound after the other", lambda: move(obj, sleeve)),
        ("unbound", lambda: (move(sleeve), setattr(sleeve.location, "y", next(places)), update(), unbind([sleeve]))),
    ):
        with subtests.test(name):
            step()
            update()
            live = evaluated_points(obj)
            assert distance(live, before) > 1e-4
            bind(obj, method="CENTERS")
            assert distance(evaluated_points(obj), live) <= 1e-6
            before = live


@by_both
def test_a_bone_has_a_sharpness_of_its_own():
    obj, armature = add_tube()
    bend(armature)
    settings_of(obj).sharpness = 1.0
    bind(obj, method="CENTERS")
    sharp = evaluated_points(obj)
    settings_of(obj).sharpness = 0.0
    update()
    round_ = evaluated_points(obj)
    assert distance(sharp, round_) > 1e-3
    for bone in armature.data.bones:
        bone.supple.has_sharpness, bone.supple.sharpness = True, 1.0
    update()
    update()
    assert distance(evaluated_points(obj), sharp) <= 1e-5
    for bone in armature.data.bones:
        bone.supple.has_sharpness = False
    update()
    update()
    assert distance(evaluated_points(obj), round_) <= 1e-5
    assert settings_of(obj).message == ""


def test_a_choice_is_kept_through_other_methods():
    obj, _ = add_tube()
    settings = settings_of(obj)
    bind(obj, method="CENTERS")
    assert read_params(settings, "CENTERS").bulge_limit == 0.5
    settings.bulge_limit = 0.75
    bpy.ops.ed.undo_push(message="chosen")
    for method in ("PARTICLES", "DLB", "CENTERS"):
        settings.method = method
    assert read_params(settings, "CENTERS").bulge_limit == 0.75
    bpy.ops.ed.undo_push(message="another method")
    undo()
    assert read_params(settings_of(bpy.data.objects["Tube"]), "CENTERS").bulge_limit == 0.75


def dab(obj: bpy.types.Object, weight: float) -> None:
    """Give a ring at the joint another weight."""
    points = meshes.read_points(obj.data)
    ring = np.flatnonzero(np.abs(points[:, 1] - 1.1) < 0.06).tolist()
    assert ring
    obj.vertex_groups["bone.1"].add(ring, weight, "REPLACE")
    obj.data.update_tag()
    update()


@by_both
@pytest.mark.versions
def test_centers_follow_each_dab_of_a_stroke(monkeypatch, evaluator):
    obj, armature = add_tube()
    bend(armature)
    bind(obj, method="CENTERS", evaluate=evaluator)
    select(obj)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    before = evaluated_points(obj)
    monkeypatch.setattr(changes, "is_dragging", lambda: True)
    for weight in (0.3, 0.9):
        dab(obj, weight)
        in_stroke = evaluated_points(obj)
        assert distance(in_stroke, before) > 1e-3
        assert not rough.find(obj)
    bpy.ops.object.mode_set(mode="OBJECT")
    twin = add_twin(obj)
    bind(twin, method="CENTERS", evaluate=evaluator)
    assert distance(evaluated_points(twin), in_stroke) <= 1e-6


def test_bind_reads_the_vertex_groups_of_each_mesh_once(monkeypatch):
    first, _ = add_tube()
    second = add_twin(first)
    read = []
    made = meshes.VertexGroups
    monkeypatch.setattr(meshes, "VertexGroups", lambda *arrays: read.append(arrays) or made(*arrays))
    bind_meshes([first, second], "CENTERS")
    assert len(read) == 2
    first.vertex_groups[0].add([0], 0.123, "REPLACE")
    assert np.isclose(meshes.read_vertex_groups(first.data).values, 0.123).any()
