"""Inverses of small matrices, beside LAPACK's."""

import numpy as np
import pytest

from supple.deformers.algebra.small_inverses import invert_definite, invert_three

from ..cases import each


def test_three_by_three() -> None:
    matrices = np.random.default_rng(1).normal(size=(50, 3, 3))
    assert invert_three(matrices) == pytest.approx(np.linalg.inv(matrices), rel=1e-9)


def test_what_has_no_inverse_becomes_nothing() -> None:
    assert (invert_three(np.diag([1.0, 0.0, 2.0])[None]) == 0.0).all()


@each(("count", "size"), [(3, 1), (9, 4), (1000, 12)])
def test_definite_ones(count: int, size: int) -> None:
    rows = np.random.default_rng(2).normal(size=(count, size, size + 3))
    matrices = rows @ rows.transpose(0, 2, 1)
    kept = matrices.copy()
    products = invert_definite(matrices) @ matrices
    assert np.abs(products - np.eye(size)).max() < 1e-8
    assert (matrices == kept).all()
