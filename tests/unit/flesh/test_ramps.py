"""Functions of rotations for keys: samples made of some are found again, and rest, sides and order change nothing."""

import numpy as np
import pytest

from supple.deformers.corrections.mirroring import mirror_rotation
from supple.deformers.flesh.ramps import (
    Ramps,
    choose_ramps,
    count_active,
    fit_offsets,
    measure_left,
    measure_products,
)

from ..characters import rotation

MADE = Ramps(np.array([0, 0, 1]), np.array([[0.1, 1.0, 0.1, 0.0], [0.15, -0.2, 0.0, 1.0], [0.2, 0.0, 0.1, 1.0]]))
VERTICES = 200
SHAPES = np.random.default_rng(5).normal(size=(3, VERTICES, 3)).astype(np.float32)
MOVE = 1e-3


def draw(count: int, most: float = 2.4, seed: int = 0) -> np.ndarray:
    """Rotations of two bones by at most an angle, (count, 2, 4)."""
    random = np.random.default_rng(seed)
    axes = random.normal(size=(count, 2, 3))
    axes /= np.linalg.norm(axes, axis=2, keepdims=True)
    halves = random.uniform(0.0, most / 2, size=(count, 2, 1))
    return np.concatenate([np.cos(halves), np.sin(halves) * axes], axis=2)


def make_offsets(rotations: np.ndarray) -> np.ndarray:
    return np.tensordot(MADE.read(rotations), SHAPES, axes=1).astype(np.float32)


def fit(rotations: np.ndarray, offsets: np.ndarray, count: int, played: np.ndarray | None = None):
    """Functions that have keys, and the keys' offsets."""
    weights = np.ones(len(rotations))
    played = rotations[:0] if played is None else played
    found = choose_ramps(rotations, measure_products(offsets), weights, played, count)
    kept, shapes = fit_offsets(found, rotations, offsets, weights, MOVE)
    return found[kept], shapes


SAMPLES = draw(120)
FITTED = fit(SAMPLES, make_offsets(SAMPLES), 8)


def test_what_ramps_made_is_found_again() -> None:
    """Nearly, with more functions than made it, in directions of samples; also in poses that the fit has not seen."""
    found, shapes = FITTED
    offsets = make_offsets(SAMPLES)
    assert measure_left(found.read(SAMPLES), shapes, offsets, np.ones(len(SAMPLES))) < 0.25
    held_out = draw(300, 2.2, seed=1)
    assert measure_left(found.read(held_out), shapes, make_offsets(held_out), np.ones(300)) < 0.35
    fewer, others = fit(SAMPLES, offsets, 3)
    assert len(fewer) == 3
    assert measure_left(fewer.read(SAMPLES), others, offsets, np.ones(len(SAMPLES))) < 0.7


def test_keys_are_0_at_rest_and_never_above_1() -> None:
    found, _ = FITTED
    rest = np.tile([1.0, 0.0, 0.0, 0.0], (1, 2, 1))
    assert (found.read(rest) == 0.0).all()
    assert (found.read(-rest) == 0.0).all()
    assert found.read(SAMPLES).max(axis=0) == pytest.approx(1.0, abs=1e-9)
    beyond = draw(2000, 2.4 + 2.0 * np.radians(20.0), seed=2)
    assert found.read(beyond).max() <= 1.0
    assert found.read(-beyond) == pytest.approx(found.read(beyond), abs=1e-12)


def test_what_is_left_by_hand() -> None:
    values, shapes = np.array([[1.0], [0.5]]), np.array([[[1.0, 0.0, 0.0]]])
    offsets = np.array([[[1.0, 0.0, 0.0]], [[0.5, 0.0, 1.0]]])
    assert measure_left(values, shapes, offsets, np.array([1.0, 2.0])) == pytest.approx(np.sqrt(2.0 / 3.5))
    assert measure_left(values, shapes, 0.0 * offsets, np.ones(2)) == 0.0


def test_the_order_of_vertices_does_not_matter() -> None:
    order = np.random.default_rng(3).permutation(VERTICES)
    found, shapes = FITTED
    other, moved = fit(SAMPLES, make_offsets(SAMPLES)[:, order], 8)
    assert other.read(SAMPLES) == pytest.approx(found.read(SAMPLES), abs=1e-9)
    assert moved == pytest.approx(shapes[:, order], abs=1e-4)


def test_the_other_side_has_the_same_values() -> None:
    """Though the rolls of its bones differ."""
    axes = np.array([rotation((1, 2, 3), 40), rotation((3, 1, 0), 100)])
    mirrored_axes = np.array([rotation((0, 1, 3), -70), rotation((2, 1, 1), 15)])
    mirrored = np.array(
        [
            [mirror_rotation(one, *both) for one, *both in zip(each_bone, axes, mirrored_axes, strict=True)]
            for each_bone in SAMPLES
        ]
    )
    found, _ = FITTED
    assert found.mirror(axes, mirrored_axes).read(mirrored) == pytest.approx(found.read(SAMPLES), abs=1e-9)


def test_what_moves_little_gets_no_key_and_what_is_not_reached_none_either() -> None:
    found, offsets = MADE, make_offsets(SAMPLES)
    offsets -= np.tensordot(found.read(SAMPLES)[:, 1], 0.9999 * SHAPES[1], axes=0).astype(np.float32)
    reached = np.arange(VERTICES) % 2 == 0
    kept, shapes = fit_offsets(found, SAMPLES, offsets, np.ones(len(SAMPLES)), 0.5, reached)
    assert kept.tolist() == [0, 2]
    assert not shapes[:, ~reached].any()
    assert shapes[:, reached] == pytest.approx(SHAPES[[0, 2]][:, reached], abs=0.3)


def test_a_key_that_is_active_in_many_frames_must_gain_more() -> None:
    still = np.tile([1.0, 0.0, 0.0, 0.0], (5, 2, 1))
    found, _ = fit(SAMPLES, make_offsets(SAMPLES), 200, still)
    fewer, _ = fit(SAMPLES, make_offsets(SAMPLES), 200, SAMPLES)
    assert 3 <= len(fewer) < len(found) - 5
    assert count_active(fewer, SAMPLES) > 0.5
    assert count_active(fewer, still) == 0.0


def test_nothing_that_moves_is_nothing_to_fit() -> None:
    still = np.tile([1.0, 0.0, 0.0, 0.0], (4, 2, 1))
    found, shapes = fit(still, np.ones((4, VERTICES, 3), np.float32), 8)
    assert len(found) == 0
    assert shapes.shape == (0, VERTICES, 3)
    assert len(fit(SAMPLES, np.zeros((len(SAMPLES), VERTICES, 3), np.float32), 8)[0]) == 0
