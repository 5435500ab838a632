"""Points and cages: bones that follow them, weights for these, and what they do to the skin.

What cannot be one is in `test_refusals.py`.
"""

import bpy
import numpy as np
import pytest
import scenes_weights
from mathutils import Euler, Matrix
from scenes_state import refuse

import scenes
from supple.bridge.rigs.armatures import read_skeleton
from supple.bridge.rigs.handles import COLLECTION, list_handle_bones
from supple.options import WeightOptions
from supple.settings.objects import settings_of
from supple.tasks.handles.add import add_handles as add_by_task
from supple.tasks.handles.remove import remove_handles
from supple.tasks.weights.automatic import assign_weights

METHODS = ("SSD", "DLBNT", "CENTERS")
CAGE_BONES = [f"Cage {number:02d}{side}" for number in range(1, 7) for side in (".L", ".R")]


def inside(tube: bpy.types.Object) -> np.ndarray:
    """Vertices that the cage holds wholly."""
    return scenes.rest_points(tube)[:, 1] > scenes_weights.CAGE_START + 0.15


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
        np.testing.assert_allclose(scenes_weights.change_of(armature, name), np.eye(4), atol=1e-6)
    scenes_weights.assert_whole(tube, [*armature.data.bones.keys()])
    assert not scenes_weights.weights_of(tube, ["bone.0", "bone.1", "bone.2"])[inside(tube)].any(), (
        "bones have nothing in a cage"
    )
    assert not scenes_weights.weights_of(tube, CAGE_BONES)[scenes.rest_points(tube)[:, 1] < 0.5].any(), (
        "a cage reaches far beyond itself"
    )
    np.testing.assert_allclose(scenes.evaluated_points(tube), scenes.rest_points(tube), atol=1e-5)


RIGID = Matrix.LocRotScale((0.5, -0.3, 0.8), Euler((0.7, 1.9, -0.4)), None)


def test_a_cage_carries_what_is_in_it_and_goes_along_with_the_bones(caged, subtests):
    tube, armature, (cage,) = caged
    chosen, rest, matrix = inside(tube), scenes.rest_points(tube), cage.matrix_world.copy()
    for method in METHODS:
        with subtests.test(method):
            scenes.bind(tube, method=method)
            cage.matrix_world = RIGID @ matrix
            scenes.update()
            expected = scenes_weights.moved(rest[chosen], np.array(RIGID))
            assert np.abs(scenes.evaluated_points(tube)[chosen] - expected).max() < 1e-5 * scenes.diagonal(rest)
            cage.matrix_world = matrix
            scenes.turn(armature, "bone.0", (0.4, 0.2, 1.0))
            scenes.turn(armature, "bone.1", (0.3, 1.2, 0.1))
            expected = scenes_weights.moved(rest[chosen], scenes_weights.change_of(armature, "bone.2"))
            assert np.abs(scenes.evaluated_points(tube)[chosen] - expected).max() < 1e-5 * scenes.diagonal(rest)
            scenes.turn(armature, "bone.0")
            scenes.turn(armature, "bone.1")


def test_a_vertex_of_a_cage_takes_skin_along(caged):
    tube, _, (cage,) = caged
    top = [vertex.index for vertex in cage.data.vertices if vertex.co.y > 3.0]
    for vertex in top:
        cage.data.vertices[vertex].co.y += 0.4
    scenes.update()
    offset = scenes.evaluated_points(tube) - scenes.rest_points(tube)
    end = scenes.rest_points(tube)[:, 1] > 2.9
    assert offset[end, 1].min() > 0.2
    middle = np.abs(scenes.rest_points(tube)[:, 1] - 2.25) < 0.2
    assert offset[middle, 1].max() < 0.15
    assert np.abs(offset[:, [0, 2]]).max() < 0.05


def test_shape_keys_and_edits_of_a_cage_count(caged):
    tube, _, (cage,) = caged
    cage.shape_key_add(name="Basis")
    key = cage.shape_key_add(name="Up")
    for point in key.data:
        point.co.z += 0.5
    key.value = 1.0
    scenes.update()
    expected = scenes.rest_points(tube)[inside(tube)] + (0.0, 0.0, 0.5)
    np.testing.assert_allclose(scenes.evaluated_points(tube)[inside(tube)], expected, atol=1e-5)
    key.value = 0.0
    scenes.select(cage)
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.transform.translate(value=(0.0, 0.0, 0.5))
    scenes.update()
    np.testing.assert_allclose(scenes.evaluated_points(tube)[inside(tube)], expected, atol=1e-5)


