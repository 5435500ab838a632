"""Bakes by the operators, and what they refuse."""

from __future__ import annotations

import os
import warnings
from itertools import product
from pathlib import Path

import bpy
import pytest
from scenes_bake import (
    KINDS,
    add_bound,
    add_character,
    assert_live,
    assert_plays,
    bake_with,
    changes,
    everything,
    live_points,
    pack,
    read_cache,
    remove_characters,
    steps_of,
)

from scenes import add_face_key, bind, reset, select, supple_modifier
from supple.deformers import SkinningError
from supple.tasks.bake.posed_frames import check_bakeable
from supple.tasks.skin.baked import CACHE_MODIFIER, show_cache
from supple.tasks.subject.frames import frame_range

# Operators


OPERATORS = {"PC2": "bake_cache", "SHAPE_KEYS": "bake_shape_keys"}


def call(kind: str, path: Path | str, **settings: int) -> set[str]:
    """Run the operator of a kind of bake on the active object."""
    operator = getattr(bpy.ops.supple, OPERATORS[kind])
    return operator(filepath=str(path), **settings) if kind == "PC2" else operator(**settings)


@pytest.mark.versions
@pytest.mark.parametrize("face", ("no keys", "keyed"))
def test_the_cache_operator_does_what_the_task_does(tmp_path, face):
    obj, _ = add_bound(face)
    bake_with("PC2", obj, tmp_path / "task.pc2", range(2, 9, 3))
    by_task = everything(obj)
    bpy.ops.supple.clear_bake()
    result = call("PC2", tmp_path / "operator.pc2", frame_start=2, frame_end=8, frame_step=3)
    assert result == {"FINISHED"}
    assert (tmp_path / "operator.pc2").read_bytes() == (tmp_path / "task.pc2").read_bytes()
    obj.modifiers[CACHE_MODIFIER].filepath = str(tmp_path / "task.pc2")
    assert changes(by_task, everything(obj)) == {}


@pytest.mark.versions
@pytest.mark.parametrize("face", ("no keys", "keyed"))
def test_the_shape_key_operator_does_what_the_task_does(tmp_path, face):
    obj, _ = add_bound(face)
    bake_with("SHAPE_KEYS", obj, tmp_path, range(2, 9, 3))
    by_task = everything(obj)
    bpy.ops.supple.clear_bake()
    assert call("SHAPE_KEYS", "", frame_start=2, frame_end=8, frame_step=3) == {"FINISHED"}
    different = changes(by_task, everything(obj))
    assert {name for name in different if name not in ("actions", "animation", "Tube: keys")} == set()
    assert [key.name for key in obj.data.shape_keys.key_blocks][-3:] == ["Supple 2", "Supple 5", "Supple 8"]


def test_the_range_is_that_of_the_scene_where_none_is_given(scene, tmp_path):
    obj, _ = add_bound()
    scene.frame_start, scene.frame_end = 3, 6
    live = live_points(obj, range(3, 7))
    for kind in KINDS:
        call(kind, tmp_path / "a.pc2")
        assert_plays(obj, live, range(3, 7))
        bpy.ops.supple.clear_bake()
        call(kind, tmp_path / "a.pc2", frame_end=4)
        if kind == "PC2":
            assert read_cache(tmp_path / "a.pc2")[0][3:] == (3.0, 1.0, 2)
        else:
            assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Supple 3", "Supple 4"]
        bpy.ops.supple.clear_bake()


def test_the_file_has_the_name_that_was_chosen(tmp_path):
    obj, _ = add_bound()
    for chosen, written in (
        ("a.pc2", "a.pc2"),
        ("a", "a.pc2"),
        ("hero.v2", "hero.v2.pc2"),
        ("hero.v2.pc2", "hero.v2.pc2"),
        ("a.PC2", "a.PC2"),
    ):
        call("PC2", tmp_path / chosen, frame_start=1, frame_end=2)
        assert os.listdir(tmp_path) == [written]
        assert Path(obj.modifiers[CACHE_MODIFIER].filepath) == tmp_path / written
        (tmp_path / written).unlink()


@pytest.mark.versions
def test_a_path_may_be_relative_to_the_file(tmp_path):
    obj, _ = add_bound()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    with warnings.catch_warnings(record=True) as caught:  # as an error, Blender's warning takes the process down
        warnings.simplefilter("always")
        call("PC2", "//a.pc2", frame_start=1, frame_end=2)
    assert [str(warning.message) for warning in caught] == []
    assert sorted(os.listdir(tmp_path)) == ["a.pc2", "saved.blend"]
    assert obj.modifiers[CACHE_MODIFIER].filepath == "//a.pc2"


# Bad input


def remove_supple_modifier(obj: bpy.types.Object) -> None:
    obj.modifiers.remove(supple_modifier(obj))


def enter_edit_mode(obj: bpy.types.Object) -> None:
    bpy.ops.object.mode_set(mode="EDIT")


