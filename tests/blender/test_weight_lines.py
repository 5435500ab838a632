"""Weight lines of meshes: read, moved, given back; by the task and by the operator."""

from contextlib import ExitStack
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from scenes_state import refuse
from scenes_weights import BONES, move_line, select_bones, weights_of

import scenes
from supple.bridge.held import Held
from supple.deformers.weight_editing.line_fields import HANDLES_PER_LINE
from supple.operators.mouse_tools import ModalTool
from supple.operators.weights.lines import SUPPLE_OT_weight_lines
from supple.tasks.subject.chosen_bones import find_chosen_bones, find_deformed_meshes
from supple.tasks.weights.line_mirror import LineMirror, add_mirrored
from supple.tasks.weights.lines import describe_result, list_moves, read_lines, read_posed_points, set_moves

UNEVEN = [0.3, 0.1, 0, 0, 0, 0, 0, 0.1]
"""Offsets of the handles of a line."""


def groups_of(obj: bpy.types.Object) -> list:
    """All that vertices hold of groups, in any order."""
    return [sorted((entry.group, entry.weight) for entry in vertex.groups) for vertex in obj.data.vertices]


def test_lines_that_are_not_moved_change_nothing():
    obj, _ = scenes.add_tube()
    obj.vertex_groups["bone.2"].add([0], 0.0, "REPLACE")  # a member without weight
    before = groups_of(obj)
    assert move_line(obj, "bone.1") == 0
    assert groups_of(obj) == before
    lines = read_lines(obj, bones=BONES[1:])
    set_moves(
        lines,
        {
            ("bone.1", 0): ([0.2] * HANDLES_PER_LINE, [1.5] * HANDLES_PER_LINE),
            ("bone.2", 0): ([-0.3] * HANDLES_PER_LINE, [1.0] * 8),
        },
    )
    lines.write()
    assert groups_of(obj) != before
    lines.restore()
    assert groups_of(obj) == before


def test_how_a_line_was_dragged_does_not_matter():
    obj, _ = scenes.add_tube()
    twin = scenes.add_twin(obj)
    move_line(obj, "bone.1", UNEVEN)
    lines = read_lines(twin, bones=["bone.1"])
    for offset in (0.1, -0.3, 0.3):
        set_moves(lines, {("bone.1", 0): ([offset, *UNEVEN[1:]], [1.0] * HANDLES_PER_LINE)})
        lines.write()
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_what_is_shown_follows():
    obj, armature = scenes.add_tube()
    plain = scenes.add_twin(obj)
    scenes.bind(obj, method="SSD")
    scenes.turn(armature, "bone.1", (0.0, 0.0, 1.2))
    before = scenes.evaluated_points(obj)
    lines = [read_lines(one, armature, ["bone.1"]) for one in (obj, plain)]
    for one in lines:
        set_moves(one, {("bone.1", 0): ([0.3] * HANDLES_PER_LINE, [1.0] * HANDLES_PER_LINE)})
        one.write()
    scenes.update()
    assert scenes.distance(before, scenes.evaluated_points(obj)) > 0.01
    np.testing.assert_allclose(scenes.evaluated_points(obj), scenes.evaluated_points(plain), atol=1e-4)
    for one in lines:
        one.restore()
    scenes.update()
    for one in (obj, plain):
        np.testing.assert_allclose(scenes.evaluated_points(one), before, atol=1e-4)


def test_a_group_that_was_missing_comes_and_goes():
    obj, armature = scenes.add_tube(bones=2)
    obj.vertex_groups["bone.0"].name = "bone.9"

    def add(bones) -> None:
        new = bones.new("bone.9")
        new.head, new.tail = (0, -1, 0), (0, 0, 0)
        bones["bone.0"].parent = new

    scenes.edit_bones(armature, add)
    lines = read_lines(obj, bones=["bone.1"])
    set_moves(lines, {("bone.1", 0): ([0.3] * HANDLES_PER_LINE, [1.0] * HANDLES_PER_LINE)})
    lines.write()
    assert weights_of(obj, ["bone.0"]).max() > 0.1  # the parent gains, though it had nothing
    lines.restore()
    assert "bone.0" not in obj.vertex_groups


def test_listed_moves_make_the_same_weights():
    obj, _ = scenes.add_tube()
    twin = scenes.add_twin(obj)
    lines = read_lines(obj, bones=BONES[1:])
    assert list_moves(lines) == []
    set_moves(
        lines, {("bone.1", 0): (np.linspace(-0.2, 0.2, HANDLES_PER_LINE), np.linspace(0.5, 2.0, HANDLES_PER_LINE))}
    )
    lines.write()
    count = lines.changed_count
    assert count > 0
    assert describe_result(lines) == f"Moved the line of bone.1: changed the weights of {count} vertices of 'Tube'"
    moves = list_moves(lines)
    assert [(bone, line) for bone, line, _, _ in moves] == [("bone.1", 0)]
    again = read_lines(twin, bones=BONES[1:])
    set_moves(again, {(bone, line): (offsets, widths) for bone, line, offsets, widths in moves})
    again.write()
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


def test_one_of_several_bones_may_have_no_line():
    obj, armature = scenes.add_tube()
    lines = read_lines(obj, armature, BONES)
    assert [lines.names[joint.bone] for joint in lines.joints] == BONES[1:]
    assert list(lines.problems) == ["bone.0"]
    assert "'bone.0' has no deforming parent" in lines.problems["bone.0"]


def test_handles_lie_on_the_posed_skin():
    obj, armature = scenes.add_tube()
    lines = read_lines(obj, armature, ["bone.1"])
    scenes.turn(armature, "bone.1", (0.0, 0.0, 1.2))
    posed = read_posed_points(obj, bpy.context.evaluated_depsgraph_get())
    np.testing.assert_array_equal(posed, scenes.evaluated_points(obj))
    handles = lines.locate(lines.joints[0], 0.5).interpolate(posed.astype(float))
    assert handles.shape == (HANDLES_PER_LINE, 3)
    assert np.linalg.norm(handles - (0.0, 1.0, 0.0), axis=1).max() < 0.7
    line = lines.trace(lines.joints[0], 0.5)
    assert line.edges.shape == (*line.shares.shape, 2)
    assert line.interpolate(posed).shape == (len(line.triangles), 2, 3)


def test_subdivided_skin_keeps_its_own_vertices():
    obj, armature = scenes.add_tube()
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    scenes.turn(armature, "bone.1", (0.0, 0.0, 0.8))
    posed = read_posed_points(obj, bpy.context.evaluated_depsgraph_get())
    obj.modifiers["Subdivision"].show_viewport = False
    scenes.update()
    assert scenes.distance(scenes.evaluated_points(obj), posed) < 0.02
    obj.modifiers.new("Decimate", "DECIMATE").ratio = 0.2
    scenes.update()
    refuse("makes a new mesh", lambda: read_posed_points(obj, bpy.context.evaluated_depsgraph_get()))


@pytest.mark.versions
def test_the_operator_does_what_the_task_does(subtests):
    obj, _ = scenes.add_tube()
    twin = scenes.add_twin(obj)
    for given, expected in (
        ({"moves": [("bone.1", [0.2] * 8, 1.25)]}, ("bone.1", 0.2, 1.25)),
        ({"bone": "bone.2", "offset": -0.1, "width": 0.8}, ("bone.2", -0.1, 0.8)),
        # what is added to moved lines leaves the others
        ({"moves": [("bone.1", UNEVEN, 0.9)], "offset": 0.1, "width": 1.25}, ("bone.1", np.add(UNEVEN, 0.1), 1.125)),
    ):
        with subtests.test(given=given):
            moves = [
                {"name": "", "bone": bone, "line": 0, "offsets": offsets, "widths": [width] * 8}
                for bone, offsets, width in given.pop("moves", ())
            ]
            scenes.select(obj)
            assert bpy.ops.supple.weight_lines(moves=moves, **given) == {"FINISHED"}
            move_line(twin, *expected)
            np.testing.assert_allclose(weights_of(obj), weights_of(twin), atol=1e-5)


