"""Flesh: the best of several shapes at each joint, and what lies on a body."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import bpy
import bmesh
import numpy as np
import pytest
import scenes_hostile
from mathutils import Euler, Matrix, Quaternion
from scenes_cli import DONE, main
from scenes_corrections import shown
from scenes_particles import add_body, remove_faces
from scenes_state import refuse

import scenes
from supple.bridge.meshes.data import read_edges, read_face_corners, read_key_points
from supple.bridge.per_object import forget_all
from supple.bridge.rigs.armatures import read_pose
from supple.deformers import Joints
from supple.deformers.corrections.mirroring import mirror_rotation
from supple.deformers.corrections.rotation_choice import read_joint_rotations, turn_about
from supple.deformers.flesh.smoothing import Smoothing, list_corners
from supple.options import FleshOptions
from supple.settings.objects import settings_of
from supple.tasks.corrections.from_joints import BentJoint
from supple.tasks.corrections.from_method import CorrectedFrom
from supple.tasks.flesh import add, plan
from supple.tasks.flesh.add import add_flesh, remove_flesh
from supple.tasks.flesh.character import FleshyCharacter, read_meshes
from supple.tasks.flesh.joints import BALL, COLLAR, MOST_END, find_bends, find_largest_bend
from supple.tasks.flesh.picks import read_picks
from supple.tasks.skin.poses import find_skeleton
from supple.tasks.steps import take_all
from supple.tasks.subject.character import find_skinned
from supple.tasks.subject.corrected import list_flesh
from supple.tasks.subject.looks import read_look, shows_flesh
from supple.tasks.subject.shown_joint import find_shown

CHAIN = Joints(np.array([[0.0, 0, 0], [0, 0, 1]]), np.array([-1, 0]), np.array([[0.0, 0, 1], [0, 0, 2]]))
BENT = {"bone.1": (np.radians(40.0), 0.0, 0.0), "bone.2": (0.0, 0.0, np.radians(30.0))}


ASIDE, HUGE = Matrix.Rotation(-np.pi / 2, 4, "X"), Matrix.Scale(100.0, 4)
TURNED = (
    ("as it is", Matrix(), Matrix()),
    ("turned", ASIDE, ASIDE),
    ("its mesh turned", ASIDE, Matrix()),
    ("in centimeters, turned", HUGE @ ASIDE, HUGE @ ASIDE),
    ("its armature turned about, and small", Matrix(), Matrix.Scale(0.01, 4) @ Matrix.Rotation(np.pi, 4, "Z") @ ASIDE),
)
"""Characters as files of other programs bring them: what is done to mesh and armature, and undone by their objects."""


def make(*objects: bpy.types.Object, picked: dict | None = None) -> CorrectedFrom:
    report = take_all(add_flesh(objects, FleshOptions("QUICK", picked or {})))
    scenes.update()
    return report


def pose(armature: bpy.types.Object, share: float = 1.0) -> None:
    for bone, rotation in BENT.items():
        scenes.turn(armature, bone, tuple(share * angle for angle in rotation))


def find_shapes(obj: bpy.types.Object) -> plan.Fitting:
    """The limb of a mesh, as flesh poses it."""
    skinned = find_skinned(obj)
    skeleton = find_skeleton(skinned.armature)
    meshes, _ = read_meshes([skinned], skeleton)
    character = FleshyCharacter.of(meshes, skeleton.unrolled.joints, skeleton.frame)
    bends = take_all(find_bends(skinned.armature, skeleton, character.find_fleshy_joints()))
    (limb,) = plan.list_limbs(character, bends, skeleton.joints)
    return plan.Fitting(character, limb, skeleton.joints, plan.QUICK, {})


def measure(obj: bpy.types.Object, fitting: plan.Fitting) -> float:
    """Distance of the skin to the solid in the pose, rms."""
    armature = find_skinned(obj).armature.evaluated_get(bpy.context.evaluated_depsgraph_get())
    poses, joints = read_pose(armature, find_skeleton(find_skinned(obj).armature)).rest_to_pose[None], fitting.joints
    rotations = np.concatenate(
        [read_joint_rotations(poses, joints.parents, bend.joint, bend.axes) for bend in fitting.limb.bends]
    )
    ((posed, _, shapes),) = fitting.list_shapes(rotations, [plan.SOLID], lambda _share: None)
    (space,) = fitting.character.spaces
    own = shown(obj) @ space[:3, :3].T + space[:3, 3]
    return float(np.sqrt(np.square(own - posed.move(shapes[plan.SOLID])).sum(axis=1).mean()))


def mute(obj: bpy.types.Object, is_muted: bool) -> None:
    for key in obj.data.shape_keys.key_blocks:
        key.mute = is_muted
    scenes.update()


@pytest.mark.versions
def test_the_skin_comes_near_to_the_solid_in_poses_of_several_joints(scene: bpy.types.Scene) -> None:
    obj, armature = add_body()
    scenes.bind(obj, method="DLBNT")
    fitting = find_shapes(obj)
    picked = {bend.bone: "SOLID" for bend in fitting.limb.bends}
    report = make(obj, picked=picked)
    assert set(report.bones) == {"bone.1", "bone.2"}
    assert any(line.startswith("bone.1: solid, up to ") for line in report.describe())
    for share in (1.0, 0.6):
        pose(armature, share)
        near = measure(obj, fitting)
        mute(obj, True)
        assert near < 0.5 * measure(obj, fitting)
        mute(obj, False)
    pose(armature, 0.0)
    assert shown(obj) == pytest.approx(scenes.rest_points(obj), abs=1e-6)


def test_what_is_picked_stays(scene: bpy.types.Scene) -> None:
    """All as it is: no keys, and the report says so."""
    obj, _ = add_body()
    scenes.bind(obj, method="DLBNT")
    fitting = find_shapes(obj)
    picked = {bend.bone: "BASE" for bend in fitting.limb.bends}
    report = make(obj, picked=picked)
    assert not report.keys
    assert "The skin stays as it is at bone.1, bone.2" in report.describe()
    assert obj.data.shape_keys is None
    refuse("There is no shape 'WOOD' to pick", make, obj, picked={"bone.1": "WOOD"})


def test_a_shape_is_picked_by_its_picture(scene: bpy.types.Scene) -> None:
    """From what flesh has computed, and anew where that is not at hand; it stays when flesh is added again."""
    obj, armature = add_body()
    scenes.bind(obj, method="DLBNT")
    make(obj)
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    assert bpy.ops.supple.flesh_pick(bone="bone.1", quality="QUICK") == {"FINISHED"}
    shown_joint = find_shown(armature)
    assert shown_joint is not None
    assert len(shown_joint.pictures) == len(shown_joint.chosen) == 4
    base, smooth, solid, smooth_solid = shown_joint.pictures[0]
    pairs = itertools.combinations((base, smooth, solid, smooth_solid), 2)
    assert all(np.abs(one - other).max() > 0.1 for one, other in pairs)
    assert base[..., 3].min() == 1.0
    for is_known in (True, False):
        if not is_known:
            forget_all()
        for shape, number in (("BASE", 0), ("SOLID", 2)):
            assert bpy.ops.supple.flesh_take(bone="bone.1", shape=shape, quality="QUICK") == {"FINISHED"}
            if is_known:
                assert find_shown(armature).chosen == [number] * 4
            keys = {entry.name for entry in settings_of(obj).corrections if entry.bones == "bone.1"}
            assert bool(keys) == bool(number)
    assert bpy.ops.supple.flesh_take(bone="bone.1", way=2, shape="SMOOTH", quality="QUICK") == {"FINISHED"}
    assert bpy.ops.supple.flesh_pick(bone="bone.1") == {"FINISHED"}
    assert find_shown(armature).chosen == [2, 2, 1, 2]
    assert read_picks(armature) == {"bone.1": ("SOLID", "SOLID", "SMOOTH", "SOLID")}
    assert any(line.startswith("bone.1: solid and smoothed") for line in make(obj).describe())
    refuse("'bone.0' bends no joint that has flesh: choose one of bone.1", make, obj, picked={"bone.0": "SOLID"})
    refuse("'bone.1' bends in no way 4: choose 0 to 3", bpy.ops.supple.flesh_take, bone="bone.1", way=4, shape="BASE")
    assert bpy.ops.supple.flesh_take(bone="bone.1") == {"FINISHED"}
    assert read_picks(armature) == {}
    assert bpy.ops.supple.flesh_close() == {"FINISHED"}
    assert find_shown(armature) is None


def test_both_sides_have_the_same_flesh(scene: bpy.types.Scene, tmp_path: Path) -> None:
    """Whatever the character's size is, as functions of one side are mirrored."""
    figure = scenes_hostile.add_figure(tmp_path)
    armature, body = figure.armature, figure.body
    bpy.data.objects.remove(figure.shirt)
    armature.animation_data_clear()
    for bone in armature.pose.bones:
        scenes.turn(armature, bone.name)
    scenes.bind(body, method="DLBNT")
    report = make(body, picked=dict.fromkeys(("arm.L", "forearm.L", "leg.L", "shin.L"), "SMOOTH"))
    assert set(report.bones) >= {"forearm.L", "forearm.R", "shin.L", "shin.R"}
    bones = armature.data.bones
    for turned in ({"forearm": (-1.2, 0.0, 0.0), "shin": (-1.3, 0.0, 0.0)}, {"arm": (0.3, 0.0, 0.8)}):
        for bone, angles in turned.items():
            left, right = (np.array(bones[f"{bone}.{side}"].matrix_local)[:3, :3] for side in "LR")
            rotation = Euler(angles).to_quaternion()
            scenes.turn(armature, f"{bone}.L", angles)
            mirrored = Quaternion(mirror_rotation(np.array(rotation), left, right))
            scenes.turn(armature, f"{bone}.R", mirrored.to_euler())
        for is_muted in (True, False):
            mute(body, is_muted)
            points = shown(body)
            apart = np.linalg.norm(points[:, None] - points * (-1.0, 1.0, 1.0), axis=2).min(axis=1)
            assert apart.max() < 1e-4 * scenes.diagonal(points)
    scenes.select(armature)
    assert bpy.ops.supple.flesh_pick(bone="forearm.R", quality="QUICK") == {"FINISHED"}
    assert find_shown(armature).chosen == [1]
    assert bpy.ops.supple.flesh_take(bone="forearm.R", shape="SOLID", quality="QUICK") == {"FINISHED"}
    assert read_picks(armature)["forearm.R"] == ("SOLID",), "drawn on one side so far"
    assert "forearm.L" not in read_picks(armature)
    sizes = {}
    for entry in settings_of(body).corrections:
        offsets = read_key_points(body.data.shape_keys.key_blocks[entry.name]) - scenes.rest_points(body)
        sizes[entry.bones] = max(sizes.get(entry.bones, 0.0), float(np.abs(offsets).max()))
    assert sizes["forearm.L"] == pytest.approx(sizes["forearm.R"], rel=1e-3)


