"""Centers: where they are, what sharpness and twists do to them, and what is promised of bent and twisted limbs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from supple.deformers import Joints, Pose, Rest, Weights
from supple.deformers.measures.windings import measure_windings
from supple.deformers.rig.surfaces import WeightedSurface
from supple.deformers.skinning import centers, dlb, ssd
from supple.deformers.skinning.center_table import find_centers

from .. import reference
from ..cases import each
from ..characters import about, make_hand, rotation
from .limbs import RADIUS, find_radii, make_limb, pose_limb

ROUND = centers.Params(sharpness=0.0, bulge_limit=0.0)
PLAIN = centers.Params(bulge_limit=0.0)


def skin(rest: Rest, matrices: np.ndarray, params: centers.Params | None = None) -> np.ndarray:
    return centers.deform(centers.bind(rest, params or centers.Params()), Pose(matrices)).astype(float)


def test_centers_are_in_the_middle_of_a_limb() -> None:
    rest = make_limb()
    surface = WeightedSurface.of_rest(rest)
    found = find_centers(surface, (surface,), 2)
    dense = np.zeros((len(rest.points), 2))
    dense[rest.weights.vertices, rest.weights.joints] = rest.weights.values
    blended = dense.min(axis=1) > 0.05
    assert blended.sum() > 500
    away = np.linalg.norm(found[blended, :2], axis=1)
    assert away.max() < 0.01 * RADIUS
    assert np.abs(found[blended, 2] - rest.points[blended, 2]).max() < 0.43 * RADIUS  # as with the exact integral


def test_tables_agree_with_the_integral() -> None:
    """Le & Hodgins, eq 1 and 4, without bins, for weights that smoothing does not change: no triangles."""
    rest = replace(make_limb(), triangles=None)
    surface = WeightedSurface.of_rest(rest)
    found = find_centers(surface, (surface,), 2)
    share = np.zeros(len(rest.points))
    lower = rest.weights.joints == 1
    share[rest.weights.vertices[lower]] = rest.weights.values[lower]
    product = share * (1.0 - share)
    chosen = np.flatnonzero(product > 0.05)[::17]
    for vertex in chosen:
        apart = (1.0 - share[vertex]) * share - share[vertex] * (1.0 - share)
        alike = product * np.exp(-((apart / 0.1) ** 2))
        expected = (alike[:, None] * rest.points).sum(axis=0) / alike.sum()
        assert np.linalg.norm(found[vertex] - expected) < 0.01 * RADIUS


@each("ramp", [0.2, 0.35, 0.5])
def test_bent_by_120_degrees(ramp: float) -> None:
    rest, matrices = make_limb(ramp), pose_limb(bend=120.0)
    space = measure_windings(rest.points, rest.triangles, 160).once
    posed = measure_windings(skin(rest, matrices, centers.Params()), rest.triangles, 160)
    kept = measure_windings(dlb.deform(dlb.bind(rest, dlb.Params()), Pose(matrices)), rest.triangles, 160)
    assert find_radii(skin(rest, matrices), matrices).max() < 1.04 * RADIUS
    assert posed.twice < 0.04 * space
    assert posed.once > kept.once - 0.05 * space
    bulging = find_radii(dlb.deform(dlb.bind(rest, dlb.Params()), Pose(matrices)), matrices).max()
    assert bulging > 1.06 * RADIUS


def measure_waist(points: np.ndarray) -> float:
    """The smallest mean radius of the rings of a limb that was twisted, not bent."""
    rings = points[:-2].reshape(-1, 48, 3)
    return float(np.linalg.norm(rings - rings.mean(axis=1, keepdims=True), axis=2).mean(axis=1).min())


@each(("params", "expected"), [(ROUND, 0.999), (centers.Params(), 0.95), (PLAIN, 0.95)])
@each("twist", [120.0, 175.0])
def test_twists_do_not_narrow(twist: float, params: centers.Params, expected: float) -> None:
    assert measure_waist(skin(make_limb(), pose_limb(twist=twist), params)) >= (expected - 1e-3) * RADIUS


def test_small_twists_keep_the_sharpness() -> None:
    """1 - cos(25 degrees), times 0.25, is less than 5 %: the limb narrows just as sharpness alone has it."""
    matrices, rest = pose_limb(twist=50.0), make_limb()
    linear = ssd.deform(ssd.bind(rest, ssd.Params()), Pose(matrices))
    expected = 0.75 * skin(rest, matrices, ROUND) + 0.25 * linear
    np.testing.assert_allclose(skin(rest, matrices, PLAIN), expected, rtol=0, atol=2e-6)


def test_sharpness_of_one_is_linear_blending() -> None:
    matrices, rest = pose_limb(bend=120.0), make_limb()
    linear = ssd.deform(ssd.bind(rest, ssd.Params()), Pose(matrices))
    np.testing.assert_allclose(skin(rest, matrices, replace(PLAIN, sharpness=1.0)), linear, rtol=0, atol=2e-6)


def test_a_joint_with_a_sharpness_of_its_own() -> None:
    matrices, rest = pose_limb(bend=90.0), make_limb()
    own = replace(rest, joints=replace(rest.joints, sharpness=np.array([0.9, 0.6])))
    expected = skin(rest, matrices, replace(PLAIN, sharpness=0.6))  # that of the joint in the middle, not of the root
    np.testing.assert_allclose(skin(own, matrices, PLAIN), expected, rtol=0, atol=2e-6)
    unset = replace(rest, joints=replace(rest.joints, sharpness=np.array([0.9, np.nan])))
    np.testing.assert_allclose(skin(unset, matrices, PLAIN), skin(rest, matrices, PLAIN), rtol=0, atol=2e-6)


@each("params", [centers.Params(), PLAIN, ROUND])
def test_rest_and_rigid_motion_are_exact(params: centers.Params) -> None:
    rest = make_limb()
    moved = about(rotation((1, 2, 3), 200), np.array([0.3, 0.1, -0.2]), (0.5, 0.2, 0.9))
    for matrix in (np.eye(4), moved):
        expected = rest.points @ matrix[:3, :3].T + matrix[:3, 3]
        np.testing.assert_allclose(skin(rest, np.tile(matrix, (2, 1, 1)), params), expected, rtol=0, atol=1e-6)


def test_clothes_rotate_about_the_centers_of_the_body() -> None:
    """A strip on one side of the limb, with the limb's weights, stays on it; by its own centers it does not."""
    rest, matrices = make_limb(), pose_limb(bend=100.0)
    strip = np.flatnonzero((rest.points[:, 1] < -0.6 * RADIUS) & (np.abs(rest.points[:, 2]) < 0.9))
    place = np.full(len(rest.points), -1)
    place[strip] = np.arange(len(strip))
    kept = np.isin(rest.weights.vertices, strip)
    cloth = Rest(
        rest.points[strip],
        Weights(place[rest.weights.vertices[kept]], rest.weights.joints[kept], rest.weights.values[kept]),
        rest.joints,
        triangles=place[rest.triangles[(place[rest.triangles] >= 0).all(axis=1)]],
    )
    body = skin(rest, matrices, PLAIN)[strip]
    surfaces = WeightedSurface.of_rest(cloth), WeightedSurface.of_rest(rest)
    together = np.abs(skin(replace(cloth, surfaces=surfaces), matrices, PLAIN) - body).max()
    assert together < 0.06 * RADIUS
    assert np.abs(skin(cloth, matrices, PLAIN) - body).max() > 3.0 * together


