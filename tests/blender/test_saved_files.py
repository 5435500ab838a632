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
from scenes_twist import list_drivers, points_without_supple

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
from supple.bridge.modifiers import is_layer_modifier, read_input
from supple.bridge.rigs.joints import find_posing
from supple.nodes.skin import JOINTS_INPUT
from supple.settings.engine_copy import ORIGINAL_KEY
from supple.settings.objects import SETTINGS_VERSION, settings_of
from supple.settings.weights import CLICKED_MODE
from supple.tasks.reports import version_reports
from supple.tasks.subject.stack import list_own_armatures

pytestmark = pytest.mark.usefixtures("silent_handlers")
FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""

UNBOUND = "unbound "

FILL_TOLERANCE = 6e-3
"""The same of particles: what fills the mesh, and how joints take it, is no longer what it was."""

CHARACTERS = {
    "python": {"SSD", "DLB", "Face", "Baked", "Particles", "Published", "Bulge", "Folds"},
    "nodes": {"Mixed", "B-Bones"},
    "1.0/nodes": {"SSD", "DLB", "DLBNT", "CENTERS", "Spread CENTERS", "Turns CENTERS", "Limits CENTERS", "SDEF NODES"},
    "1.0/python": {"SSD", "DLB", "DLBNT", "CENTERS", "Spread DLB", "Turns DLB", "Limits DLBNT", "SDEF PYTHON",
                   "Particles", "Published"},
    "1.0/native": {"B-Bones", "Baked", "Spread DLBNT", "Bulge", "Folds", "Angle", "Rotations", "Flesh"},
    "1.0/layers": {"Dressed", "Dressed Sleeve", "Folded", "Folded Sleeve", "Sphere", "Cylinder"},
    "1.0/looks": {"Flesh", "Fast", "Blender", "Fast for glTF"},
    "1.0/library": {"Kept", "Changed", "Own"},
    "1.0/override": {"Kept", "Changed", "Own"},
}  # fmt: skip
"""Meshes by file: what a folder holds, the version of its name has to go on playing."""

FORMER = ("python", "nodes")
"""Files of version 0.1."""

SAVED_BY_5_2 = pytest.mark.skipif(bpy.app.version < (5, 2, 0), reason="saved by 5.2")
FILES = [pytest.param(name, id=name, marks=SAVED_BY_5_2 if name == "nodes" else ()) for name in CHARACTERS]


maker = SimpleNamespace(**runpy.run_path(str(FOLDER / "save_files.py")))
"""The script that has saved the files, for how it describes settings."""


@pytest.fixture(params=FILES)
def opened(request: pytest.FixtureRequest) -> str:
    """The name of a file that was just opened."""
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{request.param}.blend"))
    return request.param


def stored_points(name: str) -> list[tuple[str, int, np.ndarray]]:
    """Characters of a file, frames, and the points that the earlier Supple posed them to."""
    return [
        (key.rpartition(" ")[0], int(key.rpartition(" ")[2]), points)
        for key, points in read_points(name).items()
        if not key.startswith(UNBOUND)
    ]


def read_points(name: str) -> dict[str, np.ndarray]:
    """All points that are stored of a file, by character and frame; after `UNBOUND`, those before Bind."""
    with np.load(FOLDER / f"{name}.npz") as arrays:
        return dict(arrays)


def assert_as_stored(name: str) -> None:
    """Each character is, in each frame, where the earlier Supple had it, and no one complains."""
    found = stored_points(name)
    assert {(character, frame) for character, frame, _ in found} == {
        (character, frame) for character in CHARACTERS[name] for frame in maker.FRAMES
    }
    for character, frame, points in found:
        bpy.context.scene.frame_set(frame)
        obj = bpy.data.objects[character, None]
        tolerance = FILL_TOLERANCE if (name, character) == ("python", "Particles") else TOLERANCE
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
            assert_stored_values(values, maker.describe(settings_of(bpy.data.objects[name, None])), name)
        assert stored["weights"]["limit"] == 4
        stored["weights"]["mode"] = CLICKED_MODE  # none was chosen there, and a click without a choice fills now
        assert_stored_values(stored["weights"], maker.describe(bpy.context.scene.supple_weights), "scene")
    with subtests.test("points"):
        assert_as_stored(opened)
        for name in CHARACTERS[opened]:
            obj = bpy.data.objects[name, None]
            if settings_of(obj).is_bound:
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


