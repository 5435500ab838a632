"""Modifiers above nodes that change the number of vertices: weights are interpolated within faces, as by Blender."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import bpy
import pytest
from scenes_methods import NODE_BLENDS, choose, parametrize_blends

from scenes import (
    add_tube,
    add_twin,
    armature_modifier,
    bind,
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
    snapshot,
    supple_modifier,
    turn,
)
from supple.bridge.modifiers import read_input
from supple.deformers import SkinningError
from supple.settings.objects import settings_of
from supple.tasks.skin.bind import bind as bind_objects

pytestmark = [
    pytest.mark.usefixtures("silent_handlers", "built_groups"),
]
TOLERANCE = 1e-5
"""In diagonals of the posed mesh."""


def strike(armature: bpy.types.Object, angle: float) -> None:
    _, middle, last = armature.data.bones.keys()
    turn(armature, middle, (angle, 0.5 * angle, 0), (1.3, 0.8, 1.1))
    turn(armature, last, (0.8 * angle, 0, 0.3), (0.9, 1.6, 1.1))


def assert_follows(obj: bpy.types.Object, twin: bpy.types.Object) -> None:
    """As the twin does, which Blender's own modifier or Python deforms."""
    bpy.context.view_layer.update()
    assert settings_of(obj).message == ""
    assert distance(evaluated_points(twin), evaluated_points(obj)) <= TOLERANCE


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


@pytest.mark.parametrize("maker", MAKERS)
def test_modifiers_above_that_change_the_number_of_vertices(maker):
    obj, armature = add_tube()
    MAKERS[maker](obj)
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate="NODES")
    at_rest = evaluated_points(twin)
    for angle in (1.2, -0.7):
        strike(armature, angle)
        assert len(evaluated_points(obj)) != len(rest_points(obj))
        assert_follows(obj, twin)
        assert distance(at_rest, evaluated_points(twin)) > 0.01


@pytest.mark.parametrize(
    "maker", ["simple subdivision", "geometry nodes", "array", "thickness", "mirror", "bevel", "screw", "frame"]
)
def test_a_modifier_above_a_real_character(asset, maker):
    """Many bones, up to as many as meet around a hand, and faces of every shape."""
    bpy.ops.wm.open_mainfile(filepath=str(asset("mh_human")))
    obj = max(skinned_meshes(), key=lambda one: len(one.data.vertices))
    MAKERS[maker](obj)
    if "width" in obj.modifiers["Maker"].bl_rna.properties:
        obj.modifiers["Maker"].width = 0.002 * diagonal(rest_points(obj))
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate="NODES")
    action = longest_action()
    play(armature_modifier(obj).object, action)
    for frame in frames_of(action, 3):
        bpy.context.scene.frame_set(frame)
        assert_follows(obj, twin)
    assert distance(evaluated_points(twin), points_at(twin, 1)) > 0.001


@pytest.mark.parametrize("maker", ["subdivision", "geometry nodes", "bevel", "thickness"])
def test_weights_that_do_not_sum_to_1_are_averaged_as_blender_does(maker):
    obj, armature = add_tube()
    weaker = list(range(0, len(obj.data.vertices), 3))
    for vertex in weaker:
        for entry in obj.data.vertices[vertex].groups:
            entry.weight *= 0.3
    for group in obj.vertex_groups:
        group.remove(weaker[::4])
    MAKERS[maker](obj)
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate="NODES")
    strike(armature, 1.2)
    assert_follows(obj, twin)


@pytest.mark.parametrize("maker", ["subdivision", "multiresolution", "geometry nodes", "array", "thickness", "cut"])
@parametrize_blends(tuple(blend for blend in NODE_BLENDS if blend[0] not in {"SSD", "CENTERS"}))
def test_a_modifier_above_gives_what_it_gives_applied(maker, method, params):
    obj, armature = add_tube()
    MAKERS[maker](obj)
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
        settings_of(one).centers_bulge_limit = settings_of(one).centers_contact = 0.0
        bind(one, method="CENTERS", evaluate=evaluate)
    strike(armature, 1.2)
    assert distance(evaluated_points(obj), evaluated_points(applied)) < 0.005
    bind(applied, method="DLBNT", evaluate="PYTHON")
    assert distance(evaluated_points(obj), evaluated_points(applied)) > 0.006


@pytest.mark.parametrize("maker", ["array"])
def test_vertices_away_from_the_mesh_have_no_centers(maker):
    obj, _ = add_tube()
    MAKERS[maker](obj)
    with pytest.raises(SkinningError, match="adds vertices elsewhere"):
        bind_objects([obj], "CENTERS", "NODES")


@pytest.mark.parametrize("maker", ["subdivision", "array"])
def test_a_modifier_that_is_put_above_later(maker):
    obj, armature = add_tube()
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate="NODES")
    strike(armature, 1.2)
    for one in (obj, twin):
        MAKERS[maker](one)
    assert_follows(obj, twin)
    for one in (obj, twin):
        one.modifiers.remove(one.modifiers["Maker"])
    assert_follows(obj, twin)
    assert len(evaluated_points(obj)) == len(rest_points(obj))


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
        r"'Maker' of 'Tube' stands above '\w+' and makes a new mesh, without weights: move it below, or apply it",
    ),
    "decimate": (
        partial(put_above, kind="DECIMATE", ratio=0.5),
        r"'Maker' of 'Tube' stands above '\w+' and merges vertices, .* average: move it below, or apply it",
    ),
    "weld": (
        partial(put_above, kind="WELD", merge_threshold=0.12),
        r"'Maker' of 'Tube' stands above '\w+' and merges vertices, .* average: move it below, or apply it",
    ),
    "mirror that swaps sides": (
        partial(put_above, kind="MIRROR"),
        r"'Maker' of 'Tube' stands above '\w+' and swaps left and right vertex groups, .*: apply it, or move it",
    ),
}


@pytest.mark.parametrize("refused", REFUSED)
def test_bind_refuses(refused):
    obj, armature = add_tube()
    name_sides(armature)
    maker, words = REFUSED[refused]
    maker(obj)
    bpy.context.view_layer.update()
    before = snapshot(obj)
    with pytest.raises(RuntimeError, match=words):
        bind(obj, evaluate="NODES")
    assert snapshot(obj) == before
    assert not settings_of(obj).is_bound


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "beside another"])
@pytest.mark.parametrize("refused", REFUSED)
def test_a_modifier_that_is_put_above_later_is_named(refused, beside):
    obj, armature = add_tube()
    name_sides(armature)
    if beside:
        put_above(obj, "ARRAY").name = "Row"
    twin = add_twin(obj)
    bind(obj, method="SSD", evaluate="NODES")
    maker, words = REFUSED[refused]
    maker(obj)
    bpy.context.view_layer.update()
    assert re.search(words, settings_of(obj).message)
    bpy.context.scene.frame_set(2)
    assert re.search(words, settings_of(obj).message), "also in the next frame"
    obj.modifiers.remove(obj.modifiers["Maker"])
    strike(armature, 1.2)
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
    bpy.context.view_layer.update()
    assert "swaps left and right" in settings_of(obj).message
    obj.modifiers["Maker"].use_mirror_vertex_groups = False
    assert_follows(obj, twin)
