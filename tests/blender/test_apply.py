"""Caches that are applied to a file: it plays and renders the same where Supple is not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest
from pictures import FRAMES, assert_something_to_see, prepare_pictures, read_picture, read_pictures, render_animation
from pictures import add_character as add_pictured
from pictures import render_elsewhere as render_without
from scenes_bake import add_bound, add_character, assert_live, changes, everything, pack, read_cache, remove_characters
from scenes_cli import DONE, assert_refused, main, own_output
from scenes_state import refuse

from checkout import ROOT
from panels import draw
from scenes import add_twin, armature_modifier, bind, execute, open_file, points_at, reset, save, select
from supple.settings.objects import settings_of
from supple.tasks.bake.apply import apply_caches
from supple.tasks.bake.made_from import Inputs
from supple.tasks.bake.parts import bake_parts, plan_parts
from supple.tasks.farm.commands import RENDER_SCRIPT
from supple.tasks.skin.baked import CACHE_MODIFIER
from supple.tasks.subject.stack import find_supple_modifier

WHOLE = range(2, 5)
SEVERAL = (range(-3, 2), range(3, 8, 2), range(20, 21))


def bake_folder(folder: Path, *objects: bpy.types.Object, ranges: Sequence[range] = (WHOLE,)) -> Path:
    """A folder as `supple join` and `supple bake` leave it: for each object and range a cache and its JSON file."""
    folder.mkdir(parents=True, exist_ok=True)
    for frames in ranges:
        inputs = Inputs("0.1.0", "5.2", 64 * "0")
        list(bake_parts(plan_parts(objects, frames, inputs, (), is_part=len(ranges) > 1), bpy.context.scene, folder))
    return folder


def acting(obj: bpy.types.Object, time: float) -> list[int]:
    """Which of an object's Mesh Cache modifiers are on, in the viewport and in the render, at a time."""
    bpy.context.scene.frame_set(int(np.floor(time)), subframe=time - np.floor(time))
    evaluated = obj.evaluated_get(bpy.context.evaluated_depsgraph_get())
    caches = [modifier for modifier in evaluated.modifiers if modifier.type == "MESH_CACHE"]
    assert [modifier.show_viewport for modifier in caches] == [modifier.show_render for modifier in caches]
    return [number for number, modifier in enumerate(caches) if modifier.show_viewport]


@pytest.mark.versions
@pytest.mark.parametrize("is_bound", (True, False), ids=["bound", "bound for the bake"])
def test_the_saved_file_renders_the_same_without_supple_wherever_its_folder_is(tmp_path, capfd, is_bound):
    reset()
    obj, _ = add_pictured("keyed")
    prepare_pictures("workbench")
    (tmp_path / "files").mkdir()
    if is_bound:
        bind(obj)
    file = save(tmp_path / "files" / "hero.blend")
    bind(obj)
    pictures = render_animation(tmp_path / "live")
    assert_something_to_see(pictures)
    caches = bake_folder(tmp_path / "job" / "caches", obj)
    samples = read_cache(caches / "Tube.pc2")[1]
    capfd.readouterr()
    assert main("apply", file, "--cache", caches, "--output", tmp_path / "job" / "baked.blend") == DONE
    assert own_output(capfd.readouterr().out) == ["Tube: frames 2-4"]
    file.unlink()
    (tmp_path / "job").rename(tmp_path / "elsewhere")
    render_without(tmp_path / "out", with_supple=False, files=[tmp_path / "elsewhere" / "baked.blend"])
    assert np.array_equal(read_pictures(tmp_path / "out" / "baked"), pictures)
    with np.load(tmp_path / "out" / "baked.npz") as played:
        for frame, points in zip(FRAMES, samples, strict=True):
            assert np.array_equal(played[str(frame)], points)


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_of_several_ranges_exactly_one_cache_acts(tmp_path):
    obj, _ = add_bound("keyed")
    live = {frame: points_at(obj, frame) for frames in SEVERAL for frame in frames}
    applied = apply_caches(None, bake_folder(tmp_path / "caches", obj, ranges=SEVERAL))
    assert applied.describe() == ["Tube: frames -3-1,3-7:2,20"]
    for time in np.arange(-5.0, 25.0, 0.25):
        expected = 0 if time < 2.0 else 1 if time < 13.5 else 2
        assert acting(obj, time) == [expected], time
    for frame, points in live.items():
        assert np.array_equal(points_at(obj, frame), points), frame
    assert np.array_equal(points_at(obj, 2.25), live[3])
    drivers = [curve.driver for curve in obj.animation_data.drivers]
    assert len(drivers) == 6
    assert all(driver.is_simple_expression for driver in drivers)
    select(obj)
    bpy.ops.object.convert(target="MESH")
    bpy.ops.supple.clear_bake()
    assert not obj.animation_data


