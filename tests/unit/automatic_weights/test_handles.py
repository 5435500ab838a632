"""Points and cages: what they hold, the energy of what they enclose, and that bones are as before without them."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box
from supple.deformers.automatic_weights.biharmonic_energy import TOLERANCE, minimize
from supple.deformers.automatic_weights.bounded_biharmonic import Params, solve
from supple.deformers.automatic_weights.cages import measure_cage_gap, measure_gaps, solve_enclosed
from supple.deformers.automatic_weights.handles import Cage, Handles, hold_lines, hold_points, settle_points
from supple.deformers.geometry.solid import read_surface
from supple.deformers.geometry.solid_cells import link_cells
from tests.unit.automatic_weights.test_bounded_biharmonic import (
    at,
    energy,
    make_case,
    make_laplacian,
    project_by_sorting,
)
from tests.unit.geometry.test_solid_cells import join

from ..cases import each

LIMB = make_box((0.4, 0.4, 2.0), 0.1)
HEADS, TAILS = np.array([(0, 0, -1.0), (0, 0, 0.0)]), np.array([(0, 0, 0.0), (0, 0, 1.0)])
FEW = Params(cells=1200)
SIZE = np.array([0.7, 0.7, 0.8])
CORNERS = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 0.5 * SIZE
FACES = np.array([
    (0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6), (0, 6, 4),
    (1, 5, 7), (1, 7, 3),
])  # fmt: skip
EDGES = np.unique(np.sort(np.concatenate([FACES[:, [0, 1]], FACES[:, [1, 2]], FACES[:, [2, 0]]]), axis=1), axis=0)
NONE = np.empty(0, np.intp)


def make_cage(center: tuple[float, ...] = (0, 0, 0.7), first: int = 2) -> Cage:
    """A closed box of 8 vertices, whose bones begin with `first`."""
    return Cage(np.arange(8) + first, CORNERS + center, EDGES, FACES)


def solve_with(points: list[tuple[float, ...]], cages: tuple[Cage, ...] = (), mesh: tuple = LIMB) -> np.ndarray:
    """Weights of the limb's two bones, of points, and of cages' vertices."""
    ends = np.concatenate([np.reshape(points, (-1, 3)), *(cage.points for cage in cages)])
    handles = Handles(2 + np.arange(len(points)), cages)
    heads, tails = np.concatenate([HEADS, ends]), np.concatenate([TAILS, ends])
    weights = solve(*mesh, heads, tails, FEW, handles=handles).weights
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)
    return weights


def test_without_handles_all_is_as_before() -> None:
    plain = solve(*LIMB, HEADS, TAILS, FEW)
    with_none = solve(*LIMB, HEADS, TAILS, FEW, handles=Handles(NONE))
    np.testing.assert_array_equal(plain.weights, with_none.weights)
    assert plain.reasons == with_none.reasons


@each("center", [(0.0, 0.0, 0.5), (0.2, 0.1, 0.4), (0.26, 0.0, -0.5)])
def test_a_point_has_what_is_at_it(center: tuple[float, ...]) -> None:
    weights = solve_with([center])
    gaps = np.linalg.norm(LIMB[0] - np.clip(center, [-0.2, -0.2, -1.0], [0.2, 0.2, 1.0]), axis=1)
    if center[0]:
        assert weights[gaps.argmin(), 2] == pytest.approx(1.0, abs=0.02)
        assert weights[gaps.argmin(), 2] == weights[:, 2].max()
    assert weights[gaps > 0.9, 2].max() < 0.05
    assert (weights[gaps < 0.25, 2] > 0.1).all(), "it falls gently"


def test_points_that_cross_the_rim_of_a_fine_part_stay_where_they_are() -> None:
    """A second limb with a dense hand is cut finely: the point on the first has nothing there."""
    far = LIMB[0] + (3.0, 0.0, 0.0)
    mesh = join((LIMB[0], LIMB[1]), (far, LIMB[1]))
    dense = np.linspace(0.0, 1.0, 12)[:, None] * (0.0, 0.0, 1.0) + (3.0, 0.0, 0.0)
    heads = np.concatenate([HEADS, dense[:-1], [(0.2, 0.0, 0.5)]])
    tails = np.concatenate([TAILS, dense[1:], [(0.2, 0.0, 0.5)]])
    handles = Handles(np.array([len(heads) - 1]))
    weights = solve(*mesh, heads, tails, FEW, handles=handles).weights
    assert weights[: len(far), -1].max() > 0.95
    assert not weights[len(far) :, -1].any()


def test_a_closed_cage_has_all_that_is_in_it() -> None:
    weights = solve_with([], (make_cage(),))
    inside = LIMB[0][:, 2] > 0.35
    assert not weights[inside, :2].any()
    below = weights[np.isclose(LIMB[0][:, 2], 0.1), 2:].sum(axis=1)
    assert (below > 0.1).all(), "its effect ends gently"
    assert not weights[LIMB[0][:, 2] < -0.7, 2:].any()


def test_a_cage_without_points_is_linear() -> None:
    """What is in a box that is scaled along an axis is scaled evenly: the weights give positions back."""
    cage = make_cage(first=0)
    (found,) = solve_enclosed(Handles(NONE, (cage,)), cage.points, 3000, TOLERANCE, lambda _share: None)
    given_back = found.weights @ cage.points
    away = np.abs(given_back - found.cells.centers)
    deep = ~found.cells.is_skin
    assert away[deep].max() < 0.6 * found.cells.step
    assert away[deep].mean() < 0.15 * found.cells.step


def test_cages_in_air_fill_it() -> None:
    """A hat that touches nothing of its cage is carried through the air."""
    hat = make_box((0.2, 0.2, 0.2), 0.1)
    cage = make_cage((0.0, 0.0, 0.0), first=0)
    solution = solve(*hat, cage.points, cage.points, FEW, handles=Handles(NONE, (cage,)))
    weights = solution.weights
    assert weights.min() > 0.02, "all vertices of the cage share in all of the hat"
    np.testing.assert_allclose(weights @ cage.points, hat[0], atol=0.02)


def test_points_in_a_cage() -> None:
    cage = make_cage(first=3)
    weights = solve_with([(0.2, 0.0, 0.7)], (cage,))
    nearest = np.linalg.norm(LIMB[0] - (0.2, 0.0, 0.7), axis=1).argmin()
    assert weights[nearest, 2] > 0.9
    assert not weights[LIMB[0][:, 2] > 0.35, :2].any()


def test_a_vertex_that_is_left_out() -> None:
    """Its share goes to the others."""
    cage = make_cage()
    handles = Handles(NONE, (cage,)).choose(np.arange(10) != 5)
    assert handles.cages[0].bones.tolist() == [2, 3, 4, -1, 5, 6, 7, 8]
    ends = np.delete(cage.points, 3, axis=0)
    heads, tails = np.concatenate([HEADS, ends]), np.concatenate([TAILS, ends])
    weights = solve(*LIMB, heads, tails, FEW, handles=handles).weights
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)
    assert not Handles(np.array([1]), (cage,)).choose(np.arange(10) < 2).cages


def test_open_cages_go_linearly_from_vertex_to_vertex() -> None:
    line = Cage(
        np.array([2, 3]), np.array([(0.0, 0.0, -0.6), (0.0, 0.0, 0.6)]), np.array([(0, 1)]), np.empty((0, 3), int)
    )
    cells = link_cells(read_surface(*LIMB), 0.1)
    held = hold_lines(cells, [line], 4)
    heights = cells.centers[held.nodes, 2]
    np.testing.assert_allclose(held.weights[:, 3], np.clip(heights / 1.2 + 0.5, 0, 1), atol=0.06)
    assert not held.weights[:, :2].any()
    weights = solve_with([], (line,))
    middle = np.abs(LIMB[0][:, 2]) < 0.05
    np.testing.assert_allclose(weights[middle, 2], weights[middle, 3], atol=0.1)


def test_a_point_holds_what_it_is_read_from() -> None:
    surface = read_surface(*LIMB)
    cells = link_cells(surface, 0.1)
    heads = np.array([(0.013, 0.071, 0.283), (0.27, 0.03, 0.1)])
    handles = Handles(np.array([0, 1]))
    settled = settle_points(cells, handles, heads, surface)
    np.testing.assert_array_equal(settled[0], heads[0])
    assert np.linalg.norm(settled[1] - heads[1]) < 0.12
    held = hold_points(cells, handles, settled)
    values = np.zeros((cells.count, 2), np.float32)
    values[held.nodes] = held.weights
    np.testing.assert_allclose(cells.read(values, settled, cells.find_nodes(settled)), np.eye(2), atol=1e-6)


def optimum_of(neighbors: np.ndarray, fixed: np.ndarray, given: np.ndarray, counted: np.ndarray) -> float:
    """The least energy by projected gradients, where only some cells' Laplacians count."""
    rows = make_laplacian(neighbors)[counted]
    inner, pull = rows[:, ~fixed], rows[:, fixed] @ given[fixed]
    matrix = inner.T @ inner
    rate = 1.0 / np.linalg.eigvalsh(matrix)[-1]
    weights = ahead = project_by_sorting(-np.linalg.solve(matrix, inner.T @ pull))
    pace = 1.0
    for _ in range(20000):
        new = project_by_sorting(ahead - rate * (inner.T @ (inner @ ahead + pull)))
        if ((ahead - new) * (new - weights)).sum() > 0:
            pace = 1.0
        after = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * pace * pace))
        ahead, weights, pace = new + (pace - 1.0) / after * (new - weights), new, after
    return 0.5 * float(((inner @ weights + pull) ** 2).sum())


