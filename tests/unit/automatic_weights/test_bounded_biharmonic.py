"""Bounded biharmonic weights against the optimum found another way, and against numbers worked out by hand."""

from collections.abc import Callable

import numpy as np
import pytest

from supple.deformers.automatic_weights import biharmonic_energy as biharmonic
from supple.deformers.automatic_weights.biharmonic_energy import minimize
from supple.deformers.errors import SkinningError

from ..cases import each
from ..meshes import link_cells


def make_case(inside: np.ndarray, *bones: tuple[slice, ...]) -> tuple[np.ndarray, ...]:
    """Neighbors, fixed and given of a mask, with bones through boxes of cells that share where they meet."""
    _, neighbors = link_cells(inside)
    given = np.zeros((len(neighbors), len(bones)))
    for bone, box in enumerate(bones):
        mask = np.zeros(inside.shape, bool)
        mask[box] = True
        given[mask[inside], bone] = 1.0
    fixed = given.any(axis=1)
    given[fixed] /= given[fixed].sum(axis=1, keepdims=True)
    return neighbors, fixed, given


def at(x: int | slice, y: int | slice, z: int | slice) -> tuple[slice, ...]:
    return tuple(slice(part, part + 1) if isinstance(part, int) else part for part in (x, y, z))


def make_box() -> tuple[np.ndarray, ...]:
    inside = np.ones((6, 6, 12), bool)
    return make_case(
        inside, at(2, 3, slice(0, 4)), at(3, 2, slice(5, 8)), at(3, 3, slice(9, 12)), at(0, 0, slice(0, 3))
    )


def make_corner() -> tuple[np.ndarray, ...]:
    inside = np.zeros((4, 10, 10), bool)
    inside[:, :4], inside[:, :, :4] = True, True
    return make_case(inside, at(1, 1, slice(1, 9)), at(2, slice(4, 7), 2), at(2, slice(8, 10), 2))


def make_ties() -> tuple[np.ndarray, ...]:
    """Three bones in a chain: each shares a cell with the next."""
    inside = np.ones((4, 4, 14), bool)
    return make_case(inside, at(1, 1, slice(0, 5)), at(1, 1, slice(4, 10)), at(1, 1, slice(9, 14)))


def make_rod() -> tuple[np.ndarray, ...]:
    """Without bounds, the weights beyond the cell in the middle are below 0."""
    return make_case(np.ones((1, 1, 25), bool), at(0, 0, slice(0, 2)), at(0, 0, 9), at(0, 0, slice(24, 25)))


def make_shortcut() -> tuple[np.ndarray, ...]:
    """Cells with a seventh neighbor, as where two solids are sewn together."""
    neighbors, fixed, given = make_box()
    count = len(neighbors)
    more = np.full(count, count)
    more[[5, 400]] = 400, 5
    more[[77, 301]] = 301, 77
    return np.column_stack([neighbors, more]), fixed, given


CASES = [make_box, make_corner, make_ties, make_rod, make_shortcut]
cases = pytest.mark.parametrize("make", CASES, ids=lambda make: make.__name__.removeprefix("make_"))


def make_laplacian(neighbors: np.ndarray) -> np.ndarray:
    count = len(neighbors)
    matrix = np.zeros((count, count))
    rows, columns = np.nonzero(neighbors < count)
    np.add.at(matrix, (rows, neighbors[rows, columns]), -1.0)
    return matrix - np.diag(matrix.sum(axis=1))


def energy(neighbors: np.ndarray, weights: np.ndarray, counted: np.ndarray | None = None) -> float:
    """Half the sum of the squared Laplacians of weights, shape (N, B), in all cells, or in those that count."""
    squares = (make_laplacian(neighbors) @ weights) ** 2
    return 0.5 * float((squares if counted is None else squares[counted]).sum())


def project_by_sorting(rows: np.ndarray) -> np.ndarray:
    """Duchi, Shalev-Shwartz, Singer, Chandra 2008, figure 1."""
    ranked = -np.sort(-rows, axis=1)
    excess = (np.cumsum(ranked, axis=1) - 1.0) / np.arange(1, rows.shape[1] + 1)
    last = (ranked > excess).sum(axis=1) - 1
    return np.maximum(rows - excess[np.arange(len(rows)), last, None], 0.0)


