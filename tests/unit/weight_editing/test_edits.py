"""Edits of weights: what each of them keeps, and what it changes."""

import numpy as np
import pytest

from supple.deformers.weight_editing.edits import (
    find_links,
    limit_influences,
    merge_weights,
    normalize_rows,
    prune_weights,
    sharpen_weights,
    smooth_weights,
    stiffen_weights,
)

from ..cases import each
from ..meshes import make_sheet

SIDE = 6
SHEET = make_sheet(np.arange(SIDE), np.arange(SIDE))


def split(points: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each triangle with vertices of its own, and which vertex each of them was."""
    return points[triangles.ravel()], np.arange(triangles.size).reshape(-1, 3), triangles.ravel()


def rows(*values: object) -> np.ndarray:
    return np.array(values, np.float32)


def make_weights(count: int = SIDE * SIDE, bones: int = 4, seed: int = 1) -> np.ndarray:
    weights = np.random.default_rng(seed).uniform(size=(count, bones)).astype(np.float32)
    return weights / weights.sum(axis=1, keepdims=True)


LOCKED = np.array([False, True, False, False])
CHOSEN = np.arange(SIDE * SIDE) % 3 == 0
EDITS = {
    "smooth": lambda weights, **kept: smooth_weights(weights, find_links(*SHEET), 0.7, 2, **kept),
    "sharpen": lambda weights, **kept: sharpen_weights(weights, 0.6, **kept),
    "normalize": normalize_rows,
    "limit": lambda weights, **kept: limit_influences(weights, 2, **kept)[0],
    "prune": lambda weights, **kept: prune_weights(weights, 0.2, **kept),
    "merge": lambda weights, **kept: merge_weights(weights, make_weights(seed=2), **kept),
    "add": lambda weights, **kept: merge_weights(weights, make_weights(seed=2), "ADD", **kept),
    "merge one": lambda weights, **kept: merge_weights(weights, make_weights(seed=2), columns=~LOCKED, **kept),
}


@each("edit", [edit for name, edit in EDITS.items() if name != "normalize"])
@each("locked", [None, LOCKED])
@each("chosen", [None, CHOSEN])
def test_what_an_edit_leaves_alone(edit, locked: np.ndarray | None, chosen: np.ndarray | None):
    weights = make_weights()
    before = weights.copy()
    after = edit(weights, locked=locked, chosen=chosen)
    np.testing.assert_array_equal(weights, before, "the input was changed")
    assert after.dtype == np.float32
    assert after.sum(axis=1) == pytest.approx(1.0, abs=1e-5)
    assert after.min() >= 0.0
    changed = (after != before).any(axis=1)
    assert changed[slice(None) if chosen is None else chosen].mean() > 0.3
    if chosen is not None:
        np.testing.assert_array_equal(after[~chosen], before[~chosen])
    if locked is not None:
        np.testing.assert_array_equal(after[:, locked], before[:, locked])


@each("edit", EDITS.values())
def test_edits_of_nothing(edit):
    """Vertices without weights stay without; all columns locked changes nothing."""
    weights = make_weights()
    everything = np.ones(4, bool)
    np.testing.assert_array_equal(edit(weights, locked=everything), weights)
    if edit not in (EDITS["merge"], EDITS["add"], EDITS["merge one"]):
        weights[:] = 0.0
        np.testing.assert_array_equal(edit(weights), weights)


def test_smoothing_takes_the_mean_of_neighbors_by_distance():
    """On a line of 3 points with the ends at distances 1 and 2, they count 2 : 1."""
    points = np.array([[-1.0, 0, 0], [0, 0, 0], [2.0, 0, 0]])
    links = find_links(points, np.array([[0, 1, 2]]))
    weights = rows([1, 0], [0.5, 0.5], [0, 1])
    chosen = np.array([False, True, False])
    assert smooth_weights(weights, links, 1.0, chosen=chosen)[1] == pytest.approx([2 / 3, 1 / 3])
    assert smooth_weights(weights, links, 0.5, chosen=chosen)[1] == pytest.approx([3.5 / 6, 2.5 / 6])
    np.testing.assert_array_equal(smooth_weights(weights, links, 0.0), weights)


def test_smoothing_settles_between_what_is_not_chosen():
    """Between columns of 0 and 1 that are not chosen, many repeats give nearly a ramp: neighbors outside are read."""
    points, triangles = SHEET
    ramp = (points[:, 0] / (SIDE - 1)).astype(np.float32)
    chosen = (points[:, 0] > 0) & (points[:, 0] < SIDE - 1)
    weights = np.stack([np.where(chosen, 0.0, ramp), 1.0 - np.where(chosen, 0.0, ramp)], axis=1).astype(np.float32)
    after = smooth_weights(weights, find_links(points, triangles), 0.9, 300, chosen=chosen)
    assert after[:, 0] == pytest.approx(ramp, abs=0.15)


def test_smoothing_keeps_odd_sums_and_does_not_spill():
    points, triangles = SHEET
    weights = make_weights() * np.linspace(0.5, 1.5, SIDE * SIDE, dtype=np.float32)[:, None]
    weights[7] = 0.0
    after = smooth_weights(weights, find_links(points, triangles), 0.5, 3)
    assert after.sum(axis=1) == pytest.approx(weights.sum(axis=1), abs=1e-5)
    assert not after[7].any()


def test_smoothing_over_seams():
    """A mesh of loose triangles smooths as the one they were split from, copies alike, though one is chosen."""
    points, triangles = SHEET
    weights = make_weights()
    loose_points, loose_triangles, origin = split(points, triangles)
    links = find_links(loose_points, loose_triangles)
    whole = smooth_weights(weights, find_links(points, triangles), 0.5, 3)
    np.testing.assert_allclose(smooth_weights(weights[origin], links, 0.5, 3), whole[origin], atol=1e-6)

    bare = weights[origin].copy()
    middle = np.flatnonzero(origin == SIDE + 1)
    bare[middle[0]] = 0.0  # the first copy lost its weights: the others' count
    chosen = np.zeros(len(origin), bool)
    chosen[middle[2]] = True
    after = smooth_weights(bare, links, 0.5, chosen=chosen)
    alone = smooth_weights(weights, find_links(points, triangles), 0.5, chosen=np.arange(len(points)) == SIDE + 1)
    np.testing.assert_allclose(after[middle], alone[origin[middle]], atol=1e-6)
    assert (after != bare).any(axis=1).sum() == len(middle)


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_editing_in_parts(edit, monkeypatch: pytest.MonkeyPatch):
    """Weights that are edited a few rows at a time are the same."""
    whole = edit(make_weights(), locked=LOCKED)
    monkeypatch.setattr("supple.deformers.weight_editing.edits.SLICE_VALUES", 40)
    np.testing.assert_array_equal(edit(make_weights(), locked=LOCKED), whole)


@each(
    ("amount", "expected"),
    [(0.0, [0.5, 0.3, 0.2]), (0.5, [25 / 38, 9 / 38, 4 / 38]), (0.99, [1, 0, 0]), (1.0, [1, 0, 0])],
)
def test_sharpening(amount: float, expected: list[float]):
    assert sharpen_weights(rows([0.5, 0.3, 0.2]), amount)[0] == pytest.approx(expected, abs=1e-6)


@each("amount", [0.3, 0.9, 1.0])
def test_sharpening_leaves_equal_weights_equal(amount: float):
    after = sharpen_weights(rows([0.4, 0.4, 0.2], [0.5, 0.5, 0.0]), amount)
    np.testing.assert_array_equal(after[:, 0], after[:, 1])
    np.testing.assert_allclose(after[1], [0.5, 0.5, 0.0])


@each(
    ("locked", "expected"),
    [
        (None, [0.25, 0.5, 0.25]),
        ([False, True, False], [0.0, 2.0, 0.0]),  # more than 1 is locked
        ([True, False, False], [1.0, 0.0, 0.0]),
    ],
)
def test_normalizing(locked: list[bool] | None, expected: list[float]):
    mask = None if locked is None else np.array(locked)
    np.testing.assert_allclose(normalize_rows(rows([1.0, 2.0, 1.0]), mask)[0], expected)


def test_normalizing_odd_rows():
    after = normalize_rows(rows([0, 0, 0], [-1, 0.2, 0.2], [0.3, 0, 0]), np.array([True, False, False]))
    np.testing.assert_allclose(after, rows([0, 0, 0], [-1, 1.0, 1.0], [0.3, 0, 0]))
    np.testing.assert_allclose(normalize_rows(rows([-1, 0.2, 0.2])), rows([0, 0.5, 0.5]))


def test_limiting_tells_the_loss():
    weights = rows([0.4, 0.3, 0.2, 0.1], [1, 0, 0, 0], [0.2, 0.2, 0.2, 0.2], [0, 0, 0, 0])
    after, loss = limit_influences(weights, 2)
    np.testing.assert_allclose(after[0], [4 / 7, 3 / 7, 0, 0], rtol=1e-6)
    np.testing.assert_array_equal(after[1], weights[1])
    np.testing.assert_allclose(after[2], [0.4, 0.4, 0, 0], rtol=1e-6)  # equal weights: the first; the sum is kept
    np.testing.assert_allclose(loss, [0.3, 0.0, 0.5, 0.0], atol=1e-6)


@each("count", [1, 2, 3])
def test_limiting_around_locked_columns(count: int):
    locked = np.array([False, True, True, False])
    weights = rows([0.4, 0.1, 0.2, 0.3], [0.4, 0.1, 0.0, 0.5])
    after, loss = limit_influences(weights, count, locked)
    expected = {
        1: rows([0, 0.1, 0.2, 0], [0, 0.1, 0, 0]),
        2: rows([0, 0.1, 0.2, 0], [0, 0.1, 0, 0.9]),
        3: rows([0.7, 0.1, 0.2, 0], [0.4, 0.1, 0, 0.5]),
    }[count]
    np.testing.assert_allclose(after, expected, atol=1e-6)
    np.testing.assert_allclose(loss, {1: [0.7, 0.9], 2: [0.7, 0.4], 3: [0.3, 0.0]}[count], atol=1e-6)


def test_stiffening_gives_each_island_its_mean():
    weights = rows([1, 0, 0], [0, 0.5, 0], [0.2, 0, 0.8], [0, 0, 0], [0, 0, 0])
    islands, chosen = np.array([0, 0, 1, 1, 2]), np.array([True, True, False, False, True])
    after = stiffen_weights(weights, islands, chosen=chosen)
    np.testing.assert_allclose(after, rows([0.5, 0.5, 0], [0.5, 0.5, 0], *weights[2:]), atol=1e-6)
    locked = np.array([True, False, False])
    after = stiffen_weights(rows([0.6, 0.4, 0], [0.2, 0, 0.8]), np.zeros(2, int), locked)
    np.testing.assert_allclose(after, rows([0.6, 0.4 / 3, 0.8 / 3], [0.2, 0.8 / 3, 1.6 / 3]), atol=1e-6)


def test_stiffening_keeps_four_influences_where_none_had_more():
    weights = rows([0.4, 0.3, 0.2, 0.1, 0, 0], [0, 0, 0.1, 0.2, 0.3, 0.4])
    after = stiffen_weights(weights, np.zeros(2, int))
    assert (np.count_nonzero(after, axis=1) == 4).all()
    np.testing.assert_array_equal(after[0], after[1])
    np.testing.assert_allclose(after.sum(axis=1), 1.0, rtol=1e-6)
    crowded = np.concatenate([weights, rows([0.2, 0.2, 0.2, 0.2, 0.2, 0])])
    assert (np.count_nonzero(stiffen_weights(crowded, np.array([0, 0, 1]))[:2], axis=1) == 6).all()


def test_pruning_leaves_each_vertex_its_strongest():
    after = prune_weights(rows([0.9, 0.06, 0.04], [0.02, 0.01, 0.0], [0.0, 0.0, 0.0]), 0.05)
    np.testing.assert_allclose(after, rows([0.9 / 0.96, 0.06 / 0.96, 0], [0.03, 0, 0], [0, 0, 0]), rtol=1e-6)


def test_pruning_keeps_what_locked_columns_leave():
    after = prune_weights(rows([0.97, 0.02, 0.01]), 0.05, np.array([True, False, False]))
    np.testing.assert_allclose(after[0], [0.97, 0.03, 0.0], rtol=1e-5)


FOUND = rows([0.1, 0.2, 0.3, 0.4])


@each(
    ("mode", "columns", "locked", "before", "expected"),
    [
        ("REPLACE", [1, 1, 1, 1], [0, 0, 0, 0], [0.7, 0.3, 0, 0], [0.1, 0.2, 0.3, 0.4]),
        ("REPLACE", [1, 1, 1, 1], [1, 0, 0, 0], [0.7, 0.3, 0, 0], [0.7, 0.2 / 3, 0.1, 0.4 / 3]),
        # two columns take 0.5; the rest is scaled from 0.4 to 0.5
        ("REPLACE", [1, 1, 0, 0], [0, 0, 0, 0], [0.4, 0.2, 0.3, 0.1], [0.1, 0.2, 0.7 * 0.75, 0.7 * 0.25]),
        ("REPLACE", [0, 0, 1, 1], [0, 1, 0, 0], [0.1, 0.6, 0.3, 0], [0, 0.6, 0.3 / 1.75, 0.4 / 1.75]),  # no more room
        ("REPLACE", [0, 1, 0, 0], [0, 0, 0, 0], [0, 1, 0, 0], [0, 1, 0, 0]),  # others have nothing to fill up with
        ("REPLACE", [1, 1, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0], [1 / 3, 2 / 3, 0, 0]),
        ("ADD", [1, 1, 1, 1], [0, 0, 0, 0], [1, 0, 0, 0], [0.55, 0.1, 0.15, 0.2]),
        ("ADD", [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0], [1 / 1.4, 0, 0, 0.4 / 1.4]),
        ("ADD", [1, 1, 1, 1], [1, 0, 0, 0], [0.5, 0.5, 0, 0], [0.5, 0.25, 0.3 / 2.8, 0.4 / 2.8]),
        ("UNWEIGHTED", [1, 1, 1, 1], [0, 0, 0, 0], [0.01, 0, 0, 0], [0.01, 0, 0, 0]),
        ("UNWEIGHTED", [1, 1, 1, 1], [0, 0, 0, 0], [0, 1e-6, 0, 0], [0.1, 0.2, 0.3, 0.4]),
    ],
)
def test_merging(mode: str, columns: list[int], locked: list[int], before: list[float], expected: list[float]):
    after = merge_weights(rows(before), FOUND, mode, np.array(columns, bool), np.array(locked, bool))
    np.testing.assert_allclose(after[0], expected, atol=1e-6)


@each("mode", ["REPLACE", "ADD", "UNWEIGHTED"])
@each("found", [[0, 0, 0, 0], [0, 0, 1, 0]])
def test_merging_what_was_not_found_leaves_weights(mode: str, found: list[float]):
    """Nothing found at all, or nothing for the bones that are written while others have nothing."""
    before = rows([0.6, 0.4, 0, 0])
    after = merge_weights(before, rows(found), mode, np.array([True, True, False, False]))
    np.testing.assert_array_equal(after, before)


@each("mode", ["REPLACE", "ADD"])
def test_merging_nothing_leaves_odd_sums(mode: str):
    before = rows([0.6, 0.2, 0, 0])
    after = merge_weights(before, np.zeros_like(before), mode, np.array([True, False, False, False]))
    np.testing.assert_array_equal(after, before)


def test_unknown_mode():
    with pytest.raises(ValueError, match="MIX is not a mode"):
        merge_weights(FOUND, FOUND, "MIX")
