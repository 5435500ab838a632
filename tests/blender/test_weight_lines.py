"""Weight lines of meshes: read, moved, given back; by the task and by the operator."""

from contextlib import ExitStack
from types import SimpleNamespace

import bpy
import numpy as np
import pytest
from scenes_weights import BONES, move_line, select_bones, set_weights, split_all_edges, weights_of

from scenes import (
    add_tube,
    add_twin,
    bind,
    distance,
    edit_bones,
    evaluated_points,
    reset,
    rest_points,
    save,
    select,
    turn,
    update,
)
from supple.bridge.held import Held
from supple.deformers import SkinningError
from supple.deformers.weight_editing.line_fields import HANDLES, LineProblem
from supple.operators.mouse_tools import ModalTool
from supple.operators.weight_lines import SUPPLE_OT_weight_lines
from supple.tasks.subject.chosen_bones import find_chosen_bones, find_deformed_meshes
from supple.tasks.weights.line_mirror import LineMirror, add_mirrored
from supple.tasks.weights.lines import (
    MESSAGES,
    describe_result,
    list_moves,
    read_lines,
    read_posed_points,
    set_moves,
)

UNEVEN = [0.3, 0.1, 0, 0, 0, 0, 0, 0.1]
"""Offsets of the handles of a line."""


def groups_of(obj: bpy.types.Object) -> list:
    """All that vertices hold of groups, in any order."""
    return [sorted((entry.group, entry.weight) for entry in vertex.groups) for vertex in obj.data.vertices]


def middle_of(obj: bpy.types.Object, bone: int) -> float:
    """Where along the tube the share of a bone and what hangs on it is a half."""
    shares, heights = weights_of(obj)[:, bone:].sum(axis=1), rest_points(obj)[:, 1].round(4)
    return float(np.interp(0.5, [shares[heights == y].mean() for y in np.unique(heights)], np.unique(heights)))


def test_a_whole_line_moves_and_sums_stay():
    obj, _ = add_tube()
    before = weights_of(obj)
    assert middle_of(obj, 1) == pytest.approx(1.0, abs=0.01)
    count = move_line(obj, "bone.1", 0.2)
    after = weights_of(obj)
    assert middle_of(obj, 1) == pytest.approx(1.2, abs=0.01)
    assert middle_of(obj, 2) == pytest.approx(middle_of(add_twin(obj), 2))
    assert count == (before != after).any(axis=1).sum() > 50
    np.testing.assert_allclose(after.sum(axis=1), before.sum(axis=1), atol=1e-6)
    joint = (before[:, 2] == 0) & (before[:, 0] > 0)
    np.testing.assert_array_equal(after[joint, 2], before[joint, 2])


def test_lines_that_are_not_moved_change_nothing():
    obj, _ = add_tube()
    obj.vertex_groups["bone.2"].add([0], 0.0, "REPLACE")  # a member without weight
    before = groups_of(obj)
    assert move_line(obj, "bone.1") == 0
    assert groups_of(obj) == before
    lines = read_lines(obj, bones=BONES[1:])
    set_moves(lines, {("bone.1", 0): ([0.2] * HANDLES, [1.5] * HANDLES), ("bone.2", 0): ([-0.3] * HANDLES, [1.0] * 8)})
    lines.write()
    assert groups_of(obj) != before
    lines.restore()
    assert groups_of(obj) == before


def test_how_a_line_was_dragged_does_not_matter():
    obj, _ = add_tube()
    twin = add_twin(obj)
    move_line(obj, "bone.1", UNEVEN)
    lines = read_lines(twin, bones=["bone.1"])
    for offset in (0.1, -0.3, 0.3):
        set_moves(lines, {("bone.1", 0): ([offset, *UNEVEN[1:]], [1.0] * HANDLES)})
        lines.write()
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


def test_a_handle_moves_its_side():
    obj, _ = add_tube()
    before = weights_of(obj)
    offsets = np.zeros(HANDLES)
    offsets[0] = 0.3  # the highest place
    move_line(obj, "bone.1", offsets)
    changed = np.abs(weights_of(obj) - before).max(axis=1)
    heights = rest_points(obj)[:, 2]
    assert changed[heights > 0.35].max() > 0.2
    assert changed[heights < -0.2].max() < 0.05


