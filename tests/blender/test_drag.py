"""The skin is dragged: where it goes, what stays, and which bones move."""

from itertools import product

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix, Vector
from scenes_drag import LENGTH, TIP, add_posed_tube, drag, find_vertex, list_changed, locate, pin, read_pose, relax
from scenes_state import refuse

from scenes import add_twin, bind, edit_bones, evaluated_points, open_file, push, redo, save, select, undo, update
from supple.bridge.rigs.rest_bones import read_rest_bones
from supple.deformers.anatomy.body import body_of_rig
from supple.settings.objects import settings_of
from supple.tasks.pose.pins import locate_pins
from supple.tasks.subject.rig_presets import find_rig_of

pytestmark = pytest.mark.usefixtures("silent_handlers")

NEAR = 0.005 * LENGTH
"""How far from its target a point may be, and how far a pin may move."""


@pytest.mark.usefixtures("evaluator")
def test_a_point_goes_to_its_target(subtests):
    obj, armature = add_posed_tube()
    tip = find_vertex(obj, TIP)
    for method in ("", "DLBNT", "CENTERS", "SSD"):
        for solver in ("ENERGY", "CHAIN"):
            with subtests.test(f"{method} {solver}"):
                if method:
                    bpy.ops.object.mode_set(mode="OBJECT")
                    bind(obj, method=method)
                    select(armature)
                    bpy.ops.object.mode_set(mode="POSE")
                relax(armature)
                before = read_pose(armature)
                assert drag(obj, tip, (-0.8, -0.5, 0.3), solver=solver) <= NEAR
                first = ["bone.0"] if solver == "CHAIN" else []  # what carries the whole skin is held without pins
                assert list_changed(armature, before) == [*first, "bone.1", "bone.2", "bone.3"]
                assert all(bone.location.length == 0.0 for bone in armature.pose.bones)


@pytest.mark.parametrize("solver", ["ENERGY", "CHAIN"])
def test_bones_of_zero_scale_do_not_hinder_others(solver):
    obj, armature = add_posed_tube()
    left = []
    for scale in ((1.0, 1.0, 1.0), (0.0, 0.0, 0.0), (1.0, 0.0, 1.0)):
        relax(armature)
        armature.pose.bones["bone.3"].scale = scale
        update()
        left.append(drag(obj, find_vertex(obj, (0.0, 1.5, 0.35)), (-0.4, -0.1, 0.0), solver=solver))
    assert max(left) <= left[0] + NEAR
    armature.pose.bones["bone.0"].scale = (0.0, 0.0, 0.0)
    update()
    bpy.ops.supple.drag_skin(mesh=obj.name, point=TIP, target=(0.3, 0.1, 0.1), solver=solver)
    assert np.isfinite(evaluated_points(obj)).all()


def read_rotation(armature: bpy.types.Object, name: str) -> np.ndarray:
    """How a bone is rotated, armature space, shape (3, 3)."""
    update()
    return np.array(armature.pose.bones[name].matrix.to_3x3().normalized())


@pytest.mark.parametrize("method", ["", "DLBNT"])
def test_pins_stay_and_hold_rotations_where_that_is_wanted(method):
    obj, armature = add_posed_tube(method=method)
    pinned = [find_vertex(obj, (0.0, along, 0.35)) for along in (0.4, 2.4)]
    for vertex in pinned:
        pin(obj, vertex)
    where = [locate(obj, vertex) for vertex in pinned]
    assert drag(obj, find_vertex(obj, TIP), (-0.6, -0.3, 0.2)) <= NEAR
    for vertex, location in zip(pinned, where, strict=True):
        assert np.linalg.norm(locate(obj, vertex) - location) <= NEAR
    pinned, turned = find_vertex(obj, (0.0, 3.5, 0.35)), []
    for hold_rotation in (False, True):
        bpy.ops.supple.clear_pins()
        relax(armature)
        pin(obj, pinned, hold_rotation)
        where, before = locate(obj, pinned), read_rotation(armature, "bone.3")
        drag(obj, find_vertex(obj, (0.0, 1.9, 0.35)), (-0.4, 0.0, 0.3))
        assert np.linalg.norm(locate(obj, pinned) - where) <= NEAR
        turned.append(np.abs(read_rotation(armature, "bone.3") - before).max())
    assert turned[0] > 0.1
    assert turned[1] < 0.5 * turned[0]


