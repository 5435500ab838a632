"""Offsets by least squares, against NumPy's own solver."""

import numpy as np
import pytest

from supple.deformers.corrections.offset_fit import OffsetFit, find_mask


def test_offsets_are_those_of_least_squares() -> None:
    random = np.random.default_rng(3)
    values, offsets, weights = random.random((9, 3)), random.normal(size=(9, 5, 3)), random.random(9) + 0.1
    fit = OffsetFit(np.ones((3, 5)))
    for value, wanted, weight in zip(values, offsets, weights, strict=True):
        fit.add(value, wanted, weight)
    scale = np.sqrt(weights)[:, None]
    expected = np.linalg.lstsq(scale * values, scale * offsets.reshape(9, -1), rcond=None)[0]
    assert fit.solve().reshape(3, -1) == pytest.approx(expected, abs=1e-5)


def test_corrections_stay_where_their_masks_are() -> None:
    masks = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 0.5, 1.0, 0.0]])
    fit = OffsetFit(masks)
    assert fit.rows.tolist() == [0, 1, 2]
    wanted = np.arange(9.0).reshape(3, 3)
    for value in np.eye(2):
        fit.add(value, wanted)
    found = fit.solve()
    assert found == pytest.approx(masks[:, :, None] * [*wanted, np.zeros(3)])


def test_masks_are_smooth_and_leave_dust_out() -> None:
    sizes = np.array([1.0, 0.5, 0.04, 0.025, 0.01, 1e-6])
    offsets = np.stack([0.5 * sizes[:, None] * [1.0, 0, 0], sizes[:, None] * [0, 0, -1.0]])
    assert find_mask(offsets) == pytest.approx([1.0, 1.0, 1.0, 0.5, 0.0, 0.0], abs=1e-6)
    assert not find_mask(np.zeros((2, 4, 3))).any()
