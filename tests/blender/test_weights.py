"""Automatic weights: what is read, what is written and told, and what is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable

import bpy
import bmesh
import numpy as np
import pytest

from scenes import (
    add_face_key,
    add_tube,
    add_twin,
    armature_modifier,
    bind,
    evaluated_points,
    rest_points,
    select,
    snapshot,
    turn,
)
from supple.bridge.weights import read_weights
from supple.deformers import SkinningError
from supple.operators.weights import CanceledError, Computation
from supple.settings.objects import settings_of
from supple.tasks.weights import automatic as weights
from supple.tasks.weights.automatic import Options, assign_weights
from supple.tasks.weights.copies import join_copies, read_copies
from supple.tasks.weights.parts import read_skins
from supple.tasks.weights.reports import Report

BONES = [f"bone.{bone}" for bone in range(3)]
METHODS = ("SOLID", "SURFACE", "BIHARMONIC")
COARSE = 24
"""Cells along a tube: enough for a tube."""
FEW = 600
"""Cells of a tube for biharmonic weights."""


def add_bare_tube(**shape: float) -> tuple:
    """A small tube without weights, and its armature."""
    obj, armature = add_tube(rings=13, sides=8, **shape)
    obj.vertex_groups.clear()
    return obj, armature


def auto(**options) -> set[str]:
    """The operator, on a coarse grid where nothing else is asked for."""
    return bpy.ops.supple.weights_auto(**{"resolution": COARSE, "cells": FEW, **options})


def weights_of(obj: bpy.types.Object, names: list[str] = BONES) -> np.ndarray:
    return read_weights(obj, names)


def set_weight(obj: bpy.types.Object, name: str, value: float, vertices: list[int] | None = None) -> None:
    """Have vertices, all if not given, hold a weight."""
    group = obj.vertex_groups.get(name) or obj.vertex_groups.new(name=name)
    group.add(list(range(len(obj.data.vertices))) if vertices is None else vertices, value, "REPLACE")


def assert_whole(obj: bpy.types.Object, names: list[str] = BONES) -> None:
    """Every vertex has weights, which sum to 1."""
    assert np.abs(weights_of(obj, names).sum(axis=1) - 1.0).max() < 1e-5


def select_bones(armature: bpy.types.Object, *names: str) -> None:
    for bone in armature.pose.bones:
        owner = bone if "select" in bone.bl_rna.properties else bone.bone
        owner.select = bone.name in names


def add_mesh(name: str, points: np.ndarray, faces: np.ndarray) -> bpy.types.Object:
    mesh = bpy.data.meshes.new(name)
    mesh.from_pydata(points.tolist(), [], faces.tolist())
    obj = bpy.data.objects.new(name, mesh)
    bpy.context.scene.collection.objects.link(obj)
    return obj


# What is written


@pytest.mark.parametrize("method", METHODS)
def test_each_method_weights_every_vertex(method):
    obj, _ = add_bare_tube()
    assert auto(method=method) == {"FINISHED"}
    assert_whole(obj)
    found = weights_of(obj)
    y = rest_points(obj)[:, 1]
    assert (found[y < 0.3].argmax(axis=1) == 0).all()
    assert (found[abs(y - 1.5) < 0.3].argmax(axis=1) == 1).all()
    assert (found[y > 2.7].argmax(axis=1) == 2).all()
    assert np.abs(found[abs(y - 1.0) < 0.01, :2] - 0.5).max() < 0.2


def test_the_operator_does_what_the_task_does():
    obj, _ = add_bare_tube()
    twin = add_twin(obj)
    select(obj)
    chosen = {"method": "SOLID", "mode": "REPLACE", "limit": 2, "prune": 0.02, "resolution": 32, "cells": 300}
    auto(**chosen)
    assign_weights([twin], Options(**chosen))
    assert weights_of(obj).any()
    assert (weights_of(obj) == weights_of(twin)).all()
    select(twin)
    auto(**{**chosen, "limit": 1})
    assert not (weights_of(obj) == weights_of(twin)).all()


def test_replace_takes_only_groups_of_bones():
    obj, _ = add_bare_tube()
    set_weight(obj, "bone.2", 1.0)
    set_weight(obj, "Cloth Pin", 0.25)
    auto()
    assert_whole(obj)
    assert not weights_of(obj)[rest_points(obj)[:, 1] < 0.3, 2].any()
    assert (weights_of(obj, ["Cloth Pin"]) == 0.25).all()


def test_add_keeps_a_share_of_what_is_there():
    obj, _ = add_bare_tube()
    set_weight(obj, "bone.2", 1.0)
    auto(mode="ADD")
    assert_whole(obj)
    start = weights_of(obj)[rest_points(obj)[:, 1] < 0.3]
    assert np.abs(start[:, 2] - 0.5).max() < 0.05
    assert np.abs(start[:, 0] - 0.5).max() < 0.05


def test_unweighted_leaves_vertices_with_weights_alone():
    obj, _ = add_bare_tube()
    kept = list(range(40))
    set_weight(obj, "bone.2", 1.0, kept)
    auto(mode="UNWEIGHTED")
    assert_whole(obj)
    assert (weights_of(obj)[kept] == (0, 0, 1)).all()
    assert weights_of(obj)[40:, 1].max() > 0.8


def split_all_edges(obj: bpy.types.Object) -> None:
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    bmesh.ops.split_edges(edited, edges=list(edited.edges))
    edited.to_mesh(obj.data)


def find_first_copies(obj: bpy.types.Object) -> np.ndarray:
    """For each vertex the first one at its place."""
    _, first, inverse = np.unique(rest_points(obj).round(4), axis=0, return_index=True, return_inverse=True)
    assert len(first) < len(obj.data.vertices)
    return first[inverse.ravel()]


@pytest.mark.parametrize("locked", (False, True))
def test_unweighted_copies_take_the_weights_at_their_place(locked):
    obj, _ = add_bare_tube()
    split_all_edges(obj)
    first = find_first_copies(obj)
    set_weight(obj, "bone.2", 1.0, np.unique(first)[:52].tolist())
    obj.vertex_groups["bone.2"].lock_weight = locked
    before = weights_of(obj)
    auto(mode="UNWEIGHTED")
    if locked:
        assert (weights_of(obj)[:, 2] == before[:, 2]).all()
    else:
        assert (weights_of(obj) == weights_of(obj)[first]).all()
        assert_whole(obj)


def test_only_selected_bones_are_written():
    obj, armature = add_bare_tube()
    for name in BONES:
        set_weight(obj, name, {"bone.0": 0.75, "bone.1": 0.25}.get(name, 0.0))
    select_bones(armature, "bone.2")
    auto(only_selected_bones=True)
    assert_whole(obj)
    found = weights_of(obj)
    assert found[rest_points(obj)[:, 1] > 2.9, 2].min() > 0.9
    assert np.abs(found[rest_points(obj)[:, 1] < 0.3] - (0.75, 0.25, 0)).max() < 0.01
    shared = found[:, 1] > 0.01
    assert np.abs(found[shared, 0] / found[shared, 1] - 3.0).max() < 0.01


def test_locked_groups_are_not_touched():
    obj, _ = add_bare_tube()
    set_weight(obj, "bone.2", 0.25)
    obj.vertex_groups["bone.2"].lock_weight = True
    auto()
    assert (weights_of(obj)[:, 2] == 0.25).all()
    assert_whole(obj)
    assert "Locked groups of 'Tube' were left as they are: bone.2." in settings_of(obj).weights_report


def test_what_locked_groups_of_one_part_leave_short_is_told():
    obj, _ = add_bare_tube()
    twin = add_twin(obj)
    set_weight(obj, "bone.2", 0.25)
    obj.vertex_groups["bone.2"].lock_weight = True
    select(obj, twin)
    auto(prune=0.2)
    assert (weights_of(obj)[:, 2] == 0.25).all()
    assert_whole(twin)
    assert weights_of(twin)[:, 2].max() > 0.9
    assert re.search(r"\d+ vertices do not sum to 1, for locked groups: unlock", settings_of(obj).weights_report)


@pytest.mark.parametrize("limit", (1, 2))
def test_the_limit_holds(limit):
    obj, _ = add_bare_tube()
    auto(limit=limit)
    assert (weights_of(obj) > 0).sum(axis=1).max() == limit
    assert_whole(obj)


def test_small_weights_are_left_out():
    obj, _ = add_bare_tube()
    auto(prune=0.2)
    found = weights_of(obj)
    assert found[found > 0].min() >= 0.2
    assert_whole(obj)


# What is weighted


def test_parts_are_one_body():
    """Two halves of a tube get at their seam, and elsewhere, what the whole tube gets."""
    obj, _ = add_bare_tube()
    halves = [add_twin(obj), add_twin(obj)]
    select(obj)
    points = rest_points(obj)
    kept = (points[:, 1] < 1.51, points[:, 1] > 1.49)
    for half, keep in zip(halves, kept, strict=True):
        edited = bmesh.new()
        edited.from_mesh(half.data)
        bmesh.ops.delete(edited, geom=[v for v, stays in zip(edited.verts, keep, strict=True) if not stays])
        edited.to_mesh(half.data)
    auto()
    select(*halves)
    auto()
    for half, keep in zip(halves, kept, strict=True):
        assert np.abs(weights_of(half) - weights_of(obj)[keep]).max() < 0.01
    seams = [weights_of(half)[abs(rest_points(half)[:, 1] - 1.5) < 0.01] for half in halves]
    assert len(seams[0]) == 8
    assert (seams[0] == seams[1]).all()


@pytest.mark.parametrize("method", METHODS)
def test_split_vertices_get_the_same_weights(method):
    obj, _ = add_bare_tube()
    split_all_edges(obj)
    auto(method=method)
    assert_whole(obj)
    found = weights_of(obj)
    assert (found == found[find_first_copies(obj)]).all()


def test_loose_vertices_and_empty_meshes_go_along():
    obj, armature = add_bare_tube()
    empty, loose = add_mesh("Nothing", np.zeros((0, 3)), np.zeros((0, 3), int)), add_bare_tube()[0]
    for one in (empty, loose):
        one.modifiers.clear()
        one.modifiers.new("Armature", "ARMATURE").object = armature
    loose.data.clear_geometry()
    loose.data.from_pydata([(0, 0.5, 0), (0, 2.5, 0)], [(0, 1)], [])
    select(obj, loose, empty)
    auto()
    assert_whole(obj)
    assert weights_of(loose).argmax(axis=1).tolist() == [0, 2]
    assert settings_of(empty).weights_report.startswith("'Nothing' has no vertices.")


def test_an_armature_weights_all_its_meshes():
    obj, armature = add_bare_tube()
    twin = add_twin(obj)
    select(armature)
    auto()
    assert_whole(obj)
    assert_whole(twin)
    assert "'Tube': all" in settings_of(armature).weights_report
    assert "'Tube.001': all" in settings_of(armature).weights_report


def test_meshes_of_several_armatures_are_weighted_apart():
    obj, _ = add_bare_tube()
    other, rig = add_bare_tube(bones=2)
    obj.location = rig.location = other.location = (5, 0, 0)
    first_rig = armature_modifier(obj).object
    first_rig.location = (5, 0, 0)
    select(obj, other)
    auto()
    assert_whole(obj)
    assert_whole(other, BONES[:2])
    assert "bone.2" not in other.vertex_groups


@pytest.mark.parametrize("active", ("mesh", "armature"))
def test_a_mesh_without_armature_is_given_the_selected_one(active):
    obj, armature = add_bare_tube()
    obj.modifiers.clear()
    select(*((obj, armature) if active == "mesh" else (armature, obj)))
    auto()
    assert_whole(obj)
    assert armature_modifier(obj).object == armature
    assert "was given an Armature modifier with 'Rig'" in settings_of(obj).weights_report
    auto()
    assert len(obj.modifiers) == 1
    assert "was given" not in settings_of(obj).weights_report


def test_a_new_armature_modifier_stands_where_it_works():
    obj, armature = add_bare_tube()
    obj.modifiers.clear()
    for kind in ("SOLIDIFY", "MIRROR", "LATTICE", "SUBSURF"):
        obj.modifiers.new(kind, kind)
    select(obj, armature)
    auto()
    assert [one.type for one in obj.modifiers] == ["SOLIDIFY", "MIRROR", "LATTICE", "ARMATURE", "SUBSURF"]


def test_a_child_that_its_armature_deforms_is_given_no_modifier():
    obj, armature = add_bare_tube()
    obj.modifiers.clear()
    obj.parent, obj.parent_type = armature, "ARMATURE"
    auto()
    assert_whole(obj)
    assert not obj.modifiers


def add_sharer(obj: bpy.types.Object) -> bpy.types.Object:
    """Another object of the same mesh."""
    sharer = obj.copy()
    bpy.context.scene.collection.objects.link(sharer)
    return sharer


def test_shared_data_is_weighted_once():
    obj, armature = add_bare_tube()
    twin = add_sharer(obj)
    twin.modifiers.clear()
    select(obj, twin)
    auto()
    assert_whole(obj)
    assert armature_modifier(twin).object == armature
    told = settings_of(obj).weights_report.splitlines()
    assert told == [
        "'Tube': all 104 vertices have weights, by Solid Heat.",
        "'Tube.001' was given an Armature modifier with 'Rig'.",
    ]
    assert settings_of(twin).weights_report.splitlines() == ["'Tube.001' shares the mesh of 'Tube'.", *told]


def test_shared_data_of_two_armatures_is_refused():
    obj, armature = add_bare_tube()
    twin = add_sharer(obj)
    other = armature.copy()
    bpy.context.scene.collection.objects.link(other)
    armature_modifier(twin).object = other
    select(obj, twin)
    with pytest.raises(
        RuntimeError, match=r"'Tube\.001' shares the mesh.*by 'Rig\.001', not by 'Rig': select only one"
    ):
        auto()
    assert not obj.vertex_groups


def test_an_active_mesh_that_is_not_selected_is_left_alone():
    obj, _ = add_bare_tube()
    twin = add_twin(obj)
    select(twin)
    bpy.context.view_layer.objects.active = obj
    auto()
    assert_whole(twin)
    assert not obj.vertex_groups
    twin.select_set(False)
    auto()
    assert_whole(obj)


@pytest.mark.parametrize("active", ("mesh", "armature"))
def test_a_hidden_mesh_is_left_alone(active):
    obj, armature = add_bare_tube()
    twin = add_twin(obj)
    select(twin if active == "mesh" else armature)
    twin.hide_set(True)
    if active == "mesh":
        with pytest.raises(RuntimeError, match=r"poll\(\).*Select a mesh"):
            auto()
    else:
        auto()
        assert_whole(obj)
    assert not twin.vertex_groups


def test_edit_mode():
    obj, _ = add_bare_tube()
    twin = add_twin(obj)
    select(obj)
    bpy.ops.object.mode_set(mode="EDIT")
    auto()
    assert obj.mode == "EDIT"
    bpy.ops.object.mode_set(mode="OBJECT")
    select(twin)
    auto()
    assert_whole(obj)
    assert (weights_of(obj) == weights_of(twin)).all()


@pytest.mark.parametrize("mode", ("WEIGHT_PAINT", "SCULPT"))
def test_other_modes(mode):
    obj, _ = add_bare_tube()
    bpy.ops.object.mode_set(mode=mode)
    auto()
    assert obj.mode == mode
    assert_whole(obj)


def test_the_shape_without_keys_and_pose_counts():
    obj, armature = add_bare_tube()
    auto()
    before = weights_of(obj)
    add_face_key(obj, size=2.0).value = 1.0
    obj.active_shape_key_index = 1
    turn(armature, "bone.1", (1.0, 0.0, 0.0))
    auto()
    assert (weights_of(obj) == before).all()


def test_the_places_of_objects_count():
    obj, armature = add_bare_tube()
    auto()
    before = weights_of(obj)
    obj.data.transform(obj.matrix_world.inverted())
    armature.location = obj.location = (3.0, -2.0, 1.0)
    armature.rotation_euler = obj.rotation_euler = (0.4, 0.5, 0.6)
    armature.scale = (0.01, 0.01, 0.01)
    obj.scale = (0.02, 0.02, 0.02)
    obj.data.transform(obj.matrix_world.inverted() @ obj.matrix_world)
    for vertex in obj.data.vertices:
        vertex.co *= 0.5
    auto()
    assert np.abs(weights_of(obj) - before).max() < 0.01


@pytest.mark.parametrize("method", METHODS)
def test_a_mirrored_object(method):
    """Scaled by -1, a mesh is inside out in its own space and not in the world."""
    obj, _ = add_bare_tube()
    auto(method=method)
    before = weights_of(obj)
    obj.scale.x = -1.0
    auto(method=method)
    assert np.abs(weights_of(obj) - before).max() < 0.1  # the cells lie elsewhere


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("length", (0.001, 1000.0))
def test_tiny_and_huge(method, length):
    obj, _ = add_bare_tube(length=length, radius=length / 8)
    auto(method=method)
    assert_whole(obj)
    y = rest_points(obj)[:, 1] / length
    assert (weights_of(obj)[y < 0.1].argmax(axis=1) == 0).all()
    assert (weights_of(obj)[y > 0.9].argmax(axis=1) == 2).all()


@pytest.mark.parametrize("method", METHODS)
def test_two_hundred_islands(method):
    _, armature = add_bare_tube()
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)]) * 0.05
    faces = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    places = np.random.default_rng(6).uniform((-0.4, 0, -0.4), (0.4, 3, 0.4), (200, 3))
    points = (places[:, None] + corners).reshape(-1, 3)
    obj = add_mesh("Dice", points, (np.arange(200)[:, None, None] * 8 + faces).reshape(-1, 4))
    select(obj, armature)
    auto(method=method)
    assert_whole(obj)


def test_a_bound_object_follows_its_new_weights(silent_handlers):
    """Against Blender's own modifier, on a twin that is weighted anew and was never bound."""
    obj, armature = add_tube(rings=13, sides=8)
    twin = add_twin(obj)
    turn(armature, "bone.1", (1.0, 0.0, 0.0))
    bind(obj, method="SSD")
    before = evaluated_points(obj)
    for one in (obj, twin):
        select(one)
        auto()
    assert settings_of(obj).message == ""
    assert np.abs(evaluated_points(obj) - before).max() > 0.01
    assert np.abs(evaluated_points(obj) - evaluated_points(twin)).max() < 1e-4


