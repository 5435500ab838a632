"""What can not be compared, looped or joined: a message, and nothing is changed. And what only looks so."""

from math import inf

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, FAILED, USAGE, main, own_output
from scenes_motion import add_walk, add_walker, clear, list_keys, read_joints

from scenes import add_tube, edit_bones, reset, save, select, update
from supple.bridge.animation.curves import list_curves
from supple.deformers import SkinningError
from supple.options import MotionOptions
from supple.tasks.motion.compare import compare_actions
from supple.tasks.motion.reading import read_body
from supple.tasks.motion.seams import join_actions, make_loop
from supple.tasks.steps import take_all

OPERATORS = (bpy.ops.supple.motion_compare, bpy.ops.supple.motion_loop, bpy.ops.supple.motion_join)


def describe_file() -> list:
    """What motions could change of the file, once the pose is that of the frame."""
    bpy.context.scene.frame_set(bpy.context.scene.frame_current)
    found: list = [len(getattr(bpy.data, name)) for name in ("objects", "scenes", "images", "armatures")]
    found += [(action.name, action.users, list_keys(action)) for action in bpy.data.actions]
    for obj in bpy.data.objects:
        data = obj.animation_data
        if data is not None:
            found += [data.action, data.use_nla, data.action_influence, [track.name for track in data.nla_tracks]]
        if obj.pose is not None:
            found += [[value for row in bone.matrix_basis for value in row] for bone in obj.pose.bones]
    return found


def refused(message: str, **options) -> None:
    """All three operators give this message, and change nothing."""
    before = describe_file()
    for operator in OPERATORS:
        known = {key: value for key, value in options.items() if key in operator.get_rna_type().properties}
        with pytest.raises(RuntimeError, match=message):
            operator(**known)
    assert describe_file() == before


def test_no_armature_no_bones_no_action():
    refused("Select a mesh that has an Armature modifier, or its armature")
    bpy.ops.mesh.primitive_cube_add()
    refused("Select a mesh that has an Armature modifier, or its armature")
    armature = bpy.data.objects.new("Empty", bpy.data.armatures.new("Empty"))
    bpy.context.scene.collection.objects.link(armature)
    select(armature)
    refused("'Empty' has no bones")
    armature = add_walker()
    select(armature)
    refused("'Walker' plays no action: choose one, or animate it")
    add_walk(armature)
    clear(armature)
    refused("There is no action 'Gone': the actions of 'Walker' are 'Walk'", first="Gone", second="Gone")


def test_bones_at_no_number_and_too_far_away():
    armature = add_walker()
    add_walk(armature)
    select(armature)
    bone = next(bone for bone in armature.pose.bones if bone.name.startswith("thigh"))
    for value in (np.nan, 3e38):  # which in millimeters is too large
        bone.scale = (value, value, value)
        for operator in OPERATORS:
            with pytest.raises(RuntimeError, match="The frames of 'Walk' cannot be compared: check that the locations"):
                operator()
    assert [action.name for action in bpy.data.actions] == ["Walk"]


def test_actions_that_are_too_short_and_frames_that_are_not_there():
    armature = add_walker()
    armature.animation_data_create()
    for name, count in (("One", 1), ("Short", 4), ("Walk", 61)):
        clear(armature)
        add_walk(armature, name, range(5, 5 + count))
    select(armature)
    refused("Action 'One' has fewer than two frames", first="One", second="One")
    before = describe_file()
    with pytest.raises(RuntimeError, match="too short for a loop: it has 4 frames, and a loop needs more than 7"):
        bpy.ops.supple.motion_loop(first="Short")
    assert describe_file() == before
    assert bpy.ops.supple.motion_compare(first="Short") == {"FINISHED"}
    for operator in OPERATORS[1:]:
        with pytest.raises(RuntimeError, match="Frame 99 is not in action 'Walk': choose one from 5 to 65"):
            operator(from_frame=99, to_frame=6)
    with pytest.raises(RuntimeError, match="A loop from frame 20 to 10 is too short"):
        bpy.ops.supple.motion_loop(from_frame=10, to_frame=20)
    before = describe_file()
    for blend in (1000.0, 1e30, inf):  # 12,000 frames to each side took 4.7 GB
        with pytest.raises(SkinningError, match="is too long: choose 167 s or less"):
            take_all(compare_actions(armature, "Walk", "Walk", blend, 24.0))
    assert describe_file() == before
    list_curves(armature)[0].keyframe_points.insert(100_000, 0.0)
    before = describe_file()
    for operator in OPERATORS:
        with pytest.raises(
            RuntimeError, match="Action 'Walk' has 99,996 frames, but at most 20,000 can be read: shorten it"
        ):
            operator()
    assert describe_file() == before


