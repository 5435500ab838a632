"""An engine copy as users make it: by the operators, the panel and the command line; canceled, refused, undone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, main, own_output
from scenes_patterns import add_own, add_skin
from scenes_state import find_changes, read_state, refuse

import scenes
from panels import draw, draw_dialog
from supple.bridge.animation.curves import iterate_curves
from supple.bridge.meshes.shown_weights import read_shown_shape
from supple.bridge.rigs.actions import list_actions, list_frames
from supple.deformers import Pose, SkinningError
from supple.deformers.measures.heat import color_rising
from supple.options import CopyOptions, rows_of
from supple.settings.checks import check_settings
from supple.settings.engine_copy import copy_settings
from supple.settings.objects import settings_of
from supple.tasks.engine_copy import export as exporting
from supple.tasks.engine_copy import read as reading
from supple.tasks.engine_copy import write as writing
from supple.tasks.engine_copy.copies import find_copy, read_copy
from supple.tasks.engine_copy.read import read_copied, read_source
from supple.tasks.engine_copy.report import read_report
from supple.tasks.engine_copy.run import make_engine_copy, plan_bones
from supple.tasks.engine_copy.show import go_to_worst, show_copy
from supple.tasks.installed.feature import Subject
from supple.tasks.side_by_side.heat import _measure_copy, color_heat
from supple.tasks.steps import take_all
from supple.tasks.subject.actions import list_seen_actions
from supple.viewport import heat

CHOSEN: dict[str, Any] = {"keys": 0, "use_bends": False}
"""What makes copies of the tests in a moment."""

COUNTED = ("objects", "meshes", "armatures", "actions", "collections", "scenes", "materials")


@pytest.fixture(scope="module")
def tube_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small tube, bound, animated, with a face key."""
    scenes.reset()
    obj, armature = scenes.add_tube(rings=12, sides=8)
    scenes.animate_tube(armature)
    scenes.animate_key(scenes.add_face_key(obj))
    scenes.bind(obj, method="DLBNT")
    bpy.context.scene.frame_set(3)
    return scenes.save(tmp_path_factory.mktemp("tube") / "tube.blend")


@pytest.fixture(scope="module")
def copied_file(tube_file: Path) -> Path:
    """The same with an engine copy for glTF."""
    scenes.open_tube(tube_file)
    assert bpy.ops.supple.engine_copy(**CHOSEN) == {"FINISHED"}
    return scenes.save(tube_file.with_name("copied.blend"))


@pytest.fixture
def tube(tube_file: Path) -> bpy.types.Object:
    return scenes.open_tube(tube_file)


@pytest.fixture
def copied(copied_file: Path) -> bpy.types.Object:
    return scenes.open_tube(copied_file)


def armature_of(obj: bpy.types.Object) -> bpy.types.Object:
    return scenes.armature_modifier(obj).object


def count_data() -> dict[str, int]:
    return {name: len(getattr(bpy.data, name)) for name in COUNTED}


def state_of(obj: bpy.types.Object) -> dict:
    armature = armature_of(obj)
    parts = (obj, obj.data, armature, armature.data, *obj.modifiers, *armature.pose.bones)
    state = {f"{part.name}: {name}": value for part in parts for name, value in scenes.rna_values(part).items()}
    return state | {"action": armature.animation_data.action.name, "frame": bpy.context.scene.frame_current}


def options(**changed: Any) -> CopyOptions:
    return CopyOptions(**{"keys": 0, "angle": 0.0} | changed)


def test_the_operator_makes_a_copy_and_leaves_the_character(tube):
    before, shown = state_of(tube), scenes.evaluated_points(tube)
    assert bpy.ops.supple.engine_copy(tolerance=0.01, **CHOSEN) == {"FINISHED"}
    assert state_of(tube) == before
    np.testing.assert_array_equal(scenes.evaluated_points(tube), shown)
    armature = armature_of(tube)
    collection = find_copy(armature, "gltf")
    assert sorted(obj.name for obj in collection.objects) == ["Rig for glTF", "Tube for glTF"]
    report = read_report(armature)
    assert (report.measured, report.actions, report.frames) == ("file", ("RigAction",), 8)
    assert abs(report.apart.largest - report.copy.largest) <= 0.05
    assert abs(report.apart.rms - report.copy.rms) <= 0.05
    assert report.apart.largest < 0.5 * report.linear.largest  # closer than what exporters write
    assert report.apart.rms < 0.5 * report.linear.rms
    assert copy_settings(armature).tolerance == pytest.approx(0.01)
    assert copy_settings(armature).report.splitlines() == report.describe()


