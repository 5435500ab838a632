"""Which meshes are bodies, and what is inside them, against numbers worked out by hand."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box, make_capsule, revolve
from supple.deformers.geometry.solid import (
    WELD_CELL,
    Grid,
    Surface,
    area_vectors,
    distances_within,
    fill_grid,
    find_crossed,
    find_islands,
    read_surface,
    signed_volumes,
    weld,
)

from ..cases import each
from ..meshes import Mesh, join, make_sphere

CUBE = make_box((1.0, 1.0, 1.0), 0.25)

SPHERE = make_sphere()


def move(mesh: Mesh, offset: object) -> Mesh:
    return mesh[0] + np.asarray(offset, float), mesh[1]


def cut(mesh: Mesh, low: float, high: float) -> Mesh:
    """Only the triangles between two heights, and their vertices."""
    height = mesh[0][mesh[1]].mean(axis=1)[:, 2]
    kept = mesh[1][(height > low) & (height < high)]
    used, places = np.unique(kept, return_inverse=True)
    return mesh[0][used], places.reshape(-1, 3)


def in_cube(points: np.ndarray, low: object, high: object) -> np.ndarray:
    return ((points > np.asarray(low)) & (points < np.asarray(high))).all(axis=1)


def votes(mesh: Mesh, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Centers of the cells, shape (N, 3), and whether they are inside."""
    grid = fill_grid(read_surface(*mesh), step)
    return grid.centers(np.argwhere(np.ones(grid.inside.shape, bool))), grid.inside.ravel()


def test_volumes_and_areas_by_hand() -> None:
    points, triangles = CUBE
    assert signed_volumes(points + 7.0, triangles).sum() == pytest.approx(1.0)
    assert signed_volumes(points, triangles[:, ::-1]).sum() == pytest.approx(-1.0)
    assert np.linalg.norm(area_vectors(points, triangles), axis=1).sum() == pytest.approx(6.0)
    np.testing.assert_allclose(area_vectors(points, triangles).sum(axis=0), 0, atol=1e-12)


def test_weld() -> None:
    points = np.array([[0.0, 0, 0], [1, 0, 0], [1e-8, 0, 0], [1, 1, 1], [1, 1e-8, 0], [1, 1e-3, 0]])
    np.testing.assert_array_equal(weld(points), [0, 1, 0, 3, 1, 5])
    np.testing.assert_array_equal(weld(1e3 * points + 50), [0, 1, 0, 3, 1, 5])
    np.testing.assert_array_equal(weld(1e-3 * points), [0, 1, 0, 3, 1, 5])
    np.testing.assert_array_equal(weld(np.ones((3, 3))), [0, 0, 0])


def test_weld_rounds_to_cells() -> None:
    """Points on two sides of a border stay two, though points farther apart in one cell are one."""
    along = np.array([0.0, 0.3, 0.6, 1.4, 1e6]) * WELD_CELL
    points = np.stack([along, 0 * along, 0 * along], axis=1)
    np.testing.assert_array_equal(weld(points), [0, 0, 2, 2, 4])


def test_islands_by_hand_and_against_a_walk() -> None:
    np.testing.assert_array_equal(find_islands(np.array([[4, 2], [1, 3], [3, 0]]), 6), [0, 0, 1, 0, 1, 2])
    np.testing.assert_array_equal(find_islands(np.empty((0, 2), int), 3), [0, 1, 2])
    random = np.random.default_rng(0)
    pairs = random.integers(0, 300, (250, 2))
    label = list(range(300))
    for _ in range(300):  # the slow way: hand the smaller number on until nothing changes
        for a, b in pairs.tolist():
            label[a] = label[b] = min(label[a], label[b])
    np.testing.assert_array_equal(find_islands(pairs, 300), np.unique(label, return_inverse=True)[1])
    chain = random.permutation(2000)
    assert find_islands(np.stack([chain[:-1], chain[1:]], axis=1), 2000).max() == 0


