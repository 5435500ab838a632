"""Bulge limit and contact: what they keep from happening, and whom they leave alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from supple.deformers import DEFORMERS, Joints, Pose, Rest, Weights
from supple.deformers.skinning import dlb, ssd
from supple.deformers.skinning.joint_shares import find_hinges, find_joint_shares, find_shoulders

from ..cases import each
from ..characters import about, rotation
from .limbs import HEADS, RADIUS, TAILS, find_radii, make_limb, pose_limb

LIMITED = ("SSD", "DLB", "DLBNT", "CENTERS")


def skin(rest: Rest, matrices: np.ndarray, method: str = "DLB", **choices: float) -> np.ndarray:
    module = DEFORMERS[method]
    params = replace(module.INFO.params(), **{"bulge_limit": 0.0, "contact": 0.0, **choices})
    return module.deform(module.bind(rest, params), Pose(matrices)).astype(float)


@each("method", LIMITED)
@each("bend", [60.0, 90.0, 120.0, 150.0])
def test_no_vertex_of_either_half_crosses_the_plane(bend: float, method: str) -> None:
    rest, matrices = make_limb(), pose_limb(bend=bend)
    normal = np.array([0.0, 0.0, 1.0]) + matrices[1, :3, 2]
    side = np.sign(rest.points[:, 2])
    inward = matrices[1, :3, 2] - np.array([0.0, 0.0, 1.0])
    for contact in (0.0, 1.0):
        posed = skin(rest, matrices, method, contact=contact)
        inner = posed @ inward / np.linalg.norm(inward) > 0.3 * RADIUS
        depth = (side * (posed @ normal) / np.linalg.norm(normal))[inner & (side != 0)]
        assert depth.size > 10
        if contact:
            assert depth.min() > -1e-6
    assert bend < 120.0 or skin_crosses(rest, matrices, method, side, normal)


def skin_crosses(rest: Rest, matrices: np.ndarray, method: str, side: np.ndarray, normal: np.ndarray) -> bool:
    """Whether the test could fail."""
    return bool((side * (skin(rest, matrices, method) @ normal)).min() < -0.01)


@each("method", LIMITED)
def test_the_limit_holds_skin_to_its_distance(method: str) -> None:
    rest, matrices = make_limb(0.5), pose_limb(bend=120.0)
    assert find_radii(skin(rest, matrices, method, bulge_limit=1.0), matrices).max() < 1.05 * RADIUS
    if method != "SSD":
        free = find_radii(skin(rest, matrices, method), matrices).max()
        half = find_radii(skin(rest, matrices, method, bulge_limit=0.5), matrices).max()
        assert free > half > find_radii(skin(rest, matrices, method, bulge_limit=1.0), matrices).max() + 1e-4


def test_scaled_bones_have_wider_limits() -> None:
    rest, large = make_limb(0.5), np.diag([2.0, 2.0, 2.0, 1.0])
    matrices = pose_limb(bend=120.0)
    for choices in ({"bulge_limit": 1.0}, {"contact": 1.0}):
        posed = skin(rest, matrices, "DLBNT", **choices)
        np.testing.assert_allclose(skin(rest, large @ matrices, "DLBNT", **choices), 2.0 * posed, rtol=0, atol=1e-5)


@each("method", LIMITED)
@each("scales", [(1.0, 1.0, 0.0), (0.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (50.0, 0.0, 50.0)])
def test_a_flat_bone_is_the_same_however_it_is_rounded(method: str, scales: tuple[float, ...]) -> None:
    """The bone above; the one below was taken away from it, so that both have a direction."""
    rest, (_, below), rng = make_limb(), pose_limb(bend=70.0), np.random.default_rng(1)
    below[:3, 3] = 0.1, 0.2, 0.4
    matrices = np.stack([about(rotation((1, 2, 3), 40) @ np.diag(scales), np.zeros(3)), below])
    posed = skin(rest, matrices, method, bulge_limit=1.0, contact=1.0)
    for _ in range(4):
        rounded = matrices.copy()
        rounded[:, :3, :3] += 1e-7 * max(1.0, *scales) * rng.uniform(-1.0, 1.0, (2, 3, 3))
        again = skin(rest, rounded, method, bulge_limit=1.0, contact=1.0)
        np.testing.assert_allclose(again, posed, rtol=0, atol=1e-5 * max(1.0, *scales))


@each("method", LIMITED)
def test_rest_and_rigid_motion_are_untouched(method: str) -> None:
    rest = make_limb()
    moved = about(rotation((3, 1, 2), 130), np.zeros(3), (0.4, 0.1, 0.2))
    for matrix in (np.eye(4), moved):
        posed = skin(rest, np.tile(matrix, (2, 1, 1)), method, bulge_limit=1.0, contact=1.0)
        np.testing.assert_allclose(posed, rest.points @ matrix[:3, :3].T + matrix[:3, 3], rtol=0, atol=1e-6)


def make_head_with_ears() -> Rest:
    """A neck and a head, and ears on bones of their own that hang down along the neck."""
    rest = make_limb()
    ears = rest.points[np.abs(rest.points[:, 2]) < 0.5] * (0.2, 0.2, 1.0) + (RADIUS * 1.3, 0.0, 0.1)
    joints = Joints(
        np.concatenate([HEADS, [[1.3 * RADIUS, 0.0, 0.6]]]),
        np.array([-1, 0, 1]),
        np.concatenate([TAILS, [[1.3 * RADIUS, 0.0, -0.4]]]),
    )
    body, count = rest.weights, len(rest.points)
    weights = Weights(
        np.concatenate([body.vertices, count + np.arange(len(ears))]),
        np.concatenate([body.joints, np.full(len(ears), 2)]),
        np.concatenate([body.values, np.ones(len(ears))]),
    )
    return Rest(np.concatenate([rest.points, ears]), weights, joints)


def test_neighbors_that_do_not_belong_are_untouched() -> None:
    """An ear that the bent neck's plane goes through follows its own bone."""
    rest = make_head_with_ears()
    own = rest.weights.vertices[rest.weights.joints == 2]
    bent = pose_limb(bend=100.0)
    matrices = np.concatenate([bent, np.eye(4)[None]])  # the ear stays, and hangs into the bend
    free, limited = skin(rest, matrices), skin(rest, matrices, bulge_limit=1.0, contact=1.0)
    assert np.abs(limited - free).max() > 0.02
    np.testing.assert_array_equal(limited[own], free[own])


