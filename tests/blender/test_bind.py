"""Bind and Unbind: what deforms, what Blender's own modifier would have done, and that nothing else is touched."""

from collections.abc import Callable
from math import radians

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix

from scenes import (
    EVALUATE,
    add_chain,
    add_tube,
    add_twin,
    armature_modifier,
    distance,
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
TOLERANCE = 1e-5
METHODS = (("SSD", "GH"), ("DLB", "GH"), ("DLBNT", "GH"), ("DLBNT", "HG"))


def bind_by_operator(*objects: bpy.types.Object, method: str = "SSD") -> None:
    select(*objects)
    assert bpy.ops.supple.bind(method=method, evaluate=EVALUATE) == {"FINISHED"}
    bpy.context.view_layer.update()


def unbind_by_operator(*objects: bpy.types.Object) -> None:
    select(*objects)
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    bpy.context.view_layer.update()


def bend(armature: bpy.types.Object, angle: float = 70.0) -> None:
    """Bend, twist and, as a scaled bone has a turned child, shear."""
    turn(armature, "bone.1", (radians(angle), radians(0.5 * angle), 0), (1.3, 0.8, 1.1))
    turn(armature, "bone.2", (radians(angle), 0, radians(20)), (0.9, 1.2, 1.1))


def assert_same(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """That both are deformed, and alike."""
    expected = evaluated_points(twin)
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE
    assert distance(expected, rest_points(twin)) > 0.01


# What Bind does


@pytest.mark.parametrize(("method", "order"), METHODS)
def test_operator_and_task_give_the_same(method, order):
    obj, armature = add_tube()
    twin = add_twin(obj)
    for one in (obj, twin):
        settings_of(one).order = order
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
    for method, order in METHODS:
        settings_of(obj).method, settings_of(obj).order = method, order
        bpy.context.view_layer.update()
        results[method, order] = evaluated_points(obj)
    pairs = [(a, b) for a in METHODS for b in METHODS if a < b]
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


def plain(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    """Nothing besides the Armature modifier."""


def with_subsurf_below(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.new("Smooth", "SUBSURF").levels = 1


def with_lattice_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    lattice = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
    bpy.context.scene.collection.objects.link(lattice)
    lattice.scale = (4, 8, 4)
    for point in lattice.data.points:
        point.co_deform.x += 0.2 * point.co_deform.y
    obj.modifiers.new("Cage", "LATTICE").object = lattice
    obj.modifiers.move(1, 0)


def with_cast_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.new("Round", "CAST").factor = 0.3
    obj.modifiers.move(1, 0)


def with_displace_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.modifiers.new("Swell", "DISPLACE").strength = 0.1
    obj.modifiers.move(1, 0)


def with_simple_deform_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    modifier = obj.modifiers.new("Bend", "SIMPLE_DEFORM")
    modifier.deform_method, modifier.deform_axis, modifier.factor = "TAPER", "Y", 0.4
    obj.modifiers.move(1, 0)


def with_face_key(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.shape_key_add(name="Basis")
    key = obj.shape_key_add(name="Puff")
    for point in key.data:
        point.co.x, point.co.z = 1.5 * point.co.x, 1.2 * point.co.z + 0.1 * point.co.y
    key.value = 0.7


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


def test_unbind_refuses_where_nothing_is_bound():
    obj, _ = add_tube()
    with pytest.raises(SkinningError, match="Nothing to unbind: select a mesh that is bound"):
        unbind([obj])


# Parity with the Armature modifier


def with_modifier_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    group = obj.vertex_groups.new(name="strength")
    for vertex in obj.data.vertices:
        group.add([vertex.index], (vertex.index % 7) / 6, "REPLACE")
    armature_modifier(obj).vertex_group = "strength"


def with_inverted_modifier_group(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    with_modifier_group(obj, armature)
    armature_modifier(obj).invert_vertex_group = True


def with_missing_modifier_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).vertex_group = "nowhere"
    armature_modifier(obj).invert_vertex_group = True


def with_unweighted_vertices(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(100, 140)))


def with_sums_that_are_not_one(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for index, group in enumerate(obj.vertex_groups):
        group.add(list(range(0, 496, 3)), 0.3 + 0.3 * index, "REPLACE")
        group.add([17 * index + 5], 5e-5, "REPLACE")


def with_groups_without_bones(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for name in ("hair", "clothes"):
        obj.vertex_groups.new(name=name).add(list(range(496)), 0.9, "REPLACE")


def with_deform_off(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.1"].use_deform = False


def widen(armature: bpy.types.Object) -> None:
    for bone, factor in zip(armature.data.bones, (1.0, 0.7, 1.3), strict=True):
        bone.head_radius, bone.tail_radius, bone.envelope_distance = 0.25, 0.35, 0.3 * factor
        bone.envelope_weight = factor


def with_envelopes_only(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    widen(armature)
    obj.vertex_groups.clear()
    armature_modifier(obj).use_bone_envelopes = True


def with_groups_switched_off(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    widen(armature)
    armature_modifier(obj).use_bone_envelopes, armature_modifier(obj).use_vertex_groups = True, False


def with_envelopes_and_groups(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    widen(armature)
    with_unweighted_vertices(obj, armature)
    armature_modifier(obj).use_bone_envelopes = True


def with_multiplied_envelopes(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    widen(armature)
    for bone in armature.data.bones[:2]:
        bone.use_envelope_multiply = True


no_envelopes = pytest.mark.python_only("nodes have no envelopes")
ENVELOPES = tuple(
    pytest.param(dress, marks=no_envelopes)
    for dress in (
        with_envelopes_only, with_groups_switched_off, with_envelopes_and_groups, with_multiplied_envelopes,
    )
)  # fmt: skip
PARITY = (
    plain, with_lattice_above, with_cast_above, with_displace_above, with_simple_deform_above, with_face_key,
    with_modifier_group, with_inverted_modifier_group, with_missing_modifier_group, with_unweighted_vertices,
    with_sums_that_are_not_one, with_groups_without_bones, with_deform_off, *ENVELOPES,
)  # fmt: skip


@pytest.mark.parametrize("dress", PARITY)
def test_ssd_equals_the_armature_modifier(dress):
    obj, armature = add_tube()
    dress(obj, armature)
    twin = add_twin(obj)
    bind_by_operator(obj)
    bend(armature)
    assert_same(obj, twin)


@pytest.mark.parametrize("method", ["DLB", "DLBNT"])
def test_transforms_carry_the_keyed_shape(method):
    """A vertex moved by a key goes where the same vertex goes in a mesh that rests in the keyed shape."""
    keyed, armature = add_tube()
    with_face_key(keyed, armature)
    rest = add_twin(keyed)
    mixed = evaluated_points(keyed)  # the armature is at rest still
    rest.shape_key_clear()
    rest.data.vertices.foreach_set("co", mixed.ravel())
    bind_by_operator(keyed, rest, method=method)
    bend(armature)
    assert distance(evaluated_points(rest), evaluated_points(keyed)) <= TOLERANCE
    keyed.data.shape_keys.key_blocks["Puff"].value = 0.0
    bpy.context.view_layer.update()
    assert distance(evaluated_points(rest), evaluated_points(keyed)) > 0.01


def test_a_key_added_while_live_is_followed():
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind_by_operator(obj)
    bend(armature)
    for one in (obj, twin):
        with_face_key(one, armature)
    bpy.context.view_layer.update()
    assert_same(obj, twin)


@pytest.mark.parametrize(
    ("mesh_matrix", "armature_matrix"),
    [
        (Matrix.Translation((1, -2, 0.5)), Matrix.Translation((-3, 0.2, 1))),
        (Euler((0.3, 0.2, 1.1)).to_matrix().to_4x4(), Euler((-1.0, 0.4, 0.1)).to_matrix().to_4x4()),
        (Matrix.Scale(2.5, 4), Matrix.Scale(0.4, 4)),
        (Matrix.Diagonal((0.5, 2, 1.5, 1)), Matrix.Diagonal((1, 1, 3, 1)) @ Euler((0, 1, 0)).to_matrix().to_4x4()),
        (Matrix.Diagonal((-1, 1, 1, 1)), Matrix.Identity(4)),
    ],
    ids=["moved", "turned", "scaled", "scaled unevenly", "mirrored"],
)
@pytest.mark.parametrize("parented", [False, True], ids=["free", "parented"])
def test_object_transforms(mesh_matrix, armature_matrix, parented):
    obj, armature = add_tube()
    if parented:
        obj.parent = armature
    obj.matrix_local, armature.matrix_world = mesh_matrix, armature_matrix
    twin = add_twin(obj)
    bpy.context.view_layer.update()
    bind_by_operator(obj)
    bend(armature)
    assert_same(obj, twin)


@pytest.mark.parametrize("dress", [plain, ENVELOPES[-1]])
@pytest.mark.parametrize("who", ["mesh", "armature"])
def test_animated_object_transforms(dress, who):
    obj, armature = add_tube()
    dress(obj, armature)
    twin = add_twin(obj)
    for mover in (obj, twin) if who == "mesh" else (armature,):
        for frame, value in ((1, 0.0), (20, 0.3)):
            mover.location, mover.rotation_euler, mover.scale = (value, 0, value), (value, 0, 0), (1 + value, 1, 1)
            for path in ("location", "rotation_euler", "scale"):
                mover.keyframe_insert(path, frame=frame)
    bpy.context.scene.frame_set(1)
    bind_by_operator(obj)
    bend(armature)
    for frame in (20, 5, 11, 1):
        bpy.context.scene.frame_set(frame)
        assert_same(obj, twin)


def test_rest_position():
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind_by_operator(obj, method="DLBNT")
    bend(armature)
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.1
    armature.data.pose_position = "REST"
    bpy.context.view_layer.update()
    assert distance(rest_points(obj), evaluated_points(obj)) <= TOLERANCE
    armature.data.pose_position = "POSE"
    settings_of(obj).method = "SSD"
    bpy.context.view_layer.update()
    assert_same(obj, twin)


@pytest.mark.parametrize("mix", [0.0, 0.5, 1.0])
def test_linear_group_mixes_in_the_armature_modifier(mix):
    obj, armature = add_tube()
    twin = add_twin(obj)
    obj.vertex_groups.new(name="linear").add(list(range(len(obj.data.vertices))), mix, "REPLACE")
    bind_by_operator(obj, method="DLBNT")
    bend(armature)
    alone, linear = evaluated_points(obj), evaluated_points(twin)
    settings_of(obj).linear_group = "linear"
    bpy.context.view_layer.update()
    expected = (1.0 - mix) * alone + mix * linear
    assert distance(alone, linear) > 0.01
    assert distance(expected, evaluated_points(obj)) <= TOLERANCE


# B-Bones


def straight(_armature: bpy.types.Object) -> None:
    """Blender's defaults: eased by the neighbours in the chain."""


def curved(armature: bpy.types.Object) -> None:
    for bone in armature.data.bones:
        bone.bbone_mapping_mode = "CURVED"
        bone.bbone_curveinx, bone.bbone_curveoutz = 0.1, -0.15


def eased(armature: bpy.types.Object) -> None:
    for bone in armature.pose.bones:
        bone.bbone_easein, bone.bbone_easeout = 0.4, -0.3
        bone.bbone_curveinz, bone.bbone_curveoutx, bone.bbone_rollout = 0.3, 0.2, 0.5


def rolled_at_rest(armature: bpy.types.Object) -> None:
    for bone in armature.data.bones:
        bone.bbone_rollin, bone.bbone_rollout, bone.bbone_curveinx = 0.2, 0.6, 0.15


def handled(armature: bpy.types.Object) -> None:
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    edit_bones = armature.data.edit_bones
    handle = edit_bones.new("handle")
    handle.head, handle.tail, handle.use_deform = (0, 2, 0), (0, 2, 0.4), False
    bpy.ops.object.mode_set(mode="OBJECT")
    bone = armature.data.bones["bone.1"]
    bone.bbone_handle_type_end, bone.bbone_custom_handle_end = "TANGENT", armature.data.bones["handle"]
    armature.pose.bones["handle"].location = (0.3, 0.2, 0.1)


def scaled_along(armature: bpy.types.Object) -> None:
    for bone in armature.pose.bones:
        bone.bbone_scalein, bone.bbone_scaleout = (0.7, 1.0, 0.8), (1.3, 1.0, 1.2)


CURVED = pytest.param(curved, marks=pytest.mark.python_only("nodes divide no vertices along a curve"))
BENDY = (straight, CURVED, eased, rolled_at_rest, handled, scaled_along)


def bendy_tube(bow: Callable[[bpy.types.Object], None]) -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_tube()
    for bone in armature.data.bones:
        bone.bbone_segments = 4
    bow(armature)
    bpy.context.view_layer.update()
    return obj, armature


@pytest.mark.parametrize("bow", BENDY)
def test_bendy_ssd_equals_the_armature_modifier(bow):
    obj, armature = bendy_tube(bow)
    twin = add_twin(obj)
    bind_by_operator(obj)
    bend(armature)
    assert_same(obj, twin)


@pytest.mark.parametrize("bow", [straight, CURVED, handled])
def test_bendy_dlb_equals_preserve_volume(bow):
    obj, armature = bendy_tube(bow)
    twin = add_twin(obj)
    armature_modifier(twin).use_deform_preserve_volume = True
    bind_by_operator(obj, method="DLB")
    turn(armature, "bone.1", (radians(30), radians(20), 0))
    turn(armature, "bone.2", (radians(25), 0, radians(-15)))
    assert_same(obj, twin)


@pytest.mark.parametrize("dress", [ENVELOPES[0], with_face_key, with_inverted_modifier_group])
def test_bendy_with_the_rest(dress):
    obj, armature = bendy_tube(eased)
    dress(obj, armature)
    twin = add_twin(obj)
    bind_by_operator(obj)
    bend(armature)
    assert_same(obj, twin)


def test_bendy_bones_bind_before_blender_has_evaluated_their_segments():
    obj, armature = add_tube()
    for bone in armature.data.bones:
        bone.bbone_segments = 4
    twin = add_twin(obj)
    select(obj)
    assert bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE) == {"FINISHED"}
    bend(armature)
    assert_same(obj, twin)


@pytest.mark.python_only("nodes divide vertices among segments by where the mesh object was at Bind")
@pytest.mark.parametrize("bow", [straight, curved])
def test_bendy_with_an_animated_object_transform(bow):
    """Blender divides vertices among segments by where the mesh object is in each frame."""
    obj, armature = bendy_tube(bow)
    twin = add_twin(obj)
    for mover in (obj, twin):
        for frame, value in ((1, 0.0), (20, 0.4)):
            mover.location = (0, value, 0)
            mover.keyframe_insert("location", frame=frame)
    bpy.context.scene.frame_set(1)
    bind_by_operator(obj)
    bend(armature)
    for frame in (1, 20, 10):
        bpy.context.scene.frame_set(frame)
        assert_same(obj, twin)


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
