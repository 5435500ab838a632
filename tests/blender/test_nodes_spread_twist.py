"""Spread Twist by nodes: as Python turns the skin, told how far joints twist by drivers that need no Python."""

from __future__ import annotations

from math import radians
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bind import fade, with_cast_above, with_modifier_group
from scenes_methods import NODE_BLENDS, name_of, parametrize_blends, without_limits
from scenes_nodes import assert_alike, joints_of
from scenes_twist import (
    LAST,
    MIDDLE,
    apart,
    assert_kept_in_file,
    bound_both,
    by_axis_angle,
    by_euler,
    by_property,
    by_quaternion,
    give,
    in_a_scaled_rig,
    key_twists,
    list_drivers,
    list_driving,
    mirrored,
    override_tube,
    spread,
    twist,
    with_a_crooked_bone,
)

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
    reset,
    save,
    select,
    snapshot,
    supple_modifier,
    turn,
    undo,
    update,
)
from supple.deformers import METHODS
from supple.nodes.fractions import FRACTION
from supple.nodes.groups import is_deformation_by
from supple.nodes.spread_twists import AXIS, SHARE_ATTRIBUTE, TURNS
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups", "nodes_alone")
every_method = parametrize_blends(NODE_BLENDS)
SPREADING = tuple(blend for blend in NODE_BLENDS if blend[0] != "SSD")


def read_twist(obj: bpy.types.Object, number: int = 1) -> float:
    """The twist that nodes spread, degrees, as the joints object of a mesh has it."""
    posed = joints_of(obj).evaluated_get(bpy.context.evaluated_depsgraph_get()).data
    rows = np.empty((len(posed.vertices), 16), np.float32)
    posed.attributes[TURNS].data.foreach_get("value", rows.ravel())
    return float(np.degrees(rows[number, 8]))


# As Python turns the skin


@pytest.mark.versions
@every_method
def test_as_by_python(method: str, params: Any, subtests: pytest.Subtests):
    """On both sides of where what goes through the blend changes its sign, and of half a turn."""
    obj, armature, twin = bound_both(method, params)
    assert (AXIS in joints_of(obj).data.attributes) == (method != "SSD")
    assert FRACTION not in joints_of(obj).data.attributes
    for degrees in (-520, -190, -172.1, -171.9, 90, 171.9, 172.1, 179, 181, 360, 520):
        for swing in (0.0, 60.0, 100.0):
            with subtests.test(degrees=degrees, swing=swing):
                twist(armature, degrees, swing)
                assert_alike(obj, twin)
                if method != "SSD":
                    share = np.clip(1.0 + 2.0 * np.cos(radians(swing)), 0.0, 1.0)
                    assert read_twist(obj) == pytest.approx(share * degrees, abs=2e-2)
    for degrees in (100, 300):
        for scale in ((1.3, 0.8, 1.1), (-1.1, 0.9, 1)):
            with subtests.test(degrees=degrees, scale=scale):
                turn(armature, MIDDLE, (0.5, 0.2, 0.3), scale)
                twist(armature, degrees, 30.0, scale)
                assert_alike(obj, twin)
    with subtests.test("a swing from which on a joint keeps its twist"):
        turn(armature, MIDDLE)
        twist(armature, 40.0, 150.0)
        assert_alike(obj, twin)
        assert method == "SSD" or read_twist(obj) == 0.0


def test_half_a_turn(subtests: pytest.Subtests):
    """Rounding says which way round joints are blended: what is turned at rest makes up for either."""
    for method, params in SPREADING:
        with subtests.test(name_of(method, params)):
            clear()
            obj, armature, _ = bound_both(method, without_limits(params))
            shown = []
            for degrees in (179.9, 180.0, 180.1):
                twist(armature, degrees)
                shown.append(evaluated_points(obj))
            assert max(distance(shown[0], shown[1]), distance(shown[1], shown[2])) < 2e-3


def test_skin_is_turned(subtests: pytest.Subtests):
    """A whole turn shows along the bone, and not at its end."""
    for method, params in SPREADING:
        with subtests.test(name_of(method, params)):
            clear()
            obj, armature, _ = bound_both(method, without_limits(params))
            before = evaluated_points(obj).reshape(31, 16, 3)
            twist(armature, 360)
            rings = evaluated_points(obj).reshape(31, 16, 3)
            moved = np.linalg.norm(rings - before, axis=2).max(axis=1)
            assert moved[[0, 5, 30]] == pytest.approx(0.0, abs=1e-4)
            assert moved[15] > 0.3
            radii = np.linalg.norm(rings - rings.mean(axis=1, keepdims=True), axis=2)
            assert radii.min() > 0.39


