"""Outlines of patterns on the skin and in the UV map."""

import math

import bpy
import numpy as np
import pytest
from scenes_placing import LENGTH, RADIUS, add_body, add_pattern, bend, depsgraph, shown_at, subdivide

from scenes import bind, reset
from supple.deformers.patterns.outlines import list_lines, outline_on_skin
from supple.deformers.patterns.picking import PosedSkin
from supple.tasks.patterns.layout import charts_of
from supple.tasks.patterns.placing.picking import find_patterned, read_skin
from supple.viewport import outlines


def outline_posed(skin: PosedSkin, pattern, with_mark: bool) -> np.ndarray:
    return outline_on_skin(skin, pattern.number, list_lines(pattern.size, with_mark))


def test_an_outline_runs_round_the_pattern(subtests):
    obj, _ = add_body()
    pattern = add_pattern(size=(0.8, 0.37), angle=0.4)
    bpy.ops.supple.pattern_place(location=(0.0, 2.02, RADIUS))
    for change in (None, subdivide):
        with subtests.test(change=change):
            if change is not None:
                change(obj)
            skin = read_skin(obj, depsgraph())
            lines = outline_posed(skin, pattern, False)
            assert lines.shape[1:] == (2, 3)
            length = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).sum()
            assert length == pytest.approx(2 * (0.8 + 0.37), rel=0.03)
            away = np.hypot(lines[..., 0], lines[..., 2])
            assert RADIUS * 0.95 < away.min() <= away.max() < RADIUS * 1.001
            assert len(outline_posed(skin, pattern, True)) > len(lines)


@pytest.mark.usefixtures("evaluator")
def test_an_outline_follows_the_pose_and_is_doubled_where_the_mesh_is():
    obj, armature = add_body()
    bind(obj)
    pattern = add_pattern(size=(0.8, 0.4))
    bpy.ops.supple.pattern_place(location=(0.0, 3.0, RADIUS))
    bend(armature)
    single = outline_posed(read_skin(obj, depsgraph()), pattern, False)
    middle = single.mean(axis=(0, 1))
    assert np.linalg.norm(middle - shown_at(obj, pattern)) < 0.2
    assert np.linalg.norm(middle - (0.0, 3.0, RADIUS)) > 0.25
    obj.modifiers.new("Array", "ARRAY").count = 2
    double = outline_posed(read_skin(obj, depsgraph()), pattern, False)
    assert len(double) == 2 * len(single) > 0


def test_the_outline_in_the_uv_map_is_a_turned_rectangle():
    obj, _ = add_body()
    pattern = add_pattern(uv=(0.4, 0.5), size=(0.2, 0.1), angle=math.pi / 2)
    lines = outlines.outline_pattern_in_uv(charts_of(obj), pattern, False)
    expected = {(0.45, 0.4), (0.45, 0.6), (0.35, 0.6), (0.35, 0.4)}
    assert {tuple(point) for point in np.round(lines.reshape(-1, 2), 5).tolist()} == expected
    bare = outlines.outline_pattern_in_uv(charts_of(obj), pattern, True)[4:]
    assert bare.shape == (2, 2, 2)  # the mark
    assert (bare[..., 0] < 0.4).all()  # at the upper side, which a quarter turn takes to the left


def test_the_outline_of_a_surface_pattern_lies_in_the_uv_map():
    obj, _ = add_body()
    pattern = add_pattern(size=(0.8, 0.4))
    bpy.ops.supple.pattern_place(location=(0.0, 2.0, RADIUS))
    lines = outlines.outline_pattern_in_uv(charts_of(obj), pattern, False)
    low, high = lines.min(axis=(0, 1)), lines.max(axis=(0, 1))
    np.testing.assert_allclose(0.5 * (low + high), (0.25, 0.5), atol=0.01)
    np.testing.assert_allclose(high - low, (0.8 / (math.tau * RADIUS), 0.4 / LENGTH), rtol=0.03)
    obj.data.uv_layers.remove(obj.data.uv_layers[0])
    assert len(outlines.outline_pattern_in_uv(charts_of(obj), pattern, False)) == 0


