"""Hinges: the side to which they bend, what a user has limited, and straight limbs that are pushed."""

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers.posing.bones import PosedBones
from supple.deformers.posing.chain import begin_chain
from supple.deformers.posing.energy import begin_drag
from supple.deformers.posing.hinges import add_hinges
from supple.deformers.posing.limits import RotationLimits

from ..cases import each
from .test_chain import end_of, make_chain
from .test_energy import hold, make_worm

OWN = np.eye(3)[:, [0, 2, 1]] * [1.0, 1.0, -1.0]
"""About X, where the limb is along Z, as a worm's are: toward -Y. Columns: hinge, limb, normal."""


def bend_of(posed: np.ndarray, bone: int) -> float:
    """Degrees by which a bone of a worm is bent to its side against the one above."""
    local = posed[bone - 1, :3, :3].T @ posed[bone, :3, :3]
    return float(np.degrees(np.arctan2(-local[1, 2], local[2, 2])))


@each("pushes", [(0.0, 0.0), (0.0, 0.05), (0.3, -0.1)])
def test_a_straight_limb_that_is_pushed_bends_to_its_side(pushes: tuple[float, float]) -> None:
    skin, bones, points, weights = make_worm(3)
    bones = add_hinges(replace(bones, free=np.array([False, True, True])), {2: (OWN, 0.0)})
    drag = begin_drag(skin, bones, [hold(points, weights, -1)], moving_root=False)
    end = points[-1]
    for step in range(1, 21):
        posed = drag.move((end + np.array([*pushes, -1.2]) * step / 20)[None])
        assert bend_of(posed, 2) > -5.0 - 1e-6
    assert bend_of(posed, 2) > 20.0


def test_a_limb_that_is_pulled_to_the_other_side_stops_there() -> None:
    skin, bones, points, weights = make_worm(3)
    given = replace(bones, free=np.array([False, False, True]))
    bent = []
    for own in (given, add_hinges(given, {2: (OWN, 0.0)})):
        drag = begin_drag(skin, own, [hold(points, weights, -1)], moving_root=False)
        for step in range(1, 21):
            posed = drag.move((points[-1] + np.array([0.0, 1.0, -0.5]) * step / 20)[None])
        bent.append(bend_of(posed, 2))
    assert bent[0] < -30.0
    assert -5.0 - 1e-6 <= bent[1] < 0.0


def test_a_limb_that_is_beyond_straight_already_stays_there() -> None:
    skin, bones, points, weights = make_worm(3)
    bones = add_hinges(replace(bones, free=np.array([False, False, True])), {2: (OWN, np.radians(40.0))})
    drag = begin_drag(skin, bones, [hold(points, weights, -1)], moving_root=False)
    posed = drag.move(points[-1:])
    np.testing.assert_allclose(posed, bones.posed, atol=1e-9)
    for step in range(1, 21):
        posed = drag.move((points[-1] + np.array([0.0, 1.0, -0.5]) * step / 20)[None])
    assert bend_of(posed, 2) == pytest.approx(0.0, abs=0.5)


def test_limits_of_the_user_win() -> None:
    def add(lowest: list[float], highest: list[float], stiff: float = 0.0) -> PosedBones:
        limits = RotationLimits(np.array([[0, 1, 2]] * 2), np.array([[-np.inf] * 3, lowest]),
                                np.array([[np.inf] * 3, highest]))  # fmt: skip
        stiffness = np.array([[0.0] * 3, [0.0, stiff, 0.0]])
        return add_hinges(replace(make_chain(2, limits), stiffness=stiffness), {1: (np.diag([-1.0, 1.0, -1.0]), -0.2)})

    free, infinite = [-np.inf] * 3, [np.inf] * 3
    own = add([-0.5, -np.inf, -np.inf], [2.5, np.inf, np.inf])
    assert (own.limits.lowest[1, 0], own.limits.highest[1, 0]) == (-0.5, 2.5)
    assert own.hinges == ()
    locked = add([-np.inf, 0.0, -np.inf], [np.inf, 0.0, np.inf])  # the own X is the hinge, with the other sign
    assert (locked.limits.lowest[1, 0], locked.limits.highest[1, 0]) == pytest.approx(
        (0.2 - np.radians(160.0), 0.2 + np.radians(5.0))
    )
    assert locked.limits.locked[1].tolist() == [False, True, False]
    assert np.array_equal(locked.axes[1], np.eye(3))
    stiff = add(free, infinite, 0.95)
    assert stiff.stiffness[1].tolist() == [0.0, 0.95, 0.9]
    plain = add(free, infinite)
    assert np.isclose(plain.limits.lowest[1], [-0.2 - np.radians(5.0), -np.inf, -np.radians(10.0)]).tolist() == [
        True,
        True,
        True,
    ]
    assert plain.limits.orders[1].tolist() == [1, 2, 0]


def test_a_chain_bends_its_hinge_to_its_side() -> None:
    hinge = np.eye(3)  # along Y, toward Z
    chain = begin_chain(add_hinges(make_chain(2), {1: (hinge, 0.0)}), [1, 0], np.array([0.0, 2.0, 0.0]))
    for target in ((0.0, 1.2, 0.5), (0.3, 1.0, -0.6), (0.0, 1.0, 0.0)):
        posed = chain.move(np.array(target))
        assert end_of(posed)[:3] == pytest.approx(target, abs=1e-3)
        local = posed[0, :3, :3].T @ posed[1, :3, :3]
        assert np.degrees(np.arctan2(local[2, 1], local[1, 1])) > -5.0 - 1e-6
