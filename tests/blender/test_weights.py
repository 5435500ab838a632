"""Automatic weights: what is written, by whom, and how far a computation beside Blender can be stopped."""

from __future__ import annotations

import json
import re

import bpy
import numpy as np
import pytest
import scenes_weights
from scenes_state import refuse

from scenes import add_twin, armature_modifier, clear, link, load, reset, rest_points, save, select
from supple.deformers.automatic_weights import METHODS
from supple.options import WeightOptions
from supple.settings.objects import settings_of
from supple.settings.weights import CLICKED_MODE
from supple.tasks.weights import automatic as weights
from supple.tasks.weights.automatic import assign_weights
from supple.tasks.weights.reports import Report


def set_weight(obj: bpy.types.Object, name: str, value: float, vertices: list[int] | None = None) -> None:
    """Have vertices, all if not given, hold a weight."""
    group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
    group.add(list(range(len(obj.data.vertices))) if vertices is None else vertices, value, "REPLACE")


# What is written


def test_each_method_weights_every_vertex(subtests):
    obj, _ = scenes_weights.add_bare_tube()
    y = rest_points(obj)[:, 1]
    for method in METHODS:
        with subtests.test(method):
            obj.vertex_groups.clear()
            assert scenes_weights.auto(method=method) == {"FINISHED"}
            scenes_weights.assert_whole(obj)
            found = scenes_weights.weights_of(obj)
            for bone, near in enumerate((y < 0.3, abs(y - 1.5) < 0.3, y > 2.7)):
                assert (found[near].argmax(axis=1) == bone).all()
            assert np.abs(found[abs(y - 1.0) < 0.01, :2] - 0.5).max() < 0.2


def test_the_operator_does_what_the_task_does():
    obj, _ = scenes_weights.add_bare_tube()
    twin = add_twin(obj)
    select(obj)
    chosen = {"method": "SOLID", "mode": "REPLACE", "limit": 2, "prune": 0.02}
    choices = {"resolution": 32, "cells": 300}
    scenes_weights.auto(**chosen, **choices)
    assign_weights([twin], WeightOptions(choices=choices, **chosen))
    assert scenes_weights.weights_of(obj).any()
    assert (scenes_weights.weights_of(obj) == scenes_weights.weights_of(twin)).all()
    select(twin)
    scenes_weights.auto(**{**chosen, **choices, "limit": 1})
    assert not (scenes_weights.weights_of(obj) == scenes_weights.weights_of(twin)).all()


def test_replace_takes_only_groups_of_bones():
    obj, _ = scenes_weights.add_bare_tube()
    set_weight(obj, "bone.2", 1.0)
    set_weight(obj, "Cloth Pin", 0.25)
    scenes_weights.auto()
    scenes_weights.assert_whole(obj)
    assert not scenes_weights.weights_of(obj)[rest_points(obj)[:, 1] < 0.3, 2].any()
    assert (scenes_weights.weights_of(obj, ["Cloth Pin"]) == 0.25).all()


def test_add_keeps_a_share_of_what_is_there():
    obj, _ = scenes_weights.add_bare_tube()
    set_weight(obj, "bone.2", 1.0)
    scenes_weights.auto(mode="ADD")
    scenes_weights.assert_whole(obj)
    start = scenes_weights.weights_of(obj)[rest_points(obj)[:, 1] < 0.3]
    assert np.abs(start[:, 2] - 0.5).max() < 0.05
    assert np.abs(start[:, 0] - 0.5).max() < 0.05


def test_unweighted_leaves_vertices_with_weights_alone():
    obj, _ = scenes_weights.add_bare_tube()
    kept = list(range(40))
    set_weight(obj, "bone.2", 1.0, kept)
    scenes_weights.auto(mode="UNWEIGHTED")
    scenes_weights.assert_whole(obj)
    assert (scenes_weights.weights_of(obj)[kept] == (0, 0, 1)).all()
    assert scenes_weights.weights_of(obj)[40:, 1].max() > 0.8


def test_unweighted_copies_take_the_weights_at_their_place(subtests):
    obj, _ = scenes_weights.add_bare_tube()
    scenes_weights.split_all_edges(obj)
    weighted = np.unique(scenes_weights.find_first_copies(obj))[:52].tolist()
    for locked in (False, True):
        with subtests.test(locked=locked):
            obj.vertex_groups.clear()
            set_weight(obj, "bone.2", 1.0, weighted)
            obj.vertex_groups["bone.2"].lock_weight = locked
            before = scenes_weights.weights_of(obj)
            scenes_weights.auto(mode="UNWEIGHTED")
            if locked:
                assert (scenes_weights.weights_of(obj)[:, 2] == before[:, 2]).all()
            else:
                scenes_weights.assert_closed(obj)
                scenes_weights.assert_whole(obj)


