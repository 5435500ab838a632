"""Bakes: point caches and shape keys that play back what was live, take nothing away, are the same bytes each time."""

from __future__ import annotations

import errno
import os
import struct
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest

from scenes import (
    EVALUATE,
    add_face_key,
    add_tube,
    animate_key,
    animate_tube,
    bind,
    distance,
    evaluated_points,
    points_at,
    select,
    snapshot,
    supple_modifier,
    turn,
)
from supple.deformers import SkinningError
from supple.operators.bake import BakeOperator
from supple.tasks.skin import bake

FRAMES = range(1, 11)
TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""
HEADER = struct.Struct("<12siiffi")
FACE_KEYS = ("no keys", "still", "keyed", "driven", "on a strip")
KINDS = ("PC2", "SHAPE_KEYS")


# Scenes


def add_character(face: str = "no keys") -> tuple[bpy.types.Object, bpy.types.Object]:
    """A small animated tube and its armature, between two frames; with two face keys, the second as `face` says."""
    obj, armature = add_tube(rings=12, sides=8)
    animate_tube(armature)
    if face != "no keys":
        add_face_key(obj, "Smile").value = 0.3
        frown = add_face_key(obj, "Frown", size=-0.2)
        frown.value = 0.6
        if face in ("keyed", "on a strip"):
            animate_key(frown)
        if face == "on a strip":
            data = obj.data.shape_keys.animation_data
            data.nla_tracks.new().strips.new("Face", 1, data.action)
            data.action = None
        if face == "driven":
            frown.driver_add("value").driver.expression = "0.1 * frame"
        obj.active_shape_key_index = 1
    bpy.context.scene.frame_set(6, subframe=0.5)
    return obj, armature


def steps_of(kind: str, obj: bpy.types.Object, path: Path, frames: range = FRAMES) -> Iterator[int]:
    if kind == "PC2":
        return bake.bake_cache(obj, bpy.context.scene, path, frames)
    return bake.bake_shape_keys(obj, bpy.context.scene, frames)


def bake_with(kind: str, obj: bpy.types.Object, path: Path, frames: range = FRAMES) -> None:
    """Bake to the end and have the object play it."""
    assert list(steps_of(kind, obj, path, frames)) == list(range(1, len(frames) + 1))
    if kind == "PC2":
        bake.show_cache(obj, path)
    assert obj.supple.bake == kind


def read_cache(path: Path) -> tuple[tuple, np.ndarray]:
    """The fields of a PC2 file's header, and its samples, float32, shape (F, V, 3)."""
    data = path.read_bytes()
    fields = HEADER.unpack(data[: HEADER.size])
    return fields, np.frombuffer(data[HEADER.size :], "<f4").reshape(fields[5], fields[2], 3)


def live_points(obj: bpy.types.Object, frames: range = FRAMES) -> np.ndarray:
    """Points at each frame, shape (F, V, 3); the scene's frame is put back."""
    scene = bpy.context.scene
    frame, subframe = scene.frame_current, scene.frame_subframe
    points = np.stack([points_at(obj, at) for at in frames])
    scene.frame_set(frame, subframe=subframe)
    return points


def assert_plays(obj: bpy.types.Object, live: np.ndarray, frames: range = FRAMES) -> None:
    """The object has the points that it had live, and relies on neither Supple's modifier nor the Armature modifier."""
    assert not any(m.show_viewport or m.show_render for m in obj.modifiers if m.type in ("NODES", "ARMATURE"))
    assert max(distance(live[0], points) for points in live) > 100 * TOLERANCE
    for frame, expected, points in zip(frames, live, live_points(obj, frames), strict=True):
        assert distance(expected, points) <= TOLERANCE, frame


def curves_of(action: bpy.types.Action) -> list:
    if hasattr(action, "fcurves"):  # before 5.0
        return list(action.fcurves)
    return [
        curve for layer in action.layers for strip in layer.strips for bag in strip.channelbags for curve in bag.fcurves
    ]


def animation_of(owner: bpy.types.ID | None) -> Any:
    """Everything that animates a data-block."""
    data = owner.animation_data if owner is not None else None
    if data is None:
        return None
    slot = getattr(data, "action_slot", None)
    curves = [
        (curve.data_path, [(*point.co, *point.handle_left, point.interpolation) for point in curve.keyframe_points])
        for curve in (curves_of(data.action) if data.action else ())
    ]
    drivers = [(curve.data_path, curve.driver.expression) for curve in data.drivers]
    tracks = [[(each.name, each.action.name, each.frame_start) for each in track.strips] for track in data.nla_tracks]
    return (data.action and data.action.name, slot and slot.identifier, curves, drivers, tracks)


