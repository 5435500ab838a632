"""Segments that roll: the joints they add, how these are posed, and what skin makes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from supple.deformers import BLENDERS, DEFORMERS
from supple.deformers.rig.bendy import divide_among_ends
from supple.deformers.rig.rest import Joints, Pose, Rest, Weights
from supple.deformers.rig.rolls import Rolls, measure_twists

from ..cases import each
from ..characters import about, rotation

ALONG = (0.0, 1.0, 0.0)
METHODS = {"SSD": BLENDERS["SSD"], "DLB": BLENDERS["DLB"], "CENTERS": DEFORMERS["CENTERS"].Params(bulge_limit=0.0)}


def turn(axis: object, angle: float) -> np.ndarray:
    return rotation(axis, np.degrees(angle))


def arm(shares: tuple[float, float] = (0.0, 1.0), count: int = 4) -> Joints:
    """Upper arm, forearm and hand along y, 1 long each; the forearm rolls with the hand."""
    heads = np.array([[0.0, joint, 0.0] for joint in range(3)])
    rolls = Rolls(np.array([1]), np.array([2]), np.array([ALONG]), np.array([shares]), np.array([count]))
    frames = np.tile(np.eye(3), (3, 1, 1))
    return Joints(heads, np.arange(3) - 1, heads + np.array(ALONG), rolls=rolls, orientations=frames)


def tube(joints: Joints, rings: int = 61, around: int = 12) -> Rest:
    """A tube of radius 0.2 around all bones, with hard edges of weights but for 0.1 around the wrist."""
    y, angles = np.repeat(np.linspace(0.0, 3.0, rings), around), np.tile(np.arange(around), rings) * 2 * np.pi / around
    points = np.stack([0.2 * np.cos(angles), y, 0.2 * np.sin(angles)], axis=1)
    hand = np.clip((y - 1.9) / 0.2, 0.0, 1.0)
    fore = np.clip((y - 0.9) / 0.2, 0.0, 1.0)
    weights = Weights.from_dense(np.stack([1.0 - fore, fore - hand, hand], axis=1))
    return Rest(points, weights, joints)


def twist(joints: Joints, angle: float, swing: float = 0.0, hint: float | None = None) -> Pose:
    """The hand twisted, and then swung."""
    matrices = np.tile(np.eye(4), (3, 1, 1))
    matrices[2] = about(turn((1, 0, 0), swing) @ turn(ALONG, angle), joints.centers[2])
    return Pose(matrices, hints=None if hint is None else np.array([0.0, 0.0, hint]))


def test_joints_are_extended_by_a_chain_of_ends() -> None:
    joints = arm()
    extended = joints.extended
    assert extended.parents.tolist() == [-1, 0, 7, 1, 3, 4, 5, 6]
    np.testing.assert_allclose(extended.centers[3:, 1], [1.0, 1.25, 1.5, 1.75, 2.0])
    assert extended.extended is extended
    assert extended.bone_count == joints.bone_count == 3
    assert joints.without_rolls.extended is joints.without_rolls


@each(
    ("angle", "swing", "hint", "expected"),
    [
        (1.0, 0.0, None, 1.0),
        (-2.0, 0.7, None, -2.0),
        (1.0, 0.0, 7.5, 1.0 + 2.0 * np.pi),
        (-1.0, 0.3, -13.0, -1.0 - 4.0 * np.pi),
        (1.0, np.radians(105.0), None, 2.0 * np.cos(np.radians(105.0)) + 1.0),
        (1.0, np.radians(130.0), None, 0.0),
    ],
)
def test_twists(angle: float, swing: float, hint: float | None, expected: float) -> None:
    joints = arm()
    pose, rolls = twist(joints, angle, swing, hint), joints.rolls
    assert rolls is not None
    for whole in (np.eye(3), turn((1, 2, 3), 2.0), 0.3 * turn((1, 2, 3), 2.0), np.diag([1.0, 1.3, 0.7])):
        linear = whole @ pose.rest_to_pose[:, :3, :3]
        np.testing.assert_allclose(measure_twists(rolls, joints.parents, linear, pose.hints), [expected], atol=1e-9)


def test_ends_are_posed_as_computed_by_hand() -> None:
    joints, parent = arm((-0.5, 1.0)), about(turn((1, 0, 1), 0.8), np.array([0.0, 1.0, 0.0]))
    pose = twist(joints, 1.2)
    matrices = parent @ pose.rest_to_pose
    for axes in (joints.orientations, None):
        posed = replace(joints, orientations=axes).pose_ends(Pose(matrices))
        for end, share in enumerate([-0.5, -0.125, 0.25, 0.625, 1.0]):
            np.testing.assert_allclose(posed[end], parent @ about(turn(ALONG, 1.2 * share), np.zeros(3)), atol=1e-12)


def test_a_flat_bone_stays_flat_while_its_skin_rolls() -> None:
    joints, flat = arm(), np.diag([2.0, 1.0, 0.5, 1.0])
    matrices = flat @ twist(joints, 0.5 * np.pi).rest_to_pose
    matrices[2] = flat @ about(turn(ALONG, 0.5 * np.pi), np.zeros(3))
    last = joints.pose_ends(Pose(matrices))[-1]
    np.testing.assert_allclose(last @ (0.0, 0.0, 1.0, 1.0), (0.5, 0.0, 0.0, 1.0), atol=1e-12)
    np.testing.assert_allclose(last @ (1.0, 0.0, 0.0, 1.0), (0.0, 0.0, -2.0, 1.0), atol=1e-12)


def test_weights_are_divided_by_position() -> None:
    joints = arm()
    points = np.array([[0.1, 0.7, 0.0], [0.0, 1.1, 0.3], [0.0, 1.5, 0.0], [0.0, 2.4, 0.0]])
    dense = np.array([[0.5, 0.5, 0.0], [0.0, 2.0, 0.0], [0.0, 0.6, 0.4], [0.0, 0.3, 0.7]])
    space = np.diag([0.5, 0.5, 0.5, 1.0])
    weights = divide_among_ends(Rest(points / 0.5, Weights.from_dense(dense), joints, object_to_armature=space))
    found = np.zeros((4, 8))
    np.add.at(found, (weights.vertices, weights.joints), weights.values)
    expected = np.zeros((4, 8))
    expected[0, [0, 3]] = 0.5
    expected[1, [3, 4]] = 1.2, 0.8
    expected[2, [2, 5]] = 0.4, 0.6
    expected[3, [2, 7]] = 0.7, 0.3
    np.testing.assert_allclose(found, expected, atol=1e-12)


@each("method", METHODS)
def test_rest_is_kept_and_rigid_poses_are_rigid(method: str) -> None:
    rest, deformer = tube(arm()), DEFORMERS[method]
    binding, whole = deformer.bind(rest, METHODS[method]), about(turn((1, 2, 3), 2.0), np.array([1.0, 0.0, 0.0]))
    whole[:3, 3] += 0.3
    for matrix in (np.eye(4), whole):
        posed = deformer.deform(binding, Pose(np.tile(matrix, (3, 1, 1))))
        np.testing.assert_allclose(posed, rest.points @ matrix[:3, :3].T + matrix[:3, 3], atol=2e-6)


@each(("method", "angle"), [(m, a) for m in METHODS for a in (90.0, -170.0, 170.0)])
def test_a_twisted_tube_keeps_its_radius(method: str, angle: float) -> None:
    rest, deformer = tube(arm()), DEFORMERS[method]
    posed = deformer.deform(deformer.bind(rest, METHODS[method]), twist(rest.joints, np.radians(angle)))
    radii = np.hypot(posed[:, 0], posed[:, 2]) / 0.2
    assert 0.93 <= radii.min() <= radii.max() <= 1.07
    np.testing.assert_allclose(posed[:, 1], rest.points[:, 1], atol=1e-5)


def test_whole_turns_keep_the_radius_of_a_tube() -> None:
    rest, deformer = tube(arm(count=8)), DEFORMERS["DLB"]
    binding = deformer.bind(rest, METHODS["DLB"])
    for turns in np.arange(-1.5, 1.6, 0.25):
        angle = 2.0 * np.pi * turns
        posed = deformer.deform(binding, twist(rest.joints, angle, hint=angle))
        radii = np.hypot(posed[:, 0], posed[:, 2]) / 0.2
        assert 0.93 <= radii.min() <= radii.max() <= 1.07


def test_skin_is_blended_as_computed_by_hand() -> None:
    rest = tube(arm())
    pose, extended = twist(rest.joints, 1.4, 0.6), rest.joints.extended
    weights = divide_among_ends(rest)
    matrices = np.concatenate([pose.rest_to_pose, rest.joints.pose_ends(pose)])
    plain = Joints(extended.centers, extended.parents, extended.tails)
    for method in ("SSD", "DLB"):
        deformer, params = DEFORMERS[method], METHODS[method]
        expected = deformer.deform(deformer.bind(replace(rest, weights=weights, joints=plain), params), Pose(matrices))
        np.testing.assert_array_equal(deformer.deform(deformer.bind(rest, params), pose), expected)


@each("method", METHODS)
def test_order_of_joints_does_not_matter(method: str) -> None:
    rest, deformer = tube(arm()), DEFORMERS[method]
    joints, pose, order = rest.joints, twist(arm(), 1.4, 0.6, 8.0), np.array([2, 0, 1])
    ranks, rolls = np.argsort(order), joints.rolls
    assert rolls is not None
    assert joints.tails is not None
    moved = Joints(
        joints.centers[order],
        np.append(ranks, -1)[joints.parents[order]],
        joints.tails[order],
        rolls=replace(rolls, joints=ranks[rolls.joints], sources=ranks[rolls.sources]),
        orientations=np.tile(np.eye(3), (3, 1, 1)),
    )
    others = replace(rest, joints=moved, weights=replace(rest.weights, joints=ranks[rest.weights.joints]))
    assert pose.hints is not None
    posed = deformer.deform(
        deformer.bind(others, METHODS[method]), Pose(pose.rest_to_pose[order], hints=pose.hints[order])
    )
    expected = deformer.deform(deformer.bind(rest, METHODS[method]), pose)
    np.testing.assert_allclose(posed, expected, atol=1e-6)


def test_limits_follow_what_rolls() -> None:
    rest, deformer = tube(arm()), DEFORMERS["CENTERS"]
    params = deformer.Params(bulge_limit=1.0)
    binding = deformer.bind(rest, params)
    for angle in (0.0, 1.0, 2.0):
        pose = twist(rest.joints, angle, 0.9)
        fresh = deformer.deform(deformer.bind(rest, params), pose)
        np.testing.assert_array_equal(deformer.deform(binding, pose), fresh)


@each("method", ["DLBNT", "PARTICLES"])
def test_others_pose_plain_joints(method: str) -> None:
    rest, deformer = tube(arm()), DEFORMERS[method]
    rings = np.arange(60)[:, None] * 12 + np.arange(12)
    after = np.roll(rings, -1, axis=1)
    quads = [np.stack([rings, rings + 12, after], axis=-1), np.stack([after, rings + 12, after + 12], axis=-1)]
    lids = [[[first, first + k + 1, first + k] for k in range(1, 11)] for first in (0, 720)]
    triangles = np.concatenate([*(quad.reshape(-1, 3) for quad in quads), lids[0], np.flip(lids[1], 1)])
    rest = replace(rest, triangles=triangles)
    params, pose = deformer.Params(), twist(rest.joints, 1.4, 0.6)
    plain = replace(rest, joints=rest.joints.without_rolls)
    results = [deformer.deform(deformer.bind(each, params), pose) for each in (rest, plain)]
    np.testing.assert_array_equal(*results)
