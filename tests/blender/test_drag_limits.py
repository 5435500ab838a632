"""What holds bones while the skin is dragged: locks, limits, constraints, drivers; mirror and keys."""

import bpy
import numpy as np
import pytest
from scenes_drag import TIP, add_posed_tube, drag, find_vertex, list_changed, locate, pin, read_pose, relax
from scenes_state import refuse

from scenes import add_object, add_tube, edit_bones, link, load, reset, save, select, update
from supple.bridge.animation.curves import list_curves
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")

OFFSET = (-1.2, -0.9, 0.5)


def test_locked_axes_do_not_rotate():
    obj, armature = add_posed_tube()
    bones = armature.pose.bones
    for bone in bones:
        bone.rotation_mode = "XYZ"
        bone.rotation_euler = (0.1, 0.2, 0.05)
    bones["bone.1"].lock_rotation = (True, True, True)
    bones["bone.2"].lock_rotation = (True, True, False)
    update()
    before = read_pose(armature)
    drag(obj, find_vertex(obj, TIP), OFFSET)
    assert list_changed(armature, before) == ["bone.2", "bone.3"]
    assert armature.animation_data is None  # nothing is keyed without auto keying
    assert tuple(bones["bone.2"].rotation_euler)[:2] == pytest.approx((0.1, 0.2), abs=1e-5)
    assert abs(bones["bone.2"].rotation_euler[2] - 0.05) > 0.1


def test_limit_rotation_in_local_space_is_respected(subtests):
    obj, armature = add_posed_tube()
    bones, tip = armature.pose.bones, find_vertex(obj, TIP)
    for bone in bones:
        limit = bone.constraints.new("LIMIT_ROTATION")
        limit.owner_space = "LOCAL"
        for axis, low, high in (("x", -0.1, 0.2), ("y", 0.0, 0.0), ("z", -0.05, 0.3)):
            setattr(limit, f"use_limit_{axis}", True)
            setattr(limit, f"min_{axis}", low)
            setattr(limit, f"max_{axis}", high)
    for order in ("XYZ", "ZYX", "YXZ"):
        with subtests.test(order):
            relax(armature, order)
            drag(obj, tip, OFFSET)
            angles = np.array([bone.rotation_euler for bone in bones])
            assert (angles >= np.array((-0.1, 0.0, -0.05)) - 1e-4).all()
            assert (angles <= np.array((0.2, 0.0, 0.3)) + 1e-4).all()
            assert (angles[:, 2] > 0.29).any()
            shown = []
            for is_mute in (True, False):  # the constraint finds nothing to do
                for bone in bones:
                    bone.constraints[0].mute = is_mute
                shown.append(locate(obj, tip))
            assert np.allclose(*shown, atol=1e-3)


def test_limits_and_locks_of_the_ik_panel_are_respected():
    obj, armature = add_posed_tube()
    for bone in armature.pose.bones:
        bone.rotation_mode = "YXZ"
        bone.lock_ik_x = bone.lock_ik_y = True
        bone.use_ik_limit_z, bone.ik_min_z, bone.ik_max_z = True, -0.1, 0.25
    update()
    drag(obj, find_vertex(obj, TIP), OFFSET)
    angles = np.array([bone.rotation_euler for bone in armature.pose.bones])
    assert np.abs(angles[:, :2]).max() < 1e-4
    assert angles[:, 2].max() == pytest.approx(0.25, abs=1e-3)


def add_empty() -> bpy.types.Object:
    empty = add_object("Empty")
    empty.location = (1.0, 2.0, 3.0)
    return empty


def test_a_bone_that_something_else_rotates_is_left_alone(subtests):
    obj, armature = add_posed_tube()
    bone, empty, tip = armature.pose.bones["bone.2"], add_empty(), find_vertex(obj, TIP)
    for kind in ("COPY_ROTATION", "DAMPED_TRACK", "WORLD", "DRIVER"):
        with subtests.test(kind):
            for constraint in list(bone.constraints):
                bone.constraints.remove(constraint)
            relax(armature)
            if kind == "DRIVER":
                bone.driver_add("rotation_quaternion", 1).driver.expression = "0.2"
            elif kind == "WORLD":
                limit = bone.constraints.new("LIMIT_ROTATION")
                limit.owner_space, limit.use_limit_z, limit.max_z = "WORLD", True, 1.0
            else:
                bone.constraints.new(kind).target = empty
            update()
            before = read_pose(armature)
            drag(obj, tip, OFFSET)
            assert list_changed(armature, before) == ["bone.1", "bone.3"]


