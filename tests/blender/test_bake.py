"""Bakes: point caches and shape keys that play back what was live, and are the same bytes each time."""

from __future__ import annotations

import os
import warnings
from itertools import product
from pathlib import Path

import bpy
import numpy as np
import pytest
import scenes_bake
from scenes_methods import BLEND_KEYS
from scenes_state import refuse

from scenes import bind, curves_of, distance, evaluated_points, execute, load, points_at, reset
from supple.bridge.files.point_caches import CacheHeader, join_caches
from supple.bridge.rigs.actions import find_times, go_to_time
from supple.deformers import SkinningError
from supple.tasks.bake.caches import bake_cache
from supple.tasks.skin.baked import CACHE_MODIFIER, show_cache, show_caches

EVALUATED = pytest.mark.usefixtures("evaluator")


def test_bakes_hold_and_play_what_was_live(tmp_path, evaluator, subtests):
    faces = scenes_bake.FACE_KEYS if evaluator == "PYTHON" else ["on a strip"]
    for face, method in (*product(faces, ["DLBNT"]), *product(["keyed"], BLEND_KEYS)):
        obj, _ = scenes_bake.add_character(face)
        bind(obj, method=method)
        live = scenes_bake.live_points(obj)
        with subtests.test(f"cache of {face} {method}"):
            scenes_bake.bake_with("PC2", obj, tmp_path / "a.pc2")
            fields, samples = scenes_bake.read_cache(tmp_path / "a.pc2")
            assert fields == (b"POINTCACHE2\0", 1, len(obj.data.vertices), 1.0, 1.0, 10)
            assert np.array_equal(samples, live)
            assert os.listdir(tmp_path) == ["a.pc2"]
            scenes_bake.assert_plays(obj, live)
            assert np.array_equal(points_at(obj, -20), live[0])
            assert np.array_equal(points_at(obj, 200), live[-1])
        with subtests.test(f"keys of {face} {method}"):
            bpy.ops.supple.clear_bake()
            scenes_bake.bake_with("SHAPE_KEYS", obj, tmp_path)
            scenes_bake.assert_plays(obj, live)
            names = [key.name for key in obj.data.shape_keys.key_blocks]
            own = ["Basis"] if face == "no keys" else ["Basis", "Smile", "Frown"]
            assert names == own + [f"Supple {frame}" for frame in scenes_bake.FRAMES]
        scenes_bake.remove_characters()


def test_the_header_tells_the_frames(tmp_path):
    obj, _ = scenes_bake.add_bound()
    for frames in (range(3, 10, 2), range(-4, 3), range(5, 6), range(1, 11, 20)):
        assert len(list(scenes_bake.steps_of("PC2", obj, tmp_path / "a.pc2", frames))) == len(frames)
        fields, samples = scenes_bake.read_cache(tmp_path / "a.pc2")
        assert fields[3:] == (frames.start, frames.step, len(frames))
        assert np.array_equal(samples, scenes_bake.live_points(obj, frames))


def test_a_bake_with_a_step_is_right_at_the_baked_frames_and_straight_between(tmp_path, subtests):
    obj, _ = scenes_bake.add_bound()
    for kind, frames in product(scenes_bake.KINDS, (range(3, 10, 2), range(-4, 9, 3))):
        with subtests.test(f"{kind} {frames}"):
            live = scenes_bake.live_points(obj, frames)
            scenes_bake.bake_with(kind, obj, tmp_path / "a.pc2", frames)
            scenes_bake.assert_plays(obj, live, frames)
            part = 1 / frames.step
            expected = (1 - part) * live[1] + part * live[2]
            assert distance(expected, points_at(obj, frames[1] + 1)) <= scenes_bake.TOLERANCE
        bpy.ops.supple.clear_bake()


@pytest.mark.parametrize(("old", "new"), [(100, 50), (100, 150), (10, 900), (900, 1)])
def test_a_bake_plays_in_its_frames_under_time_remapping(tmp_path, old, new, subtests):
    obj, armature = scenes_bake.add_bound()
    scene = bpy.context.scene
    scene.render.frame_map_old, scene.render.frame_map_new, scene.render.fps_base = old, new, 1.001
    for curve in curves_of(armature.animation_data.action):  # the same motion in the scene's frames
        for point in curve.keyframe_points:
            point.co.x = find_times(scene, [point.co.x])[0]
            point.interpolation = "LINEAR"
        curve.update()
    frames = range(1, 11)
    live = scenes_bake.live_points(obj, frames)
    for label, ranges in ("one cache", [frames]), ("two caches", [frames[:5], frames[5:]]):
        with subtests.test(label):
            caches = []
            for number, part in enumerate(ranges):
                path = tmp_path / f"{label} {number}.pc2"
                assert list(bake_cache(obj, scene, path, part))
                caches.append((path, CacheHeader.of(len(obj.data.vertices), part)))
            show_caches(obj, caches)
            scenes_bake.assert_plays(obj, live, frames)
        bpy.ops.supple.clear_bake()
    with subtests.test("shape keys"):
        scenes_bake.bake_with("SHAPE_KEYS", obj, tmp_path, frames)
        scenes_bake.assert_plays(obj, live, frames)
    for time in find_times(scene, [3, 8]):
        go_to_time(scene, time)
        assert scene.frame_current_final == pytest.approx(time)


