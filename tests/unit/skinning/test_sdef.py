"""SDEF: vertices of two bones that rotate about centers which an MMD model brings along."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers import DEFORMERS, Joints, Pose, Rest, SkinningError, Weights
from supple.deformers.rig.influences import find_differences, pack_influences
from supple.deformers.rig.rest import SdefKeys
from supple.deformers.rig.sdef import find_sdef_pairs
from supple.deformers.skinning import centers

from .. import reference
from ..cases import each
from ..characters import Character, about, make_tube, pose_chain, rotation

PLAIN = centers.Params(bulge_limit=0.0, contact=0.0)
OBJECT = about(rotation((1, 2, 3), 50) @ np.diag([0.5, 2.0, 1.5]), np.zeros(3), (0.4, -0.7, 1.1))
TUBE = make_tube(joint_count=4, rings=24, sides=5)


def keep_two(character: Character) -> Character:
    """The same with the two largest weights of each vertex, but for every ninth vertex, which keeps all."""
    weights = character.weights.copy()
    second = np.sort(weights, axis=1)[:, -2:-1]
    weights[(weights < second) & (np.arange(len(weights)) % 9 > 0)[:, None]] = 0.0
    return replace(character, weights=2.0 * weights)  # of any sum


def add_sdef(character: Character, order: object = (0, 1, 2, 3), seed: int = 0) -> Rest:
    """With centers near the axis, and points to both sides of them, for all but every seventh vertex."""
    random = np.random.default_rng(seed)
    points = character.points.astype(np.float32)
    around = points * (0, 0, 1) + random.normal(size=points.shape) * 0.05
    own = (np.arange(len(points)) % 7 == 0)[:, None]
    keys = [np.where(own, points, around + offset) for offset in (0.0, (0.02, 0.1, -0.3), (-0.04, 0.0, 0.25))]
    return replace(character.rest(), points=points, sdef=SdefKeys(*keys, np.array(order)))


TWO = keep_two(TUBE)
REST = add_sdef(TWO)
BENT = pose_chain(TUBE, {0: rotation((1, 0, 0), 20), 1: rotation((1, 1, 0), 80), 2: rotation((0, 1, 3), -110)})
STRETCHED = pose_chain(
    TUBE, {0: np.diag([1.2, 1.0, 0.8]), 1: rotation((1, 1, 0), 80) @ np.diag([1.0, 0.7, 1.5]), 3: np.diag([1, 2, 1.0])}
)


def is_sdef(rest: Rest, dense: np.ndarray) -> np.ndarray:
    assert rest.sdef is not None
    return (rest.sdef.centers != rest.points).any(axis=1) & ((dense > 0.0).sum(axis=1) == 2)


def skin_slowly(rest: Rest, dense: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """Written from the formula, one vertex at a time: positions of the vertices that have SDEF, NaN for others."""
    keys, joints = rest.sdef, rest.joints
    assert keys is not None
    space = np.eye(4) if rest.object_to_armature is None else rest.object_to_armature
    parts = reference.find_rotations(matrices[:, :3, :3], joints.parents)
    rigid = [reference.affine(rotated, np.zeros(3)) for rotated, _ in parts]
    quaternions = [q.real for q in reference.find_dual_quaternions(rigid, joints.parents)]
    result = np.full(rest.points.shape, np.nan)
    for vertex in np.flatnonzero(is_sdef(rest, dense)):
        first, second = sorted(np.flatnonzero(dense[vertex]), key=lambda joint: keys.order[joint])
        w0, w1 = dense[vertex, [first, second]] / dense[vertex].sum()
        v, c, r0, r1 = (
            reference.apply(space, points[vertex].astype(float))
            for points in (rest.points, keys.centers, keys.first, keys.second)
        )
        rw = w0 * r0 + w1 * r1
        c0, c1 = c + (r0 - rw) / 2, c + (r1 - rw) / 2
        q = w0 * quaternions[first] + w1 * quaternions[second]
        offset = (w0 * parts[first][1] + w1 * parts[second][1]) @ (v - c)
        turned = reference.multiply_quaternions(
            reference.multiply_quaternions(q, np.array([0.0, *offset])), q * (1, -1, -1, -1)
        )
        moved = w0 * reference.apply(matrices[first], c0) + w1 * reference.apply(matrices[second], c1)
        result[vertex] = reference.apply(np.linalg.inv(space), turned[1:] / (q @ q) + moved)
    return result


def skin(rest: Rest, matrices: np.ndarray, params: centers.Params = PLAIN) -> np.ndarray:
    return centers.deform(centers.bind(rest, params), Pose(matrices, rest.object_to_armature))


@each("matrices", [BENT, STRETCHED])
@each("space", [None, OBJECT])
@each("order", [(0, 1, 2, 3), (3, 0, 2, 1)])
def test_against_the_formula(matrices: np.ndarray, space: np.ndarray | None, order: tuple[int, ...]) -> None:
    rest = replace(add_sdef(TWO, order), object_to_armature=space)
    expected = skin_slowly(rest, TWO.weights, matrices)
    chosen = np.isfinite(expected).all(axis=1)
    assert 0.5 < chosen.mean() < 1.0
    result = skin(rest, matrices)
    np.testing.assert_allclose(result[chosen], expected[chosen], rtol=0, atol=1e-5)
    other = skin_slowly(add_sdef(TWO, order[::-1]), TWO.weights, matrices)
    assert np.nanmax(np.abs(other - expected)) > 0.01, "who R0 belongs to does not matter"


def test_other_vertices_keep_their_own_centers() -> None:
    others = ~is_sdef(REST, TWO.weights)
    assert others.sum() > 20
    expected = skin(replace(REST, sdef=None), BENT)
    np.testing.assert_allclose(skin(REST, BENT)[others], expected[others], rtol=0, atol=1e-6)


@each("params", [PLAIN, centers.Params(), centers.Params(sharpness=1.0)])
def test_rest_and_rigid_motion(params: centers.Params) -> None:
    rest = np.tile(np.eye(4), (4, 1, 1))
    np.testing.assert_allclose(skin(REST, rest, params), REST.points, rtol=0, atol=1e-6)
    moved = about(rotation((1, 2, 3), 100), np.array((0.3, 0.2, 0.1)), (0.5, -0.4, 0.2))
    expected = REST.points @ moved[:3, :3].T + moved[:3, 3]
    np.testing.assert_allclose(skin(REST, rest @ moved, params), expected, rtol=0, atol=1e-6)


def test_sharpness_is_for_the_others() -> None:
    chosen = is_sdef(REST, TWO.weights)
    sharp, round_ = (skin(REST, BENT, replace(PLAIN, sharpness=value)) for value in (1.0, 0.0))
    np.testing.assert_allclose(sharp[chosen], round_[chosen], rtol=0, atol=1e-6)
    assert np.abs(sharp - round_).max() > 0.01


@each("space", [None, OBJECT])
def test_transforms_agree(space: np.ndarray | None) -> None:
    binding, pose = centers.bind(REST, PLAIN), Pose(STRETCHED, space)
    transforms = centers.vertex_transforms(binding, pose)
    points = np.einsum("vij,vj->vi", transforms[:, :3, :3], REST.points) + transforms[:, :3, 3]
    np.testing.assert_allclose(points, centers.deform(binding, pose), rtol=0, atol=1e-5)


def test_a_joint_that_moves_takes_along_what_follows_it() -> None:
    """Blocks that are not computed again hold what they held."""
    tube = keep_two(make_tube(joint_count=4, rings=600, sides=4))
    rest = add_sdef(tube)
    binding = centers.bind(rest, PLAIN)
    assert len(binding.blocks) > 3
    for matrices in (BENT, np.concatenate([BENT[:3], STRETCHED[3:]]), BENT):
        expected = centers.deform(centers.bind(rest, PLAIN), Pose(matrices))
        np.testing.assert_array_equal(centers.deform(binding, Pose(matrices)), expected)


def test_face_keys_keep_the_centers() -> None:
    binding = centers.bind(REST, PLAIN)
    other = REST.points + np.float32(0.1)
    result = centers.deform(centers.with_points(binding, other), Pose(BENT))
    transforms = centers.vertex_transforms(binding, Pose(BENT))
    expected = np.einsum("vij,vj->vi", transforms[:, :3, :3], other) + transforms[:, :3, 3]
    np.testing.assert_allclose(result, expected, rtol=0, atol=1e-5)


def test_joints_of_one_bone_are_not_two_bones() -> None:
    rest = add_sdef(TWO, (0, 1, 1, 2))
    pairs = find_sdef_pairs(rest)
    assert pairs is not None
    found = set(zip(pairs.first.tolist(), pairs.second.tolist(), strict=True))
    assert found == {(0, 1), (2, 3)}
    assert find_sdef_pairs(add_sdef(TWO, (1, 1, 1, 1))) is None
    assert find_sdef_pairs(replace(REST, sdef=None)) is None


def test_a_pair_that_is_listed_twice_counts_once() -> None:
    weights = REST.weights
    twice = Weights(*(np.repeat(array, 2) for array in (weights.vertices, weights.joints, weights.values)))
    np.testing.assert_allclose(skin(replace(REST, weights=twice), BENT), skin(REST, BENT), rtol=0, atol=1e-6)


def test_nodes_find_both_joints_in_the_set() -> None:
    pairs = find_sdef_pairs(REST)
    assert pairs is not None
    influences = pack_influences(REST.weights, len(REST.points), 4)
    signs = find_differences(influences, pairs.vertices, pairs.first, pairs.second)
    for vertex, row, first, second in zip(pairs.vertices, signs, pairs.first, pairs.second, strict=True):
        values = {int(joint): 0.0 for joint in influences.sets[influences.which[0, vertex]]}
        for joint, sign in zip(influences.sets[influences.which[0, vertex]], [*row, -row.sum()], strict=True):
            values[int(joint)] += float(sign)
        assert {joint: value for joint, value in values.items() if value} == {first: 1.0, second: -1.0}


def test_points_that_are_no_numbers_are_refused() -> None:
    points = TUBE.points.copy()
    points[3, 1] = np.nan
    with pytest.raises(SkinningError, match="mmd_sdef_c"):
        SdefKeys(TUBE.points, points, TUBE.points, np.arange(4))
    with pytest.raises(SkinningError, match="points of SDEF"):
        replace(REST, sdef=SdefKeys(*(TUBE.points[:-1],) * 3, np.arange(4)))


@each("method", ["SSD", "DLB", "DLBNT"])
def test_other_methods_do_not_look_at_it(method: str) -> None:
    module = DEFORMERS[method]
    with_it, without = (
        module.deform(module.bind(rest, module.Params()), Pose(BENT)) for rest in (REST, replace(REST, sdef=None))
    )
    np.testing.assert_array_equal(with_it, without)


def test_a_mesh_of_no_vertices() -> None:
    rest = Rest(np.zeros((0, 3)), Weights(*(np.empty(0, int),) * 2, np.empty(0)), Joints(TUBE.centers, TUBE.parents))
    empty = SdefKeys(*(np.zeros((0, 3)),) * 3, np.arange(4))
    assert find_sdef_pairs(replace(rest, sdef=empty)) is None
