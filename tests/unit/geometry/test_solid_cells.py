"""A mesh as linked cells: what is inside, what is linked, and what stays apart."""

import numpy as np
import pytest

from benchmarks.surfaces import make_box
from supple.deformers.geometry.solid import read_surface
from supple.deformers.geometry.solid_cells import SIDES, Cells, find_enclosed, link_cells, refine_cells
from supple.deformers.geometry.solid_skin import sample_triangles

from ..cases import each
from ..meshes import Mesh, join


def make_fork(gap: float, prong: float = 0.2, length: float = 1.0) -> Mesh:
    """Two prongs along z, side by side in x, on one base: one island."""
    x = np.array([-gap / 2 - prong, -gap / 2, gap / 2, gap / 2 + prong])
    outline = np.array([(x[0], 0), (x[3], 0), (x[3], length), (x[2], length), (x[2], 0.3), (x[1], 0.3), (x[1], length),
                        (x[0], length)])  # fmt: skip
    count = len(outline)
    points = np.concatenate([np.insert(outline, 1, y, axis=1) for y in (-0.1, 0.1)])
    front = np.array([(0, 1, 4), (1, 2, 4), (2, 3, 4), (0, 4, 5), (0, 5, 7), (5, 6, 7)])
    side = np.arange(count)
    around = (side + 1) % count
    walls = np.concatenate([
        np.stack([side, side + count, around + count], axis=1), np.stack([side, around + count, around], axis=1)
    ])  # fmt: skip
    return points, np.concatenate([front, front[:, ::-1] + count, walls])


def make_cells(mesh: Mesh, step: float) -> Cells:
    return link_cells(read_surface(*mesh), step)


def links_of(cells: Cells) -> set[tuple[int, int]]:
    rows, columns = np.nonzero(cells.neighbors < cells.count)
    return set(zip(rows.tolist(), cells.neighbors[rows, columns].tolist(), strict=True))


def test_samples_are_no_farther_apart_than_asked_and_hold_the_corners() -> None:
    points = np.array([(0, 0, 0), (3, 0, 0), (0, 4, 0)], float)
    samples, _ = sample_triangles(points, np.array([[0, 1, 2]]), 0.5)
    away = np.linalg.norm(samples[:, None] - samples, axis=2)
    np.fill_diagonal(away, np.inf)
    assert away.min(axis=1).max() <= 0.5
    assert {tuple(point) for point in points} <= {tuple(point) for point in samples.round(12)}


def test_a_flood_reaches_what_is_open_and_not_what_is_closed() -> None:
    wall = np.zeros((9, 9, 9), bool)
    wall[2:7, 2:7, 2:7] = True
    wall[3:6, 3:6, 3:6] = False
    expected = np.zeros_like(wall)
    expected[3:6, 3:6, 3:6] = True
    np.testing.assert_array_equal(find_enclosed(wall), expected)
    wall[4, 4, 6] = False
    assert not find_enclosed(wall).any()


def test_cells_fill_a_box_and_all_are_linked_to_those_beside_them() -> None:
    cells = make_cells(make_box((1.0, 0.8, 0.6), 0.1), 0.1)
    volume = cells.count * 0.1**3
    assert 0.48 < volume < 1.1 * 1.1 * 0.9 * 0.7 * 1.1
    nodes = {tuple(index): node for node, index in enumerate(cells.indices.tolist())}
    assert len(nodes) == cells.count
    for side, offset in enumerate(SIDES):
        beside = [nodes.get(tuple(index), cells.count) for index in (cells.indices + offset).tolist()]
        np.testing.assert_array_equal(cells.neighbors[:, side], beside)


def test_links_go_both_ways() -> None:
    links = links_of(make_cells(make_fork(0.02), 0.08))
    assert links == {(other, one) for one, other in links}


def test_cells_are_symmetric_about_the_plane_of_x() -> None:
    cells = make_cells(make_box((1.0, 0.8, 0.6), 0.07), 0.09)
    x = np.sort(cells.centers[:, 0])
    np.testing.assert_allclose(x, -x[::-1], atol=1e-9)


