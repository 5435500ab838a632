"""What is bound by SSD, beside Blender's own Armature modifier with its options and with B-Bones."""

from collections.abc import Callable
from itertools import product
from math import radians

import bpy
import pytest
from scenes_bind import (
    TRANSFORMS,
    animate_object,
    assert_same,
    bend,
    plain,
    widen,
    with_cast_above,
    with_deform_off,
    with_displace_above,
    with_empty_inverted_modifier_group,
    with_face_key,
    with_groups_without_bones,
    with_inverted_modifier_group,
    with_lattice_above,
    with_missing_modifier_group,
    with_modifier_group,
    with_sums_that_are_not_one,
    with_unweighted_vertices,
)

from scenes import (
    TOLERANCE,
    add_tube,
    add_twin,
    armature_modifier,
    bind,
    clear,
    distance,
    evaluated_points,
    rest_points,
    select,
    turn,
    update,
)
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")


def with_simple_deform_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    modifier = obj.modifiers.new("Bend", "SIMPLE_DEFORM")
    modifier.deform_method, modifier.deform_axis, modifier.factor = "TAPER", "Y", 0.4
    obj.modifiers.move(1, 0)


# Parity with the Armature modifier


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


ENVELOPES = (
    with_envelopes_only, with_groups_switched_off, with_envelopes_and_groups, with_multiplied_envelopes,
)  # fmt: skip
"""What nodes do not have."""

PARITY = (
    plain, with_lattice_above, with_cast_above, with_displace_above, with_simple_deform_above, with_face_key,
    with_modifier_group, with_inverted_modifier_group, with_empty_inverted_modifier_group,
    with_missing_modifier_group, with_unweighted_vertices, with_sums_that_are_not_one, with_groups_without_bones,
    with_deform_off,
)  # fmt: skip


