"""How much skin is pushed together: against deformations whose stretch is known, and what it does not depend on."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from supple.deformers import SkinningError
from supple.deformers.patterns.chart_mesh import ChartMesh, make_chart_mesh
from supple.deformers.patterns.charts import Chart, assign_layers, chart_by_surface, chart_by_uv
from supple.deformers.patterns.compression import (
    CompressionResponse,
    Gauge,
    make_gauge,
    make_layer,
    measure_compression,
)
from supple.deformers.patterns.heights import respond
from supple.deformers.patterns.surface_points import locate_point, locate_uv

from ..cases import each
from .test_charts import make_flat, make_sheet

LENGTH, RADIUS = 2.0, 0.3
ALONG = math.pi / 2
"""Along the cylinder: the height of a height map that stands upright on it."""


@cache
def make_cylinder(rings: int = 41, sides: int = 48, triangles: bool = False, uneven: float = 0.0) -> ChartMesh:
    """An open cylinder along Z; `uneven` moves its vertices along it, in shares of its edges."""
    rng = np.random.default_rng(3)
    z = np.repeat(np.linspace(0.0, LENGTH, rings), sides).reshape(rings, sides)
    angles = np.tile(np.arange(sides) * math.tau / sides, (rings, 1))
    z[1:-1] += uneven * LENGTH / rings * rng.uniform(-1.0, 1.0, (rings - 2, sides))
    angles = angles + uneven * math.tau / sides * rng.uniform(-0.5, 0.5, angles.shape)
    points = np.stack([RADIUS * np.cos(angles), RADIUS * np.sin(angles), z], axis=-1).reshape(-1, 3)
    index = np.arange(rings * sides).reshape(rings, sides)
    around = np.roll(index, -1, axis=1)
    faces = np.stack([index[:-1], around[:-1], around[1:], index[1:]], axis=-1).reshape(-1, 4)
    if triangles:
        faces = np.concatenate([faces[:, [0, 1, 2]], faces[:, [0, 2, 3]]])
    size = faces.shape[1]
    return make_chart_mesh(points, faces.ravel(), np.arange(len(faces)) * size)


def lay(mesh: ChartMesh, size=(0.5, 0.8), rotation: float = 0.0, side: float = 0.0, flip: bool = False) -> Chart:
    at = [RADIUS * math.cos(side), RADIUS * math.sin(side), 0.5 * LENGTH]
    return chart_by_surface(mesh, locate_point(mesh, at), rotation, size, flip)


def measure(mesh: ChartMesh, gauge: Gauge, points: np.ndarray, spread: str = "VERTEX") -> np.ndarray:
    """Compression at the vertices that the gauge lies on."""
    found = measure_compression(make_layer(mesh, [gauge], [1], [spread]), points)
    return found[used_by(mesh, gauge)]


def used_by(mesh: ChartMesh, gauge: Gauge) -> np.ndarray:
    return np.unique(mesh.corner_vertices[gauge.corners])


def is_inside(mesh: ChartMesh, gauge: Gauge, margin: float = 0.0) -> np.ndarray:
    """Which of the vertices that a gauge lies on have all of their faces, and those within a margin, in it."""
    used = used_by(mesh, gauge)
    covered = np.isin(mesh.corner_faces, gauge.faces)
    outside = np.unique(mesh.corner_vertices[~covered])
    if not margin:
        return ~np.isin(used, outside)
    low, high = mesh.points[used].min(axis=0) - margin, mesh.points[used].max(axis=0) + margin
    beside = mesh.points[outside][((mesh.points[outside] >= low) & (mesh.points[outside] <= high)).all(axis=1)]
    away = [np.linalg.norm(beside - point, axis=1).min(initial=np.inf) for point in mesh.points[used]]
    return np.array(away) > margin


def rotation_matrix(seed: int) -> np.ndarray:
    q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return q if np.linalg.det(q) > 0.0 else -q


def bend_to_arc(points: np.ndarray, angle: float = math.pi / 2) -> np.ndarray:
    """A cylinder along Z bent to an arc, toward +X."""
    radius = LENGTH / angle
    turned = points[:, 2] / radius
    away = radius - points[:, 0]
    return np.stack([radius - away * np.cos(turned), points[:, 1], away * np.sin(turned)], axis=1)


def blend(points: np.ndarray, angle: float = math.pi / 2) -> tuple[np.ndarray, np.ndarray]:
    """Two bones along Z, linearly blended about the middle, and exact compression along Z."""
    offset = points - [0.0, 0.0, 0.5 * LENGTH]
    share = np.clip(offset[:, 2] / LENGTH * 1.4 + 0.5, 0.0, 1.0)
    weight = share * share * (3.0 - 2.0 * share)
    slope = 6.0 * share * (1.0 - share) * 1.4 / LENGTH
    cos, sin = math.cos(angle), math.sin(angle)
    matrix = np.array([[cos, 0.0, sin], [0.0, 1.0, 0.0], [-sin, 0.0, cos]])
    turned = offset @ matrix.T
    along = (1.0 - weight)[:, None] * [0.0, 0.0, 1.0] + weight[:, None] * matrix[:, 2]
    along += slope[:, None] * (turned - offset)
    return offset + weight[:, None] * (turned - offset), 1.0 - np.linalg.norm(along, axis=1)


MESHES = {
    "quads": {},
    "triangles": {"triangles": True},
    "uneven": {"uneven": 0.6},
    "uneven triangles": {"triangles": True, "uneven": 0.6},
    "fine": {"rings": 81, "sides": 96},
}


@each("smoothing", (0.0, 0.1))
@each("kind", MESHES)
def test_a_cylinder_bent_to_an_arc(kind, smoothing):
    mesh = make_cylinder(**MESHES[kind])
    gauge = make_gauge(mesh, lay(mesh), (0.5, 0.8), ALONG, smoothing)
    found = measure(mesh, gauge, bend_to_arc(mesh.points))
    exact = mesh.points[used_by(mesh, gauge), 0] / (LENGTH / (math.pi / 2))
    assert exact.max() == pytest.approx(0.236, abs=1e-3)
    inside = is_inside(mesh, gauge, 0.1 if smoothing else 0.0)
    allowed = 0.02 if not smoothing else 0.03  # smoothing takes 1.4 % of a wave of the cylinder's size
    allowed += {"uneven": 0.03, "uneven triangles": 0.03 if smoothing else 0.1}.get(kind, 0.0)  # slivers
    assert np.abs(found - exact)[inside].max() <= allowed * exact.max()


@each("kind", ("quads", "triangles"))
def test_a_cylinder_bent_by_two_bones(kind):
    mesh = make_cylinder(**{"rings": 81, **MESHES[kind]})
    gauge = make_gauge(mesh, lay(mesh), (0.5, 0.8), ALONG, 0.0)
    posed, exact = blend(mesh.points)
    exact = exact[used_by(mesh, gauge)]
    assert exact.max() > 0.5
    error = np.abs(measure(mesh, gauge, posed) - exact)[is_inside(mesh, gauge)]
    assert error.max() <= 0.02 * exact.max()


@each("kind", MESHES)
@each("smoothing", (0.0, 0.2))
@each("spread", ("VERTEX", "PATTERN"))
def test_rest_and_rigid_motion_give_nothing(kind, smoothing, spread):
    mesh = make_cylinder(**MESHES[kind])
    gauge = make_gauge(mesh, lay(mesh), (0.5, 0.8), 0.3, smoothing)
    assert np.abs(measure(mesh, gauge, mesh.points, spread)).max() < 1e-6
    for seed in range(2):
        moved = mesh.points @ rotation_matrix(seed).T + np.random.default_rng(seed).uniform(-9, 9, 3)
        assert np.abs(measure(mesh, gauge, moved, spread)).max() < 1e-6


@each("seed", range(3))
@each("kind", MESHES)
def test_the_same_deformation_everywhere_is_measured_exactly(kind, seed):
    rng = np.random.default_rng(seed)
    mesh = make_cylinder(**MESHES[kind])
    gauge = make_gauge(mesh, lay(mesh), (0.5, 0.8), ALONG, 0.0)
    squeeze = np.diag([0.7, 0.7, 0.7] if "uneven" in kind else [*rng.uniform(0.5, 1.5, 2), 0.7])
    assert measure(mesh, gauge, mesh.points @ squeeze @ rotation_matrix(1)) == pytest.approx(0.3, abs=2e-6)


@each("degrees", (0, 30, 90, 145, -60))
@each("rotation", (0.0, 0.7))
@each("flip", (False, True))
def test_the_direction_is_that_of_the_height_map(degrees, rotation, flip):
    mesh = make_flat()
    chart = chart_by_surface(mesh, locate_point(mesh, [0.5, 0.5, 0.0]), rotation, (0.6, 0.3), flip)
    gauge = make_gauge(mesh, chart, (0.6, 0.3), math.radians(degrees), 0.0)
    matrix = np.array([[0.6, 0.25, 0.0], [-0.1, 1.3, 0.0], [0.2, 0.0, 1.0]])
    direction = np.array([math.cos(math.radians(degrees)) * (-1.0 if flip else 1.0), math.sin(math.radians(degrees))])
    turned = [[math.cos(rotation), -math.sin(rotation)], [math.sin(rotation), math.cos(rotation)]] @ direction
    exact = 1.0 - np.linalg.norm(matrix @ [*turned, 0.0])
    assert measure(mesh, gauge, mesh.points @ matrix.T) == pytest.approx(exact, abs=2e-6)


def test_the_direction_follows_a_stretched_uv_map():
    points, corners, starts = make_sheet(10, 10)
    mesh = make_chart_mesh(points, corners, starts, points[corners, :2] * [0.5, 0.25])
    chart = chart_by_uv(mesh, locate_uv(mesh, (0.25, 0.125)), 0.0, (0.2, 0.2))
    gauge = make_gauge(mesh, chart, (0.2, 0.2), math.radians(45.0), 0.0)
    matrix = np.diag([0.5, 1.0, 1.0])
    along = np.array([2.0, 4.0]) / math.hypot(2.0, 4.0)  # 45 degrees in the UV map, on the sheet
    exact = 1.0 - math.hypot(0.5 * along[0], along[1])
    assert measure(mesh, gauge, mesh.points @ matrix) == pytest.approx(exact, abs=2e-6)


def test_coefficients_of_a_face_sum_up_to_exactly_zero():
    mesh = make_cylinder(uneven=0.8, triangles=True)
    gauge = make_gauge(mesh, lay(mesh), (0.5, 0.8), 0.4, 0.0)
    sums = np.zeros(len(gauge.faces), np.float32)
    for index, face in enumerate(gauge.corner_faces):
        sums[face] += gauge.coefficients[index]
    assert (sums == 0.0).all()
    assert gauge.shares.sum() == pytest.approx(1.0)


def test_one_amount_is_the_mean_by_area_of_what_the_pattern_covers():
    mesh = make_flat()
    chart = chart_by_surface(mesh, locate_point(mesh, [0.5, 0.5, 0.0]), 0.0, (0.4, 0.4))
    gauge = make_gauge(mesh, chart, (0.4, 0.4), 0.0, 0.0)
    posed = mesh.points.copy()
    posed[:, 0] = np.where(posed[:, 0] < 0.5, 0.5 + 0.6 * (posed[:, 0] - 0.5), posed[:, 0])
    found = measure(mesh, gauge, posed, "PATTERN")
    assert found == pytest.approx(0.2, abs=1e-6)  # 0.4 on half of it
    assert np.ptp(found) == 0.0


@each("count", (20, 40, 80))
def test_smoothing_reaches_as_far_on_any_mesh(count):
    mesh = make_flat(count)
    chart = chart_by_surface(mesh, locate_point(mesh, [0.5, 0.5, 0.0]), 0.0, (0.9, 0.9))
    radius = 0.05
    gauge = make_gauge(mesh, chart, (0.9, 0.9), 0.0, radius / 0.9)
    posed = mesh.points.copy()
    posed[:, 0] = np.where(posed[:, 0] < 0.5, 0.5 + 0.6 * (posed[:, 0] - 0.5), posed[:, 0])  # a step from 0.4 to 0
    found, x = measure(mesh, gauge, posed), mesh.points[used_by(mesh, gauge), 0]
    middle = np.abs(mesh.points[used_by(mesh, gauge), 1] - 0.5) < 0.01
    expected = 0.2 * np.array([math.erfc((one - 0.5) / radius / math.sqrt(2.0)) for one in x[middle]])
    assert np.abs(found[middle] - expected).max() < 0.03


def test_smoothing_takes_nothing_from_outside_and_keeps_what_is_even():
    mesh = make_cylinder()
    gauge = make_gauge(mesh, lay(mesh), (0.5, 0.8), ALONG, 0.3)
    posed = mesh.points * [1.0, 1.0, 0.8]
    outside = np.setdiff1d(np.arange(len(mesh.points)), used_by(mesh, gauge))
    posed[outside] += np.random.default_rng(0).normal(size=(len(outside), 3))
    assert measure(mesh, gauge, posed) == pytest.approx(0.2, abs=2e-6)


def test_smoothing_takes_the_noise_of_an_uneven_mesh():
    mesh = make_cylinder(uneven=0.8)
    posed = bend_to_arc(mesh.points) + np.random.default_rng(1).normal(scale=2e-3, size=mesh.points.shape)
    rough, smooth = (
        measure(mesh, make_gauge(mesh, lay(mesh), (0.5, 0.8), ALONG, smoothing), posed) for smoothing in (0.0, 0.1)
    )
    gauge = make_gauge(mesh, lay(mesh), (0.5, 0.8), ALONG, 0.0)
    exact = mesh.points[used_by(mesh, gauge), 0] / (LENGTH / (math.pi / 2))
    assert (smooth - exact).std() < 0.6 * (rough - exact).std()


def test_gauges_that_share_a_vertex_are_in_different_layers():
    mesh = make_cylinder()
    gauges = [
        make_gauge(mesh, lay(mesh, (0.2, 0.4), side=side), (0.2, 0.4), ALONG, 0.1) for side in (0.0, 0.3, 2.0, 2.2, 4.0)
    ]
    layers = assign_layers([used_by(mesh, gauge) for gauge in gauges])
    assert layers == [0, 1, 0, 1, 0]
    posed = bend_to_arc(mesh.points)
    for layer in (0, 1):
        chosen = [number for number in range(5) if layers[number] == layer]
        both = make_layer(
            mesh, [gauges[number] for number in chosen], [number + 1 for number in chosen], ["PATTERN"] * len(chosen)
        )
        found = measure_compression(both, posed)
        for number in chosen:
            alone = measure(mesh, gauges[number], posed, "PATTERN")
            assert found[used_by(mesh, gauges[number])] == pytest.approx(alone, abs=1e-7)


def test_patterns_of_one_layer_are_smoothed_each_by_its_own_radius():
    mesh = make_cylinder(161, 96)
    posed = blend(mesh.points)[0]
    gauges = [
        make_gauge(mesh, lay(mesh, (0.3, 0.6), side=side), (0.3, 0.6), ALONG, smoothing)
        for side, smoothing in ((0.0, 0.05), (2.0, 0.2))
    ]
    found = measure_compression(make_layer(mesh, gauges, [1, 2], ["VERTEX"] * 2), posed)
    for gauge in gauges:
        assert np.abs(found[used_by(mesh, gauge)] - measure(mesh, gauge, posed)).max() < 0.02


def test_faces_without_area_are_left_out():
    points, corners, starts = make_sheet(6, 6)
    points[corners[4 * 14 : 4 * 15]] = points[corners[4 * 14]]  # a face that is a point, its neighbors triangles
    mesh = make_chart_mesh(points, corners, starts)
    chart = chart_by_surface(mesh, locate_point(mesh, [0.5, 0.2, 0.0]), 0.0, (0.9, 0.9))
    gauge = make_gauge(mesh, chart, (0.9, 0.9), 0.0, 0.1)
    assert 14 not in gauge.faces
    found = measure(mesh, gauge, mesh.points * [0.75, 1.0, 1.0])
    assert found == pytest.approx(0.25, abs=2e-6)


def test_faces_of_many_corners_that_are_not_flat():
    angles = np.arange(8) * math.tau / 8
    points = np.stack([np.cos(angles), np.sin(angles), 0.1 * np.cos(3 * angles)], axis=1)
    mesh = make_chart_mesh(points, np.arange(8), np.array([0]))
    chart = chart_by_surface(mesh, locate_point(mesh, [0.0, 0.0, 0.0]), 0.0, (0.8, 0.8))
    gauge = make_gauge(mesh, chart, (0.8, 0.8), 0.0, 0.0)
    assert np.abs(measure(mesh, gauge, points @ rotation_matrix(2) + 5.0)).max() < 1e-6
    assert measure(mesh, gauge, 0.6 * points) == pytest.approx(0.4, abs=1e-6)


def test_a_chart_without_area_is_refused():
    points = np.array([[0, 0, 0], [1, 0, 0], [2, 0, 0], [3, 0, 0]], float)
    mesh = make_chart_mesh(points, np.arange(4), np.array([0]))
    chart = Chart(np.array([0]), np.arange(4), np.array([[0, 0], [1, 0], [1, 1], [0, 1]], float), False)
    with pytest.raises(SkinningError, match="have no area, so their compression cannot be measured: move"):
        make_gauge(mesh, chart, (1.0, 1.0), 0.0, 0.1)


@each(("angle", "smoothing"), ((math.nan, 0.1), (0.0, math.inf), (0.0, -0.1), (1e30, 0.0)))
def test_numbers_that_can_not_be_used(angle, smoothing):
    mesh = make_flat()
    chart = chart_by_surface(mesh, locate_point(mesh, [0.5, 0.5, 0.0]), 0.0, (0.4, 0.4))
    with pytest.raises(SkinningError, match="direction and smoothing of a pattern's compression must be numbers"):
        make_gauge(mesh, chart, (0.4, 0.4), angle, smoothing)


def test_laws_by_hand():
    compressed, stretched = (CompressionResponse("RANGE", side, 0.1, 0.3) for side in ("POSITIVE", "NEGATIVE"))
    shares = np.array([-0.5, 0.0, 0.1, 0.2, 0.3, 1.0])
    assert respond(compressed, shares) == pytest.approx([0, 0, 0, 0.5, 1, 1])
    assert respond(stretched, -shares) == pytest.approx([0, 0, 0, 0.5, 1, 1])
    assert respond(stretched, shares)[-3:] == pytest.approx([0, 0, 0])
    log = CompressionResponse("LOG", "POSITIVE", 0.1, gain=2.0)
    assert respond(log, 0.35) == pytest.approx(2.0 * math.log(1.25))


@each(
    ("values", "message"),
    (
        ({"start": 0.3, "full": 0.2}, r"fully visible at 20\.0 % compression, but starts at 30\.0 %: set the full"),
        ({"gain": math.nan}, "compression and the gain of a pattern must be numbers"),
        ({"law": "CUBIC"}, "no law 'CUBIC'"),
    ),
)
def test_laws_that_make_no_sense(values, message):
    with pytest.raises(SkinningError, match=message):
        CompressionResponse(**values)