@each("gap", [0.05, 0.02, 0.002])
def test_prongs_nearer_than_a_cell_are_linked_through_their_base_alone(gap: float) -> None:
    points, triangles = make_fork(gap)
    cells = make_cells((points, triangles), 0.08)
    assert (cells.vertex_nodes < cells.count).all()
    left, right = (cells.vertex_nodes[(side * points[:, 0] > 0) & (points[:, 2] > 0.9)] for side in (-1, 1))
    high = np.append(cells.centers[:, 2] > 0.45, False)
    reached = np.zeros(cells.count + 1, bool)
    reached[left[0]] = True
    for _ in range(cells.count):
        before = reached.sum()
        reached[cells.neighbors[reached[:-1]]] = True
        reached &= high
        if reached.sum() == before:
            break
    assert reached[left].all()
    assert not reached[right].any()


def test_boxes_side_by_side_that_touch_stay_apart_and_overlapping_ones_are_other_shells() -> None:
    box = make_box((1.0, 1.0, 1.0), 0.1)
    cells = make_cells(join(box, (box[0] + [[0.53, 0.02, 0.03]], box[1])), 0.1)
    deep = cells.shells[~cells.is_skin]
    assert len(np.unique(deep)) == 3  # the one, the other, both
    assert cells.open_links.any()
    assert not cells.open_links.all()


def test_cloth_is_linked_to_the_skin_below() -> None:
    box = make_box((1.0, 1.0, 1.0), 0.1)
    x, y = np.meshgrid(np.linspace(-0.4, 0.4, 9), np.linspace(-0.4, 0.4, 9), indexing="ij")
    cloth = np.stack([x, y, np.full_like(x, 0.55)], axis=-1).reshape(-1, 3)
    index = np.arange(81).reshape(9, 9)
    corners = np.stack([index[:-1, :-1], index[1:, :-1], index[1:, 1:]], axis=-1).reshape(-1, 3)
    others = np.stack([index[:-1, :-1], index[1:, 1:], index[:-1, 1:]], axis=-1).reshape(-1, 3)
    mesh = join(box, (cloth, np.concatenate([corners, others])))
    cells = make_cells(mesh, 0.1)
    cloth_nodes = set(cells.vertex_nodes[-81:].tolist())
    body_nodes = set(cells.vertex_nodes[:-81].tolist())
    links = links_of(cells)
    assert cloth_nodes & body_nodes or any((one, other) in links for one in cloth_nodes for other in body_nodes)


def test_values_that_are_linear_are_read_as_they_are() -> None:
    mesh = make_box((1.0, 0.8, 0.6), 0.1)
    cells = make_cells(mesh, 0.1)
    slope = np.array([[1.0], [2.0], [-3.0]])
    inner = mesh[0] * 0.6
    found = cells.read((cells.centers @ slope).astype(np.float32), inner, cells.find_nodes(inner))
    np.testing.assert_allclose(found, inner @ slope, atol=1e-5)


def test_a_place_in_no_cell_is_told() -> None:
    cells = make_cells(make_box((1.0, 0.8, 0.6), 0.1), 0.1)
    found = cells.find_nodes(np.array([(0.0, 0.0, 0.0), (9.0, 0.0, 0.0)]))
    assert found[0] < cells.count
    assert found[1] == cells.count
    assert cells.read(np.ones((cells.count, 1), np.float32), np.zeros((1, 3)), np.array([cells.count])) == 0.0


def test_cells_cut_finer_fill_the_chosen_part_alone() -> None:
    mesh = make_box((1.0, 0.8, 0.6), 0.1)
    surface = read_surface(*mesh)
    cells = link_cells(surface, 0.1)
    chosen = cells.centers[:, 0] > 0.2
    fine = refine_cells(surface, cells, chosen, 3)
    assert fine.step == pytest.approx(0.1 / 3)
    indices = np.floor((fine.centers - cells.low) / cells.step + 0.5).astype(int)
    kept = {tuple(index) for index in cells.indices[chosen].tolist()}
    assert {tuple(index) for index in indices.tolist()} <= kept
    inside = chosen & ~cells.is_skin
    assert (np.bincount(cells.find_nodes(fine.centers), minlength=cells.count)[inside] == 27).all()
    held = fine.vertex_nodes < fine.count
    np.testing.assert_array_equal(held, chosen[cells.vertex_nodes])