def assert_equals_the_modifier(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Bound by SSD and bent, a mesh is where Blender's own modifier has it."""
    twin = add_twin(obj)
    update()
    bind(obj, method="SSD")
    bend(armature)
    assert_same(obj, twin)


@pytest.mark.versions
def test_ssd_equals_the_armature_modifier(evaluator: str, subtests: pytest.Subtests):
    for dress in PARITY if evaluator == "NODES" else (*PARITY, *ENVELOPES):
        with subtests.test(dress.__name__):
            clear()
            obj, armature = add_tube()
            dress(obj, armature)
            assert_equals_the_modifier(obj, armature)


@pytest.mark.parametrize("method", ["DLB", "DLBNT"])
def test_transforms_carry_the_keyed_shape(method):
    """A vertex moved by a key goes where the same vertex goes in a mesh that rests in the keyed shape."""
    keyed, armature = add_tube()
    with_face_key(keyed, armature)
    rest = add_twin(keyed)
    mixed = evaluated_points(keyed)  # the armature is at rest still
    rest.shape_key_clear()
    rest.data.vertices.foreach_set("co", mixed.ravel())
    bind(keyed, rest, method=method)
    bend(armature)
    assert distance(evaluated_points(rest), evaluated_points(keyed)) <= TOLERANCE
    keyed.data.shape_keys.key_blocks["Puff"].value = 0.0
    update()
    assert distance(evaluated_points(rest), evaluated_points(keyed)) > 0.01


def test_object_transforms(subtests: pytest.Subtests):
    for name, parented in product(TRANSFORMS, (False, True)):
        with subtests.test(name, parented=parented):
            clear()
            obj, armature = add_tube()
            if parented:
                obj.parent = armature
            obj.matrix_local, armature.matrix_world = TRANSFORMS[name]
            assert_equals_the_modifier(obj, armature)


def test_animated_object_transforms(subtests: pytest.Subtests):
    for dress, who in product((plain, with_multiplied_envelopes), ("mesh", "armature")):
        clear()
        obj, armature = add_tube()
        dress(obj, armature)
        animate_object(obj if who == "mesh" else armature)
        twin = add_twin(obj)
        bpy.context.scene.frame_set(1)
        bind(obj, method="SSD")
        bend(armature)
        for frame in (8, 3, 5, 1):
            with subtests.test(dress.__name__, who=who, frame=frame):
                bpy.context.scene.frame_set(frame)
                assert_same(obj, twin)


def test_rest_position():
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind(obj, method="DLBNT")
    bend(armature)
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.1
    armature.data.pose_position = "REST"
    update()
    assert distance(rest_points(obj), evaluated_points(obj)) <= TOLERANCE
    armature.data.pose_position = "POSE"
    settings_of(obj).method = "SSD"
    update()
    assert_same(obj, twin)


def test_linear_group_mixes_in_the_armature_modifier(subtests: pytest.Subtests):
    obj, armature = add_tube()
    twin = add_twin(obj)
    mixing = obj.vertex_groups.new(name="linear")
    bind(obj, method="DLBNT")
    bend(armature)
    alone, linear = evaluated_points(obj), evaluated_points(twin)
    assert distance(alone, linear) > 0.01
    for mix in (0.0, 0.5, 1.0):
        with subtests.test(mix=mix):
            mixing.add(list(range(len(obj.data.vertices))), mix, "REPLACE")
            obj.data.update_tag()
            settings_of(obj).linear_group = "linear"
            update()
            assert distance((1.0 - mix) * alone + mix * linear, evaluated_points(obj)) <= TOLERANCE


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


BENDY = (straight, eased, rolled_at_rest, handled, scaled_along)


def bendy_tube(bow: Callable[[bpy.types.Object], None]) -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_tube()
    for bone in armature.data.bones:
        bone.bbone_segments = 4
    bow(armature)
    update()
    return obj, armature


@pytest.mark.versions
def test_bendy_ssd_equals_the_armature_modifier(evaluator: str, subtests: pytest.Subtests):
    for bow in BENDY if evaluator == "NODES" else (*BENDY, curved):  # nodes divide no vertices along a curve
        with subtests.test(bow.__name__):
            clear()
            assert_equals_the_modifier(*bendy_tube(bow))


def test_bendy_dlb_equals_preserve_volume(subtests: pytest.Subtests):
    for bow in (straight, curved, handled):
        with subtests.test(bow.__name__):
            clear()
            obj, armature = bendy_tube(bow)
            twin = add_twin(obj)
            armature_modifier(twin).use_deform_preserve_volume = True
            bind(obj, method="DLB")
            turn(armature, "bone.1", (radians(30), radians(20), 0))
            turn(armature, "bone.2", (radians(25), 0, radians(-15)))
            assert_same(obj, twin)


def test_bendy_with_the_rest(subtests: pytest.Subtests):
    for dress in (with_envelopes_only, with_face_key, with_inverted_modifier_group):
        with subtests.test(dress.__name__):
            clear()
            obj, armature = bendy_tube(eased)
            dress(obj, armature)
            assert_equals_the_modifier(obj, armature)


@pytest.mark.usefixtures("evaluator")
def test_bendy_bones_bind_before_blender_has_evaluated_their_segments():
    obj, armature = add_tube()
    for bone in armature.data.bones:
        bone.bbone_segments = 4
    twin = add_twin(obj)
    bind(obj, method="SSD")
    bend(armature)
    assert_same(obj, twin)


def test_bendy_with_an_animated_object_transform(subtests: pytest.Subtests):
    """Blender divides vertices among segments by where the mesh object is in each frame; nodes by where it was."""
    for bow in (straight, curved):
        clear()
        obj, armature = bendy_tube(bow)
        twin = add_twin(obj)
        for mover in (obj, twin):
            for frame, value in ((1, 0.0), (20, 0.4)):
                mover.location = (0, value, 0)
                mover.keyframe_insert("location", frame=frame)
        bpy.context.scene.frame_set(1)
        bind(obj, method="SSD")
        bend(armature)
        for frame in (1, 20, 10):
            with subtests.test(bow.__name__, frame=frame):
                bpy.context.scene.frame_set(frame)
                assert_same(obj, twin)
