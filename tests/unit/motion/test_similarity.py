"""The table of frames against its definition, and what is found in it."""

import numpy as np
import pytest

from supple.deformers.motion.similarity import Motion, align, align_frames, compare_frames
from supple.deformers.motion.transitions import choose_loop, find_minima, list_transitions, weigh_losses

RADIUS = 3


def wander(frames: int, seed: int, points: int = 9) -> Motion:
    """A body that wanders."""
    random = np.random.default_rng(seed)
    weights = random.random(points)
    return Motion(np.cumsum(random.normal(size=(frames, points, 3)), axis=0), weights / weights.sum())


def rotation(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])


def by_definition(first: Motion, second: Motion, row: int, column: int) -> float:
    """The least distance of two windows: over all frames that both have, one more at the ends, after the best turn."""
    transform = align_frames(first, second, (row, column), RADIUS)
    one, two = first.continued().points, second.continued().points
    squares, count = 0.0, 0
    for step in range(-RADIUS, RADIUS + 1):
        frames = row + step + 1, column + step + 1
        if 0 <= frames[0] < len(one) and 0 <= frames[1] < len(two):
            moved = two[frames[1]] @ transform[:3, :3].T + transform[:3, 3]
            squares += float(first.weights @ ((one[frames[0]] - moved) ** 2).sum(axis=1))
            count += 1
    return np.sqrt(squares / count)


def test_the_table_is_the_least_distance_of_windows():
    first, second = wander(20, 0), wander(15, 1)
    second = Motion(second.points, first.weights)
    table = compare_frames(first, second, RADIUS)
    expected = [[by_definition(first, second, row, column) for column in range(15)] for row in range(20)]
    assert table == pytest.approx(np.array(expected), rel=1e-5)


def test_blocks_do_not_show(monkeypatch):
    first, second = wander(20, 0), Motion(wander(15, 1).points, wander(20, 0).weights)
    whole = compare_frames(first, second, RADIUS)
    shares: list[float] = []
    monkeypatch.setattr("supple.deformers.motion.similarity.BLOCK", 3)
    assert compare_frames(first, second, RADIUS, shares.append) == pytest.approx(whole, rel=1e-5)
    assert shares == sorted(shares)
    assert len(shares) == 7
    assert shares[-1] == 1.0


def test_a_turned_and_shifted_motion_is_the_same():
    first = wander(12, 2)
    second = Motion(first.points @ rotation(2.2).T + (50.0, -3.0, 0.0), first.weights)
    assert compare_frames(first, second, RADIUS).diagonal() == pytest.approx(0.0, abs=1e-3)
    transform = align_frames(first, second, (6, 6), RADIUS)
    assert transform[:3, :3] == pytest.approx(rotation(-2.2))
    raised = Motion(first.points + np.array([0.0, 0.0, 1.0]), first.weights)
    assert compare_frames(first, raised, RADIUS).diagonal() == pytest.approx(1.0, rel=1e-4)


def test_alignment_is_the_best_of_all_turns():
    random = np.random.default_rng(3)
    first, second, weights = random.normal(size=(4, 6, 3)), random.normal(size=(4, 6, 3)), random.random(6)

    def cost(transform: np.ndarray) -> float:
        return float(
            (((first - second @ transform[:3, :3].T - transform[:3, 3]) ** 2)[..., :2].sum(-1) * weights).sum()
        )

    best = align(first, second, weights)
    for angle, shift in ((1e-3, 0.0), (-1e-3, 0.0), (0.0, 1e-3), (1.5, 0.0), (3.0, 0.1)):
        other = best.copy()
        other[:3, :3] = rotation(angle) @ other[:3, :3]
        other[0, 3] += shift
        assert cost(other) > cost(best)


def swing(frames: int, period: int) -> Motion:
    """Two points that swing, and travel."""
    time = np.arange(frames)
    angles = 2.0 * np.pi * time[:, None] / period + np.array([0.0, 1.0])
    points = np.stack([0.3 * np.sin(angles) + 0.05 * time[:, None], [0.0, 1.0] + 0 * angles, np.cos(angles)], axis=2)
    return Motion(points, np.array([0.5, 0.5]))


def test_a_loop_is_found_where_it_is():
    motion = swing(50, 20)
    table = compare_frames(motion, motion, RADIUS)
    found = choose_loop(table, 5)
    assert found is not None
    assert found.first - found.second == 40
    assert found.difference == pytest.approx(0.0, abs=1e-3)
    assert choose_loop(table, 50) is None


def test_a_loop_of_a_motion_that_goes_far():
    motion = swing(50, 20)
    table = compare_frames(motion, motion, RADIUS).astype(np.float32)
    near, far = choose_loop(table, 5), choose_loop(table * np.float32(1e30), 5)
    assert near is not None
    assert far is not None
    assert (far.first, far.second) == (near.first, near.second)


def test_a_still_part_is_no_loop():
    motion = swing(50, 20)
    still = Motion(np.concatenate([motion.points, np.tile(motion.points[-1:], (30, 1, 1))]), motion.weights)
    found = choose_loop(compare_frames(still, still, RADIUS), 5)
    assert found is not None
    assert found.first < 52


def test_transitions_are_minima_apart_from_each_other():
    table = np.full((30, 30), 5.0)
    table[4, 4], table[5, 6], table[20, 7], table[7, 20] = 1.0, 2.0, 3.0, 0.5
    found = list_transitions(table, 3, apart=3)
    assert [(one.first, one.second) for one in found] == [(7, 20), (4, 4), (20, 7)]
    loops = list_transitions(table, 1, apart=3, shortest=5)
    assert [(one.first, one.second) for one in loops] == [(20, 7)]
    joins = list_transitions(table, 4, apart=3, costs=weigh_losses(table))
    assert [(one.first, one.second, one.difference) for one in joins[:3]] == [(20, 7, 3.0), (15, 0, 5.0), (15, 4, 5.0)]
    assert find_minima(table)[5, 6]
    assert not find_minima(table)[4, 5]
