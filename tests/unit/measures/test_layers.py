"""What is pierced of clothes around a ball, and how much of the covered skin shows."""

import numpy as np
import pytest

from supple.deformers.geometry.solid import area_vectors
from supple.deformers.layers.order import Shell
from supple.deformers.measures.layers import LayerMeter, SeenSkin, sample_surface

from ..brute_force import find_nearest
from ..meshes import join, make_sheet, make_sphere, make_tube

UNIT = 10.0
"""A character of 18 m: samples are 80 mm apart."""

BODY = Shell(*make_sphere(10))
TUBE = make_tube(1.1, 5, length=0.6)
CLOTH = Shell(TUBE[0] - (0.0, 0.0, 0.3), TUBE[1])


def meter(above: Shell = CLOTH) -> LayerMeter:
    return LayerMeter(above, BODY, UNIT, find_nearest)


def test_samples_are_apart_and_stand_for_all_of_the_area() -> None:
    points, triangles = make_sheet(np.linspace(0.0, 1.0, 4), np.array([0.0, 0.1, 1.0]))
    samples = sample_surface(points, triangles, 0.05)
    areas = np.linalg.norm(area_vectors(points, triangles), axis=1)
    np.testing.assert_allclose(np.bincount(samples.triangles, samples.areas), areas)
    np.testing.assert_allclose(samples.shares.sum(axis=1), 1.0)
    assert (samples.shares > 0.0).all()
    assert len(samples.areas) == pytest.approx(1.0 / 0.05**2, rel=0.2)
    middles = np.stack(
        [np.bincount(samples.triangles, column) for column in samples.place(points, triangles).T], axis=1
    )
    counts = np.bincount(samples.triangles)[:, None]
    np.testing.assert_allclose(middles / counts, points[triangles].mean(axis=1))


def test_nothing_is_pierced_at_rest_or_moved_as_a_whole() -> None:
    whole = meter()
    for offset in (0.0, 5.0):
        found = whole.measure(CLOTH.points + offset, BODY.points + offset)
        assert (found.share, found.depth, len(found.vertices)) == (0.0, 0.0, 0)
        assert whole.estimate(CLOTH.points + offset, BODY.points + offset) == 0.0


def test_a_side_that_the_body_comes_through() -> None:
    """A tube whose one half has gone to a radius of .8: .15 deep at its rims, .2 in its middle."""
    posed = CLOTH.points.copy()
    posed[posed[:, 0] > 0.0] *= (0.8 / 1.1, 0.8 / 1.1, 1.0)
    found = meter().measure(posed, BODY.points)
    assert found.share == pytest.approx(0.5, abs=0.05)
    assert found.depth == pytest.approx(0.22, abs=0.03)
    assert set(np.flatnonzero(CLOTH.points[:, 0] > 0.1)) <= set(found.vertices)
    assert meter().estimate(posed, BODY.points) == pytest.approx(found.share, abs=0.1)


def test_cloth_that_another_limb_is_in_is_not_pierced_by_what_it_lies_on() -> None:
    other = make_sphere(10)
    body = Shell(*join((BODY.points, BODY.triangles), (other[0] + (4.0, 0.0, 0.0), other[1])))
    posed = body.points.copy()
    posed[len(BODY.points) :] -= (3.0, 0.0, 0.0)  # half of the other ball is in this one, over the cloth on its side
    found = LayerMeter(CLOTH, body, UNIT, find_nearest).measure(CLOTH.points, posed)
    assert found.share < 0.1


def test_of_a_solid_only_faces_that_look_away_from_the_skin_count() -> None:
    pouch = make_sphere(6)
    above = Shell(0.1 * pouch[0] + (1.15, 0.0, 0.0), pouch[1])
    samples = meter(above).samples
    assert 0.2 * meter(above).area < samples.areas.sum() < 0.55 * meter(above).area


def test_skin_that_shows() -> None:
    long = make_tube(1.1, 9, length=2.4)
    cloth = Shell(long[0] - (0.0, 0.0, 1.2), long[1])
    seen = SeenSkin([cloth, BODY], [(0, 1)], UNIT, find_nearest)
    assert seen.measure([cloth.points, BODY.points]) == 0.0
    assert seen.measure([0.5 * cloth.points, BODY.points]) > 0.3
    half = np.where(BODY.points[:, :1] > 0.3, 1.2 * BODY.points, BODY.points)
    assert 0.05 < seen.measure([cloth.points, half]) < 0.3
    assert SeenSkin([BODY], [], UNIT, find_nearest).measure([0.5 * BODY.points]) == 0.0
