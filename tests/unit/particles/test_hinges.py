"""Where limbs bend, flesh gives way to the skin of the joints, unless that collapses; layers ride; skin is tucked."""

import numpy as np
import pytest

from benchmarks.surfaces import make_capsule
from supple.deformers import Joints, Pose
from supple.deformers.algebra.polar import move_rigidly
from supple.deformers.geometry.solid import vertex_normals
from supple.deformers.particles.hinges import COLLAPSE_RAMP, DISTANCE_FADE, MAX_POINT, Hinges, find_hinges_of_skin
from supple.deformers.particles.layers import find_flesh_layers, find_riders
from supple.deformers.skinning.limb_roots import find_limb_hinges

from ..characters import rotation

RADIUS = 0.2
X, UP = np.eye(3)[0], np.eye(3)[2]
HEADS = np.array([(0, 0, 0), (1, 0, 0), (3, 0, 0), (-1, 0, 0), (-3, 0, 0)], float)
TAILS = np.array([(0, 0, 1), (3, 0, 0), (5, 0, 0), (-3, 0, 0), (-5, 0, 0)], float)
JOINTS = Joints(HEADS, np.array([-1, 0, 1, 0, 3]), TAILS)
"""A trunk and an arm on each side, which has an elbow."""


@pytest.fixture(scope="module")
def arm() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, triangles and weights of the left arm, which is bent about x = 3."""
    points, triangles = make_capsule(4.0, RADIUS, 0.06)
    points = points[:, [2, 0, 1]] + X
    share = np.clip((points[:, 0] - 2.8) / 0.4, 0.0, 1.0)
    weights = np.zeros((len(points), 5))
    weights[:, 1], weights[:, 2] = 1.0 - share, share
    return points, triangles, weights


STILL = Pose(np.tile(np.eye(4), (5, 1, 1)))


def bend(degrees: float) -> Pose:
    """The elbow of the left arm bent toward y."""
    matrices = np.tile(np.eye(4), (5, 1, 1))
    matrices[2, :3, :3] = rotation((0, 0, 1), degrees)
    matrices[2, :3, 3] = HEADS[2] - matrices[2, :3, :3] @ HEADS[2]
    return Pose(matrices)


BENT = bend(90)


def hinges_of(arm: tuple) -> Hinges:
    return find_hinges_of_skin(*arm, JOINTS, HEADS, np.full(5, RADIUS))


def pose_round(points: np.ndarray, degrees: float) -> np.ndarray:
    """The arm bent as a hose: the elbow's skin goes round it."""
    turns = np.clip((points[:, 0] - 2.8) / 0.4, 0.0, 1.0) * degrees
    turned = [rotation((0, 0, 1), turn) @ (point - HEADS[2]) for turn, point in zip(turns, points, strict=True)]
    return np.array(turned) + HEADS[2]


def test_elbows_are_hinges_and_shoulders_are_not() -> None:
    assert np.flatnonzero(find_limb_hinges(JOINTS)).tolist() == [2, 4]


def test_near_a_hinge_the_skin_is_that_of_the_joints(arm: tuple) -> None:
    points, hinges = arm[0], hinges_of(arm)
    assert len(hinges.hinges) == 1
    joints = pose_round(points, 90).astype(np.float32)
    flesh = (joints + 0.5 * COLLAPSE_RAMP[0] * RADIUS * UP).astype(np.float32)
    pointed, united = hinges.unite(joints, joints, BENT), hinges.unite(flesh, joints, BENT)
    np.testing.assert_array_equal(hinges.unite(flesh, joints, STILL), flesh)
    away = np.linalg.norm(points - HEADS[2], axis=1) / RADIUS
    np.testing.assert_allclose(united[away < 2.0], pointed[away < 2.0], atol=1e-6)
    np.testing.assert_allclose(united[away > DISTANCE_FADE[1]], flesh[away > DISTANCE_FADE[1]], atol=1e-6)
    kept, order = (united - pointed)[:, 2] / (flesh - joints)[:, 2], np.argsort(away)
    assert (np.diff(kept[order]) > -1e-3).all(), "what is left of flesh grows with the distance"
    assert np.abs(np.diff(kept[order]) / np.maximum(np.diff(away[order]), 0.05)).max() < 1.0, "and has no ledge"


