"""Files that an earlier Supple has saved play on as they were, and are brought up: see tests/fixtures/save_files.py."""

from __future__ import annotations

import json
import re
import runpy
import shutil
from pathlib import Path
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from panels import draw
from scenes import (
    armature_modifier,
    diagonal,
    distance,
    evaluated_points,
    push,
    rest_points,
    save,
    select,
    skinned_meshes,
    take_away,
    undo,
)
from supple.bridge.modifiers import is_layer_modifier
from supple.settings.objects import SETTINGS_VERSION, settings_of
from supple.settings.weights import CLICKED_MODE
from supple.tasks.skin.baked import show_cache
from supple.tasks.skin.former import ATTRIBUTES
from supple.tasks.subject.stack import is_former, list_former

pytestmark = pytest.mark.usefixtures("silent_handlers")
FOLDER = Path(__file__).resolve().parent.parent / "fixtures"
TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""

FILL_TOLERANCE = 6e-3
"""The same of particles: what fills the mesh, and how joints take it, is no longer what it was."""

UNBOUND = "unbound "

BROUGHT_UP = {"version", "is_bound", "method", "evaluate", "twist", "limb_roots", "bulge_limit", "defaults_of"}
"""Settings that mean something else than before."""

SAVED_BY_5_2 = pytest.mark.skipif(bpy.app.version < (5, 2, 0), reason="saved by 5.2")
NAMES = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.blend"))
FILES = [pytest.param(name, id=name, marks=SAVED_BY_5_2 if name == "nodes" else ()) for name in NAMES]

maker = SimpleNamespace(**runpy.run_path(str(FOLDER / "save_files.py")))
"""The script that has saved the files, for how it describes settings."""


@pytest.fixture(params=FILES)
def opened(request: pytest.FixtureRequest) -> str:
    """The name of a file that was just opened."""
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / f"{request.param}.blend"))
    return request.param


def read_points(name: str) -> dict[str, np.ndarray]:
    """All points that are stored of a file, by character and frame; after `UNBOUND`, those before Bind."""
    with np.load(FOLDER / f"{name}.npz") as arrays:
        return dict(arrays)


def stored_points(name: str) -> list[tuple[str, int, np.ndarray]]:
    """Characters of a file, frames, and the points that the earlier Supple posed them to."""
    found = [(*key.rpartition(" ")[::2], points) for key, points in read_points(name).items() if UNBOUND not in key]
    return [(character, int(frame), points) for character, frame, points in found]


def measure(name: str) -> dict[str, float]:
    """How far each character is from where the earlier Supple had it, in diagonals; no one complains."""
    found: dict[str, float] = {}
    for character, frame, points in stored_points(name):
        bpy.context.scene.frame_set(frame)
        obj = bpy.data.objects[character, None]
        found[character] = max(found.get(character, 0.0), distance(points, evaluated_points(obj)))
        assert distance(points, rest_points(obj)) > 0.05
        assert settings_of(obj).message == ""
    return found


def assert_stored_values(stored: object, present: object, path: str) -> None:
    """All that was stored is there, but for settings that are gone; there may be some that came later."""
    if isinstance(stored, dict):
        for key in stored.keys() & present.keys() - BROUGHT_UP:
            assert_stored_values(stored[key], present[key], f"{path}.{key}")
    elif isinstance(stored, list):
        assert len(stored) == len(present), path
        for number, (one, other) in enumerate(zip(stored, present, strict=True)):
            assert_stored_values(one, other, f"{path}[{number}]")
    else:
        assert present == (pytest.approx(stored) if isinstance(stored, float) else stored), path


def list_parts() -> tuple[object, ...]:
    """What there is in the file: names of data-blocks, modifiers and their toggles, attributes.

    Groups of patterns that are built anew, as those of an earlier version once, have a number, and leave one unused.
    """
    data = bpy.data
    names = [{each.name for each in blocks} for blocks in (data.objects, data.meshes, data.armatures)]
    used = [group.name for group in data.node_groups if group.users]
    names.append({re.sub(r"^(\.Supple .*)\.\d{3}$", r"\1", name) for name in used})
    stacks = [(obj.name, each.name, each.show_viewport) for obj in data.objects for each in obj.modifiers]
    return names, sorted(stacks), sorted((mesh.name, name) for mesh in data.meshes for name in mesh.attributes.keys())


