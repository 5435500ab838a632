"""A character checked: its poses, what is found, the command line, and that nothing of the file is changed."""

import json
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, FAILED, main, own_output

from scenes import add_tube, animate_tube
from supple.deformers import SkinningError
from supple.tasks.check.findings import COLLAPSE, STRAY, UNBLENDED, UNWEIGHTED, describe_check, find_faults
from supple.tasks.check.poses import list_actions
from supple.tasks.check.run import Options, prepare
from supple.tasks.check.sheet import draw_sheet
from supple.tasks.skin.bind import bind


@pytest.fixture
def tube():
    """A tube of two bones, animated: smooth weights, which linear blending wrings in a range of motion."""
    obj, armature = add_tube(rings=24, sides=12)
    animate_tube(armature)
    return obj


def check(obj, **options):
    checked = prepare([obj], Options(**options))
    measured = checked.run()
    return checked, measured, find_faults(checked, measured, [obj])


def test_poses_are_of_the_action_and_of_a_range_of_motion(tube):
    action = tube.find_armature().animation_data.action
    checked, _, _ = check(tube)
    frames = [pose.frame for pose in checked.poses if pose.action == action.name]
    first, last = (round(end) for end in action.frame_range)
    assert frames == sorted(set(frames))
    assert first <= min(frames) <= max(frames) <= last
    bends = [bend for pose in checked.poses for bend in pose.bends]
    roots = np.flatnonzero(checked.skeleton.joints.parents < 0)
    bent = set(range(len(checked.skeleton.joints.parents))) - set(roots.tolist())
    assert sorted(bend.joint for bend in bends) == sorted([*bent] * 6)


def test_frames_of_the_scene_are_those_that_are_played(tube):
    checked, _, _ = check(tube, frames=range(1, 8, 3), angle=0.0)
    assert [pose.frame for pose in checked.poses] == [1, 4, 7]
    armature = tube.find_armature()
    bpy.context.scene.frame_set(4)
    evaluated = armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    bone = evaluated.pose.bones[checked.skeleton.names[1]]
    expected = np.array(bone.matrix) @ checked.skeleton.rest_inverses[1]
    assert checked.poses[1].rest_to_pose[1] == pytest.approx(expected, abs=1e-5)


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


def test_nothing_of_the_file_is_changed(tube):
    bind([tube], "CENTERS")
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
    _, measured, faults = check(tube, angle=np.radians(150.0))
    linear, dual = (measured[0].extremes[method].values[COLLAPSE] for method in ("SSD", "DLB"))
    assert np.nanmin(linear) < 0.2 < 0.6 < np.nanmin(dual)
    collapsed = [fault for fault in faults if fault.kind == COLLAPSE]
    assert collapsed
    assert collapsed[0].method == "SSD"
    assert collapsed[0].others["DLB"] > collapsed[0].value
    assert collapsed[0].pose.bends[0].direction.startswith("twist")


def test_the_method_in_use_is_judged(tube):
    bind([tube], "DLB")
    _, measured, faults = check(tube, angle=np.radians(150.0))
    assert measured[0].method == "DLB"
    assert not [fault for fault in faults if fault.kind == COLLAPSE]


@pytest.mark.parametrize("kind", [UNWEIGHTED, STRAY, UNBLENDED])
def test_mistakes_in_weights(tube, kind):
    points = np.array([vertex.co for vertex in tube.data.vertices])
    first, last = tube.vertex_groups[0], tube.vertex_groups[-1]
    along = int(np.ptp(points, axis=0).argmax())
    order = np.argsort(points[:, along])
    if kind == UNWEIGHTED:
        chosen = order[:3].tolist()
        for group in tube.vertex_groups:
            group.remove(chosen)
    elif kind == STRAY:
        chosen = [int(order[30])]
        first.remove(chosen)
        last.add(chosen, 1.0, "REPLACE")
    else:
        for vertex in tube.data.vertices:
            most = max(vertex.groups, key=lambda entry: entry.weight).group
            for group in tube.vertex_groups:
                group.add([vertex.index], float(group.index == most), "REPLACE")
    _, _, faults = check(tube)
    found = [fault for fault in faults if fault.kind == kind]
    assert found
    if kind != UNBLENDED:
        assert set(chosen) <= set(found[0].vertices)


def test_a_mesh_that_cannot_be_checked_is_named(tube):
    box = bpy.data.objects.new("Box", bpy.data.meshes.new("Box"))
    checked = prepare([tube, box], Options(use_actions=False))
    assert [mesh.name for mesh in checked.meshes] == [tube.name]
    assert "parent it to an armature" in checked.refused["Box"]
    with pytest.raises(SkinningError, match="Nothing to check"):
        prepare([box], Options())


def test_two_characters_are_refused(tube):
    other, _ = add_tube(rings=6, sides=6)
    with pytest.raises(SkinningError, match="2 armatures"):
        prepare([tube, other], Options())


def test_a_sheet_is_a_picture_and_leaves_nothing(tube, tmp_path):
    checked, measured, _ = check(tube, angle=np.radians(100.0), methods=("SSD", "DLB"))
    kinds = ("scenes", "objects", "meshes", "curves", "materials", "cameras", "lights", "worlds", "images")
    before = {name: len(getattr(bpy.data, name)) for name in kinds}
    draw_sheet(checked, measured, tmp_path / "sheet.png")
    assert {name: len(getattr(bpy.data, name)) for name in kinds} == before
    image = bpy.data.images.load(str(tmp_path / "sheet.png"))
    pixels = np.array(image.pixels[:]).reshape(image.size[1], image.size[0], 4)[..., :3]
    assert image.size[0] > 500
    assert (np.ptp(pixels, axis=2) > 0.2).mean() > 0.005  # stretched skin is colored


def test_compare_writes_json_and_lists_faults(tube, tmp_path, capsys):
    path = tmp_path / "tube.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert main("compare", path, "--bend", "150", "--json", tmp_path / "out.json", "--methods", "DLB") == DONE
    out = own_output(capsys.readouterr().out)
    assert "collapses to" in out[0]
    written = json.loads(Path(tmp_path, "out.json").read_text(encoding="utf-8"))
    assert written["meshes"][0]["methods"] == ["SSD", "DLB"]
    assert written["faults"][0]["kind"] == "collapse"
    joints = written["meshes"][0]["joints"]
    assert {"collapse", "bulge", "tear", "overlap"} >= set(joints[1]["methods"]["DLB"])


def test_compare_takes_frames(tube, tmp_path, capsys):
    path = tmp_path / "tube.blend"
    bpy.ops.wm.save_as_mainfile(filepath=str(path))
    assert main("compare", path, "--frames", "1-7:3", "--json", tmp_path / "out.json") == DONE
    assert json.loads(Path(tmp_path, "out.json").read_text(encoding="utf-8"))["poses"] == 3
    assert main("compare", path, "--object", "Nobody") == FAILED
    assert "There is no object 'Nobody'" in capsys.readouterr().err


def test_a_check_in_plain_data_is_json(tube):
    checked, measured, faults = check(tube, angle=np.radians(150.0))
    json.dumps(describe_check(checked, measured, faults), allow_nan=False)
