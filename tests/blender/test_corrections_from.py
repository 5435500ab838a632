"""Corrections after another method, and after another mesh."""

from __future__ import annotations

import json
from pathlib import Path

import bpy
import numpy as np
import pytest
from scenes_cli import DONE, USAGE, assert_refused, main, own_output
from scenes_corrections import correct, key_value, sculpt, shown
from scenes_particles import add_body
from scenes_state import refuse

import scenes
from supple.bridge.rigs.armatures import read_pose
from supple.deformers.corrections.rotation_choice import pose_joint
from supple.settings.objects import settings_of
from supple.tasks.corrections import from_method
from supple.tasks.corrections.from_joints import choose_rotations, find_joints, read_frames
from supple.tasks.corrections.from_method import CorrectedFrom
from supple.tasks.corrections.from_source import correct_from
from supple.tasks.corrections.keep import keep
from supple.tasks.corrections.posed_copy import begin
from supple.tasks.skin.by_python import prepare
from supple.tasks.skin.poses import find_skeleton
from supple.tasks.steps import take_all
from supple.tasks.subject.character import find_skinned

JOINT = "bone.1"
ANGLES = (40.0, 80.0)


def make(*objects: bpy.types.Object, source: str = "PARTICLES", joints=(JOINT,), angles=ANGLES) -> CorrectedFrom:
    report = take_all(correct_from(objects, source, joints, angles))
    scenes.update()
    return report


def bend(armature: bpy.types.Object, degrees: float) -> None:
    scenes.turn(armature, JOINT, (np.radians(degrees), 0.0, 0.0))


def particles_of(obj: bpy.types.Object) -> np.ndarray:
    """What Particles make of the present pose."""
    skinned = find_skinned(obj)
    skin = prepare(skinned, "PARTICLES")
    armature = skinned.armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    return skin.pose(read_pose(armature, skin.skeleton)).astype(np.float64)


def miss(obj: bpy.types.Object) -> float:
    """Distance to Particles, rms."""
    return float(np.sqrt(np.square(shown(obj) - particles_of(obj)).sum(axis=1).mean()))


def measure(obj: bpy.types.Object, report: CorrectedFrom) -> tuple[float, float]:
    """Distances to Particles, without corrections and with them."""
    missed = []
    for is_muted in (True, False):
        for _, key in report.keys:
            obj.data.shape_keys.key_blocks[key].mute = is_muted
        scenes.update()
        missed.append(miss(obj))
    return missed[0], missed[1]


def list_corrections(obj: bpy.types.Object) -> list[str]:
    return [entry.name for entry in settings_of(obj).corrections]


def body(method: str = "DLBNT") -> tuple[bpy.types.Object, bpy.types.Object]:
    obj, armature = add_body()
    settings_of(obj).twist = "OFF"
    if method:
        scenes.bind(obj, method=method)
    return obj, armature


def test_the_skin_is_that_of_particles_where_a_joint_is_bent(subtests) -> None:
    for method in ("", "SSD", "DLBNT", "CENTERS"):
        with subtests.test(method):
            obj, armature = body(method)
            report = make(obj)
            assert report.keys == ((obj.name, "bone.1 Particles 40"), (obj.name, "bone.1 Particles 80"))
            assert report.bones == (JOINT,)
            assert {entry.method for entry in settings_of(obj).corrections} == {method or "SSD"}
            for degrees, share in ((40.0, 0.1), (80.0, 0.1), (60.0, 0.35)):
                bend(armature, degrees)
                without, missed = measure(obj, report)
                assert without > 1e-3
                assert missed < share * without
            bend(armature, 0.0)
            assert shown(obj) == pytest.approx(scenes.rest_points(obj), abs=1e-6)
            assert all(curve.driver.is_simple_expression for curve in obj.data.shape_keys.animation_data.drivers)


