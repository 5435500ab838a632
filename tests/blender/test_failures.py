"""What no user can have meant, or another version of Supple has stored: one object fails, and the others go on."""

import bpy
import numpy as np
import pytest
from scenes_state import refuse
from scenes_twins import add_puff, assert_follows, bend, bent_tube, bound_tube

import scenes
from supple import live
from supple.settings.objects import settings_of
from supple.tasks.skin import by_blender, by_python
from supple.tasks.skin import live as skin

pytestmark = pytest.mark.usefixtures("silent_handlers")

UNKNOWN = 7
"""No method has this number."""


def store_unknown_method(obj: bpy.types.Object) -> None:
    """As a file of a later Supple has it."""
    settings = settings_of(obj)
    if hasattr(settings, "bl_system_properties_get"):  # 5.0 and later
        settings.bl_system_properties_get(do_create=True)["method"] = UNKNOWN
    else:
        settings["method"] = UNKNOWN
    obj.data.update_tag()


def rename_input(obj: bpy.types.Object) -> None:
    group = next(modifier.node_group for modifier in obj.modifiers if modifier.type == "NODES")
    for item in group.interface.items_tree:
        item.name = f"Other {item.name}"
    obj.data.attributes.new("Other", "FLOAT", "POINT")  # a mesh that has changed has its inputs written again
    obj.data.update_tag()


@pytest.fixture
def two_tubes() -> tuple:
    """A tube that is to fail, its twin, and another tube with its twin: bound by Python, by groups of their own."""
    tubes = []
    for name in ("Failing", "Other"):
        obj, armature = scenes.add_tube(rings=9, sides=6)
        obj.name = name
        twin = scenes.add_twin(obj)
        scenes.bind(obj, method="SSD", evaluate="PYTHON")
        bend(armature)
        tubes.append((obj, armature, twin))
    supple = tubes[0][0].modifiers[0]
    supple.node_group = supple.node_group.copy()
    scenes.update()
    return tubes


@pytest.mark.parametrize("spoil", [store_unknown_method, rename_input])
def test_an_object_that_fails_is_left_to_its_armature_modifier_until_it_is_bound_again(spoil, two_tubes, capfd):
    (failing, armature, failing_twin), (other, other_armature, other_twin) = two_tubes
    spoil(failing)
    for angle in (30, 40, 50):
        bend(armature, angle)
        bend(other_armature, angle)
        scenes.update()
    assert_follows(other, other_twin)
    assert scenes.distance(scenes.evaluated_points(failing), scenes.evaluated_points(failing_twin)) == 0.0
    assert "no such method" in settings_of(failing).message or "lost its input" in settings_of(failing).message
    assert capfd.readouterr().err.count("Supple: ") == 1
    scenes.bind(failing, method="SSD", evaluate="PYTHON")
    bend(armature, 20)
    assert_follows(failing, failing_twin)
    spoil(failing)
    scenes.update()
    scenes.select(failing)
    bpy.ops.supple.unbind()
    assert [(m.type, m.show_viewport, m.show_render) for m in failing.modifiers] == [("ARMATURE", True, True)]


@pytest.mark.versions
@pytest.mark.parametrize("evaluate", ["PYTHON", "BLENDER"])
def test_a_file_with_an_unknown_method_opens_and_renders_by_the_armature_modifier(evaluate, tmp_path):
    obj, armature = scenes.add_tube()
    twin = scenes.add_twin(obj)
    twin.name = "Twin"
    scenes.bind(obj, method="SSD", evaluate=evaluate)
    bend(armature)
    store_unknown_method(obj)
    path = scenes.save(tmp_path / "later.blend")
    scenes.reset()
    scenes.open_file(path)
    bend(bpy.data.objects["Rig"], 20)
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert scenes.distance(scenes.evaluated_points(obj), scenes.evaluated_points(twin)) == 0.0
    assert "no such method" in settings_of(obj).message


@pytest.mark.parametrize("evaluate", ["PYTHON", "BLENDER"])
def test_an_error_in_any_step_is_caught(evaluate, monkeypatch, tmp_path):
    obj, armature = scenes.add_tube()
    twin = scenes.add_twin(obj)
    scenes.bind(obj, method="SSD", evaluate=evaluate)

    def fail(*_arguments, **_keywords):
        raise LookupError("of the test")  # of no kind that Supple raises or expects

    with monkeypatch.context() as patch:
        for module in (by_python, by_blender):
            patch.setattr(module, "follow", fail)
        patch.setattr(skin, "hand_over", fail)
        patch.setattr(skin, "take_over", fail)
        obj.data.update_tag()
        bend(armature)
        scenes.save(tmp_path / "copy.blend", copy=True)
    assert "LookupError: of the test" in settings_of(obj).message
    assert scenes.distance(scenes.evaluated_points(obj), scenes.evaluated_points(twin)) == 0.0
    scenes.bind(obj, method="SSD", evaluate=evaluate)
    bend(armature, 20)
    assert_follows(obj, twin)


# Weights that change along with something else


def change_weights(*objects: bpy.types.Object) -> None:
    for obj in objects:
        for name, weight in (("bone.0", 1.0), ("bone.1", 0.0), ("bone.2", 0.0)):
            obj.vertex_groups[name].add(list(range(100, 300)), weight, "REPLACE")
        obj.data.update_tag()


@pytest.mark.usefixtures("evaluator")
def test_weights_and_a_slider_that_change_in_one_update_are_followed():
    obj, _, twin = bent_tube()
    keys = add_puff(obj, twin)
    assert_follows(obj, twin)
    before = scenes.evaluated_points(obj)
    change_weights(obj, twin)
    for key in keys:
        key.value = 0.3
    assert_follows(obj, twin)
    assert scenes.distance(before, scenes.evaluated_points(obj)) > 0.02


def test_weights_and_a_slider_are_followed_with_a_window_once_the_slider_rests(monkeypatch):
    obj, _, twin = bent_tube()
    keys = add_puff(obj, twin)
    scenes.update()
    monkeypatch.setattr(skin, "_has_timers", lambda: True)
    change_weights(obj, twin)
    for key in keys:
        key.value = 0.3
    scenes.update()
    assert skin.come_back() is not None, "the slider may still move"
    monkeypatch.setattr(skin.patterns, "SETTLED", 0.0)
    assert skin.come_back() is None
    assert_follows(obj, twin)


def test_weights_that_change_while_baked_keys_deform_are_followed_when_live_again():
    obj, armature, twin = bound_tube()
    scene = bpy.context.scene
    scene.frame_end = 3
    bend(armature)
    scenes.select(obj)
    bpy.ops.supple.bake_shape_keys(frame_start=1, frame_end=3)
    scene.frame_set(2)
    change_weights(obj, twin)
    scene.frame_set(3)
    bpy.ops.supple.clear_bake()
    assert_follows(obj, twin)
    assert np.isfinite(scenes.evaluated_points(obj)).all()


# Modifiers, parents and numbers that no user can have meant


def test_a_modifier_that_supple_was_moved_below_is_named(evaluator):
    obj, armature, twin = bent_tube()
    obj.modifiers.new("Thick", "SOLIDIFY")
    obj.modifiers.move(0, len(obj.modifiers) - 1)  # Armature, Solidify, Supple
    bend(armature, 20)
    if evaluator == "PYTHON":
        message = "Modifier 'Thick' of 'Tube' is above 'Supple' and changes the number of vertices"
        assert message in settings_of(obj).message
        refuse(message, scenes.bind, obj, method="SSD")
        obj.modifiers.move(2, 1)
        bend(armature, 30)
        assert settings_of(obj).message == ""
    else:
        twin.modifiers.new("Thick", "SOLIDIFY")
        twin.modifiers.move(1, 0)
        assert_follows(obj, twin)


@pytest.mark.parametrize("parent_type", ["ARMATURE", "OBJECT"])
def test_an_object_that_its_parent_deforms_too_is_deformed_as_by_blender(parent_type):
    obj, armature = scenes.add_tube()
    obj.parent, obj.parent_type = armature, parent_type
    twin = scenes.add_twin(obj)
    scenes.bind(obj, method="SSD")
    bend(armature)
    assert_follows(obj, twin)
    scenes.select(obj)
    if parent_type == "ARMATURE":
        refuse("parent type to Object", bpy.ops.supple.bake_shape_keys, frame_start=1, frame_end=2)
    bpy.ops.supple.unbind()
    assert_follows(obj, twin)


