"""Feet of bodies of two and four legs: found by their shape, planted, held by bending their legs."""

import numpy as np
import pytest

from supple.deformers.motion.feet import find_feet, find_planted, hold_foot, list_spans, measure_slide
from supple.deformers.motion.legs import bend_legs, find_arcs
from supple.deformers.motion.seams import find_longer, measure_seam

from ..cases import each

BIPED = {
    "root": (-1, 0, 0, 0.0), "hips": (0, 0, 0, 0.9), "chest": (1, 0, 0, 1.3), "head": (2, 0, 0, 1.7),
    "thigh.l": (1, 0.1, 0, 0.9), "shin.l": (4, 0.1, 0, 0.5), "foot.l": (5, 0.1, 0, 0.08), "toe.l": (6, 0.1, -0.1, 0.02),
    "thigh.r": (1, -0.1, 0, 0.9), "shin.r": (8, -0.1, 0, 0.5), "foot.r": (9, -0.1, 0, 0.08),
    "control.l": (0, 0.1, 0, 0.05), "knee.l": (0, 0.1, -1, 0.5),
}  # fmt: skip


def test_feet_of_a_biped():
    heads, parents = np.array([row[1:] for row in BIPED.values()]), [row[0] for row in BIPED.values()]
    names = list(BIPED)
    feet = [
        [names[bone] for bone in (foot.hip, foot.knee, foot.ankle, foot.contact)] for foot in find_feet(heads, parents)
    ]
    assert feet == [["thigh.l", "shin.l", "foot.l", "toe.l"], ["thigh.r", "shin.r", "foot.r", "foot.r"]]


def test_what_has_no_legs_has_no_feet():
    heads = np.array([[0.0, y, 0.0] for y in range(5)])
    assert find_feet(heads, [-1, 0, 1, 2, 3]) == []
    assert find_feet(heads[:1], [-1]) == []


def test_planted_is_low_and_slow_for_a_while():
    points = np.zeros((60, 3))
    points[20:30, 0] = np.linspace(0.0, 1.0, 10)
    points[30:, 0] = 1.0
    points[40:50, 2] = 0.5
    planted = find_planted(points, 1.8, 24.0)
    assert list_spans(planted) == [(0, 21), (29, 40), (50, 60)]
    assert list_spans(find_planted(points[48:52], 1.8, 240.0)) == []


HEIGHT = 10.0


def slide(frames: int = 40) -> np.ndarray:
    return np.stack([0.01 * np.arange(frames), np.zeros(frames), 0.02 * np.ones(frames)], axis=1)


@each("span", [(0, 40), (0, 22), (5, 40), (5, 28), (18, 22)])
def test_a_held_foot_stays_in_the_blended_frames(span):
    points, planted = slide(), np.zeros(40, bool)
    planted[span[0] : span[1]] = True
    held = hold_foot(points, planted, (15, 25), HEIGHT)
    assert measure_slide(points, planted, (15, 25)) > 0.02
    assert measure_slide(points + held.shifts, held.is_planted, (15, 25)) < 1e-12
    assert np.array_equal(held.is_planted, planted)
    assert np.all(held.shifts[:, 2] == 0.0)
    assert np.all(held.shifts[: min(15, span[0])] == 0.0)
    assert np.abs(np.diff(held.shifts, axis=0)).max() < 0.03 + 0.01


def test_a_foot_that_lands_comes_down_where_it_stays():
    points, planted = slide(), np.zeros(40, bool)
    planted[18:] = True
    shifts = hold_foot(points, planted, (15, 25), HEIGHT).shifts
    assert np.all(shifts[25:] == 0.0)
    assert (points + shifts)[18:26, 0] == pytest.approx(points[25, 0])


@each("is_late", [False, True])
def test_a_foot_that_stands_elsewhere_takes_a_step(is_late):
    points, planted = 10.0 * slide(), np.ones(40, bool)
    held = hold_foot(points, planted, (15, 25), HEIGHT, is_late)
    stepping = range(21, 25) if is_late else range(16, 20)
    assert np.array_equal(np.flatnonzero(~held.is_planted), list(stepping))
    moved = points + held.shifts
    assert measure_slide(moved, held.is_planted, (15, 25)) < 1e-12
    assert np.all(held.shifts[:16] == 0.0)
    assert np.all(held.shifts[25:] == 0.0)
    assert moved[stepping, 2].max() > 0.3
    assert moved[:16, 2] == pytest.approx(0.2)


THIGH = np.array([0.02, -0.1, -0.45])


def test_legs_reach_what_is_in_reach():
    random = np.random.default_rng(0)
    hips = random.normal(size=(200, 3))
    knees = hips + THIGH
    ankles = knees + np.array([-0.02, 0.12, -0.4])
    targets = ankles + random.uniform(-0.08, 0.08, (200, 3)) + np.array([0.0, 0.0, 0.03])
    at_hip, at_knee = bend_legs(hips, knees, ankles, targets)
    bent = knees + np.einsum("fij,fj->fi", at_knee, ankles - knees)
    reached = hips + np.einsum("fij,fj->fi", at_hip, bent - hips)
    near = np.linalg.norm(targets - hips, axis=1) < 0.99 * (np.linalg.norm(THIGH) + 0.418)
    assert near.sum() > 150
    assert np.abs(reached - targets)[near].max() < 1e-9
    assert np.linalg.norm(reached - hips, axis=1).max() < 0.88


def test_a_leg_that_is_where_it_shall_be_is_not_moved():
    hips, knees, ankles = np.zeros((1, 3)), np.array([[0.0, -0.1, -0.5]]), np.array([[0.0, 0.0, -1.0]])
    for turn in bend_legs(hips, knees, ankles, ankles):
        assert turn[0] == pytest.approx(np.eye(3), abs=1e-9)
    straight = np.array([[0.0, 0.0, -0.5]])
    assert all(np.isfinite(turn).all() for turn in bend_legs(hips, straight, ankles, ankles + 0.1))


def test_arcs_turn_one_direction_to_another():
    random = np.random.default_rng(1)
    first, second = random.normal(size=(20, 3)), random.normal(size=(20, 3))
    turned = np.einsum("fij,fj->fi", find_arcs(first, second), first)
    lengths = np.linalg.norm(first, axis=1) / np.linalg.norm(second, axis=1)
    assert turned == pytest.approx(second * lengths[:, None])


def test_a_jolt_is_measured():
    time = np.arange(60)[:, None]
    even = np.stack([np.sin(0.2 * time), np.cos(0.2 * time), 0.0 * time], axis=2)
    calm = measure_seam(even, (25, 35), [even])
    assert calm.inside > 0.9
    assert calm.speed == pytest.approx(1.0, abs=0.01)
    cut = np.concatenate([even[:30], even[33:]])
    jolt = measure_seam(cut, (25, 35), [even])
    assert jolt.speed > 3.0
    assert jolt.acceleration > 10.0
    assert jolt.inside < calm.inside


def test_a_far_pose_needs_a_longer_blend():
    time = np.arange(60)[:, None]
    even = np.stack([np.sin(0.2 * time), np.cos(0.2 * time), 0.0 * time], axis=2)
    near, far = find_longer(0.1, [even]), find_longer(2.0, [even])
    assert near == pytest.approx(np.sqrt(1.5 * 0.1 / 0.04), rel=0.02)
    assert far == pytest.approx(1.5 * 2.0 / 0.2, rel=0.02)
