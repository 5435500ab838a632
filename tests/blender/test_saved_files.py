"""Files that an earlier Supple has saved open and work as they did: see tests/fixtures/save_files.py."""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from panels import draw
from scenes import (
    add_tube,
    armature_modifier,
    bind,
    diagonal,
    distance,
    evaluated_points,
    rest_points,
    save,
    select,
    skinned_meshes,
    supple_modifier,
    take_away,
)
from supple.bridge.meshes.influences import FORMER_PREFIXES
from supple.bridge.modifiers import read_input
from supple.bridge.rigs.joints import find_posing
from supple.nodes.skin import JOINTS_INPUT
from supple.settings.objects import SETTINGS_VERSION, settings_of
from supple.settings.weights import CLICKED_MODE
from supple.tasks.reports import version_reports
from supple.tasks.subject.stack import list_own_armatures

pytestmark = pytest.mark.usefixtures("silent_handlers")
FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""

FILL_TOLERANCE = 6e-3
"""The same of particles: what fills the mesh, and how joints take it, is no longer what it was."""

FILES = (
    pytest.param("python", id="python"),
    pytest.param("nodes", id="nodes", marks=pytest.mark.skipif(bpy.app.version < (5, 2, 0), reason="saved by 5.2")),
)
CHARACTERS = {
    "python": {"SSD", "DLB", "Face", "Baked", "Particles", "Published", "Bulge", "Folds"},
    "nodes": {"Mixed", "B-Bones"},
}


maker = SimpleNamespace(**runpy.run_path(str(FOLDER / "save_files.py")))
"""The script that has saved the files, for how it describes settings."""


@pytest.fixture(params=FILES)
def opened(request: pytest.FixtureRequest) -> str:
    """The name of a file that was just opened."""
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{request.param}.blend"))
    return request.param


def stored_points(name: str) -> list[tuple[str, int, np.ndarray]]:
    """Characters of a file, frames, and the points that the earlier Supple posed them to."""
    with np.load(FOLDER / f"{name}.npz") as arrays:
        return [(key.rpartition(" ")[0], int(key.rpartition(" ")[2]), arrays[key]) for key in arrays]


def assert_as_stored(name: str) -> None:
    """Each character is, in each frame, where the earlier Supple had it, and no one complains."""
    found = stored_points(name)
    assert {(character, frame) for character, frame, _ in found} == {
        (character, frame) for character in CHARACTERS[name] for frame in maker.FRAMES
    }
    for character, frame, points in found:
        bpy.context.scene.frame_set(frame)
        obj = bpy.data.objects[character]
        tolerance = FILL_TOLERANCE if character == "Particles" else TOLERANCE
        assert distance(points, evaluated_points(obj)) <= tolerance, f"{character} at {frame}"
        assert distance(points, rest_points(obj)) > 0.05
        assert settings_of(obj).message == ""


def assert_stored_values(stored: object, present: object, path: str) -> None:
    """All that was stored is there; there may be settings that came later, and the version is of today."""
    if path.endswith(".version"):
        assert present == SETTINGS_VERSION
    elif isinstance(stored, dict):
        for key, value in stored.items():
            assert_stored_values(value, present[key], f"{path}.{key}")
    elif isinstance(stored, list):
        assert len(stored) == len(present), path
        for number, (one, other) in enumerate(zip(stored, present, strict=True)):
            assert_stored_values(one, other, f"{path}[{number}]")
    elif isinstance(stored, float):
        assert present == pytest.approx(stored), path
    else:
        assert present == stored, path


def test_what_was_bound_before_a_default_changed_is_what_it_was(tmp_path):
    for method in ("CENTERS", "CENTERS", "DLBNT", "DLBNT"):
        obj, _ = add_tube()
        bind(obj, method=method, evaluate="NODES")
    for name in ("Tube", "Tube.001"):
        settings_of(bpy.data.objects[name]).bulge_limit = settings_of(bpy.data.objects[name]).contact = 0.0
    settings_of(bpy.data.objects["Tube.001"]).centers_bulge_limit = 0.75
    settings_of(bpy.data.objects["Tube"]).version = 4
    settings_of(bpy.data.objects["Tube.001"]).version = 6
    settings_of(bpy.data.objects["Tube.002"]).version = 5
    settings_of(bpy.data.objects["Tube.002"]).property_unset("limb_roots")
    save(tmp_path / "before.blend")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "before.blend"))
    found = [settings_of(bpy.data.objects[name]) for name in ("Tube", "Tube.001", "Tube.002", "Tube.003")]
    assert [settings.bulge_limit for settings in found] == pytest.approx([0.5, 0.75, 0.0, 0.0])
    assert [settings.contact for settings in found] == pytest.approx([1.0, 0.3, 0.0, 0.0])
    assert [settings.limb_roots for settings in found[2:]] == [0.0, 1.0]
    assert {settings.version for settings in found} == {SETTINGS_VERSION}
    bpy.context.scene.frame_set(2)
    assert read_input(supple_modifier(bpy.data.objects["Tube"]), "Contact") == 1.0