@pytest.mark.versions
def test_only_selected_bones_are_written():
    obj, armature = scenes_weights.add_bare_tube()
    for name in scenes_weights.BONES:
        set_weight(obj, name, {"bone.0": 0.75, "bone.1": 0.25}.get(name, 0.0))
    scenes_weights.select_bones(armature, "bone.2")
    scenes_weights.auto(only_selected_bones=True)
    scenes_weights.assert_whole(obj)
    found = scenes_weights.weights_of(obj)
    assert found[rest_points(obj)[:, 1] > 2.9, 2].min() > 0.9
    assert np.abs(found[rest_points(obj)[:, 1] < 0.3] - (0.75, 0.25, 0)).max() < 0.01
    shared = found[:, 1] > 0.01
    assert np.abs(found[shared, 0] / found[shared, 1] - 3.0).max() < 0.01


def test_locked_groups_are_not_touched():
    obj, _ = scenes_weights.add_bare_tube()
    twin = add_twin(obj)
    set_weight(obj, "bone.2", 0.25)
    obj.vertex_groups["bone.2"].lock_weight = True
    select(obj, twin)
    scenes_weights.auto(prune=0.2)
    assert (scenes_weights.weights_of(obj)[:, 2] == 0.25).all()
    scenes_weights.assert_whole(twin)
    assert scenes_weights.weights_of(twin)[:, 2].max() > 0.9
    assert re.search(r"\d+ vertices do not sum to 1 because of locked groups: unlock", settings_of(obj).weights_report)
    select(obj)
    scenes_weights.auto()
    assert (scenes_weights.weights_of(obj)[:, 2] == 0.25).all()
    scenes_weights.assert_whole(obj)
    assert "Locked groups of 'Tube' were not changed: bone.2." in settings_of(obj).weights_report


def test_the_limit_holds_and_small_weights_are_left_out():
    obj, _ = scenes_weights.add_bare_tube()
    for limit in (1, 2):
        scenes_weights.auto(limit=limit)
        assert (scenes_weights.weights_of(obj) > 0).sum(axis=1).max() == limit
        scenes_weights.assert_whole(obj)
    scenes_weights.auto(prune=0.2)
    found = scenes_weights.weights_of(obj)
    assert found[found > 0].min() >= 0.2
    scenes_weights.assert_whole(obj)


# Computing beside Blender


def test_merging_can_be_canceled(monkeypatch):
    obj, _ = scenes_weights.add_bare_tube()
    jobs = weights.prepare([obj], WeightOptions(choices=scenes_weights.COARSE_AND_FEW))
    monkeypatch.setattr(weights, "BLOCK", 26)
    told: list[float] = []
    weights.compute_all(jobs, told.append)
    assert len([done for done in told if done > weights.SOLVED]) == 4
    assert told[-1] == 1.0


def test_a_mesh_that_changed_meanwhile_is_left_alone():
    obj, _ = scenes_weights.add_bare_tube()
    jobs = weights.prepare([obj], WeightOptions(choices=scenes_weights.COARSE_AND_FEW))
    results = weights.compute_all(jobs)
    obj.data.vertices.add(1)
    refuse("'Tube' has 105 vertices but had 104", weights.apply, jobs, results)
    assert not obj.vertex_groups


def test_filling_keeps_what_is_painted_and_says_so():
    obj, _ = scenes_weights.add_small_tube()
    scenes_weights.set_weights(obj, np.tile([0.0, 0.0, 1.0], (104, 1)))
    obj.vertex_groups["bone.2"].remove(scenes_weights.HALF)
    scenes_weights.auto(mode=CLICKED_MODE)
    scenes_weights.assert_whole(obj)
    assert (scenes_weights.weights_of(obj)[52:] == (0, 0, 1)).all()
    assert settings_of(obj).weights_report == (
        "'Tube': 52 vertices without weights got some by Solid Heat, and the others keep theirs."
    )
    filled = scenes_weights.weights_of(obj)
    scenes_weights.auto(mode=CLICKED_MODE)
    assert (scenes_weights.weights_of(obj) == filled).all()
    assert settings_of(obj).weights_report == (
        "'Tube': all 104 vertices have weights already and keep them: Replace computes them again."
    )
    scenes_weights.auto()
    assert (scenes_weights.weights_of(obj)[52:] != (0, 0, 1)).any()


def test_filling_a_bare_mesh_is_replacing():
    obj, _ = scenes_weights.add_bare_tube()
    scenes_weights.auto(mode=CLICKED_MODE)
    clicked = scenes_weights.weights_of(obj)
    assert settings_of(obj).weights_report == "'Tube': all 104 vertices have weights, by Solid Heat."
    obj.vertex_groups.clear()
    scenes_weights.auto(mode="REPLACE")
    assert (scenes_weights.weights_of(obj) == clicked).all()