def test_constraints_that_do_nothing_hold_nothing():
    obj, armature = add_posed_tube()
    bones = armature.pose.bones
    bones["bone.1"].constraints.new("COPY_ROTATION").target = add_empty()
    bones["bone.1"].constraints[0].mute = True
    bones["bone.2"].constraints.new("COPY_TRANSFORMS").target = add_empty()
    bones["bone.2"].constraints[0].influence = 0.0
    bones["bone.3"].constraints.new("COPY_ROTATION")  # of nothing
    update()
    before = read_pose(armature)
    drag(obj, find_vertex(obj, TIP), OFFSET)
    assert list_changed(armature, before) == ["bone.1", "bone.2", "bone.3"]


def test_bones_of_blenders_ik_are_left_alone():
    obj, armature = add_posed_tube()
    ik = armature.pose.bones["bone.3"].constraints.new("IK")
    ik.target, ik.chain_count = add_empty(), 2
    update()
    before = read_pose(armature)
    start = locate(obj, find_vertex(obj, (0.0, 1.4, 0.35)))
    bpy.ops.supple.drag_skin(point=start, target=start + np.array((-0.3, -0.1, 0.2)))
    assert {"bone.2", "bone.3"}.isdisjoint(list_changed(armature, before))
    refuse(
        "No bone that moves this point is free",
        lambda: bpy.ops.supple.drag_skin(
            point=locate(obj, find_vertex(obj, TIP)), target=(0.0, 3.0, 1.0), move_root="OFF"
        ),
    )


def test_a_rig_that_is_all_held_says_so(subtests):
    obj, armature = add_posed_tube()
    for bone in armature.pose.bones:
        bone.lock_rotation = bone.lock_location = (True, True, True)
    tip = locate(obj, find_vertex(obj, TIP))
    for solver in ("ENERGY", "CHAIN"):
        with subtests.test(solver):
            message = "(is free|can rotate): unlock a bone, or pose with the controls of the rig"
            refuse(message, bpy.ops.supple.drag_skin, point=tip, target=(0.0, 3.0, 1.0), solver=solver)


