"""Bones, vertices and weights that change while a character is bound: followed, or reported."""

from collections.abc import Callable
from itertools import product

import bpy
import bmesh
import numpy as np
import pytest
from scenes_twins import all_weights_zero, assert_follows, bend, bent_tube

from scenes import (
    add_tube,
    add_twin,
    bind,
    clear,
    distance,
    edit_bones,
    evaluated_points,
    rest_points,
    select,
    turn,
    update,
)
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import unbind

pytestmark = pytest.mark.usefixtures("silent_handlers", "evaluator")


def next_frame() -> None:
    bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)


STEPS = (update, next_frame)
"""How Blender comes to evaluate what has changed."""


# Bones that change


def rename(armature: bpy.types.Object, where: str, name: str, new: str) -> None:
    if where == "bone":
        armature.data.bones[name].name = new
    else:
        edit_bones(armature, lambda bones: setattr(bones[name], "name", new))


@pytest.mark.versions
def test_renamed_bones_keep_working(subtests: pytest.Subtests):
    for segments in (1, 3):
        clear()
        obj, armature = add_tube()
        for bone in armature.data.bones:
            bone.bbone_segments = segments
        update()
        twin = add_twin(obj)
        bind(obj, method="SSD")
        bend(armature)
        name = "bone.1"
        for number, (where, step) in enumerate(product(("bone", "edit bone"), STEPS)):
            new = f"elbow {number}"
            with subtests.test(where, segments=segments, step=step.__name__):
                rename(armature, where, name, new)
                assert new in obj.vertex_groups
                turn(armature, new, (0.3 + 0.2 * number, 0.1, 0.2))
                step()
                assert_follows(obj, twin)
                assert distance(rest_points(obj), evaluated_points(obj)) > 0.02
            name = new
        unbind([obj])
        assert set(bpy.data.objects) == {obj, twin, armature}


def test_bones_that_exchange_their_names():
    obj, armature, twin = bent_tube()
    first, last = armature.data.bones["bone.0"], armature.data.bones["bone.2"]
    first.name, last.name, first.name = "for a while", "bone.0", "bone.2"
    bend(armature, 90)
    assert_follows(obj, twin)


def delete_bone(armature: bpy.types.Object, name: str) -> None:
    edit_bones(armature, lambda bones: bones.remove(bones[name]))


def switch_deform_off(armature: bpy.types.Object, name: str) -> None:
    armature.data.bones[name].use_deform = False


def test_lost_bones_are_named_until_bound_again(subtests: pytest.Subtests):
    for lose, name, step in product((delete_bone, switch_deform_off), ("bone.0", "bone.2"), STEPS):
        with subtests.test(lose.__name__, name=name, step=step.__name__):
            clear()
            obj, armature, twin = bent_tube()
            lose(armature, name)
            for _ in range(3):
                step()
                message = (
                    f"1 of the bones that 'Tube' was bound to were deleted from 'Rig' or no longer deform ({name}): "
                )
                assert settings_of(obj).message == message + "restore the bones, or bind again"
                assert np.isfinite(evaluated_points(obj)).all()
            bind(obj, method="SSD")
            turn(armature, "bone.1", (0.6, 0, 0.1))
            assert_follows(obj, twin)


@pytest.mark.parametrize("step", STEPS)
def test_deform_switched_off_is_reported_and_switching_on_cures(step: Callable):
    obj, armature, twin = bent_tube()
    armature.data.bones["bone.2"].use_deform = False
    step()
    assert "no longer deform (bone.2)" in settings_of(obj).message
    armature.data.bones["bone.2"].use_deform = True
    step()
    assert_follows(obj, twin)
    bend(armature, angle=30)
    assert_follows(obj, twin)


def test_bones_that_are_added_are_followed(subtests: pytest.Subtests):
    obj, armature, twin = bent_tube()

    def add(bones: bpy.types.ArmatureEditBones) -> None:
        bone = bones.new(step.__name__)
        bone.head, bone.tail, bone.parent = (0, 1, 0), (0, 1.5, 0.2), bones["bone.0"]

    for step in STEPS:
        with subtests.test(step.__name__):
            edit_bones(armature, add)
            step()
            assert_follows(obj, twin)
            for one in (obj, twin):
                one.vertex_groups.new(name=step.__name__).add(list(range(100, 200)), 0.8, "REPLACE")
                one.data.update_tag()
            turn(armature, step.__name__, (0.5, 0.5, 0))
            step()
            assert_follows(obj, twin)


# Vertices that change


def resize(mesh: bpy.types.Mesh, grow: bool) -> None:
    shape = bmesh.new()
    shape.from_mesh(mesh)
    if grow:
        bmesh.ops.create_cube(shape, size=0.5)
    else:
        shape.verts.ensure_lookup_table()
        bmesh.ops.delete(shape, geom=shape.verts[-40:], context="VERTS")
    shape.to_mesh(mesh)
    shape.free()
    mesh.update()