def test_an_update_takes_the_place_of_the_former_copy(copied):
    counts, armature = count_data(), armature_of(copied)
    former = find_copy(armature, "gltf").session_uid
    names = sorted(obj.name for obj in bpy.data.objects)
    actions = sorted(action.name for action in bpy.data.actions)
    assert bpy.ops.supple.engine_copy_show() == {"FINISHED"}
    bpy.context.view_layer.objects.active = bpy.data.objects["Rig for glTF"]
    assert bpy.ops.supple.engine_copy() == {"FINISHED"}  # the copy is active: that of the original is made anew
    assert find_copy(armature, "gltf").session_uid != former
    assert (count_data(), sorted(obj.name for obj in bpy.data.objects)) == (counts, names)
    assert sorted(action.name for action in bpy.data.actions) == actions
    assert bpy.context.object.name == "Rig for glTF"
    assert bpy.context.object.visible_get(), "it was shown"
    assert list_actions(armature) == [bpy.data.actions["RigAction"]], "not those of the copy"


def steps_until(stop: int, obj: bpy.types.Object, told: list[float]) -> bool:
    """Take steps of a copy until so many shares are told, and then cancel it; whether there was more to do."""
    steps = make_engine_copy([obj], options())
    result = None
    told.clear()
    try:
        while len(set(told)) < stop:
            step = steps.send(result)
            result = step(told.append) if callable(step) else None
            told += [step] if isinstance(step, float) else []
    except StopIteration:
        return False
    steps.close()
    return True


def test_canceled_at_any_step_it_leaves_what_was_there(tube):
    counts, before = count_data(), state_of(tube)
    told: list[float] = []
    stops = 1
    while steps_until(stops, tube, told):
        assert (count_data(), state_of(tube)) == (counts, before)
        stops += 1
    assert stops > 4
    assert told == sorted(told)  # of that which was not canceled
    assert told[-1] == pytest.approx(1.0)
    armature = armature_of(tube)
    former, names = find_copy(armature, "gltf"), sorted(obj.name for obj in bpy.data.objects)
    assert former is not None
    stops = 1
    while steps_until(stops, tube, told):  # an update leaves the former copy; how often it tells is for it to decide
        assert find_copy(armature, "gltf") == former
        assert sorted(obj.name for obj in bpy.data.objects) == names
        stops += 1
    assert stops > 4


@pytest.mark.versions
def test_go_to_frame_and_show(copied):
    armature, scene = armature_of(copied), bpy.context.scene
    report = read_report(armature)
    other = bpy.data.actions.new("Other")
    armature.animation_data.action = other
    scene.frame_set(1)
    assert bpy.ops.supple.engine_copy_frame() == {"FINISHED"}
    assert (armature.animation_data.action.name, scene.frame_current) == (report.apart.action, report.apart.frame)
    assert bpy.ops.supple.engine_copy_show() == {"FINISHED"}
    assert check_settings(bpy.context).heat == "COPY"
    copy, beside = (bpy.data.objects[f"{name} for glTF"] for name in ("Rig", "Tube"))
    assert heat.find_shown(bpy.context) == [beside]
    assert copy.delta_location.x > copied.dimensions.x
    assert beside.visible_get()
    depsgraph = bpy.context.evaluated_depsgraph_get()
    colors = color_heat(beside, read_shown_shape(beside, depsgraph), "COPY", "", report.apart.largest / 1000, depsgraph)
    expected = color_rising(np.array([report.apart.largest]), report.apart.largest)[0]
    assert np.abs(colors - expected).max(axis=1).min() < 0.1, (
        "one vertex is as far as the report says, nearly: the face moves, too"
    )
    bpy.ops.supple.engine_copy_show()
    assert check_settings(bpy.context).heat == "NONE"
    assert copy.delta_location.x == 0.0
    assert not beside.visible_get()


