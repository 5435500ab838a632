"""What rays hit of the posed skin, and where on it patterns are seen, against numbers worked out by hand."""

import numpy as np
import pytest

from supple.deformers.errors import SkinningError
from supple.deformers.patterns.chart_mesh import make_chart_mesh
from supple.deformers.patterns.charts import chart_by_surface
from supple.deformers.patterns.picking import PosedSkin, carry_ray, cast_ray, covers, find_pattern_triangles, find_shown
from supple.deformers.patterns.surface_points import find_barycentric, locate_point

from ..cases import each
from .test_charts import make_sheet

CORNERS = np.array([(0, 0, 0), (2, 0, 0), (2, 2, 0), (0, 2, 0)], float)
TRIANGLES = np.array([(0, 1, 2), (0, 2, 3)])


def make_skin(heights: tuple = (1.0,), rest: bool = True) -> PosedSkin:
    """Squares of side 2 above each other, at rest at height 0; each has pattern 1 on all of it."""
    count = len(heights)
    points = np.concatenate([CORNERS + np.array((0, 0, height)) for height in heights])
    triangles = np.concatenate([TRIANGLES + 4 * index for index in range(count)])
    layer = np.concatenate([CORNERS[:, :2] / 2, np.ones((4, 1))], axis=1).astype(np.float32)
    charts = (np.zeros((4 * count, 3), np.float32), np.tile(layer, (count, 1)))
    return PosedSkin(points, triangles, triangles, charts, np.tile(CORNERS, (count, 1)) if rest else None)


def test_barycentric_coordinates_are_worked_by_hand():
    shapes = np.array([[(0, 0), (4, 0), (0, 4)], [(1, 1), (1, 1), (1, 1)]], float)
    weights = find_barycentric(shapes, np.array((1.0, 2.0)))
    np.testing.assert_allclose(weights[0], (0.25, 0.25, 0.5))
    assert not np.isfinite(weights[1]).any()


@each("scale", [1.0, 0.01, 700.0])
def test_a_ray_meets_the_nearest_skin_before_it(scale: float):
    skin = make_skin((1.0, 3.0, 9.0))
    hit = cast_ray(skin, np.array((0.5, 1.0, 5.0)), np.array((0.0, 0.0, -scale)))
    assert hit is not None
    np.testing.assert_allclose(hit.point, (0.5, 1.0, 3.0), atol=1e-9)
    np.testing.assert_allclose(hit.normal, (0, 0, 1), atol=1e-9)
    np.testing.assert_allclose(hit.rest, (0.5, 1.0, 0.0), atol=1e-9)


@each(
    ("origin", "direction"),
    [((0.5, 1, 5), (0, 0, 1)), ((2.1, 1, 5), (0, 0, -1)), ((0.5, 1, 5), (1, 0, 0)), ((0.5, 1, 5), (1, 0, -1))],
)
def test_a_ray_passes_by(origin: tuple, direction: tuple):
    assert cast_ray(make_skin(), np.array(origin, float), np.array(direction, float)) is None


def test_slanted_rays_hit_where_they_should():
    skin, rng = make_skin(), np.random.default_rng(1)
    for target in np.append(rng.uniform(0.01, 1.99, (50, 2)), np.ones((50, 1)), axis=1):
        origin = target + rng.uniform(-1, 1, 3) + (0, 0, 1.5)
        hit = cast_ray(skin, origin, target - origin)
        assert hit is not None
        np.testing.assert_allclose(hit.point, target, atol=1e-9)
        np.testing.assert_allclose(hit.rest, target * (1, 1, 0), atol=1e-9)


def test_a_ray_along_an_edge_between_triangles_hits():
    assert cast_ray(make_skin(), np.array((1.0, 1.0, 5.0)), np.array((0.0, 0.0, -1.0))) is not None


def test_without_positions_at_rest_a_hit_is_refused_and_a_miss_is_none():
    skin = make_skin(rest=False)
    assert cast_ray(skin, np.array((5.0, 1.0, 5.0)), np.array((0.0, 0.0, -1.0))) is None
    with pytest.raises(SkinningError, match="unknown rest positions: disable it"):
        cast_ray(skin, np.array((0.5, 1.0, 5.0)), np.array((0.0, 0.0, -1.0)))


def test_a_ray_is_carried_to_object_space():
    to_object = np.array([(0, 2, 0, 1), (-2, 0, 0, 0), (0, 0, 2, -3), (0, 0, 0, 1)], float)
    origin, direction = carry_ray(to_object, np.array((1.0, 2.0, 3.0)), np.array((1.0, 0.0, 0.0)))
    np.testing.assert_allclose(origin, (5, -2, 3))
    np.testing.assert_allclose(direction, (0, -2, 0))


def test_triangles_of_a_pattern_are_found_in_the_layer_that_holds_it():
    triangles, shapes = find_pattern_triangles(make_skin(), 1)
    assert triangles.tolist() == [0, 1]
    np.testing.assert_allclose(shapes, CORNERS[TRIANGLES][..., :2] / 2)
    assert find_pattern_triangles(make_skin(), 7)[1].shape == (0, 3, 2)


def test_a_point_of_a_pattern_is_seen_once_on_each_copy():
    found = find_shown(make_skin((1.0, 4.0)), 1, (0.25, 0.75))
    np.testing.assert_allclose([shown.point for shown in found], [(0.5, 1.5, 1), (0.5, 1.5, 4)])
    for shown in found:
        np.testing.assert_allclose(shown.sides, [(2, 0, 0), (0, 2, 0)], atol=1e-12)
    assert find_shown(make_skin(), 1, (1.5, 0.5)) == []


def test_a_pattern_covers_what_lies_within_its_borders():
    mesh = make_chart_mesh(*make_sheet(8, 8, 2.0, 2.0))
    chart = chart_by_surface(mesh, locate_point(mesh, (1.0, 1.0, 0.0)), 0.0, (0.8, 0.4))
    for x, y in np.random.default_rng(2).uniform(0, 2, (200, 2)):
        inside = abs(x - 1.0) <= 0.4 and abs(y - 1.0) <= 0.2
        assert covers(mesh, chart, locate_point(mesh, (x, y, 0.0))) == inside
