"""Automatic weights of skins with two like sides, and of meshes whose other half a Mirror modifier makes."""

from __future__ import annotations

import bpy
import numpy as np
import pytest
from scenes_weights import (
    BONES,
    CUBE,
    add_bare_tube,
    add_bone,
    add_mesh,
    auto,
    keep_vertices,
    link_to_scene,
    weights_of,
)

from scenes import armature_modifier, evaluated_points, rest_points, select, turn
from supple.settings.objects import settings_of
from supple.tasks.weights.copies import join_copies, read_copies
from supple.tasks.weights.parts import read_skins

NAMES = [*BONES, "wing.L", "wing.R"]


def add_side_bones(armature: bpy.types.Object, lean: float = 0.05) -> None:
    """Bones to both sides of the tube's middle, a little out of line."""
    for name, side in (("wing.L", 1), ("wing.R", -1)):
        add_bone(armature, name, (0.1 * side, 1.5, 0.0), (0.35 * side, 1.5 + lean * side, 0.0))


def find_other_side(points: np.ndarray) -> np.ndarray:
    """For each point the one at its mirror image."""
    return np.linalg.norm(points[:, None] * (-1, 1, 1) - points[None], axis=2).argmin(axis=1)


def test_the_mirror(subtests):
    obj, armature = add_bare_tube()
    add_side_bones(armature)
    select(obj)
    for chosen in ("option", "toggle", "none"):
        with subtests.test(chosen):
            obj.vertex_groups.clear()
            obj.use_mesh_mirror_x = chosen == "toggle"
            auto(**({"mirror": True} if chosen == "option" else {}))
            found = weights_of(obj, NAMES)
            apart = np.abs(found - found[find_other_side(rest_points(obj))][:, [0, 1, 2, 4, 3]]).max()
            assert found[:, 3].max() > 0.3
            assert apart > 0.01 if chosen == "none" else apart < 1e-5


def test_what_has_no_other_side_is_not_mirrored():
    """A sword in the left hand."""
    obj, armature = add_bare_tube()
    add_side_bones(armature)
    corners = np.array([[x, y, z] for x in (0.6, 2.0) for y in (1.4, 1.6) for z in (-0.1, 0.1)])
    sword = add_mesh("Sword", corners, CUBE)
    sword.modifiers.new("Armature", "ARMATURE").object = armature
    select(obj, sword)
    auto()
    before = weights_of(sword, NAMES)
    auto(mirror=True)
    assert (weights_of(sword, NAMES) == before).all()
    assert "8 vertices with nothing on the other side of X were not mirrored." in settings_of(sword).weights_report


def add_half_tube() -> tuple:
    """The left half of a bare tube with a Mirror modifier, and an armature with symmetric bones."""
    obj, armature = add_bare_tube()
    add_side_bones(armature, lean=0.0)
    keep_vertices(obj, rest_points(obj)[:, 0] >= -0.01)
    modifier = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    select(obj)
    return obj, armature, modifier


@pytest.mark.parametrize("mirror", (False, True))
def test_both_sides_of_a_half_mesh_have_bones(mirror):
    obj, armature, _ = add_half_tube()
    auto(prune=0.3, mirror=mirror)
    assert weights_of(obj, NAMES)[:, 3].max() > 0.3
    assert not weights_of(obj, NAMES)[:, 4].any()
    assert settings_of(obj).weights_report.splitlines() == [
        "'Tube': all 65 vertices have weights, by Solid Heat.",
        "Added 1 empty group to 'Tube' for the side made by its Mirror modifier: wing.R.",
    ]
    rest = evaluated_points(obj)
    moved = []
    for name, angle in (("wing.L", 0.7), ("wing.R", -0.7)):
        turn(armature, name, (0.0, 0.0, angle))
        moved.append(evaluated_points(obj))
        turn(armature, name)
    assert np.abs(moved[1] - rest).max() > 0.05
    assert np.abs(moved[0] * (-1, 1, 1) - moved[1][find_other_side(rest)]).max() < 1e-4


def test_the_seam_of_a_half_mesh_is_symmetric():
    obj, _, modifier = add_half_tube()
    auto(prune=0.0)
    seam = np.abs(rest_points(obj)[:, 0]) < 1e-4
    sides = weights_of(obj, ["wing.L", "wing.R"])[seam]
    assert sides.max() > 0.05
    assert np.abs(sides[:, 0] - sides[:, 1]).max() < 0.02
    obj.vertex_groups.clear()
    modifier.use_mirror_vertex_groups = False
    auto(prune=0.3)
    assert "wing.R" not in obj.vertex_groups


@pytest.mark.versions
def test_copies_are_where_blender_puts_them(subtests):
    obj, armature, modifier = add_half_tube()
    modifier.use_mirror_merge = False
    obj.location, obj.rotation_euler, obj.scale = (1, 2, 3), (0.1, 0.2, 0.3), (1, 2, 1)
    armature.location = (0, 0, 1)
    plane = link_to_scene(bpy.data.objects.new("Plane", None))
    plane.location, plane.rotation_euler = (3, 0, 0), (0.5, 0.6, 0.7)
    for axes in ((True, False, False), (True, True, False), (False, True, False)):
        for center in (None, plane):
            with subtests.test(axes=axes, center=center):
                modifier.use_axis, modifier.mirror_object = axes, center
                armature_modifier(obj).show_viewport = True
                bpy.context.view_layer.update()
                (skin,), _ = read_skins([obj])
                points, triangles = join_copies(skin, [read_copies(obj, armature)])
                armature_modifier(obj).show_viewport = False
                space = np.array(armature.matrix_world.inverted() @ obj.matrix_world)
                expected = evaluated_points(obj) @ space[:3, :3].T + space[:3, 3]
                assert points.shape == expected.shape
                assert np.linalg.norm(points[:, None] - expected[None], axis=2).min(axis=0).max() < 1e-4
                assert triangles.max() == len(points) - 1
    obj.modifiers.move(0, 1)
    assert read_copies(obj, armature).transforms == ()


def test_copies_on_the_mesh_itself_are_no_second_skin():
    obj, armature = add_bare_tube()
    obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    (skin,), _ = read_skins([obj])
    copies = read_copies(obj, armature)
    assert len(copies.transforms) == 1
    assert len(join_copies(skin, [copies])[1]) == len(skin.triangles)
