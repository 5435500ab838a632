"""Surfaces unfolded about a point and along a stroke, against planes, creases, cylinders, spheres and a real body."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.geometry.unfolding import connect, project
from supple.deformers.patterns.chart_mesh import ChartMesh, make_chart_mesh
from supple.deformers.patterns.charts import Chart, chart_by_stroke, chart_by_surface
from supple.deformers.patterns.surface_points import locate_point

from ..cases import each

SIZE = (0.5, 0.3)


def make_sheet(columns: int, rows: int, shape: Callable[[np.ndarray, np.ndarray], list], noise: float = 0.0) -> tuple:
    """Quads over the unit square, bent by `shape(x, y)`; noise moves the vertices by up to a share of a quad."""
    x, y = np.meshgrid(np.linspace(0, 1, columns + 1), np.linspace(0, 1, rows + 1))
    random = np.random.default_rng(3)
    x[1:-1, 1:-1] += random.uniform(-noise, noise, (rows - 1, columns - 1)) / columns
    y[1:-1, 1:-1] += random.uniform(-noise, noise, (rows - 1, columns - 1)) / rows
    first = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
    quads = np.stack([first, first + 1, first + columns + 2, first + columns + 1], axis=1)
    points = np.stack([np.broadcast_to(part, x.shape).ravel() for part in shape(x, y)], axis=1)
    return points, quads.ravel(), np.arange(0, quads.size, 4)


def make_flat(count: int = 16) -> ChartMesh:
    return make_chart_mesh(*make_sheet(count, count, lambda x, y: [x, y, 0 * x], 0.3))


def make_cylinder(sides: int = 48, rings: int = 40, radius: float = 0.3) -> ChartMesh:
    """A tube about the Z axis, 2 high; its seam is at +X, where its vertices are double."""
    return make_chart_mesh(
        *make_sheet(sides, rings, lambda x, y: [radius * np.cos(2 * np.pi * x), radius * np.sin(2 * np.pi * x), 2 * y])
    )


def make_sphere(count: int = 48) -> ChartMesh:
    """A ball of radius 1 with its poles on the Z axis."""

    def shape(x: np.ndarray, y: np.ndarray) -> list:
        rotation, rise = 2 * np.pi * x, np.pi * (y - 0.5)
        return [np.cos(rotation) * np.cos(rise), np.sin(rotation) * np.cos(rise), np.sin(rise)]

    return make_chart_mesh(*make_sheet(2 * count, count, shape))


def flat_chart(offsets: np.ndarray, rotation: float, size: tuple, flip: bool) -> np.ndarray:
    """(s, t) in a plane of what is `offsets`, shape (N, 2), from the center."""
    along = np.array([np.cos(rotation), np.sin(rotation)])
    s = offsets @ along / size[0] * (-1 if flip else 1)
    t = offsets @ np.array([-along[1], along[0]]) / size[1]
    return np.stack([s, t], axis=1) + 0.5


def corner_points(mesh: ChartMesh, chart: Chart) -> np.ndarray:
    return mesh.points[mesh.corner_vertices[chart.corners]]


def measure(mesh: ChartMesh, chart: Chart, size: tuple) -> tuple[np.ndarray, np.ndarray]:
    """Edge lengths, chart over space, shape (N, 3), and signed areas, (N,), of triangles inside of the pattern."""
    coordinates = np.full((len(mesh.corner_faces), 2), np.nan)
    coordinates[chart.corners] = chart.coordinates
    flat = coordinates[mesh.triangles]
    inside = ((flat > 0) & (flat < 1)).all(axis=(1, 2))
    flat, solid = flat[inside] * size, mesh.points[mesh.triangle_points[inside]]
    lengths = [np.linalg.norm(shape - np.roll(shape, 1, axis=1), axis=2) for shape in (flat, solid)]
    first, second = flat[:, 1] - flat[:, 0], flat[:, 2] - flat[:, 0]
    return lengths[0] / lengths[1], first[:, 0] * second[:, 1] - first[:, 1] * second[:, 0]


@each("rotation", [0.0, 0.7, 3.0, -1.2])
@each("flip", [False, True])
def test_a_plane_is_exact(rotation, flip):
    mesh = make_flat()
    chart = chart_by_surface(mesh, locate_point(mesh, (0.43, 0.52, 0.1)), rotation, SIZE, flip)
    expected = flat_chart(corner_points(mesh, chart)[:, :2] - [0.43, 0.52], rotation, SIZE, flip)
    assert len(chart.faces) > 30
    assert np.allclose(chart.coordinates, expected, atol=1e-6)
    assert not chart.is_cut


def test_a_plane_seen_from_below_is_mirrored():
    points, corners, starts = make_sheet(16, 16, lambda x, y: [x, y, 0 * x])
    mesh = make_chart_mesh(points, corners.reshape(-1, 4)[:, ::-1].ravel(), starts)
    chart = chart_by_surface(mesh, locate_point(mesh, (0.5, 0.5, 0)), 0.0, SIZE)
    expected = flat_chart((corner_points(mesh, chart)[:, :2] - 0.5) * [-1, 1], 0.0, SIZE, False)
    assert np.allclose(chart.coordinates, expected, atol=1e-6)


@each("angle", [30.0, 90.0, -140.0])
def test_a_crease_is_exact(angle):
    """A sheet that is bent along the line x = 1/2 has the chart of the flat one."""
    c, s = np.cos(np.radians(angle)), np.sin(np.radians(angle))
    bend = lambda x, y: [np.minimum(x, 0.5) + c * np.maximum(x - 0.5, 0), y, s * np.maximum(x - 0.5, 0)]  # noqa: E731
    points, corners, starts = make_sheet(8, 8, bend)
    flat = make_sheet(8, 8, lambda x, y: [x, y])[0]
    mesh = make_chart_mesh(points, corners, starts)
    surface_point = locate_point(mesh, (0.45, 0.52, 0))
    chart = chart_by_surface(mesh, surface_point, 0.0, (0.4, 0.4))
    offsets = flat[corners[chart.corners]] - [0.45, 0.52]
    turned = np.angle((chart.coordinates - 0.5) @ [1, 1j] * np.conj(offsets @ [1, 1j]))
    assert len(chart.faces) >= 16
    assert np.allclose(np.linalg.norm((chart.coordinates - 0.5) * 0.4, axis=1), np.linalg.norm(offsets, axis=1))
    assert np.allclose(turned, turned[0])


def test_split_vertices_have_the_same_chart():
    mesh = make_cylinder()
    points, corners = mesh.points, mesh.corner_vertices
    other = make_chart_mesh(points[corners], np.arange(len(corners)), mesh.face_starts)
    surface_point = locate_point(mesh, (1.0, 0.03, 1.02))
    stroke = np.array([[0.29, -0.05, 0.9], [0.3, 0.0, 1.0], [0.29, 0.05, 1.2]])
    for chart, split in (
        (chart_by_surface(mesh, surface_point, 0.2, SIZE), chart_by_surface(other, surface_point, 0.2, SIZE)),
        (chart_by_stroke(mesh, stroke, SIZE), chart_by_stroke(other, stroke, SIZE)),
    ):
        assert chart.corners.tolist() == split.corners.tolist()
        assert np.allclose(chart.coordinates, split.coordinates, atol=1e-9)


@each("angle", [0.0, 2.0])
def test_a_cylinder_is_unrolled(angle):
    """Also across +X, where its vertices are double."""
    mesh = make_cylinder()
    center = np.array([0.3 * np.cos(angle), 0.3 * np.sin(angle), 1.03])
    chart = chart_by_surface(mesh, locate_point(mesh, center), 0.0, (0.8, 0.5))
    points = corner_points(mesh, chart)
    around = np.angle(np.exp(1j * (np.arctan2(points[:, 1], points[:, 0]) - angle)))
    expected = np.stack([0.3 * around / 0.8, (points[:, 2] - 1.03) / 0.5], axis=1) + 0.5
    assert np.abs(chart.coordinates - expected).max() < 0.01
    ratios, areas = measure(mesh, chart, (0.8, 0.5))
    assert np.abs(ratios - 1).max() < 0.01
    assert (areas > 0).all()
    assert not chart.is_cut


def test_a_pattern_wider_than_the_way_round_is_cut():
    mesh = make_cylinder()
    surface_point = locate_point(mesh, (0.0, -1.0, 1.03))
    around = 2 * np.pi * 0.3
    assert not chart_by_surface(mesh, surface_point, 0.0, (0.9 * around, 0.2)).is_cut
    chart = chart_by_surface(mesh, surface_point, 0.0, (1.3 * around, 0.2))
    assert chart.is_cut
    ratios, _ = measure(mesh, chart, (1.3 * around, 0.2))
    assert ratios.max() < 2.5
    assert (np.abs(chart.coordinates[:, 0] - 0.5) * 1.3 < 0.52).all()


@each("point", [(1.0, 0.2, 0.3), (0.5, 0.5, 0.9), (0.0, 0.1, -1.0)])
def test_distances_from_the_center_of_a_sphere_are_arcs(point):
    mesh = make_sphere()
    surface_point = locate_point(mesh, point)
    size = (1.2, 1.2)
    chart = chart_by_surface(mesh, surface_point, 0.4, size)
    inside = ((chart.coordinates > 0) & (chart.coordinates < 1)).all(axis=1)
    points = corner_points(mesh, chart)[inside]
    arcs = np.arccos(np.clip(points @ (surface_point.position / np.linalg.norm(surface_point.position)), -1, 1))
    lengths = np.linalg.norm((chart.coordinates[inside] - 0.5) * size, axis=1)
    assert inside.sum() > 200
    assert np.abs(lengths - arcs).max() < 0.02 * 0.85
    far = arcs > 0.1
    assert np.abs(lengths[far] / arcs[far] - 1).max() < 0.02
    assert (measure(mesh, chart, size)[1] > 0).all()


def test_turn_0_is_upright_on_a_sphere():
    mesh = make_sphere()
    chart = chart_by_surface(mesh, locate_point(mesh, (0, -1, 0)), 0.0, (0.8, 0.8))
    points = corner_points(mesh, chart)
    assert np.corrcoef(points[:, 0], chart.coordinates[:, 0])[0, 1] > 0.99
    assert np.corrcoef(points[:, 2], chart.coordinates[:, 1])[0, 1] > 0.99


def test_a_sheet_close_by_is_not_part_of_the_surface():
    points, corners, starts = make_sheet(10, 10, lambda x, y: [x, y, 0 * x])
    mesh = make_chart_mesh(
        np.concatenate([points, points + np.array([0, 0, 0.01])]),
        np.concatenate([corners, corners + len(points)]),
        np.concatenate([starts, starts + len(corners)]),
    )
    chart = chart_by_surface(mesh, locate_point(mesh, (0.5, 0.5, -1.0)), 0.0, SIZE)
    assert chart.faces.max() < len(starts)


def test_a_small_pattern_in_a_large_face_reaches_over_its_edge():
    mesh = make_chart_mesh(*make_sheet(2, 1, lambda x, y: [x, y, 0 * x]))
    chart = chart_by_surface(mesh, locate_point(mesh, (0.49, 0.5, 0)), 0.0, (0.04, 0.02))
    assert chart.faces.tolist() == [0, 1]
    expected = flat_chart(corner_points(mesh, chart)[:, :2] - [0.49, 0.5], 0.0, (0.04, 0.02), False)
    assert np.allclose(chart.coordinates, expected)


def test_three_faces_at_an_edge_and_two_fans_at_a_vertex_are_borne():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [-1, 1, 0], [-1, 0, 0]], float)
    triangles = np.array([[0, 1, 2], [1, 0, 3], [0, 1, 4], [0, 5, 6]])
    mesh = make_chart_mesh(points, triangles.ravel(), np.arange(0, 12, 3))
    chart = chart_by_surface(mesh, locate_point(mesh, (0.3, 0.3, 0)), 0.0, (3, 3))
    assert chart.faces.tolist() == [0, 1, 2, 3]
    assert np.isfinite(chart.coordinates).all()
    own = chart.coordinates[:3] * 3 - 1.5 + 0.3
    assert np.allclose(own, points[:3, :2])


def test_two_fans_of_one_plane_at_a_vertex_are_one_plane():
    points = np.array([[0, 0, 0], [1, 0.1, 0], [0.2, 1, 0], [-0.9, -0.4, 0], [0.3, -1, 0], [-1, 0.5, 0]], float)
    mesh = make_chart_mesh(points, np.array([0, 1, 2, 0, 3, 4, 0, 5, 3]), np.array([0, 3, 6]))
    for center in (np.array([0.4, 0.3]), np.array([-0.3, -0.5]), np.array([-0.6, 0.1])):
        chart = chart_by_surface(mesh, locate_point(mesh, (*center, 0)), 0.0, (4, 4))
        expected = flat_chart(corner_points(mesh, chart)[:, :2] - center, 0.0, (4, 4), False)
        assert chart.faces.tolist() == [0, 1, 2]
        assert np.allclose(chart.coordinates, expected)


def test_edges_share_a_full_turn_about_a_vertex():
    points = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]], float)
    triangles = np.array([[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    connection = connect(points, triangles, points / np.sqrt(3))
    for start in connection.starts[:-1]:
        leaving = connection.leaving[start : start + 3]
        angles = np.sort(np.angle(leaving / leaving[0]))
        assert np.allclose(angles, [-2 * np.pi / 3, 0, 2 * np.pi / 3])
        assert np.allclose(np.abs(leaving), np.sqrt(8))


@each(("offset", "expected"), [((3, 4, 0), 3 + 4j), ((3, 0, 3), np.sqrt(18)), ((0, -0.1, 9), -0.15j)])
def test_project_keeps_lengths_within_reason(offset, expected):
    normal, tangent = np.array([0.0, 0.0, 1.0]), np.array([1.0, 0.0, 0.0])
    assert np.allclose(project(np.array([offset], float), normal, tangent), [expected])


@each("rotation", [0.0, 0.6, 2.5])
@each("flip", [False, True])
def test_a_straight_stroke_in_a_plane_is_exact(rotation, flip):
    mesh = make_flat()
    middle, half = np.array([0.5, 0.48]), 0.2 * np.array([np.cos(rotation), np.sin(rotation)])
    line = np.append(np.linspace(middle - half, middle + half, 5), np.full((5, 1), 0.001), axis=1)
    size = (0.5, 0.2)  # longer than the stroke
    chart = chart_by_stroke(mesh, line, size, flip)
    expected = flat_chart(corner_points(mesh, chart)[:, :2] - middle, rotation, size, flip)
    assert np.allclose(chart.coordinates, expected, atol=1e-6)
    assert not chart.is_cut


def test_a_stroke_drawn_the_other_way_rotates_the_pattern():
    mesh = make_flat()
    line = np.array([[0.3, 0.4, 0], [0.7, 0.6, 0]])
    there, back = chart_by_stroke(mesh, line, SIZE), chart_by_stroke(mesh, line[::-1], SIZE)
    assert np.allclose(there.coordinates, 1 - back.coordinates)


def test_a_pattern_bends_with_its_stroke():
    """Along a quarter of a circle, s is its angle and t the distance from it, inward on the left."""
    mesh = make_flat(40)
    angles = np.linspace(0, np.pi / 2, 30)
    radius = 0.6
    line = np.stack([radius * np.cos(angles), radius * np.sin(angles), 0 * angles], axis=1)
    size = (radius * np.pi / 2, 0.2)
    chart = chart_by_stroke(mesh, line, size)
    x, y = corner_points(mesh, chart)[:, :2].T
    expected = np.stack([np.arctan2(y, x) / (np.pi / 2), (radius - np.hypot(x, y)) / 0.2 + 0.5], axis=1)
    inside = ((chart.coordinates > 0.05) & (chart.coordinates < 0.95)).all(axis=1)
    assert inside.sum() > 500
    assert np.abs(chart.coordinates - expected)[inside].max() < 0.03


def test_a_trembling_hand_draws_a_line():
    mesh = make_flat(40)
    x = np.linspace(0.2, 0.8, 60)
    noise = np.random.default_rng(5).uniform(-0.01, 0.01, 60)
    size = (0.6, 0.2)
    chart = chart_by_stroke(mesh, np.stack([x, 0.5 + noise, 0 * x], axis=1), size)
    expected = flat_chart(corner_points(mesh, chart)[:, :2] - 0.5, 0.0, size, False)
    inside = ((expected > 0.1) & (expected < 0.9)).all(axis=1)
    ratios, areas = measure(mesh, chart, size)
    assert np.abs(chart.coordinates - expected)[inside].max() < 0.08
    assert np.abs(ratios - 1).mean() < 0.03
    assert (areas > 0).all()


def test_a_stroke_round_a_cylinder_follows_it():
    mesh = make_cylinder()
    angles = np.linspace(-2.0, 0.6, 40)  # across the double vertices
    line = np.stack([0.31 * np.cos(angles), 0.31 * np.sin(angles), 0.8 + 0.1 * angles], axis=1)
    size = (np.hypot(0.3, 0.1) * 2.6, 0.3)
    chart = chart_by_stroke(mesh, line, size)
    ratios, areas = measure(mesh, chart, size)
    assert len(areas) > 150
    assert np.abs(ratios - 1).max() < 0.02
    assert (areas > 0).all()


@each(
    ("points", "message"),
    [
        (np.zeros((0, 3)), "at least 2 points"),
        ([[0.5, 0.5, 0]], "at least 2 points"),
        ([[0.5, 0.5], [0.6, 0.5]], "at least 2 points"),
        ([[0.5, 0.5, 0], [0.6, np.nan, 0]], "not numbers"),
        ([[0.5, 0.5, 0], [0.5, 0.5, 0]], "no length: draw it longer"),
        ([[5.0, 5.0, 0], [6.0, 6.0, 0]], "no length on the mesh: draw it on the skin"),
    ],
)
def test_bad_strokes_are_refused(points, message):
    with pytest.raises(SkinningError, match=message):
        chart_by_stroke(make_flat(), points, SIZE)


@each("size", [(0, 1), (1, np.nan), (1, -2)])
def test_bad_sizes_of_strokes_are_refused(size):
    with pytest.raises(SkinningError, match="enter a width and a height above 0"):
        chart_by_stroke(make_flat(), [[0.3, 0.5, 0], [0.7, 0.5, 0]], size)


def test_inputs_stay_as_they_are():
    mesh = make_flat()
    before = mesh.points.copy()
    line = np.array([[0.3, 0.4, 0.01], [0.7, 0.6, 0.01]])
    chart_by_stroke(mesh, line, SIZE)
    chart_by_surface(mesh, locate_point(mesh, line[0]), 0.0, SIZE)
    assert (mesh.points == before).all()
    assert (line == [[0.3, 0.4, 0.01], [0.7, 0.6, 0.01]]).all()


PLACES = {
    "belly": ((0.0, -0.3, 0.95), 0.25),
    "back": ((0.0, 0.2, 1.2), 0.25),
    "shoulder": ((0.17, -0.05, 1.36), 0.2),
    "neck": ((0.06, 0.0, 1.35), 0.1),
    "wrist": ((0.44, -0.02, 1.0), 0.15),
    "calf": ((0.12, 0.2, 0.3), 0.25),
}


def test_a_real_body(asset, subtests):
    with np.load(asset("human", ".npz")) as data:
        triangles = data["tris"][data["part"][data["tris"][:, 0]] == 0]
        mesh = make_chart_mesh(data["V"].astype(float), triangles.ravel(), np.arange(0, triangles.size, 3))
    for name, (point, size) in PLACES.items():
        with subtests.test(name):
            chart = chart_by_surface(mesh, locate_point(mesh, point), 0.0, (size, size))
            ratios, areas = measure(mesh, chart, (size, size))
            assert len(areas) > 30
            assert np.abs(ratios - 1).mean() < 0.05
            assert (areas > 0).all()
