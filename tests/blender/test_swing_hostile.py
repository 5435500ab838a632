"""Swing of hostile files: what is the user's stays, numbers are finite, and what fails or was edited leaves nothing."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bake import curves_of
from scenes_motion import list_keys
from scenes_state import find_changes, read_state
from scenes_swing import FRAMES, TAIL, add_run, add_runner, add_skin, add_tail_skin, hold

from scenes import edit_bones, reset, select
from supple.deformers import SkinningError
from supple.options import SwingOptions
from supple.settings.bones import SWING_KEY
from supple.tasks.steps import take_all
from supple.tasks.subject.swung import find_notice, forget_notices
from supple.tasks.swing.add import add_region_swing, add_swing, update_swing
from supple.tasks.swing.remove import remove_swing

ALL, HELD = SwingOptions(), SwingOptions("TAIL")
LONG = ("x" * 63, "x" * 62 + "y", "ш" * 31 + "a", "ш" * 31 + "b", "尾" * 20 + "abc", "尾" * 20 + "abd")
"""Names of 63 bytes that begin alike."""


def swing(armature: Any, options: SwingOptions = ALL, names: Any = ()) -> Any:
    return take_all(add_swing(armature, bpy.context.scene, options, names))


def swing_region(armature: Any, skin: Any, group: str = "front") -> Any:
    return take_all(add_region_swing(armature, bpy.context.scene, SwingOptions(), skin, group))


def list_groups(skin: Any) -> dict[str, list[float]]:
    names = [group.name for group in skin.vertex_groups]
    found = {name: [0.0] * len(skin.data.vertices) for name in names}
    for vertex in skin.data.vertices:
        for entry in vertex.groups:
            found[names[entry.group]][vertex.index] = entry.weight
    return found


def add_group(skin: Any, name: str, weight: float = 0.25) -> None:
    skin.vertex_groups.new(name=name).add(range(len(skin.data.vertices)), weight, "REPLACE")


def add_lattice(armature: Any, group: str) -> None:
    lattice = bpy.data.objects.new("Lattice", bpy.data.lattices.new("Lattice"))
    bpy.context.scene.collection.objects.link(lattice)
    lattice.modifiers.new("Armature", "ARMATURE").object = armature
    lattice.vertex_groups.new(name=group)


def list_swing_keys(armature: Any) -> list[float]:
    lags = {bone.name for bone in armature.data.bones if bone.supple.is_lag}
    return [
        number
        for action in bpy.data.actions
        for curve in curves_of(action)
        if curve.data_path.split('"')[1:2] and curve.data_path.split('"')[1] in lags
        for key in curve.keyframe_points
        for number in (*key.co, *key.handle_left, *key.handle_right)
    ]


@pytest.mark.versions
@pytest.mark.parametrize("is_region", [True, False])
def test_vertex_groups_of_the_user_stay(is_region, subtests):
    """Whose names lag bones and bones of flesh would get: on the mesh, on another, on a lattice."""
    names = ["front.flesh", "front.flesh.swing"] if is_region else [f"{name}.swing" for name in TAIL]
    for place in ("mesh", "other", "lattice", "action"):
        with subtests.test(place):
            reset()
            armature = add_runner()
            add_run(armature)
            skin = (add_skin if is_region else add_tail_skin)(armature)
            if not is_region:
                hold(armature)
            if place == "mesh":
                for name in names:
                    add_group(skin, name)
            elif place == "other":
                other = add_skin(armature)
                for name in names:
                    add_group(other, name)
            elif place == "lattice":
                add_lattice(armature, names[0])
            else:
                path = f'pose.bones["{names[0]}"].rotation_quaternion'
                action = armature.animation_data.action
                holder = action.layers[0].strips[0].channelbags[0] if hasattr(action, "layers") else action
                holder.fcurves.new(path)
            before, groups = read_state(), list_groups(skin)
            (swing_region(armature, skin) if is_region else swing(armature, HELD, TAIL))
            after = list_groups(skin)
            assert {name: after[name] for name in groups if name in names} == {
                name: weights for name, weights in groups.items() if name in names
            }
            remove_swing(armature)
            assert find_changes(before) == []


@pytest.mark.versions
def test_names_of_63_bytes(subtests):
    for first, second in zip(LONG[::2], LONG[1::2], strict=True):
        for is_held in (False, True):
            with subtests.test(name=first[:1], is_held=is_held):
                reset()
                armature = add_runner()
                add_run(armature)
                skin = add_tail_skin(armature)
                for old, new in zip(TAIL, (first, second), strict=False):
                    armature.data.bones[old].name = new
                if is_held:
                    hold(armature, (first, second))
                before = read_state()
                chain = swing(armature, HELD, (first, second)).chains[0]
                assert chain.bones == (first, second)
                assert len(skin.vertex_groups) == 3
                lags = [bone.name for bone in armature.data.bones if bone.supple.is_lag]
                assert len(lags) == 2
                moving = {key[0] for key in list_keys(armature.animation_data.action)}
                assert all(f'pose.bones["{lag}"].rotation_quaternion' in moving for lag in lags)
                take_all(update_swing(armature, bpy.context.scene))
                remove_swing(armature)
                assert find_changes(before) == []


def test_meshes_that_another_armature_deforms_too_are_refused(subtests):
    for is_region in (True, False):
        with subtests.test(is_region=is_region):
            reset()
            armature, other = add_runner(), add_runner()
            add_run(armature)
            skin = (add_skin if is_region else add_tail_skin)(armature)
            twin = skin.copy()
            bpy.context.scene.collection.objects.link(twin)
            twin.modifiers[0].object = other
            hold(armature)
            before = read_state()
            with pytest.raises(SkinningError, match=r"shares its mesh with .* which another armature deforms"):
                swing_region(armature, skin) if is_region else swing(armature, HELD, TAIL)
            assert find_changes(before) == []


def test_bone_collections_and_curve_groups_of_the_user_stay():
    armature = add_runner()
    add_run(armature)
    own = armature.data.collections.new("Swing")
    own.assign(armature.data.bones["hips"])
    before = read_state()
    swing(armature)
    assert own.is_visible
    assert [bone.name for bone in own.bones] == ["hips"]
    remove_swing(armature)
    assert find_changes(before) == []


def shorten_tip(armature):
    edit_bones(armature, lambda bones: setattr(bones["tail.3"], "tail", (0, 0.7006, 1)))


def key_value(value: float, path: str = "location", bone: str = "hips") -> Callable:
    def change(armature: Any) -> None:
        armature.pose.bones[bone].keyframe_insert(path, frame=12)
        for curve in curves_of(armature.animation_data.action):
            if curve.data_path == f'pose.bones["{bone}"].{path}':
                curve.keyframe_points[len(curve.keyframe_points) // 2].co.y = value
                curve.update()

    return change


def key_frame(frame: float, is_other: bool = False) -> Callable:
    def change(armature: Any) -> None:
        if is_other:
            armature.pose.bones["hips"]["mood"] = 0.0
            for at in (1, 5):
                armature.pose.bones["hips"].keyframe_insert('["mood"]', frame=at)
        curves = curves_of(armature.animation_data.action)
        curve = next(one for one in curves if not is_other or "mood" in one.data_path)
        curve.keyframe_points[-1].co.x = frame

    return change


def leave_one_key(armature):
    for curve in curves_of(armature.animation_data.action):
        while len(curve.keyframe_points) > 1:
            curve.keyframe_points.remove(curve.keyframe_points[-1])


def clear_keys(armature):
    for curve in curves_of(armature.animation_data.action):
        curve.keyframe_points.clear()


def set_range(first: float, last: float) -> Callable:
    def change(armature: Any) -> None:
        action = armature.animation_data.action
        action.use_frame_range, action.frame_start, action.frame_end = True, first, last

    return change


def set_rate(fps: int, base: float) -> Callable:
    def change(_armature: Any) -> None:
        bpy.context.scene.render.fps, bpy.context.scene.render.fps_base = fps, base

    return change


def scale_to(*scale: float) -> Callable:
    return lambda armature: setattr(armature, "scale", scale)


def move_to(place: float) -> Callable:
    return lambda armature: setattr(armature, "location", (place, 0, 0))


HOSTILE = {
    "a tip of 1/500": (shorten_tip, True),
    "10 seconds a frame": (set_rate(1, 10.0), True),
    "24 frames in 240 s": (set_rate(24, 240.0), True),
    "30,000 frames a second": (set_rate(30_000, 1.0), True),
    "at NaN": (move_to(math.nan), False),
    "at infinity": (move_to(math.inf), None),
    "far away": (move_to(1e30), None),
    "flat": (scale_to(1, 0, 1), None),
    "tiny": (scale_to(1e-20, 1e-20, 1e-20), None),
    "huge": (scale_to(1e30, 1e30, 1e30), None),
    "scaled by NaN": (scale_to(math.nan, 1, 1), False),
    "one key": (leave_one_key, True),
    "no keys": (clear_keys, True),
    "no length": (set_range(5, 5), True),
    "backward": (set_range(9, 5), True),
    "a key at 1e8": (key_frame(1e8), False),
    "a key at 3e6": (key_frame(3e6), False),
    "a key at 1e30": (key_frame(1e30), False),
    "a key at -1e30": (key_frame(-1e30), None),
    "a key at infinity": (key_frame(math.inf), False),
    "a key at NaN": (key_frame(math.nan), False),
    "100,000 frames": (key_frame(1e5), False),
    "a key of what moves nothing at 1e30": (key_frame(1e30, True), True),
    "a key of what moves nothing at NaN": (key_frame(math.nan, True), True),
    "location NaN": (key_value(math.nan), False),
    "location infinite": (key_value(math.inf), False),
    "location 1e15": (key_value(1e15), None),
    "location 3e38": (key_value(3e38), None),
    "scale NaN": (key_value(math.nan, "scale"), False),
    "scale 0": (key_value(0.0, "scale"), True),
    "scale 1e30": (key_value(1e30, "scale"), None),
    "scale of a bone 0": (key_value(0.0, "scale", "tail.2"), True),
    "rotation 0": (key_value(0.0, "rotation_quaternion"), True),
}
"""What is done to a file, and whether all swings then, or nothing does; None: either."""


@pytest.mark.versions
def test_what_is_computed_is_finite_or_nothing_is_written(subtests):
    """Then it is removed again, and the file is as before."""
    for name, (change, swings) in HOSTILE.items():
        for is_held in (False, True):
            with subtests.test(name, is_held=is_held):
                reset()
                armature = add_runner()
                add_run(armature)
                add_tail_skin(armature)
                if is_held:
                    hold(armature)
                change(armature)
                before, start = read_state(), time.monotonic()
                message = ""
                try:
                    swing(armature, SwingOptions("TAIL", gravity=1.0), TAIL)
                except SkinningError as error:
                    message = str(error)
                if message:
                    assert time.monotonic() - start < 2.0
                else:
                    keys = list_swing_keys(armature)
                    assert len(keys) >= 3 * 4 * 6
                    assert np.isfinite(keys).all()
                    remove_swing(armature)
                assert swings is None or swings is not bool(message), message
                assert find_changes(before) == []


def test_a_region_of_points_nowhere_is_refused():
    armature = add_runner()
    add_run(armature)
    skin = add_skin(armature)
    skin.data.vertices[3].co.x = math.nan
    before = read_state()
    with pytest.raises(SkinningError, match="Points of 'Sphere' are not at finite positions"):
        swing_region(armature, skin)
    assert find_changes(before) == []


@pytest.mark.versions
def test_a_bad_action_is_left_out_by_name(subtests):
    """The others swing; it is held still, and swings once it is repaired and the swing is updated."""
    for change in (key_value(math.nan), key_frame(1e30)):
        with subtests.test(change=change):
            reset()
            armature = add_runner()
            broken = add_run(armature, "Broken")
            change(armature)
            run = add_run(armature, "Run")
            before = {action.name: list_keys(action) for action in (run,)}
            report = swing(armature, HELD)
            assert report.actions == ("Run",)
            assert [name for name, _ in report.left_out] == ["Broken"]
            assert "Without swing, because they could not be read: Broken" in report.describe()
            keys = [len(curve.keyframe_points) for curve in curves_of(broken) if ".swing" in curve.data_path]
            assert keys == [1] * 12
            armature.animation_data.action = broken
            forget_notices()
            assert "'Broken' has no swing yet" in find_notice(armature, bpy.context.scene)
            for curve in [curve for curve in curves_of(broken) if ".swing" not in curve.data_path]:
                for key in curve.keyframe_points:
                    key.co = (key.co.x if abs(key.co.x) < 100 else 25, key.co.y if math.isfinite(key.co.y) else 0)
                curve.update()
            report = take_all(update_swing(armature, bpy.context.scene))
            assert (sorted(report.actions), report.left_out) == (["Broken", "Run"], ())
            remove_swing(armature)
            assert list_keys(run) == before["Run"]


STEPS = (
    "add_region", "take_out", "add_lag_bones", "rename_group", "remove_bone_curves", "add_curves", "copy_rotation",
    "copy_linked", "hash_source", "remove_constraint",
)  # fmt: skip


@pytest.mark.versions
@pytest.mark.parametrize("is_before", [True, False])
def test_what_fails_at_any_step_leaves_the_file_as_it_was(subtests, monkeypatch, is_before):
    """Before and after each step; with a swing that is there already, so that bones, keys and groups are exchanged."""
    failed, steps = set(), STEPS if is_before else STEPS[:-1]
    for step in steps:
        for scene in ("held", "freed", "region", "again"):
            with subtests.test(step, scene=scene):
                reset()
                armature = add_runner()
                add_run(armature)
                skin = (add_skin if scene == "region" else add_tail_skin)(armature)
                add_run(armature, "Other", 0.05)
                if scene == "freed":
                    swing(armature, HELD, TAIL)
                if scene in ("held", "freed"):
                    hold(armature, TAIL)
                if scene == "again":
                    swing(armature)
                    armature.pose.bones["tail.2"].constraints[0].influence = 0.5
                before = read_state()
                with monkeypatch.context() as patch:
                    patch.setattr(f"supple.tasks.swing.write.{step}", fail(step, is_before))
                    try:
                        if scene == "region":
                            swing_region(armature, skin)
                        else:
                            swing(armature, SwingOptions("TAIL", copies=step == "copy_linked"), TAIL[1:])
                    except RuntimeError:
                        failed.add(step)
                        assert find_changes(before) == []
    assert failed == {*steps}


def fail(step: str, is_before: bool) -> Callable:
    import importlib

    whole = getattr(importlib.import_module("supple.tasks.swing.write"), step)

    def run(*arguments: Any) -> None:
        if not is_before:
            whole(*arguments)
        raise RuntimeError("failed on purpose")

    return run


def test_a_removal_that_fails_leaves_the_file_as_it_was(subtests, monkeypatch):
    for step in ("remove_bone_curves", "give_back", "remove_made_bones"):
        for is_held in (False, True):
            with subtests.test(step, is_held=is_held):
                reset()
                armature = add_runner()
                add_run(armature)
                add_tail_skin(armature)
                if is_held:
                    hold(armature)
                swing(armature, HELD, TAIL)
                before = read_state()
                with monkeypatch.context() as patch:
                    patch.setattr(f"supple.tasks.swing.remove.{step}", fail_plainly)
                    with pytest.raises(RuntimeError, match="on purpose"):
                        remove_swing(armature)
                assert find_changes(before) == []
                remove_swing(armature)


def fail_plainly(*_: Any) -> None:
    raise RuntimeError("failed on purpose")


def delete_bones(*names: str) -> Callable:
    """As a user does, in Edit Mode, which takes them out of constraints too."""

    def change(armature: Any) -> None:
        select(armature)
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.armature.select_all(action="DESELECT")
        for name in names:
            if (bone := armature.data.edit_bones.get(name)) is not None:
                bone.hide = False
                for collection in armature.data.collections_all:
                    collection.is_visible = True
                bone.select = bone.select_head = bone.select_tail = True
                armature.data.edit_bones.active = bone
        if any(name in armature.data.edit_bones for name in names):
            bpy.ops.armature.delete()
        bpy.ops.object.mode_set(mode="OBJECT")

    return change


def clear_parent(armature):
    if "front.flesh" in armature.data.bones:
        edit_bones(armature, lambda bones: setattr(bones["front.flesh"], "parent", None))


def remove_constraints(armature):
    for bone in armature.pose.bones:
        for constraint in [one for one in bone.constraints if one.name.startswith("Swing")]:
            bone.constraints.remove(constraint)


def remove_keys(armature):
    for curve in [one for one in curves_of(armature.animation_data.action) if ".swing" in one.data_path]:
        holder = armature.animation_data.action
        if hasattr(holder, "layers"):
            holder = holder.layers[0].strips[0].channelbags[0]
        holder.fcurves.remove(curve)


def remove_action(_armature):
    bpy.data.actions.remove(bpy.data.actions["Run"])


def rename_bone(before: str, after: str) -> Callable:
    def change(armature: Any) -> None:
        if before in armature.data.bones:
            armature.data.bones[before].name = after

    return change


def rename_armature(armature):
    armature.name = armature.data.name = "Other"


def together(*changes: Callable) -> Callable:
    return lambda armature: [change(armature) for change in changes]


FLESH = "front.flesh"
EDITS = {
    "nothing": lambda armature: None,
    "the first lag bone": delete_bones("tail.1.swing", "front.flesh.swing"),
    "the last lag bone": delete_bones("tail.3.swing"),
    "all lag bones": delete_bones(*(f"{name}.swing" for name in (*TAIL, FLESH))),
    "the first bone": delete_bones("tail.1"),
    "the bone in the middle": delete_bones("tail.2"),
    "the bone and its lag bone": delete_bones("tail.2", "tail.2.swing"),
    "the bone of the region": delete_bones(FLESH),
    "the bone of the region and its lag bone": delete_bones(FLESH, f"{FLESH}.swing"),
    "the carrier": delete_bones("hips"),
    "its parent": clear_parent,
    "constraints": remove_constraints,
    "constraints and lag bones": together(remove_constraints, delete_bones(*(f"{n}.swing" for n in (*TAIL, FLESH)))),
    "curves": remove_keys,
    "the action": remove_action,
    "all lag bones and the action": together(delete_bones(*(f"{n}.swing" for n in (*TAIL, FLESH))), remove_action),
    "the armature's name": rename_armature,
    "the carrier's name": rename_bone("hips", "pelvis"),
    "the carrier's name, and its parent": together(rename_bone("hips", "pelvis"), clear_parent),
    "a bone's name": rename_bone("tail.1", "rudder"),
    "names of lag bones": together(rename_bone("tail.1.swing", "lag"), rename_bone("front.flesh.swing", "lag.2")),
    "the name of the region's bone": rename_bone(FLESH, "wobble"),
}
"""What a user does by hand; where it is of Supple's, it does nothing in a file without it."""