def test_smoothing_is_that_of_blenders_modifier(scene: bpy.types.Scene) -> None:
    """Corrective Smooth with its defaults, on quads, triangles, and open rims."""
    bpy.ops.mesh.primitive_monkey_add()
    obj = bpy.context.object
    rest = scenes.rest_points(obj)
    posed = rest + np.outer(0.4 * np.sin(3.0 * rest[:, 2]), [1.0, 0.0, 0.0])
    obj.shape_key_add(name="Basis", from_mix=False)
    key = obj.shape_key_add(name="Posed", from_mix=False)
    key.data.foreach_set("co", posed.astype(np.float32).ravel())
    key.value = 1.0
    obj.modifiers.new("Smooth", "CORRECTIVE_SMOOTH")
    scenes.update()
    mesh = obj.data
    for count, factors in ((len(rest), np.ones(len(rest))), (0, np.zeros(len(rest)))):
        corners = list_corners(*read_face_corners(mesh))
        found = Smoothing.of(rest, read_edges(mesh), corners, factors).apply(posed)
        assert found == pytest.approx(shown(obj) if count else posed, abs=3e-6)
    assert np.abs(shown(obj) - posed).max() > 0.1


def test_hinges_bend_at_right_angles_to_their_bones(asset: Callable[..., Path]) -> None:
    scenes.open_file(asset("human"))
    objects = [obj for obj in bpy.data.objects if obj.type == "MESH" and scenes.armature_modifier(obj)]
    scenes.bind(*objects, method="DLBNT")
    skinned = [find_skinned(obj) for obj in objects]
    skeleton = find_skeleton(skinned[0].armature)
    fleshy = np.arange(len(skeleton.joints.parents))
    bends = take_all(find_bends(skinned[0].armature, skeleton, fleshy))
    hinges = [bend for bend in bends if len(bend.ways) == 1]
    assert {bend.bone for bend in hinges} >= {"lowerarm_l", "lowerarm_r", "calf_l", "calf_r"}
    for bend in hinges:
        along = bend.axes.T @ skeleton.joints.axes[bend.joint]
        assert np.abs(bend.ways @ along).max() < 1e-5, "its action turns the hand, too"


