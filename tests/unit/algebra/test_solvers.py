"""Each solver, on the matrices that it takes, against a dense solve; and what each promises beside the solution."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from supple.deformers.algebra import block_tridiagonal, conjugate_gradients, nested_dissection, products
from supple.deformers.algebra.nested_dissection import MAX_LEAF, MAX_LEAF_FEW_SIDES, dissect
from supple.deformers.geometry.neighbors import find_pairs

from ..cases import each
from ..meshes import link_cells


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


GRAPHS = {
    "surface": make_grid(30, 25),
    "solid": make_grid(8, 9, 7),
    "small": make_grid(3, 2),
    "hub": make_hub(400),
    "all at one position": (np.zeros((300, 3)), make_grid(300)[1]),
    "no pairs": (np.random.default_rng(4).normal(size=(250, 3)), np.empty((0, 2), int)),
    "everyone with everyone": (make_grid(150)[0], np.stack(np.triu_indices(150, 1), axis=1)),
}


@dataclass(frozen=True)
class System:
    """A symmetric, positive definite matrix over points (N, 3): pairs (E, 2), their values (E,), diagonal (N,)."""

    points: np.ndarray
    pairs: np.ndarray
    values: np.ndarray
    diagonal: np.ndarray

    @property
    def dense(self) -> np.ndarray:
        matrix = np.diag(self.diagonal)
        first, second = self.pairs.T
        matrix[first, second] = matrix[second, first] = self.values
        return matrix


def make_laplacian(points: np.ndarray, pairs: np.ndarray) -> System:
    """The Laplacian of a graph with random strengths, held a little at each point."""
    values = -np.random.default_rng(5).uniform(0.1, 1.0, len(pairs))
    return System(points, pairs, values, 0.05 + np.bincount(pairs.ravel(), -np.repeat(values, 2), len(points)))


def make_cloud(count: int, seed: int = 0) -> System:
    """Points in a box, tied to those near them by random springs."""
    points = np.random.default_rng(seed).uniform(0, 1, (count, 3)) * [2.0, 1.0, 0.5]
    return make_laplacian(points, find_pairs(points, np.full(count, 0.6 * count ** (-1 / 3)), 1.0))


def make_solid() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cells, (N, 3), with branches and holes, all connected, their neighbors, and which are free."""
    random = np.random.default_rng(2)
    inside = random.uniform(size=(7, 8, 9)) < 0.6
    inside[::3] = inside[:, 4] = True
    inside[:, :, 6] = False
    inside[3, 3, 6] = True
    _, neighbors = link_cells(inside)
    reached = block_tridiagonal.count_links(neighbors, np.array([np.ravel_multi_index((0, 4, 0), (7, 8, 9))])) >= 0
    inside[inside] = reached
    cells, neighbors = link_cells(inside)
    return cells, neighbors, random.uniform(size=len(cells)) < 0.9


def square_laplacian(neighbors: np.ndarray) -> np.ndarray:
    """The squared Laplacian of linked cells, dense."""
    count = len(neighbors)
    matrix = np.zeros((count, count + 1))
    for column in neighbors.T:
        matrix[np.arange(count), column] -= 1.0
    matrix = matrix[:, :count]
    matrix -= np.diag(matrix.sum(axis=1))
    return matrix @ matrix


def make_squared() -> System:
    """The squared Laplacian of a solid's free cells, and a diagonal."""
    cells, neighbors, free = make_solid()
    matrix = square_laplacian(neighbors)[np.ix_(free, free)]
    pairs = np.argwhere(np.triu(matrix, 1))
    values = matrix[pairs[:, 0], pairs[:, 1]]
    diagonal = np.diag(matrix) + np.random.default_rng(6).uniform(0.1, 1.0, len(matrix))
    return System(cells[free].astype(float), pairs, values, diagonal)


SYSTEMS = {name: make_laplacian(*graph) for name, graph in GRAPHS.items()}
SYSTEMS |= {"cloud": make_cloud(240), "large cloud": make_cloud(901), "squared Laplacian of a solid": make_squared()}


def dissect_and_solve(system: System, right: np.ndarray, **options: object) -> np.ndarray:
    parts = system.points, system.pairs, system.values, system.diagonal
    return nested_dissection.factorize(*parts, **options).solve(right)  # type: ignore[arg-type]


