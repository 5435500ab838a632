"""Bulge limit: what it keeps from happening, and whom it leaves alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.skinning import centers
from supple.deformers.skinning.bulge_limit import share_joints

from ..cases import each
from ..characters import about, rotation
from .limbs import HEADS, RADIUS, TAILS, find_radii, make_limb, pose_limb


def skin(rest: Rest, matrices: np.ndarray, bulge_limit: float = 0.0, space: np.ndarray | None = None) -> np.ndarray:
    binding = centers.bind(rest, centers.Params(bulge_limit=bulge_limit, sharpness=0.0))
    return centers.deform(binding, Pose(matrices, space)).astype(float)


@each("ramp", [0.25, 0.5])
def test_the_limit_holds_skin_to_its_distance(ramp: float) -> None:
    rest, matrices = make_limb(ramp), pose_limb(bend=120.0)
    free, half, full = (find_radii(skin(rest, matrices, limit), matrices).max() for limit in (0.0, 0.5, 1.0))
    assert full < 1.05 * RADIUS
    assert free > half > full + 1e-4


def test_scaled_bones_have_wider_limits() -> None:
    rest, large = make_limb(0.5), np.diag([2.0, 2.0, 2.0, 1.0])
    matrices = pose_limb(bend=120.0)
    posed = skin(rest, matrices, 1.0)
    np.testing.assert_allclose(skin(rest, large @ matrices, 1.0), 2.0 * posed, rtol=0, atol=1e-5)


def test_another_space_and_strength() -> None:
    """A mesh in a space of its own goes where it would in the armature's; half the strength is half of its way."""
    rest, matrices = make_limb(0.5), pose_limb(bend=120.0)
    space = about(rotation((1, 2, 3), 50) @ np.diag([0.5, 2.0, 1.5]), np.zeros(3), (0.4, -0.7, 1.1))
    back = np.linalg.inv(space)
    inside = replace(rest, points=rest.points @ back[:3, :3].T + back[:3, 3], object_to_armature=space)
    posed = skin(rest, matrices, 1.0)
    np.testing.assert_allclose(
        skin(inside, matrices, 1.0, space) @ space[:3, :3].T + space[:3, 3], posed, rtol=0, atol=1e-5
    )
    none = skin(replace(rest, strength=np.zeros(len(rest.points))), matrices, 1.0)
    np.testing.assert_allclose(none, rest.points, rtol=0, atol=1e-6)


@each("scales", [(1.0, 1.0, 0.0), (0.0, 1.0, 1.0), (0.0, 0.0, 1.0), (0.0, 0.0, 0.0), (50.0, 0.0, 50.0)])
def test_a_flat_bone_is_the_same_however_it_is_rounded(scales: tuple[float, ...]) -> None:
    """The bone above; the one below was taken away from it, so that both have a direction."""
    rest, (_, below), rng = make_limb(), pose_limb(bend=70.0), np.random.default_rng(1)
    below[:3, 3] = 0.1, 0.2, 0.4
    matrices = np.stack([about(rotation((1, 2, 3), 40) @ np.diag(scales), np.zeros(3)), below])
    posed = skin(rest, matrices, 1.0)
    for _ in range(4):
        rounded = matrices.copy()
        rounded[:, :3, :3] += 1e-7 * max(1.0, *scales) * rng.uniform(-1.0, 1.0, (2, 3, 3))
        np.testing.assert_allclose(skin(rest, rounded, 1.0), posed, rtol=0, atol=1e-5 * max(1.0, *scales))


def test_rest_and_rigid_motion_are_untouched() -> None:
    rest = make_limb()
    moved = about(rotation((3, 1, 2), 130), np.zeros(3), (0.4, 0.1, 0.2))
    for matrix in (np.eye(4), moved):
        posed = skin(rest, np.tile(matrix, (2, 1, 1)), 1.0)
        np.testing.assert_allclose(posed, rest.points @ matrix[:3, :3].T + matrix[:3, 3], rtol=0, atol=1e-6)


def test_fingers_beside_each_other_are_left_alone() -> None:
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
    posed = skin(rest, np.concatenate([pose_limb(bend=120.0), straight]), 1.0)
    np.testing.assert_allclose(posed[len(beside) :], beside, rtol=0, atol=1e-6)


def test_vertices_of_a_bone_aside_belong_to_no_joint() -> None:
    rest = make_limb()
    joints = Joints(
        np.append(HEADS, [[0.0, 0, 1]], axis=0), np.array([-1, 0, 1]), np.append(TAILS, [[1, 0, 1]], axis=0)
    )
    weights = Weights.from_dense(np.tile([0.35, 0.35, 0.3], (len(rest.points), 1)))
    assert not share_joints(replace(rest, weights=weights, joints=joints))[1].any()


def test_moving_either_bone_is_noticed() -> None:
    """Also where shape and transforms are asked for in turn."""
    rest, params = make_limb(), centers.Params(bulge_limit=1.0)
    binding = centers.bind(rest, params)
    lower = pose_limb(bend=150.0)[1]
    for upper in (np.eye(4), about(rotation((1, 0, 0), 30), np.zeros(3)), np.eye(4)):
        pose = Pose(np.stack([upper, lower]))
        points, transforms = centers.deform(binding, pose), centers.vertex_transforms(binding, pose)
        np.testing.assert_array_equal(points, centers.deform(centers.bind(rest, params), pose))
        moved = np.einsum("vij,vj->vi", transforms[:, :3, :3], rest.points) + transforms[:, :3, 3]
        np.testing.assert_allclose(moved, points, rtol=0, atol=1e-5)


def test_no_limit_costs_nothing() -> None:
    assert centers.bind(make_limb(), centers.Params(bulge_limit=0.0)).limit is None
    assert centers.bind(make_limb(), centers.Params(bulge_limit=0.5)).limit is not None


def test_skin_of_twist_bones_belongs_to_a_joint() -> None:
    """Near a joint skin may follow three bones in a row."""
    joints = Joints(
        np.append(HEADS, [[0.0, 0.0, 1.0]], axis=0), np.array([-1, 0, 1]), np.append(TAILS, [[0.0, 0.0, 2.0]], axis=0)
    )
    rest = make_limb()
    weights = Weights.from_dense(np.tile([0.4, 0.4, 0.2], (len(rest.points), 1)))
    found, shares = share_joints(replace(rest, weights=weights, joints=joints))
    assert (found[rest.points[:, 2] < 0.4] == 1).all()
    assert shares[np.abs(rest.points[:, 2]) < 0.4].min() > 0.9


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
    free, limited = skin(both, matrices), skin(both, matrices, 1.0)
    np.testing.assert_array_equal(limited[count:], free[count:])
    assert np.abs(limited - free).max() > 0.01
