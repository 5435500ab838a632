"""What the checks find in weights with one mistake each, and that they leave good ones alone."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from supple.deformers.errors import SkinningError
from supple.deformers.weight_editing.checks import Findings, check_weights, describe

from ..cases import each
from ..meshes import make_tube

POINTS, TRIANGLES = make_tube(0.1, 21)
"""21 rings of 12 vertices along 4 bones."""
HEADS = np.array([[0.0, 0.0, 0.5 * bone] for bone in range(4)])
TAILS = HEADS + np.array([0.0, 0.0, 0.5])
NAMES = ("root", "lower", "upper", "tip")


def weigh() -> np.ndarray:
    """Each bone fades into the next."""
    centers = 0.25 + 0.5 * np.arange(4)
    weights = np.maximum(1.0 - 2.0 * np.abs(np.clip(POINTS[:, 2:], 0.25, 1.75) - centers), 0.0)
    return (weights / weights.sum(axis=1, keepdims=True)).astype(np.float32)


def check(weights: np.ndarray, limit: int = 4) -> Findings:
    return check_weights(POINTS, TRIANGLES, weights, HEADS, TAILS, limit)


@each("scale", [1e-3, 1.0, 1e3])
def test_good_weights_have_no_findings(scale: float) -> None:
    findings = check_weights(scale * POINTS, TRIANGLES, weigh(), scale * HEADS, scale * TAILS)
    assert not findings.wrong.any()
    assert describe(findings, NAMES) == ["No mistakes found"]


@each(
    ("rows", "values", "attribute", "sentence"),
    [
        ([5, 17], [0.0, 0.0, 0.0, 0.0], "unweighted", "2 vertices have no weights: no bone moves them"),
        ([60], [0.3, 0.3, 0.3, 0.0], "unnormalized", "1 vertex has weights that do not sum to 1"),
        ([120], [0.01, 0.45, 0.45, 0.09], "crowded", "1 vertex has more than 3 influences"),
    ],
)
def test_a_mistake_of_a_vertex_is_found(rows: list[int], values: list[float], attribute: str, sentence: str) -> None:
    weights = weigh()
    weights[rows] = values
    findings = check(weights, limit=3)
    assert np.flatnonzero(getattr(findings, attribute)).tolist() == rows
    assert np.flatnonzero(findings.wrong).tolist() == rows
    assert sentence in describe(findings, NAMES)


def test_there_may_be_no_limit() -> None:
    weights = np.full((len(POINTS), 4), 0.25, np.float32)
    assert check(weights, limit=3).crowded.all()
    assert not check(weights, limit=0).crowded.any()


def test_a_patch_apart_is_found() -> None:
    weights = weigh()
    weights[[40, 41]] = [0.9, 0.0, 0.0, 0.1]  # where the tip's other weights are far along the tube
    findings = check(weights)
    assert findings.stray.tolist() == [[40, 3], [41, 3]]
    assert describe(findings, NAMES) == ["tip: 2 vertices in a patch separate from the bone's other weights"]


def test_a_part_of_its_own_is_no_patch() -> None:
    """A button on the tube has a small region of each bone, and is as it has to be."""
    points = np.concatenate([POINTS, [[0.2, 0.0, 1.0], [0.2, 0.05, 1.0], [0.2, 0.0, 1.05]]])
    triangles = np.concatenate([TRIANGLES, [[len(POINTS), len(POINTS) + 1, len(POINTS) + 2]]])
    weights = np.concatenate([weigh(), np.float32([[0.0, 0.5, 0.5, 0.0]] * 3)])
    assert len(check_weights(points, triangles, weights, HEADS, TAILS).stray) == 0


def test_a_patch_is_seen_across_split_vertices() -> None:
    split, corners = POINTS[TRIANGLES].reshape(-1, 3), np.arange(TRIANGLES.size).reshape(-1, 3)
    findings = check_weights(split, corners, weigh()[TRIANGLES.ravel()], HEADS, TAILS)
    assert not findings.wrong.any()


def test_a_torn_seam_is_found() -> None:
    split, corners = POINTS[TRIANGLES].reshape(-1, 3), np.arange(TRIANGLES.size).reshape(-1, 3)
    weights = weigh()[TRIANGLES.ravel()]
    copy = np.flatnonzero(TRIANGLES.ravel() == 100)
    weights[copy[-1]] += np.float32([0.0, 0.05, -0.05, 0.0])
    findings = check_weights(split, corners, weights, HEADS, TAILS)
    assert np.flatnonzero(findings.torn).tolist() == copy.tolist()
    assert "different weights from others" in describe(findings, NAMES)[0]


def test_weights_far_from_their_bone_are_found() -> None:
    weights = weigh()
    weights[:24] = [0.0, 0.0, 0.0, 1.0]
    findings = check(weights)
    assert (findings.far == [[vertex, 3] for vertex in range(24)]).all()
    assert describe(findings, NAMES) == ["tip: 24 vertices far from the bone"]


def test_places_that_are_none_are_told() -> None:
    with pytest.raises(SkinningError, match="252 vertices have NaN or infinite coordinates"):
        check_weights(POINTS * np.nan, TRIANGLES, weigh(), HEADS, TAILS)


@each("count", [0, 1, 252])
@each("weight", [0.0, 1.0])
def test_vertices_without_faces_are_no_failure(count: int, weight: float) -> None:
    weights = np.zeros((count, 4), np.float32)
    weights[:, 2] = weight
    findings = check_weights(POINTS[:count], np.empty((0, 3), int), weights, HEADS, TAILS)
    assert (findings.unweighted == (weight == 0)).all()
    assert len(findings.stray) == 0


@pytest.mark.characters("kaykit_knight", "fox")
def test_an_artists_weights_have_few_findings(character: str, asset: Callable[..., Path]) -> None:
    data = np.load(asset(character, ".npz"))
    weights = np.zeros((len(data["V"]), len(data["bone_names"])), np.float32)
    np.add.at(weights, (data["w_vert"], data["w_bone"]), data["w_val"])
    heads, tails = data["bone_head"].astype(float), data["bone_tail"].astype(float)
    findings = check_weights(data["V"], data["tris"], weights, heads, tails, limit=0)
    assert findings.wrong.mean() < 0.01
    rng = np.random.default_rng(2)
    exchanged = rng.permutation(len(weights))[:200]
    weights[exchanged] = weights[rng.permutation(exchanged)]
    assert check_weights(data["V"], data["tris"], weights, heads, tails, limit=0).wrong[exchanged].mean() > 0.4
