"""Bakes that are cleared, made over one another, canceled or stopped: nothing is lost, nothing is left."""

from __future__ import annotations

import os
from itertools import product

import bpy
import numpy as np
import pytest
import scenes_bake
from scenes_state import refuse

from scenes import add_tube, bind, distance, evaluated_points, rest_points
from supple.settings.objects import settings_of
from supple.tasks.skin.baked import CACHE_MODIFIER
from supple.tasks.subject.stack import find_supple_modifier

FACES = {"PYTHON": scenes_bake.FACE_KEYS, "BLENDER": ("no keys", "on a strip")}
"""Blender's own modifiers do not touch what moves a face: two are enough."""

# Back to live


TOGGLES = {"render only": (False, True), "viewport only": (True, False), "all": (True, True)}


def go_between_frames() -> None:
    """To where `add_character` has left the scene."""
    bpy.context.scene.frame_set(6, subframe=0.5)


@pytest.mark.versions
def test_clear_bake_gives_everything_back(tmp_path, evaluator, subtests):
    for face, kind in product(FACES[evaluator], scenes_bake.KINDS):
        obj, armature = scenes_bake.add_character(face)
        path = tmp_path / f"{kind}.pc2"
        unbound = scenes_bake.everything(obj)
        bind(obj)
        modifier = find_supple_modifier(obj)
        for toggles, shown in TOGGLES.items():
            with subtests.test(f"{kind}, {face}, {toggles}"):
                modifier.show_viewport, modifier.show_render = shown
                go_between_frames()
                before = scenes_bake.everything(obj)
                scenes_bake.bake_with(kind, obj, path, range(1, 4))
                assert scenes_bake.changes(before, scenes_bake.everything(obj))
                assert bpy.ops.supple.clear_bake() == {"FINISHED"}
                assert scenes_bake.changes(before, scenes_bake.everything(obj)) == {}
                assert obj.supple.bake == "NONE"
                assert path.exists() == (kind == "PC2")
                if toggles != "render only":
                    scenes_bake.assert_live(obj, armature)
        with subtests.test(f"{kind}, {face}, unbind"):
            scenes_bake.bake_with(kind, obj, path, range(1, 4))
            bpy.ops.supple.unbind()
            go_between_frames()
            assert scenes_bake.changes(unbound, scenes_bake.everything(obj)) == {}
        scenes_bake.remove_characters()


def test_a_key_that_was_added_to_a_bake_keeps_its_basis(tmp_path):
    obj, _ = scenes_bake.add_bound("no keys")
    points = rest_points(obj)
    scenes_bake.bake_with("SHAPE_KEYS", obj, tmp_path / "a.pc2")
    key = obj.shape_key_add(name="Smile", from_mix=False)
    key.data[0].co.x += 1.0
    bpy.ops.supple.unbind()
    assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Smile"]
    assert distance(rest_points(obj), points) == 0.0


def test_a_bake_over_a_bake(tmp_path, subtests):
    for face, first, second in product(("no keys", "keyed"), scenes_bake.KINDS, scenes_bake.KINDS):
        with subtests.test(f"{face}: {second} over {first}"):
            obj, armature = scenes_bake.add_bound(face)
            before, old = scenes_bake.everything(obj), scenes_bake.live_points(obj)
            scenes_bake.bake_with(first, obj, tmp_path / "a.pc2")
            armature.pose.bones["bone.1"].scale = (0.6, 1.0, 1.0)
            armature.pose.bones["bone.1"].keyframe_insert("scale", frame=2)
            scenes_bake.bake_with(second, obj, tmp_path / "a.pc2")
            played = scenes_bake.live_points(obj)
            bpy.ops.supple.clear_bake()
            live = scenes_bake.live_points(obj)
            assert distance(old[1], live[1]) > 100 * scenes_bake.TOLERANCE
            for frame, expected, points in zip(scenes_bake.FRAMES, live, played, strict=True):
                assert distance(expected, points) <= scenes_bake.TOLERANCE, frame
            assert scenes_bake.changes(before, scenes_bake.everything(obj)) == {}
        scenes_bake.remove_characters()


