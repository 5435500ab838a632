"""Sparse systems solved by nested dissection, against dense algebra."""

import numpy as np
import pytest

from supple.deformers.algebra.nested_dissection import LEAF, dissect, factorize


def make_grid(*sides: int) -> tuple[np.ndarray, np.ndarray]:
    """Points of a grid and the pairs of those next to each other."""
    points = np.stack(np.meshgrid(*map(np.arange, sides), indexing="ij"), axis=-1).reshape(-1, len(sides))
    index = np.arange(len(points)).reshape(sides)
    pairs = [
        np.stack([np.take(index, range(side - 1), axis).ravel(), np.take(index, range(1, side), axis).ravel()], axis=1)
        for axis, side in enumerate(sides)
    ]
    return np.pad(points, ((0, 0), (0, 3 - len(sides)))).astype(float), np.concatenate(pairs)


def make_hub(count: int) -> tuple[np.ndarray, np.ndarray]:
    """One point that is tied to all others, which are tied in a row."""
    points = np.random.default_rng(3).normal(size=(count, 3))
    others = np.arange(1, count)
    return points, np.concatenate([np.stack([0 * others, others], axis=1), np.stack([others[:-1], others[1:]], axis=1)])


def make_dense(pairs: np.ndarray, values: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    matrix = np.diag(diagonal)
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = values
    return matrix


GRAPHS = {
    "surface": make_grid(30, 25),
    "solid": make_grid(8, 9, 7),
    "small": make_grid(3, 2),
    "hub": make_hub(400),
    "all at one place": (np.zeros((300, 3)), make_grid(300)[1]),
    "no pairs": (np.random.default_rng(4).normal(size=(250, 3)), np.empty((0, 2), int)),
    "everyone with everyone": (make_grid(150)[0], np.stack(np.triu_indices(150, 1), axis=1)),
}


@pytest.mark.parametrize(("precision", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-5)])
@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_solutions(graph: tuple[np.ndarray, np.ndarray], precision: type[np.floating], tolerance: float):
    points, pairs = graph
    random = np.random.default_rng(5)
    values = -random.uniform(0.1, 1.0, len(pairs))
    diagonal = 0.05 + np.bincount(pairs.ravel(), -np.repeat(values, 2), minlength=len(points))
    sides = random.uniform(size=(len(points), 3))
    shares: list[float] = []
    factor = factorize(points, pairs, values, diagonal, precision, shares.append)
    found = factor.solve(sides)
    assert found.dtype == precision
    np.testing.assert_allclose(found, np.linalg.solve(make_dense(pairs, values, diagonal), sides), rtol=tolerance)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@pytest.mark.parametrize("graph", GRAPHS.values(), ids=GRAPHS)
def test_pieces(graph: tuple[np.ndarray, np.ndarray]):
    """Each point is in one piece; what two pieces tie together, one of them is an ancestor of the other."""
    points, pairs = graph
    order, pieces = dissect(points, pairs)
    np.testing.assert_array_equal(np.sort(order), np.arange(len(points)))
    owner = np.empty(len(points), int)
    for number, piece in enumerate(pieces):
        owner[order[piece.start : piece.end]] = number
    parent = {child: number for number, piece in enumerate(pieces) for child in piece.children}
    for low, high in {tuple(sorted(pair)) for pair in owner[pairs].tolist()}:
        while low < high:
            low = parent[low]
        assert low == high


def test_fronts_stay_small():
    """The largest piece of a surface is no longer than its side, and ends are cut until they are small."""
    _, pieces = dissect(*GRAPHS["surface"])
    inner = [piece.end - piece.start for piece in pieces if piece.children]
    assert max(inner) <= 30
    assert all(piece.end - piece.start <= LEAF for piece in pieces if not piece.children)
