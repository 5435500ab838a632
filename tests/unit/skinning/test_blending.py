"""Blocks, weights, layouts and memory of the blend that all methods share; SSD stands for it where any would do."""

import copy

import numpy as np
import pytest

from supple.deformers import DEFORMERS, Joints, Pose, Rest, SkinningError, Weights
from supple.deformers.rig.rest import MIN_WEIGHT_SUM
from supple.deformers.skinning import ssd
from supple.deformers.skinning.blocks import MIN_BLOCK_SIZE, RUN_SIZE

from ..cases import each
from ..characters import (
    METHODS,
    Character,
    about,
    bind,
    check_layout,
    deform,
    make_hand,
    make_tube,
    pose_chain,
    rotation,
)

TUBE = make_tube()
MATRICES = pose_chain(TUBE, {0: np.diag([1, 1, 1.5]), 1: rotation((1, 0, 0), 50), 2: rotation((0, 1, 1), 60)})
SPACE = about(rotation((1, 2, 3), 50) @ np.diag([0.5, 2.0, 1.5]), np.zeros(3), (0.4, -0.7, 1.1))
ONE_JOINT = Joints(np.zeros((1, 3)), np.array([-1]))
MOVE = about(np.eye(3), np.zeros(3), (1, 2, 3))[None]


def move_by_one_joint(
    weights: Weights, count: int, joints: Joints = ONE_JOINT, matrices: np.ndarray = MOVE
) -> np.ndarray:
    rest = Rest(np.zeros((count, 3)), weights, joints)
    return ssd.deform(ssd.bind(rest, ssd.Params()), Pose(matrices))


@each(
    "count",
    [1, 2, MIN_BLOCK_SIZE - 1, MIN_BLOCK_SIZE, MIN_BLOCK_SIZE + 1, 2 * MIN_BLOCK_SIZE, RUN_SIZE, 2 * RUN_SIZE + 1],
)
def test_vertices_come_back_in_their_order(count: int) -> None:
    random = np.random.default_rng(count)
    weights = random.uniform(size=(count, 5)) * (random.uniform(size=(count, 5)) < 0.5)
    weights[::7] = 0
    character = Character(random.normal(size=(count, 3)), weights, random.normal(size=(5, 3)), np.arange(5) - 1)
    matrices = np.tile(np.eye(4), (5, 1, 1))
    matrices[:, :3] += random.normal(size=(5, 3, 4))
    sums = weights.sum(axis=1, keepdims=True)
    carried = np.einsum("bij,vj->vbi", matrices[:, :3, :3], character.points) + matrices[:, :3, 3]
    expected = np.einsum("vb,vbi->vi", weights / np.where(sums > 0, sums, 1), carried)
    expected = np.where(sums > 0, expected, character.points)
    np.testing.assert_allclose(deform(character, "SSD", matrices), expected, atol=2e-5)


@each("method", METHODS)
def test_what_nothing_moves_stays(method: str) -> None:
    hand, count = make_hand(), len(TUBE.points)
    np.testing.assert_allclose(deform(hand, method, np.tile(np.eye(4), (16, 1, 1))), hand.points, atol=1e-6)
    np.testing.assert_allclose(deform(TUBE, method, MATRICES, strength=np.zeros(count)), TUBE.points, atol=1e-6)
    without_weights = Character(TUBE.points, 0 * TUBE.weights, TUBE.centers, TUBE.parents)
    np.testing.assert_allclose(deform(without_weights, method, MATRICES), TUBE.points, atol=1e-6)
    without_joints = Character(TUBE.points, np.zeros((count, 0)), np.zeros((0, 3)), np.zeros(0, int))
    np.testing.assert_allclose(deform(without_joints, method, np.zeros((0, 4, 4))), TUBE.points, atol=1e-6)