def test_time_remapping_that_no_bake_can_play_is_refused(tmp_path, subtests):
    obj, _ = scenes_bake.add_bound()
    scenes_bake.bake_with("PC2", obj, tmp_path / "before.pc2")
    bpy.ops.supple.clear_bake()
    bpy.context.scene.render.frame_map_old, bpy.context.scene.render.frame_map_new = 9, 900
    before = scenes_bake.everything(obj)
    for label, bake in (
        ("cache", lambda: scenes_bake.bake_with("PC2", obj, tmp_path / "a.pc2")),
        ("keys", lambda: scenes_bake.bake_with("SHAPE_KEYS", obj, tmp_path)),
        ("apply", lambda: show_cache(obj, tmp_path / "before.pc2")),
    ):
        with subtests.test(label), pytest.raises(SkinningError, match="Time Remapping from 9 to 900 is too slow"):
            bake()
        assert scenes_bake.changes(before, scenes_bake.everything(obj)) == {}


def test_modifiers_below_stay_live(tmp_path):
    obj, _ = scenes_bake.add_bound("keyed")
    below = obj.modifiers.new("Subdivision", "SUBSURF")
    for kind in scenes_bake.KINDS:
        below.levels = 1
        live = scenes_bake.live_points(obj)
        assert live.shape[1] > len(obj.data.vertices)
        scenes_bake.bake_with(kind, obj, tmp_path / "a.pc2")
        assert below.show_viewport
        scenes_bake.assert_plays(obj, live)
        below.levels = 0
        assert len(points_at(obj, 3)) == len(obj.data.vertices)
        bpy.ops.supple.clear_bake()


@EVALUATED
def test_what_renders_is_baked(tmp_path):
    obj, _ = scenes_bake.add_character()
    above = obj.modifiers.new("Cast", "CAST")
    above.factor = 0.3
    obj.modifiers.move(1, 0)
    bind(obj)
    shown = scenes_bake.live_points(obj)
    above.show_viewport = False
    hidden = scenes_bake.live_points(obj)
    assert distance(shown[2], hidden[2]) > 100 * scenes_bake.TOLERANCE
    for in_viewport, in_render, expected in ((False, True, shown), (True, False, hidden)):
        above.show_viewport, above.show_render = in_viewport, in_render
        list(scenes_bake.steps_of("PC2", obj, tmp_path / "a.pc2"))
        assert (above.show_viewport, above.show_render) == (in_viewport, in_render)
        for points, sample in zip(expected, scenes_bake.read_cache(tmp_path / "a.pc2")[1], strict=True):
            assert distance(points, sample) <= scenes_bake.TOLERANCE


def test_face_keys_stay_live_beside_baked_ones(tmp_path):
    obj, _ = scenes_bake.add_bound("still")
    scenes_bake.bake_with("SHAPE_KEYS", obj, tmp_path)
    before = points_at(obj, 3)
    obj.data.shape_keys.key_blocks["Smile"].value = 1.0
    assert distance(before, evaluated_points(obj)) > 100 * scenes_bake.TOLERANCE


# The same bytes


def test_two_ranges_join_to_the_bytes_of_one(tmp_path):
    obj, _ = scenes_bake.add_bound("keyed")
    middle = 5
    for step in (1, 2):
        for name, frames in (
            ("late", range(middle, 11, step)),
            ("early", range(1, middle, step)),
            ("whole", range(1, 11, step)),
        ):
            list(bake_cache(obj, bpy.context.scene, tmp_path / name, frames))
            bpy.context.scene.frame_set(3)
        join_caches([tmp_path / "early", tmp_path / "late"], tmp_path / "joined")
        assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
        join_caches([tmp_path / "early", tmp_path / "late"], tmp_path / "early")
        assert (tmp_path / "early").read_bytes() == (tmp_path / "whole").read_bytes()
        assert sorted(os.listdir(tmp_path)) == ["early", "joined", "late", "whole"]


def test_parts_that_do_not_fit_are_refused(tmp_path, subtests):
    first, second = tmp_path / "first.pc2", tmp_path / "second.pc2"
    first.write_bytes(scenes_bake.pack())
    for message, *contents in (
        ("starts at frame 4, not 3: list all parts in order", scenes_bake.pack(start=4.0)),
        ("starts at frame 2, not 3: list all parts in order", scenes_bake.pack(start=2.0)),
        (
            "differs in points or frame step",
            scenes_bake.pack(start=3.0, points=3),
            scenes_bake.pack(start=3.0, step=2.0),
        ),
        ("is PC2 version 2, not 1: bake it again", scenes_bake.pack(start=3.0, version=2)),
        ("ends inside frame 2 of 2: bake it again", scenes_bake.pack(start=3.0)[:-1]),
        ("is not a PC2 file: choose a file baked by Supple", scenes_bake.pack(start=3.0)[:20], b""),
        ("is not a PC2 file: choose a file baked by Supple", b"POINTCACHE1" + scenes_bake.pack(start=3.0)[11:]),
    ):
        for content in contents:
            with subtests.test(message):
                second.write_bytes(content)
                refuse(f"second.pc2.*{message}", join_caches, [first, second], tmp_path / "joined.pc2")
                assert sorted(os.listdir(tmp_path)) == ["first.pc2", "second.pc2"]
    second.unlink()
    refuse(r"second.pc2.*No such file or directory", join_caches, [first, second], tmp_path / "joined.pc2")
    assert os.listdir(tmp_path) == ["first.pc2"]


