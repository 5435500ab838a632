"""Where height maps lie in UV maps, against numbers worked out by hand and against brute force."""

from __future__ import annotations

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.patterns import rasters
from supple.deformers.patterns.chart_mesh import ChartMesh, make_chart_mesh
from supple.deformers.patterns.charts import Chart, assign_layers, chart_by_surface, chart_by_uv
from supple.deformers.patterns.rasters import rasterize_corners
from supple.deformers.patterns.surface_points import locate_point, locate_uv, surface_frame, uv_frame

from ..cases import each

Sheet = tuple[np.ndarray, np.ndarray, np.ndarray]

CUBE_POINTS = np.array([[x, y, z] for z in (0, 1) for y in (0, 1) for x in (0, 1)], float)
CUBE_FACES = np.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [1, 3, 7, 5], [3, 2, 6, 7], [2, 0, 4, 6]])


def make_sheet(columns: int = 10, rows: int = 10, width: float = 1.0, height: float = 1.0) -> Sheet:
    """A sheet of quads in the plane z = 0: points, corners' vertices, faces' first corners."""
    x, y = np.meshgrid(np.linspace(0, width, columns + 1), np.linspace(0, height, rows + 1))
    points = np.stack([x.ravel(), y.ravel(), np.zeros(x.size)], axis=1)
    first = (np.arange(rows)[:, None] * (columns + 1) + np.arange(columns)).ravel()
    quads = np.stack([first, first + 1, first + columns + 2, first + columns + 1], axis=1)
    return points, quads.ravel(), np.arange(0, quads.size, 4)


def split(sheet: Sheet) -> Sheet:
    """The same faces with vertices of their own."""
    points, corners, starts = sheet
    return points[corners], np.arange(len(corners)), starts


def make_flat(count: int = 10, gap: int | None = None) -> ChartMesh:
    """A sheet whose UVs are x and y; those right of column `gap` are moved by 1/2, as an island of their own."""
    points, corners, starts = make_sheet(count, count)
    uv = points[corners, :2].copy()
    if gap is not None:
        uv[np.repeat(points[corners[starts], 0] > (gap - 0.5) / count, 4), 0] += 0.5
    return make_chart_mesh(points, corners, starts, uv)


def make_stack() -> ChartMesh:
    """Three squares at z = 0, 1 and 2 that share the unit square of the UV map, the middle one mirrored."""
    square = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    uv = np.concatenate([square[:, :2], square[[1, 0, 3, 2], :2], square[:, :2]])
    points = np.concatenate([square, square, square])
    points[:, 2] = np.repeat([0, 1, 2], 4)
    return make_chart_mesh(points, np.arange(12), np.array([0, 4, 8]), uv)


FLAT = make_flat()
POINTS, CORNERS, STARTS = make_sheet(2, 2)


@each(
    ("points", "corners", "starts", "uv", "message"),
    [
        (np.zeros((0, 3)), [], [], None, "no faces"),
        (POINTS, [], [], None, "no faces"),
        (POINTS * np.nan, CORNERS, STARTS, None, "positions are not numbers"),
        (POINTS, CORNERS + 1, STARTS, None, "9 vertices, but a face has vertex 9"),
        (POINTS, CORNERS, STARTS + 4, None, "16 corners do not belong to 4 faces"),
        (POINTS, CORNERS, STARTS[::-1], None, "16 corners do not belong to 4 faces"),
        (POINTS, CORNERS, STARTS, np.zeros((3, 2)), "16 corners, but UVs of shape"),
        (POINTS, CORNERS, STARTS, np.full((16, 2), np.inf), "UVs are not numbers"),
        (POINTS * 0.0, CORNERS, STARTS, None, "zero area"),
    ],
)
def test_bad_meshes_are_refused(points, corners, starts, uv, message):
    with pytest.raises(SkinningError, match=message):
        make_chart_mesh(points, corners, starts, uv)


@each("change", [lambda sheet: sheet, split])
def test_islands_end_where_uvs_differ_and_nowhere_else(change):
    points, corners, starts = change(make_sheet(4, 3))
    uv = points[corners, :2].copy()
    uv[np.repeat(points[corners[starts], 0] > 0.4, 4), 0] += 0.5
    mesh = make_chart_mesh(points, corners, starts, uv)
    left = points[corners[starts], 0] < 0.4
    assert len(set(mesh.uv_map.islands[left])) == 1
    assert len(set(mesh.uv_map.islands[~left])) == 1
    assert len(set(mesh.uv_map.islands)) == 2
    assert mesh.uv_map.seams.sum() == 2 * 3
    assert np.allclose(points[corners[mesh.uv_map.seams], 0], 0.5)
    assert mesh.uv_map.rims.sum() == 2 * 3 + 2 * (4 + 3)


