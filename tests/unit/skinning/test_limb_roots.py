"""Where limbs begin, and how linearly skin is blended there."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.skinning import dlb, ssd
from supple.deformers.skinning.limb_roots import (
    find_limb_roots,
    find_linear_shares,
    measure_linear_gain,
    with_linear_roots,
)

from ..characters import about, rotation

# Name, name of the bone before, head and tail of a body on its left side, or in its middle.
BONES = (
    ("hips", "", (0, 0, 10), (0, 0, 12)),
    ("spine", "hips", (0, 0, 12), (0, 0, 15)),
    ("head", "spine", (0, 0, 15), (0, -0.5, 17)),
    ("collar", "spine", (0.2, 0, 15), (1.5, 0, 15)),
    ("upper arm", "collar", (1.5, 0, 15), (3.5, 0, 13)),
    ("forearm", "upper arm", (3.5, 0, 13), (4, -2, 12)),
    ("hand", "forearm", (4, -2, 12), (4.2, -2.8, 11.6)),
    ("finger", "hand", (4.2, -2.8, 11.6), (4.3, -3.2, 11.4)),
    ("finger end", "finger", (4.3, -3.2, 11.4), (4.3, -3.3, 11)),
    ("thumb", "hand", (4, -2.1, 12), (3.5, -2.3, 12)),
    ("thigh", "hips", (1, 0, 10), (1.2, 0, 5)),
    ("shin", "thigh", (1.2, 0, 5), (1.2, 1, 1)),
    ("foot", "shin", (1.2, 1, 1), (1.2, -0.5, 0)),
)


NO_ROOTS = (
    ("breast", "spine", (0.1, 0, 14), (0.8, -1.2, 14)),
    ("ear", "head", (0.3, 0, 17), (0.9, 0, 17.5)),
    ("ear end", "ear", (0.9, 0, 17.5), (1.2, 0, 18)),
    ("thumb end", "thumb", (3.5, -2.3, 12), (3.5, -2.6, 11.8)),
    ("toe", "foot", (1.2, -0.5, 0), (1.3, -0.9, 0.2)),
    ("toe end", "toe", (1.3, -0.9, 0.2), (1.3, -1, 0)),
    ("small toe", "foot", (1.3, -0.4, 0), (1.7, -0.7, 0)),
    ("small toe end", "small toe", (1.7, -0.7, 0), (1.7, -0.8, 0)),
    ("knee control", "hips", (1.2, -5, 5), (2, -6, 5)),
    ("foot control", "hips", (1.2, -1.5, 0.2), (1.2, 0.8, 0.2)),
    ("heel control", "foot control", (1.2, 0.8, 0.2), (1.2, -0.5, 0.2)),
)


def make_body(turned: bool = False, more: tuple = ()) -> tuple[list[str], Joints]:
    """Both sides of the body; turned, its left is along y."""
    names, parents, heads, tails = [], [], [], []
    for name, before, head, tail in (*BONES, *more):
        for side in (1, -1) if tail[0] else (0,):
            names.append(f"{name} {side}" if side else name)
            parents.append(next((i for i, n in enumerate(names) if n in (before, f"{before} {side}")), -1))
            heads.append((side * head[0], *head[1:]))
            tails.append((side * tail[0], *tail[1:]))
    order = [1, 0, 2] if turned else [0, 1, 2]
    heads, tails = (np.array(ends, float)[:, order] for ends in (heads, tails))
    return names, Joints(heads, np.array(parents), tails)


@pytest.mark.parametrize("turned", [False, True])
def test_limbs_begin_at_shoulders_hips_and_thumbs(turned: bool) -> None:
    names, joints = make_body(turned)
    found = {name.rpartition(" ")[0] for name, is_root in zip(names, find_limb_roots(joints), strict=True) if is_root}
    assert found == {"collar", "upper arm", "thigh", "thumb"}


def test_toes_breasts_ears_ends_of_thumbs_and_controls_are_no_roots() -> None:
    names, joints = make_body(more=NO_ROOTS)
    found = {name.rpartition(" ")[0] for name, is_root in zip(names, find_limb_roots(joints), strict=True) if is_root}
    assert found == {"collar", "upper arm", "thigh", "thumb"}


def test_roots_of_uneven_rest_poses_are_those_of_both_sides() -> None:
    for seed in range(8):
        names, joints = make_body(more=NO_ROOTS)
        noise = np.random.default_rng(seed).uniform(-0.1, 0.1, (2, len(names), 3))
        uneven = Joints(joints.centers + noise[0], joints.parents, joints.tails + noise[1])
        found = {name for name, is_root in zip(names, find_limb_roots(uneven), strict=True) if is_root}
        assert {name.rpartition(" ")[0] for name in found} >= {"collar", "upper arm", "thigh"}
        assert found == {f"{name.rpartition(' ')[0]} {side}" for name in found for side in (1, -1)}


def make_rest(joints: Joints, seed: int = 3) -> tuple[Rest, np.ndarray]:
    """Vertices that follow up to four joints, some none at all, and their weights as (V, B)."""
    random = np.random.default_rng(seed)
    dense = random.uniform(size=(200, len(joints.parents))) ** 8
    dense[np.argsort(np.argsort(-dense, axis=1), axis=1) >= random.integers(1, 5, size=(200, 1))] = 0.0
    dense[-3:] = 0.0
    return Rest(random.uniform(-4.0, 4.0, (200, 3)), Weights.from_dense(dense), joints), dense


def test_shares_are_those_of_the_sum_over_pairs() -> None:
    _, joints = make_body()
    rest, dense = make_rest(joints)
    parents, roots = joints.parents.tolist(), find_limb_roots(joints)

    def above(joint: int) -> set[int]:
        return {joint} | (above(parents[joint]) if parents[joint] >= 0 else set())

    expected = []
    for row in dense:
        if not row.any():
            expected.append(0.0)
            continue
        weights, mixed = row / row.sum(), 0.0
        for a in np.flatnonzero(weights):
            for b in np.flatnonzero(weights):
                mixed += weights[a] * weights[b] * roots[list(above(a) ^ above(b))].any()
        expected.append(mixed / (1.0 - (weights**2).sum()) if (weights > 0.0).sum() > 1 else 0.0)
    shares = find_linear_shares(rest.weights, joints, len(dense))
    assert 0.2 < (shares > 0.0).mean() < 0.98
    np.testing.assert_allclose(shares, np.where(np.array(expected) > 1e-3, expected, 0.0), atol=1e-12)


def test_a_linear_group_counts_instead() -> None:
    rest, _ = make_rest(make_body()[1])
    group = replace(rest, linear=np.zeros(200))
    assert with_linear_roots(group, 1.0) is group
    assert with_linear_roots(rest, 0.0) is rest
    np.testing.assert_allclose(with_linear_roots(rest, 0.5).linear, 0.5 * with_linear_roots(rest, 1.0).linear)


def test_raised_arms_are_mixed_by_these_shares() -> None:
    names, joints = make_body()
    rest, _ = make_rest(joints)
    matrices = np.repeat(np.eye(4)[None], len(names), axis=0)
    raised = np.array([[0.0, 0, 1], [0, 1, 0], [-1, 0, 0]])
    for index, name in enumerate(names):
        if name.endswith(" 1") and name.split()[0] in ("upper", "forearm", "hand", "finger", "thumb"):
            center = joints.centers[names.index("upper arm 1")]
            matrices[index, :3, :3], matrices[index, :3, 3] = raised, center - raised @ center
    pose = Pose(matrices)
    linear = ssd.deform(ssd.bind(rest, ssd.Params()), pose)
    quaternions = dlb.deform(dlb.bind(rest, dlb.PRESERVE_VOLUME), pose)
    mixed = dlb.deform(dlb.bind(rest, dlb.Params()), pose)
    shares = find_linear_shares(rest.weights, joints, 200)[:, None]
    assert np.abs(linear - quaternions).max() > 0.1
    np.testing.assert_allclose(mixed, quaternions + shares * (linear - quaternions), atol=1e-5)


def test_the_gain_is_how_far_linear_blending_moves_vertices_at_bent_roots() -> None:
    _, joints = make_body()
    rest, _ = make_rest(joints)
    shares = find_linear_shares(rest.weights, joints, 200)
    largest, height = 0.0, np.ptp(np.concatenate([joints.centers, joints.tails]), axis=0).max()
    for root in np.flatnonzero(find_limb_roots(joints)):
        along = joints.axes[root]
        across = np.cross(along, np.eye(3)[np.abs(along).argmin()])
        across /= np.linalg.norm(across)
        for angle in np.radians([0, 60, 120, 180, 240, 300]):
            axis = np.cos(angle) * across + np.sin(angle) * np.cross(along, across)
            matrices = np.tile(np.eye(4), (len(joints.parents), 1, 1))
            below = joints.chains.below[:, root]
            matrices[below] = about(rotation(axis, 60.0), joints.centers[root])
            linear = ssd.deform(ssd.bind(rest, ssd.Params()), Pose(matrices))
            quaternions = dlb.deform(dlb.bind(rest, dlb.Params(limb_roots=0.0)), Pose(matrices))
            largest = max(largest, (shares * np.linalg.norm(linear - quaternions, axis=1))[:-3].max())
    gain = measure_linear_gain(rest, shares)
    assert gain > 1.0
    np.testing.assert_allclose(gain, largest * 1800.0 / height, rtol=1e-4)
    np.testing.assert_allclose(measure_linear_gain(rest, 0.5 * shares), 0.5 * gain, rtol=1e-9)
    assert measure_linear_gain(rest, 0.0 * shares) == 0.0
