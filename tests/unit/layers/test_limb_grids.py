"""Loose cloth stays out of limbs: a tube as a leg in two parts, and a wider tube as a skirt."""

import numpy as np
import pytest

from supple.deformers.layers.limb_grids import (
    LimbGrids,
    NearLimbs,
    find_near_bones,
    find_near_limbs,
    make_limb_grids,
    push_out,
    read_grids,
)
from supple.deformers.layers.tuck import find_neighbors

from ..brute_force import find_nearest
from ..meshes import make_tube

HEIGHT, RADIUS, GAP = 1.0, 0.06, 0.006
LEG = make_tube(RADIUS, 9, 16, 0.4)
SKIRT = (make_tube(0.1, 5, 12, 0.2)[0] + (0.0, 0.0, 0.1), make_tube(0.1, 5, 12, 0.2)[1])
UPPER = np.clip((LEG[0][:, 2] - 0.15) / 0.1, 0.0, 1.0)
WEIGHTS = np.stack([1.0 - UPPER, UPPER], axis=1)
NEIGHBORS = find_neighbors(*SKIRT)


@pytest.fixture(scope="module")
def limbs() -> tuple[LimbGrids, NearLimbs]:
    bones = find_near_bones(SKIRT[0], LEG[0], WEIGHTS, HEIGHT, 0.3)
    grids = make_limb_grids(*LEG, WEIGHTS, np.array([0, 1]), HEIGHT, find_nearest)
    return grids, find_near_limbs(SKIRT[0], bones, grids)


def turn_about_x(angle: float) -> np.ndarray:
    matrix = np.eye(4)
    matrix[1:3, 1:3] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    return matrix


def test_the_nearest_bones_come_first() -> None:
    bones = find_near_bones(SKIRT[0], LEG[0], WEIGHTS, HEIGHT, 0.3)
    assert (bones[0][SKIRT[0][:, 2] < 0.14] == 0).all()
    assert (bones[0][SKIRT[0][:, 2] > 0.26] == 1).all()
    assert (bones[2:] == -1).all()
    assert (find_near_bones(SKIRT[0], LEG[0], WEIGHTS, HEIGHT, 0.01) == -1).all()


def test_small_limbs_are_left_out() -> None:
    assert (find_near_bones(SKIRT[0], LEG[0], WEIGHTS, 20.0, 0.3) == -1).all()


def test_grids_hold_the_distance_and_the_way_out(limbs: tuple[LimbGrids, NearLimbs]) -> None:
    points = np.array([[0.08, 0.0, 0.3], [0.0, -0.05, 0.32]])
    values = read_grids(limbs[0], np.array([1, 1]), points)
    assert values[:, 0] == pytest.approx([0.02, -0.01], abs=0.002)
    assert values[:, 1:] == pytest.approx(np.array([[1.0, 0.0, 0.0], [0.0, -1.0, 0.0]]), abs=0.05)


def test_beyond_its_weights_and_its_grid_a_limb_counts_for_nothing(limbs: tuple[LimbGrids, NearLimbs]) -> None:
    points = np.array([[0.07, 0.0, 0.05], [0.5, 0.0, 0.3]])
    assert read_grids(limbs[0], np.array([1, 1]), points)[:, 1:] == pytest.approx(0.0)


def test_rest_and_rigid_motion_move_nothing(limbs: tuple[LimbGrids, NearLimbs]) -> None:
    for matrix in (np.eye(4), turn_about_x(1.0)):
        points = SKIRT[0] @ matrix[:3, :3].T
        pushed = push_out(points, np.stack([matrix, matrix]), *limbs, NEIGHBORS, GAP)
        assert np.abs(pushed - points).max() < 1e-6


def test_a_leg_that_comes_forward_pushes_the_skirt_out(limbs: tuple[LimbGrids, NearLimbs]) -> None:
    moved = np.eye(4)
    moved[0, 3] = 0.07
    pushed = push_out(SKIRT[0], np.stack([moved, moved]), *limbs, NEIGHBORS, GAP)
    before, after = (np.hypot(points[:, 0] - 0.07, points[:, 1]) - RADIUS for points in (SKIRT[0], pushed))
    assert before.min() < -0.02
    assert after.min() > 0.0
    assert (pushed - SKIRT[0])[:, 0].max() > 0.02


def test_a_slot_that_a_point_does_not_have_is_never_read(limbs: tuple[LimbGrids, NearLimbs]) -> None:
    grids, near = limbs
    moved = np.eye(4)
    moved[0, 3] = 0.07
    nowhere = near._replace(limbs=np.full_like(near.limbs, -1))
    assert np.array_equal(push_out(SKIRT[0], np.stack([moved, moved]), grids, nowhere, NEIGHBORS, GAP), SKIRT[0])
