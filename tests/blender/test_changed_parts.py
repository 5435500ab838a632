"""Bones, vertices and weights that change while a character is bound: followed, or reported."""

import bpy
import bmesh
import numpy as np
import pytest
from scenes_twins import all_weights_zero, assert_follows, bend, bent_tube

from scenes import (
    EVALUATE,
    add_tube,
    add_twin,
    distance,
    edit_bones,
    evaluated_points,
    rest_points,
    select,
    turn,
    update,
)
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers")


# Bones that change


def rename_in_edit_mode(bones) -> None:
    bones["bone.1"].name = "elbow"


@pytest.mark.parametrize("segments", [1, 3])
@pytest.mark.parametrize("where", ["bone", "edit bone"])
@pytest.mark.parametrize("evaluate", [update, lambda: bpy.context.scene.frame_set(5)], ids=["update", "frame"])
def test_renamed_bones_keep_working(segments, where, evaluate):
    obj, armature = add_tube()
    for bone in armature.data.bones:
        bone.bbone_segments = segments
    update()
    twin = add_twin(obj)
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    bend(armature)
    if where == "bone":
        armature.data.bones["bone.1"].name = "elbow"
    else:
        edit_bones(armature, rename_in_edit_mode)
    assert "elbow" in obj.vertex_groups
    turn(armature, "elbow", (0.3, 0.1, 0.2))
    evaluate()
    assert_follows(obj, twin)
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.02


@pytest.mark.parametrize("name", ["bone.0", "bone.2"])
@pytest.mark.parametrize("evaluate", [update, lambda: bpy.context.scene.frame_set(5)], ids=["update", "frame"])
def test_deleted_bones_are_reported_and_the_rest_can_be_bound_again(name, evaluate):
    obj, armature, twin = bent_tube()
    edit_bones(armature, lambda bones: bones.remove(bones[name]))
    evaluate()
    message = settings_of(obj).message
    assert all(words in message for words in (name, "'Rig'", "bring them back or bind again"))
    assert np.isfinite(evaluated_points(obj)).all()
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
    turn(armature, "bone.1", (0.6, 0, 0.1))
    assert_follows(obj, twin)


def test_deform_switched_off_is_reported_and_switching_on_cures():
    obj, armature, twin = bent_tube()
    armature.data.bones["bone.2"].use_deform = False
    update()
    assert "bone.2" in settings_of(obj).message
    armature.data.bones["bone.2"].use_deform = True
    bend(armature, angle=30)
    assert_follows(obj, twin)


def test_a_bone_added_is_followed():
    obj, armature, twin = bent_tube()

    def add(bones) -> None:
        bone = bones.new("extra")
        bone.head, bone.tail, bone.parent = (0, 1, 0), (0, 1.5, 0.2), bones["bone.0"]

    edit_bones(armature, add)
    for one in (obj, twin):
        one.vertex_groups.new(name="extra").add(list(range(100, 200)), 0.8, "REPLACE")
        one.data.update_tag()
    turn(armature, "extra", (0.5, 0.5, 0))
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


@pytest.mark.parametrize("grow", [True, False], ids=["added", "removed"])
@pytest.mark.parametrize("evaluate", [update, lambda: bpy.context.scene.frame_set(5)], ids=["update", "frame"])
def test_another_number_of_vertices(grow, evaluate):
    """Python knows nothing better than to show the mesh undeformed; nodes go on with the weights that are there."""
    obj, armature, twin = bent_tube(method="SSD" if EVALUATE == "NODES" else "DLBNT")
    for one in (obj, twin):
        resize(one.data, grow)
    evaluate()
    count = len(obj.data.vertices)
    if EVALUATE == "NODES":
        assert_follows(obj, twin)
    else:
        assert f"'Tube' has {count} vertices but was bound with 496: bind again" in settings_of(obj).message
        assert np.array_equal(evaluated_points(obj), rest_points(obj))
    select(obj)
    bpy.ops.supple.bind(method="SSD", evaluate=EVALUATE)
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


def test_vertices_added_in_edit_mode_are_reported_or_followed():
    obj, _, twin = bent_tube()
    for one in (twin, obj):
        select(one)
        bpy.ops.object.mode_set(mode="EDIT")
        bpy.ops.mesh.select_all(action="SELECT")
        bpy.ops.mesh.subdivide()
        update()
        bpy.ops.object.mode_set(mode="OBJECT")
        update()
    if EVALUATE == "NODES":
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


@pytest.mark.parametrize("change", [add_weights, remove_weights, rename_group, remove_group, swap_groups])
@pytest.mark.parametrize("mode", ["OBJECT", "WEIGHT_PAINT"])
@pytest.mark.parametrize("evaluate", [update, lambda: bpy.context.scene.frame_set(5)], ids=["update", "frame"])
def test_changed_weights_are_followed(change, mode, evaluate):
    obj, _, twin = bent_tube()
    before = evaluated_points(twin)
    bpy.ops.object.mode_set(mode=mode)
    for one in (obj, twin):
        change(one)
        one.data.update_tag()
    evaluate()
    assert distance(before, evaluated_points(twin)) > 0.01
    assert_follows(obj, twin)


def test_weights_painted_away_are_reported_and_come_back():
    obj, armature, twin = bent_tube()
    shown = evaluated_points(obj)
    all_weights_zero(obj, armature)
    obj.data.update_tag()
    update()
    assert "No vertex of 'Tube' has a weight" in settings_of(obj).message
    assert np.array_equal(evaluated_points(obj), shown)
    for group in twin.vertex_groups:
        group.add(list(range(496)), 0.5, "REPLACE")
        obj.vertex_groups[group.name].add(list(range(496)), 0.5, "REPLACE")
    for one in (obj, twin):
        one.data.update_tag()
    update()
    assert_follows(obj, twin)
