"""Patterns placed by hand, without a window: what rays hit, and where operators lay patterns."""

import math

import bpy
import numpy as np
import pytest
from mathutils import Matrix
from scenes_placing import LENGTH, RADIUS, add_body, add_pattern, bend, depsgraph, find_hit, shown_at, subdivide
from scenes_state import refuse

from scenes import add_face_key, bind, evaluated_points, reset, rest_points
from supple.bridge.meshes.rays import with_rest_positions
from supple.deformers.patterns.outlines import list_lines, outline_on_skin
from supple.deformers.patterns.picking import PosedSkin, find_shown
from supple.deformers.patterns.strokes import MAX_POINTS, resample
from supple.deformers.patterns.surface_points import locate_point
from supple.tasks.patterns.placing import (
    LAYOUT_SETTINGS,
    find_covering,
    find_patterned,
    read_layout,
    read_skin,
    write_layout,
)
from supple.tasks.patterns.read import charts_of
from supple.viewport import outlines


def state(obj: bpy.types.Object) -> list[tuple]:
    return [read_layout(one) for one in obj.supple.patterns]


# Rays


def key(obj: bpy.types.Object) -> None:
    add_face_key(obj).value = 0.8


def move(obj: bpy.types.Object) -> None:
    for one in (obj, obj.modifiers["Armature"].object):
        one.matrix_world = Matrix.LocRotScale((3.0, -2.0, 1.0), Matrix.Rotation(1.0, 3, "X"), (2.0, -1.0, 0.5))


def assert_found_at_rest(obj: bpy.types.Object) -> None:
    """Assert that rays at some posed vertices tell where these are at rest."""
    posed, rest, to_world = evaluated_points(obj), rest_points(obj), np.array(obj.matrix_world)
    count = len(rest)
    centers = posed[:count].reshape(41, 24, 3).mean(axis=1)
    assert np.abs(posed[:count] - rest).max() > 0.5
    for ring, side in ((5, 6), (20, 3), (30, 17), (38, 11)):
        vertex = 24 * ring + side
        aim = posed[vertex]
        out = aim - centers[ring]
        origin = to_world[:3, :3] @ (aim + 0.4 * out) + to_world[:3, 3]
        hit = find_hit(obj, origin, to_world[:3, :3] @ -out)
        np.testing.assert_allclose(hit.point, aim, atol=2e-5)
        np.testing.assert_allclose(hit.rest, rest[vertex], atol=2e-4)


@pytest.mark.parametrize("binder", (None, "PYTHON", pytest.param("NODES", marks=pytest.mark.versions)))
def test_a_ray_tells_where_a_posed_vertex_is_at_rest(binder: str | None, subtests):
    obj, armature = add_body()
    if binder is not None:
        bind(obj, evaluate=binder)
    bend(armature)
    for change in (None, key, subdivide, move):
        with subtests.test(change=change):
            if change is not None:
                change(obj)
            bpy.context.view_layer.update()
            assert_found_at_rest(obj)
    if binder is None:
        obj.modifiers.move(obj.modifiers.find("Subdivision"), 0)
        assert_found_at_rest(obj)


@pytest.mark.parametrize("was_on", (True, False))
def test_the_flag_is_as_it_was_after_a_ray(was_on: bool):
    obj, _ = add_body()
    obj.add_rest_position_attribute = was_on
    assert find_hit(obj, (0.0, 1.0, 9.0), (0.0, 0.0, -1.0)) is not None
    assert obj.add_rest_position_attribute == was_on

    def fail() -> None:
        with with_rest_positions(obj):
            assert obj.add_rest_position_attribute
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert obj.add_rest_position_attribute == was_on


