"""The fit: what it does to a tube that is bent and twisted by another method."""

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.engine_copy import CopiedSkin, Examples, FitParams, fit, fit_linear, measure
from supple.deformers.skinning import dlbnt

from ..cases import each
from ..characters import make_tube, pose_chain, rotation


def ignore(share: float) -> None:
    assert 0.0 <= share <= 1.0


def make_example(angles: np.ndarray, axis: object = (1, 0, 0), width: float = 0.5) -> tuple[CopiedSkin, Examples]:
    """A tube of two joints that bends by dual quaternions."""
    tube = make_tube(2, 24, 8, width)
    joints = Joints(tube.centers, tube.parents, tube.centers + np.array([0.0, 0.0, 1.0]))
    skin = CopiedSkin(tube.points, np.empty((0, 3), int), Weights.from_dense(tube.weights), joints)
    matrices = np.array([pose_chain(tube, {1: rotation(axis, angle)}) for angle in angles])
    targets = dlbnt_targets(Rest(skin.points, skin.weights, joints), matrices)
    return skin, Examples(matrices, lambda frames: targets[frames])


def dlbnt_targets(rest: Rest, matrices: np.ndarray) -> np.ndarray:
    binding = dlbnt.bind(rest, dlbnt.Params())
    return np.array([dlbnt.deform(binding, Pose(pose)) for pose in matrices])


@each("axis", [(1, 0, 0), (0, 0, 1)])
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


def test_a_skin_that_single_bones_hold_stays_as_it_is() -> None:
    skin, examples = make_example(np.linspace(-120.0, 120.0, 5))
    rigid = Weights.from_dense(np.eye(2)[(skin.points[:, 2] > 1.0).astype(int)])
    targets = dlbnt_targets(Rest(skin.points, rigid, skin.joints), examples.matrices)
    copy = fit(replace(skin, weights=rigid), Examples(examples.matrices, targets.__getitem__), FitParams(0.01), ignore)
    assert copy.helpers == copy.keys == ()
    assert (copy.values == [1.0, 0.0, 0.0, 0.0]).all()


def test_coincident_vertices_do_not_tear() -> None:
    skin, examples = make_example(np.linspace(-120.0, 120.0, 17))
    count = len(skin.points)
    doubled = CopiedSkin(
        np.concatenate([skin.points, skin.points]),
        skin.triangles,
        Weights(
            np.concatenate([skin.weights.vertices, skin.weights.vertices + count]),
            np.tile(skin.weights.joints, 2),
            np.tile(skin.weights.values, 2),
        ),
        skin.joints,
    )
    noise = np.random.default_rng(3).normal(0.0, 1e-5, (17, 2 * count, 3))  # as single precision has it
    both = Examples(examples.matrices, lambda frames: np.tile(examples.read(frames), (1, 2, 1)) + noise[frames])
    copy = fit(doubled, both, FitParams(0.01), ignore)
    assert (copy.bones[:count] == copy.bones[count:]).all()
    assert (copy.values[:count] == copy.values[count:]).all()


def test_what_one_bone_holds_stays_at_that_bone() -> None:
    skin, examples = make_example(np.linspace(-120.0, 120.0, 17), width=0.25)
    single = skin.weights.values > 0.9999
    assert single.any()
    copy = fit(skin, examples, FitParams(0.01), ignore)
    vertices = skin.weights.vertices[single]
    assert (copy.bones[vertices, 0] == skin.weights.joints[single]).all()
    assert copy.values[vertices, 0] == pytest.approx(1.0, abs=1e-3)


def test_helpers_move_smoothly_and_not_at_all_at_rest() -> None:
    skin, examples = make_example(np.linspace(0.0, 120.0, 121))
    copy = fit(skin, examples, FitParams(0.005), ignore)
    assert np.abs(copy.helper_matrices[0] - np.eye(4)).max() < 0.01
    steps = np.abs(np.diff(copy.helper_matrices, axis=0)).max(axis=(1, 2, 3))
    joint = np.abs(np.diff(examples.matrices, axis=0)).max(axis=(1, 2, 3))
    assert (steps < 1.5 * joint.max()).all()
    jerks = np.abs(np.diff(copy.helper_matrices, 2, axis=0)).max()
    assert jerks < 0.1 * steps.max()
    halfway = 0.5 * (copy.helper_matrices[:-2] + copy.helper_matrices[2:])  # as engines go between frames
    assert np.abs(halfway - copy.helper_matrices[1:-1]).max() < 0.002