@each("scale", [1e-3, 1.0, 1e3])
@each("turned", [False, True])
def test_a_ball_cell_by_cell(scale: float, turned: bool) -> None:
    points, triangles = SPHERE
    surface = read_surface(scale * points, triangles[:, ::-1] if turned else triangles)
    assert surface.solid.tolist() == [True]
    assert surface.flipped == turned
    assert surface.volume == pytest.approx(scale**3 * 4 / 3 * np.pi, rel=0.02)
    grid = fill_grid(surface, 0.083 * scale)
    away = np.linalg.norm(grid.centers(np.argwhere(np.ones(grid.inside.shape, bool))), axis=1) / scale
    inside = grid.inside.ravel()
    assert inside[away < 0.985].all()
    assert not inside[away > 1.0].any()
    assert inside.sum() > 5000


def test_overlapping_shells() -> None:
    """A single parity calls the overlap outside."""
    centers, inside = votes(join(CUBE, move(CUBE, (0.4, 0.1, 0.2))), 0.043)
    expected = in_cube(centers, -0.5, 0.5) | in_cube(centers, (-0.1, -0.4, -0.3), (0.9, 0.6, 0.7))
    np.testing.assert_array_equal(inside, expected)
    both = in_cube(centers, (-0.1, -0.4, -0.3), 0.5)
    assert both.sum() > 1000
    assert inside[both].all()


def test_a_shell_in_a_shell_one_of_them_inside_out() -> None:
    small = 0.5 * CUBE[0], CUBE[1][:, ::-1]
    surface = read_surface(*join(CUBE, small))
    assert surface.flipped == 1
    centers, inside = votes(join(CUBE, small), 0.043)
    np.testing.assert_array_equal(inside, in_cube(centers, -0.5, 0.5))


def test_an_open_ball() -> None:
    """A cap of height 0.15 is gone: its rim encloses pi (1 - .85^2), 7.5 % of the area."""
    open_ball = cut(SPHERE, -2, 0.85)
    surface = read_surface(*open_ball)
    assert surface.solid.tolist() == [True]
    centers, inside = votes(open_ball, 0.083)
    away = np.linalg.norm(centers, axis=1)
    wrong = (inside != (away < 1)) & (np.abs(away - 1) > 0.02) & ~(centers[:, 2] > 0.7)
    assert wrong.sum() == 0
    assert not inside[away > 1.0].any()


def test_split_vertices_are_one_island() -> None:
    points, triangles = CUBE
    split = points[triangles].reshape(-1, 3), np.arange(triangles.size).reshape(-1, 3)
    surface = read_surface(*split)
    assert surface.solid.tolist() == [True]
    assert surface.volume == pytest.approx(1.0)
    assert fill_grid(surface, 0.043).inside.tobytes() == fill_grid(read_surface(*CUBE), 0.043).inside.tobytes()


def damage(kind: str) -> Mesh:
    points, triangles = CUBE
    if kind == "twice the same corner":
        return points, np.concatenate([triangles, triangles[:20, [0, 0, 1]], triangles[:3, [2, 2, 2]]])
    if kind == "no area":
        middles = 0.5 * (points[triangles[:5, 0]] + points[triangles[:5, 1]])
        thin = np.stack([triangles[:5, 0], len(points) + np.arange(5), triangles[:5, 1]], axis=1)
        return np.concatenate([points, middles]), np.concatenate([triangles, thin])
    if kind == "some faces twice":
        return points, np.concatenate([triangles, triangles[:20]])
    if kind == "all faces twice":
        return points, np.concatenate([triangles, triangles])
    if kind == "one face missing":
        return points, triangles[1:]
    return points, np.concatenate([triangles[:1, ::-1], triangles[1:]])  # one face turned over


@each(
    "kind",
    [
        "twice the same corner",
        "no area",
        "some faces twice",
        "all faces twice",
        "one face missing",
        "one face turned over",
    ],
)
def test_damaged_cube(kind: str) -> None:
    mesh = damage(kind)
    assert read_surface(*mesh).solid[0]
    centers, inside = votes(mesh, 0.043)
    np.testing.assert_array_equal(inside, in_cube(centers, -0.5, 0.5))