# Mirror


def add_side_bones(armature: bpy.types.Object, lean: float = 0.05) -> None:
    """Bones to both sides of the tube's middle, a little out of line."""
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    for name, side in (("wing.L", 1), ("wing.R", -1)):
        bone = armature.data.edit_bones.new(name)
        bone.head, bone.tail = (0.1 * side, 1.5, 0.0), (0.35 * side, 1.5 + lean * side, 0.0)
    bpy.ops.object.mode_set(mode="OBJECT")


@pytest.mark.parametrize("chosen", ("option", "toggle", "none"))
def test_the_mirror(chosen):
    obj, armature = add_bare_tube()
    add_side_bones(armature)
    select(obj)
    obj.use_mesh_mirror_x = chosen == "toggle"
    auto(**({"mirror": True} if chosen == "option" else {}))
    names = [*BONES, "wing.L", "wing.R"]
    points, found = rest_points(obj), weights_of(obj, names)
    other = np.linalg.norm(points[:, None] * (-1, 1, 1) - points[None], axis=2).argmin(axis=1)
    apart = np.abs(found - found[other][:, [0, 1, 2, 4, 3]]).max()
    assert found[:, 3].max() > 0.3
    if chosen == "none":
        assert apart > 0.01
    else:
        assert apart < 1e-5


