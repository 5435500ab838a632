"""Automatic weights: what is reported, and what is refused."""

from __future__ import annotations

import json
import re

import bpy
import pytest
from scenes_weights import (
    BONES,
    COARSE_AND_FEW,
    add_bare_tube,
    add_bone,
    assert_whole,
    auto,
    link_to_scene,
    select_bones,
    weights_of,
)

from scenes import add_twin, armature_modifier, clear, reset, save, select, snapshot
from supple.options import WeightOptions
from supple.settings.objects import settings_of
from supple.tasks.weights import automatic as weights
from supple.tasks.weights.automatic import assign_weights
from supple.tasks.weights.reports import Report

# What is told


def test_the_report_tells_of_vertices_and_bones():
    obj, armature = add_bare_tube()
    add_bone(armature, "root", (0, -2, 0), (0, -2, 1))
    select(obj)
    (report,) = assign_weights([obj], WeightOptions(choices=COARSE_AND_FEW))
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
    obj, armature = add_bare_tube()
    add_bone(armature, "short", (0, 0.95, 0), (0, 1.05, 0))
    assert assign_weights([obj], WeightOptions(choices=COARSE_AND_FEW))[0].reasons == {}
    (report,) = assign_weights([obj], WeightOptions(choices=COARSE_AND_FEW, prune=0.5))
    assert report.reasons == {"short": weights.TOO_SMALL}
    assert not weights_of(obj, ["short"]).any()


def test_bones_without_length_are_told_of():
    obj, armature = add_bare_tube()
    add_bone(armature, "point", (0, 1.5, 0), (0, 1.5 + 2e-6, 0))
    select(obj)
    auto()
    assert_whole(obj, [*BONES, "point"])


# What is refused


def spoil(how: str, obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    match how:
        case "no faces":
            obj.data.clear_geometry()
            obj.data.from_pydata([(0, 0, 0), (0, 1, 0)], [], [])
        case "empty":
            obj.data.clear_geometry()
        case "no deforming bone":
            for bone in armature.data.bones:
                bone.use_deform = False
        case "far away":
            armature.location = (0, 0, 20)
        case "flat":
            obj.scale = (1, 0, 1)
        case "no armature":
            obj.modifiers.clear()
        case "two armatures":
            obj.modifiers.new("Other", "ARMATURE").object = link_to_scene(armature.copy())
        case "edited bones":
            select(armature, obj)
            bpy.ops.object.mode_set(mode="EDIT")
        case "no selected bone":
            select_bones(armature)


BAD_INPUT = {
    "no faces": "'Tube' has no faces and no volume: add faces, or transfer",
    "empty": "'Tube' has no faces",
    "no deforming bone": "'Rig' has no deforming bone: turn on Deform",
    "far away": "No deforming bone of 'Rig' is in or near 'Tube': the nearest, 'bone.",
    "flat": "'Tube' has zero scale: give it a scale other than 0",
    "no armature": "No armature deforms 'Tube': also select its armature",
    "two armatures": "'Tube' has Armature modifiers of 2 armatures ('Rig', 'Rig.001'): disable all but one",
    "edited bones": "'Rig' is in Edit Mode: leave it first",
    "no selected bone": "No deforming bone of 'Rig' is selected: select some in Pose Mode",
}


@pytest.mark.parametrize("how", BAD_INPUT)
def test_bad_input(how):
    obj, armature = add_bare_tube()
    spoil(how, obj, armature)
    bpy.context.view_layer.update()
    before = snapshot(obj)
    with pytest.raises(RuntimeError, match=re.escape(BAD_INPUT[how])):
        auto(only_selected_bones=how == "no selected bone")
    assert snapshot(obj) == before
    assert not weights_of(obj).any()
    assert settings_of(obj).weights_report == ""


def test_one_bad_mesh_holds_up_no_other(subtests, capfd):
    for how in ("flat", "no armature", "two armatures"):
        with subtests.test(how):
            clear()
            obj, armature = add_bare_tube()
            bad = add_twin(obj)
            bpy.context.view_layer.update()
            spoil(how, bad, armature)
            select(obj, bad)
            assert auto() == {"FINISHED"}
            assert "'Tube.001' was left out. " in capfd.readouterr().out
            assert_whole(obj)
            assert not bad.vertex_groups


@pytest.mark.versions
def test_linked_meshes_are_refused(tmp_path):
    add_bare_tube()
    path = save(tmp_path / "library.blend")
    reset()
    with bpy.data.libraries.load(str(path), link=True) as (_, linked):
        linked.objects = ["Tube", "Rig"]
    obj, _ = (link_to_scene(one) for one in linked.objects)
    select(obj)
    message = r"'Tube' is linked from another file, so its weights cannot change: make it local with Object"
    with pytest.raises(RuntimeError, match=message):
        auto()
    assert not obj.vertex_groups
    own, rig = add_bare_tube()
    armature_modifier(own).object = bpy.data.objects["Rig", str(path)]
    bpy.data.objects.remove(rig)
    select(own)
    auto()
    assert_whole(own)
    assert settings_of(armature_modifier(own).object).weights_report == ""