@each(
    ("mesh", "solid"),
    [
        (cut(CUBE, 0.49, 1), False),  # a sheet
        (cut(make_capsule(1.0, 0.3, 0.05), 0.05, 0.95), False),  # a tube: 2 pi r^2 of 2 pi r h
        (cut(make_capsule(3.0, 0.1, 0.03), 0.05, 2.95), True),  # a long one: .069 of the area
        (cut(SPHERE, -2, 0.5), False),  # pi (1 - .25) of 3 pi: a quarter
        (cut(SPHERE, -2, 0.85), True),
        (cut(SPHERE, -2, 0.0), False),  # a bowl
    ],
)
def test_what_counts_as_a_body(mesh: Mesh, solid: bool) -> None:
    surface = read_surface(*mesh)
    assert surface.solid.tolist() == [solid]
    assert len(surface.triangles) == (len(mesh[1]) if solid else 0)


def make_open_box(height: float) -> Mesh:
    """A box of base 1 x 1 without its lid: the hole's area is 1 of 1 + 4 height."""
    points, triangles = make_box((1.0, 1.0, height), 0.5)
    return cut((points, triangles), -height, 0.499 * height)


def test_largest_hole_by_hand() -> None:
    """A hole of 1 beside 1 + 4 h: 13 % at h = 1.67."""
    assert not read_surface(*make_open_box(1.5)).solid[0]
    assert read_surface(*make_open_box(2.0)).solid[0]


def test_two_holes_are_measured_each_by_itself() -> None:
    """A tube's two rims enclose areas that look away from each other; they do not cancel."""
    tube = cut(make_box((1.0, 1.0, 2.5), 0.5), -1.24, 1.24)
    assert not read_surface(*tube).solid[0]  # 2 of 10
    longer = cut(make_box((1.0, 1.0, 5.0), 0.5), -2.49, 2.49)
    assert read_surface(*longer).solid[0]  # 2 of 20


def hold_together(mesh: Mesh) -> Mesh:
    """The mesh and a thread from its lowest vertex to its highest, which makes one island of it."""
    points, triangles = mesh
    ends = [points[:, 2].argmin(), points[:, 2].argmax()]
    middle = points[ends].mean(axis=0, keepdims=True) + np.array([1e-3, 0, 0])
    return np.concatenate([points, middle]), np.concatenate([triangles, [[*ends, len(points)]]])


def cut_ring(mesh: Mesh, low: float, high: float) -> Mesh:
    """Without the triangles between two heights."""
    return join(cut(mesh, -np.inf, low), cut(mesh, high, np.inf))


TUBE = make_box((1.0, 1.0, 2.0), 0.1)


@each(
    ("mesh", "solid"),
    [
        (hold_together(cut_ring(TUBE, -0.05, 0.05)), True),  # 2 holes of 1 beside 9.6, of which the difference is none
        (hold_together(cut_ring(TUBE, -0.05, 0.35)), False),  # too far apart for a ring: 2 of 8.4
        (cut(TUBE, -0.1, 0.1), False),  # a belt: its holes look away from each other
        (cut(TUBE, -0.99, 0.99), False),
    ],
)
def test_a_ring_cut_out_is_no_hole(mesh: Mesh, solid: bool) -> None:
    points, triangles = mesh
    assert read_surface(points, triangles).solid.tolist() == [solid]
    assert read_surface(points, triangles[:, ::-1]).solid.tolist() == [solid]


@each("height", [0.3, 1.0, 3.0])
def test_a_skirt_is_no_body(height: float) -> None:
    """An open cone, from its waist to a hem twice as wide."""
    radii, heights = np.array([0.0, 1.0, 0.5, 0.0]), np.array([0.0, 0.0, height, height])
    skirt = cut(revolve(radii, heights, 24), 1e-3, height - 1e-3)
    assert read_surface(*skirt).solid.tolist() == [False]


def test_islands_of_a_mesh() -> None:
    sheet = move(cut(CUBE, 0.49, 1), (0, 0, 5))
    turned = CUBE[0] + [3.0, 0, 0], CUBE[1][:, ::-1]
    mesh = join(CUBE, sheet, turned)
    surface = read_surface(*mesh)
    assert surface.solid.tolist() == [True, False, True]
    assert surface.flipped == 1
    assert surface.volume == pytest.approx(2.0)
    sizes = [len(CUBE[0]), len(sheet[0]), len(CUBE[0])]
    np.testing.assert_array_equal(surface.islands, np.repeat([0, 1, 2], sizes))
    assert not np.isin(surface.triangles, np.flatnonzero(surface.islands == 1)).any()


