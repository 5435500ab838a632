"""An engine copy as readers of USD blend it by dual quaternions."""

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.engine_copy import Examples, Skin
from supple.deformers.engine_copy.dual_quaternions import find_scaled, fit_rigid, measure_rigid, pose_rigid
from supple.deformers.rig.fraction_plan import plan_fractions
from supple.deformers.skinning import dlb

from ..cases import each
from ..characters import about, rotation


@pytest.fixture
def skin():
    points = np.random.default_rng(0).uniform(-1, 2, (60, 3))
    weights = np.random.default_rng(1).dirichlet(np.ones(3), 60)
    joints = Joints(np.array([[0, 0, 0], [0, 1, 0], [0, 2, 0.0]]), np.array([-1, 0, 1]))
    return Skin(points, np.empty((0, 3), int), Weights.from_dense(weights), joints)


def pose(degrees):
    first = about(rotation((1, 0, 0.2), degrees), np.array([0, 1.0, 0]), (0.1, 0, 0))
    return np.stack([np.eye(4), first, first @ about(rotation((0, 1, 0), degrees), np.array([0, 2.0, 0]))])


@each("degrees", [0.0, 40.0, 120.0, -75.0])
@each("has_fractions", [False, True])
def test_it_is_dlb(skin, degrees, has_fractions):
    matrices = pose(degrees)
    joints = skin.joints
    if has_fractions:
        joints = replace(joints, fractions=plan_fractions(joints, np.array([0, 3, 2]), np.zeros(3, int)))
    rest = Rest(skin.points, skin.weights, joints)
    binding = dlb.bind(rest, dlb.Params())
    expected = dlb.deform(binding, Pose(matrices))
    examples = Examples(matrices[None], lambda frames: expected[None][frames])
    found = fit_rigid([rest], matrices[None])
    assert len(found.helpers) == (5 if has_fractions else 0)
    everything = np.concatenate([matrices, found.helper_matrices[0]])
    assert pose_rigid(skin, everything, found) == pytest.approx(expected, abs=1e-5)
    assert measure_rigid(skin, examples, found, lambda share: None, np.arange(1)).largest < 1e-5


def test_a_vertex_without_weights_stays(skin):
    weights = Weights(skin.weights.vertices[3:], skin.weights.joints[3:], skin.weights.values[3:])
    loose = Skin(skin.points, skin.triangles, weights, skin.joints)
    found = fit_rigid([Rest(loose.points, loose.weights, loose.joints)], pose(0.0)[None])
    assert pose_rigid(loose, pose(90.0), found)[0] == pytest.approx(skin.points[0])


def test_scaled_joints_are_found():
    matrices = np.stack([pose(30.0), pose(60.0)])
    assert find_scaled(matrices) is None
    matrices[1, 2, :3, 0] *= 1.2
    assert find_scaled(matrices) == (1, 2)
