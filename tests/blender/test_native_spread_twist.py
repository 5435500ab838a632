"""Spread Twist where Blender's own Armature modifier blends joints: Supple's node modifier turns the skin before it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_bind import fade, plain
from scenes_methods import NODE_BLENDS, name_of, parametrize_blends, without_limits
from scenes_nodes import assert_alike
from scenes_twist import (
    LAST,
    MIDDLE,
    apart,
    assert_kept_in_file,
    bound_both,
    by_axis_angle,
    by_euler,
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
    bind,
    clear,
    diagonal,
    distance,
    edit_bones,
    evaluated_points,
    points_at,
    push,
    reset,
    rest_points,
    save,
    select,
    snapshot,
    supple_modifier,
    turn,
    undo,
    update,
)
from supple.bridge.modifiers import LINEAR_GROUP
from supple.bridge.rigs.reach import SCALED
from supple.deformers.algebra.polar import RIGID_TOLERANCE
from supple.nodes.groups import is_native_group
from supple.nodes.spread_twists import AXIS_ATTRIBUTE, END_ATTRIBUTE, SHARE_ATTRIBUTE
from supple.settings.objects import settings_of
from supple.tasks.skin.by_armature import LARGEST_TWIST

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups")
NATIVE = tuple((key, without_limits(params)) for key, params in NODE_BLENDS if key in ("DLB", "DLBNT"))
every_method = parametrize_blends(NATIVE)

LONGEST_EXPRESSION = 255
"""Letters that Blender reads of a driver."""


def narrow(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
    """No vertex follows both end bones: where the last twists far, their signs may differ."""
    y = rest_points(obj)[:, 1]
    for name, is_far in (("bone.0", y > 1.45), (LAST, y < 1.55)):
        obj.vertex_groups[name].remove(np.flatnonzero(is_far).tolist())


def bound(
    method: str = "DLBNT", params: Any = None, dress: Callable = plain, names: tuple[str, ...] = (LAST,)
) -> tuple[bpy.types.Object, bpy.types.Object, bpy.types.Object]:
    """The same as `bound_both`, with weights that Blender's own modifier blends alike."""

    def dress_both(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
        narrow(obj, armature)
        dress(obj, armature)

    obj, armature, twin = bound_both(method, params, dress_both, names)
    assert is_native(obj)
    return obj, armature, twin


def is_native(obj: bpy.types.Object) -> bool:
    return is_native_group(supple_modifier(obj).node_group)


def assert_native(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """Blender's own modifier blends the joints, as Python turns the skin."""
    assert_alike(obj, twin)
    assert is_native(obj)


# As Python turns the skin


@pytest.mark.versions
@every_method
def test_as_by_python(method: str, params: Any, subtests: pytest.Subtests):
    obj, armature, twin = bound(method, params)
    for degrees in (-165, -90, 20, 120, 165):
        for swing in (0.0, 40.0, 80.0):
            with subtests.test(degrees=degrees, swing=swing):
                twist(armature, degrees, swing)
                assert_native(obj, twin)
    with subtests.test("the limb itself is bent"):
        turn(armature, MIDDLE, (0.6, 0.3, -0.4))
        assert_native(obj, twin)


def test_limbs_below_limbs(subtests: pytest.Subtests):
    for method, params in NATIVE:
        clear()
        obj, armature, twin = bound(method, params, names=(MIDDLE, LAST))
        for above, below in ((100, 60), (-40, 160), (-165, -120)):
            with subtests.test(name_of(method, params), above=above, below=below):
                twist(armature, above, 20.0, name=MIDDLE)
                twist(armature, below, 40.0)
                assert_native(obj, twin)


def test_where_the_limb_alone_holds_the_skin_fewer_nodes_turn_it():
    """And all of them again once weights of the joint are painted."""

    def hold_alone(obj: bpy.types.Object, _armature: bpy.types.Object) -> None:
        obj.vertex_groups[LAST].remove(range(len(obj.data.vertices)))

    obj, armature, twin = bound(dress=hold_alone)
    few = len(supple_modifier(obj).node_group.nodes)
    for degrees, swing in ((-165, 0.0), (120, 40.0)):
        twist(armature, degrees, swing)
        assert_native(obj, twin)
    for one in (obj, twin):
        far = np.flatnonzero(rest_points(one)[:, 1] > 1.9).tolist()
        one.vertex_groups[LAST].add(far, 0.5, "REPLACE")
        one.data.update()
    update()
    assert_native(obj, twin)
    assert len(supple_modifier(obj).node_group.nodes) > 1.5 * few


def test_spaces_and_bones(subtests: pytest.Subtests):
    """A mesh that is scaled unevenly is blended by nodes: there, a turn is none in the armature."""
    for dress in (mirrored, in_a_scaled_rig, with_a_crooked_bone):
        clear()
        obj, armature, twin = bound(dress=dress, names=(MIDDLE, LAST))
        for degrees in (-150, 120):
            with subtests.test(dress.__name__, degrees=degrees):
                twist(armature, 50, name=MIDDLE)
                twist(armature, degrees, 40.0)
                assert_native(obj, twin)
    clear()
    obj, armature, twin = bound_both(dress=apart)
    twist(armature, 120, 40.0)
    assert_alike(obj, twin)
    assert not is_native(obj)


def test_vertices_that_modifiers_above_add_are_between_their_neighbors():
    few, armature, twin = bound(names=(MIDDLE, LAST))
    many = add_twin(few)
    bpy.data.objects.remove(twin)
    many.modifiers.new("Divided", "SUBSURF").levels = 1
    many.modifiers["Divided"].subdivision_type = "SIMPLE"
    many.modifiers.move(len(many.modifiers) - 1, 0)
    settings_of(many).evaluate = "NODES"
    for above, below in ((60, 50), (0, 160)):
        twist(armature, above, 20.0, name=MIDDLE)
        twist(armature, below, 30.0)
        assert is_native(many)
        assert settings_of(many).message == ""
        points, divided = evaluated_points(few), evaluated_points(many)
        assert distance(points, divided[: len(points)]) < 1e-4
        ends = points[np.array([edge.vertices[:] for edge in few.data.edges])]
        assert np.linalg.norm(divided[len(points) :][: len(ends)] - ends.mean(axis=1), axis=1).max() < 0.1


# What tells how joints are turned


@pytest.mark.versions
def test_drivers_need_no_python(subtests: pytest.Subtests):
    """They measure how bones are turned, by whatever these are turned."""
    obj, armature, twin = bound(dress=with_a_crooked_bone, names=(MIDDLE, LAST))
    for ask, turns in ((by_euler, 0.4), (by_axis_angle, -0.4), (by_quaternion, 0.3)):
        with subtests.test(ask.__name__):
            ask(armature.pose.bones[LAST], turns)
            armature.update_tag()
            assert_native(obj, twin)
    curves = list_drivers(obj)
    assert len(curves) == 2 * 5
    for curve in curves:
        assert curve.driver.is_simple_expression
        assert curve.driver.is_valid
        assert len(curve.driver.expression) <= LONGEST_EXPRESSION


def test_a_constraint_may_turn_a_joint_by_any_angle():
    obj, armature, twin = bound()
    constraint: Any = armature.pose.bones[LAST].constraints.new("COPY_ROTATION")
    constraint.target, constraint.subtarget, constraint.owner_space = armature, MIDDLE, "LOCAL"
    twist(armature, 50, name=MIDDLE)
    assert_alike(obj, twin)
    assert not is_native(obj)


def test_a_bone_is_renamed():
    obj, armature, twin = bound()
    armature.data.bones[LAST].name = 'It\'s a "hand"'
    twist(armature, 130, 20.0, name='It\'s a "hand"')
    assert_native(obj, twin)


def list_own(obj: bpy.types.Object) -> set[str]:
    return {name for name in obj.data.attributes.keys() if name.startswith("supple_")}


def test_nothing_is_added_where_no_twist_is_spread():
    obj, armature, twin = bound(names=())
    assert list_own(obj) == set()
    assert obj.animation_data is None
    spread(armature, LAST)
    twist(armature, 130)
    assert_native(obj, twin)
    assert list_own(obj) == {f"{start}0" for start in (SHARE_ATTRIBUTE, AXIS_ATTRIBUTE, END_ATTRIBUTE)}
    assert len(list_drivers(obj)) == 5
    armature.data.bones[LAST].supple.spread_twist = "OFF"
    assert_native(obj, twin)
    assert list_own(obj) == set()
    assert obj.animation_data is None


@pytest.mark.parametrize("has_driver", [False, True])
def test_unbind_leaves_nothing_and_what_is_not_its_own(has_driver: bool):
    obj, armature = add_tube()
    narrow(obj, armature)
    spread(armature, LAST)
    if has_driver:
        obj.driver_add("pass_index").driver.expression = "3"
    settings_of(obj).twist = "OFF"
    armature.pose.bones[LAST].rotation_mode = "XYZ"
    update()
    before = snapshot(obj)
    select(obj)
    bpy.ops.supple.bind()
    assert is_native(obj)
    assert len(list_drivers(obj)) == 5 + has_driver
    bpy.ops.supple.unbind()
    assert snapshot(obj) == before
    assert (obj.animation_data is not None) == has_driver
    assert [curve.data_path for curve in list_drivers(obj)] == ["pass_index"] * has_driver


@pytest.mark.versions
def test_drivers_end_with_a_group_that_was_removed():
    obj, armature, twin = bound()
    bpy.data.node_groups.remove(supple_modifier(obj).node_group)
    select(obj)
    bpy.ops.supple.bind()
    twist(armature, 100, 20.0)
    assert_native(obj, twin)
    assert len(list_drivers(obj)) == 5
    bpy.data.node_groups.remove(supple_modifier(obj).node_group)
    select(obj)
    bpy.ops.supple.unbind()
    assert obj.animation_data is None


def test_drivers_of_a_user_stay():
    obj, armature, twin = bound()
    obj.driver_add(f'modifiers["{supple_modifier(obj).name}"].show_on_cage')
    spread(armature, MIDDLE)
    twist(armature, 60, 20.0, name=MIDDLE)
    assert_native(obj, twin)
    assert len(list_drivers(obj)) == 10 + 1


def test_python_leaves_no_drivers():
    obj, armature, twin = bound()
    twist(armature, 120, 20.0)
    settings_of(obj).evaluate = "PYTHON"
    assert_alike(obj, twin)
    assert obj.animation_data is None
    settings_of(obj).evaluate = "NODES"
    assert_native(obj, twin)
    assert len(list_drivers(obj)) == 5


# What is linear


def test_a_linear_group():
    """What is linear is turned at rest as well."""
    obj, armature, twin = bound()
    twist(armature, 60, 40.0)
    turn(armature, MIDDLE, (0.9, 0.3, 0.0))
    assert_native(obj, twin)
    before = evaluated_points(obj)
    for one in (obj, twin):
        fade(one, "linear")
        settings_of(one).linear_group = "linear"
    assert_native(obj, twin)
    assert distance(before, evaluated_points(obj)) > 0.01
    for one in (obj, twin):
        one.vertex_groups["linear"].add(list(range(496)), 0.0, "REPLACE")
    assert_native(obj, twin)
    assert distance(before, evaluated_points(obj)) <= TOLERANCE


def add_arm(obj: bpy.types.Object, armature: bpy.types.Object) -> None:
    """An arm at one side of the tube's middle, which holds half of the skin there."""

    def add(bones: bpy.types.ArmatureEditBones) -> None:
        for name, side in (("arm", 1), ("other arm", -1)):
            arm = bones.new(name)
            arm.head, arm.tail, arm.parent = (0.2 * side, 1.5, 0), (1.5 * side, 1.2, 0), bones[MIDDLE]

    edit_bones(armature, add)
    points = rest_points(obj)
    held = np.flatnonzero((points[:, 0] > 0.1) & (np.abs(points[:, 1] - 1.5) < 0.6))
    obj.vertex_groups.new(name="arm").add(held.tolist(), 0.8, "REPLACE")


def test_the_group_of_linear_roots_stays_with_the_last_that_uses_it():
    """Linked duplicates have the same groups."""
    obj, armature = add_tube()
    add_arm(obj, armature)
    settings_of(obj).limb_roots = 1.0
    bind(obj, method="DLBNT", evaluate="NODES")
    assert is_native(obj)
    copy, _ = link_duplicates(obj, armature)
    turn(armature, "arm", (0.7, 0.4, 0))
    expected = evaluated_points(obj)
    select(copy)
    bpy.ops.supple.unbind()
    assert is_native(obj)
    assert LINEAR_GROUP in obj.vertex_groups
    assert distance(expected, evaluated_points(obj)) == 0.0
    select(obj)
    bpy.ops.supple.unbind()
    assert LINEAR_GROUP not in obj.vertex_groups


# Between both ways


def test_nodes_blend_where_a_joint_twists_farther():
    """By its keys, whichever frame is shown; and Blender's own modifier again where it no longer does."""
    obj, armature, twin = bound()
    key_twists(armature, LAST, (1, 0.0, 0.0), (8, 160.0, 20.0))
    assert_native(obj, twin)
    key_twists(armature, LAST, (8, 175.0, 20.0))
    assert_alike(obj, twin)
    assert not is_native(obj)
    assert obj.animation_data is None
    for frame in (8, 4.5, 2):
        assert distance(points_at(twin, frame), evaluated_points(obj)) <= TOLERANCE
    key_twists(armature, LAST, (8, 120.0, 20.0))
    assert_native(obj, twin)
    assert len(list_drivers(obj)) == 5
    for frame in (8, 4.5, 2):
        assert distance(points_at(twin, frame), evaluated_points(obj)) <= TOLERANCE


def test_nothing_jumps_where_another_way_of_blending_begins(subtests: pytest.Subtests):
    """Steps of a millionth through what decides: which modifiers blend, and which of their branches."""

    def by_twist(degrees: float) -> Callable:
        return lambda armature, share: twist(armature, degrees * share, 20.0)

    def by_scale(size: float, degrees: float) -> Callable:
        return lambda armature, share: twist(armature, degrees, 20.0, scale=(1.0, 1.0 + size + (share - 1.0), 1.0))

    cases = {
        "nodes for a twist": (by_twist(np.degrees(LARGEST_TWIST)), (True, False)),
        "half a turn": (by_twist(180.0), (False, False)),
        "nodes for a scale": (by_scale(SCALED, 100.0), (True, False)),
        "a branch for stretches": (by_scale(RIGID_TOLERANCE, 170.0), (False, False)),
    }
    obj, armature, twin = bound()
    size = diagonal(rest_points(obj))
    for name, (pose, expected) in cases.items():
        with subtests.test(name):
            found = []
            for share in (1.0 - 2e-6, 1.0 - 1e-6, 1.0 + 1e-6, 1.0 + 2e-6):
                pose(armature, share)
                assert_alike(obj, twin)
                found.append((is_native(obj), evaluated_points(obj)))
            assert [found[0][0], found[-1][0]] == list(expected)
            for (_, first), (_, second) in pairwise(found):
                assert distance(first, second) <= TOLERANCE * size


def test_nodes_blend_where_a_mesh_may_move_in_its_armature():
    obj, armature, twin = bound()
    twist(armature, 100, 20.0)
    assert_native(obj, twin)
    for one in (obj, twin):
        one.keyframe_insert("location", frame=1)
        one.location.x = 0.5
        one.keyframe_insert("location", frame=8)
    update()
    for frame in (1, 4, 8):
        assert distance(points_at(twin, frame), evaluated_points(obj)) <= TOLERANCE


def test_a_mesh_is_moved_in_its_armature():
    """By hand: lines and drivers follow."""
    obj, armature, twin = bound()
    twist(armature, 100, 20.0)
    for one in (obj, twin):
        one.location, one.rotation_euler = (0.2, 0.1, 0.0), (0.3, 0.0, 0.2)
    update()
    assert_native(obj, twin)


def test_undo():
    obj, armature, _ = bound()
    twist(armature, 120)
    push("before")
    spread(armature, MIDDLE)
    update()
    push("after")
    undo()
    obj, twin, armature = (bpy.data.objects[name] for name in ("Tube", "Twin", "Rig"))
    assert_native(obj, twin)
    twist(armature, 100, name=MIDDLE)
    assert_native(obj, twin)


# Several objects, and files


def test_armature_and_mesh_duplicated_and_meshes_given_another():
    obj, armature, twin = bound()
    select(obj, armature)
    bpy.ops.object.duplicate()
    copy, other = bpy.data.objects["Tube.001"], bpy.data.objects["Rig.001"]
    twist(armature, 50)
    twist(other, 150)
    update()
    assert (set(list_driving(obj)), set(list_driving(copy))) == ({armature}, {other})
    assert_native(obj, twin)
    give(twin, other)
    assert_native(copy, twin)
    give(copy, armature)
    give(twin, armature)
    assert_native(copy, twin)
    assert set(list_driving(copy)) == {armature}


def link_duplicates(obj: bpy.types.Object, armature: bpy.types.Object) -> tuple[bpy.types.Object, bpy.types.Object]:
    """A copy of a mesh object that shares its mesh, under a copy of its armature."""
    other, copy = armature.copy(), obj.copy()
    for new in (other, copy):
        bpy.context.scene.collection.objects.link(new)
    give(copy, other)
    update()
    return copy, other


def test_objects_that_share_a_mesh_are_blended_alike():
    """Where a joint of one twists too far for Blender's own modifier, nodes blend those of all."""
    obj, armature, twin = bound()
    copy, other = link_duplicates(obj, armature)
    twist(armature, 60, 20.0)
    twist(other, 150, 20.0)
    assert_native(obj, twin)
    give(twin, other)
    assert_native(copy, twin)
    twist(other, 200, 20.0)
    assert_alike(copy, twin)
    update()
    assert [is_native(one) for one in (obj, copy)] == [False, False]
    give(twin, armature)
    assert_alike(obj, twin)


def test_objects_that_share_a_mesh_have_the_same_lines():
    obj, armature, twin = bound()
    twist(armature, 100, 20.0)
    copy, _ = link_duplicates(obj, armature)
    copy.location.y = 0.5
    update()
    select(copy)
    bpy.ops.supple.bind()
    assert "a different location in its armature" in settings_of(copy).evaluate_problem
    assert settings_of(copy).evaluate == "PYTHON"
    assert_native(obj, twin)


@pytest.mark.versions
def test_saved_and_opened_again_and_without_supple(tmp_path: Path):
    _, armature, _ = bound()
    key_twists(armature, LAST, (1, 0.0, 4.0), (8, 160.0, 32.0))
    assert_kept_in_file(tmp_path / "bound.blend")


@pytest.mark.versions
def test_an_override_reads_its_own_armature(tmp_path: Path):
    _, armature, _ = bound()
    save(tmp_path / "library.blend")
    twist(armature, 150, 10.0)
    expected = evaluated_points(bpy.data.objects["Twin"])
    reset()
    obj, own = override_tube(tmp_path / "library.blend")
    twist(own, 150, 10.0)
    assert settings_of(obj).message == ""
    assert is_native(obj)
    assert set(list_driving(obj)) == {own}
    assert distance(evaluated_points(obj), expected) <= TOLERANCE


def test_make_independent_keeps_the_drivers():
    obj, armature, twin = bound()
    select(obj)
    bpy.ops.supple.make_independent()
    twist(armature, 150, 10.0)
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE


@pytest.mark.versions
@pytest.mark.parametrize("then", ["unbind", "bind"])
def test_convert_leaves_no_driver_behind(then: str):
    obj, armature, _ = bound_both(names=(MIDDLE, LAST))
    obj.driver_add("color", 0)
    obj.data["supple_reader_1_near"] = [0.0]
    obj.data.driver_add('["supple_reader_1_near"]', 0)
    select(obj)
    bpy.ops.object.convert(target="MESH")
    assert len(list_drivers(obj)) > 1
    if then == "bind":
        obj.modifiers.new("Armature", "ARMATURE").object = armature
    getattr(bpy.ops.supple, then)()
    paths = [curve.data_path for curve in list_drivers(obj)]
    assert "color" in paths
    assert (paths == ["color"]) == (then == "unbind")
    for path in paths:
        obj.path_resolve(path)
    assert (list(obj.data.keys()), obj.data.animation_data) == ([], None)