def test_inputs_are_kept() -> None:
    points, triangles = CUBE[0].copy(), CUBE[1][:, ::-1].copy()
    fill_grid(read_surface(points, triangles), 0.1)
    np.testing.assert_array_equal(points, CUBE[0])
    np.testing.assert_array_equal(triangles, CUBE[1][:, ::-1])


def test_a_grid_knows_its_cells() -> None:
    grid = fill_grid(read_surface(*CUBE), 0.11)
    cells = np.argwhere(grid.inside)
    np.testing.assert_array_equal(np.stack(grid.cells(grid.centers(cells) + 0.05), axis=1), cells)
    outside = np.stack(grid.cells(np.array([[-99.0, 0, 0], [99.0, 99, 99]])), axis=1)
    np.testing.assert_array_equal(outside[1], np.array(grid.inside.shape) - 1)
    assert outside[0, 0] == 0
    for axis in range(3):
        assert not np.take(grid.inside, [0, -1], axis=axis).any()


def test_a_grid_has_not_too_many_cells() -> None:
    grid = fill_grid(read_surface(*CUBE), 1e-5)
    assert 1_000_000 < grid.inside.size < 3_000_000
    assert grid.inside.sum() * grid.step**3 == pytest.approx(1.0, rel=0.02)


def test_distances_against_all() -> None:
    random = np.random.default_rng(0)
    mask = random.random((11, 7, 9)) < 0.02
    cells, marked = np.argwhere(np.ones_like(mask)), np.argwhere(mask)
    expected = np.linalg.norm(cells[:, None] - marked, axis=2).min(axis=1).reshape(mask.shape)
    for cap in (1, 3, 20):
        actual = distances_within(mask, cap)
        assert actual.dtype == np.float32
        np.testing.assert_allclose(actual, np.minimum(expected, cap), rtol=1e-6)
    assert (distances_within(np.zeros((3, 3, 3), bool), 5) == 5).all()
    assert (distances_within(np.ones((130, 1, 1), bool) & (np.arange(130) == 0)[:, None, None], 120)[-1] == 120).all()


def crosses(surface: Surface, start: np.ndarray, end: np.ndarray) -> bool:
    """By signs of tetrahedra, one triangle after the other."""

    def side(a: np.ndarray, b: np.ndarray, c: np.ndarray, d: np.ndarray) -> float:
        return float(np.linalg.det([b - a, c - a, d - a]))

    for a, b, c in surface.points[surface.triangles]:
        if side(a, b, c, start) * side(a, b, c, end) < 0:
            around = [side(start, end, a, b), side(start, end, b, c), side(start, end, c, a)]
            if min(around) > 0 or max(around) < 0:
                return True
    return False


def test_crossed_segments() -> None:
    surface = read_surface(*join(CUBE, move(make_box((0.5, 0.5, 0.5), 0.5), (1.0, 0, 0))))
    random = np.random.default_rng(0)
    starts, ends = random.uniform(-1, 1.5, (2, 150, 3))
    expected = [crosses(surface, start, end) for start, end in zip(starts, ends, strict=True)]
    assert 30 < sum(expected) < 120
    np.testing.assert_array_equal(find_crossed(surface, starts, ends), expected)
    np.testing.assert_array_equal(find_crossed(surface, ends, starts), expected)


def test_segments_by_hand() -> None:
    surface = read_surface(*CUBE)
    starts = np.array([[0.0, 0, 0], [0.01, 0.02, 0.03], [2, 2, 2], [-1, 0.03, 0.01], [0, 0, 0]])
    ends = np.array([[0.4, 0, 0], [0.9, 0.02, 0.04], [3, 2, 2], [1, 0.03, 0.02], [0, 0, 0]])
    np.testing.assert_array_equal(find_crossed(surface, starts, ends), [False, True, False, True, False])


def test_a_grid_is_what_it_says() -> None:
    """Cells of which the answer is known: the grid's own fields, without a surface."""
    inside = np.zeros((3, 4, 5), bool)
    inside[1, 2, 3] = True
    grid = Grid(np.array([1.0, 2, 3]), 0.5, inside)
    np.testing.assert_allclose(grid.centers(np.argwhere(inside)), [[1.5, 3.0, 4.5]])
    assert inside[grid.cells(np.array([[1.6, 2.9, 4.6]]))].all()
