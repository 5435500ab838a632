"""Points and cages: bones that follow them, weights for these, and what they do to the skin."""

import bpy
import numpy as np
import pytest
from mathutils import Euler, Matrix
from scenes_handles import CAGE_START, POINTS, add_box, add_handles, add_point, change_of, moved, weight
from scenes_weights import add_bare_tube, assert_whole, edit_elsewhere, leave_edit_mode, weights_of

from scenes import bind, diagonal, evaluated_points, push, redo, rest_points, select, snapshot, turn, undo, update
from supple.bridge.rigs.armatures import read_skeleton
from supple.bridge.rigs.handles import COLLECTION, list_handle_bones
from supple.settings.objects import settings_of

METHODS = ("SSD", "DLBNT", "CENTERS")
CAGE_BONES = [f"Cage {number:02d}{side}" for number in range(1, 7) for side in (".L", ".R")]


def inside(tube: bpy.types.Object) -> np.ndarray:
    """Vertices that the cage holds wholly."""
    return rest_points(tube)[:, 1] > CAGE_START + 0.15


@pytest.fixture
def caged(held_tube) -> tuple:
    return held_tube("cage")


@pytest.fixture
def pointed(held_tube) -> tuple:
    return held_tube("points")


@pytest.mark.versions
def test_bones_follow_and_are_out_of_the_way_and_the_skin_stays(caged):
    tube, armature, (cage,) = caged
    assert sorted(list_handle_bones(armature)) == sorted(CAGE_BONES)
    collection = armature.data.collections[COLLECTION]
    assert not collection.is_visible
    assert {bone.name for bone in collection.bones} == set(CAGE_BONES)
    assert all(armature.data.bones[name].hide_select for name in CAGE_BONES)
    assert cage.parent == armature
    assert cage.parent_bone == "bone.2"
    for name in CAGE_BONES:
        np.testing.assert_allclose(change_of(armature, name), np.eye(4), atol=1e-6)
    assert_whole(tube, [*armature.data.bones.keys()])
    assert not weights_of(tube, ["bone.0", "bone.1", "bone.2"])[inside(tube)].any(), "bones have nothing in a cage"
    assert not weights_of(tube, CAGE_BONES)[rest_points(tube)[:, 1] < 0.5].any(), "a cage reaches far beyond itself"
    np.testing.assert_allclose(evaluated_points(tube), rest_points(tube), atol=1e-5)


RIGID = Matrix.LocRotScale((0.5, -0.3, 0.8), Euler((0.7, 1.9, -0.4)), None)


def test_a_cage_carries_what_is_in_it_and_goes_along_with_the_bones(caged, subtests):
    tube, armature, (cage,) = caged
    chosen, rest, matrix = inside(tube), rest_points(tube), cage.matrix_world.copy()
    for method in METHODS:
        with subtests.test(method):
            bind(tube, method=method)
            cage.matrix_world = RIGID @ matrix
            update()
            expected = moved(rest[chosen], np.array(RIGID))
            assert np.abs(evaluated_points(tube)[chosen] - expected).max() < 1e-5 * diagonal(rest)
            cage.matrix_world = matrix
            turn(armature, "bone.0", (0.4, 0.2, 1.0))
            turn(armature, "bone.1", (0.3, 1.2, 0.1))
            expected = moved(rest[chosen], change_of(armature, "bone.2"))
            assert np.abs(evaluated_points(tube)[chosen] - expected).max() < 1e-5 * diagonal(rest)
            turn(armature, "bone.0")
            turn(armature, "bone.1")


def test_a_vertex_of_a_cage_takes_skin_along(caged):
    tube, _, (cage,) = caged
    top = [vertex.index for vertex in cage.data.vertices if vertex.co.y > 3.0]
    for vertex in top:
        cage.data.vertices[vertex].co.y += 0.4
    update()
    offset = evaluated_points(tube) - rest_points(tube)
    end = rest_points(tube)[:, 1] > 2.9
    assert offset[end, 1].min() > 0.2
    middle = np.abs(rest_points(tube)[:, 1] - 2.25) < 0.2
    assert offset[middle, 1].max() < 0.15
    assert np.abs(offset[:, [0, 2]]).max() < 0.05


def test_shape_keys_and_edits_of_a_cage_count(caged):
    tube, _, (cage,) = caged
    cage.shape_key_add(name="Basis")
    key = cage.shape_key_add(name="Up")
    for point in key.data:
        point.co.z += 0.5
    key.value = 1.0
    update()
    expected = rest_points(tube)[inside(tube)] + (0.0, 0.0, 0.5)
    np.testing.assert_allclose(evaluated_points(tube)[inside(tube)], expected, atol=1e-5)
    key.value = 0.0
    select(cage)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.transform.translate(value=(0.0, 0.0, 0.5))
    update()
    np.testing.assert_allclose(evaluated_points(tube)[inside(tube)], expected, atol=1e-5)


