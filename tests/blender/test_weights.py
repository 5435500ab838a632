"""Automatic weights: what is written, by whom, and how far a computation beside Blender can be stopped."""

from __future__ import annotations

import re

import bpy
import numpy as np
import pytest
from scenes_weights import (
    BONES,
    COARSE_AND_FEW,
    HALF,
    add_bare_tube,
    add_small_tube,
    assert_closed,
    assert_whole,
    auto,
    find_first_copies,
    select_bones,
    set_weights,
    split_all_edges,
    weights_of,
)

from scenes import add_twin, rest_points, select
from supple.deformers import SkinningError
from supple.deformers.automatic_weights import METHODS
from supple.options import WeightOptions
from supple.settings.objects import settings_of
from supple.settings.weights import CLICKED_MODE
from supple.tasks.weights import automatic as weights
from supple.tasks.weights.automatic import assign_weights


def set_weight(obj: bpy.types.Object, name: str, value: float, vertices: list[int] | None = None) -> None:
    """Have vertices, all if not given, hold a weight."""
    group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
    group.add(list(range(len(obj.data.vertices))) if vertices is None else vertices, value, "REPLACE")


# What is written


@pytest.mark.versions
def test_each_method_weights_every_vertex(subtests):
    obj, _ = add_bare_tube()
    y = rest_points(obj)[:, 1]
    for method in METHODS:
        with subtests.test(method):
            obj.vertex_groups.clear()
            assert auto(method=method) == {"FINISHED"}
            assert_whole(obj)
            found = weights_of(obj)
            for bone, near in enumerate((y < 0.3, abs(y - 1.5) < 0.3, y > 2.7)):
                assert (found[near].argmax(axis=1) == bone).all()
            assert np.abs(found[abs(y - 1.0) < 0.01, :2] - 0.5).max() < 0.2


def test_the_operator_does_what_the_task_does():
    obj, _ = add_bare_tube()
    twin = add_twin(obj)
    select(obj)
    chosen = {"method": "SOLID", "mode": "REPLACE", "limit": 2, "prune": 0.02}
    choices = {"resolution": 32, "cells": 300}
    auto(**chosen, **choices)
    assign_weights([twin], WeightOptions(choices=choices, **chosen))
    assert weights_of(obj).any()
    assert (weights_of(obj) == weights_of(twin)).all()
    select(twin)
    auto(**{**chosen, **choices, "limit": 1})
    assert not (weights_of(obj) == weights_of(twin)).all()


def test_replace_takes_only_groups_of_bones():
    obj, _ = add_bare_tube()
    set_weight(obj, "bone.2", 1.0)
    set_weight(obj, "Cloth Pin", 0.25)
    auto()
    assert_whole(obj)
    assert not weights_of(obj)[rest_points(obj)[:, 1] < 0.3, 2].any()
    assert (weights_of(obj, ["Cloth Pin"]) == 0.25).all()


def test_add_keeps_a_share_of_what_is_there():
    obj, _ = add_bare_tube()
    set_weight(obj, "bone.2", 1.0)
    auto(mode="ADD")
    assert_whole(obj)
    start = weights_of(obj)[rest_points(obj)[:, 1] < 0.3]
    assert np.abs(start[:, 2] - 0.5).max() < 0.05
    assert np.abs(start[:, 0] - 0.5).max() < 0.05


def test_unweighted_leaves_vertices_with_weights_alone():
    obj, _ = add_bare_tube()
    kept = list(range(40))
    set_weight(obj, "bone.2", 1.0, kept)
    auto(mode="UNWEIGHTED")
    assert_whole(obj)
    assert (weights_of(obj)[kept] == (0, 0, 1)).all()
    assert weights_of(obj)[40:, 1].max() > 0.8


def test_unweighted_copies_take_the_weights_at_their_place(subtests):
    obj, _ = add_bare_tube()
    split_all_edges(obj)
    weighted = np.unique(find_first_copies(obj))[:52].tolist()
    for locked in (False, True):
        with subtests.test(locked=locked):
            obj.vertex_groups.clear()
            set_weight(obj, "bone.2", 1.0, weighted)
            obj.vertex_groups["bone.2"].lock_weight = locked
            before = weights_of(obj)
            auto(mode="UNWEIGHTED")
            if locked:
                assert (weights_of(obj)[:, 2] == before[:, 2]).all()
            else:
                assert_closed(obj)
                assert_whole(obj)


