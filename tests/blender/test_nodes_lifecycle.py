"""A character evaluated by nodes through switching, and through changes of what is around it.

How changes of its bones and weights are followed is told in `test_changed_parts`, for Python and nodes.
"""

from __future__ import annotations

from typing import Any

import bpy
import numpy as np
import pytest
from scenes_methods import NODE_BLENDS, choose, parametrize_blends
from scenes_nodes import assert_alike, bend, bound_tube, joints_of

from scenes import (
    TOLERANCE,
    add_chain,
    add_face_key,
    add_tube,
    add_twin,
    animate_tube,
    armature_modifier,
    bind,
    clear,
    distance,
    evaluated_points,
    points_at,
    select,
    snapshot,
    supple_modifier,
    turn,
    update,
)
from supple.bridge.removal import run_put_off
from supple.bridge.rigs.joints import find_posing, is_joints_object
from supple.nodes.groups import is_deformation
from supple.nodes.methods import NODE_METHODS
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import unbind

pytestmark = pytest.mark.usefixtures("silent_handlers", "nodes_alone")
every_method = parametrize_blends(NODE_BLENDS)


# Nodes and Python in turn


def hidden_objects() -> list[str]:
    return [obj.name for obj in bpy.data.objects if not obj.users_collection]


def influences_of(obj: bpy.types.Object) -> list[str]:
    return [attribute.name for attribute in obj.data.attributes if attribute.name.startswith("supple")]


def test_bones_renamed_in_another_armature_of_the_same_bones():
    first, armature = add_tube()
    twin = add_twin(first)
    second, other = add_tube()
    bind(first, second, method="SSD", evaluate="NODES")
    update()
    for name in ("new", "bone.1"):
        bones = other.data.bones
        bones[1].name = name
        for rig in (armature, other):
            turn(rig, rig.data.bones[1].name, (0.9, 0.4, 0.0))
        assert distance(evaluated_points(twin), evaluated_points(first)) <= TOLERANCE
        assert distance(evaluated_points(twin), evaluated_points(second)) <= TOLERANCE
    assert joints_of(first) != joints_of(second)


@pytest.mark.usefixtures("built_groups")
@every_method
def test_switching_at_any_time(method: str, params: Any, subtests: pytest.Subtests):
    for segments in (1, 3):
        clear()
        obj, armature = add_tube()
        for bone in armature.data.bones:
            bone.bbone_segments = segments
        update()
        animate_tube(armature)
        before = snapshot(obj)
        frames = (1, 3, 6, 8)
        choose(obj, method, params)
        bind(obj, method=method, evaluate="PYTHON")
        expected = {frame: points_at(obj, frame) for frame in frames}
        for evaluate, frame in zip(("NODES", "PYTHON", "NODES", "NODES", "PYTHON", "NODES"), frames * 2, strict=False):
            with subtests.test(evaluate, segments=segments, frame=frame):
                settings_of(obj).evaluate = evaluate
                assert settings_of(obj).message == ""
                assert [modifier.type for modifier in obj.modifiers] == ["NODES", "ARMATURE"]
                assert is_deformation(supple_modifier(obj).node_group) == (evaluate == "NODES")
                assert len(hidden_objects()) == (2 if evaluate == "PYTHON" else 1)
                assert bool(influences_of(obj)) == (evaluate == "NODES")
                for at in (frame, 9 - frame):
                    assert distance(expected[at], points_at(obj, at)) <= TOLERANCE
        bpy.context.scene.frame_set(1)
        unbind([obj])
        assert snapshot(obj) == before


@pytest.mark.usefixtures("built_groups")
def test_switching_with_other_changes_in_between():
    obj, armature, twin = bound_tube("SSD")
    bend(armature, 60)
    for step, (method, params) in enumerate(NODE_BLENDS * 2):
        settings_of(obj).evaluate = "PYTHON" if step % 3 else "NODES"
        for one in (obj, twin):
            choose(one, method, params)
            settings_of(one).method = method
            one.vertex_groups["bone.0"].add(list(range(50 * step, 50 * step + 90)), 0.6, "REPLACE")
            one.data.update_tag()
        assert_alike(obj, twin)
        bend(armature, 60 + 10 * step)
        assert_alike(obj, twin)


@pytest.mark.versions
def test_evaluate_chosen_before_bind():
    obj, armature = add_tube()
    for evaluate in ("PYTHON", "NODES", "PYTHON", "NODES"):
        settings_of(obj).evaluate = evaluate
        select(obj)
        bpy.ops.supple.bind(method="DLB")
        assert settings_of(obj).evaluate == evaluate
        assert is_deformation(supple_modifier(obj).node_group) == (evaluate == "NODES")
        assert all(group.users for group in bpy.data.node_groups)
    bend(armature, 50)
    unbind([obj])
    settings_of(obj).evaluate = "PYTHON"
    assert not bpy.data.node_groups, "settings of an object that is not bound change nothing"


