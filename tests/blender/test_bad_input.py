"""Objects and actions that Supple cannot work with: each is told in words, and nothing is broken.

What Bind refuses is in `test_refusals.py`.
"""

import re
from collections.abc import Callable
from itertools import product
from math import inf, nan

import bpy
import numpy as np
import pytest
from scenes_methods import BLEND_KEYS, BLENDS, choose, parametrize_blends
from scenes_twins import TOLERANCE, assert_follows, bend, bent_tube

import scenes
from supple.settings.objects import settings_of
from supple.tasks.subject.stack import find_supple_modifier

pytestmark = pytest.mark.usefixtures("silent_handlers")


def two_modifiers(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    obj.modifiers.new("Second", "ARMATURE").object = armature


def above(kind: str) -> Callable[[bpy.types.Object, bpy.types.Object], None]:
    def put_above(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
        obj.modifiers.new("Maker", kind)
        obj.modifiers.move(len(obj.modifiers) - 1, 0)

    return put_above


@pytest.mark.usefixtures("evaluator")
def test_a_modifier_that_is_switched_off_may_stand_above():
    obj, armature = scenes.add_tube()
    twin = scenes.add_twin(obj)
    above("SUBSURF")(obj, armature)
    obj.modifiers["Maker"].show_viewport = obj.modifiers["Maker"].show_render = False
    scenes.bind(obj, method="SSD")
    bend(armature)
    assert_follows(obj, twin)


@pytest.mark.usefixtures("evaluator")
def test_the_one_of_two_armature_modifiers_that_is_on_is_replaced():
    obj, armature = scenes.add_tube()
    two_modifiers(obj, armature)
    obj.modifiers["Armature"].show_viewport = obj.modifiers["Armature"].show_render = False
    twin = scenes.add_twin(obj)
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
        lambda obj, _: obj.modifiers.remove(scenes.armature_modifier(obj)),
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


@pytest.mark.parametrize("look", [scenes.update, lambda: bpy.context.scene.frame_set(5)], ids=["update", "frame"])
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
    assert np.isfinite(scenes.evaluated_points(obj)).all()
    if part not in NO_WAY_BACK:
        scenes.bind(obj, method="SSD")
        bend(armature, angle=40)
        assert_follows(obj, twin)
        assert [modifier.type for modifier in obj.modifiers].count("NODES") == 1
        lose(obj, armature)
        scenes.update()
    scenes.select(obj)
    assert bpy.ops.supple.unbind() == {"FINISHED"}
    scenes.update()
    assert not settings_of(obj).is_bound
    assert settings_of(obj).message == ""
    assert not [modifier for modifier in obj.modifiers if modifier.type == "NODES"]
    assert not [group for group in bpy.data.node_groups if not group.use_fake_user]
    left = [modifier for modifier in obj.modifiers if modifier.type == "ARMATURE"]
    assert all(modifier.show_viewport and modifier.show_render for modifier in left), "it deforms again"


def test_toggles_survive_the_loss_of_the_node_modifier():
    """The node modifier that Bind puts back is no more visible than the Armature modifier was."""
    obj, _ = scenes.add_tube()
    scenes.armature_modifier(obj).show_render = False
    scenes.bind(obj, method="SSD")
    obj.modifiers.remove(find_supple_modifier(obj))
    scenes.bind(obj, method="SSD")
    bpy.ops.supple.unbind()
    assert (scenes.armature_modifier(obj).show_viewport, scenes.armature_modifier(obj).show_render) == (True, False)


def test_an_armature_modifier_added_anew_can_be_bound_after_unbind():
    obj, armature, twin = bent_tube()
    obj.modifiers.remove(scenes.armature_modifier(obj))
    scenes.update()
    scenes.select(obj)
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
            scenes.update()
            assert "'Maker'" in settings_of(obj).message
            assert "move it below" in settings_of(obj).message
            obj.modifiers.remove(obj.modifiers["Maker"])
            bend(armature, angle=30)
            assert settings_of(obj).message == ""


@pytest.mark.usefixtures("evaluator")
def test_a_linear_group_that_does_not_exist_is_reported_and_the_last_shape_kept():
    obj, armature, twin = bent_tube()
    shown = scenes.evaluated_points(obj)
    settings_of(obj).linear_group = "gone"
    scenes.update()
    assert "no vertex group 'gone': choose another linear group, or leave it empty" in settings_of(obj).message
    assert np.array_equal(scenes.evaluated_points(obj), shown)
    settings_of(obj).linear_group = ""
    bend(armature, angle=30)
    assert_follows(obj, twin)


# Poses


@pytest.mark.parametrize("keyed", [False, True], ids=["plain", "with a key"])
def test_a_pose_of_no_numbers_keeps_the_last_shape(keyed, subtests):
    obj, armature = scenes.add_tube()
    if keyed:
        obj.shape_key_add(name="Basis")
    twin = scenes.add_twin(obj)
    scenes.bind(obj, method="DLBNT")
    bone = armature.pose.bones["bone.1"]
    for channel in ("scale", "rotation_euler"):
        with subtests.test(channel):
            bend(armature)
            shown = scenes.evaluated_points(obj)
            setattr(bone, channel, (nan, 1, 1))
            scenes.update()
            assert not np.isfinite(np.array(bone.matrix)).all()
            assert "not numbers (NaN or infinite): check the drivers and constraints" in settings_of(obj).message
            assert np.array_equal(scenes.evaluated_points(obj), shown)
            bend(armature)
            assert settings_of(obj).message == ""
            assert np.array_equal(scenes.evaluated_points(obj), shown)
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
            scenes.update()
            assert np.isfinite(scenes.evaluated_points(obj)).all()
            bend(armature, angle=30)
    settings_of(obj).method = "SSD"
    scenes.update()
    assert_follows(obj, twin)


ZERO_SCALES = {"one axis": (0, 1, 1), "two axes": (1, 0, 0), "all axes": (0, 0, 0)}


@parametrize_blends(BLENDS)
def test_zero_scale_is_finite(method, params, subtests):
    obj, armature = scenes.add_tube()
    twin = scenes.add_twin(obj)
    choose(obj, method, params)
    scenes.bind(obj, method=method, evaluate="PYTHON")
    for name, (kind, scale) in product(("bone.0", "bone.1"), ZERO_SCALES.items()):
        with subtests.test(name, scale=kind):
            scenes.turn(armature, "bone.0")
            scenes.turn(armature, name, (0.5, 0.3, 0), scale)
            points = scenes.evaluated_points(obj)
            assert settings_of(obj).message == ""
            assert np.isfinite(points).all()
            assert np.abs(points).max() < 10, "no point flies away"
    settings_of(obj).method = "SSD"
    for name, (kind, scale) in product(("bone.1", "bone.0"), ZERO_SCALES.items()):
        with subtests.test("as Blender's own", bone=name, scale=kind):
            scenes.turn(armature, "bone.1")
            scenes.turn(armature, name, (0.5, 0.3, 0), scale)
            errors = np.linalg.norm(scenes.evaluated_points(twin) - scenes.evaluated_points(obj), axis=1)
            assert errors.max() <= TOLERANCE * scenes.diagonal(scenes.rest_points(obj))


@pytest.mark.usefixtures("evaluator")
def test_zero_scale_of_the_armature_object(subtests):
    obj, armature, _ = bent_tube(method="DLBNT")
    for axes in (1, 2, 3):
        with subtests.test(axes=axes):
            armature.scale = [0 if axis < axes else 1 for axis in range(3)]
            scenes.update()
            assert np.isfinite(scenes.evaluated_points(obj)).all()
            armature.scale = (1, 1, 1)
            scenes.update()
            assert settings_of(obj).message == ""
            assert np.isfinite(scenes.evaluated_points(obj)).all()
