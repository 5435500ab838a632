"""The spring against an integration in steps of 1/1000 s, and what it must do in the limit."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supple.deformers.swing.springs import Timing, find_accelerations, find_lag, find_slopes

STEP = 1e-3


def integrate(
    acceleration: Callable[[np.ndarray], np.ndarray], frequency: float, damping: float, seconds: float
) -> np.ndarray:
    """The lag every 1/1000 s, from rest, by Runge-Kutta."""
    omega = 2.0 * np.pi * frequency

    def slope(state: np.ndarray, value: float) -> np.ndarray:
        return np.array([state[1], -2.0 * damping * omega * state[1] - omega**2 * state[0] - value])

    count = round(seconds / STEP)
    given = acceleration(np.arange(2 * count + 1) * STEP / 2)
    state, lags = np.zeros(2), [0.0]
    for step in range(count):
        start, middle, end = given[2 * step : 2 * step + 3]
        first = slope(state, start)
        second = slope(state + STEP / 2 * first, middle)
        third = slope(state + STEP / 2 * second, middle)
        fourth = slope(state + STEP * third, end)
        state = state + STEP / 6 * (first + 2 * second + 2 * third + fourth)
        lags.append(state[0])
    return np.array(lags)


def move(times: np.ndarray) -> np.ndarray:
    """A shake of a second, which begins and ends softly."""
    inside = (times > 0.5) & (times < 1.5)
    return np.where(inside, 0.1 * np.sin(np.pi * (times - 0.5)) ** 4 * np.sin(2 * np.pi * 2.3 * (times - 0.5)), 0.0)


def accelerate(times: np.ndarray) -> np.ndarray:
    return (move(times + 1e-4) - 2 * move(times) + move(times - 1e-4)) / 1e-8


@pytest.mark.parametrize(
    ("rate", "frequency", "damping"), [(24, 1.0, 0.6), (30, 2.5, 0.1), (24, 4.0, 0.3), (60, 6.0, 0.1), (24, 6.0, 0.6)]
)
def test_lag_is_that_of_an_integration(rate, frequency, damping):
    timing = Timing(0.5 / rate)
    times = np.arange(round(3.0 / timing.step) + 1) * timing.step
    lag = find_lag(find_accelerations(move(times), timing), frequency, damping, timing)
    wanted = integrate(accelerate, frequency, damping, 3.0)
    wanted = np.interp(times, np.arange(len(wanted)) * STEP, wanted)
    assert np.abs(lag - wanted).max() < 0.001 * np.abs(wanted).max()


def test_a_hard_corner():
    """It stands, and moves at once at full speed: the steps that are read can not say when."""
    timing = Timing(0.5 / 24)
    times = np.arange(round(3.0 / timing.step) + 1) * timing.step
    lag = find_lag(find_accelerations(np.maximum(times - 1.0, 0.0), timing), 5.0, 0.25, timing)
    omega, after = 2 * np.pi * 5.0, np.maximum(times - 1.0, 0.0)
    fast = omega * np.sqrt(1 - 0.25**2)
    wanted = -np.exp(-0.25 * omega * after) * np.sin(fast * after) / fast
    assert np.abs(lag - wanted).max() < 0.07 * np.abs(wanted).max()


@pytest.mark.parametrize("is_cyclic", [False, True])
def test_the_stiffest_and_the_softest_springs(is_cyclic):
    """Those that settle within a step hang where the pull has them; those that hardly move are moved by all of it."""
    timing = Timing(1 / 48, is_cyclic)
    pulls = 1.0 + np.cos(2 * np.pi * np.arange(49) / 48)
    stiff = find_lag(pulls, np.array(1e6), 0.25, timing, pulls[0])
    assert stiff == pytest.approx(-pulls / (2e6 * np.pi) ** 2, rel=1e-4, abs=1e-18)
    for slow in (1e-3, 1e-6, 1e-9):
        lag = find_lag(pulls - 1.0, slow, 0.25, Timing(1 / 48))
        wanted = find_lag(pulls - 1.0, 1e-2, 0.25, Timing(1 / 48))
        assert lag == pytest.approx(wanted, abs=0.02 * np.abs(wanted).max())


def test_nothing_lags_at_constant_speed():
    timing = Timing(1 / 48)
    path = np.arange(100)[:, None] * [0.3, -0.1, 0.2]
    assert find_lag(find_accelerations(path, timing), 1.2, 0.25, timing) == pytest.approx(0.0, abs=1e-9)


def test_a_constant_pull_holds_it_at_rest_from_the_first_frame():
    timing = Timing(1 / 48)
    lag = find_lag(np.full((60, 1), 9.81), 1.5, 0.3, timing, before=9.81)
    assert lag == pytest.approx(-9.81 / (2 * np.pi * 1.5) ** 2, rel=1e-9)


def test_a_cycle_has_no_seam():
    """And is where ten cycles of the same would have come to."""
    timing, cyclic = Timing(1 / 48), Timing(1 / 48, is_cyclic=True)
    phases = 2 * np.pi * np.arange(49) / 48
    cycle = 0.1 * np.sin(phases) + 0.05 * np.cos(3 * phases)
    travels = cycle + np.arange(49) * 0.02
    lag = find_lag(find_accelerations(travels, cyclic), 1.2, 0.25, cyclic)
    assert lag[0] == pytest.approx(lag[-1], abs=1e-12)
    slopes = find_slopes(lag, cyclic)
    assert slopes[0] == slopes[-1]
    many = np.tile(cycle[:-1], 10) + np.arange(480) * 0.02
    long = find_lag(find_accelerations(many, timing), 1.2, 0.25, timing)
    assert long[8 * 48 : 9 * 48 + 1] == pytest.approx(lag, abs=1e-6)


def test_accelerations_and_slopes_are_those_of_the_natural_spline():
    values = np.random.default_rng(1).normal(size=12)
    inner = np.zeros((12, 12)) + np.eye(12)
    right = np.zeros(12)
    for row in range(1, 11):
        inner[row, row - 1 : row + 2] = 1 / 6, 4 / 6, 1 / 6
        right[row] = values[row - 1] - 2 * values[row] + values[row + 1]
    wanted = np.linalg.solve(inner, right)
    assert find_accelerations(values, Timing(0.5)) == pytest.approx(4.0 * wanted, abs=1e-12)
    slopes = find_slopes(values, Timing(0.5))
    ends = np.diff(values) + (2 * wanted[1:] + wanted[:-1]) / 6
    assert slopes[1:] == pytest.approx(ends, abs=1e-12)
