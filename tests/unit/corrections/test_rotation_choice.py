"""At which rotations joints are corrected: of hinges, of balls, and without any motion."""

import numpy as np
import pytest

from supple.deformers.corrections.rotation_choice import (
    choose_by_actions,
    choose_by_axes,
    choose_farthest,
    measure_angles,
    pose_joint,
    read_joint_rotations,
    turn_about,
)
from supple.deformers.rig.rest import Joints

from ..cases import each

ANGLES = np.radians([40.0, 80.0, 120.0])
CHAIN = Joints(np.array([[0.0, 0, 0], [0, 1, 0], [0, 2, 0]]), np.array([-1, 0, 1]))
ROLLED = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
"""Axes of a bone that is rolled by 90 degrees."""


def rotate(axis: tuple, degrees: list[float]) -> np.ndarray:
    return turn_about(np.array(axis, float) / np.linalg.norm(axis), np.radians(degrees))


def positive(rotations: np.ndarray) -> np.ndarray:
    return np.where(rotations[:, :1] < 0.0, -rotations, rotations)


@each("axes", [np.eye(3), ROLLED])
def test_a_posed_joint_is_read_as_it_was_rotated(axes: np.ndarray) -> None:
    rotation = rotate((1, 2, -1), [70.0])[0]
    matrices = pose_joint(CHAIN, 1, rotation, axes)
    assert read_joint_rotations(matrices[None], CHAIN.parents, 1, axes)[0] == pytest.approx(rotation)
    assert matrices[0] == pytest.approx(np.eye(4))
    assert matrices[1] == pytest.approx(matrices[2]), "what is below comes along"
    assert matrices[1] @ [0, 1, 0, 1] == pytest.approx([0, 1, 0, 1]), "about the joint's center"


def test_rotations_are_those_against_the_joint_above() -> None:
    first, second = (pose_joint(CHAIN, joint, rotate((1, 0, 0), [50.0])[0], np.eye(3)) for joint in (0, 1))
    together = first @ second
    assert read_joint_rotations(together[None], CHAIN.parents, 1, np.eye(3))[0] == pytest.approx(
        rotate((1, 0, 0), [50.0])[0]
    )
    stretched = together @ np.diag([1.0, 2.0, 0.5, 1.0])
    assert np.degrees(measure_angles(read_joint_rotations(stretched[None], CHAIN.parents, 1, np.eye(3)))) < 80.0


def test_a_hinge_is_bent_to_the_side_where_it_goes_farther() -> None:
    seen = positive(rotate((-0.1, 0, -1), [-20.0, -5.0, 3.0, 30.0, 70.0, 100.0]))
    chosen = choose_by_actions(seen, ANGLES.tolist())
    assert chosen is not None
    assert chosen.is_hinge
    assert chosen.rotations == pytest.approx(rotate((-0.1, 0, -1), [40.0, 80.0, 120.0]))


def test_a_ball_is_turned_as_actions_turn_it() -> None:
    seen = positive(np.concatenate([rotate(axis, [30.0, 60.0, 90.0]) for axis in ((1, 0, 0), (0, 0, 1), (0, 1, 0))]))
    chosen = choose_by_actions(seen, ANGLES.tolist())
    assert chosen is not None
    assert not chosen.is_hinge
    angles = np.degrees(measure_angles(chosen.rotations))
    assert len(angles) <= 3 * len(ANGLES)
    assert set(np.round(angles)) <= {40.0, 80.0, 120.0}
    assert 120.0 in np.round(angles), "each angle that is asked for is there, though no action goes so far"
    vectors = chosen.rotations[:, 1:] / np.linalg.norm(chosen.rotations[:, 1:], axis=1, keepdims=True)
    assert (np.abs(vectors).max(axis=1) > 0.999).all(), "about the axes that the actions turn about"
    products = np.abs(chosen.rotations @ chosen.rotations.T) - np.eye(len(angles))
    assert 2.0 * np.arccos(products.max()) >= np.radians(25.0)


def test_a_joint_that_no_action_turns() -> None:
    assert choose_by_actions(np.empty((0, 4)), ANGLES.tolist()) is None
    assert choose_by_actions(rotate((1, 0, 0), [0.0, 5.0, 8.0]), ANGLES.tolist()) is None


def test_axes_go_as_far_as_their_limits() -> None:
    chosen = choose_by_axes(np.eye(3)[:2], [0.1, np.radians(90.0)], ANGLES.tolist())
    assert not chosen.is_hinge
    assert chosen.rotations == pytest.approx(
        np.concatenate([rotate((1, 0, 0), [40.0, 80.0, 120.0]), rotate((0, 1, 0), [40.0, 80.0])])
    )
    assert choose_by_axes(np.eye(3)[:1], [np.pi], [1.0]).is_hinge


def test_the_farthest_come_first() -> None:
    candidates = rotate((1, 0, 0), [10.0, 50.0, 90.0, 60.0])
    assert choose_farthest(candidates, 2, 0.1) == pytest.approx(candidates[[2, 1]])
    assert len(choose_farthest(candidates, 4, np.radians(35.0))) == 2
    assert len(choose_farthest(candidates[:1], 4, np.radians(35.0))) == 1, "one, however near to rest"
