"""A character checked: its poses, what is found, the command line, and that nothing of the file is changed."""

import json
import tracemalloc
from dataclasses import replace
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, FAILED, main, own_output
from scenes_layers import spoil
from scenes_state import refuse

import scenes
from panels import draw
from supple.bridge.animation.curves import list_curves
from supple.bridge.images import pictures
from supple.bridge.rigs.actions import list_actions
from supple.options import CheckOptions
from supple.settings.objects import settings_of
from supple.tasks.check import mends
from supple.tasks.check.faults import COLLAPSE, FAR, OVERLAP, STIFF, UNBLENDED, UNWEIGHTED, Finding
from supple.tasks.check.findings import describe_check, find_faults
from supple.tasks.check.fix import explain, fix_faults
from supple.tasks.check.poses import label_poses, read_action_poses
from supple.tasks.check.run import check_character
from supple.tasks.check.sheet import draw_sheet
from supple.tasks.check.show import show_finding
from supple.tasks.check.view import find_view
from supple.tasks.skin.bind import bind_each
from supple.tasks.skin.poses import find_skeleton
from supple.tasks.steps import take_all
from supple.tasks.weights.checks import find_stiff
from supple.tasks.weights.parts import read_skins
from supple.ui.checks import count_faults
from supple.viewport.framing import find_free_part


@pytest.fixture
def tube():
    """A tube of two bones, animated: smooth weights, which linear blending wrings in a range of motion."""
    obj, armature = scenes.add_tube(rings=24, sides=12)
    scenes.animate_tube(armature)
    return obj


def check(obj, **options):
    checked = take_all(check_character([obj], CheckOptions(**options)))
    return checked, find_faults(checked, [obj])


def fix(obj, *chosen, **options):
    """Fix faults of a mesh, or all of them."""
    faults, keys = check(obj, **options)[1], {fault.key for fault in chosen}
    return take_all(fix_faults(faults, [obj], CheckOptions(**options), lambda fault: not keys or fault.key in keys))


def test_poses_are_of_the_action_and_of_a_range_of_motion(tube):
    action = tube.find_armature().animation_data.action
    checked, _ = check(tube)
    frames = [pose.frame for pose in checked.poses if pose.action == action.name]
    first, last = (round(end) for end in action.frame_range)
    assert frames == sorted(set(frames))
    assert first <= min(frames) <= max(frames) <= last
    bends = [bend for pose in checked.poses for bend in pose.bends]
    roots = np.flatnonzero(checked.skeleton.joints.parents < 0)
    bent = set(range(len(checked.skeleton.joints.parents))) - set(roots.tolist())
    assert sorted(bend.joint for bend in bends) == sorted([*bent] * 6)


@pytest.mark.parametrize("remapped", [100, 40])
def test_frames_of_the_scene_are_those_that_are_played(tube, remapped):
    bpy.context.scene.render.frame_map_new = remapped
    checked, _ = check(tube, frames=range(1, 8, 3), angle=0.0)
    assert [pose.frame for pose in checked.poses] == [1, 4, 7]
    armature = tube.find_armature()
    bpy.context.scene.frame_set(4)
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    bone = evaluated.pose.bones[checked.skeleton.names[1]]
    expected = np.array(bone.matrix) @ checked.skeleton.rest_inverses[1]
    assert checked.poses[1].rest_to_pose[1] == pytest.approx(expected, abs=1e-5)
    of_action = check(tube, angle=0.0)[0].poses[-1]
    for pose in (checked.poses[2], of_action):
        show_finding(armature, bpy.context.scene, Finding(FAR, tube.name, "bone.1", "", 1.0, 1.0, pose=pose))
        shown = armature.evaluated_get(bpy.context.evaluated_depsgraph_get()).pose.bones[checked.skeleton.names[1]]
        expected = np.array(shown.matrix) @ checked.skeleton.rest_inverses[1]
        assert pose.rest_to_pose[1] == pytest.approx(expected, abs=1e-5)