def test_an_action_of_another_rig():
    _, armature = add_tube()
    walker = add_walker()
    add_walk(walker)
    select(armature)
    refused("Action 'Walk' does not move any bone of 'Rig'", first="Walk", second="Walk")
    action = bpy.data.actions.new("Key")
    cube = bpy.data.objects.new("Cube", None)
    cube.animation_data_create().action = action
    cube.keyframe_insert("hide_viewport", frame=1)
    cube.keyframe_insert("hide_viewport", frame=20)
    select(walker)
    refused("Action 'Key' does not move any bone of 'Walker'", first="Key", second="Key")


@pytest.mark.versions
def test_at_rest_in_edit_mode_and_tweaked():
    armature = add_walker()
    add_walk(armature)
    select(armature)
    armature.data.pose_position = "REST"
    refused("'Walker' is shown at rest")
    armature.data.pose_position = "POSE"
    bpy.ops.object.mode_set(mode="EDIT")
    refused("'Walker' is in Edit Mode")
    bpy.ops.object.mode_set(mode="OBJECT")
    bpy.ops.supple.motion_loop()
    armature.animation_data.nla_tracks[0].is_solo = False
    armature.animation_data.use_tweak_mode = True
    if armature.animation_data.use_tweak_mode:
        with pytest.raises(SkinningError, match="is being tweaked"):
            read_body(armature)


@pytest.mark.versions
def test_what_is_linked(tmp_path):
    """A linked action is read and left as it is; a linked armature can not play another."""
    armature = add_walker()
    add_walk(armature)
    path = str(save(tmp_path / "library.blend", copy=True))
    clear(armature)
    bpy.data.actions.remove(bpy.data.actions["Walk"])
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.actions = ["Walk"]
    before = list_keys(wanted.actions[0])
    select(armature)
    assert bpy.ops.supple.motion_loop(first="Walk") == {"FINISHED"}
    assert list_keys(wanted.actions[0]) == before
    assert bpy.data.actions["Walk Loop"].library is None
    reset()
    with bpy.data.libraries.load(path, link=True) as (_, wanted):
        wanted.objects = ["Walker"]
    bpy.context.scene.collection.objects.link(wanted.objects[0])
    update()
    select(wanted.objects[0])
    refused("'Walker' is linked from another file")


def test_what_is_taken_back_when_it_is_canceled():
    armature = add_walker()
    add_walk(armature)
    before = describe_file()
    for count in range(6):
        steps = join_actions(armature, "Walk", "Walk", 24.0, MotionOptions(), (40, 10))
        result = None
        for _ in range(count):
            step = steps.send(result)
            result = step(lambda share: None) if callable(step) else None
        steps.close()
        assert describe_file() == before, count


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
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert "A + B" in bpy.data.actions
    loop = ("--pair", "1:31", "--no-hold", "--blend", "0.2")
    assert main("motion", "loop", walker_file, *loop, "--output", output) == DONE
    bpy.ops.wm.open_mainfile(filepath=str(output))
    assert bpy.data.objects["Walker"].animation_data.nla_tracks[-1].strips[0].name == "B Loop"


REFUSED = {
    "use --action twice": ("join", "--action", "A", "--output", "x.blend"),
    "use --output": ("loop", "--action", "A"),
    "2 actions are too many": ("loop", "--action", "A", "--action", "B", "--output", "x.blend"),
    "leave out --output": ("compare", "--output", "x.blend"),
    "There is no armature 'Gone': choose one of 'Walker'": ("compare", "--armature", "Gone"),
    "There is no action 'Gone'": ("compare", "--action", "Gone"),
    "Frame 99 is not in action 'B'": ("loop", "--pair", "1:99", "--output", "x.blend"),
}


def test_commands_that_are_refused(walker_file, tmp_path, capfd, monkeypatch, subtests):
    monkeypatch.chdir(tmp_path)
    for message, words in REFUSED.items():
        with subtests.test(message):
            assert main("motion", words[0], walker_file, *words[1:]) == FAILED
            assert message in capfd.readouterr().err
            assert not (tmp_path / "x.blend").exists()
    for option in (("--pair", "1-2"), ("--blend", "x"), ("--blend", "99")):
        with subtests.test(" ".join(option)):
            assert main("motion", "loop", walker_file, *option, "--output", "x.blend") == USAGE