def test_modifiers_that_call_for_other_groups_leave_none_behind(subtests):
    obj, _ = add_tube()
    for method, is_first in ((method, is_first) for method in NODE_METHODS for is_first in (True, False)):
        with subtests.test(f"{method}, {'before' if is_first else 'after'} Bind"):
            solidify = obj.modifiers.new("Solidify", "SOLIDIFY") if is_first else None
            if solidify is not None:
                obj.modifiers.move(1, 0)
            bind(obj, method=method, evaluate="NODES")
            if solidify is None:
                solidify = obj.modifiers.new("Solidify", "SOLIDIFY")
                obj.modifiers.move(2, 0)
                update()
                run_put_off()
            obj.vertex_groups["bone.0"].add(list(range(9)), 0.5, "REPLACE")
            obj.data.update_tag()
            update()
            assert [group.name for group in bpy.data.node_groups if not group.users] == []
            unbind([obj])
            obj.modifiers.remove(solidify)
            assert not bpy.data.node_groups


@pytest.mark.usefixtures("built_groups")
def test_a_method_does_not_follow_the_choices_of_another():
    obj, armature, twin = bound_tube("DLB")
    for one in (obj, twin):
        settings_of(one).order = "HG"
    bend(armature, 40)
    assert_alike(obj, twin)


@every_method
def test_unbind_gives_everything_back(method: str, params: Any):
    for segments, keyed in ((1, True), (3, False)):
        clear()
        obj, armature = add_tube()
        for bone in armature.data.bones:
            bone.bbone_segments = segments
        obj.data.attributes.new("wear", "FLOAT", "POINT")
        if keyed:
            add_face_key(obj).value = 0.6
        choose(obj, method, params)
        update()
        before, shown = snapshot(obj), evaluated_points(obj)
        bind(obj, method=method, evaluate="NODES")
        assert snapshot(obj) != before
        bend(armature, 80)
        assert distance(shown, evaluated_points(obj)) > 0.1
        armature.pose.bones["bone.1"].matrix_basis.identity()
        armature.pose.bones["bone.2"].matrix_basis.identity()
        unbind([obj])
        update()
        assert snapshot(obj) == before
        assert np.array_equal(evaluated_points(obj), shown)


# Node groups


def add_other_rig(name: str, bones: int, length: float = 3.0) -> bpy.types.Object:
    armature = bpy.data.objects.new(name, bpy.data.armatures.new(name))
    bpy.context.scene.collection.objects.link(armature)
    add_chain(armature, bones, length)
    return armature


def test_meshes_of_one_armature_share_a_joints_object_and_others_do_not():
    first, _ = add_tube()
    second, same, longer = (add_twin(first) for _ in range(3))
    armature_modifier(same).object = add_other_rig("Same", 3)
    armature_modifier(longer).object = add_other_rig("Longer", 4, 4.0)
    objects = (first, second, same, longer)
    twins = [add_twin(obj) for obj in objects]
    bind(*objects, method="DLBNT", evaluate="NODES")
    bind(*twins, method="DLBNT", evaluate="PYTHON")
    joints = [joints_of(obj) for obj in objects]
    assert joints[0] == joints[1]
    assert [find_posing(each) for each in joints] == [armature_modifier(obj).object for obj in objects]
    for angle, obj in enumerate((first, same, longer), start=1):
        bend(armature_modifier(obj).object, 30 * angle)
    for obj, twin in zip(objects, twins, strict=True):
        assert_alike(obj, twin)
    assert distance(evaluated_points(first), evaluated_points(same)) > 0.01
    assert len([obj for obj in bpy.data.objects if is_joints_object(obj)]) == 3

    settings_of(second).method = settings_of(twins[1]).method = "SSD"
    for obj, twin in zip(objects, twins, strict=True):
        assert_alike(obj, twin)
    unbind([*objects, *twins])
    assert not bpy.data.node_groups
    assert not hidden_objects()


def test_one_mesh_on_two_skeletons_is_refused():
    obj, _ = add_tube()
    other = obj.copy()
    bpy.context.scene.collection.objects.link(other)
    armature_modifier(other).object = add_other_rig("Longer", 4, 4.0)
    with pytest.raises(RuntimeError, match=r"'Tube' shares its mesh .* different bones .*: make the mesh single-user"):
        bind(obj, evaluate="NODES")
    other.data = obj.data.copy()
    bind(obj, other, evaluate="NODES")


@pytest.mark.usefixtures("built_groups")
def test_settings_changed_in_edit_mode(evaluator: str):
    """The way to evaluate is set back; another method waits until the mesh can be written to."""
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind(obj, method="SSD")
    bind(twin, method="DLBNT")
    bend(armature, 60)
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    settings_of(obj).evaluate = "PYTHON" if evaluator == "NODES" else "NODES"
    assert settings_of(obj).evaluate == evaluator
    settings_of(obj).method = "DLBNT"
    bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert settings_of(obj).message == ""
    assert_alike(obj, twin)


def test_binding_again_brings_an_inner_group_back(subtests: pytest.Subtests):
    obj, armature, twin = bound_tube()
    bend(armature, 60)
    for name in (".Supple Pose", ".Supple Motion DLBNT GH", ".Supple Polar"):
        with subtests.test(name):
            bpy.data.node_groups.remove(bpy.data.node_groups[name])
            bind(obj, evaluate="NODES")
            assert_alike(obj, twin)
