"""The fill of the literal particle skinning: which centers are inside, and how many spheres there are (Table 1)."""

import numpy as np
import pytest

from supple.deformers.particles.fill_2010 import fill_two_levels, fill_uniform, find_inside, surface_volume

from ..cases import each


def make_box(size: object, low: object = (0, 0, 0)) -> tuple[np.ndarray, np.ndarray]:
    """Points (8, 3) and outward triangles (12, 3)."""
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    triangles = np.array([part for a, b, c, d in quads for part in ((a, b, c), (a, c, d))])
    return corners * np.asarray(size, float) + np.asarray(low, float), triangles


def make_star(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """A closed body of many folds: an octahedron, divided twice, each corner at its own distance."""
    points = np.array([(1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0), (0, 0, 1), (0, 0, -1)], float)
    faces = [(0, 2, 4), (2, 1, 4), (1, 3, 4), (3, 0, 4), (2, 0, 5), (1, 2, 5), (3, 1, 5), (0, 3, 5)]
    for _ in range(2):
        corners = points[np.array(faces)]
        middles = corners + np.roll(corners, -1, axis=1)
        every = np.concatenate([corners, middles / np.linalg.norm(middles, axis=2, keepdims=True)], axis=1)
        parts = every[:, [(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)]].reshape(-1, 3)
        points, faces = np.unique(parts.round(12), axis=0, return_inverse=True)
        faces = faces.reshape(-1, 3)
    return points * random.uniform(0.4, 1.0, (len(points), 1)), faces


def winds_around(center: np.ndarray, points: np.ndarray, triangles: np.ndarray) -> bool:
    """Solid angle of the surface seen from a center (Van Oosterom and Strackee), one triangle after the other."""
    total = 0.0
    for a, b, c in points[triangles] - center:
        lengths = [np.linalg.norm(way) for way in (a, b, c)]
        below = lengths[0] * lengths[1] * lengths[2] + a @ b * lengths[2] + b @ c * lengths[0] + c @ a * lengths[1]
        total += 2.0 * np.arctan2(a @ np.cross(b, c), below)
    return abs(total) > 2.0 * np.pi


def test_box_of_table_1() -> None:
    """4641 spheres as in the paper. By hand: 13 layers of 7 rows of 26 and 7 rows of 25."""
    points, triangles = make_box((2.5, 1.2, 1.0))
    uniform, radii = fill_uniform(points, triangles, 0.05)
    assert len(uniform) == 13 * 7 * (26 + 25) == 4641
    assert (radii == 0.05).all()
    np.testing.assert_array_equal(uniform[0], points[0])
    assert 0.72 < len(fill_two_levels(points, triangles, 0.05)[0]) / 4641 < 0.78  # the paper: 3452, .744


def test_a_board_has_no_large_spheres() -> None:
    points, triangles = make_box((2.5, 2.5, 0.4))
    uniform, _ = fill_uniform(points, triangles, 0.1)
    centers, radii = fill_two_levels(points, triangles, 0.1)
    np.testing.assert_array_equal(centers, uniform)
    assert (radii == 0.1).all()


def test_large_spheres_touch_twelve_and_hold_no_small_center() -> None:
    points, triangles = make_box((2.5, 1.2, 1.0))
    centers, radii = fill_two_levels(points, triangles, 0.05)
    large, small = centers[radii > 0.1], centers[radii < 0.1]
    np.testing.assert_allclose(radii[: len(large)], 0.15)
    assert len(large) + len(small) == len(centers)
    assert np.linalg.norm(large[:, None] - small, axis=2).min() >= 0.15 * (1 - 1e-6)
    every = fill_uniform(points, triangles, 0.15)[0]
    touching = (np.linalg.norm(every[:, None] - every, axis=2) < 0.3001).sum(axis=1) - 1
    np.testing.assert_allclose(large, every[touching == 12])


def test_inside_is_where_the_surface_winds_around() -> None:
    random = np.random.default_rng(0)
    points, triangles = make_star(random)
    centers = random.uniform(-0.7, 0.7, (50, 3))
    expected = [winds_around(center, points, triangles) for center in centers]
    assert 10 < sum(expected) < 40
    np.testing.assert_array_equal(find_inside(centers, points, triangles), expected)
    np.testing.assert_array_equal(find_inside(centers, points, triangles[:, ::-1]), expected)


@each("cuts", [1, 2, 5])
def test_rays_through_edges_and_corners(cuts: int) -> None:
    """Centers whose rays go through the corners and the diagonals of all squares of a box of many."""
    grid = np.stack(np.meshgrid(*[np.arange(cuts + 1.0)] * 2, indexing="ij"), axis=-1).reshape(-1, 2)
    number = np.arange((cuts + 1) ** 2).reshape(cuts + 1, cuts + 1)
    a, b, c, d = number[:-1, :-1], number[1:, :-1], number[1:, 1:], number[:-1, 1:]
    side = np.concatenate([np.stack([part.ravel() for part in three], axis=1) for three in ((a, b, c), (a, c, d))])
    points, triangles = [], []
    for axis in range(3):
        for height in (0.0, float(cuts)):
            triangles.append(side + len(grid) * len(points))
            points.append(np.insert(grid, axis, height, axis=1))
    places = np.arange(-0.5, cuts + 0.75, 0.5)
    centers = np.stack(np.meshgrid(places, places, places, indexing="ij"), axis=-1).reshape(-1, 3)
    expected = ((centers >= 0) & (centers <= cuts)).all(axis=1)
    actual = find_inside(centers, np.concatenate(points), np.concatenate(triangles))
    np.testing.assert_array_equal(actual, expected)


def test_an_inner_shell_is_a_hole() -> None:
    outer, inner = make_box((4, 4, 4)), make_box((2, 2, 2), (1, 1, 1))
    points, triangles = np.concatenate([outer[0], inner[0]]), np.concatenate([outer[1], inner[1] + 8])
    inside = find_inside(np.array([[0.5, 2.2, 2.1], [2, 2.2, 2.1], [3.5, 2.2, 2.1]]), points, triangles)
    np.testing.assert_array_equal(inside, [True, False, True])


def test_volume() -> None:
    points, triangles = make_box((2.5, 1.2, 1.0), (100, -50, 7))
    assert surface_volume(points, triangles) == pytest.approx(3.0)
    assert surface_volume(points, triangles[:, ::-1]) == pytest.approx(3.0)


@each("factor", [1e-3, 1e3])
def test_scale_does_not_matter(factor: float) -> None:
    points, triangles = make_box((2.5, 1.2, 1.0), (3, 1, 2))
    expected = fill_two_levels(points, triangles, 0.08)
    centers, radii = fill_two_levels(factor * points, triangles, factor * 0.08)
    np.testing.assert_allclose(centers, factor * expected[0], rtol=1e-9)
    np.testing.assert_allclose(radii, factor * expected[1])


def test_no_sphere_fits() -> None:
    """The lattice's only place is the box's low corner, and this body does not reach there."""
    points = np.array([(1.0, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1)])
    triangles = np.array([(0, 1, 2), (0, 3, 1), (0, 2, 3), (1, 3, 2)])
    for fill in (fill_uniform, fill_two_levels):
        centers, radii = fill(points, triangles, 5.0)
        assert centers.shape == (0, 3)
        assert radii.shape == (0,)