def make_held_box() -> tuple[np.ndarray, ...]:
    """A box whose faces are held linearly by four bones, with a point in it."""
    inside = np.ones((7, 7, 7), bool)
    neighbors, fixed, given = make_case(inside, at(2, 3, 3), at(0, slice(0, 7), slice(0, 7)))
    cells = np.argwhere(inside)
    faces = ((cells == 0) | (cells == 6)).any(axis=1)
    shares = cells[:, 0] / 6.0, cells[:, 1] / 6.0
    linear = np.stack([shares[0] * shares[1], shares[0] * (1 - shares[1]), 1 - shares[0]], axis=1)
    given = np.column_stack([given[:, 0], np.where(faces[:, None], linear, 0.0)])
    return neighbors, fixed | faces, given, ~faces


def test_energy_in_a_cage_is_the_least() -> None:
    neighbors, fixed, given, counted = make_held_box()
    least = optimum_of(neighbors, fixed, given, counted)
    weights = minimize(neighbors, fixed, given, counted=counted)
    assert least * (1 - 1e-4) <= energy(neighbors, weights, counted | ~fixed) <= 1.005 * least
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-6)
    assert energy(neighbors, minimize(neighbors, fixed, given), counted | ~fixed) > 1.005 * least


def test_gaps() -> None:
    positions = np.array([(0.0, 0.0, 0.0), (0.1, 0.1, 0.9), (0.7, 0.0, 0.0), (0.2, 0.0, 1.5)])
    gaps = measure_gaps(*LIMB, positions)
    np.testing.assert_allclose(gaps, [0.0, 0.0, 0.5, 0.5], atol=0.03)
    assert measure_cage_gap(*LIMB, make_cage()) == 0.0
    assert measure_cage_gap(*LIMB, make_cage((1.55, 0.0, 0.0))) == pytest.approx(1.0, abs=0.05)
    small = make_box((0.1, 0.1, 0.1), 0.05)
    assert measure_cage_gap(*small, make_cage((0.0, 0.0, 0.0))) == 0.0, "in it, far from its faces"
