"""Corrective keys: hats along an angle of a joint, and offsets at rest."""

import numpy as np
import pytest

from supple.deformers.engine_copy import Examples, FitParams, fit, fit_linear, measure, pose_copy
from supple.deformers.engine_copy.keys import read_angle

from .test_fitting import ignore, make_example


def test_an_angle_is_read_about_its_axis_alone() -> None:
    half = np.radians(35.0)
    turns = np.array([[np.cos(half), np.sin(half), 0, 0], [np.cos(half), 0, np.sin(half), 0]])
    assert np.degrees(read_angle(turns, np.array([1.0, 0.0, 0.0]))) == pytest.approx([70.0, 0.0])


def make_pushed() -> tuple:
    """A tube whose skin is pushed sideways while it bends to one side, which no bone does: as contact pushes it."""
    skin, examples = make_example(np.linspace(-100.0, 100.0, 21))
    linear = fit_linear(skin, examples, 4)
    pushed = np.where(np.abs(skin.points[:, 2] - 1.0) < 0.3, 0.1 * np.sign(skin.points[:, 0]), 0.0)
    shares = np.clip(np.linspace(-1.0, 1.0, 21), 0.0, 1.0)
    targets = pose_copy(skin, examples, linear, np.arange(21))
    targets[:, :, 0] += (shares[:, None] * pushed).astype(np.float32)
    return skin, Examples(examples.matrices, lambda frames: targets[frames])


def test_a_key_takes_over_what_bones_cannot() -> None:
    skin, examples = make_pushed()
    copy = fit(skin, examples, FitParams(0.01, helpers=0), ignore)
    without = fit(skin, examples, FitParams(0.01, helpers=0, keys=0), ignore)
    assert without.keys == ()
    assert measure(skin, examples, without, ignore).largest > 0.06
    assert measure(skin, examples, copy, ignore).largest < 0.012
    assert 1 <= len(copy.keys) <= 3
    key = copy.keys[0]
    assert key.joint == 1
    assert key.axis == pytest.approx([1.0, 0.0, 0.0], abs=1e-6)
    assert copy.key_values.shape == (21, len(copy.keys))
    assert (copy.key_values[:11] == 0.0).all()  # bent to the other side
    assert copy.key_values[-1].max() == 1.0
    assert (copy.key_values.sum(axis=1) <= 1.0 + 1e-9).all()


def test_no_more_keys_than_chosen() -> None:
    skin, examples = make_pushed()
    assert len(fit(skin, examples, FitParams(0.0001, helpers=0, keys=1), ignore).keys) == 1
