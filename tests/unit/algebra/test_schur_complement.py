"""The direct solver against a dense solve in double precision."""

import numpy as np
import pytest

from supple.deformers.algebra import products
from supple.deformers.algebra import schur_complement as substructures
from supple.deformers.algebra.schur_complement import Solver
from supple.deformers.geometry.neighbors import find_pairs


def make_system(count: int, seed: int = 0, hold: float = 0.05) -> tuple[np.ndarray, ...]:
    """Points, pairs, values and diagonal of a Laplacian with random springs, and the same as a dense matrix."""
    random = np.random.default_rng(seed)
    points = random.uniform(0, 1, (count, 3)) * [2.0, 1.0, 0.5]
    pairs = find_pairs(points, np.full(count, 0.6 * count ** (-1 / 3)), 1.0)
    values = -random.uniform(0.1, 2.0, len(pairs))
    matrix = np.zeros((count, count))
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = values
    diagonal = hold - matrix.sum(axis=1)
    return points, pairs, values, diagonal, matrix + np.diag(diagonal)


def check(system: tuple[np.ndarray, ...], columns: int = 3, precision: float = 2e-4) -> None:
    points, pairs, values, diagonal, matrix = system
    right = np.random.default_rng(9).normal(size=(len(points), columns)).astype(np.float32)
    before = right.copy()
    actual = Solver(points, pairs, values, diagonal).solve(right)
    assert actual.dtype == np.float32
    assert actual.shape == right.shape
    expected = np.linalg.solve(matrix, right.astype(float))
    np.testing.assert_allclose(actual, expected, rtol=0, atol=precision * np.abs(expected).max())
    np.testing.assert_array_equal(right, before)


@pytest.mark.parametrize("columns", [1, 3, 17])
def test_one_inverse(columns: int) -> None:
    check(make_system(150), columns)


@pytest.mark.parametrize("part", [8, 16, 60])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_parts(monkeypatch: pytest.MonkeyPatch, part: int, seed: int) -> None:
    monkeypatch.setattr(substructures, "WHOLE", 50)
    monkeypatch.setattr(substructures, "PART", part)
    check(make_system(240, seed))


def test_above_the_size_of_one_inverse() -> None:
    check(make_system(substructures.WHOLE + 1))


def test_products_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(products, "PRODUCT_SIZE", 100)
    check(make_system(130))


def test_parts_without_links_between(monkeypatch: pytest.MonkeyPatch) -> None:
    """No separators at all: each point is held by itself."""
    points = np.random.default_rng(0).uniform(size=(200, 3))
    diagonal = np.linspace(1.0, 3.0, 200)
    none = np.empty((0, 2), int)
    for whole in (50, 900):
        monkeypatch.setattr(substructures, "WHOLE", whole)
        check((points, none, np.empty(0), diagonal, np.diag(diagonal)))


def test_by_hand() -> None:
    """Two points, a spring of 1 between them, held by 1 and 2: [[2, -1], [-1, 3]] x = (5, 0) gives (3, 1)."""
    solver = Solver(np.eye(2, 3), np.array([[0, 1]]), np.array([-1.0]), np.array([2.0, 3.0]))
    np.testing.assert_allclose(solver.solve(np.array([[5.0], [0.0]], np.float32)), [[3.0], [1.0]], rtol=1e-6)


def test_same_bytes() -> None:
    points, pairs, values, diagonal, _ = make_system(150)
    right = np.random.default_rng(1).normal(size=(150, 3)).astype(np.float32)
    solver = Solver(points, pairs, values, diagonal)
    first = solver.solve(right).tobytes()
    solver.solve(2 * right)
    assert solver.solve(right).tobytes() == first
    assert Solver(points, pairs, values, diagonal).solve(right).tobytes() == first