def test_a_modifier_of_the_user_with_the_same_name_is_kept(tmp_path):
    obj, _ = scenes_bake.add_bound()
    obj.modifiers.new(CACHE_MODIFIER, "CAST").factor = 0.1
    before = scenes_bake.everything(obj)
    live = scenes_bake.live_points(obj)
    scenes_bake.bake_with("PC2", obj, tmp_path / "a.pc2")
    scenes_bake.assert_plays(obj, live)
    bpy.ops.supple.clear_bake()
    assert scenes_bake.changes(before, scenes_bake.everything(obj)) == {}


def test_baked_keys_that_the_user_has_removed_or_renamed(tmp_path):
    obj, armature = scenes_bake.add_bound("keyed")
    scenes_bake.bake_with("SHAPE_KEYS", obj, tmp_path)
    obj.shape_key_remove(obj.data.shape_keys.key_blocks["Supple 3"])
    obj.data.shape_keys.key_blocks["Supple 4"].name = "Mine"
    bpy.ops.supple.clear_bake()
    assert [key.name for key in obj.data.shape_keys.key_blocks] == ["Basis", "Smile", "Frown", "Mine"]
    scenes_bake.assert_live(obj, armature)


def test_no_name_of_a_modifier_stays(tmp_path):
    obj, _ = add_tube(rings=10, sides=6)
    for operator in (bpy.ops.supple.clear_bake, bpy.ops.supple.unbind):
        bind(obj)
        bpy.ops.supple.bake_cache(filepath=str(tmp_path / "tube.pc2"), frame_start=1, frame_end=2)
        assert settings_of(obj).cache_modifier
        operator()
        assert not settings_of(obj).is_property_set("cache_modifier")


# Bakes that end early


def test_a_canceled_bake_keeps_the_bake_and_the_file_that_were_there(tmp_path, subtests):
    for face, first in product(("no keys", "keyed"), scenes_bake.KINDS):
        with subtests.test(f"{first}, {face}"):
            obj, _ = scenes_bake.add_bound(face)
            live = scenes_bake.live_points(obj)
            scenes_bake.bake_with(first, obj, tmp_path / "a.pc2")
            before = scenes_bake.everything(obj)
            steps = scenes_bake.steps_of("SHAPE_KEYS", obj, tmp_path)
            next(steps)
            next(steps)
            steps.close()
            assert scenes_bake.changes(before, scenes_bake.everything(obj)) == {}
            assert obj.supple.bake == first
            scenes_bake.assert_plays(obj, live)
            if first == "PC2":
                whole = (tmp_path / "a.pc2").read_bytes()
                steps = scenes_bake.steps_of("PC2", obj, tmp_path / "a.pc2", range(4, 8))
                next(steps)
                steps.close()
                assert (tmp_path / "a.pc2").read_bytes() == whole


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
        obj, armature = scenes_bake.add_character(face)
        break_pose(armature, frame)
        bind(obj)
        for kind in scenes_bake.KINDS:
            with subtests.test(f"{kind}, {face}, frame {frame}"):
                go_between_frames()
                before, points = scenes_bake.everything(obj), evaluated_points(obj)
                refuse(
                    f"^Frame {frame}: {what} that are not numbers",
                    list,
                    scenes_bake.steps_of(kind, obj, tmp_path / "a.pc2"),
                )
                assert os.listdir(tmp_path) == []
                assert scenes_bake.changes(before, scenes_bake.everything(obj)) == {}
                assert (obj.supple.bake, obj.supple.baked_keys, obj.supple.message) == ("NONE", "", "")
                assert np.array_equal(evaluated_points(obj), points)
                scenes_bake.assert_live(obj, armature)
        scenes_bake.remove_characters()
