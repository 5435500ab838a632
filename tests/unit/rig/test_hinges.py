"""Hinges and shoulders of limbs."""

from __future__ import annotations

import numpy as np

from supple.deformers import Joints
from supple.deformers.rig.hinges import find_hinges, find_shoulders


def test_joints_that_are_no_hinges() -> None:
    """A hip, whose bones meet at a right angle at rest; a root; a joint without tails."""
    centers = np.array([[0.0, 0, 0], [1.0, 0, 0], [1.0, 0, -1.0], [1.0, 0, -2.0]])
    tails = np.array([[1.0, 0, 0], [1.0, 0, -1.0], [1.0, 0, -2.0], [1.0, 0, -2.5]])
    joints = Joints(centers, np.array([-1, 0, 1, 2]), tails)
    assert find_hinges(joints).tolist() == [False, False, True, True]
    assert not find_hinges(Joints(centers, joints.parents)).any()


ARM = np.array([[0.0, 0, 1.2], [0.02, 0, 1.4], [0.17, 0, 1.4], [0.47, 0, 1.4], [0.72, 0, 1.4], [0.8, 0, 1.4]])
"""Ends of a chest, a collar bone, an upper arm, a lower arm and a hand."""


def make_arms(ends: np.ndarray) -> Joints:
    """A trunk bone, and two arms of three bones or more that go on straight from a collar bone."""
    count = len(ends) - 1
    mirrored = ends[1:] * (-1.0, 1.0, 1.0)
    centers = np.concatenate([ends[:-1], mirrored[:-1]])
    tails = np.concatenate([ends[1:], mirrored[1:]])
    parents = np.concatenate([np.arange(count) - 1, [0], count + np.arange(count - 2)])
    return Joints(centers, parents, tails)


def test_shoulders_are_near_the_trunk_but_elbows_and_knees_are_not() -> None:
    joints = make_arms(ARM)
    assert np.flatnonzero(find_hinges(joints) & find_shoulders(joints)).tolist() == [2, 6]
    assert np.flatnonzero(find_hinges(joints) & ~find_shoulders(joints)).tolist() == [3, 4, 7, 8]
    short = make_arms(np.concatenate([[[0.0, 0, 1.35]], ARM[2:]]))
    assert np.flatnonzero(find_shoulders(short)).tolist() == [1, 4], "arms without collar bones"
    leg = np.array([[0.0, 0, 1.0], [0.1, 0, 0.95], [0.1, 0, 0.5], [0.1, 0, 0.1], [0.1, -0.15, 0.0]])
    legs = make_arms(leg)
    assert not (find_hinges(legs) & find_shoulders(legs)).any(), (
        "a knee is as far from the hip as the foot from the knee"
    )
    chain = Joints(ARM[:-1], np.arange(5) - 1, ARM[1:])
    assert not find_shoulders(chain).any()
    assert not find_shoulders(Joints(ARM[:1], np.array([-1]), ARM[1:2])).any()
