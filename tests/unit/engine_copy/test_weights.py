"""Sparse convex weights, beside all supports tried one by one."""

from itertools import combinations

import numpy as np
import pytest

from supple.deformers.engine_copy.weights import solve_weights

from ..cases import each


def try_all(product: np.ndarray, influences: int) -> float:
    """The least w A w there is."""
    least = np.inf
    for size in range(1, influences + 1):
        for support in combinations(range(len(product)), size):
            found = np.linalg.solve(product[np.ix_(support, support)], np.ones(size))
            found /= found.sum()
            if (found >= 0.0).all():
                least = min(least, float(found @ product[np.ix_(support, support)] @ found))
    return least


@each("influences", [2, 4])
def test_near_the_best_of_all_supports(influences: int) -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(60, 7, 9)) + 2.0 * rng.normal(size=(60, 1, 9))
    products = rows @ rows.transpose(0, 2, 1)
    values = solve_weights(products, np.ones((60, 7), bool), influences)
    assert (values >= 0.0).all()
    assert values.sum(axis=1) == pytest.approx(1.0)
    assert (np.count_nonzero(values, axis=1) <= influences).all()
    costs = np.einsum("ni,nij,nj->n", values, products, values)
    best = np.array([try_all(product, influences) for product in products])
    assert (costs >= best * (1.0 - 1e-9)).all()
    assert np.median(costs / best) < 1.0001
    assert (costs / best).max() < 1.25


def test_only_allowed_bones_get_weight() -> None:
    allowed = np.array([[True, False, True, False], [False, False, False, True]])
    values = solve_weights(np.stack([np.diag([2.0, 1.0, 2.0, 1.0])] * 2), allowed, 4)
    assert values == pytest.approx(np.array([[0.5, 0.0, 0.5, 0.0], [0.0, 0.0, 0.0, 1.0]]))