def test_of_a_long_action_the_angles_are_kept_alone():
    """The matrices of 300 frames and 60 bones take 2.3 MB."""
    _, armature = scenes.add_tube(bones=60, rings=62, sides=4)
    scenes.animate_tube(armature)
    list_curves(armature)[0].keyframe_points.insert(300, 0.0)
    skeleton = find_skeleton(armature)
    tracemalloc.start()
    try:
        poses = take_all(read_action_poses(armature, skeleton))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(poses) > 2
    assert peak < 1_200_000
    frames = [pose.frame for pose in poses]
    again = label_poses(armature, skeleton, list_actions(armature)[0], range(1, 301))
    for frame, pose in zip(frames, poses, strict=True):
        np.testing.assert_array_equal(pose.rest_to_pose, again[frame - 1].rest_to_pose)


def test_more_frames_than_are_read_are_refused(tube):
    list_curves(tube.find_armature())[0].keyframe_points.insert(99_990, 0.0)
    refuse("'RigAction' has 99,990 frames, but at most 20,000 can be read: shorten it", bpy.ops.supple.check)
    refuse(
        "20,001 frames are too many to check: choose 20,000 or fewer",
        lambda: take_all(check_character([tube], CheckOptions(frames=range(20_001)))),
    )


@pytest.mark.versions
def test_other_actions_of_the_armature_are_checked_and_those_of_others_are_not(tube):
    armature = tube.find_armature()
    playing = armature.animation_data.action
    armature.animation_data.action = playing.copy()
    other = bpy.data.objects.new("Other", None)
    bpy.context.collection.objects.link(other)
    other.keyframe_insert("location", frame=1)
    found = list_actions(armature)
    assert found[0] == armature.animation_data.action
    assert set(found) == {playing, armature.animation_data.action}


@pytest.mark.versions
def test_an_action_that_is_in_the_file_alone_is_checked(tube):
    armature = tube.find_armature()
    action = armature.animation_data.action
    action.use_fake_user = True
    armature.animation_data_clear()
    bpy.context.view_layer.update()
    pose = [bone.matrix_basis.copy() for bone in armature.pose.bones]
    checked, _ = check(tube)
    assert action.name in {pose.action for pose in checked.poses}
    assert armature.animation_data is None
    assert [bone.matrix_basis for bone in armature.pose.bones] == pose


def test_nothing_of_the_file_is_changed(tube):
    bind_each([tube], "CENTERS", "PYTHON")
    scene, armature = bpy.context.scene, tube.find_armature()
    scene.frame_set(3)
    armature.pose.bones[1].rotation_quaternion = (0.9, 0.1, 0.2, 0.3)
    before = {name: len(getattr(bpy.data, name)) for name in ("scenes", "objects", "meshes", "actions", "armatures")}
    basis = [bone.matrix_basis.copy() for bone in armature.pose.bones]
    action = armature.animation_data.action
    check(tube)
    assert {name: len(getattr(bpy.data, name)) for name in before} == before
    assert [bone.matrix_basis for bone in armature.pose.bones] == basis
    assert (armature.animation_data.action, scene.frame_current) == (action, 3)


def test_linear_blending_collapses_where_dual_quaternions_do_not(tube):
    checked, faults = check(tube, angle=np.radians(150.0))
    linear, dual = (checked.meshes[0].extremes[method].values[COLLAPSE] for method in ("SSD", "DLB"))
    assert np.nanmin(linear) < 0.2 < 0.6 < np.nanmin(dual)
    collapsed = [fault for fault in faults if fault.kind == COLLAPSE]
    assert collapsed
    assert collapsed[0].method == "SSD"
    assert collapsed[0].others["DLB"] > collapsed[0].value
    assert collapsed[0].pose.bends[0].direction.startswith("twist")
    json.dumps(describe_check(checked, faults), allow_nan=False)


def test_the_method_in_use_is_judged(tube):
    bind_each([tube], "DLB", "PYTHON")
    checked, faults = check(tube, angle=np.radians(150.0))
    assert checked.meshes[0].method == "DLB"
    assert not [fault for fault in faults if fault.kind == COLLAPSE]


