"""Fractions of joints by nodes: as Python has them, asked for their twists by drivers, and only where there are any."""

from __future__ import annotations

from collections.abc import Callable
from math import radians, tau
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_methods import NODE_BLENDS, choose, parametrize_blends, without_limits
from scenes_nodes import TOLERANCE

from scenes import (
    add_tube,
    add_twin,
    armature_modifier,
    bind,
    distance,
    evaluated_points,
    frames_of,
    longest_action,
    play,
    points_at,
    push,
    reset,
    rest_points,
    save,
    select,
    skinned_meshes,
    supple_modifier,
    turn,
    undo,
    update,
)
from supple.bridge.joints import is_joints_object
from supple.bridge.modifiers import read_input
from supple.deformers import METHODS
from supple.nodes.fractions import FRACTION
from supple.nodes.skin import JOINTS_INPUT
from supple.settings.objects import settings_of

pytestmark = [pytest.mark.usefixtures("silent_handlers", "built_groups")]
every_method = parametrize_blends(NODE_BLENDS)
MIDDLE, LAST = "bone.1", "bone.2"


def bound_both(
    method: str = "DLBNT", params: Any = None, twist: str = "3", dress: Callable = lambda obj: None, group: str = ""
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """A tube bound by nodes, its armature, and a twin bound by Python."""
    obj, armature = add_tube()
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
    dress(obj)
    twin = add_twin(obj)
    twin.name = "Twin"
    for one in (obj, twin):
        choose(one, method, params or METHODS[method].params())
        settings_of(one).twist, settings_of(one).linear_group = twist, group
    bind(twin, method=method, evaluate="PYTHON")
    bind(obj, method=method, evaluate="NODES")
    return obj, armature, twin


def strike(armature: bpy.types.Object, degrees: float, scale: tuple[float, float, float] = (1, 1, 1)) -> None:
    """Bend and twist the last two bones, by more than half a turn perhaps."""
    turn(armature, MIDDLE, (0.6, radians(degrees), 0.2), scale)
    turn(armature, LAST, (0.4, radians(-0.7 * degrees), 0.0))


def assert_alike(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    update()
    assert [settings_of(one).message for one in (obj, twin)] == ["", ""]
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.01


def joints_of(obj: bpy.types.Object) -> bpy.types.Object:
    return read_input(supple_modifier(obj), JOINTS_INPUT)


def drivers_of(obj: bpy.types.Object) -> list[bpy.types.FCurve]:
    data = joints_of(obj).animation_data
    return [] if data is None else list(data.drivers)


def in_turns(points: np.ndarray, obj: bpy.types.Object) -> np.ndarray:
    """How far each ring of an unbent tube is twisted on from the one before, from the first, in turns."""
    rings = points.reshape(31, 16, 3)
    angles = np.arctan2(rings[:, 0, 2], rings[:, 0, 0])
    return np.unwrap(angles) / tau


# As Python has them


@every_method
@pytest.mark.parametrize("scale", [(1, 1, 1), (1.3, 0.8, 1.1), (-1.1, 0.9, 1)], ids=["rigid", "stretched", "mirrored"])
@pytest.mark.parametrize("degrees", [100, -520])
def test_as_by_python(degrees, scale, method, params):
    obj, armature, twin = bound_both(method, params)
    strike(armature, degrees, scale)
    assert_alike(obj, twin)
    assert FRACTION in joints_of(obj).data.attributes


@every_method
def test_a_twist_that_is_spread(method, params):
    obj, armature, twin = bound_both(method, params, "OFF")
    armature.data.bones[LAST].supple.spread_twist = "ON"
    strike(armature, 170, (1.2, 1.0, 0.9))
    assert_alike(obj, twin)
    assert FRACTION in joints_of(obj).data.attributes


def linear_group(obj: bpy.types.Object) -> None:
    group = obj.vertex_groups.new(name="linear")
    for vertex in range(0, len(obj.data.vertices), 2):
        group.add([vertex], (vertex % 14) / 12, "REPLACE")


def strength_group(obj: bpy.types.Object) -> None:
    linear_group(obj)
    armature_modifier(obj).vertex_group = "linear"


def cast_above(obj: bpy.types.Object) -> None:
    obj.modifiers.new("Round", "CAST").factor = 0.3
    obj.modifiers.move(1, 0)


def b_bone(obj: bpy.types.Object) -> None:
    armature_modifier(obj).object.data.bones["bone.0"].bbone_segments = 3
    update()


def apart(obj: bpy.types.Object) -> None:
    obj.location, obj.scale = (0.4, 0.0, 0.1), (1.2, 0.8, 1.0)
    update()


@every_method
@pytest.mark.parametrize("dress", [linear_group, strength_group, cast_above, b_bone, apart])
def test_groups_modifiers_and_segments(dress, method, params):
    if dress is cast_above:
        params = without_limits(params)
    obj, armature, twin = bound_both(method, params, "4", dress, "linear" if dress is linear_group else "")
    strike(armature, 250, (1.1, 0.9, 1.0))
    assert_alike(obj, twin)


@every_method
def test_vertices_that_modifiers_above_add_are_between_their_neighbors(method, params):
    """Nodes average what vertices follow; Python would refuse."""
    plain, armature, _ = bound_both(method, without_limits(params))
    divided = add_twin(plain)
    bpy.data.objects.remove(bpy.data.objects["Twin"])
    divided.modifiers.new("Divided", "SUBSURF").levels = 1
    divided.modifiers["Divided"].subdivision_type = "SIMPLE"
    divided.modifiers.move(len(divided.modifiers) - 1, 0)
    settings_of(divided).twist = "2"
    strike(armature, 60)
    update()
    assert settings_of(divided).message == ""
    few, many = evaluated_points(plain), evaluated_points(divided)
    assert distance(few, many[: len(few)]) < 0.02
    edges = np.array([edge.vertices[:] for edge in plain.data.edges])
    assert np.linalg.norm(many[len(few) : len(few) + len(edges)] - few[edges].mean(axis=1), axis=1).max() < 0.2


# What asks for twists


def by_euler(bone: bpy.types.PoseBone, turns: float) -> None:
    bone.rotation_mode, bone.rotation_euler = "YZX", (0.0, turns * tau, 0.0)


def by_axis_angle(bone: bpy.types.PoseBone, turns: float) -> None:
    bone.rotation_mode, bone.rotation_axis_angle = "AXIS_ANGLE", (turns * tau, 0.0, 0.5, 0.0)


def by_property(bone: bpy.types.PoseBone, turns: float) -> None:
    bone.rotation_mode = "QUATERNION"
    bone["supple_turns"] = turns + 0.3
    bone.rotation_quaternion = np.cos(turns * tau / 2), 0.0, np.sin(turns * tau / 2), 0.0


WAYS = [by_euler, by_axis_angle, by_property]


@pytest.mark.parametrize("ask", WAYS)
@pytest.mark.parametrize("turns", [0.9, -1.4])
def test_twists_are_asked_for_by_drivers_without_python(turns, ask):
    obj, armature, twin = bound_both(twist="OFF")
    armature.data.bones[LAST].supple.has_twist, armature.data.bones[LAST].supple.twist = True, "4"
    ask(armature.pose.bones[LAST], turns)
    armature.update_tag()
    assert_alike(obj, twin)
    assert in_turns(evaluated_points(obj), obj)[-1] == pytest.approx(-turns, abs=1e-3)
    (curve,) = drivers_of(obj)
    assert curve.driver.is_simple_expression
    assert curve.driver.is_valid


def test_what_asks_may_change():
    """Another mode of rotation, a property that comes and goes: the drivers follow."""
    obj, armature, twin = bound_both()
    bone = armature.pose.bones[LAST]
    for ask in (*WAYS, *WAYS[::-1]):
        bone.pop("supple_turns", None)
        ask(bone, 0.8)
        armature.update_tag()
        assert_alike(obj, twin)
        assert in_turns(evaluated_points(obj), obj)[-1] == pytest.approx(-0.8, abs=1e-3)
    bone.pop("supple_turns", None)
    bone.rotation_mode, bone.rotation_quaternion = "QUATERNION", (np.cos(0.8 * np.pi), 0, np.sin(0.8 * np.pi), 0)
    armature.update_tag()
    assert_alike(obj, twin)
    assert in_turns(evaluated_points(obj), obj)[-1] == pytest.approx(0.2, abs=1e-3)


def animate(armature: bpy.types.Object) -> None:
    """Each bone by another way: Euler angles, axis and angle, the property."""
    names = armature.pose.bones.keys()
    for frame, turns in ((1, 0.0), (8, 1.6)):
        for name, ask in zip(names, WAYS, strict=True):
            bone = armature.pose.bones[name]
            ask(bone, turns * (-1 if name == MIDDLE else 1))
            for path in ("rotation_euler", "rotation_axis_angle", "rotation_quaternion"):
                bone.keyframe_insert(path, frame=frame)
            if "supple_turns" in bone:
                bone.keyframe_insert('["supple_turns"]', frame=frame)
    update()


@pytest.mark.parametrize("twist", ["AUTO", "5"])
def test_played(twist):
    obj, armature, twin = bound_both(twist=twist)
    animate(armature)
    for frame in (2, 7, 4, 8, 1.5):
        assert distance(points_at(twin, frame), evaluated_points(obj)) <= TOLERANCE
    assert len(drivers_of(obj)) == 2  # the root twists against nothing


def test_a_bone_is_renamed():
    obj, armature, twin = bound_both()
    armature.data.bones[LAST].name = 'It\'s a "hand"'
    turn(armature, 'It\'s a "hand"', (0.1, 1.3 * tau, 0.0))
    assert_alike(obj, twin)


# Only where there are any


def test_nothing_is_added_without_fractions():
    obj, armature, _ = bound_both(twist="OFF")
    assert "Fractions" not in joints_of(obj).modifiers["Supple"].node_group.name
    assert FRACTION not in joints_of(obj).data.attributes
    assert joints_of(obj).animation_data is None
    plain = len(joints_of(obj).data.vertices)
    settings_of(obj).twist = "3"
    turn(armature, LAST, (0.0, 2.0, 0.0))
    assert len(joints_of(obj).data.vertices) > plain
    settings_of(obj).twist = "OFF"
    update()
    assert len(joints_of(obj).data.vertices) == plain
    assert len([one for one in bpy.data.objects if is_joints_object(one)]) == 1


def test_undo_of_another_number():
    obj, armature, twin = bound_both()
    strike(armature, 200)
    push("before")
    for name in ("Tube", "Twin"):
        settings_of(bpy.data.objects[name]).twist = "5"
    update()
    push("after")
    changed = evaluated_points(obj)
    undo()
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert settings_of(obj).twist == "3"
    assert_alike(obj, twin)
    assert distance(changed, evaluated_points(obj)) > 1e-4


# Several objects, and files


def test_meshes_of_one_armature_may_differ():
    first, armature, first_twin = bound_both(twist="2")
    second, second_twin = add_twin(first), add_twin(first_twin)
    for one in (second, second_twin):
        settings_of(one).twist = "5"
    strike(armature, 300)
    assert_alike(first, first_twin)
    assert_alike(second, second_twin)
    assert joints_of(first) != joints_of(second)


def test_armatures_that_share_a_mesh_have_the_same_fractions():
    """Linked duplicates: by all their actions together, as the influences are those of the mesh."""
    obj, armature, twin = bound_both(twist="AUTO")
    other, copy = armature.copy(), obj.copy()
    for new in (other, copy):
        bpy.context.scene.collection.objects.link(new)
    armature_modifier(copy).object = other
    strike(armature, 30)
    strike(other, 400)
    update()
    assert [settings_of(one).message for one in (obj, copy)] == ["", ""]
    assert joints_of(obj) != joints_of(copy)
    assert joints_of(obj).data == joints_of(copy).data
    assert FRACTION in joints_of(obj).data.attributes
    armature_modifier(twin).object = other
    assert_alike(copy, twin)


def test_objects_that_share_a_mesh_and_not_its_twist():
    obj, armature, twin = bound_both(twist="2")
    copy = obj.copy()
    bpy.context.scene.collection.objects.link(copy)
    settings_of(copy).twist = "4"
    assert "another Twist" in settings_of(copy).evaluate_problem
    assert settings_of(copy).evaluate == "PYTHON"
    assert settings_of(obj).evaluate == "NODES"
    strike(armature, 100)
    assert_alike(obj, twin)


def test_saved_and_opened_again(tmp_path):
    obj, armature, _ = bound_both()
    animate(armature)
    expected = points_at(obj, 7)
    save(tmp_path / "bound.blend")
    reset()
    bpy.ops.wm.open_mainfile(filepath=str(tmp_path / "bound.blend"))
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert distance(points_at(obj, 7), expected) <= 1e-6
    for frame in (3, 8):
        assert distance(points_at(twin, frame), evaluated_points(obj)) <= TOLERANCE


def override(path: Path) -> bpy.types.Object:
    with bpy.data.libraries.load(str(path), link=True) as (_, wanted):
        wanted.objects = ["Tube", "Rig"]
    rig, tube = bpy.data.objects["Rig"], bpy.data.objects["Tube"]
    copies = {}
    for linked in (rig, tube):
        copies[linked] = linked.override_create(remap_local_usages=True)
        bpy.context.scene.collection.objects.link(copies[linked])
    armature_modifier(copies[tube]).object = copies[rig]
    update()
    return copies[tube]


def test_an_override_asks_its_own_armature(tmp_path):
    _, armature, _ = bound_both()
    save(tmp_path / "library.blend")
    turn(armature, LAST, (0.1, 0.9 * tau, 0.0))
    expected = evaluated_points(bpy.data.objects["Twin"])
    reset()
    obj = override(tmp_path / "library.blend")
    own = armature_modifier(obj).object
    assert {target.id for curve in drivers_of(obj) for v in curve.driver.variables for target in v.targets} == {own}
    turn(own, LAST, (0.1, 0.9 * tau, 0.0))
    assert settings_of(obj).message == ""
    assert distance(evaluated_points(obj), expected) <= TOLERANCE


# Real characters


@pytest.mark.parametrize("method", ["DLBNT", "CENTERS"])
def test_a_real_character(asset, method):
    bpy.ops.wm.open_mainfile(filepath=str(asset("mh_human")))
    meshes, action = skinned_meshes(), longest_action()
    armature = armature_modifier(meshes[0]).object
    play(armature, action)
    frames, points = frames_of(action), {}
    for evaluate in ("PYTHON", "NODES"):
        for obj in meshes:
            settings_of(obj).twist = "AUTO"
        bind(*meshes, method=method, evaluate=evaluate)
        for frame in frames:
            bpy.context.scene.frame_set(frame)
            points[evaluate, frame] = [evaluated_points(obj) for obj in meshes]
    assert FRACTION in joints_of(meshes[0]).data.attributes
    for frame in frames:
        for expected, actual in zip(points["PYTHON", frame], points["NODES", frame], strict=True):
            assert distance(expected, actual) <= TOLERANCE, frame


def test_make_independent_keeps_the_drivers(tmp_path):
    obj, armature, twin = bound_both()
    select(obj)
    bpy.ops.supple.make_independent()
    strike(armature, 400)
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE
