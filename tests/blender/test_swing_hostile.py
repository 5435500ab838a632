"""Swing of hostile files: what is the user's stays, numbers are finite, and what fails or was edited leaves nothing."""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bake import curves_of
from scenes_motion import list_keys
from scenes_state import find_changes, read_state, refuse
from scenes_swing import FRAMES, TAIL, add_run, add_runner, add_skin, add_tail_skin, hold

from scenes import add_object, edit_bones, link, reset, select
from supple.bridge.owned import Tag
from supple.deformers import SkinningError
from supple.options import SwingOptions
from supple.tasks.installed.engine import find_notice, forget_notices
from supple.tasks.installed.feature import Subject
from supple.tasks.steps import take_all
from supple.tasks.swing.add import SWING, add_region_swing, add_swing, update_swing
from supple.tasks.swing.remove import remove_swing

ALL, HELD = SwingOptions(), SwingOptions("TAIL")
FLESH = "front.flesh"
LAGS = tuple(f"{name}.swing" for name in (*TAIL, FLESH))


def start(kind: str = "free") -> tuple[Any, Any]:
    """A runner in an empty file, and its skin: a "region" to swing, or a tail that is "free" or "held"."""
    reset()
    armature = add_runner()
    add_run(armature)
    skin = (add_skin if kind == "region" else add_tail_skin)(armature)
    if kind == "held":
        hold(armature)
    return armature, skin


def swing(armature: Any, options: SwingOptions = ALL, names: Any = ()) -> Any:
    return take_all(add_swing(armature, bpy.context.scene, options, names))


def swing_region(armature: Any, skin: Any) -> Any:
    return take_all(add_region_swing(armature, bpy.context.scene, SwingOptions(), skin, "front"))


def swing_kind(kind: str, armature: Any, skin: Any) -> Any:
    return swing_region(armature, skin) if kind == "region" else swing(armature, HELD, TAIL)


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
    lattice = add_object("Lattice", bpy.data.lattices.new("Lattice"))
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


def find_holder(action: bpy.types.Action) -> Any:
    """What has the curves of an action."""
    return action.layers[0].strips[0].channelbags[0] if hasattr(action, "layers") else action


@pytest.mark.versions
@pytest.mark.parametrize("kind", ["region", "held"])
def test_vertex_groups_of_the_user_stay(kind, subtests):
    """Whose names lag bones and bones of flesh would get: on the mesh, on another, on a lattice."""
    names = [FLESH, f"{FLESH}.swing"] if kind == "region" else [f"{name}.swing" for name in TAIL]
    for place in ("mesh", "other", "lattice", "action"):
        with subtests.test(place):
            armature, skin = start(kind)
            if place in ("mesh", "other"):
                owner = skin if place == "mesh" else add_skin(armature)
                for name in names:
                    add_group(owner, name)
            elif place == "lattice":
                add_lattice(armature, names[0])
            else:
                path = f'pose.bones["{names[0]}"].rotation_quaternion'
                find_holder(armature.animation_data.action).fcurves.new(path)
            before, groups = read_state(), list_groups(skin)
            swing_kind(kind, armature, skin)
            after = list_groups(skin)
            assert all(after[name] == weights for name, weights in groups.items() if name in names)
            remove_swing(armature)
            assert find_changes(before) == []


def test_meshes_that_another_armature_deforms_too_are_refused(subtests):
    for kind in ("region", "held"):
        with subtests.test(kind):
            armature, skin = start(kind)
            twin = link(skin.copy())
            twin.modifiers[0].object = add_runner()
            refuse("shares its mesh with .* which another armature deforms", swing_kind, kind, armature, skin)


def test_bone_collections_and_curve_groups_of_the_user_stay():
    armature, _ = start()
    own = armature.data.collections.new("Swing")
    own.assign(armature.data.bones["hips"])
    before = read_state()
    swing(armature)
    assert own.is_visible
    assert [bone.name for bone in own.bones] == ["hips"]
    remove_swing(armature)
    assert find_changes(before) == []