def kinds_found(tube) -> set[str]:
    return {fault.kind for fault in check(tube)[1]}


@pytest.mark.parametrize("kind", [UNWEIGHTED, FAR, UNBLENDED])
def test_mistakes_in_weights_are_found_and_mended(tube, kind):
    assert kind not in kinds_found(tube)
    chosen = spoil(tube, kind)
    found = [fault for fault in check(tube)[1] if fault.kind == kind]
    assert found
    assert chosen <= set(found[0].vertices)
    fixed = fix(tube, *found)
    assert fixed.messages
    assert kind not in {fault.kind for fault in fixed.faults}
    assert kind not in kinds_found(tube)


def measure_box(obj, box: np.ndarray) -> np.ndarray:
    """Distances between its vertices as they are posed, shape (8, 8)."""
    points = scenes.evaluated_points(obj)[box]
    return np.linalg.norm(points[:, None] - points, axis=2)


def test_a_stiff_part_that_bends_is_found_and_then_moves_as_one_piece():
    tube, armature = scenes.add_tube(rings=24, sides=12)
    box = scenes.join_box(tube, 0.3, (0.7, 1.0, 0.0))
    rest = measure_box(tube, box)
    for index, share in zip(box.tolist(), np.linspace(0.2, 0.9, 8), strict=True):
        for bone, weight in ((0, 1.0 - share), (1, share)):
            tube.vertex_groups[bone].add([index], weight, "REPLACE")
    bind_each([tube], "DLB", "PYTHON")
    settings = find_far(tube, "stiff part bends at 8 vertices")
    scenes.turn(armature, armature.pose.bones[1].name, (1.0, 0.3, 0.5))
    assert np.abs(measure_box(tube, box) - rest).max() > 0.01
    assert press("check_fix") == {"FINISHED"}
    assert settings.findings[settings.active].is_mended
    assert np.abs(measure_box(tube, box) - rest).max() < 1e-5
    assert STIFF not in kinds_found(tube)


def test_a_stiff_part_with_a_locked_group_goes_on_bending(tube):
    box = scenes.join_box(tube, 0.3, (0.7, 1.0, 0.0))
    tube.vertex_groups[0].add(box[:4].tolist(), 1.0, "REPLACE")
    tube.vertex_groups[1].add(box[4:].tolist(), 1.0, "REPLACE")
    tube.vertex_groups[0].lock_weight = True
    (fault,) = [fault for fault in check(tube)[1] if fault.kind == STIFF]
    assert fault.severity == pytest.approx(10.0)
    fix(tube, fault)
    assert [tube.vertex_groups[0].weight(index) for index in box[:4].tolist()] == [1.0] * 4
    assert STIFF in kinds_found(tube)


@pytest.mark.characters("fox", "human_male", "mh_human")
def test_nothing_of_a_real_character_is_stiff(asset, character):
    scenes.open_file(asset(character))
    (skin,), _ = read_skins(scenes.skinned_meshes())
    assert [vertices for part in skin.parts for vertices in find_stiff(part, skin.skeleton)] == []


def test_what_no_tool_mends_says_so(tube):
    spoil(tube, UNBLENDED)
    fault = next(fault for fault in check(tube)[1] if fault.kind == UNBLENDED)
    assert "paint its weights" in explain(replace(fault, kind="MISPLACED"))


def press(operator: str) -> set[str]:
    return getattr(bpy.ops.supple, operator)()


def run_check(tube, degrees: float = 150.0):
    """Check by the button; what the window holds of it."""
    scenes.select(tube.find_armature())
    settings = bpy.context.window_manager.supple_check
    settings.angle, settings.use_actions = np.radians(degrees), False
    assert press("check") == {"FINISHED"}
    return settings


def find_far(tube, text: str = "1 vertex far away"):
    """Check by the button, with a fault in the weights active."""
    settings = run_check(tube, 60.0)
    settings.active = [line.text for line in settings.findings].index(text)
    return settings