def test_a_pin_that_is_dragged_keeps_its_rotation_and_is_no_pin_meanwhile():
    obj, armature = add_posed_tube()
    pinned, turned = find_vertex(obj, (0.0, 3.5, 0.35)), []
    for hold_rotation in (False, True):
        relax(armature)
        pin(obj, pinned, hold_rotation)
        before = read_rotation(armature, "bone.3")
        assert drag(obj, pinned, (-0.5, -0.4, 0.3), move_root="OFF") <= NEAR
        turned.append(np.abs(read_rotation(armature, "bone.3") - before).max())
        bpy.ops.supple.clear_pins()
    assert turned[1] < 0.5 * turned[0]


def test_pins_that_hold_all_of_a_chain_stay_when_the_target_is_out_of_reach():
    obj, _ = add_posed_tube()
    pinned = find_vertex(obj, (0.0, 0.4, 0.35))
    pin(obj, pinned)
    where, tip = locate(obj, pinned), find_vertex(obj, TIP)
    assert drag(obj, tip, (20.0, 20.0, 5.0), move_root="OFF") > 10.0
    assert np.linalg.norm(locate(obj, pinned) - where) <= NEAR
    assert np.isfinite(evaluated_points(obj)).all()
    assert drag(obj, tip, np.array((-0.5, 3.6, 0.35)) - locate(obj, tip), move_root="OFF") <= NEAR


def test_a_pin_is_set_and_taken_off():
    obj, armature = add_posed_tube()
    first, second = find_vertex(obj, TIP), find_vertex(obj, (0.0, 1.0, 0.35))
    pin(obj, first)
    pin(obj, second)
    pins = settings_of(armature).pins
    assert [one.mesh for one in pins] == [obj, obj]
    pin(obj, first)
    assert len(pins) == 1
    drag(obj, first, (-0.5, -0.3, 0.0))
    pin(obj, second)
    assert len(pins) == 0
    for vertex in (first, second):
        pin(obj, vertex)
    assert bpy.ops.supple.clear_pins() == {"FINISHED"}
    assert len(pins) == 0
    refuse("There are no pins", bpy.ops.supple.clear_pins)


def test_the_root_moves_where_that_is_wanted():
    obj, armature = add_posed_tube()
    root, tip = armature.pose.bones["bone.0"], find_vertex(obj, TIP)
    drag(obj, tip, (-0.5, -0.2, 0.0), move_root="OFF")
    assert root.location.length == 0.0
    assert drag(obj, tip, (1.0, 3.0, 0.0), move_root="ON") <= NEAR
    assert root.location.length > 1.0
    root.lock_location = (True, False, False)
    before = root.location.copy()
    drag(obj, tip, (-0.3, 0.1, 0.0), move_root="ON")
    assert root.location == before


def test_what_carries_the_whole_skin_moves_under_a_root_that_is_rotated(subtests):
    obj, armature = add_posed_tube()
    bpy.ops.object.mode_set(mode="OBJECT")

    def add_root(bones):
        root = bones.new("root")
        root.head, root.tail, root.use_deform = (0.3, -1.0, 0.2), (0.9, -0.8, 0.5), False
        bones["bone.0"].parent, bones["bone.0"].use_connect = root, False

    edit_bones(armature, add_root)
    bpy.ops.object.mode_set(mode="POSE")
    bones, tip = armature.pose.bones, find_vertex(obj, TIP)
    for use_local in (True, False):
        for lowest in ("root", "bone.0"):
            with subtests.test(f"{lowest}, local location: {use_local}"):
                relax(armature)
                for name in ("root", "bone.0"):
                    armature.data.bones[name].use_local_location = use_local
                bones["root"].rotation_mode = "XYZ"
                bones["root"].rotation_euler = (0.4, -0.3, 0.8)
                bones["bone.0"].lock_location = [lowest == "root"] * 3
                update()
                assert drag(obj, tip, (1.0, 2.5, -1.0), move_root="ON") <= NEAR
                assert bones[lowest].location.length > 1.0


def test_bones_keep_their_rotation_mode(subtests):
    obj, armature = add_posed_tube()
    tip, first = find_vertex(obj, TIP), None
    for mode in ("QUATERNION", "AXIS_ANGLE", "XYZ", "ZXY", "YZX"):
        with subtests.test(mode):
            relax(armature, mode)
            drag(obj, tip, (-0.8, -0.5, 0.3))
            assert {bone.rotation_mode for bone in armature.pose.bones} == {mode}
            first = evaluated_points(obj) if first is None else first
            assert np.abs(evaluated_points(obj) - first).max() < 1e-3


