"""Bind and Unbind: what deforms, what is given back, and which changes are followed."""

from math import radians

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_bind import (
    assert_same,
    bend,
    plain,
    widen,
    with_cast_above,
    with_displace_above,
    with_face_key,
    with_lattice_above,
    with_modifier_group,
)
from scenes_methods import BLENDS, choose, name_of
from scenes_twins import bound_tube

from scenes import (
    TOLERANCE,
    add_chain,
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
    turn,
    update,
)
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind as bind_objects
from supple.tasks.skin.bind import prepare_each, unbind

pytestmark = pytest.mark.usefixtures("silent_handlers")
by_both = pytest.mark.usefixtures("evaluator")


def unbind_by_operator(*objects: bpy.types.Object) -> None:
    select(*objects)
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    update()


# What Bind does


@pytest.mark.versions
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


def test_dlbnt_keeps_the_twisted_tube_wide_where_ssd_collapses():
    obj, armature = add_tube(bones=2)
    bind(obj, method="SSD")
    middle = slice(15 * 16, 16 * 16)

    def narrowest() -> float:
        update()
        return float(np.linalg.norm(evaluated_points(obj)[middle][:, [0, 2]], axis=1).min())

    for angle in (90, 150):
        turn(armature, "bone.1", (0, radians(angle), 0))
        settings_of(obj).method = "SSD"
        assert narrowest() == pytest.approx(0.4 * np.cos(radians(angle / 2)), rel=0.02)
        settings_of(obj).method = "DLBNT"
        assert narrowest() == pytest.approx(0.4, rel=0.001)


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


def test_several_meshes_on_one_armature(subtests: pytest.Subtests):
    for from_armature in (True, False):
        with subtests.test(from_armature=from_armature):
            clear()
            first, armature = add_tube()
            second = add_twin(first)
            second.data.transform(Matrix.Scale(0.5, 4, (1, 0, 0)))
            twins = [add_twin(first), add_twin(second)]
            for twin in twins:
                armature_modifier(twin).name = "Other"
            if from_armature:
                for twin in twins:  # else they would be bound along
                    armature_modifier(twin).object = None
                bind(armature, method="SSD", evaluate="BLENDER")
                for twin in twins:
                    armature_modifier(twin).object = armature
            else:
                bind(first, second, method="SSD", evaluate="BLENDER")
            bend(armature)
            assert [settings_of(obj).is_bound for obj in (first, second, *twins)] == [True, True, False, False]
            for obj, twin in zip((first, second), twins, strict=True):
                assert_same(obj, twin)


def test_all_or_nothing(evaluator: str):
    first, _ = add_tube()
    second, _ = add_tube()
    third, _ = add_tube()
    second.vertex_groups.clear()
    before = snapshot(first, second, third)
    select(first, second, third)
    with pytest.raises(SkinningError, match="has no vertex groups"):
        bind_objects([first, second, third], "DLB", evaluator)
    assert snapshot(first, second, third) == before
    assert not any(settings_of(obj).is_bound for obj in (first, second, third))


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


