"""Layers that the body pierces and limbs that run into each other, as Check Character finds and shows them."""

import json

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_cli import DONE, main, own_output
from scenes_corrections import add_arms
from scenes_layers import BODY, FRAMES, SKIRT, TIGHTS, add_dressed, add_sleeve, stiffen

from scenes import add_tube, edit_bones, open_file, save, skinned_meshes, turn, update
from supple.bridge.meshes.shown_weights import read_shown_shape
from supple.deformers.measures.heat import SKIN
from supple.options import CheckOptions
from supple.tasks.check.faults import CROSSED, PIERCED, Finding
from supple.tasks.check.findings import describe_fully, find_faults
from supple.tasks.check.fix import can_fix, fix_faults
from supple.tasks.check.poses import label_poses
from supple.tasks.check.ranges import find_own_bends
from supple.tasks.check.run import check_character
from supple.tasks.check.show import show_finding
from supple.tasks.side_by_side.heat import color_heat
from supple.tasks.skin.poses import find_skeleton
from supple.tasks.steps import take_all


@pytest.fixture
def dressed():
    return add_sleeve()


def test_heat_shows_how_deep_a_layer_is_in_what_it_lies_over(dressed):
    body, sleeve = dressed

    def list_hot(obj):
        depsgraph = bpy.context.evaluated_depsgraph_get()
        colors = color_heat(obj, read_shown_shape(obj, depsgraph), "OVERLAP", "", 0.1, depsgraph)
        return np.flatnonzero(np.abs(colors - SKIN).max(axis=1) > 1e-6)

    stiffen(sleeve)
    (fault,) = find([body, sleeve], angle=0.0)
    bpy.context.scene.frame_set(fault.pose.frame)
    assert len(np.intersect1d(list_hot(sleeve), fault.vertices)) / len(fault.vertices) > 0.8
    body.data.transform(Matrix.Diagonal((1.1, 1.0, 1.1, 1.0)))  # out of the sleeve at rest: that is no layer any more
    update()
    assert len(list_hot(sleeve)) == 0
    body.data.transform(Matrix.Diagonal((1.1, 1.0, 1.1, 1.0)).inverted())
    body.find_armature().data.pose_position = "REST"
    update()
    assert len(list_hot(sleeve)) == 0


def find(objects, **options):
    checked = take_all(check_character(objects, CheckOptions(**options)))
    return [fault for fault in find_faults(checked, objects) if fault.kind in (PIERCED, CROSSED)]


def test_a_sleeve_that_follows_its_body_is_not_pierced(dressed):
    assert find(list(dressed), angle=0.0) == []


def test_a_stiff_sleeve_is_pierced_by_its_body(dressed):
    body, sleeve = dressed
    stiffen(sleeve)
    (fault,) = find([body, sleeve], angle=0.0)
    assert (fault.kind, fault.mesh, fault.other, fault.bone) == (PIERCED, "Sleeve", body.name, "")
    assert fault.value > 0.05
    assert fault.depth > 100.0
    assert fault.seen > 0.0
    assert fault.severity == pytest.approx(fault.value / 0.015)
    first, method, pose, seen = describe_fully(fault)
    assert first.startswith(f"Sleeve: is pierced in {100 * fault.value:.0f} % of its area by '{body.name}', up to ")
    assert method == f"Linear: {100 * fault.value:.0f} %"
    assert pose.startswith("RigAction, frame ")
    assert seen.startswith("Covered skin that shows: ")


def test_stay_outside_fixes_it_and_the_next_check_sees_it():
    scene = add_dressed()
    objects = [scene[name] for name in (BODY, TIGHTS, SKIRT)]
    faults = find(objects, frames=FRAMES, angle=0.0)
    fault = max(faults, key=lambda one: one.value)
    assert can_fix(fault)
    options = CheckOptions(frames=FRAMES, angle=0.0)
    fixed = take_all(fix_faults(faults, objects, options, lambda each: each.key == fault.key))
    assert f"Layers, outermost first: {SKIRT}, {TIGHTS}, {BODY}." in fixed.messages
    left = {each.key: each for each in fixed.faults}.get(fault.key)
    assert left is None or left.value < 0.7 * fault.value
    again = find(objects, frames=FRAMES, angle=0.0)
    assert {each.key for each in again} == {each.key for each in fixed.faults if each.kind in (PIERCED, CROSSED)}
    assert sum(one.value for one in again) < 0.7 * sum(one.value for one in faults)


