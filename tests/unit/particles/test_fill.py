"""Filling bodies with particles: where they are, how large, how many."""

from functools import lru_cache

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule, revolve
from supple.deformers.geometry.neighbors import find_nearest
from supple.deformers.geometry.solid import read_surface
from supple.deformers.particles.fill import (
    BARE_DISTANCE,
    COUNT_TOLERANCE,
    MAX_GROWTH,
    MAX_RATIO,
    MIN_SPACING,
    RADII_IN_BALL,
    Fill,
    fill_solid,
    sample_skin,
    thin_out,
)

from ..cases import each

Mesh = tuple[np.ndarray, np.ndarray]
BOX = make_box((2.5, 1.2, 1.0), 0.3)
CAPSULE = make_capsule(2.0, 0.3, 0.08)


def make_bottle() -> Mesh:
    """A body of revolution: radius 1 and height 2, with a neck of radius .25 and height 1.5."""
    heights = np.concatenate([[0, 0], np.linspace(0.25, 1.75, 7), [2, 2.1], np.linspace(2.25, 3.5, 6), [3.5]])
    radii = np.concatenate([[0], np.ones(9), np.full(7, 0.25), [0]])[: len(heights)]
    radii[-1] = 0.0
    return revolve(radii, heights, 24)


BOTTLE = make_bottle()


def fill(mesh: Mesh, radius: float = 0.0, count: int = 300) -> Fill:
    return fill_solid(read_surface(*mesh), radius, count)


MESHES = {"box": BOX, "capsule": CAPSULE, "bottle": BOTTLE}
fill_once = lru_cache(lambda name: fill(MESHES[name], 0.0, 400))


def closest(result: Fill) -> tuple[float, float]:
    """Least distance of two particles, as a share of the sum of their radii, and of twice the smaller one."""
    away = np.linalg.norm(result.points[:, None] - result.points, axis=2)
    pairs = np.triu_indices(len(away), 1)
    first, second = result.radii[pairs[0]], result.radii[pairs[1]]
    return float((away[pairs] / (first + second)).min()), float((away[pairs] / (2 * np.minimum(first, second))).min())


def outside_of_box(points: np.ndarray, size: object) -> np.ndarray:
    return np.linalg.norm(np.maximum(np.abs(points) - 0.5 * np.asarray(size), 0), axis=1)


@pytest.fixture(scope="module", params=["box", "capsule", "bottle"])
def filled(request: pytest.FixtureRequest) -> tuple[Mesh, Fill]:
    return MESHES[request.param], fill_once(request.param)


@each("mesh", [BOX, CAPSULE, BOTTLE])
@each("count", [60, 700])
def test_as_many_as_asked_for(mesh: Mesh, count: int) -> None:
    assert abs(len(fill(mesh, 0.0, count).points) / count - 1) <= COUNT_TOLERANCE + 0.05


def test_radii_are_between_smallest_and_largest(filled: tuple[Mesh, Fill]) -> None:
    _, result = filled
    assert result.radii.min() >= result.smallest_radius * (1 - 1e-6)
    assert result.radii.max() <= MAX_RATIO * result.smallest_radius * (1 + 1e-6)


def test_radii_are_graded(filled: tuple[Mesh, Fill]) -> None:
    """Neighbors differ by no more than the slope, one level of sqrt 2, and a cell of the grid on each side allow."""
    _, result = filled
    near, away = find_nearest(result.points, result.points, 7)
    difference = np.abs(result.radii[near] - result.radii[:, None])
    allowed = MAX_GROWTH * (np.sqrt(3) * away + 2 * result.smallest_radius) + 0.35 * np.maximum(
        result.radii[near], result.radii[:, None]
    )
    assert (difference <= allowed).all()


def test_large_in_the_body_and_small_in_the_neck() -> None:
    result = fill(BOTTLE, 0.07)
    core = (np.linalg.norm(result.points[:, :2], axis=1) < 0.4) & (np.abs(result.points[:, 2] - 1) < 0.4)
    neck = result.points[:, 2] > 2.4
    assert core.sum() > 0
    assert neck.sum() > 10
    assert result.radii[core].min() > 2 * result.radii[neck].max()
    assert result.thickness[core] == pytest.approx(1.0, rel=0.2)
    top = result.points[:, 2] > 3.1  # farther from the body than it reaches
    assert result.thickness[top] == pytest.approx(0.25, rel=0.3)


