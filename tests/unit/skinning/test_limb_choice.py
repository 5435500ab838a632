"""Which limbs roll: those whose skin is stretched less."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import Joints, Rest, Weights
from supple.deformers.rig.limbs import LOWER, UPPER, Limb, plan_limbs
from supple.deformers.skinning.limb_choice import choose_limbs, measure_limbs, pose_twists

SIDES, STEP = 16, 0.1
NAMES = ("trunk", "upper 1", "lower 1", "end 1", "upper -1", "lower -1", "end -1")
JOINTS = Joints(
    np.array([(0, 0, -2), (1, 0, 0), (3, 0, 0), (5, 0, 0), (-1, 0, 0), (-3, 0, 0), (-5, 0, 0)], float),
    np.array([-1, 0, 1, 2, 0, 4, 5]),
    np.array([(0, 0, 0), (3, 0, 0), (5, 0, 0), (6, 0, 0), (-3, 0, 0), (-5, 0, 0), (-6, 0, 0)], float),
)


def make_arms(ramp: float) -> Rest:
    """A tube through both arms, whose weights cross over from so far before a joint to so far after it."""
    heights = np.arange(-6.0 + STEP / 2, 6.0, STEP)  # none at a joint
    angles = np.arange(SIDES) * 2.0 * np.pi / SIDES
    points = np.stack(np.broadcast_arrays(heights[:, None], 0.4 * np.cos(angles), 0.4 * np.sin(angles)), axis=-1)
    index = np.arange(len(heights) * SIDES).reshape(-1, SIDES)
    after = np.roll(index, -1, axis=1)
    quads = np.stack([index[:-1], after[:-1], after[1:], index[1:]], axis=-1).reshape(-1, 4)
    triangles = np.concatenate([quads[:, :3], quads[:, [0, 2, 3]]])
    points = points.reshape(-1, 3)
    away = np.abs(points[:, 0])
    past = [np.clip((away - joint + ramp) / (2.0 * ramp), 0.0, 1.0) for joint in (1.0, 3.0, 5.0)]
    shares = -np.diff(np.array([np.ones(len(away)), *past, np.zeros(len(away))]), axis=0)
    dense = np.zeros((len(points), len(NAMES)))
    dense[:, 0] = shares[0]
    for first, side in ((1, points[:, 0] > 0.0), (4, points[:, 0] <= 0.0)):
        dense[:, first : first + 3] = np.where(side[:, None], shares[1:].T, 0.0)
    return Rest(points, Weights.from_dense(dense), JOINTS, triangles=triangles)


def plan() -> tuple[Limb, ...]:
    return plan_limbs(JOINTS, np.ones(len(NAMES), bool))


def test_limbs_are_planned_on_both_sides() -> None:
    assert [(limb.kind, NAMES[limb.source]) for limb in plan()] == [
        (LOWER, "end 1"), (LOWER, "end -1"), (UPPER, "upper 1"), (UPPER, "upper -1"),
    ]  # fmt: skip


def test_limbs_of_smooth_skin_roll() -> None:
    rest, limbs = make_arms(0.3), plan()
    assert choose_limbs(limbs, [rest]) == limbs
    for stretch in measure_limbs(limbs, [rest]).values():
        assert stretch.before > 0.1
        assert stretch.after < 0.5 * stretch.before


def test_parts_held_by_one_bone_each_do_not_roll() -> None:
    rest = make_arms(1e-9)
    whole = rest.weights.joints[np.searchsorted(rest.weights.vertices, rest.triangles)]
    apart = replace(rest, triangles=rest.triangles[(whole == whole[:, :1]).all(axis=1)])
    stretches = measure_limbs(plan(), [apart])
    assert all(stretch.before < 1e-5 < 0.01 < stretch.after for stretch in stretches.values())
    assert choose_limbs(plan(), [apart]) == ()


def test_limbs_that_go_round_roll_whatever_the_stretch() -> None:
    limbs = tuple(replace(limb, twist=4.0) for limb in plan())
    rest = make_arms(0.3)
    weights = rest.weights
    noise = np.random.default_rng(4).uniform(0.0, 1.0, len(weights.values))
    assert choose_limbs(limbs, [replace(rest, weights=replace(weights, values=noise))]) == limbs


def test_both_sides_are_decided_together_over_all_meshes() -> None:
    rest, limbs = make_arms(0.3), plan()
    left, right = (
        replace(rest, triangles=rest.triangles[side[rest.triangles].all(axis=1)])
        for side in (rest.points[:, 0] > 0.0, rest.points[:, 0] <= 0.0)
    )
    for rests in ([left, right], [left], [right]):
        chosen = choose_limbs(limbs, rests)
        assert {limb.pair for limb in chosen} == {0, 1}
        assert len(chosen) == 4
    apart = measure_limbs(limbs, [left, right])
    whole = measure_limbs(limbs, [rest])
    np.testing.assert_allclose(apart[0].before, whole[0].before, rtol=1e-6)


def test_space_and_unit_make_no_difference() -> None:
    rest, limbs = make_arms(0.3), plan()
    space = np.array([[0.0, 2, 0, 1], [-2, 0, 0, 3], [0, 0, 2, 0], [0, 0, 0, 1]])
    inverse = np.linalg.inv(space)
    moved = replace(rest, points=rest.points @ inverse[:3, :3].T + inverse[:3, 3], object_to_armature=space)
    ours, theirs = measure_limbs(limbs, [rest]), measure_limbs(limbs, [moved])
    for pair, stretch in ours.items():
        np.testing.assert_allclose(
            (theirs[pair].before, theirs[pair].after), (stretch.before, stretch.after), rtol=1e-3
        )


@pytest.mark.parametrize("rests", [[], [replace(make_arms(0.3), triangles=None)]])
def test_limbs_without_skin_do_not_roll(rests: list[Rest]) -> None:
    assert choose_limbs(plan(), rests) == ()


def test_sources_alone_are_twisted() -> None:
    lower = plan()[:1]
    matrices = pose_twists(JOINTS, lower, np.radians(90.0)).rest_to_pose
    twisted = (matrices != np.eye(4)).any(axis=(1, 2))
    assert [NAMES[joint] for joint in np.flatnonzero(twisted)] == ["end 1"]
    np.testing.assert_allclose(matrices[3] @ (5, 1, 0, 1), (5, 0, 1, 1), atol=1e-12)
