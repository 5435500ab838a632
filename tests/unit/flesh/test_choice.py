"""Which skin is chosen: that with the least cost over all poses, unless it is the base in all but name."""

import numpy as np
import pytest

from supple.deformers.flesh.choice import choose_skin, find_costs, measure_change

from ..cases import each


def test_costs_by_hand() -> None:
    assert find_costs(np.array([[0.0, 0.0], [3.0, 0.25]])) == pytest.approx([0.0, 3.0])


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
    assert choose_skin(np.array(measures), np.array(changes), 1.8) == expected


def test_the_largest_change_near_the_joint_counts() -> None:
    base, skin = np.zeros((3, 3)), np.diag([1.0, 2.0, 9.0])
    assert measure_change(base, skin, np.array([True, True, False])) == 2.0
    assert measure_change(base, skin, np.zeros(3, bool)) == 0.0