@pytest.mark.versions
@pytest.mark.parametrize("kind", ["free", "held", "region"])
def test_what_was_edited_by_hand_is_cleaned_up(subtests, kind):
    """After Remove Swing the file is as the same edits leave it without Supple."""
    for name, edit in EDITS.items():
        with subtests.test(name):
            states = []
            for swings in (False, True):
                reset()
                armature = add_runner()
                add_run(armature)
                add_run(armature, "Other", 0.05)
                armature.animation_data.action = bpy.data.actions["Run"]
                skin = (add_skin if kind == "region" else add_tail_skin)(armature)
                if kind == "held":
                    hold(armature, TAIL)
                if swings:
                    swing_region(armature, skin) if kind == "region" else swing(armature, HELD, TAIL)
                edit(armature)
                if swings:
                    remove_swing(armature)
                    assert not any(SWING_KEY in action for action in bpy.data.actions)
                    assert not armature.data.supple.made
                    with pytest.raises(SkinningError, match="use Add Swing first"):
                        remove_swing(armature)
                    changes = [change for change in find_changes(states[0]) if "].corners: " not in change]
                    assert changes == []  # the order of corners is another one for each new sphere
                states.append(read_state())


def test_a_group_that_came_later_takes_the_weights_back():
    armature = add_runner()
    add_run(armature)
    skin = add_tail_skin(armature)
    hold(armature)
    before = list_groups(skin)
    swing(armature, HELD, TAIL)
    add_group(skin, "tail.1", 0.0)
    add_group(skin, "tail.1.swing.001", 0.5)
    remove_swing(armature)
    after = list_groups(skin)
    assert {name: after[name] for name in before} == before
    assert sorted(after) == sorted([*before, "tail.1.swing.001"])


def test_copies_of_a_character_keep_their_swing():
    """Both play the same action."""
    armature = add_runner()
    add_run(armature)
    swing(armature)
    copy = armature.copy()
    copy.data = armature.data.copy()
    bpy.context.scene.collection.objects.link(copy)
    keys = list_keys(armature.animation_data.action)
    remove_swing(armature)
    assert list_keys(armature.animation_data.action) == keys
    remove_swing(copy)
    assert not any(".swing" in key[0] for key in list_keys(armature.animation_data.action))
    assert tuple(armature.animation_data.action.frame_range) == FRAMES
