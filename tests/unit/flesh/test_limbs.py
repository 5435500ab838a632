"""Limbs as flesh poses them: ways of single joints, mixed and played poses, mirror images."""

from __future__ import annotations

import numpy as np
import pytest

from deformers.corrections.rotation_choice import measure_angles, turn_about
from deformers.flesh.limbs import REST, Bend, find_limbs, pose_all
from deformers.rig.rest import Joints

X, Y, Z = np.eye(3)
SIDES = np.diag([-1.0, 1.0, 1.0])
# A trunk, and arms of two bones to both sides
CENTERS = np.array([[0.0, 0, 0], [0, 0, 1], [1, 0, 1], [2, 0, 1], [-1, 0, 1], [-2, 0, 1]])
JOINTS = Joints(CENTERS, np.array([-1, 0, 1, 2, 1, 4]), CENTERS + np.array([Z, Z, X, X, -X, -X]))
MIRRORED = np.array([0, 1, 4, 5, 2, 3])
IN_LIMBS = np.array([False, False, True, True, True, True])


def bend(joint: int, limit: float = 90.0, played: np.ndarray | None = None) -> Bend:
    axes = np.diag([1.0, 1.0, 1.0]) if CENTERS[joint, 0] >= 0.0 else np.diag([-1.0, 1.0, -1.0])
    ways = np.array([Y, -Y, Z, -Z])
    return Bend(joint, str(joint), axes, ways, np.radians([limit] * 4), np.empty((0, 4)) if played is None else played)


def limbs(**played: np.ndarray) -> list:
    bends = [bend(joint, played=played.get(f"joint{joint}")) for joint in (3, 5, 1, 4, 2)]
    return find_limbs(bends, JOINTS, IN_LIMBS, MIRRORED, np.eye(3))


def test_limbs_are_paired_and_begin_at_the_trunk() -> None:
    found = limbs()
    assert [[one.joint for one in limb.bends] for limb in found] == [[1], [4, 5]]
    assert [[one.joint for one in limb.others] for limb in found] == [[], [2, 3]]
    without = find_limbs([bend(2), bend(3), bend(4)], JOINTS, IN_LIMBS, MIRRORED, np.eye(3))
    assert [len(limb.others) for limb in without] == [0, 0], "one hand is missing"


def test_each_joint_is_bent_alone_in_even_steps() -> None:
    (_, arm) = limbs()
    for number, way, rotations in arm.list_single(np.radians(45.0)):
        angles = np.degrees(measure_angles(rotations))
        assert angles[:, number] == pytest.approx([45.0, 90.0])
        assert angles[:, 1 - number] == pytest.approx([0.0, 0.0])
        assert arm.bends[number].share_ways(rotations[:, number]) == pytest.approx(np.eye(4)[[way, way]])


def test_mixed_poses_stay_within_the_ways_and_do_not_change() -> None:
    (_, arm) = limbs()
    mixed = arm.mix(20)
    assert mixed == pytest.approx(arm.mix(20))
    angles = np.degrees(measure_angles(mixed))
    assert (angles > 0.0).all()
    assert (angles <= 90.0 + 1e-6).all()
    for number, one in enumerate(arm.bends):
        assert one.share_ways(mixed[:, number]).sum(axis=1) == pytest.approx(1.0)


def test_frames_are_those_of_both_sides_that_are_far_apart() -> None:
    up = turn_about(Y, np.radians([0.0, 2.0, 60.0, 61.0]))
    still = np.tile(REST, (4, 1))
    (_, arm) = limbs(
        joint1=still, joint4=up, joint5=still, joint2=still, joint3=turn_about(Z, np.radians([0, 0, 0, 80.0]))
    )
    chosen = arm.list_played(10)
    assert np.degrees(measure_angles(chosen)).round().tolist() == [[0.0, 80.0], [61.0, 0.0]]
    assert len(limbs()[1].list_played(10)) == 0


def test_a_mirrored_pose_is_the_mirror_image() -> None:
    (_, arm) = limbs()
    for rotations, other in zip(arm.mix(5), arm.mirror(arm.mix(5)), strict=True):
        one, two = pose_all(JOINTS, arm.bends, rotations), pose_all(JOINTS, arm.others, other)
        turned = np.pad(SIDES, (0, 1)) + np.diag([0.0, 0, 0, 1])
        assert two == pytest.approx(turned @ one[MIRRORED] @ turned, abs=1e-9)
    assert arm.mirror(arm.mix(3)).shape == (3, 2, 4)