def test_where_skin_does_not_go_on_there_is_no_flesh(scene: bpy.types.Scene) -> None:
    obj, _ = add_body()
    with scenes.edit(obj.data) as mesh:
        cut = [face for face in mesh.faces if 1.0 < face.calc_center_median().y < 1.1]
        bmesh.ops.delete(mesh, geom=cut, context="FACES_KEEP_BOUNDARY")
        bmesh.ops.holes_fill(mesh, edges=mesh.edges[:], sides=0)
    scenes.bind(obj, method="DLBNT")
    assert make(obj).bones == ("bone.2",)


def test_how_far_joints_are_bent() -> None:
    skeleton = SimpleNamespace(joints=CHAIN)
    bones = {("thigh", "LEFT"): ("thigh", "thigh twist"), ("collar_bone", "LEFT"): ("collar",),
             ("toes", "LEFT"): ("toes",)}  # fmt: skip
    rig = SimpleNamespace(bones=bones)
    for known, bone, seen, is_moved, degrees in (
        (rig, "thigh", 10.0, True, BALL),
        (rig, "collar", 90.0, True, COLLAR),
        (rig, "toes", 90.0, True, MOST_END),
        (None, "thigh", 60.0, True, BALL),
        (None, "thigh", 10.0, True, COLLAR),
        (None, "thigh", 10.0, False, BALL),
    ):
        one = BentJoint(bone, 1, "", bone, np.eye(3), turn_about(np.array([1.0, 0, 0]), [np.radians(seen)]))
        assert find_largest_bend(known, skeleton, one, is_moved) == pytest.approx(degrees)