def test_falloff_gets_wider():
    obj, _ = add_tube(bones=2)
    before = weights_of(obj, BONES[:2])
    move_line(obj, "bone.1", widths=0.5)
    after = weights_of(obj, BONES[:2])

    def mixed(weights: np.ndarray) -> int:
        return int(((weights > 0.1) & (weights < 0.9)).all(axis=1).sum())

    assert 0.4 * mixed(before) <= mixed(after) <= 0.7 * mixed(before)


def test_several_joints_at_once_are_those_one_by_one():
    obj, _ = add_tube(bones=3, rings=61)
    twin = add_twin(obj)
    lines = read_lines(obj, bones=["bone.2", "bone.1"])
    assert [lines.names[joint.bone] for joint in lines.joints] == ["bone.1", "bone.2"]
    set_moves(lines, {(name, 0): ([0.1] * HANDLES, [0.8] * HANDLES) for name in BONES[1:]})
    lines.write()
    for name in BONES[1:]:
        move_line(twin, name, 0.1, 0.8)
    np.testing.assert_allclose(weights_of(obj), weights_of(twin), atol=0.03)
    np.testing.assert_allclose(weights_of(obj).sum(axis=1), 1.0, atol=1e-6)


def test_seam_copies_stay_together():
    obj, _ = add_tube()
    whole = add_twin(obj)
    split_all_edges(obj)
    assert len(obj.data.vertices) > 2 * len(whole.data.vertices)
    for one in (obj, whole):
        move_line(one, "bone.1", UNEVEN)

    def table(one: bpy.types.Object) -> dict:
        rows: dict[tuple, set] = {}
        for point, row in zip(rest_points(one).round(4).tolist(), weights_of(one).round(5).tolist(), strict=True):
            rows.setdefault(tuple(point), set()).add(tuple(row))
        return rows

    assert table(obj) == table(whole)


@pytest.mark.versions
@pytest.mark.usefixtures("evaluator")
def test_what_is_shown_follows():
    obj, armature = add_tube()
    plain = add_twin(obj)
    bind(obj, method="SSD")
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    before = evaluated_points(obj)
    lines = [read_lines(one, armature, ["bone.1"]) for one in (obj, plain)]
    for one in lines:
        set_moves(one, {("bone.1", 0): ([0.3] * HANDLES, [1.0] * HANDLES)})
        one.write()
    update()
    assert distance(before, evaluated_points(obj)) > 0.01
    np.testing.assert_allclose(evaluated_points(obj), evaluated_points(plain), atol=1e-4)
    for one in lines:
        one.restore()
    update()
    for one in (obj, plain):
        np.testing.assert_allclose(evaluated_points(one), before, atol=1e-4)


def test_other_groups_and_locked_ones_stay():
    obj, _ = add_tube()
    obj.vertex_groups.new(name="mask").add(list(range(len(obj.data.vertices))), 0.7, "REPLACE")
    obj.vertex_groups["bone.2"].lock_weight = True
    before = weights_of(obj)
    move_line(obj, "bone.1", 0.4)
    np.testing.assert_array_equal(weights_of(obj)[:, 2], before[:, 2])
    assert (weights_of(obj, ["mask"]) == np.float32(0.7)).all()


def test_a_group_that_was_missing_comes_and_goes():
    obj, armature = add_tube(bones=2)
    obj.vertex_groups["bone.0"].name = "bone.9"

    def add(bones) -> None:
        new = bones.new("bone.9")
        new.head, new.tail = (0, -1, 0), (0, 0, 0)
        bones["bone.0"].parent = new

    edit_bones(armature, add)
    lines = read_lines(obj, bones=["bone.1"])
    set_moves(lines, {("bone.1", 0): ([0.3] * HANDLES, [1.0] * HANDLES)})
    lines.write()
    assert weights_of(obj, ["bone.0"]).max() > 0.1  # the parent gains, though it had nothing
    lines.restore()
    assert "bone.0" not in obj.vertex_groups