def test_what_has_no_other_side_is_not_mirrored():
    """A sword in the left hand."""
    obj, armature = add_bare_tube()
    add_side_bones(armature)
    faces = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    corners = np.array([[x, y, z] for x in (0.6, 2.0) for y in (1.4, 1.6) for z in (-0.1, 0.1)])
    sword = add_mesh("Sword", corners, faces)
    sword.modifiers.new("Armature", "ARMATURE").object = armature
    names = [*BONES, "wing.L", "wing.R"]
    select(obj, sword)
    auto()
    before = weights_of(sword, names)
    auto(mirror=True)
    assert (weights_of(sword, names) == before).all()
    assert "8 vertices with nothing on the other side of X: not mirrored." in settings_of(sword).weights_report


def add_half_tube() -> tuple:
    """The left half of a bare tube with a Mirror modifier, and an armature with symmetric bones."""
    obj, armature = add_bare_tube()
    add_side_bones(armature, lean=0.0)
    edited = bmesh.new()
    edited.from_mesh(obj.data)
    bmesh.ops.delete(edited, geom=[vertex for vertex in edited.verts if vertex.co.x < -0.01])
    edited.to_mesh(obj.data)
    modifier = obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    select(obj)
    return obj, armature, modifier


@pytest.mark.parametrize("mirror", (False, True))
def test_both_sides_of_a_half_mesh_have_bones(mirror):
    obj, armature, _ = add_half_tube()
    auto(prune=0.3, mirror=mirror)
    names = [*BONES, "wing.L", "wing.R"]
    assert weights_of(obj, names)[:, 3].max() > 0.3
    assert not weights_of(obj, names)[:, 4].any()
    assert settings_of(obj).weights_report.splitlines() == [
        "'Tube': all 65 vertices have weights, by Solid Heat.",
        "'Tube' was given 1 empty group for what its Mirror modifier adds: wing.R.",
    ]
    rest = evaluated_points(obj)
    moved = []
    for name, angle in (("wing.L", 0.7), ("wing.R", -0.7)):
        turn(armature, name, (0.0, 0.0, angle))
        moved.append(evaluated_points(obj))
        turn(armature, name)
    assert np.abs(moved[1] - rest).max() > 0.05
    other = np.linalg.norm(rest[:, None] * (-1, 1, 1) - rest[None], axis=2).argmin(axis=1)
    assert np.abs(moved[0] * (-1, 1, 1) - moved[1][other]).max() < 1e-4


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


