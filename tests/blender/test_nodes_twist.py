"""Fractions of joints by nodes: as Python has them, asked for their twists by drivers, and only where there are any."""

from __future__ import annotations

from collections.abc import Callable
from math import radians, tau
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bind import fade, plain, with_cast_above, with_modifier_group
from scenes_methods import NODE_BLENDS, name_of, parametrize_blends, without_limits
from scenes_nodes import assert_alike, bind_both, joints_of

from scenes import (
    TOLERANCE,
    add_tube,
    add_twin,
    armature_modifier,
    clear,
    distance,
    evaluated_points,
    points_at,
    push,
    redo,
    reset,
    save,
    select,
    turn,
    undo,
    update,
)
from supple.bridge.rigs.joints import is_joints_object
from supple.nodes.fractions import FRACTION
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups", "nodes_alone")
every_method = parametrize_blends(NODE_BLENDS)
MIDDLE, LAST = "bone.1", "bone.2"


def bound_both(
    method: str = "DLBNT", params: Any = None, twist: str = "3", dress: Callable = plain
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """A tube bound by nodes, its armature, and a twin bound by Python."""
    obj, armature = add_tube()
    for bone in armature.pose.bones:
        bone.rotation_mode = "XYZ"
    dress(obj, armature)
    return obj, armature, bind_both(obj, method, params, twist=twist)


def strike(armature: bpy.types.Object, degrees: float, scale: tuple[float, float, float] = (1, 1, 1)) -> None:
    """Bend and twist the last two bones, by more than half a turn perhaps."""
    turn(armature, MIDDLE, (0.6, radians(degrees), 0.2), scale)
    turn(armature, LAST, (0.4, radians(-0.7 * degrees), 0.0))


def drivers_of(obj: bpy.types.Object) -> list[bpy.types.FCurve]:
    data = joints_of(obj).animation_data
    return [] if data is None else list(data.drivers)


def in_turns(points: np.ndarray, obj: bpy.types.Object) -> np.ndarray:
    """How far each ring of an unbent tube is twisted on from the one before, from the first, in turns."""
    rings = points.reshape(31, 16, 3)
    angles = np.arctan2(rings[:, 0, 2], rings[:, 0, 0])
    return np.unwrap(angles) / tau


# As Python has them


@pytest.mark.versions
@every_method
def test_as_by_python(method: str, params: Any, subtests: pytest.Subtests):
    obj, armature, twin = bound_both(method, params)
    for degrees in (100, -520):
        for scale in ((1, 1, 1), (1.3, 0.8, 1.1), (-1.1, 0.9, 1)):
            with subtests.test(degrees=degrees, scale=scale):
                strike(armature, degrees, scale)
                assert_alike(obj, twin)
                assert FRACTION in joints_of(obj).data.attributes


def with_a_b_bone(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.0"].bbone_segments = 3
    update()


def apart(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    obj.location, obj.scale = (0.4, 0.0, 0.1), (1.2, 0.8, 1.0)
    update()


@every_method
def test_groups_modifiers_and_segments(method: str, params: Any, subtests: pytest.Subtests):
    for dress in (with_modifier_group, with_cast_above, with_a_b_bone, apart):
        with subtests.test(dress.__name__):
            clear()
            chosen = without_limits(params) if dress is with_cast_above else params
            obj, armature, twin = bound_both(method, chosen, "4", dress)
            strike(armature, 250, (1.1, 0.9, 1.0))
            assert_alike(obj, twin)
            for one in (obj, twin):
                fade(one, "linear")
                settings_of(one).linear_group = "linear"
            assert_alike(obj, twin)


def test_vertices_that_modifiers_above_add_are_between_their_neighbors(subtests: pytest.Subtests):
    """Nodes average what vertices follow; Python would refuse."""
    for method, params in NODE_BLENDS:
        with subtests.test(name_of(method, params)):
            clear()
            plain, armature, twin = bound_both(method, without_limits(params))
            divided = add_twin(plain)
            bpy.data.objects.remove(twin)
            divided.modifiers.new("Divided", "SUBSURF").levels = 1
            divided.modifiers["Divided"].subdivision_type = "SIMPLE"
            divided.modifiers.move(len(divided.modifiers) - 1, 0)
            settings_of(divided).twist = "2"
            strike(armature, 60)
            update()
            assert settings_of(divided).message == ""
            few, many = evaluated_points(plain), evaluated_points(divided)
            assert distance(few, many[: len(few)]) < 0.02
            ends = few[np.array([edge.vertices[:] for edge in plain.data.edges])]
            assert np.linalg.norm(many[len(few) :][: len(ends)] - ends.mean(axis=1), axis=1).max() < 0.2


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


@pytest.mark.versions
def test_twists_are_asked_for_by_drivers_without_python(subtests: pytest.Subtests):
    """Another mode of rotation, a property that comes and goes: the drivers follow."""
    obj, armature, twin = bound_both(twist="OFF")
    armature.data.bones[LAST].supple.has_twist, armature.data.bones[LAST].supple.twist = True, "4"
    bone = armature.pose.bones[LAST]
    for ask, turns in zip((*WAYS, *WAYS[::-1]), (0.9, -1.4, 0.8, -1.4, 0.9, -0.7), strict=True):
        with subtests.test(ask.__name__, turns=turns):
            bone.pop("supple_turns", None)
            ask(bone, turns)
            armature.update_tag()
            assert_alike(obj, twin)
            assert in_turns(evaluated_points(obj), obj)[-1] == pytest.approx(-turns, abs=1e-3)
            (curve,) = drivers_of(obj)
            assert curve.driver.is_simple_expression
            assert curve.driver.is_valid
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


def test_played(subtests: pytest.Subtests):
    for twist in ("AUTO", "5"):
        clear()
        obj, armature, twin = bound_both(twist=twist)
        animate(armature)
        for frame in (2, 7, 4, 8, 1.5):
            with subtests.test(twist=twist, frame=frame):
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


def test_undo_and_redo_of_another_number():
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
    redo()
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert settings_of(obj).twist == "5"
    assert_alike(obj, twin)
    assert distance(changed, evaluated_points(obj)) < 1e-6


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
    assert "a different Twist" in settings_of(copy).evaluate_problem
    assert settings_of(copy).evaluate == "PYTHON"
    assert settings_of(obj).evaluate == "NODES"
    strike(armature, 100)
    assert_alike(obj, twin)


@pytest.mark.versions
def test_saved_and_opened_again(tmp_path: Path):
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


@pytest.mark.versions
def test_an_override_asks_its_own_armature(tmp_path: Path):
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


def test_make_independent_keeps_the_drivers():
    obj, armature, twin = bound_both()
    select(obj)
    bpy.ops.supple.make_independent()
    strike(armature, 400)
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE
