"""What no user can have meant, or another version of Supple has stored: one object fails, and the others go on."""

import bpy
import numpy as np
import pytest
from scenes_twins import assert_follows, bend, bent_tube, bound_tube

from scenes import add_tube, add_twin, bind, distance, evaluated_points, reset, save, select, update
from supple import preview
from supple.settings.objects import settings_of
from supple.tasks.skin import by_nodes, live

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
    obj.data.update_tag()


@pytest.fixture
def two_tubes() -> tuple:
    """A tube that is to fail, its twin, and another tube with its twin: bound by Python, by groups of their own."""
    tubes = []
    for name in ("Failing", "Other"):
        obj, armature = add_tube(rings=9, sides=6)
        obj.name = name
        twin = add_twin(obj)
        bind(obj, method="SSD", evaluate="PYTHON")
        bend(armature)
        tubes.append((obj, armature, twin))
    supple = tubes[0][0].modifiers[0]
    supple.node_group = supple.node_group.copy()
    update()
    return tubes


@pytest.mark.parametrize("spoil", [store_unknown_method, rename_input])
def test_an_object_that_fails_is_left_to_its_armature_modifier_and_others_go_on(spoil, two_tubes, capfd):
    (failing, armature, failing_twin), (other, other_armature, other_twin) = two_tubes
    spoil(failing)
    for angle in (30, 40, 50):
        bend(armature, angle)
        bend(other_armature, angle)
        update()
    assert_follows(other, other_twin)
    assert distance(evaluated_points(failing), evaluated_points(failing_twin)) == 0.0
    assert "no such method" in settings_of(failing).message or "lost its input" in settings_of(failing).message
    assert capfd.readouterr().err.count("Supple: ") == 1


@pytest.mark.parametrize("spoil", [store_unknown_method, rename_input])
def test_it_can_be_bound_again_and_unbound(spoil, two_tubes):
    failing, armature, twin = two_tubes[0]
    spoil(failing)
    update()
    assert settings_of(failing).message
    bind(failing, method="SSD", evaluate="PYTHON")
    bend(armature, 20)
    assert_follows(failing, twin)
    spoil(failing)
    update()
    select(failing)
    bpy.ops.supple.unbind()
    assert [(m.type, m.show_viewport, m.show_render) for m in failing.modifiers] == [("ARMATURE", True, True)]


@pytest.mark.parametrize("evaluate", ["PYTHON", "NODES"])
def test_a_file_with_an_unknown_method_opens_and_renders_by_the_armature_modifier(evaluate, tmp_path):
    obj, armature = add_tube()
    twin = add_twin(obj)
    twin.name = "Twin"
    bind(obj, method="SSD", evaluate=evaluate)
    bend(armature)
    store_unknown_method(obj)
    path = save(tmp_path / "later.blend")
    reset()
    bpy.ops.wm.open_mainfile(filepath=str(path))
    bend(bpy.data.objects["Rig"], 20)
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert distance(evaluated_points(obj), evaluated_points(twin)) == 0.0
    assert "no such method" in settings_of(obj).message


@pytest.mark.parametrize("evaluate", ["PYTHON", "NODES"])
def test_an_error_in_any_step_is_caught(evaluate, monkeypatch, tmp_path):
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate=evaluate)

    def fail(*_arguments, **_keywords):
        raise ZeroDivisionError("of the test")

    with monkeypatch.context() as patch:
        for module in (live, by_nodes):
            patch.setattr(module, "refresh", fail)
        patch.setattr(preview, "hand_over", fail)
        patch.setattr(preview, "take_over", fail)
        obj.data.update_tag()
        bend(armature)
        save(tmp_path / "copy.blend", copy=True)
    assert "ZeroDivisionError: of the test" in settings_of(obj).message
    assert distance(evaluated_points(obj), evaluated_points(twin)) == 0.0
    bind(obj, method="SSD", evaluate=evaluate)
    bend(armature, 20)
    assert_follows(obj, twin)


# Weights that change along with something else


def change_weights(*objects: bpy.types.Object) -> None:
    for obj in objects:
        for name, weight in (("bone.0", 1.0), ("bone.1", 0.0), ("bone.2", 0.0)):
            obj.vertex_groups[name].add(list(range(100, 300)), weight, "REPLACE")
        obj.data.update_tag()


def test_weights_and_a_slider_that_change_in_one_update_are_followed():
    obj, _, twin = bent_tube()
    keys = []
    for each in (obj, twin):
        each.shape_key_add(name="Basis")
        keys.append(each.shape_key_add(name="Puff"))
        for point in keys[-1].data:
            point.co.x *= 1.5
    assert_follows(obj, twin)
    before = evaluated_points(obj)
    change_weights(obj, twin)
    for key in keys:
        key.value = 0.3
    assert_follows(obj, twin)
    assert distance(before, evaluated_points(obj)) > 0.02


def test_weights_and_a_slider_are_followed_with_a_window_once_the_slider_rests(monkeypatch):
    obj, _, twin = bent_tube()
    keys = []
    for each in (obj, twin):
        each.shape_key_add(name="Basis")
        keys.append(each.shape_key_add(name="Puff"))
    update()
    monkeypatch.setattr(preview, "_has_timers", lambda: True)
    change_weights(obj, twin)
    for key in keys:
        key.value = 0.3
    update()
    assert preview.come_back() is not None, "the slider may still move"
    monkeypatch.setattr(preview.show, "SETTLED", 0.0)
    assert preview.come_back() is None
    assert_follows(obj, twin)


def test_weights_that_change_while_baked_keys_deform_are_followed_when_live_again():
    obj, armature, twin = bound_tube()
    scene = bpy.context.scene
    scene.frame_end = 3
    bend(armature)
    select(obj)
    bpy.ops.supple.bake_shape_keys(frame_start=1, frame_end=3)
    scene.frame_set(2)
    change_weights(obj, twin)
    scene.frame_set(3)
    bpy.ops.supple.clear_bake()
    assert_follows(obj, twin)
    assert np.isfinite(evaluated_points(obj)).all()