@pytest.mark.parametrize("axes", ((True, False, False), (True, True, False), (False, True, False)))
@pytest.mark.parametrize("around", (False, True))
def test_copies_are_where_blender_puts_them(axes, around):
    obj, armature, modifier = add_half_tube()
    modifier.use_axis, modifier.use_mirror_merge = axes, False
    obj.location, obj.rotation_euler, obj.scale = (1, 2, 3), (0.1, 0.2, 0.3), (1, 2, 1)
    armature.location = (0, 0, 1)
    if around:
        modifier.mirror_object = bpy.data.objects.new("Plane", None)
        bpy.context.scene.collection.objects.link(modifier.mirror_object)
        modifier.mirror_object.location, modifier.mirror_object.rotation_euler = (3, 0, 0), (0.5, 0.6, 0.7)
    bpy.context.view_layer.update()
    (skin,) = read_skins([obj])
    points, triangles = join_copies(skin, [read_copies(obj, armature)])
    armature_modifier(obj).show_viewport = False
    space = np.array(armature.matrix_world.inverted() @ obj.matrix_world)
    expected = evaluated_points(obj) @ space[:3, :3].T + space[:3, 3]
    assert points.shape == expected.shape
    assert np.linalg.norm(points[:, None] - expected[None], axis=2).min(axis=0).max() < 1e-4
    assert triangles.max() == len(points) - 1
    obj.modifiers.move(0, 1)
    assert read_copies(obj, armature).places == ()


