"""The joints object: one for each armature, hidden, there as long as a mesh reads it, and never in the way."""

from pathlib import Path

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_nodes import assert_alike, bend, bind_both, joints_of

from scenes import (
    add_chain,
    add_tube,
    add_twin,
    armature_modifier,
    bind,
    clear,
    distance,
    evaluated_points,
    rest_points,
    save,
    select,
    turn,
    update,
)
from supple.bridge.rigs.joints import find_posing, is_joints_object
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import make_independent, unbind

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups", "nodes_alone")


def joints_objects() -> list[bpy.types.Object]:
    return [obj for obj in bpy.data.objects if is_joints_object(obj)]


def dressed(count: int = 3) -> tuple[list[bpy.types.Object], list[bpy.types.Object], bpy.types.Object]:
    """Meshes on one armature, each with weights of its own for up to six bones; their twins by Python; the armature."""
    first, armature = add_tube(bones=6)
    random = np.random.default_rng(3)
    meshes = [first]
    for number in range(1, count):
        mesh = add_twin(first)
        mesh.name = f"Cloth {number}"
        for vertex in range(0, len(mesh.data.vertices), number):
            for bone in random.choice(6, random.integers(1, 7), replace=False):
                mesh.vertex_groups[int(bone)].add([vertex], random.uniform(0.1, 1.0), "REPLACE")
        meshes.append(mesh)
    twins = [add_twin(mesh) for mesh in meshes]
    bind(*twins, method="DLBNT", evaluate="PYTHON")
    bind(*meshes, method="DLBNT", evaluate="NODES")
    return meshes, twins, armature


def assert_all_alike(meshes: list[bpy.types.Object], twins: list[bpy.types.Object]) -> None:
    for obj, twin in zip(meshes, twins, strict=True):
        assert_alike(obj, twin)


def test_all_meshes_of_an_armature_read_it():
    meshes, twins, armature = dressed()
    bend(armature, 40)
    assert_all_alike(meshes, twins)
    assert joints_objects() == [joints_of(meshes[0])]
    assert all(joints_of(obj) == joints_of(meshes[0]) for obj in meshes)
    bind(meshes[1], method="DLBNT", evaluate="NODES")
    assert_all_alike(meshes, twins)


@pytest.mark.versions
def test_what_is_computed_of_the_joints_follows_the_pose(subtests: pytest.Subtests):
    meshes, twins, armature = dressed(2)
    for name, scale in (("rigid", (1, 1, 1)), ("stretched", (1.1, 0.8, 1)), ("mirrored", (-1, 1, 1))):
        with subtests.test(name):
            turn(armature, "bone.2", (0.7, 0.2, 0.0), scale)
            assert_all_alike(meshes, twins)
            joints = joints_of(meshes[0]).evaluated_get(bpy.context.evaluated_depsgraph_get()).data
            assert ("stretch_0" in joints.attributes) == (name != "rigid")


def test_it_is_hidden():
    (obj, *_), _, armature = dressed(2)
    joints = joints_of(obj)
    assert not joints.users_collection
    assert not joints.users_scene
    assert not joints.use_fake_user
    assert find_posing(joints) == armature
    bpy.ops.object.select_all(action="SELECT")
    assert joints not in bpy.context.selected_objects
    assert joints.name not in bpy.context.scene.objects
    assert joints.name not in bpy.context.view_layer.objects


def test_it_goes_with_the_last_mesh():
    meshes, twins, _ = dressed()
    unbind(meshes[:2])
    assert len(joints_objects()) == 1
    unbind([*meshes[2:], *twins])
    assert not joints_objects()
    assert not [mesh for mesh in bpy.data.meshes if mesh.name.startswith("Supple")]


def test_it_goes_when_its_mesh_has_another_armature(tmp_path: Path):
    obj, armature = add_tube()
    other = armature.copy()
    bpy.context.scene.collection.objects.link(other)
    bind(obj, evaluate="NODES")
    armature_modifier(obj).object = other
    update()
    save(tmp_path / "saved.blend")
    assert [find_posing(joints) for joints in joints_objects()] == [other]


@pytest.mark.versions
def test_each_armature_has_its_own_also_where_meshes_are_shared():
    """Linked duplicates of a character: the mesh, and the influences on it, are the same for both."""
    meshes, twins, armature = dressed()
    other = armature.copy()
    copies = [mesh.copy() for mesh in meshes]
    for copy in (other, *copies):
        bpy.context.scene.collection.objects.link(copy)
    for copy in copies:
        armature_modifier(copy).object = other
    for bone in other.pose.bones:
        bone.matrix_basis.identity()
    update()
    assert [settings_of(copy).message for copy in copies] == [""] * 3
    assert {find_posing(joints_of(copy)) for copy in copies} == {other}
    bend(armature, 40)
    assert_all_alike(meshes, twins)
    assert distance(rest_points(copies[0]), evaluated_points(copies[0])) < 1e-5
    bend(other, 40)
    assert_all_alike(copies, twins)