def everything(obj: bpy.types.Object) -> dict:
    """All that a user can see of an object, its mesh, what animates them, and the scene's time."""
    scene = bpy.context.scene
    return snapshot(obj) | {
        "animation": [animation_of(owner) for owner in (obj, obj.data, obj.data.shape_keys)],
        "actions": [(action.name, action.users, len(curves_of(action))) for action in bpy.data.actions],
        "frame": (scene.frame_current, scene.frame_subframe),
        "active": bpy.context.view_layer.objects.active,
    }


def changes(before: dict, after: dict) -> dict:
    """What is not as it was: {name: (before, after)}."""
    return {
        name: (before.get(name), after.get(name))
        for name in before.keys() | after.keys()
        if before.get(name) != after.get(name)
    }


def assert_live(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """The object still follows its bones."""
    before = evaluated_points(obj)
    turn(armature, "bone.2", (-1.0, 0.4, 0.0))
    assert distance(before, evaluated_points(obj)) > 100 * TOLERANCE


# Point caches


@pytest.mark.parametrize("face", FACE_KEYS)
@pytest.mark.parametrize("method", ("SSD", "DLB", "DLBNT"))
def test_a_cache_holds_the_live_points(tmp_path, method, face):
    obj, _ = add_character(face)
    bind(obj, method=method)
    live = live_points(obj)
    assert list(bake.bake_cache(obj, bpy.context.scene, tmp_path / "a.pc2", FRAMES)) == list(range(1, 11))
    fields, samples = read_cache(tmp_path / "a.pc2")
    assert fields == (b"POINTCACHE2\0", 1, len(obj.data.vertices), 1.0, 1.0, 10)
    assert np.array_equal(samples, live)
    assert os.listdir(tmp_path) == ["a.pc2"]


@pytest.mark.parametrize("frames", (range(3, 10, 2), range(-4, 3), range(5, 6), range(1, 11, 20)), ids=str)
def test_the_header_tells_the_frames(tmp_path, frames):
    obj, _ = add_character()
    bind(obj)
    assert len(list(steps_of("PC2", obj, tmp_path / "a.pc2", frames))) == len(frames)
    fields, samples = read_cache(tmp_path / "a.pc2")
    assert fields[3:] == (frames.start, frames.step, len(frames))
    assert np.array_equal(samples, live_points(obj, frames))


@pytest.mark.parametrize("face", FACE_KEYS)
def test_a_cache_plays_what_was_live(tmp_path, face):
    obj, _ = add_character(face)
    bind(obj)
    live = live_points(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    assert_plays(obj, live)
    assert np.array_equal(points_at(obj, -20), live[0])
    assert np.array_equal(points_at(obj, 200), live[-1])


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frames", (range(3, 10, 2), range(-4, 9, 3)), ids=str)
def test_a_bake_with_a_step_is_right_at_the_baked_frames_and_straight_between(tmp_path, kind, frames):
    obj, _ = add_character()
    bind(obj)
    live = live_points(obj, frames)
    bake_with(kind, obj, tmp_path / "a.pc2", frames)
    assert_plays(obj, live, frames)
    part = 1 / frames.step
    expected = (1 - part) * live[1] + part * live[2]
    assert distance(expected, points_at(obj, frames[1] + 1)) <= TOLERANCE


@pytest.mark.parametrize("kind", KINDS)
def test_modifiers_below_stay_live(tmp_path, kind):
    obj, _ = add_character("keyed")
    bind(obj)
    below = obj.modifiers.new("Subdivision", "SUBSURF")
    below.levels = 1
    live = live_points(obj)
    assert live.shape[1] > len(obj.data.vertices)
    bake_with(kind, obj, tmp_path / "a.pc2")
    assert below.show_viewport
    assert_plays(obj, live)
    below.levels = 0
    assert len(points_at(obj, 3)) == len(obj.data.vertices)


def test_modifiers_above_are_in_the_cache(tmp_path):
    obj, _ = add_character("keyed")
    above = obj.modifiers.new("Cast", "CAST")
    above.factor = 0.3
    obj.modifiers.move(1, 0)
    bind(obj)
    live = live_points(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    assert_plays(obj, live)


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


def test_a_saved_file_finds_its_cache_by_a_relative_path(tmp_path):
    obj, _ = add_character()
    bind(obj)
    live = live_points(obj)
    (tmp_path / "first").mkdir()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "first" / "saved.blend"))
    bake_with("PC2", obj, tmp_path / "first" / "a.pc2")
    assert obj.modifiers[bake.CACHE_MODIFIER].filepath == "//a.pc2"
    bpy.ops.wm.save_mainfile()
    (tmp_path / "first").rename(tmp_path / "second")
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "second" / "saved.blend"))
    assert_plays(bpy.data.objects["Tube"], live)