def test_copies_on_the_mesh_itself_are_no_second_skin():
    obj, armature = add_bare_tube()
    obj.modifiers.new("Mirror", "MIRROR")
    obj.modifiers.move(1, 0)
    (skin,) = read_skins([obj])
    copies = read_copies(obj, armature)
    assert len(copies.places) == 1
    assert len(join_copies(skin, [copies])[1]) == len(skin.triangles)


# What is told


def test_the_report_tells_of_vertices_and_bones():
    obj, armature = add_bare_tube()
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    root = armature.data.edit_bones.new("root")
    root.head, root.tail = (0, -2, 0), (0, -2, 1)
    bpy.ops.object.mode_set(mode="OBJECT")
    select(obj)
    (report,) = assign_weights([obj], Options(resolution=COARSE, cells=FEW))
    assert report.parts == (("Tube", 104, 104),)
    assert report.bones == 4
    assert set(report.reasons) == {"root"}
    lines = settings_of(obj).weights_report.splitlines()
    assert lines == report.describe()
    assert lines[0] == "'Tube': all 104 vertices have weights, by Solid Heat."
    assert lines[1] == f"1 bone of 4 got no weights ({report.reasons['root']}): root."
    assert json.loads(json.dumps(report.as_json())) == {
        "armature": "Rig",
        "method": "SOLID",
        "bones": 4,
        "objects": [{"name": "Tube", "vertices": 104, "weighted": 104}],
        "bones_without_weights": [{"name": "root", "reason": report.reasons["root"]}],
        "notes": list(report.notes),
    }