def test_fingers_beside_each_other_do_not_feel_each_other() -> None:
    """Two fingers of a hand: each joint's plane cuts through the other finger."""
    finger = make_limb()
    aside = np.array([0.0, 2.2 * RADIUS, 0.0])
    beside = finger.points + aside
    heads, tails = (np.concatenate([ends, ends + aside]) for ends in (HEADS, TAILS))
    weights = finger.weights
    both = Weights(
        np.concatenate([weights.vertices, weights.vertices + len(beside)]),
        np.concatenate([weights.joints, weights.joints + 2]),
        np.concatenate([weights.values, weights.values]),
    )
    rest = Rest(np.concatenate([finger.points, beside]), both, Joints(heads, np.array([-1, 0, -1, 2]), tails))
    straight = np.tile(np.eye(4), (2, 1, 1))
    posed = skin(rest, np.concatenate([pose_limb(bend=120.0), straight]), bulge_limit=1.0, contact=1.0)
    np.testing.assert_allclose(posed[len(beside) :], beside, rtol=0, atol=1e-6)


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


def test_shoulders_are_no_hinges_for_contact_but_elbows_and_knees_are() -> None:
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
    assert not find_shoulders(Joints(HEADS, np.array([-1, 0]), TAILS)).any()
    assert not find_shoulders(Joints(HEADS[:1], np.array([-1]), TAILS[:1])).any()
    x = np.linspace(0.1, 0.7, 60)
    points = np.stack([x, np.full(60, 0.03), np.full(60, 1.4)], axis=1)
    bone = np.clip(np.searchsorted(ARM[1:, 0], x), 1, 4)
    dense = np.zeros((60, 9))
    dense[np.arange(60), bone] = 1.0
    smooth = np.stack([np.convolve(column, np.ones(9) / 9.0, "same") for column in dense.T], axis=1)
    shares = find_joint_shares(points, Weights.from_dense(smooth), joints)
    assert {2, 3} <= set(shares.joints.tolist())
    assert not shares.contacts[shares.joints == 2].any()
    assert shares.limits[shares.joints == 2].any(), "bulge limit has shoulders"
    assert shares.contacts[shares.joints == 3].any()


