"""Mirroring weights by position, against weights known by hand."""

import numpy as np
import pytest

from supple.deformers.errors import SkinningError
from supple.deformers.weight_editing.mirror import mirror_weights, pair_names

from .. import meshes
from ..brute_force import find_nearest
from ..cases import each
from ..meshes import Mesh

NAMES = ("spine", "arm.L", "arm.R", "tail.L")
PAIRS = np.array([0, 2, 1, 3])


def flip(name: str) -> str:
    return {".L": name[:-2] + ".R", ".R": name[:-2] + ".L"}.get(name[-2:], name)


def make_sheet(columns: int) -> Mesh:
    """A sheet in XY from -1 to 1 in X, without a column of vertices at 0 where `columns` is even."""
    return meshes.make_sheet(np.linspace(-1.0, 1.0, columns), np.linspace(0.0, 1.0, 4))


def weigh(points: np.ndarray) -> np.ndarray:
    """Symmetric: the arms take over from the middle outward."""
    left, right = np.maximum(points[:, 0], 0.0), np.maximum(-points[:, 0], 0.0)
    return np.stack([1.0 - left - right, left, right, 0.0 * left], axis=1).astype(np.float32)


def test_names_are_paired() -> None:
    assert (pair_names(NAMES, flip) == PAIRS).all()


@each("columns", [8, 9])
@each(("source", "sign"), [("POSITIVE", 1.0), ("NEGATIVE", -1.0)])
def test_a_symmetric_mesh_becomes_symmetric_exactly(columns: int, source: str, sign: float) -> None:
    points, triangles = make_sheet(columns)
    wanted = weigh(points)
    noise = np.random.default_rng(3).dirichlet(np.ones(4), len(points)).astype(np.float32)
    spoilt = np.where(points[:, :1] * sign > 1e-9, wanted, noise)
    result = mirror_weights(spoilt, points, triangles, PAIRS, find_nearest, source)
    on_plane = np.abs(points[:, 0]) < 1e-9
    np.testing.assert_array_equal(result.weights[~on_plane], wanted[~on_plane])
    np.testing.assert_allclose(result.weights[on_plane], result.weights[on_plane][:, PAIRS], atol=1e-7)
    assert (result.changed == (points[:, 0] * sign < 1e-9)).all()
    assert not result.far.any()


def test_another_topology_takes_weights_between_vertices() -> None:
    fine, coarse = make_sheet(33), make_sheet(9)
    left, right = fine[0][fine[1]].max(axis=1)[:, 0] <= 0.01, coarse[0][coarse[1]].min(axis=1)[:, 0] >= -0.01
    points = np.concatenate([fine[0], coarse[0]])
    triangles = np.concatenate([fine[1][left], coarse[1][right] + len(fine[0])])
    used = np.unique(triangles)
    weights = np.where(points[:, :1] > 0, weigh(points), np.float32([1.0, 0.0, 0.0, 0.0]))
    result = mirror_weights(weights, points, triangles, PAIRS, find_nearest)
    np.testing.assert_allclose(result.weights[used], weigh(points)[used], atol=1e-6)


def test_both_sides_get_their_mean() -> None:
    points, triangles = make_sheet(9)
    weights = np.random.default_rng(5).dirichlet(np.ones(4), len(points)).astype(np.float32)
    result = mirror_weights(weights, points, triangles, PAIRS, find_nearest, "BOTH").weights
    image = np.array([np.abs(points - point * [-1.0, 1.0, 1.0]).sum(axis=1).argmin() for point in points])
    np.testing.assert_allclose(result, 0.5 * (weights + weights[image][:, PAIRS]), atol=1e-6)


@each(("axis", "center"), [(1, 0.0), (2, -3.0)])
def test_other_planes(axis: int, center: float) -> None:
    points, triangles = make_sheet(9)
    turned = np.roll(points, axis, axis=1)
    turned[:, axis] += center
    spoilt = np.where(points[:, :1] > 0, weigh(points), np.float32([0.0, 0.0, 0.0, 1.0]))
    result = mirror_weights(spoilt, turned, triangles, PAIRS, find_nearest, axis=axis, center=center).weights
    wanted = mirror_weights(spoilt, points, triangles, PAIRS, find_nearest).weights
    np.testing.assert_allclose(result, wanted, atol=1e-6)


def test_only_chosen_vertices_and_their_copies_change() -> None:
    points, triangles = make_sheet(8)
    split, corners = points[triangles].reshape(-1, 3), np.arange(triangles.size).reshape(-1, 3)
    weights = np.where(split[:, :1] > 0, weigh(split), np.float32([1.0, 0.0, 0.0, 0.0]))
    chosen = np.zeros(len(split), bool)
    chosen[[np.flatnonzero(triangles.ravel() == 1)[0], np.flatnonzero(triangles.ravel() == 30)[0]]] = True
    result = mirror_weights(weights, split, corners, PAIRS, find_nearest, chosen=chosen)
    assert (result.changed == (triangles.ravel() == 1)).all()
    np.testing.assert_allclose(result.weights[result.changed], weigh(points)[[1] * result.changed.sum()], atol=1e-6)
    assert (result.weights[~result.changed] == weights[~result.changed]).all()


def test_locked_bones_stay_and_the_others_share_the_rest() -> None:
    points, triangles = make_sheet(8)
    weights = np.where(points[:, :1] > 0, weigh(points), np.float32([0.5, 0.0, 0.2, 0.3]))
    locked = np.array([False, False, False, True])
    result = mirror_weights(weights, points, triangles, PAIRS, find_nearest, locked=locked).weights
    minus = points[:, 0] < 0
    assert (result[:, 3] == weights[:, 3]).all()
    np.testing.assert_allclose(result.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(result[minus, :3], 0.7 * weigh(points)[minus, :3], atol=1e-6)


def test_what_has_no_other_side_is_told() -> None:
    points, triangles = make_sheet(8)
    shape = (points[:, 0] > 0)[triangles].all(axis=1)
    lone = np.concatenate([points, points - np.array([3.0, 0.0, 0.0])])
    both = np.concatenate([triangles[shape], triangles + len(points)])
    result = mirror_weights(weigh(lone), lone, both, PAIRS, find_nearest)
    assert result.far[len(points) :].sum() > 20
    with pytest.raises(SkinningError, match="positive side has no faces"):
        mirror_weights(weigh(points), points - np.array([5.0, 0.0, 0.0]), triangles, PAIRS, find_nearest)
    with pytest.raises(SkinningError, match="32 vertices have NaN or infinite coordinates"):
        mirror_weights(weigh(points), points * np.nan, triangles, PAIRS, find_nearest)