def test_what_is_told_of_many_meshes_is_summed_up():
    parts = (("Body", 17_000, 17_000), ("Hat", 500, 500), ("Rope", 30, 12), ("Nothing", 0, 0))
    report = Report("Rig", "SOLID", 3, parts[:2], notes=("All is well.",))
    assert report.summarize() == ["17,500 vertices of 2 meshes have weights, by Solid Heat.", "All is well."]
    assert Report("Rig", "SOLID", 3, parts, {"root": "far away"}).summarize() == [
        "17,512 of 17,530 vertices of 4 meshes have weights, by Solid Heat.",
        "'Rope': 12 of 30 vertices have weights, by Solid Heat; 18 have none.",
        "'Nothing' has no vertices.",
        "1 bone of 3 got no weights (far away): root.",
    ]
    assert Report("Rig", "SOLID", 3, parts[:1]).summarize() == [
        "'Body': all 17,000 vertices have weights, by Solid Heat."
    ]


def test_bones_that_are_left_nothing_are_told_of():
    """A short bone across a joint of longer ones is nowhere stronger than both."""
    obj, armature = add_bare_tube()
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("short")
    bone.head, bone.tail = (0, 0.95, 0), (0, 1.05, 0)
    bpy.ops.object.mode_set(mode="OBJECT")
    assert assign_weights([obj], Options(resolution=COARSE))[0].reasons == {}
    (report,) = assign_weights([obj], Options(resolution=COARSE, prune=0.5))
    assert report.reasons == {"short": weights.TOO_SMALL}
    assert not weights_of(obj, ["short"]).any()


