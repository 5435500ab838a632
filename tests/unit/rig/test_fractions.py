"""Fractional joints: which there are, where they go, and what vertices follow of them."""

import numpy as np

from supple.deformers.rig.fraction_plan import count_fractions, plan_twists
from supple.deformers.rig.fraction_weights import split_weights
from supple.deformers.rig.fractions import Fractions, pose_fractions, split_turns
from supple.deformers.rig.rest import Joints, Weights

from ..cases import each
from ..reference import affine


def chain(count: int = 3) -> Joints:
    """Bones of length 1 along y, one after the other."""
    heads = np.array([[0.0, joint, 0.0] for joint in range(count)])
    return Joints(heads, np.arange(count) - 1, heads + np.array((0.0, 1.0, 0.0)))


def rotation(axis: tuple[float, float, float], degrees: float) -> np.ndarray:
    unit = np.array(axis) / np.linalg.norm(axis)
    cross = np.array([[0, -unit[2], unit[1]], [unit[2], 0, -unit[0]], [-unit[1], unit[0], 0]])
    angle = np.radians(degrees)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def turned(joints: Joints, turns: list[np.ndarray]) -> np.ndarray:
    """Matrices of a chain whose joints turn about their centers, one after the other."""
    matrices = [np.eye(4)]
    for center, turn in zip(joints.centers, turns, strict=True):
        matrices.append(matrices[-1] @ affine(turn, center - turn @ center))
    return np.array(matrices[1:])


def as_dense(weights: Weights, count: int, joints: int) -> np.ndarray:
    dense = np.zeros((count, joints))
    np.add.at(dense, (weights.vertices, weights.joints), weights.values)
    return dense


def plan_fractions(joints: Joints, levels: np.ndarray) -> Fractions | None:
    return plan_twists(joints, levels, np.zeros(len(levels), int))[0]


def test_no_fractions_where_none_are_asked_for() -> None:
    assert plan_fractions(chain(), np.zeros(3, int)) is None
    assert plan_fractions(chain(), np.array([5, 0, 0])) is None  # a root


@each(("degrees", "count"), [(0, 0), (90, 0), (120, 1), (180, 2), (270, 3), (540, 5), (5000, 5)])
def test_more_twist_takes_more_fractions(degrees: float, count: int) -> None:
    assert count_fractions(np.radians(degrees)) == count


def test_the_path_of_a_joint_runs_through_its_fractions() -> None:
    fractions = plan_fractions(chain(), np.array([0, 2, 1]))
    assert fractions.parents.tolist() == [-1, 4, 5, 0, 3, 1]
    assert fractions.joint_parents.tolist() == [-1, 0, 1]
    assert fractions.shares.tolist() == [1 / 3, 2 / 3, 1 / 2]


@each("degrees", [-540, -200, -170, 30, 180, 190, 400, 540])
def test_fractions_share_a_twist_as_often_as_it_goes_round(degrees: float) -> None:
    joints = chain(2)
    fractions = plan_fractions(joints, np.array([0, 3]))
    pose = turned(joints, [np.eye(3), rotation((0, 1, 0), degrees)])
    posed = pose_fractions(fractions, pose, np.radians([0.0, degrees + 100.0]))
    for share, matrix in zip((0.25, 0.5, 0.75), posed, strict=True):
        np.testing.assert_allclose(matrix[:3, :3], rotation((0, 1, 0), share * degrees), atol=1e-9)
        np.testing.assert_allclose(matrix @ (0, 1, 0, 1), (0, 1, 0, 1), atol=1e-9)


def test_without_hint_the_short_way() -> None:
    joints = chain(2)
    fractions = plan_fractions(joints, np.array([0, 1]))
    posed = pose_fractions(fractions, turned(joints, [np.eye(3), rotation((0, 1, 0), 200.0)]))
    np.testing.assert_allclose(posed[0, :3, :3], rotation((0, 1, 0), -80.0), atol=1e-9)


def test_a_swing_is_shared_beside_the_twist() -> None:
    joints = chain(2)
    fractions = plan_fractions(joints, np.array([0, 1]))
    above, swing, twist = rotation((1, 2, 3), 50.0), rotation((1, 0, 1), 80.0), rotation((0, 1, 0), 300.0)
    posed = pose_fractions(fractions, turned(joints, [above, swing @ twist]), np.radians([0.0, 280.0]))
    expected = above @ rotation((1, 0, 1), 40.0) @ rotation((0, 1, 0), 150.0)
    np.testing.assert_allclose(posed[0, :3, :3], expected, atol=1e-9)