def add_modifier_above(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Cast", "CAST")
    obj.modifiers.move(len(obj.modifiers) - 1, 0)


def share_mesh(obj: bpy.types.Object) -> None:
    bpy.data.objects.new("Second", obj.data)


def make_keys_absolute(obj: bpy.types.Object) -> None:
    add_face_key(obj)
    obj.data.shape_keys.use_relative = False


def pin_key(obj: bpy.types.Object) -> None:
    add_face_key(obj)
    obj.show_only_shape_key = True


PROBLEMS = {
    "Edit Mode": (enter_edit_mode, KINDS, "'Tube' is in Edit Mode: leave it first"),
    "no modifier": (remove_supple_modifier, KINDS, "The Supple modifier of 'Tube' was removed"),
    "above": (
        add_modifier_above,
        KINDS[1:],
        "Modifier 'Cast' is above Supple and would deform .* bake to a point cache",
    ),
    "shared": (
        share_mesh,
        KINDS[1:],
        "The mesh of 'Tube' is used by 2 objects.*: make it single-user, or bake to a point",
    ),
    "absolute": (
        make_keys_absolute,
        KINDS[1:],
        "'Tube' has absolute shape keys: switch Relative on, or bake to a point",
    ),
    "pinned": (pin_key, KINDS[1:], "'Tube' shows only its active shape key: turn off the pin"),
}


def test_what_is_in_the_way_is_said(tmp_path, subtests):
    for name, (problem, kinds, message) in PROBLEMS.items():
        obj, _ = add_bound()
        problem(obj)
        before = everything(obj)
        for kind in kinds:
            with subtests.test(f"{kind}, {name}"):
                with pytest.raises(RuntimeError, match=message):
                    call(kind, tmp_path / "a.pc2", frame_start=1, frame_end=3)
                assert os.listdir(tmp_path) == []
                assert changes(before, everything(obj)) == {}
                assert obj.supple.bake == "NONE"
        bpy.ops.object.mode_set(mode="OBJECT")
        remove_characters()


@pytest.mark.usefixtures("evaluator")
def test_what_shape_keys_cannot_hold_a_cache_can(tmp_path, subtests):
    for problem in ("above", "shared", "absolute"):
        with subtests.test(problem):
            obj, _ = add_bound()
            PROBLEMS[problem][0](obj)
            live = live_points(obj)
            assert call("PC2", tmp_path / "a.pc2", frame_start=1, frame_end=10) == {"FINISHED"}
            assert_plays(obj, live)
        remove_characters()


def test_a_linked_mesh_cannot_hold_keys(tmp_path):
    obj, _ = add_character()
    obj.data.use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    reset()
    obj, _ = add_character()
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, wanted):
        wanted.meshes = ["Tube"]
    obj.data = wanted.meshes[0]
    bind(obj)
    message = "The mesh of 'Tube' is linked from another file: bake to a point cache instead"
    with pytest.raises(RuntimeError, match=message):
        call("SHAPE_KEYS", "", frame_start=1, frame_end=3)
    live = live_points(obj)
    assert call("PC2", tmp_path / "a.pc2", frame_start=1, frame_end=10) == {"FINISHED"}
    assert_plays(obj, live)


def test_a_range_that_runs_backwards_and_no_file(tmp_path):
    add_bound()
    for kind in KINDS:
        with pytest.raises(RuntimeError, match="Frame range 10 to 1 runs backwards"):
            call(kind, tmp_path / "a.pc2", frame_start=10, frame_end=1)
    with pytest.raises(SkinningError, match="Frame step is -2: choose 1 or more"):
        frame_range(1, 10, -2)
    assert os.listdir(tmp_path) == []
    with pytest.raises(RuntimeError, match="No file to bake to: choose a PC2 file"):
        call("PC2", "", frame_start=1, frame_end=3)


def test_what_is_not_bound_cannot_be_baked(tmp_path):
    for active, kind in product(add_character(), KINDS):
        select(active)
        with pytest.raises(RuntimeError, match="Select a mesh that is bound"):
            call(kind, tmp_path / "a.pc2")
        with pytest.raises(SkinningError, match="Nothing to bake: select a mesh and bind it first"):
            next(steps_of(kind, active, tmp_path / "a.pc2"))
    with pytest.raises(SkinningError, match="Nothing to bake"):
        check_bakeable(None)
    assert os.listdir(tmp_path) == []


def test_a_file_that_cannot_be_written(tmp_path, subtests):
    (tmp_path / "file").touch()
    (tmp_path / "folder.pc2").mkdir()
    obj, armature = add_bound()
    before = everything(obj)
    for name, reason in (
        ("nowhere/a.pc2", "No such file or directory"),
        ("file/a.pc2", "Not a directory"),
        ("folder.pc2", "Is a directory"),
        ("a" * 300 + ".pc2", "File name too long"),
    ):
        with subtests.test(reason):
            message = rf"Cannot write '.*\.pc2' \({reason}\): choose a folder that can be written to"
            with pytest.raises(RuntimeError, match=message):
                call("PC2", tmp_path / name, frame_start=1, frame_end=3)
            assert sorted(os.listdir(tmp_path)) == ["file", "folder.pc2"]
            assert os.listdir(tmp_path / "folder.pc2") == []
            assert changes(before, everything(obj)) == {}
    assert_live(obj, armature)


def test_a_cache_that_cannot_be_shown(tmp_path, subtests):
    obj, armature = add_bound()
    before = everything(obj)
    for content, message in (
        (None, "Cannot read '.*a.pc2' \\(No such file or directory\\): check the path"),
        (b"solid nothing", "'a.pc2' is not a PC2 file: choose a file baked by Supple"),
        (pack(version=3), "'a.pc2' is PC2 version 3, not 1: bake it again"),
    ):
        with subtests.test(message):
            if content is not None:
                (tmp_path / "a.pc2").write_bytes(content)
            with pytest.raises(SkinningError, match=message):
                show_cache(obj, tmp_path / "a.pc2")
            assert changes(before, everything(obj)) == {}
    assert_live(obj, armature)