def test_the_button_lists_faults_and_shows_one_in_its_pose(tube):
    settings = run_check(tube)
    kinds = [line.key.split("\t")[1] for line in settings.findings]
    assert "COLLAPSE" in kinds
    settings.active = kinds.index("COLLAPSE")
    line = settings.findings[settings.active]
    assert "supple.check_fix" not in draw("VIEW3D_PT_supple")
    settings.is_open = True
    assert set(line.details.splitlines()) <= set(draw("VIEW3D_PT_supple"))
    assert press("check_show") == {"FINISHED"}
    assert settings.heat == "STRETCH"
    angles = [bone.matrix_basis.to_quaternion().angle for bone in tube.find_armature().pose.bones]
    assert np.degrees(max(angles)) == pytest.approx(150.0, abs=0.1)


def test_shown_frames_are_those_of_the_action(tube):
    scenes.select(tube.find_armature())
    settings = bpy.context.window_manager.supple_check
    settings.use_actions, settings.use_bends = True, False
    spoil(tube, FAR)
    assert press("check") == {"FINISHED"}
    settings.use_bends = True
    settings.active = [line.text for line in settings.findings].index("1 vertex far away")
    assert press("check_show") == {"FINISHED"}
    assert sum(vertex.select for vertex in tube.data.vertices) == 1
    data = tube.find_armature().animation_data
    checked, data.action = data.action, None
    settings.active = ["COLLAPSE" in line.key for line in settings.findings].index(True)
    assert press("check_show") == {"FINISHED"}
    assert (data.action, bpy.context.scene.frame_current) == (checked, 8)


def test_undo_of_a_fix_brings_its_fault_back_into_the_list(tube):
    spoil(tube, FAR)
    settings = find_far(tube)
    scenes.push("Before")
    assert press("check_fix") == {"FINISHED"}
    scenes.push("Fix")
    assert settings.findings[settings.active].is_mended
    scenes.undo()
    assert not settings.findings[settings.active].is_mended
    assert settings.findings[settings.active].text == "1 vertex far away"
    scenes.redo()
    assert settings.findings[settings.active].is_mended


def test_a_mesh_that_was_renamed_keeps_no_other_from_its_fix(tube):
    spoil(tube, FAR)
    settings = find_far(tube)
    tube.name = "Other"
    assert press("check_fix_all") == {"FINISHED"}
    assert not any(line.is_mended for line in settings.findings)


def test_dismissed_faults_stay_away_and_come_back(tube):
    settings = run_check(tube)
    key = settings.findings[0].key
    assert press("check_dismiss") == {"FINISHED"}
    assert settings_of(tube.find_armature()).dismissed == key
    run_check(tube)
    assert settings_of(tube.find_armature()).dismissed == key
    assert press("check_dismiss") == {"FINISHED"}
    assert settings_of(tube.find_armature()).dismissed == ""


def test_a_line_that_fix_does_not_mend_stays(tube, monkeypatch):
    spoil(tube, FAR)
    settings = find_far(tube)
    spoil(tube, FAR, start=31)
    monkeypatch.setitem(mends.MENDS, FAR, (mends.WEIGHTS, lambda _trial, _finding: only_says("Nothing was done.")))
    assert press("check_fix") == {"FINISHED"}
    line = settings.findings[settings.active]
    assert not line.is_mended
    monkeypatch.undo()
    settings = find_far(tube, "2 vertices far away")
    assert press("check_fix") == {"FINISHED"}
    assert settings.findings[settings.active].is_mended


def only_says(message):
    yield 1.0
    return [message]


def test_a_report_of_another_character_or_file_is_not_used(tube):
    settings = run_check(tube)
    assert settings.findings
    settings.heat = "STRETCH"
    name = tube.find_armature().name
    _, armature = scenes.add_tube(rings=6, sides=6)
    scenes.select(armature)
    assert not bpy.ops.supple.check_show.poll()
    settings.is_open = True
    assert "supple.check_fix" not in draw("VIEW3D_PT_supple")
    scenes.reset()
    _, armature = scenes.add_tube(rings=6, sides=6)
    assert armature.name == name
    scenes.select(armature)
    settings = bpy.context.window_manager.supple_check
    assert (len(settings.findings), settings.heat) == (0, "NONE")
    assert not bpy.ops.supple.check_show.poll()


