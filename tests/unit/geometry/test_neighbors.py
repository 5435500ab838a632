"""Close packings by hand, and the search for neighbors against all distances."""

import numpy as np

from supple.deformers.geometry.lattice import hexagonal_packing
from supple.deformers.geometry.neighbors import GROUP, find_nearest, find_pairs, group_points

from ..cases import each


def distances(points: np.ndarray, targets: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - targets, axis=2)


def scatter(kind: str, count: int = 500) -> np.ndarray:
    random = np.random.default_rng(len(kind))
    if kind == "spread":
        return random.uniform(-3, 5, (count, 3))
    if kind == "clusters":
        return random.normal(size=(5, 1, 3)).repeat(count // 5, axis=1).reshape(-1, 3) + random.normal(
            0, 1e-3, (count // 5 * 5, 3)
        )
    if kind == "line":
        return random.uniform(0, 1, (count, 1)) * [1.0, 2.0, 3.0]
    if kind == "lattice":
        return np.stack(np.meshgrid(*[np.arange(8.0)] * 3), axis=-1).reshape(-1, 3)
    return random.uniform(0, 1, (count, 3)) * 1e-4 + 1e3  # far


KINDS = ["spread", "clusters", "line", "lattice", "far away"]


@each("radius", [0.5, 1e-3, 40.0])
def test_an_inner_sphere_touches_twelve(radius: float) -> None:
    low = np.array([0.3, -2.0, 1.0])
    centers = hexagonal_packing(low, low + 11 * radius, radius)
    np.testing.assert_array_equal(centers[0], low)
    assert (centers >= low - 1e-9 * radius).all()
    assert (centers <= low + (11 + 1.0 + 1e-9) * radius).all()  # every other row is shifted by half a step
    away = distances(centers, centers) / (2 * radius)
    assert away[~np.eye(len(centers), dtype=bool)].min() > 1 - 1e-9
    touching = (np.abs(away - 1) < 1e-6).sum(axis=1)
    inner = ((centers > low + 2.1 * radius) & (centers < low + 8.4 * radius)).all(axis=1)
    assert inner.sum() > 20
    assert (touching[inner] == 12).all()
    assert touching.max() == 12


def test_counts_of_a_packing_by_hand() -> None:
    """Radius 1: steps 2, sqrt 3 = 1.73 and sqrt(8/3) = 1.63, so 3 columns, 3 rows and 2 layers of 4 x 3.5 x 2."""
    assert len(hexagonal_packing(np.zeros(3), np.array([4.0, 3.5, 2.0]), 1.0)) == 3 * 3 * 2
    assert len(hexagonal_packing(np.zeros(3), np.array([3.99, 3.4, 1.6]), 1.0)) == 2 * 2 * 1
    np.testing.assert_array_equal(hexagonal_packing(np.ones(3), np.ones(3), 1.0), np.ones((1, 3)))


def test_density_of_a_packing() -> None:
    """Pi / sqrt 18 of space is in spheres: each takes 4 sqrt 2 r^3."""
    count = len(hexagonal_packing(np.zeros(3), np.full(3, 40.0), 1.0))
    assert abs(count * 4 * np.sqrt(2) / 41.0**3 - 1) < 0.08


@each("kind", KINDS)
def test_groups_hold_each_point_once(kind: str) -> None:
    points = scatter(kind)
    groups = group_points(points)
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(len(points)))
    assert max(map(len, groups)) <= GROUP
    assert min(map(len, groups)) > GROUP // 4


def test_groups_lie_together() -> None:
    points = scatter("spread", 2000)
    extents = [np.ptp(points[group], axis=0).max() for group in group_points(points)]
    assert max(extents) < 0.6 * np.ptp(points, axis=0).max()


def test_points_at_one_place_are_cut_too() -> None:
    groups = group_points(np.ones((300, 3)), 50)
    np.testing.assert_array_equal(np.sort(np.concatenate(groups)), np.arange(300))
    assert max(map(len, groups)) <= 50
    assert group_points(np.empty((0, 3))) == []


@each("count", [1, 2, 7, 40])
@each("kind", KINDS)
def test_nearest(kind: str, count: int) -> None:
    targets = scatter(kind)
    random = np.random.default_rng(0)
    low, high = targets.min(axis=0), targets.max(axis=0)
    points = np.concatenate([targets[::5], random.uniform(low - 0.5, high + 0.5, (100, 3))])
    indices, away = find_nearest(points, targets, count)
    all_away = distances(points, targets)
    np.testing.assert_allclose(away, np.sort(all_away, axis=1)[:, :count], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.take_along_axis(all_away, indices, axis=1), away, rtol=1e-9, atol=1e-12)
    assert all(len(set(row)) == count for row in indices.tolist())


def test_nearest_of_few() -> None:
    targets = np.array([[0.0, 0, 0], [1, 0, 0], [3, 0, 0]])
    indices, away = find_nearest(np.array([[0.9, 0, 0], [9, 0, 0]]), targets, 5)
    np.testing.assert_array_equal(indices, [[1, 0, 2], [2, 1, 0]])
    np.testing.assert_allclose(away, [[0.1, 0.9, 2.1], [6, 8, 9]])
    indices, away = find_nearest(np.empty((0, 3)), targets, 2)
    assert indices.shape == away.shape == (0, 2)


@each("factor", [0.5, 1.0, 1.25])
@each("kind", KINDS)
def test_pairs(kind: str, factor: float) -> None:
    points = scatter(kind, 400)
    points = points + np.random.default_rng(2).normal(0, 1e-3, points.shape) * np.ptp(points)
    size = float(np.ptp(points, axis=0).max())
    reach = np.random.default_rng(1).uniform(0.04, 0.14, len(points)) * size
    near = distances(points, points) <= factor * (reach[:, None] + reach)
    expected = np.argwhere(np.triu(near, 1))
    actual = find_pairs(points, reach, factor)
    assert len(expected) > 50 or (kind == "lattice" and factor < 1)
    np.testing.assert_array_equal(actual, expected)


def test_a_large_one_reaches_a_small_one_far_away() -> None:
    """The reach of the other counts, not only that of its own group."""
    points = np.concatenate([scatter("spread", 200), [[100.0, 0, 0]]])
    reach = np.append(np.full(200, 1e-6), 200.0)
    pairs = find_pairs(points, reach, 1.0)
    np.testing.assert_array_equal(pairs, np.stack([np.arange(200), np.full(200, 200)], axis=1))


def test_no_pairs() -> None:
    assert find_pairs(np.empty((0, 3)), np.empty(0), 1.0).shape == (0, 2)
    assert find_pairs(np.eye(3), np.full(3, 0.1), 1.0).shape == (0, 2)
