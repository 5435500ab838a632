"""Bind and Unbind: what deforms, what is given back, and which changes are followed."""

import bpy
import numpy as np
import pytest
from scenes_bind import assert_same, bend
from scenes_methods import BLENDS, choose, name_of
from scenes_twins import bound_tube

from scenes import (
    TOLERANCE,
    add_tube,
    add_twin,
    armature_modifier,
    bind,
    clear,
    distance,
    edit_bones,
    evaluated_points,
    rest_points,
    select,
    snapshot,
    update,
)
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind_each as bind_objects
from supple.tasks.skin.bind import prepare_each, unbind

pytestmark = pytest.mark.usefixtures("silent_handlers")
by_both = pytest.mark.usefixtures("evaluator")


def unbind_by_operator(*objects: bpy.types.Object) -> None:
    select(*objects)
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    update()


# What Bind does


def test_operator_and_task_give_the_same(subtests: pytest.Subtests):
    for method, params in BLENDS:
        with subtests.test(name_of(method, params)):
            clear()
            obj, armature = add_tube()
            twin = add_twin(obj)
            for one in (obj, twin):
                choose(one, method, params)
            select(obj)
            assert bpy.ops.supple.bind(method=method) == {"FINISHED"}
            bind_objects([twin], method)
            bend(armature)
            points = evaluated_points(obj)
            assert distance(points, rest_points(obj)) > 0.1
            assert np.array_equal(points, evaluated_points(twin))


@by_both
def test_methods_and_orders_differ_where_they_should():
    obj, armature = add_tube()
    bind(obj, method="SSD")
    bend(armature, angle=100)
    results = {}
    for method, params in BLENDS:
        choose(obj, method, params)
        settings_of(obj).method = method
        update()
        results[name_of(method, params)] = evaluated_points(obj)
    pairs = [(a, b) for a in results for b in results if a < b]
    assert all(distance(results[a], results[b]) > 1e-3 for a, b in pairs)


def test_bind_without_a_method_takes_the_objects_own():
    obj, _ = add_tube()
    settings_of(obj).method = "DLB"
    select(obj)
    assert bpy.ops.supple.bind() == {"FINISHED"}
    assert settings_of(obj).method == "DLB"


@by_both
def test_a_changed_setting_shows_at_once(subtests: pytest.Subtests):
    obj, armature = add_tube()
    obj.vertex_groups.new(name="linear").add(list(range(200, 320)), 0.8, "REPLACE")
    bind(obj, method="DLBNT")
    bend(armature)
    for name, value in (("order", "HG"), ("linear_group", "linear"), ("method", "DLB"), ("method", "SSD")):
        with subtests.test(name, value=value):
            before = evaluated_points(obj)
            setattr(settings_of(obj), name, value)
            update()
            shown = evaluated_points(obj)
            assert distance(before, shown) > 1e-3
            twin = add_twin(obj)
            unbind_by_operator(twin)
            bind(twin, method=settings_of(obj).method)
            update()
            assert distance(shown, evaluated_points(twin)) <= TOLERANCE, "as if bound anew"
            bpy.data.objects.remove(twin)


@by_both
def test_binding_again_changes_the_method_and_adds_nothing():
    obj, armature = add_tube()
    bend(armature)
    bind(obj, method="SSD")
    linear, bound = evaluated_points(obj), snapshot(obj)
    bind(obj, method="DLBNT")
    assert distance(linear, evaluated_points(obj)) > 0.01
    bind(obj, method="SSD")
    assert snapshot(obj) == bound
    assert np.array_equal(linear, evaluated_points(obj))


def test_the_operator_binds_what_can_be_bound_and_reports_the_rest():
    first, _ = add_tube()
    second, _ = add_tube()
    third, _ = add_tube()
    second.vertex_groups.clear()
    select(first, second, third)
    bind(first, second, third, evaluate="BLENDER")
    assert [settings_of(obj).is_bound for obj in (first, second, third)] == [True, False, True]
    assert "has no vertex groups" in settings_of(second).message
    select(second)
    with pytest.raises(RuntimeError, match=r"has no vertex groups: .*weights"):
        bpy.ops.supple.bind(method="DLB")


def test_bind_that_is_canceled_has_changed_nothing(evaluator: str):
    tubes = [add_tube()[0] for _ in range(3)]
    before = snapshot(*tubes)
    steps = prepare_each(tubes, "DLB", evaluator)
    assert [next(steps), next(steps)] == [0.0, 1.0 / 3.0]
    steps.close()
    assert snapshot(*tubes) == before


# Unbind gives everything back


def test_unbinding_one_of_two_leaves_the_other_alone(evaluator: str):
    first, armature = add_tube()
    second = add_twin(first)
    twin = add_twin(first)
    bind(first, second, method="SSD")
    unbind_by_operator(first)
    assert bpy.context.scene.render.use_lock_interface == (evaluator == "PYTHON")
    bend(armature)
    assert_same(second, twin)
    unbind_by_operator(second)
    assert not bpy.context.scene.render.use_lock_interface
    assert not bpy.data.node_groups


def test_the_interface_lock_of_each_scene_is_given_back():
    obj, _ = add_tube()
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(obj)
    other.render.use_lock_interface = True
    before = snapshot(obj)
    bind(obj, method="SSD")
    assert all(scene.render.use_lock_interface for scene in bpy.data.scenes)
    unbind_by_operator(obj)
    assert snapshot(obj) == before


def test_the_interface_is_unlocked_when_the_last_bound_object_is_deleted():
    obj, _ = add_tube()
    bind(obj, method="SSD")
    bpy.data.objects.remove(obj)
    update()
    assert not bpy.context.scene.render.use_lock_interface


def test_unbind_refuses_where_nothing_is_bound():
    obj, _ = add_tube()
    with pytest.raises(SkinningError, match="Nothing to unbind: select a mesh that is bound"):
        unbind([obj])


# What changes around a bound object


@by_both
def test_bones_that_were_edited_while_another_armature_deformed_are_followed():
    obj, armature, twin = bound_tube()
    other = bpy.data.objects.new("Other", armature.data.copy())
    bpy.context.scene.collection.objects.link(other)
    bend(armature)
    bend(other, 30)
    for target in (other, armature):
        for one in (obj, twin):
            armature_modifier(one).object = target
        update()
        assert_same(obj, twin)
        edit_bones(armature, lambda bones: setattr(bones["bone.1"], "roll", 1.0))
        update()  # by itself, so that the change is not reported together with the next


def test_the_interface_is_locked_for_those_by_python_only():
    render = bpy.context.scene.render
    (by_blender, _), (by_python, _) = add_tube(), add_tube()
    bind_objects([by_blender], "SSD")
    assert not render.use_lock_interface
    for end in (lambda: unbind([by_python]), lambda: bind_objects([by_python], "SSD")):
        bind_objects([by_python], "SSD", "PYTHON")
        assert render.use_lock_interface
        end()
        assert settings_of(by_blender).is_bound
        assert not render.use_lock_interface
