"""The measures of benchmarks/ against numbers worked out by hand."""

import numpy as np
import pytest

from benchmarks.characters import pose_at
from benchmarks.heat import heat_weights
from benchmarks.shapes import rotation
from benchmarks.skin_measures import (
    count_inverted,
    measure_bumps,
    measure_detail_change,
    measure_distortion,
    second_differences,
)
from benchmarks.surfaces import make_box, make_capsule, make_head
from supple.deformers.geometry.solid import read_surface, signed_volumes
from supple.deformers.measures.stretch import mesh_edges

from .. import meshes
from ..cases import each
from ..meshes import Mesh

WAVE = 1.0
"""Length of the waves on a sheet: two of them are counted there."""


def make_sheet(step: float = 0.05) -> Mesh:
    """A square of side 3 across z, its triangles all alike."""
    steps = np.linspace(-1.5, 1.5, round(3.0 / step) + 1)
    return meshes.make_sheet(steps, steps)


def make_waves(height: float) -> tuple[np.ndarray, np.ndarray]:
    points, triangles = make_sheet()
    points[:, 2] = height * np.sin(2.0 * np.pi / WAVE * points[:, 0])
    return points, triangles


def bend(points: np.ndarray, radius: float) -> np.ndarray:
    """A sheet wound on a cylinder along y."""
    angle = points[:, 0] / radius
    reach = radius + points[:, 2]
    return np.stack([reach * np.sin(angle), points[:, 1], reach * np.cos(angle) - radius], axis=1)


@each(
    ("mesh", "volume"),
    [
        (make_box((2.5, 1.2, 1.0), 0.1), 3.0),
        (make_capsule(2.0, 0.5, 0.02), np.pi * 0.25 * 2.0 + 4.0 / 3.0 * np.pi * 0.125),
    ],
)
def test_surfaces_are_closed_and_look_outward(mesh: tuple[np.ndarray, np.ndarray], volume: float):
    points, triangles = mesh
    assert signed_volumes(points, triangles).sum() == pytest.approx(volume, rel=2e-3)
    assert read_surface(points, triangles).rims.count == 0


def test_head_is_closed():
    points, triangles = make_head(0.01)
    assert read_surface(points, triangles).rims.count == 0
    assert signed_volumes(points, triangles).sum() > 0.006


def test_bumps_of_an_even_bend_are_none():
    points, triangles = make_sheet()
    assert measure_bumps(points, points, triangles) == 0.0
    assert measure_bumps(points, bend(points, 1.0), triangles) < 1e-5


def test_bumps_of_waves():
    """Slopes of a wave are a k cos(k x); a smoothing step takes a share of (1 - cos(k h)) / 3 from it."""
    height, step, number = 0.01, 0.05, 2.0 * np.pi / WAVE
    flat, triangles = make_sheet(step)
    kept = (1.0 - (1.0 - np.cos(number * step)) / 3.0) ** 8
    expected = np.degrees(height * number / np.sqrt(2.0)) * (1.0 - kept)
    assert measure_bumps(flat, make_waves(height)[0], triangles) == pytest.approx(expected, rel=0.05)


def test_detail_is_kept_in_rigid_motion_and_counted_where_it_grows():
    points, triangles = make_waves(0.01)
    inner = np.abs(points[:, :2]).max(axis=1) < 1.2
    turned = points @ rotation((1, 2, 3), 80).T + [4.0, 5.0, 6.0]
    assert measure_detail_change(points, turned, triangles, inner) == pytest.approx((0.0, 0.0), abs=1e-9)
    heights, _ = measure_detail_change(points, make_waves(0.02)[0], triangles, inner)
    assert heights == pytest.approx(1.0, rel=0.02)


def test_distortion():
    points, triangles = make_sheet(0.5)
    edges = mesh_edges(triangles)
    assert measure_distortion(points, 1.1 * points, edges) == pytest.approx(np.log(1.1))
    assert measure_distortion(points, points[:, [1, 0, 2]], edges) == pytest.approx(0.0)


def test_second_differences():
    points = np.zeros((2, 3))
    way = np.array([0.3, 0.0, 0.4])
    assert second_differences(points - way, points, points + way) == pytest.approx(0.0)
    assert second_differences(points, points, points + way) == pytest.approx(0.5)


def test_inverted_particles():
    random = np.random.default_rng(2)
    rest = random.uniform(size=(200, 3))
    away = np.linalg.norm(rest[:, None] - rest, axis=2)
    nearest = np.argsort(away, axis=1)[:, 1:13]
    assert count_inverted(rest, rest @ rotation((1, 0, 2), 100).T, nearest) == 0
    assert count_inverted(rest, rest * [1.0, -1.0, 1.0], nearest) > 150
    flat = rest * [1.0, 1.0, 0.0]
    assert count_inverted(flat, flat * [1.0, -1.0, 1.0], nearest) == 0


def test_heat_fades_over_the_distance_from_the_bone():
    """On a tube w'' = (w - p) / r^2, p the step at the joint: past it 1 - exp(-z / r) / 2."""
    radius = 0.2
    points, triangles = make_capsule(4.0, radius, 0.025)
    weights = heat_weights(
        points, triangles, np.array([[0, 0, 0.0], [0, 0, 2.0]]), np.array([[0, 0, 2.0], [0, 0, 4.0]])
    )
    assert weights.sum(axis=1) == pytest.approx(1.0)
    middle = np.abs(points[:, 2] - 2.0) < 0.6
    past = (points[middle, 2] - 2.0) / radius
    expected = np.where(past > 0.0, 1.0 - 0.5 * np.exp(-np.abs(past)), 0.5 * np.exp(-np.abs(past)))
    assert weights[middle, 1] == pytest.approx(expected, abs=0.02)


@each("side", [-1, 1])
def test_pose_between_stored_poses(side: int):
    """A bone that turns and moves evenly, of which every third frame is stored."""
    head = np.array([[1.0, 2.0, 0.0]])

    def pose(frame: int) -> np.ndarray:
        matrix = np.eye(4)
        matrix[:3, :3] = rotation((0, 0, 1), 2.0 * frame)
        matrix[:3, 3] = head[0] + 0.1 * frame - matrix[:3, :3] @ head[0]
        return matrix[None]

    frames = np.array([0, 3, 6, 9])
    stored = np.stack([pose(frame) for frame in frames])
    assert pose_at(stored, frames, head, 1, side) == pytest.approx(pose(3 + side), abs=2e-4)