def test_a_modifier_that_makes_a_new_mesh_is_reported():
    obj, _ = add_body()
    group = bpy.data.node_groups.new("Another", "GeometryNodeTree")
    group.interface.new_socket("Geometry", in_out="OUTPUT", socket_type="NodeSocketGeometry")
    cube, output = group.nodes.new("GeometryNodeMeshCube"), group.nodes.new("NodeGroupOutput")
    group.links.new(cube.outputs[0], output.inputs[0])
    modifier = obj.modifiers.new("Another", "NODES")
    modifier.node_group = group
    refuse(r"makes a new mesh.*disable it", find_hit, obj, (0.0, 0.0, 9.0), (0.0, 0.0, -1.0))
    assert not obj.add_rest_position_attribute
    modifier.show_viewport = False
    assert find_hit(obj, (0.0, 1.0, 9.0), (0.0, 0.0, -1.0)) is not None


# Placing


def test_a_pattern_is_shown_where_a_ray_has_hit(subtests):
    obj, armature = add_body()
    bind(obj)
    bend(armature)
    pattern = add_pattern(size=(1.0, 0.6))
    for change, y in ((None, 2.03), (subdivide, 1.53)):
        with subtests.test(change=change):
            if change is not None:
                change(obj)
            hit = find_hit(obj, (0.05, y, 9.0), (0.0, 0.0, -1.0))
            before = shown_at(obj, pattern)
            bpy.ops.supple.pattern_place(location=hit.rest)
            assert np.linalg.norm(before - hit.point) > 0.1
            np.testing.assert_allclose(shown_at(obj, pattern), hit.point, atol=1e-4)
            np.testing.assert_allclose(pattern.location, hit.rest, atol=1e-6)


def test_a_place_in_the_uv_map_is_one_on_the_skin():
    obj, _ = add_body()
    pattern = add_pattern(size=(1.0, 0.6))
    bpy.ops.supple.pattern_place(uv=(0.25, 0.25))
    assert pattern.space == "SURFACE"
    np.testing.assert_allclose(pattern.location, (0.0, 1.0, RADIUS), atol=1e-5)
    np.testing.assert_allclose(shown_at(obj, pattern), (0.0, 1.0, RADIUS), atol=1e-5)
    np.testing.assert_allclose(pattern.uv, (0.25, 0.25), atol=1e-6)


def test_a_place_on_the_skin_is_one_in_the_uv_map():
    obj, _ = add_body()
    pattern = add_pattern(uv=(0.1, 0.5), size=(0.2, 0.2))
    bpy.ops.supple.pattern_place(location=(0.0, 1.0, 2.0 * RADIUS))
    assert pattern.space == "UV"
    np.testing.assert_allclose(pattern.uv, (0.25, 0.25), atol=1e-5)
    np.testing.assert_allclose(shown_at(obj, pattern), (0.0, 1.0, RADIUS), atol=1e-4)


def test_location_tells_which_of_overlapping_islands_is_meant():
    obj, _ = add_body()
    for loop in obj.data.uv_layers[0].data:
        loop.uv.x = loop.uv.x % 0.5
    pattern = add_pattern(size=(0.3, 0.3))
    for height in (RADIUS, -RADIUS):
        bpy.ops.supple.pattern_place(uv=(0.25, 0.25), location=(0.0, 1.0, height))
        np.testing.assert_allclose(pattern.location, (0.0, 1.0, height), atol=1e-5)


def test_what_is_not_given_is_kept():
    obj, _ = add_body()
    pattern = add_pattern(size=(1.0, 0.6), angle=0.3)
    bpy.ops.supple.pattern_place(location=(0.0, 1.0, RADIUS))
    assert (pattern.turn, *pattern.size) == pytest.approx((0.3, 1.0, 0.6))
    bpy.ops.supple.pattern_place(location=(0.0, 1.0, RADIUS), angle=-0.5, size=(0.4, 0.2))
    assert (pattern.turn, *pattern.size) == pytest.approx((-0.5, 0.4, 0.2))
    stroke(arc(), width=0.3)
    assert pattern.size[1] == pytest.approx(0.3)
    before = state(obj)
    bpy.ops.supple.pattern_place(size=(0.5, 0.2))
    assert tuple(pattern.size) == pytest.approx((0.5, 0.2))
    pattern.size = before[0][0][LAYOUT_SETTINGS.index("size")]
    assert state(obj) == before


