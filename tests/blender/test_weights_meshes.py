"""Automatic weights of several meshes: what is weighted together, what apart, and where objects stand."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
import scenes_weights

import scenes
from supple.deformers.automatic_weights import METHODS
from supple.settings.objects import settings_of
from supple.tasks.weights.copies import join_copies, read_copies
from supple.tasks.weights.parts import read_skins


def test_parts_are_one_body():
    """Two halves of a tube get at their seam, and elsewhere, what the whole tube gets."""
    obj, _ = scenes_weights.add_bare_tube()
    halves = [scenes.add_twin(obj), scenes.add_twin(obj)]
    scenes.select(obj)
    points = scenes.rest_points(obj)
    kept = (points[:, 1] < 1.51, points[:, 1] > 1.49)
    for half, keep in zip(halves, kept, strict=True):
        scenes_weights.keep_vertices(half, keep)
    for objects in ([obj], halves):
        scenes.select(*objects)
        scenes_weights.auto()
    for half, keep in zip(halves, kept, strict=True):
        assert np.abs(scenes_weights.weights_of(half) - scenes_weights.weights_of(obj)[keep]).max() < 0.01
    seams = [scenes_weights.weights_of(half)[abs(scenes.rest_points(half)[:, 1] - 1.5) < 0.01] for half in halves]
    assert len(seams[0]) == 8
    assert (seams[0] == seams[1]).all()


def test_loose_vertices_and_empty_meshes_go_along():
    obj, armature = scenes_weights.add_bare_tube()
    empty, loose = (
        scenes.add_mesh("Nothing", np.zeros((0, 3)), np.zeros((0, 3), int)),
        scenes_weights.add_bare_tube()[0],
    )
    for one in (empty, loose):
        one.modifiers.clear()
        one.modifiers.new("Armature", "ARMATURE").object = armature
    loose.data.clear_geometry()
    loose.data.from_pydata([(0, 0.5, 0), (0, 2.5, 0)], [(0, 1)], [])
    scenes.select(obj, loose, empty)
    scenes_weights.auto()
    scenes_weights.assert_whole(obj)
    assert scenes_weights.weights_of(loose).argmax(axis=1).tolist() == [0, 2]
    assert settings_of(empty).weights_report.startswith("'Nothing' has no vertices.")


def test_an_armature_weights_all_its_visible_meshes():
    obj, armature = scenes_weights.add_bare_tube()
    twin, hidden = scenes.add_twin(obj), scenes.add_twin(obj)
    scenes.select(hidden)
    hidden.hide_set(True)
    scenes.select(armature)
    scenes_weights.auto()
    scenes_weights.assert_whole(obj)
    scenes_weights.assert_whole(twin)
    assert "'Tube': all" in settings_of(armature).weights_report
    assert "'Tube.001': all" in settings_of(armature).weights_report
    assert not hidden.vertex_groups


def test_meshes_of_several_armatures_are_weighted_apart():
    obj, _ = scenes_weights.add_bare_tube()
    other, rig = scenes_weights.add_bare_tube(bones=2)
    obj.location = rig.location = other.location = (5, 0, 0)
    first_rig = scenes.armature_modifier(obj).object
    first_rig.location = (5, 0, 0)
    scenes.select(obj, other)
    scenes_weights.auto()
    scenes_weights.assert_whole(obj)
    scenes_weights.assert_whole(other, scenes_weights.BONES[:2])
    assert "bone.2" not in other.vertex_groups


def test_a_mesh_without_armature_is_given_the_selected_one():
    obj, armature = scenes_weights.add_bare_tube()
    for selected in ((obj, armature), (armature, obj)):
        obj.modifiers.clear()
        obj.vertex_groups.clear()
        scenes.select(*selected)
        scenes_weights.auto()
        scenes_weights.assert_whole(obj)
        assert scenes.armature_modifier(obj).object == armature
        assert "Added an Armature modifier with 'Rig' to 'Tube'." in settings_of(obj).weights_report
        scenes_weights.auto()
        assert len(obj.modifiers) == 1
        assert "Added" not in settings_of(obj).weights_report


def test_a_new_armature_modifier_stands_where_it_works():
    obj, armature = scenes_weights.add_bare_tube()
    obj.modifiers.clear()
    for kind in ("SOLIDIFY", "MIRROR", "LATTICE", "SUBSURF"):
        obj.modifiers.new(kind, kind)
    scenes.select(obj, armature)
    scenes_weights.auto()
    assert [one.type for one in obj.modifiers] == ["SOLIDIFY", "MIRROR", "LATTICE", "ARMATURE", "SUBSURF"]


def test_a_child_that_its_armature_deforms_is_given_no_modifier():
    obj, armature = scenes_weights.add_bare_tube()
    obj.modifiers.clear()
    obj.parent, obj.parent_type = armature, "ARMATURE"
    scenes_weights.auto()
    scenes_weights.assert_whole(obj)
    assert not obj.modifiers


def test_shared_data_is_weighted_once():
    obj, armature = scenes_weights.add_bare_tube()
    twin = scenes.link(obj.copy())
    twin.modifiers.clear()
    scenes.select(obj, twin)
    scenes_weights.auto()
    scenes_weights.assert_whole(obj)
    assert scenes.armature_modifier(twin).object == armature
    told = settings_of(obj).weights_report.splitlines()
    assert told == [
        "'Tube': all 104 vertices have weights, by Solid Heat.",
        "Added an Armature modifier with 'Rig' to 'Tube.001'.",
    ]
    assert settings_of(twin).weights_report.splitlines() == ["'Tube.001' shares the mesh of 'Tube'.", *told]


def test_an_active_mesh_that_is_not_selected_is_left_alone():
    obj, _ = scenes_weights.add_bare_tube()
    twin = scenes.add_twin(obj)
    scenes.select(twin)
    bpy.context.view_layer.objects.active = obj
    scenes_weights.auto()
    scenes_weights.assert_whole(twin)
    assert not obj.vertex_groups
    twin.select_set(False)
    scenes_weights.auto()
    scenes_weights.assert_whole(obj)


@pytest.mark.versions
def test_modes(subtests):
    obj, _ = scenes_weights.add_bare_tube()
    scenes_weights.auto()
    before = scenes_weights.weights_of(obj)
    for mode in ("EDIT", "WEIGHT_PAINT", "SCULPT"):
        with subtests.test(mode):
            bpy.ops.object.mode_set(mode="OBJECT")
            obj.vertex_groups.clear()
            bpy.ops.object.mode_set(mode=mode)
            scenes_weights.auto()
            assert obj.mode == mode
            bpy.ops.object.mode_set(mode="OBJECT")
            assert (scenes_weights.weights_of(obj) == before).all()


def test_the_shape_without_keys_and_pose_counts():
    obj, armature = scenes_weights.add_bare_tube()
    scenes_weights.auto()
    before = scenes_weights.weights_of(obj)
    scenes.add_face_key(obj, size=2.0).value = 1.0
    obj.active_shape_key_index = 1
    scenes.turn(armature, "bone.1", (1.0, 0.0, 0.0))
    scenes_weights.auto()
    assert (scenes_weights.weights_of(obj) == before).all()


def test_the_places_of_objects_count():
    obj, armature = scenes_weights.add_bare_tube()
    scenes_weights.auto()
    before = scenes_weights.weights_of(obj)
    obj.data.transform(obj.matrix_world.inverted())
    armature.location = obj.location = (3.0, -2.0, 1.0)
    armature.rotation_euler = obj.rotation_euler = (0.4, 0.5, 0.6)
    armature.scale = (0.01, 0.01, 0.01)
    obj.scale = (0.02, 0.02, 0.02)
    obj.data.transform(obj.matrix_world.inverted() @ obj.matrix_world)
    for vertex in obj.data.vertices:
        vertex.co *= 0.5
    scenes_weights.auto()
    assert np.abs(scenes_weights.weights_of(obj) - before).max() < 0.01


def test_a_mirrored_object(subtests):
    """Scaled by -1, a mesh is inside out in its own space and not in the world."""
    obj, _ = scenes_weights.add_bare_tube()
    for method in METHODS:
        with subtests.test(method):
            obj.scale.x = 1.0
            scenes_weights.auto(method=method)
            before = scenes_weights.weights_of(obj)
            obj.scale.x = -1.0
            obj.vertex_groups.clear()
            scenes_weights.auto(method=method)
            assert np.abs(scenes_weights.weights_of(obj) - before).max() < 0.1  # the cells lie elsewhere


# Skins with two like sides, and meshes whose other half a Mirror modifier makes


NAMES = [*scenes_weights.BONES, "wing.L", "wing.R"]


def add_side_bones(armature: bpy.types.Object, lean: float = 0.05) -> None:
    """Bones to both sides of the tube's middle, a little out of line."""
    for name, side in (("wing.L", 1), ("wing.R", -1)):
        scenes_weights.add_bone(armature, name, (0.1 * side, 1.5, 0.0), (0.35 * side, 1.5 + lean * side, 0.0))


