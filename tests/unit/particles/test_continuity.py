"""Skin goes on across a joint where one piece of it is on both sides."""

import numpy as np

from benchmarks.surfaces import make_capsule
from supple.deformers.particles.continuity import find_continuous

RADIUS = 0.2


def make_arm(gap: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, triangles and the weight of the forearm: a capsule, or two whose ends are in one another."""
    points, triangles = make_capsule(2.0, RADIUS, 0.08)
    if gap:
        halves = [points * [1, 1, 0.5] + [0, 0, z] for z in (0.0, 1.0 - gap)]
        points, triangles = np.concatenate(halves), np.concatenate([triangles, triangles + len(points)])
    return points, triangles, np.clip((points[:, 2] - 0.6) / 0.8, 0.0, 1.0)


def find(points: np.ndarray, triangles: np.ndarray, side: np.ndarray) -> list[bool]:
    sides = np.stack([np.ones(len(points)), side], axis=1)
    return find_continuous(points, triangles, sides, np.full(len(points), RADIUS)).tolist()


def test_an_arm_goes_on_and_one_of_two_plates_does_not() -> None:
    assert find(*make_arm(0.0)) == [False, True]
    points, triangles, side = make_arm(0.1)
    assert find(points, triangles, side) == [False, False]
    assert find(points, triangles, (np.arange(len(points)) >= len(points) // 2).astype(float)) == [False, False]


def test_seams_part_no_skin() -> None:
    points, triangles, side = make_arm(0.0)
    split, corners = np.arange(triangles.size).reshape(-1, 3), triangles.ravel()
    assert find(points[corners], split, side[corners]) == [False, True]


def test_a_mesh_without_faces_has_no_skin() -> None:
    assert find(np.zeros((3, 3)), np.empty((0, 3), int), np.full(3, 0.5)) == [False, False]
