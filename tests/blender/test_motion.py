"""Loops and joins of a walker, whatever rotates and carries it, and what becomes of the file."""

import bpy
import numpy as np
import pytest
from scenes_bake import curves_of
from scenes_cli import DONE, USAGE, main, own_output
from scenes_motion import add_walk, add_walker, clear, list_keys, read_action, read_joints
from scenes_state import find_changes, read_state, refuse

from panels import Recorder, draw
from scenes import edit_bones, load, open_file, push, redo, reset, save, select, undo, update
from supple.bridge.animation.curves import add_track
from supple.bridge.rigs.actions import find_rate
from supple.options import MotionOptions
from supple.settings.motion import motion_settings
from supple.tasks.motion import seams
from supple.tasks.motion.compare import compare_actions
from supple.tasks.motion.reading import read_body
from supple.tasks.motion.seams import join_actions, make_loop
from supple.tasks.steps import take_all

RATE = 24.0
JOLT = 1.6
"""Largest acceleration of a joint at a seam, to the largest that the motions have."""


def jolts(points: np.ndarray, own: list[np.ndarray]) -> float:
    largest = max(np.linalg.norm(np.diff(each, 2, axis=0), axis=2).max() for each in own)
    return float(np.linalg.norm(np.diff(points, 2, axis=0), axis=2).max() / largest)


@pytest.mark.versions
@pytest.mark.parametrize("mode", ["QUATERNION", "ZXY", "AXIS_ANGLE"])
def test_a_loop_of_any_rotation_mode(mode):
    armature = add_walker(mode)
    walk = add_walk(armature, frames=range(-5, 60))
    before, own = list_keys(walk), read_action(armature, walk, range(-5, 60))
    report = take_all(make_loop(armature, "Walk", RATE))
    cycle = report.pair[0] - report.pair[1]
    assert cycle in (30, 60)
    assert report.frames == (report.pair[1], report.pair[1] + 4 * cycle)
    assert report.step == pytest.approx(cycle * 0.03 * 1.8 / 1.8, rel=0.05)
    points = read_joints(armature, range(report.frames[0], report.frames[1] + 1))
    points = points[:, 1:]  # the root does not move
    travel = points[cycle] - points[0]
    assert travel == pytest.approx(np.tile([0.0, -0.03 * cycle, 0.0], (len(travel), 1)), abs=0.02)
    assert points[2 * cycle] - points[cycle] == pytest.approx(travel, abs=1e-4)
    assert jolts(points, [own[:, 1:]]) < JOLT
    assert list_keys(walk) == before


@pytest.mark.parametrize("mover", ["hips", "root", ""])
def test_a_join_goes_on_where_the_first_ends(mover):
    armature = add_walker()
    first = add_walk(armature, "First", frames=range(10, 60), turn=0.01, mover=mover or "hips")
    clear(armature)
    if not mover:
        first = add_walk(armature, "Object", mover="")
        armature.location = 0, 0, 0
    second = add_walk(armature, "Second", frames=range(100, 170), speed=0.04, turn=-0.02 if mover else 0.0, mover=mover)
    before = list_keys(first), list_keys(second)
    own = [read_action(armature, action, range(*map(round, action.frame_range))) for action in (first, second)]
    report = take_all(join_actions(armature, first.name, "Second", RATE, MotionOptions(0.4)))
    assert report.frames[0] == round(first.frame_range[0])
    points = read_joints(armature, range(report.frames[0], report.frames[1] + 1))
    count = report.blended[0] - report.frames[0] - 10  # a foot may begin to come down earlier
    assert points[:count] == pytest.approx(own[0][:count], abs=1e-4)
    assert jolts(points, own) < JOLT
    steps = np.linalg.norm(np.diff(points[:, 1], axis=0), axis=1)
    assert steps.max() < 0.05
    lengths = np.linalg.norm(points[:, 2] - points[:, 1], axis=1)
    assert lengths == pytest.approx(lengths[0], rel=1e-4)
    assert (list_keys(first), list_keys(second)) == before


