"""Which skin is chosen: that with the least cost over all poses, unless it is the base in all but name."""

import numpy as np
import pytest

from supple.deformers.flesh.choice import choose_skin, find_costs, measure_change
from supple.deformers.flesh.outer import OuterMeter
from supple.deformers.geometry.vectors import transform_points
from supple.deformers.rig.rest import Joints

from ..cases import each
from ..characters import about, rotation
from ..meshes import make_tube


def test_costs_by_hand() -> None:
    assert find_costs(np.array([[0.0, 0.0, 0.0], [3.0, 0.25, 0.5]])) == pytest.approx([0.0, 3.5])


@each(
    ("measures", "changes", "expected"),
    [
        ([[[1.0, 0.2], [3.0, 0.4]], [[1.0, 0.1], [3.0, 0.2]]], [[0.0, 0.0], [0.05, 0.05]], 1),
        ([[[0.5, 0.1]], [[1.0, 0.3]], [[0.0, 0.3]]], [[0.0], [0.1], [0.1]], 0),
        ([[[7.0, 0.1]], [[3.0, 0.3]], [[0.0, 0.3]]], [[0.0], [0.1], [0.1]], 2),
        ([[[1.0, 0.2]], [[1.0, 0.1]]], [[0.0], [0.0019]], 0),
        ([[[1.0, 0.2]], [[1.0, 0.1]]], [[0.0], [0.0021]], 1),
        ([[[0.0, 0.0], [7.0, 0.1]], [[1.0, 0.0], [3.0, 0.1]]], [[0.0, 0.0], [0.1, 0.1]], 0),
    ],
)
def test_one_choice_for_all_poses(measures: list, changes: list, expected: int) -> None:
    """A character of 1.8 m; in the last case both cost the same, and the base is simpler."""
    assert choose_skin(np.insert(np.array(measures), 2, 0.0, axis=2), np.array(changes), 1.8) == expected


def test_a_flat_outer_side_costs() -> None:
    """The outer side of a bent tube, moved towards the joint; the inner side, and a straight joint, tell nothing."""
    points, triangles = make_tube(0.3, 33, 16, 2.4)
    heads, up = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 1.2]]), np.array([0.0, 0.0, 1.2])
    meter = OuterMeter(points, triangles, Joints(heads, np.array([-1, 0]), heads + up), 1, 0.3)
    bent = np.stack([np.eye(4), about(rotation((1, 0, 0), 90), heads[1])])
    half = transform_points(about(rotation((1, 0, 0), 45), heads[1]), points)  # the tail goes to -y
    assert meter.measure(half, bent) == pytest.approx(0.0, abs=1e-9)
    assert meter.measure(heads[1] + 0.5 * (half - heads[1]), bent) == pytest.approx(1.0)
    is_inner = points[:, 1] < 0.0
    assert meter.measure(np.where(is_inner[:, None], heads[1], half), bent) == pytest.approx(0.0, abs=1e-9)
    assert meter.measure(np.tile(heads[1], (len(points), 1)), np.tile(np.eye(4), (2, 1, 1))) == 0.0


def test_the_largest_change_near_the_joint_counts() -> None:
    base, skin = np.zeros((3, 3)), np.diag([1.0, 2.0, 9.0])
    assert measure_change(base, skin, np.array([True, True, False])) == 2.0
    assert measure_change(base, skin, np.zeros(3, bool)) == 0.0
