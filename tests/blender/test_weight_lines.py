"""Weight lines of meshes: read, moved, given back; by the task and by the operator."""

from contextlib import ExitStack
from types import SimpleNamespace

import bpy
import numpy as np
import pytest

from scenes import add_tube, add_twin, bind, distance, evaluated_points, reset, select, turn
from supple.bridge.weights import read_weights
from supple.deformers import SkinningError
from supple.deformers.weight_editing.line_fields import HANDLES, LineProblem
from supple.operators.mouse_tools import ModalTool
from supple.operators.weight_lines import SUPPLE_OT_weight_lines
from supple.tasks.chosen_bones import find_chosen_bones, find_deformed_meshes
from supple.tasks.weights.line_mirror import LineMirror, add_mirrored
from supple.tasks.weights.lines import (
    MESSAGES,
    describe_result,
    list_moves,
    move_line,
    read_lines,
    read_posed_points,
    set_moves,
)

NAMES = ["bone.0", "bone.1", "bone.2"]


def weights_of(obj: bpy.types.Object) -> np.ndarray:
    return read_weights(obj, NAMES)


def groups_of(obj: bpy.types.Object) -> list:
    """All that vertices hold of groups, in any order."""
    return [sorted((entry.group, entry.weight) for entry in vertex.groups) for vertex in obj.data.vertices]


def middle_of(obj: bpy.types.Object, bone: int) -> float:
    """Where along the tube the share of a bone and what hangs on it is a half."""
    weights = weights_of(obj)
    heights = np.array([vertex.co.y for vertex in obj.data.vertices])
    share = [weights[np.isclose(heights, y)][:, bone:].sum(axis=1).mean() for y in np.unique(heights)]
    return float(np.interp(0.5, share, np.unique(heights)))


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
    lines = read_lines(obj, bones=NAMES[1:])
    set_moves(lines, {("bone.1", 0): ([0.2] * HANDLES, [1.5] * HANDLES), ("bone.2", 0): ([-0.3] * HANDLES, [1.0] * 8)})
    lines.write()
    assert groups_of(obj) != before
    lines.restore()
    assert groups_of(obj) == before


def test_how_a_line_was_dragged_does_not_matter():
    obj, _ = add_tube()
    twin = add_twin(obj)
    move_line(obj, "bone.1", [0.3, 0.1, 0, 0, 0, 0, 0, 0.1])
    lines = read_lines(twin, bones=["bone.1"])
    for offset in (0.1, -0.3, 0.3):
        set_moves(lines, {("bone.1", 0): ([offset, 0.1, 0, 0, 0, 0, 0, 0.1], [1.0] * HANDLES)})
        lines.write()
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


def test_a_handle_moves_its_side():
    obj, _ = add_tube()
    before = weights_of(obj)
    offsets = np.zeros(HANDLES)
    offsets[0] = 0.3  # the highest place
    move_line(obj, "bone.1", offsets)
    changed = np.abs(weights_of(obj) - before).max(axis=1)
    heights = np.array([vertex.co.z for vertex in obj.data.vertices])
    assert changed[heights > 0.35].max() > 0.2
    assert changed[heights < -0.2].max() < 0.05


def test_falloff_gets_wider():
    obj, _ = add_tube(bones=2)
    before = read_weights(obj, NAMES[:2])
    move_line(obj, "bone.1", widths=0.5)
    after = read_weights(obj, NAMES[:2])

    def mixed(weights: np.ndarray) -> int:
        return int(((weights > 0.1) & (weights < 0.9)).all(axis=1).sum())

    assert 0.4 * mixed(before) <= mixed(after) <= 0.7 * mixed(before)


def test_several_joints_at_once_are_those_one_by_one():
    obj, _ = add_tube(bones=3, rings=61)
    twin = add_twin(obj)
    lines = read_lines(obj, bones=["bone.2", "bone.1"])
    assert [lines.names[joint.bone] for joint in lines.joints] == ["bone.1", "bone.2"]
    set_moves(lines, {(name, 0): ([0.1] * HANDLES, [0.8] * HANDLES) for name in NAMES[1:]})
    lines.write()
    for name in NAMES[1:]:
        move_line(twin, name, 0.1, 0.8)
    np.testing.assert_allclose(weights_of(obj), weights_of(twin), atol=0.03)
    np.testing.assert_allclose(weights_of(obj).sum(axis=1), 1.0, atol=1e-6)