def test_a_body_alone_and_a_sleeve_alone_are_not_pierced(dressed):
    stiffen(dressed[1])
    for obj in dressed:
        assert find([obj], angle=0.0) == []


def test_a_pierced_layer_is_shown_in_its_frame_with_its_vertices_selected(dressed):
    body, sleeve = dressed
    stiffen(sleeve)
    (fault,) = find([body, sleeve], angle=0.0)
    bpy.context.scene.frame_set(100)
    assert show_finding(body.find_armature(), bpy.context.scene, fault) == sleeve
    assert bpy.context.scene.frame_current == fault.pose.frame
    selected = [vertex.index for vertex in sleeve.data.vertices if vertex.select]
    assert selected == sorted(fault.vertices)


def test_bends_are_looked_at_for_layers_and_not_for_limbs(dressed):
    body, sleeve = dressed
    stiffen(sleeve)
    checked = take_all(check_character([body, sleeve], CheckOptions(use_actions=False)))
    assert [bool(checked.poses[one.pose].bends) for one in checked.contacts.layers if one.pose is not None] == [True]
    assert checked.contacts.crossings == []


def test_limbs_that_run_into_each_other():
    """Two arms on one bone, which an action folds into each other."""
    arms = [add_tube(bones=3, rings=31, sides=12) for _ in range(2)]
    (first, rig), (second, _) = arms
    rig_bones = [bone.name for bone in rig.data.bones]
    bpy.context.view_layer.objects.active = rig
    bpy.ops.object.mode_set(mode="EDIT")
    root = rig.data.edit_bones.new("root")
    root.head, root.tail = (0.0, -0.5, 0.0), (0.0, 0.0, 0.0)
    for number, name in enumerate(rig_bones):
        bone = rig.data.edit_bones[name]
        other = rig.data.edit_bones.new(f"other{number}")
        other.head, other.tail = bone.head.copy(), bone.tail.copy()
        other.head.x += 1.5
        other.tail.x += 1.5
        bone.parent = bone.parent or root
        other.parent = rig.data.edit_bones[f"other{number - 1}"] if number else root
    bpy.ops.object.mode_set(mode="OBJECT")
    for number, group in enumerate(second.vertex_groups):
        group.name = f"other{number}"
    for vertex in second.data.vertices:
        vertex.co.x += 1.5
    with bpy.context.temp_override(
        active_object=first, object=first, selected_objects=[first, second], selected_editable_objects=[first, second]
    ):
        bpy.ops.object.join()
    assert find([first], frames=[1], angle=0.0) == []
    turn(rig, rig_bones[0], rotation=(0.0, 0.0, -0.49))
    (fault,) = find([first], frames=[1], angle=0.0)
    assert fault.kind == CROSSED
    assert {fault.bone.startswith("other"), fault.other.startswith("other")} == {True, False}
    assert fault.depth > 50.0


def test_the_command_line_tells_both_meshes(dressed, tmp_path, capsys):
    body, sleeve = dressed
    stiffen(sleeve)
    name, file, report = body.name, save(tmp_path / "dressed.blend"), tmp_path / "report.json"
    assert main("check", str(file), "--json", str(report)) == DONE
    assert f"by '{name}', up to" in "".join(own_output(capsys.readouterr().out))
    found = [fault for fault in json.loads(report.read_text())["faults"] if fault["kind"] == "pierced"]
    assert [(fault["mesh"], fault["other"]) for fault in found] == [("Sleeve", name)]
    assert found[0]["seen"] > 0.0


def test_what_is_dismissed_of_a_layer_is_of_two_meshes():
    faults = [Finding(PIERCED, "Skirt", "", "SSD", 1.0, 0.1, other=other) for other in ("Body", "Tights")]
    assert len({fault.key for fault in faults}) == 2
    assert np.isfinite([fault.value for fault in faults]).all()


