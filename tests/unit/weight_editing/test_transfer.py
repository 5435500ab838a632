"""Weights from a tube to what lies on it, against weights known by hand."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from supple.deformers.errors import SkinningError
from supple.deformers.geometry.mesh_laplacian import make_laplacian
from supple.deformers.geometry.neighbors import find_nearest as find_near_points
from supple.deformers.weight_editing import transfer as weight_transfer
from supple.deformers.weight_editing.transfer import Params, Transfer, inpaint_weights, transfer_weights

from ..brute_force import find_nearest
from ..cases import each
from ..meshes import make_tube

BODY_POINTS, BODY_TRIANGLES = make_tube(0.3, 9)


def weigh(points: np.ndarray) -> np.ndarray:
    """Two bones that share a length of 2 along Z evenly."""
    share = np.clip(points[:, 2] / 2.0, 0.0, 1.0)
    return np.stack([1.0 - share, share], axis=1)


def transfer(points: np.ndarray, triangles: np.ndarray, **settings: float) -> Transfer:
    return transfer_weights(
        BODY_POINTS, BODY_TRIANGLES, weigh(BODY_POINTS), points, triangles, find_nearest, Params(**settings)
    )


@each("scale", [1e-3, 1.0, 1e3])
def test_what_lies_on_the_source_has_its_weights(scale: float) -> None:
    points, triangles = make_tube(0.31, 14)
    result = transfer_weights(
        scale * BODY_POINTS, BODY_TRIANGLES, 7.0 * weigh(BODY_POINTS), scale * points, triangles, find_nearest
    )
    assert result.matched.all()
    assert result.weights.dtype == np.float32
    np.testing.assert_allclose(result.weights, weigh(points), atol=1e-6)
    assert result.notes == ()


def test_what_is_away_is_filled_in_smoothly() -> None:
    """A cape that widens from the middle of the tube on: its weights run on as they were, up to all of one bone."""
    points, triangles = make_tube(0.31, 31, length=3.0)
    points[:, :2] *= 1.0 + np.maximum(points[:, 2:] - 1.0, 0.0)
    result = transfer(points, triangles, reach=0.05)
    away = find_nearest(points, BODY_POINTS, BODY_TRIANGLES)[2]
    assert (result.matched == (away <= 0.05 * np.linalg.norm(np.ptp(points, axis=0)))).all()
    assert 0.3 < result.matched.mean() < 0.7
    rings = result.weights.reshape(31, 12, 2)
    assert np.ptp(rings, axis=1).max() < 0.02
    slopes = np.diff(rings[:, 0, 1])
    assert slopes.min() > -1e-3
    last = int(result.matched.reshape(31, 12).all(axis=1).argmin()) - 1
    assert slopes[last - 1] == pytest.approx(0.05, abs=1e-6)
    assert slopes[last] == pytest.approx(0.05, abs=0.01)
    assert rings[-1, :, 1] == pytest.approx(1.0)
    (note,) = result.notes
    assert note.startswith(f"{(~result.matched).sum()} of 372 vertices are not near the source: ")


def test_a_plate_is_as_smooth_as_can_be() -> None:
    points, triangles = make_tube(0.3, 12)
    laplacian = make_laplacian(points, triangles)
    held = (points[:, 2] < 0.5) | (points[:, 2] > 1.6)
    known = np.where(held[:, None], weigh(points) ** 2, 0.0)
    known[:, 0] = np.where(held, 1.0 - known[:, 1], 0.0)
    dense = np.diag(laplacian.diagonal)
    for (a, b), strength in zip(laplacian.edges, laplacian.strengths, strict=True):
        dense[a, b] = dense[b, a] = -strength
    energy = dense @ (dense / laplacian.areas[:, None])
    exact = known.copy()
    exact[~held] = np.linalg.solve(energy[np.ix_(~held, ~held)], -energy[np.ix_(~held, held)] @ known[held])
    np.testing.assert_allclose(inpaint_weights(laplacian, known, held), exact, atol=1e-3)


def test_clusters_lead_to_about_the_same_plate(monkeypatch: pytest.MonkeyPatch) -> None:
    points, triangles = make_tube(0.5, 60, sides=40)
    laplacian = make_laplacian(points, triangles)
    held = (points[:, 2] < 0.4) | (points[:, 2] > 1.7)
    known = np.where(held[:, None], weigh(points), 0.0)
    exact = inpaint_weights(laplacian, known, held)
    monkeypatch.setattr(weight_transfer, "MAX_FREE", 50)
    result = inpaint_weights(laplacian, known, held)
    assert (result[held] == known[held]).all()
    np.testing.assert_allclose(result.sum(axis=1), 1.0, atol=1e-9)
    np.testing.assert_allclose(result, exact, atol=0.05)
    assert not (result == exact).all()


def test_parts_that_share_no_bone_do_not_mix() -> None:
    points, triangles = make_tube(0.3, 8)
    both = np.concatenate([points, points + np.array([2.0, 0.0, 0.0])])
    held = np.tile((points[:, 2] < 0.6) | (points[:, 2] > 1.4), 2)
    known = np.zeros((len(both), 5))
    known[: len(points), 3:] = weigh(points)
    known[len(points) :, :2] = weigh(points)
    known[~held] = 0.0
    laplacian = make_laplacian(both, np.concatenate([triangles, triangles + len(points)]))
    result = inpaint_weights(laplacian, known, held)
    np.testing.assert_allclose(result[: len(points), 3:], weigh(points), atol=1e-3)
    np.testing.assert_allclose(result[len(points) :, :2], weigh(points), atol=1e-3)


def test_loose_vertices_beside_a_fill_do_not_matter() -> None:
    points, triangles = make_tube(0.31, 20, length=3.0)
    alone = transfer(points, triangles).weights
    beside = transfer(np.concatenate([points, [[0.3, 0.0, 1.0]]]), triangles)
    np.testing.assert_allclose(beside.weights[:-1], alone, atol=1e-6)
    np.testing.assert_allclose(beside.weights[-1], [0.5, 0.5], atol=1e-6)


@each(("angle", "matched"), [(0.5, False), (2.0, True)])
def test_a_surface_across_the_source_is_no_match(angle: float, matched: bool) -> None:
    """A collar that stands out of the tube, with a short tube as its root."""
    points, triangles = make_tube(0.31, 3, length=0.4)
    rim = points[-12:] * [1.1, 1.1, 1.0]
    index = np.arange(12)
    collar = np.stack([24 + index, 24 + (index + 1) % 12, 36 + (index + 1) % 12], axis=1)
    result = transfer(np.concatenate([points, rim]), np.concatenate([triangles, collar]), angle=angle)
    assert result.matched[:12].all()
    assert (result.matched[36:] == matched).all()


def test_an_island_inside_out_is_matched_and_told() -> None:
    points, triangles = make_tube(0.31, 5)
    result = transfer(points, triangles[:, ::-1])
    assert result.matched.all()
    assert result.notes == ("1 part is inside out: recalculate its normals if it looks dark",)


def test_an_island_out_of_reach_takes_what_is_nearest() -> None:
    near, triangles = make_tube(0.31, 5)
    points = np.concatenate([near, near + np.array([1.5, 0.0, 0.0])])
    result = transfer(points, np.concatenate([triangles, triangles + len(near)]), reach=0.05)
    assert (result.matched == (np.arange(len(points)) < len(near))).all()
    np.testing.assert_allclose(result.weights, weigh(points), atol=1e-6)
    assert result.notes == (f"{len(near)} vertices are on parts far from the source: they got the nearest weights",)


def test_copies_at_one_place_have_the_same_weights() -> None:
    points, triangles = make_tube(0.31, 9)
    split = points[triangles].reshape(-1, 3)
    result = transfer(split, np.arange(len(split)).reshape(-1, 3), reach=0.05, angle=0.2)
    welded = transfer(points, triangles, reach=0.05, angle=0.2)
    assert (result.weights == welded.weights[triangles.ravel()]).all()


def test_vertices_without_faces_have_weights_too() -> None:
    result = transfer(np.array([[0.3, 0.0, 0.5], [0.5, 0.5, 2.0]]), np.empty((0, 3), int))
    np.testing.assert_allclose(result.weights, [[0.75, 0.25], [0.0, 1.0]], atol=1e-6)


def test_unweighted_parts_of_the_source_are_not_looked_at() -> None:
    points = np.concatenate([BODY_POINTS, BODY_POINTS * [1.01, 1.01, 1.0]])
    triangles = np.concatenate([BODY_TRIANGLES, BODY_TRIANGLES + len(BODY_POINTS)])
    weights = np.concatenate([weigh(BODY_POINTS), np.zeros((len(BODY_POINTS), 2))])
    cloth = make_tube(0.305, 6)
    result = transfer_weights(points, triangles, weights, *cloth, find_nearest)
    np.testing.assert_allclose(result.weights, weigh(cloth[0]), atol=1e-6)


@each(
    ("weights", "points", "message"),
    [
        (np.zeros((len(BODY_POINTS), 2)), BODY_POINTS, "no face with weights"),
        (weigh(BODY_POINTS), np.full((3, 3), np.nan), "3 vertices of the target have NaN or infinite coordinates"),
    ],
)
def test_what_can_not_be_is_told(weights: np.ndarray, points: np.ndarray, message: str) -> None:
    with pytest.raises(SkinningError, match=message):
        transfer_weights(BODY_POINTS, BODY_TRIANGLES, weights, points, np.array([[0, 1, 2]]), find_nearest)


def test_progress_grows_to_the_whole() -> None:
    told = []
    points, triangles = make_tube(0.31, 20, length=3.0)
    result = transfer_weights(
        BODY_POINTS, BODY_TRIANGLES, weigh(BODY_POINTS), points, triangles, find_nearest, progress=told.append
    )
    assert not result.matched.all()
    assert told[0] == 0.0
    assert told[-1] == 1.0
    assert told == sorted(told)


def test_a_skirt_has_the_bones_of_its_body(asset: Callable[..., Path]) -> None:
    """Of what the character's own skirt is weighted to, nothing is a hand's or the head's."""
    data = np.load(asset("human", ".npz"))
    part, names = data["part"], data["bone_names"]
    weights = np.zeros((len(part), len(names)), np.float32)
    np.add.at(weights, (data["w_vert"], data["w_bone"]), data["w_val"])
    skin, skirt = part == 0, part == 2
    skin &= (data["V"][:, 2] < 1.1) & (data["V"][:, 2] > 0.05)
    triangles = [(np.cumsum(of) - 1)[data["tris"][of[data["tris"]].all(axis=1)]] for of in (skin, skirt)]
    result = transfer_weights(
        data["V"][skin], triangles[0], weights[skin], data["V"][skirt], triangles[1], _find_among_near
    )
    words = ("hand", "arm", "thumb", "index", "middle", "ring", "pinky", "head")
    arms = np.array([any(word in name for word in words) for name in names])
    assert arms.sum() == 37
    assert (result.weights[:, arms].sum(axis=1) < 0.05).all()
    np.testing.assert_allclose(result.weights.sum(axis=1), 1.0, atol=1e-6)


def _find_among_near(points: np.ndarray, surface: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, ...]:
    """Brute force among the 40 triangles whose centers are nearest: enough for triangles of one size."""
    near = find_near_points(points, surface[triangles].mean(axis=1), 40)[0]
    found = [find_nearest(point[None], surface, triangles[row]) for point, row in zip(points, near, strict=True)]
    owner = np.array([row[triangle[0]] for row, (triangle, _, _) in zip(near, found, strict=True)])
    return owner, np.concatenate([each[1] for each in found]), np.concatenate([each[2] for each in found])
