"""Chains against coupled masses that are integrated, and what must not swing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from supple.deformers.algebra.rotations import to_matrices
from supple.deformers.swing.chains import (
    ChainMotion,
    Spring,
    bend_chain,
    find_modes,
    find_offsets,
    measure_angles,
    spare_body,
)
from supple.deformers.swing.paths import smooth_paths
from supple.deformers.swing.springs import Timing

LENGTHS = np.array([0.26, 0.42, 0.31, 0.24, 0.24])
TIMING, SPRING = Timing(1 / 48), Spring(1.2, 0.25)
DOWN = np.array([0.0, 0.0, -9.81])


def turn_z(angles: np.ndarray) -> np.ndarray:
    """Rotations about z, shape (F, 3, 3)."""
    rotations = np.tile(np.eye(3), (len(angles), 1, 1))
    rotations[:, 0, 0] = rotations[:, 1, 1] = np.cos(angles)
    rotations[:, 1, 0], rotations[:, 0, 1] = np.sin(angles), -np.sin(angles)
    return rotations


def carry(shifts: np.ndarray, turns: np.ndarray | None = None, start: float = 0.5) -> ChainMotion:
    """A straight chain along x that is carried stiffly."""
    count = len(shifts)
    turns = np.tile(np.eye(3), (count, 1, 1)) if turns is None else turns
    rest = np.zeros((6, 3))
    rest[:, 0] = start + np.concatenate([[0.0], np.cumsum(LENGTHS)])
    rest_axes = np.array([[0.0, 1.0, 0.0], [-1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])  # y along the bones
    world = np.tile(np.eye(4), (count, 1, 1))
    world[:, :3, 3] = shifts
    joints = np.einsum("fij,kj->fki", turns, rest)
    rotations = np.tile((turns @ rest_axes)[:, None], (1, 5, 1, 1))
    inward = np.tile([0.0, 0.0, -1.0], (5, 1))
    return ChainMotion(joints, rotations, turns, np.eye(3), world, inward)


def shake(count: int = 145) -> np.ndarray:
    times = np.arange(count) / 48
    shifts = np.zeros((count, 3))
    inside = (times > 0.5) & (times < 1.5)
    shifts[:, 2] = np.where(inside, 0.05 * np.sin(np.pi * (times - 0.5)) ** 4 * np.sin(4 * np.pi * (times - 0.5)), 0)
    return shifts


@pytest.mark.parametrize("tip", [1e-2, 2e-3, 1e-6, 1e-9])
def test_a_short_tip_changes_as_much_as_its_mass(tip):
    """As importers add one of 1 or 2 mm: the others swing as without it, but for a quarter of its length."""
    ends, indices = [tip * LENGTHS.mean(), 0.0, 0.0], [0, 1, 2, 3, 4, 4]
    motion = carry(shake())
    joints = np.concatenate([motion.joints, motion.joints[:, -1:] + ends], axis=1)
    tipped = replace(motion, joints=joints, axes=motion.axes[:, indices], inward=motion.inward[indices])
    assert find_modes(tipped.lengths)[2][:3] == pytest.approx(find_modes(LENGTHS)[2][:3], rel=0.3 * tip + 1e-9)
    found, wanted = (find_offsets(each, SPRING, TIMING, 1.0, DOWN)[0] for each in (tipped, motion))
    assert np.abs(found[:, :5] - wanted).max() < (0.3 * tip + 1e-9) * np.abs(wanted).max()
    assert np.isfinite(bend_chain(tipped, found)[0]).all()


@pytest.mark.parametrize("count", [1, 2])
def test_a_pose_alone_is_a_motion(count):
    motion = carry(np.zeros((count, 3)))
    rotations, angles = bend_chain(motion, np.zeros_like(motion.joints[:, 1:]))
    assert rotations.shape == (count, 5, 4)
    assert angles == pytest.approx(0.0, abs=1e-7)


def test_a_chain_is_that_of_five_coupled_masses():
    """Integrated as masses and springs, without modes, in steps of 1/1000 s."""
    middle = (np.cumsum(LENGTHS) - LENGTHS / 2) / LENGTHS.sum()
    masses, stiffness = LENGTHS * (1 - 0.6 * middle) ** 2, (1 - 0.6 * middle) ** 3
    bends = np.zeros((5, 5))
    for bone in range(5):
        bends[bone, bone] += 1 / LENGTHS[bone]
        if bone:
            bends[bone, bone - 1] -= 1 / LENGTHS[bone] + 1 / LENGTHS[bone - 1]
        if bone > 1:
            bends[bone, bone - 2] += 1 / LENGTHS[bone - 1]
    pull = np.linalg.solve(np.diag(masses), bends.T @ np.diag(stiffness) @ bends)
    values, vectors = np.linalg.eig(pull)
    scale = (2 * np.pi * SPRING.frequency) ** 2 / values.min()
    omegas = np.sqrt(values * scale)
    ratios = np.minimum(0.95, SPRING.damping * np.sqrt(omegas / omegas.min()))
    damp = np.real(vectors @ np.diag(2 * ratios * omegas) @ np.linalg.inv(vectors))
    fine = np.arange(6001) / 2000
    inside = (fine > 0.5) & (fine < 1.5)
    path = np.where(inside, 0.05 * np.sin(np.pi * (fine - 0.5)) ** 4 * np.sin(4 * np.pi * (fine - 0.5)), 0)
    given = np.gradient(np.gradient(path, fine), fine)
    step, state, lags = 1e-3, np.zeros((2, 5)), [np.zeros(5)]

    def slope(now: np.ndarray, value: float) -> np.ndarray:
        return np.stack([now[1], -damp @ now[1] - scale * pull @ now[0] - value])

    for row in range(3000):
        start, half, end = given[2 * row : 2 * row + 3]
        one = slope(state, start)
        two = slope(state + step / 2 * one, half)
        three = slope(state + step / 2 * two, half)
        state = state + step / 6 * (one + 2 * two + 2 * three + slope(state + step * three, end))
        lags.append(state[0])
    lag, _ = find_offsets(carry(shake()), SPRING, TIMING, 2.0, DOWN)
    wanted = np.array([np.interp(np.arange(145) / 48, np.arange(3001) / 1000, column) for column in np.array(lags).T]).T
    assert np.abs(lag[..., 2] - wanted).max() < 0.01 * np.abs(wanted).max()


def test_modes_are_those_of_the_masses():
    shapes, loads, ratios = find_modes(LENGTHS)
    assert shapes.T @ loads == pytest.approx(np.eye(5), abs=1e-12)
    assert ratios[0] == 1.0
    assert (np.diff(ratios) > 0).all()


def test_nothing_lags_behind_even_motion():
    lag, sag = find_offsets(carry(np.arange(145)[:, None] * [0.01, 0.02, 0.0]), SPRING, TIMING, 2.0, DOWN)
    assert lag == pytest.approx(0.0, abs=1e-8)
    assert sag == pytest.approx(0.0, abs=1e-12)
    angles = 4.0 * np.arange(145) / 48
    turning = carry(np.zeros((145, 3)), turn_z(angles))
    lag, _ = find_offsets(turning, SPRING, TIMING, 2.0, DOWN)
    found = np.degrees(measure_angles(turning, lag))  # at 230 degrees a second
    assert found.max() < 0.1  # it begins at once
    assert found[96:-10].max() < 0.01


def test_a_cut_does_nothing():
    shifts = shake()
    before, _ = find_offsets(carry(shifts), SPRING, TIMING, 2.0, DOWN)
    shifts[100] += 2.5  # keyed from one frame to the next
    shifts[101:] += 5.0
    after, _ = find_offsets(carry(shifts), SPRING, TIMING, 2.0, DOWN)
    assert after == pytest.approx(before, abs=5e-3 * np.abs(before).max())


def test_held_poses_move_on():
    """A pose for each second frame swings as the motion does, and not at each pose anew."""
    times = np.arange(193) / 48
    path = np.zeros((193, 1, 3))
    path[:, 0, 2] = 0.1 * np.sin(2 * np.pi * times)
    held = path[np.arange(193) // 4 * 4]
    smooth = smooth_paths(held, 2.0, is_cyclic=False)
    assert np.abs(np.diff(smooth, 2, axis=0)).max() < 2 * np.abs(np.diff(path, 2, axis=0)).max()
    still = np.concatenate([path[:97], np.tile(path[96], (96, 1, 1))])
    assert np.array_equal(smooth_paths(still, 2.0, is_cyclic=False), still)


def test_gravity_pulls_what_is_turned():
    """And only that: at rest the chain hangs as it was modeled."""
    angles = np.full(49, 0.0)
    _, sag = find_offsets(carry(np.zeros((49, 3)), turn_z(angles)), SPRING, TIMING, 2.0, np.array([0.0, -9.81, 0.0]))
    assert sag == pytest.approx(0.0, abs=1e-12)
    angles = np.full(49, np.pi)
    motion = carry(np.zeros((49, 3)), turn_z(angles))
    _, sag = find_offsets(motion, SPRING, TIMING, 2.0, np.array([0.0, -9.81, 0.0]))
    assert (sag[:, -1, 1] < -0.1).all()
    assert np.ptp(sag, axis=0).max() < 1e-12


def test_bones_point_to_where_their_ends_go():
    """Gently; however far they go, they bend by less than 35 degrees at each joint, and do not twist."""
    motion = carry(shake())
    offsets, _ = find_offsets(motion, SPRING, TIMING, 2.0, DOWN)
    rotations, angles = bend_chain(motion, 0.1 * offsets)
    assert angles == pytest.approx(measure_angles(motion, 0.1 * offsets), abs=0.02 * angles.max())
    turned, before = [], np.tile(np.eye(3), (145, 1, 1))
    for bone in range(5):
        local = np.swapaxes(motion.rotations[:, bone - 1], 1, 2) @ motion.rotations[:, bone]
        before = (motion.rotations[:, 0] if bone == 0 else before @ local) @ to_matrices(rotations[:, bone])
        turned.append(before)
    ends = motion.joints[:, :1] + np.cumsum(np.array(turned).transpose(1, 0, 2, 3)[..., 1] * LENGTHS[:, None], axis=1)
    moved = ends - motion.joints[:, 1:]
    assert moved == pytest.approx(0.1 * offsets, abs=0.03 * np.abs(0.1 * offsets).max())
    along = carry(shake()[:, [2, 1, 0]])  # along the bones, which do not stretch
    lag, _ = find_offsets(along, SPRING, TIMING, 2.0, DOWN)
    assert bend_chain(along, 1000.0 * lag)[1] == pytest.approx(0.0, abs=1e-6)
    wild, _ = bend_chain(motion, 1000.0 * offsets)
    assert np.degrees(2 * np.arccos(np.abs(wild[..., 0]).clip(0, 1))).max() < 35.01


def test_a_cloak_swings_out_and_not_in():
    motion = carry(shake())
    offsets, _ = find_offsets(motion, SPRING, TIMING, 2.0, DOWN)
    spared = spare_body(motion, 10.0 * offsets)
    outward = offsets[..., 2] >= 0.0
    assert np.array_equal(spared[outward], 10.0 * offsets[outward])
    assert (10.0 * offsets[..., 2]).min() < -0.1
    assert (spared[..., 2] >= -0.04 * np.cumsum(LENGTHS)).all()
    small = spare_body(motion, 1e-4 * offsets)
    assert small == pytest.approx(1e-4 * offsets, abs=1e-9)