def key_value(armature: Any, value: float, path: str = "location", bone: str = "hips") -> None:
    armature.pose.bones[bone].keyframe_insert(path, frame=12)
    for curve in curves_of(armature.animation_data.action):
        if curve.data_path == f'pose.bones["{bone}"].{path}':
            curve.keyframe_points[len(curve.keyframe_points) // 2].co.y = value
            curve.update()


def key_frame(armature: Any, frame: float, is_other: bool = False) -> None:
    if is_other:
        armature.pose.bones["hips"]["mood"] = 0.0
        for at in (1, 5):
            armature.pose.bones["hips"].keyframe_insert('["mood"]', frame=at)
    curves = curves_of(armature.animation_data.action)
    curve = next(one for one in curves if not is_other or "mood" in one.data_path)
    curve.keyframe_points[-1].co.x = frame


def keep_keys(armature: Any, count: int) -> None:
    for curve in curves_of(armature.animation_data.action):
        while len(curve.keyframe_points) > count:
            curve.keyframe_points.remove(curve.keyframe_points[-1])


def set_range(armature: Any, first: float, last: float) -> None:
    action = armature.animation_data.action
    action.use_frame_range, action.frame_start, action.frame_end = True, first, last


HOSTILE: dict[str, bool | None] = {
    "edit_bones(rig, lambda bones: setattr(bones['tail.3'], 'tail', (0, 0.7006, 1)))": True,  # a tip of 1/500
    "render.fps, render.fps_base = 1, 10.0": True,  # 10 seconds a frame
    "render.fps, render.fps_base = 24, 240.0": True,
    "render.fps, render.fps_base = 30_000, 1.0": True,
    "rig.location.x = nan": False,
    "rig.location.x = inf": None,
    "rig.location.x = 1e30": None,
    "rig.scale = 1, 0, 1": None,
    "rig.scale = [1e-20] * 3": None,
    "rig.scale = [1e30] * 3": None,
    "rig.scale.x = nan": False,
    "keep_keys(rig, 1)": True,
    "keep_keys(rig, 0)": True,
    "set_range(rig, 5, 5)": True,
    "set_range(rig, 9, 5)": True,
    "key_frame(rig, 1e8)": False,
    "key_frame(rig, 3e6)": False,
    "key_frame(rig, 1e30)": False,
    "key_frame(rig, -1e30)": None,
    "key_frame(rig, inf)": False,
    "key_frame(rig, nan)": False,
    "key_frame(rig, 1e5)": False,  # 100,000 frames
    "key_frame(rig, 1e30, True)": True,  # of what moves nothing
    "key_frame(rig, nan, True)": True,
    "key_value(rig, nan)": False,
    "key_value(rig, inf)": False,
    "key_value(rig, 1e15)": None,
    "key_value(rig, 3e38)": None,
    "key_value(rig, nan, 'scale')": False,
    "key_value(rig, 0.0, 'scale')": True,
    "key_value(rig, 1e30, 'scale')": None,
    "key_value(rig, 0.0, 'scale', 'tail.2')": True,
    "key_value(rig, 0.0, 'rotation_quaternion')": True,
}
"""What is done to a file, and whether all swings then, or nothing does; None: either."""


def execute(statement: str, armature: Any) -> None:
    exec(statement, globals() | {"rig": armature, "render": bpy.context.scene.render, "inf": math.inf, "nan": math.nan})


def test_what_is_computed_is_finite_or_nothing_is_written(subtests):
    """Then it is removed again, and the file is as before."""
    for change, swings in HOSTILE.items():
        for kind in ("free", "held"):
            with subtests.test(change, kind=kind):
                armature, _ = start(kind)
                execute(change, armature)
                before, started = read_state(), time.monotonic()
                message = ""
                try:
                    swing(armature, SwingOptions("TAIL", gravity=1.0), TAIL)
                except SkinningError as error:
                    message = str(error)
                if message:
                    assert time.monotonic() - started < 2.0
                else:
                    keys = list_swing_keys(armature)
                    assert len(keys) >= 3 * 4 * 6
                    assert np.isfinite(keys).all()
                    remove_swing(armature)
                assert swings is None or swings is not bool(message), message
                assert find_changes(before) == []


@pytest.mark.versions
def test_a_bad_action_is_left_out_by_name(subtests):
    """The others swing; it is held still, and swings once it is repaired and the swing is updated."""
    for change in ("key_value(rig, nan)", "key_frame(rig, 1e30)"):
        with subtests.test(change=change):
            armature, _ = start()
            broken = armature.animation_data.action
            broken.name = "Broken"
            execute(change, armature)
            run = add_run(armature, "Run")
            before = list_keys(run)
            report = swing(armature, HELD)
            assert report.actions == ("Run",)
            assert [name for name, _ in report.left_out] == ["Broken"]
            assert "Without swing, because they could not be read: Broken" in report.describe()
            keys = [len(curve.keyframe_points) for curve in curves_of(broken) if ".swing" in curve.data_path]
            assert keys == [1] * 12
            armature.animation_data.action = broken
            forget_notices(SWING)
            assert "'Broken' has no swing yet" in find_notice(SWING, Subject(armature))
            for curve in [curve for curve in curves_of(broken) if ".swing" not in curve.data_path]:
                for key in curve.keyframe_points:
                    key.co = (key.co.x if abs(key.co.x) < 100 else 25, key.co.y if math.isfinite(key.co.y) else 0)
                curve.update()
            report = take_all(update_swing(armature, bpy.context.scene))
            assert (sorted(report.actions), report.left_out) == (["Broken", "Run"], ())
            remove_swing(armature)
            assert list_keys(run) == before


STEPS = (
    "add_region", "take_out", "add_lag_bones", "rename_group", "remove_bone_curves", "add_curves", "copy_rotation",
    "copy_linked", "hash_source", "remove_constraint",
)  # fmt: skip


def fail(module: str, step: str, is_before: bool = True) -> Callable:
    """A step that fails before or after it does its work."""
    whole = getattr(importlib.import_module(f"supple.tasks.swing.{module}"), step)

    def run(*arguments: Any) -> None:
        if not is_before:
            whole(*arguments)
        raise RuntimeError("failed on purpose")

    return run


@pytest.mark.parametrize("is_before", [True, False])
def test_what_fails_at_any_step_leaves_the_file_as_it_was(subtests, monkeypatch, is_before):
    """Before and after each step; with a swing that is there already, so that bones, keys and groups are exchanged."""
    failed, steps = set(), STEPS if is_before else STEPS[:-1]
    for step in steps:
        for scene in ("held", "freed", "region", "again"):
            with subtests.test(step, scene=scene):
                armature, skin = start("region" if scene == "region" else "free")
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
                    patch.setattr(f"supple.tasks.swing.write.{step}", fail("write", step, is_before))
                    try:
                        if scene == "region":
                            swing_region(armature, skin)
                        else:
                            swing(armature, SwingOptions("TAIL", copies=step == "copy_linked"), TAIL[1:])
                    except RuntimeError:
                        failed.add(step)
                        assert find_changes(before) == []
    assert failed == {*steps}


def test_a_removal_that_fails_leaves_the_file_as_it_was(subtests, monkeypatch):
    for step in ("remove_bone_curves", "give_back", "remove_made_bones"):
        for kind in ("free", "held"):
            with subtests.test(step, kind=kind):
                armature, _ = start(kind)
                swing(armature, HELD, TAIL)
                with monkeypatch.context() as patch:
                    patch.setattr(f"supple.tasks.swing.remove.{step}", fail("remove", step))
                    refuse("on purpose", remove_swing, armature)
                remove_swing(armature)


def delete_bones(armature: Any, *names: str) -> None:
    """As a user does, in Edit Mode, which takes them out of constraints too."""
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.armature.select_all(action="DESELECT")
    for collection in armature.data.collections_all:
        collection.is_visible = True
    found = [bone for name in names if (bone := armature.data.edit_bones.get(name)) is not None]
    for bone in found:
        bone.hide = False
        bone.select = bone.select_head = bone.select_tail = True
        armature.data.edit_bones.active = bone
    if found:
        bpy.ops.armature.delete()
    bpy.ops.object.mode_set(mode="OBJECT")


def clear_parent(armature: Any) -> None:
    if FLESH in armature.data.bones:
        edit_bones(armature, lambda bones: setattr(bones[FLESH], "parent", None))


def remove_constraints(armature: Any) -> None:
    for bone in armature.pose.bones:
        for constraint in [one for one in bone.constraints if one.name.startswith("Swing")]:
            bone.constraints.remove(constraint)


def remove_keys(armature: Any) -> None:
    for curve in [one for one in curves_of(armature.animation_data.action) if ".swing" in one.data_path]:
        find_holder(armature.animation_data.action).fcurves.remove(curve)


def remove_action() -> None:
    """The pose stays, which is then that of the frame, not of the last key."""
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    bpy.data.actions.remove(bpy.data.actions["Run"])


def rename(armature: Any, **names: str) -> None:
    """Rename bones, if they are there; "_" stands for dots."""
    for before, after in names.items():
        if (bone := armature.data.bones.get(before.replace("_", "."))) is not None:
            bone.name = after


EDITS = (
    "pass",
    "delete_bones(rig, 'tail.1.swing', 'front.flesh.swing')",
    "delete_bones(rig, 'tail.3.swing')",
    "delete_bones(rig, *LAGS)",
    "delete_bones(rig, 'tail.1')",
    "delete_bones(rig, 'tail.2')",
    "delete_bones(rig, 'tail.2', 'tail.2.swing')",
    "delete_bones(rig, FLESH)",
    "delete_bones(rig, FLESH, 'front.flesh.swing')",
    "delete_bones(rig, 'hips')",
    "clear_parent(rig)",
    "remove_constraints(rig)",
    "remove_constraints(rig); delete_bones(rig, *LAGS)",
    "remove_keys(rig)",
    "remove_action()",
    "delete_bones(rig, *LAGS); remove_action()",
    "rig.name = rig.data.name = 'Other'",
    "rename(rig, hips='pelvis')",
    "rename(rig, hips='pelvis'); clear_parent(rig)",
    "rename(rig, tail_1='rudder')",
    "rename(rig, tail_1_swing='lag', front_flesh_swing='lag.2')",
    "rename(rig, front_flesh='wobble')",
)
"""What a user does by hand; where it is of Supple's, it does nothing in a file without it."""


@pytest.mark.parametrize("kind", ["free", pytest.param("held", marks=pytest.mark.versions), "region"])
def test_what_was_edited_by_hand_is_cleaned_up(subtests, kind):
    """After Remove Swing the file is as the same edits leave it without Supple."""
    for edit in EDITS:
        with subtests.test(edit):
            states = []
            for swings in (False, True):
                armature, skin = start(kind)
                add_run(armature, "Other", 0.05)
                armature.animation_data.action = bpy.data.actions["Run"]
                if swings:
                    swing_kind(kind, armature, skin)
                execute(edit, armature)
                if swings:
                    remove_swing(armature)
                    assert not any(Tag.SWING in action for action in bpy.data.actions)
                    assert not armature.data.supple.made
                    changes = [change for change in find_changes(states[0]) if "].corners: " not in change]
                    assert changes == []  # the order of corners is another one for each new sphere
                    refuse("use Add Swing first", remove_swing, armature)
                states.append(read_state())


def test_a_group_that_came_later_takes_the_weights_back():
    armature, skin = start("held")
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
    armature, _ = start()
    swing(armature)
    copy = link(armature.copy())
    copy.data = armature.data.copy()
    keys = list_keys(armature.animation_data.action)
    remove_swing(armature)
    assert list_keys(armature.animation_data.action) == keys
    remove_swing(copy)
    assert not any(".swing" in key[0] for key in list_keys(armature.animation_data.action))
    assert tuple(armature.animation_data.action.frame_range) == FRAMES
