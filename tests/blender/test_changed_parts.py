"""Bones, vertices and weights that change while a character is bound: followed, or reported."""

from itertools import product

import bpy
import bmesh
import numpy as np
import pytest
from scenes_twins import all_weights_zero, assert_follows, bend, bent_tube

from scenes import bind, clear, edit_bones, evaluated_points, rest_points, turn, update
from supple.settings.objects import settings_of

pytestmark = pytest.mark.usefixtures("silent_handlers", "evaluator")


def next_frame() -> None:
    bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)


STEPS = (update, next_frame)
"""How Blender comes to evaluate what has changed."""


# Bones that change


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


# Weights that change


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
