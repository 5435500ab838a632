"""Swing of a runner's tail: what it does to the pose and to the file, and that it is all given back."""

import json
import math
from dataclasses import asdict

import bpy
import numpy as np
import pytest
from scenes_bake import curves_of
from scenes_cli import DONE, main, own_output
from scenes_motion import list_keys
from scenes_state import refuse
from scenes_swing import FRAMES, TAIL, add_run, add_runner, add_skin, add_tail_skin, hold, read_bones

from panels import draw, draw_dialog
from scenes import add_object, bind, edit_bones, link, play, reset, save, select
from supple.bridge.owned import Tag
from supple.options import SwingOptions
from supple.tasks.installed.engine import find_notice, forget_notices
from supple.tasks.installed.feature import Subject
from supple.tasks.steps import take_all
from supple.tasks.swing.add import SWING, add_swing, update_swing
from supple.tasks.swing.remove import remove_swing

MOTION = "VIEW3D_PT_supple_motion"
HALVES = np.arange(FRAMES[0], FRAMES[1] + 0.25, 0.5).tolist()


def swing(armature, *arguments):
    """Add swing, and the report."""
    return take_all(add_swing(armature, bpy.context.scene, *arguments))


def update(armature):
    return take_all(update_swing(armature, bpy.context.scene))


@pytest.fixture
def runner():
    armature = add_runner()
    add_run(armature)
    return armature


def notice(armature):
    forget_notices(SWING)
    return find_notice(SWING, Subject(armature))


def measure(armature, frames=HALVES):
    """Angles between the tail's last bone and how it is without swing, degrees."""
    swung = read_bones(armature, frames)
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            constraint.mute = True
    plain = read_bones(armature, frames)
    for bone in armature.pose.bones:
        for constraint in bone.constraints:
            constraint.mute = False
    row = [bone.name for bone in armature.pose.bones].index(TAIL[-1])
    cosines = (swung[:, row, :3, 1] * plain[:, row, :3, 1]).sum(axis=1)
    return np.degrees(np.arccos(np.clip(cosines, -1, 1)))


def test_a_tail_swings_by_the_angle_that_is_wanted(runner):
    report = swing(runner)
    assert [chain.bones for chain in report.chains] == [TAIL, ("ear.L",)]
    assert np.percentile(measure(runner), 95) == pytest.approx(12.0, abs=1.5)
    assert "'tail.1' to 'tail.3' (Tail) swings by" in ". ".join(report.describe())
    assert report.as_json()["actions"] == ["Run"]


def test_the_dialog_names_what_is_going_to_swing(runner):
    select(runner)
    given = asdict(SwingOptions())
    assert draw_dialog("SUPPLE_OT_swing_add", **given, region="")[0] == "tail.1, ear.L"
    assert "has the name of a cloak" in draw_dialog("SUPPLE_OT_swing_add", **given | {"preset": "CLOAK"}, region="")[0]


def test_a_long_idle_does_not_decide_how_far_a_run_swings(runner):
    run = runner.animation_data.action
    alone = swing(runner).chains[0].amount
    runner.animation_data.action = bpy.data.actions.new("Idle")
    for frame, angle in ((1, 0.0), (200, 0.02), (400, 0.0)):
        runner.pose.bones["hips"].rotation_quaternion = math.cos(angle), math.sin(angle), 0, 0
        runner.pose.bones["hips"].keyframe_insert("rotation_quaternion", frame=frame)
    runner.animation_data.action = run
    assert swing(runner).chains[0].amount < 3.0 * alone


@pytest.mark.versions
def test_curves_of_the_action_stay_and_all_is_given_back(runner):
    action = runner.animation_data.action
    before, poses = list_keys(action), read_bones(runner, HALVES)
    names = [bone.name for bone in runner.data.bones]
    swing(runner)
    own = [key for key in list_keys(action) if ".swing" not in key[0]]
    assert own == before
    assert {curve.group.name for curve in curves_of(action) if ".swing" in curve.data_path} == {"Swing"}
    assert tuple(action.frame_range) == FRAMES
    swung = read_bones(runner, HALVES)
    assert np.abs(swung - poses).max() > 0.01
    for bone in runner.pose.bones:
        for constraint in bone.constraints:
            constraint.influence = 0.0
    assert np.array_equal(read_bones(runner, HALVES), poses)
    assert remove_swing(runner) == ["Removed the swing of 4 bones"]
    assert list_keys(action) == before
    assert [bone.name for bone in runner.data.bones] == names
    assert Tag.SWING not in action
    assert not any(bone.constraints for bone in runner.pose.bones)
    assert "Swing" not in runner.data.collections_all
    assert "Swing" not in [group.name for group in groups_of(action)]
    assert np.array_equal(read_bones(runner, HALVES), poses)