def test_a_duplicated_character_has_a_pose_of_its_own():
    (obj, cloth), _, armature = dressed(2)
    select(obj, cloth, armature)
    assert bpy.ops.object.duplicate() == {"FINISHED"}
    copies = [copy for copy in bpy.context.selected_objects if copy.type == "MESH"]
    copied_rig = next(copy for copy in bpy.context.selected_objects if copy.type == "ARMATURE")
    update()
    bend(armature, 60)
    assert len(joints_objects()) == 2
    for copy in copies:
        assert find_posing(joints_of(copy)) == copied_rig
        assert distance(rest_points(copy), evaluated_points(copy)) < 1e-5


def test_one_that_was_deleted_comes_back():
    meshes, twins, armature = dressed(2)
    bpy.data.objects.remove(joints_of(meshes[0]))
    update()
    bend(armature, 40)
    assert_all_alike(meshes, twins)
    assert len(joints_objects()) == 1


def test_without_its_armature_there_is_a_message_and_nothing_is_lost():
    (obj, *_), _, armature = dressed(2)
    bend(armature, 40)
    bpy.data.objects.remove(armature)
    update()
    assert "has no armature: choose an armature in the modifier" in settings_of(obj).message
    other = bpy.data.objects.new("Other", bpy.data.armatures.new("Other"))
    bpy.context.scene.collection.objects.link(other)
    add_chain(other, 6, 3.0)
    armature_modifier(obj).object = other
    update()
    assert settings_of(obj).message == ""
    turn(other, "bone.2", (1.0, 0, 0))
    assert distance(rest_points(obj), evaluated_points(obj)) > 0.01


@pytest.mark.versions
def test_purging_orphans_leaves_it():
    meshes, twins, armature = dressed(2)
    bpy.ops.outliner.orphans_purge(do_local_ids=True, do_linked_ids=True, do_recursive=True)
    bend(armature, 40)
    assert_all_alike(meshes, twins)


def test_a_character_that_is_deleted_takes_it_along(tmp_path: Path):
    meshes, twins, armature = dressed(2)
    for obj in (*meshes, *twins, armature):
        bpy.data.objects.remove(obj)
    bpy.ops.wm.open_mainfile(filepath=str(save(tmp_path / "empty.blend")))
    assert not joints_objects()


def test_several_scenes_view_layers_and_hidden_collections():
    (obj, _), (twin, _), armature = dressed(2)
    bend(armature, 40)
    assert_alike(obj, twin)
    expected = evaluated_points(obj)
    scene = bpy.data.scenes.new("Other")
    for each in (obj, armature):
        scene.collection.objects.link(each)
    layer = scene.view_layers[0]
    layer.update()
    posed = obj.evaluated_get(layer.depsgraph).data
    assert distance(expected, np.array([vertex.co for vertex in posed.vertices], np.float32)) < 1e-6
    hidden = bpy.data.collections.new("Rigs")
    bpy.context.scene.collection.children.link(hidden)
    hidden.objects.link(armature)
    bpy.context.scene.collection.objects.unlink(armature)
    bpy.context.view_layer.layer_collection.children["Rigs"].exclude = True
    bend(armature, 70)
    update()
    assert_alike(obj, twin)


def test_made_independent_it_stays():
    meshes, twins, armature = dressed(2)
    make_independent(meshes)
    bpy.ops.outliner.orphans_purge(do_local_ids=True)
    bend(armature, 40)
    for obj, twin in zip(meshes, twins, strict=True):
        assert distance(evaluated_points(twin), evaluated_points(obj)) <= 1e-5


def test_renamed_bones_are_followed_without_supple():
    """Blender renames the groups of the joints object itself."""
    meshes, _, armature = dressed(2)
    obj = meshes[0]
    bend(armature, 40)
    expected = evaluated_points(obj)
    make_independent(meshes)
    armature.data.bones["bone.1"].name = "elbow"
    assert "elbow" in joints_of(obj).vertex_groups
    update()
    assert distance(expected, evaluated_points(obj)) < 1e-6


def test_small_and_large_characters_far_from_their_armature(subtests: pytest.Subtests):
    """A character that has walked away, in its own sizes."""
    for size in (1e-3, 1.0, 1e3):
        clear()
        obj, armature = add_tube()
        for data in (obj.data, armature.data):
            data.transform(Matrix.Scale(size, 4))
        twin = bind_both(obj)
        turn(armature, "bone.1", (1.0, 0.3, 0))
        for away in (0.0, 30.0):
            with subtests.test(size=size, away=away):
                armature.pose.bones["bone.0"].location = (away * size, 0, 0)
                update()
                assert distance(evaluated_points(twin), evaluated_points(obj)) <= 1e-5 * max(1.0, away / 10)
                joints = joints_of(obj).evaluated_get(bpy.context.evaluated_depsgraph_get()).data
                assert "stretch_0" not in joints.attributes


def test_a_linear_group_is_heard_of_by_the_joints():
    meshes, twins, armature = dressed(2)
    for each in (meshes[0], twins[0]):
        each.vertex_groups.new(name="stiff").add(list(range(200)), 0.5, "REPLACE")
        settings_of(each).linear_group = "stiff"
    bend(armature, 60)
    assert_all_alike(meshes, twins)
