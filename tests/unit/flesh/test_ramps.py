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

from ..cases import each
from ..characters import rotation

NONE = [0.0] * 4
KINDS = {
    "three ramps": Ramps(
        np.array([[0, -1], [0, -1], [1, -1]]),
        np.array([[[0.1, 1.0, 0.1, 0.0], NONE], [[0.15, -0.2, 0.0, 1.0], NONE], [[0.2, 0.0, 0.1, 1.0], NONE]]),
    ),
    "a product": Ramps(
        np.array([[0, 1], [1, -1]]),
        np.array([[[0.1, 0.9, 0.3, 0.0], [0.05, 0.0, 0.8, 0.4]], [[0.1, 0.6, 0.0, -0.6], NONE]]),
    ),
}
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


def make_offsets(kind: str, rotations: np.ndarray) -> np.ndarray:
    values = KINDS[kind].read(rotations)
    return np.tensordot(values, SHAPES[: values.shape[1]], axes=1).astype(np.float32)


def fit(rotations: np.ndarray, offsets: np.ndarray, count: int, played: np.ndarray | None = None):
    """Functions that have keys, and the keys' offsets."""
    weights = np.ones(len(rotations))
    played = rotations[:0] if played is None else played
    found = choose_ramps(rotations, measure_products(offsets), weights, played, count)
    kept, shapes = fit_offsets(found, rotations, offsets, weights, MOVE)
    return found[kept], shapes


SAMPLES = draw(120)
FITTED = {kind: fit(SAMPLES, make_offsets(kind, SAMPLES), len(KINDS[kind])) for kind in KINDS}


@each("kind", KINDS)
def test_functions_that_made_samples_are_found_again(kind: str) -> None:
    """With as many keys, and no worse with more; also in poses within the range that the fit has not seen."""
    found, shapes = FITTED[kind]
    offsets, ones = make_offsets(kind, SAMPLES), np.ones(len(SAMPLES))
    assert sorted(found.bones.tolist()) == sorted(KINDS[kind].bones.tolist())
    assert measure_left(found.read(SAMPLES), shapes, offsets, ones) < 1e-3
    held_out = draw(300, 1.5, seed=1)
    left = measure_left(found.read(held_out), shapes, make_offsets(kind, held_out), np.ones(300))
    assert left < 1e-3
    more, others = fit(SAMPLES, offsets, 8)
    assert measure_left(more.read(SAMPLES), others, offsets, ones) < 1e-3


@each("kind", KINDS)
def test_keys_are_0_at_rest_and_never_above_what_they_are_in_the_samples(kind: str) -> None:
    found, _ = FITTED[kind]
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
    found, shapes = FITTED["three ramps"]
    other, moved = fit(SAMPLES, make_offsets("three ramps", SAMPLES)[:, order], 3)
    assert other.read(SAMPLES) == pytest.approx(found.read(SAMPLES), abs=1e-3)
    assert moved == pytest.approx(shapes[:, order], abs=1e-2)


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
    for found, _ in FITTED.values():
        assert found.mirror(axes, mirrored_axes).read(mirrored) == pytest.approx(found.read(SAMPLES), abs=1e-9)


def test_readers_of_the_same_bones_give_the_values() -> None:
    for found, _ in FITTED.values():
        values = np.full((len(SAMPLES), len(found)), np.nan)
        for bones, own, reader in found.group():
            values[:, own] = reader.read(SAMPLES[:, bones])
        assert values == pytest.approx(found.read(SAMPLES), abs=1e-12)


def test_what_moves_little_gets_no_key_and_what_is_not_reached_none_either() -> None:
    found, offsets = KINDS["three ramps"], make_offsets("three ramps", SAMPLES)
    offsets -= np.tensordot(found.read(SAMPLES)[:, 1], 0.9999 * SHAPES[1], axes=0).astype(np.float32)
    reached = np.arange(VERTICES) % 2 == 0
    kept, shapes = fit_offsets(found, SAMPLES, offsets, np.ones(len(SAMPLES)), MOVE, reached)
    assert kept.tolist() == [0, 2]
    assert not shapes[:, ~reached].any()
    assert shapes[:, reached] == pytest.approx(SHAPES[[0, 2]][:, reached], abs=1e-2)


def test_frames_that_are_played_count_active_keys() -> None:
    """Noise that a key would mend is not worth a key which is always active."""
    rotations = draw(60)
    noise = 0.01 * np.random.default_rng(6).normal(size=(60, VERTICES, 3)).astype(np.float32)
    offsets = make_offsets("three ramps", rotations) + noise
    found, _ = fit(rotations, offsets, 8, played=rotations)
    assert count_active(found, rotations) <= count_active(KINDS["three ramps"], rotations) + 0.5
    assert count_active(found, np.tile([1.0, 0.0, 0.0, 0.0], (5, 2, 1))) == 0.0


def test_nothing_that_moves_is_nothing_to_fit() -> None:
    still = np.tile([1.0, 0.0, 0.0, 0.0], (4, 2, 1))
    found, shapes = fit(still, np.ones((4, VERTICES, 3), np.float32), 8)
    assert len(found) == 0
    assert shapes.shape == (0, VERTICES, 3)
    assert len(fit(SAMPLES, np.zeros((len(SAMPLES), VERTICES, 3), np.float32), 8)[0]) == 0