def test_an_edge_with_equal_uvs_at_one_end_only_is_a_seam():
    points, corners, starts = make_sheet(2, 1)
    uv = points[corners, :2].copy()
    uv[4, 0] += 0.1  # one corner of the second face, on the middle line
    mesh = make_chart_mesh(points, corners, starts, uv)
    assert len(set(mesh.uv_map.islands)) == 2
    assert mesh.uv_map.seams.sum() == 2


def test_locate_uv_finds_the_point():
    surface_point = locate_uv(FLAT, (0.37, 0.81))
    assert np.allclose(surface_point.position, [0.37, 0.81, 0])
    assert np.allclose(surface_point.uv, [0.37, 0.81])
    assert np.allclose(surface_point.normal, [0, 0, 1])
    assert surface_point.face == 8 * 10 + 3
    assert surface_point.overlaps == 0


def test_locate_uv_names_the_uv_where_no_face_is():
    with pytest.raises(SkinningError, match=r"no face at UV \(1\.200, 0\.500\): choose a UV on an island"):
        locate_uv(FLAT, (1.2, 0.5))


def test_locate_uv_needs_a_map_and_numbers():
    with pytest.raises(SkinningError, match="no UV map"):
        locate_uv(make_chart_mesh(*make_sheet()), (0.5, 0.5))
    with pytest.raises(SkinningError, match="UV of 2 numbers"):
        locate_uv(FLAT, (0.5, np.nan))


@each(("near", "height"), [(None, 0), ((0, 0, 0.9), 1), ((0, 0.5, 1.6), 2)])
def test_where_islands_overlap_the_nearest_is_taken(near, height):
    surface_point = locate_uv(make_stack(), (0.25, 0.5), near)
    x = 0.75 if height == 1 else 0.25  # the middle one is mirrored
    assert np.allclose(surface_point.position, [x, 0.5, height])
    assert surface_point.overlaps == 2


def test_locate_point_finds_the_nearest_of_a_cube():
    mesh = make_chart_mesh(CUBE_POINTS, CUBE_FACES.ravel(), np.arange(0, 24, 4))
    random = np.random.default_rng(0)
    for point in random.uniform(-2, 3, (200, 3)):
        inside = ((point > 0) & (point < 1)).all()
        found = locate_point(mesh, point).position
        if inside:
            assert np.isclose(np.linalg.norm(found - point), min(point.min(), (1 - point).min()))
        else:
            assert np.allclose(found, np.clip(point, 0, 1))


def test_locate_point_has_the_uv_and_its_overlaps():
    surface_point = locate_point(make_stack(), (0.2, 0.6, 1.3))
    assert np.allclose(surface_point.position, [0.2, 0.6, 1.0])
    assert np.allclose(surface_point.uv, [0.8, 0.6])
    assert surface_point.overlaps == 2
    assert locate_point(make_chart_mesh(*make_sheet()), (0.2, 0.6, 1.3)).uv is None


def test_locate_point_wants_a_position():
    with pytest.raises(SkinningError, match="position of 3 numbers"):
        locate_point(FLAT, (0, 0, np.inf))


def test_uv_frame_is_what_one_unit_of_uv_is_in_space():
    points, corners, starts = make_sheet(4, 4, 2.0, 3.0)
    uv = points[corners, :2] / [2, 3]
    mesh = make_chart_mesh(points, corners, starts, uv)
    frame = uv_frame(mesh, locate_uv(mesh, (0.4, 0.4)))
    assert np.allclose(frame, [[2, 0, 0], [0, 3, 0]])


@each("bad", [(0.0, 0.0), (0.39, 0.39), (0.7, 0.2)])
def test_uv_frame_bears_one_bad_corner(bad):
    points, corners, starts = make_sheet(5, 5)
    uv = points[corners, :2].copy()
    surface_point = locate_uv(make_chart_mesh(points, corners, starts, uv), (0.5, 0.5))
    uv[4 * surface_point.face + 2] = bad
    mesh = make_chart_mesh(points, corners, starts, uv)
    surface_point = locate_point(mesh, (0.5, 0.3, 0.0))
    assert np.allclose(uv_frame(mesh, surface_point), [[1, 0, 0], [0, 1, 0]])


def test_uv_frame_refuses_a_collapsed_map():
    points, corners, starts = make_sheet()
    mesh = make_chart_mesh(points, corners, starts, np.full((len(corners), 2), 0.5))
    with pytest.raises(SkinningError, match="no area"):
        uv_frame(mesh, locate_point(mesh, (0.5, 0.5, 0)))


@each(
    ("face", "right", "up"),
    [
        (2, [1, 0, 0], [0, 0, 1]),  # the front, which looks along -Y
        (3, [0, 1, 0], [0, 0, 1]),
        (4, [-1, 0, 0], [0, 0, 1]),
        (1, [1, 0, 0], [0, 1, 0]),  # the top
        (0, [-1, 0, 0], [0, 1, 0]),
    ],
)
def test_surface_frame_is_upright_seen_from_outside(face, right, up):
    mesh = make_chart_mesh(CUBE_POINTS, CUBE_FACES[face], np.array([0]))
    assert np.allclose(surface_frame(locate_point(mesh, (0.5, 0.5, 0.5))), [right, up], atol=1e-9)


def test_surface_frame_on_a_slope_is_as_upright_as_the_slope():
    points, corners, starts = make_sheet(1, 1)
    mesh = make_chart_mesh(points @ np.array([[1, 0, 0], [0, 0.6, 0.8], [0, -0.8, 0.6]]), corners, starts)
    assert np.allclose(surface_frame(locate_point(mesh, (0.5, 0.3, 0.4))), [[1, 0, 0], [0, 0.6, 0.8]])


@each(
    ("rotation", "flip", "uv", "expected"),
    [
        (0.0, False, (0.7, 0.5), (1.0, 0.5)),
        (0.0, True, (0.7, 0.5), (0.0, 0.5)),
        (0.0, True, (0.5, 0.6), (0.5, 1.0)),
        (np.pi / 2, False, (0.5, 0.7), (1.0, 0.5)),
        (np.pi / 2, False, (0.4, 0.5), (0.5, 1.0)),
        (np.pi, False, (0.4, 0.4), (0.75, 1.0)),
    ],
)
def test_chart_by_uv_worked_by_hand(rotation, flip, uv, expected):
    chart = chart_by_uv(FLAT, locate_uv(FLAT, (0.5, 0.5)), rotation, (0.4, 0.2), flip)
    at = np.isclose(FLAT.uv_map.corners[chart.corners], uv).all(axis=1)
    assert at.any()
    assert np.allclose(chart.coordinates[at], expected)


@each(
    ("rotation", "size"),
    [(0.0, (0.5, 0.15)), (0.4, (0.5, 0.15)), (2.0, (0.5, 0.15)), (0.75, (0.5, 0.5)), (1.0, (0.2, 0.3))],
)
def test_a_chart_has_the_faces_that_it_really_touches(rotation, size):
    center = np.array([0.43, 0.51])
    chart = chart_by_uv(FLAT, locate_uv(FLAT, center), rotation, size)
    s, t = np.meshgrid(np.linspace(-0.5, 0.5, 601), np.linspace(-0.5, 0.5, 601))
    x = center[0] + s * size[0] * np.cos(rotation) - t * size[1] * np.sin(rotation)
    y = center[1] + s * size[0] * np.sin(rotation) + t * size[1] * np.cos(rotation)
    expected = np.unique(np.floor(y * 10).astype(int) * 10 + np.floor(x * 10).astype(int))
    assert chart.faces.tolist() == expected.tolist()
    assert chart.corners.tolist() == (4 * np.repeat(expected, 4) + np.tile(np.arange(4), len(expected))).tolist()


def test_a_face_much_larger_than_the_pattern_counts():
    mesh = make_flat(1)
    chart = chart_by_uv(mesh, locate_uv(mesh, (0.3, 0.6)), 0.0, (0.01, 0.01))
    assert chart.faces.tolist() == [0]
    assert np.allclose(chart.coordinates[0], [-29.5, -59.5])


def test_a_face_beside_whose_long_side_the_pattern_lies_does_not_count():
    points = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float)
    corners = np.array([0, 1, 2, 0, 2, 3])
    mesh = make_chart_mesh(points, corners, np.array([0, 3]), points[corners, :2])
    assert chart_by_uv(mesh, locate_uv(mesh, (0.8, 0.3)), 0.0, (0.2, 0.2)).faces.tolist() == [0]
    assert chart_by_uv(mesh, locate_uv(mesh, (0.6, 0.5)), 0.0, (0.3, 0.3)).faces.tolist() == [0, 1]