CHANGES = {
    "moved": Matrix.Translation((0.1, 0.2, -0.3)),
    "turned": Euler((0.4, -0.8, 1.1)).to_matrix().to_4x4(),
    "scaled": Matrix.LocRotScale(None, None, (1.5, 0.7, 1.2)),
}


def test_a_point_carries_its_position(pointed, subtests):
    """About its location, as a user moves, turns and scales an empty; the tube's skin is at the point."""
    tube, _, (_, high) = pointed
    at = Matrix.Translation(scenes_weights.POINTS["High"])
    weights, rest = scenes_weights.weights_of(tube, ["High"])[:, 0], scenes.rest_points(tube)
    best, far = int(weights.argmax()), weights == 0.0
    assert weights[best] > 0.9
    for method in METHODS:
        high.matrix_world = at
        scenes.bind(tube, method=method)
        for name, change in CHANGES.items():
            with subtests.test(f"{name}, {method}"):
                high.matrix_world = at @ change
                scenes.update()
                expected = scenes_weights.moved(rest[[best]], np.array(at @ change @ at.inverted()))[0]
                reach = np.linalg.norm(expected - rest[best])
                assert np.linalg.norm(scenes.evaluated_points(tube)[best] - expected) < 0.15 * reach + 1e-6
                assert np.abs(scenes.evaluated_points(tube)[far] - rest[far]).max() < 1e-5


def test_other_joints_stay_as_they_are_and_one_of_two_is_removed(pointed):
    tube, armature, (low, high) = pointed
    skeleton = read_skeleton(armature)
    index = {name: number for number, name in enumerate(skeleton.names)}
    parents = skeleton.joints.parents[[index[f"bone.{number}"] for number in range(3)]]
    assert parents.tolist() == [-1, index["bone.0"], index["bone.1"]]
    for name in scenes_weights.POINTS:
        assert skeleton.name_joint(int(skeleton.joints.parents[index[name]])).startswith("bone.")
    assert skeleton.handles.sum() == 2
    scenes.select(tube, low)
    bpy.ops.supple.handles_remove()
    assert list(list_handle_bones(armature)) == ["High"]
    scenes_weights.assert_whole(tube, [*armature.data.bones.keys()])
    assert low.parent is None
    assert high.parent == armature


@pytest.mark.versions
def test_weights_are_given_back_to_a_mesh_in_edit_mode_with_another_object(pointed):
    tube, armature, _ = pointed
    names = [*armature.data.bones.keys()]
    scenes.select(tube)
    other = scenes_weights.edit_elsewhere(tube)
    assert bpy.ops.supple.handles_remove() == {"FINISHED"}
    scenes_weights.leave_edit_mode(other)
    own = [*armature.data.bones.keys()]
    assert len(own) < len(names)
    assert not {*names} - {*own} & {*tube.vertex_groups.keys()}
    scenes_weights.assert_whole(tube, own)


def test_a_mesh_without_armature_gets_its_own():
    tube, armature = scenes_weights.add_bare_tube()
    bpy.data.objects.remove(armature)
    tube.modifiers.clear()
    tube.matrix_world = RIGID
    scenes.update()
    cage = scenes_weights.add_box(start=-0.2)
    cage.matrix_world = RIGID
    scenes_weights.add_handles(tube, cage)
    own = tube.modifiers[0].object
    assert own.parent == tube
    assert cage.parent == tube
    scenes_weights.weight(tube)
    scenes_weights.assert_whole(tube, [*own.data.bones.keys()])
    tube.location.x += 3.0
    scenes.update()
    np.testing.assert_allclose(scenes.evaluated_points(tube), scenes.rest_points(tube), atol=1e-5)
    cage.matrix_world = RIGID @ cage.matrix_world
    scenes.update()
    expected = scenes_weights.moved(
        scenes.rest_points(tube), np.array(tube.matrix_world.inverted() @ RIGID @ tube.matrix_world)
    )
    np.testing.assert_allclose(scenes.evaluated_points(tube), expected, atol=1e-5)
    scenes.select(tube)
    bpy.ops.supple.handles_remove()
    assert not tube.modifiers
    assert cage.parent is None
    assert not [obj for obj in bpy.data.objects if obj.type == "ARMATURE"]