def test_bones_without_length_are_told_of():
    obj, armature = add_bare_tube()
    armature.scale = obj.scale = (1, 1, 1)
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    bone = armature.data.edit_bones.new("point")
    bone.head, bone.tail = (0, 1.5, 0), (0, 1.5 + 2e-6, 0)
    bpy.ops.object.mode_set(mode="OBJECT")
    select(obj)
    auto()
    assert_whole(obj, [*BONES, "point"])


# What is refused


def remove_faces(obj, armature):
    obj.data.clear_geometry()
    obj.data.from_pydata([(0, 0, 0), (0, 1, 0)], [], [])


def empty(obj, armature):
    obj.data.clear_geometry()


def lose_a_vertex(obj, armature):
    obj.data.vertices[3].co.x = math.nan


def shrink(obj, armature):
    for vertex in obj.data.vertices:
        vertex.co = (0, 1, 0)


def switch_bones_off(obj, armature):
    for bone in armature.data.bones:
        bone.use_deform = False


def move_armature_away(obj, armature):
    armature.location = (0, 0, 20)


def flatten(obj, armature):
    obj.scale = (1, 0, 1)


def flatten_armature(obj, armature):
    armature.scale = (0, 0, 0)


def remove_modifier(obj, armature):
    obj.modifiers.clear()


def add_other_armature(obj, armature):
    other = armature.copy()
    bpy.context.scene.collection.objects.link(other)
    obj.modifiers.new("Other", "ARMATURE").object = other


def edit_bones(obj, armature):
    select(armature, obj)
    bpy.ops.object.mode_set(mode="EDIT")


def lock_all(obj, armature):
    for name in BONES:
        obj.vertex_groups.new(name=name).lock_weight = True


def select_no_bone(obj, armature):
    select_bones(armature)


BAD_INPUT: dict[Callable, str] = {
    remove_faces: "'Tube' has no faces, and no inside: add faces, or transfer",
    empty: "'Tube' has no faces",
    lose_a_vertex: "1 of the 104 vertices of 'Tube' is nowhere (their coordinates are no numbers): delete them",
    shrink: "All vertices of 'Tube' are at one place: choose a mesh that has a size",
    switch_bones_off: "'Rig' has no deforming bone: switch Deform on",
    move_armature_away: "No deforming bone of 'Rig' is in or near 'Tube': the nearest, 'bone.",
    flatten: "'Tube' is scaled to nothing: give it a scale other than 0",
    flatten_armature: "'Rig' is scaled to nothing: give it a scale other than 0",
    remove_modifier: "No armature deforms 'Tube': select its armature too",
    add_other_armature: "'Tube' has Armature modifiers of 2 armatures ('Rig', 'Rig.001'): switch off all but one",
    edit_bones: "The bones of 'Rig' are being edited: leave its Edit Mode first",
    lock_all: "The vertex groups of all bones that are to get weights are locked: unlock some",
    select_no_bone: "No deforming bone of 'Rig' is selected: select some in Pose Mode",
}