def groups_of(action):
    if not hasattr(action, "layers"):
        return action.groups
    return [
        group for layer in action.layers for strip in layer.strips for bag in strip.channelbags for group in bag.groups
    ]


def test_frames_are_the_same_in_any_order(runner):
    swing(runner)
    forward = read_bones(runner, HALVES)
    assert np.array_equal(read_bones(runner, HALVES[::-1])[::-1], forward)
    assert np.array_equal(read_bones(runner, [HALVES[17]])[0], forward[17])
    first = [(curve[0], curve[1], curve[2]) for curve in list_keys(runner.animation_data.action)]
    update(runner)
    assert list_keys(runner.animation_data.action) == first


def test_a_cycle_has_no_seam(runner):
    swing(runner)
    poses = read_bones(runner, [1, 25])
    assert np.abs(poses[0] - poses[1]).max() < 1e-6
    for curve in curves_of(runner.animation_data.action):
        if "tail.1.swing" in curve.data_path:
            first, last = curve.keyframe_points[0], curve.keyframe_points[-1]
            values = np.array([key.co.y for key in curve.keyframe_points])
            fastest = np.abs(np.diff(values)).max()
            assert abs(first.co.y - last.co.y) < 1e-6
            speeds = 3 * (first.handle_right.y - first.co.y), 3 * (last.co.y - last.handle_left.y)
            assert speeds[0] == pytest.approx(speeds[1], abs=1e-3 * fastest + 1e-6)
            assert fastest < 1e-4 or abs(speeds[0]) > 1e-3 * fastest


def test_keys_between_frames_are_near_to_what_was_computed(runner):
    """A key for each frame, with the slopes of the spline."""
    runner.animation_data.action.use_cyclic = True
    swing(runner, SwingOptions("TAIL", frequency=2.0))
    whole = read_bones(runner, HALVES)
    curves = [curve for curve in curves_of(runner.animation_data.action) if "tail.3.swing" in curve.data_path]
    assert {len(curve.keyframe_points) for curve in curves} == {25}
    assert np.abs(whole[1::2] - (whole[:-1:2] + whole[2::2]) / 2).max() < 0.02


def test_cycles_of_curves_go_on(runner):
    action = runner.animation_data.action
    for curve in curves_of(action):
        curve.modifiers.new("CYCLES")
    swing(runner)
    assert np.abs(read_bones(runner, [7, 12.5]) - read_bones(runner, [31, 36.5])).max() < 1e-5


@pytest.mark.versions
def test_another_action_keeps_still_or_swings_too(runner):
    idle = add_run(runner, "Idle", 0.02)
    plain = read_bones(runner, HALVES)
    run = bpy.data.actions["Run"]
    play(runner, run)
    swing(runner, SwingOptions("TAIL", "ACTIVE"))
    read_bones(runner, [5])
    play(runner, idle)
    assert np.abs(read_bones(runner, HALVES) - plain).max() < 1e-6
    assert notice(runner) == ""
    assert update(runner).actions == ("Run",)
    swing(runner, SwingOptions("TAIL"))
    play(runner, idle)
    assert np.abs(read_bones(runner, HALVES) - plain).max() > 1e-3


@pytest.mark.versions
def test_what_has_changed_is_noticed(runner):
    scene = bpy.context.scene
    swing(runner)
    assert notice(runner) == ""
    scene.render.fps = 30
    assert "'Run' has changed since its swing was computed" in notice(runner)
    scene.render.fps = 24
    assert notice(runner) == ""
    curve = next(curve for curve in curves_of(runner.animation_data.action) if curve.data_path.endswith("location"))
    curve.keyframe_points[4].co.y += 0.1
    curve.update()
    select(runner)
    assert any("has changed since" in line for line in draw(MOTION)) or "has changed" in notice(runner)
    before = measure(runner)
    update(runner)
    assert notice(runner) == ""
    assert np.abs(measure(runner) - before).max() > 0.1
    edit_bones(runner, lambda bones: setattr(bones["tail.3"], "tail", (0, 1.2, 1)))
    assert "has changed" in notice(runner)
    update(runner)
    other = add_run(runner, "Other", 0.05)
    assert "'Other' has no swing yet" in notice(runner)
    assert other.name in update(runner).actions