def find_other_side(points: np.ndarray) -> np.ndarray:
    """For each point the one at its mirror image."""
    return np.linalg.norm(points[:, None] * (-1, 1, 1) - points[None], axis=2).argmin(axis=1)


def test_the_mirror(subtests):
    obj, armature = scenes_weights.add_bare_tube()
    add_side_bones(armature)
    scenes.select(obj)
    for chosen in ("option", "toggle", "none"):
        with subtests.test(chosen):
            obj.vertex_groups.clear()
            obj.use_mesh_mirror_x = chosen == "toggle"
            scenes_weights.auto(**({"mirror": True} if chosen == "option" else {}))
            found = scenes_weights.weights_of(obj, NAMES)
            apart = np.abs(found - found[find_other_side(scenes.rest_points(obj))][:, [0, 1, 2, 4, 3]]).max()
            assert found[:, 3].max() > 0.3
            assert apart > 0.01 if chosen == "none" else apart < 1e-5


def test_what_has_no_other_side_is_not_mirrored():
    """A sword in the left hand."""
    obj, armature = scenes_weights.add_bare_tube()
    add_side_bones(armature)
    corners = np.array([[x, y, z] for x in (0.6, 2.0) for y in (1.4, 1.6) for z in (-0.1, 0.1)])
    sword = scenes.add_mesh("Sword", corners, scenes_weights.CUBE)
    sword.modifiers.new("Armature", "ARMATURE").object = armature
    scenes.select(obj, sword)
    scenes_weights.auto()
    before = scenes_weights.weights_of(sword, NAMES)
    scenes_weights.auto(mirror=True)
    assert (scenes_weights.weights_of(sword, NAMES) == before).all()
    assert "8 vertices with nothing on the other side of X were not mirrored." in settings_of(sword).weights_report