def descend(system: System, right: np.ndarray) -> np.ndarray:
    matrix, diagonal = system.dense, system.diagonal[:, None]

    def is_done(_step: int, change: np.ndarray, _product: np.ndarray) -> bool:
        return np.abs(change).max() < 1e-13

    start = np.zeros_like(right)
    return conjugate_gradients.solve(matrix.__matmul__, right, start, lambda rest: rest / diagonal, is_done, 5000)


def eliminate_blocks(_system: System, right: np.ndarray) -> np.ndarray:
    """Of `make_squared` alone, whose cells the solver sorts by itself."""
    _, neighbors, free = make_solid()
    matrix = block_tridiagonal.assemble(neighbors, free)
    position = np.cumsum(free)[matrix.cells] - 1
    result = np.empty_like(right)
    diagonal = np.random.default_rng(6).uniform(0.1, 1.0, len(position))
    result[position] = block_tridiagonal.factorize(matrix, diagonal[position]).solve(right[position])
    return result


SOLVERS = {
    "nested dissection": dissect_and_solve,
    "conjugate gradients": descend,
    "block tridiagonal": eliminate_blocks,
}
CASES = [
    (solver, of)
    for solver in SOLVERS
    for of in SYSTEMS
    if solver != "block tridiagonal" or of == "squared Laplacian of a solid"
]


def check(found: np.ndarray, system: System, right: np.ndarray, precision: float) -> None:
    expected = np.linalg.solve(system.dense, right.astype(float))
    assert found.shape == right.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=precision * np.abs(expected).max())


@each("columns", [1, 3, 17])
@each(("solver", "of"), CASES)
def test_solutions(solver: str, of: str, columns: int):
    system = SYSTEMS[of]
    right = np.random.default_rng(9).normal(size=(len(system.points), columns))
    before = right.copy()
    found = SOLVERS[solver](system, right)
    assert found.dtype == np.float64
    check(found, system, right, 1e-9)
    np.testing.assert_array_equal(right, before)


# Nested dissection


@each(("precision", "tolerance"), [(np.float64, 1e-10), (np.float32, 2e-5)])
@each("graph", GRAPHS)
def test_each_value_of_a_laplacian(graph: str, precision: type[np.floating], tolerance: float):
    """Where nothing cancels out, small values are as precise as large ones."""
    system = SYSTEMS[graph]
    right = np.random.default_rng(5).uniform(size=(len(system.points), 3))
    shares: list[float] = []
    found = dissect_and_solve(system, right, precision=precision, progress=shares.append)
    assert found.dtype == precision
    np.testing.assert_allclose(found, np.linalg.solve(system.dense, right), rtol=tolerance)
    assert shares == sorted(shares)
    assert shares[-1] == 1.0


@each("leaf", [8, 16, 60, MAX_LEAF_FEW_SIDES])
@each("seed", [0, 1, 2])
def test_leaves(leaf: int, seed: int):
    system = make_cloud(240, seed)
    right = np.random.default_rng(9).normal(size=(240, 3)).astype(np.float32)
    before = right.copy()
    found = dissect_and_solve(system, right, precision=np.float32, leaf=leaf)
    assert found.dtype == np.float32
    check(found, system, right, 2e-5)
    np.testing.assert_array_equal(right, before)


@each("leaf", [50, 900])
def test_points_without_links(leaf: int):
    """No separators at all: each point is held by itself."""
    system = replace(SYSTEMS["no pairs"], diagonal=np.linspace(1.0, 3.0, 250))
    right = np.random.default_rng(9).normal(size=(250, 3)).astype(np.float32)
    check(dissect_and_solve(system, right, precision=np.float32, leaf=leaf), system, right, 1e-6)


@pytest.mark.parametrize("columns", [1, 3, 17])
def test_products_in_pieces(monkeypatch: pytest.MonkeyPatch, columns: int):
    monkeypatch.setattr(products, "MAX_PRODUCT_SIZE", 100)
    system = make_cloud(130)
    right = np.random.default_rng(9).normal(size=(130, columns))
    check(dissect_and_solve(system, right), system, right, 1e-10)


def test_by_hand():
    """Two points, a spring of 1 between them, held by 1 and 2: [[2, -1], [-1, 3]] x = (5, 0) gives (3, 1)."""
    system = System(np.eye(2, 3), np.array([[0, 1]]), np.array([-1.0]), np.array([2.0, 3.0]))
    found = dissect_and_solve(system, np.array([[5.0], [0.0]], np.float32), precision=np.float32)
    np.testing.assert_allclose(found, [[3.0], [1.0]], rtol=1e-6)


