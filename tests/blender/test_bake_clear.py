"""Bakes that are cleared, made over one another, canceled or stopped: nothing is lost, nothing is left."""

from __future__ import annotations

import errno
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
    assert_live,
    assert_plays,
    bake_with,
    changes,
    everything,
    live_points,
    remove_characters,
    steps_of,
)

from scenes import add_tube, bind, distance, evaluated_points, rest_points
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.bake import caches
from supple.tasks.skin.baked import CACHE_MODIFIER
from supple.tasks.subject.stack import find_supple_modifier

FACES = {"PYTHON": FACE_KEYS, "BLENDER": ("no keys", "on a strip")}
"""Blender's own modifiers do not touch what moves a face: two are enough."""

# Back to live


TOGGLES = {"render only": (False, True), "viewport only": (True, False), "all": (True, True)}


def go_between_frames() -> None:
    """To where `add_character` has left the scene."""
    bpy.context.scene.frame_set(6, subframe=0.5)


@pytest.mark.versions
def test_clear_bake_gives_everything_back(tmp_path, evaluator, subtests):
    for face, kind in product(FACES[evaluator], KINDS):
        obj, armature = add_character(face)
        path = tmp_path / f"{kind}.pc2"
        unbound = everything(obj)
        bind(obj)
        modifier = find_supple_modifier(obj)
        for toggles, shown in TOGGLES.items():
            with subtests.test(f"{kind}, {face}, {toggles}"):
                modifier.show_viewport, modifier.show_render = shown
                go_between_frames()
                before = everything(obj)
                bake_with(kind, obj, path, range(1, 4))
                assert changes(before, everything(obj))
                assert bpy.ops.supple.clear_bake() == {"FINISHED"}
                assert changes(before, everything(obj)) == {}
                assert obj.supple.bake == "NONE"
                assert path.exists() == (kind == "PC2")
                if toggles != "render only":
                    assert_live(obj, armature)
        with subtests.test(f"{kind}, {face}, unbind"):
            bake_with(kind, obj, path, range(1, 4))
            bpy.ops.supple.unbind()
            go_between_frames()
            assert changes(unbound, everything(obj)) == {}
        remove_characters()


def test_a_key_that_was_added_to_a_bake_keeps_its_basis(tmp_path):
    obj, _ = add_bound("no keys")
    points = rest_points(obj)
    bake_with("SHAPE_KEYS", obj, tmp_path / "a.pc2")
    key = obj.shape_key_add(name="Smile", from_mix=False)
    key.data[0].co.x += 1.0
    bpy.ops.supple.unbind()
    assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Smile"]
    assert distance(rest_points(obj), points) == 0.0


def test_a_bake_over_a_bake(tmp_path, subtests):
    for face, first, second in product(("no keys", "keyed"), KINDS, KINDS):
        with subtests.test(f"{face}: {second} over {first}"):
            obj, armature = add_bound(face)
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
        remove_characters()


def test_a_cache_modifier_that_the_user_has_removed_or_renamed(tmp_path):
    for how in ("removed", "renamed"):
        obj, armature = add_character()
        before = everything(obj)
        bind(obj)
        bake_with("PC2", obj, tmp_path / "a.pc2")
        if how == "removed":
            obj.modifiers.remove(obj.modifiers[CACHE_MODIFIER])
        else:
            obj.modifiers[CACHE_MODIFIER].name = "Mine"
        bpy.ops.supple.clear_bake()
        assert_live(obj, armature)
        go_between_frames()
        bpy.ops.supple.unbind()
        assert changes(before, everything(obj)) == {}


