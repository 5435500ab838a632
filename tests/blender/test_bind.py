"""Bind and Unbind: what deforms, what is given back, and which changes are followed."""

from math import radians

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_bind import (
    assert_same,
    bend,
    bind_by_operator,
    no_envelopes,
    plain,
    widen,
    with_cast_above,
    with_displace_above,
    with_face_key,
    with_lattice_above,
    with_modifier_group,
)
from scenes_methods import BLENDS, choose, name_of, parametrize_blends
from scenes_twins import TOLERANCE

from scenes import (
    EVALUATE,
    add_chain,
    add_tube,
    add_twin,
    armature_modifier,
    distance,
    edit_bones,
    evaluated_points,
    rest_points,
    select,
    snapshot,
    turn,
)
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind, unbind

pytestmark = pytest.mark.usefixtures("silent_handlers")


def unbind_by_operator(*objects: bpy.types.Object) -> None:
    select(*objects)
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    bpy.context.view_layer.update()


# What Bind does


@parametrize_blends(BLENDS)
def test_operator_and_task_give_the_same(method, params):
    obj, armature = add_tube()
    twin = add_twin(obj)
    for one in (obj, twin):
        choose(one, method, params)
    bind_by_operator(obj, method=method)
    bind([twin], method, EVALUATE)
    bend(armature)
    points = evaluated_points(obj)
    assert distance(points, rest_points(obj)) > 0.1
    assert np.array_equal(points, evaluated_points(twin))


def test_methods_and_orders_differ_where_they_should():
    obj, armature = add_tube()
    bind_by_operator(obj)
    bend(armature, angle=100)
    results = {}
    for method, params in BLENDS:
        choose(obj, method, params)
        settings_of(obj).method = method
        bpy.context.view_layer.update()
        results[name_of(method, params)] = evaluated_points(obj)
    pairs = [(a, b) for a in results for b in results if a < b]
    assert all(distance(results[a], results[b]) > 1e-3 for a, b in pairs)


@pytest.mark.parametrize("angle", [90, 150])
def test_dlbnt_keeps_the_twisted_tube_wide_where_ssd_collapses(angle):
    obj, armature = add_tube(bones=2)
    bind_by_operator(obj)
    turn(armature, "bone.1", (0, radians(angle), 0))
    middle = slice(15 * 16, 16 * 16)

    def narrowest() -> float:
        return float(np.linalg.norm(evaluated_points(obj)[middle][:, [0, 2]], axis=1).min())

    linear = narrowest()
    settings_of(obj).method = "DLBNT"
    bpy.context.view_layer.update()
    assert linear == pytest.approx(0.4 * np.cos(radians(angle / 2)), rel=0.02)
    assert narrowest() == pytest.approx(0.4, rel=0.001)


def test_bind_without_a_method_takes_the_objects_own():
    obj, _ = add_tube()
    settings_of(obj).method = "DLB"
    select(obj)
    assert bpy.ops.supple.bind() == {"FINISHED"}
    assert settings_of(obj).method == "DLB"


@pytest.mark.parametrize(
    ("name", "value"), [("method", "DLB"), ("method", "SSD"), ("order", "HG"), ("linear_group", "linear")]
)
def test_a_changed_setting_shows_at_once(name, value):
    obj, armature = add_tube()
    obj.vertex_groups.new(name="linear").add(list(range(200, 320)), 0.8, "REPLACE")
    bind_by_operator(obj, method="DLBNT")
    bend(armature)
    before = evaluated_points(obj)
    setattr(settings_of(obj), name, value)
    bpy.context.view_layer.update()
    assert distance(before, evaluated_points(obj)) > 1e-3


def test_the_shown_setting_equals_that_of_a_fresh_bind():
    obj, armature = add_tube()
    bend(armature)
    bind_by_operator(obj, method="DLBNT")
    settings_of(obj).method = "DLB"
    bpy.context.view_layer.update()
    shown = evaluated_points(obj)
    unbind_by_operator(obj)
    bind_by_operator(obj, method="DLB")
    assert np.array_equal(shown, evaluated_points(obj))


def test_binding_again_changes_the_method_and_adds_nothing():
    obj, armature = add_tube()
    bend(armature)
    bind_by_operator(obj, method="SSD")
    linear, bound = evaluated_points(obj), snapshot(obj)
    bind_by_operator(obj, method="DLBNT")
    assert distance(linear, evaluated_points(obj)) > 0.01
    bind_by_operator(obj, method="SSD")
    assert snapshot(obj) == bound
    assert np.array_equal(linear, evaluated_points(obj))