def test_the_panel_starts_with_what_a_click_does():
    assert bpy.context.scene.supple_weights.mode == CLICKED_MODE


# What is told and refused


# What is told


def test_the_report_tells_of_vertices_and_bones():
    obj, armature = scenes_weights.add_bare_tube()
    scenes_weights.add_bone(armature, "root", (0, -2, 0), (0, -2, 1))
    select(obj)
    (report,) = assign_weights([obj], WeightOptions(choices=scenes_weights.COARSE_AND_FEW))
    assert report.parts == (("Tube", 104, 104),)
    assert report.bones == 4
    assert set(report.reasons) == {"root"}
    lines = settings_of(obj).weights_report.splitlines()
    assert lines == report.describe()
    assert lines[0] == "'Tube': all 104 vertices have weights, by Solid Heat."
    assert lines[1] == f"1 bone of 4 got no weights ({report.reasons['root']}): root."
    assert json.loads(json.dumps(report.as_json())) == {
        "armature": "Rig",
        "method": "SOLID",
        "bones": 4,
        "objects": [{"name": "Tube", "vertices": 104, "weighted": 104}],
        "bones_without_weights": [{"name": "root", "reason": report.reasons["root"]}],
        "notes": list(report.notes),
    }


def test_what_is_told_of_many_meshes_is_summed_up():
    parts = (("Body", 17_000, 17_000), ("Hat", 500, 500), ("Rope", 30, 12), ("Nothing", 0, 0))
    report = Report("Rig", "SOLID", 3, parts[:2], notes=("All is well.",))
    assert report.summarize() == ["17,500 vertices of 2 meshes got weights by Solid Heat.", "All is well."]
    assert Report("Rig", "SOLID", 3, parts, {"root": "far away"}).summarize() == [
        "17,512 of 17,530 vertices of 4 meshes got weights by Solid Heat.",
        "'Rope': 12 of 30 vertices have weights, by Solid Heat; 18 have none.",
        "'Nothing' has no vertices.",
        "1 bone of 3 got no weights (far away): root.",
    ]
    assert Report("Rig", "SOLID", 3, parts[:1]).summarize() == [
        "'Body': all 17,000 vertices have weights, by Solid Heat."
    ]


def test_bones_that_are_left_nothing_are_told_of():
    """A short bone across a joint of longer ones is nowhere stronger than both."""
    obj, armature = scenes_weights.add_bare_tube()
    scenes_weights.add_bone(armature, "short", (0, 0.95, 0), (0, 1.05, 0))
    assert assign_weights([obj], WeightOptions(choices=scenes_weights.COARSE_AND_FEW))[0].reasons == {}
    (report,) = assign_weights([obj], WeightOptions(choices=scenes_weights.COARSE_AND_FEW, prune=0.5))
    assert report.reasons == {"short": weights.TOO_SMALL}
    assert not scenes_weights.weights_of(obj, ["short"]).any()


def test_bones_without_length_are_told_of():
    obj, armature = scenes_weights.add_bare_tube()
    scenes_weights.add_bone(armature, "point", (0, 1.5, 0), (0, 1.5 + 2e-6, 0))
    select(obj)
    scenes_weights.auto()
    scenes_weights.assert_whole(obj, [*scenes_weights.BONES, "point"])


# What is refused


def test_one_bad_mesh_holds_up_no_other(subtests, capfd):
    for how, spoil in {
        "flat": lambda bad, _: setattr(bad, "scale", (1, 0, 1)),
        "no armature": lambda bad, _: bad.modifiers.clear(),
        "two armatures": lambda bad, rig: setattr(bad.modifiers.new("Other", "ARMATURE"), "object", link(rig.copy())),
    }.items():
        with subtests.test(how):
            clear()
            obj, armature = scenes_weights.add_bare_tube()
            bad = add_twin(obj)
            spoil(bad, armature)
            select(obj, bad)
            assert scenes_weights.auto() == {"FINISHED"}
            assert "'Tube.001' was left out. " in capfd.readouterr().out
            scenes_weights.assert_whole(obj)
            assert not bad.vertex_groups


@pytest.mark.versions
def test_linked_meshes_are_refused(tmp_path):
    scenes_weights.add_bare_tube()
    path = save(tmp_path / "library.blend")
    reset()
    obj, _ = load(path, "Tube", "Rig")
    select(obj)
    refuse(
        "'Tube' is linked from another file, so its weights cannot change: make it local with Object",
        scenes_weights.auto,
    )
    own, rig = scenes_weights.add_bare_tube()
    armature_modifier(own).object = bpy.data.objects["Rig", str(path)]
    bpy.data.objects.remove(rig)
    select(own)
    scenes_weights.auto()
    scenes_weights.assert_whole(own)
    assert settings_of(armature_modifier(own).object).weights_report == ""