def test_seam_copies_stay_together():
    obj, _ = add_tube()
    bpy.ops.object.mode_set(mode="EDIT")
    bpy.ops.mesh.select_all(action="SELECT")
    bpy.ops.mesh.edge_split(type="EDGE")
    bpy.ops.object.mode_set(mode="OBJECT")
    whole, _ = add_tube()
    assert len(obj.data.vertices) > 2 * len(whole.data.vertices)
    for one in (obj, whole):
        move_line(one, "bone.1", [0.3, 0.1, 0, 0, 0, 0, 0, 0.1])

    def table(one: bpy.types.Object) -> dict:
        rows: dict[tuple, set] = {}
        for vertex, row in zip(one.data.vertices, weights_of(one).round(5).tolist(), strict=True):
            rows.setdefault(tuple(round(value, 4) for value in vertex.co), set()).add(tuple(row))
        return rows

    assert table(obj) == table(whole)


@pytest.mark.parametrize("kind", ["ARMATURE", "SUPPLE"])
def test_what_is_shown_follows(kind: str):
    obj, armature = add_tube()
    if kind == "SUPPLE":
        bind(obj, method="SSD")
    turn(armature, "bone.1", (0.0, 0.0, 1.2))
    before = evaluated_points(obj)
    lines = read_lines(obj, armature, ["bone.1"])
    set_moves(lines, {("bone.1", 0): ([0.3] * HANDLES, [1.0] * HANDLES)})
    lines.write()
    bpy.context.view_layer.update()
    after = evaluated_points(obj)
    assert distance(before, after) > 0.01
    twin = add_twin(obj)
    if kind == "SUPPLE":
        bpy.ops.object.select_all(action="DESELECT")
        twin.modifiers.clear()
        twin.modifiers.new("Armature", "ARMATURE").object = armature
        bpy.context.view_layer.update()
    np.testing.assert_allclose(evaluated_points(twin), after, atol=1e-4)
    lines.restore()
    bpy.context.view_layer.update()
    np.testing.assert_allclose(evaluated_points(obj), before, atol=1e-6)


def test_other_groups_and_locked_ones_stay():
    obj, _ = add_tube()
    obj.vertex_groups.new(name="mask").add(list(range(len(obj.data.vertices))), 0.7, "REPLACE")
    obj.vertex_groups["bone.2"].lock_weight = True
    before = weights_of(obj)
    move_line(obj, "bone.1", 0.4)
    np.testing.assert_array_equal(weights_of(obj)[:, 2], before[:, 2])
    assert (read_weights(obj, ["mask"]) == np.float32(0.7)).all()


def test_a_group_that_was_missing_comes_and_goes():
    obj, _ = add_tube(bones=2)
    group = obj.vertex_groups["bone.0"]
    rest = read_weights(obj, ["bone.0"])[:, 0]
    obj.vertex_groups.remove(group)
    other = obj.vertex_groups.new(name="bone.9")
    for vertex in np.flatnonzero(rest).tolist():
        other.add([vertex], float(rest[vertex]), "REPLACE")
    armature = bpy.data.objects["Rig"]
    select(armature)
    bpy.ops.object.mode_set(mode="EDIT")
    edit = armature.data.edit_bones
    new = edit.new("bone.9")
    new.head, new.tail = (0, -1, 0), (0, 0, 0)
    edit["bone.0"].parent = new
    bpy.ops.object.mode_set(mode="OBJECT")
    lines = read_lines(obj, bones=["bone.1"])
    set_moves(lines, {("bone.1", 0): ([0.3] * HANDLES, [1.0] * HANDLES)})
    lines.write()
    assert read_weights(obj, ["bone.0"]).max() > 0.1  # the parent gains, though it had nothing
    lines.restore()
    assert "bone.0" not in obj.vertex_groups


@pytest.mark.parametrize(
    ("bone", "message"),
    [
        ("bone.0", "'bone.0' has no deforming parent to exchange weight with"),
        ("bone.7", "'bone.7' is no deforming bone"),
        ("bone.1", "The line of 'bone.1' cannot move: unlock its vertex group"),
        ("bone.2", "'bone.2' and the bones below it have no weight on 'Tube': give them some first"),
    ],
)
def test_a_message_says_why_a_line_cannot_move(bone: str, message: str):
    obj, _ = add_tube()
    obj.vertex_groups["bone.1"].lock_weight = True
    obj.vertex_groups.remove(obj.vertex_groups["bone.2"])
    obj.vertex_groups["bone.1"].lock_weight = bone != "bone.2"
    before = groups_of(obj)
    with pytest.raises(SkinningError, match=message):
        move_line(obj, bone, 0.1)
    assert groups_of(obj) == before


def test_each_problem_has_a_message_that_names_the_bone():
    assert set(MESSAGES) == set(LineProblem)
    assert all("'{bone}'" in message for message in MESSAGES.values())


def test_a_locked_parent_is_named():
    obj, _ = add_tube()
    obj.vertex_groups["bone.1"].lock_weight = True
    message = "The line of 'bone.2' cannot move: unlock the vertex group of its parent 'bone.1'"
    with pytest.raises(SkinningError, match=message):
        move_line(obj, "bone.2", 0.1)


def test_a_bone_with_all_the_weight_has_no_line():
    obj, _ = add_tube()
    vertices = list(range(len(obj.data.vertices)))
    for name in NAMES:
        obj.vertex_groups[name].remove(vertices)
    obj.vertex_groups["bone.1"].add(vertices, 1.0, "REPLACE")
    message = "'bone.1' and the bones below it have all the weight of 'Tube': give its parent 'bone.0' some first"
    with pytest.raises(SkinningError, match=message):
        move_line(obj, "bone.1", 0.1)


def test_listed_moves_make_the_same_weights():
    obj, _ = add_tube()
    twin = add_twin(obj)
    lines = read_lines(obj, bones=NAMES[1:])
    assert list_moves(lines) == []
    set_moves(lines, {("bone.1", 0): (np.linspace(-0.2, 0.2, HANDLES), np.linspace(0.5, 2.0, HANDLES))})
    lines.write()
    count = lines.changed_count
    assert count > 0
    assert describe_result(lines) == f"Moved the line of bone.1: changed the weights of {count} vertices of 'Tube'"
    moves = list_moves(lines)
    assert [(bone, line) for bone, line, _, _ in moves] == [("bone.1", 0)]
    again = read_lines(twin, bones=NAMES[1:])
    set_moves(again, {(bone, line): (offsets, widths) for bone, line, offsets, widths in moves})
    again.write()
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


def test_wrong_numbers_are_refused():
    obj, _ = add_tube()
    with pytest.raises(SkinningError, match="8 handles"):
        move_line(obj, "bone.1", [0.1, 0.2])
    with pytest.raises(SkinningError, match="has 1 lines, and none of index 3"):
        move_line(obj, "bone.1", 0.1, line=3)
    with pytest.raises(SkinningError, match="No bone is selected"):
        read_lines(obj)


def test_one_of_several_bones_may_have_no_line():
    obj, armature = add_tube()
    lines = read_lines(obj, armature, NAMES)
    assert [lines.names[joint.bone] for joint in lines.joints] == NAMES[1:]
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
    bpy.context.view_layer.update()
    assert distance(evaluated_points(obj), posed) < 0.02
    obj.modifiers.new("Decimate", "DECIMATE").ratio = 0.2
    bpy.context.view_layer.update()
    with pytest.raises(SkinningError, match="makes a new mesh"):
        read_posed_points(obj, bpy.context.evaluated_depsgraph_get())


def test_the_operator_does_what_the_task_does():
    obj, _ = add_tube()
    twin = add_twin(obj)
    select(obj)
    moves = [{"name": "", "bone": "bone.1", "line": 0, "offsets": [0.2] * 8, "widths": [1.25] * 8}]
    assert bpy.ops.supple.weight_lines(moves=moves) == {"FINISHED"}
    move_line(twin, "bone.1", 0.2, 1.25)
    np.testing.assert_allclose(weights_of(obj), weights_of(twin), atol=1e-5)
    select(twin)
    bpy.ops.supple.weight_lines(bone="bone.2", offset=-0.1, width=0.8)
    move_line(obj, "bone.2", -0.1, 0.8)
    np.testing.assert_allclose(weights_of(obj), weights_of(twin), atol=1e-5)


def test_what_is_added_to_moved_lines_leaves_the_others():
    obj, _ = add_tube()
    twin = add_twin(obj)
    select(obj)
    moves = [{"name": "", "bone": "bone.1", "line": 0, "offsets": [0.1, *[0.0] * 7], "widths": [1.0] * 8}]
    bpy.ops.supple.weight_lines(moves=moves, offset=0.1, width=1.25)
    move_line(twin, "bone.1", [0.2, *[0.1] * 7], 1.25)
    np.testing.assert_allclose(weights_of(obj), weights_of(twin), atol=1e-5)


def test_the_operator_finds_mesh_and_bones():
    obj, armature = add_tube()
    before = weights_of(obj)
    obj.vertex_groups.active_index = 1
    assert find_chosen_bones(obj) == ["bone.1"]
    select(armature)
    bpy.ops.object.mode_set(mode="POSE")
    for number, bone in enumerate(armature.pose.bones):
        (bone if hasattr(bone, "select") else bone.bone).select = number > 0
    assert find_chosen_bones(armature) == ["bone.1", "bone.2"]
    assert find_deformed_meshes(armature, bpy.context.view_layer, ["bone.1"]) == [obj]
    bpy.ops.supple.weight_lines(offset=0.1)
    changed = (weights_of(obj) != before).any(axis=0)
    assert changed.all()
    bpy.ops.object.mode_set(mode="OBJECT")


def test_the_shape_without_keys_counts():
    obj, _ = add_tube()
    twin = add_twin(obj)
    obj.shape_key_add(name="Basis")
    for vertex in obj.data.vertices:
        vertex.co *= 2.0
    for one in (obj, twin):
        move_line(one, "bone.1", 0.2)
    np.testing.assert_array_equal(weights_of(obj), weights_of(twin))


def test_overridden_meshes_are_refused(tmp_path):
    add_tube()
    bpy.ops.wm.save_as_mainfile(filepath=str(tmp_path / "library.blend"))
    reset()
    with bpy.data.libraries.load(str(tmp_path / "library.blend"), link=True) as (_, linked):
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
        _began = ExitStack()

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


@pytest.mark.parametrize(("name", "bone"), [("mh_human", "lowerarm01.L"), ("mh_human_game", "thigh_l")])
def test_lines_of_a_real_character(asset, name: str, bone: str):
    bpy.ops.wm.open_mainfile(filepath=str(asset(name)))
    obj = max((one for one in bpy.data.objects if one.type == "MESH"), key=lambda one: len(one.data.vertices))
    lines = read_lines(obj, bones=[bone])
    joint = lines.joints[0]
    assert joint.field.closed == (True,)
    before = lines.find_shares(joint).copy()
    set_moves(lines, {}, offset=0.1 * joint.field.reach)
    lines.write()
    after = lines.find_shares(joint)
    assert (after - before).max() < 0.06  # towards the child: nothing to speak of is gained
    assert (after - before).min() < -0.2
    expected = np.full((1, HANDLES), 0.1 * joint.field.reach)
    distances = np.zeros(len(lines.points))
    distances[joint.field.vertices] = joint.field.distances
    found = lines.locate(joint, 0.5).interpolate(distances)
    np.testing.assert_allclose(found, expected[0], atol=0.03 * joint.field.reach)


def test_both_sides_move_alike(asset):
    bpy.ops.wm.open_mainfile(filepath=str(asset("mh_human_game")))
    obj = max((one for one in bpy.data.objects if one.type == "MESH"), key=lambda one: len(one.data.vertices))
    armature = next(one for one in bpy.data.objects if one.type == "ARMATURE")
    bones = add_mirrored(["lowerarm_l", "spine_02"], armature)
    assert bones == ["lowerarm_l", "spine_02", "lowerarm_r"]
    lines = read_lines(obj, armature, bones)
    left, right = lines.find_joint("lowerarm_l"), lines.find_joint("lowerarm_r")
    set_moves(lines, {("lowerarm_l", 0): (0.03 * np.sin(np.arange(8)), np.linspace(0.8, 1.3, 8))})
    mirror = LineMirror(lines)
    mirror.mirror_moves(left)
    mirror.mirror_moves(lines.find_joint("spine_02"))  # is its own other side: nothing to do
    lines.write()
    assert not lines.moves[lines.find_joint("spine_02").bone].is_moved
    flip = np.array((-1.0, 1.0, 1.0))
    for level in left.levels:
        ends = lines.trace(left, level).interpolate(lines.points)
        handles = lines.locate(right, level).interpolate(lines.points) * flip
        steps = np.linspace(0.0, 1.0, 9)[:, None, None]
        line = ((1.0 - steps) * ends[:, 0] + steps * ends[:, 1]).reshape(-1, 1, 3)
        away = np.linalg.norm(line - handles, axis=2).min(axis=0)
        assert away.max() < 0.005
        assert np.median(away) < 0.002
    lines.restore()
    select(obj)
    before = read_weights(obj, bones)
    bpy.ops.supple.weight_lines(bone="lowerarm_l", offset=0.02, mirror=True)
    changed = (read_weights(obj, bones) != before).any(axis=0).tolist()
    assert changed == [True, False, True]