@pytest.mark.parametrize("from_armature", [True, False], ids=["active armature", "selected meshes"])
def test_several_meshes_on_one_armature(from_armature):
    first, armature = add_tube()
    second = add_twin(first)
    second.data.transform(Matrix.Scale(0.5, 4, (1, 0, 0)))
    twins = [add_twin(first), add_twin(second)]
    for twin in twins:
        armature_modifier(twin).name = "Other"
    if from_armature:
        for twin in twins:  # else they would be bound along
            armature_modifier(twin).object = None
        bind_by_operator(armature)
        for twin in twins:
            armature_modifier(twin).object = armature
    else:
        bind_by_operator(first, second)
    bend(armature)
    assert [settings_of(obj).is_bound for obj in (first, second, *twins)] == [True, True, False, False]
    for obj, twin in zip((first, second), twins, strict=True):
        assert_same(obj, twin)


def test_all_or_nothing():
    first, _ = add_tube()
    second, _ = add_tube()
    third, _ = add_tube()
    second.vertex_groups.clear()
    before = snapshot(first, second, third)
    select(first, second, third)
    with pytest.raises(RuntimeError, match=r"has no vertex groups: .*weights"):
        bpy.ops.supple.bind(method="DLB", evaluate=EVALUATE)
    assert snapshot(first, second, third) == before
    with pytest.raises(SkinningError, match="has no vertex groups"):
        bind([first, second, third], "DLB", EVALUATE)
    assert snapshot(first, second, third) == before
    assert not any(settings_of(obj).is_bound for obj in (first, second, third))


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


@pytest.mark.parametrize("dress", DRESSES)
@pytest.mark.parametrize("locked", [False, True], ids=["", "interface locked"])
def test_unbind_gives_everything_back(dress, locked):
    obj, armature = add_tube()
    dress(obj, armature)
    bpy.context.scene.render.use_lock_interface = locked
    bpy.context.view_layer.update()
    before, shown = snapshot(obj), evaluated_points(obj)

    bind_by_operator(obj, method="DLBNT")
    assert snapshot(obj) != before
    unbind_by_operator(obj)
    assert snapshot(obj) == before

    bind_by_operator(obj, method="DLB")
    settings_of(obj).method = "SSD"
    bend(armature)
    settings_of(obj).method, settings_of(obj).order = "DLBNT", "HG"
    bpy.context.scene.frame_set(7)
    bind_by_operator(obj, method="DLB")
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
    bind_by_operator(obj)
    assert [modifier.type for modifier in obj.modifiers] == ["CAST", "NODES", "ARMATURE", "SUBSURF"]
    supple, replaced = obj.modifiers[1], obj.modifiers[2]
    assert (supple.show_viewport, supple.show_render, supple.show_in_editmode) == (True, False, False)
    assert (replaced.show_viewport, replaced.show_render) == (False, False)


def test_the_active_modifier_stays_active():
    obj, _ = add_tube()
    smooth = obj.modifiers.new("Smooth", "SMOOTH")
    obj.modifiers.active = smooth
    bind_by_operator(obj)
    unbind_by_operator(obj)
    assert obj.modifiers.active == smooth


def test_unbinding_one_of_two_leaves_the_other_alone():
    first, armature = add_tube()
    second = add_twin(first)
    twin = add_twin(first)
    bind_by_operator(first, second)
    unbind_by_operator(first)
    assert bpy.context.scene.render.use_lock_interface == (EVALUATE == "PYTHON")
    bend(armature)
    assert_same(second, twin)
    unbind_by_operator(second)
    assert not bpy.context.scene.render.use_lock_interface
    assert not bpy.data.node_groups


@pytest.mark.python_only("nodes need no lock: Python writes nothing while rendering")
def test_the_interface_lock_of_each_scene_is_given_back():
    obj, _ = add_tube()
    other = bpy.data.scenes.new("Other")
    other.collection.objects.link(obj)
    other.render.use_lock_interface = True
    before = snapshot(obj)
    bind_by_operator(obj)
    assert all(scene.render.use_lock_interface for scene in bpy.data.scenes)
    unbind_by_operator(obj)
    assert snapshot(obj) == before


@pytest.mark.python_only("nodes need no lock: Python writes nothing while rendering")
def test_the_interface_is_unlocked_when_the_last_bound_object_is_deleted():
    obj, _ = add_tube()
    bind_by_operator(obj)
    bpy.data.objects.remove(obj)
    bpy.context.view_layer.update()
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


