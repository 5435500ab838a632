"""Outlines of patterns as pieces of lines, against numbers worked out by hand."""

import math

import numpy as np
import pytest

from supple.deformers.patterns.chart_mesh import make_chart_mesh
from supple.deformers.patterns.charts import chart_by_surface
from supple.deformers.patterns.outlines import cut_lines, list_lines, outline_by_chart, outline_in_uv, outline_on_skin
from supple.deformers.patterns.picking import PosedSkin
from supple.deformers.patterns.surface_points import locate_point

from ..cases import each
from .test_charts import make_sheet

SQUARE = np.array([[(0, 0), (1, 0), (1, 1)], [(0, 0), (1, 1), (0, 1)]], float)


def spans(shapes: np.ndarray, line: list) -> float:
    """Length of what is cut of a line."""
    found, weights = cut_lines(shapes, np.array([line], float))
    ends = np.einsum("sec,sci->sei", weights, shapes[found])
    return float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum())


@each(
    ("line", "length"),
    [
        (((-1, 0.5), (2, 0.5)), 1.0),
        (((0.25, 0.25), (0.5, 0.25)), 0.25),
        (((0, 0), (1, 0)), 1.0),
        (((0, 1e-7), (1, -1e-7)), 1.0),
        (((1, 1), (1, 0)), 1.0),
        (((0, 1), (1, 0)), math.sqrt(2)),
        (((0, 1.01), (1, 1.01)), 0.0),
        (((2, 0), (2, 1)), 0.0),
        (((-0.5, 0.5), (0.5, -0.5)), 0.0),
    ],
)
def test_lines_are_cut_by_triangles(line: tuple, length: float):
    assert spans(SQUARE, line) == pytest.approx(length, abs=1e-3)
    assert spans(SQUARE[:, ::-1], line) == pytest.approx(length, abs=1e-3)


def test_collapsed_triangles_are_cut_by_no_line():
    collapsed = np.array([[(0, 0), (1, 1), (0.5, 0.5)], [(0.2, 0.2)] * 3], float)
    assert spans(collapsed, ((0, 0), (1, 1))) == 0.0
    assert spans(np.empty((0, 3, 2)), ((0, 0), (1, 1))) == 0.0


@each(("aspect", "sides"), [(1.0, (0.12, 0.12)), (2.0, (0.12, 0.06)), (0.25, (0.03, 0.12))])
def test_the_mark_points_up_and_is_not_stretched(aspect: float, sides: tuple):
    border, mark = np.split(list_lines((1.0, aspect), with_mark=True), [4])
    assert np.array_equal(border[:, 1], np.roll(border[:, 0], -1, axis=0))
    assert (mark[:, 1] == mark[0, 1]).all()
    assert (mark[:, 0, 1] < mark[0, 1, 1]).all()
    np.testing.assert_allclose(np.abs(mark[:, 0] - mark[:, 1]), [sides, sides])


def test_lines_of_an_outline():
    assert len(list_lines((2.0, 1.0), with_mark=False)) == 4
    np.testing.assert_array_equal(list_lines((0.0, 1.0), with_mark=True), list_lines((1.0, 1.0), with_mark=True))


def test_an_outline_lies_on_the_triangles_of_its_pattern():
    """Two squares beside each other; the pattern of number 2 fills the right square, lifted by 3."""
    points = np.array([(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)], float)
    points = np.concatenate([points, points + np.array((2, 0, 3))])
    triangles = np.array([(0, 1, 2), (0, 2, 3), (4, 5, 6), (4, 6, 7)])
    layer = np.zeros((8, 3), np.float32)
    layer[4:, :2] = points[:4, :2]
    layer[:, 2] = 4 * [1] + 4 * [2]
    skin = PosedSkin(points, triangles, triangles, (layer,), None)
    pieces = outline_on_skin(skin, 2, list_lines((1.0, 1.0), with_mark=False))
    np.testing.assert_allclose(pieces[..., 2], 3.0, atol=1e-4)
    assert pieces[..., 0].min() == pytest.approx(2.0, abs=1e-4)
    assert np.linalg.norm(pieces[:, 1] - pieces[:, 0], axis=1).sum() == pytest.approx(4.0, rel=1e-3)
    assert outline_on_skin(skin, 3, list_lines((1.0, 1.0), with_mark=False)).shape == (0, 2, 3)


def test_an_outline_in_the_uv_map_is_a_rotated_rectangle():
    pieces = outline_in_uv(np.array((0.4, 0.5)), math.pi / 2, (0.2, 0.1), list_lines((0.2, 0.1), with_mark=False))
    expected = {(0.45, 0.4), (0.45, 0.6), (0.35, 0.6), (0.35, 0.4)}
    assert {tuple(point) for point in np.round(pieces.reshape(-1, 2), 5).tolist()} == expected


def test_an_outline_on_the_surface_is_laid_in_the_uv_map():
    """A sheet of 2 x 2 units whose UV map has half of its size: a pattern 0.8 wide is 0.4 wide there."""
    points, corners, starts = make_sheet(4, 4, 2.0, 2.0)
    for uv in (0.5 * points[corners, :2], None):
        mesh = make_chart_mesh(points, corners, starts, uv)
        chart = chart_by_surface(mesh, locate_point(mesh, (1.1, 1.2, 0.0)), 0.0, (0.8, 0.4))
        pieces = outline_by_chart(mesh, chart, list_lines((0.8, 0.4), with_mark=False))
        if uv is None:
            assert pieces.shape == (0, 2, 2)
            continue
        np.testing.assert_allclose(pieces.min(axis=(0, 1)), (0.35, 0.5), atol=1e-4)
        np.testing.assert_allclose(pieces.max(axis=(0, 1)), (0.75, 0.7), atol=1e-4)
