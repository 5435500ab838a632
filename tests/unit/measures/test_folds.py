"""Crease and thickness against a strip that is folded by hand, and a tube that thins."""

import numpy as np
import pytest

from benchmarks.surfaces import make_capsule
from supple.deformers import Joints, Weights
from supple.deformers.measures.folds import VALLEY, FoldMeter, find_near

from ..cases import each
from ..characters import rotation

JOINTS = Joints(
    centers=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    parents=np.array([-1, 0]),
    tails=np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]),
)
CENTER = JOINTS.centers[1]
STILL = np.tile(np.eye(4), (2, 1, 1))
STRIP = np.array([[-1, 0, 0], [-1, 2, 0], [0, 0, 0], [0, 2, 0], [1, 0, 0], [1, 2, 0]], float)
SQUARES = np.array([[0, 2, 3], [0, 3, 1], [2, 4, 5], [2, 5, 3]])
RADIUS = 0.25
POINTS, TRIANGLES = make_capsule(2.0, RADIUS, 0.04)
WEIGHTS = Weights.from_dense(np.stack([POINTS[:, 2] <= 1.0, POINTS[:, 2] > 1.0], axis=1).astype(float))
NEAR = find_near(POINTS, JOINTS.centers[1:], np.array([RADIUS]))
TUBE = FoldMeter(POINTS, TRIANGLES, WEIGHTS, JOINTS, NEAR, RADIUS)


def fold(degrees: float) -> np.ndarray:
    """A strip whose one half is turned up, about the edge between both."""
    right = STRIP[:, 0] > 0.0
    return np.where(right[:, None], STRIP @ rotation((0, 1, 0), -degrees).T, STRIP)


def measure_crease(rest: np.ndarray, posed: np.ndarray, triangles: np.ndarray = SQUARES) -> float:
    weights = Weights.from_dense(np.ones((len(rest), 2)))
    meter = FoldMeter(rest, triangles, weights, JOINTS, np.ones(len(rest), bool), 0.5)
    return meter.measure(posed, STILL)[0]


@each(("degrees", "before"), [(90, 0), (170, 0), (29, 0), (-90, 0), (90, 75), (90, 65), (0, 90)])
def test_a_crease_by_hand(degrees: float, before: float) -> None:
    """Valleys count, beyond 30 degrees and if the pose has changed them by more than 20; the edge is 2 long."""
    depth = min(max(np.radians(degrees) - VALLEY, 0.0), 2.0) if abs(degrees - before) > 20 else 0.0
    assert measure_crease(fold(before), fold(degrees)) == pytest.approx(2.0 * depth / 0.5, abs=1e-9)


def test_a_split_seam_is_a_fold_too() -> None:
    split = np.concatenate([np.arange(6), [2, 3]])
    triangles = np.array([[0, 2, 3], [0, 3, 1], [6, 4, 5], [6, 5, 7]])
    assert measure_crease(STRIP[split], fold(90)[split], triangles) == pytest.approx(measure_crease(STRIP, fold(90)))


def test_skin_near_the_joint_alone_counts() -> None:
    far, distances = POINTS.copy(), np.linalg.norm(POINTS - CENTER, axis=1)
    assert np.array_equal(NEAR, distances < 2 * RADIUS)
    far[distances > 2 * RADIUS + 0.1] *= 3.0  # beyond the triangles of such skin
    assert TUBE.measure(far, STILL) == (0.0, 0.0)
    assert FoldMeter(POINTS, TRIANGLES, WEIGHTS, JOINTS, ~NEAR & NEAR, RADIUS).measure(far, STILL) == (0.0, 0.0)


@each("share", (0.5, 1.0, 2.0, 0.01))
def test_thickness_of_a_tube(share: float) -> None:
    """Thinner than a tenth of the radius counts as a tenth."""
    thin = POINTS * [share, share, 1.0]
    assert TUBE.measure(thin, STILL)[1] == pytest.approx(abs(np.log2(max(share, 0.1))), abs=2e-2)


def test_rigid_motion_changes_nothing() -> None:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = rotation((1, 2, 3), 70), (1.0, 2.0, 3.0)
    moved = POINTS @ matrix[:3, :3].T + matrix[:3, 3]
    assert TUBE.measure(moved, np.tile(matrix, (2, 1, 1))) == pytest.approx((0.0, 0.0), abs=1e-9)


def test_a_tube_that_pinches_costs_more_than_one_that_bends() -> None:
    """At a joint, halves that turn rigidly fold into each other; half the angle at the joint is smooth."""

    def bend(width: float) -> np.ndarray:
        share = np.clip(0.5 + (POINTS[:, 2] - 1.0) / width, 0.0, 1.0)
        turns = np.array([rotation((1, 0, 0), 90 * each) for each in share])
        return np.einsum("vij,vj->vi", turns, POINTS - CENTER) + CENTER

    matrix = np.eye(4)
    matrix[:3, :3] = rotation((1, 0, 0), 90)
    matrix[:3, 3] = CENTER - matrix[:3, :3] @ CENTER
    pose = np.stack([np.eye(4), matrix])
    sharp, smooth = (TUBE.measure(bend(width), pose) for width in (0.05, 1.0))
    assert sharp[0] > smooth[0] + 0.5