def with_subsurf_below(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.new("Smooth", "SUBSURF").levels = 1


def with_unequal_toggles(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).show_render = False
    armature_modifier(obj).show_in_editmode = False
    armature_modifier(obj).show_on_cage = True


def with_render_only(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).show_viewport = False


def with_custom_properties(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj["mood"], obj.data["age"] = "good", 3
    armature_modifier(obj).name = "Skin"
    armature_modifier(obj).use_deform_preserve_volume = True


DRESSES = (
    plain, with_subsurf_below, with_lattice_above, with_cast_above, with_displace_above, with_face_key,
    with_unequal_toggles, with_render_only, with_custom_properties,
)  # fmt: skip


@pytest.mark.versions
@by_both
def test_unbind_gives_everything_back(subtests: pytest.Subtests):
    for dress, locked in (*((dress, False) for dress in DRESSES), (plain, True)):
        with subtests.test(dress.__name__, locked=locked):
            clear()
            obj, armature = add_tube()
            dress(obj, armature)
            bpy.context.scene.render.use_lock_interface = locked
            update()
            before, shown = snapshot(obj), evaluated_points(obj)

            bind(obj, method="DLBNT")
            update()
            assert snapshot(obj) != before
            unbind_by_operator(obj)
            assert snapshot(obj) == before

            bind(obj, method="DLB")
            settings_of(obj).method = "SSD"
            bend(armature)
            settings_of(obj).method, settings_of(obj).order = "DLBNT", "HG"
            bpy.context.scene.frame_set(7)
            bind(obj, method="DLB")
            bpy.context.scene.frame_set(1)
            for bone in armature.pose.bones:
                bone.rotation_euler, bone.scale = (0, 0, 0), (1, 1, 1)
            unbind_by_operator(obj)
            assert snapshot(obj) == before
            assert np.array_equal(shown, evaluated_points(obj))


def test_the_node_modifier_takes_the_place_and_the_toggles():
    obj, armature = add_tube()
    with_cast_above(obj, armature)
    with_subsurf_below(obj, armature)
    with_unequal_toggles(obj, armature)
    bind(obj, method="SSD")
    supple, replaced = obj.modifiers[1], armature_modifier(obj)
    assert [modifier.type for modifier in obj.modifiers] == ["CAST", "NODES", "ARMATURE", "SUBSURF"]
    assert (supple.show_viewport, supple.show_render, supple.show_in_editmode) == (True, False, False)
    assert (replaced.show_viewport, replaced.show_render) == (False, False)


def test_the_active_modifier_stays_active():
    obj, _ = add_tube()
    smooth = obj.modifiers.new("Smooth", "SMOOTH")
    obj.modifiers.active = smooth
    bind(obj, method="SSD")
    unbind_by_operator(obj)
    assert obj.modifiers.active == smooth


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


def toggle_invert(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).invert_vertex_group = True


def clear_modifier_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).vertex_group = ""


def switch_envelopes_on(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).use_bone_envelopes, armature_modifier(obj).use_vertex_groups = True, False


def change_envelopes(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.0"].envelope_distance = 0.9
    armature.data.bones["bone.0"].use_envelope_multiply = True


def add_segments(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    for bone in armature.data.bones:
        bone.bbone_segments = 3


def edit_a_bone(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    edit_bones(armature, lambda bones: setattr(bones["bone.1"], "tail", (0.2, 2.1, 0.1)))


def rename_a_bone_while_the_mesh_is_edited(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.bones[1].name = "new"
    update()
    bpy.ops.object.mode_set(mode="OBJECT")
    turn(armature, "new", (1.0, 0.2, 0.0))


def choose_another_armature(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    if "Other" not in bpy.data.objects:
        other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
        bpy.context.scene.collection.objects.link(other)
        add_chain(other, 3, 3.2)
        turn(other, "bone.1", (0, 0, 1))
    armature_modifier(obj).object = bpy.data.objects["Other"]


def choose_another_mesh(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.data = obj.data.copy()
    obj.data.transform(Matrix.Diagonal((1.5, 1, 0.5, 1)))


def test_changes_of_what_deforms_are_followed(evaluator: str, subtests: pytest.Subtests):
    changes = [toggle_invert, clear_modifier_group, add_segments, edit_a_bone, rename_a_bone_while_the_mesh_is_edited]
    changes += [choose_another_armature, choose_another_mesh, switch_envelopes_on, change_envelopes]
    for change in changes:
        with subtests.test(change.__name__):
            clear()
            obj, armature = add_tube()
            widen(armature)
            with_modifier_group(obj, armature)
            twin = add_twin(obj)
            bind(obj, method="SSD")
            bend(armature)
            assert_same(obj, twin)
            before = evaluated_points(twin)
            change(obj, armature)
            change(twin, armature)
            update()
            assert distance(before, evaluated_points(twin)) > 1e-3
            assert_same(obj, twin)


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


def disconnect(armature: bpy.types.Object) -> None:
    edit_bones(armature, lambda bones: setattr(bones["bone.2"], "use_connect", False))


def choose_handle(armature: bpy.types.Object) -> None:
    armature.data.bones["bone.0"].bbone_custom_handle_end = armature.data.bones["bone.2"]


@by_both
def test_other_handles_of_b_bones_are_followed(subtests: pytest.Subtests):
    for change in (disconnect, choose_handle):
        with subtests.test(change.__name__):
            clear()
            obj, armature = add_tube()
            edit_bones(armature, lambda bones: setattr(bones["bone.2"], "tail", (1.0, 2.5, 0.0)))
            for bone in armature.data.bones:
                bone.bbone_segments = 4
            armature.data.bones["bone.0"].bbone_handle_type_end = "TANGENT"
            twin = add_twin(obj)
            bind(obj, method="SSD")
            bend(armature)
            before = evaluated_points(twin)
            change(armature)
            update()
            assert distance(before, evaluated_points(twin)) > 1e-3
            assert_same(obj, twin)


@by_both
def test_face_keys_added_and_removed_while_live():
    """The shape follows keys that come and go, as it does under Blender's own modifier."""
    obj, armature, twin = bound_tube()
    turn(armature, "bone.1", (1.0, 0.2, 0.0))
    for step in ("add", "move", "remove one", "remove all"):
        for one in (obj, twin):
            if step == "add":
                one.shape_key_add(name="Basis")
                for name, offset in (("Smile", 0.2), ("Frown", -0.1)):
                    key = one.shape_key_add(name=name)
                    for point in key.data:
                        point.co.x += offset
                    key.value = 0.7
            elif step == "move":
                one.data.shape_keys.key_blocks["Smile"].value = 0.2
            elif step == "remove one":
                one.shape_key_remove(one.data.shape_keys.key_blocks["Smile"])
            else:
                one.shape_key_clear()
        update()
        assert settings_of(obj).message == ""
        assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE, step


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