@pytest.mark.versions
@pytest.mark.parametrize("frames", [(1,), (7,), (-3, -2), (5.4, 5.45), (1.5, 4.5)])
def test_actions_of_a_few_keys(tube, frames):
    """One frame, none whole, below zero: the copy has the frames that are said, also where its file is written anew."""
    armature, scene = armature_of(tube), bpy.context.scene
    armature.animation_data.action = bpy.data.actions.new("Short")
    for number, frame in enumerate(frames):
        armature.pose.bones["bone.1"].rotation_euler.x = 0.8 - 0.1 * number
        armature.pose.bones["bone.1"].keyframe_insert("rotation_euler", frame=frame)
    bpy.data.actions.remove(bpy.data.actions["RigAction"])
    report = take_all(make_engine_copy([tube], options(helpers=0)))
    (clip,) = read_copy(armature, "gltf")[1]
    assert clip.frames == list_frames(armature.animation_data.action)
    assert (report.measured, report.frames, len(clip.frames)) == ("file", len(clip.frames), len(clip.frames))
    scene.render.frame_map_old, scene.render.frame_map_new = 100, 50
    go_to_worst(armature, scene)
    assert scene.frame_current_final == pytest.approx(report.apart.frame)  # after remapping
    depsgraph = bpy.context.evaluated_depsgraph_get()
    tube_copy = next(mesh for mesh in find_copy(armature, "gltf").objects if mesh.type == "MESH")
    show_copy(armature, "gltf", bpy.context.view_layer)
    heat = _measure_copy(tube_copy, read_shown_shape(tube_copy, depsgraph), depsgraph)
    assert 1000.0 * heat.max() == pytest.approx(report.apart.largest, abs=0.5)


def test_go_to_frame_leaves_a_linked_armature_as_it_is(tube_file):
    scenes.reset()
    with bpy.data.libraries.load(str(tube_file), link=True) as (_, wanted):
        wanted.objects = ["Tube", "Rig"]
    tube, armature = wanted.objects
    for obj in (tube, armature):
        scenes.link(obj)
    scenes.select(tube.override_create(remap_local_usages=True))
    bpy.ops.supple.engine_copy(**CHOSEN)
    assert bpy.ops.supple.engine_copy_frame() == {"FINISHED"}, "it plays that action"
    armature.animation_data.action = other = bpy.data.actions.new("Other")
    refuse("'Rig' is linked", bpy.ops.supple.engine_copy_frame)
    assert armature.animation_data.action == other


def test_the_panel(tube, copied_file):
    name = "VIEW3D_PT_supple_hand_over"
    scenes.bind(tube)
    assert "supple.engine_copy" in draw(name)
    assert "supple.engine_copy_export" not in draw(name)
    options = ["target", "tolerance", "influences", "helpers", "keys", "use_bends", "angle"]
    shown = [text for text in open_dialog(armature_of(tube)) if text in options]
    assert shown == options
    tube = scenes.open_tube(copied_file)
    assert "supple.engine_copy_frame" in draw(name)
    assert any(line.startswith("Rig for glTF: ") for line in draw(name))
    scenes.select(tube.parent or armature_of(tube))
    assert "supple.engine_copy_frame" in draw(name)
    armature_of(tube).animation_data_clear()
    bpy.data.actions.remove(bpy.data.actions["RigAction"])
    assert "No action moves its bones" in open_dialog(armature_of(tube))


def open_dialog(armature: bpy.types.Object, **more) -> list[str]:
    """What the dialog shows with the settings of an armature."""
    values = {row.name: getattr(copy_settings(armature), row.name) for row in rows_of(CopyOptions)}
    return draw_dialog("SUPPLE_OT_engine_copy", **(values | more))


def test_the_copy_is_exported_as_it_is(copied, tmp_path):
    path = tmp_path / "again.glb"
    assert bpy.ops.supple.engine_copy_export(filepath=str(path)) == {"FINISHED"}
    assert path.read_bytes()[:4] == b"glTF"


