"""What poses do at each joint, against tubes that are spoiled by hand."""

import numpy as np
import pytest

from benchmarks.surfaces import make_capsule
from supple.deformers import Joints, Rest, Weights
from supple.deformers.measures.heat import color_rising, color_stretch, stretch_vertices
from supple.deformers.measures.joint_faults import (
    BULGE,
    COLLAPSE,
    OVERLAP,
    TEAR,
    Extremes,
    SkinMeter,
    find_seams,
    measure_rotations,
)

from ..characters import about, rotation

POINTS, TRIANGLES = make_capsule(2.0, 0.25, 0.05)
JOINTS = Joints(
    centers=np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.0]]),
    parents=np.array([-1, 0]),
    tails=np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0]]),
)
SHARE = np.clip((POINTS[:, 2] - 0.7) / 0.6, 0.0, 1.0)
REST = Rest(POINTS, Weights.from_dense(np.stack([1.0 - SHARE, SHARE], axis=1)), JOINTS, triangles=TRIANGLES)
METER = SkinMeter(REST)
STILL = np.tile(np.eye(4), (2, 1, 1))


def pose(degrees: float, axis: tuple[int, int, int] = (1, 0, 0)) -> tuple[np.ndarray, np.ndarray]:
    """Points blended linearly, and the matrices."""
    matrices = np.stack([np.eye(4), about(rotation(axis, degrees), JOINTS.centers[1])])
    bent = POINTS @ matrices[1][:3, :3].T + matrices[1][:3, 3]
    return (1.0 - SHARE)[:, None] * POINTS + SHARE[:, None] * bent, matrices


def measure(posed: np.ndarray, matrices: np.ndarray = STILL) -> dict[str, np.ndarray]:
    return METER.measure(posed, matrices, METER.draw_out(posed), [1])


def test_at_rest_nothing_is_wrong():
    found = measure(POINTS)
    assert found[COLLAPSE] == pytest.approx([1.0, 1.0])
    assert found[BULGE] == pytest.approx([1.0, 1.0])
    assert found[TEAR] == pytest.approx([0.0, 0.0], abs=1e-9)
    assert found[OVERLAP][1] == pytest.approx(0.0, abs=1e-3)


def test_a_linear_twist_collapses_and_is_no_overlap():
    found = measure(*pose(150.0, (0, 0, 1)))
    assert found[COLLAPSE].min() == pytest.approx(np.cos(np.radians(75.0)) ** 2, abs=0.01)


def test_a_sharp_bend_overlaps():
    flat = measure(*pose(60.0))[OVERLAP][1]
    sharp = measure(*pose(150.0))[OVERLAP][1]
    assert flat < 0.01 < 0.02 < sharp


def test_a_vertex_that_strays_is_drawn_out_by_its_distance():
    posed = POINTS.copy()
    stray = int(np.argmin(np.abs(POINTS[:, 2] - 0.4)))
    posed[stray, 0] += 1.0
    drawn = METER.draw_out(posed)
    assert drawn[stray] == pytest.approx(1.0 / METER.thickness[0], rel=0.1)
    assert np.count_nonzero(drawn > 1.0) == np.count_nonzero(METER.spread(np.arange(len(POINTS)) == stray))
    assert measure(posed)[TEAR][0] > 2.0
    assert measure(posed)[BULGE][0] > 3.0


def test_a_seam_that_opens_is_drawn_out():
    """The cap of a tube in two parts, whose vertices are at one position at rest."""
    points = np.concatenate([POINTS, POINTS])
    triangles = np.concatenate([TRIANGLES, TRIANGLES + len(POINTS)])
    meter = SkinMeter(Rest(points, REST.weights, JOINTS, triangles=triangles))
    posed = points.copy()
    posed[len(POINTS) :, 1] += 0.5
    assert len(find_seams(points)) == len(POINTS)
    assert meter.draw_out(posed)[meter.owners == 0].min() > 1.5


def test_extremes_keep_the_worst_of_all_poses():
    extremes = Extremes.of(2, len(POINTS))
    for number, degrees in enumerate((30.0, 120.0, 60.0)):
        posed, matrices = pose(degrees, (0, 0, 1))
        drawn = METER.draw_out(posed)
        extremes.add(number, METER.measure(posed, matrices, drawn), drawn)
    assert extremes.poses[COLLAPSE].tolist() == [1, 1]
    assert extremes.values[COLLAPSE].min() == pytest.approx(0.25, abs=0.01)
    assert np.isnan(extremes.values[OVERLAP]).all()
    assert (extremes.poses[OVERLAP] == -1).all()
    assert extremes.drawn.max() == pytest.approx(extremes.values[TEAR].max())
    assert extremes.drawn_poses[extremes.drawn.argmax()] == 1


def test_angles_of_joints():
    matrices = np.stack([about(rotation((0, 1, 0), 40), (0, 0, 0)), about(rotation((0, 1, 0), 100), (0, 0, 1))])
    assert measure_rotations(matrices, JOINTS.parents) == pytest.approx([0.0, 60.0])
    scaled = matrices.copy()
    scaled[1, :3, :3] *= 2.0
    assert measure_rotations(scaled, JOINTS.parents) == pytest.approx([0.0, 60.0])


def test_colors_of_stretch_go_to_both_sides():
    line = np.array([[0.0, 0, 0], [1, 0, 0], [2, 0, 0]])
    edges = np.array([[0, 1], [1, 2]])
    values = stretch_vertices(line, line * [[2.0], [2.0], [2.0]], edges)
    assert values == pytest.approx([1.0, 1.0, 1.0])
    halved = stretch_vertices(line, line * 0.5, edges)
    assert halved == pytest.approx([-1.0, -1.0, -1.0])
    red, blue, gray = color_stretch(np.array([1.0, -1.0, 0.0]))
    assert red[0] > red[2]
    assert blue[2] > blue[0]
    assert np.ptp(gray) == pytest.approx(0.0)
    assert color_rising(np.array([0.0, 5.0]), 5.0)[0] == pytest.approx(gray)