def test_made_again_it_is_replaced_and_removed_as_a_whole(scene: bpy.types.Scene) -> None:
    obj, armature = add_body()
    scenes.bind(obj, method="DLBNT")
    first = make(obj)
    pose(armature)
    before = shown(obj)
    assert make(obj).keys == first.keys
    assert shown(obj) == pytest.approx(before, abs=1e-5)
    scenes.select(obj)
    assert bpy.ops.supple.flesh_remove() == {"FINISHED"}
    assert obj.data.shape_keys is None
    assert not settings_of(obj).corrections
    assert not bpy.ops.supple.flesh_remove.poll()
    assert remove_flesh([obj]) == (0, [])


def test_clothes_ride_on_the_body(scene: bpy.types.Scene) -> None:
    obj, armature = add_body()
    sleeve = scenes.add_twin(obj)
    with scenes.edit(sleeve.data) as mesh:
        for vertex in mesh.verts:
            vertex.co.xz *= 1.05
        ends = [face for face in mesh.faces if len(face.verts) > 4]
        for face in ends:
            mesh.faces.remove(face)
    for each in (obj, sleeve):
        scenes.bind(each, method="DLBNT")
    gap = scenes.rest_points(sleeve) - scenes.rest_points(obj)
    make(obj, sleeve, picked={"bone.1": "SOLID"})
    pose(armature)
    moved = []
    for is_muted in (False, True):
        for each in (obj, sleeve):
            mute(each, is_muted)
        moved.append((shown(obj), shown(sleeve)))
    body, cloth = (with_flesh - without for with_flesh, without in zip(*moved, strict=True))
    largest = np.abs(body).max()
    assert largest > 0.01 * scenes.diagonal(scenes.rest_points(obj))
    assert np.abs(cloth - body).max() < 0.5 * largest
    assert np.sqrt(np.square(cloth - body).mean()) < 0.25 * np.sqrt(np.square(body).mean())
    assert np.abs(gap).max() < 0.06 * scenes.diagonal(scenes.rest_points(obj))
    remove_flesh([sleeve])
    assert read_picks(armature), "the body has flesh yet"
    remove_flesh([obj])
    assert not read_picks(armature)