def add_half_tube() -> tuple:
    """The left half of a bare tube with a Mirror modifier, and an armature with symmetric bones."""
    obj, armature = scenes_weights.add_bare_tube()
    add_side_bones(armature, lean=0.0)
    scenes_weights.keep_vertices(obj, scenes.rest_points(obj)[:, 0] >= -0.01)
    modifier = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    scenes.select(obj)
    return obj, armature, modifier


@pytest.mark.parametrize("mirror", (False, True))
def test_both_sides_of_a_half_mesh_have_bones(mirror):
    obj, armature, _ = add_half_tube()
    scenes_weights.auto(prune=0.3, mirror=mirror)
    assert scenes_weights.weights_of(obj, NAMES)[:, 3].max() > 0.3
    assert not scenes_weights.weights_of(obj, NAMES)[:, 4].any()
    assert settings_of(obj).weights_report.splitlines() == [
        "'Tube': all 65 vertices have weights, by Solid Heat.",
        "Added 1 empty group to 'Tube' for the side made by its Mirror modifier: wing.R.",
    ]
    rest = scenes.evaluated_points(obj)
    moved = []
    for name, angle in (("wing.L", 0.7), ("wing.R", -0.7)):
        scenes.turn(armature, name, (0.0, 0.0, angle))
        moved.append(scenes.evaluated_points(obj))
        scenes.turn(armature, name)
    assert np.abs(moved[1] - rest).max() > 0.05
    assert np.abs(moved[0] * (-1, 1, 1) - moved[1][find_other_side(rest)]).max() < 1e-4


def test_the_seam_of_a_half_mesh_is_symmetric():
    obj, _, modifier = add_half_tube()
    scenes_weights.auto(prune=0.0)
    seam = np.abs(scenes.rest_points(obj)[:, 0]) < 1e-4
    sides = scenes_weights.weights_of(obj, ["wing.L", "wing.R"])[seam]
    assert sides.max() > 0.05
    assert np.abs(sides[:, 0] - sides[:, 1]).max() < 0.02
    obj.vertex_groups.clear()
    modifier.use_mirror_vertex_groups = False
    scenes_weights.auto(prune=0.3)
    assert "wing.R" not in obj.vertex_groups


@pytest.mark.versions
def test_copies_are_where_blender_puts_them(subtests):
    obj, armature, modifier = add_half_tube()
    modifier.use_mirror_merge = False
    obj.location, obj.rotation_euler, obj.scale = (1, 2, 3), (0.1, 0.2, 0.3), (1, 2, 1)
    armature.location = (0, 0, 1)
    plane = scenes.link(bpy.data.objects.new("Plane", None))
    plane.location, plane.rotation_euler = (3, 0, 0), (0.5, 0.6, 0.7)
    for axes in ((True, False, False), (True, True, False), (False, True, False)):
        for center in (None, plane):
            with subtests.test(axes=axes, center=center):
                modifier.use_axis, modifier.mirror_object = axes, center
                scenes.armature_modifier(obj).show_viewport = True
                bpy.context.view_layer.update()
                (skin,), _ = read_skins([obj])
                points, triangles = join_copies(skin, [read_copies(obj, armature)])
                scenes.armature_modifier(obj).show_viewport = False
                space = np.array(armature.matrix_world.inverted() @ obj.matrix_world)
                expected = scenes.evaluated_points(obj) @ space[:3, :3].T + space[:3, 3]
                assert points.shape == expected.shape
                assert np.linalg.norm(points[:, None] - expected[None], axis=2).min(axis=0).max() < 1e-4
                assert triangles.max() == len(points) - 1
    obj.modifiers.move(0, 1)
    assert read_copies(obj, armature).transforms == ()


def test_copies_on_the_mesh_itself_are_no_second_skin():
    obj, armature = scenes_weights.add_bare_tube()
    obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    (skin,), _ = read_skins([obj])
    copies = read_copies(obj, armature)
    assert len(copies.transforms) == 1
    assert len(join_copies(skin, [copies])[1]) == len(skin.triangles)
