"""A copy in its poses, and how far it is from the examples."""

import numpy as np
import pytest

from supple.deformers import Joints, Pose, SkinningError, Weights
from supple.deformers import Rest as RestOfCharacter
from supple.deformers.engine_copy import CopiedSkin, CopyFit, Examples, FitParams, Key, fit_linear, measure, pose_copy
from supple.deformers.skinning import ssd

from ..cases import each
from ..characters import make_tube, pose_chain, rotation


def make_skin() -> CopiedSkin:
    tube = make_tube()
    weights = Weights.from_dense(tube.weights)
    return CopiedSkin(tube.points, np.empty((0, 3), int), weights, Joints(tube.centers, tube.parents))


def make_poses(count: int = 5) -> np.ndarray:
    tube = make_tube()
    angles = np.linspace(0.0, 60.0, count)
    return np.array([pose_chain(tube, {1: rotation((1, 0, 0), a), 2: rotation((0, 0, 1), a)}) for a in angles])


def pose_linear(skin: CopiedSkin, matrices: np.ndarray) -> np.ndarray:
    binding = ssd.bind(RestOfCharacter(skin.points, skin.weights, skin.joints), ssd.Params())
    return np.array([ssd.deform(binding, Pose(pose)) for pose in matrices])


def ignore(share: float) -> None:
    assert 0.0 <= share <= 1.0


def test_linear_blending_is_that_of_ssd() -> None:
    skin, matrices = make_skin(), make_poses()
    targets = pose_linear(skin, matrices)
    examples = Examples(matrices, lambda frames: targets[frames])
    copy = fit_linear(skin, examples, 4)
    assert np.abs(pose_copy(skin, examples, copy, np.arange(5)) - targets).max() < 1e-6
    assert measure(skin, examples, copy, ignore).largest < 1e-6


def test_differences_by_hand() -> None:
    skin, matrices = make_skin(), make_poses()
    targets = pose_linear(skin, matrices)
    targets[3, 7, 1] += 0.25
    targets[2, :, 0] += 0.01
    examples = Examples(matrices, lambda frames: targets[frames])
    found = measure(skin, examples, fit_linear(skin, examples, 4), ignore)
    assert (found.frame, found.vertex) == (3, 7)
    assert (
        found.joint
        == skin.weights.joints[skin.weights.vertices == 7][skin.weights.values[skin.weights.vertices == 7].argmax()]
    )
    assert found.largest == pytest.approx(0.25, abs=1e-5)
    assert found.most == pytest.approx(0.01, abs=1e-4)
    count = targets[..., 0].size
    assert found.rms == pytest.approx(np.sqrt((0.25**2 + len(skin.points) * 0.01**2) / count), rel=1e-3)


def test_largest_weights_are_kept_and_sum_to_one() -> None:
    tube = make_tube(6, 12, 4, width=3.0)
    skin = CopiedSkin(
        tube.points, np.empty((0, 3), int), Weights.from_dense(tube.weights), Joints(tube.centers, tube.parents)
    )
    examples = Examples(np.tile(np.eye(4), (1, 6, 1, 1)), lambda frames: np.zeros((len(frames), 48, 3), np.float32))
    copy = fit_linear(skin, examples, 4)
    assert copy.values.sum(axis=1) == pytest.approx(1.0)
    largest = np.sort(tube.weights, axis=1)[:, :1:-1]
    assert copy.values == pytest.approx(largest / largest.sum(axis=1, keepdims=True), abs=1e-6)


def test_vertices_without_weights_stay() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    skin = CopiedSkin(points, np.empty((0, 3), int), Weights(np.array([1]), np.array([0]), np.array([1.0])),
                Joints(np.zeros((1, 3)), np.array([-1])))  # fmt: skip
    moved = np.eye(4)
    moved[2, 3] = 2.0
    examples = Examples(moved[None, None], lambda frames: np.zeros((len(frames), 2, 3), np.float32))
    assert pose_copy(skin, examples, fit_linear(skin, examples, 4), np.array([0])).tolist() == [[[0, 0, 0], [1, 0, 2]]]


def test_keys_act_at_rest() -> None:
    skin, matrices = make_skin(), make_poses()
    examples = Examples(matrices, lambda frames: np.zeros((len(frames), len(skin.points), 3), np.float32))
    copy = fit_linear(skin, examples, 4)
    offsets = np.random.default_rng(1).normal(0.0, 0.1, skin.points.shape).astype(np.float32)
    key = Key(1, np.array([1.0, 0.0, 0.0]), (0.0, 1.0, None), offsets)
    values = np.array([[0.0], [0.25], [0.5], [0.75], [1.0]])
    keyed = CopyFit(copy.helpers, copy.bones, copy.values, copy.helper_matrices, (key,), values)
    shaped = CopiedSkin(skin.points + 0.5 * offsets, skin.triangles, skin.weights, skin.joints)
    expected = pose_copy(shaped, examples, copy, np.array([2]))
    assert np.abs(pose_copy(skin, examples, keyed, np.array([2])) - expected).max() < 1e-6


@each(
    ("chosen", "message"),
    [
        ({"tolerance": 0.0}, "Tolerance is 0: choose a value above 0"),
        ({"influences": 3}, "Influences is 3: choose 4 or 8"),
    ],
)
def test_wrong_choices_have_a_message(chosen: dict, message: str) -> None:
    with pytest.raises(SkinningError, match=message):
        FitParams(**chosen)
