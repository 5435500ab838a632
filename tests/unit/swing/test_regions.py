"""Regions of flesh: their border, their bone, and weights that can be given back."""

from __future__ import annotations

import numpy as np
import pytest

from supple.deformers.swing.regions import place_bone, share_weights, soften_region


def test_a_region_rises_from_its_border():
    points = np.zeros((9, 3))
    points[:, 0] = np.arange(9)
    edges = np.stack([np.arange(8), np.arange(1, 9)], axis=1)
    group = np.array([0, 0, 1, 1, 1, 1, 1, 0, 0.0])
    shares = soften_region(points, edges, group)
    assert shares == pytest.approx([0, 0, 7 / 27, 20 / 27, 1, 20 / 27, 7 / 27, 0, 0])
    assert soften_region(points, edges, 0.5 * group) == pytest.approx(0.5 * shares)
    assert np.array_equal(soften_region(points, edges, np.ones(9)), np.ones(9))


def test_weights_add_up_to_the_last_bit():
    random = np.random.default_rng(3)
    weights = np.concatenate([random.random(5000), 10.0 ** random.uniform(-30, 0, 5000), [0.0, 1.0]]).astype(np.float32)
    taken = share_weights(weights, np.concatenate([random.random(10000), [1.0, 1.0]]))
    left = weights - taken
    assert np.array_equal(left + taken, weights)
    assert (taken >= 0).all()
    assert (left[weights > 0] > 0).all()
    assert taken[-1] == pytest.approx(0.95)


def test_the_bone_points_from_its_carrier_to_the_middle():
    points = np.array([[0.2, 0.0, 0.9], [0.2, 0.0, 1.1], [9.0, 9.0, 9.0]])
    head, tail = place_bone(points, np.array([1.0, 1.0, 0.0]), np.zeros(3), np.array([0.0, 0.0, 2.0]))
    assert head == pytest.approx([0.0, 0.0, 1.0])
    assert tail == pytest.approx([0.2, 0.0, 1.0])