@pytest.mark.versions
def test_only_selected_bones_are_written():
    obj, armature = add_bare_tube()
    for name in BONES:
        set_weight(obj, name, {"bone.0": 0.75, "bone.1": 0.25}.get(name, 0.0))
    select_bones(armature, "bone.2")
    auto(only_selected_bones=True)
    assert_whole(obj)
    found = weights_of(obj)
    assert found[rest_points(obj)[:, 1] > 2.9, 2].min() > 0.9
    assert np.abs(found[rest_points(obj)[:, 1] < 0.3] - (0.75, 0.25, 0)).max() < 0.01
    shared = found[:, 1] > 0.01
    assert np.abs(found[shared, 0] / found[shared, 1] - 3.0).max() < 0.01


def test_locked_groups_are_not_touched():
    obj, _ = add_bare_tube()
    twin = add_twin(obj)
    set_weight(obj, "bone.2", 0.25)
    obj.vertex_groups["bone.2"].lock_weight = True
    select(obj, twin)
    auto(prune=0.2)
    assert (weights_of(obj)[:, 2] == 0.25).all()
    assert_whole(twin)
    assert weights_of(twin)[:, 2].max() > 0.9
    assert re.search(r"\d+ vertices do not sum to 1 because of locked groups: unlock", settings_of(obj).weights_report)
    select(obj)
    auto()
    assert (weights_of(obj)[:, 2] == 0.25).all()
    assert_whole(obj)
    assert "Locked groups of 'Tube' were not changed: bone.2." in settings_of(obj).weights_report


def test_the_limit_holds_and_small_weights_are_left_out():
    obj, _ = add_bare_tube()
    for limit in (1, 2):
        auto(limit=limit)
        assert (weights_of(obj) > 0).sum(axis=1).max() == limit
        assert_whole(obj)
    auto(prune=0.2)
    found = weights_of(obj)
    assert found[found > 0].min() >= 0.2
    assert_whole(obj)


# Computing beside Blender


def test_computing_can_be_canceled(subtests):
    obj, _ = add_bare_tube()

    class StopError(Exception):
        pass

    def stop(done: float) -> None:
        if done > 0.3:
            raise StopError

    for method in METHODS:
        with subtests.test(method):
            with pytest.raises(StopError):
                assign_weights([obj], WeightOptions(method=method, choices=COARSE_AND_FEW), progress=stop)
            assert not obj.vertex_groups


def test_merging_can_be_canceled(monkeypatch):
    obj, _ = add_bare_tube()
    jobs = weights.prepare([obj], WeightOptions(choices=COARSE_AND_FEW))
    monkeypatch.setattr(weights, "BLOCK", 26)
    told: list[float] = []
    weights.compute_all(jobs, told.append)
    assert len([done for done in told if done > weights.SOLVED]) == 4
    assert told[-1] == 1.0


def test_a_mesh_that_changed_meanwhile_is_left_alone():
    obj, _ = add_bare_tube()
    jobs = weights.prepare([obj], WeightOptions(choices=COARSE_AND_FEW))
    results = weights.compute_all(jobs)
    obj.data.vertices.add(1)
    with pytest.raises(SkinningError, match="'Tube' has 105 vertices but had 104"):
        weights.apply(jobs, results)
    assert not obj.vertex_groups


def test_filling_keeps_what_is_painted_and_says_so():
    obj, _ = add_small_tube()
    set_weights(obj, np.tile([0.0, 0.0, 1.0], (104, 1)))
    obj.vertex_groups["bone.2"].remove(HALF)
    auto(mode=CLICKED_MODE)
    assert_whole(obj)
    assert (weights_of(obj)[52:] == (0, 0, 1)).all()
    assert settings_of(obj).weights_report == (
        "'Tube': 52 vertices without weights got some by Solid Heat, and the others keep theirs."
    )
    filled = weights_of(obj)
    auto(mode=CLICKED_MODE)
    assert (weights_of(obj) == filled).all()
    assert settings_of(obj).weights_report == (
        "'Tube': all 104 vertices have weights already and keep them: Replace computes them again."
    )
    auto()
    assert (weights_of(obj)[52:] != (0, 0, 1)).any()


def test_filling_a_bare_mesh_is_replacing():
    obj, _ = add_bare_tube()
    auto(mode=CLICKED_MODE)
    clicked = weights_of(obj)
    assert settings_of(obj).weights_report == "'Tube': all 104 vertices have weights, by Solid Heat."
    obj.vertex_groups.clear()
    auto(mode="REPLACE")
    assert (weights_of(obj) == clicked).all()


def test_the_panel_starts_with_what_a_click_does():
    assert bpy.context.scene.supple_weights.mode == CLICKED_MODE