def test_another_number_of_vertices(evaluator: str, subtests: pytest.Subtests):
    """Python knows nothing better than to show the mesh undeformed; Blender goes on with the weights that are there."""
    for grow, step in product((True, False), STEPS):
        with subtests.test(grow=grow, step=step.__name__):
            clear()
            obj, armature, twin = bent_tube(method="SSD" if evaluator == "BLENDER" else "DLBNT")
            for one in (obj, twin):
                resize(one.data, grow)
            step()
            count = len(obj.data.vertices)
            if evaluator == "BLENDER":
                assert_follows(obj, twin)
            else:
                assert f"'Tube' has {count} vertices but was bound with 496: bind again" in settings_of(obj).message
                assert np.array_equal(evaluated_points(obj), rest_points(obj))
            bind(obj, method="SSD")
            bend(armature, angle=40)
            assert_follows(obj, twin)
            assert len(evaluated_points(obj)) == count


def test_edit_mode_changes_the_rest_shape():
    obj, _, twin = bent_tube()
    for one in (obj, twin):
        select(one)
        bpy.ops.object.mode_set(mode="EDIT")
        update()
        shape = bmesh.from_edit_mesh(one.data)
        for vertex in shape.verts:
            vertex.co.x *= 1.5
        bmesh.update_edit_mesh(one.data)
        update()
        bpy.ops.object.mode_set(mode="OBJECT")
    update()
    assert_follows(obj, twin)
    assert rest_points(obj)[:, 0].max() == pytest.approx(0.6)


def test_vertices_added_in_edit_mode_are_reported_or_followed(evaluator: str):
    obj, _, twin = bent_tube()
    for one in (twin, obj):
        select(one)
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
        update()
        bpy.ops.object.mode_set(mode="OBJECT")
        update()
    if evaluator == "BLENDER":
        assert_follows(obj, twin)
        return
    assert "bind again" in settings_of(obj).message
    assert np.array_equal(evaluated_points(obj), rest_points(obj))


def test_sculpting_changes_the_rest_shape():
    obj, armature, twin = bent_tube()
    for one in (obj, twin):
        select(one)
        bpy.ops.object.mode_set(mode="SCULPT")
        update()
        one.data.vertices.foreach_set("co", (rest_points(one) * (1.5, 1, 1)).astype(np.float32).ravel())
        bpy.ops.object.mode_set(mode="OBJECT")
    bend(armature, angle=50)
    assert_follows(obj, twin)


# Weights that change


def add_weights(obj: bpy.types.Object) -> None:
    obj.vertex_groups["bone.0"].add(list(range(250, 400)), 0.6, "REPLACE")


def remove_weights(obj: bpy.types.Object) -> None:
    obj.vertex_groups["bone.1"].remove(list(range(0, 496, 2)))


def rename_group(obj: bpy.types.Object) -> None:
    obj.vertex_groups["bone.0"].name = "something else"


def remove_group(obj: bpy.types.Object) -> None:
    obj.vertex_groups.remove(obj.vertex_groups["bone.0"])


def swap_groups(obj: bpy.types.Object) -> None:
    first, second = obj.vertex_groups["bone.0"], obj.vertex_groups["bone.2"]
    first.name, second.name, first.name = "for a while", "bone.0", "bone.2"


@pytest.mark.parametrize("mode", ["OBJECT", "WEIGHT_PAINT"])
def test_changed_weights_are_followed(mode: str, subtests: pytest.Subtests):
    for change, step in product((add_weights, remove_weights, rename_group, remove_group, swap_groups), STEPS):
        with subtests.test(change.__name__, step=step.__name__):
            clear()
            obj, _, twin = bent_tube()
            before = evaluated_points(twin)
            bpy.ops.object.mode_set(mode=mode)
            for one in (obj, twin):
                change(one)
                one.data.update_tag()
            step()
            assert distance(before, evaluated_points(twin)) > 0.01
            assert_follows(obj, twin)
            bpy.ops.object.mode_set(mode="OBJECT")


def test_weights_painted_away_are_reported_and_come_back(evaluator: str):
    obj, armature, twin = bent_tube()
    shown = evaluated_points(obj)
    all_weights_zero(obj, armature)
    obj.data.update_tag()
    update()
    assert "No vertex of 'Tube' has a weight" in settings_of(obj).message
    expected = rest_points(obj) if evaluator == "BLENDER" else shown  # Blender's own modifier reads the weights itself
    assert np.array_equal(evaluated_points(obj), expected)
    for group in twin.vertex_groups:
        group.add(list(range(496)), 0.5, "REPLACE")
        obj.vertex_groups[group.name].add(list(range(496)), 0.5, "REPLACE")
    for one in (obj, twin):
        one.data.update_tag()
    update()
    assert_follows(obj, twin)