def add_forked() -> tuple[bpy.types.Object, bpy.types.Object]:
    """A tube whose last bones are a left and a right one, the right one mirrored."""
    obj, armature = add_tube(bones=2, rings=31, sides=16, length=2.0, radius=0.3)

    def fork(bones):
        for side, sign in (("L", 1.0), ("R", -1.0)):
            for part in (1, 2):
                bone = bones.new(f"arm{part}.{side}")
                bone.head, bone.tail = (sign * (part - 1), 2.0, 0.0), (sign * part, 2.0, 0.0)
                bone.parent = bones[f"arm1.{side}"] if part == 2 else bones["bone.1"]
                bone.roll = sign * 0.3

    edit_bones(armature, fork)
    mesh = obj.data
    for side, sign in (("L", 1.0), ("R", -1.0)):
        first = len(mesh.vertices)
        mesh.vertices.add(8)
        for index in range(8):
            x = sign * (0.05 + 1.9 * (index // 2) / 3)
            mesh.vertices[first + index].co = (x, 2.0 + 0.2 * (index % 2), 0.0)
        for part in (1, 2):
            group = obj.vertex_groups.new(name=f"arm{part}.{side}")
            group.add(list(range(first + 4 * (part - 1), first + 4 * part)), 1.0, "REPLACE")
        made = mesh.loops, mesh.polygons, len(mesh.loops), len(mesh.polygons)
        made[0].add(12)
        made[1].add(3)
        for face in range(3):
            mesh.polygons[made[3] + face].loop_start = made[2] + 4 * face
            corners = [first + 2 * face + corner for corner in (0, 2, 3, 1)]
            for corner, vertex in enumerate(corners):
                mesh.loops[made[2] + 4 * face + corner].vertex_index = vertex
    mesh.update(calc_edges=True)
    mesh.validate()
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    return obj, armature


@pytest.mark.versions
def test_x_mirror_poses_the_other_side(subtests):
    obj, armature = add_forked()
    bones = armature.pose.bones
    bones["bone.0"].lock_rotation = bones["bone.1"].lock_rotation = (True, True, True)
    left, right = find_vertex(obj, (1.95, 2.0, 0.0)), find_vertex(obj, (-1.95, 2.0, 0.0))
    for mode in ("QUATERNION", "XYZ"):
        with subtests.test(mode):
            relax(armature, mode)
            armature.pose.use_mirror_x = True
            assert drag(obj, left, (-0.5, 0.3, 0.4)) < 0.02
            mirrored = locate(obj, left) * (-1.0, 1.0, 1.0)
            assert np.allclose(locate(obj, right), mirrored, atol=1e-4)
            armature.pose.use_mirror_x = False
            before = locate(obj, right)
            drag(obj, left, (0.1, 0.1, 0.0))
            assert np.allclose(locate(obj, right), before, atol=1e-5)


def list_keyed(armature: bpy.types.Object, frame: int) -> set[str]:
    """Data paths that have a key at a frame."""
    curves = list_curves(armature)
    return {curve.data_path for curve in curves if any(key.co[0] == frame for key in curve.keyframe_points)}


@pytest.fixture
def auto_keying():
    """Auto keying is on, and makes channels where there are none."""
    edit = bpy.context.preferences.edit
    before = edit.use_keyframe_insert_available
    edit.use_keyframe_insert_available = False
    bpy.context.scene.tool_settings.use_keyframe_insert_auto = True
    bpy.context.scene.frame_set(7)
    yield
    edit.use_keyframe_insert_available = before


@pytest.mark.versions
@pytest.mark.usefixtures("auto_keying")
def test_auto_keying_keys_what_has_changed():
    obj, armature = add_posed_tube()
    root, tip = armature.pose.bones["bone.0"], find_vertex(obj, TIP)
    root.lock_rotation = (True, True, True)
    armature.pose.bones["bone.3"].rotation_mode = "XYZ"
    drag(obj, tip, (-0.5, -0.4, 0.1))
    channels = {"bone.1": "rotation_quaternion", "bone.2": "rotation_quaternion", "bone.3": "rotation_euler"}
    assert list_keyed(armature, 7) == {f'pose.bones["{name}"].{channel}' for name, channel in channels.items()}
    after = read_pose(armature)
    bpy.context.scene.frame_set(8)
    assert read_pose(armature) == after
    root.lock_rotation = (False, False, False)
    drag(obj, tip, (0.5, 1.5, 0.1), move_root="ON")
    keyed = list_keyed(armature, 8)
    assert 'pose.bones["bone.0"].location' in keyed  # of what has moved
    assert 'pose.bones["bone.1"].location' not in keyed


@pytest.mark.usefixtures("auto_keying")
def test_auto_keying_keeps_to_the_active_keying_set_and_to_channels_that_are_there():
    obj, armature = add_posed_tube()
    scene = bpy.context.scene
    scene.tool_settings.use_keyframe_insert_keyingset = True
    scene.keying_sets_all.active = scene.keying_sets_all["Location"]
    drag(obj, find_vertex(obj, TIP), (-0.5, -0.4, 0.1))
    assert armature.animation_data is None or armature.animation_data.action is None
    scene.tool_settings.use_keyframe_insert_keyingset = False
    bpy.context.preferences.edit.use_keyframe_insert_available = True
    armature.pose.bones["bone.2"].keyframe_insert("rotation_quaternion", frame=1)
    drag(obj, find_vertex(obj, TIP), (0.4, 0.1, 0.1))
    assert list_keyed(armature, 7) == {'pose.bones["bone.2"].rotation_quaternion'}


@pytest.mark.versions
def test_a_linked_armature_is_refused_and_its_override_is_not(tmp_path):
    add_posed_tube()
    bpy.ops.object.mode_set(mode="OBJECT")
    path = save(tmp_path / "library.blend")
    reset()
    tube, armature = load(path, "Tube", "Rig")
    select(armature)
    refuse("go to Pose Mode first", bpy.ops.supple.drag_skin, point=TIP, target=(0.0, 3.0, 1.0))
    override = armature.override_create(remap_local_usages=False)
    mesh = tube.override_create(remap_local_usages=False)
    mesh.modifiers[0].object = override
    for obj in (override, mesh):
        link(obj)
    for obj in (tube, armature):
        bpy.context.scene.collection.objects.unlink(obj)
    select(override)
    bpy.ops.object.mode_set(mode="POSE")
    update()
    assert drag(mesh, find_vertex(mesh, TIP), (-0.4, -0.3, 0.1)) < 0.02
    pin(mesh, find_vertex(mesh, TIP))
    assert settings_of(override).pins[0].mesh == mesh