def test_a_mesh_that_cannot_be_checked_is_named(tube):
    box = bpy.data.objects.new("Box", bpy.data.meshes.new("Box"))
    checked = take_all(check_character([tube, box], CheckOptions(use_actions=False)))
    assert [mesh.name for mesh in checked.meshes] == [tube.name]
    assert "parent it to an armature" in checked.refused["Box"]
    refuse("Nothing to check", take_all, check_character([box], CheckOptions()))
    other, _ = scenes.add_tube(rings=6, sides=6)
    refuse("2 armatures", take_all, check_character([tube, other], CheckOptions()))


@pytest.mark.versions
def test_a_sheet_is_a_picture_and_leaves_nothing(tube, tmp_path, monkeypatch):
    monkeypatch.setattr(pictures, "SAMPLES", 1)
    checked, _ = check(tube, angle=np.radians(100.0), methods=("SSD", "DLB"))
    kinds = ("scenes", "objects", "meshes", "curves", "materials", "cameras", "lights", "worlds", "images")
    before = {name: len(getattr(bpy.data, name)) for name in kinds}
    draw_sheet(checked, tmp_path / "sheet.png")
    assert {name: len(getattr(bpy.data, name)) for name in kinds} == before
    image = bpy.data.images.load(str(tmp_path / "sheet.png"))
    pixels = np.array(image.pixels[:]).reshape(image.size[1], image.size[0], 4)[..., :3]
    assert image.size[0] > 500
    assert (np.ptp(pixels, axis=2) > 0.2).mean() > 0.005  # stretched skin is colored


def test_compare_writes_json_and_lists_faults(tube, tmp_path, capsys):
    path, written = scenes.save(tmp_path / "tube.blend"), tmp_path / "out.json"
    assert main("check", path, "--bend", "150", "--json", written, "--methods", "DLB") == DONE
    out = own_output(capsys.readouterr().out)
    assert "collapses to" in out[0]
    found = json.loads(written.read_text(encoding="utf-8"))
    assert found["meshes"][0]["methods"] == ["SSD", "DLB"]
    assert found["faults"][0]["kind"] == "collapse"
    joints = found["meshes"][0]["joints"]
    assert {"collapse", "bulge", "tear", "overlap"} >= set(joints[1]["methods"]["DLB"])
    assert main("compare", path, "--frames", "1-7:3", "--json", written) == DONE
    assert json.loads(written.read_text(encoding="utf-8"))["poses"] == 3
    assert main("check", path, "--object", "Nobody") == FAILED
    assert "There is no object 'Nobody'" in capsys.readouterr().err


def test_fix_all_mends_what_a_tool_can_and_lists_what_a_fresh_check_finds(tube, capsys):
    """Linear blending wrings the tube: no tool mends that, but another method, which is the user's to choose."""
    spoil(tube, FAR)
    spoil(tube, UNWEIGHTED)
    bind_each([tube], "SSD")
    settings = run_check(tube)
    kinds = [line.key.split("\t")[1] for line in settings.findings]
    assert {FAR, UNWEIGHTED, COLLAPSE} <= set(kinds)
    settings.active = kinds.index(UNWEIGHTED)
    press("check_dismiss")
    capsys.readouterr()
    assert press("check_fix_all") == {"FINISHED"}
    said = capsys.readouterr().out
    fixed = [line.key.split("\t")[1] for line in settings.findings if line.is_mended]
    left = [line for line in settings.findings if not line.is_mended]
    assert fixed == [FAR]
    assert {line.key for line in left} == {
        fault.key for fault in check(tube, angle=np.radians(150.0), use_actions=False)[1]
    }
    needing = [line for line in left if UNWEIGHTED not in line.key]
    assert f"1 fixed, {len(needing)} need" in said
    assert all(line.text in said for line in needing)
    assert settings_of(tube).method == "SSD"
    assert not settings_of(tube).corrections
    assert count_faults(bpy.context) == ("1 Fault" if len(needing) == 1 else f"{len(needing)} Faults")