@pytest.mark.versions
def test_actions_are_what_corrections_are_fitted_to(scene: bpy.types.Scene) -> None:
    obj, armature = body()
    for frame, rotation in ((1, (0, 0, 0)), (10, (1.2, 0, 0)), (20, (0, 0, 1.3)), (30, (-0.8, 0.5, -0.8))):
        for bone in (JOINT, "bone.2"):
            scenes.turn(armature, bone, rotation)
            armature.pose.bones[bone].keyframe_insert("rotation_euler", frame=frame)
    scene.frame_set(1)
    report = make(obj)
    assert len(report.keys) > len(ANGLES), "more directions than one"
    assert 0.0 < report.after < 0.6 * report.before
    assert report.describe()[1].startswith("In the poses of the fit")
    missed = []
    for frame in range(1, 31, 2):
        scene.frame_set(frame)
        missed.append(measure(obj, report))
    without, missing = np.square(missed).sum(axis=0)
    assert missing < 0.6**2 * without
    assert armature.animation_data.action.name.startswith("Rig")


def test_made_again_they_are_replaced_and_those_of_a_user_stay(scene: bpy.types.Scene) -> None:
    obj, armature = body()
    make(obj, angles=(40.0, 80.0, 120.0))
    bend(armature, 60.0)
    correct(obj, np.array([0.0, 1.0, 0.0]), 0.8, np.array([0.0, 0.0, 0.3]), joints=[JOINT])
    own = [entry.name for entry in settings_of(obj).corrections if not entry.source]
    assert len(own) == 1
    make(obj, angles=(30.0, 80.0))
    assert sorted(list_corrections(obj)) == sorted([*own, "bone.1 Particles 30", "bone.1 Particles 80"])
    assert {key.name for key in obj.data.shape_keys.key_blocks} == {"Basis", *list_corrections(obj)}
    assert key_value(obj, own[0]) == pytest.approx(1.0, abs=1e-6)
    assert key_value(obj, "bone.1 Particles 80") == pytest.approx(0.0, abs=1e-6)
    bend(armature, 80.0)
    before = shown(obj)
    make(obj, angles=(30.0, 80.0))
    assert shown(obj) == pytest.approx(before, abs=1e-6)
    refuse(r"degrees apart.*that you have made: '", make, obj, angles=(60.5, 80.0))
    assert shown(obj) == pytest.approx(before, abs=1e-6)


def test_an_edited_one_is_the_users(scene: bpy.types.Scene) -> None:
    obj, armature = body()
    make(obj)
    entry = settings_of(obj).corrections[0]
    assert entry.source == "PARTICLES"
    pose = json.loads(entry.pose)[JOINT]
    assert pose[3:7] == pytest.approx([np.cos(np.radians(20.0)), np.sin(np.radians(20.0)), 0.0, 0.0])
    bend(armature, 40.0)
    (copy,), _ = begin([obj], bpy.context.view_layer, entry.name)
    sculpt(copy, np.array([0.0, 1.0, 0.0]), 0.8, np.array([0.0, 0.0, 0.3]))
    keep([copy], bpy.context.view_layer)
    assert [one.source for one in settings_of(obj).corrections] == ["", "PARTICLES"]


def test_a_canceled_one_changes_nothing(scene: bpy.types.Scene) -> None:
    obj, armature = body()
    scenes.animate_tube(armature)
    scene.frame_set(3)
    action = armature.animation_data.action
    steps = correct_from([obj], "PARTICLES", [JOINT], ANGLES)
    shares, result = [0.0], None
    while shares[-1] < 0.999:  # all but the last step, which stores
        step = steps.send(result)
        result = step(shares.append) if callable(step) else None
    steps.close()
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1.0)
    assert obj.data.shape_keys is None
    assert not settings_of(obj).corrections
    assert (scene.frame_current, armature.animation_data.action) == (3, action)
    assert len(bpy.data.scenes) == 1


