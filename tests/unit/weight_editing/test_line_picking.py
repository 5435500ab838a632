"""Weight lines under the mouse: projection, and the nearest points of segments and paths."""

import numpy as np
import pytest

from supple.deformers.weight_editing.line_picking import measure_segments, pick_distance, pick_segment, project_points

from ..cases import each

SIZE = (200.0, 100.0)


def test_points_are_projected_to_pixels():
    points = np.array([[[0.0, 0.0, 0.0], [1.0, -1.0, 5.0]]])
    np.testing.assert_allclose(project_points(points, np.eye(4), SIZE), [[[100.0, 50.0], [200.0, 0.0]]])


def test_perspective_divides_by_depth_and_points_behind_are_infinite():
    perspective = np.eye(4)
    perspective[3] = (0.0, 0.0, 1.0, 0.0)  # depth is z
    points = np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 4.0], [1.0, 1.0, -1.0], [0.0, 0.0, 0.0]])
    found = project_points(points, perspective, SIZE)
    np.testing.assert_allclose(found[:2], [[150.0, 75.0], [125.0, 62.5]])
    assert np.isinf(found[2:]).all()


@each(
    ("point", "distance", "share"),
    [((5.0, 3.0), 3.0, 0.5), ((-3.0, 4.0), 5.0, 0.0), ((13.0, -4.0), 5.0, 1.0), ((0.0, 0.0), 0.0, 0.0)],
)
def test_segments_are_measured_up_to_their_ends(point: tuple, distance: float, share: float):
    segments = np.array([[[0.0, 0.0], [10.0, 0.0]], [[0.0, 0.0], [np.inf, np.inf]], [[2.0, 0.0], [2.0, 0.0]]])
    distances, shares = measure_segments(segments, np.array(point))
    assert distances[0] == pytest.approx(distance)
    assert shares[0] == pytest.approx(share)
    assert np.isinf(distances[1])
    assert distances[2] == pytest.approx(np.hypot(point[0] - 2.0, point[1]))
    assert np.isfinite(shares).all()


def test_the_near_side_of_a_limb_is_picked():
    segments = np.array([[[0.0, 0.0, 0.0], [10.0, 0.0, 0.0]], [[0.0, 1.0, 5.0], [10.0, 1.0, 5.0]]])
    pixels, eye = segments[..., :2], np.array((0.0, 0.0, 1.0))
    away, point = pick_segment(segments, pixels, np.array((4.0, 0.0)), 8.0, eye)
    assert away == pytest.approx(1.0)  # though the far side is at the very mouse
    np.testing.assert_allclose(point, (4.0, 1.0, 5.0))
    away, point = pick_segment(segments, pixels, np.array((4.0, 0.0)), 0.5, eye)
    np.testing.assert_allclose(point, (4.0, 0.0, 0.0))
    assert pick_segment(segments, pixels, np.array((4.0, 20.0)), 8.0, eye) is None
    assert pick_segment(segments[:0], pixels[:0], np.array((4.0, 0.0)), 8.0, eye) is None


def test_the_mouse_has_a_distance_on_a_path():
    pixels = np.array([[[0.0, 0.0], [10.0, 0.0]], [[10.0, 0.0], [20.0, 0.0]]])
    distances = np.array([[-1.0, 0.0], [0.0, 1.0]])
    assert pick_distance(pixels, distances, np.array((15.0, 3.0)), 0.0) == pytest.approx(0.5)
    assert pick_distance(pixels, distances, np.array((-5.0, 0.0)), 0.0) == pytest.approx(-1.0)
    assert pick_distance(pixels[:0], distances[:0], np.array((0.0, 0.0)), 0.25) == 0.25


@each(("last", "expected"), [(-1.0, -0.9), (1.0, 0.9)])
def test_a_handle_does_not_jump_across_a_bend(last: float, expected: float):
    """A path that comes back beside itself: the mouse is between both, and the side where the handle is counts."""
    pixels = np.array([[[0.0, 0.0], [10.0, 0.0]], [[10.0, 0.0], [10.0, 2.0]], [[10.0, 2.0], [0.0, 2.0]]])
    distances = np.array([[-1.0, -0.1], [-0.1, 0.1], [0.1, 1.0]])
    mouse = np.array((10.0 / 9.0, 1.0 + 0.1 * np.sign(-last)))
    assert pick_distance(pixels, distances, mouse, last) == pytest.approx(expected)
    mouse = np.array((10.0 / 9.0, 1.0 + 0.1 * np.sign(last)))  # a little nearer to the other side
    assert pick_distance(pixels, distances, mouse, last) == pytest.approx(expected)
