"""Bakes: point caches and shape keys that play back what was live, and are the same bytes each time."""

from __future__ import annotations

import os
from itertools import product

import bpy
import numpy as np
import pytest
from scenes_bake import (
    FACE_KEYS,
    FRAMES,
    KINDS,
    TOLERANCE,
    add_bound,
    add_character,
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
from scenes_methods import BLEND_KEYS

from scenes import bind, curves_of, distance, evaluated_points, points_at
from supple.bridge.files.point_caches import CacheHeader, join_caches
from supple.deformers import SkinningError
from supple.tasks.bake.caches import bake_cache
from supple.tasks.skin.baked import CACHE_MODIFIER, show_cache, show_caches
from supple.tasks.subject.actions import find_times, go_to_time

EVALUATED = pytest.mark.usefixtures("evaluator")


@pytest.mark.versions
def test_bakes_hold_and_play_what_was_live(tmp_path, evaluator, subtests):
    faces = FACE_KEYS if evaluator == "PYTHON" else ["on a strip"]
    for face, method in (*product(faces, ["DLBNT"]), *product(["keyed"], BLEND_KEYS)):
        obj, _ = add_character(face)
        bind(obj, method=method)
        live = live_points(obj)
        with subtests.test(f"cache of {face} {method}"):
            bake_with("PC2", obj, tmp_path / "a.pc2")
            fields, samples = read_cache(tmp_path / "a.pc2")
            assert fields == (b"POINTCACHE2\0", 1, len(obj.data.vertices), 1.0, 1.0, 10)
            assert np.array_equal(samples, live)
            assert os.listdir(tmp_path) == ["a.pc2"]
            assert_plays(obj, live)
            assert np.array_equal(points_at(obj, -20), live[0])
            assert np.array_equal(points_at(obj, 200), live[-1])
        with subtests.test(f"keys of {face} {method}"):
            bpy.ops.supple.clear_bake()
            bake_with("SHAPE_KEYS", obj, tmp_path)
            assert_plays(obj, live)
            names = [key.name for key in obj.data.shape_keys.key_blocks]
            own = ["Basis"] if face == "no keys" else ["Basis", "Smile", "Frown"]
            assert names == own + [f"Supple {frame}" for frame in FRAMES]
        remove_characters()


def test_the_header_tells_the_frames(tmp_path):
    obj, _ = add_bound()
    for frames in (range(3, 10, 2), range(-4, 3), range(5, 6), range(1, 11, 20)):
        assert len(list(steps_of("PC2", obj, tmp_path / "a.pc2", frames))) == len(frames)
        fields, samples = read_cache(tmp_path / "a.pc2")
        assert fields[3:] == (frames.start, frames.step, len(frames))
        assert np.array_equal(samples, live_points(obj, frames))


def test_a_bake_with_a_step_is_right_at_the_baked_frames_and_straight_between(tmp_path, subtests):
    obj, _ = add_bound()
    for kind, frames in product(KINDS, (range(3, 10, 2), range(-4, 9, 3))):
        with subtests.test(f"{kind} {frames}"):
            live = live_points(obj, frames)
            bake_with(kind, obj, tmp_path / "a.pc2", frames)
            assert_plays(obj, live, frames)
            part = 1 / frames.step
            expected = (1 - part) * live[1] + part * live[2]
            assert distance(expected, points_at(obj, frames[1] + 1)) <= TOLERANCE
        bpy.ops.supple.clear_bake()


@pytest.mark.parametrize(("old", "new"), [(100, 50), (100, 150), (10, 900), (900, 1)])
def test_a_bake_plays_in_its_frames_under_time_remapping(tmp_path, old, new, subtests):
    obj, armature = add_bound()
    scene = bpy.context.scene
    scene.render.frame_map_old, scene.render.frame_map_new, scene.render.fps_base = old, new, 1.001
    for curve in curves_of(armature.animation_data.action):  # the same motion in the scene's frames
        for point in curve.keyframe_points:
            point.co.x = find_times(scene, [point.co.x])[0]
            point.interpolation = "LINEAR"
        curve.update()
    frames = range(1, 11)
    live = live_points(obj, frames)
    for label, ranges in ("one cache", [frames]), ("two caches", [frames[:5], frames[5:]]):
        with subtests.test(label):
            caches = []
            for number, part in enumerate(ranges):
                path = tmp_path / f"{label} {number}.pc2"
                assert list(bake_cache(obj, scene, path, part))
                caches.append((path, CacheHeader.of(len(obj.data.vertices), part)))
            show_caches(obj, caches)
            assert_plays(obj, live, frames)
        bpy.ops.supple.clear_bake()
    with subtests.test("shape keys"):
        bake_with("SHAPE_KEYS", obj, tmp_path, frames)
        assert_plays(obj, live, frames)
    for time in find_times(scene, [3, 8]):
        go_to_time(scene, time)
        assert scene.frame_current_final == pytest.approx(time)


def test_time_remapping_that_no_bake_can_play_is_refused(tmp_path, subtests):
    obj, _ = add_bound()
    bake_with("PC2", obj, tmp_path / "before.pc2")
    bpy.ops.supple.clear_bake()
    bpy.context.scene.render.frame_map_old, bpy.context.scene.render.frame_map_new = 9, 900
    before = everything(obj)
    for label, bake in (
        ("cache", lambda: bake_with("PC2", obj, tmp_path / "a.pc2")),
        ("keys", lambda: bake_with("SHAPE_KEYS", obj, tmp_path)),
        ("apply", lambda: show_cache(obj, tmp_path / "before.pc2")),
    ):
        with subtests.test(label), pytest.raises(SkinningError, match="Time Remapping from 9 to 900 is too slow"):
            bake()
        assert changes(before, everything(obj)) == {}


def test_modifiers_below_stay_live(tmp_path):
    obj, _ = add_bound("keyed")
    below = obj.modifiers.new("Subdivision", "SUBSURF")
    for kind in KINDS:
        below.levels = 1
        live = live_points(obj)
        assert live.shape[1] > len(obj.data.vertices)
        bake_with(kind, obj, tmp_path / "a.pc2")
        assert below.show_viewport
        assert_plays(obj, live)
        below.levels = 0
        assert len(points_at(obj, 3)) == len(obj.data.vertices)
        bpy.ops.supple.clear_bake()


@EVALUATED
def test_modifiers_above_are_in_the_cache(tmp_path):
    obj, _ = add_character("keyed")
    above = obj.modifiers.new("Cast", "CAST")
    above.factor = 0.3
    obj.modifiers.move(1, 0)
    bind(obj)
    live = live_points(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    assert_plays(obj, live)


@EVALUATED
def test_what_renders_is_baked(tmp_path):
    obj, _ = add_character()
    above = obj.modifiers.new("Cast", "CAST")
    above.factor = 0.3
    obj.modifiers.move(1, 0)
    bind(obj)
    shown = live_points(obj)
    above.show_viewport = False
    hidden = live_points(obj)
    assert distance(shown[2], hidden[2]) > 100 * TOLERANCE
    for in_viewport, in_render, expected in ((False, True, shown), (True, False, hidden)):
        above.show_viewport, above.show_render = in_viewport, in_render
        list(steps_of("PC2", obj, tmp_path / "a.pc2"))
        assert (above.show_viewport, above.show_render) == (in_viewport, in_render)
        for points, sample in zip(expected, read_cache(tmp_path / "a.pc2")[1], strict=True):
            assert distance(points, sample) <= TOLERANCE


@pytest.mark.versions
def test_a_saved_file_finds_its_cache_by_a_relative_path(tmp_path):
    obj, _ = add_bound()
    live = live_points(obj)
    (tmp_path / "first").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first" / "saved.blend"))
    bake_with("PC2", obj, tmp_path / "first" / "a.pc2")
    assert obj.modifiers[CACHE_MODIFIER].filepath == "//a.pc2"
    bpy.ops.wm.save_mainfile()
    (tmp_path / "first").rename(tmp_path / "second")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "second" / "saved.blend"))
    assert_plays(bpy.data.objects["Tube"], live)