def test_meshes_are_corrected_at_once_but_what_can_not_be_filled() -> None:
    obj, armature = body()
    twin, (cloth, _) = scenes.add_twin(obj), scenes.add_tube()
    cloth.modifiers["Armature"].object = armature
    cloth.name = "Cloth"
    scenes.bind(obj, twin, cloth)
    report = make(obj, twin, cloth)
    assert [name for name, _ in report.keys] == [obj.name, obj.name, twin.name, twin.name]
    (reason,) = report.left_out
    assert reason.startswith("'Cloth' was left out. ")
    refuse(reason.removeprefix("'Cloth' was left out. "), make, cloth)


def test_more_than_there_is_memory_for(monkeypatch) -> None:
    obj, _ = body()
    monkeypatch.setattr(from_method, "MOST_OFFSETS", 2 * len(obj.data.vertices))
    refuse("3 corrections of", make, obj, angles=(40.0, 80.0, 120.0))
    assert obj.data.shape_keys is None
    make(obj, angles=(40.0, 80.0))


def add_bone(armature: bpy.types.Object, name: str, head: tuple, tail: tuple, parent: str = "") -> None:
    """A bone that deforms nothing."""
    scenes.add_bones(armature, (name, parent, head, tail), use_deform=False)


def test_a_control_bone_names_the_joint_at_its_head(scene: bpy.types.Scene) -> None:
    obj, armature = body()
    add_bone(armature, "control", (0, 1, 0), (0, 1.5, 0), "bone.0")
    report = make(obj, joints=["control", JOINT])
    assert report.bones == (JOINT,)
    assert len(report.keys) == len(ANGLES)


def test_a_deforming_bone_under_a_control_bone_follows_that(scene: bpy.types.Scene) -> None:
    obj, armature = body()
    add_bone(armature, "control", (0, 1, 0), (0, 1.5, 0), "bone.0")

    def hang(bones) -> None:
        bones[JOINT].use_connect, bones[JOINT].parent = False, bones["control"]

    scenes.edit_bones(armature, hang)
    report = make(obj)
    assert report.bones == ("control",)
    scenes.turn(armature, "control", (np.radians(80.0), 0.0, 0.0))
    without, missed = measure(obj, report)
    assert missed < 0.1 * without


HUMAN = {
    "spine": ((0, 0, 1.0), (0, 0, 1.1), ""),
    "spine.001": ((0, 0, 1.1), (0, 0, 1.4), "spine"),
    "upper_arm": ((0.2, 0, 1.4), (0.45, 0, 1.4), "spine.001"),
    "forearm": ((0.45, 0, 1.4), (0.7, 0, 1.4), "upper_arm"),
    "thigh": ((0.1, 0, 0.95), (0.1, 0, 0.5), "spine"),
    "shin": ((0.1, 0, 0.5), (0.1, 0, 0.08), "thigh"),
    "foot": ((0.1, 0, 0.08), (0.1, -0.15, 0), "shin"),
}
"""A person in T pose who looks along -Y, as Rigify names it: heads, tails and parents of the left."""


def add_human() -> bpy.types.Object:
    armature = scenes.add_object("Human", bpy.data.armatures.new("Human"))

    def add(bones) -> None:
        for side, sign in (("L", 1.0), ("R", -1.0)):
            for part, (head, tail, parent) in HUMAN.items():
                name = part if part.startswith("spine") else f"{part}.{side}"
                if name not in bones:
                    bone = bones.new(name)
                    bone.head, bone.tail = ((sign * x, y, z) for x, y, z in (head, tail))
                    bone.roll = 0.7 * sign
                    bone.parent = bones.get(parent) or bones.get(f"{parent}.{side}")

    scenes.edit_bones(armature, add)
    return armature