def test_patterns_that_move_vertices_are_in_it(tmp_path):
    obj, armature = add_skin()
    add_own(obj)
    settings_of(obj).pattern_display = "DISPLACEMENT"
    scenes.animate_tube(armature)
    for bone in armature.pose.bones:
        bone.scale = (1.0, 1.0, 1.0)
        for frame in (1, 4, 8):
            bone.keyframe_insert("scale", frame=frame)
    scenes.bind(obj, method="DLB")
    source = take_all(read_source(Subject(None, (obj,)), options(use_bends=True, angle=1.0), None, tmp_path))
    assert len(source.matrices) == 8, "no range of motion: it would be without patterns"
    part = source.character.parts[0]
    moved = 0.0
    for frame in range(1, 9):
        bpy.context.scene.frame_set(frame)
        pose = Pose(source.matrices[frame - 1])
        plain = part.deform(pose, np.zeros(0))
        target = part.deform(pose, source.amounts[frame - 1][0])
        shown = scenes.evaluated_points(obj)
        moved = max(moved, np.abs(target - plain).max())
        assert np.abs(target - shown).max() < 0.1 * max(np.abs(plain - shown).max(), 1e-4)
    assert moved > 0.002


def test_targets_are_what_is_shown_in_each_action(tube, tmp_path):
    armature, scene = armature_of(tube), bpy.context.scene
    for bone in armature.pose.bones:
        bone.scale = (1.0, 1.0, 1.0)
    calm = armature.animation_data.action.copy()
    calm.name = "Calm"
    wild = calm.copy()
    wild.name = "Wild"
    scenes.play(armature, wild)
    bone = armature.pose.bones["bone.2"]
    for frame, angle in ((1, 0.0), (8, 4.0)):
        bone.rotation_euler = (0.0, angle, 0.0)
        bone.keyframe_insert("rotation_euler", frame=frame)
    scenes.play(armature, calm)
    scene.frame_set(5)
    armature.update_tag()  # what the other action has left in its channels counts no more
    bpy.context.view_layer.update()
    settings_of(tube).twist = "AUTO"
    tube.data.shape_keys.key_blocks["Face"].mute = True
    source = take_all(read_source(Subject(None, (tube,)), options(use_bends=False), None, tmp_path))
    for clip in source.clips:
        scenes.play(armature, bpy.data.actions[clip.action])
        bpy.context.view_layer.update()
        scene.frame_set(7)
        example = clip.first + clip.frames.index(7)
        hints = None if source.hints is None else source.hints[example]
        target = source.character.parts[0].deform(Pose(source.matrices[example], hints=hints), np.zeros(0))
        np.testing.assert_allclose(target, scenes.evaluated_points(tube), atol=2e-4)


def add_control_rig(armature: bpy.types.Object, prefix: str, by: str) -> bpy.types.Object:
    """A twin that takes over an armature's action; its bones have a prefix, and the armature's follow them."""
    control = armature.copy()
    control.data = armature.data.copy()
    control.name = "Control"
    scenes.link(control)
    for bone in armature.pose.bones:
        control.data.bones[bone.name].name = prefix + bone.name
        constraint = bone.constraints.new(by)
        target = constraint.targets.new() if by == "ARMATURE" else constraint
        target.target, target.subtarget = control, prefix + bone.name
    armature.animation_data_clear()
    return control


FAILING = {
    "vrm": (
        (writing, "new_armature read_rests copy_mesh write_groups skin_by follow_rotation _bake list_bone_curves"),
        (writing, "drive_key new_action add_track play_action make_copy set_hidden store_report"),
        (reading, "_read_clip"),
    ),
    "gltf": ((exporting, "save_objects find_command run_session _put write_file measure_file"),),
}
"""By target: what is called of each module."""


def test_a_copy_that_fails_at_any_step_leaves_the_file_as_it_was(tube, monkeypatch, subtests):
    """Without a former copy, and with one."""
    calls = [(target, owner, name) for target in FAILING for owner, names in FAILING[target] for name in names.split()]
    for is_former in (False, True):
        if is_former:
            for target in FAILING:
                take_all(make_engine_copy([tube], options(target=target)))
        before = read_state()
        for target, owner, name in calls:
            with subtests.test(f"{name}, former copy: {is_former}"), monkeypatch.context() as patch:
                reached: list[bool] = []

                def fail(*_given, reached=reached, **_more):
                    reached.append(True)
                    raise SkinningError("No")

                patch.setattr(owner, name, fail)
                with pytest.raises(SkinningError, match="No"):
                    take_all(make_engine_copy([tube], options(target=target)))
                assert reached
                assert find_changes(before) == []


