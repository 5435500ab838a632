"""Weights as colors on the skin: what is drawn of whom, and that it is made anew only when it changes."""

from collections.abc import Callable

import bpy
import gpu
import numpy as np
import pytest
import test_overlay
from mathutils import Matrix
from scenes_weights import select_bones, weights_of

from scenes import add_tube, evaluated_points, select, turn
from supple.bridge.meshes.shown_weights import read_shown_groups, read_shown_shape
from supple.tasks.subject.chosen_bones import find_chosen_bones
from supple.viewport import weights as weight_overlay
from supple.viewport.drawing import color_joints
from supple.viewport.weights import UNWEIGHTED

picture = test_overlay.picture


def update(obj: bpy.types.Object, *chosen: str) -> None:
    weight_overlay.update_drawn(obj, bpy.context.evaluated_depsgraph_get(), list(chosen), object())


@pytest.mark.versions
def test_values_are_sums_of_the_chosen_bones_and_colors_mix(batches: list[dict]):
    obj, _ = add_tube()
    obj.vertex_groups.new(name="mask").add([0, 1], 1.0, "REPLACE")  # moves nothing
    for group in list(obj.vertex_groups)[:3]:
        group.remove([0, 5])
    for chosen in (["bone.1"], ["bone.0", "bone.2"], []):
        update(obj, *chosen)
        expected = weights_of(obj, chosen).sum(axis=1)
        expected[[0, 5]] = UNWEIGHTED
        np.testing.assert_allclose(batches[-1]["value"], expected, atol=1e-6)
        np.testing.assert_allclose(batches[-1]["color"], weights_of(obj) @ color_joints(np.arange(3)), atol=1e-5)


def test_a_pose_is_followed_without_reading_weights(batches: list[dict], monkeypatch: pytest.MonkeyPatch):
    obj, armature = add_tube()
    update(obj, "bone.1")
    read = []
    monkeypatch.setattr(
        weight_overlay, "read_shown_groups", lambda *given: read.append(given) or read_shown_groups(*given)
    )
    update(obj, "bone.1")
    assert len(batches) == 1
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    update(obj, "bone.1")
    assert len(batches) == 2
    np.testing.assert_array_equal(batches[1]["pos"], evaluated_points(obj))
    np.testing.assert_array_equal(batches[1]["value"], batches[0]["value"])
    assert read == []
    obj.vertex_groups["bone.1"].add([3], 0.77, "REPLACE")
    obj.data.update_tag()
    update(obj, "bone.1")
    assert batches[-1]["value"][3] == pytest.approx(0.77)
    assert len(read) == 1


def test_another_choice_is_another_color(batches: list[dict]):
    obj, _ = add_tube()
    for chosen in ("bone.1", "bone.2", "bone.2"):
        update(obj, chosen)
    first, second = batches
    assert (first["value"] != second["value"]).any()


@pytest.mark.versions
def test_vertices_that_modifiers_add_have_weights_too(batches: list[dict]):
    obj, armature = add_tube()
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    turn(armature, "bone.1", (0.0, 0.0, 0.7))
    update(obj, "bone.1")
    count = len(obj.data.vertices)
    assert len(batches[0]["value"]) > 3 * count
    assert batches[0]["value"].min() >= 0
    np.testing.assert_allclose(batches[0]["value"][:count], weights_of(obj, ["bone.1"])[:, 0], atol=0.2)
    shape = read_shown_shape(obj, bpy.context.evaluated_depsgraph_get())
    np.testing.assert_allclose(np.linalg.norm(shape.normals, axis=1), 1.0, atol=1e-4)