# Shape keys


@pytest.mark.parametrize("face", FACE_KEYS)
@pytest.mark.parametrize("method", ("SSD", "DLB", "DLBNT"))
def test_shape_keys_play_what_was_live(tmp_path, method, face):
    obj, _ = add_character(face)
    bind(obj, method=method)
    live = live_points(obj)
    bake_with("SHAPE_KEYS", obj, tmp_path)
    assert_plays(obj, live)
    names = [key.name for key in obj.data.shape_keys.key_blocks]
    own = ["Basis"] if face == "no keys" else ["Basis", "Smile", "Frown"]
    assert names == own + [f"Supple {frame}" for frame in FRAMES]


def test_face_keys_stay_live_beside_baked_ones(tmp_path):
    obj, _ = add_character("still")
    bind(obj)
    bake_with("SHAPE_KEYS", obj, tmp_path)
    before = points_at(obj, 3)
    obj.data.shape_keys.key_blocks["Smile"].value = 1.0
    assert distance(before, evaluated_points(obj)) > 100 * TOLERANCE


# The same bytes


@pytest.mark.parametrize("step", (1, 2))
def test_two_ranges_join_to_the_bytes_of_one(tmp_path, step):
    obj, _ = add_character("keyed")
    bind(obj)
    middle = 5
    for name, frames in (
        ("late", range(middle, 11, step)),
        ("early", range(1, middle, step)),
        ("whole", range(1, 11, step)),
    ):
        list(bake.bake_cache(obj, bpy.context.scene, tmp_path / name, frames))
        bpy.context.scene.frame_set(3)
    bake.join_caches([tmp_path / "early", tmp_path / "late"], tmp_path / "joined")
    assert (tmp_path / "joined").read_bytes() == (tmp_path / "whole").read_bytes()
    bake.join_caches([tmp_path / "early", tmp_path / "late"], tmp_path / "early")
    assert (tmp_path / "early").read_bytes() == (tmp_path / "whole").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["early", "joined", "late", "whole"]


def test_a_frame_is_the_same_bytes_whatever_was_baked_before(tmp_path):
    obj, _ = add_character("keyed")
    bind(obj)
    list(bake.bake_cache(obj, bpy.context.scene, tmp_path / "whole", FRAMES))
    whole = read_cache(tmp_path / "whole")[1]
    for frame in reversed(FRAMES):
        list(bake.bake_cache(obj, bpy.context.scene, tmp_path / "one", range(frame, frame + 1)))
        assert np.array_equal(read_cache(tmp_path / "one")[1][0], whole[frame - 1])


def pack(points: int = 2, start: float = 1.0, step: float = 1.0, samples: int = 2, version: int = 1) -> bytes:
    """A PC2 file with random points."""
    body = np.random.default_rng(0).random((samples, points, 3)).astype("<f4").tobytes()
    return HEADER.pack(b"POINTCACHE2\0", version, points, start, step, samples) + body


@pytest.mark.parametrize(
    ("second", "message"),
    (
        (pack(start=4.0), "starts at frame 4, not 3: give all parts, in order"),
        (pack(start=2.0), "starts at frame 2, not 3: give all parts, in order"),
        (pack(start=3.0, points=3), "has other points or another frame step than 'first.pc2'"),
        (pack(start=3.0, step=2.0), "has other points or another frame step than 'first.pc2'"),
        (pack(start=3.0, version=2), "is PC2 version 2, not 1: bake it again"),
        (pack(start=3.0)[:-1], "ends within frame 2 of 2: bake it again"),
        (pack(start=3.0)[:20], "is not a PC2 file: choose one that Supple has baked"),
        (b"POINTCACHE1" + pack(start=3.0)[11:], "is not a PC2 file: choose one that Supple has baked"),
        (b"", "is not a PC2 file: choose one that Supple has baked"),
        (None, "No such file or directory"),
    ),
)
def test_parts_that_do_not_fit_are_refused(tmp_path, second, message):
    (tmp_path / "first.pc2").write_bytes(pack())
    if second is not None:
        (tmp_path / "second.pc2").write_bytes(second)
    files = sorted(os.listdir(tmp_path))
    with pytest.raises(SkinningError, match=message) as caught:
        bake.join_caches([tmp_path / "first.pc2", tmp_path / "second.pc2"], tmp_path / "joined.pc2")
    assert "second.pc2" in str(caught.value)
    assert sorted(os.listdir(tmp_path)) == files