def test_a_pose_stays_near_what_it_was():
    obj, armature = add_posed_tube()
    turned, flipped = armature.pose.bones["bone.2"], armature.pose.bones["bone.1"]
    turned.rotation_mode = "XYZ"
    turned.rotation_euler = (0.0, 4.0 * np.pi, 0.1)
    flipped.rotation_quaternion = (-1.0, 0.0, 0.0, 0.0)
    update()
    drag(obj, find_vertex(obj, TIP), (-0.3, -0.1, 0.0))
    assert abs(turned.rotation_euler[1] - 4.0 * np.pi) < 0.5
    assert flipped.rotation_quaternion[0] < -0.5
    relax(armature, "XYZ")
    for name, angle in (("bone.1", 0.8), ("bone.2", -0.6)):
        armature.pose.bones[name].rotation_euler = (0.0, 0.0, angle)
    update()
    shape = evaluated_points(obj)
    drag(obj, find_vertex(obj, TIP), (0.001, 0.0, 0.0))
    assert np.abs(evaluated_points(obj) - shape).max() < 0.01


def test_scaled_bones_and_a_scaled_armature_are_followed():
    obj, armature = add_posed_tube()
    armature.pose.bones["bone.0"].scale = (1.3, 1.3, 1.3)
    armature.pose.bones["bone.2"].scale = (0.8, 1.1, 0.8)
    armature.matrix_world = obj.matrix_world = Matrix.LocRotScale((3, -2, 1), Euler((0.5, 1.0, -0.3)), (2, 2, 2))
    update()
    before = [tuple(bone.scale) for bone in armature.pose.bones]
    assert drag(obj, find_vertex(obj, TIP), (-0.8, -0.9, 0.6)) <= 4 * NEAR
    assert [tuple(bone.scale) for bone in armature.pose.bones] == before


def test_a_chain_is_as_long_as_wanted():
    obj, armature = add_posed_tube()
    before = read_pose(armature)
    assert drag(obj, find_vertex(obj, TIP), (-0.5, -0.4, 0.0), solver="CHAIN", chain_length=2) <= NEAR
    assert list_changed(armature, before) == ["bone.2", "bone.3"]


def test_several_meshes_are_one_body():
    obj, armature = add_posed_tube()
    other = add_twin(obj)
    for vertex in other.data.vertices:
        vertex.co.x *= 1.2
        vertex.co.z *= 1.2
    update()
    tip, pinned = find_vertex(obj, TIP), find_vertex(other, (0.0, 0.4, 0.42))
    pin(other, pinned)
    where = locate(other, pinned)
    assert drag(obj, tip, (-0.6, -0.4, 0.2)) <= NEAR
    assert np.linalg.norm(locate(other, pinned) - where) <= NEAR
    assert settings_of(armature).pins[0].mesh == other


def test_pins_on_a_subdivided_skin_sleep_while_it_has_other_vertices():
    obj, armature = add_posed_tube()
    subdivision = obj.modifiers.new("Subdivision", "SUBSURF")
    subdivision.levels = 1
    update()
    layer = bpy.context.view_layer
    assert bpy.ops.supple.drag_skin(point=(0.0, 2.4, 0.4), action="PIN") == {"FINISHED"}
    assert settings_of(armature).pins[0].count > len(obj.data.vertices)

    def pinned() -> list[np.ndarray]:
        update()
        return [location for _, location in locate_pins(armature, layer, layer.depsgraph)]

    (where,) = pinned()
    bpy.ops.supple.drag_skin(point=TIP, target=(-0.6, 3.6, 0.35))
    assert np.linalg.norm(pinned()[0] - where) <= NEAR
    subdivision.levels = 2
    assert pinned() == []
    bpy.ops.supple.drag_skin(point=TIP, target=(-0.6, 3.6, 0.35))
    subdivision.levels = 1
    assert len(pinned()) == 1