# Armatures, groups and methods that stand in the way


def test_a_posed_armature_and_what_is_parented():
    """A handle without a parent would be beside the posed skin; one on a bone is where it is at rest."""
    tube, armature = scenes_weights.add_bare_tube()
    point = scenes_weights.add_point("High", scenes_weights.POINTS["High"])
    scenes.turn(armature, "bone.1", (1.0, 0.0, 0.0))
    armature.data.pose_position = "REST"
    scenes.update()
    add_by_task([tube], [point])
    armature.data.pose_position = "POSE"
    scenes.update()
    assert np.abs(np.array(armature.pose.bones["High"].matrix_basis) - np.eye(4)).max() < 1e-6
    change = armature.pose.bones["High"].matrix @ armature.data.bones["High"].matrix_local.inverted()
    carrier = armature.pose.bones[point.parent_bone]
    np.testing.assert_allclose(change, carrier.matrix @ carrier.bone.matrix_local.inverted(), atol=1e-5)
    remove_handles(armature)
    point.parent, point.parent_type, point.parent_bone = armature, "BONE", "bone.2"
    scenes.update()
    assert armature.data.pose_position == "POSE"
    refuse("in the air", add_by_task, [tube], [point])
    assert armature.data.pose_position == "POSE"


def test_an_armature_without_deforming_bones():
    """Handles are the first of them."""
    tube, armature = scenes_weights.add_bare_tube()
    for bone in armature.data.bones:
        bone.use_deform = False
    add_by_task([tube], [scenes_weights.add_point("High", scenes_weights.POINTS["High"])])
    assert [*list_handle_bones(armature)] == ["High"]


@pytest.mark.versions
def test_a_linked_armature(tmp_path):
    scenes_weights.add_bare_tube()
    path = scenes.save(tmp_path / "library.blend")
    scenes.reset()
    (linked,) = scenes.load(path, "Rig")
    tube, own = scenes_weights.add_bare_tube()
    tube.modifiers[0].object = linked
    bpy.data.objects.remove(own)
    point = scenes_weights.add_point("High", scenes_weights.POINTS["High"])
    refuse("'Rig' is linked from another file, so bones cannot be added", add_by_task, [tube], [point])


def test_names_that_are_taken():
    """Groups and bones of a user's own stay what they are."""
    tube, armature = scenes_weights.add_bare_tube()
    tube.vertex_groups.new(name="High").add([0, 1], 0.5, "REPLACE")
    points = [
        scenes_weights.add_point("bone.1", scenes_weights.POINTS["Low"]),
        scenes_weights.add_point("High", scenes_weights.POINTS["High"]),
    ]
    assert points[0].name == "bone.1"
    cage = scenes_weights.add_box()
    tube.vertex_groups.new(name="Cage 03.L")
    scenes_weights.add_handles(tube, *points, cage)
    bones = list_handle_bones(armature)
    assert bones["bone.1.001"] == points[0]
    assert bones["High.001"] == points[1]
    assert len([name for name in bones if name.startswith("Cage.001 ")]) == 12
    assert scenes_weights.auto(method="BIHARMONIC") == {"FINISHED"}
    np.testing.assert_allclose(scenes_weights.weights_of(tube, ["High"])[:3, 0], [0.5, 0.5, 0.0])


def test_no_skin_is_selected():
    tube, _ = scenes_weights.add_bare_tube()
    point = scenes_weights.add_point("High", scenes_weights.POINTS["High"])
    scenes.select(point)
    assert not bpy.ops.supple.handles_add.poll()
    assert not bpy.ops.supple.handles_remove.poll()
    scenes.select(tube)
    assert not bpy.ops.supple.handles_add.poll(), "nothing is to carry it"
    refuse("Add handles first", bpy.ops.supple.handles_remove)
    refuse("'Rig' has no handles to remove", lambda: remove_handles(tube.find_armature()))