def test_index_tells_which_pattern_is_placed():
    obj, _ = add_body()
    add_pattern()
    add_pattern("BULGE_GENTLE")
    before = state(obj)
    bpy.ops.supple.pattern_place(location=(0.0, 3.0, RADIUS), index=0)
    assert state(obj)[1] == before[1]
    np.testing.assert_allclose(obj.supple.patterns[0].location, (0.0, 3.0, RADIUS), atol=1e-5)
    assert obj.supple.active_pattern == 0
    bpy.ops.supple.pattern_place(location=(0.0, 2.0, RADIUS))
    np.testing.assert_allclose(obj.supple.patterns[0].location, (0.0, 2.0, RADIUS), atol=1e-5)


def test_a_pattern_is_placed_in_pose_mode():
    obj, armature = add_body()
    pattern = add_pattern()
    bpy.context.view_layer.objects.active = armature
    bpy.ops.object.mode_set(mode="POSE")
    bpy.ops.supple.pattern_place(location=(0.0, 3.0, RADIUS))
    np.testing.assert_allclose(pattern.location, (0.0, 3.0, RADIUS), atol=1e-5)
    assert find_patterned(armature, bpy.context.view_layer) == [obj]


def test_the_pattern_at_a_place_is_found():
    obj, _ = add_body()
    add_pattern(size=(0.8, 0.4))
    bpy.ops.supple.pattern_place(location=(0.0, 1.0, RADIUS))
    add_pattern("BULGE_GENTLE", size=(0.8, 0.4))
    bpy.ops.supple.pattern_place(location=(0.0, 3.0, RADIUS))
    outline = charts_of(obj)

    def find(y: float) -> int:
        place = locate_point(outline.mesh, (0.0, y, RADIUS))
        return find_covering(obj, outline, place)

    assert [find(y) for y in (1.1, 2.0, 2.9)] == [0, -1, 1]
    bpy.ops.supple.pattern_place(location=(0.0, 1.0, RADIUS))
    assert find(1.1) == 1  # the active one comes first
    obj.supple.active_pattern = 0
    assert find(1.1) == 0
    obj.supple.patterns[0].show = False
    assert find(1.1) == 1


def test_a_state_is_given_back():
    obj, _ = add_body()
    pattern = add_pattern(size=(1.0, 0.6))
    stroke(arc())
    before = read_layout(pattern)
    bpy.ops.supple.pattern_place(uv=(0.3, 0.6), angle=1.0, size=(0.2, 0.3))
    pattern.space = "UV"
    assert read_layout(pattern) != before
    write_layout(pattern, before)
    assert read_layout(pattern) == before
    assert (pattern.space, len(pattern.stroke)) == ("SURFACE", len(arc()))
    assert obj.supple.patterns[0].flip is False


# Strokes


def arc(count: int = 12) -> np.ndarray:
    """A line on the tube at rest, from its top to its side, shape (count, 3)."""
    angles, along = np.linspace(0.5, 0.15, count) * math.pi, np.linspace(1.0, 2.2, count)
    return np.stack([RADIUS * np.cos(angles), along, RADIUS * np.sin(angles)], axis=1)


def stroke(points: np.ndarray, **given) -> set[str]:
    return bpy.ops.supple.pattern_stroke(points=[{"name": "", "location": tuple(one)} for one in points], **given)


