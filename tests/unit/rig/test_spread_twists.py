"""Twists that are spread: along which bones, how far joints twist, and what vertices take of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers.rig.fraction_plan import plan_twists
from supple.deformers.rig.rest import Joints, Pose, Weights
from supple.deformers.rig.spread_twists import SpreadTwists
from supple.deformers.rig.twist_shares import TwistShares, find_feet, find_hold, find_twist_shares, turn_vertices

from .. import reference
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
    assert spread is not None
    assert fractions is not None
    assert spread.joints.tolist() == [2]
    assert sorted(set(fractions.last.tolist())) == [1, 3]  # the root has none, and the bone of 3 is taken


@each(
    ("degrees", "swing", "hint", "expected"),
    [
        (50, 0, 0, 50), (-170, 0, 0, -170), (190, 0, 0, -170), (190, 0, 150, 190), (400, 80, 380, 400),
        (540, 10, 500, 540), (60, 90, 0, 60), (60, np.degrees(np.arccos(-0.25)), 0, 30), (60, 120, 0, 0),
        (60, 179, 0, 0),
    ],
)  # fmt: skip
def test_how_joints_are_turned(degrees, swing, hint, expected) -> None:
    joints = chain(3, {2: 1})
    relative = rotation((1, 0, 3), swing) @ rotation(ALONG, degrees)
    hints = np.radians([0.0, 99.0, hint])
    matrices = pose(joints, [np.eye(3), rotation((1, 2, 0), 70), relative])
    found = Pose(matrices, hints=hints).find_turns(spread_of(joints))
    assert np.degrees(found.twists) == pytest.approx([expected], abs=1e-6)
    for quaternions, turn in ((found.turns, relative), (found.swings, relative @ rotation(ALONG, -expected))):
        assert quaternions[0, 0] >= 0.0
        assert abs(quaternions[0] @ reference.quaternion_from_rotation(turn)) == pytest.approx(1.0, abs=1e-9)


def test_stretches_do_not_count() -> None:
    joints = chain(3, {2: 1})
    turns = [rotation((1, 2, 0), 70), rotation((0, 1, 2), 30), rotation((1, 0, 3), 40) @ rotation(ALONG, 150)]
    plain, stretched = pose(joints, turns), pose(joints, turns)
    stretched[:, :3, :3] = stretched[:, :3, :3] @ np.diag([1.5, 0.7, 1.1])
    expected, found = (Pose(matrices).find_turns(spread_of(joints)).rows for matrices in (plain, stretched))
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_turns_are_found_once_for_a_pose() -> None:
    joints = chain(3, {2: 1})
    once = Pose(pose(joints, [np.eye(3)] * 3))
    assert once.find_turns(spread_of(joints)) is once.find_turns(spread_of(joints))
    assert not once.find_turns(spread_of(joints)).twists.any()


def test_shares_by_weight_and_by_position() -> None:
    spread = spread_of(chain(3, {1: 1, 2: 1}))
    rows = [[1, 0, 0], [0, 1, 0], [0, 0.6, 0.4], [0, 0, 1], [0.5, 0, 0.5], [0.2, 0.5, 0.3], [0, 0, 0]]
    points = np.array([[0.1, 0.5, 0], [0, 1.5, 0.1], [0, 2, 0], [0, 2.5, 0], [0, 0.5, 0], [0, 1, 0], [0, 2.5, 0]])
    shares = find_twist_shares(Weights.from_dense(np.array(rows)), points, spread)
    half = np.log(0.7) / np.log(0.4)
    found = list(zip(*(getattr(shares, name).tolist() for name in ("vertices", "twists", "passes")), strict=True))
    assert found == [(0, 0, 0), (1, 1, 0), (2, 1, 0), (4, 0, 0), (5, 1, 0), (5, 0, 1)]
    np.testing.assert_allclose(shares.whole, [half, half, 1, 0.5 + 0.5 * half, 0.3, 1], atol=1e-6)
    np.testing.assert_allclose(shares.below, [0, 0, 0.4, 0.5, 0.3, 0.8], atol=1e-6)


def test_weights_of_next_to_nothing_take_nothing() -> None:
    weights = Weights.from_dense(np.array([[0.0009, 0.9991], [0.0011, 0.9989]]))
    shares = find_twist_shares(weights, np.zeros((2, 3)), spread_of(chain(2, {1: 1})))
    assert shares.vertices.tolist() == [1]


@each("twist", [-400.0, -20.0, 170.0, 180.0, 200.0, 540.0])
@each("swing", [0.0, 45.0, 110.0])
def test_what_the_blend_gives_by_itself_is_taken_back(swing, twist) -> None:
    """Vertices turned at rest, and then by both bones: as turned by their share, and then by the swing."""
    joints, below = chain(2, {1: 1}), np.array([0.0, 0.3, 0.8, 1.0])
    weights = Weights.from_dense(np.stack([1.0 - below, below], axis=1))
    shares = find_twist_shares(weights, np.array([[0.1, y, 0.0] for y in (0.3, 0.9, 1.0, 1.2)]), spread_of(joints))
    relative = rotation((1, 0, 3), swing) @ rotation(ALONG, twist)
    turns = Pose(pose(joints, [np.eye(3), relative]), hints=np.radians([0.0, twist])).find_turns(spread_of(joints))
    assert shares.vertices.tolist() == [0, 1, 2]  # where the limb has no weight, nothing is turned
    for found, whole, share in zip(turn_vertices(shares, spread_of(joints), turns), shares.whole, below, strict=False):
        assert found @ found == pytest.approx(1.0, abs=1e-5)
        wanted = whole * np.degrees(turns.twists[0])
        swings = relative @ rotation(ALONG, -np.degrees(turns.twists[0]))
        expected = reference.blend_turn(swings, share) @ rotation(ALONG, wanted)
        one, given = reference.DualQuaternion(found / np.linalg.norm(found), np.zeros(4)), turns.turns[0]
        both = (1.0 - share) * np.array([1.0, 0.0, 0.0, 0.0]) + share * given
        after = reference.multiply(reference.DualQuaternion(both, np.zeros(4)), one)
        moved = np.transpose([reference.transform_point(after, axis) for axis in np.eye(3)])
        np.testing.assert_allclose(moved, expected, atol=5e-6)


@each("twist", [100.0, 200.0, 540.0])
def test_where_the_joint_has_all_of_the_weight_nothing_is_turned(twist) -> None:
    joints, index, one = chain(2, {1: 1}), np.zeros(1, int), np.ones(1, np.float32)
    matrices = pose(joints, [np.eye(3), rotation((1, 0, 3), 30.0) @ rotation(ALONG, twist)])
    turns = Pose(matrices, hints=np.radians([0.0, twist])).find_turns(spread_of(joints))
    found = turn_vertices(TwistShares(index, index, index, one, one), spread_of(joints), turns)
    np.testing.assert_allclose(np.abs(found), [[1.0, 0.0, 0.0, 0.0]], atol=1e-6)


def test_how_firmly_limbs_hold_vertices() -> None:
    """Two limbs: from a fifth of the weight on they hold it, and the one that has more is named."""
    spread = spread_of(chain(4, {1: 1, 3: 2}))
    dense = np.array([[1.0, 0, 0, 0], [0.1, 0.05, 0.05, 0.8], [0.05, 0, 0.15, 0.8], [0, 0, 0, 1.0], [0, 0, 0, 0]])
    holds, twists = find_hold(Weights.from_dense(dense), 5, spread)
    np.testing.assert_allclose(holds, [1.0, 0.5, 0.75, 0.0, 0.0], atol=1e-12)
    assert twists[[0, 2]].tolist() == [0, 1]


def test_feet_are_on_the_line_of_the_limb() -> None:
    heads = np.array([[1.0, 2.0, 3.0], [2.0, 2.0, 4.0], [2.0, 5.0, 4.0]])
    joints = Joints(heads, np.arange(3) - 1, heads + np.array(ALONG))
    spread = spread_of(replace(joints, spread=plan_twists(joints, np.zeros(3, int), np.array([0, 1, 1]))[1]))
    points = np.array([[1.5, 9.0, 3.5], [7.0, -3.0, 1.0], [4.0, 2.0, 4.0]])
    feet = find_feet(points, np.array([0, 1, 0]), spread)
    np.testing.assert_allclose(feet, [[1.5, 2.0, 3.5], [2.0, -3.0, 4.0], [3.0, 2.0, 5.0]], atol=1e-12)
