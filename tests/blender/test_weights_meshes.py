"""Automatic weights of several meshes: what is weighted together, what apart, and where objects stand."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_weights import (
    BONES,
    CUBE,
    add_bare_tube,
    add_mesh,
    assert_closed,
    assert_new_weights_show,
    assert_whole,
    auto,
    keep_vertices,
    link_to_scene,
    split_all_edges,
    weights_of,
)

from scenes import add_face_key, add_twin, armature_modifier, rest_points, select, turn
from supple.deformers.automatic_weights import METHODS
from supple.settings.objects import settings_of


def test_parts_are_one_body():
    """Two halves of a tube get at their seam, and elsewhere, what the whole tube gets."""
    obj, _ = add_bare_tube()
    halves = [add_twin(obj), add_twin(obj)]
    select(obj)
    points = rest_points(obj)
    kept = (points[:, 1] < 1.51, points[:, 1] > 1.49)
    for half, keep in zip(halves, kept, strict=True):
        keep_vertices(half, keep)
    for objects in ([obj], halves):
        select(*objects)
        auto()
    for half, keep in zip(halves, kept, strict=True):
        assert np.abs(weights_of(half) - weights_of(obj)[keep]).max() < 0.01
    seams = [weights_of(half)[abs(rest_points(half)[:, 1] - 1.5) < 0.01] for half in halves]
    assert len(seams[0]) == 8
    assert (seams[0] == seams[1]).all()


def test_split_vertices_get_the_same_weights(subtests):
    obj, _ = add_bare_tube()
    split_all_edges(obj)
    for method in METHODS:
        with subtests.test(method):
            obj.vertex_groups.clear()
            auto(method=method)
            assert_whole(obj)
            assert_closed(obj)


def test_loose_vertices_and_empty_meshes_go_along():
    obj, armature = add_bare_tube()
    empty, loose = add_mesh("Nothing", np.zeros((0, 3)), np.zeros((0, 3), int)), add_bare_tube()[0]
    for one in (empty, loose):
        one.modifiers.clear()
        one.modifiers.new("Armature", "ARMATURE").object = armature
    loose.data.clear_geometry()
    loose.data.from_pydata([(0, 0.5, 0), (0, 2.5, 0)], [(0, 1)], [])
    select(obj, loose, empty)
    auto()
    assert_whole(obj)
    assert weights_of(loose).argmax(axis=1).tolist() == [0, 2]
    assert settings_of(empty).weights_report.startswith("'Nothing' has no vertices.")


def test_an_armature_weights_all_its_visible_meshes():
    obj, armature = add_bare_tube()
    twin, hidden = add_twin(obj), add_twin(obj)
    select(hidden)
    hidden.hide_set(True)
    with pytest.raises(RuntimeError, match=r"poll\(\).*Select a mesh"):
        auto()
    select(armature)
    auto()
    assert_whole(obj)
    assert_whole(twin)
    assert "'Tube': all" in settings_of(armature).weights_report
    assert "'Tube.001': all" in settings_of(armature).weights_report
    assert not hidden.vertex_groups


def test_meshes_of_several_armatures_are_weighted_apart():
    obj, _ = add_bare_tube()
    other, rig = add_bare_tube(bones=2)
    obj.location = rig.location = other.location = (5, 0, 0)
    first_rig = armature_modifier(obj).object
    first_rig.location = (5, 0, 0)
    select(obj, other)
    auto()
    assert_whole(obj)
    assert_whole(other, BONES[:2])
    assert "bone.2" not in other.vertex_groups


def test_a_mesh_without_armature_is_given_the_selected_one():
    obj, armature = add_bare_tube()
    for selected in ((obj, armature), (armature, obj)):
        obj.modifiers.clear()
        obj.vertex_groups.clear()
        select(*selected)
        auto()
        assert_whole(obj)
        assert armature_modifier(obj).object == armature
        assert "Added an Armature modifier with 'Rig' to 'Tube'." in settings_of(obj).weights_report
        auto()
        assert len(obj.modifiers) == 1
        assert "Added" not in settings_of(obj).weights_report


def test_a_new_armature_modifier_stands_where_it_works():
    obj, armature = add_bare_tube()
    obj.modifiers.clear()
    for kind in ("SOLIDIFY", "MIRROR", "LATTICE", "SUBSURF"):
        obj.modifiers.new(kind, kind)
    select(obj, armature)
    auto()
    assert [one.type for one in obj.modifiers] == ["SOLIDIFY", "MIRROR", "LATTICE", "ARMATURE", "SUBSURF"]


def test_a_child_that_its_armature_deforms_is_given_no_modifier():
    obj, armature = add_bare_tube()
    obj.modifiers.clear()
    obj.parent, obj.parent_type = armature, "ARMATURE"
    auto()
    assert_whole(obj)
    assert not obj.modifiers


def test_shared_data_is_weighted_once():
    obj, armature = add_bare_tube()
    twin = link_to_scene(obj.copy())
    twin.modifiers.clear()
    select(obj, twin)
    auto()
    assert_whole(obj)
    assert armature_modifier(twin).object == armature
    told = settings_of(obj).weights_report.splitlines()
    assert told == [
        "'Tube': all 104 vertices have weights, by Solid Heat.",
        "Added an Armature modifier with 'Rig' to 'Tube.001'.",
    ]
    assert settings_of(twin).weights_report.splitlines() == ["'Tube.001' shares the mesh of 'Tube'.", *told]


def test_shared_data_of_two_armatures_is_refused():
    obj, armature = add_bare_tube()
    twin = link_to_scene(obj.copy())
    armature_modifier(twin).object = link_to_scene(armature.copy())
    select(obj, twin)
    with pytest.raises(
        RuntimeError, match=r"'Tube\.001' shares the mesh.*by 'Rig\.001', not by 'Rig': select only one"
    ):
        auto()
    assert not obj.vertex_groups


def test_an_active_mesh_that_is_not_selected_is_left_alone():
    obj, _ = add_bare_tube()
    twin = add_twin(obj)
    select(twin)
    bpy.context.view_layer.objects.active = obj
    auto()
    assert_whole(twin)
    assert not obj.vertex_groups
    twin.select_set(False)
    auto()
    assert_whole(obj)


@pytest.mark.versions
def test_modes(subtests):
    obj, _ = add_bare_tube()
    auto()
    before = weights_of(obj)
    for mode in ("EDIT", "WEIGHT_PAINT", "SCULPT"):
        with subtests.test(mode):
            bpy.ops.object.mode_set(mode="OBJECT")
            obj.vertex_groups.clear()
            bpy.ops.object.mode_set(mode=mode)
            auto()
            assert obj.mode == mode
            bpy.ops.object.mode_set(mode="OBJECT")
            assert (weights_of(obj) == before).all()


def test_the_shape_without_keys_and_pose_counts():
    obj, armature = add_bare_tube()
    auto()
    before = weights_of(obj)
    add_face_key(obj, size=2.0).value = 1.0
    obj.active_shape_key_index = 1
    turn(armature, "bone.1", (1.0, 0.0, 0.0))
    auto()
    assert (weights_of(obj) == before).all()


def test_the_places_of_objects_count():
    obj, armature = add_bare_tube()
    auto()
    before = weights_of(obj)
    obj.data.transform(obj.matrix_world.inverted())
    armature.location = obj.location = (3.0, -2.0, 1.0)
    armature.rotation_euler = obj.rotation_euler = (0.4, 0.5, 0.6)
    armature.scale = (0.01, 0.01, 0.01)
    obj.scale = (0.02, 0.02, 0.02)
    obj.data.transform(obj.matrix_world.inverted() @ obj.matrix_world)
    for vertex in obj.data.vertices:
        vertex.co *= 0.5
    auto()
    assert np.abs(weights_of(obj) - before).max() < 0.01


def test_a_mirrored_object(subtests):
    """Scaled by -1, a mesh is inside out in its own space and not in the world."""
    obj, _ = add_bare_tube()
    for method in METHODS:
        with subtests.test(method):
            obj.scale.x = 1.0
            auto(method=method)
            before = weights_of(obj)
            obj.scale.x = -1.0
            obj.vertex_groups.clear()
            auto(method=method)
            assert np.abs(weights_of(obj) - before).max() < 0.1  # the cells lie elsewhere


def test_tiny_and_huge(subtests):
    for length in (0.001, 1000.0):
        obj, _ = add_bare_tube(length=length, radius=length / 8)
        y = rest_points(obj)[:, 1] / length
        for method in METHODS:
            with subtests.test(length=length, method=method):
                obj.vertex_groups.clear()
                auto(method=method)
                assert_whole(obj)
                assert (weights_of(obj)[y < 0.1].argmax(axis=1) == 0).all()
                assert (weights_of(obj)[y > 0.9].argmax(axis=1) == 2).all()


def test_two_hundred_islands(subtests):
    _, armature = add_bare_tube()
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * 0.05
    places = np.random.default_rng(6).uniform((-0.4, 0, -0.4), (0.4, 3, 0.4), (200, 3))
    points = (places[:, None] + corners).reshape(-1, 3)
    obj = add_mesh("Dice", points, (np.arange(200)[:, None, None] * 8 + CUBE).reshape(-1, 4))
    select(obj, armature)
    for method in METHODS:
        with subtests.test(method):
            obj.vertex_groups.clear()
            auto(method=method)
            assert_whole(obj)


@pytest.mark.usefixtures("evaluator", "silent_handlers")
def test_a_bound_object_follows_its_new_weights():
    assert_new_weights_show(auto)
