"""Heat through the solid, against numbers worked out by hand and a dense solution; and that it never fails."""

from functools import partial

import numpy as np
import pytest

from benchmarks.surfaces import make_box
from supple.deformers import SkinningError
from supple.deformers.automatic_weights import bounded_biharmonic as biharmonic_weights
from supple.deformers.automatic_weights import solid_heat
from supple.deformers.automatic_weights.bone_claims import claim_nodes, find_seeds, share_ties
from supple.deformers.automatic_weights.heat_system import HeatSystem
from supple.deformers.geometry.solid import read_surface
from supple.deformers.geometry.solid_cells import link_cells
from supple.deformers.rig.skeleton import distances_to_bones
from supple.deformers.weight_editing.solid_smoothing import smooth_through
from tests.unit.geometry.test_solid_cells import make_fork

from ..cases import each
from ..meshes import Mesh, join, triangulate

LIMB = make_box((0.4, 0.4, 2.0), 0.1)
HEADS, TAILS = np.array([(0, 0, -1.0), (0, 0, 0.0)]), np.array([(0, 0, 0.0), (0, 0, 1.0)])
UP, ASIDE, BEHIND = np.array([0, 0, 1.0]), np.array([0.6, 0, 0]), np.array([0, 0.15, 0])
SOLVERS = {
    "solid": partial(solid_heat.solve, params=solid_heat.Params(resolution=48)),
    "biharmonic": partial(biharmonic_weights.solve, params=biharmonic_weights.Params(cells=1200)),
}


def solve(mesh: Mesh, heads: np.ndarray = HEADS, tails: np.ndarray = TAILS, method: str = "solid") -> np.ndarray:
    """Weights that are such: finite, not negative, and of sum 1."""
    weights = SOLVERS[method](*mesh, heads, tails).weights
    assert np.isfinite(weights).all()
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0, atol=1e-5)
    return weights


def make_sheet() -> Mesh:
    """A flat sheet in x and z, 1 wide and 2 high."""
    x, z = np.meshgrid(np.linspace(-0.5, 0.5, 9), np.linspace(-1.0, 1.0, 17), indexing="ij")
    return np.stack([x, np.zeros_like(x), z], axis=-1).reshape(-1, 3), triangulate(np.arange(x.size).reshape(x.shape))


def test_distances_from_segments_and_points() -> None:
    points = np.array([(0, 0, 0.5), (0, 3, 2.0), (1, 0, -1.0)])
    found = distances_to_bones(points, np.zeros((3, 3)), np.array([(0, 0, 1.0), (0, 0, 1.0), (0, 0, 0.0)]))
    np.testing.assert_allclose(found, [0.0, np.sqrt(10.0), np.sqrt(2.0)])


def test_the_system_is_solved_as_by_a_dense_matrix() -> None:
    rng = np.random.default_rng(3)
    count, bones = 40, 3
    neighbors = np.full((count, 2), count)
    neighbors[1:, 0], neighbors[:-1, 1] = np.arange(count - 1), np.arange(1, count)
    flows = rng.uniform(0.2, 2.0, count - 1)
    conductance = np.zeros((count, 2))
    conductance[1:, 0], conductance[:-1, 1] = flows, flows
    heat = rng.uniform(0.0, 1.0, count)
    given = np.eye(bones)[rng.integers(bones, size=count)].astype(np.float32)
    fixed = np.zeros(count, bool)
    fixed[-1] = True
    guess = np.zeros((count, bones), np.float32)
    guess[-1] = 0.2, 0.3, 0.5
    matrix = np.diag(conductance.sum(axis=1) + heat) - np.diag(flows, 1) - np.diag(flows, -1)
    right = heat[:, None] * given
    matrix[-1], right[-1] = np.eye(count)[-1], guess[-1]
    found = HeatSystem(neighbors, conductance, heat, given, fixed).solve(guess, np.ones((count, bones), bool))
    np.testing.assert_allclose(found, np.linalg.solve(matrix, right), atol=2e-3)