def test_heat_goes_when_a_fault_is_dismissed_and_when_the_list_is_folded_or_closed(tube):
    settings = run_check(tube)
    press("check_show")
    assert settings.heat != "NONE"
    press("check_dismiss")
    assert settings.heat == "NONE"
    settings.is_open = True
    press("check_show")
    settings.is_open = False
    assert (settings.heat, len(settings.findings) > 0) == ("NONE", True)
    press("check_show")
    assert press("check_close") == {"FINISHED"}
    assert (settings.heat, settings.armature, len(settings.findings)) == ("NONE", "", 0)
    assert "supple.check" in draw("VIEW3D_PT_supple")
    settings = run_check(tube)
    settings.findings.clear()
    settings.heat = "DIFFERENCE"  # other heat stays
    assert press("check_close") == {"FINISHED"}
    assert (settings.heat, settings.armature) == ("DIFFERENCE", "")
    settings.heat = "NONE"


@pytest.mark.versions
def test_heat_is_off_in_a_file_that_was_saved_with_it(tube, tmp_path):
    run_check(tube)
    press("check_show")
    scenes.save(tmp_path / "hot.blend")
    scenes.open_file(tmp_path / "hot.blend")
    assert bpy.context.window_manager.supple_check.heat == "NONE"


def test_a_fault_is_looked_at_from_its_side(tube):
    """Vertices on one side of the tube are seen from there, and their middle is the middle of the view."""
    points = np.array([vertex.co for vertex in tube.data.vertices])
    tube.find_armature().data.pose_position = "REST"
    for sign in (1.0, -1.0):
        chosen = np.flatnonzero(points[:, 0] * sign > 0.9 * points[:, 0].max())
        finding = Finding(FAR, tube.name, "bone.1", "", 1.0, 1.0, vertices=tuple(chosen.tolist()))
        view = find_view(tube.find_armature(), tube, finding, np.array([0.0, 0.0, 1.0]))
        assert view.eye[0] * sign > 0.7
        assert np.linalg.norm(view.eye) == pytest.approx(1.0)
        assert view.center == pytest.approx(np.median(points[chosen], axis=0), abs=1e-4)


def test_a_bend_is_looked_at_in_profile(tube):
    armature = tube.find_armature()
    poses = check(tube, angle=np.radians(100.0), use_actions=False)[0].poses
    pose = next(pose for pose in poses if not pose.bends[0].is_twist)
    fault = Finding(OVERLAP, tube.name, pose.bent_bones[0], "SSD", 2.0, 0.3, pose=pose)
    show_finding(armature, bpy.context.scene, fault)
    view = find_view(armature, tube, fault, np.array([0.0, 0.0, 1.0]))
    bone = armature.pose.bones[fault.bone]
    along = np.array(bone.vector.normalized()), np.array(bone.parent.vector.normalized())
    normal = np.cross(*along)
    assert abs(view.eye @ normal / np.linalg.norm(normal)) > 0.8
    assert view.center == pytest.approx(np.array(bone.head), abs=1e-4)


def test_what_lies_over_a_view_leaves_a_free_part():
    def region(kind, alignment, x, y, width, height):
        return SimpleNamespace(type=kind, alignment=alignment, x=x, y=y, width=width, height=height)

    regions = [
        region("WINDOW", "NONE", 100, 50, 1000, 600),
        region("UI", "RIGHT", 850, 50, 250, 550),
        region("TOOLS", "LEFT", 100, 50, 60, 550),
        region("HEADER", "TOP", 100, 620, 1000, 30),
        region("ASSET_SHELF", "BOTTOM", 100, 50, 1, 1),
        region("HUD", "FLOAT", 150, 60, 200, 100),
    ]
    assert find_free_part(SimpleNamespace(regions=regions)) == (60, 0, 750, 570)
