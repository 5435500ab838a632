"""Limbs that run into each other: two capsules on a block, bones by their branchings."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule
from supple.deformers.geometry.solid import vertex_normals
from supple.deformers.geometry.vectors import measure_lengths
from supple.deformers.measures.crossings import CrossingMeter

from ..brute_force import find_nearest
from ..meshes import join


def find_exits(
    vertices: np.ndarray, points: np.ndarray, normals: np.ndarray, triangles: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """As `bridge.meshes.nearest.find_exits`, by each ray against each triangle."""
    a, b, c = (points[triangles[:, corner]] for corner in range(3))
    faces = np.cross(b - a, c - a)
    exits, lengths = np.full(len(vertices), -1), np.zeros(len(vertices))
    for number, (start, ray) in enumerate(
        zip(points[vertices] + 1e-4 * normals[vertices], normals[vertices], strict=True)
    ):
        facing = faces @ ray
        along = np.einsum("ti,ti->t", a - start, faces) / np.where(facing == 0.0, 1.0, facing)
        hit = start + along[:, None] * ray
        inside = [np.einsum("ti,ti->t", np.cross(v - u, hit - u), faces) >= 0.0 for u, v in ((a, b), (b, c), (c, a))]
        met = np.where((along > 0.0) & (facing != 0.0) & np.all(inside, axis=0), along, np.inf)
        nearest = int(met.argmin())
        if np.isfinite(met[nearest]) and facing[nearest] > 0.0:
            exits[number], lengths[number] = nearest, met[nearest]
    return exits, lengths


BLOCK, LEG = make_box((1.2, 0.6, 0.4), 0.2), make_capsule(1.0, 0.15, 0.1)
LEGS = [(LEG[0] + (x, 0.0, -1.4), LEG[1]) for x in (-0.35, 0.35)]
POINTS, TRIANGLES = join(BLOCK, *LEGS)
SIZES = [len(part[0]) for part in (BLOCK, *LEGS)]
OWNERS = np.repeat([0, 3, 4], SIZES)
METER = CrossingMeter(POINTS, TRIANGLES, OWNERS, np.array([-1, 0, 0, 1, 2]), 1.0, find_exits, find_nearest)


def move(x: float) -> np.ndarray:
    """The second leg moved."""
    posed = POINTS.copy()
    posed[OWNERS == 4, 0] += x
    return posed


def test_nothing_at_rest_or_side_by_side() -> None:
    for x in (0.0, -0.35, 3.0):
        assert METER.measure(move(x)) == []
        assert METER.estimate(move(x)) == 0.0


def test_legs_that_run_into_each_other() -> None:
    posed = move(-0.5)  # .2 between their axes, radii of .15
    (crossing,) = METER.measure(posed)
    assert crossing.limbs == (1, 2)
    assert {crossing.joint, crossing.other} == {3, 4}
    assert crossing.depth == pytest.approx(0.1, abs=0.02)
    assert 0.1 < crossing.share < 0.4
    assert set(OWNERS[crossing.vertices]) == {3, 4}
    assert METER.estimate(posed) > 0.05


def test_a_leg_in_the_block_is_told_from_its_joint() -> None:
    posed = POINTS.copy()
    posed[OWNERS == 4, 2] += 0.3
    posed[OWNERS == 4, 0] += 1.0  # beside the block
    assert METER.measure(posed) == []
    posed[OWNERS == 4, 0] -= 0.9
    posed[OWNERS == 4, 2] += 0.6
    assert [one.limbs for one in METER.measure(posed)] == [(0, 2)]


def test_exits_of_the_test_are_those_of_a_ray() -> None:
    points, triangles = BLOCK
    exits, lengths = find_exits(np.arange(len(points)), points, -vertex_normals(points, triangles), triangles)
    assert (exits >= 0).all()
    assert (lengths <= measure_lengths(np.ptp(points, axis=0)[None])[0]).all()