def test_a_bone_is_nearest_on_the_way_through_the_solid() -> None:
    mesh = make_fork(0.02)
    cells = link_cells(read_surface(*mesh), 0.05)
    heads = np.array([(-0.11, 0, 0.4), (0.11, 0, 0.8)])
    tails = np.array([(-0.11, 0, 0.9), (0.11, 0, 0.9)])
    seeds, bones = find_seeds(cells, heads, tails)
    claims = claim_nodes(cells, seeds, bones, heads, tails)
    owner, distance = claims.owner, claims.distance
    assert np.isfinite(distance).all()
    points = mesh[0]
    foot = (points[:, 0] < 0) & (points[:, 2] < 0.1)
    assert (owner[cells.vertex_nodes[foot]] == 0).all()
    tip = (points[:, 0] > 0) & (points[:, 2] > 0.9)
    assert (owner[cells.vertex_nodes[tip]] == 1).all()


def test_bones_at_one_place_share() -> None:
    cells = link_cells(read_surface(*LIMB), 0.1)
    heads, tails = HEADS[[0, 0, 1]], TAILS[[0, 0, 1]]
    seeds, bones = find_seeds(cells, heads, tails)
    claims = claim_nodes(cells, seeds, bones, heads, tails)
    shares = share_ties(cells, claims, np.arange(3), heads, tails)
    np.testing.assert_allclose(shares[:, 0], shares[:, 1], atol=1e-6)
    low = cells.centers[:, 2] < -0.3
    np.testing.assert_allclose(shares[low], [[0.5, 0.5, 0.0]] * low.sum(), atol=1e-6)


@each("method", SOLVERS)
def test_a_limb_of_two_bones_changes_over_in_the_middle(method: str) -> None:
    weights = solve(LIMB, method=method)
    z = LIMB[0][:, 2]
    assert (weights[z < -0.7, 0] > 0.98).all()
    assert (weights[z > 0.7, 1] > 0.98).all()
    middle = np.abs(z) < 1e-6
    np.testing.assert_allclose(weights[middle, 0], 0.5, atol=0.06)
    means = [weights[np.abs(z - height) < 1e-6, 1].mean() for height in np.linspace(-0.6, 0.6, 13)]
    assert (np.diff(means) > -1e-3).all()


@each("scale", [1e-3, 1e3])
@each("method", SOLVERS)
def test_size_does_not_matter(method: str, scale: float) -> None:
    small = solve((LIMB[0] * scale, LIMB[1]), HEADS * scale, TAILS * scale, method)
    np.testing.assert_allclose(small, solve(LIMB, method=method), atol=2e-3)


def test_left_is_as_right() -> None:
    arms = join(LIMB, (LIMB[0] + ASIDE, LIMB[1]), (LIMB[0] - ASIDE, LIMB[1]))
    heads = np.concatenate([HEADS, HEADS + ASIDE, HEADS - ASIDE])
    weights = solve(arms, heads, heads + UP)
    count = len(LIMB[0])
    points = arms[0]
    other = np.array(
        [np.linalg.norm(points - point * (-1, 1, 1), axis=1).argmin() for point in points[count : 2 * count]]
    )
    np.testing.assert_allclose(weights[count : 2 * count, [2, 3]], weights[other][:, [4, 5]], atol=5e-3)


def test_vertices_at_one_place_have_one_weight() -> None:
    points = LIMB[0][LIMB[1]].reshape(-1, 3)  # each triangle by itself, as files split them
    weights = solve((points, np.arange(len(points)).reshape(-1, 3)))
    whole = solve(LIMB)
    _, first, place = np.unique(points, axis=0, return_index=True, return_inverse=True)
    np.testing.assert_array_equal(weights, weights[first][place.reshape(-1)])
    np.testing.assert_allclose(weights, whole[LIMB[1].ravel()], atol=1e-5)


@each("gap", [0.1, 0.01])
def test_prongs_do_not_pull_each_other(gap: float) -> None:
    mesh = make_fork(gap, prong=0.1)
    place = gap / 2 + 0.05
    heads = np.array([(0, 0, 0.1), (-place, 0, 0.3), (place, 0, 0.3)])
    tails = np.array([(0, 0, 0.3), (-place, 0, 1.0), (place, 0, 1.0)])
    weights = solve(mesh, heads, tails)
    left = (mesh[0][:, 0] < 0) & (mesh[0][:, 2] > 0.9)
    assert weights[left, 1].min() > 0.95
    assert weights[left, 2].max() < 0.02