@pytest.mark.usefixtures("evaluator")
def test_back_to_live_takes_all_of_it_away(tmp_path, subtests):
    for how, ranges in product(("untouched", "renamed", "one removed"), ((WHOLE,), SEVERAL)):
        with subtests.test(f"{how}, {len(ranges)} ranges"):
            obj, armature = add_bound()
            before = everything(obj)
            folder = bake_folder(tmp_path / f"{how} {len(ranges)}", obj, ranges=ranges)
            for _ in range(2):  # the second takes the place of the first
                apply_caches(["Tube"], folder)
                caches = [modifier for modifier in obj.modifiers if modifier.type == "MESH_CACHE"]
                assert len(caches) == len(ranges)
                assert not find_supple_modifier(obj).show_render
            if how == "renamed":
                for cache in caches:
                    cache.name = "Mine"
            if how == "one removed":
                obj.modifiers.remove(caches[-1])
            bpy.ops.supple.clear_bake()
            assert (settings_of(obj).bake, settings_of(obj).cache_modifier) == ("NONE", "")
            if how != "one removed":
                assert changes(before, everything(obj)) == {}
            assert_live(obj, armature)
        remove_characters()


def test_an_object_that_is_not_bound_gets_its_cache_over_the_armature_modifier(tmp_path):
    obj, armature = add_character()
    obj.modifiers.new("Below", "SMOOTH")
    armature_modifier(obj).show_viewport = False
    bind(obj)
    folder = bake_folder(tmp_path / "caches", obj)
    bpy.ops.supple.unbind()
    before = everything(obj)
    for _ in range(2):
        apply_caches(None, folder)
        assert [(m.type, m.show_viewport, m.show_render) for m in obj.modifiers] == [
            ("ARMATURE", False, False),
            ("MESH_CACHE", False, True),
            ("SMOOTH", True, True),
        ]
    refuse("'Tube' is deformed by a bake: go back to live first", bind, obj)
    assert "supple.clear_bake" in draw("VIEW3D_PT_supple_hand_over")
    assert bpy.ops.supple.clear_bake() == {"FINISHED"}
    assert changes(before, everything(obj)) == {}
    armature_modifier(obj).show_viewport = True
    assert_live(obj, armature)


def test_what_is_left_live_is_named(tmp_path):
    obj, _ = add_character()
    twin = add_twin(obj)
    bind(obj, twin, evaluate="PYTHON")
    folder = bake_folder(tmp_path / "caches", obj, twin)
    applied = apply_caches([twin.name], folder)
    assert list(applied.frames) == [twin.name]
    assert applied.live == ["Tube"]
    assert applied.describe_missing()[0].startswith("'Tube' has no cache: on machines without Supple")
    assert CACHE_MODIFIER not in obj.modifiers
    assert apply_caches(None, folder).live == []


SPOILED = {
    "'Tube.pc2' ends inside frame 3 of 3: bake it again": "os.truncate(cache, cache.stat().st_size - 1)",
    "'Tube.pc2' is missing next to its JSON file": "cache.unlink()",
    "There are no caches with their JSON files in": "described.write_text('[1')",
    "'Tube.pc2' does not match the points or frames in its JSON file": (
        "cache.write_bytes(pack(points=96, start=3.0, samples=3))"
    ),
    "'Tube.pc2' has 96 points, but 'Tube' has 80 vertices: bake it again": (
        "other = add_tube(rings=10, sides=8)[0]; obj.name, other.name = 'Former', 'Tube'"
    ),
    "There is a cache of 'Tube', but the file has no mesh of that name": "obj.name = 'Body'",
    "The frames of 'Tube.*.pc2' and 'Tube.*.pc2' overlap: remove older files": (
        "for path in (cache, described): shutil.copy(path, folder / path.name.replace('Tube', 'Tube_2-4'))"
    ),
    "has no cache of Hat that was baked with the others": (
        'described.write_text(described.read_text().replace(\'"objects": [\', \'"objects": ["Hat",\'))'
    ),
    "No such file or directory": "shutil.rmtree(folder)",
}
"""What brings a folder of one cache out of order, by the message."""


