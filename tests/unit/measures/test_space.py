"""Space filled, and filled twice, against volumes worked out by hand."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule
from supple.deformers.measures.space import close_surface
from supple.deformers.measures.windings import Windings, measure_windings

from ..cases import each
from ..characters import rotation
from ..meshes import join

CUBE = make_box((1.0, 1.0, 1.0), 0.25)


@each("axis", [0, 1, 2])
def test_windings_of_two_balls(axis: int):
    points, triangles = make_capsule(1e-9, 1.0, 0.05)
    both = join((points, triangles), (points + np.array([1.0, 0.0, 0.0]), triangles))
    windings = measure_windings(*both, columns=150, axis=axis)
    lens = np.pi * 5.0 / 12.0  # two unit balls, their centers 1 apart
    assert windings.twice == pytest.approx(lens, rel=5e-3)
    assert windings.once == pytest.approx(8.0 / 3.0 * np.pi - lens, rel=5e-3)
    assert windings.inverted == 0.0


def test_windings_of_boxes():
    points, triangles = make_box((2.0, 1.0, 1.0), 0.1)
    both = join((points, triangles), (points + np.array([1.0, 0.3, 0.2]), triangles))
    assert measure_windings(*both).twice == pytest.approx(1.0 * 0.7 * 0.8, rel=1e-2)
    inverted = measure_windings(points, triangles[:, ::-1])
    assert (inverted.once, inverted.twice) == (0.0, 0.0)
    assert inverted.inverted == pytest.approx(2.0, rel=1e-2)


def test_windings_do_not_leak_where_triangles_share_no_vertices():
    points, triangles = make_capsule(0.5, 0.7, 0.1)
    loose = np.arange(triangles.size).reshape(-1, 3)
    expected = measure_windings(points, triangles)
    assert measure_windings(points[triangles.ravel()], loose) == expected
    assert expected.inverted == 0.0


def test_windings_of_nothing_are_none():
    points, triangles = CUBE
    assert measure_windings(points, triangles[:0]) == Windings(0.0, 0.0, 0.0)
    assert measure_windings(points * [1.0, 0.0, 0.0], triangles) == Windings(0.0, 0.0, 0.0)


def test_a_flipped_face_harms_only_the_rays_through_it():
    points, triangles = CUBE
    flipped = triangles.copy()
    flipped[0] = flipped[0, ::-1]
    assert measure_windings(points, flipped, axis=0).once > 0.9
    assert measure_windings(points, flipped, axis=0).twice < 0.05


def open_box() -> tuple[np.ndarray, np.ndarray]:
    points, triangles = make_box((1.0, 1.0, 3.0), 0.25)
    lid = (points[triangles][..., 2] > points[:, 2].max() - 1e-4).all(axis=1)
    return points, triangles[~lid]


def test_space_follows_scale_and_not_rigid_motion():
    points, triangles = open_box()
    solid = close_surface(points, triangles)
    assert solid.is_closed
    assert solid.volume == pytest.approx(3.0, rel=1e-4)
    moved = solid.measure(points @ rotation((1, 1, 0), 40).T + 3.0)
    assert (moved.filled, moved.twice) == pytest.approx((1.0, 0.0), abs=1e-4)
    assert solid.measure(2.0 * points).filled == pytest.approx(8.0)


def test_lids_follow_the_rim_into_the_pose():
    points, triangles = open_box()
    rim = points[:, 2] > points[:, 2].max() - 1e-4
    higher = points + np.where(rim, 1.0, 0.0)[:, None] * [0.0, 0.0, 0.25]
    assert close_surface(points, triangles).measure(higher).filled == pytest.approx(3.25 / 3.0, rel=1e-4)


def test_overlap_fills_twice_and_does_not_flatter():
    """Signed volume would say that nothing is lost."""
    points, triangles = join(CUBE, (CUBE[0] + [3.0, 0.0, 0.0], CUBE[1]))
    second = np.arange(len(points)) >= len(CUBE[0])
    posed = points + np.where(second, 1.0, 0.0)[:, None] * [-2.4, 0.0, 0.0]
    space = close_surface(points, triangles).measure(posed)
    assert space.filled == pytest.approx(1.6 / 2.0, rel=1e-4)
    assert space.twice == pytest.approx(0.4 / 2.0, rel=1e-4)


def test_what_rest_fills_twice_is_said():
    solid = close_surface(*join(CUBE, (CUBE[0] + [0.5, 0.0, 0.0], CUBE[1])))
    assert (solid.rest.filled, solid.rest.twice) == pytest.approx((1.0, 1.0 / 3.0), rel=1e-4)


def test_parts_inside_out_are_flipped_and_cloth_is_left_out():
    sheet = CUBE[1][(CUBE[0][CUBE[1]][..., 2] > 0.4999).all(axis=1)]
    points, triangles = join((CUBE[0], CUBE[1][:, ::-1]), (CUBE[0] + [0.0, 0.0, 50.0], sheet))
    solid = close_surface(points, triangles)
    assert solid.volume == pytest.approx(1.0, rel=1e-4)
    assert solid.measure(points).filled == 1.0


def test_seams_are_no_holes():
    points, triangles = CUBE
    solid = close_surface(points[triangles.ravel()], np.arange(triangles.size).reshape(-1, 3))
    assert solid.rims.count == 0
    assert solid.volume == close_surface(points, triangles).volume


def test_copies_at_a_seam_that_part_in_a_pose_leave_no_hole():
    points, triangles = CUBE
    loose = points[triangles.ravel()]
    copies = np.ones(len(loose), bool)
    copies[np.unique(loose.round(6), axis=0, return_index=True)[1]] = False
    posed = loose + np.where(copies, 0.05, 0.0)[:, None]
    assert close_surface(loose, np.arange(len(loose)).reshape(-1, 3)).measure(posed).filled == 1.0


def test_faces_along_an_axis_lose_no_rows_of_rays():
    points, triangles = make_box((2.5, 1.2, 1.0), 0.1)
    solid = close_surface(points, triangles)
    assert solid.volume == pytest.approx(3.0, rel=1e-4)
    assert solid.measure(points @ rotation((1, 2, 0), 50).T).filled == pytest.approx(1.0, abs=1e-4)


def test_a_sheet_is_no_solid():
    points, triangles = CUBE
    for part in (triangles[:0], triangles[(points[triangles][..., 2] > 0.4999).all(axis=1)]):
        solid = close_surface(points, part)
        assert not solid.is_closed
        assert np.isnan([*vars(solid.measure(points)).values()]).all()


def test_positions_that_are_no_numbers_give_none():
    posed = CUBE[0].copy()
    posed[3, 1] = np.nan
    assert np.isnan(close_surface(*CUBE).measure(posed).filled)


def test_another_number_of_vertices_is_refused():
    with pytest.raises(ValueError, match="vertices at rest, but"):
        close_surface(*CUBE).measure(CUBE[0][:-1])
