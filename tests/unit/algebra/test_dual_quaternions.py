"""Quaternions and dual quaternions of rotations and rigid transforms."""

import numpy as np

from supple.deformers.algebra.dual_quaternions import dual_quaternions_from_rigid, quaternions_from_rotations

from .. import reference
from ..cases import each
from ..characters import rotation

HALF = 0.5**0.5


@each(
    ("axis", "degrees", "quaternion"),
    [
        ((0, 0, 1), 0, (1, 0, 0, 0)),
        ((0, 0, 1), 90, (HALF, 0, 0, HALF)),
        ((1, 0, 0), 90, (HALF, HALF, 0, 0)),
        ((0, 1, 0), -90, (HALF, 0, -HALF, 0)),
        ((1, 0, 0), 180, (0, 1, 0, 0)),
        ((0, 1, 0), 180, (0, 0, 1, 0)),
        ((0, 0, 1), 180, (0, 0, 0, 1)),
        ((1, 1, 0), 180, (0, HALF, HALF, 0)),
        ((1, 1, 1), 120, (0.5, 0.5, 0.5, 0.5)),
        ((0, 0, 1), 270, (HALF, 0, 0, -HALF)),
    ],
)
def test_quaternions_by_hand(axis: tuple, degrees: float, quaternion: tuple) -> None:
    actual = quaternions_from_rotations(rotation(axis, degrees)[None])[0]
    # Where two components are equally large, either may be the one made positive.
    np.testing.assert_allclose(actual * np.sign(actual @ quaternion), quaternion, atol=1e-12)


@each("seed", range(3))
@each("degrees", [0.0, 1e-6, 40.0, 120.0, 179.9999, 180.0, None])
def test_quaternions_turn_as_their_matrices(degrees: float | None, seed: int) -> None:
    random = np.random.default_rng(seed)
    turns = np.array(
        [rotation(random.normal(size=3), random.uniform(-360, 360) if degrees is None else degrees) for _ in range(30)]
    )
    quaternions = quaternions_from_rotations(turns)
    np.testing.assert_allclose(np.linalg.norm(quaternions, axis=1), 1, atol=1e-12)
    assert (quaternions[np.arange(30), np.abs(quaternions).argmax(axis=1)] > 0).all()
    for turn, quaternion in zip(turns, quaternions, strict=True):
        for point in np.eye(3):
            q = reference.DualQuaternion(quaternion, np.zeros(4))
            np.testing.assert_allclose(reference.transform_point(q, point), turn @ point, atol=1e-12)


@each(
    ("turn", "move", "expected"),
    [
        (np.eye(3), (2, 4, 6), (1, 0, 0, 0, 0, 1, 2, 3)),
        (rotation((0, 0, 1), 90), (0, 0, 0), (HALF, 0, 0, HALF, 0, 0, 0, 0)),
        # A screw along z: the dual part is (0, 0, 0, 2) times the real part.
        (rotation((0, 0, 1), 90), (0, 0, 4), (HALF, 0, 0, HALF, -2 * HALF, 0, 0, 2 * HALF)),
        (rotation((1, 0, 0), 180), (0, 2, 0), (0, 1, 0, 0, 0, 0, 0, -1)),
    ],
)
def test_dual_quaternions_by_hand(turn: np.ndarray, move: tuple, expected: tuple) -> None:
    actual = dual_quaternions_from_rigid(turn[None], np.array([move], float))[0]
    np.testing.assert_allclose(actual * np.sign(actual @ expected), expected, atol=1e-12)


@each("seed", range(3))
def test_dual_quaternions_carry_points(seed: int) -> None:
    random = np.random.default_rng(seed)
    turns = np.array([rotation(random.normal(size=3), random.uniform(0, 360)) for _ in range(20)])
    moves = random.uniform(-5, 5, (20, 3))
    both = dual_quaternions_from_rigid(turns, moves)
    np.testing.assert_allclose(np.einsum("bi,bi->b", both[:, :4], both[:, 4:]), 0, atol=1e-12)
    for q, turn, move in zip(both, turns, moves, strict=True):
        point = random.uniform(-3, 3, 3)
        moved = reference.transform_point(reference.DualQuaternion(q[:4], q[4:]), point)
        np.testing.assert_allclose(moved, turn @ point + move, atol=1e-12)


def test_no_joints() -> None:
    assert dual_quaternions_from_rigid(np.zeros((0, 3, 3)), np.zeros((0, 3))).shape == (0, 8)
