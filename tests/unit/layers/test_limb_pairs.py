"""Limbs keep out of each other: two capsules as legs on a block, of which one or both give way."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule
from supple.deformers.geometry.solid import vertex_normals
from supple.deformers.layers.limb_grids import LimbGrids, NearLimbs, make_limb_grids, measure_distances, push_out
from supple.deformers.layers.limb_pairs import PAIR_SLOTS, find_limb_pairs, find_other_limbs, label_limbs
from supple.deformers.layers.tuck import find_neighbors

from ..brute_force import find_nearest
from ..meshes import join

RADIUS = 0.15
BLOCK, LEG = make_box((1.0, 0.4, 0.2), 0.2), make_capsule(0.3, RADIUS, 0.09)
POINTS, TRIANGLES = join(BLOCK, *((LEG[0] + (x, 0.0, -0.54), LEG[1]) for x in (-0.35, 0.35)))
OWNERS = np.repeat([0, 3, 4], [len(BLOCK[0]), len(LEG[0]), len(LEG[0])])
PARENTS, WEIGHTS = np.array([-1, 0, 0, 1, 2]), np.eye(5)[OWNERS]
LEFT, RIGHT = OWNERS == 3, OWNERS == 4
GAP, OVERLAP = 1e-3, 0.06
MIDDLE = POINTS[:, 2] < -0.25
"""Of the legs: far from the block, where skin does not give way in full."""

HEIGHT = 2.4


@pytest.mark.parametrize(
    ("parents", "limbs"),
    [
        pytest.param([-1, 0, 1, 2], [0, 0, 0, 0], id="chain"),
        pytest.param([-1, 0, 0, 1, 2], [0, 1, 2, 1, 2], id="two legs"),
        pytest.param([-1, 0, 1, 1, 2], [0, 0, 0, 0, 0], id="a bone that twists"),
        pytest.param([1, -1, 1, 0, 2], [2, 0, 1, 2, 1], id="children first"),
    ],
)
def test_limbs_end_where_bones_branch(parents: list[int], limbs: list[int]) -> None:
    assert label_limbs(np.array(parents)).tolist() == limbs


def find(is_hard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return find_limb_pairs(POINTS, WEIGHTS, (POINTS, TRIANGLES, WEIGHTS), PARENTS, is_hard, 1.0, 2.0, find_nearest)


def find_depth(points: np.ndarray) -> float:
    """How deep the left leg is in the right one, away from the block; negative where it is not."""
    surface = TRIANGLES[RIGHT[TRIANGLES].all(axis=1)]
    return -float(measure_distances(points[LEFT & MIDDLE], points, surface, find_nearest)[2].min())


@pytest.fixture(scope="module")
def grids() -> LimbGrids:
    return make_limb_grids(POINTS, TRIANGLES, WEIGHTS, np.array([3, 4]), HEIGHT, find_nearest)


def test_skin_meets_other_limbs_but_not_next_to_its_joint() -> None:
    bones, shares = find(np.zeros(5, bool))
    assert bones.shape == (PAIR_SLOTS, len(POINTS))
    assert not (bones[:, LEFT] == 3).any(), "a limb does not run into itself"
    low = LEFT & (POINTS[:, 2] < -0.3)
    assert set(bones[:, low].ravel().tolist()) == {-1, 0, 4}
    assert (shares[:, low][bones[:, low] >= 0] == 0.5).all()
    at_joint = LEFT & (POINTS[:, 2] > -0.12)
    of_block = shares[:, at_joint][bones[:, at_joint] == 0]
    assert (bones[:, at_joint] == 4).any(axis=0).all()
    assert len(of_block) < at_joint.sum() or (of_block < 0.5).any()
    bones, shares = find(np.arange(5) == 4)
    assert not (bones[:, RIGHT] >= 0).any(), "what is hard is pushed out of nothing"
    assert (shares[:, low][bones[:, low] == 4] == 1.0).all()


def test_only_bones_that_were_named_keep_out_of_each_other() -> None:
    may_meet = np.zeros((5, 5), bool)
    may_meet[0, 3] = may_meet[3, 0] = True
    body = POINTS, TRIANGLES, WEIGHTS
    bones, _ = find_limb_pairs(POINTS, WEIGHTS, body, PARENTS, np.zeros(5, bool), 1.0, 2.0, find_nearest, may_meet)
    assert set(bones[:, LEFT].ravel().tolist()) == {-1, 0}
    assert set(bones[:, OWNERS == 0].ravel().tolist()) == {-1, 3}
    assert (bones[:, RIGHT] == -1).all()


def push(posed: np.ndarray, matrices: np.ndarray, grids: LimbGrids, near: NearLimbs) -> np.ndarray:
    return push_out(posed, matrices, grids, near, find_neighbors(POINTS, TRIANGLES), GAP) - posed


@pytest.mark.parametrize("hard", [None, 4, 3])
def test_legs_that_meet_give_way_by_half_and_hard_ones_do_not(grids: LimbGrids, hard: int | None) -> None:
    near = find_other_limbs(POINTS, TRIANGLES, WEIGHTS, find(np.arange(5) == hard), grids)
    matrices = np.tile(np.eye(4), (5, 1, 1))
    assert np.abs(push(POINTS, matrices, grids, near)).max() < 1e-9, "rest stays"
    matrices[4, 0, 3] = -0.4 - OVERLAP
    posed = POINTS + np.where(RIGHT[:, None], matrices[4, :3, 3], 0.0)
    moves = push(posed, matrices, grids, near)
    depths = [find_depth(points) for points in (posed, posed + moves)]
    assert depths[0] > 0.8 * OVERLAP
    assert depths[1] == pytest.approx(0.0, abs=0.2 * OVERLAP), "neither through each other nor apart"
    went = np.array([-moves[LEFT & MIDDLE, 0].min(), moves[RIGHT & MIDDLE, 0].max()]) / depths[0]
    assert went == pytest.approx({None: (0.5, 0.5), 4: (1.0, 0.0), 3: (0.0, 1.0)}[hard], abs=0.2)


def test_past_the_middle_of_the_other_leg_no_skin_is_pushed_on(grids: LimbGrids) -> None:
    near = find_other_limbs(POINTS, TRIANGLES, WEIGHTS, find(np.zeros(5, bool)), grids)
    matrices = np.tile(np.eye(4), (5, 1, 1))
    matrices[4, 0, 3] = -0.4 - 1.5 * RADIUS
    posed = POINTS + np.where(RIGHT[:, None], matrices[4, :3, 3], 0.0)
    normals = vertex_normals(POINTS, TRIANGLES)
    assert np.einsum("vi,vi->v", push(posed, matrices, grids, near), normals).max() < 0.05 * RADIUS
    assert near.giving is not None
    turned = near._replace(giving=near.giving._replace(normals=-near.giving.normals))
    assert np.einsum("vi,vi->v", push(posed, matrices, grids, turned), normals).max() > 0.2 * RADIUS