@each(
    ("center", "size", "cut"),
    [
        ((0.45, 0.5), (0.3, 0.2), True),
        ((0.35, 0.5), (0.3, 0.2), False),  # ends at the seam
        ((0.1, 0.5), (0.4, 0.2), False),  # beyond the end of the mesh
        ((1.05, 0.5), (0.3, 0.2), True),  # from the other side
    ],
)
def test_a_chart_stays_on_its_island_and_says_when_it_is_cut(center, size, cut):
    mesh = make_flat(10, gap=5)
    surface_point = locate_uv(mesh, center)
    chart = chart_by_uv(mesh, surface_point, 0.0, size)
    assert chart.is_cut is cut
    assert (mesh.uv_map.islands[chart.faces] == surface_point.island).all()


def test_overlapping_islands_do_not_share_a_chart():
    mesh = make_stack()
    for height in range(3):
        chart = chart_by_uv(mesh, locate_uv(mesh, (0.5, 0.5), (0, 0, height)), 0.0, (0.5, 0.5))
        assert chart.faces.tolist() == [height]


@each("size", [(0, 1), (1, -1), (np.nan, 1), (np.inf, 1), (1, 2, 3), 1.0])
@each("lay", [chart_by_uv, chart_by_surface])
def test_bad_sizes_are_refused(lay, size):
    with pytest.raises(SkinningError, match="enter a width and a height above 0"):
        lay(FLAT, locate_uv(FLAT, (0.5, 0.5)), 0.0, size)


@each("lay", [chart_by_uv, chart_by_surface])
def test_bad_rotations_are_refused(lay):
    with pytest.raises(SkinningError, match="rotation"):
        lay(FLAT, locate_uv(FLAT, (0.5, 0.5)), np.nan, (1, 1))


def test_chart_by_uv_needs_a_map():
    mesh = make_chart_mesh(*make_sheet())
    with pytest.raises(SkinningError, match="no UV map"):
        chart_by_uv(mesh, locate_point(mesh, (0.5, 0.5, 0)), 0.0, (1, 1))


def test_a_uv_without_faces_is_refused():
    points, corners, starts = make_sheet(1, 1)
    mesh = make_chart_mesh(points, corners, starts, np.full((4, 2), 0.5))
    away = locate_point(mesh, (0.5, 0.5, 0))
    object.__setattr__(away, "uv", np.array([5.0, 5.0]))
    with pytest.raises(SkinningError, match="covers no face: move it onto the mesh"):
        chart_by_uv(mesh, away, 0.0, (1, 1))


def test_layers_are_the_first_that_have_room():
    members = [(0, 1), (1, 2), (3,), (2, 3), (0, 1, 2, 3), (1,)]
    assert assign_layers([np.array(indices) for indices in members]) == [0, 1, 0, 2, 3, 2]
    assert assign_layers([]) == []


def make_turned(mirrored: bool, rotation: float = 0.3, count: int = 6) -> ChartMesh:
    """An uneven sheet that lies turned in the UV map, partly outside."""
    points, corners, starts = make_sheet(count, count)
    points[:, :2] += np.random.default_rng(2).uniform(-0.04, 0.04, (len(points), 2))
    turned = (points[:, :2] - 0.5) @ np.array(
        [[np.cos(rotation), np.sin(rotation)], [-np.sin(rotation), np.cos(rotation)]]
    ) * 0.9 + 0.4
    if mirrored:
        turned = turned[:, ::-1]
    return make_chart_mesh(points, corners, starts, turned[corners])


