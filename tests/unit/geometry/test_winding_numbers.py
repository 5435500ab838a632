"""Winding numbers of a ball, of an open tube, and of nothing."""

import numpy as np
import pytest

from supple.deformers.geometry import winding_numbers
from supple.deformers.geometry.winding_numbers import find_winding_numbers

from ..meshes import join, make_sphere, make_tube


def test_inside_and_outside_a_ball() -> None:
    points, triangles = make_sphere()
    positions = np.random.default_rng(0).uniform(-1.5, 1.5, (1200, 3))
    radii = np.linalg.norm(positions, axis=1)
    found = find_winding_numbers(positions, points, triangles)
    np.testing.assert_allclose(found[radii < 0.95], 1.0, atol=0.02)
    np.testing.assert_allclose(found[radii > 1.05], 0.0, atol=0.02)


def test_dipoles_are_close_to_the_sum_of_all_triangles(monkeypatch: pytest.MonkeyPatch) -> None:
    points, triangles = join(make_tube(0.3, 30), make_tube(0.2, 20, length=3.0))
    positions = np.random.default_rng(1).uniform(-0.6, 2.5, (400, 3))
    found = find_winding_numbers(positions, points, triangles)
    monkeypatch.setattr(winding_numbers, "MIN_DIPOLE_DISTANCE", np.inf)
    np.testing.assert_allclose(found, find_winding_numbers(positions, points, triangles), atol=0.03)


def test_a_surface_turned_over_winds_the_other_way_and_two_count_twice() -> None:
    points, triangles = make_sphere()
    center = np.zeros((1, 3))
    np.testing.assert_allclose(find_winding_numbers(center, points, triangles[:, ::-1]), -1.0, atol=0.02)
    np.testing.assert_allclose(
        find_winding_numbers(center, *join((points, triangles), (points, triangles))), 2.0, atol=0.04
    )


def test_nothing_winds_around_nothing() -> None:
    assert find_winding_numbers(np.zeros((2, 3)), np.zeros((0, 3)), np.zeros((0, 3), int)).tolist() == [0.0, 0.0]