@every_method
def test_limbs_below_limbs(method: str, params: Any, subtests: pytest.Subtests):
    """A hand is below the twists of wrist and elbow; with fractions at a joint, too."""
    for turns in ("OFF", "3"):
        clear()
        obj, armature, twin = bound_both(method, params, names=(MIDDLE, LAST), twist=turns)
        for above, below in ((100, 60), (300, -40), (-40, 250), (500, -300)):
            with subtests.test(turns=turns, above=above, below=below):
                twist(armature, above, 20.0, name=MIDDLE)
                twist(armature, below, 40.0, (1.1, 0.9, 1.0))
                assert_alike(obj, twin)


def test_fractions_below_a_twist(subtests: pytest.Subtests):
    for method, params in SPREADING:
        clear()
        obj, armature, twin = bound_both(method, params, names=(MIDDLE,), twist="3")
        assert {AXIS, FRACTION} <= set(joints_of(obj).data.attributes.keys())
        for degrees in (100, 300):
            with subtests.test(name_of(method, params), degrees=degrees):
                twist(armature, degrees, 20.0, name=MIDDLE)
                twist(armature, -degrees, 40.0, (1.1, 0.9, 1.0))
                assert_alike(obj, twin)


def with_a_b_bone(_obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    armature.data.bones["bone.0"].bbone_segments = 3
    update()


@every_method
def test_spaces_bones_groups_and_modifiers(method: str, params: Any, subtests: pytest.Subtests):
    dresses = apart, mirrored, in_a_scaled_rig, with_a_crooked_bone, with_modifier_group, with_cast_above, with_a_b_bone
    for dress in dresses:
        clear()
        chosen = without_limits(params) if dress is with_cast_above else params
        obj, armature, twin = bound_both(method, chosen, dress)
        with subtests.test(dress.__name__):
            for degrees in (120, 250):
                twist(armature, degrees, 40.0)
                assert_alike(obj, twin)
            for one in (obj, twin):
                fade(one, "linear")
                settings_of(one).linear_group = "linear"
            assert_alike(obj, twin)


def test_vertices_that_modifiers_above_add_are_between_their_neighbors(subtests: pytest.Subtests):
    """Nodes average what vertices take of a twist; Python would refuse."""
    for method, params in NODE_BLENDS:
        with subtests.test(name_of(method, params)):
            clear()
            plain, armature, twin = bound_both(method, without_limits(params), names=(MIDDLE, LAST))
            divided = add_twin(plain)
            bpy.data.objects.remove(twin)
            divided.modifiers.new("Divided", "SUBSURF").levels = 1
            divided.modifiers["Divided"].subdivision_type = "SIMPLE"
            divided.modifiers.move(len(divided.modifiers) - 1, 0)
            settings_of(divided).evaluate = "NODES"
            for above, below in ((60, 50), (0, 250)):
                twist(armature, above, 20.0, name=MIDDLE)
                twist(armature, below, 30.0)
                update()
                assert settings_of(divided).message == ""
                few, many = evaluated_points(plain), evaluated_points(divided)
                assert distance(few, many[: len(few)]) < 1e-4
                ends = few[np.array([edge.vertices[:] for edge in plain.data.edges])]
                assert np.linalg.norm(many[len(few) :][: len(ends)] - ends.mean(axis=1), axis=1).max() < 0.1


# What tells by how many turns joints twist


WAYS = [by_euler, by_axis_angle, by_property, by_quaternion]


@pytest.mark.versions
def test_drivers_need_no_python(subtests: pytest.Subtests):
    """Another mode of rotation, a property that comes and goes: the drivers follow."""
    obj, armature, twin = bound_both()
    bone = armature.pose.bones[LAST]
    for ask, turns in zip((*WAYS, *WAYS[::-1]), (0.9, -1.4, 0.8, 0.3, -0.4, -1.4, 0.9, -0.7), strict=True):
        with subtests.test(ask.__name__, turns=turns):
            bone.pop("supple_turns", None)
            ask(bone, turns)
            armature.update_tag()
            assert_alike(obj, twin)
            assert read_twist(obj) == pytest.approx(360.0 * turns, abs=2e-2)
            curves = list_drivers(joints_of(obj))
            assert len(curves) == (0 if ask is by_quaternion else 1)
            for curve in curves:
                assert curve.driver.is_simple_expression
                assert curve.driver.is_valid


def test_a_twist_by_a_constraint_counts():
    obj, armature, twin = bound_both()
    target = bpy.data.objects.new("Target", None)
    bpy.context.scene.collection.objects.link(target)
    target.rotation_euler.y = radians(70.0)
    constraint: Any = armature.pose.bones[LAST].constraints.new("COPY_ROTATION")
    constraint.target, constraint.target_space, constraint.owner_space = target, "WORLD", "LOCAL"
    assert_alike(obj, twin)
    assert read_twist(obj) == pytest.approx(70.0, abs=1e-2)


def test_a_bone_is_renamed():
    obj, armature, twin = bound_both()
    armature.data.bones[LAST].name = 'It\'s a "hand"'
    twist(armature, 130, 20.0, name='It\'s a "hand"')
    assert_alike(obj, twin)


def test_nothing_is_added_where_no_twist_is_spread():
    obj, armature, twin = bound_both(names=())
    assert AXIS not in joints_of(obj).data.attributes
    assert joints_of(obj).animation_data is None
    attributes, group = set(obj.data.attributes.keys()), supple_modifier(obj).node_group
    spread(armature, LAST)
    twist(armature, 130)
    assert_alike(obj, twin)
    assert set(obj.data.attributes.keys()) == {*attributes, f"{SHARE_ATTRIBUTE}0"}
    assert is_deformation_by(supple_modifier(obj).node_group, "DLBNT", METHODS["DLBNT"].params())
    armature.data.bones[LAST].supple.spread_twist = "OFF"
    assert_alike(obj, twin)
    assert set(obj.data.attributes.keys()) == attributes
    assert supple_modifier(obj).node_group == group


def test_unbind_leaves_nothing():
    obj, armature = add_tube()
    spread(armature, LAST)
    before = snapshot(obj)
    settings_of(obj).twist = "OFF"
    armature.pose.bones[LAST].rotation_mode = "XYZ"
    select(obj)
    bpy.ops.supple.bind()
    assert list_drivers(joints_of(obj))
    bpy.ops.supple.unbind()
    settings_of(obj).property_unset("twist")
    assert snapshot(obj) == before


# Several objects, and files


ANIMATION = LAST, (1, 0.0, 4.0), (8, 500.0, 32.0)


def test_played(subtests: pytest.Subtests):
    obj, armature, twin = bound_both()
    key_twists(armature, *ANIMATION)
    for frame in (2, 7, 4, 8, 1.5):
        with subtests.test(frame=frame):
            assert distance(points_at(twin, frame), evaluated_points(obj)) <= TOLERANCE


def test_undo():
    obj, armature, twin = bound_both()
    twist(armature, 200)
    push("before")
    spread(armature, MIDDLE)
    update()
    changed = evaluated_points(obj)
    push("after")
    undo()
    obj, twin = bpy.data.objects["Tube"], bpy.data.objects["Twin"]
    assert_alike(obj, twin)
    twist(armature_modifier(obj).object, 100, name=MIDDLE)
    assert_alike(obj, twin)
    assert distance(changed, evaluated_points(obj)) > 1e-4


def test_armature_and_mesh_duplicated_and_meshes_given_another():
    obj, armature, twin = bound_both()
    select(obj, armature)
    bpy.ops.object.duplicate()
    copy, other = bpy.data.objects["Tube.001"], bpy.data.objects["Rig.001"]
    twist(armature, 50)
    twist(other, 250)
    update()
    assert read_twist(obj) == pytest.approx(50.0, abs=1e-2)
    assert read_twist(copy) == pytest.approx(250.0, abs=1e-2)
    give(twin, other)
    assert_alike(copy, twin)
    give(copy, armature)
    give(twin, armature)
    assert_alike(copy, twin)
    assert joints_of(copy) == joints_of(obj)


@pytest.mark.versions
def test_saved_and_opened_again_and_without_supple(tmp_path: Path):
    _, armature, _ = bound_both()
    key_twists(armature, *ANIMATION)
    assert_kept_in_file(tmp_path / "bound.blend")


@pytest.mark.versions
def test_an_override_reads_its_own_armature(tmp_path: Path):
    _, armature, _ = bound_both()
    save(tmp_path / "library.blend")
    twist(armature, 250, 10.0)
    expected = evaluated_points(bpy.data.objects["Twin"])
    reset()
    obj, own = override_tube(tmp_path / "library.blend")
    twist(own, 250, 10.0)
    assert settings_of(obj).message == ""
    assert set(list_driving(joints_of(obj))) == {own}
    assert distance(evaluated_points(obj), expected) <= TOLERANCE


def test_make_independent_keeps_the_drivers():
    obj, armature, twin = bound_both()
    select(obj)
    bpy.ops.supple.make_independent()
    twist(armature, 400, 10.0)
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE
