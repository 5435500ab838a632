"""The lines of several joints of one mesh: found, moved, and the weights that follow."""

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers.weight_editing.line_fields import HANDLES_PER_LINE, LineProblem, MissingLineError
from supple.deformers.weight_editing.line_moves import HandleMoves, find_mirror_mixing
from supple.deformers.weight_editing.lines import LineEdit, RiggedMesh, find_joint_lines, start_edit

from ..cases import each
from ..meshes import close_rings

LENGTH, RADIUS = 4.5, 0.4


def make_mesh(rings: int = 91, sides: int = 16, copied: bool = False) -> RiggedMesh:
    """A tube along Y of three bones in a chain and a fourth without influence; split across if `copied`."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    points = np.zeros((rings, sides, 3))
    points[..., 0], points[..., 2] = RADIUS * np.cos(angles), RADIUS * np.sin(angles)
    points[..., 1] = np.linspace(0.0, LENGTH, rings)[:, None]
    points, triangles = points.reshape(-1, 3), close_rings(rings, sides)[:, [0, 2, 1]]
    if copied:  # as an edge split: the upper half has vertices of its own
        upper = np.unique(triangles[(points[triangles][:, :, 1] > 1.4).all(axis=1)])
        moved = np.arange(len(points))
        moved[upper] = len(points) + np.arange(len(upper))
        is_upper = np.isin(triangles, upper).all(axis=1)
        triangles = np.where(is_upper[:, None], moved[triangles], triangles)
        points = np.concatenate([points, points[upper]])
    return RiggedMesh(
        points=points,
        triangles=triangles,
        weights=find_weights(points),
        parents=np.array([-1, 0, 1, 0]),
        lengths=np.full(4, 1.5),
        is_free=np.ones(4, bool),
    )


def find_weights(points: np.ndarray, first: float = 1.5, second: float = 3.0) -> np.ndarray:
    """Weights of the four bones, float32, shape (V, 4), that pass from bone to bone at two heights."""

    def ramp(middle: float) -> np.ndarray:
        t = np.clip((points[:, 1] - middle) / 0.6 + 0.5, 0.0, 1.0)
        return t * t * (3.0 - 2.0 * t)

    beyond = ramp(first), ramp(second)
    return np.stack([1.0 - beyond[0], beyond[0] - beyond[1], beyond[1], np.zeros(len(points))], 1).astype(np.float32)


def start(mesh: RiggedMesh, *bones: int) -> LineEdit:
    return start_edit(mesh, [find_joint_lines(mesh, bone) for bone in bones])


def spread(mesh: RiggedMesh, edit: LineEdit, weights: np.ndarray) -> np.ndarray:
    """All weights of the mesh, shape (V, 4), with those of an edit in them."""
    result = mesh.weights.copy()
    result[np.ix_(edit.copies, edit.columns)] = weights[edit.copy_rows]
    return result


def shift(offset: float = 0.0, width: float = 1.0) -> HandleMoves:
    still = HandleMoves.none(1)
    return HandleMoves(still.offsets + offset, still.widths * width)


@each("moves", [{}, {1: shift()}, {1: shift(), 2: shift()}])
def test_lines_that_are_not_moved_leave_the_very_weights(moves: dict):
    edit = start(make_mesh(), 1, 2)
    assert edit.compute(moves) is edit.weights


@each(("first", "second"), [(0.2, 0.0), (0.0, -0.3), (0.25, 0.1)])
def test_weights_follow_the_lines_of_each_joint(first: float, second: float):
    mesh = make_mesh()
    edit = start(mesh, 1, 2)
    weights = spread(mesh, edit, edit.compute({1: shift(first), 2: shift(second)}))
    np.testing.assert_allclose(weights, find_weights(mesh.points, 1.5 + first, 3.0 + second), atol=0.03)
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)


def test_nothing_that_is_given_is_changed():
    mesh = make_mesh()
    edit = start(mesh, 1, 2)
    before = mesh.weights.copy(), edit.weights.copy()
    moves = {1: shift(0.2, 1.4), 2: shift(-0.1)}
    first = edit.compute(moves)
    np.testing.assert_array_equal(mesh.weights, before[0])
    np.testing.assert_array_equal(edit.weights, before[1])
    np.testing.assert_array_equal(moves[1].offsets, 0.2)
    np.testing.assert_array_equal(edit.compute(moves), first)  # and again: only where the lines are counts


def test_only_bones_with_weight_there_may_change():
    edit = start(make_mesh(), 2)
    assert edit.columns.tolist() == [0, 1, 2]
    assert edit.weights.shape == (len(edit.vertices), 3)
    assert edit.weights.dtype == np.float32


def test_joints_go_from_the_root_to_the_tips():
    edit = start(make_mesh(), 2, 1)
    assert [joint.bone for joint in edit.joints] == [1, 2]
    assert [joint.parent for joint in edit.joints] == [0, 1]
    assert edit.joints[0].side.tolist() == [False, True, True, False]
    assert edit.joints[0].levels == pytest.approx((0.5, 0.1, 0.9))


@each(
    ("bone", "locked", "problem"),
    [
        (-1, (), LineProblem.NOT_DEFORMING),
        (0, (), LineProblem.NO_PARENT),
        (1, (1,), LineProblem.LOCKED),
        (1, (0,), LineProblem.PARENT_LOCKED),
        (3, (), LineProblem.NO_WEIGHT),
    ],
)
def test_a_problem_says_why_there_is_no_line(bone: int, locked: tuple, problem: LineProblem):
    mesh = make_mesh()
    mesh = replace(mesh, is_free=~np.isin(np.arange(4), locked))
    with pytest.raises(MissingLineError) as caught:
        find_joint_lines(mesh, bone)
    assert caught.value.problem is problem


def test_a_bone_with_all_the_weight_has_no_line():
    mesh = make_mesh()
    weights = np.zeros_like(mesh.weights)
    weights[:, 1] = 1.0
    with pytest.raises(MissingLineError) as caught:
        find_joint_lines(replace(mesh, weights=weights), 1)
    assert caught.value.problem is LineProblem.ALL_WEIGHT


def test_locked_bones_keep_their_weights():
    mesh = replace(make_mesh(), is_free=np.array([True, True, False, True]))
    edit = start(mesh, 1)
    weights = spread(mesh, edit, edit.compute({1: shift(0.3)}))
    np.testing.assert_array_equal(weights[:, 2], mesh.weights[:, 2])
    assert (weights[:, 1] != mesh.weights[:, 1]).any()


def test_vertices_at_one_position_change_alike():
    whole, split = make_mesh(), make_mesh(copied=True)
    moves = {1: shift(0.2)}
    results = []
    for mesh in (whole, split):
        edit = start(mesh, 1)
        weights = edit.compute(moves)
        assert edit.find_changed(weights).sum() == (spread(mesh, edit, weights) != mesh.weights).any(axis=1).sum()
        results.append(spread(mesh, edit, weights))
    count = len(whole.points)
    assert len(split.points) > count
    np.testing.assert_array_equal(results[1][:count], results[0])
    np.testing.assert_array_equal(results[1][count:], results[0][split.welded[count:]])


@each("level", [0.5, 0.1, 0.9])
def test_lines_and_handles_are_where_weights_say(level: float):
    mesh = make_mesh()
    edit = start(mesh, 1, 2)
    moves = {1: shift(0.2), 2: shift()}
    weights = edit.compute(moves)
    joint = edit.joints[0]
    shares = 1.0 - spread(mesh, edit, weights)[:, 0]
    np.testing.assert_allclose(edit.find_shares(joint, weights), shares[joint.field.vertices], atol=1e-6)
    line = edit.trace(joint, weights, level)
    np.testing.assert_allclose(line.interpolate(shares), level, atol=1e-6)
    handles = edit.locate(joint, weights, level, moves[1])
    assert handles.vertices.shape == (HANDLES_PER_LINE, 4)
    np.testing.assert_allclose(handles.interpolate(shares), level, atol=1e-6)
    heights = line.interpolate(mesh.points)[..., 1]
    assert np.ptp(heights) < 0.05
    np.testing.assert_allclose(handles.interpolate(mesh.points)[:, 1], heights.mean(), atol=0.05)


def test_moves_are_set_and_limited():
    moves = HandleMoves.none(2).set_line(1, np.full(HANDLES_PER_LINE, 0.1), np.full(HANDLES_PER_LINE, 2.0))
    assert moves.moved_lines == [1]
    assert not HandleMoves.none(2).is_moved
    pushed = moves.add_offset((1, slice(None)), 0.5, 0.3)
    np.testing.assert_array_equal(pushed.offsets, np.repeat([[0.0], [0.3]], HANDLES_PER_LINE, axis=1))
    pushed = moves.add_offset((0, 3), -0.2, 0.3)
    assert pushed.offsets[0, 3] == -0.2
    assert np.count_nonzero(pushed.offsets[0]) == 1
    wider = moves.scale_widths((1, 0), 100.0)
    assert wider.widths[1, 0] == 8.0
    assert moves.widths[1, 0] == 2.0
    assert moves.scale_widths(..., 0.001).widths.min() == 1.0 / 8.0


def test_the_other_side_follows_the_spline():
    mesh = make_mesh()
    field = start(mesh, 1).joints[0].field
    mirror = np.diag([-1.0, 1.0, 1.0, 1.0])
    mixing = find_mirror_mixing(mesh.points, field, field, mirror)
    np.testing.assert_allclose(mixing.sum(axis=1), 1.0, atol=1e-9)
    moves = HandleMoves.none(1).set_line(0, 0.1 * np.arange(HANDLES_PER_LINE), np.linspace(0.5, 2.0, HANDLES_PER_LINE))
    mixed = moves.mix(mixing, 1)
    # Handles go once around the tube from its highest point: the mirrored ring runs backwards.
    reverse = -np.arange(HANDLES_PER_LINE) % HANDLES_PER_LINE
    np.testing.assert_allclose(mixed.offsets[0], moves.offsets[0, reverse], atol=0.03)
    np.testing.assert_allclose(mixed.widths[0], moves.widths[0, reverse], rtol=0.08)
