"""Centers in Blender: meshes of one armature share its centers, and follow each other; bones have a sharpness."""

from __future__ import annotations

import bpy
import numpy as np
import pytest

from scenes import add_tube, add_twin, bind, distance, evaluated_points, save, select, turn, undo, update
from supple import preview
from supple.bridge.meshes import data as meshes
from supple.deformers.skinning import centers
from supple.settings.choices import read_params
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind as bind_meshes
from supple.tasks.skin.bind import unbind
from supple.tasks.skin.evaluators import find_evaluator

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
def test_meshes_of_an_armature_share_its_centers():
    obj, armature = add_tube()
    bend(armature)
    bind(obj, method="CENTERS")
    alone = evaluated_points(obj)
    unbind([obj])
    add_wide_twin(obj)
    bind(obj, method="CENTERS")
    assert distance(evaluated_points(obj), alone) > 1e-3


@by_both
def test_a_mesh_follows_the_weights_of_another():
    obj, armature = add_tube()
    sleeve = add_wide_twin(obj)
    bend(armature)
    bind(obj, sleeve, method="CENTERS")
    before = evaluated_points(obj)
    group = sleeve.vertex_groups["bone.1"]
    group.add(list(range(len(sleeve.data.vertices) // 2)), 1.0, "REPLACE")
    sleeve.data.update()
    update()
    update()
    live = evaluated_points(obj)
    assert distance(live, before) > 1e-4
    bind(obj, sleeve, method="CENTERS")
    assert distance(evaluated_points(obj), live) <= 1e-6


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
def test_undo_of_bind_elsewhere_brings_the_centers_back():
    obj, armature = add_tube()
    sleeve = add_wide_twin(obj)
    bend(armature)
    bind(obj, sleeve, method="CENTERS")
    names = obj.name, sleeve.name
    before = [evaluated_points(one) for one in (obj, sleeve)]
    bpy.ops.ed.undo_push(message="bound")
    sleeve.location.y = 0.5
    update()
    bpy.ops.ed.undo_push(message="moved")
    bind(sleeve, method="CENTERS")
    update()
    assert distance(evaluated_points(obj), before[0]) > 1e-4
    bpy.ops.ed.undo_push(message="bound again")
    undo(2)
    update()
    after = [evaluated_points(bpy.data.objects[name]) for name in names]
    assert max(map(distance, after, before)) <= 1e-6


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


def test_the_bulge_limit_is_chosen_while_bound():
    obj, armature = add_tube()
    bend(armature)
    bind(obj, method="CENTERS")
    half = evaluated_points(obj)
    settings_of(obj).bulge_limit = 1.0
    update()
    assert distance(evaluated_points(obj), half) > 1e-3
    settings_of(obj).bulge_limit = 0.5
    update()
    np.testing.assert_allclose(evaluated_points(obj), half, rtol=0, atol=1e-6)


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
@pytest.mark.parametrize("end", ["rest", "frame", "save", "bake"])
def test_a_stroke_is_blended_at_once_and_its_centers_follow(end, monkeypatch, tmp_path, evaluator):
    obj, armature = add_tube()
    bend(armature)
    bind(obj, method="CENTERS", evaluate=evaluator)
    select(obj)
    bpy.ops.object.mode_set(mode="WEIGHT_PAINT")
    before, found = evaluated_points(obj), []
    find_centers = centers.find_centers
    monkeypatch.setattr(centers, "find_centers", lambda *given: found.append(given) or find_centers(*given))
    monkeypatch.setattr(preview, "is_dragging", lambda: True)
    for weight in (0.3, 0.9):
        dab(obj, weight)
        in_stroke = evaluated_points(obj)
        assert distance(in_stroke, before) > 1e-3
    assert found == []
    assert find_evaluator(obj).is_rough(obj)
    monkeypatch.setattr(preview, "is_dragging", lambda: False)
    if end == "rest":
        assert preview.refine_dragged() is None
        update()
    elif end == "save":
        save(tmp_path / "painted.blend")
        bpy.context.view_layer.update()
    elif end == "frame":
        bpy.context.scene.frame_set(2)
    else:
        bpy.ops.supple.bake_shape_keys(frame_start=1, frame_end=2)
    assert found
    assert not find_evaluator(obj).is_rough(obj)
    bpy.ops.object.mode_set(mode="OBJECT")
    after = evaluated_points(obj)
    twin = add_twin(obj)
    assert 1e-5 < distance(in_stroke, after) < 0.05
    if end != "bake":
        bind(twin, method="CENTERS", evaluate=evaluator)
        assert distance(evaluated_points(twin), after) <= 1e-6


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