CHANGES = {
    "moved": Matrix.Translation((0.1, 0.2, -0.3)),
    "turned": Euler((0.4, -0.8, 1.1)).to_matrix().to_4x4(),
    "scaled": Matrix.LocRotScale(None, None, (1.5, 0.7, 1.2)),
}


def test_a_point_carries_its_position(pointed, subtests):
    """About its location, as a user moves, turns and scales an empty; the tube's skin is at the point."""
    tube, _, (_, high) = pointed
    at = Matrix.Translation(POINTS["High"])
    weights, rest = weights_of(tube, ["High"])[:, 0], rest_points(tube)
    best, far = int(weights.argmax()), weights == 0.0
    assert weights[best] > 0.9
    for method in METHODS:
        high.matrix_world = at
        bind(tube, method=method)
        for name, change in CHANGES.items():
            with subtests.test(f"{name}, {method}"):
                high.matrix_world = at @ change
                update()
                expected = moved(rest[[best]], np.array(at @ change @ at.inverted()))[0]
                reach = np.linalg.norm(expected - rest[best])
                assert np.linalg.norm(evaluated_points(tube)[best] - expected) < 0.15 * reach + 1e-6
                assert np.abs(evaluated_points(tube)[far] - rest[far]).max() < 1e-5


def test_other_joints_stay_as_they_are_and_one_of_two_is_removed(pointed):
    tube, armature, (low, high) = pointed
    skeleton = read_skeleton(armature)
    index = {name: number for number, name in enumerate(skeleton.names)}
    parents = skeleton.joints.parents[[index[f"bone.{number}"] for number in range(3)]]
    assert parents.tolist() == [-1, index["bone.0"], index["bone.1"]]
    for name in POINTS:
        assert skeleton.name_joint(int(skeleton.joints.parents[index[name]])).startswith("bone.")
    assert skeleton.handles.sum() == 2
    select(tube, low)
    bpy.ops.supple.handles_remove()
    assert list(list_handle_bones(armature)) == ["High"]
    assert_whole(tube, [*armature.data.bones.keys()])
    assert low.parent is None
    assert high.parent == armature


def test_remove_gives_everything_back(caged):
    tube, armature, (cage,) = caged
    bpy.ops.supple.handles_remove()
    fresh, other = add_bare_tube()
    weight(fresh)
    assert armature.data.bones.keys() == other.data.bones.keys()
    assert [group.name for group in tube.vertex_groups] == [group.name for group in fresh.vertex_groups]
    assert COLLECTION not in armature.data.collections
    assert not cage.vertex_groups
    assert cage.parent is None
    assert not settings_of(cage).is_handle
    assert_whole(tube)
    np.testing.assert_allclose(weights_of(tube)[~inside(tube)].sum(axis=1), 1.0, atol=1e-5)
    weight(tube)
    np.testing.assert_allclose(weights_of(tube), weights_of(fresh), atol=1e-6)


@pytest.mark.versions
def test_weights_are_given_back_to_a_mesh_in_edit_mode_with_another_object(pointed):
    tube, armature, _ = pointed
    names = [*armature.data.bones.keys()]
    select(tube)
    other = edit_elsewhere(tube)
    assert bpy.ops.supple.handles_remove() == {"FINISHED"}
    leave_edit_mode(other)
    own = [*armature.data.bones.keys()]
    assert len(own) < len(names)
    assert not {*names} - {*own} & {*tube.vertex_groups.keys()}
    assert_whole(tube, own)


def test_undo_and_redo():
    tube, _ = add_bare_tube()
    weight(tube)
    point = add_point("High", POINTS["High"])
    push("before")
    before = snapshot(tube)
    add_handles(tube, point)
    push("added")
    undo()
    tube, point = bpy.data.objects["Tube"], bpy.data.objects["High"]
    assert snapshot(tube) == before
    assert "High" not in bpy.data.objects["Rig"].data.bones
    assert point.parent is None
    redo()
    assert "High" in bpy.data.objects["Rig"].data.bones


def test_a_mesh_without_armature_gets_its_own():
    tube, armature = add_bare_tube()
    bpy.data.objects.remove(armature)
    tube.modifiers.clear()
    tube.matrix_world = RIGID
    update()
    cage = add_box(start=-0.2)
    cage.matrix_world = RIGID
    add_handles(tube, cage)
    own = tube.modifiers[0].object
    assert own.parent == tube
    assert cage.parent == tube
    weight(tube)
    assert_whole(tube, [*own.data.bones.keys()])
    tube.location.x += 3.0
    update()
    np.testing.assert_allclose(evaluated_points(tube), rest_points(tube), atol=1e-5)
    cage.matrix_world = RIGID @ cage.matrix_world
    update()
    expected = moved(rest_points(tube), np.array(tube.matrix_world.inverted() @ RIGID @ tube.matrix_world))
    np.testing.assert_allclose(evaluated_points(tube), expected, atol=1e-5)
    select(tube)
    bpy.ops.supple.handles_remove()
    assert not tube.modifiers
    assert cage.parent is None
    assert not [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]
