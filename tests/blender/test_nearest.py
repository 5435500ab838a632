"""Nearest points by mathutils: no point of the surface is nearer."""

from itertools import product

import numpy as np
import pytest

from supple.bridge.meshes.nearest import find_nearest_surface


def test_the_nearest_point_is_exact(subtests: pytest.Subtests) -> None:
    for scale, offset in product((1e-3, 1.0, 1e3), (0.0, 50.0)):
        with subtests.test(scale=scale, offset=offset):
            rng = np.random.default_rng(4)
            points = scale * (rng.uniform(-1.0, 1.0, (30, 3)) + offset)
            triangles = rng.permuted(np.tile(np.arange(30), (40, 1)), axis=1)[:, :3]
            spots = scale * (rng.uniform(-1.5, 1.5, (200, 3)) + offset)
            spots[:30] = points
            owner, weights, distances = find_nearest_surface(spots, points, triangles)
            assert (weights >= 0).all()
            np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-9)
            on = np.einsum("nc,nci->ni", weights, points[triangles[owner]])
            np.testing.assert_allclose(np.linalg.norm(spots - on, axis=1), distances, rtol=1e-9)
            np.testing.assert_allclose(distances[np.unique(triangles)], 0.0, atol=1e-9 * scale * (1 + offset))
            others = np.einsum("kc,tci->kti", rng.dirichlet(np.ones(3), 300), points[triangles]).reshape(-1, 3)
            sampled = np.array([np.linalg.norm(others - spot, axis=1).min() for spot in spots])
            assert (distances <= sampled + 1e-6 * scale).all()
            # a step along the triangle is no nearer
            step = np.roll(np.eye(3), 1, axis=1)[rng.integers(3, size=200)] * 0.01
            aside = np.maximum(weights + step - np.roll(step, 1, axis=1), 0.0)
            aside /= aside.sum(axis=1, keepdims=True)
            away = np.linalg.norm(np.einsum("nc,nci->ni", aside, points[triangles[owner]]) - spots, axis=1)
            assert (distances <= away + 1e-9 * scale * (1 + offset)).all()


def test_of_triangles_that_share_a_point_it_is_the_first() -> None:
    """However they are turned and scaled: rounding chooses none."""
    rng = np.random.default_rng(2)
    row, column = np.meshgrid(np.arange(5), np.arange(5), indexing="ij")
    points = np.stack([row, column, 0.3 * np.sin(row + 2.0 * column)], axis=-1).reshape(-1, 3).astype(float)
    corners = (5 * row + column)[:4, :4].reshape(-1)
    triangles = np.concatenate([corners[:, None] + offsets for offsets in ((0, 5, 1), (5, 6, 1))])
    points, triangles = points[triangles].reshape(-1, 3), np.arange(triangles.size).reshape(-1, 3)  # split, as by files
    spots = rng.uniform(-2.0, 6.0, (300, 3))
    expected = find_nearest_surface(spots, points, triangles)
    for spot, owner in zip(spots, expected[0].tolist(), strict=True):
        alone = [find_nearest_surface(spot[None], points, triangles[[one]])[2][0] for one in range(owner + 1)]
        assert min(alone[:-1], default=np.inf) > alone[-1] + 1e-9
    for turn, scale in product((np.eye(3)[[1, 2, 0]], np.diag([-1.0, -1.0, 1.0])), (1.0, 0.01, 100.0)):
        found = find_nearest_surface(scale * spots @ turn, scale * points @ turn, triangles)
        assert (found[0] == expected[0]).all()
        np.testing.assert_allclose(found[1], expected[1], atol=1e-6)


def test_triangles_without_area_have_their_sides() -> None:
    points = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [3.0, 0.0, 0.0]])
    _, weights, distances = find_nearest_surface(np.array([[2.0, 1.0, 0.0]]), points, np.array([[0, 1, 2], [1, 1, 1]]))
    np.testing.assert_allclose(distances, 1.0)
    assert weights.sum() == pytest.approx(1.0)
