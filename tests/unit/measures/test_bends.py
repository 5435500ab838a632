"""A range of motion: which joints bend together, and what the poses are."""

import numpy as np
import pytest

from supple.deformers import Joints, Weights
from supple.deformers.measures.bends import DIRECTIONS, Bend, list_bent_poses

CENTERS = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0], [-1, 0, 0], [-2, 0, 0]])
JOINTS = Joints(
    centers=CENTERS,
    parents=np.array([-1, 0, 1, 0, 3]),
    tails=CENTERS + np.array([[0.5, 0, 0], [1, 0, 0], [1, 0, 0], [-1, 0, 0], [-1, 0, 0]]),
)
DENSE = np.array(
    # each joint's bend moves one vertex; that of joint 1 and of joint 2 have one in common
    [[0.5, 0.5, 0, 0, 0], [0, 0.5, 0.5, 0, 0], [0.4, 0.3, 0.3, 0, 0], [0.5, 0, 0, 0.5, 0], [0, 0, 0, 0.5, 0.5]]
)
ALL = np.ones(5, bool)


def bend_all(chosen: np.ndarray = ALL) -> list:
    return list_bent_poses(Weights.from_dense(DENSE), len(DENSE), JOINTS, np.pi / 3.0, chosen)


def test_joints_that_share_a_vertex_are_not_bent_together():
    groups = {tuple(sorted(bend.joint for bend in pose.bends)) for pose in bend_all()}
    assert all(not {1, 2} <= set(group) for group in groups)
    assert {joint for group in groups for joint in group} == {1, 2, 3, 4}
    assert len(groups) == 2


def test_every_joint_is_bent_in_every_direction_by_the_angle():
    for joint in (1, 2, 3, 4):
        bends = [bend for pose in bend_all() for bend in pose.bends if bend.joint == joint]
        assert [bend.direction for bend in bends] == list(DIRECTIONS)
        assert {round(abs(bend.angle), 6) for bend in bends} == {round(np.pi / 3.0, 6)}
        axes = np.array([bend.axis for bend in bends])
        assert np.abs(axes[::2] @ axes[::2].T) == pytest.approx(np.eye(3), abs=1e-9)


def test_joints_that_are_not_chosen_stay():
    poses = bend_all(np.array([True, True, False, False, True]))
    assert {bend.joint for pose in poses for bend in pose.bends} == {1, 4}


def test_a_joint_that_has_own_bends_has_no_others():
    """A hinge, one that does not bend, and others, which keep theirs: bends in one pose go to one side."""
    hinge = Bend(4, DIRECTIONS[0], np.array([0.0, 0.0, 1.0]), 0.5)
    poses = list_bent_poses(Weights.from_dense(DENSE), len(DENSE), JOINTS, 1.0, ALL, {3: [], 4: [hinge]})
    bends = [bend for pose in poses for bend in pose.bends]
    assert [bend for bend in bends if bend.joint in (3, 4)] == [hinge]
    assert [len([bend for bend in bends if bend.joint == joint]) for joint in (1, 2)] == [6, 6]
    assert all(len({bend.direction for bend in pose.bends}) == 1 for pose in poses)


def test_a_bend_turns_all_below_about_its_joint():
    pose = next(pose for pose in bend_all() if any(bend.joint == 1 for bend in pose.bends))
    moved = pose.rest_to_pose
    at_joint = moved @ np.append(CENTERS[1], 1.0)
    assert at_joint[1, :3] == pytest.approx(CENTERS[1])
    if not any(bend.joint == 2 for bend in pose.bends):
        assert moved[2] == pytest.approx(moved[1])
    rotation = moved[1][:3, :3]
    assert np.degrees(np.arccos((np.trace(rotation) - 1.0) / 2.0)) == pytest.approx(60.0)


def test_bends_in_a_chain_add_up():
    """Where both are bent, the outer joint has the rotation of both, about where the inner one has carried it."""
    dense = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5]])
    joints = Joints(CENTERS[:3], np.array([-1, 0, 1]), JOINTS.tails[:3])
    pose = list_bent_poses(Weights.from_dense(dense), 2, joints, np.pi / 2.0, ALL[:3])[0]
    assert sorted(bend.joint for bend in pose.bends) == [1, 2]
    inner, outer = (next(bend for bend in pose.bends if bend.joint == joint) for joint in (1, 2))
    expected = inner.matrix(CENTERS[1]) @ outer.matrix(CENTERS[2])
    assert pose.rest_to_pose[2] == pytest.approx(expected)


def test_below():
    below = JOINTS.chains.below
    assert below[2].tolist() == [True, True, True, False, False]
    assert below[:, 3].tolist() == [False, False, False, True, True]