def test_the_order_of_joints_and_of_meshes_does_not_matter() -> None:
    hand, random = make_hand(vertex_count=200), np.random.default_rng(5)
    matrices = np.array([about(rotation(random.normal(size=3), 60), center) for center in hand.centers])
    first, second = hand.rest(), make_hand(1, 150).rest()
    surfaces = [WeightedSurface.of_rest(rest) for rest in (first, second, make_hand(2, 90).rest())]
    expected = skin(replace(first, surfaces=tuple(surfaces)), matrices)
    other = replace(first, surfaces=(surfaces[0], surfaces[2], surfaces[1]))
    np.testing.assert_allclose(skin(other, matrices), expected, rtol=0, atol=1e-6)
    order = random.permutation(len(hand.centers))
    permuted = skin(hand.permute_joints(order).rest(), matrices[order])
    np.testing.assert_allclose(permuted, skin(first, matrices), rtol=0, atol=1e-6)


@each("twist", [30.0, 80.0, 160.0, -170.0])
def test_against_a_slow_reference_with_twists(twist: float) -> None:
    """What the shared tests leave out: joints that have tails."""
    rest = make_limb(rings=21)
    matrices = pose_limb(bend=40.0, twist=twist) @ np.diag([1.1, 0.9, 1.0, 1.0])
    rigid = pose_limb(bend=40.0, twist=twist)
    for pose in (rigid, matrices):
        dense = np.zeros((len(rest.points), 2))
        dense[rest.weights.vertices, rest.weights.joints] = rest.weights.values
        bound = centers.place_centers(rest, PLAIN)
        middles = bound.points - bound.leans
        loss = 1.0 - np.cos(np.radians(abs(twist)) / 2.0)
        sharpness = min(0.25, centers.MAX_NARROWING / loss)
        about_these = middles + sharpness * (rest.points - middles)
        some = slice(None, None, 5)
        joints = rest.joints.centers, rest.joints.parents
        expected = reference.skin(
            "CENTERS", rest.points[some], dense[some], *joints, pose, rotation_centers=about_these[some]
        )
        np.testing.assert_allclose(skin(rest, pose, PLAIN)[some], expected, rtol=0, atol=1e-5)


def test_a_mesh_of_loose_vertices_and_one_of_none() -> None:
    rest = make_limb()
    loose = replace(rest, triangles=None, weights=Weights(*(np.empty(0, int),) * 2, np.empty(0)))
    np.testing.assert_allclose(skin(loose, pose_limb(bend=90.0)), rest.points, rtol=0, atol=1e-6)
    none = Rest(np.empty((0, 3)), loose.weights, Joints(rest.joints.centers, rest.joints.parents, rest.joints.tails))
    assert skin(none, pose_limb(bend=90.0)).shape == (0, 3)
