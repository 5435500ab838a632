"""The solid of a mesh: parts joined, clothes left out, paths through it."""

import numpy as np
import pytest

from benchmarks.fit_bodies import join, make_human, make_spindle
from supple.deformers.fit.solid import fill_body, label_parts, measure_paths, merge_near

from ..meshes import make_tube


def test_parts_are_joined_across_gaps():
    body = fill_body(
        *join(make_spindle((0, 0, 0), (0, 0, 0.48), 0.1, 0.1), make_spindle((0, 0, 0.52), (0, 0, 1), 0.1, 0.1)), 96
    )
    assert label_parts(body.neighbors).max() == 0


def test_open_clothes_on_the_body_are_left_out():
    human = make_human()
    points, triangles = make_tube(0.115, 8, length=0.2)
    dressed = join(human, (points + np.array([0, 0, 0.55]), triangles))
    assert fill_body(*dressed, 96).count == pytest.approx(fill_body(*human, 96).count, rel=0.01)


def test_open_islands_are_filled_where_they_are_the_body():
    points, triangles = make_tube(0.1, 20, length=1.0)
    body = fill_body(points, triangles, 96)
    assert body.count * body.step**3 == pytest.approx(np.pi * 0.1**2, rel=0.25)


def test_paths_go_through_the_solid():
    body = fill_body(*join(
        make_spindle((0, 0, 0), (0, 0, 1), 0.06, 0.06), make_spindle((0, 0, 0.95), (0.6, 0, 0.95), 0.06, 0.06)
    ), 96)  # fmt: skip
    start = int(body.points[:, 2].argmin())
    end = int(body.points[:, 0].argmax())
    paths = measure_paths(body, np.array([start]))
    assert 1.2 < paths[end] < 1.7  # straight, it is 1.1
    assert np.isfinite(paths).all()


def test_dense_meshes_are_merged_within_cells():
    points, triangles = make_tube(0.1, 3000, 12, length=1.0)
    merged, corners = merge_near(points, triangles, 96)
    assert len(merged) < len(points) / 4
    assert corners.max() < len(merged)
    assert np.ptp(merged, axis=0) == pytest.approx(np.ptp(points, axis=0), abs=0.01)
