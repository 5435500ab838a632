"""Twists that are spread: along which bones, how far joints twist, and what vertices take of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers.rig.fraction_plan import plan_twists
from supple.deformers.rig.rest import Joints, Pose, Weights
from supple.deformers.rig.spread_twists import SpreadTwists
from supple.deformers.rig.twist_shares import find_turns, find_twist_shares

from ..cases import each
from ..characters import about, rotation

ALONG = (0, 1, 0)


def chain(count: int, lines: dict[int, int]) -> Joints:
    """Bones of length 1 along y; twists of some joints are spread along so many bones before."""
    heads = np.array([[0.0, joint, 0.0] for joint in range(count)])
    joints = Joints(heads, np.arange(count) - 1, heads + np.array(ALONG))
    counts = np.array([lines.get(joint, 0) for joint in range(count)])
    return replace(joints, spread=plan_twists(joints, 0 * counts, counts)[1])


def pose(joints: Joints, turns: list[np.ndarray]) -> np.ndarray:
    matrices = [np.eye(4)]
    for center, turn in zip(joints.centers, turns, strict=True):
        matrices.append(matrices[-1] @ about(turn, center))
    return np.array(matrices[1:])


def spread_of(joints: Joints) -> SpreadTwists:
    assert joints.spread is not None
    return joints.spread


def test_lines_of_one_bone_and_of_two() -> None:
    spread = spread_of(chain(4, {1: 1, 3: 2}))
    assert spread.joints.tolist() == [1, 3]
    assert spread.along.tolist() == [[True, False, False, False], [False, True, True, False]]
    assert spread.below.tolist() == [[False, True, True, True], [False, False, False, True]]
    assert spread.ends.tolist() == [[0, 1, 0], [0, 3, 0]]
    assert spread.axes.tolist() == [[0, 1, 0], [0, 1, 0]]
    assert spread.lengths.tolist() == [1, 2]
    assert spread.depths.tolist() == [1, 2]


@each(
    ("lines", "joints"),
    [({}, None), ({0: 1}, None), ({2: 1, 3: 2}, [2]), ({2: 9}, [2])],  # a root; a bone has the twist of one
)
def test_which_are_spread(lines, joints) -> None:
    spread = chain(4, lines).spread
    assert (None if spread is None else spread.joints.tolist()) == joints


def test_joints_without_a_line_keep_their_fractions() -> None:
    joints = chain(4, {})
    fractions, spread = plan_twists(joints, np.array([3, 3, 3, 3]), np.array([0, 0, 1, 2]))
    assert spread is not None and fractions is not None
    assert spread.joints.tolist() == [2]
    assert sorted(set(fractions.last.tolist())) == [1, 3]  # the root has none, and the bone of 3 is taken


@each(
    ("degrees", "swing", "hint", "expected"),
    [
        (50, 0, 0, 50), (-170, 0, 0, -170), (190, 0, 0, -170), (190, 0, 150, 190), (400, 80, 380, 400),
        (60, 90, 0, 60), (60, np.degrees(np.arccos(-0.25)), 0, 30), (60, 120, 0, 0), (60, 179, 0, 0),
    ],
)  # fmt: skip
def test_how_far_joints_twist(degrees, swing, hint, expected) -> None:
    joints = chain(3, {2: 1})
    turns = [np.eye(3), rotation((1, 2, 0), 70), rotation((1, 0, 3), swing) @ rotation(ALONG, degrees)]
    hints = np.radians([0.0, 99.0, hint])
    found = Pose(pose(joints, turns), hints=hints).find_twists(joints)
    assert np.degrees(found) == pytest.approx([expected], abs=1e-6)


def test_twists_that_were_read_count() -> None:
    joints = chain(3, {2: 1})
    given = Pose(pose(joints, [np.eye(3)] * 3), twists=np.array([0.5]))
    assert given.find_twists(joints).tolist() == [0.5]


def test_shares_by_weight_and_by_position() -> None:
    spread = spread_of(chain(3, {1: 1, 2: 1}))
    dense = np.array([[1, 0, 0], [0, 1, 0], [0, 0.6, 0.4], [0, 0, 2], [0.5, 0, 0.5], [0, 0, 0]], float)
    points = np.array([[0.1, 0.5, 0], [0, 1.5, 0.1], [0, 2.0, 0], [0, 2.5, 0], [0, 0.5, 0], [0, 2.5, 0]])
    weights = Weights.from_dense(dense / np.maximum(dense.sum(axis=1, keepdims=True), 1))
    shares = find_twist_shares(weights, points, spread)
    half = np.log(0.7) / np.log(0.4)
    rows = list(zip(*(getattr(shares, name).tolist() for name in ("vertices", "twists", "passes")), strict=True))
    assert rows == [(0, 0, 0), (1, 1, 0), (1, 0, 1), (2, 1, 0), (2, 0, 1), (3, 1, 0), (3, 0, 1), (4, 1, 0), (4, 0, 1)]
    np.testing.assert_allclose(shares.whole, [half, half, 1, 1, 1, 1, 1, 0.5, 0.5 + 0.5 * half], atol=1e-6)
    np.testing.assert_allclose(shares.below, [0, 0, 1, 0.4, 1, 1, 1, 0.5, 0.5], atol=1e-6)
    assert shares.is_held.tolist() == [True, True, False, True, False, False, False, False, True]


@each("most", [0, 90, 172])
def test_turns_are_the_share_without_what_the_blend_gives(most) -> None:
    spread = spread_of(chain(2, {1: 1}))
    dense = np.array([[1.0, 0.0], [0.7, 0.3], [0.2, 0.8], [0.0, 1.0]])
    points = np.array([[0.1, y, 0.0] for y in (0.3, 0.9, 1.0, 1.2)])
    shares = find_twist_shares(Weights.from_dense(dense), points, spread)
    for twist in (-400.0, -20.0, 170.0, 173.0):
        blended = np.radians(np.clip(twist, -most, most))
        quaternions = dense[:, :1] * (1, 0) + dense[:, 1:] * (np.cos(blended / 2), np.sin(blended / 2))
        given = 2.0 * np.arctan2(quaternions[:, 1], quaternions[:, 0])
        expected = np.exp(1j * (shares.whole * np.radians(twist) - given))
        cosines, sines = find_turns(shares, np.radians([twist]), np.radians(most))
        np.testing.assert_allclose(cosines + 1j * sines, expected, atol=2e-6)