def test_a_pattern_lies_along_a_stroke_from_end_to_end():
    obj, armature = add_body()
    pattern = add_pattern(size=(1.0, 0.5))
    stroke(np.array([(0.0, 1.0, RADIUS), (0.0, 2.0, RADIUS)]))  # seen from above: up the screen, -X is to the left
    assert shown_at(obj, pattern, (0.5, 0.8))[0] < -0.05  # the upper side of the picture is to its left
    assert shown_at(obj, pattern, (0.8, 0.5))[1] > 1.7
    line = arc(300)
    stroke(line)
    assert (pattern.space, pattern.note, len(pattern.stroke)) == ("SURFACE", "", MAX_POINTS)
    np.testing.assert_allclose([pattern.stroke[index].location for index in (0, -1)], line[[0, -1]], atol=1e-5)
    length = np.linalg.norm(np.diff(line, axis=0), axis=1).sum()
    assert tuple(pattern.size) == pytest.approx((length, 0.5 * length), rel=0.02)
    for s, expected in ((0.001, line[0]), (0.999, line[-1])):
        assert np.linalg.norm(shown_at(obj, pattern, (s, 0.5)) - expected) < 0.02 * length
    bend(armature)
    assert np.linalg.norm(shown_at(obj, pattern, (0.999, 0.5)) - line[-1]) > 0.05


def test_a_pattern_of_the_uv_map_keeps_its_ratio_on_the_skin():
    add_body()
    around, along = math.tau * RADIUS, LENGTH
    pattern = add_pattern(uv=(0.25, 0.5), size=(0.6 / around, 0.3 / along))
    stroke(arc())
    assert (pattern.space, pattern.placed_in) == ("SURFACE", "SURFACE")
    assert pattern.size[1] / pattern.size[0] == pytest.approx(0.5, rel=0.03)


def test_a_pattern_that_lies_nowhere_keeps_the_ratio_of_its_size():
    add_body()
    pattern = add_pattern(uv=(0.25, 0.5), size=(0.2, 0.1))
    pattern.uv = (7.0, 7.0)
    stroke(arc())
    assert pattern.size[1] / pattern.size[0] == pytest.approx(0.5, rel=0.03)


