"""Chains that reach for targets: by hand, within limits, and out of reach."""

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.posing.bones import PosedBones
from supple.deformers.posing.chain import aim_angles, begin_chain
from supple.deformers.posing.limits import RotationLimits, angles_within, rotations_from_angles

from ..cases import each


def make_chain(count: int, limits: RotationLimits | None = None, **parts: np.ndarray) -> PosedBones:
    """Bones of length 1 along y."""
    posed = np.tile(np.eye(4), (count, 1, 1))
    posed[:, 1, 3] = np.arange(count)
    yes = np.ones(count, bool)
    given = {"free": yes, "follows": yes, "may_move": ~yes} | parts
    rest = np.tile(np.eye(3), (count, 1, 1))
    return PosedBones(np.arange(count) - 1, posed, rest, limits=limits or RotationLimits.none(count), **given)


def end_of(posed: np.ndarray) -> np.ndarray:
    return posed[-1] @ [0.0, 1.0, 0.0, 1.0]


@each("target", [(1.0, 1.0, 0.0), (0.5, -0.7, 1.1), (0.0, 1.5, 0.9)])
def test_two_bones_reach_a_target(target: tuple[float, float, float]) -> None:
    chain = begin_chain(make_chain(2), [1, 0], np.array([0.0, 2.0, 0.0]))
    posed = chain.move(np.array(target))
    assert end_of(posed)[:3] == pytest.approx(target, abs=1e-3)
    assert np.linalg.norm(posed[1, :3, 3]) == pytest.approx(1.0)
    assert chain.distance < 1e-3


def test_out_of_reach_it_points_there() -> None:
    chain = begin_chain(make_chain(3), [2, 1, 0], np.array([0.0, 3.0, 0.0]))
    posed = chain.move(np.array([4.0, 3.0, 0.0]))
    assert end_of(posed)[:3] == pytest.approx([2.4, 1.8, 0.0], abs=0.05)
    assert chain.distance == pytest.approx(2.0, abs=1e-2)


def test_a_hinge_bends_to_its_limit_and_no_farther() -> None:
    lowest, highest = np.zeros((1, 3)), np.radians([[60.0, 0.0, 0.0]])
    bones = make_chain(1, RotationLimits(np.array([[0, 1, 2]]), lowest, highest))
    chain = begin_chain(bones, [0], np.array([0.0, 1.0, 0.0]))
    assert end_of(chain.move(np.array([0.0, 0.0, 1.0])))[:3] == pytest.approx([0, 0.5, np.sqrt(0.75)])
    assert end_of(chain.move(np.array([0.0, 0.0, -1.0])))[:3] == pytest.approx([0, 1, 0])


def test_the_best_angle_is_that_of_a_search() -> None:
    random = np.random.default_rng(4)
    for _ in range(20):
        arm, aim = random.normal(size=(2, 3))
        lowest, highest = -random.uniform(0.0, 2.0, 3), random.uniform(0.0, 2.0, 3)
        order = random.permutation(3)
        lowest[order[1:]] = highest[order[1:]] = 0.0
        found = aim_angles(np.zeros(3), order, (lowest, highest), arm, aim)
        tried = np.zeros((4001, 3))
        tried[:, order[0]] = np.linspace(lowest[order[0]], highest[order[0]], 4001)
        ends = rotations_from_angles(tried, np.tile(order, (4001, 1))) @ arm
        best = tried[np.argmax(ends @ aim)]
        assert found == pytest.approx(best, abs=1e-3)


def test_targets_in_reach_are_reached_within_limits() -> None:
    random = np.random.default_rng(5)
    for _ in range(20):
        lowest, highest = -random.uniform(0, 1.5, (5, 3)), random.uniform(0, 1.5, (5, 3))
        limits = RotationLimits(random.permuted(np.tile(np.arange(3), (5, 1)), axis=1), lowest, highest)
        bones = make_chain(5, limits)
        turns = rotations_from_angles(random.uniform(lowest, highest), limits.orders)
        target, turned = np.zeros(3), np.eye(3)
        for turn in turns:
            turned = turned @ turn
            target = target + turned[:, 1]
        chain = begin_chain(bones, [4, 3, 2, 1, 0], np.array([0.0, 5.0, 0.0]))
        posed = chain.move(target, tolerance=5e-3)
        assert end_of(posed)[:3] == pytest.approx(target, abs=5e-3)
        local = PosedBones(**{**vars_of(bones), "posed": posed}).local
        angles = angles_within(local, limits)
        assert (angles >= lowest - 1e-9).all()
        assert (angles <= highest + 1e-9).all()


def vars_of(bones: PosedBones) -> dict:
    names = ("parents", "posed", "rest_local", "free", "follows", "may_move", "limits")
    return {name: getattr(bones, name) for name in names}


def test_a_stiff_joint_rotates_less() -> None:
    bends = []
    for stiffness in (0.0, 0.9):
        chain = begin_chain(make_chain(3), [2, 1, 0], np.array([0.0, 3.0, 0.0]), np.array([0.0, 0.0, stiffness]))
        posed = chain.move(np.array([1.5, 1.5, 0.0]))
        bends.append(np.arccos(posed[1, :3, 1] @ posed[2, :3, 1]))
        assert chain.distance < 1e-2
    assert bends[1] < 0.5 * bends[0]


def test_a_chain_without_free_bones_is_refused() -> None:
    with pytest.raises(SkinningError, match="can rotate"):
        begin_chain(make_chain(2, free=np.zeros(2, bool)), [1, 0], np.array([0.0, 2.0, 0.0]))
