"""Which joint something was sculpted at."""

import numpy as np

from supple.deformers import Joints
from supple.deformers.corrections.joint_choice import MIN_ANGLE, measure_rotations, score_joints

JOINTS = Joints(np.array([[0.0, n, 0.0] for n in range(4)]), np.array([-1, 0, 1, 2]))


def rotated(angles: list[float]) -> np.ndarray:
    """Rest to pose of a chain whose joints bend by these angles about X, radians, each after the one before."""
    matrices = np.broadcast_to(np.eye(4), (4, 4, 4)).copy()
    for joint, angle in enumerate(np.cumsum(angles)):
        matrices[joint, 1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return matrices


def test_rotations_are_against_the_joint_before() -> None:
    matrices = rotated([0.5, 1.0, -0.3, 0.0])
    matrices[2, :3, :3] *= 1.7  # scale is no rotation
    assert np.allclose(measure_rotations(matrices, JOINTS), [0.0, 1.0, 0.3, 0.0], atol=1e-7)


def test_the_joint_on_both_sides_of_which_skin_was_moved() -> None:
    held = np.array([0.0, 1.0, 1.0, 0.0])
    scores = score_joints(held, JOINTS.parents, np.array([0.0, 0.8, 0.8, 0.8]))
    assert scores.argmax() == 2


def test_the_joint_that_is_bent_more() -> None:
    held = np.array([0.0, 1.0, 0.2, 0.0])
    assert score_joints(held, JOINTS.parents, np.array([0.0, 0.7, 0.1, 0.0])).argmax() == 1
    assert score_joints(held, JOINTS.parents, np.array([0.0, 0.1, 0.7, 0.0])).argmax() == 2


def test_no_joint_that_is_straight() -> None:
    angles = np.full(4, 0.9 * MIN_ANGLE)
    assert not score_joints(np.ones(4), JOINTS.parents, angles).any()