def test_same_bytes():
    system = make_cloud(300)
    right = np.random.default_rng(1).normal(size=(300, 3)).astype(np.float32)
    parts = system.points, system.pairs, system.values, system.diagonal
    factor = nested_dissection.factorize(*parts, np.float32)
    first = factor.solve(right).tobytes()
    factor.solve(2 * right)
    assert factor.solve(right).tobytes() == first
    assert nested_dissection.factorize(*parts, np.float32).solve(right).tobytes() == first


@each("leaf", [MAX_LEAF, MAX_LEAF_FEW_SIDES])
@each("graph", GRAPHS.values())
def test_pieces(graph: tuple[np.ndarray, np.ndarray], leaf: int):
    """Each point is in one piece; what two pieces tie together, one of them is an ancestor of the other."""
    points, pairs = graph
    order, pieces = dissect(points, pairs, leaf)
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
    assert all(piece.end - piece.start <= MAX_LEAF for piece in pieces if not piece.children)


# Blocks


@pytest.mark.parametrize("least", [1, 20, 10_000])
def test_changing_diagonal(monkeypatch: pytest.MonkeyPatch, least: int):
    """The blocks are assembled once, and factorized with one diagonal after another."""
    monkeypatch.setattr(block_tridiagonal, "MIN_BLOCK", least)
    _, neighbors, free = make_solid()
    matrix = block_tridiagonal.assemble(neighbors, free)
    np.testing.assert_array_equal(np.sort(matrix.cells), np.flatnonzero(free))
    random = np.random.default_rng(2)
    diagonal = random.uniform(0.1, 1.0, len(matrix.cells))
    right = random.normal(size=(len(diagonal), 4))
    dense = square_laplacian(neighbors)[np.ix_(matrix.cells, matrix.cells)]
    before = right.copy()
    for _ in range(2):
        found = block_tridiagonal.factorize(matrix, diagonal).solve(right)
        np.testing.assert_allclose(found, np.linalg.solve(dense + np.diag(diagonal), right), atol=1e-9)
        diagonal *= 0.3
    np.testing.assert_array_equal(right, before)


# Conjugate gradients


def run_rule(most_steps: int, stop_at: int, columns: int | None, dtype: type = np.float64) -> list[int]:
    """The steps at which the stop rule was asked."""
    system = SYSTEMS["surface"]
    matrix = system.dense.astype(dtype)
    asked: list[int] = []

    def is_done(step: int, change: np.ndarray, product: np.ndarray) -> bool:
        asked.append(step)
        assert change.shape == right.shape
        assert product.shape == right.shape[1:]
        return step == stop_at

    right = np.ones(len(matrix) if columns is None else (len(matrix), columns), dtype)
    found = conjugate_gradients.solve(matrix.__matmul__, right, 0 * right, np.copy, is_done, most_steps)
    assert found.dtype == dtype
    return asked


@each("columns", [None, 1, 4])
@each("dtype", [np.float32, np.float64])
def test_stop_rule(columns: int | None, dtype: type):
    assert run_rule(9, 3, columns, dtype) == [0, 1, 2, 3]
    assert run_rule(5, 99, columns, dtype) == [0, 1, 2, 3, 4]
    assert run_rule(9, 0, columns, dtype) == [0]


def test_columns_are_systems_of_their_own():
    """As each by itself, also beside one that is solved from the start."""
    system = SYSTEMS["solid"]
    matrix, random = system.dense, np.random.default_rng(3)
    right = np.column_stack([random.normal(size=(len(matrix), 2)), np.zeros(len(matrix))])

    def take_steps(right: np.ndarray) -> np.ndarray:
        never = lambda step, change, product: False  # noqa: E731
        return conjugate_gradients.solve(matrix.__matmul__, right, 0 * right, np.copy, never, 12)

    together = take_steps(right)
    for column in range(3):
        np.testing.assert_allclose(together[:, column], take_steps(right[:, [column]])[:, 0], atol=1e-12)
    np.testing.assert_allclose(together[:, 0], take_steps(right[:, 0]), atol=1e-12)
    assert not together[:, 2].any()


def test_start_is_not_changed():
    matrix = np.diag([1.0, 2.0, 4.0])
    start = np.array([1.0, 1.0, 1.0])
    found = conjugate_gradients.solve(
        matrix.__matmul__, np.array([3.0, 4.0, 4.0]), start, np.copy, lambda _step, change, _: not change.any(), 9
    )
    np.testing.assert_allclose(found, [3.0, 2.0, 1.0])
    np.testing.assert_array_equal(start, 1.0)
