"""Which islands are stiff: boxes and horns that weights bend, and not tubes, straps, sheets and limbs."""

import numpy as np
import pytest

from supple.deformers.geometry.solid import label_islands, weld
from supple.deformers.weight_editing.stiff_parts import find_stiff_parts, measure_difference

from ..cases import each

HEADS = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 2.0]])
TAILS = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 4.0]])
"""Two bones, one on the other."""

Mesh = tuple[np.ndarray, np.ndarray]


def make_box(size: tuple[float, ...] = (0.4, 0.4, 0.4), at: tuple[float, ...] = (0.6, 0.0, 2.0)) -> Mesh:
    corners = np.array(list(np.ndindex(2, 2, 2)), float) - 0.5
    quads = np.array([[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]])
    return corners * size + at, np.concatenate([quads[:, [0, 1, 2]], quads[:, [0, 2, 3]]])


def make_rings(profile: list[tuple[float, float]], sides: int, x: float = 0.0, is_ring: bool = False) -> Mesh:
    """Circles of these radii at these heights about (x, 0), joined; the last with the first for a ring."""
    turns = 2.0 * np.pi * np.arange(sides) / sides
    points = [np.array([x + r * np.cos(t), r * np.sin(t), z]) for r, z in profile for t in turns]
    triangles = []
    for ring in range(len(profile) - (not is_ring)):
        for side in range(sides):
            a, b = ring * sides + side, ring * sides + (side + 1) % sides
            c, d = ((index + sides) % len(points) for index in (a, b))
            triangles += [(a, b, d), (a, d, c)]
    return np.array(points), np.array(triangles)


def make_horn(sides: int) -> Mesh:
    """A cone that is open below."""
    return make_rings([(0.15, 1.7), (0.1, 2.0), (0.05, 2.3), (0.0, 2.6)], sides, x=0.6)


def bend(points: np.ndarray) -> np.ndarray:
    """Weights that go from one bone to the other."""
    upper = np.clip(points[:, 2] - 1.5, 0.0, 1.0)
    return np.stack([1.0 - upper, upper], axis=1).astype(np.float32)


def find(mesh: Mesh, hard_edges: np.ndarray | None = None) -> list[np.ndarray]:
    points, triangles = mesh
    return find_stiff_parts(points, triangles, bend(points), HEADS, TAILS, hard_edges)


@each("mesh", [make_box(), make_box((0.5, 0.12, 0.5)), make_horn(8)])
def test_a_box_a_plate_and_a_horn_are_stiff(mesh):
    (found,) = find(mesh)
    assert found.tolist() == list(range(len(mesh[0])))


@each(
    "mesh",
    [
        make_rings([(0.3, z) for z in np.linspace(1.6, 2.4, 9)], 8),
        make_rings([(0.15, 1.6), (0.15, 2.4)], 8, x=0.6),
        make_rings([(0.1, 1.9), (0.35, 1.9), (0.35, 2.2), (0.1, 2.2)], 8, is_ring=True),
        make_box((0.2, 0.05, 1.0)),
        make_box((0.9, 0.02, 0.9)),
        (make_box()[0], make_box()[1][[0, 1, 3, 4, 6, 7, 9, 10]]),
        make_box(at=(0.0, 0.0, 2.0)),
        make_box((1.2, 1.2, 1.2), at=(1.5, 0.0, 2.0)),
        (np.zeros((1, 3)), np.empty((0, 3), int)),
    ],
)
def test_tubes_straps_sheets_limbs_and_large_parts_are_not(mesh):
    """A tube about the bones, one beside them, a ring about them, a strap, a sheet, a box without two sides, one
    about the bones, a large one, a point.
    """
    assert not find(mesh)


def test_a_smooth_horn_is_stiff_where_its_edges_are_marked():
    points, triangles = make_horn(24)
    assert not find((points, triangles))
    assert len(find((points, triangles), triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2))) == 1


def test_seams_are_welded_and_other_islands_left_alone():
    points, triangles = make_box()
    tube, sides = make_rings([(0.3, z) for z in np.linspace(0.0, 4.0, 9)], 8)
    split = points[triangles].reshape(-1, 3)
    both = np.concatenate([tube, split]), np.concatenate([sides, np.arange(36).reshape(-1, 3) + len(tube)])
    (found,) = find(both)
    assert found.tolist() == list(range(len(tube), len(tube) + 36))
    assert len(np.unique(label_islands(weld(both[0]), both[1]))) == 2


def test_weights_that_hardly_differ_bend_nothing():
    points, triangles = make_box()
    for difference, count in ((0.09, 0), (0.11, 1)):
        upper = 0.5 + difference * (points[:, 2] > 2.0)
        weights = 0.5 * np.stack([1.0 - upper, upper], axis=1)
        assert measure_difference(weights) == pytest.approx(difference)
        assert len(find_stiff_parts(points, triangles, weights, HEADS, TAILS)) == count
    assert measure_difference(np.array([[1.0, 0.0], [0.0, 0.0]])) == 0.0
