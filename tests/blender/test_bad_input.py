"""Objects and actions that Supple cannot work with: each is refused in words, and nothing is changed or broken."""

import re
from collections.abc import Callable
from itertools import product
from math import inf, nan

import bpy
import numpy as np
import pytest
from scenes_methods import BLEND_KEYS, BLENDS, choose, parametrize_blends
from scenes_twins import TOLERANCE, all_weights_zero, assert_follows, bend, bent_tube

import scenes
from scenes import (
    add_tube,
    add_twin,
    armature_modifier,
    diagonal,
    evaluated_points,
    rest_points,
    select,
    snapshot,
    turn,
    update,
)
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind
from supple.tasks.subject.stack import find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")


# What Bind refuses; `bad_input/test_operators.py` has more


def groups_of_other_names(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.name = f"x {group.name}"


def deform_off_where_there_are_weights(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.2"].use_deform = False
    for name in ("bone.0", "bone.1"):
        obj.vertex_groups.remove(obj.vertex_groups[name])


def no_bones(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    empty = bpy.data.objects.new("Boneless", bpy.data.armatures.new("Boneless"))
    bpy.context.scene.collection.objects.link(empty)
    armature_modifier(obj).object = empty


def empty_groups(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    for group in obj.vertex_groups:
        group.remove(list(range(len(obj.data.vertices))))


def two_modifiers(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.modifiers.new("Second", "ARMATURE").object = armature


def switched_off(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    armature_modifier(obj).show_viewport = armature_modifier(obj).show_render = False


def missing_linear_group(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    settings_of(obj).linear_group = "gone"


def above(kind: str) -> Callable[[bpy.types.Object, bpy.types.Object], None]:
    def put_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
        obj.modifiers.new("Maker", kind)
        obj.modifiers.move(len(obj.modifiers) - 1, 0)

    return put_above


REFUSALS = (
    (groups_of_other_names, r"None of the 3 vertex groups of 'Tube' .* bone of 'Rig': rename the groups"),
    (deform_off_where_there_are_weights, r"None of the 1 vertex groups .*: rename the groups, or turn on Deform"),
    (no_bones, r"'Boneless' has no deforming bones: "),
    (all_weights_zero, r"No vertex of 'Tube' has a weight for a deforming bone of 'Rig': paint weights"),
    (empty_groups, r"No vertex of 'Tube' has a weight for a deforming bone of 'Rig': paint weights"),
    (two_modifiers, r"'Tube' has 2 Armature modifiers \('Armature', 'Second'\): disable all but"),
    (switched_off, r"'Armature' of 'Tube' is disabled: enable it first"),
    (missing_linear_group, r"'Tube' has no vertex group 'gone': choose another linear group, or leave it empty"),
)
MAKERS = ("SUBSURF", "MIRROR", "DECIMATE")
MAKER_ABOVE = r"'Maker' of 'Tube' is above 'Armature' and changes the number of vertices: move it below"


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        *(pytest.param(*refusal, id=refusal[0].__name__) for refusal in REFUSALS),
        *(pytest.param(above(kind), MAKER_ABOVE, id=f"{kind} above") for kind in MAKERS),
    ],
)
def test_bind_refuses(spoil, words):
    obj, armature = add_tube()
    spoil(obj, armature)
    update()
    before, shown = snapshot(obj), evaluated_points(obj)
    select(obj)
    if words != MAKER_ABOVE:  # Blender's own modifiers deform what is made above
        with pytest.raises(RuntimeError, match=words):
            bpy.ops.supple.bind()
    with pytest.raises(SkinningError, match=words):
        bind([obj], "DLBNT", "PYTHON")
    update()
    assert snapshot(obj) == before
    assert not settings_of(obj).is_bound
    assert np.array_equal(evaluated_points(obj), shown)


def test_bind_refuses_what_is_not_a_mesh():
    obj = bpy.data.objects.new("Cage", bpy.data.lattices.new("Cage"))
    with pytest.raises(SkinningError, match="'Cage' is not a mesh: select a mesh"):
        bind([obj], "SSD", "PYTHON")
    with pytest.raises(SkinningError, match="Nothing to bind: select a mesh"):
        bind([], "SSD", "PYTHON")


@pytest.mark.usefixtures("evaluator")
def test_a_modifier_that_is_switched_off_may_stand_above():
    obj, armature = add_tube()
    twin = add_twin(obj)
    above("SUBSURF")(obj, armature)
    obj.modifiers["Maker"].show_viewport = obj.modifiers["Maker"].show_render = False
    scenes.bind(obj, method="SSD")
    bend(armature)
    assert_follows(obj, twin)


@pytest.mark.usefixtures("evaluator")
def test_the_one_of_two_armature_modifiers_that_is_on_is_replaced():
    obj, armature = add_tube()
    two_modifiers(obj, armature)
    obj.modifiers["Armature"].show_viewport = obj.modifiers["Armature"].show_render = False
    twin = add_twin(obj)
    scenes.bind(obj, method="SSD")
    assert settings_of(obj).armature_modifier == "Second"
    bend(armature)
    assert_follows(obj, twin)
    for one in (obj, twin):
        one.modifiers["Second"].name = "Renamed"
    bend(armature, angle=20)
    assert_follows(obj, twin)


# Parts that are deleted


LOSSES: dict[str, tuple[Callable[[bpy.types.Object, bpy.types.Object], object], str]] = {
    "armature": (
        lambda _, armature: bpy.data.objects.remove(armature),
        r"'Armature' of 'Tube' has no armature: choose an armature",
    ),
    "Armature modifier": (
        lambda obj, _: obj.modifiers.remove(armature_modifier(obj)),
        r"'Armature' of 'Tube' was removed: unbind",
    ),
    "Supple modifier": (
        lambda obj, _: obj.modifiers.remove(find_supple_modifier(obj)),
        r"Supple modifier of 'Tube' was removed: press Unbind, or Bind",
    ),
    "node group": (
        lambda obj, _: bpy.data.node_groups.remove(find_supple_modifier(obj).node_group),
        r"node group of 'Tube' was removed: bind again",
    ),
    "carrier": (
        lambda obj, _: bpy.data.objects.remove(settings_of(obj).carrier),
        r"hidden object that 'Tube' needs was deleted: bind again",
    ),
    "carrier's mesh": (
        lambda obj, _: bpy.data.meshes.remove(settings_of(obj).carrier.data),
        r"hidden object that 'Tube' needs was deleted: bind again",
    ),
}
"""How to lose it, and the message then."""

NO_WAY_BACK = ("armature", "Armature modifier")


@pytest.mark.parametrize("look", [update, lambda: bpy.context.scene.frame_set(5)], ids=["update", "frame"])
@pytest.mark.parametrize(
    ("evaluator", "part"),
    [("PYTHON", part) for part in LOSSES] + [("BLENDER", part) for part in NO_WAY_BACK],
    indirect=["evaluator"],
)
@pytest.mark.usefixtures("evaluator")
def test_a_lost_part_is_reported_and_bind_and_unbind_mend_it(part, look):
    lose, words = LOSSES[part]
    obj, armature, twin = bent_tube()
    lose(obj, armature)
    obj.update_tag()
    look()
    assert re.search(words, settings_of(obj).message)
    assert np.isfinite(evaluated_points(obj)).all()
    if part not in NO_WAY_BACK:
        scenes.bind(obj, method="SSD")
        bend(armature, angle=40)
        assert_follows(obj, twin)
        assert [modifier.type for modifier in obj.modifiers].count("NODES") == 1
        lose(obj, armature)
        update()
    select(obj)
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    update()
    assert not settings_of(obj).is_bound
    assert settings_of(obj).message == ""
    assert not [modifier for modifier in obj.modifiers if modifier.type == "NODES"]
    assert not [group for group in bpy.data.node_groups if not group.use_fake_user]
    left = [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE"]
    assert all(modifier.show_viewport and modifier.show_render for modifier in left), "it deforms again"


def test_toggles_survive_the_loss_of_the_node_modifier():
    """The node modifier that Bind puts back is no more visible than the Armature modifier was."""
    obj, _ = add_tube()
    armature_modifier(obj).show_render = False
    scenes.bind(obj, method="SSD")
    obj.modifiers.remove(find_supple_modifier(obj))
    scenes.bind(obj, method="SSD")
    bpy.ops.supple.unbind()
    assert (armature_modifier(obj).show_viewport, armature_modifier(obj).show_render) == (True, False)


def test_an_armature_modifier_added_anew_can_be_bound_after_unbind():
    obj, armature, twin = bent_tube()
    obj.modifiers.remove(armature_modifier(obj))
    update()
    select(obj)
    bpy.ops.supple.unbind()
    obj.modifiers.new("Armature", "ARMATURE").object = armature
    scenes.bind(obj, method="SSD")
    bend(armature, angle=40)
    assert_follows(obj, twin)


def test_a_modifier_that_is_put_above_a_bound_object_is_named(subtests):
    obj, armature, _ = bent_tube()
    for kind, settings in (("SUBSURF", {"levels": 1}), ("MIRROR", {"use_mirror_merge": False})):
        with subtests.test(kind):
            above(kind)(obj, armature)
            for name, value in settings.items():
                setattr(obj.modifiers["Maker"], name, value)
            update()
            assert "'Maker'" in settings_of(obj).message
            assert "move it below" in settings_of(obj).message
            obj.modifiers.remove(obj.modifiers["Maker"])
            bend(armature, angle=30)
            assert settings_of(obj).message == ""


@pytest.mark.usefixtures("evaluator")
def test_a_linear_group_that_does_not_exist_is_reported_and_the_last_shape_kept():
    obj, armature, twin = bent_tube()
    shown = evaluated_points(obj)
    settings_of(obj).linear_group = "gone"
    update()
    assert "no vertex group 'gone': choose another linear group, or leave it empty" in settings_of(obj).message
    assert np.array_equal(evaluated_points(obj), shown)
    settings_of(obj).linear_group = ""
    bend(armature, angle=30)
    assert_follows(obj, twin)


# Poses


@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "with a key"])
def test_a_pose_of_no_numbers_keeps_the_last_shape(keyed, subtests):
    obj, armature = add_tube()
    if keyed:
        obj.shape_key_add(name="Basis")
    twin = add_twin(obj)
    scenes.bind(obj, method="DLBNT")
    bone = armature.pose.bones["bone.1"]
    for channel in ("scale", "rotation_euler"):
        with subtests.test(channel):
            bend(armature)
            shown = evaluated_points(obj)
            setattr(bone, channel, (nan, 1, 1))
            update()
            assert not np.isfinite(np.array(bone.matrix)).all()
            assert "not numbers (NaN or infinite): check the drivers and constraints" in settings_of(obj).message
            assert np.array_equal(evaluated_points(obj), shown)
            bend(armature)
            assert settings_of(obj).message == ""
            assert np.array_equal(evaluated_points(obj), shown)
    settings_of(obj).method = "SSD"
    bend(armature, angle=30)
    assert_follows(obj, twin)


@pytest.mark.parametrize("method", BLEND_KEYS)
def test_a_pose_too_large_to_compute_with(method, subtests):
    """Blender turns infinite scales into the largest number there is: a shape that is finite, or the last one."""
    obj, armature, twin = bent_tube(method)
    for scale in (inf, 1e38, 1e20):
        with subtests.test(scale=scale):
            armature.pose.bones["bone.1"].scale = (scale, scale, scale)
            update()
            assert np.isfinite(evaluated_points(obj)).all()
            bend(armature, angle=30)
    settings_of(obj).method = "SSD"
    update()
    assert_follows(obj, twin)


ZERO_SCALES = {"one axis": (0, 1, 1), "two axes": (1, 0, 0), "all axes": (0, 0, 0)}


@parametrize_blends(BLENDS)
def test_zero_scale_is_finite(method, params, subtests):
    obj, armature = add_tube()
    twin = add_twin(obj)
    choose(obj, method, params)
    scenes.bind(obj, method=method, evaluate="PYTHON")
    for name, (kind, scale) in product(("bone.0", "bone.1"), ZERO_SCALES.items()):
        with subtests.test(name, scale=kind):
            turn(armature, "bone.0")
            turn(armature, name, (0.5, 0.3, 0), scale)
            points = evaluated_points(obj)
            assert settings_of(obj).message == ""
            assert np.isfinite(points).all()
            assert np.abs(points).max() < 10, "no point flies away"
    settings_of(obj).method = "SSD"
    for name, (kind, scale) in product(("bone.1", "bone.0"), ZERO_SCALES.items()):
        with subtests.test("as Blender's own", bone=name, scale=kind):
            turn(armature, "bone.1")
            turn(armature, name, (0.5, 0.3, 0), scale)
            errors = np.linalg.norm(evaluated_points(twin) - evaluated_points(obj), axis=1)
            assert errors.max() <= TOLERANCE * diagonal(rest_points(obj))


@pytest.mark.usefixtures("evaluator")
def test_zero_scale_of_the_armature_object(subtests):
    obj, armature, _ = bent_tube(method="DLBNT")
    for axes in (1, 2, 3):
        with subtests.test(axes=axes):
            armature.scale = [0 if axis < axes else 1 for axis in range(3)]
            update()
            assert np.isfinite(evaluated_points(obj)).all()
            armature.scale = (1, 1, 1)
            update()
            assert settings_of(obj).message == ""
            assert np.isfinite(evaluated_points(obj)).all()