@pytest.mark.versions
def test_settings_and_parts_are_as_they_were(opened, tmp_path, subtests):
    """Points are in the corpus, as they are and updated: the panel says of which meshes they are other than stored."""
    stored = json.loads((FOLDER / f"{opened}.json").read_text())
    with subtests.test("settings"):
        for name, values in stored["settings"].items():
            settings = settings_of(bpy.data.objects[name, None])
            assert_stored_values(values, maker.describe(settings), name)
            is_of_nodes = values["is_bound"] and values["evaluate"] == "NODES"
            assert settings.version == SETTINGS_VERSION or not values["is_bound"]
            assert settings.is_bound == (values["is_bound"] and not is_of_nodes)
            assert is_former(bpy.data.objects[name, None]) == is_of_nodes
        stored["weights"]["mode"] = CLICKED_MODE  # none was chosen there, and a click without a choice fills now
        assert_stored_values(stored["weights"], maker.describe(bpy.context.scene.supple_weights), "scene")
    apart = measure(opened)
    assert stored["settings"].keys() == apart.keys()
    with subtests.test("panel"):
        for name in apart:
            select(obj := bpy.data.objects[name, None])
            shown, armature = draw("VIEW3D_PT_supple"), armature_modifier(obj).object
            assert ("supple.update" in shown) == is_former(obj)
            report = f"'{armature.name}' was bound by another version of Supple and may look slightly different now"
            is_other = settings_of(obj).is_bound and apart[name] > FILL_TOLERANCE
            assert report in shown or not is_other or opened == "1.0/override"  # of which no version is stored
        bpy.ops.supple.close_report(owner=armature.name, kind="version")
        assert report not in draw("VIEW3D_PT_supple")
    with subtests.test("saved and opened again"):
        parts = list_parts()
        for mesh in bpy.data.meshes:
            if mesh.library is None:
                mesh.update_tag()
        bpy.context.view_layer.update()
        save(tmp_path / "again.blend")
        if opened == "1.0/override":
            shutil.copy(FOLDER / "1.0" / "library.blend", tmp_path)
        bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "again.blend"))
        assert list_parts() == parts
    with subtests.test("parts"), bpy.data.libraries.load(str(FOLDER / f"{opened}.blend")) as (saved, _):
        for kind in ("objects", "meshes", "armatures", "node_groups"):
            names = {each.name.removeprefix(".") for each in getattr(bpy.data, kind) if each.library is None}
            assert names >= {name.removeprefix(".") for name in getattr(saved, kind)} or opened == "python"
        assert not [group.name for group in bpy.data.node_groups if getattr(group, "is_modifier", False)]


# Update Character


def list_drivers(data: bpy.types.ID | None) -> list[bpy.types.FCurve]:
    return [] if data is None or data.animation_data is None else list(data.animation_data.drivers)


def update_all() -> list[bpy.types.Object]:
    former = list_former(bpy.context.scene.objects)
    for obj in former:
        if is_former(obj):
            select(obj)
            assert bpy.ops.supple.update() == {"FINISHED"}
    return former


def list_added(obj: bpy.types.Object) -> list[object]:
    """What a user has added to a character besides Bind."""
    settings, keys = settings_of(obj), obj.data.shape_keys
    layers = [modifier.name for modifier in obj.modifiers if is_layer_modifier(modifier) or "Patterns" in modifier.name]
    return [len(settings.corrections), len(settings.patterns), layers, keys and keys.key_blocks.keys()]


