"""The polar decomposition: by hand, by its properties, and where the matrix leaves the rotation open."""

import numpy as np

from supple.deformers.algebra.polar import decompose_polar, determinants, find_rigid

from .. import reference
from ..cases import each
from ..characters import make_tree, rotation

SINGLE_PRECISION = 1e-6
"""What is left of an exact number in a pose read from Blender."""

TURN = rotation((1, 2, 3), 25)
FAR = rotation((2, -1, 1), 150)


def decompose_one(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rotations, stretches = decompose_polar(np.asarray(matrix, float)[None], np.array([-1]))
    return rotations[0], stretches[0]


def decompose_child(parent: np.ndarray, child: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of a child, which comes first: the parent has to be known before it."""
    rotations, stretches = decompose_polar(np.array([child, parent], float), np.array([1, -1]))
    return rotations[0], stretches[0]


def assert_split(matrix: np.ndarray, turn: np.ndarray, stretch: np.ndarray, atol: float = 1e-10) -> None:
    size = max(1e-300, np.abs(matrix).max())
    np.testing.assert_allclose(turn @ turn.T, np.eye(3), atol=1e-10)
    assert np.linalg.det(turn) > 0
    np.testing.assert_allclose(stretch, stretch.T, atol=atol * size)
    np.testing.assert_allclose(turn @ stretch, matrix, atol=atol * size)


def as_single(matrix: np.ndarray, seed: int) -> np.ndarray:
    """The matrix as it comes out of a chain of products in single precision."""
    noise = np.random.default_rng(seed).normal(size=matrix.shape) * np.abs(matrix).max() * 3e-8
    return (matrix + noise).astype(np.float32).astype(float)


@each(
    ("matrix", "turn", "stretch"),
    [
        (np.eye(3), np.eye(3), np.eye(3)),
        ([[0, -3, 0], [2, 0, 0], [0, 0, 1]], [[0, -1, 0], [1, 0, 0], [0, 0, 1]], np.diag([2, 3, 1])),
        ([[-2, 0, 0], [0, -3, 0], [0, 0, 4]], np.diag([-1, -1, 1]), np.diag([2, 3, 4])),
        # A shear of one turns back by atan(1/2).
        (
            [[1, 1, 0], [0, 1, 0], [0, 0, 1]],
            np.array([[2, 1, 0], [-1, 2, 0], [0, 0, 5**0.5]]) / 5**0.5,
            np.array([[2, 1, 0], [1, 3, 0], [0, 0, 5**0.5]]) / 5**0.5,
        ),
        (np.diag([-1, 2, 3]), np.eye(3), np.diag([-1, 2, 3])),
        (-2 * np.eye(3), np.eye(3), -2 * np.eye(3)),
        (np.zeros((3, 3)), np.eye(3), np.zeros((3, 3))),
        (np.diag([0, 2, 0]), np.eye(3), np.diag([0, 2, 0])),
    ],
)
def test_by_hand(matrix: list, turn: np.ndarray, stretch: np.ndarray) -> None:
    actual = decompose_one(np.array(matrix, float))
    np.testing.assert_allclose(actual[0], turn, atol=1e-12)
    np.testing.assert_allclose(actual[1], stretch, atol=1e-12)


@each("size", [1e-2, 1.0, 1e4])
@each("seed", range(5))
def test_random_matrices(seed: int, size: float) -> None:
    random = np.random.default_rng(seed)
    matrices = size * random.normal(size=(40, 3, 3))
    rotations, stretches = decompose_polar(matrices, np.full(40, -1))
    for joint, matrix in enumerate(matrices):
        assert_split(matrix, rotations[joint], stretches[joint], atol=1e-7)
        if np.linalg.det(matrix) > 0:
            np.testing.assert_allclose(rotations[joint], reference.decompose(matrix, np.eye(3))[0], atol=1e-8)
            assert np.linalg.eigvalsh(stretches[joint])[0] > 0


def test_input_is_kept() -> None:
    matrices = np.array([np.diag([-1.0, 2, 3]), np.zeros((3, 3)), np.eye(3)])
    before = matrices.copy()
    rotations, stretches = decompose_polar(matrices, np.array([-1, 0, 1]))
    rotations += 1
    stretches += 1
    np.testing.assert_array_equal(matrices, before)


@each(
    ("matrix", "rigid"),
    [
        (rotation((1, 2, 3), 77), True),
        (rotation((1, 2, 3), 180), True),
        (rotation((1, 2, 3), 77).astype(np.float32), True),
        (-np.eye(3), False),
        (np.diag([1, 1, -1]), False),
        (np.diag([1, 1, 1.00001]), False),
        (np.eye(3) + 1e-5 * np.eye(3, k=1), False),
        (np.zeros((3, 3)), False),
    ],
)
def test_find_rigid(matrix: np.ndarray, rigid: bool) -> None:
    assert find_rigid(matrix[None]).tolist() == [rigid]


def test_determinants() -> None:
    matrices = np.random.default_rng(0).normal(size=(50, 3, 3))
    np.testing.assert_allclose(determinants(matrices), np.linalg.det(matrices), rtol=1e-9, atol=1e-12)


# Scales of zero. What is left of the matrix keeps its direction; about that, the joint turns as its parent does.


@each("noisy", [False, True])
@each("turn", [TURN, rotation((1, 2, 3), 120), rotation((1, 0, 0), 180)])
@each("flat", [0, 1, 2])
@each("scales", [(1, 1), (1, 2), (0.01, 0.02)])
def test_one_axis_of_zero(scales: tuple[float, float], flat: int, turn: np.ndarray, noisy: bool) -> None:
    """Two directions determine the third, whatever the parent does."""
    matrix = turn @ np.diag(np.insert(np.array(scales, float), flat, 0.0)) @ rotation((3, 1, 1), 10)
    expected = turn @ rotation((3, 1, 1), 10)
    for seed in range(4):
        actual, stretch = decompose_child(np.eye(3), as_single(matrix, seed) if noisy else matrix)
        np.testing.assert_allclose(actual, expected, atol=200 * SINGLE_PRECISION if noisy else 1e-9)
        assert_split(matrix, actual, stretch, atol=300 * SINGLE_PRECISION if noisy else 1e-9)


@each("noisy", [False, True])
@each("parent", [np.eye(3), TURN, FAR])
@each("kept", [0, 1, 2])
def test_two_axes_of_zero(kept: int, parent: np.ndarray, noisy: bool) -> None:
    """The one direction left is carried; of the turns about it, none is nearer to the parent's rotation."""
    axis = np.eye(3)[kept]
    matrix = TURN @ np.diag(2 * axis)
    for seed in range(4):
        actual, stretch = decompose_child(parent, as_single(matrix, seed) if noisy else matrix)
        assert_split(matrix, actual, stretch, atol=20 * SINGLE_PRECISION if noisy else 1e-9)
        np.testing.assert_allclose(actual @ axis, TURN @ axis, atol=20 * SINGLE_PRECISION if noisy else 1e-9)
        others = [np.sum(TURN @ rotation(axis, degrees) * parent) for degrees in range(0, 360, 2)]
        assert np.sum(actual * parent) >= max(others) - 1e-4


@each("parent", [np.eye(3), TURN, FAR, 3 * FAR, np.diag([1, 2, 0.5])])
def test_three_axes_of_zero(parent: np.ndarray) -> None:
    actual, stretch = decompose_child(parent, np.zeros((3, 3)))
    np.testing.assert_allclose(actual, decompose_one(parent)[0], atol=1e-12)
    np.testing.assert_array_equal(stretch, 0)


def test_zero_all_the_way_down() -> None:
    """Joints after a turned one that are all hidden take its rotation, listed child first."""
    matrices = np.zeros((5, 3, 3))
    matrices[4] = 2 * TURN
    rotations, _ = decompose_polar(matrices, np.array([1, 2, 3, 4, -1]))
    np.testing.assert_allclose(rotations, np.tile(TURN, (5, 1, 1)), atol=1e-12)


@each("scale", [1e-9, 1e-6])
def test_shrunk_to_almost_nothing(scale: float) -> None:
    """As nothing: nodes cannot tell how such a joint is turned."""
    actual, stretch = decompose_child(TURN, scale * FAR)
    np.testing.assert_allclose(actual, TURN, atol=1e-12)
    np.testing.assert_allclose(stretch, scale * TURN.T @ FAR, atol=1e-12)


@each("scale", [2e-5, 1e-4, 1e-2])
def test_a_small_scale_is_not_zero(scale: float) -> None:
    actual, stretch = decompose_child(np.eye(3), FAR @ np.diag([1.0, scale, scale]))
    np.testing.assert_allclose(actual, FAR, atol=1e-9)
    np.testing.assert_allclose(stretch, np.diag([1.0, scale, scale]), atol=1e-9)


# Mirrored scales.


@each(
    ("parent", "stretch"),
    [
        (np.diag([1, 1, 1]), np.diag([-1, 2, 3])),
        (np.diag([-1, -1, 1]), np.diag([1, -2, 3])),
        (np.diag([-1, 1, -1]), np.diag([1, 2, -3])),
        (np.diag([1, -1, -1]), np.diag([-1, -2, -3])),
    ],
)
def test_mirrored_by_hand(parent: np.ndarray, stretch: np.ndarray) -> None:
    """diag(-1, 2, 3) is each of these: the parent's rotation decides."""
    actual = decompose_child(parent, np.diag([-1.0, 2, 3]))
    np.testing.assert_allclose(actual[0], parent, atol=1e-12)
    np.testing.assert_allclose(actual[1], stretch, atol=1e-12)


@each("seed", range(20))
def test_mirrored_is_nearest_to_the_parent(seed: int) -> None:
    random = np.random.default_rng(seed)
    parent = rotation(random.normal(size=3), random.uniform(0, 180))
    scales = random.permutation([0.5, 1.0, 2.0]) * (-1, 1, 1)
    matrix = rotation(random.normal(size=3), random.uniform(0, 180)) @ np.diag(scales) @ rotation((1, 1, 0), 30)
    actual, stretch = decompose_child(parent, matrix)
    assert_split(matrix, actual, stretch, atol=1e-7)
    np.testing.assert_allclose(actual, reference.decompose(matrix, parent)[0], atol=1e-7)


@each("noisy", [False, True])
@each("scales", [(-1, 1, 1), (-2, -2, -2), (1, 1, -0.5), (-0.5, 1, 1), (1, -1, 3)])
def test_mirrored_with_equal_scales(scales: tuple[float, float, float], noisy: bool) -> None:
    """The parent's rotation is one of the possible ones, so it is the nearest; noise must not decide."""
    matrix = TURN @ rotation((1, 1, 0), 40) @ np.diag(scales) @ rotation((1, 1, 0), -40)
    for seed in range(4):
        actual, stretch = decompose_child(TURN, as_single(matrix, seed) if noisy else matrix)
        np.testing.assert_allclose(actual, TURN, atol=1e-2 if noisy else 1e-7)
        assert_split(matrix, actual, stretch, atol=1e-3 if noisy else 1e-7)


# All joints at once.


def make_skeleton(seed: int, count: int = 150) -> tuple[np.ndarray, np.ndarray]:
    """Matrices and parents, in any order, of joints that are scaled, mirrored and scaled to nothing all mixed up."""
    random = np.random.default_rng(seed)
    matrices = np.empty((count, 3, 3))
    for joint in range(count):
        scales = random.permutation([0.5, 1.0, 2.0])
        scales[random.permutation(3)[: random.integers(4)]] *= random.choice([1, -1, -1, 0])
        turns = [rotation(random.normal(size=3), random.uniform(0, 180)) for _ in range(2)]
        matrices[joint] = turns[0] @ np.diag(scales) @ turns[1]
    return matrices, make_tree(random, count)


@each("seed", range(8))
def test_all_joints_at_once(seed: int) -> None:
    """Joints of one depth are decomposed together: each as the slow reference does, walking from joint to joint."""
    matrices, parents = make_skeleton(seed)
    ranks = np.linalg.matrix_rank(matrices)
    assert set(ranks) == {0, 1, 2, 3}
    assert (np.linalg.det(matrices) < -1e-6).sum() > 5
    rotations, stretches = decompose_polar(matrices, parents)
    for joint, (turn, stretch) in enumerate(reference.find_rotations(matrices, parents)):
        np.testing.assert_allclose(rotations[joint], turn, atol=1e-6, err_msg=str(joint))
        np.testing.assert_allclose(stretches[joint], stretch, atol=1e-5)
