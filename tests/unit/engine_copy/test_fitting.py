"""The fit: what it does to a tube that is bent and twisted by another method."""

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.engine_copy import Examples, FitParams, Skin, fit, fit_linear, measure
from supple.deformers.skinning import dlbnt

from ..characters import make_tube, pose_chain, rotation


def ignore(share: float) -> None:
    assert 0.0 <= share <= 1.0


def make_example(angles: np.ndarray, axis: object = (1, 0, 0)) -> tuple[Skin, Examples]:
    """A tube of two joints that bends by dual quaternions."""
    tube = make_tube(2, 24, 8)
    joints = Joints(tube.centers, tube.parents)
    skin = Skin(tube.points, np.empty((0, 3), int), Weights.from_dense(tube.weights), joints)
    matrices = np.array([pose_chain(tube, {1: rotation(axis, angle)}) for angle in angles])
    binding = dlbnt.bind(Rest(skin.points, skin.weights, joints), dlbnt.Params())
    targets = np.array([dlbnt.deform(binding, Pose(pose)) for pose in matrices])
    return skin, Examples(matrices, lambda frames: targets[frames])


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 0, 1)], ids=["bend", "twist"])
def test_helpers_take_over_what_linear_blending_loses(axis: object) -> None:
    skin, examples = make_example(np.linspace(-120.0, 120.0, 17), axis)
    copy = fit(skin, examples, FitParams(0.01), ignore)
    found, linear = (measure(skin, examples, made, ignore).largest for made in (copy, fit_linear(skin, examples, 4)))
    assert 1 <= len(copy.helpers) <= 4
    assert {(helper.joint, helper.base) for helper in copy.helpers} == {(1, 0)}
    assert linear > 0.1
    assert found < 0.02
    assert copy.values.sum(axis=1) == pytest.approx(1.0, abs=1e-6)
    assert (copy.values >= 0.0).all()


def test_joints_that_do_not_bend_get_no_helper() -> None:
    skin, examples = make_example(np.zeros(4))
    assert fit(skin, examples, FitParams(0.001), ignore).helpers == ()