def find_optimum(neighbors: np.ndarray, fixed: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Weights by accelerated projected gradients with restarts, their energy, and a bound below the least energy."""
    matrix = make_laplacian(neighbors)
    matrix = matrix @ matrix
    inner = np.ascontiguousarray(matrix[np.ix_(~fixed, ~fixed)])
    pull = matrix[np.ix_(~fixed, fixed)] @ given[fixed]
    constant = 0.5 * (given[fixed] * (matrix[np.ix_(fixed, fixed)] @ given[fixed])).sum()
    rate = 1.0 / np.linalg.eigvalsh(inner)[-1]
    weights = ahead = project_by_sorting(-np.linalg.solve(inner, pull))
    pace = 1.0
    for step in range(20000):
        new = project_by_sorting(ahead - rate * (inner @ ahead + pull))
        if ((ahead - new) * (new - weights)).sum() > 0:
            pace = 1.0
        next_pace = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
        ahead = new + (pace - 1.0) / next_pace * (new - weights)
        weights, pace = new, next_pace
        if step % 50 == 0:
            slopes = inner @ weights + pull
            least = 0.5 * (weights * (slopes + pull)).sum() + constant
            gap = ((weights * slopes).sum(axis=1) - slopes.min(axis=1)).sum()
            if gap < 1e-5 * least:
                break
    result = given.copy()
    result[~fixed] = weights
    return result, least, least - gap


@cases
def test_energy_is_the_least(make: Callable[[], tuple[np.ndarray, ...]]) -> None:
    neighbors, fixed, given = make()
    optimum, least, bound = find_optimum(neighbors, fixed, given)
    assert least - bound < 2e-5 * least, "the reference did not converge"
    actual = minimize(neighbors, fixed, given)
    assert actual.dtype == np.float32
    assert (actual >= 0).all()
    np.testing.assert_allclose(actual.sum(axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(actual[fixed], given[fixed], atol=1e-7)
    assert bound * (1 - 1e-5) <= energy(neighbors, actual) <= least * (1 + biharmonic.TOLERANCE)
    np.testing.assert_allclose(actual, optimum, atol=0.02)
    exact = minimize(neighbors, fixed, given, tolerance=1e-5)
    assert energy(neighbors, exact) <= least * (1 + 2e-5)
    np.testing.assert_allclose(exact, optimum, atol=2e-3)


@cases
def test_bounds_take_part(make: Callable[[], tuple[np.ndarray, ...]]) -> None:
    """Without bounds, weights are negative here; cut and divided by their sum, they need more energy."""
    neighbors, fixed, given = make()
    matrix = make_laplacian(neighbors)
    matrix = matrix @ matrix
    free = given.copy()
    free[~fixed] = np.linalg.solve(matrix[np.ix_(~fixed, ~fixed)], -matrix[np.ix_(~fixed, fixed)] @ given[fixed])
    assert free.min() < -0.01
    cut = np.maximum(free, 0.0)
    cut /= cut.sum(axis=1, keepdims=True)
    assert energy(neighbors, cut) > 1.005 * energy(neighbors, minimize(neighbors, fixed, given))


@cases
def test_bound_is_below_the_least(make: Callable[[], tuple[np.ndarray, ...]]) -> None:
    """At weights far off, too: that is what the end of the steps rests on."""
    neighbors, fixed, given = make()
    _, least, _ = find_optimum(neighbors, fixed, given)
    random = np.random.default_rng(0)
    free = np.flatnonzero(~fixed)
    bounds = biharmonic.Bounds(area_of(neighbors, fixed), free, given)
    for spread in (3.0, 0.1, 0.0):
        rows = random.normal(1.0 / given.shape[1], spread, (len(free), given.shape[1]))
        bounds.tighten(rows, project_by_sorting(rows))
        assert bounds.lower <= least * (1 + 1e-9) <= bounds.upper


def area_of(neighbors: np.ndarray, fixed: np.ndarray) -> biharmonic.Area:
    return biharmonic.Area(neighbors, fixed, np.ones(len(fixed), bool))


def test_bounds_only_tighten() -> None:
    neighbors, fixed, given = make_ties()
    optimum, least, _ = find_optimum(neighbors, fixed, given)
    free = np.flatnonzero(~fixed)
    bounds = biharmonic.Bounds(area_of(neighbors, fixed), free, given)
    gap = bounds.tighten(optimum[free], optimum[free])
    assert gap < 1e-4
    flat = np.full((len(free), 3), 1.0 / 3.0)
    assert bounds.tighten(flat, flat) == gap
    assert bounds.tighten(flat + 0.3, flat) == gap
    assert energy(neighbors, bounds.best) == pytest.approx(bounds.upper)
    assert bounds.upper == pytest.approx(least)


def make_long_rod() -> tuple[np.ndarray, ...]:
    return make_case(np.ones((300, 1, 1), bool), *(at(part, 0, 0) for part in (slice(0, 2), 150, slice(298, 300))))


def make_even() -> tuple[np.ndarray, ...]:
    """The least energy is none: all weights are alike, but for rounding."""
    neighbors, fixed, given = make_case(np.ones((5, 5, 20), bool), *3 * [at(1, 1, slice(0, 3))])
    return neighbors, fixed, given * [0.3, 0.6, 2.1]


@each(
    ("make", "most"),
    [(make_box, 6), (make_corner, 5), (make_ties, 5), (make_rod, 6), (make_long_rod, 15), (make_even, 1)],
)
def test_few_steps_are_enough(make: Callable[[], tuple[np.ndarray, ...]], most: int) -> None:
    """Looks at the bounds, each `CHECK` steps after the last: slower is a defect, whatever the result."""
    told: list[float] = []
    minimize(*make(), progress=told.append)
    assert len(told) <= most, len(told)


@each(("length", "expected"), [(3, [0.5]), (4, [0.3, 0.7]), (5, [0.2, 0.5, 0.8])])
def test_short_rods(length: int, expected: list[float]) -> None:
    """Fourth differences are 0: for 0 0 a 1-a 1 1, 6 a - 4 (1 - a) + 1 = 0 gives a = 3/10."""
    rod = np.ones((length + 2, 1, 1), bool)
    case = make_case(rod, at(slice(0, 2), 0, 0), at(slice(length, length + 2), 0, 0))
    actual = minimize(*case, tolerance=1e-9)
    np.testing.assert_allclose(actual[2:length, 1], expected, atol=1e-5)
    np.testing.assert_allclose(actual[2:length, 0], expected[::-1], atol=1e-5)


@each("width", [1, 3])
@each("count", [20, 60])
def test_long_rods(count: int, width: int) -> None:
    """The cubic 3 t^2 - 2 t^3 between the held ends, and twice half the integral of its squared bend, 12 / L^3."""
    rod = np.ones((count + 4, width, width), bool)
    whole = slice(0, width)
    case = make_case(rod, at(slice(0, 2), whole, whole), at(slice(count + 2, count + 4), whole, whole))
    actual = minimize(*case)
    along = np.repeat((np.arange(count) + 1.0) / (count + 1), width * width)
    np.testing.assert_allclose(actual[~case[1], 1], along**2 * (3 - 2 * along), atol=1.5 / count)
    lengths = (count + 2) / np.cbrt(width * width)
    assert energy(case[0], actual) == pytest.approx(12 / lengths**3, rel=4 / count)


def test_energy_by_hand() -> None:
    """Cells 1 0 0 in a row: Laplacians 1 -1 0, so 1 for the bone, and as much for its opposite."""
    _, neighbors = link_cells(np.ones((3, 1, 1), bool))
    assert energy(neighbors, np.array([[1.0], [0.0], [0.0]])) == 1.0
    assert energy(neighbors, np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])) == 2.0
    assert energy(neighbors, np.full((3, 2), 0.5)) == 0.0


def test_box_is_smooth_and_local() -> None:
    """Two bones along a box: one falls as the other rises, and each has its own end alone."""
    inside = np.ones((5, 5, 20), bool)
    case = make_case(inside, at(2, 2, slice(0, 10)), at(2, 2, slice(10, 20)))
    sections = minimize(*case)[:, 0].reshape(inside.shape).transpose(2, 0, 1).reshape(20, -1)
    middles = sections.mean(axis=1)
    assert (np.diff(middles) < 1e-3).all()
    assert sections[:4].min() > 0.97
    assert sections[-4:].max() < 0.03
    assert np.abs(np.diff(sections[:, 0])).max() < 0.35, "the rim goes over gently"
    np.testing.assert_allclose(middles + middles[::-1], 1.0, atol=5e-3)


def test_bones_through_the_same_cells_share_them() -> None:
    box = np.ones((4, 4, 10), bool)
    case = make_case(box, at(1, 1, slice(0, 4)), at(1, 1, slice(0, 4)), at(2, 2, slice(6, 10)))
    actual = minimize(*case)
    np.testing.assert_allclose(actual[:, 0], actual[:, 1], atol=1e-6)
    assert actual[case[1], 0].max() == 0.5


def test_order_of_cells_and_bones() -> None:
    neighbors, fixed, given = make_box()
    count = len(neighbors)
    random = np.random.default_rng(4)
    cells, bones = random.permutation(count), random.permutation(given.shape[1])
    places = np.append(np.argsort(cells), count)
    shuffled = minimize(places[neighbors[cells]], fixed[cells], given[np.ix_(cells, bones)], tolerance=1e-5)
    expected = minimize(neighbors, fixed, given, tolerance=1e-5)[np.ix_(cells, bones)]
    np.testing.assert_allclose(shuffled, expected, atol=2e-3)


def test_parts_apart_and_bones_without_cells() -> None:
    """A part with one bone is all its own; what is in another part changes nothing; bones without a cell get none."""
    inside = np.zeros((4, 4, 20), bool)
    inside[..., :9], inside[..., 10:13], inside[..., 14:] = True, True, True
    case = make_case(inside, at(1, 1, 1), at(1, 1, 10), at(2, 2, slice(5, 8)), at(2, 2, 15), at(1, 2, 18))
    given = np.insert(case[2], 2, 0.0, axis=1)
    actual = minimize(case[0], case[1], given, tolerance=1e-5)
    places = np.argwhere(inside)[:, 2]
    assert not actual[:, 2].any()
    np.testing.assert_array_equal(actual[(places >= 10) & (places < 13), 1], 1.0)
    for part, bones in ((places < 9, [0, 3]), (places >= 14, [4, 5])):
        assert not np.delete(actual[part], bones, axis=1).any()
        box = inside.copy()
        box[inside] = part
        _, alone = link_cells(box)
        expected = minimize(alone, case[1][part], given[part][:, bones], tolerance=1e-5)
        np.testing.assert_allclose(actual[part][:, bones], expected, atol=2e-3)


def test_nothing_free_and_little_free() -> None:
    case = make_case(np.ones((1, 1, 2), bool), at(0, 0, 0), at(0, 0, 1))
    np.testing.assert_array_equal(minimize(*case), np.eye(2))
    np.testing.assert_array_equal(minimize(*case[:2], case[2] * 1.000001), np.eye(2))
    case = make_case(np.ones((1, 1, 2), bool), at(0, 0, 0))
    np.testing.assert_array_equal(minimize(*case), [[1.0], [1.0]])
    assert minimize(np.empty((0, 6), int), np.empty(0, bool), np.empty((0, 3))).shape == (0, 3)


def test_inputs_stay_and_free_rows_are_not_read() -> None:
    neighbors, fixed, given = make_corner()
    expected = minimize(neighbors, fixed, given)
    given[~fixed] = np.nan
    copies = [part.copy() for part in (neighbors, fixed, given)]
    np.testing.assert_array_equal(minimize(neighbors, fixed, given), expected)
    for part, copy in zip((neighbors, fixed, given), copies, strict=True):
        np.testing.assert_array_equal(part, copy)


def test_last_step_still_gives_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(biharmonic, "MAX_STEPS", 1)
    case = make_box()
    early = minimize(*case, tolerance=0.0)
    assert (early >= 0).all()
    np.testing.assert_allclose(early.sum(axis=1), 1.0, atol=1e-6)
    monkeypatch.undo()
    assert energy(case[0], early) > energy(case[0], minimize(*case))


def test_progress_and_cancel() -> None:
    told: list[float] = []
    minimize(*make_rod(), tolerance=1e-6, progress=told.append)
    assert len(told) > 3
    assert told == sorted(told)
    assert told[0] >= 0
    assert told[-1] == 1

    def cancel(_: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        minimize(*make_rod(), progress=cancel)


def loosen(case: tuple[np.ndarray, ...]) -> tuple[np.ndarray, ...]:
    neighbors = case[0].copy()
    neighbors[0, 0] = len(neighbors) - 1
    return neighbors, *case[1:]


@each(
    ("break_case", "message"),
    [
        (lambda case: (case[0][:-1], *case[1:]), "do not match"),
        (lambda case: (case[0], case[1][:-1], case[2]), "do not match"),
        (lambda case: (*case[:2], case[2][:-1]), "do not match"),
        (lambda case: (case[0], case[1].astype(int), case[2]), "do not match"),
        (lambda case: (case[0] - 1, *case[1:]), "neighbors from -1"),
        (lambda case: (np.where(case[0] == 144, 999, case[0]), *case[1:]), "to 999"),
        (loosen, "both ways"),
        (lambda case: (*case[:2], 2 * case[2]), "normalize"),
        (lambda case: (*case[:2], case[2] - 1), "normalize"),
        (lambda case: (*case[:2], np.full_like(case[2], np.nan)), "normalize"),
        (lambda case: (case[0], np.zeros(len(case[0]), bool), case[2]), "224 of 224 cells"),
    ],
)
def test_bad_input(break_case: Callable[[tuple[np.ndarray, ...]], tuple[np.ndarray, ...]], message: str) -> None:
    with pytest.raises(SkinningError, match=message):
        minimize(*break_case(make_ties()))


def test_part_without_a_bone() -> None:
    inside = np.ones((2, 2, 9), bool)
    inside[..., 4] = False
    with pytest.raises(SkinningError, match=r"16 of 32 cells .* cell 4\): fix a cell"):
        minimize(*make_case(inside, at(0, 0, 1)))


@each("bones", [1, 2, 7, 60])
@each("spread", [0.0, 1e-3, 1.0, 1e3, 1e12])
def test_projection(bones: int, spread: float) -> None:
    random = np.random.default_rng(1)
    rows = random.normal(0.0, spread, (200, bones))
    for shifts in (np.zeros((200, 1)), random.normal(0.0, 3 * spread, (200, 1))):
        actual, _ = biharmonic.project_rows(rows, shifts)
        np.testing.assert_allclose(actual, project_by_sorting(rows - rows.max(axis=1, keepdims=True)), atol=1e-9)
