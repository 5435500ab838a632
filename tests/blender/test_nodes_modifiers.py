"""Modifiers above nodes that change the number of vertices: weights are interpolated within faces, as by Blender."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import bpy
import numpy as np
import pytest
from scenes_methods import NODE_BLENDS, choose, parametrize_blends
from scenes_nodes import assert_refused_by_nodes
from scenes_twins import assert_follows

from scenes import (
    add_tube,
    add_twin,
    armature_modifier,
    bind,
    clear,
    diagonal,
    distance,
    evaluated_points,
    frames_of,
    longest_action,
    play,
    points_at,
    rest_points,
    select,
    skinned_meshes,
    supple_modifier,
    turn,
    update,
)
from supple.bridge.modifiers import read_input, remove_modifier, write_input
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind as bind_objects

pytestmark = pytest.mark.usefixtures("silent_handlers", "built_groups", "nodes_alone")


def strike(armature: bpy.types.Object, angle: float) -> None:
    _, middle, last = armature.data.bones.keys()
    turn(armature, middle, (angle, 0.5 * angle, 0), (1.3, 0.8, 1.1))
    turn(armature, last, (0.8 * angle, 0, 0.3), (0.9, 1.6, 1.1))


def put_above(obj: bpy.types.Object, kind: str, **settings: Any) -> bpy.types.Modifier:
    above = obj.modifiers.new("Maker", kind)
    for name, value in settings.items():
        setattr(above, name, value)
    obj.modifiers.move(len(obj.modifiers) - 1, 0)
    return above


def cut_by_a_cube(obj: bpy.types.Object) -> None:
    mesh = bpy.data.meshes.new("Cutter")
    corners = [(x, y, z) for x in (0, 2) for y in (0.5, 2.5) for z in (-1, 1)]
    mesh.from_pydata(corners, [], [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)])
    cutter = bpy.data.objects.new("Cutter", mesh)
    bpy.context.scene.collection.objects.link(cutter)
    put_above(obj, "BOOLEAN", object=cutter)


def multiply_resolution(obj: bpy.types.Object) -> None:
    put_above(obj, "MULTIRES")
    select(obj)
    bpy.ops.object.multires_subdivide(modifier="Maker")


def subdivide_by_nodes(obj: bpy.types.Object) -> None:
    group = bpy.data.node_groups.new("Subdivide", "GeometryNodeTree")
    for in_out in ("INPUT", "OUTPUT"):
        group.interface.new_socket("Geometry", in_out=in_out, socket_type="NodeSocketGeometry")
    kinds = ("NodeGroupInput", "GeometryNodeSubdivideMesh", "NodeGroupOutput")
    for source, target in pairwise([group.nodes.new(kind) for kind in kinds]):
        group.links.new(source.outputs[0], target.inputs[0])
    put_above(obj, "NODES", node_group=group)


MAKERS: dict[str, Callable] = {
    "subdivision": partial(put_above, kind="SUBSURF", levels=2),
    "simple subdivision": partial(put_above, kind="SUBSURF", levels=1, subdivision_type="SIMPLE"),
    "multiresolution": multiply_resolution,
    "geometry nodes": subdivide_by_nodes,
    "array": partial(put_above, kind="ARRAY", count=3),
    "merged array": partial(
        put_above, kind="ARRAY", count=2, relative_offset_displace=(0, 1, 0), use_merge_vertices=True
    ),
    "thickness": partial(put_above, kind="SOLIDIFY", thickness=0.1),
    "thickness, non-manifold": partial(put_above, kind="SOLIDIFY", thickness=0.1, solidify_mode="NON_MANIFOLD"),
    "mirror": partial(put_above, kind="MIRROR", use_mirror_merge=False, use_mirror_vertex_groups=False),
    "mirror of groups without sides": partial(put_above, kind="MIRROR"),
    "bevel": partial(put_above, kind="BEVEL", width=0.02, segments=2, limit_method="NONE"),
    "cut": cut_by_a_cube,
    "mask": partial(put_above, kind="MASK", vertex_group="bone.1"),
    "screw": partial(put_above, kind="SCREW", steps=4, render_steps=4),
    "frame": partial(put_above, kind="WIREFRAME"),
    "split": partial(put_above, kind="EDGE_SPLIT", split_angle=0.1),
    "built": partial(put_above, kind="BUILD", frame_start=-5, frame_duration=10),
}


@pytest.mark.versions
def test_modifiers_above_that_change_the_number_of_vertices(subtests: pytest.Subtests):
    for name, maker in MAKERS.items():
        with subtests.test(name):
            clear()
            obj, armature = add_tube()
            maker(obj)
            twin = add_twin(obj)
            bind(obj, method="SSD", evaluate="NODES")
            at_rest = evaluated_points(twin)
            for angle in (1.2, -0.7):
                strike(armature, angle)
                assert len(evaluated_points(obj)) != len(rest_points(obj))
                assert_follows(obj, twin)
                assert distance(at_rest, evaluated_points(twin)) > 0.01


@pytest.mark.characters
def test_a_modifier_above_a_real_character(asset: Callable[..., Path], character: str, subtests: pytest.Subtests):
    """Many bones, up to as many as meet around a hand, and faces of every shape."""
    bpy.ops.wm.open_mainfile(filepath=str(asset(character)))
    obj = max(skinned_meshes(), key=lambda one: len(one.data.vertices))
    armature, action = armature_modifier(obj).object, longest_action()
    play(armature, action)
    for name in ("simple subdivision", "array", "thickness", "bevel", "frame"):
        with subtests.test(name):
            made = add_twin(obj)
            MAKERS[name](made)
            if name == "bevel":
                made.modifiers["Maker"].width = 0.002 * diagonal(rest_points(made))
                made.modifiers["Maker"].limit_method = "ANGLE"
            twin = add_twin(made)
            bind(made, method="SSD", evaluate="NODES")
            for frame in frames_of(action, 2):
                bpy.context.scene.frame_set(frame)
                assert_follows(made, twin)
            assert distance(points_at(twin, 20), points_at(twin, 1)) > 0.001
            for one in (made, twin):
                bpy.data.objects.remove(one)


def test_weights_that_do_not_sum_to_1_are_averaged_as_blender_does(subtests: pytest.Subtests):
    for name in ("subdivision", "geometry nodes", "bevel", "thickness"):
        with subtests.test(name):
            clear()
            obj, armature = add_tube()
            weaker = list(range(0, len(obj.data.vertices), 3))
            for vertex in weaker:
                for entry in obj.data.vertices[vertex].groups:
                    entry.weight *= 0.3
            for group in obj.vertex_groups:
                group.remove(weaker[::4])
            MAKERS[name](obj)
            twin = add_twin(obj)
            bind(obj, method="SSD", evaluate="NODES")
            strike(armature, 1.2)
            assert_follows(obj, twin)


@parametrize_blends(tuple(blend for blend in NODE_BLENDS if blend[0] not in {"SSD", "CENTERS"}))
def test_a_modifier_above_gives_what_it_gives_applied(method: str, params: Any, subtests: pytest.Subtests):
    for name in ("subdivision", "multiresolution", "geometry nodes", "array", "thickness", "cut"):
        with subtests.test(name):
            clear()
            obj, armature = add_tube()
            MAKERS[name](obj)
            applied = add_twin(obj)
            select(applied)
            bpy.ops.object.modifier_apply(modifier="Maker")
            for one, evaluate in ((obj, "NODES"), (applied, "PYTHON")):
                choose(one, method, params)
                bind(one, method=method, evaluate=evaluate)
            strike(armature, 1.2)
            assert len(evaluated_points(obj)) == len(rest_points(applied)) != len(rest_points(obj))
            assert_follows(obj, applied)


def test_centers_are_averaged_where_a_modifier_above_adds_vertices():
    """Those of the finer mesh would be a little elsewhere: weights are smoothed by edges, which are shorter there."""
    obj, armature = add_tube()
    MAKERS["subdivision"](obj)
    applied = add_twin(obj)
    select(applied)
    bpy.ops.object.modifier_apply(modifier="Maker")
    for one, evaluate in ((obj, "NODES"), (applied, "PYTHON")):
        bind(one, method="CENTERS", evaluate=evaluate)
        settings_of(one).bulge_limit = settings_of(one).contact = 0.0
    strike(armature, 1.2)
    assert distance(evaluated_points(obj), evaluated_points(applied)) < 0.005
    bind(applied, method="DLBNT", evaluate="PYTHON")
    assert distance(evaluated_points(obj), evaluated_points(applied)) > 0.006


def test_vertices_away_from_the_mesh_have_no_centers():
    obj, _ = add_tube()
    MAKERS["array"](obj)
    with pytest.raises(SkinningError, match="adds vertices away from the mesh"):
        bind_objects([obj], "CENTERS", "NODES")


def test_a_modifier_that_is_put_above_later(subtests: pytest.Subtests):
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate="NODES")
    strike(armature, 1.2)
    for name in ("subdivision", "array"):
        with subtests.test(name):
            for one in (obj, twin):
                MAKERS[name](one)
            assert_follows(obj, twin)
            for one in (obj, twin):
                one.modifiers.remove(one.modifiers["Maker"])
            assert_follows(obj, twin)
            assert len(evaluated_points(obj)) == len(rest_points(obj))


def test_objects_that_share_a_mesh_follow_each_others_modifiers():
    obj, armature = add_tube()
    plain, copy = add_twin(obj), obj.copy()
    bpy.context.scene.collection.objects.link(copy)
    bind(obj, copy, method="SSD", evaluate="NODES")
    turn(armature, "bone.1", (0.0, 0.0, 0.8))
    solid = add_twin(plain)
    for other in (obj, solid):
        other.modifiers.new("Solidify", "SOLIDIFY").thickness = 0.01
        other.modifiers.move(len(other.modifiers) - 1, 0)
    update()
    assert_follows(obj, solid)
    assert_follows(copy, plain)
    obj.modifiers.remove(obj.modifiers["Solidify"])
    update()
    assert_follows(obj, plain)
    assert_follows(copy, plain)


@pytest.mark.parametrize("evaluate", ["NODES", "PYTHON"])
def test_objects_that_share_a_mesh_keep_what_each_takes_of_it(evaluate, subtests: pytest.Subtests):
    """Bound by another method, or with other settings: what only one of them takes stays on the mesh."""
    for method, params in {"CENTERS": {}, "DLB": {"contact": 1.0}, "DLBNT": {"bulge_limit": 1.0}}.items():
        with subtests.test(method):
            clear()
            obj, armature = add_tube()
            copy = obj.copy()
            bpy.context.scene.collection.objects.link(copy)
            bind(obj, method=method, evaluate="NODES")
            for name, value in params.items():
                setattr(settings_of(obj), name, value)
            strike(armature, 1.9)
            update()
            expected = evaluated_points(obj)
            bind(copy, method="SSD", evaluate=evaluate)
            update()
            assert np.array_equal(evaluated_points(obj), expected)
            assert distance(evaluated_points(copy), expected) > 1e-3


def test_a_frame_alone_follows_the_modifiers():
    """Blender reports the mesh along with a change of its modifiers: a script need not update before it renders."""
    obj, _ = add_tube()
    bind(obj, method="SSD", evaluate="NODES")
    plain = supple_modifier(obj).node_group
    bpy.context.scene.frame_set(2)
    MAKERS["subdivision"](obj)
    bpy.context.scene.frame_set(3)
    assert supple_modifier(obj).node_group != plain
    obj.modifiers.remove(obj.modifiers["Maker"])
    bpy.context.scene.frame_set(4)
    assert supple_modifier(obj).node_group == plain
    obj.vertex_groups.new(name="part")
    armature_modifier(obj).vertex_group = "part"
    bpy.context.scene.frame_set(5)
    assert read_input(supple_modifier(obj), "Vertex Group") == "part"


# Refused


def name_sides(armature: bpy.types.Object) -> None:
    """Name two bones, and so their groups, as left and right."""
    armature.data.bones["bone.0"].name, armature.data.bones["bone.2"].name = "bone.L", "bone.R"


REFUSED = {
    "remesh": (
        partial(put_above, kind="REMESH", voxel_size=0.1),
        r"'Maker' of 'Tube' is above '[^']+' and makes a new mesh without weights: move it below, or apply it",
    ),
    "decimate": (
        partial(put_above, kind="DECIMATE", ratio=0.5),
        r"'Maker' of 'Tube' is above '[^']+' and merges vertices, .* average: move it below, or apply it",
    ),
    "weld": (
        partial(put_above, kind="WELD", merge_threshold=0.12),
        r"'Maker' of 'Tube' is above '[^']+' and merges vertices, .* average: move it below, or apply it",
    ),
    "mirror that swaps sides": (
        partial(put_above, kind="MIRROR"),
        r"'Maker' of 'Tube' is above '[^']+' and swaps left and right vertex groups, .*: apply it, or move it",
    ),
}


def test_bind_refuses(subtests: pytest.Subtests):
    for name, (maker, words) in REFUSED.items():
        with subtests.test(name):
            clear()
            obj, armature = add_tube()
            name_sides(armature)
            maker(obj)
            update()
            assert_refused_by_nodes(obj, words)


def test_a_modifier_that_is_put_above_later_is_named(subtests: pytest.Subtests):
    for beside in (False, True):
        clear()
        obj, armature = add_tube()
        name_sides(armature)
        if beside:
            put_above(obj, "ARRAY").name = "Row"
        twin = add_twin(obj)
        bind(obj, method="SSD", evaluate="NODES")
        for number, (name, (maker, words)) in enumerate(REFUSED.items()):
            with subtests.test(name, beside=beside):
                maker(obj)
                update()
                assert re.search(words, settings_of(obj).message)
                bpy.context.scene.frame_set(bpy.context.scene.frame_current + 1)
                assert re.search(words, settings_of(obj).message), "also in the next frame"
            obj.modifiers.remove(obj.modifiers["Maker"])
            strike(armature, 1.2 - 0.3 * number)
            assert_follows(obj, twin)


def test_a_mirror_that_swaps_sides_later_is_named_until_it_does_not():
    obj, armature = add_tube()
    name_sides(armature)
    put_above(obj, "MIRROR", use_mirror_merge=False, use_mirror_vertex_groups=False)
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate="NODES")
    strike(armature, 1.2)
    assert_follows(obj, twin)
    obj.modifiers["Maker"].use_mirror_vertex_groups = True
    update()
    assert "swaps left and right" in settings_of(obj).message
    obj.modifiers["Maker"].use_mirror_vertex_groups = False
    assert_follows(obj, twin)


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_what_a_removed_modifier_used_has_no_users_of_it():
    """Blender 5.2 counts the objects in a modifier's inputs even when the modifier is gone."""
    obj, armature = add_tube()
    bind(obj)
    modifier = supple_modifier(obj)
    socket = next(item.name for item in modifier.node_group.interface.items_tree if "Object" in item.socket_type)
    users = armature.users
    write_input(modifier, socket, armature)
    assert armature.users == users + 1
    remove_modifier(obj, modifier, None)
    assert armature.users == users