def test_skin_that_stays_as_it_is_is_tucked_beneath_clothes(scene: bpy.types.Scene) -> None:
    obj, _ = add_body()
    sleeve = scenes.add_twin(obj)
    with scenes.edit(sleeve.data) as mesh:
        for vertex in mesh.verts:
            vertex.co.xz *= 1.03
        for face in [face for face in mesh.faces if len(face.verts) > 4]:
            mesh.faces.remove(face)
    halves = [[each.index for each in sleeve.data.vertices if (each.co.y > 1.0) == bool(bone)] for bone in range(2)]
    for bone, vertices in enumerate(halves):
        sleeve.vertex_groups[f"bone.{bone}"].remove(halves[1 - bone])
        sleeve.vertex_groups[f"bone.{bone}"].add(vertices, 1.0, "REPLACE")
    for each in (obj, sleeve):
        scenes.bind(each, method="DLBNT")
    make(obj, sleeve, picked={"bone.1": "BASE"})
    keyed = [any("bone.1" in key.name for key in each.data.shape_keys.key_blocks) for each in (obj, sleeve)]
    assert keyed == [True, False]


def test_looks_add_it_and_mute_it(scene: bpy.types.Scene) -> None:
    obj, armature = add_body()
    scenes.select(armature)
    assert bpy.ops.supple.make(look="BLENDER") == {"FINISHED"}, "it has that look"
    for look in ("FAST", "FLESH", "FAST", "FLESH", "BLENDER"):
        assert bpy.ops.supple.make(look=look) == {"FINISHED"}
        assert settings_of(obj).is_muted == (look == "BLENDER")
        assert shows_flesh(obj) == (look == "FLESH")
        assert read_look([obj]) == look
    assert bpy.ops.supple.make(look="FLESH") == {"FINISHED"}
    assert read_look([obj]) == "FLESH"
    settings_of(obj).limb_roots = 0.5
    assert read_look([obj]) == "CUSTOM"
    assert bpy.ops.supple.make(look="FLESH") == {"FINISHED"}
    assert settings_of(obj).limb_roots == 1.0


def test_a_new_mesh_gets_flesh_and_others_stay_as_they_are(scene: bpy.types.Scene) -> None:
    obj, armature = add_body()
    new = scenes.add_twin(obj)
    settings_of(new).is_ticked = False
    scenes.select(armature)
    assert bpy.ops.supple.make(look="FAST") == {"FINISHED"}
    settings_of(new).is_ticked = True
    assert bpy.ops.supple.make() == {"FINISHED"}
    assert read_look([obj]) == "FAST"
    assert read_look([new]) == "FLESH"