def test_points_are_at_even_distances():
    line = np.array([(0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (1.0, 3.0, 0.0), (1.0, 3.0, 0.0), (1.0, 4.0, 0.0)])
    np.testing.assert_allclose(resample(line), [(0, 0, 0), (1, 0.25, 0), (1, 1.5, 0), (1, 2.75, 0), (1, 4, 0)])
    assert resample(line, 3).tolist() == [[0, 0, 0], [1, 1.5, 0], [1, 4, 0]]


def test_a_pattern_taken_off_its_stroke_lies_as_its_middle_did():
    obj, _ = add_body()
    pattern = add_pattern(size=(1.0, 0.5))
    stroke(arc(), width=0.4)
    skin = read_skin(obj, depsgraph())
    before = find_shown(skin, pattern.number)[0]
    bpy.ops.supple.pattern_place(location=tuple(pattern.location))
    assert len(pattern.stroke) == 0
    skin = read_skin(obj, depsgraph())
    after = find_shown(skin, pattern.number)[0]
    np.testing.assert_allclose(after.point, before.point, atol=0.01)
    cosines = np.sum(after.sides * before.sides, axis=1) / np.prod(
        [np.linalg.norm(one.sides, axis=1) for one in (after, before)], axis=0
    )
    assert cosines.min() > math.cos(0.1)


# Outlines on the skin and in the UV map


def outline_posed(skin: PosedSkin, pattern, with_mark: bool) -> np.ndarray:
    return outline_on_skin(skin, pattern.number, list_lines(pattern.size, with_mark))


def test_an_outline_runs_round_the_pattern(subtests):
    obj, _ = add_body()
    pattern = add_pattern(size=(0.8, 0.37), angle=0.4)
    bpy.ops.supple.pattern_place(location=(0.0, 2.02, RADIUS))
    for change in (None, subdivide):
        with subtests.test(change=change):
            if change is not None:
                change(obj)
            skin = read_skin(obj, depsgraph())
            lines = outline_posed(skin, pattern, False)
            assert lines.shape[1:] == (2, 3)
            length = np.linalg.norm(lines[:, 1] - lines[:, 0], axis=1).sum()
            assert length == pytest.approx(2 * (0.8 + 0.37), rel=0.03)
            away = np.hypot(lines[..., 0], lines[..., 2])
            assert RADIUS * 0.95 < away.min() <= away.max() < RADIUS * 1.001
            assert len(outline_posed(skin, pattern, True)) > len(lines)


@pytest.mark.usefixtures("evaluator")
def test_an_outline_follows_the_pose_and_is_doubled_where_the_mesh_is():
    obj, armature = add_body()
    bind(obj)
    pattern = add_pattern(size=(0.8, 0.4))
    bpy.ops.supple.pattern_place(location=(0.0, 3.0, RADIUS))
    bend(armature)
    single = outline_posed(read_skin(obj, depsgraph()), pattern, False)
    middle = single.mean(axis=(0, 1))
    assert np.linalg.norm(middle - shown_at(obj, pattern)) < 0.2
    assert np.linalg.norm(middle - (0.0, 3.0, RADIUS)) > 0.25
    obj.modifiers.new("Array", "ARRAY").count = 2
    double = outline_posed(read_skin(obj, depsgraph()), pattern, False)
    assert len(double) == 2 * len(single) > 0


def test_the_active_pattern_is_told_from_others_and_hidden_ones_are_left_out():
    obj, _ = add_body()
    add_pattern(size=(0.4, 0.2))
    add_pattern("BULGE_GENTLE", size=(0.4, 0.2))
    asked = []

    def find(pattern, with_mark: bool) -> np.ndarray:
        asked.append((pattern.number, with_mark))
        return np.full((pattern.number, 2, 3), float(pattern.number))

    found = outlines.collect_lines(obj, find)
    assert {name: len(lines) for name, lines in found.items()} == {"shadow": 2, "active": 2, "others": 1}
    assert asked == [(1, False), (2, True)]
    obj.supple.active_pattern = 0
    assert {name: len(lines) for name, lines in outlines.collect_lines(obj, find).items()} == {
        "shadow": 1, "active": 1, "others": 2
    }  # fmt: skip
    for pattern in obj.supple.patterns:
        pattern.show = False
    assert outlines.collect_lines(obj, find) == {}


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[dict]:
    """Lines that were to be drawn, without a graphics card."""
    found = []
    monkeypatch.setattr(
        outlines, "_make_batches", lambda obj, find: found.append(outlines.collect_lines(obj, find)) or found[-1]
    )
    return found


def test_lines_are_made_anew_where_something_has_changed_and_go_with_the_file(made: list[dict]):
    obj, armature = add_body()
    bind(obj)
    pattern = add_pattern(size=(0.4, 0.2))
    graph = depsgraph()
    first = outlines.update_posed(obj, graph)
    assert outlines.update_posed(obj, graph) is first
    obj.select_set(False)
    bpy.context.view_layer.update()  # changes no shape
    assert outlines.update_posed(obj, depsgraph()) is first
    bend(armature)
    second = outlines.update_posed(obj, depsgraph())
    assert second is not first
    assert np.abs(made[1]["active"] - made[0]["active"]).max() > 0.01
    pattern.turn = 0.5
    assert outlines.update_posed(obj, depsgraph()) is not second
    flat = outlines.update_in_uv(obj)
    bend(armature)
    assert outlines.update_in_uv(obj) is flat
    pattern.turn = 0.7
    assert outlines.update_in_uv(obj) is not flat
    outlines.update_posed(obj, depsgraph())
    assert len(outlines.posed_cache) == len(outlines.uv_cache) == 1
    reset()
    assert outlines.posed_cache == outlines.uv_cache == {}


def test_an_object_without_patterns_costs_nothing(monkeypatch: pytest.MonkeyPatch):
    obj, armature = add_body()
    for name in ("read_skin", "charts_of", "update_posed", "update_in_uv"):
        monkeypatch.setattr(outlines, name, lambda *_: pytest.fail("read for nothing"))
    layer = bpy.context.view_layer
    for active in (obj, armature, None):
        layer.objects.active = active
        assert find_patterned(active, layer) == []
        outlines.draw_posed()
        outlines.draw_in_uv_editor()