def test_without_actions_joints_bend_as_bodies_do(scene: bpy.types.Scene) -> None:
    armature = add_human()
    skeleton = find_skeleton(armature)
    joints = find_joints(armature, skeleton, ())
    take_all(read_frames(armature, skeleton, joints, 1.0))
    choose_rotations(armature, skeleton, joints, np.radians([40.0, 90.0]).tolist())
    assert {joint.bone for joint in joints} == {
        f"{part}.{side}" for part in ("forearm", "shin", "thigh", "upper_arm") for side in "LR"
    }
    forward = {"forearm": -1.0, "shin": 1.0, "thigh": -1.0, "upper_arm": -1.0}  # along Y
    for joint in joints:
        part = joint.bone.partition(".")[0]
        assert joint.chosen.is_hinge == (part in ("forearm", "shin"))
        assert len(joint.chosen.rotations) == {True: 2, False: 6 if part == "thigh" else 7}[joint.chosen.is_hinge]
        matrix = pose_joint(skeleton.joints, joint.joint, joint.chosen.rotations[1], joint.axes)[joint.joint]
        bone = armature.data.bones[joint.bone]
        along = matrix[:3, :3] @ (bone.tail_local - bone.head_local).normalized()
        assert along == pytest.approx([0.0, forward[part], 0.0], abs=0.02)


def add_scan(obj: bpy.types.Object) -> tuple[bpy.types.Object, np.ndarray]:
    """A mesh elsewhere with the posed points of another, changed at one side; and these points, object space."""
    points = shown(obj)
    target = points + 0.2 * np.exp(-8.0 * np.square(points - [0.4, 1.0, 0.0]).sum(axis=1))[:, None] * [1.0, 0.0, 0.5]
    scan = bpy.data.objects.new("Scan", obj.data.copy())
    scan.data.vertices.foreach_set("co", target.astype(np.float32).ravel())
    scan.data.update()
    scan.matrix_world = obj.matrix_world
    scenes.link(scan)
    return scan, target


def test_a_mesh_of_the_same_vertices_is_what_the_pose_becomes(scene: bpy.types.Scene) -> None:
    obj, armature = body("CENTERS")
    obj.location = armature.location = (3.0, 1.0, 0.0)
    bend(armature, 70.0)
    _, target = add_scan(obj)
    scenes.select(armature)
    report = make(obj, source="Scan", joints=())
    assert report.bones == (JOINT,)
    assert np.abs(shown(obj) - target).max() < 1e-4 * scenes.diagonal(target)
    assert bpy.context.view_layer.objects.active == armature
    assert bpy.context.view_layer.objects.selected[:] == [armature]
    assert obj.visible_get()
    bend(armature, 0.0)
    assert shown(obj) == pytest.approx(scenes.rest_points(obj), abs=1e-6)


def test_a_mesh_of_other_vertices_is_refused(scene: bpy.types.Scene) -> None:
    obj, armature = body()
    bend(armature, 70.0)
    other, _ = scenes.add_tube(rings=12)
    other.modifiers.clear()
    other.name = "Other"
    refuse("'Other' has 192 vertices, but its edges and faces differ from those of 'Tube'", make, obj, source="Other")
    add_scan(obj)
    refuse("'Rig' has no bone 'elbow'", make, obj, source="Scan", joints=["elbow"])
    assert obj.visible_get()
    assert {one.name for one in bpy.data.objects if one.type == "MESH"} >= {"Tube", "Other", "Scan"}
    assert not [one for one in bpy.data.objects if "Posed" in one.name]


def test_the_command_line(scene: bpy.types.Scene, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    body()
    file, new = scenes.save(tmp_path / "body.blend"), tmp_path / "new.blend"
    given = ("correct", file, "--object", "Tube", "--from", "particles", "--angles", "40,80", "--output", new)
    capsys.readouterr()
    assert main(*given, "--joints", f"{JOINT}, bone.2") == DONE
    captured = capsys.readouterr()
    assert own_output(captured.out)[0] == "4 corrections from Particles, driven by bone.1, bone.2"
    assert "supple: 100 % of the corrections" in captured.err
    scenes.open_file(new)
    assert len(settings_of(bpy.data.objects["Tube"]).corrections) == 4
    new.unlink()
    capsys.readouterr()
    given = tuple("centers" if each == "particles" else each for each in given)
    assert_refused(main(*given), capsys.readouterr(), "No rig preset matches the bone names of 'Rig'")
    assert not new.exists()
    assert main(*given, "--angles", "40,wide") == USAGE