# Back to live


TOGGLES = {"all": (True, True), "render only": (False, True), "viewport only": (True, False)}


@pytest.mark.parametrize("toggles", TOGGLES)
@pytest.mark.parametrize("face", FACE_KEYS)
@pytest.mark.parametrize("kind", KINDS)
def test_clear_bake_gives_everything_back(tmp_path, kind, face, toggles):
    obj, armature = add_character(face)
    bind(obj)
    modifier = supple_modifier(obj)
    modifier.show_viewport, modifier.show_render = TOGGLES[toggles]
    before = everything(obj)
    bake_with(kind, obj, tmp_path / "a.pc2")
    assert changes(before, everything(obj))
    assert bpy.ops.supple.clear_bake() == {"FINISHED"}
    assert changes(before, everything(obj)) == {}
    assert obj.supple.bake == "NONE"
    assert (tmp_path / "a.pc2").exists() == (kind == "PC2")
    if toggles != "render only":
        assert_live(obj, armature)


@pytest.mark.parametrize("face", FACE_KEYS)
@pytest.mark.parametrize("kind", KINDS)
def test_unbind_after_a_bake_gives_everything_back(tmp_path, kind, face):
    obj, _ = add_character(face)
    before = everything(obj)
    bind(obj)
    bake_with(kind, obj, tmp_path / "a.pc2")
    bpy.ops.supple.unbind()
    assert changes(before, everything(obj)) == {}


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
@pytest.mark.parametrize("face", ("no keys", "keyed"))
def test_a_bake_over_a_bake(tmp_path, face, first, second):
    obj, armature = add_character(face)
    bind(obj)
    before, old = everything(obj), live_points(obj)
    bake_with(first, obj, tmp_path / "a.pc2")
    armature.pose.bones["bone.1"].scale = (0.6, 1.0, 1.0)
    armature.pose.bones["bone.1"].keyframe_insert("scale", frame=2)
    bake_with(second, obj, tmp_path / "a.pc2")
    played = live_points(obj)
    bpy.ops.supple.clear_bake()
    live = live_points(obj)
    assert distance(old[1], live[1]) > 100 * TOLERANCE
    for frame, expected, points in zip(FRAMES, live, played, strict=True):
        assert distance(expected, points) <= TOLERANCE, frame
    assert changes(before, everything(obj)) == {}


