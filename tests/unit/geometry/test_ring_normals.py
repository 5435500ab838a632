"""Normals from four neighbors: against those of shapes that have a formula, and where a mesh has too few faces."""

import numpy as np

from supple.deformers.geometry.ring_normals import estimate_normals, find_rings

from ..cases import each
from ..meshes import close_rings, triangulate


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def make_tube(rings: int = 21, sides: int = 24) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points, triangles and true normals of a tube along Z."""
    angles = np.linspace(0.0, 2.0 * np.pi, sides, endpoint=False)
    out = np.stack([np.cos(angles), np.sin(angles), np.zeros(sides)], axis=1)
    heights = np.linspace(0.0, 4.0, rings)[:, None, None] * (0.0, 0.0, 1.0)
    return (out + heights).reshape(-1, 3), close_rings(rings, sides), np.tile(out, (rings, 1))


def test_normals_of_a_tube_point_outward():
    points, triangles, out = make_tube()
    normals = unit(estimate_normals(find_rings(points, triangles), points))
    assert np.einsum("vi,vi->v", normals, out).min() > np.cos(np.radians(8.0))


def test_a_pose_needs_no_new_rings():
    points, triangles, out = make_tube()
    rings = find_rings(points, triangles)
    angle = 0.4 * points[:, 2]  # bent about Y: heights become angles
    radius = 10.0 - points[:, 0]
    posed = np.stack([10.0 - radius * np.cos(angle), points[:, 1], radius * np.sin(angle)], axis=1)
    expected = np.stack([out[:, 0] * np.cos(angle), out[:, 1], -out[:, 0] * np.sin(angle)], axis=1)
    normals = unit(estimate_normals(rings, posed))
    assert np.einsum("vi,vi->v", normals, expected).min() > np.cos(np.radians(10.0))


@each("shuffled", [False, True])
def test_normals_of_a_sheet_are_its_own_up_to_the_corners(shuffled: bool):
    rows, columns = 4, 5
    points = np.stack(np.meshgrid(np.arange(columns), np.arange(rows), [0.0]), axis=-1).reshape(-1, 3).astype(float)
    triangles = triangulate(np.arange(rows * columns).reshape(rows, columns).T)
    if shuffled:
        order = np.random.default_rng(3).permutation(len(points))
        points, triangles = points[order], np.argsort(order)[triangles]
    normals = unit(estimate_normals(find_rings(points, triangles), points))
    np.testing.assert_allclose(normals, np.tile((0.0, 0.0, 1.0), (len(points), 1)), atol=1e-6)


def test_a_triangle_and_a_loose_vertex():
    points = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (5, 5, 5)], float)
    normals = estimate_normals(find_rings(points, np.array([(0, 2, 1)])), points)
    assert normals.dtype == np.float32
    np.testing.assert_allclose(unit(normals[:3]), np.tile((0.0, 0.0, -1.0), (3, 1)))
    np.testing.assert_array_equal(normals[3], 0.0)


def test_no_faces_are_no_normals():
    points = np.zeros((2, 3))
    np.testing.assert_array_equal(estimate_normals(find_rings(points, np.empty((0, 3), int)), points), 0.0)