@pytest.mark.versions
def test_pins_are_in_the_file_and_in_undo_and_those_of_a_duplicate_on_its_own_mesh(tmp_path):
    obj, armature = add_posed_tube()
    push("built")
    pin(obj, find_vertex(obj, TIP))
    push("pinned")
    undo()
    assert len(settings_of(bpy.data.objects["Rig"]).pins) == 0
    redo()
    open_file(save(tmp_path / "pinned.blend"))
    obj, armature = bpy.data.objects["Tube"], bpy.data.objects["Rig"]
    assert settings_of(armature).pins[0].mesh == obj
    bpy.ops.object.mode_set(mode="OBJECT")
    select(armature, obj)
    bpy.ops.object.duplicate()
    copy = next(other for other in bpy.context.selected_objects if other.type == "ARMATURE")
    assert copy != armature
    assert settings_of(copy).pins[0].mesh not in (obj, None)


def test_a_pin_on_a_hidden_mesh_sleeps_and_one_whose_mesh_is_gone_is_left_alone():
    obj, armature = add_posed_tube()
    other, layer = add_twin(obj), bpy.context.view_layer
    pin(other, find_vertex(other, (0.0, 2.0, 0.35)))
    other.hide_set(True)
    assert locate_pins(armature, layer, layer.depsgraph) == []
    assert drag(obj, find_vertex(obj, TIP), (-0.4, -0.2, 0.0)) <= NEAR
    other.hide_set(False)
    update()
    assert len(locate_pins(armature, layer, layer.depsgraph)) == 1
    bpy.data.objects.remove(other)
    update()
    assert drag(obj, find_vertex(obj, (0.0, 3.0, 0.35)), (-0.3, -0.3, 0.0)) <= NEAR
    assert bpy.ops.supple.clear_pins() == {"FINISHED"}
    assert len(settings_of(armature).pins) == 0


def test_a_skin_that_does_not_follow_its_bones_lets_nothing_run_away():
    obj, armature = add_posed_tube()
    obj.modifiers[0].show_viewport = False
    update()
    drag(obj, find_vertex(obj, TIP), (-0.4, -0.2, 0.0))
    tip = armature.pose.bones["bone.3"].tail
    assert np.linalg.norm(np.array(tip) - (0.0, LENGTH, 0.0)) < 1.0


def bend_between(armature: bpy.types.Object, above: str, below: str) -> Matrix:
    """How a bone is rotated against another since rest, shape (3, 3), armature space at rest."""
    turned = []
    for name in (above, below):
        rest = armature.data.bones[name].matrix_local.to_3x3()
        turned.append(armature.pose.bones[name].matrix.to_3x3() @ rest.inverted())
    return turned[0].inverted() @ turned[1]


def test_elbows_and_knees_bend_to_their_side_and_a_dragged_hand_turns_with_its_forearm(asset, subtests):
    """The person looks to -Y: what pulls a hand or a foot to the body bends elbow and knee, whatever the direction."""
    open_file(asset("human"))
    armature = next(obj for obj in bpy.data.objects if obj.type == "ARMATURE")
    armature.animation_data_clear()
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    rig = find_rig_of(armature)
    assert rig is not None
    body = body_of_rig(rig, read_rest_bones(armature))
    limbs = {"hand": ("upper_arm", "forearm"), "foot": ("thigh", "shin")}
    for (end, (upper, lower)), holds in product(limbs.items(), (False, True)):
        hand, below = (rig.bones[part, "LEFT"][0] for part in (end, lower))
        above = armature.data.bones[below].parent.name
        limb, forearm = body.limbs[upper, "LEFT"], body.limbs[lower, "LEFT"]
        wrists = []
        for direction in ((0.7, 0.0, 0.7), (-0.6, 0.7, 0.3), (0.3, -0.8, 0.4), (-0.8, 0.3, -0.4), (0.0, 0.5, 0.9)):
            with subtests.test(f"{end} {direction}, held: {holds}"):
                relax(armature)
                point = armature.matrix_world @ armature.pose.bones[hand].tail
                if holds:
                    bpy.ops.supple.drag_skin(action="PIN", point=point, hold_rotation=True)
                target = point + 0.3 * body.stature * Vector(direction)
                bpy.ops.supple.drag_skin(point=point, target=target, move_root="OFF")
                if holds:
                    bpy.ops.supple.clear_pins()
                update()
                along = np.array(bend_between(armature, above, below)) @ forearm.along
                assert np.degrees(np.arctan2(along @ limb.bend, along @ limb.along)) > -5.5
                wrists.append(np.degrees(bend_between(armature, below, hand).to_quaternion().angle))
        assert max(wrists) > 30.0 if holds else max(wrists) < 30.0, wrists