# Which bends are tried at the joints of a character


ANGLE = np.radians(60.0)


def add_limbs():
    """Two arms that begin at a bone in the middle; no preset knows their names."""
    obj, armature = add_arms()

    def add_root(bones):
        root = bones.new("root")
        root.head, root.tail = (0.0, -1.0, 0.0), (0.0, 0.0, 0.0)
        for bone in bones:
            bone.parent = bone.parent or (root if bone != root else None)

    edit_bones(armature, add_root)
    return obj, armature


def find_bends(armature, poses=()):
    """The bends of joints that have own ones, by the names of their bones."""
    skeleton = find_skeleton(armature)
    found = find_own_bends(armature, skeleton, poses, ANGLE)
    return {skeleton.name_joint(joint): bends for joint, bends in found.items()}


@pytest.mark.characters("mh_human", "human_male", "kaykit_knight")
def test_knees_elbows_and_toes_of_a_known_rig_bend_as_such(asset, character):
    """A knee's tip goes back, an elbow's ahead, toes up and down; none goes aside. The character looks to -Y."""
    open_file(asset(character))
    armature = skinned_meshes()[0].find_armature()
    bends, bones = find_bends(armature), armature.data.bones
    seen = set()
    for name, own in bends.items():
        low = name.lower()
        along = np.array((bones[name].tail_local - bones[name].head_local).normalized())
        moves = np.array([np.cross(bend.axis * np.sign(bend.angle), along) for bend in own])
        if any(word in low for word in ("calf", "lowerleg01", "lowerleg.")):
            seen.add("knee")
            assert len(moves) == 1
            assert moves[0][1] > 0.9
        elif any(word in low for word in ("lowerarm_l", "lowerarm_r", "lowerarm01", "lowerarm.")):
            seen.add("elbow")
            assert len(moves) == 1
            assert moves[0][1] < -0.5
        elif low.startswith(("ball_", "toe")):
            seen.add("toes")
            assert (name, len(moves)) == (name, 2)
            assert np.abs([bend.angle for bend in own]) == pytest.approx(np.radians(45.0))
            assert np.abs(moves[:, 0]).max() < 0.3
    assert seen == {"knee", "elbow", "toes"}


def test_a_limb_that_no_preset_knows(subtests):
    """By its shape an elbow is a hinge; by actions it has their axis, or is none."""
    _, armature = add_limbs()
    name = "bone.1.L"
    skeleton = find_skeleton(armature)
    assert [bend.direction for bend in find_bends(armature)[name]] == ["forward"]
    for words, turns, count in (
        ("one axis", [(0.8, 0.0, 0.0), (0.3, 0.0, 0.0), (-0.2, 0.5, 0.0)], 1),
        ("the other side", [(0.0, 0.0, -0.8)], 1),
        ("two axes", [(0.8, 0.0, 0.0), (0.0, 0.0, 0.8)], 6),
        ("twist alone", [(0.0, 0.8, 0.0)], 1),
    ):
        poses = []
        for number, rotation in enumerate(turns):
            turn(armature, name, rotation=rotation)
            poses += label_poses(armature, skeleton, None, [number])
        with subtests.test(words):
            found = find_bends(armature, poses)[name]
            assert len(found) == count
            if words in ("one axis", "the other side"):
                largest = np.array(turns[0]) / np.linalg.norm(turns[0])
                bone = np.array(armature.data.bones[name].matrix_local.to_3x3())
                assert bone.T @ found[0].axis == pytest.approx(largest, abs=0.05)
        turn(armature, name, rotation=(0.0, 0.0, 0.0))


def test_the_check_tries_no_others():
    obj, armature = add_limbs()
    own = find_bends(armature)
    checked = take_all(check_character([obj], CheckOptions(use_actions=False)))
    tried = {}
    for pose in checked.poses:
        for bend, name in zip(pose.bends, pose.bent_bones, strict=True):
            tried.setdefault(name, []).append(bend)
    assert any(name in own for name in tried)
    for name, bends in tried.items():
        if name in own:
            assert sorted(bend.direction for bend in bends) == sorted(bend.direction for bend in own[name])