def test_a_part_inside_another_keeps_its_own_bone() -> None:
    trunk, leg = make_box((1.0, 1.0, 1.0), 0.1), make_box((0.3, 0.3, 1.0), 0.1)
    mesh = join(trunk, (leg[0] + [[0.3, 0, -0.6]], leg[1]))
    heads, tails = np.array([(0, 0, -0.4), (0.3, 0, -1.0)]), np.array([(0, 0, 0.4), (0.3, 0, -0.2)])
    weights = solve(mesh, heads, tails)
    away = np.linalg.norm(trunk[0][:, :2] - (0.3, 0.0), axis=1) > 0.4
    assert weights[: len(trunk[0])][away, 0].min() > 0.75
    assert weights[len(trunk[0]) :, 1].mean() > 0.8


def test_clothes_over_prongs_do_not_join_them() -> None:
    fork, mitten = make_fork(0.1, prong=0.1), make_box((0.5, 0.4, 0.8), 0.1)
    mesh = join(fork, (mitten[0] + [[0, 0, 0.75]], mitten[1]))
    heads = np.array([(0, 0, 0.1), (-0.1, 0, 0.3), (0.1, 0, 0.3)])
    tails = np.array([(0, 0, 0.3), (-0.1, 0, 1.0), (0.1, 0, 1.0)])
    weights = solve(mesh, heads, tails)
    points = mesh[0]
    left = (points[:, 0] < 0) & (points[:, 2] > 0.9)
    assert weights[: len(fork[0])][left[: len(fork[0])], 1].min() > 0.8
    assert weights[len(fork[0]) :][left[len(fork[0]) :], 1].mean() > 0.6


def make_sleeve(width: float, height: float, top: float) -> Mesh:
    """A box of skin around the limb that has no upper end."""
    points, triangles = make_box((width, width, height), 0.1)
    kept = points[triangles][:, :, 2].min(axis=1) < 0.5 * height - 1e-9
    return points + np.array([0, 0, top - 0.5 * height]), triangles[kept]


@each("method", SOLVERS)
def test_clothes_are_as_soft_as_the_skin_below(method: str) -> None:
    sleeve = make_sleeve(0.6, 2.4, 1.2)
    weights = solve(join(LIMB, sleeve), method=method)
    body, cloth = weights[: len(LIMB[0])], weights[len(LIMB[0]) :]
    for height in (-0.2, -0.1, 0.1, 0.2):
        below = body[np.abs(LIMB[0][:, 2] - height) < 1e-6, 1].mean()
        over = cloth[np.abs(sleeve[0][:, 2] - height) < 0.051, 1].mean()
        assert over == pytest.approx(below, abs=0.15)


@each("method", SOLVERS)
def test_a_body_does_not_feel_the_clothes_that_end_on_it(method: str) -> None:
    sleeve = make_sleeve(0.5, 1.1, 0.05)
    alone, dressed = solve(LIMB, method=method), solve(join(LIMB, sleeve), method=method)
    np.testing.assert_allclose(dressed[: len(alone)], alone, atol=0.12)


@each("method", SOLVERS)
def test_a_bone_that_sticks_out_does_not_own_the_clothes(method: str) -> None:
    sleeve = make_sleeve(1.0, 2.4, 1.2)
    heads, tails = np.append(HEADS, [(-0.15, 0, 0.5)], axis=0), np.append(TAILS, [(0.3, 0, 0.5)], axis=0)
    weights = solve(join(LIMB, sleeve), heads, tails, method)[len(LIMB[0]) :]
    assert weights[sleeve[0][:, 2] < -0.6, 0].min() > 0.7


@each("method", SOLVERS)
def test_a_part_that_no_bone_reaches_follows_the_nearest(method: str) -> None:
    button = make_box((0.1, 0.1, 0.1), 0.05)
    mesh = join(LIMB, (button[0] + [[0.5, 0, 0.8]], button[1]))
    assert solve(mesh, method=method)[len(LIMB[0]) :, 1].min() > 0.95


OPEN = {
    "inside out": (LIMB[0], LIMB[1][:, ::-1]),
    "tube": (LIMB[0], LIMB[1][np.abs(LIMB[0][LIMB[1]].mean(axis=1)[:, 2]) < 0.99]),
    "sheet": make_sheet(),
    "triangle": (np.array([(-0.5, 0, -1), (0.5, 0, -1), (0, 0, 1.0)]), np.array([[0, 1, 2]])),
    "slivers": (np.append(LIMB[0], LIMB[0][:1], axis=0), np.append(LIMB[1], [[0, 0, 1], [0, len(LIMB[0]), 2]], axis=0)),
}