def test_a_message_says_why_a_line_cannot_move(subtests):
    obj, _ = add_tube()
    obj.vertex_groups["bone.1"].lock_weight = True
    before = groups_of(obj)
    for bone, message in {
        "bone.0": "'bone.0' has no deforming parent to exchange weight with",
        "bone.7": "'bone.7' is not a deforming bone",
        "bone.1": "The line of 'bone.1' cannot move: unlock its vertex group",
        "bone.2": "The line of 'bone.2' cannot move: unlock the vertex group of its parent 'bone.1'",
    }.items():
        with subtests.test(bone):
            with pytest.raises(SkinningError, match=message):
                move_line(obj, bone, 0.1)
            assert groups_of(obj) == before
    obj.vertex_groups["bone.1"].lock_weight = False
    for bone, weights, message in (
        ("bone.2", (1, 1, 0), "'bone.2' and the bones below it have no weight on 'Tube': give them some weight first"),
        (
            "bone.1",
            (0, 1, 0),
            "'bone.1' and the bones below it have all the weight of 'Tube': give some weight to its parent 'bone.0'",
        ),
    ):
        with subtests.test(weights):
            set_weights(obj, np.tile(weights, (len(obj.data.vertices), 1)))
            before = groups_of(obj)
            with pytest.raises(SkinningError, match=message):
                move_line(obj, bone, 0.1)
            assert groups_of(obj) == before
    assert set(MESSAGES) == set(LineProblem)
    assert all("'{bone}'" in message for message in MESSAGES.values())


def test_listed_moves_make_the_same_weights():
    obj, _ = add_tube()
    twin = add_twin(obj)
    lines = read_lines(obj, bones=BONES[1:])
    assert list_moves(lines) == []
    set_moves(lines, {("bone.1", 0): (np.linspace(-0.2, 0.2, HANDLES), np.linspace(0.5, 2.0, HANDLES))})
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


def test_wrong_numbers_are_refused():
    obj, _ = add_tube()
    with pytest.raises(SkinningError, match="has 1 rows, and no row 3"):
        move_line(obj, "bone.1", 0.1, line=3)
    with pytest.raises(SkinningError, match="No bone is selected"):
        read_lines(obj)


def test_one_of_several_bones_may_have_no_line():
    obj, armature = add_tube()
    lines = read_lines(obj, armature, BONES)
    assert [lines.names[joint.bone] for joint in lines.joints] == BONES[1:]
    assert list(lines.problems) == ["bone.0"]
    assert "'bone.0' has no deforming parent" in lines.problems["bone.0"]


def test_handles_lie_on_the_posed_skin():
    obj, armature = add_tube()
    lines = read_lines(obj, armature, ["bone.1"])
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    posed = read_posed_points(obj, bpy.context.evaluated_depsgraph_get())
    np.testing.assert_array_equal(posed, evaluated_points(obj))
    handles = lines.locate(lines.joints[0], 0.5).interpolate(posed.astype(float))
    assert handles.shape == (HANDLES, 3)
    assert np.linalg.norm(handles - (0.0, 1.0, 0.0), axis=1).max() < 0.7
    line = lines.trace(lines.joints[0], 0.5)
    assert line.edges.shape == (*line.shares.shape, 2)
    assert line.interpolate(posed).shape == (len(line.triangles), 2, 3)


def test_subdivided_skin_keeps_its_own_vertices():
    obj, armature = add_tube()
    obj.modifiers.new("Subdivision", "SUBSURF").levels = 1
    turn(armature, "bone.1", (0.0, 0.0, 0.8))
    posed = read_posed_points(obj, bpy.context.evaluated_depsgraph_get())
    obj.modifiers["Subdivision"].show_viewport = False
    update()
    assert distance(evaluated_points(obj), posed) < 0.02
    obj.modifiers.new("Decimate", "DECIMATE").ratio = 0.2
    update()
    with pytest.raises(SkinningError, match="makes a new mesh"):
        read_posed_points(obj, bpy.context.evaluated_depsgraph_get())


@pytest.mark.versions
def test_the_operator_does_what_the_task_does(subtests):
    obj, _ = add_tube()
    twin = add_twin(obj)
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
            select(obj)
            assert bpy.ops.supple.weight_lines(moves=moves, **given) == {"FINISHED"}
            move_line(twin, *expected)
            np.testing.assert_allclose(weights_of(obj), weights_of(twin), atol=1e-5)


@pytest.mark.versions
def test_the_operator_finds_mesh_and_bones():
    obj, armature = add_tube()
    before = weights_of(obj)
    obj.vertex_groups.active_index = 1
    assert find_chosen_bones(obj) == ["bone.1"]
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    select_bones(armature, "bone.1", "bone.2")
    assert find_chosen_bones(armature) == ["bone.1", "bone.2"]
    assert find_deformed_meshes(armature, bpy.context.view_layer, ["bone.1"]) == [obj]
    bpy.ops.supple.weight_lines(offset=0.1)
    assert (weights_of(obj) != before).any(axis=0).all()


def test_the_shape_without_keys_counts():
    obj, _ = add_tube()
    twin = add_twin(obj)
    obj.shape_key_add(name="Basis")
    for vertex in obj.data.vertices:
        vertex.co *= 2.0
    for one in (obj, twin):
        move_line(one, "bone.1", 0.2)
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


@pytest.mark.versions
def test_overridden_meshes_are_refused(tmp_path):
    add_tube()
    path = save(tmp_path / "library.blend")
    reset()
    with bpy.data.libraries.load(str(path), link=True) as (_, linked):
        linked.objects = ["Tube", "Rig"]
    obj = linked.objects[0].copy()
    bpy.context.scene.collection.objects.link(obj)
    obj.data = linked.objects[0].data.override_create()
    assert obj.library is None
    assert obj.data.library is None
    with pytest.raises(SkinningError, match="linked from another file: make it local first"):
        read_lines(obj, bones=["bone.1"])


def test_a_tool_that_fails_gives_all_back():
    obj, _ = add_tube()
    before = weights_of(obj)
    lines = read_lines(obj, bones=["bone.1"])

    class FailingTool(ModalTool):
        _began, _held = ExitStack(), Held()

        def react(self, context, event, mouse):
            set_moves(lines, {("bone.1", 0): ([0.2] * HANDLES, [1.0] * HANDLES)})
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


def test_the_operator_reports_what_is_wrong():
    obj, _ = add_tube()
    with pytest.raises(RuntimeError, match=r"'bone\.0' has no deforming parent"):
        bpy.ops.supple.weight_lines(bone="bone.0", offset=0.1)
    bpy.ops.object.mode_set(mode="EDIT")
    with pytest.raises(RuntimeError, match=r"poll\(\).*Go to Object, Pose or Weight Paint Mode"):
        bpy.ops.supple.weight_lines(bone="bone.1", offset=0.1)
    bpy.ops.object.mode_set(mode="OBJECT")
    obj.modifiers.clear()
    with pytest.raises(RuntimeError, match="Select a mesh that has an Armature modifier"):
        bpy.ops.supple.weight_lines(bone="bone.1", offset=0.1)


def test_lines_of_a_real_character(asset, subtests):
    bpy.ops.wm.open_mainfile(filepath=str(asset("human")))
    for bone in ("lowerarm_l", "thigh_l"):
        with subtests.test(bone):
            lines = read_lines(bpy.data.objects["Body"], bones=[bone])
            joint = lines.joints[0]
            assert joint.field.closed == (True,)
            before = lines.find_shares(joint).copy()
            set_moves(lines, {}, offset=0.1 * joint.field.reach)
            lines.write()
            after = lines.find_shares(joint)
            assert (after - before).max() < 0.06  # towards the child: nothing to speak of is gained
            assert (after - before).min() < -0.2
            distances = np.zeros(len(lines.points))
            distances[joint.field.vertices] = joint.field.distances
            found = lines.locate(joint, 0.5).interpolate(distances)
            np.testing.assert_allclose(found / joint.field.reach, 0.1, atol=0.03)


def test_both_sides_move_alike(asset):
    bpy.ops.wm.open_mainfile(filepath=str(asset("human")))
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
    select(obj)
    before = weights_of(obj, bones)
    bpy.ops.supple.weight_lines(bone="lowerarm_l", offset=0.02, mirror=True)
    assert (weights_of(obj, bones) != before).any(axis=0).tolist() == [True, False, True]