def test_the_active_pattern_is_told_from_others_and_hidden_ones_are_left_out():
    obj, _ = add_body()
    add_pattern(size=(0.4, 0.2))
    add_pattern("BULGE_GENTLE", size=(0.4, 0.2))
    asked = []

    def find(pattern, with_mark: bool) -> np.ndarray:
        asked.append((pattern.number, with_mark))
        return np.full((pattern.number, 2, 3), float(pattern.number))

    found = outlines.collect_lines(obj, find)
    assert {name: len(lines) for name, lines in found.items()} == {"shadow": 2, "active": 2, "others": 1}
    assert asked == [(1, False), (2, True)]
    obj.supple.active_pattern = 0
    assert {name: len(lines) for name, lines in outlines.collect_lines(obj, find).items()} == {
        "shadow": 1, "active": 1, "others": 2
    }  # fmt: skip
    for pattern in obj.supple.patterns:
        pattern.show = False
    assert outlines.collect_lines(obj, find) == {}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Lines that were to be drawn, without a graphics card."""
    found = []
    monkeypatch.setattr(
        outlines, "_make_batches", lambda obj, find: found.append(outlines.collect_lines(obj, find)) or found[-1]
    )
    return found


def test_lines_are_made_anew_where_something_has_changed_and_go_with_the_file(made: list[dict]):
    obj, armature = add_body()
    bind(obj)
    pattern = add_pattern(size=(0.4, 0.2))
    graph = depsgraph()
    first = outlines.update_posed(obj, graph)
    assert outlines.update_posed(obj, graph) is first
    obj.select_set(False)
    bpy.context.view_layer.update()  # changes no shape
    assert outlines.update_posed(obj, depsgraph()) is first
    bend(armature)
    second = outlines.update_posed(obj, depsgraph())
    assert second is not first
    assert np.abs(made[1]["active"] - made[0]["active"]).max() > 0.01
    pattern.turn = 0.5
    assert outlines.update_posed(obj, depsgraph()) is not second
    flat = outlines.update_in_uv(obj)
    bend(armature)
    assert outlines.update_in_uv(obj) is flat
    pattern.turn = 0.7
    assert outlines.update_in_uv(obj) is not flat
    outlines.update_posed(obj, depsgraph())
    assert len(outlines.posed_cache) == len(outlines.uv_cache) == 1
    reset()
    assert outlines.posed_cache == outlines.uv_cache == {}


def test_an_object_without_patterns_costs_nothing(monkeypatch: pytest.MonkeyPatch):
    obj, armature = add_body()
    for name in ("read_skin", "charts_of", "update_posed", "update_in_uv"):
        monkeypatch.setattr(outlines, name, lambda *_: pytest.fail("read for nothing"))
    layer = bpy.context.view_layer
    for active in (obj, armature, None):
        layer.objects.active = active
        assert find_patterned(active, layer) == []
        outlines.draw_posed()
        outlines.draw_in_uv_editor()


def test_unregister_removes_handlers(monkeypatch: pytest.MonkeyPatch):
    spaces, installed = (bpy.types.SpaceView3D, bpy.types.SpaceImageEditor), []
    assert len(outlines.overlay.handles) == 2
    outlines.unregister()
    assert not any(handler in getattr(bpy.app.handlers, name) for name, handler in outlines.HANDLERS)
    with monkeypatch.context() as patch:
        for space in spaces:
            patch.setattr(space, "draw_handler_add", lambda *given: installed.append(given) or given)
            patch.setattr(space, "draw_handler_remove", lambda handle, _region: installed.remove(handle))
        outlines.register()
        assert [one[0] for one in installed] == [outlines.draw_posed, outlines.draw_in_uv_editor]
        outlines.unregister()
        assert installed == []
    outlines.register()
    assert len(outlines.overlay.handles) == 2
    assert all(getattr(bpy.app.handlers, name).count(handler) == 1 for name, handler in outlines.HANDLERS)
