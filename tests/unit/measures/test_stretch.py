"""Stretch of edges and the difference of two methods, against numbers worked out by hand."""

import numpy as np
import pytest

from supple.deformers.measures.difference import measure_difference
from supple.deformers.measures.stretch import edge_stretches, measure_stretch, mesh_edges

ROW = np.stack([np.arange(5.0), np.zeros(5), np.zeros(5)], axis=1)
EDGES = np.stack([np.arange(4), np.arange(1, 5)], axis=1)


def test_edges_of_faces_are_found_once():
    quads = np.array([[0, 1, 2, 3], [3, 2, 5, 4]])
    assert mesh_edges(quads).tolist() == [[0, 1], [0, 3], [1, 2], [2, 3], [2, 5], [3, 4], [4, 5]]


def test_stretches_and_their_floor():
    assert edge_stretches(ROW, 1.1 * ROW, EDGES) == pytest.approx(1.1)
    assert edge_stretches(0.01 * ROW, 0.02 * ROW, EDGES, floor=1.0) == pytest.approx(1.0)
    assert edge_stretches(0.01 * ROW, 3.0 * ROW, EDGES, floor=1.0) == pytest.approx(3.0)
    assert edge_stretches(ROW, 0.01 * ROW, EDGES, floor=0.5) == pytest.approx(0.01)


def test_rms_extremes_and_tears():
    posed = np.cumsum([0.0, 1.0, 0.5, 4.0, 1.0])[:, None] * [1.0, 0.0, 0.0]
    stretch = measure_stretch(ROW, posed, EDGES)
    assert stretch.rms == pytest.approx(np.sqrt((0.0 + 0.25 + 9.0 + 0.0) / 4.0))
    assert stretch.low == pytest.approx(0.5, abs=2e-3)
    assert stretch.high == pytest.approx(4.0, abs=1e-2)
    assert stretch.tears == 1
    assert measure_stretch(ROW, posed, EDGES, tear=5.0).tears == 0


def test_slivers_do_not_rule():
    rest = np.array([[0.0, 0, 0], [1.0, 0, 0], [2.0, 0, 0], [2.0001, 0, 0]])
    posed = rest + np.array([[0.0, 0, 0], [0.0, 0, 0], [0.0, 0, 0], [0.01, 0, 0]])
    assert measure_stretch(rest, posed, EDGES[:3]).rms == 0.0
    assert measure_stretch(rest, posed, EDGES[:3], floor=0.0).rms > 50.0


def test_a_mesh_without_edges_has_no_stretch():
    stretch = measure_stretch(ROW, ROW, EDGES[:0])
    assert np.isnan([stretch.rms, stretch.low, stretch.high]).all()
    assert stretch.tears == 0


def test_difference_in_millimeters():
    other = ROW.copy()
    other[0] += [0.003, 0.0, 0.004]
    difference = measure_difference(ROW, other)
    assert (difference.largest, difference.rms) == pytest.approx((5.0, 5.0 / np.sqrt(5.0)))
    assert measure_difference(ROW, other, millimeters=10.0).largest == pytest.approx(0.05)
    assert measure_difference(ROW[:0], ROW[:0]).largest == 0.0
    with pytest.raises(ValueError, match="same vertices"):
        measure_difference(ROW, ROW[:3])