@pytest.mark.versions
@pytest.mark.parametrize(("prefix", "by"), [("CTL-", "COPY_TRANSFORMS"), ("", "COPY_TRANSFORMS"), ("", "ARMATURE")])
def test_actions_of_a_control_rig_are_those_that_are_seen(tube, tmp_path, prefix, by):
    armature, scene = armature_of(tube), bpy.context.scene
    control = add_control_rig(armature, prefix, by)
    walk = control.animation_data.action
    run = walk.copy()
    run.name, run.use_fake_user = "Run", True
    for curve in iterate_curves(run):
        for point in curve.keyframe_points:
            point.co.y *= 0.5
    before = count_data()
    assert list_seen_actions(armature) == [walk, run]
    source = take_all(read_source(Subject(None, (tube,)), options(use_bends=False), None, tmp_path))
    assert count_data() == before
    assert (control.animation_data.action, armature.animation_data) == (walk, None)
    for clip in source.clips:
        scenes.play(control, bpy.data.actions[clip.action])
        for frame in clip.frames:
            scene.frame_set(frame)
            posed = armature.pose.bones["bone.2"].matrix @ armature.data.bones["bone.2"].matrix_local.inverted()
            np.testing.assert_allclose(source.matrices[clip.first + frame - 1, 2], np.array(posed), atol=1e-4)
    take_all(make_engine_copy([tube], options(helpers=0)))
    scenes.play(control, run)
    report = go_to_worst(armature, scene)
    assert (control.animation_data.action.name, scene.frame_current) == (report.apart.action, report.apart.frame)
    assert armature.animation_data is None


# What cannot be copied; more is in `test_refusals.py`


def test_meshes_on_two_armatures_are_refused(tube):
    other, _ = scenes.add_tube(rings=12, sides=8)
    scenes.bind(other, method="DLBNT")
    refuse("belong to 2 armatures", take_all, make_engine_copy([tube, other], options()))


def test_a_path_that_can_not_be_written_is_refused_at_once(tube, subtests):
    for path in ("/nowhere/hero.glb", "hero.txt"):
        with subtests.test(path):
            steps = make_engine_copy([tube], options(), Path(path))
            refuse("choose", next, steps)
            refuse("choose", bpy.ops.supple.engine_copy, filepath=path, **CHOSEN)


def test_a_copy_for_vrm_is_made_and_written_by_another_add_on(tube):
    assert bpy.ops.supple.engine_copy(target="VRM", **CHOSEN) == {"FINISHED"}
    report = read_report(armature_of(tube))
    assert report.measured == "copy"
    assert "Computed values, not measured in a file" in report.describe()
    refuse("VRM add-on", bpy.ops.supple.engine_copy_export, filepath="/tmp/hero.vrm")
    refuse("VRM add-on", bpy.ops.supple.engine_copy, target="VRM", filepath="/tmp/hero.vrm", **CHOSEN)


def test_helpers_of_a_copy_for_vrm_follow_rules(tube):
    armature = armature_of(tube)
    tube.shape_key_clear()
    for bone in armature.pose.bones:  # what is scaled unevenly, VRM cannot say
        for frame in (1, 4, 8):
            bone.keyframe_delete("scale", frame=frame)
        bone.scale = (1.0, 1.0, 1.0)
    assert bpy.ops.supple.engine_copy(target="VRM", **CHOSEN | {"keys": -1}) == {"FINISHED"}
    report, copy = read_report(armature), find_copy(armature, "vrm")
    assert report.keys == 0
    (mesh,) = (obj for obj in copy.objects if obj.type == "MESH")
    (rig,) = (obj for obj in copy.objects if obj.type == "ARMATURE")
    rules = [constraint for bone in rig.pose.bones for constraint in bone.constraints]
    assert len(rules) == report.helpers > 0
    for rule in rules:
        assert (rule.type, rule.mix_mode, rule.owner_space, rule.target_space) == (
            "COPY_ROTATION", "ADD", "LOCAL", "LOCAL",
        )  # fmt: skip
        assert 0.0 < rule.influence < 1.0
    show_copy(armature, "vrm", bpy.context.view_layer)
    apart = []
    for frame in list_frames(list_actions(armature)[0]):
        bpy.context.scene.frame_set(frame)
        apart.append(np.linalg.norm(scenes.evaluated_points(mesh) - scenes.evaluated_points(tube), axis=1).max())
    assert 1000.0 * max(apart) == pytest.approx(report.apart.largest, rel=0.01)
    assert report.apart.largest < 0.5 * report.linear.largest


