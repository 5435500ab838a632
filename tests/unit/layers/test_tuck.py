"""What lies beneath cloth gives way: which points are covered, how far they go, and that rest stays."""

import numpy as np
import pytest

from supple.deformers.geometry.solid import vertex_normals
from supple.deformers.layers.tuck import (
    MAX_NEED,
    Cover,
    find_cover,
    find_needs,
    find_neighbors,
    find_pierced,
    smooth_pushes,
    soften,
    tuck,
)

from ..brute_force import find_nearest
from ..meshes import Mesh, make_sheet, make_tube

GAP, GIVE, REACH = 0.004, 0.012, 0.025
SIDE = np.linspace(0.0, 0.2, 9)
SKIN = make_sheet(SIDE, SIDE)
CLOTH = (make_sheet(np.linspace(0.05, 0.15, 4), SIDE)[0] + (0.0, 0.0, 0.006), make_sheet(np.zeros(4), SIDE)[1])


def cover_with(cloth: Mesh, skin: Mesh = SKIN) -> Cover:
    points, triangles = skin
    nearest = find_nearest(points, *cloth)
    return find_cover(points, vertex_normals(points, triangles), *cloth, nearest, REACH)


@pytest.fixture
def cover() -> Cover:
    return cover_with(CLOTH)


def test_what_lies_beneath_cloth_is_covered_but_not_at_its_rim(cover: Cover) -> None:
    x, y, _ = SKIN[0].T
    inside = (x > 0.06) & (x < 0.14) & (y > 0.01) & (y < 0.19)
    assert np.array_equal(cover.is_covered, inside)
    assert cover.heights[inside] == pytest.approx(0.006)
    places = np.einsum("vc,vci->vi", cover.weights, CLOTH[0][cover.corners])
    assert places[inside] == pytest.approx(SKIN[0][inside] + (0.0, 0.0, 0.006))


def test_seams_are_no_rims(cover: Cover) -> None:
    points, triangles = CLOTH[0][CLOTH[1]].reshape(-1, 3), np.arange(CLOTH[1].size).reshape(-1, 3)
    assert np.array_equal(cover_with((points, triangles)).is_covered, cover.is_covered)


def test_an_inside_of_cloth_covers_as_its_outside(cover: Cover) -> None:
    other = cover_with((CLOTH[0], CLOTH[1][:, ::-1]))
    assert np.array_equal(other.is_covered, cover.is_covered)
    moved = CLOTH[0] - (0.0, 0.0, 0.008)
    neighbors = find_neighbors(*SKIN)
    first, second = (tuck(SKIN[0], moved, each, neighbors, GAP, GIVE) for each in (cover, other))
    assert first == pytest.approx(second, abs=1e-7)


@pytest.mark.parametrize("offset", [-0.006 - 1e-3, 0.03])
def test_what_sticks_out_or_is_far_below_is_not_covered(offset: float) -> None:
    assert not cover_with((CLOTH[0] + (0.0, 0.0, offset), CLOTH[1])).is_covered.any()


def test_rest_and_rigid_motion_move_nothing(cover: Cover) -> None:
    neighbors, (turn, _) = find_neighbors(*SKIN), np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))
    turn *= np.sign(np.linalg.det(turn))
    for place in (np.eye(3), turn):
        points, cloth = SKIN[0] @ place.T + 0.3, CLOTH[0] @ place.T + 0.3
        assert np.abs(tuck(points, cloth, cover, neighbors, GAP, GIVE) - points).max() < 1e-6


def test_skin_stays_below_cloth_that_sinks(cover: Cover) -> None:
    cloth = CLOTH[0] - (0.0, 0.0, 0.01)
    below = tuck(SKIN[0], cloth, cover, find_neighbors(*SKIN), GAP, GIVE)
    assert (below[cover.is_covered, 2] <= -0.004 - GAP + 1e-6).all()
    assert np.array_equal(below[~cover.is_covered], SKIN[0][~cover.is_covered])


def test_needs_end_at_give_and_fade_where_nobody_knows() -> None:
    heights, rest = np.linspace(0.01, -0.06, 141), np.full(141, 0.006)
    needs = find_needs(heights, rest, GAP, GIVE)
    assert needs.max() <= GIVE
    assert needs[heights > 0.0065].max() == pytest.approx(0.0)
    assert needs[heights < GAP - MAX_NEED * GIVE - 1e-3].max() == pytest.approx(0.0)
    assert np.abs(np.diff(needs)).max() < 1.1 * np.abs(np.diff(heights)).max()


def test_skin_that_gives_nothing_needs_nothing() -> None:
    assert not find_needs(np.linspace(0.01, -0.06, 5), np.full(5, 0.006), GAP, 0.0).any()


def test_the_soft_positive_part() -> None:
    assert soften(np.array([-2.0, -1.0, 0.0, 1.0, 3.0]), 1.0) == pytest.approx([0.0, 0.0, 0.25, 1.0, 3.0])


def test_pushes_are_smoothed_and_none_is_less_far_its_own_way() -> None:
    neighbors = find_neighbors(*SKIN)
    pushes = np.zeros_like(SKIN[0])
    pushes[40] = 0.0, 0.0, 1.0
    moves = smooth_pushes(pushes, neighbors, 2)
    assert moves[40, 2] == pytest.approx(1.0)
    assert (moves[neighbors[40], 2] > 0.1).all()


def test_vertices_at_seams_have_the_same_neighbors() -> None:
    points, triangles = make_tube(0.1, 5)
    loose, apart = points[triangles].reshape(-1, 3), np.arange(triangles.size).reshape(-1, 3)
    neighbors = find_neighbors(loose, apart)
    for point in points:
        rows = neighbors[np.abs(loose - point).max(axis=1) < 1e-9]
        assert (rows == rows[0]).all()


def test_what_sticks_out_at_rest_is_found() -> None:
    low = CLOTH[0] - (0.0, 0.0, 0.01)
    nearest = find_nearest(SKIN[0], low, CLOTH[1])
    depths, ways = find_pierced(SKIN[0], vertex_normals(*SKIN), low, CLOTH[1], nearest, REACH)
    x, y, _ = SKIN[0].T
    inside = (x > 0.06) & (x < 0.14) & (y > 0.01) & (y < 0.19)
    assert np.array_equal(depths > 0.0, inside)
    assert depths[inside] == pytest.approx(0.004)
    assert ways[inside] == pytest.approx(np.tile([0.0, 0.0, -1.0], (inside.sum(), 1)))