@pytest.mark.parametrize("spoil", BAD_INPUT, ids=lambda spoil: spoil.__name__)
def test_bad_input(spoil):
    obj, armature = add_bare_tube()
    spoil(obj, armature)
    bpy.context.view_layer.update()
    before = snapshot(obj)
    with pytest.raises(RuntimeError, match=re.escape(BAD_INPUT[spoil])):
        auto(only_selected_bones=spoil is select_no_bone)
    if spoil is not lose_a_vertex:  # which is not equal to itself
        assert snapshot(obj) == before
    assert not weights_of(obj).any()
    assert settings_of(obj).weights_report == ""


def test_one_bad_mesh_keeps_all_from_being_changed():
    obj, armature = add_bare_tube()
    twin = add_twin(obj)
    flatten(twin, armature)
    select(obj, twin)
    with pytest.raises(RuntimeError, match=r"'Tube\.001' is scaled to nothing"):
        auto()
    assert not obj.vertex_groups


def test_linked_meshes_are_refused(tmp_path):
    add_bare_tube()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, linked):
        linked.objects = ["Tube", "Rig"]
    for obj in linked.objects:
        bpy.context.scene.collection.objects.link(obj)
    select(bpy.data.objects["Tube"])
    with pytest.raises(RuntimeError, match=r"'Tube' is linked from another file.*: make it local first"):
        auto()
    assert not bpy.data.objects["Tube"].vertex_groups


def test_a_linked_armature_serves_a_mesh_of_this_file(tmp_path):
    add_bare_tube()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    bpy.ops.wm.read_homefile(use_empty=True, use_factory_startup=True)
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, linked):
        linked.objects = ["Rig"]
    rig = linked.objects[0]
    bpy.context.scene.collection.objects.link(rig)
    obj, own = add_bare_tube()
    armature_modifier(obj).object = rig
    bpy.data.objects.remove(own)
    select(obj)
    auto()
    assert_whole(obj)
    assert settings_of(rig).weights_report == ""


# Computing beside Blender


def test_what_is_computed_in_a_thread_is_the_same():
    obj, _ = add_bare_tube()
    jobs = weights.prepare([obj], Options(resolution=COARSE, cells=FEW))
    steps = []
    computation = Computation(
        lambda progress: weights.compute_all(jobs, lambda done: (steps.append(done), progress(done)))
    )
    (result,) = computation.wait()
    assert not computation.is_running
    assert 0.0 <= min(steps) < max(steps) == computation.done <= 1.0
    auto()
    assert np.abs(weights_of(obj) - result.weights).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_computing_can_be_canceled(method):
    obj, _ = add_bare_tube()

    class StopError(Exception):
        pass

    def stop(done: float) -> None:
        if done > 0.3:
            raise StopError

    with pytest.raises(StopError):
        assign_weights([obj], Options(method=method, resolution=COARSE, cells=FEW), progress=stop)
    assert not obj.vertex_groups


def test_a_computation_stops_when_told():
    def never_end(progress: Callable[[float], None]) -> None:
        while True:
            progress(0.5)

    computation = Computation(never_end)
    computation.cancel()
    with pytest.raises(CanceledError):
        computation.wait()
    assert not computation.is_running


def test_merging_can_be_canceled(monkeypatch):
    obj, _ = add_bare_tube()
    jobs = weights.prepare([obj], Options(resolution=COARSE))
    monkeypatch.setattr(weights, "BLOCK", 26)
    told: list[float] = []
    weights.compute_all(jobs, told.append)
    assert len([done for done in told if done > weights.SOLVED]) == 4
    assert told[-1] == 1.0


def test_what_is_done_when_told_to_stop_is_not_kept():
    computation = Computation(lambda progress: progress(1.0))
    while computation.is_running:
        pass
    computation.cancel()
    with pytest.raises(CanceledError):
        computation.wait()


def test_what_is_wrong_in_a_thread_is_told():
    def fail(_progress: Callable[[float], None]) -> None:
        raise SkinningError("Nothing is right: begin again")

    with pytest.raises(SkinningError, match="Nothing is right"):
        Computation(fail).wait()


def test_a_mesh_that_changed_meanwhile_is_left_alone():
    obj, _ = add_bare_tube()
    jobs = weights.prepare([obj], Options(resolution=COARSE, cells=FEW))
    results = weights.compute_all(jobs)
    obj.data.vertices.add(1)
    with pytest.raises(SkinningError, match="'Tube' has 105 vertices but had 104"):
        weights.apply(jobs, results)
    assert not obj.vertex_groups