def test_a_limb_of_two_bones_is_one(arm: tuple) -> None:
    points, triangles, weights = arm
    heads = np.insert(HEADS, 2, (2.6, 0, 0), axis=0)
    tails = np.insert(TAILS, 2, (3, 0, 0), axis=0)
    parents = np.array([-1, 0, 1, 2, 0, 4])
    split = np.insert(weights, 2, 0.0, axis=1)
    second = np.clip((points[:, 0] - 2.5) / 0.2, 0.0, 1.0)
    split[:, 1], split[:, 2] = (1.0 - second) * weights[:, 1], second * weights[:, 1]
    _, two = find_hinges_of_skin(
        points, triangles, split, Joints(heads, parents, tails), heads, np.full(6, RADIUS)
    ).hinges
    (one,) = hinges_of(arm).hinges
    np.testing.assert_array_equal(two.vertices, one.vertices)
    np.testing.assert_allclose(two.near, one.near, atol=1e-9)


@pytest.mark.parametrize("degrees", (-80.0, 45.0, 90.0, 130.0))
def test_the_outside_of_a_bend_is_a_tip(arm: tuple, degrees: float) -> None:
    points, hinges = arm[0], hinges_of(arm)
    joints = pose_round(points, degrees).astype(np.float32)
    pose = bend(degrees)
    moves = hinges.unite(joints, joints, pose) - joints
    away = joints - HEADS[2]
    half = np.radians(degrees / 2)
    out = np.array([np.sin(half), -np.cos(half), 0.0]) * np.sign(degrees)
    assert np.abs(moves[away @ out < 0.0]).max() < 1e-6, "the inside stays"
    assert np.abs(moves[:, 2]).max() < 1e-6, "and the limb does not get wider"
    arc, reach = (away @ out).max(), ((away + moves) @ out).max()
    corner = RADIUS / np.cos(half)
    assert 1.005 * arc < reach < min(corner, (1.0 + MAX_POINT) * RADIUS), "between an arc and a corner"
    assert ((moves @ out)[np.abs(points[:, 0] - 3.0) > 2 * RADIUS] < 1e-6).all(), "limbs stay as they are"


def test_a_tip_comes_with_the_bend(arm: tuple) -> None:
    points, hinges = arm[0], hinges_of(arm)
    heights = []
    for degrees in range(0, 150, 5):
        joints = pose_round(points, degrees).astype(np.float32)
        heights.append(np.linalg.norm(hinges.unite(joints, joints, bend(degrees)) - joints, axis=1).max() / RADIUS)
    assert heights[0] == 0.0
    steps = np.diff(heights)
    assert (steps > -1e-6).all()
    assert steps.max() < 0.03, "it does not pop up"


def test_what_collapses_is_united_with_the_flesh(arm: tuple) -> None:
    points, hinges = arm[0], hinges_of(arm)
    away = np.linalg.norm(points - HEADS[2], axis=1) / RADIUS
    flesh = pose_round(points, 90).astype(np.float32)
    narrow = pose_round(points * np.where(away < 2.0, 0.5, 1.0)[:, None] ** [0, 1, 1], 90).astype(np.float32)
    united, pointed = hinges.unite(flesh, narrow, BENT), hinges.unite(narrow, narrow, BENT)
    tips = pointed - narrow
    np.testing.assert_allclose((united - tips)[away < 1.0], flesh[away < 1.0], atol=0.02 * RADIUS)
    kept = hinges.unite(narrow, flesh, BENT) - hinges.unite(flesh, flesh, BENT)
    np.testing.assert_allclose(kept[away < 1.0], 0.0, atol=1e-6)