@pytest.mark.versions
def test_characters_are_as_they_were(opened, tmp_path, capfd, subtests):
    with subtests.test("settings"):
        stored = json.loads((FOLDER / f"{opened}.json").read_text())
        assert stored["settings"].keys() == CHARACTERS[opened]
        for name, values in stored["settings"].items():
            settings = settings_of(bpy.data.objects[name])
            assert settings.is_bound
            assert_stored_values(values, maker.describe(settings), name)
        assert stored["weights"]["limit"] == 4
        stored["weights"]["mode"] = CLICKED_MODE  # none was chosen there, and a click without a choice fills now
        assert_stored_values(stored["weights"], maker.describe(bpy.context.scene.supple_weights), "scene")
    with subtests.test("points"):
        assert_as_stored(opened)
        for name in CHARACTERS[opened]:
            obj = bpy.data.objects[name]
            assert supple_modifier(obj).show_viewport == (name != "Baked")
            assert not armature_modifier(obj).show_viewport
    with subtests.test("node groups are in no menu"):
        groups = [group for group in bpy.data.node_groups if "supple_version" in group or "supple_patterns" in group]
        assert groups
        assert not [group.name for group in groups if not group.name.startswith(".")]
        assert not [group.name for group in groups if getattr(group, "is_modifier", False)]
    if opened == "nodes":
        with subtests.test("nodes are replaced"):
            assert_nodes_are_replaced(capfd)
    with subtests.test("saved and opened again"):
        save(tmp_path / "again.blend")
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "again.blend"))
        assert_as_stored(opened)


def assert_nodes_are_replaced(capfd: pytest.CaptureFixture[str]) -> None:
    sys.stdout.flush()
    output = capfd.readouterr()
    assert "Traceback" not in output.err
    for name in CHARACTERS["nodes"]:
        obj = bpy.data.objects[name]
        told = f"'{name}' was bound by another version of Supple; its nodes are now of this one"
        assert output.out.count(told) == 1
        if own := list_own_armatures(obj):
            assert {each.object for each in own} == {armature_modifier(obj).object}
        else:
            assert find_posing(read_input(supple_modifier(obj), JOINTS_INPUT)) == armature_modifier(obj).object
        assert not [attribute for attribute in obj.data.attributes.keys() if attribute.startswith(FORMER_PREFIXES)]
    select(obj)
    armature = armature_modifier(obj).object
    report = f"'{armature.name}' was bound by another version of Supple and may look slightly different now"
    assert version_reports.find(armature) == report
    assert draw("VIEW3D_PT_supple").count(report) == 1
    bpy.ops.supple.close_report(owner=armature.name, kind="version")
    bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
    assert report not in draw("VIEW3D_PT_supple")


def test_characters_go_on(opened, subtests):
    with subtests.test("bound anew"):
        for obj in skinned_meshes():
            if settings_of(obj).bake == "NONE":
                select(obj)
                bpy.ops.supple.bind(method=settings_of(obj).method, evaluate=settings_of(obj).evaluate)
        assert_as_stored(opened)
    with subtests.test("another method"):
        obj = bpy.data.objects["SSD" if opened == "python" else "Mixed"]
        bpy.context.scene.frame_set(maker.FRAMES[0])
        before = evaluated_points(obj)
        settings_of(obj).method = "DLB"
        bpy.context.view_layer.update()
        after = evaluated_points(obj)
        assert np.abs(after - before).max() > 1e-3 * diagonal(before)
        if opened == "python":
            assert distance(evaluated_points(bpy.data.objects["DLB"]), after) <= TOLERANCE


@pytest.mark.versions
def test_unbind_gives_characters_back(opened):
    select(*skinned_meshes())
    take_away()
    bpy.context.scene.frame_set(maker.FRAMES[0])
    assert not [obj.name for obj in bpy.data.objects if obj.name.startswith("Supple")]
    assert not [group.name for group in bpy.data.node_groups if "Supple" in group.name]
    for obj in skinned_meshes():
        settings = settings_of(obj)
        assert not settings.is_bound
        assert len(settings.patterns) == 0
        assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
        assert armature_modifier(obj).show_viewport
        assert distance(rest_points(obj), evaluated_points(obj)) > 0.05
        assert obj.data.shape_keys is None or obj.name == "Face"


@pytest.mark.versions
def test_patterns_go_on_following_their_bones():
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / "python.blend"))
    bulge, folds = bpy.data.objects["Bulge"], bpy.data.objects["Folds"]
    bpy.context.scene.frame_set(maker.FRAMES[0])
    # The folds are in the material alone: elsewhere the two are the same tube.
    assert distance(evaluated_points(folds), evaluated_points(bulge)) > 1e-3
    settings_of(bulge).patterns[0].strength = 0.0
    bpy.context.view_layer.update()
    assert distance(evaluated_points(folds), evaluated_points(bulge)) <= TOLERANCE
    assert any(slot.material and slot.material.node_tree.nodes for slot in folds.material_slots)
    select(folds)
    assert bpy.ops.supple.pattern_remove(index=0) == {"FINISHED"}
    assert not settings_of(folds).patterns
    assert not any(slot.material for slot in folds.material_slots)