def test_a_swing_by_180_degrees_has_no_twist() -> None:
    swings, twists = split_turns(np.array([[0.0, 1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]]), np.zeros(1))
    np.testing.assert_allclose(swings, [[0.0, 1.0, 0.0, 0.0]])
    assert twists.tolist() == [0.0]


def test_stretched_joints_hold_together_at_their_fractions() -> None:
    joints = chain(2)
    fractions = plan_fractions(joints, np.array([0, 3]))
    first = affine(rotation((1, 0, 0), 20.0) @ np.diag([1.0, 1.5, 1.0]), np.zeros(3))
    joint = first @ (0, 1, 0, 1)
    turn = rotation((1, 0, 0), 90.0) @ np.diag([0.5, 1.0, 0.5])
    pose = np.stack([first, affine(turn, joint[:3] - turn @ joints.centers[1])])
    posed = pose_fractions(fractions, pose)
    np.testing.assert_allclose(posed @ (0, 1, 0, 1), np.tile(joint, (3, 1)), atol=1e-9)
    volumes = np.linalg.det(posed[:, :3, :3])
    assert (np.diff(volumes) < 0).all()
    assert 0.25 < volumes.min() < volumes.max() < 1.5


def test_weights_between_two_bones_are_divided_along_their_path() -> None:
    fractions = plan_fractions(chain(2), np.array([0, 3]))
    dense = np.array([[1.0, 0.0], [0.75, 0.25], [0.5, 0.5], [0.3, 0.1], [0.2, 1.4], [0.0, 0.0]])
    split = as_dense(split_weights(Weights.from_dense(dense), fractions), 6, 5)
    expected = np.zeros((6, 5))
    expected[0, 0] = expected[1, 2] = expected[2, 3] = 1.0
    expected[3, 2] = 0.4
    expected[4, [4, 1]] = 0.8, 0.8
    np.testing.assert_allclose(split, expected, atol=1e-12)


def test_listed_twice_and_negative_weights_count_as_elsewhere() -> None:
    fractions = plan_fractions(chain(2), np.array([0, 1]))
    weights = Weights(np.array([0, 0, 0, 1, 1]), np.array([0, 1, 1, 0, 1]), np.array([0.5, 0.25, 0.25, 1.0, -2.0]))
    split = as_dense(split_weights(weights, fractions), 2, 3)
    np.testing.assert_allclose(split, [[0, 0, 1], [1, 0, 0]])


def test_no_vertex_follows_more_joints_than_before() -> None:
    heads = np.array([[0, 0, 0], [0, 1, 0], [0, 2, 0], [1, 0, 0], [2, 0, 0.0]])
    joints = Joints(heads, np.array([-1, 0, 1, 0, 3]), heads + np.array((0.0, 1.0, 0.0)))
    fractions = plan_fractions(joints, np.array([0, 3, 0, 2, 5]))
    generator = np.random.default_rng(0)
    dense = generator.random((500, 5)) * (generator.random((500, 5)) < 0.6)
    split = as_dense(split_weights(Weights.from_dense(dense), fractions), 500, 5 + fractions.count)
    np.testing.assert_allclose(split.sum(axis=1), dense.sum(axis=1))
    assert ((split > 1e-12).sum(axis=1) <= (dense > 0).sum(axis=1)).all()


def test_of_two_thighs_the_heavier_goes_with_the_pelvis() -> None:
    heads = np.array([[0, 0, 0], [-1, 0, 0], [1, 0, 0.0]])
    joints = Joints(heads, np.array([-1, 0, 0]), heads - np.array((0.0, 1.0, 0.0)))
    fractions = plan_fractions(joints, np.array([0, 1, 1]))
    dense = np.array([[0.5, 0.3, 0.2], [0.5, 0.2, 0.3]])
    split = as_dense(split_weights(Weights.from_dense(dense), fractions), 2, 5)
    np.testing.assert_allclose(split, [[0.2, 0, 0.2, 0.6, 0], [0.2, 0.2, 0, 0, 0.6]], atol=1e-12)