@pytest.mark.parametrize("by", ["action", "curves"])
def test_an_action_that_repeats_goes_on_before_it_is_joined(by):
    """A whole cycle is played, and the seam is in the next, which goes on from where the first has ended."""
    armature = add_walker()
    first = add_walk(armature, "First", frames=range(1, 32))
    if by == "action":
        first.use_frame_range = first.use_cyclic = True
        first.frame_start, first.frame_end = 1, 31
    else:
        for curve in curves_of(first):
            repeats = curve.modifiers.new("CYCLES")
            repeats.mode_after = "REPEAT_OFFSET" if curve.data_path.endswith("location") else "REPEAT"
    clear(armature)
    add_walk(armature, "Second", frames=range(1, 62), speed=0.03)
    found = take_all(compare_actions(armature, "First", "Second", 0.4, RATE))
    assert found.table.shape == (61, 61)
    report = take_all(join_actions(armature, "First", "Second", RATE, MotionOptions(0.4)))
    assert report.pair == (found.transitions[0].first, found.transitions[0].second)
    assert report.pair[0] >= 31
    points = read_joints(armature, range(1, report.frames[1] + 1))
    assert points[:, 1, 1] == pytest.approx(-0.03 * np.arange(len(points)), abs=5e-3), "the hips go on"
    assert jolts(points, [points[:25]]) < JOLT


def test_the_first_of_the_list_is_what_is_taken_without_it():
    armature = add_walker()
    add_walk(armature, "First", frames=range(1, 62))
    clear(armature)
    add_walk(armature, "Second", frames=range(1, 62), period=45.0)
    for first, second in (("First", "Second"), ("Second", "First")):
        found = take_all(compare_actions(armature, first, second, 0.4, RATE)).transitions[0]
        assert found.first > 30 > found.second
        report = take_all(join_actions(armature, first, second, RATE, MotionOptions(0.4)))
        assert report.pair == (found.first, found.second)
    loop = take_all(make_loop(armature, "First", RATE, MotionOptions(0.4)))
    found = take_all(compare_actions(armature, "First", "", 0.4, RATE)).transitions[0]
    assert loop.pair == (found.first, found.second)


def test_a_bone_that_does_not_inherit_rotation_is_turned_with_the_body():
    armature = add_walker()
    armature.data.bones["chest"].use_inherit_rotation = False
    add_walk(armature, "First", turn=0.02)
    clear(armature)
    add_walk(armature, "Second", speed=0.04)
    report = take_all(join_actions(armature, "First", "Second", RATE, MotionOptions(0.4), (50, 20)))
    end = report.frames[1]
    bpy.context.scene.frame_set(end)
    x, y = armature.pose.bones["chest"].x_axis[:2]
    hips = armature.pose.bones["hips"].x_axis
    heading = np.arctan2(hips[1], hips[0])
    assert heading < -0.4
    assert np.arctan2(y, x) - heading == pytest.approx(0.2 * np.sin(4.0 * np.pi), abs=0.02)


def test_a_loop_of_long_cycles_plays_fewer(monkeypatch):
    monkeypatch.setattr(seams, "LONGEST_CLIP", 100)
    armature = add_walker()
    add_walk(armature)
    report = take_all(make_loop(armature, "", RATE, frames=(40, 10)))
    assert report.frames == (10, 10 + 3 * 30)


def test_a_loop_that_stays():
    armature = add_walker()
    add_walk(armature, speed=0.0)
    report = take_all(make_loop(armature, "", RATE))
    assert report.step == 0.0
    (track,) = [track for track in armature.animation_data.nla_tracks if not track.mute]
    (strip,) = track.strips
    assert strip.repeat == 4.0
    action = strip.action
    assert (action.use_cyclic, action.frame_start, action.frame_end) == (True, *report.frames)
    points = read_joints(armature, range(report.frames[0], report.frames[1] + 1))
    assert points[0] == pytest.approx(points[-1], abs=1e-4)
    assert np.ptp(points[:, 1], axis=0).max() < 0.03


def stand_apart(share: float):
    """An armature with two actions of standing, the feet of the second elsewhere."""
    armature = add_walker()
    add_walk(armature, "Still", speed=0.0, period=1e9, frames=range(1, 30))
    clear(armature)
    action = add_walk(armature, "Apart", speed=0.0, period=1e9, frames=range(1, 30))
    for curve in [one for one in curves_of(action) if "thigh" in one.data_path and one.array_index == 1]:
        for key in curve.keyframe_points:
            key.co.y += share * (0.08 if "thigh.l" in curve.data_path else -0.05)
    return armature


def test_planted_feet_stay_and_can_be_let_go():
    armature = stand_apart(0.3)
    loose = take_all(join_actions(armature, "Still", "Apart", RATE, MotionOptions(0.4, holds_feet=False), (15, 15)))
    held = take_all(join_actions(armature, "Still", "Apart", RATE, MotionOptions(0.4), (15, 15)))
    assert loose.slide == loose.slide_before > 20.0
    assert held.slide_before == pytest.approx(loose.slide, rel=1e-3)
    assert held.slide < 1.0
    assert held.planted == 2
    points = read_joints(armature, range(1, 30))
    toes = points[:, [6, 10]]
    assert np.ptp(toes[:, :, :2], axis=0).max() < 1e-3