@pytest.mark.parametrize("opened", [each for each in FILES if each.id in FORMER], indirect=True)
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
def test_what_stays_in_the_file_needs_no_supple(tmp_path, subtests):
    names = [name for name in CHARACTERS if name not in FORMER]
    shown = points_without_supple(tmp_path / "a.npz", maker.FRAMES, *(FOLDER / f"{name}.blend" for name in names))
    for name in names:
        stored = json.loads((FOLDER / f"{name}.json").read_text())["settings"]
        for character, frame, points in stored_points(name):
            settings = stored[character]
            if settings["evaluate"] == "NODES" or settings["bake"] != "NONE" or not settings["is_bound"]:
                with subtests.test(f"{name} {character} {frame}"):
                    assert distance(points, shown[f"{FOLDER / name}.blend {character} {frame}"]) <= 1e-6


@pytest.mark.versions
def test_what_was_added_is_taken_away(opened):
    for obj in skinned_meshes():
        take_all_away(obj, armature_modifier(obj).object)
    bpy.context.scene.frame_set(maker.FRAMES[0])
    assert not [obj.name for obj in bpy.data.objects if obj.name.startswith("Supple") and obj.library is None]
    assert not [group.name for group in bpy.data.node_groups if "Supple" in group.name and group.library is None]
    for obj in skinned_meshes():
        settings = settings_of(obj)
        assert not settings.is_bound
        assert len(settings.patterns) == 0
        own = [modifier for modifier in obj.modifiers if not is_of_library(obj, modifier)]
        assert [modifier.type for modifier in own] == ["ARMATURE"]
        assert own[0].show_viewport
        assert distance(rest_points(obj), evaluated_points(obj)) > 0.05
        assert {key.name[:9] for key in list_keys(obj)} <= {"Basis", "Face", "mmd_sdef_"}
        armature = own[0].object
        assert not [group.name for group in obj.vertex_groups if group.name.startswith("Supple")]
        assert not [bone.name for bone in armature.pose.bones if bone.constraints or bone.bone.supple.is_lag]
        for data in (obj, obj.data.shape_keys, armature, armature.data):
            assert not list_drivers(data)
        for data in (obj, obj.data, armature, armature.data):
            left = set(data.keys()) - set(dir(data)) - {ORIGINAL_KEY}  # of engine copies, which stay
            assert data.library or not [key for key in left if key.startswith("supple_")]
        assert obj.data.library or not [key for key in obj.data.attributes.keys() if key.startswith("supple_")]
    found = read_points(opened)
    for frame in maker.FRAMES:
        bpy.context.scene.frame_set(frame)
        for obj in skinned_meshes():
            expected = found.get(f"{UNBOUND}{obj.name} {frame}")
            assert expected is None or distance(expected, evaluated_points(obj)) <= 1e-6


def take_all_away(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """Take what Supple has added off a mesh and its armature."""
    select(obj)
    entries = settings_of(obj).corrections
    while sculpted := [entry.name for entry in entries if not entry.source]:
        assert bpy.ops.supple.correction_remove(key=sculpted[0]) == {"FINISHED"}
    for command, is_needed in (
        ("flesh_remove", len(entries) > 0),
        ("layers_remove", any(map(is_layer_modifier, obj.modifiers))),
        ("swing_remove", any(bone.supple.is_lag for bone in armature.data.bones)),
    ):
        assert not is_needed or getattr(bpy.ops.supple, command)() == {"FINISHED"}
    take_away()


def list_keys(obj: bpy.types.Object) -> list[bpy.types.ShapeKey]:
    return [] if obj.data.shape_keys is None else list(obj.data.shape_keys.key_blocks)


def is_of_library(obj: bpy.types.Object, modifier: bpy.types.Modifier) -> bool:
    """Whether a library has put a modifier into the stack of an override, where it stays, switched off."""
    of_library = obj.override_library is not None and modifier.is_override_data
    return of_library and modifier.name.startswith("Supple") and not modifier.show_viewport


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