def test_renamed_bones_and_actions(runner):
    swing(runner)
    poses = read_bones(runner, HALVES)
    runner.data.bones["tail.2"].name = "rudder"
    runner.data.bones["tail.1.swing"].name = "lag"
    runner.animation_data.action.name = "Sprint"
    assert np.array_equal(read_bones(runner, HALVES), poses)
    update(runner)
    assert np.abs(read_bones(runner, HALVES) - poses).max() < 1e-6
    remove_swing(runner)
    assert {bone.name for bone in runner.data.bones} == {"root", "hips", "tail.1", "rudder", "tail.3", "ear.L"}


def test_less_where_animated(runner):
    """An action that moves the tail by itself has a smaller swing, by how far it moves it; others keep theirs."""
    add_run(runner, "Wag")
    for frame, angle in ((1, 0.35), (7, -0.35), (13, 0.35), (19, -0.35), (25, 0.35)):
        bone = runner.pose.bones["tail.1"]
        bone.rotation_quaternion = math.cos(angle / 2), 0, 0, math.sin(angle / 2)
        bone.keyframe_insert("rotation_quaternion", frame=frame)
    spans = {}
    for fade in (False, True):
        report = swing(runner, SwingOptions(fade=fade))
        assert ("it swings less where it is" in ". ".join(report.describe())) == fade
        amount = report.chains[0].amount
        for action in (bpy.data.actions["Run"], bpy.data.actions["Wag"]):
            curves = [curve for curve in curves_of(action) if 'tail.1.swing"' in curve.data_path]
            spans[action.name, fade] = (
                max(np.ptp([key.co.y for key in curve.keyframe_points]) for curve in curves) / amount
            )
    assert spans["Run", True] == pytest.approx(spans["Run", False], rel=0.02)
    assert spans["Wag", True] < 0.4 * spans["Wag", False]
    first = list_keys(bpy.data.actions["Wag"])
    update(runner)
    assert list_keys(bpy.data.actions["Wag"]) == first


def test_swung_again_and_in_part(runner):
    swing(runner)
    swing(runner, SwingOptions("TAIL", angle=0.5), ["tail.2", "tail.3"])
    lags = [bone.name for bone in runner.data.bones if bone.supple.is_lag]
    assert sorted(lags) == ["ear.L.swing", "tail.2.swing", "tail.3.swing"]
    remove_swing(runner, ["ear.L"])
    assert sorted(bone.name for bone in runner.data.bones if bone.supple.is_lag) == ["tail.2.swing", "tail.3.swing"]
    assert not any("ear" in key[0] for key in list_keys(runner.animation_data.action))


@pytest.mark.parametrize("scale", [(1, 1, 1), (-1, 1, 1), (0.01, 0.01, 0.01)])
def test_mirrored_and_scaled_armatures_swing_alike(runner, scale):
    """The tail of one that is mirrored, or in centimeters, swings as in the mirror, or as in meters."""
    runner.rotation_euler = 0.3, 0.2, 0.5
    swing(runner, SwingOptions("TAIL"))
    poses = read_bones(runner, HALVES)
    remove_swing(runner)
    runner.scale = scale
    swing(runner, SwingOptions("TAIL"))
    assert np.abs(read_bones(runner, HALVES) - poses).max() < 1e-4


def test_bones_that_do_not_inherit_rotation(runner):
    runner.data.bones["tail.1"].use_inherit_rotation = False
    swing(runner, SwingOptions("TAIL"))
    assert np.percentile(measure(runner), 95) == pytest.approx(12.0, abs=2.0)


def constrain(armature):
    constraint = armature.pose.bones["tail.3"].constraints.new("IK")
    constraint.target, constraint.chain_count = bpy.data.objects.new("Target", None), 3


def constrain_controls(armature):
    constrain(armature)
    for name in TAIL:
        armature.data.bones[name].use_deform = False


def test_actions_of_others_are_left_alone(runner):
    """Another character's, whose bones have the same names, which this one does not play."""
    other = add_runner()
    theirs = add_run(other, "Theirs")
    before = list_keys(theirs)
    assert swing(runner).actions == ("Run",)
    assert list_keys(theirs) == before