def test_feet_on_a_treadmill_are_not_held(asset):
    """The human's walk, without what carries it on."""
    open_file(asset("human"))
    armature = bpy.data.objects["Rig"]
    action = bpy.data.actions["Walk"].copy()
    action.name = "In Place"
    for curve in curves_of(action):
        if curve.data_path == 'pose.bones["pelvis"].location':
            keys = curve.keyframe_points
            travel = np.linspace(0.0, keys[-1].co.y - keys[0].co.y, len(keys))
            for key, away in zip(keys, travel, strict=True):
                key.co.y -= away
    rate = find_rate(bpy.context.scene)
    assert take_all(make_loop(armature, "In Place", rate)).planted == 0
    assert take_all(make_loop(armature, "Walk", rate)).planted == 2


@pytest.mark.versions
def test_values_and_switches_are_carried_along():
    armature = add_walker()
    bone = armature.pose.bones["chest"]
    bone["ik"] = 0.0
    for name, value in (("A", 0.0), ("B", 1.0)):
        action = add_walk(armature, name)
        bone["ik"] = value
        bone.keyframe_insert('["ik"]', frame=1)
        for curve in curves_of(action):
            if "ik" in curve.data_path:
                curve.keyframe_points[0].interpolation = "CONSTANT"
        clear(armature)
    report = take_all(join_actions(armature, "A", "B", RATE, pair=(30, 30)))
    made = bpy.data.actions[report.action]
    (curve,) = [one for one in curves_of(made) if "ik" in one.data_path]
    assert [curve.evaluate(frame) for frame in (29, 30, 31, 40)] == [0.0, 0.0, 1.0, 1.0]


def test_a_comparison_counts_in_the_fifth_of_a_second_at_any_rate():
    armature = add_walker()
    add_walk(armature, "Slow")
    clear(armature)
    add_walk(armature, "Fast", frames=range(1, 302), period=150.0, speed=0.006)
    tables = [
        take_all(compare_actions(armature, name, "", 0.4, rate)).table
        for name, rate in (("Slow", 24.0), ("Fast", 120.0))
    ]
    inner = slice(6, -6)  # at the ends, windows are shorter
    sparse = tables[1][::5, ::5][inner, inner]
    assert sparse == pytest.approx(tables[0][inner, inner], abs=0.1 * float(tables[0].max()))


@pytest.mark.versions
def test_operators_list_loop_join_and_are_undone():
    armature = add_walker()
    add_walk(armature, "A")
    add_walk(armature, "B", speed=0.04)
    select(armature)
    settings = motion_settings(bpy.context)
    settings.first, settings.second = "A", "B"
    push("built")
    assert bpy.ops.supple.motion_compare() == {"FINISHED"}
    push("compare")
    assert 0 < len(settings.transitions) <= 12
    settings.active = min(2, len(settings.transitions) - 1)
    chosen = settings.transitions[settings.active]
    frames = chosen.first, chosen.second
    push("choose")
    assert bpy.ops.supple.motion_join() == {"FINISHED"}
    push("join")
    assert f"frame {frames[0]} of 'A' continues with frame {frames[1]} of 'B'" in motion_settings(bpy.context).report
    data = bpy.data.objects["Walker"].animation_data
    assert data.action is None
    assert [(track.name, track.mute) for track in data.nla_tracks] == [("B", True), ("A + B", False)]
    undo()
    data = bpy.data.objects["Walker"].animation_data
    assert data.action.name == "B"
    assert not data.nla_tracks
    assert "A + B" not in bpy.data.actions
    redo()
    assert "A + B" in bpy.data.actions
    undo()
    select(bpy.data.objects["Walker"])
    assert bpy.ops.supple.motion_loop(first="A") == {"FINISHED"}
    assert "A Loop" in bpy.data.actions
    assert bpy.ops.supple.motion_loop(first="A", to_frame=2, from_frame=32) == {"FINISHED"}
    assert tuple(map(round, bpy.data.actions["A Loop.001"].frame_range)) == (2, 122)


ACTIONS = {
    "human": ("Walk", "Walk"),
    "fox": ("Walk_Armature", "Run_Armature"),
    "kaykit_knight": ("Running_A_Rig", "Jump_Full_Long_Rig"),
}
"""A first action and a second."""