@each("mesh", [BOX, CAPSULE])
def test_smaller_ones_are_more(mesh: Mesh) -> None:
    result = fill(mesh, 0.0, 150)
    assert len(fill(mesh, 0.5 * result.smallest_radius).points) > 1.5 * len(result.points)


@each("radius", [0.1, 0.2])
def test_smallest_radius_is_kept(radius: float) -> None:
    few, many = (fill(BOX, radius, count) for count in (30, 3000))
    assert few.smallest_radius == many.smallest_radius == radius
    assert few.radii.min() >= radius * (1 - 1e-6)
    np.testing.assert_array_equal(few.points, many.points)


def test_none_is_too_near_to_another(filled: tuple[Mesh, Fill]) -> None:
    """Of one size, close packings touch; particles under bare skin, and of two sizes, may overlap by some."""
    _, result = filled
    of_sum, of_smaller = closest(result)
    assert of_sum > 0.5
    assert of_smaller > MIN_SPACING * (1 - 1e-6)


def test_all_are_inside(filled: tuple[Mesh, Fill]) -> None:
    """Up to half a cell of the grid, whose side is the smallest radius."""
    mesh, result = filled
    if mesh is BOX:
        assert outside_of_box(result.points, (2.5, 1.2, 1.0)).max() < 0.55 * result.smallest_radius
    elif mesh is CAPSULE:
        axis = np.stack([*np.zeros((2, len(result.points))), np.clip(result.points[:, 2], 0, 2)], axis=1)
        assert np.linalg.norm(result.points - axis, axis=1).max() < 0.3 + 0.55 * result.smallest_radius


def test_no_skin_is_bare(filled: tuple[Mesh, Fill]) -> None:
    """Bare is what is farther from all particles than 2.2 radii; those are a third of the limb's, or the smallest."""
    mesh, result = filled
    skin, _, _ = sample_skin(read_surface(*mesh), result.smallest_radius)
    away = find_nearest(skin, result.points, 1)[1][:, 0]
    assert (
        away <= BARE_DISTANCE * np.maximum(result.limbs_at(skin) / RADII_IN_BALL, result.smallest_radius) * 1.2
    ).all()


def test_volumes_sum_to_the_body(filled: tuple[Mesh, Fill]) -> None:
    mesh, result = filled
    assert result.volumes.min() > 0
    assert result.volumes.sum() == pytest.approx(read_surface(*mesh).volume, rel=0.15)
    shares = result.presence * result.radii**3
    np.testing.assert_allclose(result.volumes / result.volumes[0], shares / shares[0])
    assert result.presence.min() > 0
    assert result.presence.max() == 1


@each(("thickness", "count"), [(0.3, 400), (0.1, 100), (0.05, 400), (0.02, 100)])
def test_a_thin_board_is_filled_all_over(thickness: float, count: int) -> None:
    size = np.array([2.5, 1.2, thickness])
    result = fill(make_box((2.5, 1.2, thickness), 0.3), 0.0, count)
    assert abs(len(result.points) / count - 1) < 0.35
    assert outside_of_box(result.points, size).max() < 0.55 * result.smallest_radius
    x, y = np.meshgrid(np.linspace(-1.25, 1.25, 40), np.linspace(-0.6, 0.6, 20), indexing="ij")
    board = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    near, away = find_nearest(board, result.points, 1)
    assert (away[:, 0] < 3.0 * result.radii[near[:, 0]]).all()
    assert result.thickness == pytest.approx(result.thickness[0], rel=0.7)


@each("thickness", [0.004, 0.001])
def test_particles_do_not_leave_a_board_thinner_than_they_are(thickness: float) -> None:
    """The skin that is bare gets its particle below it, which must not be beyond the other side."""
    result = fill(make_box((2.5, 1.2, thickness), 0.3), 0.0, 100)
    assert outside_of_box(result.points, (2.5, 1.2, thickness)).max() <= thickness


@each("name", ["box", "bottle"])
def test_unit_does_not_matter(name: str) -> None:
    """Powers of 2 change no digit."""
    scale, result, mesh = 2.0**10, fill_once(name), MESHES[name]
    other = fill((scale * mesh[0], mesh[1]), 0.0, 400)
    np.testing.assert_allclose(other.points, scale * result.points, atol=1e-9 * scale)
    np.testing.assert_allclose(other.radii, scale * result.radii)
    np.testing.assert_allclose(other.volumes, scale**3 * result.volumes)
    np.testing.assert_allclose(other.thickness, scale * result.thickness)