# Operators


OPERATORS = {"PC2": "bake_cache", "SHAPE_KEYS": "bake_shape_keys"}


def call(kind: str, path: Path | str, **settings: int) -> set[str]:
    """Run the operator of a kind of bake on the active object."""
    operator = getattr(bpy.ops.supple, OPERATORS[kind])
    return operator(filepath=str(path), **settings) if kind == "PC2" else operator(**settings)


@pytest.mark.parametrize("face", ("no keys", "keyed"))
@pytest.mark.parametrize("kind", scenes_bake.KINDS)
def test_the_operator_does_what_the_task_does(tmp_path, kind, face):
    obj, _ = scenes_bake.add_bound(face)
    scenes_bake.bake_with(kind, obj, tmp_path / "task.pc2", range(2, 9, 3))
    by_task = scenes_bake.everything(obj)
    bpy.ops.supple.clear_bake()
    assert call(kind, tmp_path / "operator.pc2", frame_start=2, frame_end=8, frame_step=3) == {"FINISHED"}
    if kind == "PC2":
        assert (tmp_path / "operator.pc2").read_bytes() == (tmp_path / "task.pc2").read_bytes()
        obj.modifiers[CACHE_MODIFIER].filepath = str(tmp_path / "task.pc2")
        assert scenes_bake.changes(by_task, scenes_bake.everything(obj)) == {}
    else:
        assert {*scenes_bake.changes(by_task, scenes_bake.everything(obj))} <= {"actions", "animation", "Tube: keys"}
        assert [key.name for key in obj.data.shape_keys.key_blocks][-3:] == ["Supple 2", "Supple 5", "Supple 8"]


def test_the_range_is_that_of_the_scene_where_none_is_given(scene, tmp_path):
    obj, _ = scenes_bake.add_bound()
    scene.frame_start, scene.frame_end = 3, 6
    live = scenes_bake.live_points(obj, range(3, 7))
    for kind in scenes_bake.KINDS:
        call(kind, tmp_path / "a.pc2")
        scenes_bake.assert_plays(obj, live, range(3, 7))
        bpy.ops.supple.clear_bake()
        call(kind, tmp_path / "a.pc2", frame_end=4)
        if kind == "PC2":
            assert scenes_bake.read_cache(tmp_path / "a.pc2")[0][3:] == (3.0, 1.0, 2)
        else:
            assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Supple 3", "Supple 4"]
        bpy.ops.supple.clear_bake()


def test_the_file_has_the_name_that_was_chosen(tmp_path):
    obj, _ = scenes_bake.add_bound()
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
    obj, _ = scenes_bake.add_bound()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    with warnings.catch_warnings(record=True) as caught:  # as an error, Blender's warning takes the process down
        warnings.simplefilter("always")
        call("PC2", "//a.pc2", frame_start=1, frame_end=2)
    assert [str(warning.message) for warning in caught] == []
    assert sorted(os.listdir(tmp_path)) == ["a.pc2", "saved.blend"]
    assert obj.modifiers[CACHE_MODIFIER].filepath == "//a.pc2"


# Bad input


@pytest.mark.usefixtures("evaluator")
def test_what_shape_keys_cannot_hold_a_cache_can(tmp_path, subtests):
    for problem in (
        "obj.modifiers.new('Cast', 'CAST'); obj.modifiers.move(len(obj.modifiers) - 1, 0)",
        "bpy.data.objects.new('Second', obj.data)",
        "add_face_key(obj).id_data.use_relative = False",
    ):
        with subtests.test(problem):
            obj, _ = scenes_bake.add_bound()
            execute(problem, obj=obj)
            live = scenes_bake.live_points(obj)
            assert call("PC2", tmp_path / "a.pc2", frame_start=1, frame_end=10) == {"FINISHED"}
            scenes_bake.assert_plays(obj, live)
        scenes_bake.remove_characters()


def test_a_linked_mesh_cannot_hold_keys(tmp_path):
    obj, _ = scenes_bake.add_character()
    obj.data.use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    reset()
    obj, _ = scenes_bake.add_character()
    (obj.data,) = load(tmp_path / "library.blend", "Tube", kind="meshes")
    bind(obj)
    message = "The mesh of 'Tube' is linked from another file: bake to a point cache instead"
    refuse(message, call, "SHAPE_KEYS", "", frame_start=1, frame_end=3)
    live = scenes_bake.live_points(obj)
    assert call("PC2", tmp_path / "a.pc2", frame_start=1, frame_end=10) == {"FINISHED"}
    scenes_bake.assert_plays(obj, live)