@pytest.mark.parametrize(
    ("evaluator", "method"),
    [("PYTHON", "SSD"), ("PYTHON", "DLBNT"), ("PYTHON", "PARTICLES"), ("BLENDER", "SSD"), ("BLENDER", "DLBNT")],
    indirect=["evaluator"],
)
@pytest.mark.usefixtures("evaluator")
def test_a_bone_that_is_too_long_is_named(method, subtests):
    obj, armature, twin = bent_tube(method)
    for length in (1e20, 1e30, 3e38):
        with subtests.test(length=length):
            scenes.edit_bones(armature, lambda bones, end=length: setattr(bones["bone.2"], "tail", (0.0, end, end)))
            for _ in range(2):
                obj.update_tag()
                scenes.update()
                assert "Bone 'bone.2' of 'Rig' has zero length, or is too far away" in settings_of(obj).message
            refuse(r"Bone 'bone.2' of 'Rig'", scenes.bind, obj, method=method)
            scenes.edit_bones(armature, lambda bones: setattr(bones["bone.2"], "tail", (0.0, 3.0, 0.0)))
            scenes.update()
            assert settings_of(obj).message == ""
    settings_of(obj).method = "SSD"
    assert_follows(obj, twin)


def test_an_applied_pose_far_away_is_followed_or_reported(subtests):
    for far in (1e17, 1e30, 3e38, float("inf"), float("nan")):
        with subtests.test(far=far):
            scenes.reset()
            obj, armature, _ = bent_tube()
            armature.pose.bones["bone.0"].location = far, 0, 0
            scenes.select(armature)
            bpy.ops.object.mode_set(mode="POSE")
            bpy.ops.pose.armature_apply()
            bpy.ops.object.mode_set(mode="OBJECT")
            bend(armature, 20)
            assert settings_of(obj).message or np.isfinite(scenes.evaluated_points(obj)).all()


def test_an_armature_scaled_beyond_what_can_be_computed_recovers(evaluator, subtests):
    obj, armature, twin = bent_tube()
    for scale in (1e30, 1e-30, float("nan")):
        with subtests.test(scale=scale):
            armature.scale = scale, scale, scale
            scenes.update()
            assert settings_of(obj).message or evaluator == "BLENDER" or np.isfinite(scenes.evaluated_points(obj)).all()
            armature.scale = 1, 1, 1
            assert_follows(obj, twin)


def test_copies_of_an_object_that_lost_its_vertices_are_reported():
    obj, armature, _ = bent_tube()
    obj.data.clear_geometry()
    copies = [obj.copy() for _ in range(2)]
    copies[1].data = obj.data.copy()
    for copy in copies:
        scenes.link(copy)
    scenes.update()
    bend(armature, 20)
    assert all(settings_of(each).message for each in (obj, *copies))
    scenes.select(obj, *copies)
    bpy.ops.supple.unbind()


# Settings that were tampered with


@pytest.mark.parametrize("way", ["bind again", "switch it off"])
def test_another_armature_modifier_beside_supples_is_reported(way):
    obj, armature, twin = bound_tube()
    obj.modifiers.remove(obj.modifiers["Armature"])
    other = obj.modifiers.new("Other", "ARMATURE")
    other.object = armature
    scenes.update()
    assert "deformed more than once, by modifiers 'Supple' and 'Other'" in settings_of(obj).message
    if way == "bind again":
        scenes.bind(obj, method="SSD")
    else:
        other.show_viewport = other.show_render = False
    bend(armature, 70)
    assert settings_of(obj).message == ""
    assert_follows(obj, twin)


def test_a_copy_of_supples_modifier_is_reported():
    obj, armature, twin = bound_tube()
    scenes.select(obj)
    bpy.ops.object.modifier_copy(modifier="Supple")
    scenes.update()
    copy = obj.modifiers[1]  # Blender 4.2 names it GeometryNodes
    assert f"by modifiers 'Supple' and '{copy.name}': disable all but one" in settings_of(obj).message
    obj.modifiers.remove(copy)
    bend(armature, 70)
    assert settings_of(obj).message == ""
    assert_follows(obj, twin)


def test_a_message_stays_when_supple_is_enabled_again():
    obj, armature, _ = bound_tube()
    scenes.edit_bones(armature, lambda bones: bones.remove(bones["bone.2"]))
    scenes.update()
    message = settings_of(obj).message
    live.unregister()
    live.register()
    assert "were deleted from" in message == settings_of(obj).message


def test_a_render_has_the_carrier_to_itself():
    """A window goes on calling handlers while a render writes its frames."""
    obj, armature = scenes.add_tube()
    scenes.bind(obj, evaluate="PYTHON")
    bend(armature)
    before = scenes.evaluated_points(obj)
    handlers = dict(live.HANDLERS)
    handlers["render_init"](None)
    scenes.turn(armature, "bone.1", (-0.5, 0.0, 0.0))
    during = scenes.evaluated_points(obj)
    handlers["render_complete"](None)
    assert scenes.distance(before, during) == 0.0
    scenes.turn(armature, "bone.1", (-0.6, 0.0, 0.0))
    assert scenes.distance(before, scenes.evaluated_points(obj)) > 0.01