@pytest.mark.versions
@pytest.mark.parametrize(
    "opened", [each for each in FILES if "python" not in each.id and each.id != "1.0/override"], indirect=True
)
def test_characters_are_brought_up(opened, capfd):
    bpy.context.scene.frame_set(3)
    former = list_former(bpy.context.scene.objects)
    added, parts = list(map(list_added, former)), list_parts()
    bones = [bone for obj in former for bone in armature_modifier(obj).object.pose.bones]
    bones[1].location.x += 0.125  # without a key
    pose = [tuple(bone.location) + tuple(bone.scale) for bone in bones]
    push("before")
    capfd.readouterr()
    names = [obj.name for obj in update_all()]
    told = dict(re.findall(r"Info: (.+?): (the same|up to .+)", capfd.readouterr().out))
    former = [bpy.data.objects[name] for name in names]
    assert bpy.context.scene.frame_current == 3
    assert [tuple(bone.location) + tuple(bone.scale) for bone in bones] == pose
    for obj in former:
        assert settings_of(obj).is_bound
        assert not is_former(obj)
        assert not [name for name in obj.data.attributes.keys() if name.startswith(ATTRIBUTES)]
        assert not [curve for curve in list_drivers(obj) if 'modifiers["Supple"]' in curve.data_path]
    assert list(map(list_added, former)) == added
    assert not [group.name for group in bpy.data.node_groups if "deformation" in group.get("supple_part", "")]
    assert not [obj.name for obj in bpy.data.objects if "Joints" in obj.name and opened != "1.0/layers"]
    bones[1].location.x -= 0.125
    assert told.keys() == set(names)
    apart = measure(opened)
    for obj in former:
        if apart[obj.name] > TOLERANCE:
            millimeters, bone = re.fullmatch(r"up to ([\d.e+]+) mm at '(.+)'", told[obj.name]).groups()
            assert float(millimeters) >= 990.0 * apart[obj.name] * diagonal(evaluated_points(obj)) / 3.0
            assert bone in armature_modifier(obj).object.data.bones
        else:
            assert told[obj.name] == "the same", obj.name
    push("after")
    undo()
    assert list_parts() == parts


def test_what_cannot_be_brought_up_is_named_and_stays(subtests, capfd):
    with subtests.test("of a library"):
        bpy.ops.wm.open_mainfile(filepath=str(FOLDER / "1.0/override.blend"))
        select(bpy.data.objects["Kept", None])
        with pytest.raises(RuntimeError, match="'Kept' was bound in another file by an earlier version: update it"):
            bpy.ops.supple.update()
    bpy.ops.wm.open_mainfile(filepath=str(FOLDER / "1.0/looks.blend"))
    flesh, fast = bpy.data.objects["Flesh"], bpy.data.objects["Fast"]
    with subtests.test("baked"):
        show_cache(fast, Path("nowhere.pc2"), range(1, 9))
        select(fast)
        with pytest.raises(RuntimeError, match="'Fast' is deformed by a bake: go back to live first"):
            bpy.ops.supple.update()
        assert bpy.ops.supple.clear_bake() == {"FINISHED"}
    with subtests.test("without weights"):
        copy = flesh.copy()
        copy.data = flesh.data.copy()
        bpy.context.scene.collection.objects.link(copy)
        for name in armature_modifier(copy).object.data.bones.keys():
            copy.vertex_groups.remove(copy.vertex_groups[name])
        stack = [modifier.name for modifier in copy.modifiers]
        select(flesh, copy)
        capfd.readouterr()
        assert bpy.ops.supple.update() == {"FINISHED"}
        assert f"Warning: '{copy.name}' was left out. " in capfd.readouterr().out
        assert [modifier.name for modifier in copy.modifiers] == stack
        assert (is_former(copy), is_former(flesh), settings_of(flesh).is_bound) == (True, False, True)
    with subtests.test("the same mesh"):
        twin = fast.copy()
        bpy.context.scene.collection.objects.link(twin)
        select(twin)
        assert bpy.ops.supple.update() == {"FINISHED"}
        assert (is_former(fast), settings_of(fast).is_bound) == (False, True)
        assert distance(evaluated_points(fast), evaluated_points(twin)) <= 1e-6


@pytest.mark.versions
@pytest.mark.parametrize("opened", [each for each in FILES if each.id != "1.0/override"], indirect=True)
def test_what_was_added_is_taken_away(opened):
    update_all()
    for obj in skinned_meshes():
        take_all_away(obj, armature_modifier(obj).object)
    data = bpy.data
    for obj in skinned_meshes():
        assert not settings_of(obj).is_bound
        assert [modifier.type for modifier in obj.modifiers] == ["ARMATURE"]
        keys, armature = obj.data.shape_keys, armature_modifier(obj).object
        assert {key.name[:9] for key in (keys.key_blocks if keys else ())} <= {"Basis", "Face", "mmd_sdef_"}
        assert not [bone.name for bone in armature.pose.bones if bone.constraints or bone.bone.supple.is_lag]
        assert not [each for each in (obj, keys, armature, armature.data) if list_drivers(each)]
        names = [*obj.vertex_groups.keys(), *obj.data.attributes.keys(), *data.objects.keys(), *data.node_groups.keys()]
        assert not [name for name in names if name.lstrip(".").lower().startswith("supple")]
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