def test_a_modifier_of_the_user_with_the_same_name_is_kept(tmp_path):
    obj, _ = add_bound()
    obj.modifiers.new(CACHE_MODIFIER, "CAST").factor = 0.1
    before = everything(obj)
    live = live_points(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    assert_plays(obj, live)
    bpy.ops.supple.clear_bake()
    assert changes(before, everything(obj)) == {}


def test_baked_keys_that_the_user_has_removed_or_renamed(tmp_path):
    obj, armature = add_bound("keyed")
    bake_with("SHAPE_KEYS", obj, tmp_path)
    obj.shape_key_remove(obj.data.shape_keys.key_blocks["Supple 3"])
    obj.data.shape_keys.key_blocks["Supple 4"].name = "Mine"
    bpy.ops.supple.clear_bake()
    assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Smile", "Frown", "Mine"]
    assert_live(obj, armature)


def test_no_name_of_a_modifier_stays(tmp_path):
    obj, _ = add_tube(rings=10, sides=6)
    for operator in (bpy.ops.supple.clear_bake, bpy.ops.supple.unbind):
        bind(obj)
        bpy.ops.supple.bake_cache(filepath=str(tmp_path / "tube.pc2"), frame_start=1, frame_end=2)
        assert settings_of(obj).cache_modifier
        operator()
        assert not settings_of(obj).is_property_set("cache_modifier")


def test_clear_bake_wants_a_bake():
    add_bound()
    with pytest.raises(RuntimeError, match="Select a mesh that Supple has baked"):
        bpy.ops.supple.clear_bake()


# Bakes that end early


def test_a_canceled_bake_leaves_nothing(tmp_path, evaluator, subtests):
    for face in FACES[evaluator]:
        obj, armature = add_bound(face)
        for kind, done in product(KINDS, (0, 1, 4)):
            with subtests.test(f"{kind}, {face}, after {done} frames"):
                go_between_frames()
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
        remove_characters()


def test_a_canceled_bake_keeps_the_file_that_was_there(tmp_path):
    obj, _ = add_bound()
    live = live_points(obj)
    bake_with("PC2", obj, tmp_path / "a.pc2")
    whole = (tmp_path / "a.pc2").read_bytes()
    steps = steps_of("PC2", obj, tmp_path / "a.pc2", range(4, 8))
    next(steps)
    steps.close()
    assert os.listdir(tmp_path) == ["a.pc2"]
    assert (tmp_path / "a.pc2").read_bytes() == whole
    assert_plays(obj, live)


def test_a_canceled_bake_keeps_the_bake_that_was_there(tmp_path, subtests):
    for face, first in product(("no keys", "keyed"), KINDS):
        with subtests.test(f"{first}, {face}"):
            obj, _ = add_bound(face)
            live = live_points(obj)
            bake_with(first, obj, tmp_path / "a.pc2")
            before = everything(obj)
            steps = steps_of("SHAPE_KEYS", obj, tmp_path)
            next(steps)
            next(steps)
            steps.close()
            assert changes(before, everything(obj)) == {}
            assert obj.supple.bake == first
            assert_plays(obj, live)


def break_pose(armature: bpy.types.Object, frame: int) -> None:
    """Scale two bones in a chain, at one frame, by so much that their product is infinite."""
    for name in ("bone.0", "bone.1"):
        bone = armature.pose.bones[name]
        for at, scale in ((frame - 1, 1.0), (frame, 1e30), (frame + 1, 1.0)):
            bone.scale = (scale, scale, scale)
            bone.keyframe_insert("scale", frame=at)
    go_between_frames()


def test_a_frame_that_cannot_be_skinned_is_named(tmp_path, evaluator, subtests):
    what = "'Tube' has positions" if evaluator == "BLENDER" else "The pose contains values"
    for face, frame in product(("no keys", "keyed"), (1, 4, 10)):
        obj, armature = add_character(face)
        break_pose(armature, frame)
        bind(obj)
        for kind in KINDS:
            with subtests.test(f"{kind}, {face}, frame {frame}"):
                go_between_frames()
                before, points = everything(obj), evaluated_points(obj)
                with pytest.raises(SkinningError, match=f"^Frame {frame}: {what} that are not numbers"):
                    list(steps_of(kind, obj, tmp_path / "a.pc2"))
                assert os.listdir(tmp_path) == []
                assert changes(before, everything(obj)) == {}
                assert (obj.supple.bake, obj.supple.baked_keys, obj.supple.message) == ("NONE", "", "")
                assert np.array_equal(evaluated_points(obj), points)
                assert_live(obj, armature)
        remove_characters()


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    obj, _ = add_bound()
    before = everything(obj)
    write, written = caches.write_sample, []

    def write_until_full(stream, points):
        written.append(write(stream, points))
        if len(written) == 3:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(caches, "write_sample", write_until_full)
    with pytest.raises(SkinningError, match=r"Cannot write '.*a\.pc2' \(No space left on device\)"):
        list(steps_of("PC2", obj, tmp_path / "a.pc2"))
    assert os.listdir(tmp_path) == []
    assert changes(before, everything(obj)) == {}