def draw_by_hand(mesh: ChartMesh, chart: Chart, width: int, height: int, margin: float) -> dict[int, np.ndarray]:
    """For each pixel that is within the margin of a triangle: (s, t) at the nearest point of the nearest triangle."""
    values = np.full((len(mesh.uv_map.corners), 2), np.nan)
    values[chart.corners] = chart.coordinates
    pixels = np.arange(width * height)
    centers = np.stack([pixels % width + 0.5, pixels // width + 0.5], axis=1)
    best, found = np.full(len(pixels), margin + 2e-9), np.full((len(pixels), 2), np.nan)
    for triangle in mesh.triangles[np.isin(mesh.triangle_faces, chart.faces)]:
        shape = mesh.uv_map.corners[triangle] * [width, height]
        shares = np.linalg.solve(np.vstack([shape.T, np.ones(3)]), np.vstack([centers.T, np.ones(len(pixels))])).T
        candidates = [np.where((shares >= 0).all(axis=1)[:, None], shares, np.nan)]
        for a, b in ((0, 1), (1, 2), (2, 0)):
            side = shape[b] - shape[a]
            along = np.clip((centers - shape[a]) @ side / (side @ side), 0, 1)[:, None]
            candidates.append(np.eye(3)[a] * (1 - along) + np.eye(3)[b] * along)
        for shares in candidates:
            distance = np.linalg.norm(shares @ shape - centers, axis=1)
            nearer = distance < best - 1e-9
            best[nearer], found[nearer] = distance[nearer], shares[nearer] @ values[triangle]
    inside = ((found >= 0) & (found <= 1)).all(axis=1)
    return dict(zip(pixels[inside].tolist(), found[inside], strict=True))


def rasterize(mesh, chart, width, height, margin=2.0):
    """The pixels that a chart covers, and its coordinates at their centers."""
    pixels, corners, weights = rasterize_corners(mesh, chart, width, height, margin)
    coordinates = dict(zip(chart.corners.tolist(), chart.coordinates, strict=True))
    at_corners = [[coordinates[corner] for corner in three] for three in corners.tolist()]
    return pixels, np.einsum("pc,pci->pi", weights, np.reshape(at_corners, (-1, 3, 2)))


@pytest.mark.parametrize("margin", [0.0, 2.0])
@pytest.mark.parametrize(
    ("size", "rotation", "mirrored"), [((0.5, 0.3), 0.4, False), ((2.0, 2.0), 0.0, False), ((0.8, 0.9), 1.0, True)]
)
def test_rasterize_against_brute_force(margin, size, rotation, mirrored, monkeypatch):
    mesh = make_turned(mirrored)
    width, height = 20, 16
    chart = chart_by_uv(mesh, locate_uv(mesh, (0.4, 0.4)), rotation, size)
    expected = draw_by_hand(mesh, chart, width, height, margin)
    pixels, coordinates = rasterize(mesh, chart, width, height, margin)
    assert pixels.tolist() == sorted(expected)
    assert np.allclose(coordinates, [expected[pixel] for pixel in pixels])
    monkeypatch.setattr(rasters, "MAX_TESTED", 50)
    again = rasterize(mesh, chart, width, height, margin)
    assert again[0].tolist() == pixels.tolist()
    assert np.allclose(again[1], coordinates)


def test_rasterize_counts_rows_from_the_bottom():
    pixels, coordinates = rasterize(FLAT, chart_by_uv(FLAT, locate_uv(FLAT, (0.5, 0.25)), 0.0, (1.0, 0.5)), 4, 8, 0.0)
    assert pixels.tolist() == list(range(16))
    assert np.allclose(coordinates[4], [0.125, (1.5 / 8) / 0.5])


def test_a_margin_lies_beyond_the_seam_only():
    points, corners, starts = make_sheet()
    uv = points[corners, :2] * [0.4, 1.0]
    uv[np.repeat(points[corners[starts], 0] > 0.45, 4), 0] += 0.4
    mesh = make_chart_mesh(points, corners, starts, uv)
    chart = chart_by_surface(mesh, locate_point(mesh, (0.5, 0.5, 0)), 0.0, (0.31, 0.31))
    inside, drawn = rasterize(mesh, chart, 50, 50, 0.0)
    wider, coordinates = rasterize(mesh, chart, 50, 50, 3.0)
    assert set(inside % 50) == {7, 8, 9, 30, 31, 32}
    assert set(wider % 50) == {7, 8, 9, 30, 31, 32} | {10, 11, 12, 27, 28, 29}
    assert len(np.unique(wider)) == len(wider)
    assert np.allclose(coordinates[np.isin(wider, inside)], drawn)
    assert np.allclose(coordinates[~np.isin(wider, inside), 0], 0.5)  # what the seam has


def test_a_margin_lies_outside_of_the_rim_only():
    mesh = make_flat(20)
    chart = chart_by_uv(mesh, locate_uv(mesh, (0.99, 0.5)), 0.0, (0.03, 0.4))  # narrower than the margin
    pixels, _ = rasterize(mesh, chart, 40, 40, 3.0)
    assert set(pixels % 40) == {39}


def test_rasterize_needs_a_map_and_pixels():
    mesh = make_chart_mesh(*make_sheet())
    chart = chart_by_surface(mesh, locate_point(mesh, (0.5, 0.5, 0)), 0.0, (0.5, 0.5))
    with pytest.raises(SkinningError, match="no UV map"):
        rasterize(mesh, chart, 8, 8)
    for width, height, margin in ((0, 8, 2.0), (8, -1, 2.0), (8, 8, -1.0), (8, 8, np.nan)):
        with pytest.raises(SkinningError, match="choose numbers above 0"):
            rasterize(FLAT, chart, width, height, margin)