@each("method", ["SSD", "DLB", "DLBNT-GH", "DLBNT-HG"])
def test_screw(method: str) -> None:
    """Half way between rest and a quarter screw of pitch 4 is half the screw; SSD cuts the corner."""
    character = Character(np.array([[1.0, 0, 0]]), np.full((1, 2), 0.5), np.zeros((2, 3)), np.array([-1, 0]))
    actual = deform(character, method, np.array([np.eye(4), about(rotation((0, 0, 1), 90), np.zeros(3), (0, 0, 4))]))
    expected = (0.5, 0.5, 2) if method == "SSD" else (0.5**0.5, 0.5**0.5, 2)
    np.testing.assert_allclose(actual, [expected], atol=1e-6)


@each("method", METHODS)
def test_one_joint_carries_its_vertices_whole(method: str) -> None:
    """With all weight on one joint each method gives M v."""
    matrix = about(rotation((1, 2, 0), 130) @ np.diag([2.0, 1, 0.5]), np.array([1.0, 2, 3]), (4, 5, 6))
    center = np.array([0.5, -1, 2])
    points = np.random.default_rng(0).normal(size=(9, 3))
    actual = deform(Character(points, np.ones((9, 1)), center[None], np.array([-1])), method, matrix[None])
    expected = points @ matrix[:3, :3].T + matrix[:3, 3]
    np.testing.assert_allclose(actual, expected, atol=1e-5)


@each("method", METHODS)
@each("space", [None, SPACE])
def test_no_vertices(method: str, space: np.ndarray | None) -> None:
    empty = Character(np.zeros((0, 3)), np.zeros((0, 3)), TUBE.centers, TUBE.parents)
    module, binding = bind(empty, method, linear=np.zeros(0), strength=np.zeros(0))
    assert module.deform(binding, Pose(MATRICES, space)).shape == (0, 3)
    assert module.vertex_transforms(binding, Pose(MATRICES, space)).shape == (0, 4, 4)


@each(("weight", "share"), [(0.9 * MIN_WEIGHT_SUM, 0), (1.1 * MIN_WEIGHT_SUM, 1), (1, 1), (300, 1)])
def test_least_weight(weight: float, share: int) -> None:
    moved = move_by_one_joint(Weights.from_dense(np.array([[weight]])), 1)
    np.testing.assert_allclose(moved, [[share, 2 * share, 3 * share]], atol=1e-6)


def test_entries_of_a_pair_add_up() -> None:
    """Three quarters of the weight are on the joint that moves, listed in pieces."""
    joints = Joints(np.zeros((2, 3)), np.array([-1, 0]))
    weights = Weights(np.array([0, 0, 0, 1]), np.array([1, 0, 1, 0]), np.array([0.5, 0.5, 1.0, 1.0]))
    moved = move_by_one_joint(weights, 2, joints, np.array([np.eye(4), MOVE[0]]))
    np.testing.assert_allclose(moved, [[0.75, 1.5, 2.25], [0, 0, 0]], atol=1e-6)


@each("method", [method for method in METHODS if method != "DLB"])  # whose signs depend on it, as Blender's do
def test_order_of_a_vertex_s_entries_does_not_matter(method: str) -> None:
    hand = make_hand()
    module, binding = bind(hand, method)
    random = np.random.default_rng(1)
    matrices = pose_chain(hand, {joint: rotation(random.normal(size=3), 50) * 1.1 for joint in range(16)})
    expected = module.deform(binding, Pose(matrices))
    weights = Weights.from_dense(hand.weights)
    order = np.lexsort((random.uniform(size=len(weights.vertices)), weights.vertices))
    assert (order != np.arange(len(order))).any()
    shuffled = Weights(weights.vertices, weights.joints[order], weights.values[order])
    rest = Rest(hand.points, shuffled, Joints(hand.centers, hand.parents))
    np.testing.assert_allclose(
        module.deform(module.bind(rest, binding.params), Pose(matrices)), expected, rtol=0, atol=2e-6
    )