def test_face_keys_stay_live_beside_baked_ones(tmp_path):
    obj, _ = add_bound("still")
    bake_with("SHAPE_KEYS", obj, tmp_path)
    before = points_at(obj, 3)
    obj.data.shape_keys.key_blocks["Smile"].value = 1.0
    assert distance(before, evaluated_points(obj)) > 100 * TOLERANCE


# The same bytes


def test_two_ranges_join_to_the_bytes_of_one(tmp_path):
    obj, _ = add_bound("keyed")
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


def test_a_frame_is_the_same_bytes_whatever_was_baked_before(tmp_path):
    obj, _ = add_bound("keyed")
    list(bake_cache(obj, bpy.context.scene, tmp_path / "whole", FRAMES))
    whole = read_cache(tmp_path / "whole")[1]
    for frame in reversed(FRAMES):
        list(bake_cache(obj, bpy.context.scene, tmp_path / "one", range(frame, frame + 1)))
        assert np.array_equal(read_cache(tmp_path / "one")[1][0], whole[frame - 1])


def test_parts_that_do_not_fit_are_refused(tmp_path, subtests):
    first, second = tmp_path / "first.pc2", tmp_path / "second.pc2"
    first.write_bytes(pack())
    for message, *contents in (
        ("starts at frame 4, not 3: list all parts in order", pack(start=4.0)),
        ("starts at frame 2, not 3: list all parts in order", pack(start=2.0)),
        ("differs in points or frame step", pack(start=3.0, points=3), pack(start=3.0, step=2.0)),
        ("is PC2 version 2, not 1: bake it again", pack(start=3.0, version=2)),
        ("ends inside frame 2 of 2: bake it again", pack(start=3.0)[:-1]),
        ("is not a PC2 file: choose a file baked by Supple", pack(start=3.0)[:20], b""),
        ("is not a PC2 file: choose a file baked by Supple", b"POINTCACHE1" + pack(start=3.0)[11:]),
    ):
        for content in contents:
            with subtests.test(message):
                second.write_bytes(content)
                with pytest.raises(SkinningError, match=f"second.pc2.*{message}"):
                    join_caches([first, second], tmp_path / "joined.pc2")
                assert sorted(os.listdir(tmp_path)) == ["first.pc2", "second.pc2"]
    second.unlink()
    with pytest.raises(SkinningError, match=r"second.pc2.*No such file or directory"):
        join_caches([first, second], tmp_path / "joined.pc2")
    assert os.listdir(tmp_path) == ["first.pc2"]