def test_a_locked_vertex_of_a_cage_and_locked_groups_of_all_bones(held_tube):
    tube, armature, _ = held_tube("cage")
    name, names = "Cage 06.L", [*armature.data.bones.keys()]
    tube.vertex_groups[name].lock_weight = True
    before = scenes_weights.weights_of(tube, [name])
    assign_weights([tube], WeightOptions())
    np.testing.assert_array_equal(scenes_weights.weights_of(tube, [name]), before)
    scenes_weights.assert_whole(tube, names)
    for bone in names:
        group = tube.vertex_groups.get(bone) or tube.vertex_groups.new(name=bone)
        group.lock_weight = True
    before = scenes_weights.weights_of(tube, names)
    refuse(r"The vertex groups of all target bones are locked", assign_weights, [tube], WeightOptions())
    np.testing.assert_array_equal(scenes_weights.weights_of(tube, names), before)


def test_cages_are_no_skin_and_other_methods_say_what_they_do(held_tube):
    """Selected beside the skin, as they are after Add Handles."""
    tube, armature, (cage,) = held_tube("cage")
    scenes.select(tube, cage)
    groups = len(cage.vertex_groups)
    assert scenes_weights.auto(method="BIHARMONIC") == {"FINISHED"}
    assert len(cage.vertex_groups) == groups
    assert not cage.modifiers
    bpy.ops.supple.bind(method="SSD")
    assert not settings_of(cage).is_bound
    for method in ("SOLID", "SURFACE"):
        scenes.select(tube)
        scenes_weights.auto(method=method)
        assert "With this method, the vertices of a cage act as points" in settings_of(tube).weights_report
        scenes_weights.assert_whole(tube, [*armature.data.bones.keys()])


def test_a_linked_mesh_with_weights_of_handles(tmp_path, held_tube):
    """Its vertex groups can not be removed; one without such groups is not in the way."""
    tube, armature, _ = held_tube("points")
    for own in (False, True):
        mesh = tube.data.copy() if own else bpy.data.meshes.new("Bare")
        bpy.data.libraries.write(str(tmp_path / f"{own}.blend"), {mesh})
        with bpy.data.libraries.load(str(tmp_path / f"{own}.blend"), link=True) as (source, target):
            target.meshes = source.meshes
        other = scenes.add_object("Linked", target.meshes[0])
        other.modifiers.new("Armature", "ARMATURE").object = armature
    scenes.select(armature)
    refuse(r"'Linked\.001' is linked from another file, with weights for handles", bpy.ops.supple.handles_remove)
    assert {"Low", "High"} <= set(armature.data.bones.keys())
    bpy.data.objects.remove(other)
    assert bpy.ops.supple.handles_remove() == {"FINISHED"}
    assert not {"Low", "High"} & set(armature.data.bones.keys())


def test_a_bound_skin_without_another_armature_is_not_left_alone():
    tube, armature = scenes_weights.add_bare_tube()
    bpy.data.objects.remove(armature)
    tube.modifiers.clear()
    scenes_weights.add_handles(tube, scenes_weights.add_point("High", scenes_weights.POINTS["High"]))
    scenes.select(tube)
    scenes_weights.auto(method="BIHARMONIC")
    bpy.ops.supple.bind(method="SSD")
    refuse("'Tube' is bound and would have no armature left: unbind it first", bpy.ops.supple.handles_remove)
    bpy.ops.supple.unbind()
    scenes.select(tube)
    assert bpy.ops.supple.handles_remove() == {"FINISHED"}


def test_mirrored_cages_have_sides(held_tube):
    tube, armature, _ = held_tube("cage")
    scenes.select(tube)
    bpy.ops.supple.weights_auto(method="BIHARMONIC", cells=600, mirror=True)
    names = [*armature.data.bones.keys()]
    weights = scenes_weights.weights_of(tube, names)
    points = np.array([vertex.co for vertex in tube.data.vertices])
    mirrored = np.linalg.norm(points[:, None] - points * [-1, 1, 1], axis=2).argmin(axis=1)
    flipped = [names.index(bpy.utils.flip_name(name)) for name in names]
    np.testing.assert_allclose(weights, weights[mirrored][:, flipped], atol=1e-5)
    assert (
        points[weights[:, [name.startswith("Cage") for name in names]].any(axis=1), 1] > scenes_weights.CAGE_START - 1.0
    ).all()