@each("dtype", [np.int32, np.int64, np.uint16])
def test_integer_types_of_weights(dtype: type) -> None:
    weights = Weights(np.array([0, 2], dtype), np.array([0, 0], dtype), np.array([1.0, 0.5], np.float32))
    np.testing.assert_allclose(move_by_one_joint(weights, 3), [[1, 2, 3], [0, 0, 0], [1, 2, 3]], atol=1e-6)


@each("method", METHODS)
def test_inputs_are_kept(method: str) -> None:
    character = copy.deepcopy(make_hand())
    values = {"linear": np.linspace(0, 1, 80), "strength": np.linspace(1, 0, 80)}
    matrices = np.tile(2.0 * np.eye(4), (16, 1, 1))
    matrices[:, 3, 3] = 1
    space = SPACE.copy()
    parts = character.points, character.weights, character.centers, character.parents
    arrays = [*parts, *values.values(), matrices, space]
    before = copy.deepcopy(arrays)
    module, binding = bind(character, method, **values)
    module.deform(binding, Pose(matrices, space))
    module.vertex_transforms(binding, Pose(matrices, space))
    for array, original in zip(arrays, before, strict=True):
        np.testing.assert_array_equal(array, original)


@each("method", METHODS)
@each("function", ["deform", "vertex_transforms"])
def test_results_outlive_the_next_call(function: str, method: str) -> None:
    """The memory that calls share must not show through in what they return."""
    module, binding = bind(TUBE, method)
    first = getattr(module, function)(binding, Pose(MATRICES))
    kept = first.copy()
    second = getattr(module, function)(binding, Pose(2 * MATRICES[::-1]))
    assert not np.allclose(second, kept)
    np.testing.assert_array_equal(first, kept)
    np.testing.assert_array_equal(getattr(module, function)(binding, Pose(MATRICES)), kept)


@each("method", METHODS)
def test_layout_of_transforms(method: str) -> None:
    module, binding = bind(TUBE, method)
    check_layout(module.vertex_transforms(binding, Pose(MATRICES, SPACE)), len(TUBE.points))


@each("method", METHODS)
def test_linear_of_one_is_ssd(method: str) -> None:
    expected = deform(TUBE, "SSD", MATRICES)
    actual = deform(TUBE, method, MATRICES, linear=np.ones(len(TUBE.points)))
    np.testing.assert_allclose(actual, expected, atol=2e-6)


@each("method", ["DLB", "DLBNT-GH", "DLBNT-HG"])
@each("move", [0.0, 0.5])
def test_opposite_rotations_in_equal_parts_stay_finite(move: float, method: str) -> None:
    """Three joints of 120 degrees make a full turn, whose quaternion is minus that of rest: half of each is nothing."""
    turn = rotation((0, 0, 1), 120)
    matrices = np.array([about(np.linalg.matrix_power(turn, joint), np.zeros(3)) for joint in range(4)])
    matrices[3] = about(np.eye(3), np.zeros(3), (move, 0, 0))
    character = Character(np.array([[1.0, 0, 0]]), np.array([[0.5, 0, 0, 0.5]]), np.zeros((4, 3)), np.arange(4) - 1)
    assert np.isfinite(deform(character, method, matrices)).all()


@each("name", DEFORMERS)
def test_circles_are_refused(name: str) -> None:
    module = DEFORMERS[name]
    joints = Joints(np.zeros((3, 3)), np.array([2, 0, 1]))
    rest = Rest(np.zeros((1, 3)), Weights.from_dense(np.ones((1, 3))), joints)
    with pytest.raises(SkinningError, match="circle"):
        module.bind(rest, module.Params())


@each("method", METHODS)
def test_pose_of_another_armature_or_in_no_space_is_refused(method: str) -> None:
    module, binding = bind(TUBE, method)
    for count in (1, 2, 4):
        with pytest.raises(SkinningError, match="3 joints"):
            module.deform(binding, Pose(np.tile(np.eye(4), (count, 1, 1))))
    for space in (np.diag([0.0, 1, 1, 1]), np.full((4, 4), np.nan)):
        with pytest.raises(SkinningError):
            module.deform(binding, Pose(MATRICES, space))