@pytest.mark.characters("fox", "kaykit_knight")
def test_real_characters(asset, character):
    open_file(asset(character))
    armature = next(obj for obj in bpy.context.scene.objects if obj.type == "ARMATURE")
    rate = find_rate(bpy.context.scene)
    first, second = ACTIONS[character]
    report = take_all(join_actions(armature, first, second, rate))
    assert report.smoothness.inside > (0.93 if character == "human" else 0.95)  # it walks ever faster
    loop = take_all(make_loop(armature, first, rate))
    for made in (report, loop):
        assert made.slide < 5.0
    if character == "human":
        assert min(report.slide_before, loop.slide_before) > 20.0


def test_the_panel(monkeypatch):
    lists = []
    monkeypatch.setattr(Recorder, "template_list", lambda *arguments, **_options: lists.append(arguments[4]))
    armature = add_walker()
    add_walk(armature, "A")
    select(armature)
    shown = draw("VIEW3D_PT_supple_motion")
    actions = [text for text in shown if text.startswith("supple.")]
    assert actions == ["supple.motion_compare", "supple.motion_loop"]
    assert shown[1:3] == ["first", "second"]
    assert not lists
    bpy.ops.supple.motion_compare()
    draw("VIEW3D_PT_supple_motion")
    assert lists == ["transitions"]
    bpy.ops.supple.motion_loop()
    assert any(text.startswith("'A Loop'") for text in draw("VIEW3D_PT_supple_motion"))
    motion_settings(bpy.context).second = "A Loop"
    assert "supple.motion_join" in draw("VIEW3D_PT_supple_motion")
    motion_settings(bpy.context).first = "Gone"
    lists.clear()
    draw("VIEW3D_PT_supple_motion")
    assert not lists


@pytest.mark.versions
@pytest.mark.skipif(bpy.app.version < (4, 4), reason="actions have slots from Blender 4.4 on")
def test_a_strip_has_the_slot_that_is_played():
    """By itself, Blender looks for a slot of the object's name."""
    action = bpy.data.actions.new("Shared")
    for name in ("First", "Second"):
        obj = bpy.data.objects.new(name, None)
        obj.animation_data_create().action = action
        obj.keyframe_insert("location", frame=1)
    obj.name = "Renamed"
    slot = obj.animation_data.action_slot
    assert [one.identifier for one in action.slots] == ["OBFirst", "OBSecond"]
    assert slot == action.slots[1]
    assert add_track(obj, "Track", action, 1).action_slot == slot


# What is linked, held or canceled


@pytest.mark.versions
def test_a_strip_that_is_being_tweaked():
    armature = add_walker()
    add_walk(armature)
    select(armature)
    bpy.ops.supple.motion_loop()
    armature.animation_data.nla_tracks[0].is_solo = False
    armature.animation_data.use_tweak_mode = True
    if armature.animation_data.use_tweak_mode:
        refuse("is being tweaked", read_body, armature)


@pytest.mark.versions
def test_what_is_linked(tmp_path):
    """A linked action is read and left as it is; a linked armature can not play another."""
    armature = add_walker()
    add_walk(armature)
    path = save(tmp_path / "library.blend", copy=True)
    clear(armature)
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    (walk,) = load(path, "Walk", kind="actions")
    before = list_keys(walk)
    select(armature)
    assert bpy.ops.supple.motion_loop(first="Walk") == {"FINISHED"}
    assert list_keys(walk) == before
    assert bpy.data.actions["Walk Loop"].library is None
    reset()
    select(*load(path, "Walker"))
    for name in ("compare", "loop", "join"):
        refuse("'Walker' is linked from another file", getattr(bpy.ops.supple, f"motion_{name}"))


def test_what_is_taken_back_when_it_is_canceled():
    armature = add_walker()
    add_walk(armature)
    before = read_state()
    for count in range(6):
        steps = join_actions(armature, "Walk", "Walk", 24.0, MotionOptions(), (40, 10))
        result = None
        for _ in range(count):
            step = steps.send(result)
            result = step(lambda share: None) if callable(step) else None
        steps.close()
        assert find_changes(before) == [], count