def test_what_does_not_move_does_not_swing(runner):
    runner.animation_data.action.use_fake_user = False
    bpy.data.actions.remove(runner.animation_data.action)
    runner.animation_data.action = bpy.data.actions.new("Still")
    for frame in FRAMES:
        runner.pose.bones["hips"].keyframe_insert("location", frame=frame)
    report = swing(runner, SwingOptions("TAIL"))
    assert "does not swing: no action moves the bone that carries it" in report.describe()[0]


def test_by_the_command_line(runner, tmp_path, capfd):
    source = save(tmp_path / "run.blend")
    swung, updated, plain = (str(tmp_path / name) for name in ("swung.blend", "updated.blend", "plain.blend"))
    arguments = ("--preset=tail", "--bones=tail.1,tail.2", "--angle=20", "--report=json", f"--output={swung}")
    assert main("swing", str(source), *arguments) == DONE
    report = json.loads("".join(own_output(capfd.readouterr().out)))
    assert [chain["bones"] for chain in report["chains"]] == [["tail.1", "tail.2"]]
    assert report["chains"][0]["angle_degrees"] == pytest.approx(20.0, abs=2.5)
    assert main("swing", swung, "--update", f"--output={updated}") == DONE
    assert "Actions with swing: 1" in capfd.readouterr().out
    assert main("swing", updated, "--remove", f"--output={plain}") == DONE
    assert not any(bone.supple.is_lag for bone in bpy.data.objects["Runner"].data.bones)


def list_weights(skin):
    return [[(entry.group, entry.weight) for entry in vertex.groups] for vertex in skin.data.vertices]


def read_skin(skin, frame=7):
    bpy.context.scene.frame_set(frame)
    shown = skin.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return np.array([vertex.co for vertex in shown.data.vertices])


@pytest.mark.versions
def test_a_region_swings_and_gives_its_weights_back(runner):
    skin = add_skin(runner)
    select(skin)
    before, points = list_weights(skin), read_skin(skin)
    assert bpy.ops.supple.swing_add(region="front") == {"FINISHED"}
    moved = np.linalg.norm(read_skin(skin) - points, axis=1)
    front = np.array([any(entry.group == 2 for entry in vertex.groups) for vertex in skin.data.vertices])
    assert moved[front].max() > 0.005
    assert moved[~front].max() < 1e-6
    runner.pose.bones["front.flesh"].constraints[0].influence = 0.0
    assert np.abs(read_skin(skin) - points).max() < 1e-6
    assert bpy.ops.supple.swing_update() == {"FINISHED"}
    assert bpy.ops.supple.swing_remove() == {"FINISHED"}
    assert list_weights(skin) == before
    assert [group.name for group in skin.vertex_groups] == ["root", "hips", "front"]
    assert "front.flesh" not in runner.data.bones
    assert np.array_equal(read_skin(skin), points)


def test_a_region_by_the_command_line(runner, tmp_path, capfd):
    add_skin(runner)
    source = save(tmp_path / "run.blend")
    assert main("swing", str(source), "--region=front", "--preset=breast", f"--output={tmp_path / 'new.blend'}") == DONE
    assert "'front.flesh' (Breast) swings by" in capfd.readouterr().out


def test_held_controls_are_named(runner):
    constrain_controls(runner)
    report = swing(runner)
    assert [chain.bones for chain in report.chains] == [("ear.L",)]
    assert report.held == TAIL
    assert report.describe()[-1].endswith("constraints or drivers move them: tail.1, tail.2, tail.3")


def test_by_name_held_bones_swing_only_where_no_other_of_the_part_does(runner):
    constrain(runner)
    assert [chain.bones for chain in swing(runner).chains] == [TAIL, ("ear.L",)]
    remove_swing(runner)

    def add_another(bones):
        bone = bones.new("tail_control")
        bone.head, bone.tail, bone.parent = (0, 0.1, 1.1), (0, 0.5, 1.1), bones["hips"]

    edit_bones(runner, add_another)
    report = swing(runner)
    assert [chain.bones for chain in report.chains] == [("ear.L",), ("tail_control",)]
    assert report.held == TAIL


