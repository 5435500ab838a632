"""The forces of the literal particle skinning, against hand-worked numbers and loops written from the paper."""

import numpy as np
import pytest

from benchmarks.all_pairs import find_forces_of_all_pairs, step_all_pairs
from supple.deformers.geometry.lattice import hexagonal_packing
from supple.deformers.particles import forces_2010
from supple.deformers.particles.forces_2010 import (
    TIME_STEP,
    find_forces,
    find_masses,
    find_springs,
    find_time_step,
    settle_particles,
    step_with_neighbors,
)

from ..cases import each

ZERO = np.zeros((3, 2))


def make_cloud(radius: float = 0.2, large: bool = False) -> tuple[np.ndarray, np.ndarray]:
    centers = hexagonal_packing(np.zeros(3), np.array([1.4, 0.9, 0.8]), radius)
    radii = np.full(len(centers), radius)
    if large:
        radii[len(radii) // 2] *= 2.0
    return centers, radii


def shake(centers: np.ndarray, size: float, seed: int = 0) -> np.ndarray:
    """Rows (3, P) of points near the centers."""
    return (centers + size * np.random.default_rng(seed).normal(size=centers.shape)).T.copy()


def slow_forces(points, velocities, goals, lengths, stiffer):
    """Eq 1, 2, 3 (with -k_b) and 5, particle by particle; `lengths` {(i, j): length} tells who are neighbors."""
    forces = np.zeros_like(points)
    for i in range(points.shape[1]):
        neighbors = [(set(pair) - {i}).pop() for pair in lengths if i in pair]
        for j in neighbors:
            way = points[:, j] - points[:, i]
            stretch = np.linalg.norm(way) - lengths[min(i, j), max(i, j)]
            forces[:, i] += (0.3 * stiffer if stretch < 0 else 0.3) * stretch * way / np.linalg.norm(way)
        if neighbors:
            forces[:, i] -= 0.03 * (velocities[:, i] - velocities[:, neighbors].mean(axis=1))
        forces[:, i] -= 0.03 * (points[:, i] - goals[:, i])
        forces[:, i] -= 0.03 * velocities[:, i]
    return forces


def test_forces_by_hand() -> None:
    """Two particles that are 1 apart at rest."""
    springs = find_springs(np.array([[0.0, 0, 0], [1, 0, 0]]), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(springs.lengths, [1.0])
    apart = np.array([[0.0, 0], [0, 3], [0, 0]])
    np.testing.assert_allclose(find_forces(apart, ZERO, apart, springs), [[0, 0], [0.6, -0.6], [0, 0]])
    near = np.array([[0.0, 0.5], [0, 0], [0, 0]])
    np.testing.assert_allclose(find_forces(near, ZERO, near, springs), [[-0.225, 0.225], [0, 0], [0, 0]])
    goals = apart + np.array([[2.0], [0], [0]])
    rest = np.array([[0.0, 1], [0, 0], [0, 0]])
    np.testing.assert_allclose(find_forces(rest, ZERO, rest + 2, springs), np.full((3, 2), 0.06))
    assert (find_forces(apart, ZERO, goals, springs)[0] > 0).all()  # pulled, not pushed, as eq 3 is printed
    moving = np.array([[1.0, 0], [0, 0], [0, 0]])
    np.testing.assert_allclose(find_forces(rest, moving, rest, springs), [[-0.06, 0.03], [0, 0], [0, 0]])


def test_heun_by_hand() -> None:
    """One particle of mass 1 and its bone 1 away, step 0.1: a = .03, then .03 - .03 * .003 = .02991."""
    springs = find_springs(np.zeros((1, 3)), np.ones(1))
    goals = np.array([[1.0], [0], [0]])
    points, velocities = step_with_neighbors(np.zeros((3, 1)), np.zeros((3, 1)), goals, np.ones(1), springs, 0.1)
    np.testing.assert_allclose(points[:, 0], [0.00015, 0, 0])
    np.testing.assert_allclose(velocities[:, 0], [0.0029955, 0, 0])


@each("large", [False, True])
def test_neighbors_are_those_between_which_none_fits(large: bool) -> None:
    centers, radii = make_cloud(large=large)
    springs = find_springs(centers, radii)
    pairs = {(int(i), int(j)) for i, j in zip(springs.first, springs.second, strict=True)}
    expected = {
        (i, j)
        for i in range(len(centers))
        for j in range(i + 1, len(centers))
        if np.linalg.norm(centers[i] - centers[j]) - radii[i] - radii[j] < 2 * radii.min() - 1e-5
    }
    assert pairs == expected
    np.testing.assert_array_equal(springs.counts, [sum(i in pair for pair in pairs) for i in range(len(centers))])


@each("large", [False, True])
def test_forces_are_the_paper_s(large: bool) -> None:
    centers, radii = make_cloud(large=large)
    centers, radii = np.append(centers, [[9.0, 9, 9]], axis=0), np.append(radii, 0.2)  # one without neighbors
    springs = find_springs(centers, radii)
    lengths = dict(zip(zip(springs.first, springs.second, strict=True), springs.lengths, strict=True))
    points, velocities, goals = shake(centers, 0.1), shake(0 * centers, 1.0, 1), shake(centers, 0.2, 2)
    expected = slow_forces(points, velocities, goals, lengths, forces_2010.COMPRESSION)
    np.testing.assert_allclose(find_forces(points, velocities, goals, springs), expected, atol=1e-12)


def test_all_pairs_are_the_paper_s() -> None:
    centers, radii = make_cloud(large=True)
    points, velocities, goals = shake(centers, 0.1), shake(0 * centers, 1.0, 1), shake(centers, 0.2, 2)
    lengths = {
        (i, j): radii[i] + radii[j]
        for i in range(len(radii))
        for j in range(i + 1, len(radii))
        if np.linalg.norm(points[:, i] - points[:, j]) < radii[i] + radii[j] + 0.4
    }
    expected = slow_forces(points, velocities, goals, lengths, forces_2010.COMPRESSION)
    np.testing.assert_allclose(find_forces_of_all_pairs(points, velocities, goals, radii), expected, atol=1e-12)


def test_both_steps_agree_where_particles_touch() -> None:
    """Of four that all touch, the distances at rest are r_i + r_j, and neighbors are neighbors all the time."""
    centers = np.array([[1.0, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.1
    radii = np.full(4, 0.1 * 2**0.5)
    points, velocities = shake(centers, 0.02), shake(0 * centers, 0.1, 1)
    state = points, velocities, centers.T, find_masses(radii)
    for actual, expected in zip(
        step_all_pairs(*state, radii), step_with_neighbors(*state, find_springs(centers, radii)), strict=True
    ):
        np.testing.assert_allclose(actual, expected, atol=1e-12)


def test_particles_at_one_place_have_no_direction_to_go() -> None:
    springs = find_springs(np.array([[0.0, 0, 0], [1, 0, 0]]), np.array([0.5, 0.5]))
    np.testing.assert_array_equal(find_forces(ZERO, ZERO, ZERO, springs), ZERO)


@each("radius", [0.2, 0.02])
def test_steps_do_not_explode(radius: float) -> None:
    """Shaken by twice their radius, the particles calm down."""
    centers = hexagonal_packing(np.zeros(3), np.array([8, 6, 6]) * radius, radius)
    radii = np.full(len(centers), radius)
    springs, masses = find_springs(centers, radii), find_masses(radii)
    time_step = find_time_step(masses, springs.counts)
    points, velocities = shake(centers, 2 * radius), np.zeros((3, len(centers)))
    for _ in range(200):
        points, velocities = step_with_neighbors(points, velocities, centers.T, masses, springs, time_step)
        assert np.abs(points - centers.T).max() < 10 * radius
    assert round(TIME_STEP / time_step, 6) == round(TIME_STEP / time_step)


def test_the_paper_s_step_explodes_for_small_particles(monkeypatch: pytest.MonkeyPatch) -> None:
    """And then the last state before that is kept."""
    centers, radii = make_cloud(0.02)[0][:60], np.full(60, 0.02)
    springs, masses = find_springs(centers, radii), find_masses(radii)
    goals = shake(centers, 0.05)
    assert find_time_step(masses, springs.counts) < TIME_STEP / 2
    monkeypatch.setattr(forces_2010, "find_time_step", lambda *_: TIME_STEP)
    points, _ = settle_particles(goals, masses, springs, 1e-4)
    np.testing.assert_array_equal(points, goals)


def test_settled_particles_have_no_force_left() -> None:
    centers, radii = make_cloud()
    springs = find_springs(centers, radii)
    goals = shake(centers, 0.1)
    points, steps = settle_particles(goals, find_masses(radii), springs, 0.01)
    assert 0 < steps < forces_2010.MAX_STEPS
    assert np.abs(find_forces(points, 0 * points, goals, springs)).max() <= 0.03 * 0.01
    assert np.abs(points - goals).max() > 0.05
