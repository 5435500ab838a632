"""Particles linked to each other, and where they come to rest."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box
from supple.deformers.geometry.solid import Surface, read_surface
from supple.deformers.geometry.vectors import smooth_step
from supple.deformers.particles.cloud import MIN_NEIGHBORS, NEIGHBOR_REACH, Cloud, make_cloud
from supple.deformers.particles.fill import Fill, fill_solid
from supple.deformers.particles.settling import determinant, keep_volume, rotate_toward, settle

from ..cases import each
from ..characters import rotation

POINTS, TRIANGLES = make_box((2.5, 1.2, 1.0), 0.25)
LENGTHS, PARENTS = np.array([1.25, 1.25]), np.array([-1, 0])


def blend(points: np.ndarray) -> np.ndarray:
    share = smooth_step(points[:, 0] / 0.8 + 0.5)
    return np.stack([1 - share, share], axis=1)


@pytest.fixture(scope="module")
def body() -> tuple[Surface, Fill]:
    surface = read_surface(POINTS, TRIANGLES)
    return surface, fill_solid(surface, 0.0, 200)


@pytest.fixture(scope="module")
def cloud(body: tuple[Surface, Fill]) -> Cloud:
    return make_cloud(*body, blend(POINTS), LENGTHS, PARENTS, 1.0)


def random_matrices(count: int, spread: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rotations, and matrices whose rotation is some way from them: float32, shape (3, 3, P)."""
    random = np.random.default_rng(seed)
    turns = np.array([rotation(random.normal(size=3), random.uniform(0, 360)) for _ in range(count)])
    steps = np.array([rotation(random.normal(size=3), random.uniform(0, spread)) for _ in range(count)])
    stretch = np.eye(3) + random.uniform(-0.1, 0.1, (count, 3, 3))
    matrices = turns @ steps @ (0.5 * (stretch + stretch.transpose(0, 2, 1)))
    return as_columns(turns), as_columns(matrices)


