"""What is bound by SSD, beside Blender's own Armature modifier with its options and with B-Bones."""

from collections.abc import Callable
from math import radians

import bpy
import pytest
from mathutils import Euler, Matrix
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
from scenes_twins import TOLERANCE

from scenes import (
    EVALUATE,
    add_tube,
    add_twin,
    armature_modifier,
    distance,
    evaluated_points,
    rest_points,
    select,
    turn,
)
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")


def with_simple_deform_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    modifier = obj.modifiers.new("Bend", "SIMPLE_DEFORM")
    modifier.deform_method, modifier.deform_axis, modifier.factor = "TAPER", "Y", 0.4
    obj.modifiers.move(1, 0)


# Parity with the Armature modifier


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