@pytest.mark.versions
@pytest.mark.parametrize("is_bound", [False, True])
def test_a_tail_that_constraints_hold_swings_as_one_that_is_free(runner, is_bound):
    skin = add_tail_skin(runner)
    if is_bound:
        bind(skin, evaluate="BLENDER")
    still = [read_skin(skin, frame) for frame in FRAMES]
    swing(runner, SwingOptions(), TAIL)
    frames = range(FRAMES[0], FRAMES[1], 5)
    free = [read_skin(skin, frame) for frame in frames]
    remove_swing(runner)
    hold(runner)
    action = runner.animation_data.action
    before = list_keys(action)
    report = swing(runner, SwingOptions(), TAIL)
    assert [chain.bones for chain in report.chains] == [TAIL]
    assert sorted(group.name for group in skin.vertex_groups) == [f"{name}.swing" for name in TAIL]
    assert [key for key in list_keys(action) if ".swing" not in key[0]] == before
    for _ in range(2):
        held = [read_skin(skin, frame) for frame in frames]
        assert np.abs(np.array(held) - free).max() < 2e-5
        assert np.abs(np.array(held) - still[0]).max() > 0.02
        update(runner)
    assert notice(runner) == ""
    assert remove_swing(runner) == ["Removed the swing of 3 bones"]
    assert [group.name for group in skin.vertex_groups] == list(TAIL)
    assert list_keys(action) == before
    assert np.array_equal([read_skin(skin, frame) for frame in FRAMES], still)


def test_a_linked_mesh_of_a_held_tail_is_refused(runner, tmp_path):
    add_tail_skin(runner)
    path = save(tmp_path / "skin.blend")
    save(tmp_path / "own.blend")
    runner = bpy.data.objects["Runner"]
    bpy.data.meshes.remove(bpy.data.meshes["Cylinder"])
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.meshes = ["Cylinder"]
    linked = add_object("Cylinder", wanted.meshes[0])
    linked.modifiers.new("Armature", "ARMATURE").object = runner
    constrain(runner)
    refuse("'Cylinder' is linked from another file: make it local", swing, runner, SwingOptions(), TAIL)
    assert not any(bone.supple.is_lag for bone in runner.data.bones)


@pytest.mark.versions
def test_an_override_is_told_to_swing_in_its_library(runner, tmp_path):
    path = save(tmp_path / "library.blend")
    reset()
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = ["Runner"]
    linked = wanted.objects[0]
    link(linked)
    refuse("'Runner' is linked from another file", swing, linked)
    override = linked.override_create(remap_local_usages=True)
    refuse("The bones of 'Runner' are linked from another file: add the swing there", swing, override)


def test_linked_actions_are_named(runner, tmp_path):
    runner.animation_data.action.name = "Theirs"
    path = save(tmp_path / "library.blend")
    reset()
    runner = add_runner()
    add_run(runner)
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.actions = ["Theirs"]
    before = list_keys(wanted.actions[0])
    report = swing(runner)
    assert (report.actions, report.linked) == (("Run",), ("Theirs",))
    assert list_keys(wanted.actions[0]) == before


@pytest.mark.versions
def test_linked_actions_are_copied(runner, tmp_path):
    """The armature plays the copies, in strips as well; what is canceled is as before."""
    runner.animation_data.action.name = "Theirs"
    path = save(tmp_path / "library.blend")
    reset()
    runner = add_runner()
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.actions = ["Theirs"]
    theirs, data = wanted.actions[0], runner.animation_data_create()
    strip = data.nla_tracks.new().strips.new("Theirs", 40, theirs)
    strip.action_frame_end, strip.repeat = 8.0, 2.0
    for player in (data, strip):
        player.action = theirs
        if hasattr(player, "action_slot"):
            player.action_slot = theirs.slots[0]
    span = strip.frame_start, strip.frame_end, strip.action_frame_start, strip.action_frame_end, strip.repeat
    before, options = list_keys(theirs), SwingOptions(copies=True)

    steps = add_swing(runner, bpy.context.scene, options)
    next(steps)
    steps.close()
    assert (data.action, strip.action, list(bpy.data.actions)) == (theirs, theirs, [theirs])
    report = swing(runner, options)
    copy = data.action
    assert copy.library is None
    assert strip.action == copy
    assert (strip.frame_start, strip.frame_end, strip.action_frame_start, strip.action_frame_end, strip.repeat) == span
    assert (report.actions, report.linked, report.copied) == ((copy.name,), (), (copy.name,))
    assert list_keys(theirs) == before
    assert len(list_keys(copy)) > len(before)
    assert measure(runner).max() > 3.0
    again = swing(runner, options)  # not copied twice
    assert (again.actions, again.copied) == ((copy.name,), ())
    remove_swing(runner)
    assert list_keys(copy) == before
