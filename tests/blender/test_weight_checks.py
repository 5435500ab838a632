"""Weights checked: what is found, reported and selected."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_weights import (
    add_small_tube,
    choose_vertices,
    edit_elsewhere,
    leave_edit_mode,
    link_to_scene,
    set_weights,
)

from scenes import add_twin, rest_points, select, snapshot
from supple.bridge.meshes.weights import read_selected
from supple.settings.objects import settings_of
from supple.tasks.weights import checks


def make_mistakes(obj: bpy.types.Object) -> dict[str, list[int]]:
    """Weights with a mistake of each kind; gives the vertices of each."""
    y = rest_points(obj)[:, 1]
    values = np.zeros((104, 3))
    values[np.arange(104), np.minimum(y.astype(int), 2)] = 1.0
    values[0:2] = 0.0
    values[5] = (0.6, 0.3, 0.1)
    values[30] = (0.5, 0.0, 0.0)
    values[100] = (0.7, 0.0, 0.3)
    set_weights(obj, values)
    return {"UNWEIGHTED": [0, 1], "OVER_INFLUENCED": [5], "SUMS": [30], "FAR": [100], "SEAMS": []}


def test_check_tells_and_changes_nothing():
    obj, _ = add_small_tube()
    bpy.ops.supple.weights_check()
    assert settings_of(obj).weights_report == "'Tube', 104 vertices:\nNo mistakes found."
    make_mistakes(obj)
    before = snapshot(obj)
    assert bpy.ops.supple.weights_check(limit=2) == {"FINISHED"}
    assert snapshot(obj) == before
    lines = settings_of(obj).weights_report.splitlines()
    assert lines == checks.check_weights([obj], 2)
    assert lines[:4] == [
        "'Tube', 104 vertices:",
        "2 vertices have no weights: no bone moves them.",
        "1 vertex has more than 2 influences.",
        "1 vertex has weights that do not sum to 1.",
    ]
    assert any("bone.0: 1 vertex far from the bone" in line for line in lines)


def test_check_tells_of_each_object_apart():
    obj, _ = add_small_tube()
    twin, sharer = add_twin(obj), link_to_scene(obj.copy())
    make_mistakes(twin)
    for vertex in twin.data.vertices:
        vertex.co.x += 0.001
    select(obj, twin, sharer)
    bpy.ops.supple.weights_check()
    assert settings_of(obj).weights_report.splitlines()[0] == "'Tube', 104 vertices:"
    assert "no weight" not in settings_of(obj).weights_report
    assert "2 vertices have no weight" in settings_of(twin).weights_report
    assert settings_of(sharer).weights_report == settings_of(obj).weights_report


def test_what_was_found_is_selected(subtests):
    obj, _ = add_small_tube()
    for kind, wrong in make_mistakes(obj).items():
        for mode in ("OBJECT", "EDIT", "WEIGHT_PAINT"):
            with subtests.test(kind=kind, mode=mode):
                obj.data.use_paint_mask_vertex = False
                choose_vertices(obj, list(range(104)))
                bpy.ops.object.mode_set(mode=mode)
                assert bpy.ops.supple.weights_select(kind=kind, limit=2) == {"FINISHED"}
                assert obj.mode == ("WEIGHT_PAINT" if mode == "WEIGHT_PAINT" else "EDIT")
                assert obj.data.use_paint_mask_vertex == (mode == "WEIGHT_PAINT")
                bpy.ops.object.mode_set(mode="OBJECT")
                assert np.flatnonzero(read_selected(obj.data)).tolist() == wrong


def test_what_was_found_is_selected_while_the_mesh_is_edited_with_another_object():
    obj, _ = add_small_tube()
    kind, wrong = next(iter(make_mistakes(obj).items()))
    other = edit_elsewhere(obj)
    assert bpy.ops.supple.weights_select(kind=kind, limit=2) == {"FINISHED"}
    assert (obj.mode, other.mode) == ("OBJECT", "EDIT")
    leave_edit_mode(other)
    assert np.flatnonzero(read_selected(obj.data)).tolist() == wrong


def test_selecting_all_mistakes():
    obj, _ = add_small_tube()
    make_mistakes(obj)
    ((found, wrong),) = checks.find_vertices([obj], "ANY", 2)
    assert found == obj
    assert set(np.flatnonzero(wrong)) >= {0, 1, 5, 30, 100}
    assert checks.select_vertices([(obj, wrong)]) == [f"Selected {wrong.sum()} vertices."]
    assert (read_selected(obj.data) == wrong).all()


def test_selecting_stays_in_object_mode_where_nothing_can_be_found():
    obj, _ = add_small_tube()
    obj.modifiers.clear()
    with pytest.raises(RuntimeError, match="No armature deforms 'Tube'"):
        bpy.ops.supple.weights_select(kind="ANY")
    assert obj.mode == "OBJECT"
