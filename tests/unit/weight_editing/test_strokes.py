"""How much of an edit the vertices under a brush have."""

import numpy as np
import pytest

from supple.deformers.weight_editing.strokes import add_dab

LINE = np.array([[0.0, 0, 0], [0.5, 0, 0], [1.0, 0, 0], [3.0, 0, 0]])


def test_a_touch_is_strongest_at_its_center_and_ends_at_its_radius() -> None:
    shares = add_dab(np.zeros(4), LINE, np.zeros(3), 1.0, 0.8)
    assert shares == pytest.approx([0.8, 0.8 * 0.75**2, 0.0, 0.0])


def test_touches_add_up_to_no_more_than_the_whole() -> None:
    shares = np.zeros(4)
    for count in range(1, 30):
        before, shares = shares, add_dab(shares, LINE, np.zeros(3), 1.0, 0.5)
        assert shares[0] == pytest.approx(1.0 - 0.5**count)
        assert (shares >= before).all()
    assert shares.max() <= 1.0
    assert not before[2:].any()


def test_a_brush_of_no_size_touches_nothing_but_its_center() -> None:
    assert add_dab(np.zeros(4), LINE, np.zeros(3), 0.0, 1.0) == pytest.approx([1.0, 0.0, 0.0, 0.0])