@pytest.mark.versions
def test_the_operator_finds_mesh_and_bones():
    obj, armature = scenes.add_tube()
    before = weights_of(obj)
    obj.vertex_groups.active_index = 1
    assert find_chosen_bones(obj) == ["bone.1"]
    scenes.select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    select_bones(armature, "bone.1", "bone.2")
    assert find_chosen_bones(armature) == ["bone.1", "bone.2"]
    assert find_deformed_meshes(armature, bpy.context.view_layer, ["bone.1"]) == [obj]
    bpy.ops.supple.weight_lines(offset=0.1)
    assert (weights_of(obj) != before).any(axis=0).all()


def test_the_shape_without_keys_counts():
    obj, _ = scenes.add_tube()
    twin = scenes.add_twin(obj)
    obj.shape_key_add(name="Basis")
    for vertex in obj.data.vertices:
        vertex.co *= 2.0
    for one in (obj, twin):
        move_line(one, "bone.1", 0.2)
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


@pytest.mark.versions
def test_overridden_meshes_are_refused(tmp_path):
    scenes.add_tube()
    path = scenes.save(tmp_path / "library.blend")
    scenes.reset()
    linked, _ = scenes.load(path, "Tube", "Rig")
    obj = scenes.link(linked.copy())
    obj.data = linked.data.override_create()
    assert obj.library is None
    assert obj.data.library is None
    refuse("linked from another file: make it local first", read_lines, obj, bones=["bone.1"])


def test_a_tool_that_fails_gives_all_back():
    obj, _ = scenes.add_tube()
    before = weights_of(obj)
    lines = read_lines(obj, bones=["bone.1"])

    class FailingTool(ModalTool):
        _began, _held = ExitStack(), Held()

        def react(self, context, event, mouse):
            set_moves(lines, {("bone.1", 0): ([0.2] * HANDLES_PER_LINE, [1.0] * HANDLES_PER_LINE)})
            lines.write()
            raise ZeroDivisionError

        def restore(self):
            SUPPLE_OT_weight_lines.restore(SimpleNamespace(_lines=lines))

        def redraw(self, context):
            ended.append(self)

    tool, ended = FailingTool(), []
    with pytest.raises(ZeroDivisionError):
        tool.modal(bpy.context, SimpleNamespace(mouse_x=0, mouse_y=0))
    assert ended == [tool]
    np.testing.assert_array_equal(weights_of(obj), before)


def test_both_sides_move_alike(asset):
    scenes.open_file(asset("human"))
    obj, armature = bpy.data.objects["Body"], bpy.data.objects["Rig"]
    bones = add_mirrored(["lowerarm_l", "spine_02"], armature)
    assert bones == ["lowerarm_l", "spine_02", "lowerarm_r"]
    lines = read_lines(obj, armature, bones)
    left, right, spine = (lines.find_joint(bone) for bone in ("lowerarm_l", "lowerarm_r", "spine_02"))
    set_moves(lines, {("lowerarm_l", 0): (0.03 * np.sin(np.arange(8)), np.linspace(0.8, 1.3, 8))})
    mirror = LineMirror(lines)
    mirror.mirror_moves(left)
    mirror.mirror_moves(spine)  # is its own other side: nothing to do
    lines.write()
    assert not lines.moves[spine.bone].is_moved
    for level in left.levels:
        ends = lines.trace(left, level).interpolate(lines.points)
        handles = lines.locate(right, level).interpolate(lines.points) * (-1.0, 1.0, 1.0)
        steps = np.linspace(0.0, 1.0, 9)[:, None, None]
        line = ((1.0 - steps) * ends[:, 0] + steps * ends[:, 1]).reshape(-1, 1, 3)
        away = np.linalg.norm(line - handles, axis=2).min(axis=0)
        assert away.max() < 0.2 * 0.03  # of what was moved
        assert np.median(away) < 0.002
    lines.restore()
    scenes.select(obj)
    before = weights_of(obj, bones)
    bpy.ops.supple.weight_lines(bone="lowerarm_l", offset=0.02, mirror=True)
    assert (weights_of(obj, bones) != before).any(axis=0).tolist() == [True, False, True]
