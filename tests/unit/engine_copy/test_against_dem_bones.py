"""A fit beside that of Dem Bones, by which the industry makes bones of examples: the same examples, locks, influences.

It runs in an environment of its own: make test-engine-copy.
"""

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.engine_copy import CopiedSkin, CopyFit, Examples, FitParams, fit, measure, patch
from supple.deformers.engine_copy.motions import share_turns, split_turns
from supple.deformers.engine_copy.regions import relate_to_parents
from supple.deformers.skinning import centers, dlbnt

from ..characters import Character, make_tube, pose_chain, rotation

dem_bones = pytest.importorskip("py_dem_bones")

WORSE = 1.05
"""Our root mean square over theirs, at most."""

INFLUENCES, ITERATIONS = 4, 60


def make_examples(tube: Character, module: object) -> tuple[CopiedSkin, Examples]:
    """A tube that bends to both sides, and twists, at all of its joints."""
    count = len(tube.parents)
    joints = Joints(tube.centers, tube.parents, tube.centers + np.array([0.0, 0.0, 1.0]))
    skin = CopiedSkin(tube.points, np.empty((0, 3), int), Weights.from_dense(tube.weights), joints)
    poses = [
        pose_chain(tube, {joint: rotation(axis, angle)})
        for joint in range(1, count)
        for axis in np.eye(3)
        for angle in (-100, -60, -30, 30, 60, 100)
    ]
    binding = module.bind(Rest(skin.points, skin.weights, joints), module.Params())
    targets = np.array([module.deform(binding, Pose(pose)) for pose in poses])
    return skin, Examples(np.array(poses), lambda frames: targets[frames])


def fit_by_dem_bones(skin: CopiedSkin, examples: Examples, matrices: np.ndarray, weights: np.ndarray) -> float:
    """Root mean square error per vertex that Dem Bones reaches from matrices (F, N, 4, 4) and weights (N, V)."""
    count, joint_count, frames = len(skin.points), len(skin.joints.parents), examples.count
    bone_count = matrices.shape[1]
    targets = examples.read(np.arange(frames)).astype(float)
    solver = dem_bones._DemBones()  # noqa: SLF001 - the class itself, not its wrapper
    solver.nS, solver.nV, solver.nF, solver.nB, solver.nnz = 1, count, frames, bone_count, INFLUENCES
    solver.fStart, solver.subjectID = np.array([0, frames]), np.zeros(frames, int)
    solver.set_rest_pose(np.ascontiguousarray(skin.points.T, float))
    solver.set_animated_poses(targets.transpose(0, 2, 1).reshape(-1, count))
    solver.lockM = np.array([1] * joint_count + [0] * (bone_count - joint_count))
    solver.lockW = np.zeros(count)
    solver.m = matrices.transpose(0, 2, 1, 3).reshape(4 * frames, 4 * bone_count)
    solver.set_weights(weights / weights.sum(axis=0))
    solver.weightsSmooth, solver.transAffine, solver.nIters = 0.0, 0.0, ITERATIONS
    solver.compute()
    found = solver.m.reshape(frames, 4, bone_count, 4).transpose(0, 2, 1, 3)
    assert found[:, :joint_count] == pytest.approx(examples.matrices, abs=1e-9)
    full = np.concatenate([skin.points, np.ones((count, 1))], axis=1)
    posed = np.einsum("bv,fbij,vj->fvi", np.asarray(solver.get_weights()), found[:, :, :3], full)
    return float(np.sqrt(np.square(posed - targets).sum(axis=2).mean()))


def begin_anew(skin: CopiedSkin, examples: Examples, copy: CopyFit) -> tuple[np.ndarray, np.ndarray]:
    """Matrices and weights with helpers at even shares of their turns, and some weight for those near."""
    joints, joint_count = skin.joints, len(skin.joints.parents)
    local = relate_to_parents(examples.matrices, joints.parents)
    turns, owners = split_turns(local), [helper.joint for helper in copy.helpers]
    shares = [(owners[:n].count(joint) + 1) / (owners.count(joint) + 1) for n, joint in enumerate(owners)]
    begun = [
        examples.matrices[:, joints.parents[joint]] @ share_turns(local, turns, joints, joint, share)
        for joint, share in zip(owners, shares, strict=True)
    ]
    weights = np.zeros((joint_count + len(owners), len(skin.points)))
    weights[skin.weights.joints, skin.weights.vertices] = skin.weights.values
    for number, joint in enumerate(owners):
        weights[joint_count + number] = np.sqrt(weights[joint] * weights[joints.parents[joint]])
    return np.concatenate([examples.matrices, np.stack(begun, axis=1)], axis=1), weights


MISSED = pytest.mark.xfail(strict=True, reason="1.13: its third helper begins where the difference is largest")


@pytest.mark.parametrize(
    ("joint_count", "module"),
    [
        pytest.param(2, dlbnt, id="2-DLBNT"),
        pytest.param(4, dlbnt, id="4-DLBNT"),
        pytest.param(2, centers, id="2-CENTERS", marks=MISSED),
        pytest.param(4, centers, id="4-CENTERS"),
    ],
)
def test_no_worse_than_dem_bones(module: object, joint_count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patch, "MAX_EMPHASIS", 1.0)  # it aims at the largest differences, too; theirs does not
    skin, examples = make_examples(make_tube(joint_count, 16 * joint_count, 10), module)
    copy = fit(skin, examples, FitParams(0.02, INFLUENCES, keys=0), lambda _: None)
    own = measure(skin, examples, copy, lambda _: None).rms
    theirs = fit_by_dem_bones(skin, examples, *begin_anew(skin, examples, copy))
    print(f"{own:.5f} beside {theirs:.5f}: {own / theirs:.2f}")
    assert own <= WORSE * theirs