def test_what_can_not_be(scene: bpy.types.Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    obj, _ = add_body()
    with scenes.edit(obj.data) as mesh:
        for vertex in mesh.verts:
            vertex.co.z = 0.0
    scenes.bind(obj, method="DLBNT")
    refuse("encloses flesh", make, obj)
    assert obj.data.shape_keys is None
    other, _ = add_body()
    scenes.bind(other, method="DLBNT")
    refuse("several armatures", make, obj, other)
    monkeypatch.setattr(add, "MOST_OFFSETS", 100)
    refuse("vertices are too many", make, other)
    assert other.data.shape_keys is None


STIFF = {
    "each vertex follows one bone alone, as those of robots and toys do": (
        "for vertex in obj.data.vertices:\n"
        "    for entry in vertex.groups: entry.weight = float(entry.group == int(vertex.co.y * 0.999))"
    ),
    "both bones end at the first, as jaws and ears do": (
        "edit_bones(rig, lambda bones: setattr(bones['bone.2'], 'use_connect', False))\n"
        "edit_bones(rig, lambda bones: setattr(bones['bone.2'], 'parent', bones['bone.0']))"
    ),
    "one bone deforms": "for bone in rig.data.bones: bone.use_deform = bone.name == 'bone.0'",
}


def test_where_no_joint_gains(subtests, scene: bpy.types.Scene, capfd: pytest.CaptureFixture[str]) -> None:
    for name, change in STIFF.items():
        with subtests.test(name):
            scenes.clear()
            obj, armature = add_body()
            scenes.execute(change, obj=obj, rig=armature)
            scenes.select(obj)
            assert bpy.ops.supple.make() == {"FINISHED"}
            assert "1 mesh is bound by Dual Quaternion; no flesh was needed" in capfd.readouterr().out
            assert bpy.ops.supple.flesh_add(quality="QUICK") == {"FINISHED"}
            assert "No correction is needed: Flesh does not change the skin" in capfd.readouterr().out
            assert obj.data.shape_keys is None


def test_a_character_that_is_turned_or_scaled_has_the_same_flesh(subtests, scene: bpy.types.Scene) -> None:
    shapes = {}
    for name, of_mesh, of_armature in TURNED:
        with subtests.test(name):
            scenes.clear()
            obj, armature = add_body()
            for one, change in ((obj, of_mesh), (armature, of_armature)):
                one.data.transform(change)
                one.matrix_world = change.inverted()
            scenes.update()
            scenes.bind(obj, method="DLBNT")
            make(obj)
            pose(armature)
            world = np.array(obj.matrix_world)
            shapes[name] = shown(obj) @ world[:3, :3].T + world[:3, 3]
            assert scenes.distance(shapes["as it is"], shapes[name]) < 2e-3, "contact in a crease depends on rounding"


def test_flesh_is_of_the_first_key_whatever_the_mesh_has_itself(scene: bpy.types.Scene) -> None:
    """As files and scripts leave it, that write the vertices alone. What the key shows is fleshed out, and stays."""
    obj, armature = add_body()
    twin = scenes.add_twin(obj)
    for one in (obj, twin):
        key = scenes.add_face_key(one)
        key.value = 0.0
    for vertex in obj.data.vertices:
        vertex.co.x += 0.3 * np.cos(3.0 * vertex.co.y)
    own = scenes.rest_points(obj)
    scenes.bind(obj, twin, method="DLBNT")
    reports = [make(one) for one in (obj, twin)]
    pose(armature)
    assert len(reports[0].keys) == len(reports[1].keys) > 0
    assert scenes.distance(shown(twin), shown(obj)) < 1e-6
    assert (scenes.rest_points(obj) == own).all()


BOUND = (
    "bpy.data.objects.new('Unlinked', odd.data)",
    "add_face_key(odd).id_data.use_relative = False",
    "add_face_key(odd); odd.active_shape_key_index, odd.show_only_shape_key = 1, True",
)
ODD = (
    "odd.data.clear_geometry()",
    "odd.vertex_groups.clear(); remove_faces(odd)",
    "for group in odd.vertex_groups: group.remove(range(len(odd.data.vertices))); group.lock_weight = True",
)
"""Meshes without flesh: those that are bound all the same, and others."""


def test_one_mesh_that_can_not_be_done_holds_up_no_other(
    subtests, scene: bpy.types.Scene, capfd: pytest.CaptureFixture[str]
) -> None:
    for spoil in (*BOUND, *ODD):
        with subtests.test(spoil):
            scenes.clear()
            obj, armature = add_body()
            odd = scenes.add_twin(obj)
            odd.name = "Odd"
            scenes.execute(spoil, odd=odd, remove_faces=remove_faces)
            keys = odd.data.shape_keys and odd.data.shape_keys.key_blocks.keys()
            scenes.select(armature)
            capfd.readouterr()
            assert bpy.ops.supple.make() == {"FINISHED"}
            assert "Odd" in capfd.readouterr().out
            assert settings_of(obj).is_bound
            assert len(list_flesh([obj])) == 8
            assert settings_of(odd).is_bound == (spoil in BOUND)
            assert (odd.data.shape_keys and odd.data.shape_keys.key_blocks.keys()) == keys


def test_the_command_line(scene: bpy.types.Scene, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    add_body()
    file, new = scenes.save(tmp_path / "body.blend"), tmp_path / "new.blend"
    assert main("bind", file, "--look", "flesh", "--output", new) == DONE
    assert "corrections from Flesh, driven by bone" in capsys.readouterr().err
    scenes.open_file(new)
    assert settings_of(bpy.data.objects["Tube"]).corrections