def test_legs_with_inverse_kinematics_are_held_by_their_controls():
    armature = add_walker()

    def build(bones) -> None:
        for side in "lr":
            control = bones.new(f"control.{side}")
            control.head, control.tail = bones[f"foot.{side}"].head, bones[f"foot.{side}"].tail
            control.parent = bones["root"]

    edit_bones(armature, build)
    for side in "lr":
        constraint = armature.pose.bones[f"shin.{side}"].constraints.new("IK")
        constraint.target, constraint.subtarget, constraint.chain_count = armature, f"control.{side}", 2
        constraint = armature.pose.bones[f"foot.{side}"].constraints.new("COPY_ROTATION")
        constraint.target, constraint.subtarget = armature, f"control.{side}"
    for name, offset in (("Here", 0.0), ("There", 0.04)):
        action = bpy.data.actions.new(name)
        action.use_fake_user = True
        armature.animation_data_create().action = action
        for frame in range(1, 31):
            hips = armature.pose.bones["hips"]
            hips.location = 0.02 * np.sin(0.2 * frame), -0.05, 0.0
            hips.keyframe_insert("location", frame=frame)
            for side, sign in (("l", 1.0), ("r", -0.5)):
                control = armature.pose.bones[f"control.{side}"]
                control.location = sign * offset, 0.0, 0.0
                control.keyframe_insert("location", frame=frame)
        armature.animation_data.action = None
    report = take_all(join_actions(armature, "Here", "There", 24.0, MotionOptions(0.4), (15, 15)))
    assert report.slide_before > 10.0
    assert report.slide < 1.0
    assert report.free == ()
    for side in "lr":
        armature.pose.bones[f"shin.{side}"].constraints[0].subtarget = "chest"
        assert "chest" in armature.pose.bones
    report = take_all(join_actions(armature, "Here", "There", 24.0, MotionOptions(0.4), (15, 15)))
    assert report.free == ("foot.l", "foot.r")
    assert report.slide == report.slide_before


def test_nla_tracks_of_the_user_do_not_show_through():
    armature = add_walker()
    walk = add_walk(armature)
    first = take_all(make_loop(armature, "Walk", 24.0))
    track = armature.animation_data.nla_tracks.new()
    strip = track.strips.new("Other", 1, walk)
    strip.blend_type, strip.influence = "ADD", 0.5
    again = take_all(make_loop(armature, "Walk", 24.0))
    assert again.smoothness == first.smoothness
    assert again.pair == first.pair


def test_an_object_in_another_unit():
    """A rig in centimeters, turned: lengths in reports are the same."""
    armature = add_walker()
    add_walk(armature)
    plain = take_all(make_loop(armature, "Walk", 24.0))
    points = read_joints(armature, range(1, 60))
    armature.animation_data.nla_tracks.remove(armature.animation_data.nla_tracks[-1])
    armature.scale, armature.rotation_euler = (100.0,) * 3, (0.0, 0.0, 1.0)
    update()
    scaled = take_all(make_loop(armature, "Walk", 24.0))
    assert scaled.pair == plain.pair
    assert scaled.step == pytest.approx(plain.step, rel=1e-3)
    assert scaled.difference == pytest.approx(plain.difference, rel=1e-2, abs=0.1)
    turn = np.array(armature.matrix_world)[:3, :3]
    assert read_joints(armature, range(1, 60)) == pytest.approx(points @ turn.T, abs=0.1)


@pytest.fixture(scope="module")
def walker_file(tmp_path_factory):
    reset()
    armature = add_walker()
    add_walk(armature, "A")
    clear(armature)
    add_walk(armature, "B", speed=0.04)
    return save(tmp_path_factory.mktemp("walker") / "walker.blend")


def test_the_command(walker_file, tmp_path, capfd):
    output = tmp_path / "new.blend"
    assert main("motion", "compare", walker_file, "--action", "A", "--action", "B") == DONE
    assert own_output(capfd.readouterr().out)[0] == "From 'A' to 'B', 61 x 61 frames compared"
    options = ("--action", "A", "--action", "B", "--pair", "40:10", "--output", output, "--report", "json")
    assert main("motion", "join", walker_file, *options) == DONE
    assert '"seam": [\n    40,\n    10\n  ]' in capfd.readouterr().out
    open_file(output)
    assert "A + B" in bpy.data.actions
    loop = ("--pair", "1:31", "--no-hold", "--blend", "0.2")
    assert main("motion", "loop", walker_file, *loop, "--output", output) == DONE
    open_file(output)
    assert bpy.data.objects["Walker"].animation_data.nla_tracks[-1].strips[0].name == "B Loop"


def test_words_of_commands_that_cannot_be_read(walker_file):
    for option in (("--pair", "1-2"), ("--blend", "x"), ("--blend", "99")):
        assert main("motion", "loop", walker_file, *option, "--output", "x.blend") == USAGE