@pytest.mark.parametrize("how", ("removed", "renamed"))
def test_a_cache_modifier_that_the_user_has_changed(tmp_path, how):
    obj, armature = add_character()
    before = everything(obj)
    bind(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    if how == "removed":
        obj.modifiers.remove(obj.modifiers[bake.CACHE_MODIFIER])
    else:
        obj.modifiers[bake.CACHE_MODIFIER].name = "Mine"
    bpy.ops.supple.clear_bake()
    assert_live(obj, armature)
    bpy.context.scene.frame_set(6, subframe=0.5)
    bpy.ops.supple.unbind()
    assert changes(before, everything(obj)) == {}


def test_a_modifier_of_the_user_with_the_same_name_is_kept(tmp_path):
    obj, _ = add_character()
    bind(obj)
    obj.modifiers.new(bake.CACHE_MODIFIER, "CAST").factor = 0.1
    before = everything(obj)
    live = live_points(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    assert_plays(obj, live)
    bpy.ops.supple.clear_bake()
    assert changes(before, everything(obj)) == {}


def test_baked_keys_that_the_user_has_removed_or_renamed(tmp_path):
    obj, armature = add_character("keyed")
    bind(obj)
    bake_with("SHAPE_KEYS", obj, tmp_path)
    obj.shape_key_remove(obj.data.shape_keys.key_blocks["Supple 3"])
    obj.data.shape_keys.key_blocks["Supple 4"].name = "Mine"
    bpy.ops.supple.clear_bake()
    assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Smile", "Frown", "Mine"]
    assert_live(obj, armature)


def test_clear_bake_wants_a_bake():
    obj, _ = add_character()
    bind(obj)
    with pytest.raises(RuntimeError, match="Select a mesh that Supple has baked"):
        bpy.ops.supple.clear_bake()


# Bakes that end early


@pytest.mark.parametrize("face", FACE_KEYS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("done", (0, 1, 4))
def test_a_canceled_bake_leaves_nothing(tmp_path, kind, face, done):
    obj, armature = add_character(face)
    bind(obj)
    before, points = everything(obj), evaluated_points(obj)
    steps = steps_of(kind, obj, tmp_path / "a.pc2")
    for number in range(1, done + 1):
        assert next(steps) == number
    steps.close()
    assert os.listdir(tmp_path) == []
    assert changes(before, everything(obj)) == {}
    assert obj.supple.bake == "NONE"
    assert obj.supple.baked_keys == ""
    assert np.array_equal(evaluated_points(obj), points)
    assert_live(obj, armature)


def test_a_canceled_bake_keeps_the_file_that_was_there(tmp_path):
    obj, _ = add_character()
    bind(obj)
    live = live_points(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    whole = (tmp_path / "a.pc2").read_bytes()
    steps = steps_of("PC2", obj, tmp_path / "a.pc2", range(4, 8))
    next(steps)
    steps.close()
    assert os.listdir(tmp_path) == ["a.pc2"]
    assert (tmp_path / "a.pc2").read_bytes() == whole
    assert_plays(obj, live)


def break_pose(armature: bpy.types.Object, frame: int) -> None:
    """Scale two bones in a chain, at one frame, by so much that their product is infinite."""
    for name in ("bone.0", "bone.1"):
        bone = armature.pose.bones[name]
        for at, scale in ((frame - 1, 1.0), (frame, 1e30), (frame + 1, 1.0)):
            bone.scale = (scale, scale, scale)
            bone.keyframe_insert("scale", frame=at)
    bpy.context.scene.frame_set(6, subframe=0.5)


@pytest.mark.parametrize("face", ("no keys", "keyed"))
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("frame", (1, 4, 10))
def test_a_frame_that_cannot_be_skinned_is_named(tmp_path, kind, face, frame):
    obj, armature = add_character(face)
    break_pose(armature, frame)
    bind(obj)
    before, points = everything(obj), evaluated_points(obj)
    what = "'Tube' has positions" if EVALUATE == "NODES" else "The pose holds values"
    with pytest.raises(SkinningError, match=f"^Frame {frame}: {what} that are not numbers"):
        list(steps_of(kind, obj, tmp_path / "a.pc2"))
    assert os.listdir(tmp_path) == []
    assert changes(before, everything(obj)) == {}
    assert (obj.supple.bake, obj.supple.baked_keys, obj.supple.message) == ("NONE", "", "")
    assert np.array_equal(evaluated_points(obj), points)
    assert_live(obj, armature)


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    obj, _ = add_character()
    bind(obj)
    before = everything(obj)
    write, written = bake.write_sample, []

    def write_until_full(stream, points):
        written.append(write(stream, points))
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(bake, "write_sample", write_until_full)
    with pytest.raises(SkinningError, match=r"Cannot write '.*a\.pc2' \(No space left on device\)"):
        list(steps_of("PC2", obj, tmp_path / "a.pc2"))
    assert os.listdir(tmp_path) == []
    assert changes(before, everything(obj)) == {}


# Operators


OPERATORS = {"PC2": "bake_cache", "SHAPE_KEYS": "bake_shape_keys"}


def call(kind: str, path: Path | str, **settings: int) -> set[str]:
    """Run the operator of a kind of bake on the active object."""
    operator = getattr(bpy.ops.supple, OPERATORS[kind])
    return operator(filepath=str(path), **settings) if kind == "PC2" else operator(**settings)


@pytest.mark.parametrize("face", ("no keys", "keyed"))
def test_the_cache_operator_does_what_the_task_does(tmp_path, face):
    obj, _ = add_character(face)
    bind(obj)
    bake_with("PC2", obj, tmp_path / "task.pc2", range(2, 9, 3))
    by_task = everything(obj)
    bpy.ops.supple.clear_bake()
    result = call("PC2", tmp_path / "operator.pc2", frame_start=2, frame_end=8, frame_step=3)
    assert result == {"FINISHED"}
    assert (tmp_path / "operator.pc2").read_bytes() == (tmp_path / "task.pc2").read_bytes()
    obj.modifiers[bake.CACHE_MODIFIER].filepath = str(tmp_path / "task.pc2")
    assert changes(by_task, everything(obj)) == {}


@pytest.mark.parametrize("face", ("no keys", "keyed"))
def test_the_shape_key_operator_does_what_the_task_does(tmp_path, face):
    obj, _ = add_character(face)
    bind(obj)
    bake_with("SHAPE_KEYS", obj, tmp_path, range(2, 9, 3))
    by_task = everything(obj)
    bpy.ops.supple.clear_bake()
    assert call("SHAPE_KEYS", "", frame_start=2, frame_end=8, frame_step=3) == {"FINISHED"}
    different = changes(by_task, everything(obj))
    assert {name for name in different if name not in ("actions", "animation", "Tube: keys")} == set()
    assert [key.name for key in obj.data.shape_keys.key_blocks][-3:] == ["Supple 2", "Supple 5", "Supple 8"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_range_is_that_of_the_scene_where_none_is_given(scene, tmp_path, kind):
    obj, _ = add_character()
    bind(obj)
    scene.frame_start, scene.frame_end = 3, 6
    live = live_points(obj, range(3, 7))
    call(kind, tmp_path / "a.pc2")
    assert_plays(obj, live, range(3, 7))
    bpy.ops.supple.clear_bake()
    call(kind, tmp_path / "a.pc2", frame_end=4)
    if kind == "PC2":
        assert read_cache(tmp_path / "a.pc2")[0][3:] == (3.0, 1.0, 2)
    else:
        assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Supple 3", "Supple 4"]


@pytest.mark.parametrize(
    ("chosen", "written"),
    (
        ("a.pc2", "a.pc2"),
        ("a", "a.pc2"),
        ("hero.v2", "hero.v2.pc2"),
        ("hero.v2.pc2", "hero.v2.pc2"),
        ("a.PC2", "a.PC2"),
    ),
)
def test_the_file_has_the_name_that_was_chosen(tmp_path, chosen, written):
    obj, _ = add_character()
    bind(obj)
    call("PC2", tmp_path / chosen, frame_start=1, frame_end=2)
    assert os.listdir(tmp_path) == [written]
    assert Path(obj.modifiers[bake.CACHE_MODIFIER].filepath) == tmp_path / written


def test_a_path_may_be_relative_to_the_file(tmp_path):
    obj, _ = add_character()
    bind(obj)
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "saved.blend"))
    with warnings.catch_warnings(record=True) as caught:  # as an error, Blender's warning takes the process down
        warnings.simplefilter("always")
        call("PC2", "//a.pc2", frame_start=1, frame_end=2)
    assert [str(warning.message) for warning in caught] == []
    assert sorted(os.listdir(tmp_path)) == ["a.pc2", "saved.blend"]
    assert obj.modifiers[bake.CACHE_MODIFIER].filepath == "//a.pc2"


# Bad input


@pytest.mark.parametrize(
    ("start", "end", "step", "message"),
    (
        (10, 1, 1, "Frame range 10 to 1 runs backwards: choose an end that is not before the start"),
        (1, 10, 0, "Frame step is 0: choose 1 or more"),
        (1, 10, -2, "Frame step is -2: choose 1 or more"),
    ),
)
def test_no_frames(start, end, step, message):
    with pytest.raises(SkinningError) as caught:
        bake.frame_range(start, end, step)
    assert str(caught.value) == message


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
        "Modifier 'Cast' stands above Supple and would act .* bake to a point cache",
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
    "pinned": (pin_key, KINDS[1:], "'Tube' shows one shape key only: switch the pin off"),
}


@pytest.mark.parametrize(
    ("kind", "problem", "message"),
    [(kind, problem, message) for problem, kinds, message in PROBLEMS.values() for kind in kinds],
    ids=[f"{kind}-{name}" for name, (_, kinds, _) in PROBLEMS.items() for kind in kinds],
)
def test_what_is_in_the_way_is_said(tmp_path, kind, problem: Callable[[bpy.types.Object], None], message):
    obj, _ = add_character()
    bind(obj)
    problem(obj)
    before = everything(obj)
    with pytest.raises(RuntimeError, match=message):
        call(kind, tmp_path / "a.pc2", frame_start=1, frame_end=3)
    assert os.listdir(tmp_path) == []
    assert changes(before, everything(obj)) == {}
    assert obj.supple.bake == "NONE"


@pytest.mark.parametrize("problem", ("above", "shared", "absolute"))
def test_what_shape_keys_cannot_hold_a_cache_can(tmp_path, problem):
    obj, _ = add_character()
    bind(obj)
    PROBLEMS[problem][0](obj)
    live = live_points(obj)
    assert call("PC2", tmp_path / "a.pc2", frame_start=1, frame_end=10) == {"FINISHED"}
    assert_plays(obj, live)


@pytest.mark.python_only("nodes need attributes on the mesh, which is linked")
def test_a_linked_mesh_cannot_hold_keys(tmp_path):
    obj, _ = add_character()
    obj.data.use_fake_user = True
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
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


@pytest.mark.parametrize("kind", KINDS)
def test_a_range_that_runs_backwards(tmp_path, kind):
    obj, _ = add_character()
    bind(obj)
    with pytest.raises(RuntimeError, match="Frame range 10 to 1 runs backwards"):
        call(kind, tmp_path / "a.pc2", frame_start=10, frame_end=1)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_not_bound_cannot_be_baked(tmp_path, kind):
    obj, armature = add_character()
    for active in (obj, armature):
        select(active)
        with pytest.raises(RuntimeError, match="Select a mesh that is bound"):
            call(kind, tmp_path / "a.pc2")
        with pytest.raises(SkinningError, match="Nothing to bake: select a mesh and bind it first"):
            next(steps_of(kind, active, tmp_path / "a.pc2"))
    with pytest.raises(SkinningError, match="Nothing to bake"):
        bake.check_bakeable(None)
    assert os.listdir(tmp_path) == []


def test_no_file():
    obj, _ = add_character()
    bind(obj)
    with pytest.raises(RuntimeError, match="No file to bake to: choose one"):
        call("PC2", "", frame_start=1, frame_end=3)


@pytest.mark.parametrize(
    ("name", "reason"),
    (
        ("nowhere/a.pc2", "No such file or directory"),
        ("file/a.pc2", "Not a directory"),
        ("folder.pc2", "Is a directory"),
        ("a" * 300 + ".pc2", "File name too long"),
    ),
)
def test_a_file_that_cannot_be_written(tmp_path, name, reason):
    (tmp_path / "file").touch()
    (tmp_path / "folder.pc2").mkdir()
    obj, armature = add_character()
    bind(obj)
    before = everything(obj)
    message = rf"Cannot write '.*\.pc2' \({reason}\): choose a folder that can be written to"
    with pytest.raises(RuntimeError, match=message):
        call("PC2", tmp_path / name, frame_start=1, frame_end=3)
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.pc2"]
    assert os.listdir(tmp_path / "folder.pc2") == []
    assert changes(before, everything(obj)) == {}
    assert_live(obj, armature)


@pytest.mark.parametrize(
    ("content", "message"),
    (
        (b"solid nothing", "'a.pc2' is not a PC2 file: choose one that Supple has baked"),
        (pack(version=3), "'a.pc2' is PC2 version 3, not 1: bake it again"),
        (None, "Cannot read '.*a.pc2' \\(No such file or directory\\): check the path"),
    ),
)
def test_a_cache_that_cannot_be_shown(tmp_path, content, message):
    obj, armature = add_character()
    bind(obj)
    if content is not None:
        (tmp_path / "a.pc2").write_bytes(content)
    before = everything(obj)
    with pytest.raises(SkinningError, match=message):
        bake.show_cache(obj, tmp_path / "a.pc2")
    assert changes(before, everything(obj)) == {}
    assert_live(obj, armature)


def test_a_bake_from_the_window_is_repeated_in_one_go():
    """Blender executes the same instance again on Repeat Last, and ends where that runs on."""
    ran = []

    class Bake(BakeOperator):
        def start(self, context):
            ran.append("at once")
            return iter(())

        def run_modal(self, context):
            ran.append("frame by frame")
            return {"RUNNING_MODAL"}

    operator = Bake()
    operator.is_interactive = True
    assert operator.execute(bpy.context) == {"RUNNING_MODAL"}
    assert operator.execute(bpy.context) == {"FINISHED"}
    assert ran == ["frame by frame", "at once"]