def spoil(how: str, folder: Path, obj: bpy.types.Object) -> None:
    paths = {"folder": folder, "cache": folder / "Tube.pc2", "described": folder / "Tube.json"}
    execute(SPOILED[how], obj=obj, os=os, shutil=shutil, pack=pack, **paths)


def test_caches_that_do_not_fit_are_refused(tmp_path, subtests):
    for number, message in enumerate(SPOILED):
        with subtests.test(message):
            obj, _ = add_bound()
            folder = bake_folder(tmp_path / str(number), obj)
            spoil(message, folder, obj)
            refuse(message, apply_caches, None, folder)
        remove_characters()


def test_a_name_without_a_cache_is_refused(tmp_path):
    obj, _ = add_bound()
    select(obj)
    folder = bake_folder(tmp_path / "caches", obj)
    refuse(r"There is no cache of 'Hat' in .*: choose one of Tube", apply_caches, ["Tube", "Hat"], folder)
    assert settings_of(obj).bake == "NONE"


def test_a_refused_folder_leaves_no_file(tmp_path, capfd):
    obj, _ = add_bound()
    file = save(tmp_path / "hero.blend")
    folder = bake_folder(tmp_path / "caches", obj)
    spoil(next(iter(SPOILED)), folder, obj)
    capfd.readouterr()
    files = ("--output", tmp_path / "new.blend", "--render-script", tmp_path / "render.py")
    code = main("apply", file, "--cache", folder, *files)
    assert_refused(code, capfd.readouterr(), "'Tube.pc2' ends inside frame 3 of 3")
    assert sorted(os.listdir(tmp_path)) == ["caches", "hero.blend"]


def test_what_is_left_live_is_named_on_the_command_line(tmp_path, capfd):
    obj, _ = add_character()
    twin = add_twin(obj)
    bind(obj, twin, evaluate="PYTHON")
    name = twin.name
    file = save(tmp_path / "hero.blend")
    folder = bake_folder(tmp_path / "caches", obj)
    capfd.readouterr()
    script = tmp_path / "render.py"
    files = ("--output", file, "--render-script", script)
    assert main("apply", file, "--cache", folder, "--object", "Tube", *files) == DONE
    assert script.read_bytes() == RENDER_SCRIPT.read_bytes()
    captured = capfd.readouterr()
    assert f"supple: '{name}' has no cache" in captured.err
    open_file(file)
    assert bpy.data.objects["Tube"].modifiers[CACHE_MODIFIER].filepath == "//caches/Tube.pc2"


@pytest.mark.versions
def test_the_render_script_renders_frames_without_supple(tmp_path):
    """Under whatever name the folder has: from Blender 5.0 on, braces are read in paths."""
    obj, _ = add_pictured()
    prepare_pictures("workbench")
    bind(obj)
    bpy.context.scene.render.filepath = "//shot_"
    file, folder = save(tmp_path / "hero.blend"), tmp_path / "{frames} {1}"
    caches = bake_folder(tmp_path / "caches", obj)
    script = tmp_path / "render.py"
    assert main("apply", file, "--cache", caches, "--output", file, "--render-script", script) == DONE
    words = ("--background", "--python-exit-code", "1", "--python", script, "--", file)
    words += ("--frames=2-4:2", "--output", folder)
    done = subprocess.run(
        [sys.executable, ROOT / "tests" / "farm" / "blender.py", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    images = [folder / "shot_0002.png", folder / "shot_0004.png"]
    said = [(f"Saved: '{image}'", f"Progress: {share}%") for image, share in zip(images, (50.0, 100.0), strict=True)]
    assert done.stdout.splitlines() == [line for lines in said for line in lines]
    assert sorted(os.listdir(folder)) == ["shot_0002.png", "shot_0004.png"]
    assert_something_to_see(np.stack([read_picture(path) for path in sorted(folder.iterdir())]))