@each("method", SOLVERS)
@each("shape", OPEN)
def test_no_shape_fails(shape: str, method: str) -> None:
    weights = solve(OPEN[shape], method=method)
    points = OPEN[shape][0]
    assert weights[points[:, 2] > 0.9, 1].min() > 0.6
    assert weights[points[:, 2] < -0.9, 0].min() > 0.6


def test_a_skirt_follows_the_bones_in_its_middle() -> None:
    skirt = OPEN["tube"]
    thin = skirt[0] * (3.0, 3.0, 0.5), skirt[1]
    weights = solve(thin, HEADS * 0.5, TAILS * 0.5)
    assert weights[thin[0][:, 2] > 0.45, 1].min() > 0.6


@each("method", SOLVERS)
@each("away", [1.0, 3.0])
def test_a_cape_follows_the_bones_beside_it_and_says_so(away: float, method: str) -> None:
    found = SOLVERS[method](*make_sheet(), HEADS + away * BEHIND, TAILS + away * BEHIND)
    assert "No bone is inside" in found.notes[0]
    assert found.weights[make_sheet()[0][:, 2] > 0.6, 1].min() > 0.8


def test_what_bones_get_nothing_is_told() -> None:
    heads = np.concatenate([HEADS, [(5.0, 0, 0), (0, 0, -0.5)]])
    tails = np.concatenate([TAILS, [(6.0, 0, 0), (0, 0, -0.5)]])
    found = SOLVERS["solid"](*LIMB, heads, tails)
    assert found.reasons[:3] == ("", "", "outside the mesh")
    assert np.isfinite(found.weights).all()


def test_vertices_of_no_face_follow_the_nearest_and_are_told() -> None:
    points = np.append(LIMB[0], [(0, 0, 1.3)], axis=0)
    found = SOLVERS["solid"](points, LIMB[1], HEADS, TAILS)
    assert found.weights[-1, 1] > 0.95
    assert "without a face (1)" in found.notes[0]


@each(
    ("points", "triangles", "heads", "message"),
    [
        (LIMB[0], LIMB[1][:0], HEADS, "no faces"),
        (LIMB[0] * 0.0, LIMB[1], HEADS, "at the same position"),
        (LIMB[0] * np.nan, LIMB[1], HEADS, "not numbers"),
        (LIMB[0], LIMB[1], HEADS + 99.0, "None of the 2 bones"),
    ],
)
@each("method", SOLVERS)
def test_what_can_not_be_done_is_said(
    points: np.ndarray, triangles: np.ndarray, heads: np.ndarray, message: str, method: str
) -> None:
    with pytest.raises(SkinningError, match=message):
        SOLVERS[method](points, triangles, heads, heads + UP)


def test_progress_grows_and_can_end_the_work() -> None:
    told: list[float] = []
    SOLVERS["solid"](*LIMB, HEADS, TAILS, progress=told.append)
    assert told == sorted(told)
    assert told[-1] == 1.0

    def stop(_share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        SOLVERS["solid"](*LIMB, HEADS, TAILS, progress=stop)


def test_smoothing_through_the_solid_evens_sides_out_and_keeps_sums() -> None:
    weights = np.zeros((len(LIMB[0]), 2), np.float32)
    weights[:, 0] = LIMB[0][:, 0] > 0
    weights[:, 1] = 1.0 - weights[:, 0]
    found = smooth_through(*LIMB, 0.5 * weights, reach=8.0)
    np.testing.assert_allclose(found.sum(axis=1), 0.5, atol=1e-5)
    assert found[:, 0].min() > 0.1
    assert found[LIMB[0][:, 0] > 0.19, 0].mean() > found[LIMB[0][:, 0] < -0.19, 0].mean()


def test_smoothing_leaves_what_is_even() -> None:
    weights = np.tile(np.array([[0.3, 0.7]], np.float32), (len(LIMB[0]), 1))
    np.testing.assert_allclose(smooth_through(*LIMB, weights), weights, atol=1e-3)