def test_bones_that_are_scaled_are_followed() -> None:
    tube = make_tube(2, 24, 8)
    joints = Joints(tube.centers, tube.parents)
    skin = CopiedSkin(tube.points, np.empty((0, 3), int), Weights.from_dense(tube.weights), joints)
    scales = np.linspace(0.5, 2.0, 9)
    matrices = np.array(
        [pose_chain(tube, {0: s * np.eye(3), 1: rotation((1, 0, 0), 90) @ np.diag([1, 1, s])}) for s in scales]
    )
    binding = dlbnt.bind(Rest(skin.points, skin.weights, joints), dlbnt.Params())
    targets = np.array([dlbnt.deform(binding, Pose(pose)) for pose in matrices])
    examples = Examples(matrices, lambda frames: targets[frames])
    copy = fit(skin, examples, FitParams(0.01), ignore)
    linear = measure(skin, examples, fit_linear(skin, examples, 4), ignore).largest
    assert measure(skin, examples, copy, ignore).largest < 0.25 * linear
    local = np.linalg.inv(matrices[:, [0]]) @ copy.helper_matrices  # a rigid child of its base, which is scaled
    products = local[..., :3, :3] @ local[..., :3, :3].transpose(0, 1, 3, 2)
    assert np.abs(products - np.eye(3)).max() < 1e-9


def test_few_frames_are_read_at_a_time() -> None:
    skin, examples = make_example(np.linspace(-90.0, 90.0, 9))
    reads: list[int] = []

    def read(frames: np.ndarray) -> np.ndarray:
        reads.extend(frames.tolist())
        return examples.read(frames)

    fit(skin, Examples(examples.matrices, read), FitParams(0.01), ignore)
    assert max(reads.count(frame) for frame in range(9)) == 2


@each("limit", [0.05, 0.5, 0.9])
def test_progress_can_cancel(limit: float) -> None:
    class CancelError(Exception):
        pass

    def cancel(share: float) -> None:
        if share > limit:
            raise CancelError

    skin, examples = make_example(np.linspace(-90.0, 90.0, 9))
    with pytest.raises(CancelError):
        fit(skin, examples, FitParams(0.01), cancel)


@each("most", [0, 1, 2])
def test_no_more_helpers_than_chosen(most: int) -> None:
    skin, examples = make_example(np.linspace(-120.0, 120.0, 17))
    assert len(fit(skin, examples, FitParams(0.001, helpers=most), ignore).helpers) == most


def test_a_smaller_tolerance_takes_more() -> None:
    skin, examples = make_example(np.linspace(-120.0, 120.0, 17))
    counts = [len(fit(skin, examples, FitParams(t, keys=0), ignore).helpers) for t in (0.3, 0.05, 0.002)]
    assert counts[0] < counts[1] < counts[2]


def test_a_twist_is_said_as_a_rule() -> None:
    angles = np.linspace(-120.0, 120.0, 17)
    skin, examples = make_example(angles, (0, 0, 1))
    copy = fit(skin, examples, FitParams(0.05), ignore)
    shares = [helper.twist_share for helper in copy.helpers]
    assert None not in shares
    for number, share in enumerate(shares):
        assert 0.0 < share < 1.0
        expected = np.array([rotation((0, 0, 1), share * angle) for angle in angles])
        assert copy.helper_matrices[:, number, :3, :3] == pytest.approx(expected, abs=1e-9)


def test_rules_alone_beside_linear_blending() -> None:
    angles = np.linspace(-120.0, 120.0, 17)
    skin, examples = make_example(angles)
    copy, linear = fit(skin, examples, FitParams(0.01, uses_rules=True), ignore), fit_linear(skin, examples, 4)
    assert copy.helpers
    assert copy.keys == ()
    for number, helper in enumerate(copy.helpers):
        assert helper.turn_share is not None
        expected = np.array([rotation((1, 0, 0), helper.turn_share * angle) for angle in angles])
        assert copy.helper_matrices[:, number, :3, :3] == pytest.approx(expected, abs=1e-9)
    apart = [measure(skin, examples, one, ignore).largest for one in (copy, linear)]
    assert apart[0] < 0.3 * apart[1]


def test_a_bend_is_no_rule() -> None:
    skin, examples = make_example(np.linspace(-120.0, 120.0, 17))
    assert all(helper.twist_share is None for helper in fit(skin, examples, FitParams(0.05), ignore).helpers)