def test_a_copy_that_is_gone_is_said(copied):
    bpy.data.collections.remove(find_copy(armature_of(copied), "gltf"))
    scenes.select(copied)
    for name in ("show", "frame"):
        refuse("no engine copy for glTF", getattr(bpy.ops.supple, f"engine_copy_{name}"))


def test_a_report_that_was_tampered_with_is_none(copied, subtests):
    settings = copy_settings(armature_of(copied))
    sound = json.loads(settings.figures)
    assert sound["apart"]["action"]
    changes = [{"target": "x"}, {"target": []}, {"apart": 5}, {"apart": None}, {"actions": None}, {"notes": 1}]
    changes += [{"tolerance": "x"}, {"more": 1}]
    for name, values in (
        ("frame", ("1", 1e9, 10**30, None)),
        ("action", (5, [], "\ud800")),
        ("largest", (None, "x", [])),
    ):
        changes += [{"apart": sound["apart"] | {name: value}} for value in values]
    scenes.select(copied)
    for text in ("", "[" * 100_000, "5", "[]", "null", *(json.dumps(sound | change) for change in changes)):
        with subtests.test(text[-40:]):
            settings.figures = text
            assert read_report(armature_of(copied)) is None
            refuse(r"only to a range of motion|has an engine copy", bpy.ops.supple.engine_copy_frame)
            draw("VIEW3D_PT_supple_hand_over")


# The command line


def test_the_command_writes_a_file_and_a_report_and_saves_the_copy(tube_file, tmp_path, capfd):
    output, saved = tmp_path / "tube.glb", tmp_path / "copied.blend"
    given = ("--tolerance", "1cm", "--keys", 0, "--bend", 0)
    assert main("engine-copy", tube_file, *given, "--output", output, "--report", "json", "--save", saved) == DONE
    report = json.loads("\n".join(own_output(capfd.readouterr().out)))
    assert output.read_bytes()[:4] == b"glTF"
    assert (report["file"], report["tolerance"], report["measured"]) == (str(output), 10.0, "file")
    assert report["apart"]["largest"] == pytest.approx(report["copy"]["largest"], abs=0.05)
    scenes.open_tube(saved)
    assert find_copy(bpy.data.objects["Rig"], "gltf") is not None
    output = tmp_path / "tube.fbx"
    given = ("--target", "fbx", *given, "--output", output, "--save", saved)
    assert main("engine-copy", saved, *given) == DONE, "its own meshes are no characters"
    assert own_output(capfd.readouterr().out)[0].startswith("Rig for FBX: ")
    assert output.is_file()
    scenes.open_tube(saved)
    assert find_copy(bpy.data.objects["Rig"], "fbx") is not None


def test_the_dialog_says_how_many_bones_a_copy_has_at_most(copied):
    plan, report = plan_bones([copied]), read_report(copied.find_armature())
    skeleton = read_copied([copied]).skeleton
    assert (plan.joints, plan.former) == (len(skeleton.names), report.bones)
    assert plan.bending == len(skeleton.names) - 1
    assert plan.joints <= report.bones <= plan.joints + 4 * plan.bending
    shown = open_dialog(copied.find_armature(), plan=plan, helpers=1)
    assert shown[:2] == [
        f"{plan.joints} bones of the character, and at most {plan.bending} added bones at {plan.bending} joints",
        f"The last copy has {report.bones} bones",
    ]
    assert f"at most {4 * plan.bending} added bones" in plan.describe(-1)[0]