@each("name", ["box", "bottle"])
def test_unit_matters_little(name: str) -> None:
    """The last digit decides about cells that lie just on the limit of a level."""
    result, mesh = fill_once(name), MESHES[name]
    other = fill((1e-3 * mesh[0], mesh[1]), 0.0, 400)
    assert len(other.points) == pytest.approx(len(result.points), rel=0.1)
    assert other.smallest_radius == pytest.approx(1e-3 * result.smallest_radius, rel=0.05)


@each("name", ["box", "capsule"])
def test_noise_keeps_particles(name: str) -> None:
    """Those that come and go hardly count, but for few."""
    result, (points, triangles) = fill_once(name), MESHES[name]
    noise = np.random.default_rng(0).normal(0.0, 1e-6, points.shape)
    other = fill((points + noise, triangles), 0.0, 400)
    near, away = find_nearest(result.points, other.points, 1)
    gone = away[:, 0] > 1e-4
    assert (result.presence[gone] > 0.1).sum() <= 0.01 * len(gone)
    np.testing.assert_allclose(result.radii[~gone], other.radii[near[~gone, 0]], rtol=1e-4)


def test_same_bytes() -> None:
    result, other = fill_once("bottle"), fill(BOTTLE, 0.0, 400)
    for name in ("points", "radii", "volumes", "thickness"):
        assert getattr(other, name).tobytes() == getattr(result, name).tobytes()


def test_limbs_by_hand() -> None:
    """A long capsule is as thick as its radius; a box as half its least side."""
    capsule = fill(CAPSULE, 0.06)
    middle = np.abs(capsule.points[:, 2] - 1) < 0.8
    assert capsule.thickness[middle] == pytest.approx(0.3, rel=0.2)
    skin = np.array([[0.3, 0, 1], [0, -0.3, 0.7], [-0.29, 0, 1.2]])
    assert capsule.limbs_at(skin) == pytest.approx(0.3, rel=0.25)
    board = fill(make_box((2.5, 1.2, 0.4), 0.3), 0.05)
    inner = outside_of_box(board.points, (2.0, 0.8, 1)) == 0
    assert board.thickness[inner] == pytest.approx(0.2, rel=0.25)


@each("spacing", [0.1, 0.5, 5.0])
def test_samples_of_the_skin(spacing: float) -> None:
    surface = read_surface(*BOX)
    points, normals, areas = sample_skin(surface, spacing)
    assert areas.sum() == pytest.approx(2 * (2.5 * 1.2 + 2.5 * 1.0 + 1.2 * 1.0))
    np.testing.assert_allclose(np.linalg.norm(normals, axis=1), 1.0)
    side = np.abs(points) / (0.5 * np.array([2.5, 1.2, 1.0]))
    np.testing.assert_allclose(side.max(axis=1), 1.0)
    axis = side.argmax(axis=1)
    rows = np.arange(len(points))
    np.testing.assert_allclose(normals[rows, axis], np.sign(points[rows, axis]), atol=1e-9)
    middles = surface.points[surface.triangles].mean(axis=1)
    everywhere = np.concatenate([surface.points, middles])
    assert find_nearest(everywhere, points, 1)[1].max() <= spacing
    assert len(points) >= len(surface.triangles)


@each("factor", [0.8, 1.6])
def test_thinned_out(factor: float) -> None:
    random = np.random.default_rng(0)
    points, radii = random.uniform(0, 1, (1500, 3)), random.choice([0.05, 0.1], 1500)
    chosen = thin_out(points, radii, factor)
    assert len(np.unique(chosen)) == len(chosen)
    away = np.linalg.norm(points[chosen][:, None] - points[chosen], axis=2)
    smaller = np.minimum(radii[chosen][:, None], radii[chosen])
    assert (away / smaller)[~np.eye(len(chosen), dtype=bool)].min() >= factor
    near = np.linalg.norm(points[:, None] - points[chosen], axis=2).min(axis=1)
    assert (near <= 2.8 * factor * radii.max()).all()


def test_thinned_out_by_hand() -> None:
    points = np.array([[0.05, 0.5, 0.5], [0.95, 0.5, 0.5], [1.05, 0.5, 0.5], [7.0, 0, 0]])
    chosen = thin_out(points, np.ones(4), 1.0)
    assert 3 in chosen
    assert len(chosen) in (2, 3)
    assert not {1, 2} <= set(chosen.tolist())