def as_columns(matrices: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(matrices.transpose(1, 2, 0)).astype(np.float32)


def as_rows(matrices: np.ndarray) -> np.ndarray:
    return matrices.transpose(2, 0, 1).astype(float)


def polar(matrices: np.ndarray) -> np.ndarray:
    """Nearest rotations by singular values, shape (P, 3, 3)."""
    left, _, right = np.linalg.svd(matrices)
    flip = np.ones((len(matrices), 3))
    flip[:, 2] = np.sign(np.linalg.det(left @ right))
    return (left * flip[:, None]) @ right


def angles(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.degrees(2 * np.arcsin(np.clip(np.linalg.norm(a - b, axis=(1, 2)) / np.sqrt(8), 0, 1)))


@each("spread", [5, 30, 60])
def test_turning_toward_the_nearest_rotation(spread: float) -> None:
    turned, matrices = random_matrices(100, spread)
    expected = polar(as_rows(matrices))
    before = angles(as_rows(turned), expected)
    for _ in range(8):
        turned = rotate_toward(turned, matrices)
        after = angles(as_rows(turned), expected)
        assert (after <= before + 0.02).all()
        before = after
    assert after.max() < 0.1
    products = as_rows(turned) @ as_rows(turned).transpose(0, 2, 1)
    np.testing.assert_allclose(products, np.tile(np.eye(3), (100, 1, 1)), atol=1e-5)
    np.testing.assert_allclose(determinant(turned), 1.0, atol=1e-5)


def test_one_turn_does_most_where_near() -> None:
    turned, matrices = random_matrices(100, 5)
    expected = polar(as_rows(matrices))
    before = angles(as_rows(turned), expected)
    assert angles(as_rows(rotate_toward(turned, matrices)), expected).mean() < 0.4 * before.mean()


def test_a_rotation_that_is_reached_stays() -> None:
    turned, _ = random_matrices(50, 1)
    for matrices in (turned, np.float32(3.0) * turned, np.zeros_like(turned)):
        np.testing.assert_allclose(rotate_toward(turned, matrices), turned, atol=1e-6)


@each("volume", [0.7, 1.0, 1.4])
def test_volume_of_matrices(volume: float) -> None:
    _, matrices = random_matrices(100, 60)
    volumes = np.full(100, volume, np.float32)
    kept = as_rows(keep_volume(matrices, volumes))
    before = np.abs(np.linalg.det(as_rows(matrices)) - volume)
    after = np.abs(np.linalg.det(kept) - volume)
    assert after.max() < 0.03
    assert np.median(after) < 0.01 * np.median(before)
    np.testing.assert_allclose(angles(polar(kept), polar(as_rows(matrices))), 0, atol=0.2)  # stretched, not turned


def test_volume_by_hand() -> None:
    """Of diag(1.1, 1, 1) what is too much is taken off all three scales, and nothing is sheared."""
    kept = as_rows(keep_volume(as_columns(np.diag([1.1, 1.0, 1.0])[None]), np.ones(1, np.float32)))[0]
    assert np.prod(np.diag(kept)) == pytest.approx(1.0, abs=1e-4)
    assert 1.0 < kept[0, 0] < 1.1
    assert kept[1, 1] == pytest.approx(kept[2, 2])
    np.testing.assert_allclose(kept - np.diag(np.diag(kept)), 0, atol=1e-6)


@each("scale", [0.0, 1e-6, 1e-3, -1.0, 1e3])
def test_volume_of_what_is_flat_or_mirrored_is_finite(scale: float) -> None:
    matrices = as_columns(np.diag([1.0, 1.0, scale])[None] * np.ones((3, 1, 1)))
    assert np.isfinite(keep_volume(matrices, np.ones(3, np.float32))).all()
    assert np.isfinite(keep_volume(0 * matrices, np.ones(3, np.float32))).all()


def test_determinants() -> None:
    _, matrices = random_matrices(20, 90)
    np.testing.assert_allclose(determinant(matrices), np.linalg.det(as_rows(matrices)), rtol=1e-4)


def test_links(body: tuple[Surface, Fill], cloud: Cloud) -> None:
    """Each pair is two links; near ones are all linked, and each has some."""
    fill = body[1]
    count = len(fill.points)
    begins = np.repeat(np.arange(count), np.diff(np.append(cloud.starts, len(cloud.ends))))
    links = set(zip(begins.tolist(), cloud.ends.tolist(), strict=True))
    assert len(links) == len(cloud.ends)
    assert links == {(end, begin) for begin, end in links}
    assert not any(begin == end for begin, end in links)
    away = np.linalg.norm(fill.points[:, None] - fill.points, axis=2)
    near = np.argwhere((away <= NEIGHBOR_REACH * (fill.radii[:, None] + fill.radii)) & ~np.eye(count, dtype=bool))
    assert {tuple(pair) for pair in near.tolist()} <= links
    assert np.bincount(begins).min() >= MIN_NEIGHBORS - 2  # few are left out: they end in particles that stick out


def test_weights_of_links(body: tuple[Surface, Fill], cloud: Cloud) -> None:
    """The w_ij |E_ij|^2 of a particle sum to 3 of its volume; the link back has the same two weights in turn."""
    fill = body[1]
    begins = np.repeat(np.arange(len(fill.points)), np.diff(np.append(cloud.starts, len(cloud.ends))))
    squares = ((fill.points[begins] - fill.points[cloud.ends]) ** 2).sum(axis=1)
    sums = np.bincount(begins, cloud.own * squares)
    np.testing.assert_allclose(sums, 3 * fill.volumes / fill.volumes.mean(), rtol=1e-4)
    weights = dict(zip(zip(begins.tolist(), cloud.ends.tolist(), strict=True), cloud.own.tolist(), strict=True))
    back = [weights[end, begin] for begin, end in zip(begins.tolist(), cloud.ends.tolist(), strict=True)]
    np.testing.assert_allclose(cloud.back, back)


def test_particles_take_weights_of_the_skin(body: tuple[Surface, Fill], cloud: Cloud) -> None:
    np.testing.assert_allclose(cloud.weights.sum(axis=1), 1.0, atol=1e-3)
    assert cloud.weights.min() >= 0
    x = body[1].points[:, 0]
    assert cloud.weights[x < -0.9, 0].min() > 0.8
    assert cloud.weights[x > 0.9, 1].min() > 0.8
    assert np.corrcoef(cloud.weights[:, 1], blend(body[1].points)[:, 1])[0, 1] > 0.95


@each("gap", [0.1, 0.2])
def test_no_link_across_air(gap: float) -> None:
    """Two rods side by side on two bones, nearer to each other than their particles are."""
    rod = make_box((0.3, 0.3, 2.0), 0.1)
    points = np.concatenate([rod[0], rod[0] + [0.3 + gap, 0, 0]])
    surface = read_surface(points, np.concatenate([rod[1], rod[1] + len(rod[0])]))
    fill = fill_solid(surface, 0.0, 200)
    second = (points[:, 0] > 0.15 + 0.5 * gap).astype(float)
    apart = make_cloud(surface, fill, np.stack([1 - second, second], axis=1), np.full(2, 2.0), PARENTS, 1.0)
    begins = np.repeat(np.arange(len(fill.points)), np.diff(np.append(apart.starts, len(apart.ends))))
    side = fill.points[:, 0] > 0.15 + 0.5 * gap
    assert (side[begins] == side[apart.ends]).all()
    assert (apart.weights[side, 1] > 0.999).all()
    assert (apart.weights[~side, 0] > 0.999).all()


def make_bend(cloud: Cloud, degrees: float) -> tuple[np.ndarray, np.ndarray]:
    """Goals and rotations of particles that are turned about y, by their share of the second bone."""
    turns = np.array([rotation((0, 1, 0), degrees * share) for share in cloud.weights[:, 1]])
    goals = np.einsum("pij,pj->pi", turns, cloud.points.astype(float))
    return goals.astype(np.float32), as_columns(turns)


def lack_of_volume(cloud: Cloud, posed: np.ndarray) -> float:
    """Rms distance from 1 of the determinants of the gradients, by least squares, away from the ends."""
    begins = np.repeat(np.arange(len(cloud.points)), np.diff(np.append(cloud.starts, len(cloud.ends))))
    before, after = (p[cloud.ends].astype(float) - p[begins] for p in (cloud.points, posed))
    own = cloud.own.astype(float)
    moments, outer = np.zeros((2, len(cloud.points), 3, 3))
    np.add.at(moments, begins, own[:, None, None] * before[:, :, None] * before[:, None])
    np.add.at(outer, begins, own[:, None, None] * after[:, :, None] * before[:, None])
    inner = np.linalg.norm(cloud.points - cloud.points.mean(axis=0), axis=1) < 1.0
    volumes = np.linalg.det(outer[inner] @ np.linalg.inv(moments[inner]))
    return float(np.sqrt(((volumes - 1) ** 2).mean()))


@each("degrees", [40, 90])
def test_settled_particles_keep_volume(cloud: Cloud, degrees: float) -> None:
    goals, turns = make_bend(cloud, degrees)
    carried = lack_of_volume(cloud, goals)
    offsets, _ = settle(cloud, cloud.points, goals, turns, 8)
    settled = lack_of_volume(cloud, goals + offsets.T)
    assert settled < 0.6 * carried


def test_rigid_motion_has_no_offsets(cloud: Cloud) -> None:
    turn = rotation((1, 2, 3), 100)
    goals = (cloud.points.astype(float) @ turn.T + [1, 2, 3]).astype(np.float32)
    turns = as_columns(np.tile(turn, (len(goals), 1, 1)))
    offsets, turned = settle(cloud, cloud.points, goals, turns, 8)
    assert offsets.shape == (3, len(goals))
    np.testing.assert_allclose(offsets, 0, atol=3e-6)
    np.testing.assert_allclose(turned, turns, atol=1e-5)


def test_rotations_stay_rotations(cloud: Cloud) -> None:
    goals, turns = make_bend(cloud, 150)
    turned = as_rows(settle(cloud, cloud.points, goals, turns, 8)[1])
    np.testing.assert_allclose(turned @ turned.transpose(0, 2, 1), np.tile(np.eye(3), (len(turned), 1, 1)), atol=1e-4)
    assert np.linalg.det(turned).min() > 0.99


def test_the_iteration_comes_to_rest(cloud: Cloud) -> None:
    """What is called rest is a place that more iterations do not leave."""
    goals, turns = make_bend(cloud, 90)
    rest, *on_the_way = (settle(cloud, cloud.points, goals, turns, count)[0] for count in (200, 8, 32, 120))
    at_8, at_32, at_120 = (np.sqrt(((place - rest) ** 2).sum(axis=0).mean()) / 2.5 for place in on_the_way)
    assert at_32 < 0.5 * at_8
    assert at_120 < 1e-4


@each("kind", ["one place", "a line", "a plane"])
def test_any_goals_are_finite(cloud: Cloud, kind: str) -> None:
    goals = cloud.points * {"one place": (0, 0, 0), "a line": (1, 0, 0), "a plane": (1, 1, 0)}[kind]
    turns = as_columns(np.tile(np.eye(3), (len(goals), 1, 1)))
    for rest in (cloud.points, goals):
        offsets, turned = settle(cloud, rest.astype(np.float32), goals.astype(np.float32), turns, 8)
        assert np.isfinite(offsets).all()
        assert np.isfinite(turned).all()
