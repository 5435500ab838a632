"""Weight lines: where they run, coordinates around them, and weights that follow moved lines."""

import numpy as np
import pytest

from supple.deformers.geometry.iso_lines import chain_segments, trace_segments
from supple.deformers.geometry.line_splines import find_handle_fractions, spline_basis
from supple.deformers.geometry.surface_distances import carry_values, march_distances
from supple.deformers.weight_editing.line_fields import (
    HANDLES_PER_LINE,
    LineField,
    LineProblem,
    MissingLineError,
    build_field,
    choose_level,
)
from supple.deformers.weight_editing.line_moves import (
    HandleMoves,
    locate_handles,
    move_shares,
    move_weights,
    trace_handle_path,
)

from ..cases import each
from ..meshes import close_rings

LENGTH, RADIUS = 3.0, 0.4


def make_tube(rings: int = 61, sides: int = 24, skew: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """An open tube along Y, its rings leaning by `skew`: points and triangles, counter-clockwise from outside."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    points = np.zeros((rings, sides, 3))
    points[..., 0], points[..., 2] = RADIUS * np.cos(angles), RADIUS * np.sin(angles)
    points[..., 1] = np.linspace(0.0, LENGTH, rings)[:, None] + skew * points[..., 0]
    return points.reshape(-1, 3), close_rings(rings, sides)[:, [0, 2, 1]]


def ramp(y: np.ndarray, middle: float = 1.5, width: float = 0.6) -> np.ndarray:
    t = np.clip((y - middle) / width + 0.5, 0.0, 1.0)
    return t * t * (3.0 - 2.0 * t)


def make_field(**shape: float) -> tuple[LineField, np.ndarray]:
    """The field of a tube whose upper half is the child's, and the tube's points in the field's order."""
    points, triangles = make_tube(**shape)
    field = build_field(points, triangles, ramp(points[:, 1]), 0.5, 1.0)
    return field, points[field.vertices]


def still(field: LineField) -> HandleMoves:
    return HandleMoves.none(field.line_count)


def move(field: LineField, offset: float | np.ndarray = 0.0, width: float | np.ndarray = 1.0) -> HandleMoves:
    """Handles moved by these numbers."""
    return HandleMoves(still(field).offsets + offset, still(field).widths * width)


@each("level", [0.1, 0.5, 0.73])
def test_a_line_runs_where_values_pass_the_level(level: float):
    points, triangles = make_tube()
    segments = trace_segments(ramp(points[:, 1]), triangles, level)
    np.testing.assert_allclose(segments.interpolate(ramp(points[:, 1])), level, atol=1e-12)
    ends = segments.interpolate(points)
    step, outward = ends[:, 1] - ends[:, 0], ends[:, 0] * (1.0, 0.0, 1.0)
    left = np.cross(outward, step)
    assert (left[np.linalg.norm(step, axis=1) > 1e-9, 1] > 0).all()  # greater values on the left


def test_a_line_around_a_tube_is_closed():
    points, triangles = make_tube()
    segments = trace_segments(points[:, 1], triangles, 1.52)
    ((order, is_reversed, is_closed),) = chain_segments(segments)
    assert is_closed
    assert sorted(order.tolist()) == list(range(len(segments.triangles)))
    ends = segments.interpolate(points)[order]
    ends[is_reversed] = ends[is_reversed, ::-1]
    np.testing.assert_allclose(ends[:, 1], np.roll(ends[:, 0], -1, axis=0), atol=1e-12)


def test_lines_end_at_borders_and_stay_apart():
    points, triangles = make_tube()
    along = trace_segments(points[:, 0], triangles, 0.05)
    chains = chain_segments(along)
    assert [is_closed for _, _, is_closed in chains] == [False, False]
    assert sum(len(order) for order, _, _ in chains) == len(along.triangles)
    assert chain_segments(trace_segments(points[:, 1], triangles, 9.0)) == []


def test_a_line_through_vertices_is_one_line():
    points, triangles = make_tube()
    ((_, _, is_closed),) = chain_segments(trace_segments(points[:, 1], triangles, 1.5))  # a ring of the tube
    assert is_closed


@each(("rings", "sides"), [(61, 24), (21, 40)])
def test_distances_go_along_the_surface(rings: int, sides: int):
    points, triangles = make_tube(rings, sides)
    segments = trace_segments(points[:, 1], triangles, 1.52)
    found = march_distances(points, triangles, segments.interpolate(points), segments.triangles, 1.0)
    expected = np.abs(points[:, 1] - 1.52)
    assert (found.is_reached == (expected <= 1.0)).all()
    np.testing.assert_allclose(found.values[found.is_reached], expected[found.is_reached], atol=1e-9)


def test_distances_from_a_point_are_nearly_straight():
    steps = np.linspace(-1.0, 1.0, 41)
    points = np.stack([*np.meshgrid(steps, steps), np.zeros((41, 41))], axis=-1).reshape(-1, 3)
    index = np.arange(41 * 41).reshape(41, 41)
    low, right, up, far = index[:-1, :-1].ravel(), index[:-1, 1:].ravel(), index[1:, :-1].ravel(), index[1:, 1:].ravel()
    triangles = np.concatenate([np.stack([low, right, far], 1), np.stack([low, far, up], 1)])
    segments = trace_segments(np.linalg.norm(points, axis=1), triangles, 0.2)
    found = march_distances(points, triangles, segments.interpolate(points), segments.triangles, 2.0)
    expected = np.abs(np.linalg.norm(points, axis=1) - 0.2)
    outside = np.linalg.norm(points, axis=1) > 0.2
    np.testing.assert_allclose(found.values[outside], expected[outside], rtol=0.03, atol=0.01)


def test_values_are_carried_straight_away_from_the_line():
    points, triangles = make_tube()
    segments = trace_segments(points[:, 1], triangles, 1.52)
    found = march_distances(points, triangles, segments.interpolate(points), segments.triangles, 1.0)
    carried = carry_values(found, points)
    reached = found.is_reached
    np.testing.assert_allclose(carried[reached][:, [0, 2]], points[reached][:, [0, 2]], atol=1e-6)
    assert not carried[~reached].any()


@each("is_closed", [True, False])
def test_handles_are_met_and_sum_to_one(is_closed: bool):
    fractions = find_handle_fractions(HANDLES_PER_LINE, is_closed)
    np.testing.assert_allclose(
        spline_basis(fractions, HANDLES_PER_LINE, is_closed), np.eye(HANDLES_PER_LINE), atol=1e-12
    )
    fine = np.linspace(0.0, 1.0, 2001)
    basis = spline_basis(fine, HANDLES_PER_LINE, is_closed)
    np.testing.assert_allclose(basis.sum(axis=1), 1.0, atol=1e-12)
    slopes = np.diff(basis, axis=0) * 2000
    assert np.abs(np.diff(slopes, axis=0)).max() < 0.2  # no kink
    if is_closed:
        np.testing.assert_allclose(basis[0], basis[-1], atol=1e-12)


def test_a_field_holds_distance_and_angle_around():
    field, points = make_field()
    assert field.closed == (True,)
    np.testing.assert_allclose(field.distances, points[:, 1] - 1.5, atol=1e-9)
    np.testing.assert_allclose(field.lengths[0], 24 * 2 * RADIUS * np.sin(np.pi / 24), rtol=1e-9)
    assert field.reach >= 0.5 * field.lengths[0]
    own = np.angle((points[:, 0] + 1j * points[:, 2]) * -1j)  # the line starts at its highest place
    np.testing.assert_allclose(np.abs(np.angle(field.around)), np.abs(own), atol=1e-6)
    np.testing.assert_allclose(field.basis.sum(axis=1), 1.0, atol=1e-12)


@each("skew", [0.0, 0.5])
def test_what_is_not_moved_stays_to_the_last_bit(skew: float):
    points, triangles = make_tube(skew=skew)
    noise = np.random.default_rng(1).uniform(0.0, 0.2, len(points))
    shares = np.clip(ramp(points[:, 1]) + noise - 0.1, 0.0, 1.0)
    field = build_field(points, triangles, shares, 0.5, 1.0)
    np.testing.assert_array_equal(move_shares(field, still(field)), shares[field.vertices])


@each(("offset", "width"), [(0.2, 1.0), (-0.25, 1.0), (0.0, 2.0), (0.0, 0.5), (0.1, 1.5)])
def test_whole_lines_take_the_shares_along(offset: float, width: float):
    field, points = make_field()
    moved = move_shares(field, move(field, offset, width))
    expected = ramp(points[:, 1], 1.5 + offset, 0.6 * width)
    near = np.abs(field.distances) < 0.5 * field.reach
    np.testing.assert_allclose(moved[near], expected[near], atol=0.012)


def test_a_handle_moves_the_line_there_and_not_across():
    field, points = make_field()
    moves = still(field)
    moves.offsets[0, 2] = 0.2
    moved = move_shares(field, moves)
    handles = locate_handles(field, moved, 0.5, moves.offsets).interpolate(points)
    np.testing.assert_allclose(handles[:, 1], 1.5 + moves.offsets[0], atol=0.005)
    change = np.abs(moved - field.shares)
    steps = np.angle(field.around * np.conj(field.find_handle_angles(0)[2])) / (2 * np.pi) * HANDLES_PER_LINE
    assert change[np.abs(steps) < 0.5].max() > 0.3
    assert change[np.abs(steps) > 3.0].max() < 0.03


@each("seed", range(3))
def test_moved_shares_stay_in_order_along_the_limb(seed: int):
    field, points = make_field()
    random = np.random.default_rng(seed)
    offsets, widths = (
        random.uniform(-0.3, 0.3, (1, HANDLES_PER_LINE)),
        np.exp(random.uniform(-0.7, 0.7, (1, HANDLES_PER_LINE))),
    )
    moved = move_shares(field, HandleMoves(offsets, widths))
    assert (moved >= 0).all()
    assert (moved <= 1).all()
    order = np.lexsort((points[:, 1], np.round(np.angle(field.around), 6)))
    rises = np.diff(moved[order])[np.diff(points[order, 1]) > 0]
    assert rises.min() > -1e-3


def test_further_means_less_for_the_child():
    field, _ = make_field()
    moved = [move_shares(field, move(field, step)) for step in np.linspace(-0.3, 0.3, 13)]
    assert (np.diff(moved, axis=0) <= 1e-6).all()


def test_a_mirrored_tube_gives_mirrored_shares():
    """Toward the child on one tube is toward the parent on the same tube seen from its other end."""
    points, triangles = make_tube()
    mirrored = points * (1.0, -1.0, 1.0) + (0.0, LENGTH, 0.0)
    fields = [
        build_field(points, triangles, ramp(points[:, 1]), 0.5, 1.0),
        build_field(mirrored, triangles[:, ::-1], 1.0 - ramp(mirrored[:, 1]), 0.5, 1.0),
    ]
    first, second = (move_shares(field, move(field, 0.2, 1.3)) for field in fields)
    np.testing.assert_allclose(first, second, atol=1e-9)


def test_falloff_is_smooth():
    points, triangles = make_tube(rings=301)
    field = build_field(points, triangles, ramp(points[:, 1]), 0.5, 1.0)
    moved = move_shares(field, move(field, 0.15, 1.4))
    on_top = np.abs(np.angle(field.around)) < 1e-6
    profile = moved[on_top][np.argsort(field.distances[on_top])]
    assert len(profile) > 200
    slopes = np.diff(profile) / (LENGTH / 300)
    assert np.abs(slopes).max() < 2.5
    assert np.abs(np.diff(slopes)).max() < 0.25  # the steepest slope is some 1.8, and there is no step in it


def test_an_open_line_has_handles_within():
    points, triangles = make_tube()
    half = triangles[(points[triangles][:, :, 0] > -0.1).all(axis=1)]
    field = build_field(points, half, ramp(points[:, 1]), 0.5, 1.0)
    assert field.closed == (False,)
    moves = still(field)
    moves.offsets[0, 0] = 0.2
    moved = move_shares(field, moves)
    handles = locate_handles(field, moved, 0.5, moves.offsets).interpolate(points[field.vertices])
    np.testing.assert_allclose(handles[:, 1], 1.5 + moves.offsets[0], atol=0.02)


def test_a_handle_path_runs_along_the_limb():
    field, points = make_field()
    segments, distances = trace_handle_path(field, 0, 3)
    ends = segments.interpolate(points)
    np.testing.assert_allclose(ends[..., 1] - 1.5, distances, atol=1e-9)
    assert distances.min() < -0.9
    assert distances.max() > 0.9
    assert np.ptp(ends[..., 0]) < 0.11  # within one side of the tube


def test_two_lines_of_one_joint_move_apart():
    points, triangles = make_tube()
    both = np.concatenate([points, points + np.array((2.0, 0.0, 0.0))])
    shares = np.concatenate([ramp(points[:, 1]), ramp(points[:, 1], 1.2)])
    field = build_field(both, np.concatenate([triangles, triangles + len(points)]), shares, 0.5, 1.0)
    assert field.line_count == 2
    change = np.abs(move_shares(field, move(field, np.array([[0.0], [0.2]]))) - field.shares)
    lines = field.vertices >= len(points)
    moved = lines == lines[field.lines == 1][0]
    assert change[~moved].max() == 0.0
    assert change[moved].max() > 0.3


def test_specks_are_no_lines():
    points, triangles = make_tube()
    shares = ramp(points[:, 1])
    shares[0] = 1.0  # a single vertex far from the joint
    assert build_field(points, triangles, shares, 0.5, 1.0).line_count == 1


@each(("shares", "level"), [([0.0, 1.0], 0.5), ([0.0, 0.6], 0.5), ([0.0, 0.3], 0.15), ([0.0, 0.5], 0.25)])
def test_a_line_runs_at_a_half_where_there_is_one(shares: list, level: float):
    assert choose_level(np.array(shares), np.ones(2, bool)) == pytest.approx(level)


@each(("shares", "problem"), [([0.0, 0.01], LineProblem.NO_WEIGHT), ([0.9, 1.0], LineProblem.ALL_WEIGHT)])
def test_without_a_passage_there_is_no_line(shares: list, problem: LineProblem):
    with pytest.raises(MissingLineError) as caught:
        choose_level(np.array(shares), np.ones(2, bool))
    assert caught.value.problem is problem
    points, triangles = make_tube(5, 6)
    with pytest.raises(MissingLineError) as caught:
        build_field(points, triangles, np.ones(len(points)), 0.5, 1.0)
    assert caught.value.problem is LineProblem.NO_CROSSING


SIDE = np.array([False, False, True, True, False])
"""Of five bones: grandparent, parent, child, its child, and another child of the grandparent."""


@each(
    ("row", "gain", "expected"),
    [
        ([0.0, 0.6, 0.4, 0.0, 0.0], 0.2, [0.0, 0.4, 0.6, 0.0, 0.0]),
        ([0.0, 0.6, 0.4, 0.0, 0.0], -0.4, [0.0, 1.0, 0.0, 0.0, 0.0]),
        ([0.3, 0.2, 0.5, 0.0, 0.0], 0.1, [0.3, 0.1, 0.6, 0.0, 0.0]),
        ([0.3, 0.2, 0.3, 0.0, 0.2], 0.3, [0.24, 0.0, 0.6, 0.0, 0.16]),
        ([0.0, 0.2, 0.4, 0.4, 0.0], -0.2, [0.0, 0.4, 0.2, 0.4, 0.0]),
        ([0.0, 0.2, 0.4, 0.4, 0.0], -0.6, [0.0, 0.8, 0.0, 0.2, 0.0]),
        ([0.0, 0.6, 0.2, 0.0, 0.0], 0.5, [0.0, 0.2, 0.6, 0.0, 0.0]),
        ([0.0, 0.0, 0.0, 0.0, 0.0], 0.5, [0.0, 0.0, 0.0, 0.0, 0.0]),
    ],
)
def test_the_bones_of_the_joint_give_first(row: list, gain: float, expected: list):
    moved = move_weights(np.array([row]), SIDE, 2, 1, np.array([gain]), np.ones(5, bool))
    np.testing.assert_allclose(moved, [expected], atol=1e-12)


@each("locked", [[], [0], [4], [1], [2]])
def test_sums_stay_and_locked_bones_too(locked: list):
    random = np.random.default_rng(2)
    weights = random.dirichlet(np.full(5, 0.5), 200).astype(np.float32)
    gains = random.uniform(-1.0, 1.0, 200)
    is_free = ~np.isin(np.arange(5), locked)
    moved = move_weights(weights, SIDE, 2, 1, gains, is_free)
    np.testing.assert_allclose(moved.sum(axis=1), weights.sum(axis=1, dtype=float), atol=1e-12)
    assert moved.min() >= -1e-12
    np.testing.assert_array_equal(moved[:, locked], weights[:, locked])
    assert (moved != weights).any() == (not set(locked) & {1, 2})


def test_inputs_are_left_alone():
    weights = np.array([[0.5, 0.5]])
    move_weights(weights, np.array([False, True]), 1, 0, np.array([0.2]), np.ones(2, bool))
    np.testing.assert_array_equal(weights, [[0.5, 0.5]])