def test_a_small_deep_hole_collapses_and_a_wide_shallow_one_does_not(arm: tuple) -> None:
    points, triangles, _ = arm
    hinges, joints = hinges_of(arm), pose_round(points, 90).astype(np.float32)
    away = np.linalg.norm(points - HEADS[2] - [0.0, RADIUS, 0.0], axis=1) / RADIUS
    normals, middle = vertex_normals(joints, triangles), hinges.hinges[0].middle
    for width, depth, is_united in ((0.7, 1.5, True), (1.5, 0.7, False)):
        heights = depth * COLLAPSE_RAMP[1] * RADIUS * np.exp(-np.square(away / width))
        flesh = (joints + heights[:, None] * normals).astype(np.float32)
        moves = hinges.unite(flesh, joints, BENT) - hinges.unite(joints, joints, BENT)
        assert (np.linalg.norm(moves[middle], axis=1).max() > 0.5 * heights.max()) == is_united


def test_a_band_rides_on_the_limb_and_a_plate_stays_rigid(arm: tuple) -> None:
    points, triangles, weights = arm
    ring = points[(points[:, 0] > 1.9) & (points[:, 0] < 2.1)] * [1.0, 1.1, 1.1]
    plate = np.array([(2, 0, 0.3), (2.2, 0, 0.3), (2.2, 0.2, 0.3), (2, 0.2, 0.3)])
    both = np.concatenate([points, ring, plate])
    count, size = len(points), len(ring)
    faces = [(count + i, count + i + 1, count + i + 2) for i in range(size - 2)]
    faces += [(count + size, count + size + 1, count + size + 2), (count + size, count + size + 2, count + size + 3)]
    band = np.tile([0, 0.9, 0.1, 0, 0], (size, 1))
    held = np.concatenate([weights, band, np.tile([0, 1.0, 0, 0, 0], (4, 1))])
    follows = np.concatenate([np.ones(count), np.zeros(size + 4)])
    layers = find_flesh_layers(
        both, np.arange(len(both)), np.concatenate([triangles, faces]), held, follows, np.full(len(both), RADIUS)
    )
    assert layers.riders is not None
    assert set(range(count, count + size)) <= set(layers.riders.vertices.tolist())
    joints = both.astype(np.float32)
    skin = joints.copy()
    skin[:count, 2] += 0.1 * RADIUS
    skin[count + size] += 0.05
    layers.carry(skin, joints)
    np.testing.assert_allclose(skin[count : count + size, 2] - joints[count : count + size, 2], 0.1 * RADIUS, atol=1e-3)
    own = slice(count + size, None)
    np.testing.assert_allclose(skin[own], move_rigidly(joints[own], skin[own]), atol=1e-6)


def test_only_what_is_near_and_of_like_weights_rides(arm: tuple) -> None:
    points, _, weights = arm
    radii = np.full(len(points), RADIUS)
    near, far = np.array([[2.0, 0.0, 0.21]]), np.array([[2.0, 0.0, 1.0]])
    own, other = np.eye(5)[[1]], np.eye(5)[[3]]
    assert find_riders(near, own, points, weights, radii) is not None
    assert find_riders(far, own, points, weights, radii) is None
    assert find_riders(near, other, points, weights, radii) is None


def test_rigid_motion_is_found(arm: tuple) -> None:
    points = arm[0][:50]
    moved = points @ rotation((1, 2, 3), 70).T + [1, 2, 3]
    np.testing.assert_allclose(move_rigidly(points, moved), moved, atol=1e-9)
    noisy = moved + np.random.default_rng(0).normal(size=moved.shape) * 0.01
    fitted = move_rigidly(points, noisy)
    distances = [np.linalg.norm(each - each[0], axis=1) for each in (points, fitted)]
    np.testing.assert_allclose(*distances, atol=1e-9)
