"""Which bones are limbs that take up twist."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import Joints
from supple.deformers.rig.limbs import (
    LOWER,
    OTHER,
    UPPER,
    find_limb_chains,
    find_mirrored,
    make_rolls,
    measure_size,
    plan_limbs,
)

# Name, name of the bone before, head and tail of a body on its left side, or in its middle.
TRUNK = (
    ("hips", "", (0, 0, 10), (0, 0, 12)),
    ("spine", "hips", (0, 0, 12), (0, 0, 15)),
    ("neck", "spine", (0, 0, 15), (0, 0, 16)),
    ("head", "neck", (0, 0, 16), (0, 0, 18)),
    ("breast", "spine", (0.1, 0, 14), (0.8, -1.2, 14)),
)
ARM = (
    ("collar", "spine", (0.2, 0, 15), (1.5, 0, 15)),
    ("upper arm", "collar", (1.5, 0, 15), (4, 0, 15)),
    ("forearm", "upper arm", (4, 0, 15), (6.4, 0, 15)),
    ("hand", "forearm", (6.4, 0, 15), (7, 0, 15)),
    ("finger", "hand", (7, 0, 15), (7.4, 0, 15)),
    ("finger 2", "finger", (7.4, 0, 15), (7.8, 0, 15)),
    ("thumb", "hand", (6.6, -0.2, 15), (6.8, -0.6, 15)),
    ("thumb 2", "thumb", (6.8, -0.6, 15), (7, -0.9, 15)),
)
LEG = (
    ("thigh", "hips", (1, 0, 10), (1.1, -0.2, 5.5)),
    ("shin", "thigh", (1.1, -0.2, 5.5), (1.2, 0.2, 1)),
    ("foot", "shin", (1.2, 0.2, 1), (1.2, -1, 0.3)),
    ("toes", "foot", (1.2, -1, 0.3), (1.2, -1.5, 0.2)),
)
HALVES = (
    *ARM[:1],
    ("upper arm", "collar", (1.5, 0, 15), (2.5, 0, 15)),
    ("upper arm 2", "upper arm", (2.5, 0, 15), (4, 0, 15)),
    ("forearm", "upper arm 2", (4, 0, 15), (5.2, -0.1, 15)),
    ("forearm 2", "forearm", (5.2, -0.1, 15), (6.4, -0.2, 15)),
    ("hand", "forearm 2", (6.4, -0.2, 15), (7, -0.2, 15)),
    *ARM[4:],
)
CONTROLS = (
    ("foot control", "hips", (1.2, -1.5, 0.2), (1.2, 0.8, 0.2)),
    ("heel control", "foot control", (1.2, 0.8, 0.2), (1.2, -0.5, 0.2)),
    ("ball control", "heel control", (1.2, -0.5, 0.2), (1.2, -0.5, 1)),
    ("knee control", "hips", (1.1, -5, 5.5), (1.1, -7, 5.5)),
)
FORELEG = (
    ("shoulder blade", "spine", (0.5, 0, 15), (1, -1.5, 13)),
    ("upper leg", "shoulder blade", (1, -1.5, 13), (1, 0, 11.5)),
    ("lower leg", "upper leg", (1, 0, 11.5), (1, 0, 9)),
    ("wrist", "lower leg", (1, 0, 9), (1, 0.1, 7.5)),
    ("paw", "wrist", (1, 0.1, 7.5), (1, -0.5, 7)),
    ("claw", "paw", (1, -0.5, 7), (1, -0.8, 7)),
)
BLADE = (
    ("shoulder blade", "spine", (0.5, 0, 15), (1, -1, 13.2)),
    ("upper leg", "shoulder blade", (1, -1, 13.2), (1, -0.3, 11.3)),
    ("lower leg", "upper leg", (1, -0.3, 11.3), (1, -0.2, 9.1)),
    ("paw", "lower leg", (1, -0.2, 9.1), (1, -0.6, 8.8)),
)
CASES = {
    "a body": (TRUNK + ARM + LEG, {
        (LOWER, "forearm", "hand"), (LOWER, "shin", "foot"), (UPPER, "upper arm", "upper arm"),
        (UPPER, "thigh", "thigh"),
    }),
    "arms in halves": (TRUNK + HALVES, {
        (LOWER, "forearm, forearm 2", "hand"), (UPPER, "upper arm, upper arm 2", "upper arm"),
    }),
    "controls": (TRUNK + LEG + CONTROLS, {(LOWER, "shin", "foot"), (UPPER, "thigh", "thigh")}),
    "an animal's foreleg": (TRUNK + FORELEG, {
        (LOWER, "lower leg", "wrist"), (UPPER, "upper leg", "upper leg"),
    }),
    "a shoulder blade bent by 50 degrees": (TRUNK + BLADE, {
        (LOWER, "lower leg", "paw"), (UPPER, "upper leg", "upper leg"),
    }),
    "a trunk": (TRUNK, set()),
}  # fmt: skip


def make_joints(bones: tuple) -> tuple[list[str], Joints]:
    """Both sides of what is given of one: names, which end in 1 and -1, and joints."""
    names, parents, heads, tails = [], [], [], []
    for name, before, head, tail in bones:
        for side in (1, -1) if tail[0] else (0,):
            names.append(f"{name} {side}" if side else name)
            parents.append(next((i for i, n in enumerate(names[:-1]) if n in (before, f"{before} {side}")), -1))
            heads.append((side * head[0], *head[1:]) if side else head)
            tails.append((side * tail[0], *tail[1:]) if side else tail)
    return names, Joints(np.array(heads, float), np.array(parents), np.array(tails, float))


def plan(names: list[str], joints: Joints, **options: np.ndarray) -> set[tuple[str, str, str]]:
    """Kind, bones and source of all limbs."""
    may_roll = options.pop("may_roll", np.ones(len(names), bool))
    limbs = plan_limbs(joints, may_roll, **options)
    return {(limb.kind, ", ".join(names[bone] for bone in limb.bones), names[limb.source]) for limb in limbs}


def name_both(expected: set[tuple[str, str, str]]) -> set[tuple[str, str, str]]:
    """The same for both sides."""
    return {
        (kind, ", ".join(f"{bone} {side}" for bone in bones.split(", ")), f"{source} {side}")
        for kind, bones, source in expected
        for side in (1, -1)
    }


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("is_turned", [False, True])
def test_limbs_are_found_by_where_the_joints_are(case: str, is_turned: bool) -> None:
    bones, expected = CASES[case]
    names, joints = make_joints(bones)
    if is_turned:
        joints = Joints(joints.centers[:, [2, 0, 1]] * 0.1, joints.parents, joints.tails[:, [2, 0, 1]] * 0.1)
    assert plan(names, joints) == name_both(expected)


@pytest.mark.parametrize("case", CASES)
def test_permuted_joints_give_the_same(case: str) -> None:
    names, joints = make_joints(CASES[case][0])
    order = np.random.default_rng(1).permutation(len(names))
    place = np.append(np.argsort(order), -1)
    permuted = Joints(joints.centers[order], place[joints.parents[order]], joints.tails[order])
    assert plan([names[index] for index in order], permuted) == plan(names, joints)


def test_mirrored_joints_give_mirrored_limbs() -> None:
    names, joints = make_joints(TRUNK + HALVES + LEG)
    random = np.random.default_rng(2)
    noise, flip = random.uniform(-0.05, 0.05, (len(names), 3)), np.array([-1.0, 1.0, 1.0])
    uneven = Joints(joints.centers + noise, joints.parents, joints.tails + noise)
    mirrored = Joints(uneven.centers * flip, uneven.parents, uneven.tails * flip)
    ours, theirs = (plan_limbs(each, np.ones(len(names), bool)) for each in (uneven, mirrored))
    assert len(ours) == 8
    theirs = {(limb.kind, limb.bones): limb for limb in theirs}
    for limb in ours:
        other = theirs[limb.kind, limb.bones]
        np.testing.assert_allclose(other.axis, limb.axis * flip, atol=1e-12)
        np.testing.assert_allclose(other.shares, limb.shares, atol=1e-12)


def test_bones_off_the_limb_are_left_out_in_pairs_by_the_mean() -> None:
    names, joints = make_joints(TRUNK + ARM)
    left, right = names.index("forearm 1"), names.index("forearm -1")
    for gaps, is_found in (((0.4, 0.1), True), ((0.4, 0.3), False), ((1.4, 1.4), False)):
        tails = joints.tails.copy()
        tails[[left, right], 1] += np.array(gaps) * joints.lengths[left]
        kinds = {kind for kind, *_ in plan(names, replace(joints, tails=tails))}
        assert (LOWER in kinds) == is_found
        assert UPPER in kinds


def test_bones_that_may_not_roll_are_left_out_in_pairs() -> None:
    names, joints = make_joints(TRUNK + ARM)
    may_roll = np.array([name != "forearm -1" for name in names])
    assert {kind for kind, *_ in plan(names, joints, may_roll=may_roll)} == {UPPER}


def test_shares_and_axes_of_limbs_in_halves() -> None:
    names, joints = make_joints(TRUNK + HALVES)
    limbs = plan_limbs(joints, np.ones(len(names), bool))
    lower = next(limb for limb in limbs if limb.kind == LOWER and names[limb.source] == "hand 1")
    upper = next(limb for limb in limbs if limb.kind == UPPER and names[limb.source] == "upper arm 1")
    middle = np.log(1.0 - 0.6 * 0.5) / np.log(0.4)
    np.testing.assert_allclose(lower.shares, [[0.0, middle], [middle, 1.0]], atol=1e-12)
    np.testing.assert_allclose(upper.shares, [[-1.0, -0.6], [-0.6, 0.0]], atol=1e-12)
    np.testing.assert_allclose(lower.axis, np.array([2.4, -0.2, 0]) / np.hypot(2.4, 0.2), atol=1e-12)
    np.testing.assert_allclose(upper.axis, [1, 0, 0], atol=1e-12)
    rolls = make_rolls((lower, upper))
    assert [names[joint] for joint in rolls.joints] == ["forearm 1", "forearm 2 1", "upper arm 1", "upper arm 2 1"]
    assert [names[joint] for joint in rolls.sources] == ["hand 1", "hand 1", "upper arm 1", "upper arm 1"]
    assert rolls.shares.shape == (4, 2)
    assert make_rolls(()) is None


@pytest.mark.parametrize(("joint", "degrees", "expected"), [
    ("head", 120.0, {(OTHER, "neck", "head")}), ("head", 60.0, set()), ("thumb 2 1", 170.0, set()),
    ("breast 1", 170.0, set()), ("toes 1", 170.0, set()), ("upper arm 1", 170.0, set()),
])  # fmt: skip
def test_what_the_actions_twist_far_is_a_limb_outside_of_arms_and_legs(
    joint: str, degrees: float, expected: set[tuple[str, str, str]]
) -> None:
    names, joints = make_joints(TRUNK + ARM + LEG)
    base = joint.rpartition(" ")[0] if joint[-1].isdigit() else joint
    twists = np.radians([degrees * (name in (joint, f"{base} -1")) for name in names])
    found = plan(names, joints, twists=twists)
    assert found - plan(names, joints) == expected


def test_joints_in_pairs_have_each_other_as_mirror_images() -> None:
    names, joints = make_joints(TRUNK + ARM + LEG + CONTROLS)
    mirrored, axis, middle = find_mirrored(joints)
    assert (axis, middle) == (0, 0.0)
    for name, other in zip(names, mirrored, strict=True):
        base, _, side = name.rpartition(" ")
        assert names[other] == (f"{base} {-int(side)}" if side in ("1", "-1") else name)


def test_chains_hold_both_sides_and_short_ones_are_no_limbs() -> None:
    names, joints = make_joints(TRUNK + ARM + LEG)
    assert measure_size(joints) > 0.0
    rows = [[names[joint] for joint in chain.joints[0]] for chain in find_limb_chains(joints)]
    assert [row[0] for row in rows] == ["thigh 1", "collar 1"]
    assert all(
        (find_mirrored(joints)[0][chain.joints[0]] == chain.joints[1]).all() for chain in find_limb_chains(joints)
    )


def test_skeletons_without_joints_or_tails_have_no_limbs() -> None:
    names, joints = make_joints(TRUNK + ARM)
    assert plan_limbs(replace(joints, tails=None), np.ones(len(names), bool)) == ()
    assert plan_limbs(Joints(np.empty((0, 3)), np.empty(0, int), np.empty((0, 3))), np.empty(0, bool)) == ()
    assert plan_limbs(Joints(np.zeros((1, 3)), np.array([-1]), np.ones((1, 3))), np.ones(1, bool)) == ()
