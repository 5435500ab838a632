"""Limits of rotations against matrices multiplied by hand and against a search through all angles."""

from itertools import permutations

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.posing.limits import (
    RotationLimits,
    angles_from_rotations,
    angles_within,
    axes_of_angles,
    nearest_angles,
    rotations_from_angles,
)

from ..cases import each
from ..characters import rotation

ORDERS = [np.array(order) for order in permutations(range(3))]


def compose(angles: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The first axis of the order is rotated about first."""
    result = np.eye(3)
    for axis in order:
        result = rotation(np.eye(3)[axis], np.degrees(angles[axis])) @ result
    return result


@each("order", ORDERS)
def test_angles_there_and_back(order: np.ndarray) -> None:
    random = np.random.default_rng(3)
    angles = random.uniform(-3.0, 3.0, (40, 3))
    orders = np.tile(order, (40, 1))
    rotations = rotations_from_angles(angles, orders)
    assert rotations == pytest.approx(np.array([compose(each, order) for each in angles]), abs=1e-12)
    for found in angles_from_rotations(rotations, orders):
        assert rotations_from_angles(found, orders) == pytest.approx(rotations, abs=1e-12)
    assert nearest_angles(rotations, orders, angles + 0.01) == pytest.approx(angles, abs=1e-9)


@each("order", ORDERS)
@each("middle", [90.0, -90.0])
def test_gimbal_lock(order: np.ndarray, middle: float) -> None:
    angles = np.array([0.3, -0.2, 0.5])
    angles[order[1]] = np.radians(middle)
    turned = rotations_from_angles(angles[None], order[None])
    found = angles_from_rotations(turned, order[None])[0]
    assert rotations_from_angles(found, order[None]) == pytest.approx(turned, abs=1e-9)


@each("order", ORDERS)
def test_axes_are_what_angles_rotate_about(order: np.ndarray) -> None:
    angles = np.array([[0.4, -0.7, 1.1]])
    axes = axes_of_angles(angles, order[None])[0]
    for axis in range(3):
        more = rotations_from_angles(angles + 1e-6 * np.eye(3)[axis], order[None])[0]
        change = (more - rotations_from_angles(angles, order[None])[0]) @ compose(angles[0], order).T / 1e-6
        assert [change[2, 1], change[0, 2], change[1, 0]] == pytest.approx(axes[:, axis], abs=1e-5)


def limit(lowest: object, highest: object) -> RotationLimits:
    return RotationLimits(
        np.array([[0, 1, 2]]), np.radians([lowest]).astype(float), np.radians([highest]).astype(float)
    )


def clamp(turned: np.ndarray, limits: RotationLimits) -> np.ndarray:
    angles = np.clip(angles_within(turned[None], limits), limits.lowest, limits.highest)
    return rotations_from_angles(angles, limits.orders)[0]


@each(
    ("degrees", "expected"),
    [
        ((30, 0, 0), (30, 0, 0)),
        ((80, 0, 0), (45, 0, 0)),
        ((-80, 5, 0), (-10, 5, 0)),
        ((0, 40, 0), (0, 20, 0)),
        ((20, 10, 500), (20, 10, 140)),
    ],
)
def test_each_angle_is_clamped_by_itself(degrees: object, expected: object) -> None:
    limits = limit((-10, -20, -np.inf), (45, 20, np.inf))
    turned = compose(np.radians(degrees), ORDERS[0])
    assert clamp(turned, limits) == pytest.approx(compose(np.radians(expected), ORDERS[0]), abs=1e-9)


def test_nothing_flips_at_180_degrees() -> None:
    limits = limit((0, 0, 170), (0, 0, 200))
    for degrees in (171.0, 179.9, 180.1, 199.0):
        turned = rotation((0, 0, 1), degrees)
        assert clamp(turned, limits) == pytest.approx(turned, abs=1e-9)


def test_limits_that_leave_nothing_are_refused() -> None:
    with pytest.raises(SkinningError, match="minimum angle of bone 0"):
        limit((10, 0, 0), (5, 0, 0))