@pytest.mark.versions
def test_meshes_of_the_active_object_are_shown():
    obj, armature = add_tube()
    other, _ = add_tube()
    assert weight_overlay.find_shown(bpy.context) == []
    bpy.context.window_manager.supple_show_weights = True
    assert weight_overlay.find_shown(bpy.context) == [other]
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    select_bones(armature, "bone.1")
    assert weight_overlay.find_shown(bpy.context) == [obj]
    assert find_chosen_bones(bpy.context.active_object) == ["bone.1"]
    bpy.ops.object.mode_set(mode="OBJECT")
    select(obj, other)
    assert weight_overlay.find_shown(bpy.context) == [obj, other]
    select(obj)
    for mode, shown in (("WEIGHT_PAINT", []), ("EDIT", []), ("OBJECT", [obj])):
        bpy.ops.object.mode_set(mode=mode)
        assert weight_overlay.find_shown(bpy.context) == shown
    bpy.ops.object.select_all(action="DESELECT")
    bpy.context.view_layer.objects.active = None
    assert weight_overlay.find_shown(bpy.context) == []


def test_the_cache_goes_with_the_overlay(batches: list[dict]):
    obj, _ = add_tube()
    bpy.context.window_manager.supple_show_weights = True
    update(obj, "bone.1")
    weight_overlay.draw()
    assert list(weight_overlay.cache) == [obj.session_uid]
    bpy.context.window_manager.supple_show_weights = False
    weight_overlay.draw()
    assert weight_overlay.cache == {}


def test_a_tool_has_weights_sooner_than_the_mesh(batches: list[dict]):
    obj, _ = add_tube()
    update(obj, "bone.1")
    groups = read_shown_groups(obj, bpy.context.evaluated_depsgraph_get())
    groups = type(groups)(groups.vertices, groups.groups, 0.5 * groups.values)
    end = weight_overlay.show_tool(obj, weight_overlay.WeightsTool(lambda: groups, lambda: ["bone.1"]))
    for factor, tell in ((0.5, lambda: None), (1.0, end)):
        tell()
        obj.data.update_tag()
        update(obj, "bone.1")
        np.testing.assert_allclose(batches[-1]["value"], factor * batches[0]["value"], atol=1e-6)
    assert weight_overlay.tools == {}


def draw_square(values: list[float], color: tuple, by_bone: bool = False, hidden: bool | None = None) -> Callable:
    """Draw a square of four values at its corners, in front of one that is drawn by the other way if it is told."""
    attributes = {
        "pos": np.array([(-2, -1, 0), (2, -1, 0), (2, 1, 0), (-2, 1, 0)], np.float32),
        "normal": np.tile(np.float32((0, 0, 1)), (4, 1)),
        "value": np.array(values, np.float32),
        "color": np.tile(np.float32(color), (4, 1)),
    }

    def draw() -> None:
        shader = weight_overlay.make_shader()
        batch = weight_overlay.batch_for_shader(shader, "TRIS", attributes, indices=[(0, 1, 2), (0, 2, 3)])
        gpu.state.depth_test_set("LESS_EQUAL")
        gpu.state.depth_mask_set(True)
        weight_overlay.draw_colored(batch, shader, by_bone)
        if hidden is not None:
            gpu.matrix.multiply_matrix(Matrix.Translation((0.0, 0.0, -1.0)))
            weight_overlay.draw_colored(batch, shader, hidden)

    return draw


def test_weights_go_from_blue_through_green_to_red(picture: Callable):
    for by_bone in (False, True):
        pixels = picture(draw_square([0.1, 1.0, 1.0, 0.1], (0, 1, 0), by_bone, hidden=not by_bone))
        row = pixels[test_overlay.SIZE // 2]
        strongest = row.argmax(axis=1)[[2, test_overlay.SIZE * 4 // 9, -3]].tolist()
        assert strongest == ([1, 1, 1] if by_bone else [2, 1, 0])
        assert not pixels[2].any()


def test_unweighted_skin_is_striped(picture: Callable):
    pixels = picture(draw_square([UNWEIGHTED] * 4, (0, 0, 0)))
    assert (pixels[..., 1] < 0.01).all()
    bright = pixels[test_overlay.SIZE // 3 : test_overlay.SIZE * 2 // 3, :, 0] > 0.3
    assert 0.3 < bright.mean() < 0.7