@pytest.mark.parametrize(
    "change",
    [
        toggle_invert,
        clear_modifier_group,
        pytest.param(switch_envelopes_on, marks=no_envelopes),
        pytest.param(change_envelopes, marks=no_envelopes),
        add_segments,
    ],
)
def test_changes_of_the_armature_and_its_modifier_are_followed(change):
    obj, armature = add_tube()
    widen(armature)
    with_modifier_group(obj, armature)
    twin = add_twin(obj)
    bind_by_operator(obj)
    bend(armature)
    assert_same(obj, twin)
    before = evaluated_points(twin)
    change(obj, armature)
    change(twin, armature)
    bpy.context.view_layer.update()
    assert distance(before, evaluated_points(twin)) > 1e-3
    assert_same(obj, twin)


def test_another_armature_in_the_modifier_is_followed():
    obj, armature = add_tube()
    twin = add_twin(obj)
    other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
    bpy.context.scene.collection.objects.link(other)
    add_chain(other, 3, 3.2)
    bind_by_operator(obj)
    bend(armature)
    for one in (obj, twin):
        armature_modifier(one).object = other
    turn(other, "bone.1", (0, 0, 1))
    assert_same(obj, twin)


def test_bones_that_were_edited_while_another_armature_deformed_are_followed():
    obj, armature = add_tube()
    twin = add_twin(obj)
    other = bpy.data.objects.new("Other", armature.data.copy())
    bpy.context.scene.collection.objects.link(other)
    bind_by_operator(obj)
    bend(armature)
    bend(other, 30)
    for target in (other, armature):
        for one in (obj, twin):
            armature_modifier(one).object = target
        bpy.context.view_layer.update()
        assert_same(obj, twin)
        edit_bones(armature, lambda bones: setattr(bones["bone.1"], "roll", 1.0))
        bpy.context.view_layer.update()  # by itself, so that the change is not reported together with the next


def test_bones_that_were_renamed_while_the_mesh_was_edited_are_followed():
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind_by_operator(obj)
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.bones["bone.1"].name = "new"
    bpy.context.view_layer.update()
    bpy.ops.object.mode_set(mode="OBJECT")
    turn(armature, "new", (1.0, 0.2, 0.0))
    assert_same(obj, twin)


def test_edited_bones_are_followed():
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind_by_operator(obj)
    bend(armature)
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    armature.data.edit_bones["bone.1"].tail = (0.2, 2.1, 0.1)
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.context.view_layer.update()
    assert_same(obj, twin)


def disconnect(armature: bpy.types.Object) -> None:
    edit_bones(armature, lambda bones: setattr(bones["bone.2"], "use_connect", False))


def choose_handle(armature: bpy.types.Object) -> None:
    armature.data.bones["bone.0"].bbone_custom_handle_end = armature.data.bones["bone.2"]


@pytest.mark.parametrize("change", [disconnect, choose_handle])
def test_other_handles_of_b_bones_are_followed(change):
    obj, armature = add_tube()
    edit_bones(armature, lambda bones: setattr(bones["bone.2"], "tail", (1.0, 2.5, 0.0)))
    for bone in armature.data.bones:
        bone.bbone_segments = 4
    armature.data.bones["bone.0"].bbone_handle_type_end = "TANGENT"
    twin = add_twin(obj)
    bind_by_operator(obj)
    bend(armature)
    before = evaluated_points(twin)
    change(armature)
    bpy.context.view_layer.update()
    assert distance(before, evaluated_points(twin)) > 1e-3
    assert_same(obj, twin)


def test_another_mesh_with_as_many_vertices_is_followed():
    obj, armature = add_tube()
    twin = add_twin(obj)
    other = add_twin(obj)
    other.data.transform(Matrix.Diagonal((1.5, 1, 0.5, 1)))
    bind_by_operator(obj)
    bend(armature)
    obj.data, twin.data = other.data, other.data
    bpy.context.view_layer.update()
    assert_same(obj, twin)


def test_face_keys_added_and_removed_while_live():
    """The shape follows keys that come and go, as it does under Blender's own modifier."""
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind_by_operator(obj)
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
        bpy.context.view_layer.update()
        assert settings_of(obj).message == ""
        assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE, step


@pytest.mark.parametrize("ends", ["unbind", "nodes"])
def test_the_interface_is_locked_for_those_by_python_only(ends):
    render = bpy.context.scene.render
    (by_nodes, _), (by_python, _) = add_tube(), add_tube()
    bind([by_nodes], "SSD", "NODES")
    assert not render.use_lock_interface
    bind([by_python], "SSD", "PYTHON")
    assert render.use_lock_interface
    if ends == "unbind":
        select(by_python)
        bpy.ops.supple.unbind()
    else:
        settings_of(by_python).evaluate = "NODES"
    assert settings_of(by_nodes).is_bound
    assert not render.use_lock_interface