def test_vertices_of_a_bone_aside_belong_to_no_joint() -> None:
    rest = make_limb()
    weights = Weights.from_dense(np.tile([0.35, 0.35, 0.3], (len(rest.points), 1)))
    joints = Joints(
        np.append(HEADS, [[0.0, 0, 1]], axis=0), np.array([-1, 0, 1]), np.append(TAILS, [[1, 0, 1]], axis=0)
    )
    shares = find_joint_shares(rest.points, weights, joints)
    assert (shares.joints == -1).all()
    assert not np.stack([shares.limits, shares.contacts]).any()


def test_moving_only_the_parent_is_noticed() -> None:
    """Vertices of the lower bone alone look at both bones: a block of theirs is computed anew with either."""
    rest = make_limb()
    params = dlb.Params(contact=1.0)
    binding = dlb.bind(rest, params)
    lower = pose_limb(bend=150.0)[1]
    for upper in (np.eye(4), about(rotation((1, 0, 0), 30), np.zeros(3)), np.eye(4)):
        moved = np.stack([upper, lower])
        expected = dlb.deform(dlb.bind(rest, params), Pose(moved))
        np.testing.assert_array_equal(dlb.deform(binding, Pose(moved)), expected)


def test_no_limits_cost_nothing() -> None:
    rest = make_limb()
    assert ssd.bind(rest, ssd.Params()).limits is None
    assert ssd.bind(rest, ssd.Params(contact=0.5)).limits is not None


def test_skin_of_twist_bones_belongs_to_a_joint() -> None:
    """Near a joint skin may follow three bones in a row."""
    joints = Joints(
        np.append(HEADS, [[0.0, 0.0, 1.0]], axis=0), np.array([-1, 0, 1]), np.append(TAILS, [[0.0, 0.0, 2.0]], axis=0)
    )
    rest = make_limb()
    weights = Weights.from_dense(np.tile([0.4, 0.4, 0.2], (len(rest.points), 1)))
    shares = find_joint_shares(rest.points, weights, joints)
    assert (shares.joints[rest.points[:, 2] < 0.4] == 1).all()
    assert shares.limits[np.abs(rest.points[:, 2]) < 0.4].min() > 0.9


@each("other", [0.0, 0.1])
def test_parts_that_a_joint_does_not_bend_are_left_alone(other: float) -> None:
    """A helmet of one bone, and a bit of another, though the plane of the joint goes through it."""
    rest, count = make_limb(), len(make_limb().points)
    weights = Weights(
        np.concatenate([rest.weights.vertices, *[count + np.arange(count)] * 2]),
        np.concatenate([rest.weights.joints, np.ones(count, int), np.zeros(count, int)]),
        np.concatenate([rest.weights.values, np.full(count, 1.0 - other), np.full(count, other)]),
    ).by_vertex()
    points = np.concatenate([rest.points, 0.6 * rest.points + np.array([0.02, 0.0, 0.1])])
    triangles = np.concatenate([rest.triangles, rest.triangles + count])
    both, matrices = Rest(points, weights, rest.joints, triangles=triangles), pose_limb(bend=120.0)
    free, limited = skin(both, matrices), skin(both, matrices, bulge_limit=1.0, contact=1.0)
    np.testing.assert_array_equal(limited[count:], free[count:])
    assert np.abs(limited - free).max() > 0.02
