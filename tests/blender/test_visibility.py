"""Blender's tree of triangles tells what NumPy tells, in any unit."""

import numpy as np

from benchmarks.surfaces import make_capsule
from supple.bridge.meshes.visibility import make_crossing_test
from supple.deformers.automatic_weights.surface_heat import solve
from supple.deformers.geometry.solid import find_crossed, read_surface

CAPSULE = make_capsule(2.0, 0.2, 0.08)


def test_crossed_segments(subtests):
    for scale in (1e-3, 1.0, 1e3):
        with subtests.test(scale=scale):
            points, triangles = CAPSULE[0] * scale + 7.0 * scale, CAPSULE[1]
            random = np.random.default_rng(1)
            starts, ends = (random.uniform(points.min(axis=0), points.max(axis=0), (500, 3)) for _ in range(2))
            ends[0] = starts[0]
            short = starts + 0.99 * (ends - starts)  # NumPy's lines of sight end there
            crossed = make_crossing_test(points, triangles)(starts, short)
            assert crossed.dtype == bool
            assert 100 < crossed.sum() < 400
            np.testing.assert_array_equal(crossed, find_crossed(read_surface(points, triangles), starts, ends))


def test_surface_heat_with_the_tree():
    heads, tails = np.array([[0.0, 0.0, 0.1], [0.3, 0.0, 0.1]]), np.array([[0.0, 0.0, 1.9], [0.3, 0.0, 1.9]])
    found = solve(*CAPSULE, heads, tails, make_crossing_test=make_crossing_test)
    np.testing.assert_allclose(found.weights, solve(*CAPSULE, heads, tails).weights, atol=1e-6)
