"""Angles of joints against rotations made by hand, and hats."""

import math

import numpy as np
import pytest

from supple.deformers.rig.joint_angles import evaluate_hat, measure_joint_angles, split_swing_twist

from ..cases import each


def rotate(axis, angle: float) -> np.ndarray:
    """Rotation matrix by Rodrigues' formula, float64."""
    x, y, z = np.asarray(axis, np.float64) / np.linalg.norm(axis)
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def to_quaternion(matrix: np.ndarray) -> np.ndarray:
    """(w, x, y, z) of a rotation: the eigenvector of the largest eigenvalue of Davenport's matrix."""
    skew = np.array([matrix[2, 1] - matrix[1, 2], matrix[0, 2] - matrix[2, 0], matrix[1, 0] - matrix[0, 1]])
    key = np.empty((4, 4))
    key[0, 0] = np.trace(matrix)
    key[0, 1:] = key[1:, 0] = skew
    key[1:, 1:] = matrix + matrix.T - np.trace(matrix) * np.eye(3)
    return np.linalg.eigh(key)[1][:, -1]


@each("seed", range(40))
def test_angles_of_a_swing_after_a_twist(seed: int) -> None:
    rng = np.random.default_rng(seed)
    heading, swing, twist = rng.uniform(-np.pi, np.pi), rng.uniform(0.0, 3.1), rng.uniform(-3.1, 3.1)
    axis = np.array([math.cos(heading), 0.0, math.sin(heading)])
    rotation = rotate(axis, swing) @ rotate((0, 1, 0), twist)
    expected = (2 * math.asin(math.sin(swing / 2) * axis[0]), twist, 2 * math.asin(math.sin(swing / 2) * axis[2]))
    assert measure_joint_angles(to_quaternion(rotation)) == pytest.approx(expected, abs=1e-9)


@each("axis", range(3))
def test_one_axis_is_its_whole_angle_and_leaks_nowhere(axis: int) -> None:
    angles = np.radians(np.linspace(-179.0, 179.0, 717))
    rotations = np.array([to_quaternion(rotate(np.eye(3)[axis], angle)) for angle in angles])
    measured = measure_joint_angles(rotations)
    assert measured.shape == (717, 3)
    expected = np.zeros((717, 3))
    expected[:, axis] = angles
    assert measured == pytest.approx(expected, abs=1e-9)


@each("swing", (0.0, 0.7, -1.9))
@each("about", (0, 2))
def test_a_twist_does_not_move_the_angles_of_the_swing(swing: float, about: int) -> None:
    twists = np.radians(np.linspace(-179.0, 179.0, 359))
    base = rotate(np.eye(3)[about], swing)
    measured = measure_joint_angles(np.array([to_quaternion(base @ rotate((0, 1, 0), twist)) for twist in twists]))
    assert measured[:, 1] == pytest.approx(twists, abs=1e-9)
    assert measured[:, about] == pytest.approx(np.full(359, swing), abs=1e-9)
    assert measured[:, 2 - about] == pytest.approx(np.zeros(359), abs=1e-9)


def test_angles_are_smooth_on_a_way_through_large_rotations() -> None:
    times = np.linspace(0.0, 1.0, 4001)
    path = [
        rotate((math.cos(3 * t), 0, math.sin(3 * t)), math.radians(179) * math.sin(math.pi * (2 * t - 1)))
        @ rotate((0, 1, 0), math.radians(179) * (2 * t - 1))
        for t in times
    ]
    measured = measure_joint_angles(np.array([to_quaternion(one) for one in path]))
    assert np.ptp(measured, axis=0).min() > 2.0
    # at most some 30 radians a unit of time, and a jump would be 2 pi
    assert np.abs(np.diff(measured, axis=0)).max() < 0.05


def test_a_quaternion_and_its_negative_are_one_rotation() -> None:
    rotations = np.random.default_rng(3).normal(size=(5, 7, 4))
    rotations /= np.linalg.norm(rotations, axis=-1, keepdims=True)
    before = rotations.copy()
    assert measure_joint_angles(rotations).shape == (5, 7, 3)
    assert (measure_joint_angles(rotations) == measure_joint_angles(-rotations)).all()
    assert (rotations == before).all()


def test_rest_is_zero() -> None:
    assert (measure_joint_angles(np.array([1.0, 0.0, 0.0, 0.0])) == 0.0).all()


def test_swing_after_twist_is_the_rotation() -> None:
    rotations = np.random.default_rng(5).normal(size=(50, 4))
    rotations /= np.linalg.norm(rotations, axis=1, keepdims=True)
    swings, twists = split_swing_twist(rotations)
    assert (swings[:, 0] >= 0.0).all()
    assert np.linalg.norm(swings, axis=1) == pytest.approx(1.0)
    w, x, z = swings.T
    cos, sin = np.cos(0.5 * twists), np.sin(0.5 * twists)
    product = np.stack([w * cos, x * cos - z * sin, w * sin, z * cos + x * sin], axis=1)
    assert np.abs((product * rotations).sum(axis=1)) == pytest.approx(1.0)


def test_hats_by_hand() -> None:
    angles = np.array([-1.0, 0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
    assert evaluate_hat(angles, (0.0, 1.0, 2.0)).tolist() == [0.0, 0.0, 0.5, 1.0, 0.5, 0.0, 0.0]
    assert evaluate_hat(angles, (1.0, 2.0, None)).tolist() == [0.0, 0.0, 0.0, 0.0, 0.5, 1.0, 1.0]
    assert evaluate_hat(angles, (None, 0.0, 2.0)).tolist() == [1.0, 1.0, 0.75, 0.5, 0.25, 0.0, 0.0]
